// LayerNorm by several passes through memory, a block per row. One kernel reads its row two or
// three times, and the L1 or the L2 may serve all reads but the first. Three kernels do the same
// passes; when they read a row again, the SM holds nothing of it. Loads are plain, so that the L1
// keeps them.
#include "fused/norm/args.h"
#include "fused/norm/norm.cuh"

// Calls visit(vector number, vector) for this thread's part of a row, with four loads in flight.
template <typename VISIT>
__device__ __forceinline__ void pass(const norm_args &a, uint32_t row, VISIT visit)
{
    const uint4 *in = (const uint4 *)a.in + (size_t)row * a.row_vectors;
    for (uint32_t first = 0; first < a.row_vectors; first += NORM_VECTORS * NORM_PASS_THREADS) {
        const uint32_t at = first + threadIdx.x;
        uint4 x[NORM_VECTORS];
#pragma unroll
        for (int i = 0; i < NORM_VECTORS; i++)
            if (at + i * NORM_PASS_THREADS < a.row_vectors)
                x[i] = in[at + i * NORM_PASS_THREADS];
#pragma unroll
        for (int i = 0; i < NORM_VECTORS; i++)
            if (at + i * NORM_PASS_THREADS < a.row_vectors)
                visit(at + i * NORM_PASS_THREADS, x[i]);
    }
}

template <typename T>
__device__ __forceinline__ float pass_mean(const norm_args &a, uint32_t row, by_block &team)
{
    float sum = 0;
    pass(a, row, [&](uint32_t, uint4 vector) {
        float x[8];
        widen<T>(vector, x);
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += x[k];
    });
    return team.sum(sum) * a.one_over_cols;
}

template <typename T>
__device__ __forceinline__ float pass_factor(const norm_args &a, uint32_t row, float mean,
                                             by_block &team)
{
    float squares = 0;
    pass(a, row, [&](uint32_t, uint4 vector) {
        float x[8];
        widen<T>(vector, x);
#pragma unroll
        for (int k = 0; k < 8; k++)
            squares += (x[k] - mean) * (x[k] - mean);
    });
    return rsqrtf(team.sum(squares) * a.one_over_cols + a.epsilon);
}

template <typename T>
__device__ __forceinline__ void pass_normalise(const norm_args &a, uint32_t row, float2 found)
{
    pass(a, row, [&](uint32_t at, uint4 x) {
        const uint4 weight = __ldg((const uint4 *)a.weight + at);
        const uint4 bias = __ldg((const uint4 *)a.bias + at);
        float y[8];
        row_centred<T>(x, weight, bias, found, y);
        ((uint4 *)a.out)[(size_t)row * a.row_vectors + at] = narrow<T>(y);
    });
}

template <typename T> __device__ __forceinline__ void three_pass(const norm_args &a)
{
    __shared__ float scratch[2 * TEAM_SCRATCH];
    by_block team(scratch);
    const float mean = pass_mean<T>(a, blockIdx.x, team);
    const float factor = pass_factor<T>(a, blockIdx.x, mean, team);
    pass_normalise<T>(a, blockIdx.x, make_float2(mean, factor));
}

// Both sums in one pass: the variance as E[x^2] - E[x]^2, which is inaccurate where the mean is
// large.
template <typename T> __device__ __forceinline__ void two_pass(const norm_args &a)
{
    __shared__ float scratch[2 * TEAM_SCRATCH];
    by_block team(scratch);
    float sum = 0, squares = 0;

    pass(a, blockIdx.x, [&](uint32_t, uint4 vector) {
        float x[8];
        widen<T>(vector, x);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            sum += x[k];
            squares += x[k] * x[k];
        }
    });
    const float mean = team.sum(sum) * a.one_over_cols;
    const float variance = fmaxf(team.sum(squares) * a.one_over_cols - mean * mean, 0);
    pass_normalise<T>(a, blockIdx.x, make_float2(mean, rsqrtf(variance + a.epsilon)));
}

// The three passes as three kernels: when a row is read again, the SM holds nothing of it.
template <typename T> __device__ __forceinline__ void mean_of(const norm_args &a)
{
    __shared__ float scratch[TEAM_SCRATCH];
    by_block team(scratch);
    const float mean = pass_mean<T>(a, blockIdx.x, team);
    if (team.is_first())
        a.mean[blockIdx.x] = mean;
}

template <typename T> __device__ __forceinline__ void variance_of(const norm_args &a)
{
    __shared__ float scratch[TEAM_SCRATCH];
    by_block team(scratch);
    const float factor = pass_factor<T>(a, blockIdx.x, a.mean[blockIdx.x], team);
    if (team.is_first())
        a.factor[blockIdx.x] = factor;
}

template <typename T> __device__ __forceinline__ void normalise(const norm_args &a)
{
    pass_normalise<T>(a, blockIdx.x, make_float2(a.mean[blockIdx.x], a.factor[blockIdx.x]));
}

#define PASSES_OF(name, type, operation)                                                           \
    extern "C" __global__ void __launch_bounds__(NORM_PASS_THREADS)                                \
        norm_##name##_##type(const __grid_constant__ struct norm_args a)                           \
    {                                                                                              \
        operation<type>(a);                                                                        \
    }
#define PASSES(name, operation)                                                                    \
    PASSES_OF(name, fp16, operation)                                                               \
    PASSES_OF(name, bf16, operation)

// sass-loop: kernel=norm_layernorm_*_pass_* stg128=4 ldg128=12 guarded<=4 other<=664 local=0
// sass-and: arch=75
// sass-loop: kernel=norm_layernorm_*_pass_* stg128=4 ldg128=12 guarded<=4 other<=289 local=0
// sass-and: arch=80+
PASSES(layernorm_three_pass, three_pass)
PASSES(layernorm_two_pass, two_pass)
// sass-all: kernel=norm_mean_* ldg128=4 bar=1 local=0 looped
PASSES(mean, mean_of)
// sass-all: kernel=norm_variance_* ldg128=4 bar=1 local=0 looped
PASSES(variance, variance_of)
// sass-loop: kernel=norm_normalise_* stg128=4 ldg128=12 guarded<=4 other<=648 local=0 arch=75
// sass-loop: kernel=norm_normalise_* stg128=4 ldg128=12 guarded<=4 other<=293 local=0 arch=80+
PASSES(normalise, normalise)
