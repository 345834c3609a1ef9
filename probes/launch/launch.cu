// Kernels of launch: an empty one, and one that shows when it begins and ends.
#include "core/device/clock.cuh"
#include "probes/launch/args.h"

// sass-all: exit=1 other<=1
extern "C" __global__ void launch_null(const __grid_constant__ struct launch_args a)
{
}

// Two readings of the clock and the store of both: the last instructions before the exit.
// sass-all: stg64=2 cs2r>=2 other<=11 local=0
extern "C" __global__ void launch_stamp(const __grid_constant__ struct launch_stamp_args a)
{
    uint64_t began = clock_ns();
    if (blockIdx.x == 0)
        a.out[0] = began;
    if (blockIdx.x == gridDim.x - 1)
        a.out[1] = clock_ns();
}

// One block that takes the given time.
// sass: none not a timed kernel
extern "C" __global__ void launch_wait(const __grid_constant__ struct launch_wait_args a)
{
    uint64_t began = clock_ns();
    while (clock_ns() - began < a.ns)
        ;
}
