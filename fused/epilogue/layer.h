/* A linear layer and the ways to compute its product, the library's and our own, with part of the
 * epilogue inside: what both halves of the epilogue probe share. The probe
 * names its images before it includes this. */
#ifndef FUSED_EPILOGUE_LAYER_H
#define FUSED_EPILOGUE_LAYER_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "fused/common/operation.h"
#include "fused/epilogue/args.h"

enum {
    WORKSPACE = 32 << 20, /* bytes for cuBLASLt, of each stream */
    LANES = 3,            /* streams that compute at a time */
    WAYS_MAX = 72,
    ROWS_PADDED = 256, /* rows of A lie in whole tiles of the largest kernel */
};
static const float QUANTISE_BY = 32; /* 127 is four standard deviations of a product */

/* What all layers of a process share. */
struct tools {
    struct blas *blas; /* NULL: see no_blas */
    char no_blas[256];
    void *workspace[LANES];
    cudaStream_t lane[LANES]; /* the first is the run's stream */
    cudaEvent_t fork, join[LANES];
};

static struct tools tools_open(struct probe_run *r)
{
    struct tools t = {0};
    t.blas = blas_open(r, t.no_blas, sizeof t.no_blas);
    for (int i = 0; i < LANES; i++) {
        t.workspace[i] = gpu_alloc(r, WORKSPACE, "workspace of cuBLASLt");
        t.lane[i] = gpu_stream(r);
        if (i > 0)
            CUDA(cudaStreamCreateWithFlags(&t.lane[i], cudaStreamNonBlocking));
        CUDA(cudaEventCreateWithFlags(&t.join[i], cudaEventDisableTiming));
    }
    CUDA(cudaEventCreateWithFlags(&t.fork, cudaEventDisableTiming));
    return t;
}

/* One product as it is to be computed: C, m rows of n, of A and W, with `flags` done inside. */
struct product {
    int m, n, k;
    enum gpu_type type;
    unsigned flags;
    bool gelu_in;
    const void *a, *w, *bias, *residual;
    void *c;
    int lane; /* which stream */
};

/* How a product is computed: a choice of cuBLASLt's plan; what cuBLAS chooses, or its product with
 * a vector; ours. */
struct way {
    enum { BY_PLAN, BY_CUBLAS, BY_CUBLAS_GEMV, BY_US } by;
    struct blas_plan *plan;
    int choice, choices;
    const struct mma_epilogue_tile *tile;
    cudaKernel_t kernel;
};

/* Our product with a vector, in the terms of the tiles: epilogue_rows in epilogue.cu. */
static const struct mma_epilogue_tile rows_tile = {"bf16_rows", 1, 2, ROWS_THREADS, 0};

/* Its threads: four vectors of a row each, so that all of them fill. */
static unsigned threads_of(const struct mma_epilogue_tile *t, int k)
{
    const unsigned fitting = ((unsigned)k / 8 / 4 + 31) / 32 * 32;
    return t != &rows_tile || fitting > t->threads ? t->threads : fitting;
}

static bool is_library(const struct way *w)
{
    return w->by != BY_US;
}

static struct blas_gemm gemm_of(const struct tools *t, const struct product *p)
{
    return (struct blas_gemm){
        .type = p->type == GPU_FP16 ? BLAS_FP16 : BLAS_BF16,
        .layout = "nt",
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a = p->a,
        .b = p->w,
        .c = p->c,
        .workspace = t->workspace[p->lane],
        .workspace_bytes = WORKSPACE,
        .stream = t->lane[p->lane],
        .epilogue = {.bias = p->flags & EPILOGUE_BIAS ? p->bias : NULL,
                     .added = p->flags & EPILOGUE_RESIDUAL ? p->residual : NULL,
                     .gelu = (p->flags & EPILOGUE_GELU) != 0}};
}

static void multiply_own(struct probe_run *r, const struct way *w, const struct product *p,
                         cudaStream_t lane)
{
    const struct mma_epilogue_tile *t = w->tile;
    struct mma_epilogue_args a = {
        .a = p->a,
        .bias = p->bias,
        .residual = p->residual,
        .b = p->w,
        .part = {{p->c, 0, (uint32_t)p->n}, {.first = UINT32_MAX}, {.first = UINT32_MAX}},
        .m = (uint32_t)p->m,
        .k = (uint32_t)p->k,
        .lda = (uint32_t)p->k,
        .ldb = (uint32_t)p->k,
        .flags = p->flags,
        .scale = QUANTISE_BY};
    const struct gpu_shape shape = {
        .grid = {(uint32_t)p->n / t->n, ((uint32_t)p->m + t->m - 1) / t->m, 1},
        .block = threads_of(t, p->k),
        .shared = t->shared,
        .stream = lane};
    gpu_launch_shape(r, w->kernel, &shape, &a);
}

static bool multiply(struct probe_run *r, const struct tools *t, const struct way *w,
                     const struct product *p)
{
    const struct blas_gemm g = gemm_of(t, p);
    const struct blas_gemv v = {.type = g.type,
                                .rows = p->n,
                                .columns = p->k,
                                .a = p->w,
                                .x = p->a,
                                .y = p->c,
                                .stream = g.stream};
    switch (w->by) {
    case BY_PLAN: return blas_plan_gemm(w->plan, w->choice, &g);
    case BY_CUBLAS: blas_gemm(r, t->blas, &g); return true;
    case BY_CUBLAS_GEMV: blas_gemv(r, t->blas, &v); return true;
    case BY_US: multiply_own(r, w, p, t->lane[p->lane]);
    }
    return true;
}

static void way_fact(struct probe_run *r, const char *key, const struct way *w)
{
    static const char *const names[] = {
        [BY_CUBLAS] = "cublasGemmEx", [BY_CUBLAS_GEMV] = "cuBLAS's product with a vector"};
    if (w->by == BY_PLAN)
        probe_fact(r, key, "cuBLASLt, choice %d of %d", w->choice, w->choices);
    else
        probe_fact(r, key, "%s%s", w->by == BY_US ? "our kernel, " : names[w->by],
                   w->by == BY_US ? w->tile->name : "");
}

/* What a launch of an operation is made of. */
static void nodes_fact(struct probe_run *r,
                       void (*launch)(struct probe_run *r, const void *self, size_t set),
                       const void *self)
{
    gpu_graph_begin(r);
    launch(r, self, 0);
    struct gpu_graph graph = gpu_graph_end(r);
    const struct gpu_node node = gpu_graph_first_kernel(r, &graph);
    probe_fact(r, "nodes", "%zu, the first %s, %u blocks of %u", node.n_kernels, node.kernel,
               node.blocks, node.threads);
    gpu_graph_free(&graph);
}

/* --- all ways, and the fastest --------------------------------------------------------------- */

struct ways {
    struct way way[WAYS_MAX];
    size_t n;
    struct blas_plan *plan;
};

/* cuBLASLt has a bias, GELU behind a bias, and the addition of a matrix; nothing else of ours. */
static void add_library(struct probe_run *r, const struct tools *t, const struct product *p,
                        struct ways *ways)
{
    const struct blas_gemm g = gemm_of(t, p);
    const bool both = (p->flags & EPILOGUE_GELU) && (p->flags & EPILOGUE_RESIDUAL);

    if (!t->blas || p->gelu_in || both || (p->flags & EPILOGUE_QUANTISE))
        return;
    ways->plan = blas_plan(r, t->blas, &g);
    const int offered = blas_plan_choices(ways->plan);
    const int most = probe_is_check_run(r) ? 1 : WAYS_MAX - 8;
    const int choices = offered < most ? offered : most;
    for (int i = 0; i < choices && ways->n < WAYS_MAX; i++)
        if (blas_plan_gemm(ways->plan, i, &g))
            ways->way[ways->n++] =
                (struct way){.plan = ways->plan, .choice = i, .choices = offered};
    if (p->flags == 0)
        ways->way[ways->n++] = (struct way){.by = BY_CUBLAS};
    if (p->flags == 0 && p->m == 1)
        ways->way[ways->n++] = (struct way){.by = BY_CUBLAS_GEMV};
    gpu_wait(r);
}

/* Tiles that can be in the race: neither so large that a tenth of the GPU works, nor so small that
 * operands come from the L2 again and again. */
static bool fits(const struct probe_run *r, const struct product *p,
                 const struct mma_epilogue_tile *t)
{
    const bool few = p->m <= 64 && !p->gelu_in, many = p->m >= 512;
    return (uint32_t)p->n % t->n == 0 && p->k % 64 == 0 &&
           t->shared <= gpu_facts(r)->shared_per_block &&
           (probe_is_check_run(r) || p->gelu_in ||
            (few    ? t->m == 32
             : many ? t->m >= 128
                    : t->m == 64));
}

static void add_ours(struct probe_run *r, struct ways *ways, const struct gpu_image *image,
                     const char *name, const struct mma_epilogue_tile *t)
{
    cudaKernel_t kernel = gpu_kernel_if_any(r, image, name, sizeof(struct mma_epilogue_args));
    if (!kernel)
        return;
    if (t->shared)
        gpu_kernel_shared(kernel, t->shared, -1);
    ways->way[ways->n++] = (struct way){.by = BY_US, .tile = t, .kernel = kernel};
}

/* Ours: bf16; tiles take n in whole ones and k in steps of 64. */
static void add_own(struct probe_run *r, const struct product *p, struct ways *ways)
{
    const struct mma_epilogue_tile *list =
        p->gelu_in ? mma_epilogue_gelu_in_tiles : mma_epilogue_tiles;
    const size_t n =
        p->gelu_in ? PROBE_LENGTH(mma_epilogue_gelu_in_tiles) : PROBE_LENGTH(mma_epilogue_tiles);
    char name[64];

    for (size_t i = 0; i < n && p->type == GPU_BF16; i++) {
        snprintf(name, sizeof name, "mma_epilogue_%s", list[i].name);
        if (fits(r, p, &list[i]))
            add_ours(r, ways, &image_epilogue_mma, name, &list[i]);
    }
    if (p->type == GPU_BF16 && p->m == 1 && !p->gelu_in)
        add_ours(r, ways, &image_epilogue, "epilogue_rows", &rows_tile);
}

/* The same operation, computed in one of several ways. */
struct race {
    const struct operation *operation;
    const struct way **slot; /* what the operation computes with */
};

enum { REPLAYS = 4 };
static const double RACE_NS = 50e3, NEAR = 1.25;

static struct gpu_graph race_graph(struct probe_run *r, const struct race *race,
                                   const struct way *way, size_t length)
{
    *race->slot = way;
    gpu_graph_begin(r);
    for (size_t i = 0; i < length; i++)
        race->operation->launch(r, race->operation->self, i % race->operation->sets);
    return gpu_graph_end(r);
}

/* Whole turns through the sets, so that operands come from memory. */
static size_t race_length(struct probe_run *r, const struct race *race, const struct way *way)
{
    const size_t sets = race->operation->sets;
    struct gpu_graph turn = race_graph(r, race, way, sets);
    const double ns = gpu_replay_ns(r, &turn);
    gpu_graph_free(&turn);
    return ns < RACE_NS ? sets * (size_t)ceil(RACE_NS / ns) : sets;
}

/* Each once; those within a quarter of the fastest again, in turn: they share clock and power. Of
 * long products the first look sees one after the other slow down as the power limit takes hold. */
static size_t fastest(struct probe_run *r, const struct ways *ways, const struct race *race)
{
    struct gpu_graph graph[WAYS_MAX] = {0};
    double once[WAYS_MAX], sum[WAYS_MAX] = {0}, least = INFINITY;
    size_t best = 0;

    if (ways->n < 2 || probe_is_check_run(r))
        return 0;
    const size_t length = race_length(r, race, &ways->way[0]);
    for (size_t i = 0; i < ways->n; i++) {
        graph[i] = race_graph(r, race, &ways->way[i], length);
        once[i] = gpu_replay_ns(r, &graph[i]);
        least = fmin(least, once[i]);
    }
    for (int turn = 0; turn < REPLAYS; turn++)
        for (size_t i = 0; i < ways->n; i++)
            sum[i] += once[i] <= NEAR * least ? gpu_replay_ns(r, &graph[i]) : INFINITY;
    for (size_t i = 0; i < ways->n; i++) {
        best = sum[i] < sum[best] ? i : best;
        gpu_graph_free(&graph[i]);
    }
    return best;
}

/* Under --check all of our kernels have their turn: one row by the product with a vector, which is
 * the last of a list, others by tiles. */
static size_t checked_way(int m, size_t n)
{
    return m == 1 ? n - 1 : (size_t)m % n;
}

/* --- is it right? ---------------------------------------------------------------------------- */

/* fp64 sums of the looked-at rows of A W^T, all of W. */
struct reference {
    struct reference_sum *sum; /* NULL: not computed yet */
    uint32_t m, n, k, looked;
};

static cudaKernel_t typed_kernel(struct probe_run *r, const char *what, enum gpu_type type,
                                 bool is_small, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "epilogue_%s_%s%s", what, gpu_type_name(type),
             is_small ? "_small" : "");
    return gpu_kernel(r, &image_epilogue, name, size);
}

/* All rows of a small product, and of larger ones in full runs; else one of every few. */
static struct reference reference_of(struct probe_run *r, const struct product *p)
{
    const uint32_t m = (uint32_t)p->m, most = probe_in_full(r) ? 4096 : 256;
    struct reference f = {.m = m, .n = (uint32_t)p->n, .k = (uint32_t)p->k};

    f.looked = m < most ? m : most;
    f.sum = gpu_alloc(r, f.looked * (size_t)f.n * sizeof *f.sum, "reference sums");
    const struct reference_args a = {.a = p->a,
                                     .w = p->w,
                                     .sum = f.sum,
                                     .m = m,
                                     .n = f.n,
                                     .k = f.k,
                                     .looked = f.looked,
                                     .gelu_in = p->gelu_in};
    const uint32_t tile = REFERENCE_TILE;
    gpu_launch_grid(r, typed_kernel(r, "reference", p->type, false, sizeof a),
                    (dim3){(f.n + tile - 1) / tile, (f.looked + tile - 1) / tile, 1}, tile * tile,
                    0, &a);
    return f;
}

static void reference_free(struct probe_run *r, struct reference *f)
{
    if (f->sum)
        gpu_release(r, f->sum);
    *f = (struct reference){0};
}

/* `p` tells the output, n of its columns, which begin at `first` of the reference's. */
static struct verdict run_verifier(struct probe_run *r, const struct reference *f,
                                   const struct product *p, uint32_t first, uint32_t ldc,
                                   unsigned flags)
{
    const struct judge_args a = {.sum = f->sum,
                                 .out = p->c,
                                 .bias = p->bias,
                                 .residual = p->residual,
                                 .verdict = verdict_clear(r),
                                 .m = f->m,
                                 .n = (uint32_t)p->n,
                                 .k = f->k,
                                 .looked = f->looked,
                                 .ldc = ldc,
                                 .first = first,
                                 .columns = f->n,
                                 .flags = flags,
                                 .scale = QUANTISE_BY};
    gpu_launch(r, typed_kernel(r, "judge", p->type, false, sizeof a), 128, 256, 0, &a);
    return verdict_fetch(r);
}

#endif
