/* The table of quality: how good the results of the fused kernels are, over all probes that have
 * the metrics of fused/common/operation.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bundle/needs.h"
#include "report/bundle/quality.h"
#include "report/cli/report.h"

const char *report_quality_need(size_t i)
{
    return quality_needs[i];
}

/* NaN if there is none. */
static double value_beside(const struct rows *rows, const struct row *row,
                           enum quality_metric metric, const char *impl)
{
    const struct row *found = quality_beside(rows, row, metric, impl);
    return found ? found->centre : (double)NAN;
}

/* Four digits for a person, all digits for a program. */
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

/* The errors of fused and unfused against float64, and the memory that both take. */
static void errors(FILE *out, const struct rows *rows, enum table_format format)
{
    struct table table = table_new("lrrr");
    const struct row *row;

    table_cell(&table, "case");
    table_cell(&table, "error");
    table_cell(&table, "unfused");
    table_cell(&table, "memory/unfused");
    for (size_t next = 0; (row = rows_match(rows, quality_needs[QUALITY_ERROR], &next));) {
        const double unfused = value_beside(rows, row, QUALITY_ERROR, "unfused");
        if (!row_usable(row))
            continue;
        case_cell(&table, row);
        number_cell(&table, row->centre, format);
        number_cell(&table, unfused, format);
        number_cell(&table,
                    value_beside(rows, row, QUALITY_MEMORY, NULL) /
                        value_beside(rows, row, QUALITY_MEMORY, "unfused"),
                    format);
    }
    table_print(out, &table, format,
                "Relative error against float64, fused and unfused; memory fused over unfused");
}

/* The distance from the unfused results, bit by bit; faults that verification catches; the
 * digest. */
static void bits(FILE *out, const struct rows *rows, enum table_format format)
{
    struct table table = table_new("lrrrr");
    const struct row *row;

    table_cell(&table, "case");
    table_cell(&table, "differ");
    for (enum quality_metric need = QUALITY_ULPS; need <= QUALITY_DIGEST; need++) {
        char column[DOCUMENT_ID];
        need_metric(column, quality_needs[need]);
        table_cell(&table, "%s", column);
    }
    for (size_t next = 0; (row = rows_match(rows, quality_needs[QUALITY_DIFFER], &next));) {
        if (!row_usable(row))
            continue;
        case_cell(&table, row);
        number_cell(&table, row->centre, format);
        for (enum quality_metric need = QUALITY_ULPS; need <= QUALITY_DIGEST; need++) {
            const double value = value_beside(rows, row, need, NULL);
            if (need == QUALITY_DIGEST && !isnan(value))
                table_cell(&table, "%.9g", value);
            else
                number_cell(&table, value, format);
        }
    }
    table_print(out, &table, format,
                "Fused against unfused: share of results that differ, the greatest distance in "
                "units in the "
                "last place (large next to zero); share of planted faults that are seen; digest");
}

bool report_quality(FILE *out, const struct bundle *bundle, enum table_format format)
{
    size_t next = 0;
    if (!rows_match(&bundle->rows, quality_needs[QUALITY_DIFFER], &next))
        return false;
    errors(out, &bundle->rows, format);
    bits(out, &bundle->rows, format);
    return true;
}
