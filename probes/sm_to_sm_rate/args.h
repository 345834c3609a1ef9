/* Arguments of the kernels in sm_to_sm_rate.cu, for C and CUDA alike. */
#ifndef PROBES_SM_TO_SM_RATE_ARGS_H
#define PROBES_SM_TO_SM_RATE_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    RATE_THREADS = 1024,
    RATE_ROW = RATE_THREADS * 16,     /* bytes of one load by all threads of a block: 16 KiB */
    WINDOW_ROWS = 4,                  /* rows of a block's shared memory that another block uses */
    WINDOW_BYTES = WINDOW_ROWS * RATE_ROW,
    CHUNK_BYTES = 8 << 10,            /* of one bulk copy */
    CHUNKS = WINDOW_BYTES / CHUNK_BYTES,
    SLAB_LOADS = 4,                   /* loads in flight per thread that reads a slab */
};

struct stream_args {
    uint32_t *errors; /* threads that got, or found, a wrong value */
    uint32_t *sm;     /* %smid of every block */
    uint64_t budget_ns;
    uint32_t turns;   /* an even number; each moves WINDOW_BYTES per block */
    uint32_t active;  /* clusters that move data; the others wait */
    uint32_t movers;  /* blocks of such a cluster that move data */
    uint32_t seed;
};
ARGS_SIZE(struct stream_args, 40);

struct slab_args {
    void *slabs;      /* one per block, contiguous */
    struct grid_barrier_state *barrier;
    uint32_t *errors; /* threads whose sum differs from what was written in that round */
    uint32_t *sm;     /* %smid of every block */
    uint64_t *cycles; /* time that each block read, barrier to barrier, in all rounds */
    uint32_t rounds;
    uint32_t slab;    /* bytes, a multiple of twice RATE_ROW */
    uint32_t taken;   /* bytes of it that are read, a multiple of RATE_ROW */
    uint32_t shift;   /* distance in blocks to the block whose slab is read */
    uint32_t seed;
    uint32_t budget_ns;
};
ARGS_SIZE(struct slab_args, 64);

#endif
