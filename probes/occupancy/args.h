/* Arguments of the kernels in occupancy.cu, for C and CUDA alike. */
#ifndef PROBES_OCCUPANCY_ARGS_H
#define PROBES_OCCUPANCY_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    OCCUPANCY_STAGES = 4,         /* of the rings that asynchronous copies fill */
    OCCUPANCY_RING_BYTES = 16384, /* of the ring in shared memory that is chased */
    OCCUPANCY_STEPS = 8,          /* per chain and turn of the chase's loop */
};

/* Reading by any path. The whole grid reads a contiguous range in each turn. */
struct occupancy_args {
    const void *in;    /* 16-byte elements, a power of two of them */
    uint32_t *check;   /* every word read is XORed into it, or NULL */
    uint32_t *census;  /* blocks that each SM ran, or NULL */
    uint32_t mask;     /* elements - 1 */
    uint32_t first;    /* element at which this launch begins */
    uint32_t turns;    /* of the loop: each reads LOADS elements per thread or a stage per block */
    uint32_t stage;    /* bytes of a stage of the ring, for the asynchronous paths */
};
ARGS_SIZE(struct occupancy_args, 40);

/* A ring of rows for the chase. Row i holds one element for each of 32 lanes, `stride` elements
 * apart; each element is the address of the same lane's element in row i + 1. The rows go round the
 * layers: row i is number i / layers of layer i % layers. Layers start `pitch` bytes apart. */
struct occupancy_ring {
    char *base; /* NULL for the ring in shared memory */
    uint64_t pitch;
    uint32_t rows, layers, stride;
    uint32_t element; /* its bytes: 8 in global, 4 in shared memory */
};
ARGS_SIZE(struct occupancy_ring, 32);

struct occupancy_chase_args {
    struct occupancy_ring ring;
    uint32_t *wrong;  /* counts the chains that ended at a wrong place */
    uint32_t *census; /* blocks that each SM ran, or NULL */
    uint32_t turns, pad;
};
ARGS_SIZE(struct occupancy_chase_args, 56);

/* How many blocks are resident on an SM at once. */
struct occupancy_reside_args {
    uint32_t *alive, *most; /* one per SM, zero before the launch */
    uint64_t *last;         /* one per SM: arrival of the last block; zero before the launch */
    const uint32_t *in;     /* one word for each register to keep in use */
    uint32_t *sink;         /* never written */
    uint64_t settle_ns;     /* how long no block may have come before one leaves */
    uint64_t budget_ns;     /* the longest that a block waits */
    uint32_t stack_bytes;   /* local memory per thread in occupancy_reside_stack */
    uint32_t pad;
};
ARGS_SIZE(struct occupancy_reside_args, 64);

#endif
