/* The ledger: when the fused kernel is the slower one. */
#include <math.h>

#include "report/claims/rules.h"

#define HARM(metric, what, rows, columns, type, impl, l2)                                          \
    "harm." metric "{what=" what ",rows=" rows ",columns=" columns ",type=" type ",impl=" impl     \
    ",mode=graph,l2=" l2
#define STREAMS(impl) HARM("time", "streams", "32", "2000000", "fp32", impl, "cold") ",timer=event}"
#define FEW_STREAMS(impl)                                                                          \
    HARM("time", "streams", "4", "16000000", "fp32", impl, "cold") ",timer=event}"
#define LOCAL(impl) HARM("local", "streams", "32", "2000000", "fp32", impl, "cold") "}"
#define WARPS(impl) HARM("warps", "streams", "32", "2000000", "fp32", impl, "cold") "}"
#define REGISTERS(impl) HARM("registers", "streams", "32", "2000000", "fp32", impl, "cold") "}"
#define FEW_WARPS(impl) HARM("warps", "streams", "4", "16000000", "fp32", impl, "cold") "}"
#define OCCUPANCY(what, impl)                                                                      \
    HARM("time", what, "0", "48000000", "fp32", impl, "cold") ",timer=event}"
#define SERIAL(rows, columns, impl, l2)                                                            \
    HARM("time", "serial", rows, columns, "fp16", impl, l2) ",timer=event}"

static const double DELTA = 0.03; /* a smaller difference does not count */

static enum place against_one(const struct row *ratio)
{
    return rule_place(ratio, 1 - DELTA, 1 + DELTA);
}

/* --- C60: registers that spill ----------------------------------------------------------------- */

static const struct need c60_needs[] = {
    {NEED_ONE, STREAMS("unfused")},    {NEED_ONE, STREAMS("fused")},
    {NEED_ONE, STREAMS("cap_32")},     {NEED_ONE, LOCAL("cap_32")},
    {NEED_ONE, LOCAL("fused")},        {NEED_ONE, FEW_STREAMS("unfused")},
    {NEED_ONE, FEW_STREAMS("cap_32")}, NEEDS_END};

static void judge_c60(const struct bundle *bundle, struct finding *f)
{
    struct row unfused, fused, cap, local, fused_local, few, few_cap;
    if (!RULE_TAKE(bundle, c60_needs, f, &unfused, &fused, &cap, &local, &fused_local, &few,
                   &few_cap))
        return;

    const struct row spilling = rule_ratio(&cap, &unfused), healed = rule_ratio(&fused, &unfused);
    const struct row few_ratio = rule_ratio(&few_cap, &few);
    const enum place loses = against_one(&spilling), wins = against_one(&healed);
    const bool positive = local.low > 0 && fused_local.high <= 0;
    const bool negative = few_ratio.high <= 1 + DELTA;
    const enum claim_verdict verdict = loses == PLACE_ABOVE
                                           ? (wins == PLACE_BELOW ? CLAIM_REPRODUCED : CLAIM_MIXED)
                                       : loses == PLACE_STRADDLES ? CLAIM_MIXED
                                                                  : CLAIM_REFUTED;

    rule_say(f->evidence, "softmax across 32 arrays, 128 values a thread");
    rule_say_row(f->evidence, "one kernel capped at 32 registers over two kernels, time",
                 &spilling);
    rule_say_row(f->evidence, "its local memory, bytes a thread", &local);
    rule_say_row(f->evidence, "uncapped over two kernels", &healed);
    rule_say_control(f, true, positive, "the capped kernel spills and the uncapped one does not",
                     &local);
    rule_say_control(f, false, negative,
                     "four arrays, which fit, lose under the same cap: over two kernels",
                     &few_ratio);
    rule_conclude(f, verdict, positive, negative);
}

/* --- C61: registers take warps, and fewer warps take throughput --------------------------------- */

static const struct need c61a_needs[] = {{NEED_ONE, WARPS("fused")},
                                         {NEED_ONE, WARPS("cap_64")},
                                         {NEED_ONE, WARPS("cap_32")},
                                         {NEED_ONE, REGISTERS("fused")},
                                         {NEED_ONE, FEW_WARPS("fused")},
                                         {NEED_ONE, FEW_WARPS("cap_32")},
                                         NEEDS_END};

static void judge_c61a(const struct bundle *bundle, struct finding *f)
{
    struct row fused, cap_64, cap_32, registers, few, few_cap;
    if (!RULE_TAKE(bundle, c61a_needs, f, &fused, &cap_64, &cap_32, &registers, &few, &few_cap))
        return;

    const bool falls = fused.high < cap_64.low && cap_64.high < cap_32.low;
    const bool negative = few.low >= few_cap.high;
    rule_say(f->evidence, "one source, compiled for as many registers as it needs and for fewer");
    rule_say_row(f->evidence, "registers it needs", &registers);
    rule_say_row(f->evidence, "warps an SM holds then", &fused);
    rule_say_row(f->evidence, "with 64 registers", &cap_64);
    rule_say_row(f->evidence, "with 32", &cap_32);
    rule_say_control(f, false, negative,
                     "a kernel that needs no more than 32 gains warps by the cap", &few);
    rule_conclude(f, falls ? CLAIM_REPRODUCED : CLAIM_REFUTED, true, negative);
}

static const double C61_COSTS = 0.10, C61_NOTHING = 0.03;

static const struct need c61_needs[] = {{NEED_ANY, OCCUPANCY("memory", "all")},
                                        {NEED_ANY, OCCUPANCY("memory", "half")},
                                        {NEED_ANY, OCCUPANCY("compute", "all")},
                                        {NEED_ANY, OCCUPANCY("compute", "half")},
                                        {NEED_ANY, OCCUPANCY("memory", "quarter")},
                                        {NEED_ANY, OCCUPANCY("memory", "plain")},
                                        NEEDS_END};

/* The throughput left with half the warps, as a share of that with all warps. */
static void judge_c61(const struct bundle *bundle, struct finding *f)
{
    struct row memory, compute, quarter, same;
    if (!rule_take_ratio(bundle, OCCUPANCY("memory", "all"), OCCUPANCY("memory", "half"), &memory,
                         f) ||
        !rule_take_ratio(bundle, OCCUPANCY("compute", "all"), OCCUPANCY("compute", "half"),
                         &compute, f) ||
        !rule_take_ratio(bundle, OCCUPANCY("memory", "all"), OCCUPANCY("memory", "quarter"),
                         &quarter, f) ||
        !rule_take_ratio(bundle, OCCUPANCY("memory", "plain"), OCCUPANCY("memory", "all"), &same,
                         f))
        return;

    const double costs = 1 - C61_COSTS, nothing = 1 - C61_NOTHING;
    const bool both_cost = memory.high <= costs && compute.high <= costs;
    const bool none_costs = memory.low >= nothing && compute.low >= nothing;
    const bool positive = rule_place(&quarter, 0, costs) == PLACE_INSIDE;
    const bool negative = rule_place(&same, nothing, INFINITY) == PLACE_INSIDE;

    rule_say(f->evidence, "one instruction stream, warps taken away by shared memory nobody uses");
    rule_say_row(f->evidence, "a copy with one vector a thread keeps, with half of the warps",
                 &memory);
    rule_say_row(f->evidence, "with a quarter", &quarter);
    rule_say_row(f->evidence, "256 multiply-adds a vector keep, with half", &compute);
    rule_say_control(f, true, positive, "a quarter of the warps costs the copy 10 %: it keeps",
                     &quarter);
    rule_say_control(f, false, negative,
                     "the unused memory costs where it takes no warps: it leaves", &same);
    rule_conclude(f,
                  both_cost    ? CLAIM_REPRODUCED
                  : none_costs ? CLAIM_REFUTED
                               : CLAIM_MIXED,
                  positive, negative);
}

/* --- C63: fewer blocks --------------------------------------------------------------------------- */

static const struct need c63_needs[] = {{NEED_ONE, SERIAL("1", "262144", "fused", "warm")},
                                        {NEED_ONE, SERIAL("1", "262144", "unfused", "warm")},
                                        {NEED_ONE, SERIAL("4096", "16384", "fused", "cold")},
                                        {NEED_ONE, SERIAL("4096", "16384", "unfused", "cold")},
                                        NEEDS_END};

static void judge_c63(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, many_fused, many_unfused;
    if (!RULE_TAKE(bundle, c63_needs, f, &fused, &unfused, &many_fused, &many_unfused))
        return;

    const struct row one = rule_ratio(&fused, &unfused);
    const struct row many = rule_ratio(&many_fused, &many_unfused);
    const enum place place = against_one(&one);
    const bool negative = many.high <= 1 + DELTA;

    rule_say(f->evidence,
             "a row over its root mean square: one block a row, or as many as there are "
             "SMs in two kernels");
    rule_say_row(f->evidence, "one kernel, one row of 262144 fp16", &fused);
    rule_say_row(f->evidence, "two kernels", &unfused);
    rule_say_row(f->evidence, "one over two, time", &one);
    rule_say_control(f, false, negative, "4096 rows of 16384 lose, too: one over two", &many);
    rule_conclude(f,
                  place == PLACE_ABOVE       ? CLAIM_REPRODUCED
                  : place == PLACE_STRADDLES ? CLAIM_MIXED
                                             : CLAIM_REFUTED,
                  true, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C60",
     .article = "ai-rng",
     .quote = "Register spilling: a fused kernel uses too many registers, forcing spills to memory "
              "and slowing the kernel.",
     .statement = "Some fused kernel that spills is slower than its unfused pair and stops being "
                  "so once the spill is removed.",
     .rule =
         "REPRODUCED when softmax across 32 arrays in one kernel under a cap of 32 registers is "
         "more than 3 % slower than two kernels, and without the cap more than 3 % faster; MIXED "
         "when only the first holds, REFUTED when it is not slower. Positive control: the capped "
         "kernel has local memory, the uncapped one none. Negative control: softmax across 4 "
         "arrays, which fit, must not be slower than its two kernels under the same cap.",
     .judge = judge_c60,
     .needs = NEEDS(c60_needs)},
    {.id = "C61a",
     .article = "dev.to",
     .quote = "Too many registers reduce occupancy.",
     .statement = "More registers per thread, fewer resident warps.",
     .rule = "REPRODUCED when one source holds fewer warps on an SM compiled for the registers it "
             "needs than for 64, and for 64 than for 32, as the occupancy API has it; by "
             "construction, so it is checked and no more. Negative control: a kernel that needs no "
             "more than 32 must gain none by the cap.",
     .judge = judge_c61a,
     .needs = NEEDS(c61a_needs)},
    {.id = "C61",
     .article = "ai-rng",
     .quote = "Reduced occupancy: large fused kernels reduce the number of active warps, lowering "
              "throughput.",
     .statement = "Halving occupancy with the same instructions costs 10 % or more.",
     .rule = "REPRODUCED when half of the warps that an SM can hold cost at least 10 % of the "
             "throughput both of a memory-bound and of a compute-bound kernel, REFUTED when at "
             "most 3 % of either; MIXED otherwise. Positive control: a quarter of the warps costs "
             "the memory-bound one at least 10 %. Negative control: the unused shared memory by "
             "which warps are taken away must cost less than 3 % where it takes none.",
     .judge = judge_c61,
     .needs = NEEDS(c61_needs)},
    {.id = "C63",
     .article = "ai-rng",
     .quote = "It can lose performance when it reduces parallelism or increases register pressure.",
     .statement = "A fusion that shrinks the grid is slower at batch 1; register pressure is C60.",
     .rule = "REPRODUCED when a long row over its root mean square takes more than 3 % longer in "
             "one kernel, one block, than in two whose blocks fill the GPU; REFUTED when not. "
             "Negative control: with 4096 rows the one kernel must not be slower.",
     .judge = judge_c63,
     .needs = NEEDS(c63_needs)},
};
CLAIM_SUBJECT(claims);
