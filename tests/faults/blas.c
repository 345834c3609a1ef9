/* A stand-in for blas.so: computes nothing. Its calls can fail as those of the runtime can, with a
 * cublasStatus_t (inject.c, a copy of its own). */
#include <string.h>

#include "core/blas.h"
#include "tests/faults/stand_in.h"

#define ENTER_BLAS(name) stand_in_enter(name, __builtin_return_address(0))

static int open_library(void)
{
    return ENTER_BLAS("blas_open");
}

static int gemm(const struct blas_gemm *g)
{
    (void)g;
    return ENTER_BLAS("blas_gemm");
}

static int gemm_batched(const struct blas_gemm *g, const struct blas_batch *batch)
{
    (void)g, (void)batch;
    return ENTER_BLAS("blas_gemm_batched");
}

static int gemv(const struct blas_gemv *g)
{
    (void)g;
    return ENTER_BLAS("blas_gemv");
}

static void *plan(const struct blas_gemm *g, int *choices)
{
    (void)g;
    *choices = 1;
    return NULL;
}

static int plan_gemm(const void *opaque, int i, const struct blas_gemm *g)
{
    (void)opaque, (void)i, (void)g;
    return ENTER_BLAS("blas_plan_gemm");
}

static void plan_free(void *opaque)
{
    (void)opaque;
}

static const char *version(void)
{
    return "0.0.0";
}

extern const struct blas_plugin gpufloor_blas;
__attribute__((visibility("default"))) const struct blas_plugin gpufloor_blas = {
    open_library, gemm, gemm_batched, gemv, plan, plan_gemm, plan_free, version};
