#include "probes/instructions/products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/instructions/args.h"

const struct number_facts number_facts[] = {
    [FP16] = {"fp16", 2, {5, 10}, 0x1p-13}, [BF16] = {"bf16", 2, {8, 7}, 0},
    [TF32] = {"tf32", 4, {8, 10}, 0},       [E4M3] = {"e4m3", 1, {4, 3}, 0},
    [INT8] = {"int8", 1, {0, 0}, 0},        [FP64] = {"fp64", 8, {0, 0}, 0x1p-49},
    [FP32] = {"fp32", 4, {8, 23}, 0x1p-22}, [INT32] = {"int32", 4, {0, 0}, 0},
};

/* Rounds a value to its code. Multiplied by 32, N(0,1) uses most of the range of int8. */
static uint64_t number_encode(enum number type, double x)
{
    if (type == INT8)
        return (uint64_t)(int64_t)fmax(-127, fmin(127, rint(32 * x))) & 0xff;
    if (type == INT32)
        return (uint64_t)(int64_t)rint(32 * x) & 0xffffffff;
    if (type == FP64)
        return double_bits(x);
    return (uint64_t)format_encode(number_facts[type].format, x) << (type == TF32 ? 13 : 0);
}

static double number_value(enum number type, uint64_t code)
{
    if (type == INT8)
        return (int8_t)code;
    if (type == INT32)
        return (int32_t)code;
    if (type == FP64)
        return double_of(code);
    return format_decode(number_facts[type].format, (uint32_t)code >> (type == TF32 ? 13 : 0));
}

static uint64_t number_minus(enum number type, uint64_t code)
{
    int sign = 8 * number_facts[type].bytes - 1;
    return type == INT8 ? -code & 0xff : code ^ (uint64_t)1 << sign;
}

static void product_multiply(struct product *p)
{
    double *b = calloc((size_t)(p->k * p->n), sizeof *b);
    for (int i = 0; b && i < p->k * p->n; i++)
        b[i] = number_value(p->type, p->b[i]);
    for (int row = 0; b && row < p->m; row++)
        for (int k = 0; k < p->k; k++) {
            double a = number_value(p->type, p->a[row * p->k + k]);
            for (int column = 0; column < p->n; column++) {
                p->sum[row * p->n + column] += a * b[k * p->n + column];
                p->magnitude[row * p->n + column] += fabs(a * b[k * p->n + column]);
            }
        }
    free(b);
}

struct product product_of(int m, int n, int k, enum number type, enum number sum_type, bool zero,
                          uint64_t *random)
{
    struct product p = {.m = m, .n = n, .k = k, .type = type, .sum_type = sum_type};
    p.a = calloc((size_t)(m * k), sizeof *p.a);
    p.b = calloc((size_t)(k * n), sizeof *p.b);
    p.first = calloc((size_t)(m * n), sizeof *p.first);
    p.sum = calloc((size_t)(m * n), sizeof *p.sum);
    p.magnitude = calloc((size_t)(m * n), sizeof *p.magnitude);
    if (!p.a || !p.b || !p.first || !p.sum || !p.magnitude)
        return p;
    for (int i = 0; i < m * k; i++)
        p.a[i] = number_encode(type, model_normal(random));
    for (int i = 0; i < k * n; i++)
        p.b[i] = number_encode(type, model_normal(random));
    for (int i = 0; i < m * n && !zero; i++) {
        p.first[i] = number_encode(sum_type, model_normal(random));
        p.magnitude[i] = fabs(number_value(sum_type, p.first[i]));
    }
    product_multiply(&p);
    return p;
}

bool product_made(const struct product *p)
{
    return p->a && p->b && p->first && p->sum && p->magnitude;
}

void product_free(struct product *p)
{
    free(p->a), free(p->b), free(p->first), free(p->sum), free(p->magnitude);
}

/* --- how threads hold it --------------------------------------------------------------------- */

/* The row-major index of element i of a thread's share of the sum. */
static int product_index(const struct product *p, int thread, int i)
{
    int g = thread % 32 / 4, t = thread % 4, warp = p->m == 64 ? thread / 32 % 4 : 0;
    return (16 * warp + g + i / 2 % 2 * 8) * p->n + 2 * t + i % 2 + i / 4 * 8;
}

uint64_t *product_words(const struct product *p, uint64_t *in)
{
    int bytes = number_facts[p->type].bytes, word = bytes > 4 ? bytes : 4, e = word / bytes;
    int an = p->m * p->k / 32 / e, bn = p->k * p->n / 32 / e;
    int halves = p->sum_type == FP16 ? 2 : 1, dn = p->m * p->n / 32 / halves;

    for (int w = 0; w < an + 2 * bn + dn; w++)
        for (int lane = 0; lane < 32; lane++, in++) {
            int g = lane / 4, t = lane % 4, j = w < an ? w : (w - an) % bn, d = w - an - 2 * bn;
            *in = 0;
            for (int i = 0; i < e && d < 0; i++) {
                int k = e * t + 4 * e * (w < an ? j / 2 : j) + i;
                uint64_t code = w < an ? p->a[(g + j % 2 * 8) * p->k + k] : p->b[k * p->n + g];
                *in |= (w < an + bn ? code : number_minus(p->type, code)) << (8 * bytes * i);
            }
            for (int i = 0; i < halves && d >= 0; i++)
                *in |= p->first[product_index(p, lane, halves * d + i)] << (16 * i);
        }
    return in;
}

/* Writes one row of A (or column of B) along k into the core matrices of its slices. */
static void product_row(const struct product *p, const uint64_t *codes, int step, int row,
                        int slice_bytes, char *image)
{
    int bytes = number_facts[p->type].bytes;
    for (int k = 0; k < p->k; k++) {
        int at = k * bytes % 32;
        memcpy(image + k * bytes / 32 * slice_bytes + row / 8 * 256 + at / 16 * 128 + row % 8 * 16 +
                   at % 16,
               &codes[k * step], (size_t)bytes);
    }
}

void product_image(const struct product *p, uint64_t *in)
{
    char *image = (char *)in;
    memset(image, 0, A_BYTES + B_BYTES);
    for (int row = 0; row < p->m; row++)
        product_row(p, p->a + row * p->k, 1, row, A_SLICE_BYTES, image);
    for (int column = 0; column < p->n; column++)
        product_row(p, p->b + column, p->n, column, B_SLICE_BYTES, image + A_BYTES);
}

double product_error(const struct product *p, const uint32_t *out, int threads, double times)
{
    int elements = p->m * p->n / (p->m == 64 ? 128 : 32);
    double worst = 0;

    for (int thread = 0; thread < threads; thread++)
        for (int i = 0; i < elements; i++) {
            int index = product_index(p, thread, i), w = p->sum_type == FP16 ? i / 2 : i;
            uint64_t code = out[w * threads + thread];
            if (p->sum_type == FP64)
                code = out[2 * w * threads + thread] | (uint64_t)out[(2 * w + 1) * threads + thread]
                                                           << 32;
            if (p->sum_type == FP16)
                code = code >> (i % 2 * 16) & 0xffff;
            double must = number_value(p->sum_type, p->first[index]) + times * p->sum[index];
            double error = fabs(number_value(p->sum_type, code) - must) / p->magnitude[index];
            if (p->sum_type == INT32)
                error = (uint32_t)(int64_t)must == (uint32_t)code ? 0 : (double)INFINITY;
            worst = isnan(error) ? (double)INFINITY : fmax(worst, error);
        }
    return worst;
}
