/* Arguments of the kernels in launch.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_LAUNCH_H
#define GPUFLOOR_LAUNCH_H

#include <stdint.h>

struct launch_args {
    uint64_t unused; /* a launch carries its arguments: eight bytes here */
};

struct gate_args {
    const uint32_t *open; /* mapped host memory; the gate opens when it holds the ticket */
    uint64_t budget_ns;
    uint32_t ticket, pad;
};

#endif
