/* The table of quality: what the results of the fused kernels are worth, gathered over all probes that
 * have the metrics of fused/common/operation.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/cli/report.h"

/* The value of another of the probe's metrics, or of another implementation, in the same case; NaN where
 * there is none. */
static double value_beside(const struct rows *rows, const struct row *row, const char *metric,
                           const char *impl)
{
    char whole[DOCUMENT_ID];
    snprintf(whole, sizeof whole, "%s.%s", row->probe, metric);
    const struct row *found = rows_beside(rows, row, whole, impl ? "impl" : NULL, impl);
    return found && row_usable(found) ? found->centre : (double)NAN;
}

/* Four digits for a reader, all of them for a program. */
static void number_cell(struct table *table, double value, enum table_format format)
{
    if (format == TABLE_TSV || isnan(value))
        table_number(table, value);
    else
        table_cell(table, "%.4g", value);
}

static void case_cell(struct table *table, const struct row *row)
{
    table_cell(table, "%s%s", row->probe, strchr(row->id, '{'));
}

/* Fused and unfused against float64, and what both take of the memory. */
static void errors(FILE *out, const struct rows *rows, enum table_format format)
{
    struct table table = table_new("lrrr");
    const struct row *row;

    table_cell(&table, "case");
    table_cell(&table, "error");
    table_cell(&table, "unfused");
    table_cell(&table, "memory/unfused");
    for (size_t next = 0; (row = rows_match(rows, "*.error{*impl=fused*", &next));) {
        const double unfused = value_beside(rows, row, "error", "unfused");
        if (!row_usable(row))
            continue;
        case_cell(&table, row);
        number_cell(&table, row->centre, format);
        number_cell(&table, unfused, format);
        number_cell(&table,
                    value_beside(rows, row, "memory", NULL) /
                        value_beside(rows, row, "memory", "unfused"),
                    format);
    }
    table_print(out, &table, format, "Relative error against float64, fused and unfused; memory fused over unfused");
}

/* Bit by bit against the unfused results; what verification sees; a digest for this board. */
static void bits(FILE *out, const struct rows *rows, enum table_format format)
{
    static const char *const columns[] = {"ulps", "caught", "digest"};
    struct table table = table_new("lrrrr");
    const struct row *row;

    table_cell(&table, "case");
    table_cell(&table, "differ");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_cell(&table, "%s", columns[i]);
    for (size_t next = 0; (row = rows_match(rows, "*.differ{*", &next));) {
        if (!row_usable(row))
            continue;
        case_cell(&table, row);
        number_cell(&table, row->centre, format);
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            const double value = value_beside(rows, row, columns[i], NULL);
            if (i == 2 && !isnan(value))
                table_cell(&table, "%.9g", value);
            else
                number_cell(&table, value, format);
        }
    }
    table_print(out, &table, format,
                "Fused against unfused: share of results that differ, the greatest distance in units in the "
                "last place (large next to zero); share of planted faults that are seen; digest");
}

bool report_quality(FILE *out, const struct bundle *bundle, enum table_format format)
{
    size_t next = 0;
    if (!rows_match(&bundle->rows, "*.differ{*", &next))
        return false;
    errors(out, &bundle->rows, format);
    bits(out, &bundle->rows, format);
    return true;
}
