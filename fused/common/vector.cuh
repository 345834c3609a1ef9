// Eight 16-bit numbers in one 16-byte access, and conversions to fp32 for computing with them.
//
//     uint4 bits = load_once(in + at);
//     float x[8];
//     widen<bf16>(bits, x);
//     ...
//     out[at] = narrow<bf16>(x);
//
// fp16 and bf16 are the two types; kernels are templates over them.
#ifndef FUSED_COMMON_VECTOR_CUH
#define FUSED_COMMON_VECTOR_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "core/device/load.cuh"

struct fp16 {
    typedef __half number;
    static __device__ __forceinline__ float2 widen(uint32_t pair)
    {
        return __half22float2(*(__half2 *)&pair);
    }
    static __device__ __forceinline__ uint32_t narrow(float2 x)
    {
        __half2 pair = __float22half2_rn(x);
        return *(uint32_t *)&pair;
    }
    static __device__ __forceinline__ float one(number x) { return __half2float(x); }
    static __device__ __forceinline__ number one(float x) { return __float2half_rn(x); }
};

struct bf16 {
    typedef __nv_bfloat16 number;
    // a bf16 is the upper half of a float
    static __device__ __forceinline__ float2 widen(uint32_t pair)
    {
        return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
    }
    static __device__ __forceinline__ uint32_t narrow(float2 x)
    {
        __nv_bfloat162 pair = __float22bfloat162_rn(x);
        return *(uint32_t *)&pair;
    }
    static __device__ __forceinline__ float one(number x) { return __bfloat162float(x); }
    static __device__ __forceinline__ number one(float x) { return __float2bfloat16_rn(x); }
};

template <typename T> __device__ __forceinline__ void widen(uint4 bits, float (&x)[8])
{
    const uint32_t pair[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 two = T::widen(pair[i]);
        x[2 * i] = two.x;
        x[2 * i + 1] = two.y;
    }
}

template <typename T> __device__ __forceinline__ uint4 narrow(const float (&x)[8])
{
    return make_uint4(T::narrow(make_float2(x[0], x[1])), T::narrow(make_float2(x[2], x[3])),
                      T::narrow(make_float2(x[4], x[5])), T::narrow(make_float2(x[6], x[7])));
}

#endif
