/* product_chain: a chain of dependent matrix-vector products in one kernel that stays, with a
 * barrier of the grid after each. Does it always finish, is it right, on how many SMs is it
 * fastest, and how much of the memory's rate does it reach?
 *
 * Method. y = s(2 W x / sqrt(n)), s(z) = z / (1 + |z|), and y is x of the next product; W is n x
 * n, bf16 from N(0,1), sums in fp32, y rounded to bf16. One block on each of `sms` SMs, `warps`
 * warps in it, launched cooperatively; a warp takes whole rows. Behind the barrier each block
 * takes all of x from the L2.
 *     impl=ahead      a warp asks for its next row's weights before it waits at the barrier; the
 *                     two warps that arrive and poll there ask behind it
 *     impl=ahead_all  those two as well ask before it
 *     impl=behind     every warp asks behind the barrier
 *     impl=read       the same weights by the same warps in the same order, without barriers; on
 *                     all SMs and on a quarter: what the L2 alone gives for more SMs
 *     impl=unwaited   ahead without the barriers: must be seen to be wrong
 * l2=cold: sets of weights in turn, 512 MiB and 3 x L2 at least between two uses of one. l2=warm:
 * one set, which stays in the L2.
 *
 * Inside the timed region: launches of k and 2k products, between two events; the slope is the
 * time of one. The launch, and what finds the nearer counter of the barrier (4 us), are in
 * neither. Where a quarter of the SMs or fewer work, k is smaller. phase_time, of all SMs, is that
 * from barrier to barrier by the clock that all SMs share, read by block 0, of all products of the
 * longer launch but the first and the last; phase_p99 is its 99th percentile.
 *
 * What is checked, before timing and after: every result against float64, each product from the x
 * that the kernel handed to it; the bits of all grids are the same, since only n decides the order
 * of a sum; each block had an SM of its own; y is poisoned, and x of product 0 changes from launch
 * to launch, so that nothing a launch left is right for the next. Campaigns: 100000 products of
 * 512 x 512 on all SMs and on 8, with --deep on each number, all results checked; `completed` says
 * that no wait at a barrier took 200 ms. Controls: one block more than fits must be refused when
 * launched cooperatively, and not finish when launched plainly (waits end after 20 ms).
 *
 * At which size a bound is asked. All SMs are (b / q + e) / (b / r + e) times as fast as a quarter
 * of them: b bytes in the L2, r = 9.2 TB/s the rate of all SMs of an H200, q = 4.0 that of 33 at
 * 64 bytes a cycle each, e = 1.7 us for the barrier and x where nothing overlaps. This is 1.2 at
 * 2 MB, 1.5 at 8, 1.7 at 19, and never above 2.3. So C04's half as much again is asked of 3072 x
 * 3072 (18.9 MB, as in a layer of a 3B model), and of 2048 x 2048, the smallest product of a 1B
 * model, only that all SMs are faster at all. From device memory fewer than all SMs take the whole
 * rate: C04 asks nothing there. C19's share of the rate is asked of 4096 x 4096 (33.6 MB, 7.3 us
 * by a read), cold, where e alone, if nothing hid it, would take nearly a fifth.
 *
 * Expected on an H200, before any measurement (us a product, impl=ahead):
 *     warm, n = 3072   8 SMs 20, an eighth 10.8, a quarter 5.6, half 3.3, 0.8 of them 2.9, all
 *                      2.8: a barrier of 0.83 that becomes 1.2 while weights stream, x 0.4, the
 *                      last piece's sums 0.35, and of the weights (2.05 by all SMs) what is not on
 *                      its way before
 *     warm, n = 2048   a quarter 3.2, all 2.0: whole rows are on their way before the barrier
 *     cold, n = 4096   all SMs: 32 warps 7.9 (0.93 of the read), 16 8.5 (0.86), 8 9.4 (0.78), 4
 *                      12.3 (0.59: too few bytes in flight); 0.8 of the SMs 8.0, half 9.9, a
 *                      quarter 12.5, an eighth 24, 8 SMs 48. phase_p99 is 8 % above phase_time.
 *                      behind, with 32 warps: 9.1
 * Fewer SMs are nowhere faster, but from memory 0.8 of them lose less than 3 %. Every campaign
 * ends, without a wrong result. Found with method 1 (docs/FINDINGS.md): every time longer, since
 * the barrier and x take 2 us in the L2 and 3 beside a stream, and a row of 3072 was one and a half
 * of a warp's pieces: warm 4.2 us, a quarter 9.8; cold 10.0 with 16 or 32 warps (0.72 of the read).
 *
 * Method 2 reads a row of 3072 in two pieces of six loads a lane, without a load too much. Expected
 * before its measurement: warm all SMs 4.0 us, a quarter 7.4, a gain of 1.85 as with rows of 2048
 * and 4096 (1.81, 1.89); the read of the same weights 2.1 by all and 4.6 by a quarter, a gain of
 * 2.2. Other sizes as before. Cost: 25 cases of 32 ms in every round, nine more in three, campaigns
 * on all SMs and on 8 in two: 1.3 s a round, 10 to 11 in a whole run. --deep has the curves.
 * Found: 4.0 and 8.1, a gain of 2.04; the read 2.2 and 5.7, 2.6; 12 s in a whole run.
 *
 * Traps. Warps that ask before the barrier may keep the fence of their own block waiting:
 * ahead_all shows. A last piece is asked for that no product needs: equally in both amounts of
 * work. One block an SM is sure only where two do not fit: a block asks for half of an SM's shared
 * memory. A kernel that is slow on each SM scales well: the matrix instruction multiplies, and
 * read stands beside it. */
#include <math.h>
#include <stdio.h>

#include "fused/product_chain/check.h"

enum {
    PRODUCT, PHASE, PHASE_P99, BYTES, SHARE_OF_READ, SHARE_OF_PINS, ERROR, CAUGHT,
    COMPLETED, REFUSED, WRONG
};
#define KEYS "n,impl,sms,warps,l2"
#define CAMPAIGN "n,launch,sms,warps,products"
static const struct probe_metric metrics[] = {
    [PRODUCT] = {"product_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                 "one product of the chain and the barrier behind it"},
    [PHASE] = {"phase_time", "ns", PROBE_LOWER, PROBE_EACH, "device", KEYS,
               "from one barrier to the next, as block 0 sees it"},
    [PHASE_P99] = {"phase_p99", "ns", PROBE_LOWER, PROBE_P99, "device", KEYS,
                   "the 99th percentile of these"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS, .what = "weights of one product"},
    [SHARE_OF_READ] = {"share_of_read", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "time of a read of the same weights by all SMs over product_time"},
    [SHARE_OF_PINS] = {"share_of_pins", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "bytes over product_time, over the rate of the DRAM's pins"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "relative Frobenius norm of the difference from float64"},
    [CAUGHT] = {"caught", "count", PROBE_EXACT, .keys = KEYS,
                .what = "1: a chain without barriers is seen to be wrong"},
    [COMPLETED] = {"completed", "count", PROBE_EXACT, .keys = CAMPAIGN,
                   .what = "1: no block waited longer than its budget"},
    [REFUSED] = {"refused", "count", PROBE_EXACT, .keys = CAMPAIGN,
                 .what = "1: the launch was refused as too large to be resident"},
    [WRONG] = {"wrong", "count", PROBE_EXACT, .keys = CAMPAIGN,
               .what = "results of a completed campaign that are not as in float64"},
};

enum {
    MOST = 1 << 14,         /* elements of a vector */
    COLD_BYTES = 512 << 20, /* of weights between two uses of a set */
    MOST_SETS = 1024,
    FEW = 32,
    SOME = 64,   /* products of the longer launch: cold, warm */
    LEAST = 8,   /* and of any, */
    CHECKED = 6, /* but for --check */
    NEAR = 3072,
    NEAR_SMALL = 2048,
    NEAR_TINY = 1024,
    FAR = 4096,
    SMALL = 512,    /* of campaigns, */
    SMALL_SETS = 4, /* whose weights stay in the L2, */
    LONG = 100000,
    SHORT = 1000,               /* and their products; of those that must not finish */
    PATIENCE_NS = 20000000,     /* and how long blocks wait there */
    MIDDLE = 16,                /* warps of a block */
    STREAM = PROBE_POWER_BOUND, /* of all that is timed */
};
static const struct probe_parameter parameters[] = {
    {"n", 0, 0, MOST, "rows and columns of the one point to measure; 0: the probe's own", NULL},
};

/* --- SMs and ways ----------------------------------------------------------------------------- */

static const struct sms {
    const char *name;
    double share;
    uint32_t fixed; /* so many, if not 0 */
    uint32_t more;  /* blocks added to a share */
    uint32_t fewer; /* products of a launch are divided by it: each takes the longer */
} all_sms[] = {
    {"1xsm", 1, 0, 0, 1},     {"0.9xsm", 0.9, 0, 0, 1},   {"0.8xsm", 0.8, 0, 0, 1},
    {"0.5xsm", 0.5, 0, 0, 1}, {"0.25xsm", 0.25, 0, 0, 2}, {"0.125xsm", 0.125, 0, 0, 4},
    {"8", 0, 8, 0, 4},        {"1xsm+1", 1, 0, 1, 1},
};
enum { ALL, NINE_TENTHS, EIGHT_TENTHS, HALF, QUARTER, EIGHTH, EIGHT, ONE_MORE };

static uint32_t blocks_of(const struct probe_run *r, int sms)
{
    const double n_sm = gpu_facts(r)->n_sm;
    const uint32_t all = (uint32_t)n_sm, share = (uint32_t)(all_sms[sms].share * n_sm);
    if (all_sms[sms].fixed)
        return all_sms[sms].fixed < all ? all_sms[sms].fixed : all;
    return (share > 0 ? share : 1) + all_sms[sms].more;
}

static const struct way {
    const char *name;
    uint32_t late; /* warps that ask behind the barrier */
} ways[] = {{"ahead", 2}, {"ahead_all", 0}, {"behind", CHAIN_WARPS}};
enum { AHEAD, AHEAD_ALL, BEHIND };

/* A point of the sweep. */
struct cell {
    int sms, way;
    uint32_t warps;
    unsigned flags;
};

/* --- one point -------------------------------------------------------------------------------- */

struct point {
    struct chain chain;
    struct chain_check check;
    double read_ns; /* of the weights of one product; NaN: not measured */
};

static const char *l2_of(const struct point *p)
{
    return p->chain.sets > 1 ? "cold" : "warm";
}

static uint32_t products_of(const struct point *p, int sms)
{
    const uint32_t fewer = p->chain.products / all_sms[sms].fewer;
    return fewer >= LEAST ? fewer : p->chain.products;
}

static struct chain_work work_of(const struct probe_run *r, const struct point *p,
                                 const struct cell *cell)
{
    return (struct chain_work){.blocks = blocks_of(r, cell->sms),
                               .warps = cell->warps,
                               .products = products_of(p, cell->sms),
                               .late = ways[cell->way].late,
                               .budget_ns = CHAIN_BUDGET_NS};
}

/* All phases of a launch but the first, which begins with an idle memory, and the last. */
static void sample_phases(struct probe_run *r, const struct point *p, uint32_t n)
{
    const uint64_t *began = chain_stamps(r, &p->chain, n);
    for (uint32_t i = 1; i + 1 < n; i++) {
        const double ns = (double)(began[i + 1] - began[i]);
        probe_sample(r, PHASE, 1, ns);
        probe_sample(r, PHASE_P99, 1, ns);
    }
}

/* Returns the work of the last launch. Phases are of all SMs. */
static struct chain_work time_chain(struct probe_run *r, struct point *p, struct chain_work w)
{
    const bool has_phases = !w.is_read && w.blocks == blocks_of(r, ALL);
    const uint32_t products = w.products;
    struct chain_work last = w;
    while (probe_more(r)) {
        for (uint32_t half = 2; half > 0; half--) {
            w.products = products / half;
            last = chain_turn(&p->chain, w);
            probe_sample(r, PRODUCT, w.products, chain_time(r, &p->chain, &last));
        }
        if (has_phases)
            sample_phases(r, p, products);
    }
    return last;
}

static void say_shares(struct probe_run *r, const struct point *p)
{
    const double bytes = 2.0 * p->chain.n * p->chain.n, ns = probe_median(r, PRODUCT);
    if (isnan(p->read_ns))
        probe_missing(r, SHARE_OF_READ, "the read was not measured in this process");
    else if (!isnan(ns))
        probe_value(r, SHARE_OF_READ, p->read_ns / ns);
    if (p->chain.sets > 1 && !isnan(ns)) /* in the L2 the pins say nothing */
        probe_value(r, SHARE_OF_PINS, bytes / (ns * 1e-9) / gpu_facts(r)->pin_rate);
}

static void measure_read(struct probe_run *r, struct point *p, int sms, unsigned flags)
{
    struct chain_work w = {.blocks = blocks_of(r, sms), .warps = CHAIN_WARPS, .is_read = true};
    if (!probe_begin_case(r, flags | STREAM, "n=%u,impl=read,sms=%s,warps=%d,l2=%s", p->chain.n,
                          all_sms[sms].name, (int)CHAIN_WARPS, l2_of(p)))
        return;
    w.products = products_of(p, sms);
    probe_value(r, BYTES, 2.0 * p->chain.n * p->chain.n);
    chain_require_words(r, &p->check, &p->chain, &w, "before timing");
    gpu_empty_l2(r);
    w = time_chain(r, p, w);
    chain_require_words(r, &p->check, &p->chain, &w, "after timing");
    if (sms == ALL)
        p->read_ns = probe_median(r, PRODUCT);
    say_shares(r, p);
}

static void measure_cell(struct probe_run *r, struct point *p, const struct cell *cell)
{
    struct chain_work w = work_of(r, p, cell);
    if (!probe_begin_case(r, cell->flags | STREAM, "n=%u,impl=%s,sms=%s,warps=%u,l2=%s", p->chain.n,
                          ways[cell->way].name, all_sms[cell->sms].name, w.warps, l2_of(p)))
        return;
    probe_fact(r, "sms", "%u", w.blocks);
    probe_fact(r, "products", "%u and %u, %u sets of weights", w.products / 2, w.products,
               p->chain.sets);
    chain_poison(r, &p->chain);
    chain_launch(r, &p->chain, &w);
    const double error = chain_require(r, &p->check, &p->chain, &w, "before timing");

    chain_poison(r, &p->chain);
    gpu_empty_l2(r);
    w = time_chain(r, p, w);

    chain_require(r, &p->check, &p->chain, &w, "after timing");
    probe_value(r, ERROR, error);
    say_shares(r, p);
}

/* --- planted faults --------------------------------------------------------------------------- */

static bool is_seen(struct probe_run *r, const struct point *p, const struct chain_work *w)
{
    chain_poison(r, &p->chain);
    chain_launch(r, &p->chain, w);
    const struct verdict v = chain_verdict(r, &p->check, &p->chain, w);
    return chain_gave_up(r, &p->chain) || v.wrong > 0;
}

/* A chain without barriers, and with them. */
static void measure_fault(struct probe_run *r, const struct point *p, int sms)
{
    const struct cell cell = {.sms = sms, .way = AHEAD, .warps = CHAIN_WARPS};
    struct chain_work w = work_of(r, p, &cell);
    if (!probe_begin_case(r, PROBE_TWICE, "n=%u,impl=unwaited,sms=%s,warps=%u,l2=%s", p->chain.n,
                          all_sms[sms].name, w.warps, l2_of(p)))
        return;
    w.blind = BLIND_BARRIER;
    probe_value(r, CAUGHT, is_seen(r, p, &w));
    w.blind = 0;
    probe_require(r, !is_seen(r, p, &w), "a chain with barriers is not taken for a wrong one");
}

/* --- sweeps ----------------------------------------------------------------------------------- */

static uint32_t sets_of(const struct probe_run *r, uint32_t n, bool cold)
{
    const double bytes = 2.0 * n * n;
    const double least = fmax(COLD_BYTES, 3.0 * (double)gpu_facts(r)->l2_bytes);
    if (!cold)
        return 1;
    return probe_is_check_run(r) ? 3 : 1 + (uint32_t)ceil(least / bytes);
}

static struct point open_point(struct probe_run *r, uint32_t n, bool cold)
{
    const uint32_t products = probe_is_check_run(r) ? CHECKED : cold ? FEW : SOME;
    struct point p = {.chain = chain_open(r, n, sets_of(r, n, cold), products), .read_ns = NAN};
    p.check = chain_check_open(r, &p.chain, products);
    return p;
}

static void close_point(struct probe_run *r, struct point *p)
{
    chain_check_close(&p->check);
    chain_close(r, &p->chain);
}

/* What verdicts rest on, in both places and in one; and curves beside it. */
static const struct cell judged[] = {
    {ALL, AHEAD, CHAIN_WARPS, 0},          {ALL, AHEAD, MIDDLE, 0},
    {EIGHT_TENTHS, AHEAD, CHAIN_WARPS, 0}, {EIGHT_TENTHS, AHEAD, MIDDLE, 0},
    {HALF, AHEAD, CHAIN_WARPS, 0},         {QUARTER, AHEAD, CHAIN_WARPS, 0},
    {EIGHTH, AHEAD, CHAIN_WARPS, 0},       {EIGHT, AHEAD, CHAIN_WARPS, 0},
};
static const struct cell judged_warm[] = {
    {QUARTER, AHEAD, MIDDLE, 0},
    {ALL, AHEAD, 8, PROBE_DEEP},
    {ALL, AHEAD, 4, PROBE_DEEP},
    {ALL, AHEAD_ALL, CHAIN_WARPS, PROBE_DEEP},
    {ALL, BEHIND, CHAIN_WARPS, PROBE_DEEP},
};
static const struct cell judged_cold[] = {
    {ALL, AHEAD, 4, 0},
    {ALL, AHEAD, 8, PROBE_THRICE},
    {ALL, AHEAD_ALL, CHAIN_WARPS, PROBE_THRICE},
    {ALL, BEHIND, CHAIN_WARPS, PROBE_THRICE},
    {QUARTER, AHEAD, MIDDLE, PROBE_DEEP},
};
static const struct cell beside[] = {
    {NINE_TENTHS, AHEAD, CHAIN_WARPS, PROBE_DEEP},
    {HALF, AHEAD, MIDDLE, PROBE_DEEP},
    {HALF, AHEAD, 8, PROBE_DEEP},
    {HALF, AHEAD, 4, PROBE_DEEP},
    {QUARTER, AHEAD, 8, PROBE_DEEP},
    {QUARTER, AHEAD, 4, PROBE_DEEP},
    {EIGHTH, AHEAD, MIDDLE, PROBE_DEEP},
    {EIGHTH, AHEAD, 8, PROBE_DEEP},
    {EIGHTH, AHEAD, 4, PROBE_DEEP},
};

/* Another size in the L2. */
static const struct cell sized[] = {
    {ALL, AHEAD, CHAIN_WARPS, 0},
    {ALL, AHEAD, MIDDLE, 0},
    {QUARTER, AHEAD, CHAIN_WARPS, 0},
    {QUARTER, AHEAD, MIDDLE, 0},
};
/* And one of which nothing is judged. */
static const struct cell sized_beside[] = {
    {ALL, AHEAD, CHAIN_WARPS, PROBE_THRICE},
    {QUARTER, AHEAD, CHAIN_WARPS, PROBE_THRICE},
};

static void measure_cells(struct probe_run *r, struct point *p, const struct cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        measure_cell(r, p, &cells[i]);
}
#define CELLS(table) table, PROBE_LENGTH(table)

static void measure_point(struct probe_run *r, uint32_t n, bool cold)
{
    struct point p = open_point(r, n, cold);
    measure_read(r, &p, ALL, 0);
    measure_read(r, &p, QUARTER, cold ? PROBE_DEEP : 0);
    measure_cells(r, &p, CELLS(judged));
    if (cold)
        measure_cells(r, &p, CELLS(judged_cold));
    else
        measure_cells(r, &p, CELLS(judged_warm));
    measure_cells(r, &p, CELLS(beside));
    if (!cold) {
        measure_fault(r, &p, ALL);
        measure_fault(r, &p, EIGHT);
    }
    close_point(r, &p);
}

static void measure_size(struct probe_run *r, uint32_t n, bool is_judged)
{
    struct point p = open_point(r, n, false);
    measure_read(r, &p, ALL, is_judged ? 0 : PROBE_THRICE);
    measure_read(r, &p, QUARTER, PROBE_THRICE);
    if (is_judged)
        measure_cells(r, &p, CELLS(sized));
    else
        measure_cells(r, &p, CELLS(sized_beside));
    close_point(r, &p);
}

/* --- campaigns -------------------------------------------------------------------------------- */

static void hand_over(struct probe_run *r, const struct point *p, const struct chain_work *w)
{
    const bool gave_up = chain_gave_up(r, &p->chain);
    probe_value(r, COMPLETED, !gave_up);
    if (gave_up) {
        probe_missing(r, WRONG, "it did not complete");
        return;
    }
    const struct verdict v = chain_verdict(r, &p->check, &p->chain, w);
    const uint32_t sms = chain_sms(r, &p->chain, w->blocks);
    probe_require(r, sms == w->blocks, "each of %u blocks has an SM of its own: %u SMs", w->blocks,
                  sms);
    probe_require(r, v.looked_at == (uint64_t)w->products * p->chain.n, "all results are compared");
    probe_value(r, WRONG, (double)v.wrong);
}

/* One launch of many products. */
static void run_campaign(struct probe_run *r, struct point *p, int sms, bool is_ordinary,
                         uint32_t products)
{
    const struct cell cell = {.sms = sms, .way = AHEAD, .warps = MIDDLE};
    struct chain_work w = work_of(r, p, &cell);
    const bool is_curve = sms != ALL && sms != EIGHT && sms != ONE_MORE; /* no verdict asks it */
    if (!probe_begin_case(r, is_curve ? PROBE_DEEP : PROBE_TWICE,
                          "n=%u,launch=%s,sms=%s,warps=%u,products=%u", p->chain.n,
                          is_ordinary ? "ordinary" : "cooperative", all_sms[sms].name, w.warps,
                          products))
        return;
    w.is_ordinary = is_ordinary;
    w.products = products;
    if (sms == ONE_MORE)
        w.budget_ns = PATIENCE_NS;
    chain_poison(r, &p->chain);
    w = chain_turn(&p->chain, w);
    const cudaError_t result = chain_try(r, &p->chain, &w);
    probe_fact(r, "blocks", "%u", w.blocks);
    probe_value(r, REFUSED, result == cudaErrorCooperativeLaunchTooLarge);
    if (gpu_grants(result, "cudaLaunchKernelExC", __FILE__, __LINE__)) {
        hand_over(r, p, &w);
        return;
    }
    probe_require(r, result == cudaErrorCooperativeLaunchTooLarge, "a refused launch is too large");
    probe_value(r, COMPLETED, 0);
    probe_missing(r, WRONG, "it did not complete");
}

static void measure_campaigns(struct probe_run *r)
{
    const uint32_t products = probe_is_check_run(r) ? SHORT : LONG;
    struct point p = {.chain = chain_open(r, SMALL, SMALL_SETS, products)};
    p.check = chain_check_open(r, &p.chain, 0);
    for (int sms = EIGHT; sms >= ALL; sms--)
        if (sms != NINE_TENTHS)
            run_campaign(r, &p, sms, false, products);
    run_campaign(r, &p, ONE_MORE, false, SHORT);
    run_campaign(r, &p, ALL, true, SHORT);
    run_campaign(r, &p, ONE_MORE, true, SHORT);
    close_point(r, &p);
}

/* --- the points ------------------------------------------------------------------------------- */

static void measure_given(struct probe_run *r, uint32_t n)
{
    if (!chain_fits(r, n))
        probe_usage(r, "n=%u: expected a multiple of 8 whose vector fits into shared memory", n);
    if (sets_of(r, n, true) <= MOST_SETS)
        measure_point(r, n, true);
    else
        probe_note(r, "not measured: l2=cold of more than %d sets of weights", (int)MOST_SETS);
    measure_point(r, n, false);
}

static void measure(struct probe_run *r)
{
    const uint32_t n = (uint32_t)probe_parameter(r, "n");
    if (n > 0)
        measure_given(r, n);
    else if (probe_is_check_run(r)) {
        measure_point(r, 264, true);  /* rows that no number of warps divides, a part of a piece */
        measure_point(r, 2312, true); /* a row of a piece and a part */
        measure_point(r, 1024, false);
        measure_point(r, 1536, false); /* a row of a piece of CHAIN_LOADS_LESS */
        measure_campaigns(r);
    } else {
        measure_point(r, FAR, true);
        measure_point(r, NEAR, false);
        measure_size(r, NEAR_SMALL, true);
        measure_size(r, NEAR_TINY, false);
        measure_size(r, FAR, false);
        measure_campaigns(r);
    }
}

const struct probe probe = {
    .name = "product_chain",
    .what = "Does a chain of products with barriers between finish on all SMs, and is it fastest "
            "there?",
    .method = 2,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
