/* The tables of `gpufloor counters`. */
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/document.h"
#include "core/unit.h"
#include "report/cli/counter_table.h"

enum { LOSSES_SHOWN = 3 };

static void row(struct table *table, const char *const cells[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        table_cell(table, "%s", cells[i]);
}
#define ROW(table, ...) \
    row(table, (const char *const[]){__VA_ARGS__}, \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void share_cell(struct table *table, double share)
{
    char text[32];
    const int digits = share >= 0.9995 || share == 0 ? 0 : 1;
    if (isnan(share))
        table_cell(table, "-");
    else
        table_cell(table, "%s %%", unit_fixed(text, sizeof text, 100 * share, digits, false));
}

static void number_cell(struct table *table, double value, int digits)
{
    char text[32];
    if (isnan(value))
        table_cell(table, "-");
    else
        table_cell(table, "%s", unit_fixed(text, sizeof text, value, digits, false));
}

static void unit_cell(struct table *table, double value, const char *unit)
{
    char text[32];
    if (isnan(value))
        table_cell(table, "-");
    else
        table_cell(table, "%s", unit_format(text, sizeof text, value, unit, 4));
}

/* The keys of a case; if it has none, what it measures. */
static const char *keys_of(const json_t *one)
{
    const char *keys = document_get_text(one, "case", "");
    const json_t *first = json_array_get(json_object_get(one, "metrics"), 0);
    return *keys ? keys : document_get_text(first, "name", "");
}

/* --- counters --------------------------------------------------------------------------------- */

/* Each table shows every case of a probe that was counted. */
typedef void case_row(struct table *table, const json_t *one, const struct counter_figures *c,
                      const json_t *timed);

static void loads_row(struct table *table, const json_t *one, const struct counter_figures *c,
                      const json_t *timed)
{
    int claim = counter_claim(document_get_text(one, "case", ""));
    (void)timed;
    number_cell(table, c->shared_loads, 0);
    number_cell(table, c->global_loads, 0);
    share_cell(table, c->l1_hits);
    share_cell(table, c->l2_hits);
    unit_cell(table, c->dram_read, "bytes");
    unit_cell(table, c->dram_written, "bytes");
    number_cell(table, c->read_of_own, 3);
    number_cell(table, c->written_of_own, 3);
    if (claim < 0 || isnan(c->served[claim]))
        table_cell(table, "-");
    else
        table_cell(table, "%s %.2f %%", level_name((enum level)claim), 100 * c->served[claim]);
}

static void sms_row(struct table *table, const json_t *one, const struct counter_figures *c,
                    const json_t *timed)
{
    char lost[160] = "";
    size_t used = 0;

    (void)one;
    (void)timed;
    unit_cell(table, c->body_ns, "ns");
    number_cell(table, c->n_busy, 1);
    share_cell(table, c->least_busy);
    share_cell(table, c->busy);
    number_cell(table, c->warps, 2);
    share_cell(table, c->issued);
    for (int i = 0; i < c->n_lost && i < LOSSES_SHOWN && used < sizeof lost; i++)
        if (c->lost[i].share >= 0.005)
            used += (size_t)snprintf(lost + used, sizeof lost - used, "%s%s %.0f %%",
                                     used ? ", " : "", c->lost[i].reason, 100 * c->lost[i].share);
    table_cell(table, "%s", lost);
    if (c->limit)
        table_cell(table, "%s (%s %.0f %%)", bound_name(c->bound), c->limit, 100 * c->limit_busy);
    else
        table_cell(table, "%s%s", bound_name(c->bound), c->gated ? " (gated)" : "");
}

/* The first metric of the case that has a time in both runs. */
static double slowdown(const json_t *one, const json_t *timed, const char **name)
{
    const json_t *metric, *other;
    size_t i, k;

    json_array_foreach(json_object_get(one, "metrics"), i, metric) {
        *name = document_get_text(metric, "name", "?");
        json_array_foreach(json_object_get(timed, "metrics"), k, other) {
            double factor = counter_slowdown(other, metric);
            if (!strcmp(*name, document_get_text(other, "name", "")) && !isnan(factor) &&
                !strcmp(document_get_text(metric, "timer", ""),
                        document_get_text(other, "timer", "")))
                return factor;
        }
    }
    *name = "-";
    return NAN;
}

static void clocks_row(struct table *table, const json_t *one, const struct counter_figures *c,
                       const json_t *timed)
{
    const char *name;
    double factor = slowdown(one, timed, &name);
    number_cell(table, c->sm_mhz, 0);
    number_cell(table, c->l2_mhz, 0);
    number_cell(table, c->dram_mhz, 0);
    number_cell(table, c->sys_mhz, 0);
    table_cell(table, "%s", name);
    number_cell(table, factor, 3);
}

static void rows(struct table *table, const json_t *probe, case_row *print)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(probe, "cases"), i, one) {
        struct counter_figures c;
        const json_t *timed =
            counter_case(json_object_get(json_object_get(probe, "timed"), "cases"), one);
        counter_read(&c, document_get_text(probe, "name", ""), one, timed);
        table_cell(table, "%s", keys_of(one));
        print(table, one, &c, timed);
    }
}

static void show_counted(FILE *out, const json_t *probe)
{
    struct table loads = table_new("lrrrrrrrrr"), sms = table_new("lrrrrrrll");
    struct table clocks = table_new("lrrrrlr");

    ROW(&loads, "where loads were served", "shared loads", "global loads", "L1 hits", "L2 hits",
        "memory read", "written", "read/own", "written/own", "level claimed");
    rows(&loads, probe, loads_row);
    table_print(out, &loads, TABLE_TEXT, NULL);

    ROW(&sms, "what the SMs did", "time", "busy SMs", "least", "most", "warps", "issued",
        "issue slots lost to", "bound by");
    rows(&sms, probe, sms_row);
    table_print(out, &sms, TABLE_TEXT, NULL);

    ROW(&clocks, "clocks in MHz", "SM", "L2", "memory", "sys", "metric", "counted / timed");
    rows(&clocks, probe, clocks_row);
    table_print(out, &clocks, TABLE_TEXT, NULL);
}

/* --- launches --------------------------------------------------------------------------------- */

static void show_launches(FILE *out, const json_t *probe)
{
    static const char *const intervals[] = {"call_ns",
                                            "called_to_queued_ns",
                                            "queued_to_submitted_ns",
                                            "submitted_to_started_ns",
                                            "started_to_ended_ns",
                                            "start_to_next_start_ns"};
    struct table table = table_new("lrrrrrrrr");
    const json_t *one;
    size_t i;

    ROW(&table, "launches, medians", "kernels", "usable", "call", "to queued", "to submitted",
        "to start", "kernel", "start to start");
    json_array_foreach(json_object_get(json_object_get(probe, "traced"), "cases"), i, one) {
        const json_t *seen = json_object_get(one, "launches");
        double n = document_get_number(seen, "kernels");
        if (!seen)
            continue;
        table_cell(&table, "%s", keys_of(one));
        number_cell(&table, n, 0);
        share_cell(&table, n > 0 ? document_get_number(seen, "usable") / n : (double)NAN);
        for (size_t k = 0; k < sizeof intervals / sizeof intervals[0]; k++)
            unit_cell(&table, document_get_number(seen, intervals[k]), "ns");
    }
    table_print(out, &table, TABLE_TEXT, NULL);
}

/* What was timed without any instrument, next to the same while launches were recorded. */
static void show_traced(FILE *out, const json_t *probe)
{
    const json_t *timed = json_object_get(json_object_get(probe, "timed"), "cases");
    const json_t *one, *metric, *other;
    struct table table = table_new("lrrr");
    size_t i, k, j;

    ROW(&table, "without and with records", "timed", "traced", "traced / timed");
    json_array_foreach(json_object_get(json_object_get(probe, "traced"), "cases"), i, one)
        json_array_foreach(json_object_get(one, "metrics"), k, metric) {
            char id[DOCUMENT_ID], of_other[DOCUMENT_ID];
            const char *name = document_get_text(probe, "name", "?");
            const char *unit = document_get_text(metric, "unit", "");
            document_metric_id(id, name, one, metric);
            const json_t *same = counter_case(timed, one);
            json_array_foreach(json_object_get(same, "metrics"), j, other) {
                document_metric_id(of_other, name, same, other);
                if (strcmp(id, of_other))
                    continue;
                table_cell(&table, "%s", id);
                unit_cell(&table, document_get_number(other, "median"), unit);
                unit_cell(&table, document_get_number(metric, "median"), unit);
                number_cell(&table, counter_slowdown(other, metric), 3);
            }
        }
    table_print(out, &table, TABLE_TEXT, NULL);
}

void counter_table_show(FILE *out, const json_t *probe)
{
    const json_t *first = json_array_get(json_object_get(probe, "counted"), 0);
    const char *chip = document_get_text(json_object_get(first, "counters"), "chip", NULL);

    out_printf(out, OUT_TEXT, "%s%s%s%s\n", document_get_text(probe, "name", "?"), chip ? " (" : "",
            chip ? chip : "", chip ? ")" : "");
    show_counted(out, probe);
    if (json_object_get(probe, "traced")) {
        show_launches(out, probe);
        show_traced(out, probe);
    }
}

/* --- a document from a file ------------------------------------------------------------------- */

bool counter_table_is_for(const char *path)
{
    char head[64] = "";
    struct stat facts;
    /* Not fopen(): on a FIFO it would wait for ever for a writer. */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool regular = file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    ssize_t n = regular ? read(file, head, sizeof head - 1) : 0;
    if (file >= 0)
        close(file);
    return n > 0 && strstr(head, "\"counters\"") != NULL;
}

bool counter_table_report(FILE *out, const char *path, char why[DOCUMENT_WHY])
{
    json_t *document = document_load(path, "counters", why);
    const json_t *probe;
    size_t i;

    json_array_foreach(json_object_get(document, "probes"), i, probe)
        counter_table_show(out, probe);
    json_decref(document);
    return document != NULL;
}
