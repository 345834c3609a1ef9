/* The ledger: a chain of small products as one kernel. */
#include <math.h>
#include <stdio.h>

#include "core/board.h"
#include "report/claims/rules.h"

/* --- C27: does the shortfall persist in a fused kernel? --------------------------------------- */

static const double C27_LESS = 0.10, C27_LOST = 0.75, C27_HALF = 0.5, C27_ALIKE = 0.10,
                    C27_FOLLOWS = 10;
static const double C27_WORK = 2.0 * 1024 * 1024 * 1024, C27_LARGE = 2.0 * 4096 * 4096 * 4096;

#define CHAIN(metric, mode)                                                                        \
    "gemm_chain." metric "{products=8,m=1024,n=1024,type=fp16,acc=fp32,impl=*,tile=*,mode=" mode
#define TIMED ",timer=event}"

struct chain {
    struct row alone, graph, persistent, unwaited, wrong, large;
};

static const struct need chain_needs[] = {
    {NEED_BEST, "gemm_chain.alone{m=1024,n=1024,k=1024,type=fp16,acc=fp32,impl=*,tile=*,"
                "mode=graph" TIMED},
    {NEED_BEST, CHAIN("time", "persistent_*" TIMED)},
    {NEED_BEST, CHAIN("time", "graph" TIMED)},
    {NEED_ONE, CHAIN("time", "unwaited" TIMED)},
    {NEED_ONE, CHAIN("wrong", "unwaited}")},
    {NEED_ONE, "small_gemm.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,"
               "impl=cublas,tile=auto,split=auto,l2=warm" TIMED},
    NEEDS_END};

static bool take_chain(const struct bundle *bundle, struct chain *c, struct finding *f)
{
    return RULE_TAKE(bundle, chain_needs, f, &c->alone, &c->persistent, &c->graph, &c->unwaited,
                     &c->wrong, &c->large);
}

static const struct need other_modes[] = {{NEED_ANY, CHAIN("time", "stream" TIMED)},
                                          {NEED_ANY, CHAIN("time", "graph_pdl" TIMED)},
                                          NEEDS_END};

/* Other ways to launch the chain; not judged. */
static void say_other_modes(const struct bundle *bundle, struct finding *f)
{
    static const char *const names[] = {"by stream", "by graph with programmatic dependents"};
    struct finding ignored = rule_aside(f);
    struct row row;

    for (size_t i = 0; other_modes[i].id; i++)
        if (rule_take_best(bundle, other_modes[i].id, &row, &ignored))
            rule_say_row(f, names[i], &row);
}

static enum claim_verdict decide(const struct row *ratio, const struct row *share,
                                 struct finding *f)
{
    const bool kept = rule_place(ratio, 1 - RULE_LIMIT(f, C27_LESS), INFINITY) == PLACE_INSIDE;
    const bool lost = rule_place(ratio, RULE_LIMIT(f, C27_LOST), INFINITY) == PLACE_BELOW;
    const enum place half = rule_place(share, 0, RULE_LIMIT(f, C27_HALF));

    if (lost || half == PLACE_ABOVE)
        return CLAIM_REFUTED;
    return kept && half == PLACE_INSIDE ? CLAIM_REPRODUCED : CLAIM_MIXED;
}

/* A chain by graph launches the same kernels as the product alone, so both must cost the same, or
 * they cannot be compared. Without the waits the results must be wrong, or nothing was fused. The
 * rule of half the peak must fail for a large product. (That waits cost time is not used as a
 * control: without them blocks no longer walk in step and fetch the same lines at different times,
 * and the chain is slower.) */
static void judge_c27(const struct bundle *bundle, struct finding *f)
{
    const struct board_peak *peak = board_peak(bundle->board);
    struct chain c;

    if (!peak) {
        rule_not_testable(f, "the rated dense peak of %s is not in the table of boards",
                          bundle->board ? bundle->board : "a machine without GPU");
        return;
    }
    if (!take_chain(bundle, &c, f))
        return;
    const struct row ratio = rule_ratio(f, &c.persistent, &c.alone);
    const struct row share = rule_rate(f, &c.persistent, C27_WORK / peak->fp16_fp32_flops, "ratio");
    const struct row by_graph = rule_ratio(f, &c.graph, &c.alone);
    const struct row skipped = rule_ratio(f, &c.unwaited, &c.alone);
    const struct row large = rule_rate(f, &c.large, C27_LARGE / peak->fp16_fp32_flops, "ratio");
    const double alike = RULE_LIMIT(f, C27_ALIKE);
    const struct row follows = rule_ratio(f, &c.large, &c.alone);
    const bool clocked = rule_place(&follows, RULE_LIMIT(f, C27_FOLLOWS), INFINITY) == PLACE_INSIDE;
    const bool positive = rule_place(&by_graph, 1 - alike, 1 + alike) == PLACE_INSIDE;
    const bool is_wrong = c.wrong.low > 0;
    const bool passes_half = rule_place(&large, 0, RULE_LIMIT(f, C27_HALF)) == PLACE_ABOVE;

    rule_say_row(f, "a product of the chain in the best persistent kernel", &c.persistent);
    rule_say(f->evidence, " (%s)", c.persistent.id);
    rule_say_row(f, "alone by graph", &c.alone);
    rule_say_row(f, "ratio", &ratio);
    rule_say_row(f, "share of the rated dense peak", &share);
    rule_say_row(f, "the chain by graph", &c.graph);
    say_other_modes(bundle, f);
    rule_say_row(f, "a chain that does not wait, over alone", &skipped);
    rule_say_control(f, true, positive, "the chain by graph costs within 10 % of alone", &by_graph);
    rule_say_control(f, true, clocked, "4096^3, 64 times the work, takes longer, times", &follows);
    rule_say_control(f, false, is_wrong, "a chain that does not wait is right, its wrong share",
                     &c.wrong);
    rule_say_control(f, false, passes_half, "4096^3 by cuBLAS stays below half, at", &large);
    rule_say_figure(f, "persistent", &c.persistent);
    rule_say_figure(f, "alone", &c.alone);
    rule_say_figure(f, "ratio", &ratio);
    rule_say_figure(f, "share", &share);
    rule_conclude(f, decide(&ratio, &share, f), positive && clocked, is_wrong && passes_half);
}

/* --- the entry ------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C27",
     .article = "smallest.ai",
     .quote = "These limitations aren\u2019t simply due to lack of optimization\u2014they\u2019re "
              "a direct consequence of how GPU architectures are designed, and they persist even "
              "with the most carefully engineered large kernel fusion strategies.",
     .clause =
         "they persist even with the most carefully engineered large kernel fusion strategies",
     .since = "2026-11-22",
     .plain = {.yes = "Fused into a chain a 1024^3 product takes {persistent}, alone {alone}: "
                      "still {share:%} of peak.",
               .no = "Fused into a chain a 1024^3 product takes {persistent}, alone {alone}: the "
                     "loss goes, at {share:%} of peak.",
               .partly = "Between: fused into a chain a 1024^3 product takes {ratio:range} of its "
                         "time alone (limits {C27_LOST} and {C27_LESS:%} less), at {share:range} "
                         "of peak (limit {C27_HALF})."},
     .surprise = 4,
     .statement = "A chain of dependent 1024^3 products in one persistent kernel keeps 90 % or "
                  "more of the standalone time per product and stays under half of peak.",
     .rule =
         "Eight dependent products, fp16 with fp32 sums. REPRODUCED when a product in the best "
         "persistent kernel takes at least 0.90 of the best standalone time (same operands, by "
         "graph) and stays below 0.5 of the board's rated dense peak; REFUTED when it takes less "
         "than 0.75 of that time or passes 0.5 of the peak; MIXED otherwise. The best are chosen "
         "in the first round and judged on the others. Positive controls: the chain by graph, "
         "which is launched as the standalone product is, costs within 10 % of it; 4096^3 takes 10 "
         "times as long or more. Negative controls: a persistent kernel that does not wait between "
         "products must be wrong; 4096^3 by cuBLAS must not stay below half of the peak.",
     .judge = judge_c27,
     .needs = NEEDS(chain_needs, other_modes)},
};
CLAIM_SUBJECT(claims);
