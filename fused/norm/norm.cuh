// RMSNorm and LayerNorm of a row that is kept in registers.
//
// A row belongs to a team of threads: a block, a warp or a cluster. A thread keeps VECTORS vectors
// of eight 16-bit numbers, numbers team.at(0), team.at(1) ... of the row, so that neighbouring
// threads hold neighbouring vectors. Vectors beyond the row's `vectors` are held but not counted:
// loads without a condition are all in flight together, so a thread whose vector is beyond the end
// loads some other one. The caller does the loads and stores, because only it knows which cache may
// serve them:
//
//     by_block team(scratch);                 float scratch[2 * TEAM_SCRATCH] in shared memory
//     uint4 x[VECTORS] = ..., y[VECTORS] = ...;
//     x[i] = vector_add<fp16>(x[i], y[i]);                           rounded
//     const float factor = row_rms_factor<fp16>(x, team, vectors, 1.0f / cols, epsilon);
//     row_forget(x);
//     float n[8];
//     row_scaled<fp16>(x[i], weight[i], factor, n);                  n = x * factor * weight
//
// Statistics are fp32, and the order of additions is fixed. LayerNorm makes two passes over the
// registers: first the mean, then the centred squares. E[x^2] - E[x]^2 would lose every digit where
// the mean is large.
#ifndef FUSED_NORM_NORM_CUH
#define FUSED_NORM_NORM_CUH

#include "core/device/cluster.cuh"
#include "core/device/load.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"

enum {
    TEAM_SCRATCH = 64,              // floats of shared memory for one reduction of a block
    TEAM_CLUSTER_SCRATCH = 2 * 256, // for a cluster of at most 256 warps
};

struct by_warp {
    __device__ __forceinline__ uint32_t at(int i) const { return threadIdx.x % 32 + 32 * i; }
    __device__ __forceinline__ bool is_first() const { return threadIdx.x % 32 == 0; }
    __device__ __forceinline__ float sum(float x) { return warp_reduce<adding>(x); }
    __device__ __forceinline__ float most(float x) { return warp_reduce<greatest>(x); }
    __device__ __forceinline__ float2 sum_and_most(float2 x)
    {
        return make_float2(sum(x.x), most(x.y));
    }
};

// A block of any number of whole warps. Every reduction has scratch of its own, so one barrier is
// enough. Every warp reduces the warps' results for itself. The maximum takes non-negative numbers
// only.
struct by_block {
    float *scratch;

    __device__ __forceinline__ explicit by_block(float *memory) : scratch(memory) {}
    __device__ __forceinline__ uint32_t at(int i) const { return threadIdx.x + blockDim.x * i; }
    __device__ __forceinline__ bool is_first() const { return threadIdx.x == 0; }
    __device__ __forceinline__ float2 sum_and_most(float2 x)
    {
        float *sums = scratch, *greats = scratch + 32;
        scratch += TEAM_SCRATCH;
        x = make_float2(warp_reduce<adding>(x.x), warp_reduce<greatest>(x.y));
        if (threadIdx.x % 32 == 0) {
            sums[threadIdx.x / 32] = x.x;
            greats[threadIdx.x / 32] = x.y;
        }
        __syncthreads();
        const bool is_one = threadIdx.x % 32 < blockDim.x / 32;
        return make_float2(warp_reduce<adding>(is_one ? sums[threadIdx.x % 32] : 0.0f),
                           warp_reduce<greatest>(is_one ? greats[threadIdx.x % 32] : 0.0f));
    }
    __device__ __forceinline__ float sum(float x) { return reduced<adding>(x); }
    __device__ __forceinline__ float most(float x) { return reduced<greatest>(x); }

    template <typename OPERATION> __device__ __forceinline__ float reduced(float x)
    {
        float *mine = scratch;
        scratch += TEAM_SCRATCH;
        x = warp_reduce<OPERATION>(x);
        if (threadIdx.x % 32 == 0)
            mine[threadIdx.x / 32] = x;
        __syncthreads();
        x = threadIdx.x % 32 < blockDim.x / 32 ? mine[threadIdx.x % 32] : 0.0f;
        return warp_reduce<OPERATION>(x);
    }
};

// Makes the assembler forget the widened numbers of a row. It would otherwise keep the row a second
// time, in fp32 and across the reductions, in registers that other rows' loads need more. Blocks
// here have one dimension, so threadIdx.y is zero, which no compiler knows. For one vector it does
// not pay.
template <int VECTORS> __device__ __forceinline__ void row_forget(uint4 (&x)[VECTORS])
{
    const uint32_t zero = VECTORS > 1 ? threadIdx.y : 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        x[i] = make_uint4(x[i].x + zero, x[i].y + zero, x[i].z + zero, x[i].w + zero);
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
// The blocks of a cluster, each with its own share of the row. Every warp sends its result to every
// block, so after a single barrier a block finds everything it reduces in its own memory. The first
// such exchange waits until all blocks have begun, as a block has no memory to write to before.
template <int VECTORS> struct by_cluster {
    float *scratch;
    uint32_t blocks;
    bool has_begun;

    __device__ __forceinline__ by_cluster(float *memory, uint32_t blocks_of_cluster)
        : scratch(memory), blocks(blocks_of_cluster), has_begun(false)
    {
        cluster_arrive_relaxed();
    }
    __device__ __forceinline__ uint32_t at(int i) const
    {
        return threadIdx.x + blockDim.x * (cluster_rank() * VECTORS + i);
    }
    __device__ __forceinline__ bool is_first() const
    {
        return threadIdx.x == 0 && cluster_rank() == 0;
    }
    __device__ __forceinline__ void hand_out(float *to, float x)
    {
        const uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32;
        to += cluster_rank() * warps + threadIdx.x / 32;
        if (lane < blocks)
            cluster_store(cluster_map(shared_address(to), lane), __float_as_uint(x));
    }
    __device__ __forceinline__ void begin()
    {
        if (!has_begun)
            cluster_wait_relaxed();
        has_begun = true;
    }
    template <typename OPERATION> __device__ __forceinline__ float gathered(const float *from)
    {
        float x = 0;
        for (uint32_t k = threadIdx.x % 32; k < blocks * (blockDim.x / 32); k += 32)
            x = OPERATION::of(x, from[k]);
        return warp_reduce<OPERATION>(x);
    }
    template <typename OPERATION> __device__ __forceinline__ float reduced(float x)
    {
        float *mine = scratch;
        scratch += TEAM_CLUSTER_SCRATCH;
        x = warp_reduce<OPERATION>(x);
        begin();
        hand_out(mine, x);
        cluster_arrive();
        cluster_wait();
        return gathered<OPERATION>(mine);
    }
    __device__ __forceinline__ float sum(float x) { return reduced<adding>(x); }
    __device__ __forceinline__ float most(float x) { return reduced<greatest>(x); }
    __device__ __forceinline__ float2 sum_and_most(float2 x)
    {
        float *mine = scratch;
        scratch += TEAM_CLUSTER_SCRATCH;
        x = make_float2(warp_reduce<adding>(x.x), warp_reduce<greatest>(x.y));
        begin();
        hand_out(mine, x.x);
        hand_out(mine + TEAM_CLUSTER_SCRATCH / 2, x.y);
        cluster_arrive();
        cluster_wait();
        return make_float2(gathered<adding>(mine),
                           gathered<greatest>(mine + TEAM_CLUSTER_SCRATCH / 2));
    }
};
#endif

// x + y, rounded to the type: the stored residual and the normalised value are the same numbers.
template <typename T> __device__ __forceinline__ uint4 vector_add(uint4 x, uint4 y)
{
    float a[8], b[8];
    widen<T>(x, a);
    widen<T>(y, b);
#pragma unroll
    for (int k = 0; k < 8; k++)
        a[k] += b[k];
    return narrow<T>(a);
}

template <typename T>
__device__ __forceinline__ float vector_squares(uint4 x, float mean)
{
    float a[8], sum = 0;
    widen<T>(x, a);
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += (a[k] - mean) * (a[k] - mean);
    return sum;
}

// Sum of (x - mean)^2 over this thread's share of the row.
template <typename T, int VECTORS, typename TEAM>
__device__ __forceinline__ float row_squares(const uint4 (&x)[VECTORS], const TEAM &team,
                                             uint32_t vectors, float mean)
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const float own = vector_squares<T>(x[i], mean);
        sum += team.at(i) < vectors ? own : 0;
    }
    return sum;
}

// 1 / sqrt(mean of squares + epsilon).
template <typename T, int VECTORS, typename TEAM>
__device__ __forceinline__ float row_rms_factor(const uint4 (&x)[VECTORS], TEAM &team,
                                                uint32_t vectors, float one_over_cols,
                                                float epsilon)
{
    return rsqrtf(team.sum(row_squares<T>(x, team, vectors, 0)) * one_over_cols + epsilon);
}

// The same together with the greatest |x * weight| of the row, in one reduction: it gives the row's
// scale before any result is formed.
template <typename T, int VECTORS, typename TEAM>
__device__ __forceinline__ float row_rms_factor(const uint4 (&x)[VECTORS],
                                                const uint4 (&weight)[VECTORS], TEAM &team,
                                                uint32_t vectors, float one_over_cols,
                                                float epsilon, float *most)
{
    float2 own = make_float2(row_squares<T>(x, team, vectors, 0), 0);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        float a[8], w[8], greatest_here = 0;
        widen<T>(x[i], a);
        widen<T>(weight[i], w);
#pragma unroll
        for (int k = 0; k < 8; k++)
            greatest_here = fmaxf(greatest_here, fabsf(a[k] * w[k]));
        own.y = fmaxf(own.y, team.at(i) < vectors ? greatest_here : 0);
    }
    own = team.sum_and_most(own);
    *most = own.y;
    return rsqrtf(own.x * one_over_cols + epsilon);
}

// Mean and 1 / sqrt(variance + epsilon).
template <typename T, int VECTORS, typename TEAM>
__device__ __forceinline__ float2 row_mean_and_factor(uint4 (&x)[VECTORS], TEAM &team,
                                                      uint32_t vectors, float one_over_cols,
                                                      float epsilon)
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        float a[8], own = 0;
        widen<T>(x[i], a);
#pragma unroll
        for (int k = 0; k < 8; k++)
            own += a[k];
        sum += team.at(i) < vectors ? own : 0;
    }
    const float mean = team.sum(sum) * one_over_cols;
    row_forget(x);
    const float squares = team.sum(row_squares<T>(x, team, vectors, mean));
    return make_float2(mean, rsqrtf(squares * one_over_cols + epsilon));
}

// y = x * factor * weight for eight numbers.
template <typename T>
__device__ __forceinline__ void row_scaled(uint4 x, uint4 weight, float factor, float (&y)[8])
{
    float w[8];
    widen<T>(x, y);
    widen<T>(weight, w);
#pragma unroll
    for (int k = 0; k < 8; k++)
        y[k] = y[k] * factor * w[k];
}

// y = (x - mean) * factor * weight + bias.
template <typename T>
__device__ __forceinline__ void row_centred(uint4 x, uint4 weight, uint4 bias,
                                            float2 mean_and_factor, float (&y)[8])
{
    float w[8], b[8];
    widen<T>(x, y);
    widen<T>(weight, w);
    widen<T>(bias, b);
#pragma unroll
    for (int k = 0; k < 8; k++)
        y[k] = (y[k] - mean_and_factor.x) * mean_and_factor.y * w[k] + b[k];
}

// x / (1 + exp(-x)) in full fp32. Where exp(-x) is beyond fp32, the result is -0; of -inf it is
// NaN.
__device__ __forceinline__ float silu(float x)
{
    return __fdividef(x, 1.0f + __expf(-x));
}

#endif
