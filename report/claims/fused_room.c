/* The ledger: a fused kernel whose shared memory leaves room for fewer warps. */
#include <math.h>

#include "report/claims/fused.h"

#define ROOM(metric, what, sizes, impl, end)                                                       \
    "shared_room." metric "{what=" what "," sizes ",type=bf16,impl=" impl ",mode=graph,l2="        \
    "cold" end
#define WIDE "rows=8192,columns=8192"
#define TIME(what, impl) ROOM("time", what, WIDE, impl, ",timer=event}")
#define WARPS(what, impl) ROOM("warps", what, WIDE, impl, "}")
#define FREE(what) ROOM("free_warps", what, WIDE, "all", "}")
#define CACHED(what, impl) ROOM("time", what, "rows=16384,columns=4096", impl, ",timer=event}")

/* --- C18: half of the warps of a fused kernel ------------------------------------------------- */

static const double C18_COSTS = 0.10, C18_NOTHING = 0.03; /* of the rate */
static const double C18_HALF_LEAST = 0.3, C18_HALF_MOST = 0.55, C18_LIMITED = 0.95; /* of warps */

static const struct need c18_needs[] = {
    {NEED_ONE, TIME("plain", "all")},   {NEED_ONE, TIME("plain", "half")},
    {NEED_ONE, TIME("plain", "same")},  {NEED_ONE, TIME("plain", "one")},
    {NEED_ONE, TIME("pipe", "all")},    {NEED_ONE, TIME("pipe", "half")},
    {NEED_ONE, TIME("pipe", "same")},   {NEED_ONE, WARPS("plain", "all")},
    {NEED_ONE, WARPS("plain", "half")}, {NEED_ONE, FREE("plain")},
    {NEED_ONE, WARPS("pipe", "all")},   {NEED_ONE, WARPS("pipe", "half")},
    {NEED_ONE, FREE("pipe")},           NEEDS_END};

/* What is said and not judged: the parts, two kernels, and the cache part of L1. */
static const struct need c18_beside[] = {
    {NEED_ANY, TIME("*", "*")}, {NEED_ANY, CACHED("*", "*")}, NEEDS_END};

static enum claim_verdict judge_kept(struct finding *f, const char *what, const char *part,
                                     const char *key, const struct row *kept)
{
    const double costs = 1 - RULE_LIMIT(f, C18_COSTS), nothing = 1 - RULE_LIMIT(f, C18_NOTHING);
    const enum place place = rule_place(kept, costs, nothing);
    const enum claim_verdict verdict = place == PLACE_BELOW     ? CLAIM_REPRODUCED
                                       : place == PLACE_ABOVE   ? CLAIM_REFUTED
                                       : place == PLACE_UNKNOWN ? CLAIM_NOT_TESTABLE
                                                                : CLAIM_MIXED;
    rule_say_row(f, what, kept);
    rule_say_figure(f, key, kept);
    rule_say_part(f, part, rule_band(rule_place(kept, 0, costs)), kept, costs);
    return verdict;
}

/* Half of the warps that shared memory leaves room for, and fewer than there would be without it.
 * */
static bool is_halved(struct finding *f, const char *what, const struct row *all,
                      const struct row *half, const struct row *without)
{
    const struct row halved = rule_ratio(f, half, all), limited = rule_ratio(f, all, without);
    const bool is_half = rule_place(&halved, RULE_LIMIT(f, C18_HALF_LEAST),
                                    RULE_LIMIT(f, C18_HALF_MOST)) == PLACE_INSIDE;
    const bool is_limited = fused_below(&limited, RULE_LIMIT(f, C18_LIMITED));
    rule_say_control(f, true, is_limited, what, &limited);
    rule_say_control(f, true, is_half, "and unused memory leaves half of them", &halved);
    return is_half && is_limited;
}

static void judge_c18(const struct bundle *bundle, struct finding *f)
{
    enum { ALL, HALF, SAME, ONE, PIPE_ALL, PIPE_HALF, PIPE_SAME, TIMES };
    struct row of[TIMES], warps[2], halves[2], frees[2];
    if (!RULE_TAKE(bundle, c18_needs, f, &of[ALL], &of[HALF], &of[SAME], &of[ONE], &of[PIPE_ALL],
                   &of[PIPE_HALF], &of[PIPE_SAME], &warps[0], &halves[0], &frees[0], &warps[1],
                   &halves[1], &frees[1]))
        return;

    const struct row plain = rule_ratio(f, &of[ALL], &of[HALF]);
    const struct row pipe = rule_ratio(f, &of[PIPE_ALL], &of[PIPE_HALF]);
    const struct row one = rule_ratio(f, &of[ALL], &of[ONE]);
    const struct row same = rule_ratio(f, &of[ALL], &of[SAME]);
    const struct row pipe_same = rule_ratio(f, &of[PIPE_ALL], &of[PIPE_SAME]);

    rule_say(f->evidence, "a fused norm, whose intermediate lies in shared memory, with unused "
                          "shared memory added");
    const enum claim_verdict parts[] = {
        judge_kept(f, "with half of the warps it keeps by plain loads", "plain loads", "plain",
                   &plain),
        judge_kept(f, "by copies that run ahead", "copies that run ahead", "pipe", &pipe)};

    const bool plain_halved = is_halved(f, "shared memory limits the warps, by plain loads",
                                        &warps[0], &halves[0], &frees[0]);
    const bool pipe_halved =
        is_halved(f, "shared memory limits the warps, by copies", &warps[1], &halves[1], &frees[1]);
    const bool few = fused_below(&one, 1 - RULE_LIMIT(f, C18_COSTS));
    const bool positive = plain_halved && pipe_halved && few;
    rule_say_control(f, true, few, "one block an SM costs plain loads 10 %: it keeps", &one);

    const double nothing = 1 - RULE_LIMIT(f, C18_NOTHING);
    const bool negative = fused_at_least(&same, nothing) && fused_at_least(&pipe_same, nothing);
    rule_say_control(f, false, fused_at_least(&same, nothing),
                     "unused memory costs where it takes no warps: it leaves plain loads", &same);
    rule_say_control(f, false, fused_at_least(&pipe_same, nothing), "and copies", &pipe_same);

    rule_say_ratio_beside(bundle, f, "not judged: its second part alone keeps, by plain loads",
                          TIME("norm_plain", "all"), TIME("norm_plain", "half"));
    rule_say_ratio_beside(bundle, f, "by copies", TIME("norm_pipe", "all"),
                          TIME("norm_pipe", "half"));
    rule_say_ratio_beside(bundle, f, "its first part", TIME("sum", "all"), TIME("sum", "half"));
    rule_say_ratio_beside(bundle, f, "the two parts over the fused kernel with half of the warps",
                          TIME("plain", "unfused"), TIME("plain", "half"));
    rule_say_ratio_beside(
        bundle, f, "an intermediate behind the cache part of L1 keeps, where that is smallest",
        CACHED("cached", "carve_0"), CACHED("cached", "carve_100"));
    rule_say_ratio_beside(bundle, f, "where shared memory has half of what it can have",
                          CACHED("cached", "carve_0"), CACHED("cached", "carve_50"));
    rule_say_ratio_beside(bundle, f, "three quarters", CACHED("cached", "carve_0"),
                          CACHED("cached", "carve_75"));
    rule_say_ratio_beside(bundle, f, "read 16 times, which must cost",
                          CACHED("cached_often", "carve_0"), CACHED("cached_often", "carve_100"));
    rule_say_ratio_beside(bundle, f, "where it fits, where a loss is not the cache's",
                          CACHED("cached_one", "carve_0"), CACHED("cached_one", "carve_100"));
    rule_conclude(f, parts[0] == parts[1] ? parts[0] : CLAIM_MIXED, positive, negative);
}

/* --- the entry -------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C18",
     .article = "smallest.ai",
     .quote = "In fused kernels where multiple operations share memory-heavy buffers or "
              "intermediate states, the L1 memory becomes the bottleneck, reducing the number of "
              "active warps- and, again, exposing memory latency instead of hiding it.",
     .clause = "the L1 memory becomes the bottleneck, reducing the number of active warps- and, "
               "again, exposing memory latency instead of hiding it.",
     .since = "2026-11-23",
     .plain = {.yes = "With half of the warps that its shared memory allows, a fused kernel keeps "
                      "{plain:%} of its rate by plain loads, {pipe:%} by copies that run ahead.",
               .no = "With half of the warps that its shared memory allows, a fused kernel keeps "
                     "{plain:%} of its rate by plain loads, {pipe:%} by copies that run ahead: "
                     "nothing is lost.",
               .partly = "Half of the warps cost a fused kernel a tenth: {parts}."},
     .surprise = 5,
     .statement = "In a fused kernel shared memory limits occupancy, and half as many warps cost "
                  "10 % or more.",
     .rule =
         "A sum and a norm in one kernel, whose intermediate lies in shared memory, a row in each "
         "block; with so much unused shared memory that half of the blocks fit an SM, and nothing "
         "else changed. REPRODUCED when that costs at least 10 % of the rate both by plain loads "
         "and by a pipeline of copies; REFUTED when at most 3 % in both; else MIXED. Sizes are "
         "chosen so that shared memory is what limits the warps: that it does is no finding, and "
         "a positive control, at most 0.95 of the warps that would fit without. Further positive "
         "controls: unused memory leaves 0.3 to 0.55 of the warps, and one block on an SM costs "
         "plain loads at least 10 %. Negative control: unused shared memory must cost at most 3 % "
         "where it takes no warps. Said beside it, and not judged: the parts, and an intermediate "
         "in global memory with the cache part of L1 as large as can be and as small; the cache "
         "part is not allotted to blocks, and takes no warps.",
     .judge = judge_c18,
     .needs = NEEDS(c18_needs, c18_beside)},
};
CLAIM_SUBJECT(claims);
