// Kernels of bias_gelu_scale: out = scale * gelu(in + bias), as one kernel and as three. All have
// one skeleton, as has the copy in common/copy.cu; they differ in the work between load and store.
//
// Neighbouring threads move neighbouring 16-byte vectors. The input is used once: it bypasses the
// L1 unless the L2 shall keep it (load_group.cuh). The output is stored like any other, so that the
// next kernel finds it in the L2. (Stored evict-first, three kernels over a tensor of 4096 x 4096
// take 19 % more, and a copy of 256 MiB 1.6 % more, on an H200.) Arithmetic is fp32.
#include "core/device/verdict.cuh"
#include "fused/bias_gelu_scale/args.h"
#include "fused/common/gelu.cuh"
#include "fused/common/load_group.cuh"
#include "fused/common/vector.cuh"

struct biased {
    static __device__ __forceinline__ float2 of(float2 x, float2 b, float)
    {
        return make_float2(x.x + b.x, x.y + b.y);
    }
};
struct activated {
    static __device__ __forceinline__ float2 of(float2 x, float2, float)
    {
        return make_float2(gelu(x.x), gelu(x.y));
    }
};
struct scaled {
    static __device__ __forceinline__ float2 of(float2 x, float2, float s)
    {
        return make_float2(s * x.x, s * x.y);
    }
};
struct fused {
    static __device__ __forceinline__ float2 of(float2 x, float2 b, float s)
    {
        return scaled::of(activated::of(biased::of(x, b, s), b, s), b, s);
    }
};

template <typename T, typename OPERATION>
__device__ __forceinline__ uint32_t pair(uint32_t in, uint32_t bias, float scale)
{
    return T::narrow(OPERATION::of(T::widen(in), T::widen(bias), scale));
}

// VECTORS accesses of 16 bytes a thread, THREADS a block. All loads are issued before any result is
// used, the bias included, or its latency would come on top. (There is no early return: the
// assembler would move loads that follow it past the first use.)
template <typename T, typename OPERATION, bool BIAS, int THREADS, int VECTORS>
__device__ __forceinline__ void apply(const gelu_args &a)
{
    uint64_t first = (uint64_t)blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    const uint4 *in = (const uint4 *)a.in, *bias = (const uint4 *)a.bias;
    uint4 *out = (uint4 *)a.out, x[VECTORS], b[VECTORS] = {};

    load_group<LOAD_BY_BRANCH, VECTORS>(a.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            uint64_t at = first + i * THREADS;
            if (at < a.vectors)
                x[i] = load(in + at);
            if (BIAS)
                b[i] = __ldg(bias + (at & (a.row_vectors - 1)));
        }
    });
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        uint64_t at = first + i * THREADS;
        if (at < a.vectors)
            out[at] = make_uint4(pair<T, OPERATION>(x[i].x, b[i].x, a.scale),
                                 pair<T, OPERATION>(x[i].y, b[i].y, a.scale),
                                 pair<T, OPERATION>(x[i].z, b[i].z, a.scale),
                                 pair<T, OPERATION>(x[i].w, b[i].w, a.scale));
    }
}

// Each operation has two kernels, for fp16 and for bf16. One moves four vectors a thread, which
// keeps the memory busiest. The other, for tensors too small to give every SM a block that way,
// moves one vector a thread in small blocks.
#define KERNELS_OF(name, type, operation, bias)                                                   \
    extern "C" __global__ void __launch_bounds__(GELU_THREADS)                                    \
    bias_gelu_scale_##name##_##type(const __grid_constant__ struct gelu_args a)                   \
    {                                                                                             \
        apply<type, operation, bias, GELU_THREADS, GELU_VECTORS>(a);                              \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(GELU_SMALL_THREADS)                              \
    bias_gelu_scale_##name##_##type##_small(const __grid_constant__ struct gelu_args a)           \
    {                                                                                             \
        apply<type, operation, bias, GELU_SMALL_THREADS, 1>(a);                                   \
    }
#define KERNELS(name, operation, bias)                                                            \
    KERNELS_OF(name, fp16, operation, bias)                                                       \
    KERNELS_OF(name, bf16, operation, bias)

// sass-all: kernel=bias_gelu_scale_bias_*16 ldg128=16 ldg128na=4 stg128=4 local=0 together
// sass-all: kernel=bias_gelu_scale_bias_*_small ldg128=2 ldg128na=1 stg128=1 local=0 together
KERNELS(bias, biased, true)
// sass-all: kernel=bias_gelu_scale_gelu_*16 ldg128=8 ldg128na=4 stg128=4 local=0 together
// sass-all: kernel=bias_gelu_scale_gelu_*_small ldg128=1 ldg128na=1 stg128=1 local=0
KERNELS(gelu, activated, false)
// sass-all: kernel=bias_gelu_scale_scale_*16 ldg128=8 ldg128na=4 stg128=4 local=0 together
// sass-all: kernel=bias_gelu_scale_scale_*_small ldg128=1 ldg128na=1 stg128=1 local=0
KERNELS(scale, scaled, false)
// sass-all: kernel=bias_gelu_scale_fused_*16 ldg128=16 ldg128na=4 stg128=4 local=0
// sass-all: kernel=bias_gelu_scale_fused_fp16 ldg128=16 together
// sass-all: kernel=bias_gelu_scale_fused_bf16 ldg128=16 together arch=80+   sm_75 has no cvt to bf16
// sass-all: kernel=bias_gelu_scale_fused_*_small ldg128=2 ldg128na=1 stg128=1 local=0 together
KERNELS(fused, fused, true)

// The plain method, in fp64, one element a thread. Each element has a forward error bound; sums for
// a relative Frobenius norm are kept, too. Every rounding of the unfused path has a term of its
// own: gelu' (at most 1.13) carries the error of x + b on; the errors of gelu and of the product
// are relative. `tiny` is the absolute error allowed to small results.
template <typename T> __device__ void verify(const gelu_verify_args &a, double u, double tiny)
{
    const typename T::number *in = (const typename T::number *)a.in;
    const typename T::number *bias = (const typename T::number *)a.bias;
    const typename T::number *out = (const typename T::number *)a.out;
    struct verdict own = {};

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.elements;
         i += (uint64_t)gridDim.x * blockDim.x) {
        double z = (double)T::one(in[i]) + T::one(bias[i % a.cols]);
        double v = z * (0.79788456080286536 + 0.79788456080286536 * 0.044715 * z * z);
        double reference = a.scale * z / (1 + exp(-2 * v));
        judge(&own, T::one(out[i]), reference,
              a.is_fused ? 1.01 * u * fabs(reference) + tiny
                         : u * (1.13 * a.scale * fabs(z) + 2.02 * fabs(reference)) + 3 * tiny);
    }
    deliver(a.verdict, &own);
}

// sass: none not a timed kernel
extern "C" __global__ void bias_gelu_scale_verify_fp16(const __grid_constant__ gelu_verify_args a)
{
    verify<fp16>(a, 0x1p-11, GELU_FP16_TINY);
}
// sass: none not a timed kernel
extern "C" __global__ void bias_gelu_scale_verify_bf16(const __grid_constant__ gelu_verify_args a)
{
    verify<bf16>(a, 0x1p-8, GELU_BF16_TINY);
}
