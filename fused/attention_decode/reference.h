/* Is decode attention right? On the CPU in double, at random shapes, and with extreme scores. */
#ifndef FUSED_ATTENTION_DECODE_REFERENCE_H
#define FUSED_ATTENTION_DECODE_REFERENCE_H

#include "fused/attention_decode/ways.h"

/* Scores of sequence 0, all shifted by the same number, which softmax must not notice. */
struct decode_extreme {
    const char *name;
    double shift;
    bool one_high; /* one key in a hundred has the other sign */
    int context, splits;
};
void decode_plant(struct probe_run *r, const struct decode_tensors *t,
                  const struct decode_extreme *extreme);

/* Checks set 0's results of attention alone, for a bf16 cache without pages. It computes the
 * addresses of the layout by itself. */
void decode_check_on_host(struct probe_run *r, const struct decode_tensors *t);

/* Every way at shapes drawn at random, batches, contexts, groups, layouts, splits, for --check. */
void decode_check_shapes(struct probe_run *r, const struct decode_kernels *k);

#endif
