#include "fused/elementwise_chain/life.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fused/elementwise_chain/args.h"
#include "fused/elementwise_chain/metrics.h"
#include "fused/elementwise_chain/reference.h"

PROBE_IMAGE(elementwise_chain_life);

static const char *const names[] = {"dependent", "live", "inputs"};
enum { ELEMENTS = 4096 + 8, REGISTERS_MAX = 255 };

static void check(struct probe_run *r, cudaKernel_t kernel, enum chain_life life, int n, int each)
{
    const size_t inputs = life == CHAIN_INPUTS ? (size_t)n : 1, bytes = 4 * ELEMENTS;
    float *in = probe_host_alloc(r, inputs * bytes), *out = probe_host_alloc(r, bytes);
    void *from = gpu_alloc(r, inputs * bytes, "the inputs"),
         *to = gpu_alloc(r, bytes, "the output");
    const struct live_args a = {.in = from,
                                .out = to,
                                .threads = ELEMENTS / (unsigned)each,
                                .apart = ELEMENTS,
                                .scale = 0.75f,
                                .shift = -0.3125f,
                                .leak = 0.125f,
                                .limit = 2.5f};
    size_t wrong = 0;

    gpu_fill_normal(r, from, GPU_FP32, inputs * ELEMENTS, probe_seed(r));
    gpu_launch(r, kernel, (unsigned)((a.threads + CHAIN_THREADS - 1) / CHAIN_THREADS),
               CHAIN_THREADS, 0, &a);
    gpu_to_host(r, in, from, inputs * bytes);
    gpu_to_host(r, out, to, bytes);
    for (size_t i = 0; i < ELEMENTS; i++)
        wrong += !(fabs((double)out[i] - chain_lived(&a, life, n, in, i)) <= 1e-5);
    probe_require(r, wrong == 0, "%s, %d steps, %d elements a thread: %zu elements are wrong",
                  names[life], n, each, wrong);
    gpu_release(r, from);
    gpu_release(r, to);
    free(in);
    free(out);
}

void chain_life_measure(struct probe_run *r, enum chain_life life, int n, int elements)
{
    static const char too_many[] = "more values than a thread can have registers";
    struct cudaFuncAttributes attributes;
    cudaKernel_t kernel;
    char name[64];
    int blocks;

    if (!probe_begin_case(r, PROBE_TWICE, "life=%s,steps=%d,elements=%d", names[life], n, elements))
        return;
    if (life == CHAIN_LIVE && n * elements > REGISTERS_MAX) {
        probe_missing(r, CHAIN_REGISTERS, too_many);
        probe_missing(r, CHAIN_WARPS, too_many);
        return;
    }
    snprintf(name, sizeof name, "chain_%s_%d_%d", names[life], n, elements);
    kernel = gpu_kernel(r, &image_elementwise_chain_life, name, sizeof(struct live_args));
    check(r, kernel, life, n, elements);
    CUDA(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, CHAIN_THREADS,
                                                       0));
    probe_value(r, CHAIN_REGISTERS, attributes.numRegs);
    probe_value(r, CHAIN_WARPS, blocks * CHAIN_THREADS / 32);
}
