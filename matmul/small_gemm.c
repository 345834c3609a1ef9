/* small_gemm: how fast is a 1024 x 1024 x 1024 product, and does the number of blocks decide it?
 *
 * Method. C = A x B, row-major, fp16 and bf16 operands from N(0,1), fp32 accumulation. Our own kernel
 * (matmul/kernels/mma_gemm.cu: mma.sync, cp.async ring, swizzle, ldmatrix) with tiles that cut the
 * product into 32 to 1024 blocks, and from compute capability 9.0 on one of 128 blocks that fetches
 * by bulk copies (tile=128x64_tma); cuBLAS with its own choice. Time of one product = slope over graphs of n and 2n of them, so that a product
 * includes the edge to the next one, and nothing of the replay.
 *     l2=warm  the same operands again and again: all 6 MiB stay in the L2
 *     l2=cold  sets of operands rotated past 3 x L2
 * Beside each time: blocks, blocks on the busiest SM by a census of %smid, and SMs that had none (a
 * closed library's blocks are read off the captured graph, and cannot be counted by SM), and the
 * error. In the same process, the tensor peak by mma.sync alone, and cuBLAS at 512^3 and 4096^3, the
 * two controls of claim C22.
 *
 * Inside the timed region: one graph replay between two events.
 * Expected on an H200: cuBLAS 5.2 us warm; own 6.6 us at 128 blocks, 10.7 at 64, 18.8 at 32, and
 * slower again from 512 on. docs/METHOD.md has where the time goes.
 *
 * Traps. Zeros, or any small integers, run at a higher clock than N(0,1) does: power. Large products
 * run into the power limit: they are marked, and reported at the clock they had. */
#include "matmul/small_gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/gpu.h"
#include "core/half.h"
#include "matmul/kernels/mma_gemm.h"

PROBE_IMAGE(small_gemm);
PROBE_IMAGE(mma_gemm);
GPU_ARGS_SIZE(struct peak_args, 24);
GPU_ARGS_SIZE(struct verify_args, 48);

enum { TIME, BLOCKS, BUSIEST, IDLE, ERROR, PEAK, MMA_CYCLES };
#define KEYS "m,n,k,type,acc,layout,impl,tile,split,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS, "one product, edge included"},
    [BLOCKS] = {"blocks", "count", PROBE_EXACT, PROBE_EACH, NULL, KEYS, "thread blocks of it"},
    [BUSIEST] = {"blocks_on_busiest_sm", "count", PROBE_EXACT, PROBE_EACH, NULL, KEYS,
                 "of them on the SM that ran most, by census"},
    [IDLE] = {"idle_sms", "count", PROBE_EXACT, PROBE_EACH, NULL, KEYS, "SMs that ran none"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, PROBE_EACH, NULL, KEYS,
               "relative Frobenius norm of the difference from float64"},
    [PEAK] = {"tensor_peak", "flop/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "type,acc",
              "mma.sync m16n8k16 and nothing else, on every SM"},
    [MMA_CYCLES] = {"mma_cycles", "cycles", PROBE_LOWER, PROBE_SLOPE, NULL, "type,acc",
                    "SM cycles for each m16n8k16 of that loop, four tensor cores at work: the same "
                    "without the clock, which the power limit moves"},
};

enum {
    SIZE = 1024,
    REPLAYS = 20, /* products in the shorter graph, at least */
    SETS_MAX = 64,
    SAMPLED = 4096,
    PEAK_TURNS = 2048,
    WORKSPACE = 32 << 20,
};
static const double FP16_ERROR = 5e-4, BF16_ERROR = 4e-3;
static const char *const type_names[] = {"fp16", "bf16"};

/* One product: its size, type, and `sets` sets of operands in device memory. */
struct product {
    int m, n, k;
    enum gpu_type type;
    char *a, *b, *c;
    size_t a_bytes, b_bytes, c_bytes, sets;
    uint16_t *host_a, *host_b; /* of set 0 */
    const double *value;       /* of each bit pattern of the type */
    double *reference;         /* float64 at `places` */
    uint32_t *places;
    size_t n_places;
};

struct gemm {
    struct blas *blas;
    void *workspace;
    cudaKernel_t verify[2];
    const double *value[2]; /* of each bit pattern, by type */
    struct verify_verdict *verdict;
    uint32_t *census;
    char no_blas[256];
};

/* How one product is computed: a tile of our own, or NULL for cuBLAS. */
struct way {
    const struct mma_gemm_tile *tile;
    cudaKernel_t kernel;
    bool cold;
};

/* --- operands and references ----------------------------------------------------------------- */

/* All 65536 values of a 16-bit type: the CPU's reference reads up to 10^8 of them. */
static const double *values_of(struct probe_run *r, enum gpu_type type)
{
    double *value = probe_host_alloc(r, 65536 * sizeof *value);
    for (uint32_t bits = 0; bits < 65536; bits++)
        value[bits] = type == GPU_FP16 ? half_fp16((uint16_t)bits) : half_bf16((uint16_t)bits);
    return value;
}

/* float64 on the CPU: everything for a small product, else random places, the corners, and the last
 * row and column. */
static void reference_on_host(struct probe_run *r, struct product *p)
{
    size_t all = (size_t)p->m * (size_t)p->n, edge = (size_t)(p->m + p->n) + 2;
    const double *value = p->value;
    bool whole = (double)all * p->k <= 0x1p23;
    uint64_t state = probe_seed(r);

    p->n_places = whole ? all : SAMPLED + edge;
    p->places = probe_host_alloc(r, p->n_places * sizeof *p->places);
    p->reference = probe_host_alloc(r, p->n_places * sizeof *p->reference);
    p->host_a = probe_host_alloc(r, p->a_bytes);
    p->host_b = probe_host_alloc(r, p->b_bytes);
    gpu_to_host(r, p->host_a, p->a, p->a_bytes);
    gpu_to_host(r, p->host_b, p->b, p->b_bytes);

    for (size_t i = 0; i < p->n_places; i++) {
        size_t e = i - SAMPLED, m = (size_t)p->m, n = (size_t)p->n, place = i;
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (!whole)
            place = i < SAMPLED ? (size_t)(state >> 20) % all
                    : e < n     ? (m - 1) * n + e        /* last row */
                    : e < n + m ? (e - n) * n + n - 1    /* last column */
                                : (e - n - m) * (n - 1); /* first row's corners */
        double sum = 0;
        for (size_t k = 0; k < (size_t)p->k; k++)
            sum += value[p->host_a[place / n * (size_t)p->k + k]] *
                   value[p->host_b[k * n + place % n]];
        p->places[i] = (uint32_t)place;
        p->reference[i] = sum;
    }
}

static struct product product_of(struct probe_run *r, const struct gemm *g, int m, int n, int k,
                                 enum gpu_type type)
{
    struct product p = {.m = m,
                        .n = n,
                        .k = k,
                        .type = type,
                        .value = g->value[type],
                        .a_bytes = 2 * (size_t)m * (size_t)k,
                        .b_bytes = 2 * (size_t)k * (size_t)n,
                        .c_bytes = 2 * (size_t)m * (size_t)n};
    size_t wanted = 3 * gpu_facts(r)->l2_bytes / (p.a_bytes + p.b_bytes + p.c_bytes) + 1;

    p.sets = wanted > SETS_MAX ? SETS_MAX : wanted;
    p.a = gpu_alloc(r, p.sets * p.a_bytes, "operand A");
    p.b = gpu_alloc(r, p.sets * p.b_bytes, "operand B");
    p.c = gpu_alloc(r, p.sets * p.c_bytes, "the product");
    gpu_fill_normal(r, p.a, type, p.sets * p.a_bytes / 2, probe_seed(r) + 1);
    gpu_fill_normal(r, p.b, type, p.sets * p.b_bytes / 2, probe_seed(r) + 2);
    if (probe_in_full(r))
        reference_on_host(r, &p);
    return p;
}

static void product_free(struct probe_run *r, struct product *p)
{
    gpu_release(r, p->a);
    gpu_release(r, p->b);
    gpu_release(r, p->c);
    free(p->host_a);
    free(p->host_b);
    free(p->places);
    free(p->reference);
}

/* --- is it right? ---------------------------------------------------------------------------- */

static void check_on_host(struct probe_run *r, const struct product *p)
{
    uint16_t *c = probe_host_alloc(r, p->c_bytes);
    double unit = p->type == GPU_FP16 ? HALF_FP16_UNIT : HALF_BF16_UNIT;
    size_t wrong = 0;

    gpu_to_host(r, c, p->c, p->c_bytes);
    for (size_t i = 0; i < p->n_places; i++) {
        /* sum |a b| of N(0,1) operands is 2/pi k on average; twice that bounds it safely here */
        double bound = 2 * unit * fabs(p->reference[i]) + 8 * sqrt(p->k) * 0x1p-24 * 1.3 * p->k;
        wrong += !(fabs(p->value[c[p->places[i]]] - p->reference[i]) <= bound);
    }
    probe_check(r, wrong == 0, "%zu of %zu outputs are as computed on the CPU in double",
                p->n_places - wrong, p->n_places);
    free(c);
}

/* The whole of set 0 against fp64 on the GPU. Returns the relative error. */
static double verify(struct probe_run *r, const struct gemm *g, const struct product *p,
                     const char *when)
{
    struct verify_verdict verdict;
    struct verify_args a = {.a = p->a,
                            .b = p->b,
                            .c = p->c,
                            .verdict = g->verdict,
                            .m = (uint32_t)p->m,
                            .n = (uint32_t)p->n,
                            .k = (uint32_t)p->k};
    CUDA(cudaMemsetAsync(g->verdict, 0, sizeof verdict, gpu_stream(r)));
    gpu_launch_grid(r, g->verify[p->type], (dim3){a.n / VERIFY_TILE, a.m / VERIFY_TILE, 1},
                    VERIFY_TILE * VERIFY_TILE, 0, &a);
    gpu_to_host(r, &verdict, g->verdict, sizeof verdict);

    double error = sqrt(verdict.error_squared / verdict.reference_squared);
    probe_check(r, verdict.wrong == 0, "%s: %llu outputs beyond the error bound", when,
                (unsigned long long)verdict.wrong);
    probe_check(r, error < (p->type == GPU_FP16 ? FP16_ERROR : BF16_ERROR),
                "%s: relative error %.2g", when, error);
    return error;
}

/* --- one way to compute it ------------------------------------------------------------------- */

/* The tma kernel fetches by tensor maps; the others take the plain arguments. */
static void launch_own(struct probe_run *r, const struct product *p, const struct way *w,
                       const struct mma_gemm_args *plain)
{
    struct mma_gemm_tma_args mapped = {.gemm = *plain};
    dim3 grid = {plain->n / w->tile->n, plain->m / w->tile->m, 1};

    if (w->tile->tma) {
        gpu_tensor_map(r, mapped.a_map, p->type, plain->a, plain->m, plain->k, plain->lda,
                       w->tile->m, w->tile->k_step);
        gpu_tensor_map(r, mapped.b_map, p->type, plain->b, plain->k, plain->n, plain->ldb,
                       w->tile->k_step, 64);
    }
    gpu_launch_grid(r, w->kernel, grid, w->tile->threads, w->tile->shared,
                    w->tile->tma ? (const void *)&mapped : plain);
}

static void multiply(struct probe_run *r, const struct gemm *g, const struct product *p,
                     const struct way *w, size_t set, uint32_t *census)
{
    const char *a = p->a + set * p->a_bytes, *b = p->b + set * p->b_bytes;
    char *c = p->c + set * p->c_bytes;

    if (!w->tile) {
        struct blas_gemm gemm = {.type = p->type == GPU_FP16 ? BLAS_FP16 : BLAS_BF16,
                                 .layout = "nn",
                                 .m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .a = a,
                                 .b = b,
                                 .c = c,
                                 .workspace = g->workspace,
                                 .workspace_bytes = WORKSPACE,
                                 .stream = gpu_stream(r)};
        blas_gemm(r, g->blas, &gemm);
        return;
    }
    const struct mma_gemm_args args = {.a = a, .b = b, .c = c, .census = census,
                                       .m = (uint32_t)p->m, .n = (uint32_t)p->n,
                                       .k = (uint32_t)p->k, .lda = (uint32_t)p->k,
                                       .ldb = (uint32_t)p->n, .ldc = (uint32_t)p->n};
    launch_own(r, p, w, &args);
}

/* Blocks, the busiest SM's share of them, and SMs without any. */
static void count_blocks(struct probe_run *r, const struct gemm *g, const struct product *p,
                         const struct way *w)
{
    uint32_t seen[1024], busiest = 0, blocks = 0;
    int n_sm = gpu_facts(r)->n_sm, idle = 0;

    if (!w->tile) {
        probe_missing(r, BUSIEST, "a closed library's blocks cannot be counted by SM");
        probe_missing(r, IDLE, "a closed library's blocks cannot be counted by SM");
        return;
    }
    CUDA(cudaMemsetAsync(g->census, 0, (size_t)n_sm * sizeof *seen, gpu_stream(r)));
    multiply(r, g, p, w, 0, g->census);
    gpu_to_host(r, seen, g->census, (size_t)n_sm * sizeof *seen);
    for (int i = 0; i < n_sm; i++) {
        busiest = seen[i] > busiest ? seen[i] : busiest;
        blocks += seen[i];
        idle += seen[i] == 0;
    }
    probe_value(r, BLOCKS, blocks);
    probe_value(r, BUSIEST, busiest);
    probe_value(r, IDLE, idle);
}

static void sample(struct probe_run *r, const struct gemm *g, const struct product *p,
                   const struct way *w)
{
    size_t sets = w->cold ? p->sets : 1, least = p->m > 2 * SIZE ? 2 : REPLAYS;
    size_t n = (least + sets - 1) / sets * sets;
    struct gpu_graph graph[2];

    for (size_t i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        for (size_t k = 0; k < n << i; k++)
            multiply(r, g, p, w, k % sets, NULL);
        graph[i] = gpu_graph_end(r);
    }
    if (!w->tile) {
        struct gpu_node node = gpu_graph_first_kernel(r, &graph[0]);
        probe_value(r, BLOCKS, node.blocks * (double)node.n_kernels / (double)n);
        probe_fact(r, "kernel", "%s", node.kernel);
        probe_fact(r, "threads", "%u", node.threads);
        probe_fact(r, "cublas", "%s", blas_version(g->blas));
    }
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++)
            probe_sample(r, TIME, (double)(n << i), gpu_replay_ns(r, &graph[i]));
    for (size_t i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static void measure_way(struct probe_run *r, const struct gemm *g, const struct product *p,
                        struct way w)
{
    char split[16] = "auto";
    if (w.tile)
        snprintf(split, sizeof split, "%u", w.tile->split);
    if (!probe_case(r, PROBE_POWER_BOUND,
                    "m=%d,n=%d,k=%d,type=%s,acc=fp32,layout=nn,impl=%s,tile=%s,split=%s,l2=%s",
                    p->m, p->n, p->k, type_names[p->type], w.tile ? "mma" : "cublas",
                    w.tile ? w.tile->name : "auto", split, w.cold ? "cold" : "warm"))
        return;
    if (!w.tile && !g->blas) {
        probe_missing(r, TIME, g->no_blas);
        return;
    }

    gpu_poison(r, p->c, p->sets * p->c_bytes);
    multiply(r, g, p, &w, 0, NULL);
    verify(r, g, p, "before timing");
    if (p->places)
        check_on_host(r, p);

    count_blocks(r, g, p, &w);
    if (w.tile)
        gpu_kernel_facts(r, w.kernel, (int)w.tile->threads, w.tile->shared);
    sample(r, g, p, &w);

    probe_value(r, ERROR, verify(r, g, p, "after timing"));
}

/* Our kernel for a tile, or NULL where this GPU has not the shared memory or the architecture. */
static cudaKernel_t kernel_of(struct probe_run *r, const struct mma_gemm_tile *tile,
                              enum gpu_type type)
{
    char name[64];
    if (tile->shared > gpu_facts(r)->shared_per_block || (int)tile->min_cc > gpu_facts(r)->cc)
        return NULL;
    snprintf(name, sizeof name, "mma_gemm_%s_%s", type_names[type], tile->name);
    cudaKernel_t kernel = gpu_kernel_if_any(
        r, &image_mma_gemm, name,
        tile->tma ? sizeof(struct mma_gemm_tma_args) : sizeof(struct mma_gemm_args));
    if (kernel)
        gpu_kernel_shared(kernel, tile->shared, 100);
    return kernel;
}

/* --- the sweep ------------------------------------------------------------------------------- */

static void measure_type(struct probe_run *r, const struct gemm *g, enum gpu_type type)
{
    struct product p = product_of(r, g, SIZE, SIZE, SIZE, type);
    for (int cold = 0; cold <= 1; cold++) {
        measure_way(r, g, &p, (struct way){.cold = cold});
        for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++) {
            const struct mma_gemm_tile *tile = &mma_gemm_tiles[i];
            struct way w = {.tile = tile, .kernel = kernel_of(r, tile, type), .cold = cold};
            if (w.kernel)
                measure_way(r, g, &p, w);
        }
    }
    product_free(r, &p);
}

/* cuBLAS at another size: the controls of claim C22. */
static void measure_control(struct probe_run *r, const struct gemm *g, int size)
{
    struct product p = product_of(r, g, size, size, size, GPU_FP16);
    measure_way(r, g, &p, (struct way){0});
    product_free(r, &p);
}

static void measure_peak(struct probe_run *r, enum gpu_type type)
{
    static const char *const names[] = {"small_gemm_peak_fp16", "small_gemm_peak_bf16"};
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                    .block = 32 * PEAK_WARPS};
    size_t words = PEAK_CHAINS * 6 * 32;

    if (!probe_case(r, PROBE_POWER_BOUND, "type=%s,acc=fp32", type_names[type]))
        return;
    cudaKernel_t kernel =
        gpu_kernel_if_any(r, &image_small_gemm, names[type], sizeof(struct peak_args));
    if (!kernel) {
        probe_missing(r, PEAK, "mma.sync m16n8k16 needs compute capability 8.0");
        return;
    }
    uint32_t *operands = gpu_alloc(r, words * sizeof *operands, "operands");
    gpu_fill_normal(r, operands, type, words * 2, probe_seed(r));
    struct peak_args a = {.operands = operands, .sink = gpu_mapped(r, sizeof(float))};
    double flops_a_turn = 2.0 * 16 * 8 * 16 * PEAK_CHAINS * PEAK_WARPS * gpu_facts(r)->n_sm;
    while (probe_more(r))
        for (a.turns = PEAK_TURNS; a.turns <= 2 * PEAK_TURNS; a.turns += PEAK_TURNS) {
            double mhz, ns = gpu_launch_clocked_ns(r, kernel, &shape, &a, &mhz);
            probe_sample(r, PEAK, flops_a_turn * (double)a.turns, ns);
            probe_sample(r, MMA_CYCLES, PEAK_CHAINS * PEAK_WARPS * (double)a.turns, ns * mhz / 1e3);
        }
    gpu_release(r, operands);
}

/* Shapes that no tuning has seen: three tiles by two, and a K of five steps. */
static void check_shapes(struct probe_run *r, const struct gemm *g)
{
    for (int type = GPU_FP16; type <= GPU_BF16; type++)
        for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++) {
            const struct mma_gemm_tile *t = &mma_gemm_tiles[i];
            struct way w = {.tile = t, .kernel = kernel_of(r, t, (enum gpu_type)type)};
            struct product p = product_of(r, g, 3 * (int)t->m, 2 * (int)t->n,
                                          5 * (int)t->k_step, (enum gpu_type)type);
            if (w.kernel)
                measure_way(r, g, &p, w);
            product_free(r, &p);
        }
}

static void measure(struct probe_run *r)
{
    struct gemm g = {.workspace = gpu_alloc(r, WORKSPACE, "cuBLAS's workspace"),
                     .verdict = gpu_alloc(r, sizeof *g.verdict, "a verdict"),
                     .census =
                         gpu_alloc(r, (size_t)gpu_facts(r)->n_sm * sizeof *g.census, "the census")};
    g.verify[GPU_FP16] =
        gpu_kernel(r, &image_small_gemm, "small_gemm_verify_fp16", sizeof(struct verify_args));
    g.verify[GPU_BF16] =
        gpu_kernel(r, &image_small_gemm, "small_gemm_verify_bf16", sizeof(struct verify_args));
    g.value[GPU_FP16] = values_of(r, GPU_FP16);
    g.value[GPU_BF16] = values_of(r, GPU_BF16);
    g.blas = blas_open(r, g.no_blas, sizeof g.no_blas);

    measure_type(r, &g, GPU_FP16);
    measure_type(r, &g, GPU_BF16);
    measure_control(r, &g, SIZE / 2);
    measure_control(r, &g, 4 * SIZE);
    measure_peak(r, GPU_FP16);
    measure_peak(r, GPU_BF16);
    if (probe_checking(r))
        check_shapes(r, &g);
}

const struct probe probe = {
    .name = "small_gemm",
    .what = "How fast is a 1024 x 1024 x 1024 product, and does the number of blocks decide it?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
