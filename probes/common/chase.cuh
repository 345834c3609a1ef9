// What a probe's chase needs besides core/device/chase.cuh: a chase by atomics, and a block on a
// given SM.
#ifndef PROBES_COMMON_CHASE_CUH
#define PROBES_COMMON_CHASE_CUH

#include "core/device/chase.cuh"
#include "probes/common/chase.h"
#include "probes/common/loads.cuh"

enum { MEET_NS = 4000 }; // how long blocks on other SMs stay, so that every SM gets one

struct add_nothing { // an atomic addition of 0 returns what a load would
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%0], 0;" : "+l"(p)::"memory");
    }
};

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
