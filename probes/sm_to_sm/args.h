/* Arguments of the kernels in sm_to_sm.cu, for C and CUDA alike. */
#ifndef PROBES_SM_TO_SM_ARGS_H
#define PROBES_SM_TO_SM_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/permute.h"

enum {
    PAIR_MOST = 16,     /* blocks in the largest cluster */
    PAIR_THREADS = 128, /* of a block that chases; one of them does it */
    FLAG_THREADS = 1,   /* of a block that signals: no other lane waits with it */

    CHASE_WORDS = 1024, /* pointers of a block's ring: 8 KiB of shared memory */
    CHASE_LINE = 128,   /* bytes between the pointers of the ring in global memory */
    CHASE_SHORT = 16,   /* loads between the first two clock reads */
    CHASE_LONG = 32,
    CHASE_STEPS = 1 + CHASE_SHORT + CHASE_LONG,

    FLAG_LINES = 4096,  /* of 128 bytes, in which flags are placed */
    FLAG_PLACES = 4,    /* places tried in one launch */
    FLAG_SHORT = 16,    /* round trips between the first two clock reads */
    FLAG_LONG = 32,
    FLAG_TRIPS = 1 + FLAG_SHORT + FLAG_LONG,
};

/* --- a chase from one SM into the memory of another ----------------------------------------- */

struct chase_sample {
    uint64_t short_cycles, long_cycles;
    uint64_t end; /* bytes from the ring's beginning to where the chase stopped */
};

struct chase_args {
    struct chase_sample *samples; /* for each reader, PAIR_MOST of them, one per owner */
    uint64_t *sm;                 /* %smid of each reader: mapped */
    char *ring;                   /* in global memory, or NULL for the rings in shared memory */
    struct permutation order;     /* of the ring's places; owner n adds n to the seed */
    uint32_t first;               /* step of the ring at which to enter */
    uint32_t chosen;              /* the cluster that chases; without clusters, the SM */
    uint32_t walked;              /* the ring in global memory: the same SM reads it before */
    uint32_t writer;              /* the SM that makes the ring */
};
ARGS_SIZE(struct chase_args, 64);

/* --- a flag to and fro ------------------------------------------------------------------------ */

struct flag_sample {
    uint64_t short_cycles, long_cycles; /* 0: gave up */
};

struct flag_result {
    uint64_t sm[2];   /* of the timed side, and of the other */
    uint64_t word[2]; /* for st.async: the last word sent to each side */
    struct flag_sample sample[FLAG_PLACES];
};

struct flag_args {
    uint32_t *lines; /* FLAG_LINES lines of 128 bytes of global memory; unused in a cluster */
    struct flag_result *result;
    struct permutation order; /* of the lines */
    uint32_t side[2];         /* the two SMs; in a cluster: the two ranks */
    uint32_t chosen;          /* the cluster that plays */
    uint32_t first;           /* value before the first trip: never used before */
    uint64_t budget_ns;
};
ARGS_SIZE(struct flag_args, 64);

#endif
