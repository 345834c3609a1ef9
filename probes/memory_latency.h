/* Arguments of the kernels in memory_latency.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_MEMORY_LATENCY_H
#define GPUFLOOR_MEMORY_LATENCY_H

#include <stdint.h>

#include "core/device/harness.h"
#include "core/permute.h"

enum {
    CHASE_SPACING = 128, /* bytes between ring entries: one L2 line, so no two share a fetch */
    CHASE_SHORT = 32,    /* loads between the first two clock reads */
    CHASE_LONG = 64,     /* and between the next two: the slope is over the 32 between them */
    CHASE_REPEATS = 32,  /* such pairs a launch */
    CHASE_THREADS = 256, /* all of them warm the ring; then one chases */
    CHASE_WORDS = 4096,  /* of the ring in shared memory: 16 KiB */
};

struct ring_args {
    char *ring; /* lines x CHASE_SPACING bytes */
    struct permutation order;
};

struct chase_sample {
    uint64_t short_cycles, long_cycles;
};

struct chase_result {
    struct harness_stamp lead, tail; /* around all repeats, on one SM */
    uint64_t end;                    /* where the chase stopped; 0: the SM asked for was not met */
    uint64_t sm;
};

struct chase_args {
    char *ring;                   /* NULL for the ring in shared memory */
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

#endif
