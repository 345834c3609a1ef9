/* The ledger: drawing a token in one kernel. */
#include <math.h>

#include "report/claims/fused.h"

#define SAMPLING(metric, batch, impl, l2)                                                          \
    "sampling." metric "{vocabulary=128256,batch=" batch ",k=50,p=0.9,type=fp32,impl=" impl        \
    ",mode=graph,l2=" l2
#define TIME(batch, impl, l2) SAMPLING("time", batch, impl, l2) ",timer=event}"
#define DRAWS(metric) SAMPLING(metric, "100000", "fused", "warm") "}"

/* --- C66: one kernel against one for each operator -------------------------------------------- */

static const double C66_FASTER = 1.5, C66_DELTA = 0.03, C66_OTHER_TOKENS = 1e-4, C66_BLIND = 0.01;
static const double C66_LONGER = 2;

/* Batch 1 must be faster by half, batch 256 not slower. Mixed if the sign turns or an interval
 * straddles. */
static enum claim_verdict one_kernel_wins(const struct row *one, const struct row *many,
                                          struct finding *f)
{
    const enum place by_half = rule_place(one, RULE_LIMIT(f, C66_FASTER), INFINITY);
    const enum place as_fast = rule_place(many, 1 / (1 + RULE_LIMIT(f, C66_DELTA)), INFINITY);
    if (by_half == PLACE_INSIDE)
        return as_fast == PLACE_INSIDE ? CLAIM_REPRODUCED : CLAIM_MIXED;
    return by_half == PLACE_BELOW ? CLAIM_REFUTED : CLAIM_MIXED;
}

static const struct need c66_needs[] = {{NEED_ONE, TIME("1", "fused", "warm")},
                                        {NEED_ONE, TIME("1", "unfused", "warm")},
                                        {NEED_ONE, TIME("256", "fused", "cold")},
                                        {NEED_ONE, TIME("256", "unfused", "cold")},
                                        {NEED_ONE, DRAWS("border")},
                                        {NEED_ONE, DRAWS("differ")},
                                        {NEED_ONE, DRAWS("control")},
                                        NEEDS_END};

static void judge_c66(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, many_fused, many_unfused, border, differ, blind;
    if (!RULE_TAKE(bundle, c66_needs, f, &fused, &unfused, &many_fused, &many_unfused, &border,
                   &differ, &blind))
        return;

    const struct row one = rule_ratio(f, &unfused, &fused);
    const struct row many = rule_ratio(f, &many_unfused, &many_fused);
    const struct row work = rule_ratio(f, &many_fused, &fused);
    const double others = RULE_LIMIT(f, C66_OTHER_TOKENS);
    const bool right = border.high <= others && differ.high <= others;
    const bool sees = fused_at_least(&work, RULE_LIMIT(f, C66_LONGER));
    const bool negative = fused_at_least(&blind, RULE_LIMIT(f, C66_BLIND));

    rule_say(f->evidence, "128256 logits, penalty, temperature, top-k 50, top-p 0.9");
    rule_say_row(f, "six kernels over one, batch 1", &one);
    rule_say_row(f, "batch 256", &many);
    rule_say_row(f, "one kernel at batch 1", &fused);
    rule_say_row(f, "of 100000 draws so many differ from the six kernels'", &differ);
    rule_say_control(f, true, right, "draws beside float64, and beside the six kernels'", &border);
    rule_say_control(f, true, sees, "256 times the logits take longer, times", &work);
    rule_say_control(f, false, negative, "draws that agree when the penalty is left out: all but",
                     &blind);
    rule_say_figure(f, "one", &one);
    rule_say_figure(f, "many", &many);
    rule_say_part(f, "batch 1", rule_band(rule_place(&one, C66_FASTER, INFINITY)), &one,
                  C66_FASTER);
    rule_say_part(f, "batch 256", rule_band(rule_place(&many, 1 / (1 + C66_DELTA), INFINITY)),
                  &many, 1 / (1 + C66_DELTA));
    rule_conclude(f, one_kernel_wins(&one, &many, f), right && sees, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C66",
     .article = "ai-rng",
     .quote = "Token sampling and logits processing: softmax, top-k, top-p, temperature scaling, "
              "and repetition penalties can be fused to avoid materializing large probability "
              "tensors multiple times.",
     .clause = "can be fused to avoid materializing large probability tensors multiple times",
     .since = "2026-11-22",
     .plain = {.yes = "One kernel samples {one} times as fast as six at batch 1, {many} times at "
                      "batch 256.",
               .no = "One kernel samples only {one} times as fast as six at batch 1, {many} times "
                     "at batch 256.",
               .partly = "One kernel instead of six samples faster: {parts}."},
     .surprise = 2,
     .statement = "One kernel is 1.5x or more as fast as one for each operator at batch 1, and not "
                  "slower at 256, with the same tokens.",
     .rule = "REPRODUCED when, with 128256 fp32 logits by graph, six good kernels take at least "
             "1.5 times as long as one at batch 1 (warm L2), and at batch 256 (cold) the one is "
             "within 3 % or better; MIXED when it wins at batch 1 and not at 256; REFUTED when it "
             "stays below 1.5 at batch 1. The six are no straw man: behind top-k only the k logits "
             "that are left are touched. Positive controls: of 100000 draws by given uniform "
             "numbers at most 1 in 10000 differs from float64's, and from the six kernels'; and "
             "256 times the logits take at least twice as long. Negative control: when the one "
             "kernel leaves the penalty out, at least 1 in 100 draws is found wrong.",
     .judge = judge_c66,
     .needs = NEEDS(c66_needs)},
};
CLAIM_SUBJECT(claims);
