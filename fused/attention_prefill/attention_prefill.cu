// Kernels of attention_prefill: the fused ones (prefill.cuh and wgmma.cuh), the softmax of the
// unfused chain, and the plain ones that these are held against.
#include "core/device/verdict.cuh"
#include "fused/attention_prefill/args.h"
#include "fused/attention_prefill/wgmma.cuh"
#include "fused/common/reduce.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#define FUSED(type, depth)                                                                         \
    extern "C" __global__ void __launch_bounds__(ATTENTION_PREFILL_THREADS,                        \
                                                 ATTENTION_PREFILL_BLOCKS)                         \
        attention_prefill_##type##_##depth(                                                        \
            const __grid_constant__ struct attention_prefill_args a)                               \
    {                                                                                              \
        attention_prefill<type, depth>::run(a);                                                    \
    }

// sass-loop: kernel=attention_prefill_bf16_128 hmma=256 ldsm=80 ldgsts=16 bar=1 other<=694 local=0
// sass-and: arch=80+
FUSED(bf16, 128)
// sass-loop: kernel=attention_prefill_fp16_128 hmma=256 ldsm=80 ldgsts=16 bar=1 other<=694 local=0
// sass-and: arch=80+
FUSED(fp16, 128)
// sass-loop: kernel=attention_prefill_bf16_64 hmma=128 ldsm=40 ldgsts=8 bar=1 other<=595 local=0
// sass-and: arch=80+
FUSED(bf16, 64)

#endif

#if defined __CUDA_ARCH_FEAT_SM90_ALL

#define FUSED_WGMMA(type)                                                                          \
    extern "C" __global__ void __launch_bounds__(ATTENTION_PREFILL_WGMMA_THREADS, 1)               \
        attention_prefill_wgmma_##type(                                                            \
            const __grid_constant__ struct attention_prefill_wgmma_args a)                         \
    {                                                                                              \
        attention_prefill_wgmma<type>::run(a);                                                     \
    }

// Two turns.
// sass-loop: kernel=attention_prefill_wgmma_* hgmma=32 mufu=132 bar=0 lds=0 guarded<=4
// sass-and: other<=1107 local=0
// sass-and: arch=90a
FUSED_WGMMA(bf16)
FUSED_WGMMA(fp16)

#endif

// --- the softmax of the unfused chain ------------------------------------------------------------

template <typename OPERATION> __device__ __forceinline__ float row_reduce(float x, float *scratch)
{
    x = warp_reduce<OPERATION>(x);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = scratch[0];
    for (uint32_t i = 1; i < blockDim.x / 32; i++)
        x = OPERATION::of(x, scratch[i]);
    return x;
}

// One block a row, which stays in registers between load and store. A row that is masked from some
// element on is read up to there only; the product that follows reads it all, so zeros are stored.
template <typename TYPE> __device__ __forceinline__ void softmax(const attention_softmax_args &a)
{
    __shared__ float scratch[2][SOFTMAX_THREADS_MAX / 32];
    const int32_t sees =
        max(0, min((int32_t)a.keys, (int32_t)(blockIdx.x % a.queries) + a.causal_end));
    uint4 *row = (uint4 *)((uint16_t *)a.scores + (size_t)blockIdx.x * a.row);
    uint4 bits[SOFTMAX_VECTORS] = {};
    const float c = a.scale * 1.4426950409f; // log2(e)
    float x[SOFTMAX_VECTORS][8], top = -INFINITY, sum = 0;

#pragma unroll
    for (int i = 0; i < SOFTMAX_VECTORS; i++)
        if ((int32_t)(i * blockDim.x + threadIdx.x) * 8 < sees)
            bits[i] = load_cg_128(row + i * blockDim.x + threadIdx.x);
#pragma unroll
    for (int i = 0; i < SOFTMAX_VECTORS; i++) {
        const int32_t left = sees - (int32_t)(i * blockDim.x + threadIdx.x) * 8;
        widen<TYPE>(bits[i], x[i]);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            x[i][j] = j < left ? x[i][j] : -INFINITY;
            top = fmaxf(top, x[i][j]);
        }
    }
    top = row_reduce<greatest>(top, scratch[0]);
    const float shift = top == -INFINITY ? 0 : top * c;
#pragma unroll
    for (int i = 0; i < SOFTMAX_VECTORS; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum += x[i][j] = exp2_fast(fmaf(x[i][j], c, -shift));
    sum = row_reduce<adding>(sum, scratch[1]);
    const float by = sum > 0 ? __fdividef(1, sum) : 0;
#pragma unroll
    for (int i = 0; i < SOFTMAX_VECTORS; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            x[i][j] *= by;
        if ((i * blockDim.x + threadIdx.x) * 8 < a.row)
            row[i * blockDim.x + threadIdx.x] = narrow<TYPE>(x[i]);
    }
}

#define SOFTMAX(type)                                                                              \
    extern "C" __global__ void __launch_bounds__(SOFTMAX_THREADS_MAX, 2)                           \
        attention_softmax_##type(const __grid_constant__ struct attention_softmax_args a)          \
    {                                                                                              \
        softmax<type>(a);                                                                          \
    }

// sass-all: kernel=attention_softmax_bf16 ldg128=4 stg128=4 local=0 looped together
SOFTMAX(bf16)
// sass-all: kernel=attention_softmax_fp16 ldg128=4 stg128=4 local=0 looped together
SOFTMAX(fp16)

// --- plain kernels: one row of the result a block, one element of it a thread --------------------

enum { ROW = PREFILL_ROW_THREADS }; // keys at a time, and threads

struct row_of {
    const uint16_t *q, *k, *v, *out;
    int32_t sees; // keys
    uint64_t at;  // among all rows
};

__device__ __forceinline__ struct row_of row_at(const attention_row_args &a, uint64_t at)
{
    const attention_prefill_args &of = a.of;
    const uint64_t head = at / of.queries, kv = head / of.share * of.keys * a.depth;
    const int32_t reaches = (int32_t)(at % of.queries) + of.causal_end;
    return {(const uint16_t *)of.q + at * a.depth,
            (const uint16_t *)of.k + kv,
            (const uint16_t *)of.v + kv,
            (const uint16_t *)of.out + at * a.depth,
            max(0, min((int32_t)of.keys, reaches)),
            at};
}

__device__ __forceinline__ float number(uint16_t bits, bool is_bf16)
{
    return is_bf16 ? __uint_as_float((uint32_t)bits << 16) : __half2float(__ushort_as_half(bits));
}

// Scaled score of a key, and the sum of the magnitudes of what was added up for it.
template <typename N>
__device__ __forceinline__ N score(const attention_row_args &a, const row_of &r, uint32_t key,
                                   N *magnitude)
{
    const uint4 *q = (const uint4 *)r.q, *k = (const uint4 *)(r.k + (size_t)key * a.depth);
    N sum = 0;
    *magnitude = 0;
    for (uint32_t i = 0; i < a.depth / 8; i++) {
        const uint4 left = q[i], right = k[i];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const N product = (N)number(((const uint16_t *)&left)[j], a.is_bf16) *
                              (N)number(((const uint16_t *)&right)[j], a.is_bf16);
            sum += product;
            *magnitude += (N)a.of.scale * fabs(product);
        }
    }
    return a.of.scale * sum;
}

// In fp64. The bound takes roundings as what they are, independent of each other: the root of the
// sum of their squares, four times. A probability is rounded to the type when V is multiplied (one
// unit u); the score before it in fp32, at a length of its products, and in the unfused chain to
// the type.
__device__ __forceinline__ void verify_row(const attention_row_args &a, const row_of &r,
                                           struct verdict *own, bool *is_wrong)
{
    __shared__ double p[ROW], weight[ROW], tops[ROW / 32];
    const double u = a.is_bf16 ? 0x1p-8 : 0x1p-11, tiny = a.is_bf16 ? 0x1p-130 : 0x1p-24;
    const uint32_t t = threadIdx.x;
    double magnitude, top = -INFINITY, sum = 0, out = 0, squares = 0, plain = 0;

    for (int32_t key = t; key < r.sees; key += ROW)
        top = fmax(top, score<double>(a, r, key, &magnitude));
    for (int lanes = 16; lanes > 0; lanes /= 2)
        top = fmax(top, __shfl_xor_sync(~0u, top, lanes));
    if (t % 32 == 0)
        tops[t / 32] = top;
    __syncthreads();
    for (int i = 0; i < ROW / 32; i++)
        top = fmax(top, tops[i]);
    for (int32_t first = 0; first < r.sees; first += ROW) {
        const bool there = first + (int32_t)t < r.sees;
        const double s = there ? score<double>(a, r, first + t, &magnitude) : 0;
        p[t] = there ? exp(s - top) : 0;
        weight[t] = p[t] * (u + magnitude * 0x1p-20 + (a.is_unfused ? 1.5 * u * fabs(s) : 0));
        __syncthreads();
        for (int32_t i = 0; t < a.depth && i < ROW && first + i < r.sees; i++) {
            const double v = number(r.v[(size_t)(first + i) * a.depth + t], a.is_bf16);
            sum += p[i];
            out += p[i] * v;
            squares += weight[i] * weight[i] * v * v;
            plain += weight[i] * weight[i];
        }
        __syncthreads();
    }
    if (t < a.depth) {
        const double reference = sum > 0 ? out / sum : 0, by = sum > 0 ? 4 / sum : 0;
        const double bound =
            u * fabs(reference) + by * sqrt(squares + reference * reference * plain);
        const uint64_t wrong = own->wrong;
        judge(own, number(r.out[t], a.is_bf16), reference, bound + tiny);
        *is_wrong = own->wrong != wrong;
    }
}

// Looks at rows of a stratified sample: the first, the last, and one drawn from each stretch.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(ROW)
    attention_prefill_verify(const __grid_constant__ struct attention_row_args a)
{
    const uint64_t all = (uint64_t)a.of.heads * a.of.queries;
    struct verdict own = {};

    for (uint64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
        const uint64_t begin = i * all / a.rows, end = (i + 1) * all / a.rows;
        uint64_t drawn = (i + a.seed) * 0x9e3779b97f4a7c15u;
        drawn = (drawn ^ drawn >> 29) * 0xbf58476d1ce4e5b9u >> 20;
        bool is_wrong = false;
        verify_row(a,
                   row_at(a, i == 0            ? 0
                             : i == a.rows - 1 ? all - 1
                                               : begin + drawn % (end - begin)),
                   &own, &is_wrong);
        is_wrong = __syncthreads_or(is_wrong);
        if (a.wrong_rows && is_wrong && threadIdx.x == 0)
            atomicAdd(a.wrong_rows, 1u);
    }
    deliver(a.verdict, &own);
}

// The control: exponentials without a maximum, in fp32. Right as long as none overflows.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(ROW)
    attention_prefill_naive(const __grid_constant__ struct attention_row_args a)
{
    __shared__ float p[ROW];
    const struct row_of r = row_at(a, blockIdx.x);
    const uint32_t t = threadIdx.x;
    float sum = 0, out = 0, magnitude;

    for (int32_t first = 0; first < r.sees; first += ROW) {
        p[t] = first + (int32_t)t < r.sees ? expf(score<float>(a, r, first + t, &magnitude)) : 0;
        __syncthreads();
        for (int32_t i = 0; t < a.depth && i < ROW && first + i < r.sees; i++) {
            sum += p[i];
            out += p[i] * number(r.v[(size_t)(first + i) * a.depth + t], a.is_bf16);
        }
        __syncthreads();
    }
    out = sum > 0 ? out / sum : 0;
    uint16_t *to = (uint16_t *)r.out + t;
    if (t < a.depth)
        *to = a.is_bf16 ? __bfloat16_as_ushort(bf16::one(out)) : __half_as_ushort(fp16::one(out));
}
