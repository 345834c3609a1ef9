/* cuBLAS and cuBLASLt, the strong baselines, as a plugin. build/bin/blas.so is opened with dlopen,
 * so that probes start on machines without cuBLAS. The plugin links no CUDA runtime of its own.
 *
 * There are three ways to compute one product:
 *   - blas_gemm() runs the kernel that cublasGemmEx chooses.
 *   - blas_plan() asks cuBLASLt for all that its heuristic offers, so that a probe can measure each
 *     and keep the best. This is what "best of cuBLASLt" means in this project.
 *   - blas_gemv() is the matrix-vector product of cuBLAS.
 * blas_gemm_batched() computes many products of one shape in one call. */
#ifndef GPUFLOOR_BLAS_H
#define GPUFLOOR_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/probe.h"

enum blas_type { BLAS_FP16, BLAS_BF16 };
/* BLAS_IN_FP32 means fp32 throughout. With split-K the libraries would by default round the partial
 * sums to 16 bits; here they stay fp32. */
enum blas_accumulate { BLAS_IN_FP32, BLAS_IN_FP16 };

/* What cuBLASLt does to a product before it stores it: C = gelu(A x B + added + bias). Each part is
 * optional. Only plans can do this; cublasGemmEx cannot. */
struct blas_epilogue {
    const void *bias;  /* n elements of C's type, one per column; NULL: none */
    const void *added; /* m x n, with the row stride of C; NULL: none */
    bool gelu;         /* in the tanh form */
};

/* C = A x B, all row-major. Layouts: "nn": A is m x k and B is k x n. "tn": A is stored transposed,
 * k x m. "nt": B is stored transposed, n x k. All calls are asynchronous and can be captured in a
 * stream. */
struct blas_gemm {
    enum blas_type type; /* of A, B and C */
    enum blas_accumulate accumulate;
    char layout[3];
    int m, n, k;
    int lda, ldb, ldc; /* row strides in elements; 0: the rows are packed */
    const void *a, *b; /* device memory; their alignment decides what cuBLASLt offers */
    void *c;
    bool c_is_fp32;  /* C, and what is added, is fp32 and not of the type; of plans, without a bias
                      * and gelu */
    void *workspace; /* device memory; cuBLAS may use all of it */
    size_t workspace_bytes;
    void *stream; /* a cudaStream_t */
    struct blas_epilogue epilogue;
};

/* `count` products of one shape. a, b and c are strides: elements from one product's matrix to the
 * next one's. */
struct blas_batch {
    int count;
    long long a, b, c;
};

/* y = A x. A is row-major, rows x columns. All elements have one type; sums are in fp32. */
struct blas_gemv {
    enum blas_type type;
    int rows, columns;
    const void *a, *x;
    void *y;
    void *stream;
};

struct blas;      /* an open plugin with one handle of each library */
struct blas_plan; /* one product prepared for cuBLASLt, and its heuristic's answers */

/* NULL, with one line in why, if the plugin, cuBLAS or a GPU is not available. */
struct blas *blas_open(struct probe_run *r, char *why, size_t size);
const char *blas_version(const struct blas *blas); /* "13.1.0" */
void blas_gemm(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm);
/* Runs the kernel that cublasGemmStridedBatchedEx chooses; sums in fp32 only. */
void blas_gemm_batched(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm,
                       const struct blas_batch *batch);
void blas_gemv(struct probe_run *r, const struct blas *blas, const struct blas_gemv *gemv);

/* All that cuBLASLt's heuristic offers for the shape, strides, types and alignment of `gemm`, best
 * guess first. Never NULL: if it offers nothing, the plan is empty. */
struct blas_plan *blas_plan(struct probe_run *r, const struct blas *blas,
                            const struct blas_gemm *gemm);
int blas_plan_choices(const struct blas_plan *plan);
/* Runs choice i on the buffers of `gemm`, which must have the plan's shape and at least its
 * alignment. False if cuBLASLt refuses a choice that it offered. */
bool blas_plan_gemm(const struct blas_plan *plan, int i, const struct blas_gemm *gemm);
void blas_plan_free(struct blas_plan *plan);

/* What the plugin exports. gemm, gemm_batched, gemv and plan_gemm return 0 or a cublasStatus_t.
 * plan returns an opaque pointer, or NULL, and sets the number of choices. */
struct blas_plugin {
    int (*open)(void);
    int (*gemm)(const struct blas_gemm *gemm);
    int (*gemm_batched)(const struct blas_gemm *gemm, const struct blas_batch *batch);
    int (*gemv)(const struct blas_gemv *gemv);
    void *(*plan)(const struct blas_gemm *gemm, int *choices);
    int (*plan_gemm)(const void *plan, int i, const struct blas_gemm *gemm);
    void (*plan_free)(void *plan);
    const char *(*version)(void);
};
#define BLAS_PLUGIN_SYMBOL "gpufloor_blas"

#endif
