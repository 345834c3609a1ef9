// Kernels of doubled: out = factor x in, one element a thread.
#include "core/device/load.cuh"
#include "core/device/verdict.cuh"
#include "fused/doubled/args.h"

// sass-all: ldg32=1 fmul=1 stg32=1 local=0
extern "C" __global__ void __launch_bounds__(DOUBLED_THREADS)
    doubled_times(const __grid_constant__ struct doubled_args a)
{
    const uint64_t i = (uint64_t)blockIdx.x * DOUBLED_THREADS + threadIdx.x;
    if (i < a.elements)
        a.out[i] = a.factor * a.in[i];
}

// sass: none not a timed kernel
extern "C" __global__ void doubled_verify(const __grid_constant__ struct doubled_verify_args a)
{
    struct verdict own = {};
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.elements;
         i += (uint64_t)gridDim.x * blockDim.x)
        judge(&own, a.out[i], a.factor * a.in[i], 0x1p-24 * fabs(a.factor * a.in[i]));
    deliver(a.verdict, &own);
}
