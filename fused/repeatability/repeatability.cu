// Kernels of repeatability: y = A x, each row shared by SUM_PARTS blocks, whose partial sums are
// added in order of arrival or in a fixed order. A block's own sum always has a fixed order.
#include "fused/common/reduce.cuh"
#include "fused/repeatability/args.h"

// The sum of this block's part of its row; every thread gets it.
__device__ __forceinline__ float partial_sum(const sum_args &a)
{
    __shared__ float scratch[SUM_THREADS / 32];
    const uint64_t first = (uint64_t)blockIdx.y * SUM_COLUMNS + blockIdx.x * SUM_PART;
    float sum = 0;

#pragma unroll
    for (int i = 0; i < SUM_PART / SUM_THREADS; i++) {
        const uint32_t k = i * SUM_THREADS + threadIdx.x;
        sum += a.a[first + k] * a.x[blockIdx.x * SUM_PART + k];
    }
    return block_reduce<adding, SUM_THREADS / 32>(sum, scratch);
}

__device__ __forceinline__ float in_order(const float *partial)
{
    float part[SUM_PARTS], sum = 0;
#pragma unroll
    for (int i = 0; i < SUM_PARTS; i++) // all loads in flight together: one trip to the L2
        part[i] = __ldcg(partial + i);
#pragma unroll
    for (int i = 0; i < SUM_PARTS; i++)
        sum += part[i];
    return sum;
}

// sass-all: ldg32=16 local=0 reds=1
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    repeatability_atomics(const __grid_constant__ struct sum_args a)
{
    const float sum = partial_sum(a);
    if (threadIdx.x == 0)
        atomicAdd(a.y + blockIdx.y, sum);
}

// The same in integers, whose addition has no rounding, so the order cannot matter.
// sass-all: ldg32=16 local=0
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    repeatability_fixed_point(const __grid_constant__ struct sum_args a)
{
    const float sum = partial_sum(a);
    if (threadIdx.x == 0)
        atomicAdd((unsigned long long *)a.fixed + blockIdx.y,
                  (unsigned long long)__float2ll_rn(sum * 0x1p32f));
}

// The block that comes last adds all parts, from first to last.
// sass-all: ldg32=80 fadd>=70 atomg.gpu=1 membar.gpu=2 stg=3 local=0
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    repeatability_last_arriver(const __grid_constant__ struct sum_args a)
{
    const float sum = partial_sum(a);
    if (threadIdx.x != 0)
        return;
    a.partial[blockIdx.y * SUM_PARTS + blockIdx.x] = sum;
    __threadfence();
    if (atomicAdd(a.ticket + blockIdx.y, 1u) + 1 < SUM_PARTS)
        return;
    __threadfence();
    a.y[blockIdx.y] = in_order(a.partial + blockIdx.y * SUM_PARTS);
    a.ticket[blockIdx.y] = 0;
}

// sass-all: ldg32=16 local=0
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    repeatability_parts(const __grid_constant__ struct sum_args a)
{
    const float sum = partial_sum(a);
    if (threadIdx.x == 0)
        a.partial[blockIdx.y * SUM_PARTS + blockIdx.x] = sum;
}

// sass-all: ldg32.gpu=64 fadd=64 stg=1 local=0
extern "C" __global__ void __launch_bounds__(SUM_ROWS)
    repeatability_add_up(const __grid_constant__ struct sum_args a)
{
    a.y[threadIdx.x] = in_order(a.partial + threadIdx.x * SUM_PARTS);
}

// sass: none not a timed kernel
extern "C" __global__ void repeatability_hash(const __grid_constant__ struct sum_hash_args a)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        hash = (hash ^ a.bits[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    const uint32_t run = (*a.run)++;
    if (run < a.runs)
        a.hash[run] = hash;
}
