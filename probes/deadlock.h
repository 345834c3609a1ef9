/* Arguments of the kernels in deadlock.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_DEADLOCK_H
#define GPUFLOOR_DEADLOCK_H

#include <stdint.h>

#include "core/device/grid_barrier.h"

/* A spin barrier that may have to give up. */
struct spin_args {
    struct grid_barrier_state *state; /* only its `aborted` */
    uint32_t *counters; /* [which] of the barrier; [2 + which] blocks that crossed all of theirs */
    uint32_t which;     /* of two launches at once */
    uint32_t rounds;
    uint32_t extra;     /* block 0 waits at so many more */
    uint32_t quits;     /* not 0: the last block leaves at once */
    uint32_t budget_ns, pad;
};

/* Stays on its SM for so long. */
struct hold_args {
    uint32_t *held; /* counts blocks that do */
    uint64_t ns;
};

#endif
