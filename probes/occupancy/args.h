/* Arguments of the kernels in occupancy.cu, for C and CUDA alike. */
#ifndef PROBES_OCCUPANCY_ARGS_H
#define PROBES_OCCUPANCY_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    OCCUPANCY_STAGES = 4,         /* of the rings into which asynchronous copies go */
    OCCUPANCY_RING_BYTES = 16384, /* of the ring in shared memory that is chased */
    OCCUPANCY_STEPS = 8,          /* of each chain in a turn of the chase's loop */
};

/* Reading by any path. What a turn reads, over the whole grid, is contiguous. */
struct occupancy_args {
    const void *in;    /* 16-byte elements, a power of two of them */
    uint32_t *check;   /* every word read is XORed into it, or NULL */
    uint32_t *census;  /* blocks that each SM ran, or NULL */
    uint32_t mask;     /* elements - 1 */
    uint32_t first;    /* element at which this launch begins */
    uint32_t turns;    /* of the loop: each reads LOADS elements a thread, or a stage a block */
    uint32_t stage;    /* bytes of a stage of the ring, for the asynchronous paths */
};
ARGS_SIZE(struct occupancy_args, 40);

/* A ring of rows for the chase: row i holds one element for each of 32 lanes, `stride` elements
 * apart, and each is the address of the same lane's element in row i + 1. Rows go round the layers:
 * row i is the (i / layers)-th of layer i % layers, and layers start `pitch` bytes apart. */
struct occupancy_ring {
    char *base; /* NULL for the ring in shared memory */
    uint64_t pitch;
    uint32_t rows, layers, stride;
    uint32_t element; /* its bytes: 8 in global, 4 in shared memory */
};
ARGS_SIZE(struct occupancy_ring, 32);

struct occupancy_chase_args {
    struct occupancy_ring ring;
    uint32_t *wrong;  /* counts the chains that did not end where they must */
    uint32_t *census; /* blocks that each SM ran, or NULL */
    uint32_t turns, pad;
};
ARGS_SIZE(struct occupancy_chase_args, 56);

/* How many blocks live on an SM at once. */
struct occupancy_reside_args {
    uint32_t *alive, *most; /* one an SM, zero before the launch */
    uint64_t *last;         /* one an SM: when the last block came, zero before the launch */
    const uint32_t *in;     /* one word for each register that is to be kept */
    uint32_t *sink;         /* never written */
    uint64_t settle_ns;     /* for how long no block may have come before one leaves */
    uint64_t budget_ns;     /* and for how long one waits at most */
    uint32_t stack_bytes;   /* of local memory for each thread, by occupancy_reside_stack */
    uint32_t pad;
};
ARGS_SIZE(struct occupancy_reside_args, 64);

#endif
