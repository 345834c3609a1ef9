/* Arguments and tile tables of the product with an epilogue in mma.cu, compute capability
 * 8.0 and up, for C host code and CUDA alike.
 *
 *     C = finish(act(A) x W^T),   finish(z) = quantised(gelu(z + bias) + residual),
 *
 * each if asked for.
 *
 * A is m x k, W is n x k: a linear layer as its weights lie in memory. What is done to the product
 * is an argument, not another kernel: with no flag it is the plain product, and the difference
 * between two launches is the epilogue alone. Only the activation of A, in the main loop, is a
 * kernel of its own. A launch can compute up to three products of one A, the grouped form of Q, K
 * and V. */
#ifndef FUSED_EPILOGUE_MMA_H
#define FUSED_EPILOGUE_MMA_H

#include <stdint.h>

#include "core/args.h"

enum { /* what is done to the sums, in this order */
    EPILOGUE_BIAS = 1,     /* + bias of the column */
    EPILOGUE_GELU = 2,     /* tanh form */
    EPILOGUE_RESIDUAL = 4, /* + the element of a matrix like C */
    EPILOGUE_QUANTISE = 8, /* x scale, rounded to nearest even, int8, saturated */
};

enum { MMA_EPILOGUE_PARTS = 3 };

struct mma_epilogue_part {
    void *c;        /* m x columns */
    uint32_t first; /* the column of the grid, in tiles, at which this part begins; rising */
    uint32_t ldc;   /* elements from one row of C to the next; a multiple of 8, of 16 for int8 */
};

struct mma_epilogue_args {
    const void *a;        /* m x k; readable up to whole tiles of rows */
    const void *b;        /* W, of all products on top of each other; a multiple of n rows each */
    const void *bias;     /* an element for each column of the whole grid */
    const void *residual; /* like C of the first part */
    struct mma_epilogue_part part[MMA_EPILOGUE_PARTS]; /* unused ones begin at ~0 */
    uint32_t m, k, lda, ldb; /* k a multiple of 64, lda and ldb of 8 */
    uint32_t flags;
    float scale;
};
ARGS_SIZE(struct mma_epilogue_args, 104);

/* The columns are those of mma_shape in core/device/mma_ring.cuh; k_step is 64. Kernels are
 * mma_epilogue_bf16_<m>x<n>, and mma_epilogue_bf16_<m>x<n>_gelu_in for rows of the second table.
 * The grid is n / tile n blocks across and m / tile m down, rounded up. Where A is activated no two
 * warps share rows of A, or each would do it. */
/* clang-format off */
#define MMA_EPILOGUE_TILES(X) \
    /*  m,   n, stages, wm, wn, wk, blocks */ \
    X(256, 128,      3,  4,  2,  1,      1) \
    X(128, 128,      3,  2,  2,  1,      1) \
    X( 64,  64,      5,  1,  1,  2,      2) \
    X( 32,  32,      8,  1,  1,  2,      2)
#define MMA_EPILOGUE_GELU_IN_TILES(X) \
    X(128, 128,      3,  8,  1,  1,      1) \
    X( 64,  64,      5,  2,  1,  2,      1)
/* clang-format on */

#ifndef __CUDACC__
/* A row of them as the host needs it: sizes in elements, shared memory of a block in bytes. */
struct mma_epilogue_tile {
    const char *name;
    uint32_t m, n, threads, shared;
};
#endif

#endif
