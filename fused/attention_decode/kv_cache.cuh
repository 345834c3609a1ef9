// A cache of keys and values: the numbers it stores, and the addresses of its rows.
#ifndef FUSED_ATTENTION_DECODE_KV_CACHE_CUH
#define FUSED_ATTENTION_DECODE_KV_CACHE_CUH

#include <cuda_fp8.h>

#include "fused/attention_decode/kv_cache.h"
#include "fused/common/exponential.cuh"
#include "fused/common/vector.cuh"

// --- what a cache stores -----------------------------------------------------------------------
//
// key_pairs: one loaded word as pairs of dimensions for the operand B. value_pairs: the same word
// of two rows, as pairs (first row, second row) of each dimension. 8-bit numbers become fp16
// exactly. from_bf16: converts a pair of a query for the product with the keys. pack: the i-th 16
// bytes to be stored, made from vectors of eight bf16.

struct cache_bf16 {
    enum { BYTES = 2, PAIRS = 1 }; // pairs of numbers in a 32-bit word
    typedef bf16 mma;
    typedef uint16_t number;
    static __device__ __forceinline__ void key_pairs(uint32_t word, uint32_t (&pair)[1])
    {
        pair[0] = word;
    }
    static __device__ __forceinline__ void value_pairs(uint32_t a, uint32_t b, uint32_t (&pair)[2])
    {
        pair[0] = __byte_perm(a, b, 0x5410);
        pair[1] = __byte_perm(a, b, 0x7632);
    }
    static __device__ __forceinline__ uint16_t store(float x, float)
    {
        return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    }
    static __device__ __forceinline__ uint32_t from_bf16(uint32_t pair)
    {
        return pair;
    }
    template <int N> static __device__ __forceinline__ uint4 pack(const uint4 (&x)[N], int i, float)
    {
        return x[i % N];
    }
};

// The bytes of two words become four pairs of fp16.
template <typename NUMBER> struct cache_8bit {
    enum { BYTES = 1, PAIRS = 2 };
    typedef fp16 mma;
    typedef uint8_t number;
    static __device__ __forceinline__ void key_pairs(uint32_t word, uint32_t (&pair)[2])
    {
        NUMBER::widen(word, pair[0], pair[1]);
    }
    static __device__ __forceinline__ void value_pairs(uint32_t a, uint32_t b, uint32_t (&pair)[4])
    {
        NUMBER::widen(__byte_perm(a, b, 0x5140), pair[0], pair[1]);
        NUMBER::widen(__byte_perm(a, b, 0x7362), pair[2], pair[3]);
    }
    static __device__ __forceinline__ uint8_t store(float x, float inverse_scale)
    {
        return NUMBER::store(x * inverse_scale);
    }
    static __device__ __forceinline__ uint32_t from_bf16(uint32_t pair)
    {
        return fp16::narrow(bf16::widen(pair));
    }
    template <int N>
    static __device__ __forceinline__ uint4 pack(const uint4 (&x)[N], int i, float inverse_scale)
    {
        uint32_t word[4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float y[8];
            widen<bf16>(x[(2 * i + h) % N], y);
#pragma unroll
            for (int j = 0; j < 2; j++)
                word[2 * h + j] = store(y[4 * j], inverse_scale) |
                                  store(y[4 * j + 1], inverse_scale) << 8 |
                                  store(y[4 * j + 2], inverse_scale) << 16 |
                                  (uint32_t)store(y[4 * j + 3], inverse_scale) << 24;
        }
        return make_uint4(word[0], word[1], word[2], word[3]);
    }
};

struct e4m3 {
    static __device__ __forceinline__ void widen(uint32_t bytes, uint32_t &low, uint32_t &high)
    {
#if __CUDA_ARCH__ >= 890
        asm("{ .reg .b16 a, b;\n"
            "mov.b32 {a, b}, %2;\n"
            "cvt.rn.f16x2.e4m3x2 %0, a;\n"
            "cvt.rn.f16x2.e4m3x2 %1, b; }"
            : "=r"(low), "=r"(high)
            : "r"(bytes));
#else
        // In fp16, exponent and fraction are seven bits higher, and the bias is greater by 8.
        const uint32_t p = __byte_perm(bytes, 0, 0x1404), q = __byte_perm(bytes, 0, 0x3424);
        const __half2 up = __float2half2_rn(256.0f);
        uint32_t x = (p & 0x80008000u) | (p >> 1 & 0x3f803f80u);
        uint32_t y = (q & 0x80008000u) | (q >> 1 & 0x3f803f80u);
        __half2 l = __hmul2(*(__half2 *)&x, up), h = __hmul2(*(__half2 *)&y, up);
        low = *(uint32_t *)&l;
        high = *(uint32_t *)&h;
#endif
    }
    // Saturates at +-448: values beyond would become NaN.
    static __device__ __forceinline__ uint8_t store(float x)
    {
        return (uint8_t)__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    }
    static __device__ __forceinline__ uint8_t store_unclamped(float x)
    {
        return (uint8_t)__nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
    }
};

struct int8 {
    static __device__ __forceinline__ void widen(uint32_t bytes, uint32_t &low, uint32_t &high)
    {
        const uint32_t biased = bytes ^ 0x80808080u; // 0 to 255: the fraction of 1024 in fp16
        const __half2 bias = __float2half2_rn(1152.0f);
        uint32_t p = __byte_perm(biased, 0x64646464u, 0x4140);
        uint32_t q = __byte_perm(biased, 0x64646464u, 0x4342);
        __half2 l = __hsub2(*(__half2 *)&p, bias), h = __hsub2(*(__half2 *)&q, bias);
        low = *(uint32_t *)&l;
        high = *(uint32_t *)&h;
    }
    static __device__ __forceinline__ uint8_t store(float x) // saturates at +-127
    {
        return (uint8_t)__float2int_rn(fminf(fmaxf(x, -127.0f), 127.0f));
    }
    static __device__ __forceinline__ uint8_t store_unclamped(float x)
    {
        return (uint8_t)__float2int_rn(x);
    }
};
typedef cache_8bit<e4m3> cache_e4m3;
typedef cache_8bit<int8> cache_int8;

// Offset in bytes of one row from the base of the cache's keys or values.
__device__ __forceinline__ uint64_t kv_row(const kv_cache &c, uint32_t sequence, uint32_t head,
                                           uint32_t key)
{
    uint64_t at = head * c.head_stride + sequence * c.sequence_stride;
    if (c.pages)
        at += c.page_stride *
              __ldg(c.pages + (uint64_t)sequence * c.pages_of_sequence + (key >> c.page_shift));
    return at + (uint64_t)(key & ((1u << c.page_shift) - 1)) * c.row_stride;
}

__device__ __forceinline__ float kv_scale(const float *scales, uint32_t head)
{
    return scales ? __ldg(scales + head) : 1;
}

__device__ __forceinline__ float kv_inverse(const float *scales, uint32_t head)
{
    return scales ? reciprocal_fast(__ldg(scales + head)) : 1;
}

// Eight adjacent numbers in one store.
template <typename CACHE>
__device__ __forceinline__ void kv_store(void *to, const float (&x)[8], float inverse)
{
    __align__(16) typename CACHE::number y[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        y[i] = CACHE::store(x[i], inverse);
    if (CACHE::BYTES == 2)
        *(uint4 *)to = *(const uint4 *)y;
    else
        *(uint2 *)to = *(const uint2 *)y;
}

#endif
