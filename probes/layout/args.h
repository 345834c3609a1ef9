/* Arguments of the kernels in layout.cu, for C and CUDA alike. */
#ifndef PROBES_LAYOUT_ARGS_H
#define PROBES_LAYOUT_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    LAYOUT_THREADS = 1024, /* per block of the streaming kernels; one block per SM */
    LAYOUT_GATHER = 16,    /* 4-byte loads of each thread in flight, strided or at random */
};

/* Streaming: in each turn a block reads, or copies, one chunk; its size is in the kernel's name.
 * All blocks walk one buffer together (area 0, step = the number of blocks), or each walks an area
 * of its own (step 1). */
struct layout_stream_args {
    const char *in;
    char *out;       /* of copies */
    uint32_t *check; /* every value read is XORed into it, or NULL */
    uint64_t pitch;  /* bytes from one chunk to the next */
    uint64_t area;   /* bytes from one block's area to the next one's */
    uint32_t mask;   /* chunks of the buffer or area, less 1; a power of two */
    uint32_t first;  /* chunk at which this launch begins */
    uint32_t turns;
    uint32_t step; /* chunks from one turn to the next */
};
ARGS_SIZE(struct layout_stream_args, 56);

/* 4 bytes of each place. Place i is element i x stride, or the i-th of the granules of `stride`
 * elements in random order; modulo the buffer. */
struct layout_gather_args {
    const uint32_t *in;
    uint32_t *check;
    uint32_t mask;   /* elements of the buffer, less 1; a power of two */
    uint32_t stride; /* elements */
    uint32_t bits;   /* 0: strided; else log2 of the number of granules, in random order */
    uint32_t first;  /* place at which this launch begins */
    uint32_t turns, pad;
};
ARGS_SIZE(struct layout_gather_args, 40);

#endif
