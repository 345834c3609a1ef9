/* What a comparison with float64 found, element by element; for C and CUDA alike. Each probe has a
 * plain kernel of its own that computes the reference in double and calls judge() on every element
 * with the bound that its arithmetic allows. */
#ifndef FUSED_COMMON_VERDICT_H
#define FUSED_COMMON_VERDICT_H

#include <stdint.h>

#include "core/args.h"

struct verdict {
    double error_squared, reference_squared; /* sums over the elements looked at */
    uint64_t wrong;                          /* elements beyond their bound, NaN included */
    uint64_t looked_at;
};
ARGS_SIZE(struct verdict, 32);

#ifdef __CUDACC__

/* Adds one element to a verdict that a thread keeps for itself. */
__device__ __forceinline__ void judge(struct verdict *own, double value, double reference,
                                      double bound)
{
    const double error = value - reference;
    own->error_squared += error * error;
    own->reference_squared += reference * reference;
    own->wrong += !(fabs(error) <= bound);
    own->looked_at++;
}

/* Adds what a thread found to the verdict of all. */
__device__ __forceinline__ void deliver(struct verdict *all, const struct verdict *own)
{
    atomicAdd(&all->error_squared, own->error_squared);
    atomicAdd(&all->reference_squared, own->reference_squared);
    atomicAdd((unsigned long long *)&all->wrong, (unsigned long long)own->wrong);
    atomicAdd((unsigned long long *)&all->looked_at, (unsigned long long)own->looked_at);
}
#else

#include "core/gpu.h"

/* A zeroed verdict in device memory, one for the process: what a verifying kernel writes to. */
struct verdict *verdict_clear(struct probe_run *r);
/* Waits for the kernel and fetches it. No judgement. */
struct verdict verdict_fetch(struct probe_run *r);
/* Relative Frobenius norm. */
double verdict_error(const struct verdict *v);
/* Judgement: nothing wrong, as many elements looked at as there are. Returns the error. */
double verdict_check(struct probe_run *r, const struct verdict *v, uint64_t elements,
                     const char *when);
#endif

#endif
