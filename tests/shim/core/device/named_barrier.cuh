/* Twin of core/device/named_barrier.cuh for the CPU. See tests/shim/shim.h. */
#ifndef GPUFLOOR_NAMED_BARRIER_CUH
#define GPUFLOOR_NAMED_BARRIER_CUH

#include <stdint.h>

template <uint32_t THREADS> static inline void named_barrier(uint32_t id)
{
    static_assert(THREADS > 0 && THREADS % 32 == 0 && THREADS <= 1024, "whole warps of one block");
    shim_named_barrier(id, THREADS);
}

#endif
