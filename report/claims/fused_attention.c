/* The ledger: attention over a prompt, fused and as three kernels: times and traffic. */
#include <math.h>

#include "report/claims/fused.h"
#include "report/claims/prefill.h"

#define FOOTPRINT(context, impl)                                                                   \
    "attention_prefill.footprint" PREFILL_OF(context, "causal", "bf16") impl "}"

/* --- C43, C55: how much faster? --------------------------------------------------------------- */

static const double C43_RATIO = 2, C55_RATIO = 1.5;

/* Under a mask the fused kernel computes half of two products: as many flops as one whole product
 * of the chain, which cannot skip any. Without a mask both compute all. So the chain takes at least
 * twice as long as one of its products, which the rule must detect; and that single product must
 * not count as a speed-up over the fused kernel. */
struct speeds {
    struct row ratio, positive, negative;
};

#define SPEEDS(mask)                                                                               \
    {NEED_ONE, PREFILL_TIME(4096, mask, "fp16", "fused")},                                         \
        {NEED_ONE, PREFILL_TIME(4096, mask, "fp16", "unfused")},                                   \
    {                                                                                              \
        NEED_ONE, PREFILL_TIME(4096, mask, "fp16", "values")                                       \
    }
static const struct need speeds_needs[] = {SPEEDS("causal"), SPEEDS("none"), NEEDS_END};
enum { CAUSAL, UNMASKED, N_MASKS };
static const char *const masks[] = {"causal", "no mask"};

/* At 4096 tokens in fp16, below each mask. */
static bool take_speeds(const struct bundle *bundle, struct speeds s[N_MASKS], struct finding *f)
{
    struct row fused[N_MASKS], chain[N_MASKS], product[N_MASKS];
    if (!RULE_TAKE(bundle, speeds_needs, f, &fused[CAUSAL], &chain[CAUSAL], &product[CAUSAL],
                   &fused[UNMASKED], &chain[UNMASKED], &product[UNMASKED]))
        return false;
    for (int i = 0; i < N_MASKS; i++)
        s[i] = (struct speeds){.ratio = rule_ratio(f, &chain[i], &fused[i]),
                               .positive = rule_ratio(f, &chain[i], &product[i]),
                               .negative = rule_ratio(f, &product[i], &fused[i])};
    return true;
}

/* All reach it, none does, or else. */
static enum claim_verdict verdict_of(const struct row *ratios, size_t n, double least)
{
    size_t reach = 0, miss = 0;
    for (size_t i = 0; i < n; i++) {
        reach += fused_at_least(&ratios[i], least);
        miss += fused_below(&ratios[i], least);
    }
    return reach == n ? CLAIM_REPRODUCED : miss == n ? CLAIM_REFUTED : CLAIM_MIXED;
}

static void conclude(struct finding *f, const struct speeds s[N_MASKS], double least,
                     enum claim_verdict verdict)
{
    bool positive = true, negative = true;
    for (int i = 0; i < N_MASKS; i++) {
        const bool sees = fused_at_least(&s[i].positive, least);
        const bool fails = fused_below(&s[i].negative, least);
        rule_say_control(f, true, sees, i ? "without a mask" : "the chain over one of its products",
                         &s[i].positive);
        rule_say_control(f, false, fails,
                         i ? "without a mask" : "one product takes that much longer, too, at",
                         &s[i].negative);
        positive &= sees;
        negative &= fails;
    }
    rule_conclude(f, verdict, positive, negative);
}

static const struct need c43_needs[] = {{NEED_ONE, PREFILL_TIME(8192, "causal", "bf16", "fused")},
                                        {NEED_ONE, PREFILL_TIME(8192, "causal", "bf16", "unfused")},
                                        {NEED_ONE, PREFILL_TIME(8192, "none", "bf16", "fused")},
                                        {NEED_ONE, PREFILL_TIME(8192, "none", "bf16", "unfused")},
                                        NEEDS_END};

static void judge_c43(const struct bundle *bundle, struct finding *f)
{
    struct speeds s[N_MASKS];
    struct row fused[N_MASKS], chain[N_MASKS], ratios[2 * N_MASKS];
    const double least = RULE_LIMIT(f, C43_RATIO);
    if (!take_speeds(bundle, s, f) ||
        !RULE_TAKE(bundle, c43_needs, f, &fused[CAUSAL], &chain[CAUSAL], &fused[UNMASKED],
                   &chain[UNMASKED]))
        return;

    rule_say(f->evidence, "unfused over fused, 32 heads of 128");
    for (int i = 0; i < N_MASKS; i++) {
        ratios[2 * i] = s[i].ratio;
        ratios[2 * i + 1] = rule_ratio(f, &chain[i], &fused[i]);
        rule_say(f->evidence, "; %s", masks[i]);
        rule_say_row(f, "4096 tokens, fp16", &ratios[2 * i]);
        rule_say_row(f, "8192, bf16", &ratios[2 * i + 1]);
        rule_say_figure(f, i ? "none" : "causal", &ratios[2 * i]);
        rule_say_part(f, i ? "4096 without a mask" : "4096 tokens, causal",
                      rule_band(rule_place(&ratios[2 * i], least, INFINITY)), &ratios[2 * i],
                      least);
        rule_say_part(f, i ? "8192 without" : "8192",
                      rule_band(rule_place(&ratios[2 * i + 1], least, INFINITY)),
                      &ratios[2 * i + 1], least);
    }
    rule_say(f->evidence, "; judged for prompts alone: decode is C43b");
    conclude(f, s, least, verdict_of(ratios, 2 * N_MASKS, least));
}

static void judge_c55(const struct bundle *bundle, struct finding *f)
{
    struct speeds s[N_MASKS];
    const double least = RULE_LIMIT(f, C55_RATIO);
    if (!take_speeds(bundle, s, f))
        return;

    const struct row ratios[] = {s[CAUSAL].ratio, s[UNMASKED].ratio};
    rule_say_row(f, "unfused over fused, 4096 tokens, fp16, causal", &ratios[CAUSAL]);
    rule_say_row(f, "no mask", &ratios[UNMASKED]);
    rule_say_figure(f, "causal", &ratios[CAUSAL]);
    rule_say_figure(f, "none", &ratios[UNMASKED]);
    rule_say_part(f, "a causal mask", rule_band(rule_place(&ratios[CAUSAL], least, INFINITY)),
                  &ratios[CAUSAL], least);
    rule_say_part(f, "no mask", rule_band(rule_place(&ratios[UNMASKED], least, INFINITY)),
                  &ratios[UNMASKED], least);
    conclude(f, s, least, verdict_of(ratios, N_MASKS, least));
}

/* --- C55a: memory ----------------------------------------------------------------------------- */

static const double C55A_LOWER = 2, C55A_NONE = 1.1, C55A_COUNTED = 0.05, C55A_GROWS = 1.5;

static const struct need c55a_needs[] = {
    {NEED_ONE, FOOTPRINT(4096, "fused")},
    {NEED_ONE, FOOTPRINT(4096, "unfused")},
    {NEED_ONE, FOOTPRINT(8192, "unfused")},
    {NEED_ONE, FOOTPRINT(8192, "fused")},
    {NEED_ONE, "attention_prefill.memory" PREFILL_OF(8192, "causal", "bf16") "unfused,*"},
    {NEED_ONE, "attention_prefill.memory" PREFILL_OF(4096, "causal", "fp16") "fused,*"},
    NEEDS_END};

static void judge_c55a(const struct bundle *bundle, struct finding *f)
{
    struct row fused, chain, chain_8192, fused_8192, counted, own_count;
    if (!RULE_TAKE(bundle, c55a_needs, f, &fused, &chain, &chain_8192, &fused_8192, &counted,
                   &own_count))
        return;

    const double lower = RULE_LIMIT(f, C55A_LOWER), within = RULE_LIMIT(f, C55A_COUNTED);
    const struct row ratio = rule_ratio(f, &chain, &fused),
                     grows = rule_ratio(f, &fused_8192, &fused);
    const struct row agree = rule_ratio(f, &chain_8192, &counted);
    const bool counts = rule_place(&agree, 1 - within, 1 + within) == PLACE_INSIDE;
    const bool sees = fused_at_least(&grows, RULE_LIMIT(f, C55A_GROWS));
    const struct row own = rule_ratio(f, &fused, &own_count);
    const bool negative = fused_below(&own, lower);
    rule_say_row(f, "memory by the driver, unfused over fused, 4096 tokens, bf16, 32 heads of 128",
                 &ratio);
    rule_say(f->evidence, "; how it grows is C44");
    rule_say_control(f, true, counts, "memory by the driver over memory by count, 8192 tokens",
                     &agree);
    rule_say_control(f, true, sees, "fused, 8192 tokens take more than 4096, times", &grows);
    rule_say_control(f, false, negative, "fused attention over its own count of bytes", &own);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f,
                  fused_at_least(&ratio, lower)                   ? CLAIM_REPRODUCED
                  : fused_below(&ratio, RULE_LIMIT(f, C55A_NONE)) ? CLAIM_REFUTED
                                                                  : CLAIM_MIXED,
                  counts && sees, negative);
}

/* --- C55c: are the scores written? ------------------------------------------------------------ */

static const double C55C_NONE = 0.10, C55C_SOME = 0.50, C55C_SEEN = 0.90;

#define WRITTEN(context, type, impl)                                                               \
    {                                                                                              \
        NEED_COUNTED, "dram_written of " PREFILL_TIME(context, "causal", type, impl)               \
    }
static const struct need c55c_counted[] = {WRITTEN(4096, "fp16", "fused"),
                                           WRITTEN(4096, "fp16", "unfused"),
                                           WRITTEN(8192, "bf16", "unfused"), NEEDS_END};
static const struct need c55c_needs[] = {
    {NEED_ONE, "attention_prefill.memory" PREFILL_OF(4096, "causal", "fp16") "fused,*"},
    {NEED_ONE, "attention_prefill.memory" PREFILL_OF(4096, "causal", "fp16") "unfused,*"},
    {NEED_ONE, PREFILL_TIME(4096, "causal", "fp16", "unfused")},
    {NEED_ONE, PREFILL_TIME(4096, "causal", "fp16", "values")},
    NEEDS_END};

static void judge_c55c(const struct bundle *bundle, struct finding *f)
{
    struct row fused, chain, longer, memory, more, time, product;
    if (!RULE_TAKE(bundle, c55c_needs, f, &memory, &more, &time, &product) ||
        !RULE_TAKE(bundle, c55c_counted, f, &fused, &chain, &longer))
        return;

    /* What the chain has beyond the fused kernel: the scores, and a workspace of 1 % of them. */
    const struct row scores = rule_number(more.centre - memory.centre, "bytes");
    const struct row ratio = rule_quotient(&fused, &chain);
    const struct row seen = rule_quotient(&chain, &scores), other = rule_quotient(&longer, &chain);
    const struct row twice = rule_ratio(f, &time, &product);
    const double none = RULE_LIMIT(f, C55C_NONE);
    const bool sees = fused_at_least(&seen, RULE_LIMIT(f, C55C_SEEN));
    const bool longer_takes = fused_at_least(&twice, RULE_LIMIT(f, C55_RATIO));
    const bool positive = sees && longer_takes, negative = fused_at_least(&other, none);
    rule_say_row(f, "4096 tokens, fp16, causal: bytes written to device memory by counters, fused",
                 &fused);
    rule_say_row(f, "three kernels", &chain);
    rule_say_control(f, true, sees, "three kernels write the scores, of which counters see", &seen);
    rule_say_control(f, true, longer_takes, "three kernels take longer than one of them, times",
                     &twice);
    rule_say_control(f, false, negative, "three kernels at 8192 tokens write none, over 4096",
                     &other);
    rule_say_figure(f, "fused", &fused);
    rule_say_figure(f, "chain", &chain);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f,
                  fused_below(&ratio, none)                          ? CLAIM_REPRODUCED
                  : fused_at_least(&ratio, RULE_LIMIT(f, C55C_SOME)) ? CLAIM_REFUTED
                                                                     : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C43",
     .article = "ai-rng",
     .quote = "large speedups because attention is bandwidth-heavy",
     .clause = "large speedups",
     .since = "2026-11-22",
     .plain = {.yes = "Fused attention is {causal} times as fast at 4096 tokens, {none} times "
                      "without a mask.",
               .no = "Fused attention is only {causal} times as fast at 4096 tokens, {none} times "
                     "without a mask.",
               .partly = "Fused attention is {C43_RATIO} times as fast as three kernels: {parts}."},
     .surprise = 2,
     .statement = "Our reading: over a prompt of 4096 tokens or more, fused attention is at least "
                  "twice as fast as three kernels, with a causal mask and without one.",
     .rule =
         "Unfused over fused, 32 heads of 128, by graph, at 4096 tokens in fp16 and at 8192 in "
         "bf16, each with a causal mask (of which a product of the library computes the masked "
         "half, too) and without. REPRODUCED when all four ratios reach 2, REFUTED when none does, "
         "MIXED otherwise. Positive control: the chain takes at least twice as long as one of its "
         "two products. Negative control: that product alone must not read twice the fused "
         "kernel's time. Why it is faster, 'because attention is bandwidth-heavy', is not judged.",
     .judge = judge_c43,
     .needs = NEEDS(speeds_needs, c43_needs)},
    {.id = "C55",
     .article = "dev.to",
     .quote = "The result is dramatically lower memory usage and substantially higher throughput.",
     .clause = "substantially higher throughput",
     .since = "2026-11-22",
     .plain = {.yes = "In the median round fused attention has {causal} times the throughput at "
                      "4096 tokens, "
                      "{none} unmasked.",
               .no =
                   "Fused attention has only {causal} times the throughput at 4096 tokens, {none} "
                   "unmasked.",
               .partly = "Fused attention has {C55_RATIO} times the throughput: {parts}."},
     .surprise = 1,
     .statement = "Fused attention is at least 1.5 times as fast at 4096 tokens, with a causal "
                  "mask and without one.",
     .rule = "REPRODUCED when unfused over fused reads at least 1.5 at 4096 tokens, fp16, 32 heads "
             "of 128, by graph, with a causal mask and without, REFUTED when it does in neither, "
             "MIXED otherwise. Controls as for C43, at 1.5.",
     .judge = judge_c55,
     .needs = NEEDS(speeds_needs)},
    {.id = "C55a",
     .article = "dev.to",
     .quote = "The result is dramatically lower memory usage and substantially higher throughput.",
     .clause = "dramatically lower memory usage",
     .since = "2026-11-22",
     .plain =
         {.yes = "At 4096 tokens three kernels of attention take {ratio} times the memory of one.",
          .no = "At 4096 tokens three kernels of attention take {ratio} times the memory of one: "
                "no difference.",
          .partly = "Between: three kernels of attention take {ratio:range} times the memory of "
                    "one against limits of {C55A_NONE} and {C55A_LOWER}."},
     .surprise = 1,
     .statement = "At 4096 tokens attention as three kernels takes at least twice the memory of "
                  "fused attention; 'dramatically' is read as half.",
     .rule = "Operands, result, scores and workspace, as the driver says they are gone, bf16, 32 "
             "heads of 128. REPRODUCED when unfused over fused is 2 or more, REFUTED below 1.1, "
             "else MIXED. Positive controls: at 8192 tokens the driver and the count of bytes "
             "agree within 5 %, and 8192 tokens take at least 1.5 times what 4096 take. Negative "
             "control: fused attention over its own count of bytes must stay below 2.",
     .judge = judge_c55a,
     .needs = NEEDS(c55a_needs)},
    {.id = "C55c",
     .article = "ai-rng",
     .quote =
         "Reduced memory traffic: intermediate attention scores are not written to global memory.",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "Fused attention writes {fused} to device memory, three kernels {chain}: no scores.",
          .no = "Fused attention writes {fused} to device memory, three kernels {chain}: scores, "
                "too.",
          .partly = "Between: fused attention writes {ratio:range} of what three kernels write "
                    "against limits of {C55C_NONE} and {C55C_SOME}."},
     .surprise = 1,
     .statement = "Fused attention writes no scores: at most a tenth of the bytes that three "
                  "kernels write to device memory.",
     .rule = "Bytes written to device memory by hardware counters, 4096 tokens, fp16, causal, 32 "
             "heads of 128. REPRODUCED when the fused kernel writes less than a tenth of what "
             "three kernels write, REFUTED when half or more, MIXED between. Without counters NOT "
             "TESTABLE. Positive controls: of the three kernels counters see 0.9 of the scores or "
             "more, and these take 1.5 times as long as one of their products. Negative control: "
             "three kernels at 8192 tokens must not read as writing none.",
     .judge = judge_c55c,
     .needs = NEEDS(c55c_needs, c55c_counted)},
};
CLAIM_SUBJECT(claims);
