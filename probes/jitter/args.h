/* Arguments of the kernels in jitter.cu, for C and CUDA alike. */
#ifndef PROBES_JITTER_ARGS_H
#define PROBES_JITTER_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    TINY_THREADS = 32,
    LAYER_STEPS = 8,                 /* dependent kernels of one layer */
    LAYER_BYTES = 4 << 20,           /* that each of them reads: 32 MiB in all, which fit the L2 */
    LAYER_THREADS = 256,
    RIVAL_THREADS = 512,
};

struct tiny_args {
    uint32_t *count; /* counts the steps done */
    uint32_t steps;  /* 1 if every step is a launch */
    uint32_t pad;
};
ARGS_SIZE(struct tiny_args, 16);

struct stamp { /* of one layer or one item, %globaltimer */
    uint64_t begin, end;
};

struct layer_args {
    const void *weights;  /* LAYER_STEPS x LAYER_BYTES */
    uint32_t *values[2];  /* one per block; a step reads one and writes the other */
    struct stamp *stamps; /* one per layer */
    uint32_t *turns;      /* one per block: layers finished, which picks the stamp */
    struct grid_barrier_state *barrier;
    uint32_t first, steps; /* of the layer, in this launch */
};
ARGS_SIZE(struct layer_args, 56);

struct item_args {
    struct stamp *stamps; /* mapped; one per block */
    uint64_t work_ns;
};
ARGS_SIZE(struct item_args, 16);

struct rival_args {
    const void *in;  /* the streamer's, elements x 16 bytes */
    uint32_t *sink;  /* never written */
    uint32_t elements, turns;
};
ARGS_SIZE(struct rival_args, 24);

#endif
