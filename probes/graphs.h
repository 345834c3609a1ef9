/* Arguments of the kernel in graphs.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_GRAPHS_H
#define GPUFLOOR_GRAPHS_H

#include <stdint.h>

struct graphs_args {
    uint64_t *sum; /* one thread adds so much to it */
    uint64_t amount;
};

#endif
