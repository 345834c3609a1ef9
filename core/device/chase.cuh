// The pointer chase: one thread loads, and each address is the value of the load before.
//
// The ring holds absolute addresses, so that a step is one load and nothing else. The compiler
// moves a clock read ahead of a load that it does not wait for, whatever barrier or clobber is
// between them: only an instruction that *uses* the loaded value holds the clock read back. Hence a
// consume() before every closing clock read. The contracts above the kernels state this, and
// tests/kernels proves it from the cubins.
#ifndef GPUFLOOR_CHASE_CUH
#define GPUFLOOR_CHASE_CUH

#include "core/device/clock.cuh"
#include "core/device/chase.h"
#include "core/device/load.cuh"

// Returns 0 in the thread that chases. The compiler sends an address that it takes to be the same
// in all lanes to the uniform data path; one lane then does an atomic on it for all, with a vote
// and a shuffle.
__device__ __forceinline__ uint32_t lane(void)
{
    uint32_t id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

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

#endif
