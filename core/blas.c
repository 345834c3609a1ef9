#include "core/blas.h"

#include <stdio.h>

#include "core/gpu.h"
#include "core/plugin.h"

struct blas {
    const struct blas_plugin *plugin;
};

struct blas *blas_open(struct probe_run *r, char *why, size_t size)
{
    char reason[320];
    struct blas *blas = probe_host_alloc(r, sizeof *blas);

    blas->plugin = plugin_open("blas", BLAS_PLUGIN_SYMBOL, reason, sizeof reason);
    if (!blas->plugin) {
        snprintf(why, size, "cuBLAS is not to be had: %s", reason);
        return NULL;
    }
    int status = blas->plugin->open();
    if (status != 0) {
        snprintf(why, size, "cuBLAS did not start (status %d)", status);
        return NULL;
    }
    return blas;
}

void blas_gemm(struct probe_run *r, const struct blas *blas, const struct blas_gemm *gemm)
{
    int status = blas->plugin->gemm(gemm);
    if (status != 0)
        probe_fail(r, "cuBLAS: product of %d x %d x %d failed with status %d", gemm->m, gemm->n,
                   gemm->k, status);
}

const char *blas_version(const struct blas *blas)
{
    return blas->plugin->version();
}
