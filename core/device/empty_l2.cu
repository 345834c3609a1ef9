// Gives up lines that the L2 holds. It is an image of its own, so that only programs that use it
// contain it.
#include "core/device/empty_l2.h"

// Each thread discards a line: the L2 forgets it without writing it back. Compute capability 7.5
// has no such instruction: there the L2 stays full of clean lines.
// sass: none not a timed kernel
extern "C" __global__ void empty_l2(const __grid_constant__ struct empty_l2_args a)
{
#if __CUDA_ARCH__ >= 800
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.lines; i += step)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(a.memory + i * 128) : "memory");
#endif
}
