/* block_count: does the number of blocks decide how fast a 1024 x 1024 x 1024 product is, or what
 * else does?
 *
 * Method. C = A x B, row-major, operands from N(0,1), sums in fp32, by our own kernels: on compute
 * capability 9.0 the one of matmul/common/wgmma_gemm.cu, elsewhere the portable one (mma_gemm.cu),
 * of which 9.0 has 128x64 and 64x64, too, and --deep all. Each experiment changes one thing:
 *     tile       256x128_once to 32x64, 32 to 512 blocks; this sweep alone changes several things
 *     aspect     128x64_alone, 64x128_alone, 32x256_alone, 16x512_alone: 128 blocks with 8192
 *                outputs each; only the bytes that a block takes in change: 384, 384, 576, 1056 KiB
 *     split      split-K: 128x128_split2, _split4, 64x64_split2 have more blocks without smaller
 *                tiles; the time includes the sum of the parts
 *     tiles      the first N tiles of 128x64 of a product of 4096 x 2048 x 1024, a block per tile,
 *                one block an SM at a time: one wave up to `sm` tiles, two waves from sm+1 on
 *     grid       the 128 tiles of 1024^3 on N persistent blocks, one an SM; with 128x64_stream
 *                (wgmma_stream.cu), `max` of them share all k-steps evenly
 *     resident   1: unused shared memory keeps a second block off each SM. With 128x64 and larger
 *                tiles an SM holds one block anyway
 *     stages     128x64 (8 k-steps in flight) and 128x64_4stages
 *     warps      the portable kernel's 128x64 by two, four and eight warps: 128x64_2warps, 128x64,
 *                128x64_8warps. Blocks, stages and operand bytes are the same
 *     multicast  128x64_multicast; 128x64 (the same cluster without it); 128x64_alone (no cluster)
 *     k, l2      fewer and more k-steps; operands that are not in the L2
 * In turn with the product, parts of the same kernel are timed, with its grid, registers and shared
 * memory: `empty` returns at once, `loads` has all copies and barriers but no products, `products`
 * multiplies whatever is in shared memory. Watched launches then record, one after another, what
 * each block saw by its SM's cycle counter, and on which SM it ran. Times are the slope over graphs
 * of n and 2n.
 *
 * Verified: the whole result against fp64, before and after the timing. With the first t tiles of a
 * larger product, exactly the outputs of t tiles must be right and all others still NaN; with all
 * its tiles, once, everything must be right.
 *
 * --set m, n and k, in multiples of 64, take another product through these, but for `tiles` and
 * `k`; by the portable kernel where its tiles divide it, and cold where 64 sets are more than 3 x
 * L2.
 *
 * Inside the timed region: one graph replay between two events.
 * Expected on an H200: 4.8 us for 128x64; its parts take 0.7 us (empty), 4.4 us (loads) and 4.2 us
 * (products). The four aspects, with 128 blocks of the same work each, take 5.2, 6.0, 6.2 and
 * 11 us. Cold, 0.6 us more for 128x64, 1.4 for 64x64, which fetches a third more, and less in
 * proportion the slower the tile is. A second wave costs nearly as much as the first.
 * derived.predicted_time is the chip's own figures' prediction of each row.
 *
 * Traps. A cluster changes which blocks are neighbours: 128x64 and 128x64_alone differ by 7 % and
 * share every instruction of the loop. A persistent grid with more blocks than tiles gives some SMs
 * a block without work: the census counts blocks that had a tile. 128 tiles take two rounds on 96
 * to 127 blocks just as on 64: a capped grid shows the rounding, not the SMs. Products alone fetch
 * no operands, but start and write C like the whole kernel. */
#include <stdio.h>
#include <string.h>

#include "core/gpu.h"
#include "matmul/block_count/blocks.h"
#include "matmul/common/way.h"

PROBE_IMAGE(wgmma_gemm);
PROBE_IMAGE(mma_gemm);

enum {
    TIME, EMPTY, LOADS, PRODUCTS, PRODUCTS_SHARE,
    BLOCKS, BUSIEST, IDLE, TILES_ON_BUSIEST, AT_ONCE, WARPS, OPERANDS,
    START_SPREAD, FIRST_DATA, FETCHED, PRODUCTS_DONE, END, ERROR,
};
#define KEYS "m,n,k,type,acc,layout,impl,tile,split,grid,tiles,resident,l2"
#define COUNT(id, line) {id, "count", PROBE_EXACT, .keys = KEYS, .what = line}
#define CYCLES(id, line) {id, "cycles", PROBE_LOWER, .keys = KEYS, .what = line}
#define SLOPE(id, line)                                                                            \
    {id, "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = KEYS, .what = line}
static const struct probe_metric metrics[] = {
    [TIME] = SLOPE("time", "one product, edge included"),
    [EMPTY] = SLOPE("empty", "the same grid, registers and shared memory: returns at once"),
    [LOADS] = SLOPE("loads", "the same without products: all copies and barriers, C written"),
    [PRODUCTS] = SLOPE("products", "the same without copies: all products, C written"),
    [PRODUCTS_SHARE] = {"products_share", "ratio", PROBE_HIGHER, .keys = KEYS,
        .what = "products over time: 1 where no operand is waited for"},
    [BLOCKS] = COUNT("blocks", "thread blocks of it"),
    [BUSIEST] = COUNT("blocks_on_busiest_sm", "of those with a tile, on the SM that ran most, by "
                                              "census"),
    [IDLE] = {"idle_sms", "count", PROBE_LOWER, .keys = KEYS, /* one more or less from run to run */
        .what = "SMs without a block that had a tile, by census"},
    [TILES_ON_BUSIEST] = COUNT("tiles_on_busiest_sm", "tiles, or parts of split ones, that the "
                                                      "busiest SM computes"),
    [AT_ONCE] = COUNT("blocks_at_once", "of those on the busiest SM, side by side"),
    [WARPS] = COUNT("warps", "of those"),
    [OPERANDS] = {"operand_bytes", "bytes", PROBE_EXACT, .keys = KEYS,
        .what = "of A and B that all blocks fetch, worked out from the tiles"},
    [START_SPREAD] = {"start_spread", "ns", PROBE_LOWER, .timer = "device", .keys = KEYS,
        .what = "from the first block's start to the last one's"},
    [FIRST_DATA] = CYCLES("first_data", "a block's start to its first operands, median of blocks"),
    [FETCHED] = CYCLES("fetched", "a block's start to its last copy's being sent"),
    [PRODUCTS_DONE] = CYCLES("products_done", "a block's start to its last product"),
    [END] = CYCLES("end", "a block's start to its end"),
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "relative Frobenius norm of the difference from float64"},
};

static const struct probe_parameter parameters[] = {PRODUCT_SIZES};

enum {
    REPLAYS = 20, /* least number of products in the shorter graph */
    PARTS = 3,    /* empty, loads, products */
};

/* --- what is measured ------------------------------------------------------------------------ */

/* A number, or a relation to the number of SMs: sms x SMs + more. */
struct count {
    const char *name;
    unsigned sms;
    int more;
    unsigned flags;
};
static const struct count every_tile = {.name = "all"}, a_block_each = {.name = "tiles"};
static const struct count as_many_as_fit = {.name = "max"};

static const struct count staircase[] = {
    {"64", 0, 64, PROBE_DEEP},   {"96", 0, 96, 0},          {"120", 0, 120, PROBE_DEEP},
    {"128", 0, 128, PROBE_THRICE}, {"sm-1", 1, -1, PROBE_DEEP}, {"sm", 1, 0, 0},
    {"sm+1", 1, 1, 0},           {"160", 0, 160, PROBE_DEEP}, {"192", 0, 192, PROBE_DEEP},
    {"256", 0, 256, PROBE_DEEP}, {"2sm", 2, 0, PROBE_THRICE}, {"2sm+1", 2, 1, PROBE_THRICE},
};
static const struct count grids[] = {
    {"32", 0, 32, PROBE_DEEP},   {"64", 0, 64, 0},   {"96", 0, 96, PROBE_DEEP},
    {"112", 0, 112, PROBE_THRICE}, {"120", 0, 120, PROBE_DEEP}, {"128", 0, 128, 0},
    {"sm", 1, 0, PROBE_THRICE}, /* must remain the last */
};

/* Rows of the wgmma kernel at 1024^3; the portable kernel has all of its tiles. Every round
 * measures the rows that a claim needs, and the parts of the rows whose parts a claim needs. */
static const struct variant {
    const char *tile;
    bool alone; /* one block an SM, forced by shared memory */
    bool cold;
    bool parts; /* measured in every round */
    enum gpu_type type;
    unsigned flags;
} variants[] = {
    {"256x128_once", 0, 0, 0, GPU_FP16, 0},
    {"128x128", 0, 0, 0, GPU_FP16, 0},
    {"96x192", 0, 0, 0, GPU_FP16, 0},
    {"128x64", 0, 0, 1, GPU_FP16, 0},
    {"64x64", 0, 0, 1, GPU_FP16, 0},
    {"48x64", 0, 0, 0, GPU_FP16, 0},
    {"32x64", 0, 0, 0, GPU_FP16, 0},
    {"128x64_alone", 0, 0, 1, GPU_FP16, 0},
    {"64x128_alone", 0, 0, 0, GPU_FP16, 0},
    {"32x256_alone", 0, 0, 0, GPU_FP16, 0},
    {"16x512_alone", 0, 0, 0, GPU_FP16, 0},
    {"128x64_multicast", 0, 0, 1, GPU_FP16, 0},
    {"128x64_4stages", 0, 0, 0, GPU_FP16, 0},
    {"128x128_split2", 0, 0, 0, GPU_FP16, PROBE_THRICE},
    {"128x128_split4", 0, 0, 0, GPU_FP16, 0},
    {"64x64_split2", 0, 0, 0, GPU_FP16, 0},
    {"64x64", 1, 0, 0, GPU_FP16, 0},
    {"128x64", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"64x64", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"128x64_multicast", 0, 1, 0, GPU_FP16, PROBE_THRICE}, /* the report's table has both times */
    {"128x128_split2", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"128x128", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"96x192", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"256x128_once", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"64x64_split2", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"48x64", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"32x64", 0, 1, 0, GPU_FP16, PROBE_THRICE},
    {"32x256_alone", 0, 1, 0, GPU_FP16, PROBE_DEEP},
    {"32x64", 1, 0, 0, GPU_FP16, PROBE_DEEP},
    {"128x64", 0, 0, 0, GPU_BF16, PROBE_DEEP},
    {"64x64", 0, 0, 0, GPU_BF16, PROBE_DEEP},
    {"128x128_split2", 0, 0, 0, GPU_BF16, PROBE_DEEP},
};

static const struct depth {
    int k;
    unsigned flags;
} depths[] = {{256, PROBE_DEEP}, {512, 0}, {2048, 0}, {4096, PROBE_DEEP}, {8192, PROBE_DEEP}};

/* One case: a way to compute a product, and the grid and tiles that its keys name. */
struct plan {
    struct way way;
    const struct count *grid, *tiles;
    bool alone, cold;
    bool parts; /* in every round; else in three */
    unsigned flags;
};

static unsigned count_of(const struct probe_run *r, const struct count *c)
{
    return (unsigned)((int)c->sms * gpu_facts(r)->n_sm + c->more);
}

static const struct wgmma_gemm_tile *wgmma_tile(struct probe_run *r, const char *name)
{
    for (size_t i = 0; i < PROBE_LENGTH(wgmma_gemm_tiles); i++)
        if (strcmp(wgmma_gemm_tiles[i].name, name) == 0)
            return &wgmma_gemm_tiles[i];
    probe_fail(r, "the wgmma kernel has no tile %s", name);
}

/* --- one case --------------------------------------------------------------------------------- */

/* Counts of blocks, and the timeline if there is one. Only for whole products: with one block after
 * another it would show the wave and not the kernel. Only for cases of every round: those of three
 * would not agree. */
static void count_blocks(struct probe_run *r, const struct ways *ways, const struct product *p,
                         const struct plan *plan, const struct geometry *g)
{
    const struct way *w = &plan->way;
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, resident = way_facts(r, w);
    static const int moments[BLOCKS_MOMENTS] = {START_SPREAD, FIRST_DATA, FETCHED, PRODUCTS_DONE,
                                                END};
    struct blocks_seen s = {.busiest = (g->blocks + n_sm - 1) / n_sm};
    struct way_census census;
    const char *by = "census";
    bool counted = true;

    if (w->impl == WAY_STREAM) { /* a cooperative launch: all blocks are resident, one an SM */
        s.idle = n_sm - g->blocks;
        by = "cooperative launch";
    } else if (w->impl == WAY_MMA) {
        counted = way_count(r, ways, p, w, &census);
        s.busiest = census.busiest;
        s.idle = census.idle;
    } else {
        counted = blocks_watch(r, ways, p, w, g->blocks, &s);
        const bool told = counted && w->tiles == 0 && !(plan->flags & PROBE_THRICE);
        for (size_t i = 0; told && i < BLOCKS_MOMENTS; i++)
            probe_value(r, moments[i], blocks_median(s.moment[i]));
    }
    const unsigned at_once = s.busiest < resident ? s.busiest : resident;
    probe_value(r, BLOCKS, g->blocks);
    if (counted) {
        probe_value(r, BUSIEST, s.busiest);
        probe_value(r, IDLE, s.idle);
    } else {
        const char *why = "no kernel says where the blocks of this tile, or so many, ran";
        probe_missing(r, BUSIEST, why);
        probe_missing(r, IDLE, why);
        by = "all SMs alike";
    }
    if (w->impl != WAY_STREAM) /* stream-K computes parts of tiles */
        probe_value(r, TILES_ON_BUSIEST, (double)s.busiest * g->a_block);
    probe_value(r, AT_ONCE, at_once);
    probe_value(r, WARPS, g->threads / 32 * at_once);
    probe_fact(r, "busiest_sm", "%s", by);
}

/* Samples several ways in turn; metric[i] belongs to ways[i]. */
static void sample(struct probe_run *r, const struct ways *ways, const struct product *p,
                   const struct way *way, const int *metric, size_t n_ways, size_t sets)
{
    const size_t least = product_is_long(&p->shape) ? 2 : REPLAYS;
    const size_t n = (least + sets - 1) / sets * sets;
    struct gpu_graph graph[PARTS][2];

    for (size_t i = 0; i < n_ways; i++)
        for (size_t k = 0; k < 2; k++)
            graph[i][k] = way_graph(r, ways, p, &way[i], n << k, sets);
    if (metric[0] == TIME)
        product_poison(r, p); /* so that the later verification sees what was timed */
    while (probe_more(r))
        for (size_t i = 0; i < n_ways; i++)
            for (size_t k = 0; k < 2; k++)
                probe_sample(r, metric[i], (double)(n << k), gpu_replay_ns(r, &graph[i][k]));
    for (size_t i = 0; i < n_ways; i++)
        for (size_t k = 0; k < 2; k++)
            gpu_graph_free(&graph[i][k]);
}

/* The parts that the tile has, in a case of their own with the same keys: the case of the whole
 * then has hardware counters of the whole alone. */
static void measure_parts(struct probe_run *r, const struct ways *ways, const struct product *p,
                          const struct plan *plan, double whole_ns)
{
    static const struct {
        enum way_part part;
        int metric;
    } parts[PARTS] = {{WAY_EMPTY, EMPTY}, {WAY_LOADS, LOADS}, {WAY_PRODUCTS, PRODUCTS}};
    struct way open[PARTS];
    int metric[PARTS];
    size_t n = 0;
    bool multiplies = false;

    for (size_t i = 0; i < PARTS; i++) {
        open[n] = plan->way;
        open[n].part = parts[i].part;
        open[n].kernel = NULL;
        open[n].maps = NULL;
        open[n].partials = NULL;
        if ((plan->way.impl == WAY_STREAM && parts[i].part != WAY_EMPTY) ||
            !way_open(r, ways, p, &open[n]))
            continue;
        metric[n++] = parts[i].metric;
        multiplies = multiplies || parts[i].metric == PRODUCTS;
    }
    sample(r, ways, p, open, metric, n, plan->cold ? p->sets : 1);
    if (multiplies)
        probe_value(r, PRODUCTS_SHARE, probe_median(r, PRODUCTS) / whole_ns);
    for (size_t i = 0; i < n; i++)
        way_close(r, &open[i]);
}

/* Verifies all of C; or, with the first tiles alone, that exactly their outputs are right. */
static void verify(struct probe_run *r, const struct product *p, const struct way *w,
                   const struct geometry *g, const char *when)
{
    if (w->tiles == 0) {
        double error = product_verify(r, p, when);
        probe_value(r, ERROR, error);
        return;
    }
    const struct verdict v = product_run_verifier(r, p);
    const uint64_t all = (uint64_t)p->shape.m * (uint64_t)p->shape.n;
    const uint64_t due = (uint64_t)g->tiles * g->tile_m * g->tile_n;

    probe_require(r, v.looked_at == all, "%s: %llu of %llu outputs looked at", when,
                  (unsigned long long)v.looked_at, (unsigned long long)all);
    probe_require(r, all - v.wrong == due, "%s: %llu outputs are right, where %u tiles have %llu",
                  when, (unsigned long long)(all - v.wrong), g->tiles, (unsigned long long)due);
}

/* Returns the time in ns. */
static double measure_whole(struct probe_run *r, const struct ways *ways, const struct product *p,
                            const struct plan *plan)
{
    const struct way *w = &plan->way;
    const struct geometry g = blocks_geometry(p, w);

    product_poison(r, p);
    way_multiply(r, ways, p, w, 0);
    verify(r, p, w, &g, "before timing");
    probe_fact(r, "tiles", "%u", g.tiles);
    probe_value(r, OPERANDS, blocks_operand_bytes(p, w, &g));
    count_blocks(r, ways, p, plan, &g);
    sample(r, ways, p, w, (const int[]){TIME}, 1, plan->cold ? p->sets : 1);
    verify(r, p, w, &g, "after timing");
    return probe_median(r, TIME);
}

static bool begin_case(struct probe_run *r, const struct product_shape *s, const struct plan *plan,
                       unsigned flags)
{
    return probe_begin_case(
        r, flags | PROBE_POWER_BOUND,
        "m=%d,n=%d,k=%d,type=%s,acc=fp32,layout=nn,impl=%s,tile=%s,split=%u,grid=%s,"
        "tiles=%s,resident=%s,l2=%s",
        s->m, s->n, s->k, gpu_type_name(s->type), way_names[plan->way.impl], way_tile(&plan->way),
        way_split(&plan->way), plan->grid->name, plan->tiles->name, plan->alone ? "1" : "max",
        plan->cold ? "cold" : "warm");
}

/* Leaves out what this GPU cannot run. Parts are measured for warm products only. */
static void measure_plan(struct probe_run *r, const struct ways *ways, const struct product *p,
                         struct plan plan)
{
    const unsigned once = plan.parts ? 0 : PROBE_THRICE;

    if (!probe_is_due(r, plan.flags))
        return;
    if (plan.cold && !product_is_cold(r, p) && !probe_is_check_run(r))
        return;
    if (plan.alone)
        plan.way.shared = (unsigned)gpu_facts(r)->shared_per_block;
    if (way_open(r, ways, p, &plan.way) && begin_case(r, &p->shape, &plan, plan.flags)) {
        const double whole_ns = measure_whole(r, ways, p, &plan);
        if (plan.way.wgmma && !plan.cold &&
            begin_case(r, &p->shape, &plan, plan.flags | once))
            measure_parts(r, ways, p, &plan, whole_ns);
    }
    way_close(r, &plan.way);
}

/* --- the experiments -------------------------------------------------------------------------- */

static struct plan plan_of(struct probe_run *r, const char *tile, unsigned flags)
{
    return (struct plan){.way = {.impl = WAY_WGMMA, .wgmma = wgmma_tile(r, tile)},
                         .grid = &a_block_each,
                         .tiles = &every_tile,
                         .flags = flags};
}

static struct product product_of(struct probe_run *r, int m, int n, int k, enum gpu_type type,
                                 size_t sets)
{
    return product_new(
        r, &(struct product_shape){.m = m, .n = n, .k = k, .type = type, .layout = "nn"}, sets);
}

static void measure_portable_tile(struct probe_run *r, const struct ways *ways,
                                  const struct product *p, const struct mma_gemm_tile *t,
                                  bool alone, unsigned flags)
{
    measure_plan(r, ways, p,
                 (struct plan){.way = {.impl = WAY_MMA, .mma = t},
                               .grid = &a_block_each,
                               .tiles = &every_tile,
                               .alone = alone,
                               .flags = flags});
}

/* The portable kernel: all its tiles, two of them with one block an SM, and one with two and eight
 * warps instead of four. Where the wgmma kernel is, only the tiles that claims C24 and C25 need. */
static void measure_portable(struct probe_run *r, const struct ways *ways, const struct product *p)
{
    const unsigned rest = gpu_facts(r)->cc == 90 && !probe_is_check_run(r) ? PROBE_DEEP : 0;

    for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_tiles); i++) {
        const struct mma_gemm_tile *t = &mma_gemm_tiles[i];
        const bool small = strcmp(t->name, "64x64") == 0;
        const bool needed = small || strcmp(t->name, "128x64") == 0;
        measure_portable_tile(r, ways, p, t, false, needed ? 0 : rest);
        if (small || strcmp(t->name, "64x32") == 0)
            measure_portable_tile(r, ways, p, t, true, small ? 0 : rest);
    }
    for (size_t i = 0; i < PROBE_LENGTH(mma_gemm_warp_tiles); i++)
        measure_portable_tile(r, ways, p, &mma_gemm_warp_tiles[i], false, 0);
}

/* Stream-K: every SM has the same share of the k-steps, so some tiles are shared. */
static void measure_stream(struct probe_run *r, const struct ways *ways, const struct product *p)
{
    for (int cold = 0; cold <= (p->shape.type == GPU_FP16); cold++)
        for (size_t i = 0; i < PROBE_LENGTH(wgmma_stream_tiles); i++)
            measure_plan(r, ways, p,
                         (struct plan){.way = {.impl = WAY_STREAM, .wgmma = &wgmma_stream_tiles[i]},
                                       .grid = &as_many_as_fit,
                                       .tiles = &every_tile,
                                       .cold = cold,
                                       .flags = cold ? PROBE_THRICE : 0});
}

static void measure_variants(struct probe_run *r, const struct ways *ways,
                             const struct product_shape *shape)
{
    const enum gpu_type type = shape->type;
    struct product p = product_new(r, shape, 0);

    for (size_t i = 0; i < PROBE_LENGTH(variants); i++)
        if (variants[i].type == type) {
            struct plan plan = plan_of(r, variants[i].tile, variants[i].flags);
            plan.alone = variants[i].alone;
            plan.cold = variants[i].cold;
            plan.parts = variants[i].parts;
            measure_plan(r, ways, &p, plan);
        }
    for (size_t i = 0; type == GPU_FP16 && i < PROBE_LENGTH(grids); i++) {
        struct plan plan = plan_of(r, "128x64_persistent", grids[i].flags);
        plan.grid = &grids[i];
        plan.way.blocks = count_of(r, &grids[i]);
        if (plan.way.blocks > (unsigned)gpu_facts(r)->n_sm)
            continue;
        measure_plan(r, ways, &p, plan);
        if (grids[i].more != 128 && grids[i].sms == 0)
            continue; /* cold only where a block has a tile at most, or every SM a block */
        plan.cold = true;
        plan.flags = PROBE_THRICE;
        measure_plan(r, ways, &p, plan);
    }
    measure_stream(r, ways, &p);
    if (type == GPU_FP16)
        measure_portable(r, ways, &p);
    product_free(r, &p);
}

static void measure_depths(struct probe_run *r, const struct ways *ways, int size)
{
    for (size_t i = 0; i < PROBE_LENGTH(depths); i++) {
        if ((depths[i].flags & PROBE_DEEP) && !probe_deep(r))
            continue;
        struct product p = product_of(r, size, size, depths[i].k, GPU_FP16, 1);
        measure_plan(r, ways, &p, plan_of(r, "128x64", depths[i].flags));
        product_free(r, &p);
    }
}

/* First all tiles, which are verified output by output; then the first N. */
static void measure_staircase(struct probe_run *r, const struct ways *ways, int m, int n, int k)
{
    struct product p = product_of(r, m, n, k, GPU_FP16, 1);
    struct plan whole = plan_of(r, "128x64_persistent", PROBE_THRICE);

    whole.grid = &grids[PROBE_LENGTH(grids) - 1];
    whole.way.blocks = count_of(r, whole.grid);
    const unsigned tiles = blocks_geometry(&p, &whole.way).tiles;
    measure_plan(r, ways, &p, whole);
    for (size_t i = 0; i < PROBE_LENGTH(staircase); i++) {
        struct plan plan = plan_of(r, "128x64_persistent", staircase[i].flags);
        plan.tiles = &staircase[i];
        plan.way.tiles = plan.way.blocks = count_of(r, &staircase[i]);
        if (plan.way.tiles < tiles)
            measure_plan(r, ways, &p, plan);
    }
    product_free(r, &p);
}

static void measure(struct probe_run *r)
{
    const bool small = probe_is_check_run(r), wgmma = gpu_facts(r)->cc == 90;
    const int size = small ? 256 : 1024;
    struct product_shape shape = {
        .m = size, .n = size, .k = size, .type = GPU_FP16, .layout = "nn"};
    const bool is_asked = product_asked(r, &shape);

    if (shape.m % 64 || shape.n % 64 || shape.k % 64)
        probe_usage(r, "a product of %d x %d x %d: expected multiples of 64", shape.m, shape.n,
                    shape.k);
    struct ways ways = ways_open(r);
    measure_variants(r, &ways, &shape);
    if (is_asked)
        return;
    if (wgmma) {
        shape.type = GPU_BF16;
        if (probe_deep(r) || small)
            measure_variants(r, &ways, &shape);
        measure_depths(r, &ways, size);
        measure_staircase(r, &ways, small ? 1024 : 4096, small ? 1024 : 2048, small ? 64 : 1024);
    } else {
        probe_note(r, "grid and tiles are the wgmma kernel's, compute capability 9.0: left out");
    }
}

const struct probe probe = {
    .name = "block_count",
    .what = "Does the number of blocks decide how fast a 1024 x 1024 x 1024 product is, or what?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
