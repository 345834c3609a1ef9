/* Shared by the tests of the report: rows made by hand. */
#ifndef GPUFLOOR_TEST_REPORT_HELP_H
#define GPUFLOOR_TEST_REPORT_HELP_H

#include <string.h>

#include "report/bundle/rows.h"
#include "tests/unit/check.h"

/* Gives the row `id` one value a round; best is the value itself. */
static inline struct row *put_values(struct rows *rows, const char *id, const char *unit,
                                     enum row_better better, const double *values, size_t n)
{
    struct row *row = rows_get(rows, id, unit, better);
    assert_non_null(row);
    for (size_t i = 0; i < n; i++)
        row_put(row, (int)i, values[i], values[i]);
    row_finish(row);
    return row;
}

/* n runs around a centre: centre - spread to centre + spread in even steps. */
static inline struct row *put_spread(struct rows *rows, const char *id, const char *unit,
                                     enum row_better better, double centre, double spread, size_t n)
{
    double values[ROW_RUNS_MAX];
    for (size_t i = 0; i < n; i++)
        values[i] = n > 1 ? centre + spread * (2 * (double)i / (double)(n - 1) - 1) : centre;
    return put_values(rows, id, unit, better, values, n);
}

#endif
