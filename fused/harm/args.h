/* Arguments of the kernels in harm.cu and spills.cu, for C and CUDA alike. */
#ifndef FUSED_HARM_ARGS_H
#define FUSED_HARM_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum {
    HARM_STREAM_THREADS = 128,
    HARM_ROW_THREADS = 1024,
    HARM_ROW_COLUMNS = 131072, /* of a wide row: 128 a thread */
    HARM_CLUSTER = 8, /* blocks that share a wide row */
    HARM_CLUSTER_THREADS = 512,
    HARM_PHASE_THREADS = 256,
    HARM_TILE = 24576, /* fp32: 96 KiB of shared memory */
    HARM_TRIALS = 256, /* multiply-adds a vector of the compute-bound kernel */
};

struct harm_args {
    const void *in;
    void *out;
    void *aside;    /* between two kernels */
    const void *in2; /* the second phase's */
    void *out2;
    uint64_t stride; /* in elements: from one stream or row to the next */
    uint32_t rows, columns; /* streams and elements of each; rows and columns; tiles and vectors */
    uint32_t parts;         /* blocks that share a row */
    uint32_t pad;
};
ARGS_SIZE(struct harm_args, 64);

/* What the fp64 kernel makes again: softmax over streams or rows, a row over its root mean square,
 * a tile reversed, multiply-adds. */
enum harm_what { HARM_STREAMS, HARM_WIDE, HARM_SERIAL, HARM_REVERSED, HARM_SCALED, HARM_TRIED };

struct harm_verify_args {
    const void *in, *out;
    struct verdict *verdict;
    uint64_t stride;
    uint32_t rows, columns, what;
    uint32_t step; /* every so many columns of a row */
};
ARGS_SIZE(struct harm_verify_args, 48);

#endif
