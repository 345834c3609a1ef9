/* The ledger: the 1024^3 product. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/board.h"
#include "core/document.h"
#include "core/unit.h"
#include "report/claims/rules.h"

#define GEMM(size)                                                                                 \
    "small_gemm.time{m=" #size ",n=" #size ",k=" #size ",type=fp16,acc=fp32,layout=nn,"
#define CUBLAS "impl=cublas,tile=auto,split=auto,l2=warm,timer=event}"

/* --- C22: 1024^3 against the rated peak ------------------------------------------------------- */

static const double HALF = 0.5, FOLLOWS = 10;

static struct row share_of_peak(const struct row *time, double size, double peak, struct finding *f)
{
    return rule_rate(f, time, 2 * size * size * size / peak, "ratio");
}

static const struct need other_needs[] = {{NEED_ANY, "small_gemm.tensor_peak{type=fp16,acc=fp32*"},
                                          {NEED_ANY, GEMM(1024) "*l2=cold,timer=event}"},
                                          NEEDS_END};

/* Shares of other denominators, for which the rule was not written. */
static void say_other_shares(const struct bundle *bundle, const struct row *time,
                             const struct row *large, struct finding *f)
{
    struct row peak, cold;
    struct finding ignored = rule_aside(f);
    double rate = 2 * 1024.0 * 1024 * 1024 / time->centre * 1e9;
    double large_rate = 2 * 4096.0 * 4096 * 4096 / large->centre * 1e9;

    rule_say(f->evidence, "; beside it: %.3g of the rate at 4096^3", rate / large_rate);
    if (rule_take(bundle, other_needs[0].id, &peak, &ignored))
        rule_say(f->evidence, ", %.3g of the measured mma.sync peak", rate / peak.centre);
    if (rule_take_best(bundle, other_needs[1].id, &cold, &ignored))
        rule_say(f->evidence, ", %.1f us with cold L2", cold.centre / 1e3);
}

static const struct need c22_needs[] = {{NEED_BEST, GEMM(1024) "*l2=warm,timer=event}"},
                                        {NEED_ONE, GEMM(512) CUBLAS},
                                        {NEED_ONE, GEMM(4096) CUBLAS},
                                        NEEDS_END};

static void judge_c22(const struct bundle *bundle, struct finding *f)
{
    const struct board_peak *peak = board_peak(bundle->board);
    struct row time, small, large;
    char rate[48], rated[48];

    if (!peak) {
        rule_not_testable(f, "the rated dense peak of %s is not in the table of boards",
                          bundle->board ? bundle->board : "a machine without GPU");
        return;
    }
    if (!RULE_TAKE(bundle, c22_needs, f, &time, &small, &large))
        return;

    double flops = peak->fp16_fp32_flops;
    struct row share = share_of_peak(&time, 1024, flops, f), small_share, large_share;
    small_share = share_of_peak(&small, 512, flops, f);
    large_share = share_of_peak(&large, 4096, flops, f);
    const struct row follows = rule_ratio(f, &large, &small);
    const bool clocked = rule_place(&follows, RULE_LIMIT(f, FOLLOWS), INFINITY) == PLACE_INSIDE;
    const bool low = rule_place(&small_share, 0, RULE_LIMIT(f, HALF)) == PLACE_INSIDE;
    bool negative = rule_place(&large_share, 0, RULE_LIMIT(f, HALF)) == PLACE_ABOVE;
    rule_say_row(f, "best time of 1024^3", &time);
    rule_say(
        f->evidence, ", %s",
        unit_format(rate, sizeof rate, 2 * 1024.0 * 1024 * 1024 / time.centre * 1e9, "flop/s", 4));
    rule_say_row(f, "share of the rated dense peak", &share);
    rule_say(f->evidence, ", which is %s (%s); by %s",
             unit_format(rated, sizeof rated, flops, "flop/s", 4), peak->source, time.id);
    say_other_shares(bundle, &time, &large, f);
    rule_say_control(f, true, clocked, "4096^3, 512 times the work, takes longer than 512^3, times",
                     &follows);
    rule_say_control(f, true, low, "512^3 by cuBLAS stays below half, at", &small_share);
    rule_say_control(f, false, negative, "4096^3 by cuBLAS stays below half, at", &large_share);
    rule_say_figure(f, "time", &time);
    rule_say_figure(f, "share", &share);
    rule_conclude(f, rule_band(rule_place(&share, 0, RULE_LIMIT(f, HALF))), clocked && low,
                  negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C22",
     .article = "smallest.ai",
     .quote = "a throughput of approximately 150 TFLOPSless than half of the GPU\u2019s rated 362 "
              "TFLOPS",
     .clause = "less than half of the GPU\u2019s rated 362 TFLOPS",
     .since = "2026-11-22",
     .plain = {.yes = "The best 1024^3 product takes {time}: {share:%} of the rated peak.",
               .no = "The best 1024^3 product takes {time}: {share:%} of the rated peak, no less "
                     "than half.",
               .partly = "Between: the best 1024^3 product reaches {share:range} of the rated peak "
                         "against a limit of {HALF}."},
     .surprise = 2,
     .statement = "The 1024^3 fp16 product stays below half of the GPU's rated dense peak, "
                  "whatever GPU it is.",
     .rule = "REPRODUCED when the best of all implementations at 1024^3, fp16 with fp32 sums, warm "
             "L2, stays below 0.5 of the board's rated dense peak, REFUTED when it does not. The "
             "best is chosen in the first round and judged on the others. Positive controls: 512^3 "
             "by cuBLAS stays below half; 4096^3 takes 10 times as long or more. Negative control: "
             "4096^3 by cuBLAS must not.",
     .judge = judge_c22,
     .needs = NEEDS(c22_needs, other_needs)},
};
CLAIM_SUBJECT(claims);
