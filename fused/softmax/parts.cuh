// Parts of a softmax, and how they merge: what makes one stable, and lets it be split.
//
// A part stands for some logits x of a row: the greatest of them, and the sum of exp2(c (x -
// most)), c being scale x log2(e). Two parts merge into one of all their logits, in any order:
// threads merge to warps, warps to blocks, blocks to rows by one and the same rule. Nothing
// overflows, as no exponent is above 0; the subtraction comes first, so that a large logit costs no
// accuracy.
//
// Logits that are masked, or minus infinity, count nothing. A part of none but such has most = -inf
// and sum = 0, and -inf - -inf would be NaN: hence base().
#ifndef FUSED_SOFTMAX_PARTS_CUH
#define FUSED_SOFTMAX_PARTS_CUH

#include <math_constants.h>
#include <stdint.h>

#include "fused/common/exponential.cuh"
#include "fused/common/reduce.cuh"

struct alignas(8) part {
    float most, sum;
};

// What to subtract from the logits of a part.
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

// Of a warp's threads; all get the result.
__device__ __forceinline__ part warp_merge(part p, float c)
{
    const float most = warp_reduce<greatest>(p.most);
    return {most, warp_reduce<adding>(p.sum * power(p.most, base(most), c))};
}

// Of n parts in shared memory, by each warp for itself.
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

// Of a block's threads; all get the result. `scratch` is shared memory for a part a warp.
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

// What exp2(c (x - base(most))) is to be multiplied by, to be a probability of the row `all`. Of a
// row without any logit that counts: zero.
__device__ __forceinline__ float share(float most, part all, float c)
{
    return all.sum == 0 ? 0.0f : __fdividef(power(most, base(all.most), c), all.sum);
}

#endif
