/* Arguments of the kernels in contention.cu, for C and CUDA alike. */
#ifndef PROBES_CONTENTION_ARGS_H
#define PROBES_CONTENTION_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    STEPS_SHORT = 32,     /* dependent accesses between the first two clock reads */
    STEPS_LONG = 64,
    REPEATS = 8,          /* such pairs per launch */
    STEPS = 1 + STEPS_SHORT + STEPS_LONG,

    SETS = 8,             /* of places that a chase goes round; a turn of a loop visits all */
    L2_SETS = 64,         /* more for a chase through the L2, to meet many slices */
    SET_BYTES = 4096,     /* 32 lines, or 32 rows of 32 banks */

    CHAIN_WORDS = 16,     /* that a chain of atomics goes round, CHAIN_APART bytes apart */
    CHAIN_APART_SHARED = 128,
    CHAIN_APART_GLOBAL = 9 * 128,
    CHAIN_SWAP_FROM = 7,  /* what a chain of swaps finds, and what it leaves */
    CHAIN_SWAP_TO = 13,

    ALL_THREADS = 1024,   /* in the one block that keeps an SM busy */
    WARP_BYTES = SETS * SET_BYTES + 3 * 128, /* from one warp's lines in the L2 to the next one's */
    ADDS = 4,             /* additions per thread and turn */
};

/* Which unit of the kernel thread i uses, by the thread's number. Neighbours in a run are `near`
 * units apart, runs are `far` apart. {1, 4, 0}: every fourth unit. {32, 128, 0}: a whole warp uses
 * one unit, the next warp another. */
struct spread {
    uint32_t run, far, near;
};

struct contention_sample {
    uint64_t short_cycles, long_cycles;
};

struct contention_result {
    struct contention_sample sample[REPEATS];
    uint32_t memory[REPEATS]; /* what a chain of atomics left: m = 3 m + bits of each word */
    uint32_t value[REPEATS];  /* what its last operation returned: bits */
};

struct contention_args {
    void *memory; /* global memory to work on: rings, or counters of 32 bits */
    struct contention_result *result;
    uint32_t *errors; /* threads that found an impossible value */
    uint32_t *found;  /* counters with the right value */
    struct spread spread;
    uint32_t sets;    /* SETS, or L2_SETS of a chase through the L2 */
    uint32_t zero;    /* 0, unknown to the compiler */
    uint32_t lanes;   /* that take part in a chain of atomics */
    uint32_t turns;   /* of a loop, then twice as many; each has ADDS additions or SETS accesses */
    uint32_t one;     /* what is added: 1 */
    uint32_t share;   /* threads that add to the same counter */
    uint32_t words;   /* of memory with counters and zeros */
    uint32_t floats;  /* counters are floats */
    uint32_t warm;    /* turns of a loop of loads or stores before the timed ones */
};
ARGS_SIZE(struct contention_args, 80);

#endif
