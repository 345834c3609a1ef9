/* Twin of core/device/clock.cuh for the CPU: both clocks advance with every read of one of them, by
 * 64 cycles and 32 ns, and leap where all threads poll in vain. Each block has an SM of its own.
 * See tests/shim/shim.h. */
#ifndef GPUFLOOR_CLOCK_CUH
#define GPUFLOOR_CLOCK_CUH

#include <stdint.h>

static inline uint64_t clock_cycles() { return 64 * shim_clock(); }
static inline uint64_t clock_ns() { return 32 * shim_clock(); }
static inline uint32_t sm_id()
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

struct clock_pair {
    uint64_t cycles, ns;
};
static inline struct clock_pair clock_edge() { return {clock_cycles(), clock_ns()}; }

#endif
