/* The ledger: attention over a prompt, fused and as three kernels. */
#include <math.h>
#include <stdio.h>

#include "core/unit.h"
#include "report/claims/rules.h"

#define SHAPE(context, type)                                                                       \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=causal,type=" type ",impl="
#define TIME(context, type, impl)                                                                  \
    "attention_prefill.time" SHAPE(context, type) impl ",mode=graph,l2=cold,timer=event}"

/* --- C43, C55: how much faster? --------------------------------------------------------------- */

static const double C43_RATIO = 2, C55_RATIO = 1.5;

/* With a causal mask the fused kernel computes half of two products: as many flops as one whole
 * product of the chain. So the chain takes at least twice as long as one of its products, which the
 * rule must detect. And that single product must not count as a speed-up over the fused kernel. */
struct speeds {
    struct row fused, chain, product; /* 4096 tokens, fp16 */
    struct row ratio, positive, negative;
};

static const struct need speeds_needs[] = {{NEED_ONE, TIME(4096, "fp16", "fused")},
                                           {NEED_ONE, TIME(4096, "fp16", "unfused")},
                                           {NEED_ONE, TIME(4096, "fp16", "values")},
                                           NEEDS_END};

static bool take_speeds(const struct bundle *bundle, struct speeds *s, struct finding *f)
{
    if (!RULE_TAKE(bundle, speeds_needs, f, &s->fused, &s->chain, &s->product))
        return false;
    s->ratio = rule_ratio(&s->chain, &s->fused);
    s->positive = rule_ratio(&s->chain, &s->product);
    s->negative = rule_ratio(&s->product, &s->fused);
    return true;
}

static void conclude(struct finding *f, const struct speeds *s, double least,
                     enum claim_verdict verdict)
{
    const bool positive = rule_place(&s->positive, least, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&s->negative, least, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive, "the chain over one of its two products", &s->positive);
    rule_say_control(f, false, negative, "that product alone over the fused kernel", &s->negative);
    rule_conclude(f, verdict, positive, negative);
}

static const struct need c43_needs[] = {
    {NEED_ONE, TIME(8192, "bf16", "fused")}, {NEED_ONE, TIME(8192, "bf16", "unfused")}, NEEDS_END};

static void judge_c43(const struct bundle *bundle, struct finding *f)
{
    struct speeds s;
    struct row fused, chain;
    if (!take_speeds(bundle, &s, f) || !RULE_TAKE(bundle, c43_needs, f, &fused, &chain))
        return;

    struct row longer = rule_ratio(&chain, &fused);
    const enum place at_4096 = rule_place(&s.ratio, C43_RATIO, INFINITY);
    const enum place at_8192 = rule_place(&longer, C43_RATIO, INFINITY);
    rule_say_row(f->evidence, "unfused over fused, causal, 32 heads of 128: 4096 tokens, fp16",
                 &s.ratio);
    rule_say_row(f->evidence, "8192 tokens, bf16", &longer);
    rule_say(f->evidence, "; judged for prompts alone: decode is C43b");
    conclude(f, &s, C43_RATIO, at_4096 == at_8192 ? rule_band(at_4096) : CLAIM_MIXED);
}

/* --- C43b: is attention where decode spends its time? ----------------------------------------- */

static const double C43B_SHARE = 0.25;
#define SHARE(shape, context)                                                                      \
    "attention_decode.share_of_token{shape=" shape ",context=" #context "}"

static const struct need share_needs[] = {{NEED_ONE, SHARE("8b", 4096)},
                                          {NEED_ONE, SHARE("8b", 8192)},
                                          {NEED_ONE, SHARE("1b", 4096)},
                                          {NEED_ONE, SHARE("1b", 8192)},
                                          NEEDS_END};

static const struct need c43b_needs[] = {
    {NEED_ONE, SHARE("8b", 1024)}, {NEED_ONE, SHARE("8b", 131072)}, NEEDS_END};

static void judge_c43b(const struct bundle *bundle, struct finding *f)
{
    static const char *const names[] = {"attention's share of a token's time, 8B, 4096 keys",
                                        "8192", "1B, 4096", "8192"};
    struct row share, least, longest;
    int reached = 0, below = 0;

    for (size_t i = 0; share_needs[i].id; i++) {
        if (!rule_take(bundle, share_needs[i].id, &share, f))
            return;
        const enum place place = rule_place(&share, C43B_SHARE, INFINITY);
        reached += place == PLACE_INSIDE;
        below += place == PLACE_BELOW;
        rule_say_row(f->evidence, names[i], &share);
    }
    if (!RULE_TAKE(bundle, c43b_needs, f, &least, &longest))
        return;
    rule_say_row(f->evidence, "8B, 131072", &longest);
    const bool positive = rule_place(&longest, C43B_SHARE, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&least, C43B_SHARE, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, positive, "at 131072 keys it takes a quarter, at", &longest);
    rule_say_control(f, false, negative, "at 1024 keys of an 8B layer, too, at", &least);
    rule_conclude(f,
                  below == 4     ? CLAIM_REFUTED
                  : reached == 4 ? CLAIM_REPRODUCED
                                 : CLAIM_MIXED,
                  positive, negative);
}

static const struct need memory_needs[] = {
    {NEED_ONE, "attention_prefill.footprint" SHAPE(4096, "bf16") "fused}"},
    {NEED_ONE, "attention_prefill.footprint" SHAPE(4096, "bf16") "unfused}"},
    NEEDS_END};

static void judge_c55(const struct bundle *bundle, struct finding *f)
{
    struct speeds s;
    struct row fused, chain;
    struct finding ignored = rule_aside(f);
    if (!take_speeds(bundle, &s, f))
        return;

    rule_say_row(f->evidence, "unfused over fused, 4096 tokens, fp16, causal", &s.ratio);
    rule_say_row(f->evidence, "fused", &s.fused);
    if (RULE_TAKE(bundle, memory_needs, &ignored, &fused, &chain)) {
        struct row memory = rule_ratio(&chain, &fused);
        rule_say_row(f->evidence, "memory, unfused over fused (C44 judges its growth)", &memory);
    }
    conclude(f, &s, C55_RATIO, rule_band(rule_place(&s.ratio, C55_RATIO, INFINITY)));
}

/* --- C44: how does memory grow? --------------------------------------------------------------- */

static const double C44_FUSED = 1.1, C44_UNFUSED = 1.8, C44_COUNTED = 0.05;
enum { SHORTEST = 512, N_CONTEXTS = 6 };

#define FOOTPRINT                                                                                  \
    "attention_prefill.footprint{heads=32,kv_heads=32,depth=128,context=%d,mask=causal,type=bf16," \
    "impl=%s}"

static const struct need footprint_needs[] = {{NEED_ANY, FOOTPRINT}, NEEDS_END};

/* The slope of log memory over log context, by least squares, in every round that has them all. */
static bool take_exponent(const struct bundle *bundle, const char *impl, struct row *exponent,
                          struct finding *f)
{
    struct row memory[N_CONTEXTS];
    for (int i = 0; i < N_CONTEXTS; i++)
        if (!rule_take_formed(bundle, &memory[i], f, FOOTPRINT, SHORTEST << i, impl))
            return false;
    *exponent = (struct row){.id = memory[0].id, .unit = "ratio", .once = memory[0].once};
    for (size_t k = 0; k < memory[0].n; k++) {
        const int round = memory[0].round[k];
        double sum = 0, squares = 0;
        for (int i = 0; i < N_CONTEXTS; i++) {
            const double x = i - (N_CONTEXTS - 1) / 2.0;
            sum += x * log2(row_at(&memory[i], round));
            squares += x * x;
        }
        row_put(exponent, round, sum / squares, NAN);
    }
    row_finish(exponent);
    return true;
}

static const struct need c44_needs[] = {
    {NEED_ONE, "attention_prefill.memory" SHAPE(8192, "bf16") "unfused,*"},
    {NEED_ONE, "attention_prefill.footprint" SHAPE(8192, "bf16") "unfused}"},
    NEEDS_END};

static const struct need c44_longest[] = {
    {NEED_ONE, "attention_prefill.footprint" SHAPE(16384, "bf16") "unfused}"}, NEEDS_END};

static const struct need c44_beyond[] = {
    {NEED_ANY, "attention_prefill.footprint" SHAPE(65536, "bf16") "unfused}"}, NEEDS_END};

static void judge_c44(const struct bundle *bundle, struct finding *f)
{
    struct row fused, chain, counted, seen, last;
    if (!take_exponent(bundle, "fused", &fused, f) ||
        !take_exponent(bundle, "unfused", &chain, f) ||
        !RULE_TAKE(bundle, c44_needs, f, &counted, &seen))
        return;

    struct row agree = rule_ratio(&seen, &counted);
    const enum place linear = rule_place(&fused, -INFINITY, C44_FUSED);
    const enum place square = rule_place(&chain, C44_UNFUSED, INFINITY);
    const bool positive = rule_place(&agree, 1 - C44_COUNTED, 1 + C44_COUNTED) == PLACE_INSIDE;
    const bool negative = rule_place(&chain, -INFINITY, C44_FUSED) == PLACE_ABOVE;
    const enum claim_verdict verdict = linear == PLACE_INSIDE  ? rule_band(square)
                                       : linear == PLACE_ABOVE ? CLAIM_REFUTED
                                                               : CLAIM_MIXED;
    size_t next = 0;
    const struct row *longest = rule_next(bundle, c44_beyond[0].id, &next, f);

    rule_say_row(f->evidence, "exponent of memory over 512 to 16384 tokens: fused", &fused);
    rule_say_row(f->evidence, "unfused, where operands still weigh in the short ones", &chain);
    if (RULE_TAKE(bundle, c44_longest, f, &last))
        rule_say(f->evidence, ", and from 8192 to 16384 alone %.2f",
                 log2(last.centre / seen.centre));
    if (longest)
        rule_say(f->evidence, "; 65536 tokens unfused: %s",
                 row_usable(longest) ? "computed"
                 : longest->why      ? longest->why
                                     : row_status_name(longest->status));
    rule_say_control(f, true, positive, "memory by the driver over memory by count, 8192 tokens",
                     &agree);
    rule_say_control(f, false, negative, "the unfused exponent under the fused one's rule", &chain);
    rule_conclude(f, verdict, positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C43",
     .article = "ai-rng",
     .quote = "large speedups because attention is bandwidth-heavy",
     .statement = "Our reading: over a prompt of 4096 tokens or more, fused attention is at least "
                  "twice as fast as a product, a softmax and a product.",
     .rule = "REPRODUCED when unfused over fused reads at least 2 at 4096 tokens (fp16) and at "
             "8192 (bf16), causal, 32 heads of 128, by graph; REFUTED when it reads less at both. "
             "Positive control: the chain reads at least 2 over one of its own products. Negative "
             "control: that product alone over the fused kernel must not.",
     .judge = judge_c43,
     .needs = NEEDS(speeds_needs, c43_needs)},
    {.id = "C43b",
     .article = "ai-rng",
     .quote = "Attention kernels are the highest leverage target",
     .statement = "In decode attention takes a quarter or more of a token's time, at 4096 and 8192 "
                  "keys; leverage is read as share of time.",
     .rule = "Attention of one query over the rest of a layer, whose time is that of its weights "
             "at the rate of a read measured in the same process, for layers of 1B and 8B models, "
             "4096 and 8192 keys. REFUTED when the share is below 0.25 in all four, REPRODUCED "
             "when in none of them, MIXED otherwise. Positive control: at 131072 keys of an 8B "
             "layer it is 0.25 or more. Negative control: at 1024 it must not be.",
     .judge = judge_c43b,
     .needs = NEEDS(share_needs, c43b_needs)},
    {.id = "C44",
     .article = "ai-rng",
     .quote = "Fused attention kernels can change the economics of context length.",
     .statement = "Memory of attention over a prompt grows linearly when fused, nearly with the "
                  "square when not.",
     .rule = "REPRODUCED when the exponent of memory over context, fitted over 512 to 16384 tokens "
             "(bf16, 32 heads of 128) to what the driver says is gone, is at most 1.1 fused and at "
             "least 1.8 unfused; REFUTED when one is not. Positive control: at 8192 tokens the "
             "driver and the count of bytes agree within 5 %. Negative control: the unfused "
             "exponent must not be at most 1.1.",
     .judge = judge_c44,
     .needs = NEEDS(footprint_needs, c44_needs, c44_longest, c44_beyond)},
    {.id = "C55",
     .article = "dev.to",
     .quote = "The result is dramatically lower memory usage and substantially higher throughput.",
     .statement = "Fused attention is at least 1.5 times as fast at 4096 tokens; memory is C44.",
     .rule = "REPRODUCED when unfused over fused reads at least 1.5 at 4096 tokens, fp16, causal, "
             "32 heads of 128, by graph, REFUTED when it does not. Controls as for C43, at 1.5.",
     .judge = judge_c55,
     .needs = NEEDS(speeds_needs, memory_needs)},
};
CLAIM_SUBJECT(claims);
