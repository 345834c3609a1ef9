/* The result of comparing a kernel's output with a float64 reference, element by element; for C and
 * CUDA alike. Each program has a plain kernel that computes the reference in double. That kernel
 * calls judge() (core/device/verdict.cuh) on every element, with the error bound of the arithmetic
 * that is tested. */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include <stdint.h>

#include "core/args.h"

struct verdict {
    double error_squared, reference_squared; /* sums over the elements compared */
    uint64_t wrong;                          /* elements beyond their bound, NaN included */
    uint64_t looked_at;
};
ARGS_SIZE(struct verdict, 32);

#ifndef __CUDACC__
#include "core/probe.h"

/* A zeroed verdict in device memory, for a verifying kernel to write to. There is one per
 * process. */
struct verdict *verdict_clear(struct probe_run *r);

/* Waits for the kernel and fetches the verdict, without judging it. */
struct verdict verdict_fetch(struct probe_run *r);

/* Relative Frobenius norm of the error. */
double verdict_error(const struct verdict *v);

/* Requires that no element is wrong and that `elements` of them were compared. Returns the
 * error. */
double verdict_check(struct probe_run *r, const struct verdict *v, uint64_t elements,
                     const char *when);
#endif

#endif
