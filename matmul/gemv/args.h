/* Arguments of the kernels in gemv.cu, for C and CUDA alike. A vector is 16 bytes: 8 elements. */
#ifndef MATMUL_GEMV_ARGS_H
#define MATMUL_GEMV_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum {
    GEMV_VECTOR = 8,    /* elements */
    GEMV_ROWS = 2,      /* of a block */
    GEMV_LOADS = 4,     /* of each row that a thread has in flight together */
    GEMV_THREADS = 256, /* most threads of a block */
    READ_THREADS = 512,
    READ_LOADS = 4,
    VERIFY_WARPS = 8, /* in a block; each has a row */
};

struct gemv_args {
    const void *weights; /* rows x vectors, row-major, bf16 */
    const void *x;       /* vectors */
    void *y;             /* rows, bf16 */
    uint32_t rows, vectors;
};
ARGS_SIZE(struct gemv_args, 32);

struct gemv_read_args {
    const void *in;
    uint32_t *sums; /* one per block: the sum of all 32-bit words that it read; NULL: not wanted */
};
ARGS_SIZE(struct gemv_read_args, 16);

struct gemv_verify_args {
    const void *weights, *x, *y; /* of the first set; the grid's y counts sets */
    uint64_t weights_step, y_step; /* bytes from one set to the next */
    struct verdict *verdict;       /* zeroed, device memory */
    uint32_t rows, vectors;
};
ARGS_SIZE(struct gemv_verify_args, 56);

struct gemv_sum_args {
    const void *in;
    uint64_t vectors;
    uint32_t *sum; /* all 32-bit words are added to it */
};
ARGS_SIZE(struct gemv_sum_args, 24);

#endif
