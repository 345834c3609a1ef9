/* Arguments of the kernels in peer_memory.cu, for C and CUDA alike. */
#ifndef LINKS_PEER_MEMORY_ARGS_H
#define LINKS_PEER_MEMORY_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/chase.h"
#include "core/permute.h"

enum {
    CHASE_SPACING = 128, /* bytes between ring entries: one L2 line, so no two share a fetch */
    CHASE_THREADS = 256, /* all of them warm the ring; then one chases */
    REPEATS_MOST = 64,   /* pairs of stretches in one launch */
};

/* Line permute(i) of a ring points to line permute(i + 1), by the addresses that they have in the
 * process that chases. */
struct ring_args {
    char *ring;    /* in the process that writes it */
    uint64_t base; /* the ring's address in the process that chases */
    struct permutation order;
};
ARGS_SIZE(struct ring_args, 40);

/* What a launch leaves: in memory of the GPU that chases. */
struct chase_out {
    struct chase_result result;
    struct chase_sample samples[REPEATS_MOST];
};

struct chase_args {
    char *ring;
    struct permutation order;
    uint64_t warm_laps; /* of the ring, by all threads, before the chase; 0: none */
    uint64_t skip;      /* the chase begins at this step of the ring */
    struct chase_out *out;
    uint32_t repeats, pad;
};
ARGS_SIZE(struct chase_args, 64);

/* What a block stored meanwhile, and in what time: its last lap ends behind the last fence. */
struct fence_stored {
    uint64_t bytes, ns;
};

/* One thread stores a word into a peer's memory and fences, again and again. The other blocks, if
 * any, store to that peer all the while, and end with it. The first launch's `number` is 1, so that
 * no word of an earlier launch is taken for one of this. */
struct fence_args {
    uint64_t *word;   /* in the peer's memory; at last repeats x CHASE_LOADS */
    void *area;       /* in the peer's memory: a piece of FENCE_PIECE bytes for each block */
    uint32_t *began;  /* in this GPU's memory: other blocks that store, of all launches */
    uint32_t *over;   /* in this GPU's memory: the number of the last launch that is over */
    struct chase_out *out;
    struct fence_stored *stored; /* in this GPU's memory, of each block */
    uint32_t *late;   /* mapped: see struct links_meeting */
    uint32_t repeats, others, before, number, budget_ns, pad;
};
ARGS_SIZE(struct fence_args, 80);

enum { FENCE_THREADS = 512, FENCE_PIECE = 1 << 18 };

/* The first access after a pause, and those that follow. */
struct first_args {
    uint64_t at; /* the address of a ring's line in the peer's memory */
    struct first_out *out;
};
ARGS_SIZE(struct first_args, 16);

enum { FIRST_NEXT = 8 };
struct first_out {
    uint64_t first_cycles, next_cycles; /* of one load, of the FIRST_NEXT loads behind it */
    uint64_t end;
    struct harness_stamp lead, tail;
};

/* Every SM in its turn chases from a line of the ring. */
struct map_args {
    char *ring;
    struct permutation order;
    struct map_out *out; /* a cell for each block, in this GPU's memory */
    uint32_t *turn;      /* in this GPU's memory: 0 before */
    uint32_t *late;      /* mapped: see struct links_meeting */
    uint32_t budget_ns, pad;
};
ARGS_SIZE(struct map_args, 64);

struct map_out {
    struct chase_result result;
    struct chase_sample sample;
};

/* Does a load see the value that a peer wrote in between? The reader loads `word`, says so, waits
 * until the owner says that it has written the number of the round, and loads again. */
struct stale_args {
    uint32_t *word;   /* in the owner's memory */
    uint32_t *asked;  /* in the owner's memory: the reader has loaded in this round */
    uint32_t *answer; /* in the reader's memory: the owner has written in this round */
    struct stale_out *out;
    uint32_t *late;   /* mapped: see struct links_meeting */
    uint32_t rounds, budget_ns;
};
ARGS_SIZE(struct stale_args, 48);

struct stale_out {
    uint32_t rounds; /* that were played */
    uint32_t stale;  /* in which the load gave an older number */
    uint32_t wrong;  /* in which a load of the system's scope behind it did, too */
    uint32_t pad;
};

/* Copies between two GPUs' memories, by threads or in bulk through shared memory. */
struct copy_args {
    const void *from;
    void *to;
    uint64_t bytes; /* a multiple of 16 */
};
ARGS_SIZE(struct copy_args, 24);

enum {
    COPY_THREADS = 1024,
    BULK_THREADS = 32, /* one of which copies */
    BULK_TILE = 16384, /* bytes of one bulk copy */
    BULK_STAGES = 8,   /* of them in shared memory */
    BULK_SHARED = BULK_TILE * BULK_STAGES,
};

#endif
