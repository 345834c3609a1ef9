/* The ledger: what fusing kernels saves. */
#include <stdio.h>

#include "core/document.h"
#include "report/claims/rules.h"

#define FUSED(impl) "{rows=16384,cols=8192,type=fp16,impl=" impl ",mode=graph,l2=cold"

/* --- C38: what fusion saves ------------------------------------------------------------------- */

static const double C38_RATIO = 3, C38_WITHIN = 0.10, C38_SHARE_OF_COPY = 0.85;

static enum place about_three(const struct row *ratio)
{
    return rule_place(ratio, C38_RATIO * (1 - C38_WITHIN), C38_RATIO * (1 + C38_WITHIN));
}

#define REGIMES "bias_gelu_scale.time{*type=fp16,impl=fused,*}"
#define REGIME "bias_gelu_scale.time{rows=%s,cols=%s,type=fp16,impl=unfused,mode=%s,l2=%s,*}"

static const struct need regime_needs[] = {{NEED_ANY, REGIMES}, {NEED_ANY, REGIME}, NEEDS_END};

/* The same ratio in the other regimes, where L2 or the launch decides. */
static void say_other_regimes(const struct bundle *bundle, struct finding *f)
{
    static const char *const keys[] = {"rows", "cols", "mode", "l2"};
    char glob[DOCUMENT_ID], text[4][24];
    const struct row *fused, *unfused;
    int said = 0;

    for (size_t next = 0; said < 8 && (fused = rule_next(bundle, REGIMES, &next, f));) {
        for (int i = 0; i < 4; i++)
            row_key(fused, keys[i], text[i], sizeof text[i]);
        size_t other = 0;
        snprintf(glob, sizeof glob, REGIME, text[0], text[1], text[2], text[3]);
        if (!row_usable(fused) || !(unfused = rule_next(bundle, glob, &other, f)) ||
            !row_usable(unfused))
            continue;
        rule_say(f->evidence, "%s%sx%s %s %s %.2f",
                 said++ ? ", " : "; other regimes, unfused over fused: ", text[0], text[1], text[2],
                 text[3], unfused->centre / fused->centre);
    }
}

static const struct need c38_needs[] = {
    {NEED_ONE, "bias_gelu_scale.time" FUSED("fused") ",timer=event}"},
    {NEED_ONE, "bias_gelu_scale.time" FUSED("unfused") ",timer=event}"},
    {NEED_ONE, "bias_gelu_scale.time" FUSED("scale") ",timer=event}"},
    {NEED_ONE, "bias_gelu_scale.bytes" FUSED("fused") "*"},
    {NEED_ONE, "bias_gelu_scale.bytes" FUSED("unfused") "*"},
    {NEED_ONE, "bias_gelu_scale.share_of_copy" FUSED("fused") "*"},
    NEEDS_END};

static void judge_c38(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, scale, fused_bytes, unfused_bytes, copy;
    if (!RULE_TAKE(bundle, c38_needs, f, &fused, &unfused, &scale, &fused_bytes, &unfused_bytes,
                   &copy))
        return;

    struct row time_ratio = rule_ratio(&unfused, &fused), one_ratio = rule_ratio(&scale, &fused);
    struct row bytes_ratio = rule_ratio(&unfused_bytes, &fused_bytes);
    bool positive = copy.low >= C38_SHARE_OF_COPY;
    bool negative =
        about_three(&one_ratio) == PLACE_BELOW || about_three(&one_ratio) == PLACE_ABOVE;
    enum place by_time = about_three(&time_ratio), by_bytes = about_three(&bytes_ratio);
    enum claim_verdict verdict = rule_band(by_time == PLACE_INSIDE ? by_bytes : by_time);

    rule_say(f->evidence, "device-memory regime, 16384x8192 fp16, graph, cold");
    rule_say_row(f->evidence, "three kernels over one, time", &time_ratio);
    rule_say_row(f->evidence, "bytes", &bytes_ratio);
    say_other_regimes(bundle, f);
    rule_say_control(f, true, positive, "the fused kernel is bound by memory, share of a copy",
                     &copy);
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one",
                     &one_ratio);
    rule_conclude(f, verdict, positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C38",
     .article = "dev.to",
     .quote = "The data movement is dramatically reduced.",
     .statement = "Our reading: as three kernels, scale * gelu(x + bias) moves three times the "
                  "bytes of the fused kernel and takes three times the time.",
     .rule =
         "REPRODUCED when, at 16384x8192 fp16 by graph and cold (tensors far above the L2), both "
         "the ratio of times and the ratio of bytes lie within 10 % of 3, REFUTED when one lies "
         "outside. Positive control: the fused kernel reaches 0.85 of a copy of the same bytes. "
         "Negative control: one of the three kernels alone over the fused one must not read 3.",
     .judge = judge_c38,
     .needs = NEEDS(c38_needs, regime_needs)},
};
CLAIM_SUBJECT(claims);
