/* Arguments of the kernels in contention.cu, for C and CUDA alike. */
#ifndef PROBES_CONTENTION_ARGS_H
#define PROBES_CONTENTION_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    STEPS_SHORT = 32,     /* dependent accesses between the first two clock reads */
    STEPS_LONG = 64,
    REPEATS = 8,          /* such pairs a launch */
    STEPS = 1 + STEPS_SHORT + STEPS_LONG,

    SETS = 8,             /* of places, round which chases go; a turn of a loop visits them all */
    L2_SETS = 64,         /* a chase through the L2 goes round more, so as to meet many slices */
    SET_BYTES = 4096,     /* 32 lines, or 32 rows of 32 banks */

    CHAIN_WORDS = 16,     /* round which a chain of atomics goes, so many bytes apart */
    CHAIN_APART_SHARED = 128,
    CHAIN_APART_GLOBAL = 9 * 128,
    CHAIN_SWAP_FROM = 7,  /* what a chain of swaps finds, and what it leaves */
    CHAIN_SWAP_TO = 13,

    ALL_THREADS = 1024,   /* of the one block that keeps an SM busy */
    WARP_BYTES = SETS * SET_BYTES + 3 * 128, /* from one warp's lines in the L2 to the next one's */
    ADDS = 4,             /* additions of a thread in one turn */
};

/* Which unit of the kernel thread i uses, by its number: neighbours in a run lie `near` apart, runs
 * `far`. {1, 4, 0}: every fourth; {32, 128, 0}: a whole warp one unit, the next warp another. */
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
    uint32_t *errors; /* threads that found what cannot be */
    uint32_t *found;  /* counters that hold what they must */
    struct spread spread;
    uint32_t sets;    /* SETS, or L2_SETS of a chase through the L2 */
    uint32_t zero;    /* 0, which the compiler does not know */
    uint32_t lanes;   /* that take part in a chain of atomics */
    uint32_t turns;   /* of a loop, and then twice as many; ADDS additions each, or SETS accesses */
    uint32_t one;     /* what is added: 1 */
    uint32_t share;   /* threads that add to the same counter */
    uint32_t words;   /* of memory that hold counters and zeros */
    uint32_t floats;  /* counters are floats */
    uint32_t warm;    /* turns of a loop of loads or stores before the timed ones */
};
ARGS_SIZE(struct contention_args, 80);

#endif
