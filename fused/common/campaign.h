/* A campaign of odd shapes in a normal run, as facts: how many shapes were tried, and at how many a
 * result was wrong. The shapes and the inputs are the same in every run.
 *
 * --check draws other shapes in every run and fails when one is wrong. A campaign never fails: its
 * two counts are figures, on which the ledger judges whether rare shapes break kernels. */
#ifndef FUSED_COMMON_CAMPAIGN_H
#define FUSED_COMMON_CAMPAIGN_H

#include "fused/common/operator.h"

/* Two metrics of a probe, one behind the other from `first` on. */
#define CAMPAIGN_KEYS "guard"
#define CAMPAIGN_METRICS(first)                                                                    \
    [first] = {"shapes", "count", PROBE_EXACT, .keys = CAMPAIGN_KEYS,                              \
               .what =                                                                             \
                   "odd shapes tried with inputs of a fixed seed; guard=off: also shapes that "    \
                   "the kernels refuse"},                                                          \
    [(first) + 1] = {"wrong_shapes", "count", PROBE_EXACT, .keys = CAMPAIGN_KEYS,                  \
                     .what = "of these, shapes at which some form gave a wrong result"}

struct campaign {
    size_t n; /* shapes to draw */
    struct operator_shape (*shape)(size_t i, uint64_t *state);
    bool is_unguarded; /* launches also what the operator refuses; it must be safe in memory */
};

/* One case, in the first and the last round. Each form that is no part and no wrong control runs
 * once on fresh inputs at each shape; float64 decides. A shape that is refused is not counted. */
void campaign_measure(struct probe_run *r, const struct fused_operator *o, const struct campaign *c,
                      int first);

/* As many as `n` of the operator's own odd shapes, behind its guard. */
void campaign_of_odd_shapes(struct probe_run *r, const struct fused_operator *o, size_t n,
                            int first);

#endif
