// Parts of a softmax and how they merge. This is what makes a softmax stable and lets it be split.
//
// A part describes some logits x of a row by two numbers: their maximum, `most`, and the sum of
// exp2(c (x - most)), with c = scale x log2(e). Two parts merge into one part of all their logits,
// in any order. One rule merges threads to warps, warps to blocks and blocks to rows. Nothing
// overflows, because no exponent is above 0. The subtraction comes first, so that a large logit
// costs no accuracy.
//
// Masked logits and logits of minus infinity do not count. A part in which none counts has
// most = -inf and sum = 0. There -inf - -inf would be NaN, which base() avoids.
#ifndef FUSED_SOFTMAX_PARTS_CUH
#define FUSED_SOFTMAX_PARTS_CUH

#include <math_constants.h>
#include <stdint.h>

#include "fused/common/exponential.cuh"
#include "fused/common/reduce.cuh"

struct alignas(8) part {
    float most, sum;
};

// The number to subtract from the logits of a part.
__device__ __forceinline__ float base(float most)
{
    return most == -CUDART_INF_F ? 0.0f : most;
}

__device__ __forceinline__ float power(float x, float subtracted, float c)
{
    return exp2_fast(c * (x - subtracted));
}

__device__ __forceinline__ part merge(part a, part b, float c)
{
    const float most = fmaxf(a.most, b.most), from = base(most);
    return {most, a.sum * power(a.most, from, c) + b.sum * power(b.most, from, c)};
}

// Merges the parts of a warp's threads; all get the result.
__device__ __forceinline__ part warp_merge(part p, float c)
{
    const float most = warp_reduce<greatest>(p.most);
    return {most, warp_reduce<adding>(p.sum * power(p.most, base(most), c))};
}

// Merges n parts in shared memory; each warp does it for itself.
__device__ __forceinline__ part merge_all(const part *parts, uint32_t n, float c)
{
    part own = {-CUDART_INF_F, 0};
#pragma unroll 2
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32)
        own.most = fmaxf(own.most, parts[i].most);
    own.most = warp_reduce<greatest>(own.most);
#pragma unroll 2
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32)
        own.sum += parts[i].sum * power(parts[i].most, base(own.most), c);
    return {own.most, warp_reduce<adding>(own.sum)};
}

// Merges the parts of a block's threads; all get the result. `scratch` has room for one part a
// warp.
__device__ __forceinline__ part block_merge(part p, part *scratch, float c)
{
    p = warp_merge(p, c);
    if (blockDim.x == 32)
        return p;
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = p;
    __syncthreads();
    return merge_all(scratch, blockDim.x / 32, c);
}

// The factor that makes exp2(c (x - base(most))) a probability of the row `all`. It is zero for a
// row in which no logit counts.
__device__ __forceinline__ float share(float most, part all, float c)
{
    return all.sum == 0 ? 0.0f : __fdividef(power(most, base(all.most), c), all.sum);
}

#endif
