// The operators of elementwise_chain on one element, in fp32: no product is contracted with the sum
// behind it, so that each has the same instructions wherever it stands.
#ifndef FUSED_ELEMENTWISE_CHAIN_CHAIN_CUH
#define FUSED_ELEMENTWISE_CHAIN_CHAIN_CUH

#include "fused/common/exponential.cuh"
#include "fused/elementwise_chain/args.h"

// gelu in the tanh form (Hendrycks & Gimpel 2016), written with the logistic function:
// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
__device__ __forceinline__ float gelu(float x)
{
    const float c = -2.0f * 0.7978845608f * 1.4426950409f; // -2 sqrt(2/pi) log2(e)
    const float u = __fmul_rn(x, __fmaf_rn(__fmul_rn(x, x), c * 0.044715f, c));
    return __fmul_rn(x, reciprocal_fast(__fadd_rn(1, exp2_fast(u))));
}

__device__ __forceinline__ float silu(float x)
{
    const float e = exp2_fast(__fmul_rn(x, -1.4426950409f)); // exp(-x)
    return __fmul_rn(x, reciprocal_fast(__fadd_rn(1, e)));
}

// ARGS has scale, shift, leak and limit.
template <int OPERATOR, typename ARGS>
__device__ __forceinline__ float operate(float x, float bias, const ARGS &a)
{
    switch (OPERATOR) {
    case CHAIN_BIAS: return __fadd_rn(x, bias);
    case CHAIN_SCALE: return __fmul_rn(x, a.scale);
    case CHAIN_LEAKY: return fmaxf(x, __fmul_rn(x, a.leak));
    case CHAIN_SHIFT: return __fadd_rn(x, a.shift);
    case CHAIN_CLAMP: return fminf(fmaxf(x, -a.limit), a.limit);
    case CHAIN_GELU: return gelu(x);
    case CHAIN_SILU: return silu(x);
    default: return __fmaf_rn(x, a.scale, a.shift);
    }
}

#endif
