// The copy that every operator in this folder is compared with. A thread moves 16 bytes per access
// and has four accesses in flight. Loads bypass the L1 unless the L2 shall keep what they bring. A
// second kernel moves one vector a thread in small blocks, for buffers too small to give every SM a
// block of the first.
#include "fused/common/copy.h"
#include "fused/common/load_group.cuh"

template <int THREADS, int VECTORS> __device__ __forceinline__ void copy(const copy_args &a)
{
    const uint64_t first = (uint64_t)blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    const uint4 *from = (const uint4 *)a.from;
    uint4 *to = (uint4 *)a.to, x[VECTORS];

    load_group<LOAD_BY_PREDICATE, VECTORS>(a.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            if (first + i * THREADS < a.vectors)
                x[i] = load(from + first + i * THREADS);
    });
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < a.vectors)
            to[first + i * THREADS] = x[i];
}

// sass-all: ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 local=0 together
extern "C" __global__ void __launch_bounds__(COPY_THREADS)
    copy_long(const __grid_constant__ struct copy_args a)
{
    copy<COPY_THREADS, COPY_VECTORS>(a);
}

// sass-all: ldg128=1 ldg128na=1 stg128=1 local=0
extern "C" __global__ void __launch_bounds__(COPY_SMALL_THREADS)
    copy_small(const __grid_constant__ struct copy_args a)
{
    copy<COPY_SMALL_THREADS, 1>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void copy_compare(const __grid_constant__ struct copy_args a)
{
    const uint4 *from = (const uint4 *)a.from, *to = (const uint4 *)a.to;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.vectors;
         i += (uint64_t)gridDim.x * blockDim.x) {
        uint4 x = from[i], y = to[i];
        if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w)
            atomicAdd(a.wrong, 1u);
    }
}
