/* gpufloor report --history: the bundles of a folder by date.
 *
 * A number is compared with the earlier bundles that measured it by the same method, and with no
 * others. The change shown is that of the newest value against the median of those: a look at what
 * moved, whoever moved it. Whether two bundles differ is decided by `gpufloor compare`. */
#include "report/cli/trend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"
#include "core/unit.h"
#include "report/bundle/folder.h"
#include "report/page/emit.h"
#include "report/page/summary.h"

enum { STRIP_MOST = 24, LEVELS = 8, SHORT = 8, SETS_MOST = 12, OTHER_LINES = 12 };
static const double MOVED = 0.03; /* what is counted as moved; the height of a strip at least */

/* One bundle. */
struct run {
    size_t index; /* of its points */
    char *file, *board;
    char started[32], commit[SHORT + 1], driver[32], cuda[16], card[BUNDLE_CARDS];
    int n_rounds;
};

/* What a bundle has of a number; NaN: nothing. */
struct dot {
    struct number number;
    int method;
};

struct course {
    char *name;
    struct dot *points; /* of each bundle, in the order in which they were read */
    double change;        /* of the newest against the median of the earlier ones; NaN: none */
    size_t newest;        /* the last bundle that has it */
    size_t since;         /* the first bundle of the newest method */
};

struct trend {
    struct run *runs; /* by date */
    size_t n_runs;
    struct course *series;
    size_t n_series, room;
    size_t n_missing; /* the last of them, which no bundle has */
    size_t next; /* where the next name is likely to be: bundles name them in one order */
};

/* --- reading ---------------------------------------------------------------------------------- */

static struct course *series_of(struct trend *trend, const char *name)
{
    for (size_t k = 0; k < trend->n_series; k++) {
        const size_t i = (trend->next + k) % trend->n_series;
        if (!strcmp(trend->series[i].name, name)) {
            trend->next = i + 1;
            return &trend->series[i];
        }
    }
    if (trend->n_series == trend->room) {
        const size_t room = 2 * trend->room + 64;
        struct course *grown = realloc(trend->series, room * sizeof *grown);
        if (!grown)
            return NULL;
        trend->series = grown;
        trend->room = room;
    }
    struct course *one = &trend->series[trend->n_series];
    *one = (struct course){.name = strdup(name), .change = NAN,
                           .points = calloc(trend->n_runs, sizeof *one->points)};
    trend->n_series++;
    for (size_t i = 0; one->points && i < trend->n_runs; i++)
        one->points[i].number = number_none();
    return one->name && one->points ? one : NULL;
}

/* The point keeps no text of its bundle but the unit, which is of core/unit.h. */
static bool put(struct trend *trend, const char *name, size_t i, struct number number, int method)
{
    struct course *one = series_of(trend, name);
    if (!one)
        return false;
    number.id = NULL;
    one->points[i] = (struct dot){number, method};
    return true;
}

static bool put_named(struct trend *trend, const struct bundle *bundle, size_t i)
{
    const struct summary summary = {.bundle = bundle};
    const struct summary_entry *entry;
    bool fine = true;

    for (size_t k = 0; (entry = summary_at(k)) && fine; k++) {
        if (summary_is_between(entry) && bundle_gpus(bundle) == 1)
            continue;
        const struct number number = summary_number(&summary, entry->name);
        const struct row *row = number.id ? rows_find(&bundle->rows, number.id) : NULL;
        fine = put(trend, entry->label, i, number, row ? row->method : 0);
    }
    return fine;
}

static bool put_matching(struct trend *trend, const struct bundle *bundle, size_t i,
                         const char *glob)
{
    const struct row *row;
    bool fine = true;

    for (size_t next = 0; fine && (row = rows_match(&bundle->rows, glob, &next));)
        if (row_usable(row))
            fine = put(trend, row->id, i, number_of(row), row->method);
    return fine;
}

static void describe(struct run *run, size_t index, const struct bundle *bundle, const char *path)
{
    const json_t *suite = json_object_get(bundle->head, "suite");
    const char *slash = strrchr(path, '/');
    char fact[32];

    run->index = index;
    run->file = strdup(slash ? slash + 1 : path);
    run->board = strdup(bundle->board ? bundle->board : "no GPU");
    run->n_rounds = bundle->n_rounds;
    snprintf(run->started, sizeof run->started, "%s",
             document_get_text(bundle->head, "started", "?"));
    snprintf(run->commit, sizeof run->commit, "%.7s%s", document_get_text(suite, "commit", "?"),
             json_is_true(json_object_get(suite, "dirty")) ? "+" : "");
    if (!*bundle_cards(bundle->head, SHORT, run->card))
        snprintf(run->card, sizeof run->card, "-");
    snprintf(run->driver, sizeof run->driver, "%s",
             bundle_fact(bundle, "driver", "version", fact, sizeof fact, "-"));
    snprintf(run->cuda, sizeof run->cuda, "%s",
             bundle_fact(bundle, "runtime", "cuda", fact, sizeof fact, "-"));
}

static int by_date(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    const int by_start = strcmp(x->started, y->started);
    return by_start ? by_start : strcmp(x->file, y->file);
}

static bool take_bundle(struct trend *trend, size_t i, const char *path, const char *glob,
                        char why[DOCUMENT_WHY])
{
    struct bundle bundle;
    bool fine;

    if (!bundle_open(&bundle, path, why))
        return false;
    describe(&trend->runs[i], i, &bundle, path);
    fine = trend->runs[i].file && trend->runs[i].board &&
           (glob ? put_matching(trend, &bundle, i, glob) : put_named(trend, &bundle, i));
    bundle_free(&bundle);
    if (!fine)
        snprintf(why, DOCUMENT_WHY, "%.400s: out of memory", path);
    else if (strcmp(trend->runs[i].board, trend->runs[0].board)) {
        snprintf(why, DOCUMENT_WHY, "%.300s: of %.60s, and others are of %.60s; expected one "
                 "board's", path, trend->runs[i].board, trend->runs[0].board);
        fine = false;
    }
    return fine;
}

static bool take_all(struct trend *trend, const char *folder, const char *glob,
                     char why[DOCUMENT_WHY])
{
    char **paths = paths_in(folder, &trend->n_runs);
    bool fine = trend->n_runs > 0;

    trend->runs = calloc(trend->n_runs + 1, sizeof *trend->runs);
    if (!fine)
        folder_tell_empty(folder, why);
    for (size_t i = 0; fine && i < trend->n_runs; i++)
        fine = trend->runs && take_bundle(trend, i, paths[i], glob, why);
    if (fine)
        qsort(trend->runs, trend->n_runs, sizeof *trend->runs, by_date);
    paths_free(paths, trend->n_runs);
    return fine;
}

static void trend_free(struct trend *trend)
{
    for (size_t i = 0; trend->runs && i < trend->n_runs; i++) {
        free(trend->runs[i].file);
        free(trend->runs[i].board);
    }
    for (size_t i = 0; i < trend->n_series; i++) {
        free(trend->series[i].name);
        free(trend->series[i].points);
    }
    free(trend->runs);
    free(trend->series);
}

/* --- what moved ------------------------------------------------------------------------------- */

static const struct dot *at(const struct trend *trend, const struct course *one, size_t i)
{
    return &one->points[trend->runs[i].index];
}

static bool is_there(const struct trend *trend, const struct course *one, size_t i)
{
    return number_there(&at(trend, one, i)->number);
}

/* The median of the values of bundles from `first` to before `end`; NaN: there are none. */
static double median_of(const struct trend *trend, const struct course *one, size_t first,
                        size_t end)
{
    double *values = calloc(trend->n_runs, sizeof *values), median = NAN;
    size_t n = 0;

    for (size_t i = first; values && i < end; i++)
        if (is_there(trend, one, i))
            values[n++] = at(trend, one, i)->number.value;
    if (n > 0) {
        stat_sort(values, n);
        median = stat_median(values, n);
    }
    free(values);
    return median;
}

/* A value over one before, less 1; infinite from 0 to another. */
static double change_of(double value, double before)
{
    return value == before ? 0 : value / before - 1;
}

/* The last bundle of a number, the first of its stretch of one method, and the change. */
static void weigh(const struct trend *trend, struct course *one)
{
    for (size_t i = 0; i < trend->n_runs; i++)
        if (is_there(trend, one, i)) {
            if (at(trend, one, i)->method != at(trend, one, one->newest)->method ||
                !is_there(trend, one, one->since))
                one->since = i;
            one->newest = i;
        }
    one->change = change_of(at(trend, one, one->newest)->number.value,
                            median_of(trend, one, one->since, one->newest));
}

/* Numbers that no bundle has go to the end and are not counted. */
static void leave_out_missing(struct trend *trend)
{
    size_t n = trend->n_series;

    for (size_t i = 0; i < n;)
        if (is_there(trend, &trend->series[i], trend->series[i].newest)) {
            i++;
        } else {
            const struct course missing = trend->series[i];
            trend->series[i] = trend->series[--n];
            trend->series[n] = missing;
        }
    trend->n_missing = trend->n_series - n;
}

/* What moved most comes first; what cannot be compared, last. */
static int by_change(const void *a, const void *b)
{
    const struct course *x = a, *y = b;
    const double of_x = isnan(x->change) ? -1 : fabs(x->change);
    const double of_y = isnan(y->change) ? -1 : fabs(y->change);
    return of_x < of_y ? 1 : of_x > of_y ? -1 : strcmp(x->name, y->name);
}

/* --- printing --------------------------------------------------------------------------------- */

/* Is a bundle of the same card, commit, driver and toolkit as the one before it? */
static bool is_same_set(const struct run *a, const struct run *b)
{
    return !strcmp(a->card, b->card) && !strcmp(a->commit, b->commit) &&
           !strcmp(a->driver, b->driver) && !strcmp(a->cuda, b->cuda) &&
           !strncmp(a->started, b->started, strlen("2026-11-22"));
}

static size_t count_sets(const struct trend *trend)
{
    size_t n = 0;
    for (size_t i = 0; i < trend->n_runs; i++)
        n += i == 0 || !is_same_set(&trend->runs[i], &trend->runs[i - 1]);
    return n;
}

static void changed_cell(struct table *table, const struct run *now, const struct run *then)
{
    char text[48];
    snprintf(text, sizeof text, "%s%s%s%s", strcmp(now->card, then->card) ? ", card" : "",
             strcmp(now->commit, then->commit) ? ", commit" : "",
             strcmp(now->driver, then->driver) ? ", driver" : "",
             strcmp(now->cuda, then->cuda) ? ", toolkit" : "");
    table_cell(table, "%s", *text ? text + strlen(", ") : "");
}

static void run_cells(struct table *table, const struct run *run)
{
    table_cell(table, "%.10s", run->started);
    table_cell(table, "%s", run->commit);
    table_cell(table, "%s", run->driver);
    table_cell(table, "%s", run->cuda);
    table_cell(table, "%s", run->card);
    table_cell(table, "%d", run->n_rounds);
}

static void heading(struct table *table, const char *const heads[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        table_cell(table, "%s", heads[i]);
}

/* The newest sets, `most` of them: what stayed the same is one line. */
static void print_sets(FILE *out, const struct trend *trend, size_t most, enum table_format format)
{
    static const char *const heads[] = {"bundles", "date", "commit", "driver", "CUDA", "card",
                                        "rounds", "new"};
    struct table table = table_new("llllllrl");
    size_t skipped = count_sets(trend), set = 0;

    skipped = skipped > most ? skipped - most : 0;
    heading(&table, heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0, end; i < trend->n_runs; i = end) {
        const struct run *run = &trend->runs[i];
        for (end = i + 1; end < trend->n_runs && is_same_set(&trend->runs[end], run);)
            end++;
        if (set++ < skipped)
            continue;
        if (end - i > 1)
            table_cell(&table, "%zu-%zu", i + 1, end);
        else
            table_cell(&table, "%zu", i + 1);
        run_cells(&table, run);
        changed_cell(&table, run, i > 0 ? run - 1 : run);
    }
    table_print(out, &table, format, NULL);
}

/* A bar a bundle. The middle height is the median of the bundles of one method, half of the height
 * is the largest deviation from it, 3 % at least. '|' stands where the method changed. */
static void strip(char *text, size_t size, const struct trend *trend, const struct course *one,
                  bool utf8)
{
    static const char *const bars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char plain[] = "._-=+*#@";
    const size_t first = trend->n_runs > STRIP_MOST ? trend->n_runs - STRIP_MOST : 0;
    size_t length = 0;
    double median = NAN, reach = MOVED;
    int method = 0;

    for (size_t i = first; i < trend->n_runs && length + 8 < size; i++) {
        const struct dot *point = at(trend, one, i);
        size_t end = i;
        if (is_there(trend, one, i) && point->method != method) {
            while (end < trend->n_runs && (!is_there(trend, one, end) ||
                                           at(trend, one, end)->method == point->method))
                end++;
            median = median_of(trend, one, i, end);
            reach = MOVED;
            for (size_t k = i; k < end; k++)
                if (is_there(trend, one, k))
                    reach = fmax(reach, fabs(change_of(at(trend, one, k)->number.value, median)));
            length += (size_t)snprintf(text + length, size - length, "%s", method ? "|" : "");
            method = point->method;
        }
        const double off = change_of(point->number.value, median);
        const double height = isinf(off) ? 1 : off / reach; /* -1 to 1 */
        const int level = isfinite(height) ? (int)lrint((height + 1) / 2 * (LEVELS - 1)) : 0;
        if (!is_there(trend, one, i))
            length += (size_t)snprintf(text + length, size - length, " ");
        else if (utf8)
            length += (size_t)snprintf(text + length, size - length, "%s", bars[level]);
        else
            length += (size_t)snprintf(text + length, size - length, "%c", plain[level]);
    }
}

/* "+1.3 %", "from 0" */
static const char *say_change(char text[40], double change, int places)
{
    char number[32];
    if (isinf(change))
        return "from 0";
    snprintf(text, 40, "%s %%", unit_fixed(number, sizeof number, 100 * change, places, true));
    return text;
}

static void print_strips(FILE *out, const struct trend *trend, size_t most,
                         enum table_format format)
{
    static const char *const heads[] = {"number", "bundles", "before", "newest", "change"};
    struct table table = table_new("llrrr");
    char text[8 * STRIP_MOST], value[48], change[40];
    const bool utf8 = format == TABLE_MD || text_style_of(out).utf8;

    heading(&table, heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < trend->n_series - trend->n_missing && i < most; i++) {
        const struct course *one = &trend->series[i];
        struct number before = at(trend, one, one->newest)->number;
        table_cell(&table, "%s", one->name);
        strip(text, sizeof text, trend, one, utf8);
        table_cell(&table, "%s", text);
        before.value = median_of(trend, one, one->since, one->newest);
        table_cell(&table, "%s", number_say(value, sizeof value, &before, NULL));
        table_cell(&table, "%s", number_say(value, sizeof value,
                                            &at(trend, one, one->newest)->number, NULL));
        table_cell(&table, "%s",
                   isnan(one->change) ? "first" : say_change(change, one->change, 1));
    }
    table_print(out, &table, format, NULL);
}

/* --- one number ------------------------------------------------------------------------------- */

static void print_one(FILE *out, const struct trend *trend, const struct course *one,
                      enum table_format format)
{
    static const char *const heads[] = {"date", "commit", "driver", "CUDA", "card", "rounds",
                                        "value", "from", "to", "change", "new"};
    const size_t most = TREND_LINES - OTHER_LINES;
    struct table table = table_new("lllllrrrrrl");
    const struct run *then = NULL;
    double before = NAN;
    size_t n = 0, shown = 0;
    int method = 0;
    char text[48];

    for (size_t i = 0; i < trend->n_runs; i++)
        n += is_there(trend, one, i);
    heading(&table, heads, sizeof heads / sizeof heads[0]);
    for (size_t i = 0; i < trend->n_runs; i++) {
        const struct dot *point = at(trend, one, i);
        struct number bound = point->number;
        if (!is_there(trend, one, i))
            continue;
        if (++shown + most > n) {
            run_cells(&table, &trend->runs[i]);
            table_cell(&table, "%s", number_say(text, sizeof text, &point->number, NULL));
            bound.value = point->number.low;
            table_cell(&table, "%s", number_say(text, sizeof text, &bound, NULL));
            bound.value = point->number.high;
            table_cell(&table, "%s", number_say(text, sizeof text, &bound, NULL));
            const double change = change_of(point->number.value, before);
            if (then && point->method == method)
                table_cell(&table, "%s", say_change(text, change, 1));
            else
                table_cell(&table, "-");
            if (then && point->method != method)
                table_cell(&table, "method %d, was %d", point->method, method);
            else
                changed_cell(&table, &trend->runs[i], then ? then : &trend->runs[i]);
        }
        then = &trend->runs[i];
        before = point->number.value;
        method = point->method;
    }
    table_print(out, &table, format, NULL);
    fprintf(out, "change: against the line above, where the method is the same.\n");
}

/* --- all -------------------------------------------------------------------------------------- */

static void print_tsv(FILE *out, const struct trend *trend)
{
    static const char *const heads[] = {"number", "date", "commit", "driver", "cuda", "card",
                                        "rounds", "method", "unit", "value", "low", "high",
                                        "status", "file"};
    struct table table = table_new("llllllrrlrrrll");

    heading(&table, heads, sizeof heads / sizeof heads[0]);
    for (size_t k = 0; k < trend->n_series; k++)
        for (size_t i = 0; i < trend->n_runs; i++) {
            const struct dot *point = at(trend, &trend->series[k], i);
            if (!number_there(&point->number))
                continue;
            table_cell(&table, "%s", trend->series[k].name);
            run_cells(&table, &trend->runs[i]);
            table_cell(&table, "%d", point->method);
            table_cell(&table, "%s", point->number.unit);
            table_number(&table, point->number.value);
            table_number(&table, point->number.low);
            table_number(&table, point->number.high);
            table_cell(&table, "%s", row_status_name(point->number.status));
            table_cell(&table, "%s", trend->runs[i].file);
        }
    table_print(out, &table, TABLE_TSV, NULL);
}

/* "hbm-load: 334 ns in the newest of 7 bundles, 334 to 345 ns before" */
static void say_one(FILE *out, const struct trend *trend, const struct course *one,
                    enum table_format format)
{
    struct number least = number_none(), most = number_none();
    char text[48], low[48], high[48];
    size_t n = 0;

    for (size_t i = one->since; i < one->newest; i++) {
        const struct number number = at(trend, one, i)->number;
        if (!number_there(&number))
            continue;
        n++;
        least = n > 1 && least.value <= number.value ? least : number;
        most = n > 1 && most.value >= number.value ? most : number;
    }
    table_put(out, one->name, format);
    number_say(text, sizeof text, &at(trend, one, one->newest)->number, NULL);
    out_printf(out, table_out(format), ": %s on %.10s, ", text, trend->runs[one->newest].started);
    if (n > 0)
        fprintf(out, "%s to %s in %zu earlier bundle%s", number_say(low, sizeof low, &least, NULL),
                number_say(high, sizeof high, &most, NULL), n, n == 1 ? "" : "s");
    else
        fprintf(out, "the first by its method");
}

static void print_finding(FILE *out, const struct trend *trend, enum table_format format)
{
    const struct course *first = &trend->series[0]; /* what moved most */
    size_t moved = 0, compared = 0;
    char text[40];

    for (size_t i = 0; i < trend->n_series; i++) {
        compared += isnan(trend->series[i].change) ? 0 : 1;
        moved += fabs(trend->series[i].change) > MOVED;
    }
    fputs(format == TABLE_MD ? "**" : "", out);
    if (trend->n_series == 1) {
        say_one(out, trend, first, format);
    } else {
        out_printf(out, table_out(format),
                   "%s, %zu bundles: %zu of %zu numbers moved by more than %.0f %%",
                   trend->runs[0].board, trend->n_runs, moved, compared, 100 * MOVED);
        if (moved > 0)
            fprintf(out, ", one %s%s", isinf(first->change) ? "" : "by ",
                    say_change(text, first->change, 0));
    }
    fputs(format == TABLE_MD ? "**\n\n" : "\n\n", out);
}

static void print_many(FILE *out, const struct trend *trend, enum table_format format)
{
    const size_t all_sets = count_sets(trend);
    const size_t sets = all_sets < SETS_MOST ? all_sets : SETS_MOST;
    const size_t most = TREND_LINES - OTHER_LINES - sets;
    const size_t n = trend->n_series - trend->n_missing;

    print_sets(out, trend, sets, format);
    print_strips(out, trend, most, format);
    if (n > most)
        fprintf(out, "%zu more %s: --format tsv\n", n - most,
                isnan(trend->series[most].change) ? "cannot be compared" : "moved less");
    if (trend->n_missing > 0)
        fprintf(out, "%zu more: in no bundle\n", trend->n_missing);
    fputs("before: median of the earlier bundles of the same method. A bar a bundle; blank: not "
          "measured;\n|: another method from there on. Cards of one board differ, too; two bundles "
          "are\njudged by 'gpufloor compare OLD NEW'.\n", out);
}

bool trend_print(FILE *out, const char *folder, const char *glob, enum table_format format,
                 char why[DOCUMENT_WHY])
{
    struct trend trend = {0};
    bool fine;

    snprintf(why, DOCUMENT_WHY, "%.400s: out of memory", folder);
    fine = take_all(&trend, folder, glob, why);
    if (fine && trend.n_series == 0) {
        snprintf(why, DOCUMENT_WHY, "%.200s: --metric %.200s: no metric matches", folder, glob);
        fine = false;
    }
    for (size_t i = 0; fine && i < trend.n_series; i++)
        weigh(&trend, &trend.series[i]);
    if (fine && format == TABLE_TSV) {
        print_tsv(out, &trend);
    } else if (fine) {
        leave_out_missing(&trend);
        qsort(trend.series, trend.n_series - trend.n_missing, sizeof *trend.series, by_change);
        print_finding(out, &trend, format);
        if (trend.n_series == 1)
            print_one(out, &trend, &trend.series[0], format);
        else
            print_many(out, &trend, format);
    }
    trend_free(&trend);
    return fine;
}
