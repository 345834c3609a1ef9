/* A meeting of ranks, for C and CUDA alike; meet.cuh has the code of the kernels. */
#ifndef LINKS_COMMON_MEETING_H
#define LINKS_COMMON_MEETING_H

#include <stdint.h>

#include "core/args.h"

enum {
    LINKS_MOST = 4,   /* ranks */
    LINKS_APART = 128 /* bytes between two flags, so that no two share a line */
};

/* A rank tells every other that it is there: it writes the number of the meeting into its own slot
 * of the other's inbox. It then waits until its inbox has that number in every slot. Numbers rise
 * by one, and 2^32 of them are enough for a run. */
struct links_meeting {
    uint32_t *inbox;              /* mine: slot k, k x LINKS_APART bytes on, is written by rank k */
    uint32_t *theirs[LINKS_MOST]; /* [k]: my slot in the inbox of rank k */
    uint32_t *late;               /* mapped: 1 when a wait took longer than its budget */
    uint32_t number, rank, ranks, budget_ns;
};
ARGS_SIZE(struct links_meeting, 64);

/* The kernel of links_meet(). */
struct meet_args {
    struct links_meeting meeting;
};
ARGS_SIZE(struct meet_args, 64);

/* Writes words that no two ranks write alike; counts those that are not as they were written. */
struct meet_words_args {
    uint32_t *words;
    uint64_t n;
    uint64_t seed;
    uint32_t *wrong; /* mapped; of the second kernel */
};
ARGS_SIZE(struct meet_words_args, 32);

#endif
