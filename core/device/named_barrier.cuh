// A barrier of some of a block's warps. An SM has sixteen barriers for each block; __syncthreads is
// number 0. Use another one where the rest of the block must not wait, or may never come: among the
// consumers of a ring, whose producer warp runs ahead.
#ifndef GPUFLOOR_NAMED_BARRIER_CUH
#define GPUFLOOR_NAMED_BARRIER_CUH

#include <stdint.h>

// All threads of THREADS / 32 warps must call it with the same id, 1 to 15. What each of them wrote
// to shared memory before, all of them see after it. No two sets of warps may use one id at a time.
template <uint32_t THREADS> __device__ __forceinline__ void named_barrier(uint32_t id)
{
    static_assert(THREADS > 0 && THREADS % 32 == 0 && THREADS <= 1024, "whole warps of one block");
    asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

#endif
