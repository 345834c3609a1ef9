/* What the kernels of elementwise_chain must compute, in double on the CPU, and how far off they
 * may be: for the probe, and for the test that runs them on the CPU (tests/shim). */
#ifndef FUSED_ELEMENTWISE_CHAIN_REFERENCE_H
#define FUSED_ELEMENTWISE_CHAIN_REFERENCE_H

#include <stddef.h>

#include "fused/elementwise_chain/args.h"
#include "fused/elementwise_chain/life.h"

/* One chain, or one operator by itself (only >= 0, n = 1), on numbers of a type whose unit roundoff
 * is `unit` (0: fp32); small results may be off by `tiny`. */
struct chain_task {
    struct chain_args a;
    enum chain_kind kind;
    int n, only;
    int is_fused; /* rounded to the type at the end only */
    double unit, tiny;
};

/* What the whole chain makes of one element. *off: how far the kernel's result may be off. */
double chain_reference(const struct chain_task *task, double x, double bias, double *off);

/* What the kernels whose registers are counted compute of element i; right within 1e-5. */
double chain_lived(const struct live_args *a, enum chain_life life, int n, const float *in,
                   size_t i);

#endif
