/* two_stages: two products that depend on each other, for a stream of items: is it worth giving
 * each product half of the SMs, so that one item's second product runs beside the next one's first?
 *
 * Method. h = s(2 W1 x / sqrt(model)), y = 2 W2 h / sqrt(hidden), s(z) = z / (1 + |z|), for each
 * item; W1 is hidden x model, W2 model x hidden, bf16 from N(0,1); sums in fp32, x and h rounded to
 * bf16. The two matrices are equally large. The same device functions are packaged as
 *     impl=all        a kernel for each stage, on all SMs, in a graph
 *     impl=dependent  the same as programmatic dependents, which ask for weights before they wait
 *     impl=stay       one kernel that stays; each block does both stages of an item, in turn
 *     impl=turns      the same, with the second stage of an item behind the first stage of the
 *                     next: what halves gain by overlap, without halves
 *     impl=queue      one kernel that stays; SMs below half of them do the first stage, the others
 *                     the second. h goes through a queue of four slots in the L2; each of its words
 *                     has its item's number, which the second stage polls. A slot is filled again
 *                     when all blocks of the second stage have counted that they took it
 *     impl=green      two green contexts, as near to half of the SMs as the driver splits them,
 *                     with a kernel for each stage and an event between
 *     impl=streams    two streams, whose kernels have half of the blocks each, which the scheduler
 *                     places on any SM
 *     impl=stay_shared, turns_shared, queue_shared   as above, weights in shared memory throughout
 * The first two and the streams take a launch for each stage and item; the kernels that stay, one
 * for all items. `interval` is the time between two items that depend on nothing, `latency` the
 * time of an item in a chain, where x of each item is y of the one before: nothing can overlap
 * there, and turns has no chain.
 *
 * Inside the timed region: n items, and 2n, between two events; the slope is the time of one. A
 * launch of a kernel that stays, the filling of the queue and its end are in neither. Kernels of
 * two streams are queued behind a gate, so that the host's time is in neither.
 * l2=cold: each item has weights of its own, among so many sets that more than 512 MiB lie between
 * two uses. l2=warm: one set, which stays in the L2.
 *
 * What is checked, before timing and after: every result against float64, of a chain from the y
 * that the item before handed over; the same bits in all packagings. Poisoned y and h. `caught`: a
 * second stage that does not wait for its words, and in a chain a first stage that does not, must
 * be seen.
 *
 * From compute capability 9.0 on weights come through a ring in shared memory that a warp of its
 * own fills, and products are by the warp's matrix instruction, as in fused/common/decoder. A
 * block on each SM has a ring as large as fits, 11 tiles of 16 KiB, of which six are asked for at
 * a time. Two dependents share an SM, with a ring of four tiles each. h is handed over as bf16,
 * two elements a word, and x and h are taken eight pairs of words at a time.
 *
 * Expected on an H200. Kernels without a ring, with one fp32 word for each element of h, were
 * measured before: all 72.4, dependent 72.2, streams 63.2, green 62.7, stay 68.5, turns 59.4,
 * queue 57.2 us an item, cold. A block then asked for weights only when it had taken h, by seven
 * trips to the L2, and had half as many loads in flight in the second stage, with 16 rows a block.
 * Now, before any measurement. Cold, model 4096 and hidden 14336: 235 MB an item, 51 us at the
 * rate of a long read. all: two kernels of 25.5 us, each with 2.5 us to start, to fill and to
 * drain: 56, a share of 0.87. dependent: the next ring fills meanwhile: 53. stay, turns and queue:
 * a ring of 176 KiB goes on for 5 us where an edge and h take 3: 52 each, and stay no slower than
 * turns. streams and green 54. Latency: stay 52, all 56; the queue two stages by half of the SMs,
 * 32 us each, less 3 that lie in the ring already: 61.
 * Warm, 2048 and 2048, 16.8 MB: the ring holds more than an item, so that stay waits for its two
 * edges alone, as stay_shared did at 4.3: 4.4 us. turns 4, queue 2.9, limited by the L2's rate.
 * all 7, dependent 5. Shared: stay and turns 4.1, queue 2.3 us an item; latency 4.4 by stay and 5
 * by the queue. So halves should gain nothing where memory is the limit, win 1.5 to 1.8 times the
 * throughput where weights are near, and lose latency everywhere. Found: all and dependent 58, stay
 * 53, turns and queue 53, streams and green 57; latency 55 by stay and 96 by the queue; warm, in a
 * trial, stay 4.6 and queue 4.0, in shared memory 4.9 and 3.1 (docs/FINDINGS.md).
 *
 * Traps. A stream of independent items could be a batch, which reads weights once: here each item
 * is to have its own weights, as layers or models have, or the weights are on the chip. Which SM a
 * block is on is known on the SM only, so that the blocks of the queue count their halves
 * themselves. Two streams with half of the blocks are not two halves of the SMs. SMs of an H200 are
 * not all equally far from each half of its L2. A kernel that is not all resident would wait for
 * ever: launches are cooperative, and every wait has a budget. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fused/two_stages/check.h"
#include "fused/two_stages/pack.h"

enum { INTERVAL, LATENCY, BYTES, SHARE_OF_PINS, ERROR, CAUGHT };
#define KEYS "model,hidden,impl,l2"
static const struct probe_metric metrics[] = {
    [INTERVAL] = {"interval", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                  "from item to item, of items that depend on nothing"},
    [LATENCY] = {"latency", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                 "one item of a chain: its x is the y of the one before"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS, .what = "weights of one item"},
    [SHARE_OF_PINS] = {"share_of_pins", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "bytes over the interval, over the rate of the DRAM's pins"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "relative Frobenius norm of the difference from float64"},
    [CAUGHT] = {"caught", "ratio", PROBE_HIGHER, .keys = KEYS,
                .what = "share of queues without a wait whose results are seen to be wrong"},
};

enum {
    MOST = 1 << 16,         /* elements of a vector */
    COLD_BYTES = 512 << 20, /* of weights between two uses of a set */
    MOST_SETS = 1024,
    FEW = 16,
    SOME = 64,               /* items: of large weights, of small ones */
    LARGE_BYTES = 100000000, /* of an item's weights */
};
static const struct probe_parameter parameters[] = {
    {"model", 0, 0, MOST, "elements of x and y of the one point to measure; 0: the probe's own",
     NULL},
    {"hidden", 0, 0, MOST, "elements of what its stages hand over; 0: the probe's own", NULL},
};

/* --- one packaging ---------------------------------------------------------------------------- */

static bool has_chain(enum stages_impl impl)
{
    return !stages_ways[impl].lags;
}

/* Both orders, all items, on poisoned memory. Returns the greater error. */
static double verify(struct probe_run *r, struct stages *s, struct stages_check *c,
                     enum stages_impl impl)
{
    double error = 0;
    stages_poison(r, s);
    for (enum stages_order order = STAGES_FREE; order < N_STAGES_ORDERS; order++) {
        const struct stages_work w = {.items = s->items, .order = order};
        if (order == STAGES_CHAIN && !has_chain(impl))
            continue;
        stages_launch(r, s, impl, w);
        error = fmax(error, stages_require(r, c, s, w, "before timing"));
    }
    c->has_expected = true;
    return error;
}

/* What the timed launches left. */
static void verify_again(struct probe_run *r, const struct stages *s, struct stages_check *c,
                         enum stages_impl impl)
{
    for (enum stages_order order = STAGES_FREE; order < N_STAGES_ORDERS; order++)
        if (order == STAGES_FREE || has_chain(impl))
            stages_require(r, c, s, (struct stages_work){.items = s->items, .order = order},
                           "after timing");
}

struct amount {
    struct stages_work work;
    struct gpu_graph graph;
};

static struct gpu_graph capture(struct probe_run *r, struct stages *s, enum stages_impl impl,
                                struct stages_work w)
{
    if (stages_ways[impl].stays || stages_ways[impl].by_halves)
        return (struct gpu_graph){0};
    gpu_graph_begin(r);
    stages_launch(r, s, impl, w);
    return gpu_graph_end(r);
}

/* n and 2n items, as a stream and as a chain, one after the other. */
static void time_way(struct probe_run *r, struct stages *s, enum stages_impl impl)
{
    static const int metric[] = {[STAGES_FREE] = INTERVAL, [STAGES_CHAIN] = LATENCY};
    struct amount of[4];
    const int n = has_chain(impl) ? 4 : 2;

    for (int i = 0; i < n; i++) {
        of[i].work = (struct stages_work){.items = i % 2 ? s->items : s->items / 2,
                                          .order = i < 2 ? STAGES_FREE : STAGES_CHAIN};
        of[i].graph = capture(r, s, impl, of[i].work);
    }
    stages_poison(r, s);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (int i = 0; i < n; i++)
            probe_sample(r, metric[of[i].work.order], of[i].work.items,
                         stages_time(r, s, impl, of[i].work, &of[i].graph));
    if (stages_ways[impl].by_halves)
        gpu_require_gates_held(r);
    for (int i = 0; i < n; i++)
        if (of[i].graph.exec)
            gpu_graph_free(&of[i].graph);
}

static void describe(struct probe_run *r, const struct stages *s, enum stages_impl impl)
{
    uint32_t seats[2];
    probe_fact(r, "packaging", "%s", stages_ways[impl].what);
    probe_fact(r, "items", "%u and %u, %u sets of weights", s->items / 2, s->items, s->sets);
    if (stages_ways[impl].by_halves)
        probe_fact(r, "sms", "%u and %u", s->halves.sms[0], s->halves.sms[1]);
    if (impl != STAGES_QUEUE && impl != STAGES_QUEUE_SHARED)
        return;
    stages_seats(r, s, seats);
    probe_fact(r, "blocks", "%u and %u", seats[0], seats[1]);
    probe_require(r, seats[0] > 0 && seats[1] > 0, "both halves have blocks: %u and %u", seats[0],
                  seats[1]);
}

static void measure_open_way(struct probe_run *r, struct stages *s, struct stages_check *c,
                             enum stages_impl impl)
{
    const double bytes = 4.0 * s->shape.hidden * s->shape.ffn;
    const double error = verify(r, s, c, impl);
    describe(r, s, impl);

    time_way(r, s, impl);
    const double ns = probe_median(r, INTERVAL);

    verify_again(r, s, c, impl);
    probe_value(r, ERROR, error);
    probe_value(r, BYTES, bytes);
    if (!has_chain(impl))
        probe_missing(r, LATENCY, "nothing overlaps in a chain: it would be impl=stay");
    if (s->sets == 1 || stages_ways[impl].in_shared)
        probe_missing(r, SHARE_OF_PINS, "the weights stay on the chip");
    else if (!isnan(ns))
        probe_value(r, SHARE_OF_PINS, bytes / (ns * 1e-9) / gpu_facts(r)->pin_rate);
}

/* No verdict needs it. */
static bool is_beside(enum stages_impl impl)
{
    return stages_ways[impl].by_halves || stages_ways[impl].lags;
}

static void measure_way(struct probe_run *r, struct stages *s, struct stages_check *c,
                        enum stages_impl impl)
{
    char why[200];
    /* Long streams move the clock, and what follows them begins with it. */
    const unsigned flags = PROBE_POWER_BOUND | (is_beside(impl) ? PROBE_THRICE : 0);
    if (!probe_begin_case(r, flags, "model=%u,hidden=%u,impl=%s,l2=%s",
                          s->shape.hidden, s->shape.ffn, stages_ways[impl].name,
                          s->sets > 1 ? "cold" : "warm"))
        return;
    const char *lacks = NULL;
    if (!c->has_expected && impl != STAGES_ALL) { /* its case was left out */
        lacks = stages_begin(r, s, STAGES_ALL, why, sizeof why);
        if (!lacks)
            verify(r, s, c, STAGES_ALL);
    }
    if (!lacks)
        lacks = stages_begin(r, s, impl, why, sizeof why);
    if (lacks) {
        probe_missing(r, INTERVAL, lacks);
        return;
    }
    measure_open_way(r, s, c, impl);
    stages_end(s, impl);
}

/* --- planted faults --------------------------------------------------------------------------- */

static bool is_seen(struct probe_run *r, struct stages *s, const struct stages_check *c,
                    struct stages_work w)
{
    stages_poison(r, s);
    stages_launch(r, s, STAGES_QUEUE, w);
    const struct verdict v = stages_verdict(r, c, s, w);
    return stages_gave_up(r, s) || v.wrong > 0;
}

/* The queue without a wait, and with all of them. */
static void measure_faults(struct probe_run *r, struct stages *s, const struct stages_check *c)
{
    static const struct stages_work faults[] = {
        {.order = STAGES_FREE, .blind = BLIND_SECOND},
        {.order = STAGES_CHAIN, .blind = BLIND_CHAIN},
    };
    char why[200];
    int caught = 0;
    if (!probe_begin_case(r, PROBE_TWICE, "model=%u,hidden=%u,impl=unwaited,l2=warm",
                          s->shape.hidden, s->shape.ffn))
        return;
    if (stages_begin(r, s, STAGES_QUEUE, why, sizeof why)) {
        probe_missing(r, CAUGHT, "there is no queue here");
        return;
    }
    for (size_t i = 0; i < PROBE_LENGTH(faults); i++) {
        struct stages_work w = faults[i];
        w.items = s->items;
        caught += is_seen(r, s, c, w);
        w.blind = 0;
        probe_require(r, !is_seen(r, s, c, w), "a queue that waits is not taken for a wrong one");
    }
    probe_value(r, CAUGHT, caught / (double)PROBE_LENGTH(faults));
}

/* --- the points ------------------------------------------------------------------------------- */

static uint32_t sets_of(const struct probe_run *r, double bytes, bool cold)
{
    const double least = fmax(COLD_BYTES, 3.0 * (double)gpu_facts(r)->l2_bytes);
    if (!cold)
        return 1;
    return probe_is_check_run(r) ? 2 : 1 + (uint32_t)ceil(least / bytes);
}

static void measure_point(struct probe_run *r, uint32_t model, uint32_t hidden, bool cold,
                          bool has_faults)
{
    const double bytes = 4.0 * model * hidden;
    const uint32_t items = probe_is_check_run(r) ? FEW : bytes > LARGE_BYTES ? 2 * FEW : 2 * SOME;
    struct stages s = stages_open(r, model, hidden, sets_of(r, bytes, cold), items);
    struct stages_check c = stages_check_open(r, &s);

    for (enum stages_impl impl = 0; impl < N_STAGES_IMPLS; impl++)
        if (!cold || !stages_ways[impl].in_shared)
            measure_way(r, &s, &c, impl);
    if (has_faults)
        measure_faults(r, &s, &c);
    stages_check_close(r, &c);
    stages_close(r, &s);
}

static void measure_given(struct probe_run *r, int64_t model, int64_t hidden)
{
    const uint32_t m = model > 0 ? (uint32_t)model : 2048;
    const uint32_t n = hidden > 0 ? (uint32_t)hidden : 2048;
    if (!stages_fits(m) || !stages_fits(n))
        probe_usage(r, "%s=%u: expected a multiple of 8", stages_fits(m) ? "hidden" : "model",
                    stages_fits(m) ? n : m);
    if (sets_of(r, 4.0 * m * n, true) <= MOST_SETS)
        measure_point(r, m, n, true, false);
    else
        probe_note(r, "not measured: l2=cold of more than %d sets of weights", (int)MOST_SETS);
    measure_point(r, m, n, false, true);
}

static void measure(struct probe_run *r)
{
    const int64_t model = probe_parameter(r, "model"), hidden = probe_parameter(r, "hidden");
    if (model > 0 || hidden > 0)
        measure_given(r, model, hidden);
    else if (probe_is_check_run(r)) {
        measure_point(r, 264, 520, true, false);   /* rows that no number of blocks divides */
        measure_point(r, 1032, 2064, true, false); /* and rows whose last chunk is short */
        measure_point(r, 1024, 1024, false, true);
    } else {
        measure_point(r, 4096, 14336, true, false);
        measure_point(r, 2048, 2048, false, true);
    }
}

const struct probe probe = {
    .name = "two_stages",
    .what = "Two stages on two halves of the SMs: do they pass on more items than all SMs in turn?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
