/* Arguments of the kernels in occupancy.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_OCCUPANCY_H
#define GPUFLOOR_OCCUPANCY_H

#include <stdint.h>

struct occupancy_args {
    const void *in;      /* 16-byte elements, a power of two of them */
    uint32_t *sink;      /* never written */
    uint32_t *census;    /* blocks that each SM ran, or NULL */
    uint32_t mask;       /* elements - 1 */
    uint32_t first;      /* element at which this launch begins */
    uint32_t turns, pad; /* of the loop: each reads LOADS elements a thread */
};

#endif
