/* Arguments of the kernels in loaded_chase.cu, for C and CUDA alike. */
#ifndef PROBES_BANDWIDTH_LOADED_CHASE_H
#define PROBES_BANDWIDTH_LOADED_CHASE_H

#include <stdint.h>

#include "core/args.h"
#include "core/permute.h"
#include "probes/common/chase.h"

enum {
    RING_SPACING = 128, /* bytes between the ring's entries */
    LOAD_WARPS = 16,    /* that stream on each SM but one; one more listens */
    LOAD_LOADS = 4,     /* 16-byte loads that each lane has in flight */
};

struct loaded_ring_args {
    char *ring; /* n x RING_SPACING bytes */
    struct permutation order;
};
ARGS_SIZE(struct loaded_ring_args, 32);

struct loaded_stream {
    uint64_t bytes, ns; /* of one warp, while the chase was timed */
};

struct loaded_chase_args {
    char *ring;
    struct permutation order;
    uint64_t start;       /* step of the ring at which the chase begins */
    const void *in;       /* what the other SMs read */
    uint32_t elements;    /* that a warp wraps round in, 16 bytes each; a power of two */
    uint32_t base;        /* elements from one warp's range to the next one's; 0: all share one */
    uint32_t apart;       /* elements from one warp's first turn to the next warp's */
    uint32_t step;        /* elements from one turn of a warp to its next */
    uint32_t interval;    /* cycles between two turns of a warp; 0: as fast as it can */
    uint32_t streams;     /* 0: the other SMs stay idle */
    uint32_t warm_laps;   /* of the ring, before the chase */
    struct chase_sample *samples;
    struct chase_result *result;
    struct loaded_stream *streamed; /* LOAD_WARPS for each block */
    uint32_t *arrived;    /* each block adds one */
    uint32_t *word;       /* what the chasing SM tells the others */
    uint32_t ticket;      /* 1, 2, 3 ... over all launches */
    uint32_t sm;          /* %smid on which to chase */
    uint32_t repeats;
};
ARGS_SIZE(struct loaded_chase_args, 136);

#endif
