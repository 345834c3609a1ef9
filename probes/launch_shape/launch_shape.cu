// Kernels of launch_shape: empty ones with more and more arguments, and one that reads a slice.
#include "core/device/load.cuh"
#include "probes/launch_shape/args.h"

// The given number of bytes of arguments. Every launch copies them, whether the kernel uses them or
// not.
template <int BYTES> struct carried {
    uint32_t word[BYTES / 4];
};

#define CARRIES(bytes)                                                                             \
    extern "C" __global__ void launch_shape_##bytes(                                               \
        const __grid_constant__ struct carried<bytes> a)                                           \
    {                                                                                              \
    }
// sass-all: kernel=launch_shape_[0-9]* exit=1 other<=1
CARRIES(8)
CARRIES(64)
CARRIES(256)
CARRIES(1024)
CARRIES(4096)
CARRIES(32764)

// Two kernels that ask for different carve-outs of the SM's memory.
// sass-all: exit=1 other<=1
extern "C" __global__ void launch_shape_l1(const __grid_constant__ struct carried<8> a)
{
}

// sass-all: exit=1 other<=1
extern "C" __global__ void launch_shape_shared(const __grid_constant__ struct carried<8> a)
{
}

// Through L2 only.
// sass-loop: ldg128.gpu=4 other<=43 local=0 regs<=40
extern "C" __global__ void __launch_bounds__(SLICE_THREADS)
launch_shape_read(const __grid_constant__ struct slice_args a)
{
    const uint4 *in = (const uint4 *)a.in + a.first;
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#pragma unroll 4
    for (uint32_t i = thread; i < a.elements; i += gridDim.x * blockDim.x) {
        uint4 v = load_cg_128(in + i);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (a.partial)
        a.partial[thread] ^= sum;
    else if (sum == 0x5eedf100u)
        *a.sink = sum;
}
