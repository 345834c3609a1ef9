/* Arguments of the kernels in edges.cu, for C and CUDA alike. */
#ifndef PROBES_EDGES_ARGS_H
#define PROBES_EDGES_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    EDGES_THREADS = 256,
    EDGES_WARPS = EDGES_THREADS / 32,
    EDGES_CHUNK = 512, /* bytes of the body that one warp reads at a time, 16 per lane */
    EDGES_LOADS = 8,   /* chunks in flight */
    EDGES_SPACING = 8, /* words from one cell to the next: a sector of 32 bytes each */
};

/* Every warp has a cell in each of two rows. Step k reads, in row k % 2, the cell of the next warp
 * of the next block, mixes it with what it read of the body, and writes its own cell in the other
 * row. */
struct edges_args {
    uint32_t *cells;       /* two rows, one word for each warp of the grid */
    const void *body;      /* chunks x EDGES_CHUNK bytes, read by the whole grid in every step */
    uint32_t *census;      /* %smid of each block, or NULL */
    struct grid_barrier_state *barrier;
    uint32_t first, steps; /* number of the first step; how many steps this launch takes */
    uint32_t chunks;       /* 0: no body */
    uint32_t budget_ns;    /* for one wait in the kernel */
};
ARGS_SIZE(struct edges_args, 48);

#endif
