// Kernels of norm: RMSNorm and LayerNorm together with the operators before and after them, in one
// kernel that reads a row once; and the same as a chain. LayerNorm in several passes is in
// passes.cu.
//
// All kernels that keep the row in registers share one skeleton (norm.cuh), in four forms:
//     _block     a block per row, four vectors a thread
//     _warp      a warp per row, for short rows
//     _few       a block per row, one vector a thread, where there are too few rows to fill the GPU
//     _cluster   a cluster per row, for few rows too long for _few, on GPUs with clusters
// The cluster takes one row of 32768 from 5.0 us to 2.5 us on an H200. For many such rows a cluster
// is slower than a block of 1024 threads: LayerNorm of 4096 x 32768 takes 185 us against 158 us.
// The input bypasses the L1 unless the L2 shall keep it (load_group.cuh); weights stay in the L1,
// where every block finds them. Each kernel exists for fp16 and for bf16, which ends its name.
#include "core/device/load.cuh"
#include "fused/common/load_group.cuh"
#include "fused/norm/args.h"
#include "fused/norm/codes.cuh"
#include "fused/norm/norm.cuh"

// --- rows in registers ---------------------------------------------------------------------------

struct row_of {
    uint32_t vectors, last; // vectors of the row, 0 if there is no such row; number of the last one
    size_t start;           // its first vector; if there is no such row, that of the last row
    bool keep;              // see load_group.cuh
    __device__ __forceinline__ row_of(const norm_args &a, uint32_t row)
        : vectors(row < a.rows ? a.row_vectors : 0), last(a.row_vectors - 1),
          start((size_t)min(row, a.rows - 1) * a.row_vectors), keep(a.keep)
    {
    }
};

template <int VECTORS, typename TEAM>
__device__ __forceinline__ void load_row(uint4 (&x)[VECTORS], const void *from, const row_of &row,
                                         const TEAM &team)
{
    load_group<LOAD_BY_BRANCH, VECTORS>(row.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            x[i] = load((const uint4 *)from + row.start + min(team.at(i), row.last));
    });
}

// The part of the weights or the bias that belongs to vector i.
template <typename TEAM>
__device__ __forceinline__ uint4 load_column(const void *from, const row_of &row, const TEAM &team,
                                             int i)
{
    return __ldg((const uint4 *)from + min(team.at(i), row.last));
}

// x = x + other, which is a result, too. To save registers the assembler would delay the loads of
// one vector until another is added, which halves the loads in flight. So the first addition is
// made to depend on all loads, by a term that is always zero; only we know that (threadIdx.y).
template <typename T, int VECTORS, typename TEAM>
__device__ __forceinline__ void add_and_store(const norm_args &a, uint4 (&x)[VECTORS],
                                              const uint4 (&other)[VECTORS], const row_of &row,
                                              const TEAM &team)
{
    uint32_t zero = threadIdx.y;
#pragma unroll
    for (int i = VECTORS - 1; i >= 0; i--)
        zero &= x[i].w & other[i].w;
    x[0].x += zero;
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (team.at(i) < row.vectors) {
            x[i] = vector_add<T>(x[i], other[i]);
            ((uint4 *)a.sum)[row.start + team.at(i)] = x[i];
        }
}

// Weights and bias are loaded before the statistics where a thread has one vector, because nothing
// else hides their latency there. With more vectors they are loaded after the statistics, from the
// L1, vector by vector: holding them meanwhile takes registers, and the blocks that an SM loses by
// that cost more than the latency does.
template <typename T, bool RESIDUAL, bool CENTRED, bool BIAS, bool SILU> struct norm_to_tensor {
    template <int VECTORS, typename TEAM>
    static __device__ __forceinline__ void of(const norm_args &a, uint32_t at_row, TEAM team)
    {
        const row_of row(a, at_row);
        const uint4 nothing = make_uint4(0, 0, 0, 0);
        uint4 x[VECTORS], other[VECTORS], weight = nothing, bias = nothing;
        float2 found = make_float2(0, 0);
        float y[8];

        load_row(x, a.in, row, team);
        if (RESIDUAL)
            load_row(other, a.residual, row, team);
        if (VECTORS == 1) {
            weight = load_column(a.weight, row, team, 0);
            bias = BIAS ? load_column(a.bias, row, team, 0) : nothing;
        }
        if (RESIDUAL)
            add_and_store<T>(a, x, other, row, team);
        if (CENTRED)
            found = row_mean_and_factor<T>(x, team, row.vectors, a.one_over_cols, a.epsilon);
        else
            found.y = row_rms_factor<T>(x, team, row.vectors, a.one_over_cols, a.epsilon);
        row_forget(x);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            if (team.at(i) < row.vectors) {
                if (VECTORS > 1) {
                    weight = load_column(a.weight, row, team, i);
                    bias = BIAS ? load_column(a.bias, row, team, i) : nothing;
                }
                if (CENTRED || BIAS)
                    row_centred<T>(x[i], weight, bias, found, y);
                else
                    row_scaled<T>(x[i], weight, found.y, y);
#pragma unroll
                for (int k = 0; SILU && k < 8; k++)
                    y[k] = silu(y[k]);
                ((uint4 *)a.out)[row.start + team.at(i)] = narrow<T>(y);
            }
    }
};

// The factor that turns a number of the row into a code; 0 for a row of zeros.
template <typename CODE> __device__ __forceinline__ float to_code(float most)
{
    return most > 0 ? __fdividef(CODE::most, most) : 0.0f;
}

// The norm's factor cancels in the codes: whatever it is, the greatest code is CODE::most.
template <typename T, typename CODE> struct norm_to_codes {
    template <int VECTORS, typename TEAM>
    static __device__ __forceinline__ void of(const norm_args &a, uint32_t at_row, TEAM team)
    {
        const row_of row(a, at_row);
        uint4 x[VECTORS], other[VECTORS], weight[VECTORS];
        float most;

        load_row(x, a.in, row, team);
        load_row(other, a.residual, row, team);
        if (VECTORS == 1)
            weight[0] = load_column(a.weight, row, team, 0);
        add_and_store<T>(a, x, other, row, team);
#pragma unroll
        for (int i = 0; VECTORS > 1 && i < VECTORS; i++)
            weight[i] = load_column(a.weight, row, team, i);

        const float factor =
            row_rms_factor<T>(x, weight, team, row.vectors, a.one_over_cols, a.epsilon, &most);
        const float by = to_code<CODE>(most);
        row_forget(x);
        row_forget(weight);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            float y[8];
            row_scaled<T>(x[i], weight[i], by, y);
            if (team.at(i) < row.vectors)
                ((uint2 *)a.out)[row.start + team.at(i)] = codes<CODE>(y);
        }
        if (row.vectors && team.is_first())
            a.scale[at_row] = factor * most * (1 / CODE::most);
    }
};

// The last kernel of a chain whose result is codes.
template <typename T, typename CODE> struct quantise {
    template <int VECTORS, typename TEAM>
    static __device__ __forceinline__ void of(const norm_args &a, uint32_t at_row, TEAM team)
    {
        const row_of row(a, at_row);
        uint4 x[VECTORS];
        float most = 0, y[8];

        load_row(x, a.in, row, team);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            widen<T>(x[i], y);
#pragma unroll
            for (int k = 0; k < 8; k++)
                most = fmaxf(most, fabsf(y[k]));
        }
        most = team.most(most);
        const float by = to_code<CODE>(most);
        row_forget(x);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            widen<T>(x[i], y);
#pragma unroll
            for (int k = 0; k < 8; k++)
                y[k] *= by;
            if (team.at(i) < row.vectors)
                ((uint2 *)a.out)[row.start + team.at(i)] = codes<CODE>(y);
        }
        if (row.vectors && team.is_first())
            a.scale[at_row] = most * (1 / CODE::most);
    }
};

// The bound's second number keeps the assembler from aiming at more warps than the registers allow.
#define ROWS_OF_A_BLOCK(name, type)                                                                \
    extern "C" __global__ void __launch_bounds__(1024)                                             \
        norm_##name##_block_##type(const __grid_constant__ struct norm_args a)                     \
    {                                                                                              \
        __shared__ float scratch[2 * TEAM_SCRATCH];                                                \
        name<type>::of<NORM_VECTORS>(a, blockIdx.x, by_block(scratch));                            \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(1024)                                             \
        norm_##name##_few_##type(const __grid_constant__ struct norm_args a)                       \
    {                                                                                              \
        __shared__ float scratch[2 * TEAM_SCRATCH];                                                \
        name<type>::of<1>(a, blockIdx.x, by_block(scratch));                                       \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(32 * NORM_WARP_ROWS, 2)                           \
        norm_##name##_warp_##type(const __grid_constant__ struct norm_args a)                      \
    {                                                                                              \
        const uint32_t row = blockIdx.x * NORM_WARP_ROWS + threadIdx.x / 32;                       \
        name<type>::of<NORM_VECTORS>(a, row, by_warp());                                           \
    }

#if __CUDA_ARCH__ >= 900
#define ROWS_OF_A_CLUSTER(name, type)                                                              \
    extern "C" __global__ void __launch_bounds__(NORM_CLUSTER_THREADS, 1)                          \
        norm_##name##_cluster_##type(const __grid_constant__ struct norm_args a)                   \
    {                                                                                              \
        __shared__ float scratch[2 * TEAM_CLUSTER_SCRATCH];                                        \
        name<type>::of<1>(a, blockIdx.x >> (31 - __clz(a.cluster)),                                \
                          by_cluster<1>(scratch, a.cluster));                                      \
    }
#else
#define ROWS_OF_A_CLUSTER(name, type)
#endif

#define ROWS(name)                                                                                 \
    ROWS_OF_A_BLOCK(name, fp16)                                                                    \
    ROWS_OF_A_BLOCK(name, bf16)                                                                    \
    ROWS_OF_A_CLUSTER(name, fp16)                                                                  \
    ROWS_OF_A_CLUSTER(name, bf16)

template <typename T> using rmsnorm_residual = norm_to_tensor<T, true, false, false, false>;
template <typename T> using rmsnorm_residual_fp8 = norm_to_codes<T, e4m3>;
template <typename T> using rmsnorm_residual_int8 = norm_to_codes<T, int8>;
template <typename T> using rmsnorm = norm_to_tensor<T, false, false, false, false>;
template <typename T> using rmsnorm_bias_silu = norm_to_tensor<T, false, false, true, true>;
template <typename T> using layernorm = norm_to_tensor<T, false, true, true, false>;
template <typename T> using layernorm_silu = norm_to_tensor<T, false, true, true, true>;
template <typename T> using quantise_fp8 = quantise<T, e4m3>;
template <typename T> using quantise_int8 = quantise<T, int8>;

// sass-all: kernel=norm_*_cluster_* ldg128na>=1 local=0 together looped arch=90a+
// sass-all: kernel=norm_*_residual_block_* ldg128na=8 ldg128=20 stg128=8 bar=1 local=0 together
// sass-all: kernel=norm_*_residual_few_* ldg128na=2 ldg128=3 stg128=2 bar=1 local=0 together
// sass-all: kernel=norm_*_residual_warp_* ldg128na=8 ldg128=20 stg128=8 local=0 together
ROWS(rmsnorm_residual)
// sass-all: kernel=norm_*al_*8_block_* ldg128na=8 ldg128=20 stg128=4 stg64=4 bar=1 local=0 together
// sass-all: kernel=norm_*al_*8_few_* ldg128na=2 ldg128=3 stg128=1 stg64=1 bar=1 local=0 together
// sass-all: kernel=norm_*al_*8_warp_* ldg128na=8 ldg128=20 stg128=4 stg64=4 local=0 together
ROWS(rmsnorm_residual_fp8)
ROWS(rmsnorm_residual_int8)
// sass-all: kernel=norm_*_bias_silu_block_* ldg128na=4 ldg128=16 stg128=4 bar=1 local=0 together
// sass-all: kernel=norm_*_bias_silu_few_* ldg128na=1 ldg128=3 stg128=1 bar=1 local=0
// sass-all: kernel=norm_*_bias_silu_warp_* ldg128na=4 ldg128=16 stg128=4 local=0 together
ROWS(rmsnorm_bias_silu)
// sass-all: kernel=norm_layernorm*_block_* ldg128na=4 ldg128=16 stg128=4 bar=2 local=0 together
// sass-all: kernel=norm_layernorm*_few_* ldg128na=1 ldg128=3 stg128=1 bar=2 local=0
// sass-all: kernel=norm_layernorm*_warp_* ldg128na=4 ldg128=16 stg128=4 local=0 together
ROWS(layernorm)
ROWS(layernorm_silu)
// sass-all: kernel=norm_rmsnorm_block_* ldg128na=4 ldg128=12 stg128=4 bar=1 local=0 together
// sass-all: kernel=norm_rmsnorm_few_* ldg128na=1 ldg128=2 stg128=1 bar=1 local=0
// sass-all: kernel=norm_rmsnorm_warp_* ldg128na=4 ldg128=12 stg128=4 local=0 together
ROWS(rmsnorm)
// sass-all: kernel=norm_quantise_*_block_* ldg128na=4 ldg128=8 stg64=4 bar=1 local=0 together
// sass-all: kernel=norm_quantise_*_few_* ldg128na=1 ldg128=1 stg64=1 bar=1 local=0
// sass-all: kernel=norm_quantise_*_warp_* ldg128na=4 ldg128=8 stg64=4 local=0 together
ROWS(quantise_fp8)
ROWS(quantise_int8)

// One warp per row, however long the row is: a mistake that a fused kernel must avoid where there
// are few rows. Every lane reads back what it has stored itself.
template <typename T> __device__ __forceinline__ void narrow_fp8(const norm_args &a)
{
    const row_of row(a, blockIdx.x);
    const uint4 *in = (const uint4 *)a.in + row.start, *weights = (const uint4 *)a.weight;
    const uint4 *residual = (const uint4 *)a.residual + row.start;
    uint4 *sums = (uint4 *)a.sum + row.start;
    by_warp team;
    float2 found = make_float2(0, 0);

    for (uint32_t at = threadIdx.x; at < row.vectors; at += 32) {
        const uint4 x = vector_add<T>(load_once(in + at), load_once(residual + at));
        float y[8];
        sums[at] = x;
        found.x += vector_squares<T>(x, 0);
        row_scaled<T>(x, __ldg(weights + at), 1, y);
        for (int k = 0; k < 8; k++)
            found.y = fmaxf(found.y, fabsf(y[k]));
    }
    found = team.sum_and_most(found);
    const float factor = rsqrtf(found.x * a.one_over_cols + a.epsilon);
    for (uint32_t at = threadIdx.x; at < row.vectors; at += 32) {
        float y[8];
        row_scaled<T>(sums[at], __ldg(weights + at), to_code<e4m3>(found.y), y);
        ((uint2 *)a.out)[row.start + at] = codes<e4m3>(y);
    }
    if (team.is_first())
        a.scale[blockIdx.x] = factor * found.y * (1 / e4m3::most);
}

#define NARROW(type)                                                                               \
    extern "C" __global__ void __launch_bounds__(32)                                               \
        norm_rmsnorm_residual_fp8_narrow_##type(const __grid_constant__ struct norm_args a)        \
    {                                                                                              \
        narrow_fp8<type>(a);                                                                       \
    }
// sass-all: kernel=norm_*_narrow_* ldg128na>=2 stg128>=1 stg64>=1 local=0 looped
NARROW(fp16)
NARROW(bf16)

// --- one element after the other -----------------------------------------------------------------

struct adding_residual {
    enum { COLUMNS = 0, SECOND = 1 };
    static __device__ __forceinline__ float of(float x, float y) { return x + y; }
};
struct adding_bias {
    enum { COLUMNS = 1, SECOND = 1 };
    static __device__ __forceinline__ float of(float x, float b) { return x + b; }
};
struct applying_silu {
    enum { COLUMNS = 0, SECOND = 0 };
    static __device__ __forceinline__ float of(float x, float) { return silu(x); }
};

// All loads are issued before any result is used; beyond the end, the last vector is loaded again.
template <typename T, typename OPERATION, int THREADS, int VECTORS>
__device__ __forceinline__ void apply(const norm_args &a)
{
    const uint32_t first = blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    const uint32_t end = a.rows * a.row_vectors;
    uint4 x[VECTORS], y[VECTORS] = {};

    load_group<LOAD_BY_BRANCH, VECTORS>(a.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const uint32_t at = min(first + i * THREADS, end - 1);
            x[i] = load((const uint4 *)a.in + at);
            if (OPERATION::COLUMNS)
                y[i] = __ldg((const uint4 *)a.bias + at % a.row_vectors);
            else if (OPERATION::SECOND)
                y[i] = load((const uint4 *)a.residual + at);
        }
    });
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < end) {
            float p[8], q[8];
            widen<T>(x[i], p);
            widen<T>(y[i], q);
#pragma unroll
            for (int k = 0; k < 8; k++)
                p[k] = OPERATION::of(p[k], q[k]);
            ((uint4 *)a.out)[first + i * THREADS] = narrow<T>(p);
        }
}

#define ELEMENTS_OF(name, type, operation)                                                         \
    extern "C" __global__ void __launch_bounds__(NORM_THREADS)                                     \
        norm_##name##_long_##type(const __grid_constant__ struct norm_args a)                      \
    {                                                                                              \
        apply<type, operation, NORM_THREADS, NORM_VECTORS>(a);                                     \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(NORM_SMALL_THREADS)                               \
        norm_##name##_small_##type(const __grid_constant__ struct norm_args a)                     \
    {                                                                                              \
        apply<type, operation, NORM_SMALL_THREADS, 1>(a);                                          \
    }
#define ELEMENTS(name, operation)                                                                  \
    ELEMENTS_OF(name, fp16, operation)                                                             \
    ELEMENTS_OF(name, bf16, operation)

// sass-all: kernel=norm_add_long_* ldg128na=8 ldg128=16 stg128=4 local=0 together
// sass-all: kernel=norm_add_small_* ldg128na=2 ldg128=2 stg128=1 local=0 together
ELEMENTS(add, adding_residual)
// sass-all: kernel=norm_bias_long_* ldg128na=4 ldg128=16 stg128=4 local=0 together
// sass-all: kernel=norm_bias_small_* ldg128na=1 ldg128=2 stg128=1 local=0
ELEMENTS(bias, adding_bias)
// sass-all: kernel=norm_silu_long_* ldg128na=4 ldg128=8 stg128=4 local=0 together
// sass-all: kernel=norm_silu_small_* ldg128na=1 ldg128=1 stg128=1 local=0
ELEMENTS(silu, applying_silu)
