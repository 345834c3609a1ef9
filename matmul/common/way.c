#include "matmul/common/way.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"

PROBE_IMAGE(mma_gemm);
PROBE_IMAGE(wgmma_gemm);
PROBE_IMAGE(wgmma_stream);

enum { WORKSPACE = 32 << 20, MAPS = 3 * WGMMA_GEMM_MAP_BYTES };
enum { SEARCHED_US = 100, TURNS = 5 };
enum { STREAM_BUDGET_NS = 200000000, STREAM_FLAGS = 1 << 16, STREAM_BLOCKS = 4096 };
_Static_assert(sizeof(struct grid_barrier_state) + 4 * STREAM_BLOCKS <= STREAM_FLAGS, "room");
const char *const way_names[] = {"cublas", "cublaslt", "mma", "wgmma", "wgmma"};

struct ways ways_open(struct probe_run *r)
{
    struct ways w = {.workspace = gpu_alloc(r, WORKSPACE, "cuBLAS's workspace"),
                     .census =
                         gpu_alloc(r, (size_t)gpu_facts(r)->n_sm * sizeof *w.census, "the census"),
                     .watch = gpu_alloc(r, WAY_BLOCKS * sizeof *w.watch, "what blocks saw")};
    w.blas = blas_open(r, w.no_blas, sizeof w.no_blas);
    return w;
}

const char *way_tile(const struct way *w)
{
    return w->mma ? w->mma->name : w->wgmma ? w->wgmma->name : "auto";
}

unsigned way_split(const struct way *w)
{
    return w->mma ? w->mma->split : w->wgmma ? w->wgmma->split : 0;
}

static uint32_t shared_of(const struct way *w)
{
    const uint32_t needed = w->mma ? w->mma->shared : w->wgmma->shared;
    return w->shared > needed ? w->shared : needed;
}

const void *way_maps(const struct way *w)
{
    return w->maps;
}

/* --- getting ready --------------------------------------------------------------------------- */

/* FAMILY_TYPE_TILE, or FAMILY_TYPE_LAYOUT_TILE where the layout is not nn. */
static cudaKernel_t kernel_of(struct probe_run *r, const struct gpu_image *image,
                              const char *family, const struct product_shape *s, const char *tile,
                              size_t args_size)
{
    const bool plain = strcmp(s->layout, "nn") == 0;
    char name[96];
    snprintf(name, sizeof name, "%s_%s%s%s_%s", family, gpu_type_name(s->type), plain ? "" : "_",
             plain ? "" : s->layout, tile);
    return gpu_kernel_if_any(r, image, name, args_size);
}

static bool open_mma(struct probe_run *r, const struct product_shape *s, struct way *w)
{
    const struct mma_gemm_tile *t = w->mma;
    const uint32_t m = (uint32_t)s->m, n = (uint32_t)s->n, k = (uint32_t)s->k;

    if (strcmp(s->layout, "nn") != 0 || m % t->m || n % t->n || k % t->k_step || s->lda % 8 ||
        s->ldb % 8 || s->ldc % 8 || s->a_shift % 8 || s->b_shift % 8 ||
        shared_of(w) > gpu_facts(r)->shared_per_block || (int)t->min_cc > gpu_facts(r)->cc)
        return false;
    w->kernel = kernel_of(r, &image_mma_gemm, "mma_gemm", s, t->name,
                          t->tma ? sizeof(struct mma_gemm_tma_args) : sizeof(struct mma_gemm_args));
    if (w->kernel)
        gpu_kernel_shared(w->kernel, shared_of(w), 100);
    return w->kernel != NULL;
}

/* Tensor maps of every set: A, B, C one after another. */
static void map_sets(struct probe_run *r, const struct product *p, struct way *w)
{
    const struct product_shape *s = &p->shape;
    const bool at = s->layout[0] == 't', bt = s->layout[1] == 't';
    unsigned char *host = probe_host_alloc(r, p->sets * MAPS);
    struct wgmma_gemm_box box[3];

    wgmma_gemm_boxes(w->wgmma, s->layout, box);
    for (size_t i = 0; i < p->sets; i++) {
        unsigned char *map = host + i * MAPS;
        gpu_tensor_map(r, map,
                       &(struct gpu_tensor){
                           .type = s->type,
                           .base = p->a + i * p->a_step,
                           .rank = 2,
                           .size = {(uint64_t)(at ? s->k : s->m), (uint64_t)(at ? s->m : s->k)},
                           .stride = {(uint64_t)s->lda},
                           .box = {box[0].rows, box[0].columns}});
        gpu_tensor_map(r, map + WGMMA_GEMM_MAP_BYTES,
                       &(struct gpu_tensor){
                           .type = s->type,
                           .base = p->b + i * p->b_step,
                           .rank = 2,
                           .size = {(uint64_t)(bt ? s->n : s->k), (uint64_t)(bt ? s->k : s->n)},
                           .stride = {(uint64_t)s->ldb},
                           .box = {box[1].rows, box[1].columns}});
        gpu_tensor_map(r, map + 2 * WGMMA_GEMM_MAP_BYTES,
                       &(struct gpu_tensor){.type = s->type,
                                            .base = p->c + i * p->c_step,
                                            .rank = 2,
                                            .size = {(uint64_t)s->m, (uint64_t)s->n},
                                            .stride = {(uint64_t)s->ldc},
                                            .box = {box[2].rows, box[2].columns}});
    }
    w->maps = gpu_alloc(r, p->sets * MAPS, "tensor maps");
    gpu_to_device(r, w->maps, host, p->sets * MAPS);
    free(host);
}

static bool open_wgmma(struct probe_run *r, const struct product *p, struct way *w)
{
    const struct wgmma_gemm_tile *t = w->wgmma;
    const struct product_shape *s = &p->shape;

    /* A bulk store writes 16 bytes at a time: with another n it would write past the rows. */
    if (s->n % 8 || s->lda % 8 || s->ldb % 8 || s->ldc % 8 || s->a_shift % 8 || s->b_shift % 8 ||
        shared_of(w) > gpu_facts(r)->shared_per_block || gpu_facts(r)->cc != 90 ||
        (uint32_t)s->k <= t->k_step * (t->split - 1))
        return false;
    static const char *const family[] = {[WAY_WHOLE] = "wgmma_gemm",
                                         [WAY_EMPTY] = "wgmma_gemm",
                                         [WAY_LOADS] = "wgmma_loads",
                                         [WAY_PRODUCTS] = "wgmma_products",
                                         [WAY_WATCHED] = "wgmma_watched"};
    w->kernel = kernel_of(r, &image_wgmma_gemm, family[w->part], s, t->name,
                          sizeof(struct wgmma_gemm_args));
    if (!w->kernel)
        return false;
    gpu_kernel_shared(w->kernel, shared_of(w), 100);
    if (t->persistent && w->blocks == 0)
        w->blocks =
            t->cluster * gpu_clusters_at_once(w->kernel, t->threads, shared_of(w), t->cluster);
    if (t->persistent && w->blocks == 0)
        return false;
    map_sets(r, p, w);
    return true;
}

/* Memory for a tile of sums per block, preceded by the state of waits and the blocks' flags. */
static bool open_stream(struct probe_run *r, const struct product *p, struct way *w)
{
    const struct wgmma_gemm_tile *t = w->wgmma;
    const struct product_shape *s = &p->shape;
    uint32_t grid[2];

    if (strcmp(s->layout, "nn") != 0 || s->n % 8 || s->lda % 8 || s->ldb % 8 || s->ldc % 8 ||
        s->a_shift % 8 || s->b_shift % 8 || t->shared > gpu_facts(r)->shared_per_block ||
        gpu_facts(r)->cc != 90)
        return false;
    w->kernel = kernel_of(r, &image_wgmma_stream, "wgmma_stream", s, t->name,
                          sizeof(struct wgmma_stream_args));
    if (!w->kernel)
        return false;
    gpu_kernel_shared(w->kernel, t->shared, 100);
    if (w->blocks == 0)
        w->blocks = t->cluster * gpu_clusters_at_once(w->kernel, t->threads, t->shared, t->cluster);
    wgmma_gemm_grid(t, (uint32_t)s->m, (uint32_t)s->n, grid);
    const double steps = (double)grid[0] * grid[1] * ceil((double)s->k / t->k_step);
    if (w->blocks == 0 || w->blocks > STREAM_BLOCKS || steps * (w->blocks + 1) > UINT32_MAX)
        return false;
    w->partials = gpu_alloc(r, STREAM_FLAGS + (size_t)w->blocks * WGMMA_STREAM_PARTIAL(t->m, t->n),
                            "partial tiles");
    CUDA(cudaMemsetAsync(w->partials, 0, STREAM_FLAGS, gpu_stream(r)));
    map_sets(r, p, w);
    return true;
}

static struct blas_gemm blas_of(const struct ways *ways, const struct product *p,
                                const struct way *w, size_t set, void *stream)
{
    const struct product_shape *s = &p->shape;
    struct blas_gemm g = {.type = s->type == GPU_FP16 ? BLAS_FP16 : BLAS_BF16,
                          .accumulate = w->accumulate,
                          .m = s->m,
                          .n = s->n,
                          .k = s->k,
                          .lda = s->lda,
                          .ldb = s->ldb,
                          .ldc = s->ldc,
                          .a = p->a + set * p->a_step,
                          .b = p->b + set * p->b_step,
                          .c = p->c + set * p->c_step,
                          .workspace = ways->workspace,
                          .workspace_bytes = WORKSPACE,
                          .stream = stream};
    memcpy(g.layout, s->layout, 3);
    return g;
}

bool way_open(struct probe_run *r, const struct ways *ways, const struct product *p, struct way *w)
{
    if (w->impl == WAY_MMA)
        return open_mma(r, &p->shape, w);
    if (w->impl == WAY_WGMMA)
        return open_wgmma(r, p, w);
    if (w->impl == WAY_STREAM)
        return open_stream(r, p, w);
    if (ways->blas && w->impl == WAY_CUBLASLT) {
        struct blas_gemm g = blas_of(ways, p, w, 0, gpu_stream(r));
        w->plan = blas_plan(r, ways->blas, &g);
        return w->choice < blas_plan_choices(w->plan) && blas_plan_gemm(w->plan, w->choice, &g);
    }
    return ways->blas != NULL;
}

void way_close(struct probe_run *r, struct way *w)
{
    if (w->maps)
        gpu_release(r, w->maps);
    if (w->partials)
        gpu_release(r, w->partials);
    blas_plan_free(w->plan);
    w->maps = NULL;
    w->partials = NULL;
    w->plan = NULL;
}

/* --- running it ------------------------------------------------------------------------------ */

static void multiply_mma(struct probe_run *r, const struct product *p, const struct way *w,
                         size_t set, uint32_t *census)
{
    const struct product_shape *s = &p->shape;
    const struct mma_gemm_tile *t = w->mma;
    struct mma_gemm_tma_args mapped = {.gemm = {.a = p->a + set * p->a_step,
                                                .b = p->b + set * p->b_step,
                                                .c = p->c + set * p->c_step,
                                                .census = census,
                                                .m = (uint32_t)s->m,
                                                .n = (uint32_t)s->n,
                                                .k = (uint32_t)s->k,
                                                .lda = (uint32_t)s->lda,
                                                .ldb = (uint32_t)s->ldb,
                                                .ldc = (uint32_t)s->ldc}};
    const struct mma_gemm_args *plain = &mapped.gemm;
    const dim3 grid = {plain->n / t->n, plain->m / t->m, 1};

    if (t->tma) {
        gpu_tensor_map(r, mapped.a_map,
                       &(struct gpu_tensor){.type = s->type,
                                            .base = plain->a,
                                            .rank = 2,
                                            .size = {plain->m, plain->k},
                                            .stride = {plain->lda},
                                            .box = {t->m, t->k_step}});
        gpu_tensor_map(r, mapped.b_map,
                       &(struct gpu_tensor){.type = s->type,
                                            .base = plain->b,
                                            .rank = 2,
                                            .size = {plain->k, plain->n},
                                            .stride = {plain->ldb},
                                            .box = {t->k_step, 64}});
    }
    gpu_launch_grid(r, w->kernel, grid, t->threads, shared_of(w),
                    t->tma ? (const void *)&mapped : plain);
}

static struct gpu_shape shape_of(const struct product_shape *s, const struct way *w)
{
    const struct wgmma_gemm_tile *t = w->wgmma;
    uint32_t grid[2];

    wgmma_gemm_grid(t, (uint32_t)s->m, (uint32_t)s->n, grid);
    if (t->persistent)
        grid[0] = w->blocks;
    return (struct gpu_shape){.grid = {grid[0], grid[1], 1},
                              .block = t->threads,
                              .shared = shared_of(w),
                              .cluster = t->cluster,
                              .dependent = w->dependent};
}

static struct wgmma_gemm_args wgmma_args(const struct ways *ways, const struct product *p,
                                         const struct way *w, size_t set)
{
    return (struct wgmma_gemm_args){.maps = w->maps + set * MAPS,
                                    .watch = ways->watch,
                                    .m = (uint32_t)p->shape.m,
                                    .n = (uint32_t)p->shape.n,
                                    .k = w->part == WAY_EMPTY ? 0 : (uint32_t)p->shape.k,
                                    .tiles = w->tiles,
                                    .group = 4};
}

static void multiply_stream(struct probe_run *r, const struct product *p, const struct way *w,
                            size_t set)
{
    const struct wgmma_gemm_tile *t = w->wgmma;
    struct grid_barrier_state *state = (void *)w->partials;
    const struct gpu_shape shape = {.grid = {w->blocks, 1, 1},
                                    .block = t->threads,
                                    .shared = t->shared,
                                    .cluster = t->cluster,
                                    .cooperative = true};
    const struct wgmma_stream_args args = {.maps = w->maps + set * MAPS,
                                           .partials = (void *)(w->partials + STREAM_FLAGS),
                                           .came = (void *)(state + 1),
                                           .state = state,
                                           .m = (uint32_t)p->shape.m,
                                           .n = (uint32_t)p->shape.n,
                                           .k = w->part == WAY_EMPTY ? 0 : (uint32_t)p->shape.k,
                                           .budget_ns = STREAM_BUDGET_NS};
    gpu_launch_shape(r, w->kernel, &shape, &args);
}

void way_multiply(struct probe_run *r, const struct ways *ways, const struct product *p,
                  const struct way *w, size_t set)
{
    struct blas_gemm g = blas_of(ways, p, w, set, gpu_stream(r));

    if (w->impl == WAY_MMA) {
        multiply_mma(r, p, w, set, NULL);
    } else if (w->impl == WAY_WGMMA) {
        const struct gpu_shape shape = shape_of(&p->shape, w);
        const struct wgmma_gemm_args args = wgmma_args(ways, p, w, set);
        gpu_launch_shape(r, w->kernel, &shape, &args);
    } else if (w->impl == WAY_STREAM) {
        multiply_stream(r, p, w, set);
    } else if (w->impl == WAY_CUBLAS) {
        blas_gemm(r, ways->blas, &g);
    } else if (!blas_plan_gemm(w->plan, w->choice, &g)) {
        probe_fail(r, "cuBLASLt refuses choice %d for %d x %d x %d, which it took before",
                   w->choice, p->shape.m, p->shape.n, p->shape.k);
    }
}

struct gpu_graph way_graph(struct probe_run *r, const struct ways *ways, const struct product *p,
                           const struct way *w, size_t n, size_t sets)
{
    gpu_graph_begin(r);
    for (size_t i = 0; i < n; i++)
        way_multiply(r, ways, p, w, i % sets);
    return gpu_graph_end(r);
}

unsigned way_facts(struct probe_run *r, const struct way *w)
{
    const uint32_t threads = w->mma ? w->mma->threads : w->wgmma ? w->wgmma->threads : 0;
    int blocks = 0;

    if (threads == 0)
        return 0;
    gpu_kernel_facts(r, w->kernel, (int)threads, shared_of(w));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)w->kernel,
                                                       (int)threads, shared_of(w)));
    return (unsigned)blocks;
}

/* --- how its blocks are dealt ---------------------------------------------------------------- */

static void count_mma(struct probe_run *r, const struct ways *ways, const struct product *p,
                      const struct way *w, uint32_t *seen)
{
    const size_t bytes = (size_t)gpu_facts(r)->n_sm * sizeof *seen;
    CUDA(cudaMemsetAsync(ways->census, 0, bytes, gpu_stream(r)));
    multiply_mma(r, p, w, 0, ways->census);
    gpu_to_host(r, seen, ways->census, bytes);
}

static bool count_wgmma(struct probe_run *r, const struct ways *ways, const struct product *p,
                        const struct way *w, uint32_t *seen)
{
    struct wgmma_gemm_watch *watch = probe_host_alloc(r, WAY_BLOCKS * sizeof *watch);
    struct way twin = {.impl = w->impl,
                       .wgmma = w->wgmma,
                       .part = WAY_WATCHED,
                       .blocks = w->blocks,
                       .tiles = w->tiles,
                       .shared = w->shared};
    const size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    bool open = way_open(r, ways, p, &twin);

    if (open) {
        const struct gpu_shape shape = shape_of(&p->shape, &twin);
        const size_t blocks = (size_t)shape.grid.x * shape.grid.y;
        open = blocks <= WAY_BLOCKS;
        if (open) {
            way_multiply(r, ways, p, &twin, 0);
            gpu_to_host(r, watch, ways->watch, blocks * sizeof *watch);
            for (size_t i = 0; i < blocks; i++) {
                if (watch[i].sm >= n_sm)
                    probe_fail(r, "a block says SM %llu of %zu", (unsigned long long)watch[i].sm,
                               n_sm);
                seen[watch[i].sm]++;
            }
        }
    }
    way_close(r, &twin);
    free(watch);
    return open;
}

bool way_count(struct probe_run *r, const struct ways *ways, const struct product *p,
               const struct way *w, struct way_census *census)
{
    const size_t n_sm = (size_t)gpu_facts(r)->n_sm;
    uint32_t *seen = probe_host_alloc(r, n_sm * sizeof *seen);
    bool counted = w->impl == WAY_MMA;

    memset(census, 0, sizeof *census);
    memset(seen, 0, n_sm * sizeof *seen);
    if (w->impl == WAY_MMA)
        count_mma(r, ways, p, w, seen);
    else if (w->impl == WAY_WGMMA)
        counted = count_wgmma(r, ways, p, w, seen);
    for (size_t i = 0; counted && i < n_sm; i++) {
        census->busiest = seen[i] > census->busiest ? seen[i] : census->busiest;
        census->blocks += seen[i];
        census->idle += seen[i] == 0;
    }
    free(seen);
    return counted;
}

/* --- finding the best ------------------------------------------------------------------------ */

size_t way_list(struct probe_run *r, const struct ways *ways, const struct product *p,
                enum way_impl impl, enum blas_accumulate accumulate, struct way *list, size_t max)
{
    const size_t tried = impl == WAY_MMA      ? PROBE_LENGTH(mma_gemm_tiles)
                         : impl == WAY_WGMMA  ? PROBE_LENGTH(wgmma_gemm_tiles)
                         : impl == WAY_STREAM ? PROBE_LENGTH(wgmma_stream_tiles)
                                              : max;
    size_t n = 0;

    for (size_t i = 0; i < tried && n < max; i++) {
        struct way w = {.impl = impl, .accumulate = accumulate, .choice = (int)i};
        w.mma = impl == WAY_MMA ? &mma_gemm_tiles[i] : NULL;
        w.wgmma = impl == WAY_WGMMA    ? &wgmma_gemm_tiles[i]
                  : impl == WAY_STREAM ? &wgmma_stream_tiles[i]
                                       : NULL;
        bool open = way_open(r, ways, p, &w);
        bool last = w.plan && w.choice + 1 >= blas_plan_choices(w.plan);
        if (open)
            list[n++] = w;
        else
            way_close(r, &w);
        if (last)
            break; /* each asks the heuristic anew */
    }
    return n;
}

/* The least of a few replays of a graph of n, in ns; of a single one if that exceeds `most`. */
static double least_ns(struct probe_run *r, const struct ways *ways, const struct product *p,
                       const struct way *w, size_t sets, size_t n, double most)
{
    enum { REPLAYS = 3 };
    struct gpu_graph graph = way_graph(r, ways, p, w, n, sets);
    double least = INFINITY;

    for (int i = 0; i < REPLAYS && (i == 0 || least <= most); i++)
        least = fmin(least, gpu_replay_ns(r, &graph));
    gpu_graph_free(&graph);
    return least;
}

size_t way_products(const struct probe_run *r, const struct product *p, size_t sets, double us)
{
    const struct product_shape *s = &p->shape;
    const double fastest_us = 2.0 * s->m * s->n * s->k / 6e8;
    const double n = probe_is_check_run(r) ? 1 : fmin(20, fmax(1, us / fastest_us));
    return ((size_t)n + sets - 1) / sets * sets;
}

double way_quick_ns(struct probe_run *r, const struct ways *ways, const struct product *p,
                    const struct way *w, size_t sets)
{
    const size_t n = way_products(r, p, sets, SEARCHED_US);
    const double shorter = least_ns(r, ways, p, w, sets, n, INFINITY);
    return (least_ns(r, ways, p, w, sets, 2 * n, INFINITY) - shorter) / (double)n;
}

/* A way that a first look leaves in the race. */
struct finalist {
    size_t index; /* in the list */
    struct gpu_graph graph[2];
    double ns[2][TURNS];
};

/* Those within a tenth of the fastest, by one graph each; a replay's own cost is included. */
static size_t find_finalists(struct probe_run *r, const struct ways *ways, const struct product *p,
                             const struct way *list, size_t n, size_t sets, struct finalist *f)
{
    const size_t rough = way_products(r, p, sets, SEARCHED_US);
    double *ns = probe_host_alloc(r, n * sizeof *ns), least = INFINITY;
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        ns[i] = least_ns(r, ways, p, &list[i], sets, rough, 1.5 * least);
        least = fmin(least, ns[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (ns[i] <= 1.1 * least)
            f[found++].index = i;
    free(ns);
    return found;
}

/* Replays their two graphs in turn, so that they share clock and power. */
static void race(struct probe_run *r, const struct ways *ways, const struct product *p,
                 const struct way *list, size_t sets, struct finalist *f, size_t n)
{
    const size_t products = way_products(r, p, sets, WAY_SAMPLED_US);

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++)
            f[k].graph[i] = way_graph(r, ways, p, &list[f[k].index], products << i, sets);
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < n; k++)
                f[k].ns[i][turn] = gpu_replay_ns(r, &f[k].graph[i]);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < 2; i++) {
            gpu_graph_free(&f[k].graph[i]);
            stat_sort(f[k].ns[i], TURNS);
        }
}

size_t ways_fastest(struct probe_run *r, const struct ways *ways, const struct product *p,
                    const struct way *list, size_t n, size_t sets)
{
    struct finalist *f;
    double least = INFINITY;
    size_t best = 0, finalists;

    if (n < 2 || probe_is_check_run(r))
        return 0;
    f = probe_host_alloc(r, n * sizeof *f);
    finalists = find_finalists(r, ways, p, list, n, sets, f);
    race(r, ways, p, list, sets, f, finalists);
    for (size_t k = 0; k < finalists; k++) {
        double ns = stat_median(f[k].ns[1], TURNS) - stat_median(f[k].ns[0], TURNS);
        if (ns < least) {
            least = ns;
            best = f[k].index;
        }
    }
    free(f);
    return best;
}
