/* gemm_chain: what does a product cost in a chain of eight, launched one by one or as one kernel?
 *
 * Method. X(i+1) = X(i) W(i) for i = 0..7. X and W are 1024 x 1024, fp16 with fp32 sums, from
 * N(0,1); the weights are scaled by 1/32, so that every X is N(0,1) again. A tile of a product
 * needs whole rows of the product before. `time` is that of one product in such a chain, edges
 * included, by mode:
 *     stream           one launch per product, the chain queued behind a gate kernel
 *     graph            one node per product
 *     graph_pdl        the same as programmatic dependents (compute capability 9.0)
 *     persistent_grid  one cooperative launch for all eight (9.0, gemm_chain.cu). Between products
 *                      all blocks wait for all others, by one counter. The weights of the next
 *                      product are fetched before that, as many as shared memory holds
 *     persistent_rows  the same, but a block waits only for the blocks that write the rows it
 *                      reads; tile=128x64_halves computes the two halves of its rows in turn, so
 *                      that one half is computed while the other is in flight
 *     unwaited         the same without waiting: the negative control
 * impl=wgmma is our kernel for compute capability 9.0, mma the portable one, and cublaslt the
 * choice of cuBLASLt that is fastest in a short search. `alone` is the denominator: one product of
 * the same operands, repeated in a graph. The best of these counts; 128x64_stream, by stream-K, is
 * one of them. Times are slopes over 3 and 6 chains, 24 and 48 products.
 *
 * --set m and n take another X and square W: m in multiples of 256 up to 4096, which have a counter
 * for each row of tiles, n in multiples of 128 from 512 to 4096. Halves need n up to 1024, and a
 * chain in one kernel an SM for each tile.
 *
 * Inside the timed region: one graph replay between two events; for stream, the launches.
 * Expected on an H200, in us: alone 4.83, graph 5.2, stream 7, graph_pdl 4.8, persistent 4.8. What
 * the persistent kernel saves in launches it spends on writing the tile, a counter and the first
 * rows of X. Computing in halves should hide that but takes 6.2: it reads twice as many bytes of W.
 * unwaited takes 5.2, longer than with the waits. It seems that blocks in step share answers of the
 * L2, as bandwidth.in_step shows, and that these blocks drift apart.
 *
 * Traps. Every run of a chain leaves the same values. A run that reads an X too early finds what
 * the run before left there, and looks right. So a run that is to be verified starts from NaN in
 * X(1) to X(8). Every product is then compared with fp64 as a whole, taking its measured X(i) as
 * input. The CPU follows two rows from X(0) to X(8). The persistent kernel must repeat its X(8) bit
 * by bit. The same checks must find a chain without waiting wrong (`wrong`). Every wait for another
 * block has a budget; a cooperative launch makes all blocks resident. */
#include "matmul/gemm_chain/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "core/half.h"
#include "matmul/common/way.h"

PROBE_IMAGE(gemm_chain);

enum { TIME, ALONE, ERROR, WRONG };
#define KEYS "products,m,n,type,acc,impl,tile,mode"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = KEYS,
        .what = "one product of a chain of so many, m x n by n x n, edges included"},
    [ALONE] = {"alone", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "m,n,k,type,acc,impl,tile,mode",
        .what = "one product of the same operands again and again, edge included"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "relative Frobenius norm of the difference from float64, of the worst product"},
    [WRONG] = {"wrong", "ratio", PROBE_HIGHER, .keys = KEYS,
        .what = "share of wrong outputs when nothing makes a product wait: must not be 0"},
};

static const struct probe_parameter parameters[] = {
    {.name = "m", .max = 4096, .what = "rows of X of the one chain to measure; 0: 1024"},
    {.name = "n", .max = 4096, .what = "its columns, and rows and columns of W; 0: 1024"},
};

enum {
    PRODUCTS = 8,
    SIZE = 1024,
    CHAINS = 3,   /* in the shorter of two graphs */
    GAP = 4352,   /* bytes between two matrices */
    ROWS = 2,     /* that the CPU follows: a random one, and the last */
    REPEATS = 10, /* runs of the persistent kernel that must leave the same bits */
    CHOICES_MAX = 64,
    WAIT_BUDGET_NS = 200000000,
};
_Static_assert(SIZE <= 64 * GEMM_CHAIN_HALVES_STEPS && SIZE / 2 >= 64 * GEMM_CHAIN_HALVES_SLOTS,
               "what the kernel of two halves can take");
enum { M_STEP = 256, N_STEP = 128, N_LEAST = 64 * GEMM_CHAIN_HALVES_SLOTS }; /* of --set */

/* Eight products as eight sets of one product: X(i), W(i) and X(i+1) are A, B and C of set i. */
struct chain {
    struct ways ways;
    struct product p;
    struct grid_barrier_state *state;
    uint32_t *counters;
    uint32_t row[ROWS];
    double *reference[ROWS]; /* of X(8), by the CPU; NULL where this run does not verify it */
};

/* One way to run it. */
struct form {
    const char *impl, *tile, *mode;
    const struct way *way; /* one launch per product ... */
    cudaKernel_t kernel;   /* ... or this one for all */
    struct gpu_shape shape;
    struct gemm_chain_args args;
    struct gpu_graph once; /* one chain, unless by_stream */
    bool by_stream, unwaited;
};

/* --- running it ------------------------------------------------------------------------------ */

static void enqueue(struct probe_run *r, const struct chain *c, const struct form *f)
{
    if (f->kernel) {
        gpu_launch_shape(r, f->kernel, &f->shape, &f->args);
        return;
    }
    for (size_t i = 0; i < PRODUCTS; i++)
        way_multiply(r, &c->ways, &c->p, f->way, i);
}

static struct gpu_graph capture(struct probe_run *r, const struct chain *c, const struct form *f,
                                size_t chains)
{
    gpu_graph_begin(r);
    for (size_t i = 0; i < chains; i++)
        enqueue(r, c, f);
    return gpu_graph_end(r);
}

/* A gate holds the stream, so that the whole chain is queued before the first product begins. */
static double stream_ns(struct probe_run *r, const struct chain *c, const struct form *f,
                        size_t chains)
{
    gpu_time_start(r);
    for (size_t i = 0; i < chains; i++)
        enqueue(r, c, f);
    return gpu_time_stop(r).ns;
}

static void sample_by_stream(struct probe_run *r, const struct chain *c, const struct form *f)
{
    while (probe_more(r))
        for (size_t chains = CHAINS; chains <= 2 * CHAINS; chains += CHAINS)
            probe_sample(r, TIME, (double)(PRODUCTS * chains), stream_ns(r, c, f, chains));
    gpu_require_gates_held(r);
}

static void sample_graphs(struct probe_run *r, int metric, size_t products,
                          struct gpu_graph graph[2])
{
    const struct gpu_node node = gpu_graph_first_kernel(r, &graph[0]);

    probe_fact(r, "kernel", "%s", node.kernel);
    probe_fact(r, "blocks", "%u", node.blocks);
    probe_fact(r, "threads", "%u", node.threads);
    gpu_sample_graphs(r, metric, (double)products, graph);
    for (size_t i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

/* --- is it right? ---------------------------------------------------------------------------- */

/* Product i of the chain by itself. */
static struct product link_of(const struct chain *c, size_t i)
{
    struct product link = c->p;
    link.a += i * link.a_step;
    link.b += i * link.b_step;
    link.c += i * link.c_step;
    return link;
}

/* Runs one chain from NaN in everything that it writes, launched as it is when timed. */
static void run_afresh(struct probe_run *r, const struct chain *c, const struct form *f)
{
    product_poison(r, &c->p);
    if (f->once.exec)
        CUDA(cudaGraphLaunch(f->once.exec, gpu_stream(r)));
    else
        enqueue(r, c, f);
}

/* Compares with the CPU's rows of X(8). The bound is that of eight independent roundings. */
static void check_rows(struct probe_run *r, const struct chain *c, const char *when)
{
    const struct product last = link_of(c, PRODUCTS - 1);
    const size_t n = (size_t)last.shape.n;
    uint16_t *x = probe_host_alloc(r, n * sizeof *x);

    for (size_t i = 0; i < ROWS; i++) {
        double error = 0, all = 0;
        gpu_to_host(r, x, last.c + c->row[i] * n * sizeof *x, n * sizeof *x);
        for (size_t k = 0; k < n; k++) {
            const double value = c->reference[i][k], off = half_fp16(x[k]) - value;
            error += off * off;
            all += value * value;
        }
        error = sqrt(error / all);
        probe_require(r, error < sqrt(PRODUCTS) * PRODUCT_ERROR(GPU_FP16),
                      "%s: row %u after %d products is %.2g off the CPU's", when, c->row[i],
                      PRODUCTS, error);
    }
    free(x);
}

/* Verifies every product of a fresh chain against fp64. Returns the worst relative error. */
static double verify(struct probe_run *r, const struct chain *c, const struct form *f,
                     const char *when)
{
    uint32_t aborted = 0;
    double worst = 0;

    run_afresh(r, c, f);
    for (size_t i = 0; i < PRODUCTS; i++) {
        const struct product link = link_of(c, i);
        const struct verdict v = product_run_verifier(r, &link);
        const double error = verdict_error(&v);
        probe_require(r, v.looked_at > 0 && v.wrong == 0 && error < PRODUCT_ERROR(GPU_FP16),
                      "%s: product %zu: %llu of %llu outputs beyond the bound, relative error %.2g",
                      when, i, (unsigned long long)v.wrong, (unsigned long long)v.looked_at, error);
        worst = error > worst ? error : worst;
    }
    if (c->reference[0])
        check_rows(r, c, when);
    gpu_to_host(r, &aborted, &c->state->aborted, sizeof aborted);
    probe_require(r, aborted == 0, "no wait in a kernel took more than %d ms",
                  WAIT_BUDGET_NS / 1000000);
    return worst;
}

/* The order of the sums is fixed, so any difference comes from reading too early. */
static void check_repeats(struct probe_run *r, const struct chain *c, const struct form *f)
{
    const int repeats = probe_is_check_run(r) ? 1 : REPEATS;
    const struct product last = link_of(c, PRODUCTS - 1);
    const size_t bytes = 2 * (size_t)last.shape.m * (size_t)last.shape.n;
    char *first = probe_host_alloc(r, bytes), *again = probe_host_alloc(r, bytes);
    int differing = 0;

    gpu_to_host(r, first, last.c, bytes);
    for (int i = 0; i < repeats; i++) {
        run_afresh(r, c, f);
        gpu_to_host(r, again, last.c, bytes);
        differing += memcmp(first, again, bytes) != 0;
    }
    probe_require(r, differing == 0, "%d of %d runs ended in other bits", differing, repeats);
    free(first);
    free(again);
}

/* What the same checks say of a chain whose products do not wait. */
static double share_of_wrong(struct probe_run *r, const struct chain *c, const struct form *f)
{
    double wrong = 0, all = 0;

    run_afresh(r, c, f);
    for (size_t i = 0; i < PRODUCTS; i++) {
        const struct product link = link_of(c, i);
        const struct verdict v = product_run_verifier(r, &link);
        wrong += (double)v.wrong;
        all += (double)v.looked_at;
    }
    return wrong / all;
}

/* --- cases ----------------------------------------------------------------------------------- */

static bool chain_case(struct probe_run *r, const struct chain *c, const struct form *f)
{
    return probe_begin_case(r, PROBE_POWER_BOUND,
                            "products=%d,m=%d,n=%d,type=fp16,acc=fp32,impl=%s,tile=%s,mode=%s",
                            PRODUCTS, c->p.shape.m, c->p.shape.n, f->impl, f->tile, f->mode);
}

static void sample_chain(struct probe_run *r, const struct chain *c, const struct form *f)
{
    if (f->by_stream) {
        sample_by_stream(r, c, f);
        return;
    }
    struct gpu_graph graph[2] = {capture(r, c, f, CHAINS), capture(r, c, f, 2 * CHAINS)};
    sample_graphs(r, TIME, PRODUCTS * CHAINS, graph);
}

static void measure_control(struct probe_run *r, const struct chain *c, const struct form *f)
{
    const double wrong = share_of_wrong(r, c, f);

    probe_value(r, WRONG, wrong);
    probe_require(r, wrong > 0, "a chain that does not wait is found to be wrong");
    sample_chain(r, c, f);
}

static void measure_chain(struct probe_run *r, const struct chain *c, struct form *f)
{
    if (!chain_case(r, c, f))
        return;
    if (!f->by_stream)
        f->once = capture(r, c, f, 1);
    if (f->unwaited) {
        measure_control(r, c, f);
    } else {
        verify(r, c, f, "before timing");
        sample_chain(r, c, f);
        probe_value(r, ERROR, verify(r, c, f, "after timing"));
        if (f->kernel)
            check_repeats(r, c, f);
    }
    if (f->once.exec)
        gpu_graph_free(&f->once);
}

static void measure_alone(struct probe_run *r, const struct chain *c, const struct way *w,
                          const char *mode)
{
    const struct product_shape *s = &c->p.shape;
    const struct product first = link_of(c, 0);

    if (!probe_begin_case(r, PROBE_POWER_BOUND,
                          "m=%d,n=%d,k=%d,type=fp16,acc=fp32,impl=%s,tile=%s,mode=%s", s->m, s->n,
                          s->k, way_names[w->impl], way_tile(w), mode))
        return;
    product_poison(r, &c->p);
    way_multiply(r, &c->ways, &c->p, w, 0);
    product_verify(r, &first, "before timing");
    product_poison(r, &c->p); /* verification after the timing then sees the timed graphs' work */
    struct gpu_graph graph[2];
    for (size_t i = 0; i < 2; i++)
        graph[i] = way_graph(r, &c->ways, &c->p, w, (size_t)(PRODUCTS * CHAINS) << i, 1);
    sample_graphs(r, ALONE, PRODUCTS * CHAINS, graph);
    product_verify(r, &first, "after timing");
}

static void measure_way(struct probe_run *r, const struct chain *c, const struct way *w,
                        const char *mode)
{
    struct form f = {.impl = way_names[w->impl], .tile = way_tile(w), .mode = mode, .way = w};

    f.by_stream = strcmp(mode, "stream") == 0;
    if (!f.by_stream)
        measure_alone(r, c, w, mode);
    measure_chain(r, c, &f);
}

/* --- our kernels ----------------------------------------------------------------------------- */

static const struct wgmma_gemm_tile *wgmma_tile(const char *name)
{
    for (size_t i = 0; i < PROBE_LENGTH(wgmma_gemm_tiles); i++)
        if (strcmp(wgmma_gemm_tiles[i].name, name) == 0)
            return &wgmma_gemm_tiles[i];
    return NULL;
}

/* The fastest at 1024^3 that this GPU can run: by wgmma, else by mma.sync. */
static bool open_own(struct probe_run *r, const struct chain *c, struct way *w)
{
    static const char *const portable[] = {"128x64_tma", "128x64"};

    *w = (struct way){.impl = WAY_WGMMA, .wgmma = wgmma_tile("128x64")};
    if (way_open(r, &c->ways, &c->p, w))
        return true;
    way_close(r, w);
    for (size_t i = 0; i < PROBE_LENGTH(portable); i++)
        for (size_t k = 0; k < PROBE_LENGTH(mma_gemm_tiles); k++) {
            *w = (struct way){.impl = WAY_MMA, .mma = &mma_gemm_tiles[k]};
            if (strcmp(portable[i], mma_gemm_tiles[k].name) == 0 && way_open(r, &c->ways, &c->p, w))
                return true;
        }
    return false;
}

static void measure_own(struct probe_run *r, const struct chain *c)
{
    struct way w;

    if (!open_own(r, c, &w))
        return;
    measure_way(r, c, &w, "stream");
    measure_way(r, c, &w, "graph");
    if (w.impl == WAY_WGMMA) {
        w.dependent = true;
        measure_way(r, c, &w, "graph_pdl");
    }
    way_close(r, &w);
}

/* The product alone with equal shares of k-steps: another candidate for the denominator. */
static void measure_stream_k(struct probe_run *r, const struct chain *c)
{
    struct way list[1];

    if (way_list(r, &c->ways, &c->p, WAY_STREAM, BLAS_IN_FP32, list, PROBE_LENGTH(list)) == 0)
        return;
    measure_alone(r, c, &list[0], "graph");
    way_close(r, &list[0]);
}

static const struct persistent {
    const char *tile, *mode;
    const char *grid, *maps; /* the rows of wgmma_gemm.h whose grid and tensor maps it uses */
    unsigned threads, shared;
    bool by_rows, unwaited;
} persistents[] = {
    {"128x64", "persistent_grid", "128x64", "128x64", 0, 0, false, false},
    {"128x64", "persistent_rows", "128x64", "128x64", 0, 0, true, false},
    {"64x128_alone", "persistent_rows", "64x128_alone", "64x128_alone", 0, 0, true, false},
    {"128x64_halves", "persistent_rows", "128x64", "64x64", GEMM_CHAIN_HALVES_THREADS,
     GEMM_CHAIN_HALVES_SHARED, true, false},
    {"128x64", "unwaited", "128x64", "128x64", 0, 0, true, true},
};

/* The counters are cleared only where a different number of blocks begins to count, not between
 * launches. `aborted` is cleared, so that one kernel that gave up does not make the next give
 * up. */
static struct gemm_chain_args chain_args(struct probe_run *r, const struct chain *c,
                                         const struct way *w, bool by_rows)
{
    CUDA(
        cudaMemsetAsync(c->counters, 0, 4 * GEMM_CHAIN_COUNTERS * GEMM_CHAIN_APART, gpu_stream(r)));
    CUDA(cudaMemsetAsync(c->state, 0, sizeof *c->state, gpu_stream(r)));
    return (struct gemm_chain_args){.maps = way_maps(w),
                                    .state = c->state,
                                    .counters = c->counters,
                                    .m = (uint32_t)c->p.shape.m,
                                    .n = (uint32_t)c->p.shape.n,
                                    .products = PRODUCTS,
                                    .by_rows = by_rows,
                                    .budget_ns = WAIT_BUDGET_NS};
}

/* False where this GPU has no such kernel, or cannot hold all its blocks at once. */
static bool open_persistent(struct probe_run *r, const struct chain *c, const struct persistent *v,
                            struct way *w, struct form *f)
{
    const struct product_shape *s = &c->p.shape;
    const struct wgmma_gemm_tile *t = wgmma_tile(v->grid);
    const unsigned threads = v->threads ? v->threads : t->threads;
    const unsigned shared = v->shared ? v->shared : t->shared;
    char name[64];
    uint32_t grid[2];

    *w = (struct way){.impl = WAY_WGMMA, .wgmma = wgmma_tile(v->maps)};
    *f = (struct form){.impl = "wgmma", .tile = v->tile, .mode = v->mode, .unwaited = v->unwaited};
    snprintf(name, sizeof name, "gemm_chain_%sfp16_%s", v->unwaited ? "unwaited_" : "", v->tile);
    if (!way_open(r, &c->ways, &c->p, w) || shared > gpu_facts(r)->shared_per_block)
        return false;
    f->kernel = gpu_kernel_if_any(r, &image_gemm_chain, name, sizeof f->args);
    if (!f->kernel)
        return false;
    wgmma_gemm_grid(t, (uint32_t)s->m, (uint32_t)s->n, grid);
    f->shape = (struct gpu_shape){.grid = {grid[0], grid[1], 1},
                                  .block = threads,
                                  .shared = shared,
                                  .cluster = t->cluster,
                                  .cooperative = true};
    f->args = chain_args(r, c, w, v->by_rows);
    gpu_kernel_shared(f->kernel, shared, 100);
    return t->cluster * gpu_clusters_at_once(f->kernel, threads, shared, t->cluster) >=
           grid[0] * grid[1];
}

static void measure_persistent(struct probe_run *r, const struct chain *c,
                               const struct persistent *v)
{
    struct way w;
    struct form f;

    if (v->threads && c->p.shape.n > 64 * GEMM_CHAIN_HALVES_STEPS) {
        probe_note(r, "not measured: tile=%s of more than %d columns", v->tile,
                   64 * GEMM_CHAIN_HALVES_STEPS);
        return;
    }
    if (open_persistent(r, c, v, &w, &f))
        measure_chain(r, c, &f);
    else if (chain_case(r, c, &f))
        probe_missing(r, TIME, "the kernel needs compute capability 9.0 and an SM for each block");
    way_close(r, &w);
}

/* --- cuBLASLt -------------------------------------------------------------------------------- */

static void measure_library(struct probe_run *r, const struct chain *c)
{
    struct way list[CHOICES_MAX];
    const size_t most = probe_is_check_run(r) ? 1 : CHOICES_MAX;
    size_t n =
        c->ways.blas ? way_list(r, &c->ways, &c->p, WAY_CUBLASLT, BLAS_IN_FP32, list, most) : 0;

    if (n == 0) {
        const struct form none = {.impl = "cublaslt", .tile = "auto", .mode = "graph"};
        if (chain_case(r, c, &none))
            probe_missing(r, TIME, c->ways.blas ? "cuBLASLt offers nothing" : c->ways.no_blas);
        return;
    }
    measure_way(r, c, &list[ways_fastest(r, &c->ways, &c->p, list, n, 1)], "graph");
    for (size_t i = 0; i < n; i++)
        way_close(r, &list[i]);
}

/* --- preparation ------------------------------------------------------------------------------ */

/* The values of all bit patterns: the CPU's rows read 8 x 10^6 of them. */
static double *values_of(struct probe_run *r)
{
    double *value = probe_host_alloc(r, 65536 * sizeof *value);
    for (uint32_t bits = 0; bits < 65536; bits++)
        value[bits] = half_fp16((uint16_t)bits);
    return value;
}

/* Two rows of X(0) through all products in double. */
static void follow_rows(struct probe_run *r, struct chain *c)
{
    const size_t n = (size_t)c->p.shape.n, m = (size_t)c->p.shape.m;
    uint16_t *w = probe_host_alloc(r, n * n * sizeof *w);
    double *const value = values_of(r), *next = probe_host_alloc(r, n * sizeof *next);

    c->row[0] = (uint32_t)(probe_seed(r) % m);
    c->row[1] = (uint32_t)m - 1;
    for (size_t i = 0; i < ROWS; i++) {
        c->reference[i] = probe_host_alloc(r, n * sizeof *next);
        gpu_to_host(r, w, c->p.a + c->row[i] * n * sizeof *w, n * sizeof *w);
        for (size_t k = 0; k < n; k++)
            c->reference[i][k] = value[w[k]];
    }
    for (size_t i = 0; i < PRODUCTS; i++) {
        gpu_to_host(r, w, c->p.b + i * c->p.b_step, n * n * sizeof *w);
        for (size_t row = 0; row < ROWS; row++) {
            memset(next, 0, n * sizeof *next);
            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j < n; j++)
                    next[j] += c->reference[row][k] * value[w[k * n + j]];
            memcpy(c->reference[row], next, n * sizeof *next);
        }
    }
    free(w);
    free(next);
    free(value);
}

static void fill(struct probe_run *r, const struct chain *c, size_t x_bytes, size_t w_bytes)
{
    const size_t n = (size_t)c->p.shape.n;
    const struct gemm_chain_scale_args scale = {
        .elements = c->p.b, .count = w_bytes / 2, .factor = (float)(1 / sqrt((double)n))};
    cudaKernel_t kernel = gpu_kernel(r, &image_gemm_chain, "gemm_chain_scale", sizeof scale);

    gpu_fill_normal(r, c->p.a, GPU_FP16, x_bytes / 2, probe_seed(r) + 1);
    gpu_fill_normal(r, c->p.b, GPU_FP16, w_bytes / 2, probe_seed(r) + 2);
    gpu_launch(r, kernel, 2 * (unsigned)gpu_facts(r)->n_sm, 256, 0, &scale);
}

static struct chain prepare(struct probe_run *r, int m, int n)
{
    const size_t x_bytes = 2 * (size_t)m * (size_t)n, x_step = x_bytes + GAP;
    const size_t w_bytes = 2 * (size_t)n * (size_t)n, w_step = w_bytes + GAP;
    const size_t counters = 4 * GEMM_CHAIN_COUNTERS * GEMM_CHAIN_APART;
    char *x = gpu_alloc(r, (PRODUCTS + 1) * x_step, "every X");
    struct chain c = {.ways = ways_open(r),
                      .state = gpu_alloc(r, sizeof *c.state, "the barrier"),
                      .counters = gpu_alloc(r, counters, "counters")};

    c.p = (struct product){
        .shape = {m, n, n, GPU_FP16, "nn", n, n, n, 0, 0},
        .sets = PRODUCTS,
        .a = x,
        .b = gpu_alloc(r, PRODUCTS * w_step, "the weights"),
        .c = x + x_step,
        .a_step = x_step,
        .b_step = w_step,
        .c_step = x_step,
        .memory = {[2] = x + x_step}, /* the part that product_poison() poisons */
        .bytes = {[2] = PRODUCTS * x_step},
    };
    CUDA(cudaMemsetAsync(c.state, 0, sizeof *c.state, gpu_stream(r)));
    fill(r, &c, x_bytes, PRODUCTS * w_step);
    if (probe_in_full(r))
        follow_rows(r, &c);
    return c;
}

static struct chain prepare_asked(struct probe_run *r, int m, int n)
{
    m = m ? m : SIZE;
    n = n ? n : SIZE;
    if (m % M_STEP || n % N_STEP || n < N_LEAST)
        probe_usage(r, "m=%d, n=%d: expected a multiple of %d, and one of %d from %d on", m, n,
                    M_STEP, N_STEP, N_LEAST);
    return prepare(r, m, n);
}

static void measure(struct probe_run *r)
{
    const int m = (int)probe_parameter(r, "m"), n = (int)probe_parameter(r, "n");
    const bool is_small = probe_is_check_run(r);
    const struct chain c = m || n     ? prepare_asked(r, m, n)
                           : is_small ? prepare(r, SIZE / 4, SIZE / 2)
                                      : prepare(r, SIZE, SIZE);

    measure_library(r, &c); /* first, because its search reads clocks that belong to no case */
    measure_own(r, &c);
    measure_stream_k(r, &c);
    for (size_t i = 0; i < PROBE_LENGTH(persistents); i++)
        measure_persistent(r, &c, &persistents[i]);
}

const struct probe probe = {
    .name = "gemm_chain",
    .what = "What does a product cost in a chain of eight, launched one by one or as one kernel?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
