// 2^x and 1/x in one instruction each, accurate to 2 ulp of fp32. Results too small for a normal
// number become zero; exp2f() and a division spend further instructions to keep them. tests/shim/
// holds a twin of this file in plain C++.
#ifndef FUSED_COMMON_EXPONENTIAL_CUH
#define FUSED_COMMON_EXPONENTIAL_CUH

__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float reciprocal_fast(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif
