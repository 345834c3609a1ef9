// Kernels of elementwise_chain: n operators on every element, in one kernel or in n of them, and n
// multiply-adds. One skeleton, that of the copy in common/copy.cu: what differs is what happens
// between load and store.
//
// Neighbouring threads move neighbouring vectors of 16 bytes. The input is used once: it passes by
// the L1 unless the L2 shall keep it (load_group.cuh). The output is stored like any other, so that
// the next kernel finds it in the L2. Two or eight vectors a thread instead of four, 128 or 512
// threads a block instead of 256 changed no long tensor of plain operators by much over 1 %.
//
// A fused chain consists of the instructions of its operators, no fewer (see chain.cuh), so
// that what it saves is memory traffic and launches alone. The contracts count them: 32 elements a
// thread, 8 in the small form.
#include "core/device/verdict.cuh"
#include "fused/common/load_group.cuh"
#include "fused/common/vector.cuh"
#include "fused/elementwise_chain/args.h"
#include "fused/elementwise_chain/chain.cuh"

// Operators FROM .. N-1 of a chain, all elements by one operator before the next.
template <int KIND, int N, int FROM = 0> struct chain {
    static const bool reads_bias = KIND != CHAIN_FMAS && FROM == 0;
    template <int COUNT>
    static __device__ __forceinline__ void of(float (&x)[COUNT], const float (&b)[COUNT],
                                              const chain_args &a)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            x[i] = operate<CHAIN_OPERATOR(KIND, FROM)>(x[i], b[i], a);
        chain<KIND, N, FROM + 1>::of(x, b, a);
    }
};
template <int KIND, int N> struct chain<KIND, N, N> {
    static const bool reads_bias = false;
    template <int COUNT>
    static __device__ __forceinline__ void of(float (&)[COUNT], const float (&)[COUNT],
                                              const chain_args &)
    {
    }
};

template <int OPERATOR> struct only {
    static const bool reads_bias = OPERATOR == CHAIN_BIAS;
    template <int COUNT>
    static __device__ __forceinline__ void of(float (&x)[COUNT], const float (&b)[COUNT],
                                              const chain_args &a)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            x[i] = operate<OPERATOR>(x[i], b[i], a);
    }
};

// The multiply-adds in turns of a loop, where they are too many to be written out.
struct looped {
    static const bool reads_bias = false;
    template <int COUNT>
    static __device__ __forceinline__ void of(float (&x)[COUNT], const float (&)[COUNT],
                                              const chain_args &a)
    {
#pragma unroll 1
        for (uint32_t round = 0; round < a.rounds; round++)
#pragma unroll
            for (int k = 0; k < CHAIN_FMA_ROUND; k++)
#pragma unroll
                for (int i = 0; i < COUNT; i++)
                    x[i] = operate<CHAIN_FMA>(x[i], 0, a);
    }
};

// fp32 beside the two types of vector.cuh: four elements in 16 bytes.
struct fp32 {
    typedef float number;
};
template <typename T> __device__ __forceinline__ void widen(uint4 bits, float (&x)[4])
{
    x[0] = __uint_as_float(bits.x), x[1] = __uint_as_float(bits.y);
    x[2] = __uint_as_float(bits.z), x[3] = __uint_as_float(bits.w);
}
template <typename T> __device__ __forceinline__ uint4 narrow(const float (&x)[4])
{
    return make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                      __float_as_uint(x[3]));
}

// VECTORS accesses of 16 bytes a thread, THREADS a block. Everything is loaded before anything is
// used: the bias too, or its latency would come on top. (No early return: behind one, the assembler
// moves loads past the first use.)
template <typename T, typename OPERATORS, int THREADS, int VECTORS>
__device__ __forceinline__ void apply(const chain_args &a)
{
    const int COUNT = 16 / sizeof(typename T::number);
    const uint64_t first = (uint64_t)blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    const uint4 *in = (const uint4 *)a.in, *bias = (const uint4 *)a.bias;
    uint4 *out = (uint4 *)a.out, x[VECTORS], b[VECTORS] = {};

    const load_choice choice = OPERATORS::reads_bias ? LOAD_BY_BRANCH : LOAD_BY_PREDICATE;
    load_group<choice, VECTORS>(a.keep, [&](auto load) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const uint64_t at = first + i * THREADS;
            if (at < a.vectors)
                x[i] = load(in + at);
            if (OPERATORS::reads_bias) {
                const uint32_t row = (uint32_t)((uint64_t)(uint32_t)at * a.magic >> a.bits);
                b[i] = __ldg(bias + ((uint32_t)at - row * a.row_vectors));
            }
        }
    });
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const uint64_t at = first + i * THREADS;
        float value[COUNT], offset[COUNT];
        widen<T>(x[i], value);
        widen<T>(b[i], offset);
        OPERATORS::of(value, offset, a);
        if (at < a.vectors)
            out[at] = narrow<T>(value);
    }
}

// Each twice: with four vectors a thread, which keeps the memory busiest, and, for tensors too
// small to give every SM a block that way, with one vector and small blocks; and each of the two
// for fp16 and for bf16.
#define LONG(name, type, operators)                                                                \
    extern "C" __global__ void __launch_bounds__(CHAIN_THREADS)                                    \
        chain_##name(const __grid_constant__ struct chain_args a)                                  \
    {                                                                                              \
        apply<type, operators, CHAIN_THREADS, CHAIN_VECTORS>(a);                                   \
    }
#define BOTH_OF(name, type, operators)                                                             \
    LONG(name##_##type, type, operators)                                                           \
    extern "C" __global__ void __launch_bounds__(CHAIN_SMALL_THREADS)                              \
        chain_##name##_##type##_small(const __grid_constant__ struct chain_args a)                 \
    {                                                                                              \
        apply<type, operators, CHAIN_SMALL_THREADS, 1>(a);                                         \
    }
#define BOTH(name, operators)                                                                      \
    BOTH_OF(name, fp16, operators)                                                                 \
    BOTH_OF(name, bf16, operators)

// sass-all: kernel=chain_bias_*16 ldg128=16 ldg128na=4 stg128=4 fadd=32 local=0
// sass-all: kernel=chain_bias_*16 ldg128=16 together arch=90a
// sass-all: kernel=chain_bias_*_small ldg128=2 ldg128na=1 stg128=1 fadd=8 local=0
// sass-all: kernel=chain_bias_*_small ldg128=2 together arch=90a
BOTH(bias, only<CHAIN_BIAS>)
// sass-all: kernel=chain_scale_*16 ldg128=8 ldg128na=4 stg128=4 fmul=32 local=0
// sass-all: kernel=chain_scale_*16 ldg128=8 ldg128.guarded=8 together arch=90a
// sass-all: kernel=chain_scale_*_small ldg128=1 ldg128na=1 stg128=1 fmul=8 local=0
BOTH(scale, only<CHAIN_SCALE>)
// sass-all: kernel=chain_leaky_*16 ldg128=8 ldg128na=4 stg128=4 fmul=32 local=0
// sass-all: kernel=chain_leaky_*16 ldg128=8 ldg128.guarded=8 fmnmx=32 together arch=90a
// sass-all: kernel=chain_leaky_*_small ldg128=1 ldg128na=1 stg128=1 fmul=8 local=0
// sass-all: kernel=chain_leaky_*_small fmnmx=8 arch=90a
BOTH(leaky, only<CHAIN_LEAKY>)
// sass-all: kernel=chain_shift_*16 ldg128=8 ldg128na=4 stg128=4 fadd=32 local=0
// sass-all: kernel=chain_shift_*16 ldg128=8 ldg128.guarded=8 together arch=90a
// sass-all: kernel=chain_shift_*_small ldg128=1 ldg128na=1 stg128=1 fadd=8 local=0
BOTH(shift, only<CHAIN_SHIFT>)
// sass-all: kernel=chain_clamp_*16 ldg128=8 ldg128na=4 stg128=4 local=0
// sass-all: kernel=chain_clamp_*16 ldg128=8 ldg128.guarded=8 fmnmx=64 together arch=90a
// sass-all: kernel=chain_clamp_*_small ldg128=1 ldg128na=1 stg128=1 local=0
// sass-all: kernel=chain_clamp_*_small fmnmx=16 arch=90a
BOTH(clamp, only<CHAIN_CLAMP>)
// sass-all: kernel=chain_gelu_*16 ldg128=8 ldg128na=4 stg128=4 local=0
// sass-all: kernel=chain_gelu_*16 fadd=32 fmul=96 ffma=32 mufu=64
// sass-all: kernel=chain_gelu_*16 ldg128=8 ldg128.guarded=8 together arch=90a
// sass-all: kernel=chain_gelu_*_small ldg128=1 ldg128na=1 stg128=1 local=0
// sass-all: kernel=chain_gelu_*_small fadd=8 fmul=24 ffma=8 mufu=16
BOTH(gelu, only<CHAIN_GELU>)
// sass-all: kernel=chain_silu_*16 ldg128=8 ldg128na=4 stg128=4 fadd=32 fmul=64 mufu=64 local=0
// sass-all: kernel=chain_silu_*16 ldg128=8 ldg128.guarded=8 together arch=90a
// sass-all: kernel=chain_silu_*_small ldg128=1 ldg128na=1 stg128=1 fadd=8 fmul=16 mufu=16 local=0
BOTH(silu, only<CHAIN_SILU>)

typedef chain<CHAIN_PLAIN, 1> plain_1;
typedef chain<CHAIN_PLAIN, 2> plain_2;
typedef chain<CHAIN_PLAIN, 4> plain_4;
typedef chain<CHAIN_PLAIN, 8> plain_8;
typedef chain<CHAIN_PLAIN, 16> plain_16;
typedef chain<CHAIN_PLAIN, 32> plain_32;
typedef chain<CHAIN_PLAIN, 64> plain_64;
// sass-all: kernel=chain_plain_1_*16 ldg128=16 ldg128na=4 stg128=4 fadd=32 local=0
// sass-all: kernel=chain_plain_1_*16 ldg128=16 together arch=90a
// sass-all: kernel=chain_plain_1_*_small ldg128=2 ldg128na=1 stg128=1 fadd=8 local=0
// sass-all: kernel=chain_plain_1_*_small ldg128=2 together arch=90a
BOTH(plain_1, plain_1)
// sass-all: kernel=chain_plain_2_*16 ldg128=16 ldg128na=4 stg128=4 fadd=32 fmul=32 local=0
// sass-all: kernel=chain_plain_2_*16 ldg128=16 together arch=90a
// sass-all: kernel=chain_plain_2_*_small ldg128=2 ldg128na=1 stg128=1 fadd=8 fmul=8 local=0
// sass-all: kernel=chain_plain_2_*_small ldg128=2 together arch=90a
BOTH(plain_2, plain_2)
// sass-all: kernel=chain_plain_4_*16 ldg128=16 ldg128na=4 stg128=4 fadd=64 fmul=64 local=0
// sass-all: kernel=chain_plain_4_*16 ldg128.constant=12 fmnmx=32 together arch=90a
// sass-all: kernel=chain_plain_4_*_small ldg128=2 ldg128na=1 stg128=1 fadd=16 fmul=16 local=0
// sass-all: kernel=chain_plain_4_*_small fmnmx=8 arch=90a
BOTH(plain_4, plain_4)
// sass-all: kernel=chain_plain_8_*16 ldg128=16 ldg128na=4 stg128=4 fadd=96 fmul=128 local=0
// sass-all: kernel=chain_plain_8_*16 ldg128.constant=12 fmnmx=128 together arch=90a
// sass-all: kernel=chain_plain_8_*_small ldg128=2 ldg128na=1 stg128=1 fadd=24 fmul=32 local=0
// sass-all: kernel=chain_plain_8_*_small fmnmx=32 arch=90a
BOTH(plain_8, plain_8)
// sass-all: kernel=chain_plain_16_*16 ldg128=16 ldg128na=4 stg128=4 fadd=224 fmul=192 local=0
// sass-all: kernel=chain_plain_16_*16 ldg128.constant=12 fmnmx=288 together arch=90a
// sass-all: kernel=chain_plain_16_*_small ldg128=2 ldg128na=1 stg128=1 fadd=56 fmul=48 local=0
// sass-all: kernel=chain_plain_16_*_small fmnmx=72 arch=90a
BOTH(plain_16, plain_16)
// sass-all: kernel=chain_plain_32_*16 ldg128=16 ldg128na=4 stg128=4 fadd=416 fmul=416 local=0
// sass-all: kernel=chain_plain_32_*16 ldg128.constant=12 fmnmx=576 together arch=90a
// sass-all: kernel=chain_plain_32_*_small ldg128=2 ldg128na=1 stg128=1 fadd=104 fmul=104 local=0
// sass-all: kernel=chain_plain_32_*_small fmnmx=144 arch=90a
BOTH(plain_32, plain_32)
// sass-all: kernel=chain_plain_64_*16 ldg128=16 ldg128na=4 stg128=4 fadd=832 fmul=832 local=0
// sass-all: kernel=chain_plain_64_*16 ldg128.constant=12 fmnmx=1184 together arch=90a
// sass-all: kernel=chain_plain_64_*_small ldg128=2 ldg128na=1 stg128=1 fadd=208 fmul=208 local=0
// sass-all: kernel=chain_plain_64_*_small fmnmx=296 arch=90a
BOTH(plain_64, plain_64)

typedef chain<CHAIN_ACTIVATED, 4> activated_4;
typedef chain<CHAIN_ACTIVATED, 16> activated_16;
// sass-all: kernel=chain_activated_4_*16 ldg128=16 ldg128na=4 stg128=4 local=0
// sass-all: kernel=chain_activated_4_*16 fadd=96 fmul=192 ffma=32 mufu=128
// sass-all: kernel=chain_activated_4_*_small ldg128=2 ldg128na=1 stg128=1 local=0
// sass-all: kernel=chain_activated_4_*_small fadd=24 fmul=48 ffma=8 mufu=32
BOTH(activated_4, activated_4)
// sass-all: kernel=chain_activated_16_*16 ldg128=16 ldg128na=4 stg128=4 local=0
// sass-all: kernel=chain_activated_16_*16 fadd=320 fmul=576 ffma=96 mufu=384
// sass-all: kernel=chain_activated_16_*16 ldg128.constant=12 fmnmx=192 together arch=90a
// sass-all: kernel=chain_activated_16_*_small ldg128=2 ldg128na=1 stg128=1 local=0
// sass-all: kernel=chain_activated_16_*_small fadd=80 fmul=144 ffma=24 mufu=96
// sass-all: kernel=chain_activated_16_*_small fmnmx=48 arch=90a
BOTH(activated_16, activated_16)

typedef chain<CHAIN_FMAS, 0> fmas_0;
typedef chain<CHAIN_FMAS, 2> fmas_2;
typedef chain<CHAIN_FMAS, 4> fmas_4;
typedef chain<CHAIN_FMAS, 8> fmas_8;
typedef chain<CHAIN_FMAS, 16> fmas_16;
// sass-all: kernel=chain_fmas_0_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 local=0 together
LONG(fmas_0_fp32, fp32, fmas_0)
// sass-all: kernel=chain_fmas_2_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=32 local=0 together
LONG(fmas_2_fp32, fp32, fmas_2)
// sass-all: kernel=chain_fmas_4_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=64 local=0 together
LONG(fmas_4_fp32, fp32, fmas_4)
// sass-all: kernel=chain_fmas_8_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=128 local=0 together
LONG(fmas_8_fp32, fp32, fmas_8)
// sass-all: kernel=chain_fmas_16_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=256 local=0 together
LONG(fmas_16_fp32, fp32, fmas_16)
// sass-all: kernel=chain_fmas_loop_fp32 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 local=0 looped
// sass-and: arch=75,80,86,89,90a
// sass-all: kernel=chain_fmas_loop_fp32 ldg128=8 ldg128na=4 stg128=8 local=0 looped arch=100+
// sass-loop: kernel=chain_fmas_loop_fp32 ffma=64 other<=4 local=0
LONG(fmas_loop_fp32, fp32, looped)
// sass-all: kernel=chain_fmas_4_bf16 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=128 local=0 together
LONG(fmas_4_bf16, bf16, fmas_4)
// sass-all: kernel=chain_fmas_16_bf16 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 ffma=512 local=0 together
LONG(fmas_16_bf16, bf16, fmas_16)
// sass-all: kernel=chain_fmas_loop_bf16 ldg128=8 ldg128.guarded=8 ldg128na=4 stg128=4 local=0 looped
// sass-and: arch=75,80,86,89,90a
// sass-all: kernel=chain_fmas_loop_bf16 ldg128=8 ldg128na=4 stg128=8 local=0 looped arch=100+
// sass-loop: kernel=chain_fmas_loop_bf16 ffma=128 other<=4 local=0
LONG(fmas_loop_bf16, bf16, looped)

// --- the plain method ---------------------------------------------------------------------------

// One operator in double on a value that is off by at most *bound, and how far it is off then: the
// error that came in, by the operator's steepest slope, and that of the operator's own fp32
// arithmetic.
__device__ __forceinline__ double operate_fp64(int which, double x, double bias,
                                               const chain_args &a, double *bound)
{
    double y = x;
    switch (which) {
    case CHAIN_BIAS: y = x + bias; break;
    case CHAIN_SCALE: y = x * a.scale, *bound *= fabs((double)a.scale); break;
    case CHAIN_LEAKY: y = fmax(x, x * a.leak); break;
    case CHAIN_SHIFT: y = x + a.shift; break;
    case CHAIN_CLAMP: y = fmin(fmax(x, -(double)a.limit), (double)a.limit); break;
    case CHAIN_GELU:
        y = x / (1 + exp(-2 * x * (0.79788456080286536 + 0.79788456080286536 * 0.044715 * x * x)));
        *bound *= 1.13;
        break;
    case CHAIN_SILU: y = x / (1 + exp(-x)), *bound *= 1.1; break;
    default: y = x * a.scale + a.shift, *bound *= fabs((double)a.scale);
    }
    *bound += (which == CHAIN_GELU || which == CHAIN_SILU ? 0x1p-19 : 0x1p-23) * fabs(y);
    return y;
}

__device__ __forceinline__ double element(const void *p, uint64_t i, uint32_t type)
{
    return type == 0   ? __half2float(((const __half *)p)[i])
           : type == 1 ? __bfloat162float(((const __nv_bfloat16 *)p)[i])
                       : ((const float *)p)[i];
}

// In fp64, one element a thread: a forward error bound element by element, to which each rounding
// to the tensors' type adds half a unit in the last place, or `tiny` where that is nothing.
// sass: none not a timed kernel
extern "C" __global__ void
chain_verify(const __grid_constant__ struct chain_verify_args v)
{
    const double unit = v.type == 0 ? 0x1p-11 : v.type == 1 ? 0x1p-8 : 0;
    const double tiny = v.type == 0 ? CHAIN_FP16_TINY : CHAIN_TINY;
    struct verdict own = {};

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < v.elements;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const double b = v.a.bias ? element(v.a.bias, i % v.columns, v.type) : 0;
        const bool is_fmas = v.kind == CHAIN_FMAS; // up to 1024 of them: without a choice at each
        double x = element(v.a.in, i, v.type), bound = 0;
        for (int k = 0; is_fmas && k < (int)v.n; k++)
            x = operate_fp64(CHAIN_FMA, x, b, v.a, &bound);
        if (is_fmas)
            bound += unit * (fabs(x) + bound) + tiny;
        for (int k = 0; !is_fmas && k < (int)v.n; k++) {
            const int which = v.only >= 0 ? v.only : CHAIN_OPERATOR(v.kind, k);
            x = operate_fp64(which, x, b, v.a, &bound);
            if (!v.is_fused || k + 1 == (int)v.n)
                bound += unit * (fabs(x) + bound) + tiny;
        }
        judge(&own, element(v.a.out, i, v.type), x, bound);
    }
    deliver(v.verdict, &own);
}
