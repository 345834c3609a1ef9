// The pointer chase: one thread, each address the value of the load before.
//
// A ring holds absolute addresses, so that a step is one load and nothing else. The compiler moves a
// clock read ahead of a load it does not wait for, whatever barrier or clobber stands between: only
// an instruction that *uses* the loaded value holds the clock back. Hence consume() before every
// closing clock read, and the contracts above the kernels, which tests/kernels proves from the cubins.
#ifndef PROBES_COMMON_CHASE_CUH
#define PROBES_COMMON_CHASE_CUH

#include "core/device/clock.cuh"
#include "probes/common/chase.h"
#include "probes/common/loads.cuh"

enum { MEET_NS = 4000 }; // for how long blocks on other SMs stay, so that every SM gets one

struct add_nothing { // an atomic addition of 0: what it returns is what a load would
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%0], 0;" : "+l"(p)::"memory");
    }
};

template <int STEPS, typename LOAD, typename POINTER>
__device__ __forceinline__ void steps(LOAD &load, POINTER &p)
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        load.step(p);
}

// The measurement. One untimed step first, consumed, so that both timed stretches begin alike. The
// differences are kept in 64 bits: where only the low half counts, the assembler reads some of the
// clocks by another instruction, which takes longer.
template <int SHORT = CHASE_SHORT, int LONG = CHASE_LONG, typename LOAD, typename POINTER>
__device__ __forceinline__ void chase(LOAD &load, POINTER &p, uint32_t repeats,
                                      struct chase_sample *samples)
{
#pragma unroll 1
    for (uint32_t i = 0; i < repeats; i++) {
        load.step(p);
        consume(p);
        uint64_t t0 = clock_cycles();
        steps<SHORT>(load, p);
        consume(p);
        uint64_t t1 = clock_cycles();
        steps<LONG>(load, p);
        consume(p);
        uint64_t t2 = clock_cycles();

        samples[i] = {t1 - t0, t2 - t1};
    }
}

// 0 in the thread that chases. An address that the compiler takes to be the same in all lanes goes to
// the uniform data path, and an atomic on it is done by one lane for all, with a vote and a shuffle.
__device__ __forceinline__ uint32_t lane(void)
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

// True in exactly one block: the first on the SM that was asked for. The others wait a little, so
// that no SM gets a second block before each has one. `claim` holds the ticket of the last launch
// that found its SM. Uses no shared memory: a single byte of it would take 8 KiB from the L1.
__device__ __forceinline__ bool chosen(uint32_t sm, uint32_t *claim, uint32_t ticket)
{
    bool mine = false;
    if (threadIdx.x == 0) {
        mine = sm_id() == sm && atomicExch(claim, ticket) != ticket;
        uint64_t came = clock_ns();
        while (!mine && clock_ns() - came < MEET_NS)
            ;
    }
    return __syncthreads_or(mine);
}

#endif
