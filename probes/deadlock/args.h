/* Arguments of the kernels in deadlock.cu, for C and CUDA alike. */
#ifndef PROBES_DEADLOCK_ARGS_H
#define PROBES_DEADLOCK_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

/* What a launch leaves. */
struct spin_tally {
    uint32_t counter;   /* of its barrier */
    uint32_t crossed;   /* blocks that crossed all of their barriers */
    uint32_t present;   /* blocks that have started and not left */
    uint32_t beside;    /* the most blocks of the other launch that were present when one left */
    uint32_t waited_ns; /* longest time at one barrier */
};

/* A spin barrier that may give up. */
struct deadlock_spin_args {
    struct grid_barrier_state *state; /* only its `aborted` */
    struct spin_tally *mine, *others; /* of two launches at once */
    uint32_t rounds;
    uint32_t extra; /* how many more barriers block 0 waits at */
    uint32_t quits; /* not 0: the last block leaves at once */
    uint32_t budget_ns;
};
ARGS_SIZE(struct deadlock_spin_args, 40);

/* Stays on its SM for the given time. */
struct hold_args {
    uint32_t *came; /* counts blocks that do */
    uint32_t *held; /* mapped host memory: that count, once all do */
    uint64_t ns;
};
ARGS_SIZE(struct hold_args, 24);

#endif
