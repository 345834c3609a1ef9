// The same as vector.cuh, and for fp32 too: a 16-byte vector holds lanes<T> numbers, eight of fp16
// or bf16, or four of fp32.
//
//     float x[lanes<T>];
//     unpack<T>(load_once(in + at), x);
#ifndef FUSED_SOFTMAX_LANES_CUH
#define FUSED_SOFTMAX_LANES_CUH

#include "fused/common/vector.cuh"

struct fp32 {
    typedef float number;
    static __device__ __forceinline__ float one(float x) { return x; }
};

template <typename T> constexpr int lanes = 16 / sizeof(typename T::number);

template <typename T> __device__ __forceinline__ void unpack(uint4 bits, float (&x)[lanes<T>])
{
    if constexpr (lanes<T> == 4) {
        x[0] = __uint_as_float(bits.x);
        x[1] = __uint_as_float(bits.y);
        x[2] = __uint_as_float(bits.z);
        x[3] = __uint_as_float(bits.w);
    } else {
        widen<T>(bits, x);
    }
}

template <typename T> __device__ __forceinline__ uint4 pack(const float (&x)[lanes<T>])
{
    if constexpr (lanes<T> == 4)
        return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                          __float_as_uint(x[3]));
    else
        return narrow<T>(x);
}

#endif
