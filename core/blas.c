#include "core/blas.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/gpu.h"

struct blas {
    const struct blas_plugin *plugin;
};

/* build/bin/blas.so, seen from build/bin/matmul/NAME. */
static void plugin_path(char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *folder = dirname(dirname(self));
    if (snprintf(path, PATH_MAX, "%s/blas.so", folder) >= PATH_MAX)
        path[0] = '\0';
}

struct blas *blas_open(struct probe_run *r, char *why, size_t size)
{
    char path[PATH_MAX];
    struct blas *blas = probe_host_alloc(r, sizeof *blas);

    plugin_path(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    blas->plugin = library ? dlsym(library, BLAS_PLUGIN_SYMBOL) : NULL;
    if (!blas->plugin) {
        snprintf(why, size, "cuBLAS is not to be had: %s", dlerror());
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
