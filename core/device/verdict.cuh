// The device's half of core/verdict.h.
#ifndef CORE_DEVICE_VERDICT_CUH
#define CORE_DEVICE_VERDICT_CUH

#include "core/verdict.h"

// Adds one element to a verdict that a thread keeps for itself.
__device__ __forceinline__ void judge(struct verdict *own, double value, double reference,
                                      double bound)
{
    const double error = value - reference;
    own->error_squared += error * error;
    own->reference_squared += reference * reference;
    own->wrong += !(fabs(error) <= bound);
    own->looked_at++;
}

// Adds what a thread found to the verdict of all.
__device__ __forceinline__ void deliver(struct verdict *all, const struct verdict *own)
{
    atomicAdd(&all->error_squared, own->error_squared);
    atomicAdd(&all->reference_squared, own->reference_squared);
    atomicAdd((unsigned long long *)&all->wrong, (unsigned long long)own->wrong);
    atomicAdd((unsigned long long *)&all->looked_at, (unsigned long long)own->looked_at);
}

#endif
