// Numbers of one byte, fp8 (e4m3) and int8, made from floats that a scale has already brought into
// their range.
//
//     ((uint2 *)out)[at] = codes<e4m3>(y);            eight at a time
#ifndef FUSED_NORM_CODES_CUH
#define FUSED_NORM_CODES_CUH

#include <stdint.h>

// fp8 with 4 bits of exponent and 3 of mantissa, rounded to nearest even; saturates at 448.
struct e4m3 {
    static constexpr float most = 448;
    static __device__ __forceinline__ uint32_t pair(float low, float high)
    {
#if __CUDA_ARCH__ >= 890
        uint16_t codes;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
        return codes;
#else
        return one(low) | one(high) << 8;
#endif
    }
    // For GPUs without an instruction for it. Codes below 2^-6 are multiples of 2^-9. Codes above
    // are the exponent and the upper three mantissa bits of a float; an addition rounds them and
    // carries into them.
    static __device__ __forceinline__ uint32_t one(float x)
    {
        const float a = fminf(fabsf(x), most);
        const uint32_t bits = __float_as_uint(a), sign = __float_as_uint(x) >> 24 & 0x80;
        const uint32_t small = __float_as_uint(a + 0x1p14f) & 15; // the last bit of 2^14 is 2^-9
        const uint32_t large = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3);
        return sign | (a < 0x1p-6f ? small : large);
    }
};

// The addition rounds to the nearest even integer and leaves it in the lowest bits.
struct int8 {
    static constexpr float most = 127;
    static __device__ __forceinline__ uint32_t one(float x)
    {
        return __float_as_uint(fminf(fmaxf(x, -most), most) + 0x1.8p23f) & 255;
    }
    static __device__ __forceinline__ uint32_t pair(float low, float high)
    {
        return one(low) | one(high) << 8;
    }
};

template <typename CODE> __device__ __forceinline__ uint2 codes(const float (&x)[8])
{
    return make_uint2(CODE::pair(x[0], x[1]) | CODE::pair(x[2], x[3]) << 16,
                      CODE::pair(x[4], x[5]) | CODE::pair(x[6], x[7]) << 16);
}

#endif
