/* cuBLAS, the strong baseline, behind a plugin: build/bin/blas.so is opened with dlopen, so that
 * probes start where cuBLAS is not installed. The plugin links no CUDA runtime of its own. */
#ifndef GPUFLOOR_BLAS_H
#define GPUFLOOR_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/probe.h"

enum blas_type { BLAS_FP16, BLAS_BF16 };

/* C = A x B, all row-major, fp32 accumulation. layout: "nn" A is m x k and B is k x n; "tn" A is
 * stored transposed, k x m; "nt" B is stored transposed, n x k. Leading dimensions are the row
 * lengths as stored. */
struct blas_gemm {
    enum blas_type type;
    char layout[3];
    int m, n, k;
    const void *a, *b;
    void *c;
    void *workspace; /* device memory; cuBLAS may use all of it */
    size_t workspace_bytes;
    void *stream;    /* a cudaStream_t; the call is asynchronous and can be captured */
};

struct blas; /* an open plugin with one cuBLAS handle */

/* NULL, with one line in why, where the plugin, cuBLAS or a GPU is not to be had. */
struct blas *blas_open(struct probe_run *r, char *why, size_t size);
void blas_gemm(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm);
const char *blas_version(const struct blas *blas); /* "13.1.0" */

/* What the plugin exports. gemm returns 0 or a cublasStatus_t. */
struct blas_plugin {
    int (*open)(void);
    int (*gemm)(const struct blas_gemm *gemm);
    const char *(*version)(void);
};
#define BLAS_PLUGIN_SYMBOL "gpufloor_blas"

#endif
