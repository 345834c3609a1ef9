// Kernels of softmax that are not timed: the reference for its results, rows on which an unstable
// softmax goes wrong, and two unstable softmaxes as controls.
#include "core/device/verdict.cuh"
#include "fused/softmax/args.h"
#include "fused/softmax/lanes.cuh"
#include "fused/softmax/parts.cuh"

// Unit roundoff.
template <typename T> constexpr double unit = 0;
template <> constexpr double unit<fp16> = 0x1p-11;
template <> constexpr double unit<bf16> = 0x1p-8;
template <> constexpr double unit<fp32> = 0x1p-24;

// --- the plain method, in fp64 ------------------------------------------------------------------

// A block per row. Over `length` logits: the greatest, the sum of exp(scale (x - greatest)), and
// the largest scale |x|, for the bound of the unfused chain.
struct reference {
    double most, sum, largest;
};

template <typename T>
__device__ reference refer(const typename T::number *in, uint32_t length, double scale)
{
    __shared__ double scratch[3][SOFTMAX_SMALL_THREADS / 32];
    constexpr int WARPS = SOFTMAX_SMALL_THREADS / 32;
    float most = -CUDART_INF_F, largest = 0;
    double sum = 0;

    for (uint32_t i = threadIdx.x; i < length; i += blockDim.x) {
        const float x = T::one(in[i]);
        most = fmaxf(most, x);
        largest = isinf(x) ? largest : fmaxf(largest, fabsf(x));
    }
    __syncthreads();
    most = block_reduce<greatest, WARPS>(most, (float *)scratch[0]);
    largest = block_reduce<greatest, WARPS>(largest, (float *)scratch[1]);
    for (uint32_t i = threadIdx.x; i < length; i += blockDim.x)
        if (most != -CUDART_INF_F)
            sum += exp(scale * ((double)T::one(in[i]) - most));
    sum = block_reduce<adding, WARPS>(sum, scratch[2]);
    return {most, sum, scale * largest};
}

template <typename T>
__device__ double probability(reference of_row, float x, bool counts, double scale)
{
    return counts && of_row.sum > 0 ? exp(scale * (x - of_row.most)) / of_row.sum : 0;
}

// Rounding to T has a relative error of u, and below T's least normal number an absolute one, tiny.
// ex2.approx.ftz is accurate to 2^-22 and flushes results below 2^-126. Its argument has three fp32
// roundings, 2^-22 of itself. Sums of positive numbers have another 2^-20. The chain rounds scale x
// to T, which moves an exponent by u |scale x|; the greatest exponent moves as much, and so, on
// average, do all others.
template <typename T>
__device__ double bound(reference of_row, double probability, double exponent,
                        const softmax_verify_args &a)
{
    const double u = unit<T>, tiny = u == unit<fp16> ? 0x1p-25 : 0x1p-126;
    double relative = 1.01 * u + 0x1p-20 + 0x1p-22 * fabs(exponent);
    if (!a.is_fused && probability > 0)
        relative += 1.02 * u * (fabs(exponent + a.scale * of_row.most) + 2 * of_row.largest);
    return probability * relative + tiny;
}

template <typename T> __device__ __forceinline__ void verify(const softmax_verify_args &a)
{
    struct verdict own = {};

    for (uint64_t row = a.first + blockIdx.x * a.step; row < a.rows; row += gridDim.x * a.step) {
        const uint64_t at = row * a.vectors * lanes<T>;
        const typename T::number *in = (const typename T::number *)a.in + at;
        const typename T::number *out = (const typename T::number *)a.out + at;
        const uint32_t length = a.lengths ? a.lengths[row] : a.cols;
        const reference of_row = refer<T>(in, length, a.scale);

        for (uint32_t i = threadIdx.x; i < a.vectors * lanes<T>; i += blockDim.x) {
            const float x = T::one(in[i]);
            const double p = probability<T>(of_row, x, i < length, a.scale);
            const double exponent = p > 0 ? a.scale * (x - of_row.most) : 0;
            judge(&own, T::one(out[i]), p, bound<T>(of_row, p, exponent, a));
        }
    }
    deliver(a.verdict, &own);
}

// --- controls -----------------------------------------------------------------------------------

// Two wrong ways. NAIVE does not subtract the maximum, and keeps exponentials in the tensor's type.
// The other uses -5e4 for minus infinity.
template <typename T, bool NAIVE> __device__ __forceinline__ void unstable(const softmax_args &a)
{
    __shared__ float scratch[SOFTMAX_SMALL_THREADS / 32];
    constexpr int WARPS = SOFTMAX_SMALL_THREADS / 32;
    const uint64_t at = (uint64_t)blockIdx.x * a.vectors * lanes<T>;
    const typename T::number *in = (const typename T::number *)a.in + at;
    typename T::number *out = (typename T::number *)a.out + at;
    const uint32_t length = a.lengths ? a.lengths[blockIdx.x] : a.cols;
    float most = NAIVE ? 0 : -5e4f, sum = 0;

    if (!NAIVE) {
        for (uint32_t i = threadIdx.x; i < length; i += blockDim.x)
            most = fmaxf(most, a.scale * T::one(in[i]));
        most = block_reduce<greatest, WARPS>(most, scratch);
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < a.vectors * lanes<T>; i += blockDim.x) {
        const float x = i < length ? a.scale * T::one(in[i]) : -CUDART_INF_F;
        out[i] = T::one(expf((NAIVE ? x : fmaxf(x, -1e5f)) - most));
        sum += T::one(out[i]);
    }
    sum = block_reduce<adding, WARPS>(sum, scratch);
    for (uint32_t i = threadIdx.x; i < a.vectors * lanes<T>; i += blockDim.x)
        out[i] = T::one(NAIVE ? T::one(out[i]) / sum : sum == 0 ? 0 : T::one(out[i]) / sum);
}

// --- rows on which an unstable softmax goes wrong -----------------------------------------------

__device__ float adversary(uint32_t kind, uint32_t column, float normal)
{
    const bool chosen = column == 77;
    switch (kind) {
    case SOFTMAX_PLUS_60: return normal + 60;
    case SOFTMAX_MINUS_60: return normal - 60;
    case SOFTMAX_PLUS_1E3: return normal + 1e3f;
    case SOFTMAX_MINUS_1E3: return normal - 1e3f;
    case SOFTMAX_PLUS_6E4: return normal + 6e4f;
    case SOFTMAX_MINUS_6E4: return normal - 6e4f;
    case SOFTMAX_ONE_ABOVE: return chosen ? 6e4f : -6e4f;
    case SOFTMAX_ALL_BELOW: return -6e4f;
    case SOFTMAX_ONE_FINITE: return chosen ? normal : -CUDART_INF_F;
    case SOFTMAX_NONE_FINITE: return -CUDART_INF_F;
    default: return normal;
    }
}

template <typename T> __device__ __forceinline__ void make(const softmax_stable_args &a)
{
    const uint32_t kind = blockIdx.x % N_SOFTMAX_KINDS, width = a.vectors * lanes<T>;
    const uint64_t at = (uint64_t)blockIdx.x * width;

    for (uint32_t i = threadIdx.x; i < width; i += blockDim.x)
        ((typename T::number *)a.in)[at + i] =
            T::one(adversary(kind, i, ((const float *)a.normal)[at + i]));
    if (threadIdx.x == 0)
        a.lengths[blockIdx.x] = kind == SOFTMAX_TAIL_MASKED ? a.cols / 2 : a.cols;
}

// Is a row right? It must be finite. It must sum to 1 within 1e-3 plus what rounding its results to
// T may contribute, or be all zeros where no logit counts. And it may lie no further from fp64 than
// twice the unfused result, both distances relative to the row's greatest probability.
template <typename T> __device__ __forceinline__ void is_stable(const softmax_stable_args &a)
{
    __shared__ double scratch[4][SOFTMAX_SMALL_THREADS / 32];
    constexpr int WARPS = SOFTMAX_SMALL_THREADS / 32;
    const uint64_t at = (uint64_t)blockIdx.x * a.vectors * lanes<T>;
    const typename T::number *in = (const typename T::number *)a.in + at;
    const uint32_t length = a.lengths[blockIdx.x];
    const reference of_row = refer<T>(in, length, 1);
    double sum = 0, bad = 0;
    float error = 0, allowed = 0;

    for (uint32_t i = threadIdx.x; i < a.vectors * lanes<T>; i += blockDim.x) {
        const double p = probability<T>(of_row, T::one(in[i]), i < length, 1) * of_row.sum;
        const float value = T::one(((const typename T::number *)a.out)[at + i]);
        const float unfused = T::one(((const typename T::number *)a.unfused)[at + i]);
        bad += !isfinite(value);
        sum += value;
        error = fmaxf(error, (float)fabs(value * of_row.sum - p));
        allowed = fmaxf(allowed, (float)fabs(unfused * of_row.sum - p));
    }
    bad = block_reduce<adding, WARPS>(bad, scratch[0]);
    sum = block_reduce<adding, WARPS>(sum, scratch[1]);
    error = block_reduce<greatest, WARPS>(error, (float *)scratch[2]);
    allowed = block_reduce<greatest, WARPS>(allowed, (float *)scratch[3]);
    if (threadIdx.x == 0) {
        const bool is_sum_right = of_row.sum > 0 ? fabs(sum - 1) <= 1e-3 + unit<T> : sum == 0;
        a.right[blockIdx.x] = bad == 0 && is_sum_right && error <= 2 * allowed + 0x1p-22;
    }
}

#define UNSTABLE(name, type, is_naive)                                                            \
    extern "C" __global__ void __launch_bounds__(SOFTMAX_SMALL_THREADS)                           \
        softmax_##name##_##type(const __grid_constant__ struct softmax_args a)                    \
    {                                                                                             \
        unstable<type, is_naive>(a);                                                              \
    }

#define CHECKS(type)                                                                              \
    extern "C" __global__ void __launch_bounds__(SOFTMAX_SMALL_THREADS)                           \
        softmax_verify_##type(const __grid_constant__ struct softmax_verify_args a)               \
    {                                                                                             \
        verify<type>(a);                                                                          \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(SOFTMAX_SMALL_THREADS)                           \
        softmax_adversary_##type(const __grid_constant__ struct softmax_stable_args a)            \
    {                                                                                             \
        make<type>(a);                                                                            \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(SOFTMAX_SMALL_THREADS)                           \
        softmax_stable_##type(const __grid_constant__ struct softmax_stable_args a)               \
    {                                                                                             \
        is_stable<type>(a);                                                                       \
    }                                                                                             \
    UNSTABLE(naive, type, true)                                                                   \
    UNSTABLE(finite, type, false)

// sass: kernel=softmax_* none not a timed kernel
CHECKS(fp16)
CHECKS(bf16)
CHECKS(fp32)
