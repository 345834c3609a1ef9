/* The state of the grid barrier in grid_barrier.cuh, for C and CUDA alike. */
#ifndef GPUFLOOR_GRID_BARRIER_H
#define GPUFLOOR_GRID_BARRIER_H

#include <stdint.h>

enum {
    GRID_BARRIER_BLOCKS = 2048, /* the most blocks that it is meant for */
    GRID_BARRIER_TWIN = 4096,   /* bytes from one counter to its twin */
};

/* In device memory. The host sets all of it to zero before its first use and after an abort, but
 * not between launches, which may differ in their number of blocks. One launch at a time may use
 * it. */
struct grid_barrier_state {
    uint32_t aborted; /* not 0: a block waited longer than its budget */
    uint32_t pad[31];
    uint32_t room[4 * GRID_BARRIER_TWIN / sizeof(uint32_t)]; /* holds the counters, aligned */
};

#endif
