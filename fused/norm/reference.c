#include "fused/norm/reference.h"

#include <math.h>

#include "core/half.h"

static double number(const struct norm_row *row, uint16_t bits)
{
    return row->operator_flags & NORM_BF16 ? half_bf16(bits) : half_fp16(bits);
}

/* Half a unit in the last place of 1, and half of the smallest positive number. */
static double unit_of(const struct norm_row *row)
{
    return row->operator_flags & NORM_BF16 ? HALF_BF16_UNIT : HALF_FP16_UNIT;
}
static double tiny_of(const struct norm_row *row)
{
    return row->operator_flags & NORM_BF16 ? 0x1p-134 : 0x1p-25;
}

/* The normalised operand: the input, or the stored sum, which is checked separately. */
static double operand(const struct norm_row *row, size_t i)
{
    return number(row, row->operator_flags & NORM_RESIDUAL ? row->sum[i] : row->in[i]);
}

static double code_value(const struct norm_row *row, size_t i)
{
    if (row->operator_flags & NORM_INT8)
        return ((const int8_t *)row->out)[i];
    unsigned bits = ((const uint8_t *)row->out)[i], exponent = bits >> 3 & 15, low = bits & 7;
    double size = (bits & 127) == 127 ? (double)NAN
                  : exponent          ? ldexp(8 + low, (int)exponent - 10)
                                      : ldexp(low, -9);
    return bits & 128 ? -size : size;
}

/* No code may be nearer than the chosen one, apart from rounding before the quantisation. */
static bool is_code_right(const struct norm_row *row, size_t i, double v, double scale)
{
    const bool chain = row->operator_flags & NORM_CHAIN;
    const double half = row->operator_flags & NORM_INT8 ? 0.5
                        : fabs(v) < 0x1p-6              ? 0x1p-10
                                                        : ldexp(1, ilogb(v) - 4);
    const double bound =
        half + fabs(v) * (chain ? 0x1.03p1 * unit_of(row) : 0x1p-20) +
        (chain ? tiny_of(row) / scale : 0);
    return fabs(code_value(row, i) - v) <= bound;
}

/* norm_verify in reference.cu explains each term. */
static bool is_result_right(const struct norm_row *row, size_t i, double mean, double factor,
                            double size)
{
    const uint32_t flags = row->operator_flags;
    const double u = unit_of(row), tiny = tiny_of(row);
    const double weight = number(row, row->weight[i]);
    const double y1 = (operand(row, i) - mean) * factor * weight;
    const double y2 = y1 + (flags & NORM_BIAS ? number(row, row->bias[i]) : 0);
    const double reference = flags & NORM_SILU ? y2 / (1 + exp(-y2)) : y2;
    double bound = 1.01 * u * fabs(reference) + 2 * tiny + 0x1p-21 * (fabs(y1) + fabs(y2));
    if (flags & NORM_CENTRED)
        bound += 0x1p-21 * size * factor * fabs(weight);
    if (flags & NORM_CHAIN)
        bound += 1.12 * u * (fabs(y1) + fabs(y2)) + 4 * tiny;
    return fabs(number(row, ((const uint16_t *)row->out)[i]) - reference) <= bound;
}

size_t norm_row_wrong(const struct norm_row *row)
{
    const uint32_t flags = row->operator_flags;
    const bool codes = flags & (NORM_E4M3 | NORM_INT8);
    double mean = 0, size = 0, squares = 0, most = 0;
    size_t wrong = 0;

    for (size_t i = 0; i < row->cols; i++) {
        const double exact = number(row, row->in[i]) + number(row, row->residual[i]);
        if (flags & NORM_RESIDUAL)
            wrong += !(fabs(operand(row, i) - exact) <=
                       0x1.008p0 * unit_of(row) * fabs(exact) + tiny_of(row));
        mean += flags & NORM_CENTRED ? operand(row, i) / (double)row->cols : 0;
        size += fabs(operand(row, i)) / (double)row->cols;
    }
    for (size_t i = 0; i < row->cols; i++) {
        const double centred = operand(row, i) - mean;
        squares += centred * centred / (double)row->cols;
        most = fmax(most, fabs(operand(row, i) * number(row, row->weight[i])));
    }
    const double factor = 1 / sqrt(squares + row->epsilon);
    const double scale = factor * most / (flags & NORM_INT8 ? 127 : 448);
    if (codes)
        wrong += !(fabs((double)row->scale - scale) <=
                   (flags & NORM_CHAIN ? 0x1.01p0 * unit_of(row) : 0x1p-18) * scale + 0x1p-30);
    for (size_t i = 0; i < row->cols; i++) {
        const double v =
            most > 0 ? operand(row, i) * factor * number(row, row->weight[i]) / scale : 0;
        wrong +=
            codes ? !is_code_right(row, i, v, scale) : !is_result_right(row, i, mean, factor, size);
    }
    return wrong;
}

void norm_make_adversary(uint16_t *row, size_t cols, uint32_t operator_flags,
                         enum norm_adversary adversary)
{
    const bool is_bf16 = operator_flags & NORM_BF16;
    if (adversary == NORM_OUTLIER)
        row[cols / 3] = is_bf16 ? 0x4760 : 0x7b00; /* 57344 */
    for (size_t i = 0; i < cols && adversary != NORM_OUTLIER; i++)
        if (adversary == NORM_CONSTANT)
            row[i] = row[0];
        else if (is_bf16) /* 2^9 x (1 + bits / 2^7), steps of 4 */
            row[i] = (uint16_t)((9 + 127) << 7 | (uint16_t)(122 + lrint(0.2 * half_bf16(row[i]))));
        else /* 2^9 x (1 + bits / 2^10), steps of 1/2 */
            row[i] = (uint16_t)((9 + 15) << 10 | (uint16_t)(976 + lrint(2 * half_fp16(row[i]))));
}
