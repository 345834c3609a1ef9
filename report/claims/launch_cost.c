/* The ledger: what a launch costs, and what is a part of that. */
#include <math.h>

#include "report/claims/rules.h"

static const double C50_ADDS = 0.10, C50_WITHIN = 0.15;

struct weights {
    const double *weight;
    size_t n;
};

static double weighted(const double *value, const void *weights)
{
    const struct weights *w = weights;
    double sum = 0;
    for (size_t i = 0; i < w->n; i++)
        sum += w->weight[i] * value[i];
    return sum;
}

/* The sum of weight[i] x row[i], for each run. */
static struct row sum_of(const struct row *const *rows, const double *weight, size_t n,
                         struct finding *f)
{
    return rule_formed(f, rows, n, NULL, weighted, &(struct weights){weight, n});
}

static enum place near_one(const struct row *ratio, struct finding *f)
{
    const double within = RULE_LIMIT(f, C50_WITHIN);
    return rule_place(ratio, 1 - within, 1 + within);
}

#define SPLIT(launches, each)                                                                      \
    "launch_shape.split{bytes=16777216,launches=" launches ",each=" each ",timer=event}"
#define EDGE(args) "launch_shape.edge{blocks=1,threads=32,shared=0,args=" args ",timer=event}"

/* Does something add to the cost? The ratio with it over without. */
static enum claim_verdict adds(const struct row *ratio, struct finding *f)
{
    return rule_band(rule_place(ratio, 1 + RULE_LIMIT(f, C50_ADDS), INFINITY));
}

/* --- the controls of all three ---------------------------------------------------------------- */

static const struct need control_needs[] = {
    {NEED_ONE, SPLIT("1", "part")},
    {NEED_ONE, "launch_shape.edge{blocks=sm,threads=256,shared=0,args=8,timer=event}"},
    {NEED_ONE, SPLIT("64", "none")},
    {NEED_ONE, EDGE("4096")},
    {NEED_ONE, EDGE("8")},
    NEEDS_END};

/* One launch that reads all and 63 empty ones take as long as they do apart; 4096 bytes of
 * arguments instead of 8 must not pass for a cost. `one` and `null`: the launch that reads all, an
 * empty one. */
static bool take_controls(const struct bundle *bundle, struct row *one, struct row *null,
                          bool *positive, bool *negative, struct finding *f)
{
    struct row none, more, eight;

    if (!RULE_TAKE(bundle, control_needs, f, one, null, &none, &more, &eight))
        return false;
    const double weight[] = {1, 63};
    const struct row apart = sum_of((const struct row *const[]){one, null}, weight, 2, f);
    const struct row same = rule_ratio(f, &none, &apart), arguments = rule_ratio(f, &more, &eight);
    *positive = near_one(&same, f) == PLACE_INSIDE;
    *negative = adds(&arguments, f) == CLAIM_REFUTED;
    rule_say_control(f, true, *positive,
                     "one launch that reads all and 63 empty ones, over the same apart", &same);
    rule_say_control(f, false, *negative, "4096 bytes of arguments instead of 8 cost 1.10, at",
                     &arguments);
    return true;
}

/* --- C50: does a launch have overhead? -------------------------------------------------------- */

static const struct need cut_needs[] = {
    {NEED_ONE, SPLIT("64", "part")}, {NEED_ONE, SPLIT("4096", "part")}, NEEDS_END};

static void judge_c50(const struct bundle *bundle, struct finding *f)
{
    struct row few, many, one, null;
    bool positive, negative;

    if (!RULE_TAKE(bundle, cut_needs, f, &few, &many) ||
        !take_controls(bundle, &one, &null, &positive, &negative, f))
        return;
    const struct row of_few = rule_ratio(f, &few, &one), of_many = rule_ratio(f, &many, &one);
    const enum claim_verdict by_few = adds(&of_few, f), by_many = adds(&of_many, f);
    rule_say_row(f, "16 MiB in L2 by one launch", &one);
    rule_say_row(f, "cut into 64, times as long", &of_few);
    rule_say_row(f, "into 4096", &of_many);
    rule_say_row(f, "an empty launch in a graph", &null);
    rule_say_figure(f, "few", &of_few);
    rule_say_figure(f, "many", &of_many);
    rule_say_part(f, "64 launches", by_few, &of_few, 1 + C50_ADDS);
    rule_say_part(f, "4096", by_many, &of_many, 1 + C50_ADDS);
    rule_conclude(f, by_few == by_many ? by_few : CLAIM_MIXED, positive, negative);
}

/* --- C50b: are the bytes a part of what a kernel costs? --------------------------------------- */

static const struct need all_needs[] = {{NEED_ONE, SPLIT("64", "all")}, NEEDS_END};

static void judge_c50b(const struct bundle *bundle, struct finding *f)
{
    struct row one, null, all;
    bool positive, negative;

    if (!take_controls(bundle, &one, &null, &positive, &negative, f) ||
        !RULE_TAKE(bundle, all_needs, f, &all))
        return;
    const struct row bytes = rule_ratio(f, &one, &null), again = rule_ratio(f, &all, &one);
    rule_say_row(f, "a launch that reads 16 MiB from L2, and adds them up", &one);
    rule_say_row(f, "over an empty one", &bytes);
    rule_say_row(f, "64 that read all, over one", &again);
    rule_say_figure(f, "one", &one);
    rule_say_figure(f, "bytes", &bytes);
    rule_conclude(f, adds(&bytes, f), positive, negative);
}

/* --- C50d: is synchronisation? ---------------------------------------------------------------- */

static const struct need idle_needs[] = {
    {NEED_ONE, SPLIT("64", "part")}, {NEED_ONE, SPLIT("64", "idle")}, NEEDS_END};

/* As many launches of the same kernel read as many bytes; only that each has to wait for the end of
 * the one before it falls into the reading. */
static void judge_c50d(const struct bundle *bundle, struct finding *f)
{
    struct row part, idle, one, null;
    bool positive, negative;

    if (!RULE_TAKE(bundle, idle_needs, f, &part, &idle) ||
        !take_controls(bundle, &one, &null, &positive, &negative, f))
        return;
    const struct row waits = rule_ratio(f, &part, &idle);
    rule_say_row(f, "16 MiB cut into 64 launches", &part);
    rule_say_row(f, "read by one of 64 launches of the same kernel", &idle);
    rule_say_row(f, "ratio", &waits);
    rule_say_figure(f, "part", &part);
    rule_say_figure(f, "idle", &idle);
    rule_say_figure(f, "ratio", &waits);
    rule_conclude(f, adds(&waits, f), positive, negative);
}

/* --- C50c: what is a launch made of? ---------------------------------------------------------- */

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
    struct row sum_one = sum_of(parts, in_one, 5, f), sum_many = sum_of(parts, in_many, 5, f);
    struct row sum_without = sum_of(parts, without, 5, f);
    struct row ratio = rule_ratio(f, &sum_many, &total), of_one = rule_ratio(f, &sum_one, &one);
    struct row no_blocks = rule_ratio(f, &sum_without, &total);
    struct row by_slope = sum_of(parts, blocks_only, 5, f),
               alike = rule_ratio(f, &stamped, &by_slope);
    bool undisturbed = near_one(&of_one, f) == PLACE_INSIDE,
         known = near_one(&alike, f) == PLACE_INSIDE;
    bool negative =
        near_one(&no_blocks, f) == PLACE_BELOW || near_one(&no_blocks, f) == PLACE_ABOVE;

    rule_say_row(f, "the call", &call);
    rule_say_row(f, "until the first block begins", &start);
    rule_say_row(f, "each further block", &block);
    rule_say_row(f, "from the end until the host knows", &finish);
    rule_say_row(f, "65536 blocks, submit to done", &total);
    rule_say_row(f, "the parts' sum over that", &ratio);
    rule_say_control(f, true, undisturbed, "one block: parts over the round trip", &of_one);
    rule_say_control(f, true, known, "65536 blocks from stamp to stamp over 65536 slopes", &alike);
    rule_say_control(f, false, negative, "without the blocks the sum is near", &no_blocks);
    rule_say_figure(f, "total", &total);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f, rule_band(near_one(&ratio, f)), undisturbed && known, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C50",
     .article = "dev.to",
     .quote = "Each kernel launch has overhead:",
     .since = "2026-11-22",
     .plain = {.yes = "16 MiB read by 64 launches take {few} times as long as by one; by 4096, "
                      "{many} times.",
               .no = "16 MiB read by 64 launches take {few} times as long as by one; by 4096, "
                     "{many} times: no overhead.",
               .partly = "16 MiB take longer when they are cut: {parts}."},
     .statement = "The same bytes take longer when they are cut into more launches.",
     .rule = "16 MiB in L2, cut into 64 and into 4096 launches of a graph, over one launch that "
             "reads all. REPRODUCED when both take 1.10 times as long or more, REFUTED when both "
             "take less, else MIXED. Positive control: one launch that reads all and 63 empty ones "
             "take within 15 % of the time that they take apart. Negative control: 4096 bytes of "
             "arguments, which are no further launch, must not cost 1.10.",
     .judge = judge_c50,
     .needs = NEEDS(cut_needs, control_needs)},
    {.id = "C50b",
     .article = "ai-rng",
     .quote = "The cost of a kernel includes more than math.",
     .since = "2026-11-22",
     .plain =
         {.yes = "A kernel that reads 16 MiB takes {one}, {bytes} times an empty one's time.",
          .no =
              "A kernel that reads 16 MiB takes {one}, {bytes} times an empty one's time: no more.",
          .partly = "Between: a kernel that reads 16 MiB takes {bytes:range} times an empty one's "
                    "time; the limit is {C50_ADDS:%} more."},
     .statement = "The bytes that a kernel moves are a part of its cost: one that reads 16 MiB "
                  "from L2, with an addition for each word, costs more than an empty one.",
     .rule = "In a graph, one block of 256 threads an SM. REPRODUCED when the reading launch takes "
             "1.10 times as long as the empty one or more, REFUTED when less. The controls of C50.",
     .judge = judge_c50b,
     .needs = NEEDS(control_needs, all_needs)},
    {.id = "C50c",
     .article = "ai-rng",
     .quote = "Launch overhead: scheduling and dispatch cost, especially painful when thousands of "
              "tiny kernels run per step.",
     .clause = "Launch overhead: scheduling and dispatch cost",
     .since = "2026-11-22",
     .plain = {.yes = "Call, start, blocks and finish add up to {ratio} of a launch of 65536 "
                      "blocks, {total}.",
               .no = "Call, start, blocks and finish add up to {ratio} of a launch of 65536 "
                     "blocks, {total}: it has other parts.",
               .partly = "Between: call, start, blocks and finish add up to {ratio:range} of a "
                         "launch; the limit is {C50_WITHIN:%} off."},
     .surprise = 1,
     .statement = "Host submit, start, block scheduling and drain add up to the launch's cost "
                  "within 15 %; the next start is no part of a launch that is waited for.",
     .rule = "Call, start and finish of a launch of one block, each by stamps, and 65536 times the "
             "slope of a block: REPRODUCED when their sum lies within 15 % of the round trip of "
             "65536 blocks that nothing disturbs, REFUTED outside. The next start is no part of a "
             "launch that is waited for: see launch.gap. Positive controls: within 15 %, the "
             "stretches of one block add up to the round trip of one without stamps, and 65536 "
             "blocks take as long from the first stamp to the last as by the slope. Negative "
             "control: without the blocks the sum must miss.",
     .judge = judge_c50c,
     .needs = NEEDS(c50c_needs)},
    {.id = "C50d",
     .article = "ai-rng",
     .quote = "The cost of a kernel includes more than math.",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "64 launches that share one reading take {part}; if one of them reads all, {idle}.",
          .no =
              "64 launches that share one reading take {part}; if one reads all, {idle}: no less.",
          .partly = "Between: 64 launches that share one reading take {ratio:range} times as long; "
                    "the limit is {C50_ADDS:%} more."},
     .surprise = 1,
     .statement =
         "Synchronisation is a part of a kernel's cost: as many launches of one kernel take longer "
         "when each reads a part of the bytes than when one of them reads all.",
     .rule = "64 launches of a graph, each after the one before, and 16 MiB in L2 either way: "
             "launches and bytes are the same, but where each reads, the next one's reading waits "
             "for its end. REPRODUCED when that takes 1.10 times as long or more, REFUTED when "
             "less. The controls of C50.",
     .judge = judge_c50d,
     .needs = NEEDS(idle_needs, control_needs)},
};
CLAIM_SUBJECT(claims);
