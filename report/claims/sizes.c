/* The ledger: products of every size. */
#include <math.h>
#include <stdio.h>

#include "core/board.h"
#include "core/unit.h"
#include "report/claims/rules.h"

#define SQUARE(n) "m=" #n ",n=" #n ",k=" #n
#define TIME(n) "gemm_sizes.time{" SQUARE(n) ",type=fp16,acc=fp32,layout=nn,impl=*,tile=*,l2=warm,*"

/* --- C26: does latency bottom out before performance peaks? ---------------------------------- */

static const double C26_FALLS = 8, C26_HALF = 0.5, C26_FOLLOWS = 5;

static struct row share_of(const struct row *time, double n, double peak, struct finding *f)
{
    return rule_rate(f, time, 2 * n * n * n / peak, "ratio");
}

#define FIT "{type=fp16,acc=fp32,layout=nn,impl=own,tile=best,l2=warm,*"

static const struct need fit_needs[] = {{NEED_ONE, "derived.fixed_time" FIT},
                                        {NEED_ONE, "derived.marginal_flops" FIT},
                                        {NEED_ONE, "derived.fit_error" FIT},
                                        NEEDS_END};

static void say_fit(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fixed, rate, error;
    char text[48];
    if (!RULE_TAKE(bundle, fit_needs, &aside, &fixed, &rate, &error))
        return;
    rule_say(f->evidence, "; own kernels fit %.2f us + 2 N^3 / %s within %.0f %% (r.m.s.)",
             fixed.centre / 1e3, unit_format(text, sizeof text, rate.centre, "flop/s", 3),
             100 * error.centre);
}

static const struct need c26_needs[] = {{NEED_BEST, TIME(128)},
                                        {NEED_BEST, TIME(256)},
                                        {NEED_BEST, TIME(512)},
                                        {NEED_BEST, TIME(1024)},
                                        {NEED_BEST, TIME(4096)},
                                        {NEED_BEST, TIME(8192)},
                                        NEEDS_END};

/* Time bottoms out where work shrinks and time does not follow. That must begin where the rate is
 * still far from the peak. */
static void judge_c26(const struct bundle *bundle, struct finding *f)
{
    const struct board_peak *peak = board_peak(bundle->board);
    struct row t128, t256, t512, t1024, t4096, t8192;

    if (!peak) {
        rule_not_testable(f, "the rated dense peak of %s is not in the table of boards",
                          bundle->board ? bundle->board : "a machine without GPU");
        return;
    }
    if (!RULE_TAKE(bundle, c26_needs, f, &t128, &t256, &t512, &t1024, &t4096, &t8192))
        return;

    const double falls = RULE_LIMIT(f, C26_FALLS), half = RULE_LIMIT(f, C26_HALF);
    const struct row fall = rule_ratio(f, &t1024, &t128),
                     large_fall = rule_ratio(f, &t8192, &t1024);
    const struct row follows = rule_ratio(f, &t8192, &t4096);
    const struct row share = share_of(&t1024, 1024, peak->fp16_fp32_flops, f);
    const struct row large_share = share_of(&t4096, 4096, peak->fp16_fp32_flops, f);
    const enum place bottoms = rule_place(&fall, 0, falls), early = rule_place(&share, 0, half);

    rule_say_row(f, "1024^3 has 512 times the work of 128^3 and takes, times as long", &fall);
    rule_say(f->evidence, "; best times %.2f us (128^3), %.2f (256^3), %.2f (512^3), %.2f (1024^3)",
             t128.centre / 1e3, t256.centre / 1e3, t512.centre / 1e3, t1024.centre / 1e3);
    rule_say_row(f, "1024^3, share of the rated dense peak", &share);
    say_fit(bundle, f);
    const bool positive =
        rule_place(&follows, RULE_LIMIT(f, C26_FOLLOWS), INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&large_fall, 0, falls) == PLACE_ABOVE &&
                          rule_place(&large_share, 0, half) == PLACE_ABOVE;
    rule_say_control(f, true, positive,
                     "time follows work where it is known to: 8 times as much at 8192^3 as at "
                     "4096^3 takes, times as long",
                     &follows);
    rule_say_control(f, false, negative,
                     "8192^3 has 512 times the work of 1024^3 and takes less than 8 times as long",
                     &large_fall);
    rule_say_figure(f, "fall", &fall);
    rule_say_figure(f, "share", &share);
    rule_conclude(f,
                  bottoms == PLACE_ABOVE || early == PLACE_ABOVE     ? CLAIM_REFUTED
                  : bottoms == PLACE_INSIDE && early == PLACE_INSIDE ? CLAIM_REPRODUCED
                                                                     : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entry ------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C26",
     .article = "smallest.ai",
     .quote = "Whether it\u2019s a standalone matrix multiplication or a large fused forward pass "
              "combining multiple layers into a single kernel, the result is the same: latency "
              "bottoms out well before performance peaks.",
     .clause = "latency bottoms out well before performance peaks",
     .since = "2026-11-22",
     .plain = {.yes = "1024^3 has 512 times the work of 128^3 and takes {fall} times as long, at "
                      "{share:%} of peak.",
               .no = "1024^3 has 512 times the work of 128^3 and takes {fall} times as long, at "
                     "{share:%} of peak: not both are low.",
               .partly = "Between: 512 times the work takes {fall:range} times as long (limit "
                         "{C26_FALLS}), at {share:range} of peak (limit {C26_HALF})."},
     .surprise = 4,
     .statement =
         "From 1024^3 to 128^3, a 512th of the work, the time of a product falls by less than 8 "
         "times, and at 1024^3 the rate is below half of the rated peak; the fused half is C27.",
     .rule =
         "Best of all implementations, fp16 with fp32 sums, warm, by slope and so without the "
         "launch; chosen in the first round and judged on the others. 8 is the ratio of the sides: "
         "time that follows it has long left the work. REPRODUCED when 1024^3 takes less than 8 "
         "times as long as 128^3, at less than half of the board's rated dense peak; REFUTED when "
         "one of the two does not hold. Positive control: from 4096^3 to 8192^3, 8 times the work, "
         "the time grows by 5 times or more. Negative control: from 1024^3 to 8192^3 it must not "
         "grow by less than 8 times, nor 4096^3 stay below half of the peak.",
     .judge = judge_c26,
     .needs = NEEDS(c26_needs, fit_needs)},
};
CLAIM_SUBJECT(claims);
