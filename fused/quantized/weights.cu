// Kernels beside those of quantized.cu: weights quantised and laid out as dequantize.cuh
// says, products checked against fp64, and what a format does to numbers. None of them is timed.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/quantized/args.h"

enum : uint32_t { GROUP = QUANTIZED_GROUP, TILE_ROWS = QUANTIZED_ROWS };

__device__ __forceinline__ float round_scale(float scale) // a bf16, as it is stored
{
    return __bfloat162float(__float2bfloat16_rn(scale));
}

// The code of w / scale, rounded to nearest and held in the format's range.
__device__ __forceinline__ uint32_t code_of(uint32_t format, float w)
{
    if (format == E4M3)
        return __nv_cvt_float_to_fp8(w, __NV_SATFINITE, __NV_E4M3);
    const float most = format == INT4 ? 7 : 127;
    const int n = (int)rintf(fminf(fmaxf(w, -most), most));
    return format == INT4 ? (uint32_t)(n + 8) : (uint32_t)n & 0xff;
}

// A tile a warp: each lane has its own part of two rows, and with the other lanes of its row their
// greatest magnitude, which becomes the greatest number of the format.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)
    quantize_pack(const __grid_constant__ struct quantized_pack_args a)
{
    const uint32_t all = a.columns / GROUP, warp = blockIdx.x * QUANTIZED_WARPS + threadIdx.x / 32;
    const uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const uint32_t bits = a.format == INT4 ? 4 : 8;
    const float range = a.format == INT4 ? 7 : a.format == INT8 ? 127 : 448;
    if (warp >= (a.rows + TILE_ROWS - 1) / TILE_ROWS * all)
        return;
    __nv_bfloat16 *scales = (__nv_bfloat16 *)a.scales + (uint64_t)warp * TILE_ROWS;
    uint32_t *to = (uint32_t *)a.to + (uint64_t)warp * (64 * bits);

    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t row = warp / all * TILE_ROWS + g + 8 * half;
        const __nv_bfloat16 *from = (const __nv_bfloat16 *)a.from + (uint64_t)row * a.columns +
                                    warp % all * GROUP + 8 * t;
        float most = 0;
        for (uint32_t i = 0; row < a.rows && i < 32; i++)
            most = fmaxf(most, fabsf(__bfloat162float(from[32 * (i / 8) + i % 8])));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float scale = round_scale(most / range);
        if (t == 0)
            scales[2 * g + half] = __float2bfloat16_rn(scale);
        for (uint32_t i = 0; i < 32; i++) { // i = 16 c + 8 j + 4 h + the index in the step
            const uint32_t step = i / 4, index = i % 4, pair = 2 * (index / 2) + half;
            const float w = row < a.rows && scale > 0
                                ? __bfloat162float(from[32 * (i / 8) + i % 8]) / scale
                                : 0;
            const uint32_t code = code_of(a.format, w);
            const uint32_t word = bits == 4 ? step : 2 * step + index / 2;
            const uint32_t at = bits == 4 ? 4 * pair + 16 * (index % 2)
                                          : 8 * half + 16 * (index % 2);
            uint32_t *home = to + word / 4 * 128 + 4 * lane + word % 4;
            const bool is_first = half == 0 && (bits == 4 ? index == 0 : index % 2 == 0);
            *home = (is_first ? 0 : *home) | code << at;
        }
    }
}

// Where a weight lies in the tiles, told from the description in dequantize.cuh alone.
__device__ __forceinline__ uint32_t code_at(const void *weights, uint32_t format, uint32_t columns,
                                            uint32_t row, uint32_t column)
{
    const uint32_t tile = row / 16 * (columns / 128) + column / 128, bits = format == INT4 ? 4 : 8;
    const uint32_t r = row % 16, k = column % 128, c = k / 64, j = k / 32 % 2, t = k / 8 % 4;
    const uint32_t h = k / 4 % 2, index = k % 4, lane = 4 * (r % 8) + t, step = 4 * c + 2 * j + h;
    const uint32_t reg = 2 * (index / 2) + r / 8, word = bits == 4 ? step : 2 * step + reg / 2;
    const uint32_t at = bits == 4 ? 4 * reg + 16 * (index % 2) : 8 * (reg % 2) + 16 * (index % 2);
    const uint32_t *home = (const uint32_t *)weights + (uint64_t)tile * (64 * bits);
    return home[word / 4 * 128 + 4 * lane + word % 4] >> at & ((1u << bits) - 1);
}

__device__ __forceinline__ double value_of(uint32_t format, uint32_t code)
{
    if (format == INT4)
        return (int)code - 8;
    if (format == INT8)
        return (int8_t)code;
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const double v = exponent ? ldexp(8.0 + fraction, exponent - 10) : ldexp((double)fraction, -9);
    return code >> 7 ? -v : v;
}

__device__ __forceinline__ double scale_at(const void *scales, uint32_t columns, uint32_t row,
                                           uint32_t column)
{
    const uint64_t tile = row / 16 * (columns / 128) + column / 128;
    return __bfloat162float(
        ((const __nv_bfloat16 *)scales)[tile * 16 + row % 8 * 2 + row % 16 / 8]);
}

// For quantized_scalar: int4 row-major, even columns in the lower nibbles, and scales row-major.
// sass: none not a timed kernel
extern "C" __global__ void quantize_plain(const __grid_constant__ struct quantized_pack_args a)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x, half = a.columns / 2;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < a.rows * half; i += step) {
        const uint32_t row = (uint32_t)(i / half), column = (uint32_t)(i % half) * 2;
        ((uint8_t *)a.to)[i] = (uint8_t)(code_at(a.from, INT4, a.columns, row, column) |
                                         code_at(a.from, INT4, a.columns, row, column + 1) << 4);
        if (column % GROUP == 0)
            ((__nv_bfloat16 *)a.plain_scales)[row * (a.columns / GROUP) + column / GROUP] =
                __double2bfloat16(scale_at(a.scales, a.columns, row, column));
    }
}

// --- checks --------------------------------------------------------------------------------------

// The plain method in fp64, an output a warp. Against the dequantised weights the bound is that of
// a sum in fp32 rounded once to bf16; where the weights were rounded to bf16 on their way, so many
// independent roundings add six standard deviations. Against the original weights there is none.
// sass: none not a timed kernel
extern "C" __global__ void quantize_verify(const __grid_constant__ struct quantized_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    struct verdict own = {};
    for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < a.rows * a.batch;
         i += warps) {
        const uint32_t row = i % a.rows, column = i / a.rows;
        const __nv_bfloat16 *x = (const __nv_bfloat16 *)a.x + (uint64_t)column * a.columns;
        double sum = 0, absolute = 0, squared = 0;
        for (uint32_t k = lane; k < a.columns; k += 32) {
            const double w =
                a.original
                    ? __bfloat162float(
                          ((const __nv_bfloat16 *)a.original)[(uint64_t)row * a.columns + k])
                    : value_of(a.format, code_at(a.weights, a.format, a.columns, row, k)) *
                          scale_at(a.scales, a.columns, row, k);
            const double product = w * (double)__bfloat162float(x[k]);
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        sum = warp_reduce<adding>(sum);
        absolute = warp_reduce<adding>(absolute);
        squared = warp_reduce<adding>(squared);
        const double rounded = a.is_rounded ? 6 * 0x1p-9 * sqrt(squared) : 0;
        const double bound = 2 * 0x1p-8 * fabs(sum) + 0x1p-25 + rounded +
                             8 * sqrt((double)a.columns) * 0x1p-24 * absolute;
        if (lane == 0)
            judge(&own, __bfloat162float(((const __nv_bfloat16 *)a.y)[i]), sum,
                  a.original && a.weights ? (double)INFINITY : bound);
    }
    if (lane == 0)
        deliver(a.verdict, &own);
}

// --- what a format does to numbers ---------------------------------------------------------------

__device__ __forceinline__ float input_of(const quantized_quality_args &a, uint32_t row, uint32_t k)
{
    const uint64_t all = (uint64_t)QUALITY_ROWS * QUALITY_COLUMNS;
    const float *z = a.normal + (uint64_t)row * QUALITY_COLUMNS + k;
    if (a.input == Q_STUDENT) // three degrees of freedom
        return z[0] / norm3df(z[all], z[2 * all], z[3 * all]) * sqrtf(3);
    return a.input == Q_CHANNEL && k == QUALITY_COLUMNS / 3 ? 100 * z[0]
           : a.input == Q_MEAN                              ? z[0] + 8
                                                            : z[0];
}

__device__ __forceinline__ float range_of(uint32_t format)
{
    return format == Q_INT8 ? 127 : format == Q_E4M3 ? 448 : format == Q_E5M2 ? 57344 : 7;
}

// The value that a format has for w / scale. `clamped`: it lies beyond what rounds to the greatest.
__device__ __forceinline__ float quantized_value(uint32_t format, float w, bool &clamped)
{
    const float most = range_of(format);
    const float fraction = format == Q_E4M3 ? 464.f / 448 : 61440.f / 57344;
    clamped = false;
    if (format == Q_BF16)
        return __bfloat162float(__float2bfloat16_rn(w));
    if (format == Q_E4M3 || format == Q_E5M2) {
        const __nv_fp8_interpretation_t type = format == Q_E4M3 ? __NV_E4M3 : __NV_E5M2;
        clamped = fabsf(w) > most * fraction;
        return __half2float(
            __half(__nv_cvt_fp8_to_halfraw(__nv_cvt_float_to_fp8(w, __NV_SATFINITE, type), type)));
    }
    clamped = fabsf(w) >= most + 0.5f;
    return rintf(fminf(fmaxf(w, -most), most));
}

// The magnitude that one in a thousand of a row lies above: bisection over the bits of a float.
__device__ __forceinline__ float percentile(const float *row, int *scratch)
{
    uint32_t at = 0;
    for (uint32_t bit = 1u << 30; bit; bit >>= 1) {
        int above = 0;
        for (uint32_t k = threadIdx.x; k < QUALITY_COLUMNS; k += QUALITY_THREADS)
            above += fabsf(row[k]) >= __uint_as_float(at | bit);
        above = block_reduce<adding, QUALITY_THREADS / 32>(above, scratch);
        __syncthreads();
        if (above > QUALITY_COLUMNS / 1000)
            at |= bit;
    }
    return __uint_as_float(at);
}

// A row of weights a block, a warp a group: quantised, and multiplied by x in fp64 beside the
// weights as they were.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(QUALITY_THREADS, 1)
    quantize_quality(const __grid_constant__ struct quantized_quality_args a)
{
    __shared__ float row[QUALITY_COLUMNS];
    __shared__ double scratch[QUALITY_THREADS / 32];
    __shared__ int counts[QUALITY_THREADS / 32];
    const uint32_t group = a.format == Q_INT4_G32 ? 32 : 128;
    const float range = range_of(a.format);
    double sum = 0, reference = 0;
    int n_clamped = 0;

    for (uint32_t k = threadIdx.x; k < QUALITY_COLUMNS; k += QUALITY_THREADS)
        row[k] = input_of(a, blockIdx.x, k);
    __syncthreads();
    const float of_row = a.calibration == Q_PERCENTILE ? percentile(row, counts) : 0;
    for (uint32_t first = threadIdx.x / 32 * group; first < QUALITY_COLUMNS;
         first += QUALITY_THREADS / 32 * group) {
        float most = of_row;
        for (uint32_t k = threadIdx.x % 32; a.calibration != Q_PERCENTILE && k < group; k += 32)
            most = fmaxf(most, fabsf(row[first + k]));
        most = warp_reduce<greatest>(most);
        const float scale = a.format == Q_BF16 || a.calibration == Q_NONE ? 1
                            : round_scale(most / range / (a.calibration == Q_EIGHTH ? 8 : 1));
        for (uint32_t k = threadIdx.x % 32; k < group; k += 32) {
            bool clamped;
            const float value = scale * quantized_value(a.format, row[first + k] / scale, clamped);
            n_clamped += clamped;
            sum += (double)value * (double)a.x[first + k];
            reference += (double)row[first + k] * (double)a.x[first + k];
        }
    }
    sum = block_reduce<adding, QUALITY_THREADS / 32>(sum, scratch);
    __syncthreads();
    reference = block_reduce<adding, QUALITY_THREADS / 32>(reference, scratch);
    n_clamped = block_reduce<adding, QUALITY_THREADS / 32>(n_clamped, counts);
    if (threadIdx.x == 0) {
        struct verdict own = {};
        judge(&own, sum, reference, (double)INFINITY);
        deliver(a.verdict, &own);
        atomicAdd((unsigned long long *)a.clamped, (unsigned long long)n_clamped);
    }
}
