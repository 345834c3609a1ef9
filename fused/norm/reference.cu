// The reference of norm: the plain method in fp64, a block per row, with a bound for each element.
// Not timed. reference.c does the same on the CPU for some rows.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/norm/reference.h"

struct greatest_double {
    static __device__ __forceinline__ double of(double a, double b)
    {
        return fmax(a, b);
    }
};

// A number of a tensor, of the weights, or of the bias.
__device__ __forceinline__ double at_of(const norm_verify_args &a, const void *base, uint64_t at)
{
    return a.operator_flags & NORM_BF16 ? bf16::one(((const bf16::number *)base)[at])
                                        : fp16::one(((const fp16::number *)base)[at]);
}

// Half a unit in the last place of 1, and half of the smallest positive number.
__device__ __forceinline__ double unit_of(const norm_verify_args &a)
{
    return a.operator_flags & NORM_BF16 ? 0x1p-8 : 0x1p-11;
}
__device__ __forceinline__ double tiny_of(const norm_verify_args &a)
{
    return a.operator_flags & NORM_BF16 ? 0x1p-134 : 0x1p-25;
}

// The normalised operand: the input, or the sum as it was stored, which is judged separately.
__device__ __forceinline__ double operand(const norm_verify_args &a, uint64_t at)
{
    return at_of(a, a.operator_flags & NORM_RESIDUAL ? a.sum : a.in, at);
}

// The value of a code, computed independently of the code's maker.
__device__ double decoded(const norm_verify_args &a, uint64_t at)
{
    if (a.operator_flags & NORM_INT8)
        return ((const int8_t *)a.out)[at];
    const uint32_t bits = ((const uint8_t *)a.out)[at], exponent = bits >> 3 & 15, low = bits & 7;
    const double size = (bits & 127) == 127 ? (double)__int_as_float(0x7fffffff)
                        : exponent          ? ldexp(8.0 + low, (int)exponent - 10)
                                            : ldexp((double)low, -9);
    return bits & 128 ? -size : size;
}

// A result must be the nearest code, except for what rounding did to the number before. The bound
// is half the distance between codes at v; for e4m3 that is a sixteenth of v's power of two.
__device__ void judge_code(struct verdict *own, const norm_verify_args &a, uint64_t at,
                           double factor, double scale)
{
    const bool chain = a.operator_flags & NORM_CHAIN, int8 = a.operator_flags & NORM_INT8;
    const double v = operand(a, at) * factor * at_of(a, a.weight, at % a.cols) / scale;
    const double half = int8 ? 0.5 : fabs(v) < 0x1p-6 ? 0x1p-10 : ldexp(1.0, ilogb(v) - 4);
    judge(own, decoded(a, at), v,
          half + fabs(v) * (chain ? 0x1.03p1 * unit_of(a) : 0x1p-20) +
              (chain ? tiny_of(a) / scale : 0));
}

// The right value of one element, and its bound: half a unit of its type for each rounding, plus
// the fp32 error of the mean. Roundings before the activation are multiplied by its slope (at most
// 1.1).
__device__ void judge_number(struct verdict *own, const norm_verify_args &a, uint64_t at,
                             double mean, double factor, double size)
{
    const uint32_t flags = a.operator_flags, column = (uint32_t)(at % a.cols);
    const double u = unit_of(a), tiny = tiny_of(a), weight = at_of(a, a.weight, column);
    const double y1 = (operand(a, at) - mean) * factor * weight;
    const double y2 = y1 + (flags & NORM_BIAS ? at_of(a, a.bias, column) : 0);
    const double reference = flags & NORM_SILU ? y2 / (1 + exp(-y2)) : y2;
    double bound = 1.01 * u * fabs(reference) + 2 * tiny + 0x1p-21 * (fabs(y1) + fabs(y2));
    if (flags & NORM_CENTRED)
        bound += 0x1p-21 * size * factor * fabs(weight);
    if (flags & NORM_CHAIN)
        bound += 1.12 * u * (fabs(y1) + fabs(y2)) + 4 * tiny;
    judge(own, at_of(a, a.out, at), reference, bound);
}

// Checks what is stored besides the results; its error does not count as the operator's.
__device__ void look(struct verdict *own, double value, double reference, double bound)
{
    own->wrong += !(fabs(value - reference) <= bound);
    own->looked_at++;
}

// Statistics of a whole row; every thread gets them.
struct of_row {
    double mean, factor, size, most; // 1 / deviation; mean |x|; greatest |x - mean| |weight|
};

// A block of 256 threads. Also judges the sums with the residual, as it reads them.
__device__ struct of_row examine(struct verdict *own, const norm_verify_args &a, uint64_t row,
                                 double (&scratch)[4][8])
{
    const uint64_t start = row * a.cols, end = start + a.cols;
    const bool centred = a.operator_flags & NORM_CENTRED,
               residual = a.operator_flags & NORM_RESIDUAL;
    double sum = 0, size = 0, squares = 0, most = 0;

    for (uint64_t at = start + threadIdx.x; at < end; at += 256) {
        const double x = operand(a, at), exact = at_of(a, a.in, at) + at_of(a, a.residual, at);
        if (residual)
            look(own, x, exact, 0x1.008p0 * unit_of(a) * fabs(exact) + tiny_of(a));
        sum += centred ? x : 0;
        size += fabs(x);
    }
    const double mean = block_reduce<adding, 8>(sum, scratch[0]) / a.cols;
    size = block_reduce<adding, 8>(size, scratch[1]) / a.cols;
    for (uint64_t at = start + threadIdx.x; at < end; at += 256) {
        const double x = operand(a, at) - mean;
        squares += x * x;
        most = fmax(most, fabs(x * at_of(a, a.weight, at - start)));
    }
    squares = block_reduce<adding, 8>(squares, scratch[2]);
    most = block_reduce<greatest_double, 8>(most, scratch[3]);
    return {mean, 1 / sqrt(squares / a.cols + a.epsilon), size, most};
}

// One block an SM is enough; with more, registers would be spilled.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(256, 1)
    norm_verify(const __grid_constant__ struct norm_verify_args a)
{
    __shared__ double scratch[4][8];
    const uint32_t flags = a.operator_flags;
    struct verdict own = {};

    for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const struct of_row found = examine(&own, a, row, scratch);
        const double scale = found.factor * found.most / (flags & NORM_INT8 ? 127 : 448);
        const double scale_bound = flags & NORM_CHAIN ? 0x1.01p0 * unit_of(a) : 0x1p-18;
        if (a.scale && threadIdx.x == 0)
            look(&own, a.scale[row], scale, scale_bound * scale + 0x1p-30);
        for (uint32_t column = threadIdx.x; column < a.cols; column += 256) {
            const uint64_t at = row * a.cols + column;
            if (flags & (NORM_E4M3 | NORM_INT8))
                judge_code(&own, a, at, found.factor, found.most > 0 ? scale : INFINITY);
            else
                judge_number(&own, a, at, found.mean, found.factor, found.size);
        }
        __syncthreads();
    }
    deliver(a.verdict, &own);
}
