/* A map of a bundle, cell by cell: the data of a plot. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "report/bundle/folder.h"
#include "report/cli/report.h"

/* The grid of the metric with that id in the first run that has it; NULL if none has. */
static const json_t *grid_of(const json_t *document, const char *id)
{
    const json_t *run, *one, *metric;
    char found[DOCUMENT_ID];
    size_t i, k, m;

    json_array_foreach(json_object_get(document, "runs"), i, run) {
        const char *probe = document_get_text(json_object_get(run, "probe"), "name", "");
        json_array_foreach(json_object_get(run, "cases"), k, one)
            json_array_foreach(json_object_get(one, "metrics"), m, metric) {
                document_metric_id(found, probe, one, metric);
                if (json_is_object(json_object_get(metric, "grid")) && !strcmp(found, id))
                    return json_object_get(metric, "grid");
            }
    }
    return NULL;
}

static const json_t *axis(const json_t *grid, size_t i)
{
    return json_array_get(json_object_get(grid, "axes"), i);
}

static void print_number(FILE *out, const json_t *number)
{
    if (json_is_number(number))
        fprintf(out, "%.6g", json_number_value(number));
    else
        fputs("nan", out);
}

/* The first line has the axes' names and the columns' positions; each further line is a row. A
 * bundle is untrusted: values that are missing from a grid are printed as nan. */
static void print_grid(FILE *out, const json_t *grid)
{
    const json_t *rows = json_object_get(axis(grid, 0), "at");
    const json_t *columns = json_object_get(axis(grid, 1), "at");
    const json_t *values = json_object_get(grid, "values");
    size_t n_columns = json_array_size(columns);

    table_put(out, document_get_text(axis(grid, 0), "name", "?"), TABLE_TSV);
    fputc('/', out);
    table_put(out, document_get_text(axis(grid, 1), "name", "?"), TABLE_TSV);
    for (size_t k = 0; k < n_columns; k++) {
        fputc('\t', out);
        print_number(out, json_array_get(columns, k));
    }
    fputc('\n', out);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        print_number(out, json_array_get(rows, i));
        for (size_t k = 0; k < n_columns; k++) {
            fputc('\t', out);
            print_number(out, json_array_get(values, i * n_columns + k));
        }
        fputc('\n', out);
    }
}

/* Prints the map of one file. False, and why empty, when the file is fine but has no such map. */
static bool print_from(FILE *out, const char *path, const char *id, char why[DOCUMENT_WHY])
{
    json_t *document = document_load(path, "bundle", why);
    const json_t *grid = document ? grid_of(document, id) : NULL;
    if (grid)
        print_grid(out, grid);
    json_decref(document);
    return grid != NULL;
}

bool report_map(FILE *out, const char *path, const char *id, char why[DOCUMENT_WHY])
{
    struct stat facts;
    bool found = false;
    size_t n = 0;
    char **paths = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) ? paths_in(path, &n) : NULL;

    why[0] = '\0';
    if (!paths)
        found = print_from(out, path, id, why);
    for (size_t i = n; !found && !why[0] && i-- > 0;) /* names are dates: the newest first */
        found = print_from(out, paths[i], id, why);
    paths_free(paths, n);
    if (!found && !why[0])
        snprintf(why, DOCUMENT_WHY, "%s: no map %s in it (maps have keys: see docs/METRICS.md, and "
                 "quote the id: 'probe.metric{key=value}')", path, id);
    return found;
}
