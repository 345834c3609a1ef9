// Kernels of memory_map: chases and single loads on a chosen SM, by load and by atomic.
#include "probes/common/chase.cuh"
#include "probes/memory_map/args.h"

struct add_then_load { // on the same address: the load finds the line just written
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        add_nothing().step(p);
        load_l2().step(p);
    }
};

__device__ __forceinline__ bool my_turn(const struct map_turn &t)
{
    return chosen(t.sm, t.claim, t.ticket) && threadIdx.x == 0;
}

__device__ __forceinline__ void leave(const struct map_turn &t, struct clock_pair lead,
                                      uint64_t end)
{
    struct clock_pair tail = clock_edge();
    *t.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, end, sm_id()};
}

// A chase from each of n addresses. n lines that point to themselves make a map; one address on a
// ring makes a walk.
template <typename STEP> __device__ __forceinline__ void walk(const struct map_chase_args &a)
{
    if (!my_turn(a.turn))
        return;
    STEP step;
    uint64_t p = 0;
    struct clock_pair lead = clock_edge();
    for (uint64_t i = 0; i < a.n; i++) {
        p = a.start[i + lane()];
#pragma unroll 1
        for (uint64_t w = 0; w < a.warm; w++)
            step.step(p);
        consume(p);
        chase(step, p, a.repeats, a.samples + i * a.repeats);
    }
    leave(a.turn, lead, p);
}

// sass: clocks=7 ldg64.gpu=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void memory_map_load(const __grid_constant__ struct map_chase_args a)
{
    walk<load_l2>(a);
}

// sass: clocks=7 atomg.gpu=*,32,64 loads=*,0,0 other<=*,3,3 local=0 waited chain
extern "C" __global__ void memory_map_atomic(const __grid_constant__ struct map_chase_args a)
{
    walk<add_nothing>(a);
}

// sass: clocks=7 atomg.gpu=*,32,64 ldg64.gpu=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void memory_map_both(const __grid_constant__ struct map_chase_args a)
{
    walk<add_then_load>(a);
}

// sass: clocks=7 ldg64.cta=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void memory_map_load_l1(const __grid_constant__ struct map_chase_args a)
{
    walk<load_l1>(a);
}

// One load after another: the first fetches a sector and whatever comes along, the second shows
// whether its own word came too. The timed part is one load and the clock read after it.
template <typename LOAD> __device__ __forceinline__ void ask(const struct map_pair_args &a)
{
    if (!my_turn(a.turn))
        return;
    LOAD load;
    uint64_t p = 0;
    const struct map_pair *pairs = a.pairs + lane(); // 0, but not to the compiler
    struct clock_pair lead = clock_edge();
#pragma unroll 1
    for (uint64_t i = 0; i < a.n; i++) {
        uint64_t asked = pairs[i].asked;
        p = pairs[i].touched;
        load.step(p);
        consume(p);
        consume(asked);
        uint64_t t0 = clock_cycles();
        load.step(asked);
        consume(asked);
        uint64_t t1 = clock_cycles();
        a.cycles[i] = t1 - t0;
    }
    leave(a.turn, lead, p);
}

// sass: clocks=6 ldg64.cta=*,1 other<=*,3 local=0 waited
extern "C" __global__ void memory_map_ask_l1(const __grid_constant__ struct map_pair_args a)
{
    ask<load_l1>(a);
}

// sass: clocks=6 ldg64.gpu=*,1 other<=*,3 local=0 waited
extern "C" __global__ void memory_map_ask_l2(const __grid_constant__ struct map_pair_args a)
{
    ask<load_l2>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void memory_map_link(const __grid_constant__ struct map_link_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += step)
        *(uint64_t *)a.line[i] = a.next[i];
}
