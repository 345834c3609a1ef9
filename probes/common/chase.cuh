// The pointer chase: one thread loads, and each address is the value of the load before.
//
// The ring holds absolute addresses, so that a step is one load and nothing else. The compiler
// moves a clock read ahead of a load that it does not wait for, whatever barrier or clobber is
// between them: only an instruction that *uses* the loaded value holds the clock read back. Hence a
// consume() before every closing clock read. The contracts above the kernels state this, and
// tests/kernels proves it from the cubins.
#ifndef PROBES_COMMON_CHASE_CUH
#define PROBES_COMMON_CHASE_CUH

#include "core/device/clock.cuh"
#include "probes/common/chase.h"
#include "probes/common/loads.cuh"

enum { MEET_NS = 4000 }; // how long blocks on other SMs stay, so that every SM gets one

struct add_nothing { // an atomic addition of 0 returns what a load would
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

// The measurement. One untimed step comes first and is consumed, so that both timed stretches begin
// alike. The differences are kept in 64 bits: if only the low half were used, the assembler would
// read some of the clocks by another, slower instruction.
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

// Returns 0 in the thread that chases. The compiler sends an address that it takes to be the same
// in all lanes to the uniform data path; one lane then does an atomic on it for all, with a vote
// and a shuffle.
__device__ __forceinline__ uint32_t lane(void)
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

// True in exactly one block: the first on the given SM. The others wait a little, so that no SM
// gets a second block before each has one. `claim` holds the ticket of the last launch that found
// its SM. Uses no shared memory: a single byte of it would take 8 KiB from the L1.
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
