/* Arguments of the kernels in epilogue.cu, for C and CUDA alike. */
#ifndef FUSED_EPILOGUE_ARGS_H
#define FUSED_EPILOGUE_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"
#include "fused/epilogue/mma.h"

enum {
    PASS_THREADS = 256,
    PASS_ROWS = 4, /* of a thread, 16 bytes of each, in flight at a time */
    PASS_SMALL_THREADS = 64,
    ROWS_THREADS = 256, /* at most, of the product with a vector */
    REFERENCE_TILE = 16, /* outputs along each side of what a block of the reference computes */
};

/* One operator, or all at once, over a matrix in memory; out may be in. Flags are in the name. */
struct pass_args {
    const void *in;       /* rows x 8 * row_vectors 16-bit elements */
    void *out;            /* likewise, or int8 */
    const void *bias, *residual;
    uint32_t rows, row_vectors;
    float scale;
    uint32_t pad;
};
ARGS_SIZE(struct pass_args, 48);

/* Three matrices of the same rows, side by side in one, into three packed ones. */
struct split_args {
    const void *from;
    void *to[3];
    uint32_t rows, pad;
    uint32_t end[3]; /* vectors of 16 bytes in a row up to the end of each part */
    uint32_t pad2;
};
ARGS_SIZE(struct split_args, 56);

struct shrink_args {
    void *memory; /* 16-bit elements, to be multiplied by 2^-6: a layer's outputs are of order 1 */
    uint64_t elements;
};

/* Sums of a product in fp64, and of its absolute terms: what the bound of an output needs. */
struct reference_sum {
    double sum, absolute;
};

struct reference_args {
    const void *a, *w;         /* m x k and n x k, packed */
    struct reference_sum *sum; /* looked x n */
    uint32_t m, n, k;
    uint32_t looked;           /* rows looked at, of m */
    uint32_t gelu_in;          /* GELU of A first, rounded to its type */
    uint32_t pad;
};
ARGS_SIZE(struct reference_args, 48);

enum { /* beside EPILOGUE_...: how the output came about */
    JUDGE_ERF = 16,          /* hold it against the other GELU */
    JUDGE_ROUNDED = 32,      /* the product was rounded before anything else */
    JUDGE_EACH_ROUNDED = 64, /* and so was every operator's result */
    JUDGE_APPROXIMATE = 128, /* GELU by the tanh of the hardware, 2^-11 of its argument */
};

struct judge_args {
    const struct reference_sum *sum;
    const void *out, *bias, *residual;
    struct verdict *verdict;
    uint32_t m, n, k, looked, ldc;
    uint32_t first, columns; /* of the sums: the column of output 0, and columns in a row */
    uint32_t flags;
    float scale;
    uint32_t pad;
};
ARGS_SIZE(struct judge_args, 80);

#endif
