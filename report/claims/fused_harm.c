/* The ledger: when the fused kernel is the slower one. */
#include <math.h>

#include "report/claims/fused.h"

#define HARM(metric, what, rows, columns, type, impl, l2)                                          \
    "harm." metric "{what=" what ",rows=" rows ",columns=" columns ",type=" type ",impl=" impl     \
    ",mode=graph,l2=" l2
#define MANY(impl) HARM("time", "streams", "96", "250000", "fp32", impl, "cold") ",timer=event}"
#define SOME(impl) HARM("time", "streams", "32", "2000000", "fp32", impl, "cold") ",timer=event}"
#define OF_MANY(metric, impl) HARM(metric, "streams", "96", "250000", "fp32", impl, "cold") "}"
#define OF_SOME(metric, impl) HARM(metric, "streams", "32", "2000000", "fp32", impl, "cold") "}"
#define OF_FEW(metric, impl) HARM(metric, "streams", "4", "16000000", "fp32", impl, "cold") "}"
#define OCCUPANCY(what, impl)                                                                      \
    HARM("time", what, "0", "48000000", "fp32", impl, "cold") ",timer=event}"
#define SERIAL(rows, columns, impl, l2)                                                            \
    HARM("time", "serial", rows, columns, "fp16", impl, l2) ",timer=event}"

static const double DELTA = 0.03; /* a smaller difference does not count */

static enum place against_one(const struct row *ratio, struct finding *f)
{
    const double delta = RULE_LIMIT(f, DELTA);
    return rule_place(ratio, 1 - delta, 1 + delta);
}

/* --- C60: registers that spill ---------------------------------------------------------------- */

static const double C60_LONGER = 1.5;

static const struct need c60_needs[] = {{NEED_ONE, MANY("unfused")},
                                        {NEED_ONE, MANY("fused")},
                                        {NEED_ONE, MANY("narrow")},
                                        {NEED_ONE, OF_MANY("local", "fused")},
                                        {NEED_ONE, OF_MANY("local", "narrow")},
                                        {NEED_ONE, SOME("unfused")},
                                        {NEED_ONE, SOME("fused")},
                                        NEEDS_END};

static void judge_c60(const struct bundle *bundle, struct finding *f)
{
    struct row unfused, fused, narrow, local, healed_local, some, some_fused;
    if (!RULE_TAKE(bundle, c60_needs, f, &unfused, &fused, &narrow, &local, &healed_local, &some,
                   &some_fused))
        return;

    const struct row spilling = rule_ratio(f, &fused, &unfused);
    const struct row healed = rule_ratio(f, &narrow, &unfused);
    const struct row fits = rule_ratio(f, &some_fused, &some),
                     longer = rule_ratio(f, &some, &unfused);
    const enum place loses = against_one(&spilling, f), wins = against_one(&healed, f);
    const bool spills = local.low > 0 && healed_local.high <= 0;
    const bool sees = fused_at_least(&longer, RULE_LIMIT(f, C60_LONGER));
    const bool negative = fits.high <= 1 + RULE_LIMIT(f, DELTA);

    rule_say(f->evidence, "softmax across 96 arrays, 384 values a thread, no cap on registers");
    rule_say_row(f, "one kernel over two, time", &spilling);
    rule_say_row(f, "its local memory, bytes a thread", &local);
    rule_say_row(f, "one kernel of 96 values a thread, which fit, over two", &healed);
    rule_say_control(f, true, spills, "the one spills and the other does not", &local);
    rule_say_control(f, true, sees, "two kernels over 2.7 times the elements take longer, times",
                     &longer);
    rule_say_control(f, false, negative, "32 arrays, which fit, lose, too: one kernel over two",
                     &fits);
    rule_say_figure(f, "spilling", &spilling);
    rule_say_figure(f, "healed", &healed);
    rule_say_figure(f, "local", &local);
    rule_say_part(f, "slower where it spills",
                  loses == PLACE_ABOVE       ? CLAIM_REPRODUCED
                  : loses == PLACE_STRADDLES ? CLAIM_MIXED
                                             : CLAIM_REFUTED,
                  &spilling, NAN);
    rule_say_part(f, "faster where it fits",
                  wins == PLACE_BELOW       ? CLAIM_REPRODUCED
                  : wins == PLACE_STRADDLES ? CLAIM_MIXED
                                            : CLAIM_REFUTED,
                  &healed, NAN);
    rule_conclude(f,
                  loses == PLACE_ABOVE ? (wins == PLACE_BELOW ? CLAIM_REPRODUCED : CLAIM_MIXED)
                  : loses == PLACE_STRADDLES ? CLAIM_MIXED
                                             : CLAIM_REFUTED,
                  spills && sees, negative);
}

/* --- C61: registers take warps, and fewer warps take throughput ------------------------------- */

static const struct need c61a_needs[] = {{NEED_ONE, OF_SOME("warps", "fused")},
                                         {NEED_ONE, OF_SOME("warps", "cap_64")},
                                         {NEED_ONE, OF_SOME("warps", "cap_32")},
                                         {NEED_ONE, OF_SOME("registers", "fused")},
                                         {NEED_ONE, OF_SOME("registers", "cap_64")},
                                         {NEED_ONE, OF_SOME("registers", "cap_32")},
                                         {NEED_ONE, OF_FEW("warps", "fused")},
                                         {NEED_ONE, OF_FEW("warps", "cap_32")},
                                         NEEDS_END};

static void judge_c61a(const struct bundle *bundle, struct finding *f)
{
    struct row fused, cap_64, cap_32, needed, given_64, given_32, few, few_cap;
    if (!RULE_TAKE(bundle, c61a_needs, f, &fused, &cap_64, &cap_32, &needed, &given_64, &given_32,
                   &few, &few_cap))
        return;

    const bool falls = fused.high < cap_64.low && cap_64.high < cap_32.low;
    const bool none = fused.low >= cap_64.high && cap_64.low >= cap_32.high;
    const bool positive = needed.low > given_64.high && given_64.low > given_32.high;
    const bool negative = few.low >= few_cap.high;
    rule_say(f->evidence, "one source, compiled for as many registers as it needs and for fewer");
    rule_say_row(f, "warps an SM holds at the registers it needs", &fused);
    rule_say_row(f, "with 64", &cap_64);
    rule_say_row(f, "with 32", &cap_32);
    rule_say_control(f, true, positive, "the three have fewer and fewer registers, from", &needed);
    rule_say_control(f, false, negative,
                     "a kernel that needs no more than 32 gains warps by the cap", &few);
    rule_say_figure(f, "needed", &needed);
    rule_say_figure(f, "fused", &fused);
    rule_say_figure(f, "cap_64", &cap_64);
    rule_say_figure(f, "cap_32", &cap_32);
    rule_conclude(f,
                  falls  ? CLAIM_REPRODUCED
                  : none ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  positive, negative);
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

    const double costs = 1 - RULE_LIMIT(f, C61_COSTS), nothing = 1 - RULE_LIMIT(f, C61_NOTHING);
    const bool both_cost = memory.high <= costs && compute.high <= costs;
    const bool none_costs = fused_at_least(&memory, nothing) && fused_at_least(&compute, nothing);
    const bool positive = fused_below(&quarter, costs), negative = fused_at_least(&same, nothing);

    rule_say(f->evidence, "one instruction stream, warps taken away by shared memory nobody uses");
    rule_say_row(f, "a copy with one vector a thread keeps, with half of the warps", &memory);
    rule_say_row(f, "with a quarter", &quarter);
    rule_say_row(f, "256 multiply-adds a vector keep, with half", &compute);
    rule_say_control(f, true, positive, "a quarter of the warps costs the copy 10 %: it keeps",
                     &quarter);
    rule_say_control(f, false, negative,
                     "the unused memory costs where it takes no warps: it leaves", &same);
    rule_say_figure(f, "memory", &memory);
    rule_say_figure(f, "compute", &compute);
    rule_say_part(f, "a copy", rule_band(rule_place(&memory, 0, costs)), &memory, costs);
    rule_say_part(f, "arithmetic", rule_band(rule_place(&compute, 0, costs)), &compute, costs);
    rule_conclude(f,
                  both_cost    ? CLAIM_REPRODUCED
                  : none_costs ? CLAIM_REFUTED
                               : CLAIM_MIXED,
                  positive, negative);
}

/* --- C63: fewer blocks ------------------------------------------------------------------------ */

static const double C63_LONGER = 4;

#define MANY_ROWS(impl)                                                                            \
    "norm.time{op=rmsnorm_bias_silu,rows=16384,cols=8192,type=fp16,impl=" impl                     \
    ",mode=graph,l2=cold,timer=event}"

static const struct need c63_needs[] = {{NEED_ONE, SERIAL("1", "262144", "fused", "warm")},
                                        {NEED_ONE, SERIAL("1", "262144", "unfused", "warm")},
                                        {NEED_ONE, SERIAL("4096", "16384", "unfused", "cold")},
                                        {NEED_ONE, MANY_ROWS("fused")},
                                        {NEED_ONE, MANY_ROWS("unfused")},
                                        NEEDS_END};

static void judge_c63(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, more, many_fused, many_unfused;
    if (!RULE_TAKE(bundle, c63_needs, f, &fused, &unfused, &more, &many_fused, &many_unfused))
        return;

    const struct row one = rule_ratio(f, &fused, &unfused);
    const struct row many = rule_ratio(f, &many_fused, &many_unfused);
    const struct row work = rule_ratio(f, &more, &unfused);
    const enum place place = against_one(&one, f);
    const bool positive = fused_at_least(&work, RULE_LIMIT(f, C63_LONGER));
    const bool negative = many.high <= 1 + RULE_LIMIT(f, DELTA);

    rule_say(f->evidence,
             "a row over its root mean square: one block a row, or as many as there are "
             "SMs in two kernels");
    rule_say_row(f, "one kernel, one row of 262144 fp16", &fused);
    rule_say_row(f, "two kernels", &unfused);
    rule_say_row(f, "one over two, time", &one);
    rule_say_control(f, true, positive,
                     "two kernels over 256 times the elements take longer, times", &work);
    rule_say_control(
        f, false, negative,
        "a norm of 16384 rows, a block a row in all kernels, loses, too: one over three", &many);
    rule_say_figure(f, "fused", &fused);
    rule_say_figure(f, "unfused", &unfused);
    rule_say_figure(f, "one", &one);
    rule_conclude(f,
                  place == PLACE_ABOVE       ? CLAIM_REPRODUCED
                  : place == PLACE_STRADDLES ? CLAIM_MIXED
                                             : CLAIM_REFUTED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C60",
     .article = "ai-rng",
     .quote = "Register spilling: a fused kernel uses too many registers, forcing spills to memory "
              "and slowing the kernel.",
     .since = "2026-11-22",
     .plain =
         {.yes = "A fused kernel that spills takes {spilling} times as long as two, one that fits "
                 "{healed}.",
          .no =
              "A fused kernel that spills takes {spilling} times as long as two: it is not slower.",
          .partly = "One kernel against two: {parts}."},
     .surprise = 3,
     .statement =
         "A fused kernel that holds more values than a thread has registers spills without any "
         "cap, is slower than its unfused pair, and stops being so when its threads hold fewer.",
     .rule =
         "Softmax across 96 arrays, element by element: in one kernel with 4 elements a thread, "
         "384 values, which spill at 255 registers; in one with 1 element a thread, which fits; in "
         "two kernels. REPRODUCED when the one that spills is more than 3 % slower than the two "
         "and the one that fits more than 3 % faster; MIXED when only the first holds, REFUTED "
         "when it is not slower. Positive controls: the one has local memory and the other none, "
         "and 2.7 times the elements take at least 1.5 times as long. Negative control: across 32 "
         "arrays, which fit, the one kernel must not be slower than two.",
     .judge = judge_c60,
     .needs = NEEDS(c60_needs)},
    {.id = "C61a",
     .article = "dev.to",
     .quote = "Too many registers reduce occupancy.",
     .since = "2026-11-22",
     .plain = {.yes = "With {needed} registers a kernel has {fused} warps on an SM, with 64 it has "
                      "{cap_64}, with 32 {cap_32}.",
               .no = "With {needed} registers a kernel has {fused} warps on an SM, with 32 no "
                     "more: {cap_32}.",
               .partly = "Fewer registers, more warps on an SM: holds in one step, in another does "
                         "not ({fused} at {needed} registers, {cap_64} at 64, {cap_32} at 32)."},
     .statement = "More registers per thread, fewer resident warps; this holds by construction, as "
                  "an SM's registers are shared out among its warps.",
     .rule =
         "REPRODUCED when one source holds fewer warps on an SM compiled for the registers it "
         "needs than for 64, and for 64 than for 32, as the occupancy API has it; REFUTED when it "
         "holds as many each time, MIXED otherwise; by construction, so it is checked and no more. "
         "Positive control: the three kernels as loaded have fewer and fewer registers. Negative "
         "control: a kernel that needs no more than 32 must gain no warps by the cap.",
     .judge = judge_c61a,
     .needs = NEEDS(c61a_needs)},
    {.id = "C61",
     .article = "ai-rng",
     .quote = "Reduced occupancy: large fused kernels reduce the number of active warps, lowering "
              "throughput.",
     .clause = "reduce the number of active warps, lowering throughput",
     .plain =
         {.yes = "With half the warps a copy keeps {memory:%} of its rate, arithmetic {compute:%}.",
          .no = "With half the warps a copy keeps {memory:%} of its rate, arithmetic {compute:%}: "
                "nothing is lost.",
          .partly = "Half the warps cost 10 %: {parts}."},
     .surprise = 5,
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
     .clause = "lose performance when it reduces parallelism",
     .since = "2026-11-22T12:20Z",
     .plain =
         {.yes =
              "A long row takes {fused} as one kernel on one SM, {unfused} as two kernels on all.",
          .no = "A long row takes {fused} as one kernel on one SM, {unfused} as two on all: "
                "nothing is lost.",
          .partly = "Between: one kernel on one SM takes {one:range} of the time of two on all; "
                    "the limit is {DELTA:%} more."},
     .surprise = 4,
     .statement = "A fusion that shrinks the grid is slower at batch 1; register pressure is C60.",
     .rule = "REPRODUCED when a long row over its root mean square takes more than 3 % longer in "
             "one kernel, one block, than in two whose blocks fill the GPU; REFUTED when not. "
             "Positive control: two kernels over 256 times the elements take at least 4 times as "
             "long. Negative control: a norm of 16384 rows, whose fusion leaves the grid as it is, "
             "must not be slower in one kernel than in three.",
     .judge = judge_c63,
     .needs = NEEDS(c63_needs)},
};
CLAIM_SUBJECT(claims);
