/* Arguments of the kernels in two_gemv.cu, for C and CUDA alike. */
#ifndef FUSED_TWO_GEMV_ARGS_H
#define FUSED_TWO_GEMV_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/verdict.h"

enum {
    TWO_THREADS = 256,
    TWO_BLOCKS = 2,           /* on each SM, of the kernels that stay */
    TWO_GAP = 20,             /* vectors between the sums of two blocks */
    TWO_TOGETHER = 5,         /* sums of blocks that a lane asks for at a time */
    TWO_ROWS = 2,             /* of a block, in the kernels that come and go */
    TWO_LOADS = 4,
};

/* y = W2 silu(scale W1 x). */
struct two_gemv_args {
    const void *up;     /* W1: hidden x model, bf16 */
    const void *down;   /* W2: model x hidden, or its transpose in the kernels that split it */
    const void *x;      /* model */
    void *h;            /* hidden: the intermediate, where it goes through memory */
    void *y;            /* model */
    void *partial;      /* blocks x (model / 4 + TWO_GAP) vectors: sums of y, block by block */
    struct grid_barrier_state *barrier;
    uint32_t model, hidden;
    float scale;
    uint32_t has_activation; /* two_gemv_up: else the product alone */
};
ARGS_SIZE(struct two_gemv_args, 72);

struct two_gemv_verify_args {
    const void *up, *down, *x, *y;
    double *h; /* hidden: in fp64, by two_gemv_reference */
    struct verdict *verdict;
    uint32_t model, hidden;
    float scale;
    uint32_t roundings; /* of the intermediate, to bf16 */
};
ARGS_SIZE(struct two_gemv_verify_args, 64);

struct two_gemv_transpose_args {
    const void *from; /* rows x columns */
    void *to;
    uint32_t rows, columns;
};
ARGS_SIZE(struct two_gemv_transpose_args, 24);

#endif
