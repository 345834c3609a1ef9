// Programmatic dependent launch, and what a kernel may do before its predecessor has ended: ask the
// L2 for data that no kernel before it writes. From compute capability 9.0 on.
#ifndef GPUFLOOR_DEPENDENT_CUH
#define GPUFLOOR_DEPENDENT_CUH

#include <stdint.h>

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// The next kernel may begin once all blocks have called this or ended.
__device__ __forceinline__ void dependent_release(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Waits until the kernels before have ended, and what they wrote is visible.
__device__ __forceinline__ void dependent_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Asks the L2 for a range of memory. Both are multiples of 16.
__device__ __forceinline__ void prefetch_bulk(const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

#endif
#endif
