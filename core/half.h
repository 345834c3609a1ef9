/* 16-bit floats on the host: exact values as double. IEEE binary16 and bfloat16. */
#ifndef CORE_HALF_H
#define CORE_HALF_H

#include <stdint.h>

double half_fp16(uint16_t bits);
double half_bf16(uint16_t bits);

/* To the nearest, ties to even. Not for NaN. */
uint16_t half_to_bf16(float value);

/* Unit roundoff: half the distance from 1 to the next number. */
#define HALF_FP16_UNIT 0x1p-11
#define HALF_BF16_UNIT 0x1p-8

#endif
