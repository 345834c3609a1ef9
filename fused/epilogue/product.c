#include "fused/epilogue/product.h"

#include <stdio.h>

#include "fused/common/operation.h"
#include "fused/epilogue/args.h"

PROBE_IMAGE(epilogue);
PROBE_IMAGE(epilogue_mma);

enum { WORKSPACE = 32 << 20 /* bytes for cuBLASLt, of each stream */ };

/* clang-format off */
#define ROW(m, n, stages, wm, wn, wk, blocks) \
    {"bf16_" #m "x" #n, m, n, 32 * (wm) * (wn) * (wk), 2 * (stages) * 64 * ((m) + (n))},
#define GELU_IN_ROW(m, n, stages, wm, wn, wk, blocks) \
    {"bf16_" #m "x" #n "_gelu_in", m, n, 32 * (wm) * (wn) * (wk), 2 * (stages) * 64 * ((m) + (n))},
/* clang-format on */
static const struct mma_epilogue_tile tiles[] = {MMA_EPILOGUE_TILES(ROW)};
static const struct mma_epilogue_tile gelu_in_tiles[] = {MMA_EPILOGUE_GELU_IN_TILES(GELU_IN_ROW)};

/* Our product with a vector, in the terms of the tiles: epilogue_rows in epilogue.cu. */
static const struct mma_epilogue_tile rows_tile = {"bf16_rows", 1, 2, ROWS_THREADS, 0};

struct epilogue_tools epilogue_tools_open(struct probe_run *r)
{
    struct epilogue_tools t = {0};
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

/* Of the product with a vector: four vectors of a row each, so that all of them fill. */
unsigned epilogue_threads(const struct mma_epilogue_tile *t, int k)
{
    const unsigned fitting = ((unsigned)k / 8 / 4 + 31) / 32 * 32;
    return t != &rows_tile || fitting > t->threads ? t->threads : fitting;
}

bool epilogue_is_library(const struct epilogue_way *w)
{
    return w->by != BY_US;
}

cudaKernel_t epilogue_kernel(struct probe_run *r, const char *what, enum gpu_type type,
                             bool is_small, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "epilogue_%s_%s%s", what, gpu_type_name(type),
             is_small ? "_small" : "");
    return gpu_kernel(r, &image_epilogue, name, size);
}

struct blas_gemm epilogue_gemm(const struct epilogue_tools *t, const struct epilogue_product *p)
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

static void multiply_own(struct probe_run *r, const struct epilogue_way *w,
                         const struct epilogue_product *p, cudaStream_t lane)
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
        .block = epilogue_threads(t, p->k),
        .shared = t->shared,
        .stream = lane};
    gpu_launch_shape(r, w->kernel, &shape, &a);
}

bool epilogue_multiply(struct probe_run *r, const struct epilogue_tools *t,
                       const struct epilogue_way *w, const struct epilogue_product *p)
{
    const struct blas_gemm g = epilogue_gemm(t, p);
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

void epilogue_way_fact(struct probe_run *r, const char *key, const struct epilogue_way *w)
{
    static const char *const names[] = {
        [BY_CUBLAS] = "cublasGemmEx", [BY_CUBLAS_GEMV] = "cuBLAS's product with a vector"};
    if (w->by == BY_PLAN)
        probe_fact(r, key, "cuBLASLt, choice %d of %d", w->choice, w->choices);
    else
        probe_fact(r, key, "%s%s", w->by == BY_US ? "our kernel, " : names[w->by],
                   w->by == BY_US ? w->tile->name : "");
}

void epilogue_nodes_fact(struct probe_run *r,
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

/* --- all ways --------------------------------------------------------------------------------- */

void epilogue_add_library(struct probe_run *r, const struct epilogue_tools *t,
                          const struct epilogue_product *p, struct epilogue_ways *ways)
{
    const struct blas_gemm g = epilogue_gemm(t, p);
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
                (struct epilogue_way){.plan = ways->plan, .choice = i, .choices = offered};
    if (p->flags == 0)
        ways->way[ways->n++] = (struct epilogue_way){.by = BY_CUBLAS};
    if (p->flags == 0 && p->m == 1)
        ways->way[ways->n++] = (struct epilogue_way){.by = BY_CUBLAS_GEMV};
    gpu_wait(r);
}

/* Tiles that can be in the race: neither so large that a tenth of the GPU works, nor so small that
 * operands come from the L2 again and again. */
static bool fits(const struct probe_run *r, const struct epilogue_product *p,
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

static void add_ours(struct probe_run *r, struct epilogue_ways *ways, const struct gpu_image *image,
                     const char *name, const struct mma_epilogue_tile *t)
{
    cudaKernel_t kernel = gpu_kernel_if_any(r, image, name, sizeof(struct mma_epilogue_args));
    if (!kernel)
        return;
    if (t->shared)
        gpu_kernel_shared(kernel, t->shared, -1);
    ways->way[ways->n++] = (struct epilogue_way){.by = BY_US, .tile = t, .kernel = kernel};
}

void epilogue_add_own(struct probe_run *r, const struct epilogue_product *p,
                      struct epilogue_ways *ways)
{
    const struct mma_epilogue_tile *list = p->gelu_in ? gelu_in_tiles : tiles;
    const size_t n = p->gelu_in ? PROBE_LENGTH(gelu_in_tiles) : PROBE_LENGTH(tiles);
    char name[64];

    for (size_t i = 0; i < n && p->type == GPU_BF16; i++) {
        snprintf(name, sizeof name, "mma_epilogue_%s", list[i].name);
        if (fits(r, p, &list[i]))
            add_ours(r, ways, &image_epilogue_mma, name, &list[i]);
    }
    if (p->type == GPU_BF16 && p->m == 1 && !p->gelu_in)
        add_ours(r, ways, &image_epilogue, "epilogue_rows", &rows_tile);
}
