/* Arguments of the kernels in norm.cu, for C and CUDA alike. */
#ifndef FUSED_NORM_ARGS_H
#define FUSED_NORM_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    NORM_VECTOR = 8,  /* numbers in one 16-byte access */
    NORM_VECTORS = 4, /* accesses of a thread in flight at a time, for each operand */
    NORM_COLS_MAX = 1024 * NORM_VECTORS * NORM_VECTOR, /* columns that a block's registers hold */
    NORM_WARP_COLS = 32 * NORM_VECTORS * NORM_VECTOR,  /* ... that a warp's registers hold */
    NORM_WARP_ROWS = 8,         /* rows of a block in which every warp has a row of its own */
    NORM_FEW_VECTORS = 1024,    /* few rows: a block per row of up to this length; */
    NORM_CLUSTER_THREADS = 512, /* longer rows are shared by blocks with this many threads, */
    NORM_CLUSTER_MAX = 8,       /* by at most this many blocks */
    NORM_THREADS = 256,         /* in a block of the elementwise kernels */
    NORM_SMALL_THREADS = 64,
    NORM_PASS_THREADS = 256, /* in a block of the kernels that read a row several times */
};

struct norm_args {
    const void *in;       /* rows x cols fp16 or bf16, row-major, 16-byte aligned */
    const void *residual; /* likewise */
    const void *weight;   /* cols of the same type */
    const void *bias;     /* likewise */
    void *sum;            /* rows x cols: in + residual, rounded */
    void *out;            /* rows x cols, or codes of a byte */
    float *scale;         /* one per row: a number is its code times this */
    float *mean, *factor; /* one per row: passed between the three kernels of a LayerNorm */
    uint32_t rows, row_vectors; /* cols / 8 */
    float epsilon, one_over_cols;
    uint32_t cluster; /* blocks that share a row, a power of two */
    uint32_t keep;    /* see fused/common/load_group.cuh */
};
ARGS_SIZE(struct norm_args, 96);

#endif
