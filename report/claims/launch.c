/* The ledger: what launches cost, and how much of that one fused kernel saves. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C29: one large kernel instead of many ---------------------------------------------------- */

#define STEP(mode, blocks, span)                                                                   \
    "edges.step{mode=" mode ",blocks=" blocks ",body=0,span=" span ",timer=event}"
#define IN_ONE_LAUNCH "[gc][ro][iu]*" /* grid_sync and counter, not graph */

static const double C29_ELIMINATED = 0.2, C29_KEPT = 0.5;

/* Judges a ratio of fused to launched steps. */
static enum claim_verdict c29_rule(const struct row *ratio)
{
    if (rule_place(ratio, 0, C29_ELIMINATED) == PLACE_INSIDE)
        return CLAIM_REPRODUCED;
    return rule_place(ratio, C29_KEPT, INFINITY) == PLACE_INSIDE ? CLAIM_REFUTED : CLAIM_MIXED;
}

static const struct need body_needs[] = {
    {NEED_ONE, "edges.step{mode=counter,blocks=sm,body=33554432,*"},
    {NEED_ONE, "edges.step{mode=graph,blocks=sm,body=33554432,*"},
    NEEDS_END};

static void say_bodies(const struct bundle *bundle, struct finding *f)
{
    struct row fused, graph;
    struct finding ignored = rule_aside(f);
    if (RULE_TAKE(bundle, body_needs, &ignored, &fused, &graph)) {
        struct row ratio = rule_ratio(&fused, &graph);
        rule_say_row(f->evidence, "steps that read 32 MiB, fused over graph", &ratio);
    }
}

static const struct need c29_needs[] = {{NEED_ONE, STEP("graph", "sm", "64-512")},
                                        {NEED_BEST, STEP(IN_ONE_LAUNCH, "sm", "64-512")},
                                        {NEED_ONE, STEP("graph", "sm", "512-4096")},
                                        {NEED_ONE, STEP("counter", "sm", "512-4096")},
                                        {NEED_ONE, STEP("stream", "sm", "64-512")},
                                        {NEED_ONE, STEP("block_shared", "1", "64-512")},
                                        {NEED_ONE, "edges.wrong{mode=unwaited,blocks=sm,*}"},
                                        NEEDS_END};

static void judge_c29(const struct bundle *bundle, struct finding *f)
{
    struct row graph, fused, graph_long, fused_long, stream, block, wrong;
    if (!RULE_TAKE(bundle, c29_needs, f, &graph, &fused, &graph_long, &fused_long, &stream, &block,
                   &wrong))
        return;

    struct row ratio = rule_ratio(&fused, &graph), at_length = rule_ratio(&fused_long, &graph_long);
    struct row of_stream = rule_ratio(&fused, &stream), of_block = rule_ratio(&block, &graph);
    struct row stream_ratio = rule_ratio(&stream, &graph);
    enum claim_verdict verdict = c29_rule(&ratio);
    if (c29_rule(&at_length) != verdict)
        verdict = CLAIM_MIXED;

    rule_say_row(f->evidence, "a dependent step in a graph", &graph);
    rule_say_row(f->evidence, "inside one kernel", &fused);
    rule_say(f->evidence, ", by %s", fused.id);
    rule_say_row(f->evidence, "ratio", &ratio);
    rule_say_row(f->evidence, "ratio from 512 to 4096 steps", &at_length);
    rule_say_row(f->evidence, "over a step by stream", &of_stream);
    say_bodies(bundle, f);
    bool positive = c29_rule(&of_block) == CLAIM_REPRODUCED && wrong.low > 0;
    bool negative = c29_rule(&stream_ratio) != CLAIM_REPRODUCED;
    rule_say_control(f, true, c29_rule(&of_block) == CLAIM_REPRODUCED,
                     "inside one block, over a step in a graph", &of_block);
    rule_say_control(f, true, wrong.low > 0, "words that go wrong when nothing waits", &wrong);
    rule_say_control(f, false, negative, "steps by stream pass for eliminated", &stream_ratio);
    rule_conclude(f, verdict, positive, negative);
}

/* --- C50: what a launch costs ----------------------------------------------------------------- */

static const double WITHIN = 0.15;

/* Row by row, per round: the sum of weight[i] x row[i]. */
static struct row sum_of(const struct row *const *rows, const double *weight, size_t n)
{
    struct row sum = {.id = rows[0]->id, .unit = rows[0]->unit, .better = ROW_LOWER};
    for (size_t i = 0; i < n; i++)
        sum.once = sum.once || rows[i]->once;
    for (size_t k = 0; k < rows[0]->n; k++) {
        double value = 0;
        for (size_t i = 0; i < n; i++)
            value += weight[i] * row_at(rows[i], rows[0]->round[k]);
        row_put(&sum, rows[0]->round[k], value, NAN);
    }
    row_finish(&sum);
    return sum;
}

static enum place near_one(const struct row *ratio)
{
    return rule_place(ratio, 1 - WITHIN, 1 + WITHIN);
}

#define SPLIT(launches, each)                                                                      \
    "launch_shape.split{bytes=16777216,launches=" launches ",each=" each ",timer=event}"

static const struct need whole_needs[] = {
    {NEED_ONE, SPLIT("1", "part")},
    {NEED_ONE, "launch_shape.edge{blocks=sm,threads=256,shared=0,args=8,timer=event}"},
    NEEDS_END};

static const struct need split_needs[] = {
    {NEED_ONE, SPLIT("64", "part")}, {NEED_ONE, SPLIT("4096", "part")},
    {NEED_ONE, SPLIT("64", "idle")}, {NEED_ONE, SPLIT("64", "none")},
    {NEED_ONE, SPLIT("64", "all")},  NEEDS_END};

/* The time of n launches that share the bytes, over one that reads them all and n - 1 empty
 * ones. */
static bool split_ratio(const struct bundle *bundle, const char *glob, double n, struct row *ratio,
                        struct finding *f)
{
    struct row many, one, null;
    if (!rule_take(bundle, glob, &many, f) || !RULE_TAKE(bundle, whole_needs, f, &one, &null))
        return false;
    const struct row *const parts[] = {&one, &null};
    const double weight[] = {1, n - 1};
    struct row expected = sum_of(parts, weight, 2);
    *ratio = rule_ratio(&many, &expected);
    return true;
}

/* Two articles read the same figures differently: is traffic part of a launch, or a cost besides
 * it? */
static void judge_split(const struct bundle *bundle, struct finding *f, enum claim_verdict no_more)
{
    struct row few, many, idle, nothing, everything;
    if (!split_ratio(bundle, split_needs[0].id, 64, &few, f) ||
        !split_ratio(bundle, split_needs[1].id, 4096, &many, f) ||
        !split_ratio(bundle, split_needs[2].id, 64, &idle, f) ||
        !split_ratio(bundle, split_needs[3].id, 64, &nothing, f) ||
        !split_ratio(bundle, split_needs[4].id, 64, &everything, f))
        return;

    bool within = near_one(&few) == PLACE_INSIDE && near_one(&many) == PLACE_INSIDE;
    bool positive = near_one(&nothing) == PLACE_INSIDE;
    bool negative = near_one(&everything) == PLACE_ABOVE;
    rule_say(f->evidence, "16 MiB in L2, over one launch that reads all and empty ones");
    rule_say_row(f->evidence, "cut into 64 launches", &few);
    rule_say_row(f->evidence, "into 4096", &many);
    rule_say_row(f->evidence, "into one, beside 63 of the same kernel without bytes", &idle);
    rule_say(f->evidence, "; the bytes asked for are the same throughout");
    rule_say_control(f, true, positive, "one launch that reads all and 63 empty ones", &nothing);
    rule_say_control(f, false, negative, "64 launches that read all each", &everything);
    rule_conclude(f, within ? no_more : CLAIM_MIXED, positive, negative);
}

static void judge_c50(const struct bundle *bundle, struct finding *f)
{
    judge_split(bundle, f, CLAIM_REFUTED);
}

static void judge_c50b(const struct bundle *bundle, struct finding *f)
{
    judge_split(bundle, f, CLAIM_REPRODUCED);
}

static const struct need c50c_needs[] = {{NEED_ONE, "launch.call{blocks=1,*"},
                                         {NEED_ONE, "launch.start{blocks=1,*"},
                                         {NEED_ONE, "launch.run{blocks=1,*"},
                                         {NEED_ONE, "launch.finish{blocks=1,*"},
                                         {NEED_ONE, "launch.block{threads=32,*"},
                                         {NEED_ONE, "launch.whole{blocks=1,*"},
                                         {NEED_ONE, "launch.whole{blocks=65536,threads=32,*"},
                                         {NEED_ONE, "launch.run{blocks=65536,threads=32,*"},
                                         NEEDS_END};

/* Compares the stretches of a one-block launch, plus the blocks of a grid, with the grid's round
 * trip. The stretches are adjacent, so their sum is the stamped launch whatever the clocks say.
 * That it equals the trip without stamps shows only that the stamps do not disturb. The sum for a
 * large grid depends on the slope per block, which a second instrument confirms. */
static void judge_c50c(const struct bundle *bundle, struct finding *f)
{
    static const double C50_BLOCKS = 65536;
    struct row call, start, run, finish, block, one, total, stamped;
    if (!RULE_TAKE(bundle, c50c_needs, f, &call, &start, &run, &finish, &block, &one, &total,
                   &stamped))
        return;

    const struct row *const parts[] = {&call, &start, &finish, &run, &block};
    const double in_one[] = {1, 1, 1, 1, 0}, in_many[] = {1, 1, 1, 0, C50_BLOCKS};
    const double without[] = {1, 1, 1, 0, 0}, blocks_only[] = {0, 0, 0, 0, C50_BLOCKS};
    struct row sum_one = sum_of(parts, in_one, 5), sum_many = sum_of(parts, in_many, 5);
    struct row sum_without = sum_of(parts, without, 5);
    struct row ratio = rule_ratio(&sum_many, &total), of_one = rule_ratio(&sum_one, &one);
    struct row no_blocks = rule_ratio(&sum_without, &total);
    struct row by_slope = sum_of(parts, blocks_only, 5), alike = rule_ratio(&stamped, &by_slope);
    bool undisturbed = near_one(&of_one) == PLACE_INSIDE, known = near_one(&alike) == PLACE_INSIDE;
    bool negative = near_one(&no_blocks) == PLACE_BELOW || near_one(&no_blocks) == PLACE_ABOVE;

    rule_say_row(f->evidence, "the call", &call);
    rule_say_row(f->evidence, "until the first block begins", &start);
    rule_say_row(f->evidence, "each further block", &block);
    rule_say_row(f->evidence, "from the end until the host knows", &finish);
    rule_say_row(f->evidence, "65536 blocks, submit to done", &total);
    rule_say_row(f->evidence, "the parts' sum over that", &ratio);
    rule_say_control(f, true, undisturbed, "one block: parts over the round trip", &of_one);
    rule_say_control(f, true, known, "65536 blocks from stamp to stamp over 65536 slopes", &alike);
    rule_say_control(f, false, negative, "without the blocks the sum is near", &no_blocks);
    rule_conclude(f, rule_band(near_one(&ratio)), undisturbed && known, negative);
}

/* --- C71: a deep queue hides the host --------------------------------------------------------- */

static const double C71_HIDDEN = 0.6;

#define QUEUED(depth, work) "launch.queued{depth=" depth ",work_ns=" work ",timer=wall}"

static const struct need c71_needs[] = {{NEED_ONE, QUEUED("1", "0")},
                                        {NEED_ONE, QUEUED("1000", "0")},
                                        {NEED_ONE, "launch.round_trip{timer=wall}"},
                                        {NEED_ONE, QUEUED("1", "20000")},
                                        {NEED_ONE, QUEUED("100", "20000")},
                                        NEEDS_END};

static void judge_c71(const struct bundle *bundle, struct finding *f)
{
    struct row one, deep, trip, busy_one, busy_deep;
    if (!RULE_TAKE(bundle, c71_needs, f, &one, &deep, &trip, &busy_one, &busy_deep))
        return;

    struct row ratio = rule_ratio(&deep, &one), same = rule_ratio(&one, &trip);
    struct row busy = rule_ratio(&busy_deep, &busy_one);
    bool positive = near_one(&same) == PLACE_INSIDE;
    bool negative = rule_place(&busy, 0, C71_HIDDEN) == PLACE_ABOVE;
    rule_say_row(f->evidence, "a launch that is waited for", &one);
    rule_say_row(f->evidence, "one of 1000 in the queue", &deep);
    rule_say_row(f->evidence, "ratio", &ratio);
    rule_say_control(f, true, positive, "the first is the round trip, ratio", &same);
    rule_say_control(f, false, negative, "kernels of 20 us, queued over waited for", &busy);
    rule_conclude(f, rule_band(rule_place(&ratio, 0, C71_HIDDEN)), positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C29",
     .article = "smallest.ai",
     .quote = "Eliminate the latency overhead from launching many discrete kernels,",
     .statement = "A dependency edge inside a fused kernel costs 20 % or less of a graph edge, up "
                  "to 4096 steps; 20 % is our reading of 'eliminate'.",
     .rule = "The article: \"These large kernels aim to:\"; another (ai-rng): \"the system pays "
             "launch overhead once\". One block an SM, the same step by one kernel and by a graph: "
             "the cheaper of grid.sync() and our barrier by the slope from 64 to 512 steps, our "
             "barrier by that from 512 to 4096. REPRODUCED when both ratios are at most 0.2, "
             "REFUTED when both are at least 0.5, else MIXED. Positive controls: a step inside one "
             "block passes for eliminated; without a wait the words come out wrong. Negative "
             "control: a step by stream must not pass.",
     .judge = judge_c29,
     .needs = NEEDS(c29_needs, body_needs)},
    {.id = "C50",
     .article = "dev.to",
     .quote = "Each kernel launch has overhead:",
     .statement = "Scheduling, reading, writing and synchronisation are parts of a launch: fixed "
                  "bytes cut into n launches cost more than n - 1 null launches extra.",
     .rule = "REFUTED when 16 MiB in L2, cut into 64 and into 4096 launches of a graph, take "
             "within 15 % of one launch that reads all and n - 1 that are empty; else MIXED, since "
             "the article's reading asks for more bytes, too, which a bundle does not count. "
             "Positive control: one launch that reads all and 63 of the empty kernel lie within 15 "
             "%. Negative control: 64 that read all must not.",
     .judge = judge_c50,
     .needs = NEEDS(split_needs, whole_needs)},
    {.id = "C50b",
     .article = "ai-rng",
     .quote = "The cost of a kernel includes more than math.",
     .statement = "Traffic and synchronisation are costs beside launch overhead: fixed bytes cut "
                  "into n launches cost n - 1 null launches extra and no more.",
     .rule = "The figures and controls of C50, read the other way: REPRODUCED when both lie within "
             "15 %, else MIXED.",
     .judge = judge_c50b,
     .needs = NEEDS(split_needs, whole_needs)},
    {.id = "C50c",
     .article = "ai-rng",
     .quote = "Launch overhead: scheduling and dispatch cost, especially painful when thousands of "
              "tiny kernels run per step.",
     .statement = "Host submit, start, block scheduling, drain and next start add up to the "
                  "launch's cost within 15 %.",
     .rule = "Call, start and finish of a launch of one block, each by stamps, and 65536 times the "
             "slope of a block: REPRODUCED when their sum lies within 15 % of the round trip of "
             "65536 blocks that nothing disturbs, REFUTED outside. The next start is no part of a "
             "launch that is waited for: see launch.gap. Positive controls: within 15 %, the "
             "stretches of one block add up to the round trip of one without stamps, and 65536 "
             "blocks take as long from the first stamp to the last as by the slope. Negative "
             "control: without the blocks the sum must miss.",
     .judge = judge_c50c,
     .needs = NEEDS(c50c_needs)},
    {.id = "C71",
     .article = "ai-rng",
     .quote = "Launch overhead is hard to see if benchmarks focus only on end-to-end throughput, "
              "but it becomes visible in profiles.",
     .statement = "Time per launch at a queue depth of 1000 is at most 0.6 of that at depth 1; the "
                  "profile half is not judged.",
     .rule = "REPRODUCED when the ratio is at most 0.6, REFUTED above. Positive control: depth 1 "
             "reads the round trip within 15 %. Negative control: with kernels of 20 us, which "
             "nothing hides, the ratio must stay above 0.6.",
     .judge = judge_c71,
     .needs = NEEDS(c71_needs)},
};
CLAIM_SUBJECT(claims);
