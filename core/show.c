/* The small table that a probe prints when a person runs it by hand. */
#include <math.h>
#include <string.h>

#include "core/run.h"
#include "core/unit.h"

static void show_metric(FILE *out, const char *name, const json_t *one, const json_t *metric,
                        const char *unit)
{
    char id[DOCUMENT_ID], median[32], best[32], spread[32] = "";
    double centre = document_get_number(metric, "median");
    double mad = document_get_number(metric, "mad");

    document_metric_id(id, name, one, metric);
    unit_format(median, sizeof median, centre, unit, 4);
    unit_format(best, sizeof best, document_get_number(metric, "best"), unit, 4);
    if (mad >= 0)
        snprintf(spread, sizeof spread, "+-%.2g %%", 100 * mad / centre);
    fprintf(out, "%-92s %14s %14s %9s %6.0f\n", id + strlen(name) + 1, median, best, spread,
            document_get_number(metric, "n"));
}

void show_run(FILE *out, const json_t *document)
{
    const char *name = document_get_text(json_object_get(document, "probe"), "name", "?");
    const json_t *cases = json_object_get(document, "cases"), *one, *metric, *item;
    const json_t *said = json_object_get(document, "metrics");
    size_t i, k;

    if (json_array_size(cases) > 0)
        fprintf(out, "%-92s %14s %14s %9s %6s\n", name, "median", "best", "MAD", "n");
    json_array_foreach(cases, i, one)
    {
        json_array_foreach(json_object_get(one, "metrics"), k, metric)
            show_metric(out, name, one, metric, document_metric_word(said, metric, "unit"));
        if (json_object_get(one, "discarded"))
            fprintf(out, "  ^ discarded: %s\n", document_get_text(one, "discarded", ""));
    }
    const json_int_t passed = json_integer_value(json_object_get(document, "checks_passed"));
    const json_int_t all = passed +
                           (json_int_t)json_array_size(json_object_get(document, "checks"));
    if (all > 0)
        fprintf(out, "%lld of %lld checks passed\n", (long long)passed, (long long)all);
    json_array_foreach(json_object_get(document, "notes"), i, item)
        fprintf(out, "note: %s\n", json_string_value(item));
}
