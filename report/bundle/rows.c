#include "report/bundle/rows.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "core/stat.h"

/* Two runs of a case that is measured in the first and the last round must agree this well. A
 * capacity or a map is a property of the chip, but the clock may have moved between the rounds. */
static const double ONCE_AGREES = 0.03, CONFIDENCE = 0.95;

/* --- finding ---------------------------------------------------------------------------------- */

static bool make_room(struct rows *rows)
{
    if (rows->n < rows->room)
        return true;
    size_t room = rows->room ? 2 * rows->room : 64;
    struct row *row = realloc(rows->row, room * sizeof *row);
    if (!row)
        return false;
    rows->row = row;
    rows->room = room;
    return true;
}

static void row_clear(struct row *row)
{
    free(row->id);
    free(row->probe);
    free(row->metric);
    free(row->why);
}

/* Metrics of a probe keep the order in which they were first seen, and so do the cases of a
 * metric. */
struct row *rows_get(struct rows *rows, const char *id, const char *unit, enum row_better better)
{
    const ptrdiff_t known = index_find(&rows->ids, id);
    if (known >= 0)
        return &rows->row[known];
    if (!make_room(rows))
        return NULL;
    struct row *row = &rows->row[rows->n];
    *row = (struct row){
        .id = strdup(id),
        .probe = strndup(id, strcspn(id, ".")),
        .metric = strndup(id, strcspn(id, "{")),
        .unit = unit,
        .better = better,
        .order = rows->n,
    };
    const ptrdiff_t first = row->metric ? index_find(&rows->metrics, row->metric) : INDEX_NONE;
    if (!row->id || !row->probe || !row->metric ||
        (first < 0 && !index_put(&rows->metrics, row->metric, rows->n)) ||
        !index_put(&rows->ids, row->id, rows->n)) {
        row_clear(row);
        return NULL;
    }
    row->metric_order = first < 0 ? rows->n : rows->row[first].metric_order;
    rows->is_sorted = false;
    rows->n++;
    return row;
}

struct row *rows_add(struct rows *rows, const struct row *row)
{
    struct row *copy = rows_get(rows, row->id, row->unit, row->better);
    if (!copy)
        return NULL;
    const struct row names = *copy;
    free(names.why);
    *copy = *row;
    copy->id = names.id;
    copy->probe = names.probe;
    copy->metric = names.metric;
    copy->why = row->why ? strdup(row->why) : NULL;
    copy->order = names.order;
    copy->metric_order = names.metric_order;
    copy->metric_end = names.metric_end;
    return copy;
}

const struct row *rows_find(const struct rows *rows, const char *id)
{
    const ptrdiff_t place = index_find(&rows->ids, id);
    return place < 0 ? NULL : &rows->row[place];
}

size_t rows_of(const struct rows *rows, const char *probe, size_t *end)
{
    const ptrdiff_t found = index_find(&rows->probes, probe);
    const size_t first = found < 0 ? rows->n : (size_t)found;
    for (*end = first; *end < rows->n && !strcmp(rows->row[*end].probe, probe);)
        ++*end;
    return first;
}

/* The rows that a glob can match, of which `plain` characters stand for themselves: one if all do,
 * those of its metric if it names one, else all. */
static void range_of(const struct rows *rows, const char *glob, size_t plain, size_t *from,
                     size_t *end)
{
    const size_t metric = strcspn(glob, "{");
    ptrdiff_t place;

    *from = 0;
    *end = rows->n;
    if (!glob[plain]) {
        place = index_find(&rows->ids, glob);
        *from = place < 0 ? rows->n : (size_t)place;
        *end = place < 0 ? rows->n : (size_t)place + 1;
    } else if (metric < plain && rows->is_sorted) {
        place = index_find_part(&rows->metrics, glob, metric);
        *from = place < 0 ? rows->n : (size_t)place;
        *end = place < 0 ? rows->n : rows->row[place].metric_end;
    }
}

/* What precedes the first special character of the glob is compared first: fnmatch() is slow. */
const struct row *rows_match(const struct rows *rows, const char *glob, size_t *next)
{
    const size_t plain = strcspn(glob, "*?[\\");
    size_t from, end;

    range_of(rows, glob, plain, &from, &end);
    for (*next = *next < from ? from : *next; *next < end;) {
        const struct row *row = &rows->row[(*next)++];
        if (!strncmp(glob, row->id, plain) && fnmatch(glob + plain, row->id + plain, 0) == 0)
            return row;
    }
    *next = rows->n;
    return NULL;
}

/* Where the value of a key begins in an id, or NULL. */
static const char *value_of(const char *id, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = strchr(id, '{'); at; at = strchr(at + 1, ','))
        if (!strncmp(at + 1, key, length) && at[1 + length] == '=')
            return at + length + 2;
    return NULL;
}

bool row_is_of_baseline(const char *id)
{
    static const char *const programs[] = {"peers.", "fused_peers.", "layer_peers."};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (!strncmp(id, programs[i], strlen(programs[i])))
            return true;
    return false;
}

bool row_key(const struct row *row, const char *key, char *text, size_t size)
{
    const char *value = value_of(row->id, key);

    text[0] = '\0';
    if (value) {
        size_t n = strcspn(value, ",}");
        n = n < size - 1 ? n : size - 1;
        memcpy(text, value, n);
        text[n] = '\0';
    }
    return value != NULL;
}

double row_key_number(const struct row *row, const char *key)
{
    char text[32];
    return row_key(row, key, text, sizeof text) ? strtod(text, NULL) : (double)NAN;
}

const struct row *rows_beside(const struct rows *rows, const struct row *row, const char *metric,
                              const char *key, const char *value)
{
    char id[DOCUMENT_ID];
    const char *keys = strchr(row->id, '{'), *at = key ? value_of(row->id, key) : keys;
    const struct row *found;

    if (!keys || !at)
        return NULL;
    snprintf(id, sizeof id, "%s%.*s%s%s", metric ? metric : row->metric, (int)(at - keys), keys,
             key ? value : "", key ? at + strcspn(at, ",}") : keys);
    if ((found = rows_find(rows, id)))
        return found;
    char *timer = strstr(id, ",timer=");
    if (!timer)
        return NULL;
    strcpy(timer, "}");
    return rows_find(rows, id);
}

void rows_free(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        row_clear(&rows->row[i]);
    free(rows->row);
    index_free(&rows->ids);
    index_free(&rows->metrics);
    index_free(&rows->probes);
    *rows = (struct rows){0};
}

/* --- values ----------------------------------------------------------------------------------- */

void row_put(struct row *row, int round, double value, double best)
{
    if (!isfinite(value) || row->n == ROW_RUNS_MAX || !isnan(row_at(row, round)))
        return;
    row->round[row->n] = round;
    row->value[row->n] = value;
    row->clock_of[row->n] = NAN;
    row->best_of[row->n++] = best;
}

void row_put_clock(struct row *row, int round, double mhz)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->round[i] == round)
            row->clock_of[i] = mhz;
}

double row_at(const struct row *row, int round)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->round[i] == round)
            return row->value[i];
    return NAN;
}

double row_in(const struct row *row, int round)
{
    return row->once || row->thrice ? row->centre : row_at(row, round);
}

static double median_of_finite(const double *values, size_t n)
{
    double kept[ROW_RUNS_MAX];
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            kept[n_kept++] = values[i];
    stat_sort(kept, n_kept);
    return stat_median(kept, n_kept);
}

static enum row_status status_without_value(const struct row *row)
{
    if (row->n_failed > 0)
        return ROW_FAILED;
    return row->n_discarded > 0 ? ROW_DISCARDED : ROW_MISSING;
}

/* A time, a rate, a size, a count. What is fitted or formed may well come out below zero. */
static bool is_never_negative(const struct row *row)
{
    return row->probe && strcmp(row->unit, "ratio") != 0 && strcmp(row->unit, "celsius") != 0 &&
           strcmp(row->probe, "derived") != 0;
}

/* Status of a row that has values; sorted holds them in ascending order. */
static enum row_status status_with_value(const struct row *row, const double *sorted)
{
    double spread = sorted[row->n - 1] - sorted[0], allowed = 0;

    if (row->once && row->better != ROW_EXACT)
        allowed = fmax(ONCE_AGREES * fabs(row->centre), 2 * row->resolution);
    if (row->n_failed > 0)
        return ROW_FAILED;
    if (sorted[0] < 0 && is_never_negative(row))
        return ROW_NEGATIVE;
    if ((row->once || row->better == ROW_EXACT) && spread > allowed)
        return ROW_DISAGREE;
    if (row->stale)
        return ROW_STALE;
    if (row->once && row->better != ROW_EXACT)
        return row->n >= 2 ? ROW_ONCE : ROW_FEW;
    if (row->once)
        return ROW_ONCE;
    if (row->thrice)
        return row->n >= 3 || row->better == ROW_EXACT ? ROW_THRICE : ROW_FEW;
    if (row->n < ROW_RUNS_NEEDED && row->better != ROW_EXACT)
        return ROW_FEW;
    return row->power_bound && row->better != ROW_EXACT ? ROW_POWER_BOUND : ROW_OK;
}

void row_finish(struct row *row)
{
    double sorted[ROW_RUNS_MAX];
    size_t low, high;

    row->centre = row->low = row->high = row->best = row->clock_mhz = NAN;
    if (row->n == 0) {
        row->status = status_without_value(row);
        return;
    }
    memcpy(sorted, row->value, row->n * sizeof *sorted);
    stat_sort(sorted, row->n);
    row->centre = stat_median(sorted, row->n);
    row->best = median_of_finite(row->best_of, row->n);
    row->clock_mhz = median_of_finite(row->clock_of, row->n);
    if ((row->once || row->thrice || row->better == ROW_EXACT) && row->n >= 2) {
        row->low = sorted[0];
        row->high = sorted[row->n - 1];
    } else if (stat_median_ranks(row->n, CONFIDENCE, &low, &high)) {
        row->low = sorted[low - 1];
        row->high = sorted[high - 1];
    }
    row->status = status_with_value(row, sorted);
}

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    bool x_derived = !strcmp(x->probe, "derived"), y_derived = !strcmp(y->probe, "derived");
    int names = strcmp(x->probe, y->probe);

    if (x_derived != y_derived)
        return x_derived ? 1 : -1;
    if (names)
        return names;
    if (x->metric_order != y->metric_order)
        return x->metric_order < y->metric_order ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The places of rows that were sorted. From the last to the first, so that a metric gets the place
 * of its first row. */
static void rows_index(struct rows *rows)
{
    size_t end = rows->n;

    for (size_t i = rows->n; i-- > 0;) {
        struct row *row = &rows->row[i];
        if (i + 1 < rows->n && strcmp(row->metric, row[1].metric) != 0)
            end = i + 1;
        row->metric_end = end;
        index_put(&rows->ids, row->id, i);
        if (i == 0 || strcmp(row->metric, row[-1].metric) != 0)
            index_put(&rows->metrics, row->metric, i);
        if (i == 0 || strcmp(row->probe, row[-1].probe) != 0)
            index_put(&rows->probes, row->probe, i);
    }
    rows->is_sorted = true;
}

void rows_finish(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        row_finish(&rows->row[i]);
    if (rows->n == 0)
        return;
    qsort(rows->row, rows->n, sizeof *rows->row, by_place);
    rows_index(rows);
}

/* --- the best of several ---------------------------------------------------------------------- */

static bool several_rounds(const struct row *row, int *first)
{
    *first = row->round[0];
    for (size_t i = 1; i < row->n; i++)
        *first = row->round[i] < *first ? row->round[i] : *first;
    return row->n > 1;
}

static bool every_round(const struct row *row)
{
    return !row->once && !row->thrice;
}

bool rows_pick(const struct rows *rows, const char *glob, struct row *picked)
{
    const struct row *row, *chosen = NULL;
    double of_chosen = NAN;
    int first;

    for (size_t next = 0; (row = rows_match(rows, glob, &next));) {
        if (!row_usable(row))
            continue;
        several_rounds(row, &first);
        double value = row_at(row, first);
        bool better = row->better == ROW_HIGHER ? value > of_chosen : value < of_chosen;
        if (!chosen || (every_round(row) == every_round(chosen) ? better : every_round(row))) {
            chosen = row;
            of_chosen = value;
        }
    }
    if (!chosen)
        return false;

    *picked = *chosen;
    if (several_rounds(chosen, &first)) {
        picked->n = 0;
        for (size_t i = 0; i < chosen->n; i++)
            if (chosen->round[i] != first) {
                row_put(picked, chosen->round[i], chosen->value[i], chosen->best_of[i]);
                row_put_clock(picked, chosen->round[i], chosen->clock_of[i]);
            }
    }
    row_finish(picked);
    return true;
}

/* --- words ------------------------------------------------------------------------------------ */

const char *row_status_name(enum row_status status)
{
    static const char *const names[] = {
        [ROW_OK] = "ok",
        [ROW_ONCE] = "once",
        [ROW_THRICE] = "thrice",
        [ROW_POWER_BOUND] = "power_bound",
        [ROW_FEW] = "few",
        [ROW_STALE] = "stale",
        [ROW_DISAGREE] = "disagree",
        [ROW_NEGATIVE] = "negative",
        [ROW_DISCARDED] = "discarded",
        [ROW_MISSING] = "missing",
        [ROW_FAILED] = "failed",
    };
    return names[status];
}

const char *row_better_name(enum row_better better)
{
    static const char *const names[] = {"lower", "higher", "exact"};
    return names[better];
}

bool row_usable(const struct row *row)
{
    return row->n > 0 && row->status <= ROW_STALE;
}
