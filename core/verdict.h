/* What a comparison with float64 found, element by element; for C and CUDA alike. A program has a plain
 * kernel of its own that computes the reference in double and calls judge() (core/device/verdict.cuh)
 * on every element with the bound that its arithmetic allows. */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include <stdint.h>

#include "core/args.h"

struct verdict {
    double error_squared, reference_squared; /* sums over the elements looked at */
    uint64_t wrong;                          /* elements beyond their bound, NaN included */
    uint64_t looked_at;
};
ARGS_SIZE(struct verdict, 32);

#ifndef __CUDACC__
#include "core/probe.h"

/* A zeroed verdict in device memory, one for the process: what a verifying kernel writes to. */
struct verdict *verdict_clear(struct probe_run *r);

/* Waits for the kernel and fetches it. No judgement. */
struct verdict verdict_fetch(struct probe_run *r);

/* Relative Frobenius norm of the error. */
double verdict_error(const struct verdict *v);

/* Judgement: nothing wrong, as many elements looked at as there are. Returns the error. */
double verdict_check(struct probe_run *r, const struct verdict *v, uint64_t elements,
                     const char *when);
#endif

#endif
