/* 16-bit floats on the host: exact values as double. IEEE binary16 and bfloat16. */
#ifndef GPUFLOOR_HALF_H
#define GPUFLOOR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double half_fp16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

static inline double half_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Unit roundoff: half the distance from 1 to the next number. */
#define HALF_FP16_UNIT 0x1p-11
#define HALF_BF16_UNIT 0x1p-8

#endif
