#include "probes/instructions/models.h"

#include <math.h>
#include <string.h>

#include "core/draw.h"
#include "probes/instructions/args.h"

static const struct float_format FORMAT_FP16 = {5, 10};

/* --- numbers --------------------------------------------------------------------------------- */

float float_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

uint64_t float_bits(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

double format_decode(struct float_format f, uint32_t code)
{
    int bias = (1 << (f.exponent_bits - 1)) - 1;
    uint64_t exponent = code >> f.fraction_bits & ((1u << f.exponent_bits) - 1);
    uint64_t fraction = code & ((1u << f.fraction_bits) - 1);
    double x = exponent ? double_of((exponent + (uint64_t)(1023 - bias)) << 52 |
                                    fraction << (52 - f.fraction_bits))
                        : ldexp((double)fraction, 1 - bias - f.fraction_bits);
    return code >> (f.exponent_bits + f.fraction_bits) & 1 ? -x : x;
}

uint32_t format_encode(struct float_format f, double x)
{
    int least = 2 - (1 << (f.exponent_bits - 1)), cut = 52 - f.fraction_bits;
    uint64_t bits = double_bits(x) & ~((uint64_t)1 << 63);
    uint64_t half = ((uint64_t)1 << (cut - 1)) - 1 + (bits >> cut & 1);
    uint32_t code =
        (uint32_t)(((bits + half) >> cut) - ((uint64_t)(1022 + least) << f.fraction_bits));

    if (fabs(x) < ldexp(1, least))
        code = (uint32_t)rint(ldexp(fabs(x), f.fraction_bits - least));
    return code | (uint32_t)(signbit(x) != 0) << (f.exponent_bits + f.fraction_bits);
}

/* In (0, 1). */
static double random_uniform(uint64_t *state)
{
    return draw_uniform(state) + 0x1p-54;
}

double model_normal(uint64_t *state)
{
    double u = random_uniform(state), v = random_uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* --- models ---------------------------------------------------------------------------------- */

/* Instructions in which no lane sees another. `v` is the lane's value; p and q are its operands. */
#define LANE_BY_LANE(name, expression)                                                            \
    void name(uint64_t x[32], const uint64_t a[32], const uint64_t b[32])                         \
    {                                                                                             \
        for (int lane = 0; lane < 32; lane++) {                                                   \
            uint64_t v = x[lane], p = a[lane], q = b[lane];                                       \
            (void)p, (void)q;                                                                     \
            x[lane] = expression;                                                                 \
        }                                                                                         \
    }

/* Exact in double: the product has 22 bits and the addend 11, and they are of similar size. */
static uint64_t fma_of_halves(uint64_t v, uint64_t p, uint64_t q, int shift)
{
    double x = format_decode(FORMAT_FP16, (uint32_t)(v >> shift) & 0xffff) *
                   format_decode(FORMAT_FP16, (uint32_t)(p >> shift) & 0xffff) +
               format_decode(FORMAT_FP16, (uint32_t)(q >> shift) & 0xffff);
    return (uint64_t)format_encode(FORMAT_FP16, x) << shift;
}

LANE_BY_LANE(model_fma_fp32, float_bits(fmaf(float_of(v), float_of(p), float_of(q))))
LANE_BY_LANE(model_add_fp32, float_bits(float_of(v) + float_of(p)))
LANE_BY_LANE(model_fma_fp16x2, fma_of_halves(v, p, q, 0) | fma_of_halves(v, p, q, 16))
LANE_BY_LANE(model_fma_fp64, double_bits(fma(double_of(v), double_of(p), double_of(q))))
LANE_BY_LANE(model_imad, (uint32_t)(v * p + q))
LANE_BY_LANE(model_iadd3, (uint32_t)(v + p + q))
LANE_BY_LANE(model_lop3, (v & p) | (~v & q))
LANE_BY_LANE(model_shf, (uint32_t)(v << (p & 31) | v >> (32 - (p & 31))))
LANE_BY_LANE(model_popc, (uint64_t)__builtin_popcountll(v))
LANE_BY_LANE(model_ex2, float_bits(exp2f(-float_of(v))))
LANE_BY_LANE(model_rsqrt, float_bits(1 / sqrtf(float_of(v))))
LANE_BY_LANE(model_cos, float_bits(cosf(float_of(v))))
LANE_BY_LANE(model_cvt, (uint64_t)format_encode(FORMAT_FP16, float_of(p)) << 16 |
                            format_encode(FORMAT_FP16, float_of(v)))

void model_shfl(uint64_t x[32], const uint64_t a[32], const uint64_t b[32])
{
    uint64_t before[32];
    (void)b;
    memcpy(before, x, sizeof before);
    for (int lane = 0; lane < 32; lane++)
        x[lane] = before[a[lane] % 32];
}

void model_ballot(uint64_t x[32], const uint64_t a[32], const uint64_t b[32])
{
    uint64_t mask = 0;
    (void)b;
    for (int lane = 0; lane < 32; lane++)
        mask |= (uint64_t)(x[lane] > a[lane]) << lane;
    for (int lane = 0; lane < 32; lane++)
        x[lane] = mask;
}

void model_redux(uint64_t x[32], const uint64_t a[32], const uint64_t b[32])
{
    uint64_t most = 0;
    (void)a, (void)b;
    for (int lane = 0; lane < 32; lane++)
        most = x[lane] > most ? x[lane] : most;
    for (int lane = 0; lane < 32; lane++)
        x[lane] = most;
}

/* --- operands -------------------------------------------------------------------------------- */

void model_operands(uint64_t *in, enum operands kind, uint64_t *random)
{
    uint64_t *a[2] = {in, in + 64}, *b[2] = {in + 32, in + 96}, *x = in + SCALAR_OPERANDS * 32;

    for (int i = 0; i < (SCALAR_OPERANDS + SCALAR_CHAINS) * 32; i++)
        in[i] = draw(random) & 0xffffffff;
    for (int i = 0; i < 32; i++) {
        double p = model_normal(random), factor = 0x1p-12 - 1;
        for (int odd = 0; odd < 2; odd++) {
            uint64_t *pa = &a[odd][i], *pb = &b[odd][i];
            switch (kind) {
            case BITS: break;
            case ODD: *pa |= 1; break;
            case OPPOSITE: *pb = ~*pa & 0xffffffff; break;
            case AMOUNT: *pa = 1 + *pa % 31; break;
            case LANE: *pa = (uint64_t)(i + 1 + 2 * odd) % 32; break;
            case REAL: *pa = float_bits((float)factor), *pb = float_bits((float)p); break;
            case REAL_SUM: *pa = float_bits((float)(odd ? 1e-3 - p : p)); break;
            case REAL_PAIR:
                *pa = format_encode(FORMAT_FP16, factor) * 0x10001u;
                *pb = format_encode(FORMAT_FP16, p) * 0x10001u;
                break;
            case REAL_DOUBLE: *pa = double_bits(factor), *pb = double_bits(p); break;
            }
        }
    }
    for (int i = 0; i < SCALAR_CHAINS * 32 && kind >= REAL; i++) {
        double first = 0.5 + random_uniform(random);
        x[i] = kind == REAL_DOUBLE ? double_bits(first)
               : kind == REAL_PAIR ? format_encode(FORMAT_FP16, first) * 0x10001
                                   : float_bits((float)first);
    }
}
