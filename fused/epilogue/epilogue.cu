// Kernels of epilogue: the operators as kernels of their own, as good as the copy of this folder;
// the copy that takes a concatenated product apart; and the fp64 reference.
#include "core/device/load.cuh"
#include "core/device/verdict.cuh"
#include "fused/common/gelu.cuh"
#include "fused/common/gemv_rows.cuh"
#include "fused/common/vector.cuh"
#include "fused/epilogue/args.h"

// Four signed bytes, rounded to nearest even and saturated.
__device__ __forceinline__ uint32_t quantise(const float *x, float scale)
{
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int32_t byte;
        asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(byte) : "f"(x[i] * scale));
        word |= (byte & 0xffu) << 8 * i;
    }
    return word;
}

template <int FLAGS>
__device__ __forceinline__ void operate(float (&x)[8], const float (&bias)[8],
                                        const float (&residual)[8])
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (FLAGS & EPILOGUE_BIAS)
            x[i] += bias[i];
        if (FLAGS & EPILOGUE_GELU)
            x[i] = gelu(x[i]);
        if (FLAGS & EPILOGUE_RESIDUAL)
            x[i] += residual[i];
    }
}

// ROWS vectors of one column of vectors a thread, so that the bias is loaded once for all of them.
// Everything is loaded before anything is used. Through the L2, where the product has just left its
// output; stored there, because the next kernel reads it.
template <int FLAGS, typename T, int THREADS, int ROWS>
__device__ __forceinline__ void pass(const pass_args &a)
{
    const uint32_t column = blockIdx.x * THREADS + threadIdx.x, first = blockIdx.y * ROWS;
    const bool here = column < a.row_vectors;
    uint4 in[ROWS], residual[ROWS] = {}, bias = {};

#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const uint64_t at = (uint64_t)(first + i) * a.row_vectors + column;
        if (here && first + i < a.rows) {
            in[i] = load_cg_128((const uint4 *)a.in + at);
            if (FLAGS & EPILOGUE_RESIDUAL)
                residual[i] = load_cg_128((const uint4 *)a.residual + at);
        }
    }
    if ((FLAGS & EPILOGUE_BIAS) && here)
        bias = __ldg((const uint4 *)a.bias + column);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const uint64_t at = (uint64_t)(first + i) * a.row_vectors + column;
        float x[8], b[8], r[8];
        widen<T>(in[i], x);
        widen<T>(bias, b);
        widen<T>(residual[i], r);
        operate<FLAGS>(x, b, r);
        if (!here || first + i >= a.rows)
            continue;
        if (FLAGS & EPILOGUE_QUANTISE)
            ((uint2 *)a.out)[at] = make_uint2(quantise(x, a.scale), quantise(x + 4, a.scale));
        else
            ((uint4 *)a.out)[at] = narrow<T>(x);
    }
}

// Each with four rows a thread, and, for matrices too small to give every SM a block that way, with
// one row and small blocks.
#define KERNELS(name, flags, T)                                                                   \
    extern "C" __global__ void __launch_bounds__(PASS_THREADS)                                    \
    epilogue_##name##_##T(const __grid_constant__ struct pass_args a)                             \
    {                                                                                             \
        pass<flags, T, PASS_THREADS, PASS_ROWS>(a);                                               \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(PASS_SMALL_THREADS)                              \
    epilogue_##name##_##T##_small(const __grid_constant__ struct pass_args a)                     \
    {                                                                                             \
        pass<flags, T, PASS_SMALL_THREADS, 1>(a);                                                 \
    }
#define BOTH(name, flags) KERNELS(name, flags, bf16) KERNELS(name, flags, fp16)

// sass-all: kernel=epilogue_bias_fp16 ldg128=5 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_bf16 ldg128=5 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_????_small ldg128=2 stg128=1 local=0 together
BOTH(bias, EPILOGUE_BIAS)
// sass-all: kernel=epilogue_gelu_fp16 ldg128=4 stg128=4 local=0 together
// sass-all: kernel=epilogue_gelu_bf16 ldg128=4 stg128=4 local=0 together
// sass-all: kernel=epilogue_gelu_????_small ldg128=1 stg128=1 local=0
BOTH(gelu, EPILOGUE_GELU)
// sass-all: kernel=epilogue_residual_fp16 ldg128=8 stg128=4 local=0 together
// sass-all: kernel=epilogue_residual_bf16 ldg128=8 stg128=4 local=0 together
// sass-all: kernel=epilogue_residual_????_small ldg128=2 stg128=1 local=0 together
BOTH(residual, EPILOGUE_RESIDUAL)
// sass-all: kernel=epilogue_quantise_fp16 ldg128=4 stg64=4 local=0 together
// sass-all: kernel=epilogue_quantise_bf16 ldg128=4 stg64=4 local=0 together
// sass-all: kernel=epilogue_quantise_????_small ldg128=1 stg64=1 local=0
BOTH(quantise, EPILOGUE_QUANTISE)
// sass-all: kernel=epilogue_bias_gelu_fp16 ldg128=5 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_gelu_bf16 ldg128=5 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_gelu_????_small ldg128=2 stg128=1 local=0 together
BOTH(bias_gelu, EPILOGUE_BIAS | EPILOGUE_GELU)
// sass-all: kernel=epilogue_bias_residual_fp16 ldg128=9 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_residual_bf16 ldg128=9 stg128=4 local=0 together
// sass-all: kernel=epilogue_bias_residual_????_small ldg128=3 stg128=1 local=0 together
BOTH(bias_residual, EPILOGUE_BIAS | EPILOGUE_RESIDUAL)

// sass-all: ldg128=1 ldg128na=1 stg128=1 local=0
extern "C" __global__ void __launch_bounds__(PASS_THREADS)
    epilogue_split(const __grid_constant__ struct split_args a)
{
    const uint32_t all = a.end[2], column = blockIdx.x * PASS_THREADS + threadIdx.x;
    const uint32_t part = column < a.end[0] ? 0 : column < a.end[1] ? 1 : 2;
    const uint32_t begin = part == 0 ? 0 : a.end[part - 1], row = blockIdx.y;
    if (column < all)
        ((uint4 *)a.to[part])[(uint64_t)row * (a.end[part] - begin) + column - begin] =
            load_once((const uint4 *)a.from + (uint64_t)row * all + column);
}

// One row of x: a product of W with a vector, two rows of W a block, finished by the thread that
// has the sum. What the finish needs is asked for before the weights are. Arguments are those of
// mma.h, tiles of 1 x 2.
// sass-loop: ldg128na=8 ldg128=12 local=0 together
extern "C" __global__ void __launch_bounds__(ROWS_THREADS, 1)
    epilogue_rows(const __grid_constant__ struct mma_epilogue_args a)
{
    __shared__ float scratch[2][ROWS_THREADS / 32];
    const uint32_t column = 2 * blockIdx.x + threadIdx.x % 2;
    const bool later = blockIdx.x >= a.part[1].first, last = blockIdx.x >= a.part[2].first;
    const uint32_t at = column - 2 * (last ? a.part[2].first : later ? a.part[1].first : 0);
    const uint4 *row[2];
    float sum[2] = {}, bias = 0, residual = 0;

    if (a.flags & EPILOGUE_BIAS)
        bias = bf16::one(((const __nv_bfloat16 *)a.bias)[column]);
    if (a.flags & EPILOGUE_RESIDUAL)
        residual = bf16::one(((const __nv_bfloat16 *)a.residual)[column]);
    gemv_rows_at(row, a.b, 2 * blockIdx.x, 2 * gridDim.x, a.ldb / 8);
    gemv_rows<4>(sum, row, (const uint4 *)a.a, a.k / 8);
    float y = gemv_rows_sum(sum, scratch) + bias;
    if (threadIdx.x >= 2)
        return;
    if (a.flags & EPILOGUE_GELU)
        y = gelu(y);
    y += residual;
    void *c = last ? a.part[2].c : later ? a.part[1].c : a.part[0].c;
    if (a.flags & EPILOGUE_QUANTISE) {
        const float four[4] = {y, 0, 0, 0};
        ((int8_t *)c)[at] = (int8_t)quantise(four, a.scale);
    } else {
        ((__nv_bfloat16 *)c)[at] = bf16::one(y);
    }
}

// --- is it right?
// ---------------------------------------------------------------------------------

template <typename T> __device__ __forceinline__ void shrink(const shrink_args &a)
{
    typename T::number *x = (typename T::number *)a.memory;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.elements;
         i += (uint64_t)gridDim.x * blockDim.x)
        x[i] = T::one(T::one(x[i]) * 0x1p-6f);
}

__device__ __forceinline__ double gelu_exactly(double z, bool erf_form)
{
    const double u = 0.79788456080286536 * (z + 0.044715 * z * z * z);
    return erf_form ? 0.5 * z * (1 + erf(z * 0.70710678118654752)) : z / (1 + exp(-2 * u));
}

template <typename T> __device__ __forceinline__ double element(const void *base, uint64_t index)
{
    return T::one(((const typename T::number *)base)[index]);
}

// The row that is looked at as number i: one of each m / looked, and the last.
__device__ __forceinline__ uint32_t looked_row(uint32_t i, uint32_t looked, uint32_t m)
{
    const uint32_t every = m / looked;
    if (looked == m)
        return i;
    return i + 1 == looked ? m - 1 : i * every + (i * 2654435761u >> 16) % every;
}

// The plain product in fp64, an output a thread, operands through tiles in shared memory.
template <typename T> __device__ __forceinline__ void reference(const reference_args &v)
{
    __shared__ double a[REFERENCE_TILE][REFERENCE_TILE], w[REFERENCE_TILE][REFERENCE_TILE + 1];
    const uint32_t x = threadIdx.x % REFERENCE_TILE, y = threadIdx.x / REFERENCE_TILE;
    const uint32_t i = blockIdx.y * REFERENCE_TILE + y, column = blockIdx.x * REFERENCE_TILE + x;
    const uint64_t row = looked_row(min(i, v.looked - 1), v.looked, v.m);
    const uint64_t w_row = min(blockIdx.x * REFERENCE_TILE + y, v.n - 1);
    double sum = 0, absolute = 0;

    for (uint32_t k = 0; k < v.k; k += REFERENCE_TILE) {
        const bool inside = k + x < v.k;
        double value = inside ? element<T>(v.a, row * v.k + k + x) : 0;
        if (v.gelu_in)
            value = T::one(T::one((float)gelu_exactly(value, false)));
        a[y][x] = value;
        w[y][x] = inside ? element<T>(v.w, w_row * v.k + k + x) : 0;
        __syncthreads();
#pragma unroll
        for (uint32_t j = 0; j < REFERENCE_TILE; j++) {
            const double product = a[y][j] * w[x][j];
            sum += product;
            absolute += fabs(product);
        }
        __syncthreads();
    }
    if (i < v.looked && column < v.n)
        v.sum[(uint64_t)i * v.n + column] = {sum, absolute};
}

// What the output should be and how far it may lie from it: fp32 sums of a tensor core, which
// truncates while it adds (hence 8 sqrt(k)), carried on by gelu' (at most 1.13), and every rounding
// on the way.
struct expected {
    double value, bound;
};
template <typename T>
__device__ __forceinline__ expected expect(const judge_args &a, struct reference_sum p,
                                           uint64_t index, uint32_t column, double unit)
{
    double z = p.sum, bound = 8 * sqrt((double)a.k) * 0x1p-24 * p.absolute + 0x1p-23;
    if (a.flags & JUDGE_ROUNDED)
        bound += unit * fabs(z);
    if (a.flags & EPILOGUE_BIAS) {
        z += element<T>(a.bias, column);
        if (a.flags & JUDGE_EACH_ROUNDED)
            bound += unit * fabs(z);
    }
    if (a.flags & EPILOGUE_GELU) {
        bound = 1.13 * bound + (a.flags & JUDGE_APPROXIMATE ? 0x1p-11 * fabs(z) : 0);
        z = gelu_exactly(z, a.flags & JUDGE_ERF);
    }
    if (a.flags & EPILOGUE_RESIDUAL)
        z += element<T>(a.residual, index);
    if (a.flags & EPILOGUE_QUANTISE)
        return {fmin(fmax(z * a.scale, -128.0), 127.0), 0.5 + 1.01 * bound * a.scale + 1e-5};
    return {z, 1.01 * (unit * fabs(z) + bound)};
}

template <typename T> __device__ __forceinline__ void look(const judge_args &a, double unit)
{
    struct verdict own = {};
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < (uint64_t)a.looked * a.n; i += (uint64_t)gridDim.x * blockDim.x) {
        const uint32_t row = looked_row(i / a.n, a.looked, a.m), column = i % a.n;
        const uint64_t index = (uint64_t)row * a.ldc + column;
        const reference_sum sum = a.sum[i / a.n * a.columns + a.first + column];
        const expected e = expect<T>(a, sum, index, column, unit);
        judge(&own,
              a.flags & EPILOGUE_QUANTISE ? ((const int8_t *)a.out)[index]
                                          : element<T>(a.out, index),
              e.value, e.bound);
    }
    deliver(a.verdict, &own);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_shrink_bf16(const __grid_constant__ struct shrink_args a)
{
    shrink<bf16>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_shrink_fp16(const __grid_constant__ struct shrink_args a)
{
    shrink<fp16>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_reference_bf16(const __grid_constant__ struct reference_args a)
{
    reference<bf16>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_reference_fp16(const __grid_constant__ struct reference_args a)
{
    reference<fp16>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_judge_bf16(const __grid_constant__ struct judge_args a)
{
    look<bf16>(a, 0x1p-8);
}

// sass: none not a timed kernel
extern "C" __global__ void epilogue_judge_fp16(const __grid_constant__ struct judge_args a)
{
    look<fp16>(a, 0x1p-11);
}
