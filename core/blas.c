#include "core/blas.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/gpu.h"
#include "core/plugin.h"
#include "core/run.h"

struct blas {
    const struct blas_plugin *plugin;
};

struct blas_plan {
    const struct blas_plugin *plugin;
    void *opaque;
    int choices;
};

/* A cublasStatus_t in words, with its name. */
static const char *status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        {1, "the library was not initialized (CUBLAS_STATUS_NOT_INITIALIZED)"},
        {3, "out of memory (CUBLAS_STATUS_ALLOC_FAILED)"},
        {7, "an argument is invalid (CUBLAS_STATUS_INVALID_VALUE)"},
        {8, "this GPU lacks what it takes (CUBLAS_STATUS_ARCH_MISMATCH)"},
        {11, "GPU memory cannot be reached (CUBLAS_STATUS_MAPPING_ERROR)"},
        {13, "the GPU did not run it (CUBLAS_STATUS_EXECUTION_FAILED)"},
        {14, "an error inside the library (CUBLAS_STATUS_INTERNAL_ERROR)"},
        {15, "not supported (CUBLAS_STATUS_NOT_SUPPORTED)"},
    };
    for (size_t i = 0; i < PROBE_LENGTH(known); i++)
        if (known[i].status == status)
            return known[i].text;
    return "an error that has no name here";
}

static struct blas *none(struct probe_run *r, const char *why)
{
    char line[400];
    snprintf(line, sizeof line, "no row of cuBLAS or cuBLASLt: %.360s", why);
    run_lost(r, line);
    return NULL;
}

struct blas *blas_open(struct probe_run *r, char *why, size_t size)
{
    char reason[320];
    struct blas *blas = probe_host_alloc(r, sizeof *blas);

    blas->plugin = plugin_open("blas", BLAS_PLUGIN_SYMBOL, reason, sizeof reason);
    if (!blas->plugin) {
        snprintf(why, size, "cuBLAS is not to be had: %s", reason);
        return none(r, why);
    }
    int status = blas->plugin->open();
    if (status != 0) {
        snprintf(why, size, "cuBLAS did not start: %s", status_text(status));
        return none(r, why);
    }
    return blas;
}

void blas_gemm(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm)
{
    int status = blas->plugin->gemm(gemm);
    if (status != 0)
        probe_fail(r, "cuBLAS: product of %d x %d x %d failed: %s", gemm->m, gemm->n,
                   gemm->k, status_text(status));
}

void blas_gemm_batched(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm,
                       const struct blas_batch *batch)
{
    int status = blas->plugin->gemm_batched(gemm, batch);
    if (status != 0)
        probe_fail(r, "cuBLAS: %d products of %d x %d x %d failed: %s", batch->count,
                   gemm->m, gemm->n, gemm->k, status_text(status));
}

void blas_gemv(struct probe_run *r, const struct blas *blas, const struct blas_gemv *gemv)
{
    int status = blas->plugin->gemv(gemv);
    if (status != 0)
        probe_fail(r, "cuBLAS: matrix-vector product of %d x %d failed: %s", gemv->rows,
                   gemv->columns, status_text(status));
}

struct blas_plan *blas_plan(struct probe_run *r, const struct blas *blas,
                            const struct blas_gemm *gemm)
{
    struct blas_plan *plan = probe_host_alloc(r, sizeof *plan);
    plan->plugin = blas->plugin;
    plan->opaque = blas->plugin->plan(gemm, &plan->choices);
    return plan;
}

int blas_plan_choices(const struct blas_plan *plan)
{
    return plan->choices;
}

bool blas_plan_gemm(const struct blas_plan *plan, int i, const struct blas_gemm *gemm)
{
    return plan->plugin->plan_gemm(plan->opaque, i, gemm) == 0;
}

void blas_plan_free(struct blas_plan *plan)
{
    if (plan)
        plan->plugin->plan_free(plan->opaque);
    free(plan);
}

const char *blas_version(const struct blas *blas)
{
    return blas->plugin->version();
}
