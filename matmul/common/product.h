/* A matrix product in device memory, however it is computed: its operands, and whether the result
 * is right. C = A x B, all row-major; the layouts are those of core/blas.h:
 *
 *     "nn"  A is m x k,            B is k x n
 *     "tn"  A is stored as k x m,  B is k x n
 *     "nt"  A is m x k,            B is stored as n x k
 *
 * Elements from N(0,1), rounded to 16 bits before any reference is taken. A result is right when
 *
 *     |c - sum a b|  <=  2 u |sum a b|  +  8 sqrt(k) 2^-24 sum |a b|
 *
 * for each output, u being the half ulp of the type (one rounding of the result, the rest for fp32
 * sums; tensor cores truncate while they add, hence the 8), and when the relative Frobenius norm of
 * the whole error is below PRODUCT_ERROR. fp64 on the GPU looks at the whole tensor; fp64 on the CPU
 * at all of a small one, else at up to 4096 random places, the corners, and along the last row and
 * the last column. */
#ifndef MATMUL_COMMON_PRODUCT_H
#define MATMUL_COMMON_PRODUCT_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum { PRODUCT_TILE = 16 }; /* outputs along each side that a block of the verifier looks at */

struct product_verify_args {
    const void *a, *b, *c;           /* 16-bit elements */
    struct verdict *verdict;         /* zeroed */
    uint64_t a_row, a_column;        /* elements from one row, one column of A to the next */
    uint64_t b_row, b_column;
    uint64_t c_row;
    uint32_t m, n, k;
    uint32_t every; /* 1: all tiles of C; else one in so many, and all along its last row and column */
};
ARGS_SIZE(struct product_verify_args, 88);

#ifndef __CUDACC__

#include "core/gpu.h"

struct product_shape {
    int m, n, k;
    enum gpu_type type;   /* GPU_FP16 or GPU_BF16 */
    const char *layout;   /* "nn", "tn" or "nt" */
    int lda, ldb, ldc;    /* elements from one stored row to the next; 0: packed */
    int a_shift, b_shift; /* elements by which the operands lie beyond a 256-byte boundary */
};

/* Beyond this rate of error the accumulation was not in fp32. */
#define PRODUCT_ERROR(type) ((type) == GPU_FP16 ? 5e-4 : 4e-3)

struct product {
    struct product_shape shape; /* the three ld filled in */
    size_t sets;                /* of operands and results, each in memory of its own */
    char *a, *b, *c;            /* set 0 */
    size_t a_step, b_step, c_step; /* bytes from one set to the next */
    /* private */
    char *memory[3];
    size_t bytes[3];
    size_t n_outputs; /* that the CPU computes, too */
    size_t *outputs;  /* row * n + column of each */
    double *reference;
};

/* Allocates and fills. sets 0: as many as make 3 x the L2, at most 64. */
struct product product_new(struct probe_run *r, const struct product_shape *shape, size_t sets);
void product_free(struct probe_run *r, struct product *p);

/* Bytes of A, B and C together: what a product must move at least, once. */
double product_bytes(const struct product_shape *shape);

/* NaN in every result, and between the rows of one with ldc > n. */
void product_poison(struct probe_run *r, const struct product *p);

/* Set 0's result against fp64; no judgement. */
struct verdict product_run_verifier(struct probe_run *r, const struct product *p);

/* The same with judgement: probe_require on both bounds, on what lies between the rows, and in full
 * runs at what the CPU computed. Returns the relative error. */
double product_verify(struct probe_run *r, const struct product *p, const char *when);
#endif

#endif
