/* The results of instructions, computed on the CPU. Each model does one step of a chain for the 32
 * lanes of a warp, x = f(x, a, b), bit for bit unless the hardware approximates. Values are in the
 * low bits of 64. Also here: small floating-point numbers by their format, and random numbers. Host
 * only. */
#ifndef PROBES_INSTRUCTIONS_MODELS_H
#define PROBES_INSTRUCTIONS_MODELS_H

#include <stdint.h>
#include <string.h>

/* --- numbers --------------------------------------------------------------------------------- */

/* IEEE-like: a sign, exponent_bits, fraction_bits. Infinities and NaNs never occur here. */
struct float_format {
    int exponent_bits, fraction_bits;
};

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float float_of(uint64_t bits);
uint64_t float_bits(float x);

double format_decode(struct float_format f, uint32_t code);

/* To nearest, ties to even. A fraction that rounds up to two carries into the exponent. */
uint32_t format_encode(struct float_format f, double x);

/* N(0,1) by Box-Muller. */
double model_normal(uint64_t *state);

/* --- models ---------------------------------------------------------------------------------- */

typedef void instruction_model(uint64_t x[32], const uint64_t a[32], const uint64_t b[32]);

instruction_model model_fma_fp32, model_add_fp32, model_fma_fp16x2, model_fma_fp64, model_imad;
instruction_model model_iadd3, model_lop3, model_shf, model_popc, model_ex2, model_rsqrt, model_cos;
instruction_model model_cvt, model_shfl, model_ballot, model_redux;

/* --- operands -------------------------------------------------------------------------------- */

/* Operands such that a value neither vanishes nor overflows: x -> p - 0.9998 x, or a sum that goes
 * up and down; an odd factor; b = ~a; a shift; another lane. */
enum operands { BITS, ODD, OPPOSITE, AMOUNT, LANE, REAL, REAL_SUM, REAL_PAIR, REAL_DOUBLE };

/* What a scalar_chain loads: a and b of even steps, a and b of odd steps, and first values. */
void model_operands(uint64_t *in, enum operands kind, uint64_t *random);

#endif
