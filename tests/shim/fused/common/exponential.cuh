/* Twin of fused/common/exponential.cuh for the CPU. See tests/shim/shim.h. */
#ifndef FUSED_KERNELS_EXPONENTIAL_CUH
#define FUSED_KERNELS_EXPONENTIAL_CUH

static inline float exp2_fast(float x)
{
    const float y = exp2f(x);
    return fabsf(y) < 0x1p-126f ? 0 : y;
}

static inline float reciprocal_fast(float x)
{
    const float y = 1 / x;
    return fabsf(y) < 0x1p-126f ? 0 : y;
}

#endif
