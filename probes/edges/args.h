/* Arguments of the kernels in edges.cu, for C and CUDA alike. */
#ifndef PROBES_EDGES_ARGS_H
#define PROBES_EDGES_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    EDGES_THREADS = 256,
    EDGES_WARPS = EDGES_THREADS / 32,
    EDGES_CHUNK = 512, /* bytes of the body that one warp reads at a time, 16 a lane */
    EDGES_LOADS = 8,   /* of them in flight */
    EDGES_SPACING = 8, /* words from one cell to the next: a sector of 32 bytes each */
};

/* Every warp has a cell in each of two rows. Step k reads the cell of the next warp of the next block in row
 * k % 2, mixes it with what it read of the body, and writes its own in the other row. */
struct edges_args {
    uint32_t *cells;       /* two rows of a word a warp of the grid */
    const void *body;      /* chunks x EDGES_CHUNK bytes, read by the whole grid in every step */
    uint32_t *census;      /* %smid of each block, or NULL */
    struct grid_barrier_state *barrier;
    uint32_t first, steps; /* number of the first step; how many steps this launch takes */
    uint32_t chunks;       /* 0: no body */
    uint32_t budget_ns;    /* for one wait in the kernel */
};
ARGS_SIZE(struct edges_args, 48);

#endif
