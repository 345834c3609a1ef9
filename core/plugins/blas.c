/* blas.so: cuBLAS for core/blas.h. Row-major products are column-major ones of the transposes:
 * C^T = B^T A^T, so A and B change places. */
#include "core/blas.h"

#include <cublas_v2.h>
#include <stdio.h>

static cublasHandle_t handle;

static int open_handle(void)
{
    return handle ? 0 : (int)cublasCreate(&handle);
}

static int gemm(const struct blas_gemm *g)
{
    static const float one = 1, zero = 0;
    const cudaDataType_t type = g->type == BLAS_FP16 ? CUDA_R_16F : CUDA_R_16BF;
    const bool a_transposed = g->layout[0] == 't', b_transposed = g->layout[1] == 't';

    /* Setting a stream resets the workspace: in this order. */
    cublasStatus_t status = cublasSetStream(handle, (cudaStream_t)g->stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetWorkspace(handle, g->workspace, g->workspace_bytes);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasGemmEx(handle, b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                         a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, g->n, g->m, g->k, &one, g->b,
                         type, b_transposed ? g->k : g->n, g->a, type, a_transposed ? g->m : g->k,
                         &zero, g->c, type, g->n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return (int)status;
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
const struct blas_plugin gpufloor_blas = {.open = open_handle, .gemm = gemm, .version = version};
