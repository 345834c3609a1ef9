/* fixed_sizes: is a fused decode kernel that is built for fixed sizes faster than one that takes
 * its sizes as arguments, and what does it lose at others?
 *
 * Method. One token's attention over its old keys, 32 heads of 128 elements in groups of four on 8
 * kv heads, the product of the result with W (4096 x 4096), and the residual: a kernel that stays,
 * for items one after the other, each with keys, values and weights of its own. bf16, sums in fp32.
 *     impl=fixed    all sizes are constants of the build, for 4096 keys. A shorter context is
 *                   padded, as one does for such a kernel: all keys are loaded, and those beyond
 *                   the context have no weight
 *     impl=capped   the same, but for the length: what lies beyond is not loaded. How the keys are
 *                   dealt out to blocks is that of 4096
 *     impl=given    the same code with all sizes as arguments
 *     impl=again    given once more, for what two cases differ by
 * More than 4096 keys cannot be had from the first two, nor another number of heads or columns.
 * That a result of fixed over 8192 keys is seen to be wrong is `caught`.
 *
 * Keys, values and weights come through a ring in shared memory, from compute capability 9.0 on,
 * and both products are by the warp's matrix instruction, as in fused/common/decoder.
 *
 * Inside the timed region: n items, and 2n, between two events; the slope is the time of one. A
 * launch is not in it; two barriers of the grid are in each item.
 * l2=cold: more than 512 MiB lie between two uses of an item's operands.
 * --set context takes another length. Up to 4096 all three kernels have it; of more there is given
 * alone. Heads and columns are what the other two are built for, and cannot be set.
 *
 * What is checked, before timing and after: every result against float64; the first item's also on
 * the CPU. What lies beyond the context are keys and values like any other: one that leaks in is
 * seen. Poisoned results, and poison in what blocks hand over.
 *
 * Expected on an H200. Kernels without a ring, with the attention by multiply-adds, were measured
 * before: 23.5 us by fixed, 26.0 by given at 4096 keys, a share of 0.40 to 0.44. Now, before any
 * measurement. W is 34 MB, keys and values of 4096 tokens 17: at the rate of long reads 11.2 us.
 * From the last key to the first row of W it is 5.4 us: the states of a block's warps 0.7, two
 * barriers of the grid 1.3 each, the merge 1.4, x 0.7. The ring of 192 KiB goes on for 5.7 us
 * meanwhile, so that memory is the limit: 12 us, a share of 0.87, by fixed and by given alike. At
 * 512 tokens it is 36 MB, 7.9 us, but one after the other 0.5 for the keys, 5.4, and 3 for the
 * rows: 9.5 us by given; fixed 12; capped 10.5, since one block in eight has work in the first
 * phase, as much as at 4096. Found: 13.8 by fixed and 13.9 by given at 4096 keys, 10.7 by given at
 * 512. The first trial had 15.2 and 18.0. Of that, 96 KiB on their way to each SM took 1.3 and 1.7,
 * as edges says: words from block to block wait behind them; it is 32 now. And a branch in the
 * merge, around parts that are not there, took 2 of given, and of none whose number of parts is
 * known.
 *
 * Traps. A fixed kernel whose loads stop at the length is no longer one of fixed sizes: capped says
 * what that is worth. The number of blocks is the GPU's, and no constant. Heads of 128 elements in
 * groups of four are built into all three: lanes are dealt out by them. */
#include <math.h>

#include "fused/fixed_sizes/problem.h"

enum { TIME, BYTES, SHARE_OF_PINS, ERROR, CAUGHT };
#define KEYS "context,impl,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS, "one item"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS,
               .what = "keys and values of the context, and weights"},
    [SHARE_OF_PINS] = {"share_of_pins", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "bytes over the time, over the rate of the DRAM's pins"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "relative Frobenius norm of the difference from float64"},
    [CAUGHT] = {"caught", "ratio", PROBE_HIGHER, .keys = KEYS,
                .what = "share of kernels for fewer keys whose results are seen to be wrong"},
};

static const struct probe_parameter parameters[] = {
    {"context", 0, 0, 1 << 17, "keys of the one length to measure; 0: the probe's own lengths",
     NULL},
};

enum {
    BEYOND = 2 * FIXED_CONTEXT,
    COLD_BYTES = 512 << 20, /* of operands between two uses of a set */
    ITEMS = 32,
};

/* --- one kernel at one context ---------------------------------------------------------------- */

static double bytes_of(const struct sizes *s)
{
    const double columns = (double)s->kv_heads * FIXED_GROUP * FIXED_DIM;
    return 2 * columns * s->hidden + 4.0 * s->kv_heads * FIXED_DIM * s->context;
}

static void measure_impl(struct probe_run *r, struct problem *p, enum fixed_impl impl,
                         unsigned flags)
{
    if (!probe_begin_case(r, flags, "context=%u,impl=%s,l2=cold", p->of.context,
                          fixed_ways[impl].name))
        return;
    problem_poison(r, p);
    problem_launch(r, p, impl, p->items);
    const double error = problem_require(r, p, "before timing");

    problem_poison(r, p);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (uint32_t items = p->items / 2; items <= p->items; items += p->items / 2)
            probe_sample(r, TIME, items, problem_time(r, p, impl, items));
    const double ns = probe_median(r, TIME), bytes = bytes_of(&p->of);

    problem_require(r, p, "after timing");
    probe_value(r, ERROR, error);
    probe_value(r, BYTES, bytes);
    if (!isnan(ns))
        probe_value(r, SHARE_OF_PINS, bytes / (ns * 1e-9) / gpu_facts(r)->pin_rate);
    probe_fact(r, "sizes", "%s", fixed_ways[impl].what);
    probe_fact(r, "items", "%u and %u, %u sets of operands", p->items / 2, p->items, p->sets);
    problem_facts(r, p, impl);
}

/* More keys than the kernel was built for: must be wrong, and seen; the other one is not. */
static bool is_seen(struct probe_run *r, const struct problem *p, enum fixed_impl impl)
{
    problem_poison(r, p);
    problem_launch(r, p, impl, p->items);
    const struct verdict v = problem_verdict(r, p);
    return problem_gave_up(r, p) || v.wrong > 0;
}

static void measure_beyond(struct probe_run *r, struct problem *p)
{
    static const enum fixed_impl built[] = {IMPL_FIXED, IMPL_CAPPED};
    int caught = 0;
    if (!probe_begin_case(r, PROBE_TWICE, "context=%u,impl=beyond,l2=cold", p->of.context))
        return;
    for (size_t i = 0; i < PROBE_LENGTH(built); i++)
        caught += is_seen(r, p, built[i]);
    probe_require(r, !is_seen(r, p, IMPL_GIVEN),
                  "a kernel that takes its sizes is not taken for one");
    probe_value(r, CAUGHT, caught / (double)PROBE_LENGTH(built));
}

/* --- the points ------------------------------------------------------------------------------- */

static uint32_t sets_of(struct probe_run *r, const struct sizes *s)
{
    const double least = fmax(COLD_BYTES, 3.0 * (double)gpu_facts(r)->l2_bytes);
    const double weights = 2.0 * s->kv_heads * FIXED_GROUP * FIXED_DIM * s->hidden;
    return probe_is_check_run(r) ? 2 : 1 + (uint32_t)ceil(least / weights);
}

static struct problem open_for(struct probe_run *r, struct sizes most)
{
    return problem_open(r, most, sets_of(r, &most), probe_is_check_run(r) ? 4 : ITEMS);
}

/* Own sizes, those that fit into them, and those that do not. */
static void measure_built(struct probe_run *r)
{
    static const uint32_t contexts[] = {FIXED_CONTEXT, 512, 1024, 2048, 3072};
    static const uint32_t odd[] = {FIXED_CONTEXT, 1, 1001};
    const bool is_small = probe_is_check_run(r);
    const size_t n = is_small ? PROBE_LENGTH(odd) : PROBE_LENGTH(contexts);
    struct problem p = open_for(r, (struct sizes){BEYOND, BEYOND, FIXED_KV_HEADS, FIXED_HIDDEN});

    for (size_t i = 0; i < n; i++) {
        problem_at(r, &p, is_small ? odd[i] : contexts[i], FIXED_CONTEXT);
        for (enum fixed_impl impl = IMPL_FIXED; impl < N_IMPLS; impl++)
            if (impl != IMPL_AGAIN || i == 0)
                measure_impl(r, &p, impl, impl == IMPL_CAPPED ? PROBE_THRICE : 0);
    }
    problem_at(r, &p, BEYOND, BEYOND);
    measure_impl(r, &p, IMPL_GIVEN, 0);
    measure_beyond(r, &p);
    problem_close(r, &p);
}

/* The length of the command line: by the kernels that are built for fewer keys only what is
 * seen. */
static void measure_length(struct probe_run *r, uint32_t context)
{
    const bool is_built = context <= FIXED_CONTEXT;
    const uint32_t most = is_built ? FIXED_CONTEXT : context;
    struct problem p = open_for(r, (struct sizes){most, most, FIXED_KV_HEADS, FIXED_HIDDEN});

    problem_at(r, &p, context, most);
    for (enum fixed_impl impl = IMPL_FIXED; impl < N_IMPLS; impl++)
        if (is_built || impl == IMPL_GIVEN)
            measure_impl(r, &p, impl, 0);
    if (!is_built)
        measure_beyond(r, &p);
    problem_close(r, &p);
}

/* What only a kernel that takes its sizes can do: parts without keys, rows that no grid divides. */
static void check_given(struct probe_run *r, struct sizes s)
{
    struct problem p = open_for(r, s);
    problem_at(r, &p, s.context, s.capacity);
    measure_impl(r, &p, IMPL_GIVEN, 0);
    problem_close(r, &p);
}

static void measure(struct probe_run *r)
{
    const uint32_t context = (uint32_t)probe_parameter(r, "context");
    if (context > 0) {
        measure_length(r, context);
        return;
    }
    measure_built(r);
    if (!probe_is_check_run(r))
        return;
    check_given(r, (struct sizes){77, 80, 3, 264});
    check_given(r, (struct sizes){5000, 5001, 1, 1032});
}

const struct probe probe = {
    .name = "fixed_sizes",
    .what =
        "Does a fused decode kernel gain by sizes that are fixed, and what does it lose at others?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
