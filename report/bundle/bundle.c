#include "report/bundle/bundle.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/board.h"
#include "core/text.h"
#include "core/unit.h"
#include "report/bundle/counted.h"
#include "report/bundle/derive.h"

static void replace(char **text, const char *with)
{
    free(*text);
    *text = with ? strdup(with) : NULL;
}

/* --- probes ----------------------------------------------------------------------------------- */

const struct part *bundle_part(const struct bundle *bundle, const char *name)
{
    const ptrdiff_t place = bundle ? index_find(&bundle->programs, name) : INDEX_NONE;
    return place < 0 ? NULL : &bundle->parts[place];
}

const char *bundle_draft(const struct bundle *bundle, const char *id)
{
    char name[DOCUMENT_ID];
    size_t n;
    const char *of = counted_split(id, &n), *program = of ? of : id;
    const size_t length = strcspn(program, ".");
    const struct counted *counted = of ? counted_find(bundle, of, length) : NULL;

    if (counted && counted->draft)
        return counted->draft;
    snprintf(name, sizeof name, "%.*s", (int)length, program);
    const struct part *part = bundle_part(bundle, name);
    return part ? part->draft : NULL;
}

static struct part *part_of(struct bundle *bundle, const char *name)
{
    const ptrdiff_t known = index_find(&bundle->programs, name);
    if (known >= 0)
        return &bundle->parts[known];
    struct part *parts = realloc(bundle->parts, (bundle->n_parts + 1) * sizeof *parts);
    if (!parts)
        return NULL;
    bundle->parts = parts;
    struct part *part = &parts[bundle->n_parts];
    *part = (struct part){.name = strdup(name), .cubins = json_object()};
    if (!part->name || !index_put(&bundle->programs, part->name, bundle->n_parts)) {
        free(part->name);
        json_decref(part->cubins);
        return NULL;
    }
    bundle->n_parts++;
    return part;
}

static int part_by_name(const void *a, const void *b)
{
    return strcmp(((const struct part *)a)->name, ((const struct part *)b)->name);
}

bool bundle_index(struct bundle *bundle)
{
    bool put = true;
    for (size_t i = 0; put && i < bundle->n_parts; i++)
        put = index_put(&bundle->programs, bundle->parts[i].name, i);
    return put;
}

/* The number of a whole-number field, or fallback. */
static int whole(const json_t *object, const char *key, int fallback)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    bool fits = json_is_integer(json_object_get(object, key)) && value >= 0 && value <= INT_MAX;
    return fits ? (int)value : fallback;
}

/* False when memory is short: what is known of a draft may not be lost. */
static bool count_run(struct part *part, const json_t *run)
{
    const json_t *probe = json_object_get(run, "probe");
    const char *status = document_get_text(run, "status", "failed");
    const char *discarded = document_get_text(run, "discarded", NULL);
    const json_t *cubins = json_object_get(run, "cubins");

    part->n_runs++;
    part->n_discarded += discarded != NULL;
    part->n_repeats += json_object_get(json_object_get(run, "run"), "repeat") != NULL;
    part->n_failed += !strcmp(status, "failed");
    part->n_skipped += !strcmp(status, "skipped");
    part->n_ok += !strcmp(status, "ok") && !discarded;
    const json_t *checks = json_object_get(run, "checks"), *check;
    size_t i;

    /* Of checks that passed a bundle holds the number; older ones hold them one by one. */
    json_array_foreach(checks, i, check)
        part->n_checks_failed += json_is_false(json_object_get(check, "ok"));
    part->n_checks += json_array_size(checks) + (size_t)whole(run, "checks_passed", 0);
    part->method = whole(probe, "method", 0);
    if (!part->what)
        replace(&part->what, document_get_text(probe, "what", ""));
    if (!part->draft)
        replace(&part->draft, document_get_text(probe, "draft", NULL));
    if (discarded || strcmp(status, "ok"))
        replace(&part->why,
                discarded ? discarded : document_get_text(run, "why", "no reason given"));
    if (json_is_object(cubins))
        json_object_update(part->cubins, (json_t *)cubins);
    return part->draft || !document_get_text(probe, "draft", NULL);
}

/* --- from runs to rows ------------------------------------------------------------------------ */

static const char *unit_kept(const char *unit)
{
    for (size_t i = 0; unit_at(i); i++)
        if (!strcmp(unit_at(i), unit))
            return unit_at(i);
    return "count";
}

static enum row_better better_of(const char *name)
{
    if (!strcmp(name, "higher"))
        return ROW_HIGHER;
    return !strcmp(name, "exact") ? ROW_EXACT : ROW_LOWER;
}

struct run_context {
    const char *probe;
    int method, round;
    bool failed;
    const char *discarded; /* of the whole run */
    const json_t *said;    /* unit and direction by a metric's name; NULL: each metric says its
                            * own */
    struct index cycles;   /* of one case, once it was asked for: the places of metrics in cycles */
    bool was_asked;
};

/* The metric of a case that has the first bytes of that name, and is in cycles; the first of
 * them. */
static const json_t *cycles_of(struct run_context *at, const json_t *one, const char *name,
                               size_t length)
{
    const json_t *metrics = json_object_get(one, "metrics");
    for (size_t i = at->was_asked ? 0 : json_array_size(metrics); i-- > 0;) {
        const json_t *metric = json_array_get(metrics, i);
        if (!strcmp(document_metric_word(at->said, metric, "unit"), "cycles"))
            index_put(&at->cycles, document_get_text(metric, "name", ""), i);
    }
    at->was_asked = true;
    const ptrdiff_t place = index_find_part(&at->cycles, name, length);
    return place < 0 ? NULL : json_array_get(metrics, (size_t)place);
}

/* One tick, in the metric's unit. A metric NAME_time may accompany NAME in cycles: it holds the
 * same samples in another unit, counted by the cycle counter. Its tick is that of the cycles, not
 * of the timer that gave the clock. */
static double resolution_of(struct run_context *at, const json_t *one, const json_t *metric)
{
    static const char suffix[] = "_time";
    const char *name = document_get_text(metric, "name", "");
    size_t length = strlen(name);
    double stated = document_get_number(metric, "resolution");

    if (length <= strlen(suffix) || strcmp(name + length - strlen(suffix), suffix))
        return stated;
    const json_t *other = cycles_of(at, one, name, length - strlen(suffix));
    return other ? document_get_number(other, "resolution") *
                       document_get_number(metric, "median") / document_get_number(other, "median")
                 : stated;
}

static bool take_metric(struct bundle *bundle, struct run_context *at, const json_t *one,
                        const json_t *metric)
{
    char id[DOCUMENT_ID];
    const char *discarded = document_get_text(one, "discarded", at->discarded);
    double value = document_get_number(metric, "median");

    document_metric_id(id, at->probe, one, metric);
    struct row *row = rows_get(&bundle->rows, id,
                               unit_kept(document_metric_word(at->said, metric, "unit")),
                               better_of(document_metric_word(at->said, metric, "better")));
    if (!row)
        return false;
    row->method = at->method;
    row->once |= json_is_true(json_object_get(one, "once"));
    row->thrice |= json_is_true(json_object_get(one, "thrice"));
    row->power_bound |= json_is_true(json_object_get(one, "power_bound"));
    double resolution = resolution_of(at, one, metric);
    row->resolution = resolution > row->resolution ? resolution : row->resolution;

    if (at->failed) {
        row->n_failed++;
    } else if (discarded) {
        row->n_discarded++;
        if (!row->why)
            replace(&row->why, discarded);
    } else if (isnan(value)) {
        replace(&row->why, document_get_text(metric, "why", "no value, and no reason given"));
    } else {
        const double best = document_get_number(metric, "best");
        const bool is_single = document_get_number(metric, "n") == 1 && best == value;
        const json_t *clock = json_object_get(one, "sm_clock");
        if (isnan(row_at(row, at->round))) { /* a round's first value holds */
            row_put(row, at->round, value, is_single ? (double)NAN : best); /* one has no best */
            row_put_clock(row, at->round, document_get_number(clock, "median_mhz"));
        }
    }
    return true;
}

static void count_states(struct bundle *bundle, const json_t *run)
{
    const char *by = document_get_text(run, "slowed_by", NULL);

    bundle->n_runs++;
    bundle->n_shared += json_is_true(json_object_get(run, "shared"));
    if (by && bundle->n_slowed++ == 0)
        snprintf(bundle->slowed_by, sizeof bundle->slowed_by, "%s", by);
}

static bool take_run(struct bundle *bundle, const json_t *run, int place_in_file)
{
    const json_t *probe = json_object_get(run, "probe"), *about = json_object_get(run, "run");
    const json_t *one, *metric;
    const char *name = document_get_text(probe, "name", "?");
    struct part *part = part_of(bundle, name);
    size_t i, k;

    if (!part || !count_run(part, run))
        return false;
    count_states(bundle, run);
    if (!part->note)
        replace(&part->note, json_string_value(json_array_get(json_object_get(run, "notes"), 0)));
    struct run_context at = {.probe = name,
                             .method = part->method,
                             .round = whole(about, "round", place_in_file),
                             .failed =
                                 strcmp(document_get_text(run, "status", "failed"), "ok") != 0,
                             .discarded = document_get_text(run, "discarded", NULL),
                             .said = json_object_get(run, "metrics")};
    if (at.round < INT_MAX && at.round + 1 > bundle->n_rounds)
        bundle->n_rounds = at.round + 1;
    bool taken = true;
    json_array_foreach(json_object_get(run, "cases"), i, one)
    {
        json_array_foreach(json_object_get(one, "metrics"), k, metric)
            taken = taken && take_metric(bundle, &at, one, metric);
        index_free(&at.cycles);
        at.was_asked = false;
    }
    return taken;
}

static void take_head(struct bundle *bundle, const json_t *document, const char *path)
{
    const json_t *environment = json_object_get(document, "environment");
    const json_t *gpu = json_object_get(environment, "gpu");
    const char *board = document_get_text(gpu, "board", NULL), *key;
    char slug[80];
    json_t *value;

    bundle->head = json_object();
    json_object_foreach((json_t *)document, key, value) if (strcmp(key, "runs"))
        json_object_set(bundle->head, key, value);
    if (!board && document_get_text(gpu, "name", NULL))
        board = board_slug(slug, sizeof slug, document_get_text(gpu, "name", ""));
    replace(&bundle->board, board);
    replace(&bundle->path, path);
    replace(&bundle->name, board ? board : "host");
}

char *bundle_cards(const json_t *head, int signs, char text[BUNDLE_CARDS])
{
    const json_t *environment = json_object_get(head, "environment");
    const json_t *gpus = json_object_get(environment, "gpus"), *gpu;
    size_t i;

    snprintf(text, BUNDLE_CARDS, "%.*s", signs,
             document_get_text(json_object_get(environment, "gpu"), "id_hash", ""));
    json_array_foreach(gpus, i, gpu)
        if (i > 0)
            text_append(text, BUNDLE_CARDS, "+%.*s", signs,
                        document_get_text(gpu, "id_hash", "none"));
    return text;
}

/* Was a part measured by the card that the head of all names? */
static bool is_of_card(const struct part *part, const json_t *head)
{
    char text[BUNDLE_CARDS];
    return part->card && !strcmp(part->card, bundle_cards(head, CARD_WHOLE, text));
}

static void take_source(struct part *part, const json_t *head)
{
    char card[BUNDLE_CARDS];

    replace(&part->from, document_get_text(head, "started", "?"));
    replace(&part->commit, document_get_text(json_object_get(head, "suite"), "commit", "unknown"));
    replace(&part->card, bundle_cards(head, CARD_WHOLE, card));
}

static bool take_measured(struct bundle *bundle, const json_t *document, const char *path)
{
    const json_t *run;
    size_t i;

    *bundle = (struct bundle){0};
    take_head(bundle, document, path);
    json_array_foreach(json_object_get(document, "runs"), i, run)
    {
        if (!take_run(bundle, run, (int)(i < INT_MAX ? i : INT_MAX))) {
            bundle_free(bundle);
            return false;
        }
    }
    for (i = 0; i < bundle->n_parts; i++)
        take_source(&bundle->parts[i], bundle->head);
    if (bundle->n_parts > 0)
        qsort(bundle->parts, bundle->n_parts, sizeof *bundle->parts, part_by_name);
    rows_finish(&bundle->rows);
    return bundle_index(bundle);
}

void bundle_derive(struct bundle *bundle)
{
    struct rows *rows = &bundle->rows;
    bool any = false;

    for (size_t k = 0; k < bundle->n_parts; k++) {
        size_t end;
        for (size_t i = rows_of(rows, bundle->parts[k].name, &end);
             bundle->parts[k].draft && i < end; i++) {
            rows->row[i].status = ROW_MISSING;
            any = true;
        }
    }
    derive(rows, json_object_get(json_object_get(bundle->head, "environment"), "gpu"));
    if (any)
        rows_finish(rows); /* they are what they were */
}

bool bundle_take(struct bundle *bundle, const json_t *document, const char *path)
{
    if (!take_measured(bundle, document, path))
        return false;
    bundle_derive(bundle);
    return true;
}

static bool open_by(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY],
                    bool (*take)(struct bundle *, const json_t *, const char *))
{
    *bundle = (struct bundle){0};
    json_t *document = document_load(path, "bundle", why);
    if (!document)
        return false;
    bool taken = take(bundle, document, path);
    if (!taken)
        snprintf(why, DOCUMENT_WHY, "%s: out of memory", path);
    json_decref(document);
    return taken;
}

bool bundle_open(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY])
{
    return open_by(bundle, path, why, bundle_take);
}

bool bundle_open_measured(struct bundle *bundle, const char *path, char why[DOCUMENT_WHY])
{
    return open_by(bundle, path, why, take_measured);
}

void bundle_free(struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->n_parts; i++) {
        struct part *part = &bundle->parts[i];
        free(part->name);
        free(part->what);
        free(part->why);
        free(part->note);
        free(part->draft);
        free(part->from);
        free(part->commit);
        free(part->card);
        json_decref(part->cubins);
    }
    for (size_t i = 0; i < bundle->n_counted; i++) {
        free(bundle->counted_from[i].program);
        free(bundle->counted_from[i].from);
        free(bundle->counted_from[i].commit);
        free(bundle->counted_from[i].draft);
    }
    free(bundle->counted_from);
    free(bundle->parts);
    index_free(&bundle->programs);
    free(bundle->name);
    free(bundle->path);
    free(bundle->board);
    json_decref(bundle->head);
    rows_free(&bundle->rows);
    rows_free(&bundle->counted);
    *bundle = (struct bundle){0};
}

/* --- about the machine ------------------------------------------------------------------------ */

const char *bundle_fact(const struct bundle *bundle, const char *section, const char *key,
                        char *text, size_t size, const char *fallback)
{
    const json_t *environment = json_object_get(bundle->head, "environment");
    const json_t *value = json_object_get(json_object_get(environment, section), key);

    if (json_is_string(value))
        snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "on" : "off");
    else if (json_is_number(value))
        snprintf(text, size, "%.9g", json_number_value(value));
    else
        return fallback;
    return text;
}

char *bundle_line(const struct bundle *bundle, char *text, size_t size)
{
    char a[160], b[80], c[80], d[80], e[80];
    const char *gpu = bundle_fact(bundle, "gpu", "name", a, sizeof a, NULL);
    char machine[420];

    if (gpu)
        snprintf(machine, sizeof machine, "%s, %s SMs, driver %s, CUDA %s", gpu,
                 bundle_fact(bundle, "gpu", "n_sm", b, sizeof b, "?"),
                 bundle_fact(bundle, "driver", "version", c, sizeof c, "?"),
                 bundle_fact(bundle, "runtime", "cuda", d, sizeof d, "?"));
    else
        snprintf(machine, sizeof machine, "%s, no GPU",
                 bundle_fact(bundle, "host", "cpu", a, sizeof a, "unknown CPU"));
    const json_t *suite = json_object_get(bundle->head, "suite");
    snprintf(e, sizeof e, "%.7s%s", document_get_text(suite, "commit", "unknown"),
             json_is_true(json_object_get(suite, "dirty")) ? "+" : "");
    snprintf(text, size, "%s; %.10s, %d round%s%s, gpufloor %.20s (%s)", machine,
             document_get_text(bundle->head, "started", "undated"), bundle->n_rounds,
             bundle->n_rounds == 1 ? "" : "s",
             json_is_false(json_object_get(bundle->head, "complete")) ? " (not complete)" : "",
             document_get_text(suite, "version", "?"), e);
    return text;
}

static bool same_origin(const struct part *a, const struct part *b)
{
    return !strcmp(a->commit, b->commit) && a->card && b->card && !strcmp(a->card, b->card);
}

/* Does a part before part i come from the same bundle? */
static bool is_named(const struct bundle *bundle, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (bundle->parts[j].commit && same_origin(&bundle->parts[j], &bundle->parts[i]))
            return true;
    return false;
}

/* Is a part of the bundle whose head stands for all? */
static bool is_ours(const struct bundle *bundle, const struct part *part)
{
    const char *ours = document_get_text(json_object_get(bundle->head, "suite"), "commit", "");
    return !part->commit || (is_of_card(part, bundle->head) && !strcmp(part->commit, ours));
}

size_t bundle_gpus(const struct bundle *bundle)
{
    const json_t *environment = json_object_get(bundle->head, "environment");
    const size_t n = json_array_size(json_object_get(environment, "gpus"));
    return n > 1 ? n : 1;
}

double bundle_sms(const struct bundle *bundle)
{
    char text[32];
    return strtod(bundle_fact(bundle, "gpu", "n_sm", text, sizeof text, "nan"), NULL);
}

size_t bundle_n_others(const struct bundle *bundle)
{
    size_t n = 0;
    for (size_t i = 0; i < bundle->n_parts; i++)
        n += !is_ours(bundle, &bundle->parts[i]);
    return n;
}

/* The programs that come from where part i does, by name if they are few. */
static void name_origin(const struct bundle *bundle, size_t i, FILE *out)
{
    enum { NAMED_MOST = 6 };
    size_t n = 0;
    for (size_t j = i; j < bundle->n_parts; j++)
        n += bundle->parts[j].commit && same_origin(&bundle->parts[i], &bundle->parts[j]);
    if (n > NAMED_MOST) {
        fprintf(out, "%zu programs", n);
        return;
    }
    fputs(bundle->parts[i].name, out);
    for (size_t j = i + 1; j < bundle->n_parts; j++)
        if (bundle->parts[j].commit && same_origin(&bundle->parts[i], &bundle->parts[j]))
            fprintf(out, ", %s", bundle->parts[j].name);
}

char *bundle_others(const struct bundle *bundle, char *text, size_t size)
{
    FILE *out;

    text[0] = '\0';
    if (!(out = fmemopen(text, size, "w")))
        return text;
    for (size_t i = 0; i < bundle->n_parts; i++) {
        const struct part *part = &bundle->parts[i];
        const bool same_card = is_of_card(part, bundle->head);
        if (is_ours(bundle, part) || is_named(bundle, i))
            continue;
        fputs(ftell(out) > 0 ? "; " : "", out);
        name_origin(bundle, i, out);
        fprintf(out, ": gpufloor %.7s%s", part->commit, same_card ? "" : ", another card");
    }
    fclose(out);
    return text;
}
