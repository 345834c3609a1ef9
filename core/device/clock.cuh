// Clocks and ids, as PTX. Device-only; volatile, so that the compiler keeps their order.
#ifndef GPUFLOOR_CLOCK_CUH
#define GPUFLOOR_CLOCK_CUH

#include <stdint.h>

// Cycles of this SM's own clock, one 64-bit CS2R. Not comparable between SMs.
__device__ __forceinline__ uint64_t clock_cycles()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

// Nanoseconds of the clock that all SMs share; it ticks every 32 ns to 1 us, depending on the GPU.
__device__ __forceinline__ uint64_t clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

__device__ __forceinline__ uint32_t sm_id()
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

struct clock_pair {
    uint64_t cycles, ns;
};

// Both clocks at the moment when the shared one ticks. The error is one turn of the polling loop
// (about ten cycles), however coarse the tick is. Gives up after 2 ms of cycles at 2 GHz, in case
// the shared clock stands still.
__device__ __forceinline__ struct clock_pair clock_edge()
{
    struct clock_pair p;
    uint64_t before = clock_ns(), began = clock_cycles();
    do {
        p.ns = clock_ns();
        p.cycles = clock_cycles();
    } while (p.ns == before && p.cycles - began < 4000000);
    return p;
}

#endif
