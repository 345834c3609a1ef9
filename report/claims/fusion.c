/* The ledger: what fusing kernels saves. */
#include <stdio.h>

#include "core/document.h"
#include "report/claims/fused.h"

#define FUSED(impl) "{rows=16384,cols=8192,type=fp16,impl=" impl ",mode=graph,l2=cold"

/* --- C38: what fusion saves ------------------------------------------------------------------- */

static const double C38_DRAMATIC = 2, C38_NONE = 1.1, C38_RATIO = 3, C38_WITHIN = 0.10;
static const double C38_SHARE_OF_COPY = 0.85, C38_CHAIN = 2;

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

#define TIME(impl) "bias_gelu_scale.time" FUSED(impl) ",timer=event}"

static const struct need c38_needs[] = {
    {NEED_ONE, TIME("fused")},
    {NEED_ONE, TIME("unfused")},
    {NEED_ONE, TIME("scale")},
    {NEED_ONE, "bias_gelu_scale.share_of_copy" FUSED("fused") "*"},
    NEEDS_END};
static const struct need c38_counted[] = {COUNTED_BYTES(TIME("fused")),
                                          COUNTED_BYTES(TIME("unfused")),
                                          COUNTED_BYTES(TIME("scale")), NEEDS_END};

/* Ratios of times: three kernels over one; one of the three over the one; three over one of the
 * three. */
struct saving {
    struct row three, one, chain, copy;
};

static bool take_saving(const struct bundle *bundle, struct saving *s, struct finding *f)
{
    struct row fused, unfused, scale;
    if (!RULE_TAKE(bundle, c38_needs, f, &fused, &unfused, &scale, &s->copy))
        return false;
    s->three = rule_ratio(f, &unfused, &fused);
    s->one = rule_ratio(f, &scale, &fused);
    s->chain = rule_ratio(f, &unfused, &scale);
    return true;
}

/* False if all times are equal: three kernels take longer than one of them. */
static bool sees_saving(const struct saving *s, struct finding *f)
{
    const bool bound = fused_at_least(&s->copy, RULE_LIMIT(f, C38_SHARE_OF_COPY));
    const bool chain = fused_at_least(&s->chain, RULE_LIMIT(f, C38_CHAIN));
    rule_say_control(f, true, bound, "the fused kernel is bound by memory, share of a copy",
                     &s->copy);
    rule_say_control(f, true, chain, "three kernels over one of them, time", &s->chain);
    return bound && chain;
}

static void judge_c38(const struct bundle *bundle, struct finding *f)
{
    struct saving s;
    if (!take_saving(bundle, &s, f))
        return;

    const struct fused_counted counted = {TIME("unfused"), TIME("fused"), TIME("scale")};
    const double dramatic = RULE_LIMIT(f, C38_DRAMATIC);
    const struct row moved = fused_moved(
        bundle, &counted, "three kernels over one, 16384x8192 fp16, graph, cold", &s.three, f);
    const bool positive = sees_saving(&s, f), negative = fused_below(&s.one, dramatic);
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one",
                     &s.one);
    const bool told =
        fused_counters_tell(bundle, &counted, dramatic, "and by counters", f);
    rule_say_figure(f, "moved", &moved);
    rule_conclude(f,
                  fused_at_least(&moved, dramatic)               ? CLAIM_REPRODUCED
                  : fused_below(&moved, RULE_LIMIT(f, C38_NONE)) ? CLAIM_REFUTED
                                                                 : CLAIM_MIXED,
                  positive, negative && told);
}

static enum place about_three(const struct row *ratio, struct finding *f)
{
    const double within = RULE_LIMIT(f, C38_WITHIN);
    return rule_place(ratio, C38_RATIO * (1 - within), C38_RATIO * (1 + within));
}

static void judge_c38b(const struct bundle *bundle, struct finding *f)
{
    struct saving s;
    if (!take_saving(bundle, &s, f))
        return;

    const enum place one = about_three(&s.one, f);
    rule_say_row(f, "three kernels over one, 16384x8192 fp16, graph, cold: time", &s.three);
    say_other_regimes(bundle, f);
    const bool positive = sees_saving(&s, f), negative = one == PLACE_BELOW || one == PLACE_ABOVE;
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one",
                     &s.one);
    rule_say_figure(f, "three", &s.three);
    rule_conclude(f, rule_band(about_three(&s.three, f)), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C38",
     .article = "dev.to",
     .quote = "The data movement is dramatically reduced.",
     .since = "2026-11-29T18:40Z",
     .plain =
         {.yes =
              "As three kernels scale * gelu(x + bias) moves {moved} times what one kernel moves.",
          .no = "As three kernels scale * gelu(x + bias) moves only {moved} times what one kernel "
                "moves.",
          .partly = "Between: as three kernels scale * gelu(x + bias) moves {moved:range} times "
                    "what one moves against limits of {C38_NONE} and {C38_DRAMATIC}."},
     .surprise = 1,
     .statement = "As one kernel, scale * gelu(x + bias) moves half of the bytes of device memory "
                  "or less that it moves as three; 'dramatically' is read as half; where bytes are "
                  "not counted, time decides in their stead.",
     .rule = "16384x8192 fp16 by graph and cold (tensors far above the L2), three kernels over "
             "one: bytes of device memory by hardware counters; where these are not counted, time, "
             "which bytes decide there. REPRODUCED when the ratio is 2 or more, REFUTED below 1.1, "
             "else MIXED. Positive controls: the fused kernel reaches 0.85 of a copy of the same "
             "bytes, and three kernels take at least twice as long as one of them. Negative "
             "control: one of the three kernels over the fused one must stay below 2, in time and, "
             "where bytes are counted, in bytes (since 29 November).",
     .judge = judge_c38,
     .needs = NEEDS(c38_needs, c38_counted)},
    {.id = "C38b",
     .article = "dev.to",
     .quote = "The data movement is dramatically reduced.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes =
                   "Three kernels take {three} times as long as the fused one, as bytes predict.",
               .no = "Three kernels take {three} times as long as the fused one, not 3 times as "
                     "bytes predict.",
               .partly = "Between: three kernels take {three:range} times as long as the fused "
                         "one; the limit is {C38_WITHIN:%} off 3."},
     .surprise = 1,
     .statement = "As three kernels, scale * gelu(x + bias) takes three times the time of the "
                  "fused kernel, as its six passes over a tensor against two would have it.",
     .rule = "REPRODUCED when, at 16384x8192 fp16 by graph and cold, the ratio of times lies "
             "within 10 % of 3, REFUTED when it lies outside. Positive controls as for C38. "
             "Negative control: one of the three kernels alone over the fused one must not read 3.",
     .judge = judge_c38b,
     .needs = NEEDS(c38_needs, regime_needs)},
};
CLAIM_SUBJECT(claims);
