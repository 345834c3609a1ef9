#include "report/bundle/counted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/counter_sets.h"
#include "core/unit.h"
#include "report/bundle/cubins.h"
#include "report/bundle/folder.h"

/* A figure: the sum of its counters x scale, for one unit of work or over the whole pass. All its
 * counters are of one set. Copies to shared memory show from the L2 on, and are no loads of an L1
 * (docs/METHOD.md). */
static const struct figure {
    const char *name, *unit, *counters[2];
    double scale;
    bool of_work;
    const char *what;
} figures[] = {
    {"dram_bytes", "bytes", {"dram_read", "dram_write"}, 1, true, "device memory read and wrote"},
    {"dram_read", "bytes", {"dram_read"}, 1, true, "read from device memory"},
    {"dram_written", "bytes", {"dram_write"}, 1, true, "written to device memory"},
    {"l2_sectors", "count", {"l2_sectors"}, 1, true, "sectors of 32 bytes, L2 to L1s, by loads"},
    {"l2_read", "bytes", {"l2_sectors"}, 32, true, "from the L2 to the L1s, by loads"},
    {"l1_sectors", "count", {"l1_sectors"}, 1, true, "sectors that global loads asked of the L1s"},
    {"global_loads", "count", {"global_loads"}, 1, true, "instructions of warps"},
    {"shared_loads", "count", {"shared_loads"}, 1, true, "instructions of warps"},
    {"instructions", "count", {"instructions"}, 1, true, "instructions of warps"},
    {"tensor_busy", "ratio", {"tensor_busy"}, 0.01, false, "cycles of the tensor pipes in use"},
    {"fma_busy", "ratio", {"fma_busy"}, 0.01, false, "cycles of the FMA pipes in use"},
    {"alu_busy", "ratio", {"alu_busy"}, 0.01, false, "cycles of the ALU pipes in use"},
    {"xu_busy", "ratio", {"xu_busy"}, 0.01, false, "cycles of the XU pipes in use"},
    {"blocks", "count", {"blocks"}, 1, true, "blocks launched"},
    {"blocks_least", "count", {"blocks_least"}, 1, true, "blocks on the SM that had least"},
    {"blocks_most", "count", {"blocks_most"}, 1, true, "blocks on the SM that had most"},
    {"issue_busy", "ratio", {"issue"}, 0.01, false, "issue slots in use"},
    {"dram_busy", "ratio", {"dram_busy"}, 0.01, false, "of the peak rate of device memory"},
    {"l2_busy", "ratio", {"l2_busy"}, 0.01, false, "of the peak rate of the L2"},
};
enum { N_FIGURES = sizeof figures / sizeof figures[0] };
static const char OF[] = " of ";

const char *counted_figure(size_t i, const char **what)
{
    if (i >= N_FIGURES)
        return NULL;
    *what = figures[i].what;
    return figures[i].name;
}

const char *counted_split(const char *id, size_t *n)
{
    const char *of = strstr(id, OF);
    if (!of)
        return NULL;
    *n = (size_t)(of - id);
    for (size_t i = 0; i < N_FIGURES; i++)
        if (strlen(figures[i].name) == *n && !strncmp(figures[i].name, id, *n))
            return of + strlen(OF);
    return NULL;
}

const char *counted_metric(char name[COUNTED_METRIC], const json_t *metric)
{
    const char *timer = document_get_text(metric, "timer", NULL);
    snprintf(name, COUNTED_METRIC, "%.100s%s%.40s", document_get_text(metric, "name", "?"),
             timer ? "," : "", timer ? timer : "");
    return name;
}

const struct counted *counted_find(const struct bundle *bundle, const char *program, size_t length)
{
    for (size_t i = 0; i < bundle->n_counted; i++) {
        const char *name = bundle->counted_from[i].program;
        if (strlen(name) == length && !strncmp(name, program, length))
            return &bundle->counted_from[i];
    }
    return NULL;
}

/* --- from cases to rows ----------------------------------------------------------------------- */

/* The set that reads a counter. */
static const char *set_of(const char *counter)
{
    for (size_t i = 0; i < COUNTER_SETS; i++)
        for (size_t k = 0; k < counter_sets[i].n; k++)
            if (!strcmp(counter_sets[i].counters[k].id, counter))
                return counter_sets[i].name;
    return "";
}

/* One of the three values of a figure's counters, added up; NaN where one was not counted. */
static double added(const json_t *one, const char *which, const struct figure *f)
{
    const json_t *counters = json_object_get(one, which);
    double sum = document_get_number(counters, f->counters[0]);
    if (f->counters[1])
        sum += document_get_number(counters, f->counters[1]);
    return sum >= 0 ? sum : (double)NAN;
}

/* Do two metrics time different work in one pass? The same work has the same samples. */
static bool has_several_bodies(const json_t *one)
{
    double first = NAN;
    const json_t *metric;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i, metric)
    {
        const char *unit = document_get_text(metric, "unit", "");
        const double ns = document_get_number(metric, "pass_value");
        if (isnan(ns) || (strcmp(unit, "ns") && !unit_is_rate(unit)))
            continue;
        if (isnan(first))
            first = ns;
        else if (fabs(ns / first - 1) > 1e-6)
            return true;
    }
    return false;
}

/* Why a case has no figures; NULL: it has. */
static const char *lacks_figures(const json_t *one)
{
    if (has_several_bodies(one))
        return "one pass holds what several of its metrics time, and all of it was counted";
    if (!json_is_integer(json_object_get(one, "sweeps")))
        return "its document does not say whether the L2 was swept: it is of an older version";
    if (json_integer_value(json_object_get(one, "sweeps")) != 0)
        return "what sweeps the L2 between two operations was counted, too";
    return NULL;
}

/* Work of a pass that read the figure's counters; 1 for a share, NaN where it is not known. */
static double work_of(const json_t *one, const json_t *metric, const struct figure *f)
{
    char name[COUNTED_METRIC];
    if (!f->of_work)
        return 1;
    const json_t *works = json_object_get(one, "works");
    const double work = document_get_number(json_object_get(works, set_of(f->counters[0])),
                                            counted_metric(name, metric));
    return work > 0 ? work : (double)NAN;
}

static bool add_row(struct rows *rows, const char *id, const json_t *one, const json_t *metric,
                    const struct figure *f, bool stale)
{
    char name[2 * DOCUMENT_ID];
    const char *lacks = lacks_figures(one);
    const double scale = f->scale / work_of(one, metric, f);
    const double centre = added(one, "counters", f) * scale;

    if (isnan(centre) && !lacks)
        return true;
    snprintf(name, sizeof name, "%s%s%s", f->name, OF, id);
    struct row *row = rows_get(rows, name, f->unit, ROW_EXACT);
    if (!row || row->n > 0)
        return row != NULL;
    row->centre = row->best = row->low = row->high = NAN;
    row->status = ROW_MISSING;
    if (lacks) {
        free(row->why);
        return (row->why = strdup(lacks)) != NULL;
    }
    row_put(row, 0, centre, centre);
    row->centre = row->best = centre;
    row->low = fmin(centre, added(one, "counters_least", f) * scale);
    row->high = fmax(centre, added(one, "counters_most", f) * scale);
    row->stale = stale;
    row->status = stale ? ROW_STALE : ROW_OK;
    return true;
}

/* The figures of all metrics that have samples. */
static bool add_cases(struct bundle *bundle, const struct counted *from, const json_t *cases)
{
    const json_t *one, *metric;
    size_t i, k;

    json_array_foreach(cases, i, one) json_array_foreach(json_object_get(one, "metrics"), k, metric)
    {
        char id[DOCUMENT_ID];
        if (!json_is_number(json_object_get(metric, "pass_work")))
            continue;
        document_metric_id(id, from->program, one, metric);
        for (size_t j = 0; j < N_FIGURES; j++)
            if (!add_row(&bundle->counted, id, one, metric, &figures[j], from->stale))
                return false;
    }
    return true;
}

/* --- from documents to cases ------------------------------------------------------------------ */

/* Did the document count other kernels than those that the bundle's rows come from? */
static bool is_stale(const struct bundle *bundle, const json_t *probe)
{
    const json_t *timed = json_object_get(probe, "timed");
    const char *name = document_get_text(probe, "name", "?");
    const json_int_t method =
        json_integer_value(json_object_get(json_object_get(timed, "probe"), "method"));

    const struct part *part = bundle_part(bundle, name);
    return part && (part->method != method ||
                    cubins_changed(json_object_get(timed, "cubins"), part->cubins) > 0);
}

struct entry {
    const json_t *document, *probe;
    bool stale;
};

/* Documents come in the order of preference, but the same kernels go before other ones. */
static struct entry choose(const struct bundle *bundle, json_t *const *documents, size_t n,
                           const char *program)
{
    struct entry chosen = {0};
    for (size_t i = 0; i < n; i++) {
        const json_t *probe;
        size_t k;
        json_array_foreach(json_object_get(documents[i], "probes"), k, probe)
        {
            if (strcmp(document_get_text(probe, "name", ""), program) ||
                json_array_size(json_object_get(probe, "cases")) == 0)
                continue;
            const struct entry entry = {documents[i], probe, is_stale(bundle, probe)};
            if (!chosen.probe || (chosen.stale && !entry.stale))
                chosen = entry;
        }
    }
    return chosen;
}

static bool add_program(struct bundle *bundle, const struct entry *entry, const char *program)
{
    const json_t *suite = json_object_get(entry->document, "suite");
    const json_t *timed = json_object_get(json_object_get(entry->probe, "timed"), "probe");
    const char *draft = document_get_text(timed, "draft", NULL);
    struct counted *from =
        realloc(bundle->counted_from, (bundle->n_counted + 1) * sizeof *bundle->counted_from);
    if (!from)
        return false;
    bundle->counted_from = from;
    from += bundle->n_counted++;
    *from = (struct counted){.program = strdup(program),
                             .from = strdup(document_get_text(entry->document, "started", "?")),
                             .commit = strdup(document_get_text(suite, "commit", "unknown")),
                             .draft = draft ? strdup(draft) : NULL,
                             .stale = entry->stale};
    return from->program && from->from && from->commit && !from->draft == !draft &&
           add_cases(bundle, from, json_object_get(entry->probe, "cases"));
}

bool counted_take(struct bundle *bundle, json_t *const *documents, size_t n, char why[DOCUMENT_WHY])
{
    for (size_t i = 0; i < n; i++) {
        const json_t *probe;
        size_t k;
        json_array_foreach(json_object_get(documents[i], "probes"), k, probe)
        {
            const char *program = document_get_text(probe, "name", "");
            if (counted_find(bundle, program, strlen(program)))
                continue;
            const struct entry entry = choose(bundle, documents, n, program);
            if (entry.probe && !add_program(bundle, &entry, program)) {
                snprintf(why, DOCUMENT_WHY, "counted figures: out of memory");
                return false;
            }
        }
    }
    return true;
}

/* --- from files to documents ------------------------------------------------------------------ */

static json_t *read_one(const struct bundle *bundle, const char *path, char why[DOCUMENT_WHY])
{
    json_t *document = document_load(path, "counters", why);
    const json_t *gpu = json_object_get(json_object_get(document, "environment"), "gpu");
    const char *board = document_get_text(gpu, "board", "a host");
    const char *status = document_get_text(document, "status", "?");

    if (!document)
        return NULL;
    if (!strcmp(status, "ok") && bundle->board && !strcmp(bundle->board, board))
        return document;
    if (strcmp(status, "ok"))
        snprintf(why, DOCUMENT_WHY, "%.300s: counting ended with status %.60s", path, status);
    else
        snprintf(why, DOCUMENT_WHY, "%.300s: counted on %.60s, and the bundle is of %.60s", path,
                 board, bundle->board ? bundle->board : "a host");
    json_decref(document);
    return NULL;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(document_get_text(*(json_t *const *)b, "started", ""),
                  document_get_text(*(json_t *const *)a, "started", ""));
}

/* The documents of the bundle's folder, if it is one; *n: read so far. */
static bool read_folder(const struct bundle *bundle, json_t ***documents, size_t *n,
                        char why[DOCUMENT_WHY])
{
    char *folder = NULL;
    struct stat facts;
    size_t n_paths = 0;
    bool read = true;

    if (!bundle->path || asprintf(&folder, "%s/counters", bundle->path) < 0)
        return true;
    char **paths = stat(folder, &facts) == 0 ? paths_in(folder, &n_paths) : NULL;
    json_t **more = realloc(*documents, (*n + n_paths + 1) * sizeof *more);
    if (more)
        *documents = more;
    for (size_t i = 0; more && read && i < n_paths; i++) {
        more[*n] = read_one(bundle, paths[i], why);
        read = more[*n] != NULL;
        *n += read;
    }
    paths_free(paths, n_paths);
    free(folder);
    return more && read;
}

bool counted_open(struct bundle *bundle, const char *const *files, size_t n, char why[DOCUMENT_WHY])
{
    json_t **documents = calloc(n + 1, sizeof *documents);
    size_t n_read = 0;
    bool opened = documents != NULL;

    snprintf(why, DOCUMENT_WHY, "counted figures: out of memory");
    for (size_t i = n; opened && i-- > 0;) { /* the last file first */
        documents[n_read] = read_one(bundle, files[i], why);
        opened = documents[n_read] != NULL;
        n_read += opened;
    }
    /* A program that a file holds is taken from there, whatever the folder holds. */
    opened = opened && counted_take(bundle, documents, n_read, why);
    const size_t n_files = n_read;
    opened = opened && read_folder(bundle, &documents, &n_read, why);
    if (opened && n_read > n_files) {
        qsort(documents + n_files, n_read - n_files, sizeof *documents, newest_first);
        opened = counted_take(bundle, documents + n_files, n_read - n_files, why);
    }
    for (size_t i = 0; i < n_read; i++)
        json_decref(documents[i]);
    free(documents);
    return opened;
}
