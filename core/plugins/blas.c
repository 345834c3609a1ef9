/* blas.so: cuBLAS and cuBLASLt for core/blas.h. Row-major products are column-major ones of the
 * transposes: C^T = B^T A^T, so A and B change places. */
#include "core/blas.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static cublasHandle_t handle;
static cublasLtHandle_t handle_lt;
static const float one = 1, zero = 0;
static const uint16_t one_fp16 = 0x3c00, zero_fp16 = 0;

static int open_handles(void)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (!handle)
        status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) /* partial sums of split-K: else they are rounded */
        status = cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH |
                                               CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status == CUBLAS_STATUS_SUCCESS && !handle_lt)
        status = cublasLtCreate(&handle_lt);
    return (int)status;
}

/* --- what both libraries ask for ------------------------------------------------------------- */

/* A matrix as cuBLAS sees it: column-major, so the rows that we store are its columns. */
struct matrix {
    cublasOperation_t op;
    uint64_t rows, columns; /* as stored */
    int ld;
};

static struct matrix matrix_of(bool transposed, int rows, int columns, int ld)
{
    int stored_rows = transposed ? columns : rows, stored_columns = transposed ? rows : columns;
    return (struct matrix){.op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                           .rows = (uint64_t)stored_columns,
                           .columns = (uint64_t)stored_rows,
                           .ld = ld ? ld : stored_columns};
}

static struct matrix matrix_a(const struct blas_gemm *g)
{
    return matrix_of(g->layout[0] == 't', g->m, g->k, g->lda);
}

static struct matrix matrix_b(const struct blas_gemm *g)
{
    return matrix_of(g->layout[1] == 't', g->k, g->n, g->ldb);
}

static cudaDataType_t type_of(const struct blas_gemm *g)
{
    return g->type == BLAS_FP16 ? CUDA_R_16F : CUDA_R_16BF;
}

static bool in_fp16(const struct blas_gemm *g)
{
    return g->accumulate == BLAS_IN_FP16;
}

/* --- cuBLAS ---------------------------------------------------------------------------------- */

static int gemm(const struct blas_gemm *g)
{
    const struct matrix a = matrix_a(g), b = matrix_b(g);
    const void *alpha = in_fp16(g) ? (const void *)&one_fp16 : &one;
    const void *beta = in_fp16(g) ? (const void *)&zero_fp16 : &zero;

    /* Setting a stream resets the workspace: keep this order. */
    cublasStatus_t status = cublasSetStream(handle, (cudaStream_t)g->stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetWorkspace(handle, g->workspace, g->workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasGemmEx(handle, b.op, a.op, g->n, g->m, g->k, alpha, g->b, type_of(g), b.ld, g->a,
                         type_of(g), a.ld, beta, g->c, type_of(g), g->ldc ? g->ldc : g->n,
                         in_fp16(g) ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return (int)status;
}

static int gemm_batched(const struct blas_gemm *g, const struct blas_batch *batch)
{
    const struct matrix a = matrix_a(g), b = matrix_b(g);

    if (in_fp16(g))
        return (int)CUBLAS_STATUS_NOT_SUPPORTED;
    cublasStatus_t status = cublasSetStream(handle, (cudaStream_t)g->stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetWorkspace(handle, g->workspace, g->workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasGemmStridedBatchedEx(
            handle, b.op, a.op, g->n, g->m, g->k, &one, g->b, type_of(g), b.ld, batch->b, g->a,
            type_of(g), a.ld, batch->a, &zero, g->c, type_of(g), g->ldc ? g->ldc : g->n, batch->c,
            batch->count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return (int)status;
}

/* The header declares these two for C++ only, because of the types of their elements. */
typedef cublasStatus_t gemv_batches(cublasHandle_t, cublasOperation_t, int m, int n,
                                    const float *alpha, const void *a, int lda, long long stride_a,
                                    const void *x, int step_x, long long stride_x,
                                    const float *beta, void *y, int step_y, long long stride_y,
                                    int batches);
gemv_batches cublasHSHgemvStridedBatched, cublasTSTgemvStridedBatched;

static int gemv(const struct blas_gemv *g)
{
    gemv_batches *multiply =
        g->type == BLAS_FP16 ? cublasHSHgemvStridedBatched : cublasTSTgemvStridedBatched;
    cublasStatus_t status = cublasSetStream(handle, (cudaStream_t)g->stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = multiply(handle, CUBLAS_OP_T, g->columns, g->rows, &one, g->a, g->columns, 0, g->x,
                          1, 0, &zero, g->y, 1, 0, 1);
    return (int)status;
}

/* --- cuBLASLt -------------------------------------------------------------------------------- */

enum { CHOICES = 64 };

struct plan {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulHeuristicResult_t choice[CHOICES];
    int n;
};

static void plan_free(void *opaque)
{
    struct plan *p = opaque;
    if (!p)
        return;
    cublasLtMatrixLayoutDestroy(p->a);
    cublasLtMatrixLayoutDestroy(p->b);
    cublasLtMatrixLayoutDestroy(p->c);
    cublasLtMatmulDescDestroy(p->product);
    free(p);
}

/* The alignment of an address in bytes, up to what matters to cuBLASLt. */
static uint32_t alignment_of(const void *p)
{
    uintptr_t lowest = (uintptr_t)p & -(uintptr_t)p;
    return lowest == 0 || lowest > 256 ? 256 : (uint32_t)lowest;
}

/* The bias runs along the rows of a column-major result, which are our columns. */
static bool set_epilogue(const struct plan *p, const struct blas_epilogue *e)
{
    const cublasLtEpilogue_t epilogue = e->gelu && e->bias ? CUBLASLT_EPILOGUE_GELU_BIAS
                                        : e->gelu          ? CUBLASLT_EPILOGUE_GELU
                                        : e->bias          ? CUBLASLT_EPILOGUE_BIAS
                                                           : CUBLASLT_EPILOGUE_DEFAULT;
    return cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                          sizeof epilogue) == 0 &&
           (!e->bias ||
            cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &e->bias,
                                           sizeof e->bias) == 0);
}

static bool describe(struct plan *p, const struct blas_gemm *g)
{
    const struct matrix a = matrix_a(g), b = matrix_b(g);
    const cudaDataType_t type = type_of(g);

    return cublasLtMatmulDescCreate(&p->product,
                                    in_fp16(g) ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F,
                                    in_fp16(g) ? CUDA_R_16F : CUDA_R_32F) == 0 &&
           cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &b.op,
                                          sizeof b.op) == 0 &&
           cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSB, &a.op,
                                          sizeof a.op) == 0 &&
           set_epilogue(p, &g->epilogue) &&
           cublasLtMatrixLayoutCreate(&p->b, type, b.rows, b.columns, b.ld) == 0 &&
           cublasLtMatrixLayoutCreate(&p->a, type, a.rows, a.columns, a.ld) == 0 &&
           cublasLtMatrixLayoutCreate(&p->c, g->c_is_fp32 ? CUDA_R_32F : type, (uint64_t)g->n,
                                      (uint64_t)g->m, g->ldc ? g->ldc : g->n) == 0;
}

/* The limits within which the heuristic answers; cuBLASLt's own A is our B. */
static bool prefer(cublasLtMatmulPreference_t preference, const struct blas_gemm *g)
{
    const uint32_t a = alignment_of(g->b), b = alignment_of(g->a), c = alignment_of(g->c);
    const uint32_t reductions = in_fp16(g) ? CUBLASLT_REDUCTION_SCHEME_MASK
                                           : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t size;
    } limits[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &g->workspace_bytes, sizeof g->workspace_bytes},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (cublasLtMatmulPreferenceSetAttribute(preference, limits[i].name, limits[i].value,
                                                 limits[i].size) != 0)
            return false;
    return true;
}

static void *plan_of(const struct blas_gemm *g, int *choices)
{
    struct plan *p = calloc(1, sizeof *p);
    cublasLtMatmulPreference_t preference = NULL;

    *choices = 0;
    if (!p || !describe(p, g) || cublasLtMatmulPreferenceCreate(&preference) != 0) {
        plan_free(p);
        return NULL;
    }
    if (!prefer(preference, g) ||
        cublasLtMatmulAlgoGetHeuristic(handle_lt, p->product, p->b, p->a, p->c, p->c, preference,
                                       CHOICES, p->choice, &p->n) != 0)
        p->n = 0;
    cublasLtMatmulPreferenceDestroy(preference);
    *choices = p->n;
    return p;
}

static int plan_gemm(const void *opaque, int i, const struct blas_gemm *g)
{
    const struct plan *p = opaque;
    const void *const added = g->epilogue.added;
    const void *none = in_fp16(g) ? (const void *)&zero_fp16 : &zero;
    const void *whole = in_fp16(g) ? (const void *)&one_fp16 : &one;

    if (p->choice[i].state != CUBLAS_STATUS_SUCCESS)
        return (int)p->choice[i].state;
    if (!set_epilogue(p, &g->epilogue))
        return (int)CUBLAS_STATUS_INVALID_VALUE;
    return (int)cublasLtMatmul(handle_lt, p->product, whole, g->b, p->b, g->a, p->a,
                               added ? whole : none, added ? added : g->c, p->c, g->c, p->c,
                               &p->choice[i].algo, g->workspace, g->workspace_bytes,
                               (cudaStream_t)g->stream);
}

static const char *version(void)
{
    static char text[32];
    int major = 0, minor = 0, patch = 0;
    cublasGetProperty(MAJOR_VERSION, &major);
    cublasGetProperty(MINOR_VERSION, &minor);
    cublasGetProperty(PATCH_LEVEL, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

extern __attribute__((visibility("default"))) const struct blas_plugin gpufloor_blas;
const struct blas_plugin gpufloor_blas = {
    .open = open_handles,
    .gemm = gemm,
    .gemm_batched = gemm_batched,
    .gemv = gemv,
    .plan = plan_of,
    .plan_gemm = plan_gemm,
    .plan_free = plan_free,
    .version = version,
};
