// Kernels of contention: atomics, one after another and all at once.
#include "core/device/clock.cuh"
#include "core/device/load.cuh"
#include "probes/contention/args.h"

__device__ __forceinline__ uint32_t spread_unit(const struct spread &s, uint32_t i)
{
    return i / s.run * s.far + i % s.run * s.near;
}

__device__ __forceinline__ void complain(const struct contention_args &a, bool wrong)
{
    if (wrong)
        atomicAdd(a.errors, 1u);
}

// --- chains of atomics ---------------------------------------------------------------------------
//
// By the type of the address: 32 bits for shared memory, 64 for global memory.

#define ATOMIC(address, letter, space, type, kind, word) \
    __device__ __forceinline__ type add(address p, type v) \
    { \
        type before; \
        asm volatile("atom." space ".add." kind " %0, [%1], %2;" \
                     : "=" word(before) \
                     : letter(p), word(v) \
                     : "memory"); \
        return before; \
    } \
    __device__ __forceinline__ void add_only(address p, type v) \
    { \
        asm volatile("red." space ".add." kind " [%0], %1;" ::letter(p), word(v) : "memory"); \
    }

ATOMIC(uint32_t, "r", "relaxed.cta.shared::cta", uint32_t, "u32", "r")
ATOMIC(uint32_t, "r", "relaxed.cta.shared::cta", float, "f32", "f")
ATOMIC(uint64_t, "l", "relaxed.gpu.global", uint32_t, "u32", "r")
ATOMIC(uint64_t, "l", "relaxed.gpu.global", float, "f32", "f")

#define SWAP_AND_USE(address, letter, space, order) \
    __device__ __forceinline__ uint32_t swap(address p, uint32_t expected, uint32_t fresh) \
    { \
        uint32_t before; \
        asm volatile("atom." order "." space ".cas.b32 %0, [%1], %2, %3;" \
                     : "=r"(before) \
                     : letter(p), "r"(expected), "r"(fresh) \
                     : "memory"); \
        return before; \
    } \
    __device__ __forceinline__ void put(address p, uint32_t v) \
    { \
        asm volatile("st." space ".u32 [%0], %1;" ::letter(p), "r"(v) : "memory"); \
    } \
    __device__ __forceinline__ uint32_t get(address p) \
    { \
        uint32_t v; \
        asm volatile("ld.relaxed.gpu." space ".u32 %0, [%1];" : "=r"(v) : letter(p) : "memory"); \
        return v; \
    } \
    __device__ __forceinline__ void use(address p, uint32_t v) \
    { \
        asm volatile("{ .reg .pred q; setp.eq.u32 q, %1, 0x5eedf100; @q st." space \
                     ".u32 [%0], %1; }" ::letter(p), \
                     "r"(v) \
                     : "memory"); \
    }

SWAP_AND_USE(uint32_t, "r", "shared::cta", "relaxed.cta")
SWAP_AND_USE(uint64_t, "l", "global", "relaxed.gpu")

__device__ __forceinline__ uint32_t bits(uint32_t v)
{
    return v;
}
__device__ __forceinline__ uint32_t bits(float v)
{
    return __float_as_uint(v);
}

// Operations of a chain: the old content is the next operand, so that no instruction comes in
// between. An addition adds the content found before: a chain is a Fibonacci series, and the host
// computes the result. A swap compares with the content found before; after the first failure it
// always succeeds.
template <typename T> struct chain_add {
    typedef T value;
    static __device__ __forceinline__ T word() { return 0; }
    static __device__ __forceinline__ T operand() { return 1; }
    template <typename P> static __device__ __forceinline__ void step(P p, T &v)
    {
        v = add(p, v);
    }
};

struct chain_swap {
    typedef uint32_t value;
    static __device__ __forceinline__ uint32_t word() { return CHAIN_SWAP_FROM; }
    static __device__ __forceinline__ uint32_t operand() { return CHAIN_SWAP_FROM; }
    template <typename P> static __device__ __forceinline__ void step(P p, uint32_t &v)
    {
        v = swap(p, v, CHAIN_SWAP_TO);
    }
};

// One after another to CHAIN_WORDS words: in the L2 some of these are near and some far.
template <typename P> __device__ __forceinline__ P word_at(P p, int k)
{
    return p + k % CHAIN_WORDS * (sizeof p == 4 ? CHAIN_APART_SHARED : CHAIN_APART_GLOBAL);
}

template <int N, typename OP, typename P>
__device__ __forceinline__ void links(P p, typename OP::value &v)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        OP::step(word_at(p, i), v);
    use(p, bits(v));
}

// Each lane that takes part has words of its own.
template <typename OP, typename P>
__device__ __forceinline__ void chain(const struct contention_args &a, P p)
{
    if (threadIdx.x >= a.lanes)
        return;
    uint32_t lanes = __activemask();
#pragma unroll 1
    for (uint32_t i = 0; i < REPEATS; i++) {
        typename OP::value v = OP::operand();
        for (int k = 0; k < CHAIN_WORDS; k++)
            put(word_at(p, k), bits(OP::word()));
        __threadfence();
        links<1, OP>(p, v);
        uint64_t t0 = clock_cycles();
        links<STEPS_SHORT, OP>(p, v);
        uint64_t t1 = clock_cycles();
        links<STEPS_LONG, OP>(p, v);
        uint64_t t2 = clock_cycles();

        uint32_t left = 0;
        for (int k = 0; k < CHAIN_WORDS; k++)
            left = 3 * left + get(word_at(p, k));
        complain(a, __shfl_sync(lanes, left, 0) != left);
        complain(a, __shfl_sync(lanes, bits(v), 0) != bits(v));
        if (threadIdx.x == 0) {
            a.result->sample[i] = {t1 - t0, t2 - t1};
            a.result->memory[i] = left;
            a.result->value[i] = bits(v);
        }
    }
}

// sass: clocks=3 atoms=32,64 other<=2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_shared_add_u32(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[CHAIN_WORDS * CHAIN_APART_SHARED / 4];
    chain<chain_add<uint32_t>>(a, shared_address(words + threadIdx.x));
}

// Shared memory has no float addition: the compiler makes it a loop of load, add and
// compare-and-swap.
// sass: clocks=3 atoms=32,64 lds=32,64 other<=194,384 local=0 waited looped arch=75
// sass: clocks=3 atoms=32,64 lds=32,64 other<=162,321 local=0 waited looped arch=80,86,89,90a
// sass: clocks=3 atoms=32,64 lds=32,64 other<=130,257 local=0 waited looped arch=100+
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_shared_add_f32(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[CHAIN_WORDS * CHAIN_APART_SHARED / 4];
    chain<chain_add<float>>(a, shared_address(words + threadIdx.x));
}

// sass: clocks=3 atoms=32,64 other<=9,10 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_shared_cas_u32(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[CHAIN_WORDS * CHAIN_APART_SHARED / 4];
    chain<chain_swap>(a, shared_address(words + threadIdx.x));
}

// sass: clocks=3 atomg.gpu=32,64 other<=2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_global_add_u32(const __grid_constant__ struct contention_args a)
{
    chain<chain_add<uint32_t>>(a, (uint64_t)a.memory + 4 * threadIdx.x);
}

// sass: clocks=3 atomg.gpu=32,64 other<=2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_global_add_f32(const __grid_constant__ struct contention_args a)
{
    chain<chain_add<float>>(a, (uint64_t)a.memory + 4 * threadIdx.x);
}

// sass: clocks=3 atomg.gpu=32,64 other<=9,10 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_chain_global_cas_u32(const __grid_constant__ struct contention_args a)
{
    chain<chain_swap>(a, (uint64_t)a.memory + 4 * threadIdx.x);
}

// --- many additions at a time --------------------------------------------------------------------
//
// Every thread adds to one counter, again and again, by one of these. Additions without an answer
// are still in flight long after their thread has gone on. Each stretch therefore ends with a load
// of the counter, which is served after them, and with an instruction that uses its value.
template <typename T> struct by_atom { // uses the old content
    typedef T value;
    template <typename P> static __device__ __forceinline__ void once(P p, T one, T &sum)
    {
        sum += add(p, one);
    }
};

template <typename T> struct by_red { // asks for nothing back
    typedef T value;
    template <typename P> static __device__ __forceinline__ void once(P p, T one, T &)
    {
        add_only(p, one);
    }
};

struct by_cas { // compare-and-swap until it succeeds; expects what it left last
    typedef uint32_t value;
    template <typename P>
    static __device__ __forceinline__ void once(P p, uint32_t one, uint32_t &expected)
    {
        uint32_t found;
        while ((found = swap(p, expected, expected + one)) != expected)
            expected = found;
        expected += one;
    }
};

template <typename WAY, typename P>
__device__ __forceinline__ void add_many(P p, uint32_t n, typename WAY::value one)
{
    typename WAY::value sum = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++)
#pragma unroll
        for (int k = 0; k < ADDS; k++)
            WAY::once(p, one, sum);
    use(p, bits(sum) + get(p));
}

// One block, all warps, counters in shared memory. At the end each counter, a float or an integer,
// must be the number of additions times the threads that share it.
template <typename WAY>
__device__ __forceinline__ void add_shared(const struct contention_args &a,
                                           typename WAY::value *counters)
{
    typename WAY::value one = (typename WAY::value)a.one;
    uint32_t mine = spread_unit(a.spread, threadIdx.x), p = shared_address(counters + mine);

    counters[threadIdx.x] = 0;
    __syncthreads();
    add_many<WAY>(p, 1, one);
    __syncthreads();
    uint64_t t0 = clock_cycles();
    add_many<WAY>(p, a.turns, one);
    __syncthreads();
    uint64_t t1 = clock_cycles();
    add_many<WAY>(p, 2 * a.turns, one);
    __syncthreads();
    uint64_t t2 = clock_cycles();

    if (threadIdx.x == 0)
        a.result->sample[0] = {t1 - t0, t2 - t1};
    complain(a, counters[mine] != (typename WAY::value)((3 * a.turns + 1) * ADDS * a.share));
}

#define ADD_SHARED(name, way) \
    extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1) \
    contention_shared_##name(const __grid_constant__ struct contention_args a) \
    { \
        __shared__ way::value counters[ALL_THREADS]; \
        add_shared<way>(a, counters); \
    }

// sass-loop: kernel=contention_shared_add_u32_* atoms=4 other<=5 local=0
// sass: kernel=contention_shared_*32_* bar.block=1,1 atoms>=1,1 looped closed
// sass: clocks=3 lds=1,1 kernel=contention_shared_add_u32_* waited looped
ADD_SHARED(add_u32_atom, by_atom<uint32_t>)
ADD_SHARED(add_u32_red, by_red<uint32_t>)
// sass-loop: kernel=contention_shared_add_f32_* atoms=1 lds=1 other<=3 local=0
// sass: clocks=3 lds=5,5 kernel=contention_shared_add_f32_* waited looped
ADD_SHARED(add_f32_atom, by_atom<float>)
ADD_SHARED(add_f32_red, by_red<float>)
// sass-loop: kernel=contention_shared_cas_u32_* atoms=1 other<=10 local=0 arch=75
// sass-loop: kernel=contention_shared_cas_u32_* atoms=1 other<=5 local=0 arch=80+
// sass: clocks=3 lds=1,1 kernel=contention_shared_cas_u32_* waited looped
ADD_SHARED(cas_u32_atom, by_cas)

// All SMs, counters in global memory; timed from outside, checked by contention_count.
#define ADD_GLOBAL(name, way) \
    extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1) \
    contention_global_##name(const __grid_constant__ struct contention_args a) \
    { \
        uint32_t thread = blockIdx.x * ALL_THREADS + threadIdx.x; \
        uint64_t p = (uint64_t)((uint32_t *)a.memory + spread_unit(a.spread, thread)); \
        add_many<way>(p, a.turns, (way::value)a.one); \
    }

// sass-loop: kernel=contention_global_add_*_atom atomg.gpu=4 other<=7 local=0
ADD_GLOBAL(add_u32_atom, by_atom<uint32_t>)
ADD_GLOBAL(add_f32_atom, by_atom<float>)
// sass-loop: kernel=contention_global_add_*_red reds.gpu=4 other<=3 local=0
ADD_GLOBAL(add_u32_red, by_red<uint32_t>)
ADD_GLOBAL(add_f32_red, by_red<float>)
// sass-loop: kernel=contention_global_cas_u32_* atomg.gpu=1 other<=10 local=0 arch=75,90a,100,120
// sass-loop: kernel=contention_global_cas_u32_* atomg.gpu=1 other<=5 local=0 arch=80,86,89
ADD_GLOBAL(cas_u32_atom, by_cas)

// Counts the counters with the right value, and sets all to zero again.
// sass: none not a timed kernel
extern "C" __global__ void contention_count(const __grid_constant__ struct contention_args a)
{
    uint32_t adds = a.turns * ADDS * a.share;
    uint32_t expected = a.floats ? __float_as_uint((float)adds) : adds;
    uint32_t *counters = (uint32_t *)a.memory;

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.words;
         i += gridDim.x * blockDim.x) {
        complain(a, counters[i] != expected && counters[i] != 0);
        if (counters[i] == expected)
            atomicAdd(a.found, 1u);
        counters[i] = 0;
    }
}
