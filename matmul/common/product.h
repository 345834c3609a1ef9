/* A matrix product in device memory, however it is computed: its operands, and a judgement of the
 * result. C = A x B, all row-major; the layouts are those of core/blas.h:
 *
 *     "nn"  A is m x k,            B is k x n
 *     "tn"  A is stored as k x m,  B is k x n
 *     "nt"  A is m x k,            B is stored as n x k
 *
 * Elements come from N(0,1) and are rounded to 16 bits before any reference is computed. A result
 * is right when each output satisfies
 *
 *     |c - sum a b|  <=  2 u |sum a b|  +  8 sqrt(k) 2^-24 sum |a b|
 *
 * and the relative Frobenius norm of the whole error is below PRODUCT_ERROR. Here u is half an ulp
 * of the type: one u is for rounding the result, the rest is for fp32 sums. The factor 8 is there
 * because tensor cores truncate while they add. fp64 on the GPU checks the whole tensor. fp64 on
 * the CPU checks all of a small one, else up to 4096 random places, the corners, and places along
 * the last row and the last column. */
#ifndef MATMUL_COMMON_PRODUCT_H
#define MATMUL_COMMON_PRODUCT_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum { PRODUCT_TILE = 16 }; /* a block of the verifier checks this many outputs along each side */

struct product_verify_args {
    const void *a, *b, *c;           /* 16-bit elements */
    struct verdict *verdict;         /* zeroed */
    uint64_t a_row, a_column;        /* elements from one row, one column of A to the next */
    uint64_t b_row, b_column;
    uint64_t c_row;
    uint32_t m, n, k;
    uint32_t every; /* 1: all tiles of C; N: every N-th, and all in its last row and column */
};
ARGS_SIZE(struct product_verify_args, 88);

#ifndef __CUDACC__

#include "core/gpu.h"

struct product_shape {
    int m, n, k;
    enum gpu_type type;   /* GPU_FP16 or GPU_BF16 */
    const char *layout;   /* "nn", "tn" or "nt" */
    int lda, ldb, ldc;    /* elements from one stored row to the next; 0: packed */
    int a_shift, b_shift; /* elements from a 256-byte boundary to the operands */
};

/* With a greater relative error the accumulation was not in fp32. */
#define PRODUCT_ERROR(type) ((type) == GPU_FP16 ? 5e-4 : 4e-3)

struct product {
    struct product_shape shape; /* with the three ld filled in */
    size_t sets;                /* operands and results, each set in memory of its own */
    char *a, *b, *c;            /* set 0 */
    size_t a_step, b_step, c_step; /* bytes from one set to the next */
    /* private */
    char *memory[3];
    size_t bytes[3];
    size_t n_outputs; /* outputs that the CPU computes, too */
    size_t *outputs;  /* row * n + column of each */
    double *reference;
};

/* Allocates and fills. sets 0: as many as amount to 3 x the L2, at most 64. */
struct product product_new(struct probe_run *r, const struct product_shape *shape, size_t sets);
void product_free(struct probe_run *r, struct product *p);
/* If it goes round its sets: do 3 x the L2 lie between two uses of one? */
bool product_is_cold(const struct probe_run *r, const struct product *p);

/* The product that --set gives. False where it gives none; a usage error where it cannot be had. */
#define PRODUCT_SIZES                                                                              \
    {.name = "m", .min = 0, .max = INT32_MAX,                                                      \
     .what = "rows of A and C: a product to be measured by all ways"},                             \
    {.name = "n", .min = 0, .max = INT32_MAX, .what = "columns of B and C"},                       \
    {.name = "k", .min = 0, .max = INT32_MAX, .what = "columns of A, rows of B"}
bool product_asked(struct probe_run *r, struct product_shape *shape);
const char *product_why_refused(int64_t m, int64_t n, int64_t k); /* NULL: it is not */

bool product_is_long(const struct product_shape *shape); /* a few of them take milliseconds */

/* Bytes of A, B and C together: the least that a product must move. */
double product_bytes(const struct product_shape *shape);

/* Writes NaN into every result, and between the rows where ldc > n. */
void product_poison(struct probe_run *r, const struct product *p);

/* Compares set 0's result with fp64, without judging. */
struct verdict product_run_verifier(struct probe_run *r, const struct product *p);

/* The same with judgement, by probe_require: both bounds, what lies between the rows, and in full
 * runs the outputs that the CPU computed. Returns the relative error. */
double product_verify(struct probe_run *r, const struct product *p, const char *when);
#endif

#endif
