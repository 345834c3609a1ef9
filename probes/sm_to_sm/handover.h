/* Arguments of the kernels in handover.cu, for C and CUDA alike. */
#ifndef PROBES_SM_TO_SM_HANDOVER_H
#define PROBES_SM_TO_SM_HANDOVER_H

#include <stdint.h>

#include "core/args.h"

enum {
    HANDOVER_THREADS = 32,
    HANDOVER_SHORT = 16, /* round trips between the first two clock reads */
    HANDOVER_LONG = 32,
    HANDOVER_TRIPS = 1 + HANDOVER_SHORT + HANDOVER_LONG,
    HANDOVER_WORDS = 32, /* of the payload: a word a lane */

    VISIBLE_LINES = 16, /* that stores go to in turn */
    VISIBLE_APART = 9 * 128,
    VISIBLE_SHORT = 16, /* stores between the first two clock reads */
    VISIBLE_LONG = 32,
    VISIBLE_STORES = 1 + VISIBLE_SHORT + VISIBLE_LONG,
};

struct handover_result {
    uint64_t short_cycles, long_cycles; /* 0: gave up */
    uint64_t sm[2];                     /* of the timed side, and of the other */
    uint64_t stale[2];                  /* words that were not what the other side wrote */
};

struct handover_args {
    uint32_t *payload[2]; /* written by side 0, by side 1; HANDOVER_WORDS words each */
    uint32_t *flag[2];    /* written by side 0, by side 1; a line each */
    struct handover_result *result;
    uint32_t side[2];     /* the two SMs */
    uint32_t words;       /* of a payload: a multiple of 32 */
    uint32_t first;       /* value before the first trip: never used before */
    uint32_t mute;        /* side 1 never answers */
    uint32_t pad;
    uint64_t budget_ns;
};
ARGS_SIZE(struct handover_args, 72);

struct visible_args {
    char *lines; /* VISIBLE_LINES of them, VISIBLE_APART bytes apart */
    uint64_t *cycles;
    uint32_t first; /* what is stored first; then one more each time */
    uint32_t pad;
};
ARGS_SIZE(struct visible_args, 24);

#endif
