// gelu in the tanh form (Hendrycks & Gimpel 2016), written with the logistic function:
// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). The hardware's
// tanh.approx has an absolute error of 2^-11, which ruins small results; ex2 and rcp keep the full
// precision of fp32.
#ifndef FUSED_COMMON_GELU_CUH
#define FUSED_COMMON_GELU_CUH

#include "fused/common/exponential.cuh"

__device__ __forceinline__ float gelu(float x)
{
    const float c = -2.0f * 0.7978845608f * 1.4426950409f; // -2 sqrt(2/pi) log2(e)
    const float u = x * (c + c * 0.044715f * x * x);
    return __fdividef(x, 1.0f + exp2_fast(u));
}

#endif
