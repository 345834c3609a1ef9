/* Shared by the claims on fused operators: the bytes that hardware counters saw. */
#ifndef REPORT_CLAIMS_FUSED_H
#define REPORT_CLAIMS_FUSED_H

#include "report/claims/rules.h"

/* The need of the bytes that device memory moved for one operation, which an id of a time names. */
#define COUNTED_BYTES(time)                                                                        \
    {                                                                                              \
        NEED_COUNTED, "dram_bytes of " time                                                        \
    }

/* What is counted, named by its times: a chain, its fused kernel, and a kernel that reads and
 * writes once, which shows that the counters do not see a chain's bytes whatever runs. */
struct fused_counted {
    const char *chain, *fused, *one;
};

/* The counted bytes of the chain over those of the fused kernel. False where one of the three is
 * not counted: the evidence then says why, and that time decides in their stead. */
bool fused_counted_ratio(const struct bundle *bundle, const struct fused_counted *of,
                         struct row *ratio, struct finding *f);

/* That ratio where bytes are counted, else `time`, the ratio of times; the evidence says which of
 * them decides, and both. what: the operation and its shape. */
struct row fused_moved(const struct bundle *bundle, const struct fused_counted *of,
                       const char *what, const struct row *time, struct finding *f);

/* A negative control of the counters, where they decide: the bytes of the one kernel over those of
 * the fused one, which must stay below `limit`. Says it as `what`. True where time decides. */
bool fused_counters_tell(const struct bundle *bundle, const struct fused_counted *of, double limit,
                         const char *what, struct finding *f);

/* Says that bytes are not counted, for the reason that an aside gives. */
void fused_say_not_counted(const struct finding *aside, struct finding *f);

/* Is every run of it at least that? False for a row without an interval. */
static inline bool fused_at_least(const struct row *row, double least)
{
    return row->low >= least;
}

static inline bool fused_below(const struct row *row, double most)
{
    return row->high < most;
}

#endif
