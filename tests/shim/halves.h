/* Storage types of 16 bits. They are rounded from float to nearest, ties to even, as cvt.rn does;
 * their arithmetic is done in float. cuda_fp16.h and cuda_bf16.h of this folder include this. */
#ifndef TESTS_SHIM_HALVES_H
#define TESTS_SHIM_HALVES_H

#include "tests/shim/fault.h"

/* Keeps the upper bits of x and rounds off `low` lower ones; the planted fault truncates them. */
static inline uint32_t shim_round(uint32_t x, int low)
{
    const uint32_t half = 1u << (low - 1), rest = x & (2 * half - 1), kept = x >> low;
    if (shim_fault("rounding"))
        return kept;
    return kept + (rest > half || (rest == half && kept % 2));
}

static inline uint16_t shim_to_fp16(float x)
{
    const uint32_t bits = __float_as_uint(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return 0x7fff;
    if (size >= 0x47800000) /* 65536: larger than anything that rounds to a finite number */
        return (uint16_t)(sign | 0x7c00);
    if (size >= 0x38800000) /* 2^-14, the smallest normal number; 65520 carries over to infinity */
        return (uint16_t)(sign | shim_round(size - 0x38000000, 13));
    if (size < 0x33000000) /* 2^-25: half of the smallest number, which a tie takes to zero */
        return (uint16_t)sign;
    const int low = 126 - (int)(size >> 23);
    return (uint16_t)(sign | shim_round((size & 0x7fffff) | 0x800000, low));
}

static inline float shim_from_fp16(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                      : ldexpf((float)fraction, -24);
    return bits >> 15 ? -size : size;
}

static inline uint16_t shim_to_bf16(float x)
{
    const uint32_t bits = __float_as_uint(x);
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : shim_round(bits, 16));
}

static inline float shim_from_bf16(uint16_t bits)
{
    return __uint_as_float((uint32_t)bits << 16);
}

struct __half {
    uint16_t bits;
};
struct alignas(4) __half2 {
    __half x, y;
};
struct __nv_bfloat16 {
    uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __half half;
typedef __half2 half2;

static inline float __half2float(__half x) { return shim_from_fp16(x.bits); }
static inline __half __float2half_rn(float x) { return {shim_to_fp16(x)}; }
static inline __half __float2half(float x) { return {shim_to_fp16(x)}; }
static inline float2 __half22float2(__half2 p) { return {__half2float(p.x), __half2float(p.y)}; }
static inline __half2 __floats2half2_rn(float x, float y)
{
    return {__float2half(x), __float2half(y)};
}
static inline __half2 __float22half2_rn(float2 p) { return __floats2half2_rn(p.x, p.y); }
static inline float __low2float(__half2 p) { return __half2float(p.x); }
static inline float __high2float(__half2 p) { return __half2float(p.y); }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half __ushort_as_half(unsigned short x) { return {x}; }

static inline float __bfloat162float(__nv_bfloat16 x) { return shim_from_bf16(x.bits); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {shim_to_bf16(x)}; }
static inline __nv_bfloat16 __float2bfloat16(float x) { return {shim_to_bf16(x)}; }
static inline float2 __bfloat1622float2(__nv_bfloat162 p)
{
    return {__bfloat162float(p.x), __bfloat162float(p.y)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__float2bfloat16(x), __float2bfloat16(y)};
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 p)
{
    return __floats2bfloat162_rn(p.x, p.y);
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return {x}; }

#endif
