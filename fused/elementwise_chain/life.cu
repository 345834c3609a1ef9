// Kernels whose registers are counted: n values on each of a thread's elements in fp32, by how long
// they live; see enum chain_life.
#include "fused/elementwise_chain/chain.cuh"
#include "fused/elementwise_chain/life.h"

template <int E> struct elements;
template <> struct elements<1> {
    static __device__ __forceinline__ void load(const float *p, float (&x)[1]) { x[0] = __ldg(p); }
    static __device__ __forceinline__ void store(float *p, const float (&x)[1]) { *p = x[0]; }
};
template <> struct elements<8> {
    static __device__ __forceinline__ void load(const float *p, float (&x)[8])
    {
#pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const float4 v = __ldg((const float4 *)(p + i));
            x[i] = v.x, x[i + 1] = v.y, x[i + 2] = v.z, x[i + 3] = v.w;
        }
    }
    static __device__ __forceinline__ void store(float *p, const float (&x)[8])
    {
        ((float4 *)p)[0] = make_float4(x[0], x[1], x[2], x[3]);
        ((float4 *)p)[1] = make_float4(x[4], x[5], x[6], x[7]);
    }
};

// Steps FROM .. N-1 upon x; `at` is where this thread's elements lie in the (next) input.
template <chain_life LIFE, int N, int E, int FROM = 1> struct steps {
    static __device__ __forceinline__ void of(float (&x)[E], const float *at, const live_args &a)
    {
        float next[E];
        if (LIFE == CHAIN_INPUTS)
            elements<E>::load(at + a.apart, next);
#pragma unroll
        for (int i = 0; i < E; i++)
            next[i] = LIFE == CHAIN_INPUTS ? __fmaf_rn(x[i], a.scale, next[i])
                                     : operate<CHAIN_OPERATOR(CHAIN_PLAIN, FROM)>(x[i], a.shift, a);
        steps<LIFE, N, E, FROM + 1>::of(next, at + a.apart, a);
#pragma unroll
        for (int i = 0; i < E; i++)
            x[i] = LIFE == CHAIN_LIVE ? __fmaf_rn(next[i], a.leak, x[i]) : next[i];
    }
};
template <chain_life LIFE, int N, int E> struct steps<LIFE, N, E, N> {
    static __device__ __forceinline__ void of(float (&)[E], const float *, const live_args &) {}
};

template <chain_life LIFE, int N, int E> __device__ __forceinline__ void live(const live_args &a)
{
    const uint64_t thread = (uint64_t)blockIdx.x * CHAIN_THREADS + threadIdx.x;
    float x[E];

    if (thread >= a.threads)
        return;
    elements<E>::load(a.in + thread * E, x);
    steps<LIFE, N, E>::of(x, a.in + thread * E, a);
    elements<E>::store(a.out + thread * E, x);
}

#define LIFE(name, life, n, e)                                                                     \
    extern "C" __global__ void __launch_bounds__(CHAIN_THREADS)                                    \
        chain_##name##_##n##_##e(const __grid_constant__ struct live_args a)                       \
    {                                                                                              \
        live<life, n, e>(a);                                                                       \
    }
// sass-all: kernel=chain_dependent_1_1 ldg32=1 stg32=1 local=0
LIFE(dependent, CHAIN_DEPENDENT, 1, 1)
// sass-all: kernel=chain_dependent_4_1 ldg32=1 stg32=1 local=0
LIFE(dependent, CHAIN_DEPENDENT, 4, 1)
// sass-all: kernel=chain_dependent_16_1 ldg32=1 stg32=1 local=0
LIFE(dependent, CHAIN_DEPENDENT, 16, 1)
// sass-all: kernel=chain_dependent_64_1 ldg32=1 stg32=1 local=0
LIFE(dependent, CHAIN_DEPENDENT, 64, 1)
// sass-all: kernel=chain_dependent_1_8 ldg128=2 stg128=2 local=0
LIFE(dependent, CHAIN_DEPENDENT, 1, 8)
// sass-all: kernel=chain_dependent_4_8 ldg128=2 stg128=2 local=0
LIFE(dependent, CHAIN_DEPENDENT, 4, 8)
// sass-all: kernel=chain_dependent_16_8 ldg128=2 stg128=2 local=0
LIFE(dependent, CHAIN_DEPENDENT, 16, 8)
// sass-all: kernel=chain_dependent_64_8 ldg128=2 stg128=2 local=0
LIFE(dependent, CHAIN_DEPENDENT, 64, 8)
// sass-all: kernel=chain_live_1_1 ldg32=1 stg32=1 local=0
LIFE(live, CHAIN_LIVE, 1, 1)
// sass-all: kernel=chain_live_4_1 ldg32=1 stg32=1 local=0
LIFE(live, CHAIN_LIVE, 4, 1)
// sass-all: kernel=chain_live_16_1 ldg32=1 stg32=1 local=0
LIFE(live, CHAIN_LIVE, 16, 1)
// sass-all: kernel=chain_live_64_1 ldg32=1 stg32=1 local=0
LIFE(live, CHAIN_LIVE, 64, 1)
// sass-all: kernel=chain_live_1_8 ldg128=2 stg128=2 local=0
LIFE(live, CHAIN_LIVE, 1, 8)
// sass-all: kernel=chain_live_4_8 ldg128=2 stg128=2 local=0
LIFE(live, CHAIN_LIVE, 4, 8)
// sass-all: kernel=chain_live_16_8 ldg128=2 stg128=2 local=0
LIFE(live, CHAIN_LIVE, 16, 8)
// sass-all: kernel=chain_inputs_1_1 ldg32=1 stg32=1 local=0
LIFE(inputs, CHAIN_INPUTS, 1, 1)
// sass-all: kernel=chain_inputs_4_1 ldg32=4 stg32=1 local=0
LIFE(inputs, CHAIN_INPUTS, 4, 1)
// sass-all: kernel=chain_inputs_16_1 ldg32=16 stg32=1 local=0
LIFE(inputs, CHAIN_INPUTS, 16, 1)
// sass-all: kernel=chain_inputs_64_1 ldg32=64 stg32=1 local=0
LIFE(inputs, CHAIN_INPUTS, 64, 1)
// sass-all: kernel=chain_inputs_1_8 ldg128=2 stg128=2 local=0
LIFE(inputs, CHAIN_INPUTS, 1, 8)
// sass-all: kernel=chain_inputs_4_8 ldg128=8 stg128=2 local=0
LIFE(inputs, CHAIN_INPUTS, 4, 8)
// sass-all: kernel=chain_inputs_16_8 ldg128=32 stg128=2 local=0
LIFE(inputs, CHAIN_INPUTS, 16, 8)
// sass-all: kernel=chain_inputs_64_8 ldg128=128 stg128=2 local=0
LIFE(inputs, CHAIN_INPUTS, 64, 8)
