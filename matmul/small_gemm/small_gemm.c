/* small_gemm: how fast is a 1024 x 1024 x 1024 product, and does the number of blocks decide it?
 *
 * Method. C = A x B, row-major, fp16 and bf16 operands from N(0,1), fp32 accumulation. Our own
 * kernels run with every tile that they have: the portable one (matmul/common/mma_gemm.cu:
 * mma.sync, cp.async ring, swizzle, ldmatrix; tile=128x64_tma fetches by bulk copies) and, on
 * compute capability 9.0, matmul/common/wgmma_gemm.cu. Together they cut the product into 32 to
 * 1024 blocks. cuBLAS runs with its own choice. The time of a product is the slope over graphs of n
 * and 2n of them, so that it includes the edge to the next one, and nothing of the replay.
 *     l2=warm  the same operands again and again: all 6 MiB stay in the L2
 *     l2=cold  rotates over sets of operands, more than 3 x L2
 * --energy replays the longer graph for half a second more and reads what the board takes.
 * --set m, n and k take another product, by cuBLAS and by all tiles that divide it (ours by wgmma
 * need n and k in multiples of 8), cold only where 64 sets are more than 3 x L2.
 * Each time is reported with its number of blocks, the blocks on the busiest SM by a census of
 * %smid, the SMs without a block, and the error. (A closed library's blocks are read from the
 * captured graph and cannot be counted by SM; nor can those of a wgmma tile without a watched
 * twin.) The same process also measures the tensor peak by mma.sync alone, and cuBLAS at 512^3 and
 * 4096^3, the two controls of claim C22.
 *
 * Inside the timed region: one graph replay between two events.
 * Expected on an H200: cuBLAS 5.2 us warm. Ours takes 4.8 us by wgmma and 6.6 us by mma.sync with
 * 128 blocks, and longer with fewer blocks and with more. docs/FINDINGS.md tells where the time
 * goes.
 *
 * Traps. Zeros, or any small integers, take less power than N(0,1) and run at a higher clock. Large
 * products reach the power limit: they are marked, and reported at the clock they had. */
#include "matmul/small_gemm/args.h"

#include <stdio.h>
#include <string.h>

#include "core/gpu.h"
#include "matmul/common/way.h"

PROBE_IMAGE(small_gemm);

enum { TIME, BLOCKS, BUSIEST, IDLE, ERROR, PEAK, MMA_CYCLES, POWER, ENERGY };
#define KEYS "m,n,k,type,acc,layout,impl,tile,split,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = KEYS,
        .what = "one product, edge included"},
    [BLOCKS] = {"blocks", "count", PROBE_EXACT, .keys = KEYS, .what = "thread blocks of it"},
    [BUSIEST] = {"blocks_on_busiest_sm", "count", PROBE_EXACT, .keys = KEYS,
        .what = "of them on the SM that ran most, by census"},
    [IDLE] = {"idle_sms", "count", PROBE_LOWER, .keys = KEYS, .what = "SMs that ran none"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "relative Frobenius norm of the difference from float64"},
    [PEAK] = {"tensor_peak", "flop/s", PROBE_HIGHER, .form = PROBE_SLOPE, .keys = "type,acc",
        .what = "mma.sync m16n8k16 and nothing else, on every SM"},
    [MMA_CYCLES] = {"mma_cycles", "cycles", PROBE_LOWER, .form = PROBE_SLOPE, .keys = "type,acc",
        .what = "SM cycles for each m16n8k16 of that loop, four tensor cores at work: the same "
                "without the clock, which the power limit moves"},
    [POWER] = {"power", "watts", PROBE_LOWER, .keys = KEYS,
        .what = "with --energy: of the board while it multiplies all the time, by NVML's energy "
                "counter"},
    [ENERGY] = {"energy", "joules", PROBE_LOWER, .keys = KEYS,
        .what = "with --energy: that the board takes for one product"},
};

static const char *const types[] = {"fp16", "bf16", NULL}; /* enum gpu_type */
static const struct probe_parameter parameters[] = {
    PRODUCT_SIZES,
    {.name = "type", .max = GPU_BF16, .what = "of that product's operands", .words = types},
};

enum {
    SIZE = 1024,
    REPLAYS = 20, /* least number of products in the shorter graph */
    PEAK_TURNS = 256,
};

/* --- one way to compute it ------------------------------------------------------------------- */

static void count_blocks(struct probe_run *r, const struct ways *ways, const struct product *p,
                         const struct way *w)
{
    struct way_census census;

    if (!way_count(r, ways, p, w, &census)) {
        const char *why = w->wgmma ? "no kernel says where the blocks of this tile, or so many, ran"
                                   : "a closed library's blocks cannot be counted by SM";
        probe_missing(r, BUSIEST, why);
        probe_missing(r, IDLE, why);
        return;
    }
    probe_value(r, BUSIEST, census.busiest);
    probe_value(r, IDLE, census.idle);
}

/* Of a graph of n products. */
static void measure_energy(struct probe_run *r, const struct gpu_graph *graph, double n)
{
    const struct gpu_power power = gpu_power_of_graph(r, graph, n * probe_median(r, TIME));
    gpu_power_value(r, POWER, ENERGY, &power, n);
}

static void sample(struct probe_run *r, const struct ways *ways, const struct product *p,
                   const struct way *w, bool cold)
{
    const size_t least = product_is_long(&p->shape) ? 2 : REPLAYS, sets = cold ? p->sets : 1;
    size_t n = (least + sets - 1) / sets * sets;
    struct gpu_graph graph[2];

    for (size_t i = 0; i < 2; i++)
        graph[i] = way_graph(r, ways, p, w, n << i, sets);
    struct gpu_node node = gpu_graph_first_kernel(r, &graph[0]);
    probe_value(r, BLOCKS, node.blocks * (double)node.n_kernels / (double)n);
    probe_fact(r, "threads", "%u", node.threads);
    if (w->impl == WAY_CUBLAS) {
        probe_fact(r, "kernel", "%s", node.kernel);
        probe_fact(r, "cublas", "%s", blas_version(ways->blas));
    }
    product_poison(r, p); /* so that the later verification sees what was timed */
    gpu_sample_graphs(r, TIME, (double)n, graph);
    if (probe_energy(r))
        measure_energy(r, &graph[1], 2.0 * (double)n);
    for (size_t i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

/* Leaves out what this GPU cannot run. */
static void measure_way(struct probe_run *r, const struct ways *ways, const struct product *p,
                        struct way w, bool cold, unsigned flags)
{
    if (!probe_is_due(r, flags))
        return;
    const struct product_shape *s = &p->shape;
    const bool library = w.impl == WAY_CUBLAS, ready = way_open(r, ways, p, &w);
    char split[16] = "auto";

    if (!library)
        snprintf(split, sizeof split, "%u", way_split(&w));
    if ((ready || library) &&
        probe_begin_case(r, flags | PROBE_POWER_BOUND,
                         "m=%d,n=%d,k=%d,type=%s,acc=fp32,layout=nn,impl=%s,tile=%s,split=%s,l2=%s",
                         s->m, s->n, s->k, gpu_type_name(s->type), way_names[w.impl], way_tile(&w),
                         split, cold ? "cold" : "warm")) {
        if (ready) {
            product_poison(r, p);
            way_multiply(r, ways, p, &w, 0);
            product_verify(r, p, "before timing");
            count_blocks(r, ways, p, &w);
            way_facts(r, &w);
            sample(r, ways, p, &w, cold);
            probe_value(r, ERROR, product_verify(r, p, "after timing"));
        } else {
            probe_missing(r, TIME, ways->no_blas);
        }
    }
    way_close(r, &w);
}

/* --- the sweep ------------------------------------------------------------------------------- */

static struct product product_of(struct probe_run *r, int m, int n, int k, enum gpu_type type)
{
    return product_new(
        r, &(struct product_shape){.m = m, .n = n, .k = k, .type = type, .layout = "nn"}, 0);
}

/* The product from the command line, by everything that takes it. */
static void measure_asked(struct probe_run *r, const struct ways *ways,
                          const struct product_shape *shape)
{
    struct product p = product_new(r, shape, 0);

    for (int cold = 0; cold <= product_is_cold(r, &p); cold++) {
        measure_way(r, ways, &p, (struct way){.impl = WAY_CUBLAS}, cold, 0);
        for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++)
            measure_way(r, ways, &p, (struct way){.impl = WAY_MMA, .mma = &mma_gemm_tiles[i]},
                        cold, 0);
        for (size_t i = 0; i < PROBE_LENGTH(wgmma_gemm_tiles); i++)
            measure_way(r, ways, &p,
                        (struct way){.impl = WAY_WGMMA, .wgmma = &wgmma_gemm_tiles[i]}, cold, 0);
    }
    product_free(r, &p);
}

/* Every round measures what claim C22 chooses from, in fp16 and warm; and of the cold products, the
 * library's and that of the tile that is best at this size. For bf16: the same two. */
static void measure_type(struct probe_run *r, const struct ways *ways, enum gpu_type type)
{
    if (type != GPU_FP16 && !probe_is_due(r, PROBE_THRICE) && !probe_is_due(r, PROBE_DEEP))
        return;
    struct product p = product_of(r, SIZE, SIZE, SIZE, type);

    for (int cold = 0; cold <= 1; cold++) {
        const bool judged = type == GPU_FP16 && !cold;
        const unsigned flags = type == GPU_FP16 ? 0 : PROBE_THRICE;

        measure_way(r, ways, &p, (struct way){.impl = WAY_CUBLAS}, cold, flags);
        for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++)
            measure_way(r, ways, &p, (struct way){.impl = WAY_MMA, .mma = &mma_gemm_tiles[i]},
                        cold, judged ? 0 : type == GPU_FP16 ? PROBE_THRICE : PROBE_DEEP);
        for (size_t i = 0; i < PROBE_LENGTH(wgmma_gemm_tiles); i++)
            if (judged || strcmp(wgmma_gemm_tiles[i].name, "128x64") == 0)
                measure_way(r, ways, &p,
                            (struct way){.impl = WAY_WGMMA, .wgmma = &wgmma_gemm_tiles[i]}, cold,
                            flags);
    }
    product_free(r, &p);
}

/* cuBLAS at another size: the controls of claim C22. */
static void measure_control(struct probe_run *r, const struct ways *ways, int size)
{
    struct product p = product_of(r, size, size, size, GPU_FP16);
    measure_way(r, ways, &p, (struct way){.impl = WAY_CUBLAS}, false, 0);
    product_free(r, &p);
}

static void measure_peak(struct probe_run *r, enum gpu_type type)
{
    static const char *const names[] = {"small_gemm_peak_fp16", "small_gemm_peak_bf16"};
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(r)->n_sm, 1, 1},
                                    .block = 32 * PEAK_WARPS};
    size_t words = PEAK_CHAINS * 6 * 32;

    if (!probe_begin_case(r, PROBE_POWER_BOUND, "type=%s,acc=fp32", gpu_type_name(type)))
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
    double flops_a_turn =
        2.0 * 16 * 8 * 16 * PEAK_ROUNDS * PEAK_CHAINS * PEAK_WARPS * gpu_facts(r)->n_sm;
    while (probe_more(r))
        for (a.turns = PEAK_TURNS; a.turns <= 2 * PEAK_TURNS; a.turns += PEAK_TURNS) {
            double mhz, ns = gpu_launch_clocked_ns(r, kernel, &shape, &a, &mhz);
            probe_sample(r, PEAK, flops_a_turn * (double)a.turns, ns);
            probe_sample(r, MMA_CYCLES, PEAK_ROUNDS * PEAK_CHAINS * PEAK_WARPS * (double)a.turns,
                         ns * mhz / 1e3);
        }
    gpu_release(r, operands);
}

/* Shapes that the kernels were not tuned for: three tiles by two, with five k-steps. */
static void check_shapes(struct probe_run *r, const struct ways *ways, enum gpu_type type)
{
    for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++) {
        const struct mma_gemm_tile *t = &mma_gemm_tiles[i];
        struct product p = product_of(r, 3 * (int)t->m, 2 * (int)t->n, 5 * (int)t->k_step, type);
        measure_way(r, ways, &p, (struct way){.impl = WAY_MMA, .mma = t}, false, 0);
        product_free(r, &p);
    }
    for (size_t i = 0; i < PROBE_LENGTH(wgmma_gemm_tiles); i++) {
        const struct wgmma_gemm_tile *t = &wgmma_gemm_tiles[i];
        struct product p = product_of(r, 3 * (int)t->m, 2 * (int)t->n, 5 * (int)t->k_step, type);
        measure_way(r, ways, &p, (struct way){.impl = WAY_WGMMA, .wgmma = t}, false, 0);
        product_free(r, &p);
    }
}

static void measure(struct probe_run *r)
{
    struct product_shape one = {.type = (enum gpu_type)probe_parameter(r, "type"), .layout = "nn"};
    const bool is_asked = product_asked(r, &one);
    struct ways ways = ways_open(r);

    if (is_asked) {
        measure_asked(r, &ways, &one);
        return;
    }
    for (int type = GPU_FP16; type <= GPU_BF16; type++)
        measure_type(r, &ways, (enum gpu_type)type);
    measure_control(r, &ways, SIZE / 2);
    measure_control(r, &ways, 4 * SIZE);
    for (int type = GPU_FP16; type <= GPU_BF16; type++) {
        measure_peak(r, (enum gpu_type)type);
        if (probe_is_check_run(r))
            check_shapes(r, &ways, (enum gpu_type)type);
    }
}

const struct probe probe = {
    .name = "small_gemm",
    .what = "How fast is a 1024 x 1024 x 1024 product, and does the number of blocks decide it?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
