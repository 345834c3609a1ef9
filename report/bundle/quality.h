/* How good the results of the fused kernels are: rows of all programs that have the metrics of
 * fused/common/operation.h, compared and counted. */
#ifndef REPORT_BUNDLE_QUALITY_H
#define REPORT_BUNDLE_QUALITY_H

#include "report/bundle/rows.h"

enum quality_metric {
    QUALITY_ERROR,
    QUALITY_MEMORY,
    QUALITY_DIFFER,
    QUALITY_ULPS,
    QUALITY_CAUGHT,
    QUALITY_DIGEST,
};
extern const char *const quality_needs[]; /* by metric, up to NULL */

/* Another metric of the case, or that of another implementation; NULL: it is not usable. */
const struct row *quality_beside(const struct rows *rows, const struct row *row,
                                 enum quality_metric metric, const char *impl);

struct quality {
    size_t errors,
        worse; /* cases with both errors; of these, the fused one is more than 3 % larger */
    size_t compared, same; /* fused kernels compared bit by bit; of these, with the same bits */
    size_t planted, seen;  /* kernels with planted faults; of these, all were seen in all runs */
};
struct quality quality_count(const struct rows *rows);

#endif
