/* Arguments of the kernels in memory_latency.cu, for C and CUDA alike. */
#ifndef PROBES_MEMORY_LATENCY_ARGS_H
#define PROBES_MEMORY_LATENCY_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/permute.h"
#include "probes/common/chase.h"

enum {
    CHASE_SPACING = 128, /* bytes between ring entries: one L2 line, so no two share a fetch */
    CHASE_THREADS = 256, /* all of them warm the ring; then one chases */
    CHASE_WORDS = 4096,  /* words of the ring in shared memory: 16 KiB */
    SHARED_ORIGIN = 4, /* offset of the ring in shared memory, so that no end is 0 */
    CHASE_CONSTANTS = 16384, /* words of constant memory: 64 KiB, all that a program has */
    MISS_SHORT = 8, /* like CHASE_SHORT, for uncached constants: few on each side */
    MISS_LONG = 16,
    MISS_LOADS = 1 + MISS_SHORT + MISS_LONG,
};

struct ring_args {
    char *ring; /* lines x CHASE_SPACING bytes */
    struct permutation order;
};
ARGS_SIZE(struct ring_args, 32);

struct where_args {
    uint64_t *out; /* two addresses of the constants: in global, in constant memory */
};
ARGS_SIZE(struct where_args, 8);

struct chase_args {
    char *ring;                   /* if it is in global memory */
    struct permutation order;     /* of its lines */
    uint64_t start;               /* address to enter at; 0: the ring's first line */
    uint64_t warm_laps;           /* of the ring, by all threads, before the chase; 0: none */
    struct chase_sample *samples; /* `repeats` of them, in device memory */
    struct chase_result *result;
    uint32_t *claim;              /* the block that runs stores its ticket here */
    uint32_t ticket;              /* differs in every launch */
    uint32_t sm;                  /* %smid on which to chase */
    uint32_t repeats, pad;
};
ARGS_SIZE(struct chase_args, 88);

#endif
