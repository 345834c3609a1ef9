// 2^x and 1/x in one instruction each, good to 2 ulp of fp32: results too small for a normal number
// are zero, where exp2f() and the division spend further instructions on them. tests/shim/ holds a
// twin in plain C++.
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
