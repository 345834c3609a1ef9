/* Arguments of the kernels in barriers.cu, for C and CUDA alike. */
#ifndef PROBES_BARRIERS_ARGS_H
#define PROBES_BARRIERS_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/device/harness.h"

enum {
    BARRIERS_SHORT = 32,   /* barriers of a block or cluster between clock reads 1 and 2 */
    BARRIERS_LONG = 64,    /* and between reads 2 and 3 */
    BARRIERS_REPEATS = 16, /* such pairs per launch */
};

struct barriers_sample {
    uint64_t short_cycles, long_cycles;
};

struct barriers_result {
    struct harness_stamp lead, tail; /* around all repeats, on one SM */
    struct barriers_sample sample[BARRIERS_REPEATS];
};

/* Barriers of one block, and of one cluster. */
struct near_args {
    struct barriers_result *result;
    uint32_t *words; /* one word per thread of the grid, to store to; NULL: block barriers */
};
ARGS_SIZE(struct near_args, 16);

/* Barriers of the whole grid: `rounds` of them between the first two clock reads, twice as many
 * between the second and the third. */
struct far_args {
    struct barriers_result *result;   /* its first sample is filled in */
    struct grid_barrier_state *state; /* of our barrier; or ... */
    uint32_t *counter;                /* ... of the one-counter barrier: must be 0 */
    uint32_t *words;                  /* one per thread, stored to before each barrier; or NULL */
    uint32_t rounds, budget_ns;
};
ARGS_SIZE(struct far_args, 40);

/* The oracle: in each round every member publishes the round's number, crosses the barrier, and
 * reads what all members published. In some rounds the stores are late. */
enum {
    ORDER_STRIDE = 2,       /* words from one member's slot to the next; every second is spare */
    ORDER_NEXT_LINE = 16,   /* slots in a line of the L2 */
    ORDER_LATE_EVERY = 256, /* rounds */
    ORDER_LATE_ADDS = 64,   /* additions to spare words in a late round */
};

struct order_args {
    uint32_t *slots;  /* of even rounds, then of odd ones */
    uint32_t *wrong;  /* values read that belong to [0] an earlier, [1] a later round */
    uint32_t *sm;     /* of each block: %smid + 1 */
    struct grid_barrier_state *state;
    uint32_t *counter;
    uint32_t first, rounds; /* rounds first + 1 to first + rounds */
    uint32_t budget_ns, pad;
};
ARGS_SIZE(struct order_args, 56);

#endif
