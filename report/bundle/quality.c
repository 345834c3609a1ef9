#include "report/bundle/quality.h"

#include <stdio.h>
#include <string.h>

#include "report/bundle/needs.h"

const char *const quality_needs[] = {
    [QUALITY_ERROR] = "*.error{*impl=fused*",
    [QUALITY_MEMORY] = "*.memory{*impl=*",
    [QUALITY_DIFFER] = "*.differ{*",
    [QUALITY_ULPS] = "*.ulps{*",
    [QUALITY_CAUGHT] = "*.caught{*",
    [QUALITY_DIGEST] = "*.digest{*",
    NULL,
};

static const double WORSE = 1.03; /* as the rule of C75b has it */

const struct row *quality_beside(const struct rows *rows, const struct row *row,
                                 enum quality_metric metric, const char *impl)
{
    char name[DOCUMENT_ID], whole[2 * DOCUMENT_ID];

    need_metric(name, quality_needs[metric]);
    snprintf(whole, sizeof whole, "%s.%s", row->probe, name);
    const struct row *found = rows_beside(rows, row, whole, impl ? "impl" : NULL, impl);
    return found && row_usable(found) ? found : NULL;
}

static const struct row *next_usable(const struct rows *rows, enum quality_metric metric,
                                     size_t *next)
{
    const struct row *row;
    while ((row = rows_match(rows, quality_needs[metric], next)) && !row_usable(row))
        ;
    return row;
}

struct quality quality_count(const struct rows *rows)
{
    struct quality q = {0};
    const struct row *row, *unfused;
    char gpus[16];

    for (size_t next = 0; (row = next_usable(rows, QUALITY_ERROR, &next));)
        if ((unfused = quality_beside(rows, row, QUALITY_ERROR, "unfused"))) {
            q.errors++;
            q.worse += row->centre > WORSE * unfused->centre;
        }
    for (size_t next = 0; (row = next_usable(rows, QUALITY_DIFFER, &next));) {
        if (row_key(row, "gpus", gpus, sizeof gpus)) /* from one GPU to the next */
            continue;
        q.compared++;
        q.same += row->centre == 0;
    }
    for (size_t next = 0; (row = next_usable(rows, QUALITY_CAUGHT, &next));) {
        q.planted++;
        q.seen += row->low >= 1 || (row->n == 1 && row->centre >= 1);
    }
    return q;
}
