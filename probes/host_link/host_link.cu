// Kernels of host_link: they answer the host, read its memory, end when they are told to, and check
// what was copied.
#include "core/device/clock.cuh"
#include "probes/host_link/args.h"

// Words in the host's memory: neither cached nor merged, visible to the whole system.
__device__ __forceinline__ uint32_t load_system(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void store_system(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// One thread answers n questions, one after another.
// sass-loop: ldg32.sys=1 other<=8 local=0
extern "C" __global__ void host_link_answer(const __grid_constant__ struct link_answer_args a)
{
    uint64_t began = clock_ns();
    for (uint32_t i = 0; i < a.n; i++) {
        while (load_system(a.asked) != a.first + i)
            if (clock_ns() - began > a.budget_ns) {
                store_system(a.aborted, 1);
                return;
            }
        store_system(a.answered, a.first + i);
    }
}

// Ends delay_ns after the host's word; the store is the last thing that it does.
// sass-loop: ldg32.sys=1 other<=7 local=0
extern "C" __global__ void host_link_late(const __grid_constant__ struct link_late_args a)
{
    uint64_t began = clock_ns(), now = began;
    store_system(a.up, a.ticket);
    while (load_system(a.go) != a.ticket && now - began < a.budget_ns)
        now = clock_ns();
    began = clock_ns();
    do
        now = clock_ns();
    while (now - began < a.delay_ns);
    store_system(a.done, a.ticket);
}

struct load_uncached { // as flags are read
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.relaxed.sys.global.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

struct load_cached { // wherever the hardware may keep it
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

// Everything that follows waits for p: see probes/common/chase.cuh.
__device__ __forceinline__ void hold(uint64_t p)
{
    asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q exit; }" ::"l"(p) : "memory");
}

template <class LOAD, int N> __device__ __forceinline__ uint64_t chase(uint64_t &p)
{
    uint64_t t0 = clock_cycles();
#pragma unroll
    for (int i = 0; i < N; i++)
        LOAD::step(p);
    hold(p);
    return clock_cycles() - t0;
}

template <class LOAD> __device__ __forceinline__ void load(const struct link_load_args &a)
{
    uint64_t p = a.start;
#pragma unroll 1
    for (uint64_t i = 0; i < a.before; i++)
        LOAD::step(p);
    hold(p);
    struct clock_pair lead = clock_edge();
    uint64_t few = chase<LOAD, LINK_SHORT>(p), many = chase<LOAD, LINK_LONG>(p);
    struct clock_pair tail = clock_edge();
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, few, many, p};
}

// sass: clocks=8 ldg64.sys=16,32 other<=5,3 local=0 waited chain arch=75,80,86,89,90a,100
// sass: clocks=8 ldg64.sys=16,32 other<=2,2 local=0 waited chain arch=120
extern "C" __global__ void host_link_load(const __grid_constant__ struct link_load_args a)
{
    load<load_uncached>(a);
}

// sass: clocks=8 ldg64.cta=16,32 other<=5,3 local=0 waited chain arch=75,80,86,89,90a,100
// sass: clocks=8 ldg64.cta=16,32 other<=2,2 local=0 waited chain arch=120
extern "C" __global__ void host_link_load_cached(const __grid_constant__ struct link_load_args a)
{
    load<load_cached>(a);
}

// sass-all: exit=1 other<=1
extern "C" __global__ void host_link_null(const __grid_constant__ struct link_null_args a)
{
}

// sass: none not a timed kernel
extern "C" __global__ void host_link_fill(const __grid_constant__ struct link_words_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += step)
        a.words[i] = link_word(a.seed, i);
}

// sass: none not a timed kernel
extern "C" __global__ void host_link_compare(const __grid_constant__ struct link_words_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, wrong = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += step)
        wrong += a.words[i] != link_word(a.seed, i);
    if (wrong > 0)
        atomicAdd((unsigned long long *)a.wrong, (unsigned long long)wrong);
}
