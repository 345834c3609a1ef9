/* The ledger: norms fused with their neighbours, and passes through memory. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"

#define LONG "rows=16384,cols=8192,type=fp16,impl="
#define TIME(op, size_and_impl, l2) "norm.time{op=" op "," size_and_impl ",mode=graph,l2=" l2 ",*}"
#define SHARE(op, impl) "norm.share_of_copy{op=" op "," LONG impl ",mode=graph,l2=cold*"
#define BYTES(op, impl) "norm.bytes{op=" op "," LONG impl ",mode=graph,l2=cold*"

static const double MEMORY_BOUND = 0.85; /* share of a copy */

/* --- C40: norm, bias and activation in one kernel --------------------------------------------- */

static const double C40_GAIN = 1.3, C40_NONE = 1.05;

#define CHAIN "rmsnorm_bias_silu"
#define ROW "rows=1,cols=4096,type=fp16,impl="
#define QUANTISED(impl)                                                                            \
    TIME("rmsnorm_residual_fp8", "rows=1,cols=8192,type=fp16,impl=" impl, "cold")

static const struct need quantised_needs[] = {{NEED_ONE, QUANTISED("fused")},
                                              {NEED_ONE, QUANTISED("unfused")},
                                              {NEED_ONE, QUANTISED("narrow")},
                                              NEEDS_END};

/* "Fused" says little about a kernel with too few threads: vLLM's issue 32957, made again. */
static void say_too_few_threads(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused, unfused, narrow;
    if (RULE_TAKE(bundle, quantised_needs, &aside, &fused, &unfused, &narrow))
        rule_say(
            f->evidence,
            "; RMSNorm with residual and fp8 codes, one row of 8192, cold: three kernels %.2f us, "
            "one %.2f us, one with a single warp for the row %.2f us",
            unfused.centre / 1e3, fused.centre / 1e3, narrow.centre / 1e3);
}

static const struct need c40_needs[] = {{NEED_ONE, TIME(CHAIN, LONG "fused", "cold")},
                                        {NEED_ONE, TIME(CHAIN, LONG "unfused", "cold")},
                                        {NEED_ONE, TIME(CHAIN, LONG "silu", "cold")},
                                        {NEED_ONE, TIME(CHAIN, ROW "fused", "cold")},
                                        {NEED_ONE, TIME(CHAIN, ROW "unfused", "cold")},
                                        {NEED_ONE, SHARE(CHAIN, "fused")},
                                        {NEED_ONE, BYTES(CHAIN, "fused")},
                                        {NEED_ONE, BYTES(CHAIN, "unfused")},
                                        NEEDS_END};

static void judge_c40(const struct bundle *bundle, struct finding *f)
{
    struct row fused, unfused, silu, share, row_fused, row_unfused, bytes, all_bytes;
    if (!RULE_TAKE(bundle, c40_needs, f, &fused, &unfused, &silu, &row_fused, &row_unfused, &share,
                   &bytes, &all_bytes))
        return;

    const struct row large = rule_ratio(&unfused, &fused), one = rule_ratio(&silu, &fused);
    const struct row row = rule_ratio(&row_unfused, &row_fused);
    const struct row by_bytes = rule_ratio(&all_bytes, &bytes);
    const bool gains = large.low >= C40_GAIN && row.low >= C40_GAIN;
    const bool none = large.high < C40_NONE || row.high < C40_NONE;
    const bool positive = share.low >= MEMORY_BOUND, negative = one.high < C40_GAIN;

    rule_say(f->evidence, "silu(rmsnorm(x) + bias), fp16, graph, three kernels over one");
    rule_say_row(f->evidence, "16384x8192, time", &large);
    rule_say_row(f->evidence, "bytes", &by_bytes);
    rule_say_row(f->evidence, "one row of 4096, cold, time", &row);
    say_too_few_threads(bundle, f);
    rule_say_control(f, true, positive, "the fused kernel is bound by memory, share of a copy",
                     &share);
    rule_say_control(f, false, negative, "one of the three kernels alone over the fused one", &one);
    rule_conclude(f,
                  gains  ? CLAIM_REPRODUCED
                  : none ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- C42: passes through memory --------------------------------------------------------------- */

static const double C42_BYTES = 1.1, C42_TIME = 1.05, C42_ELEMENTS = 16384.0 * 8192;

/* A ratio above 1.05: reading again takes time. */
static bool takes_longer(const struct row *ratio)
{
    return ratio->low >= C42_TIME;
}

static bool takes_as_long(const struct row *ratio)
{
    return ratio->high < C42_TIME;
}

#define MIDDLING "rows=1024,cols=4096,type=fp16,impl="

static const struct need cached_needs[] = {
    {NEED_ONE, TIME("layernorm", MIDDLING "fused", "warm")},
    {NEED_ONE, TIME("layernorm", MIDDLING "three_pass", "warm")},
    NEEDS_END};

static void say_in_cache(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused, three;
    if (RULE_TAKE(bundle, cached_needs, &aside, &fused, &three))
        rule_say(f->evidence, "; 1024x4096 in the L2, one kernel, three loads over one: %.2f",
                 three.centre / fused.centre);
}

static const struct need c42_needs[] = {{NEED_ONE, TIME("layernorm", LONG "fused", "cold")},
                                        {NEED_ONE, TIME("layernorm", LONG "unfused", "cold")},
                                        {NEED_ONE, TIME("layernorm", LONG "three_pass", "cold")},
                                        {NEED_ONE, TIME(CHAIN, LONG "fused", "cold")},
                                        {NEED_ONE, SHARE("layernorm", "fused")},
                                        {NEED_ONE, BYTES("layernorm", "fused")},
                                        {NEED_ONE, BYTES("layernorm", "unfused")},
                                        NEEDS_END};

static void judge_c42(const struct bundle *bundle, struct finding *f)
{
    struct row fused, kernels, loop, other, share, bytes, kernel_bytes;
    if (!RULE_TAKE(bundle, c42_needs, f, &fused, &kernels, &loop, &other, &share, &bytes,
                   &kernel_bytes))
        return;

    const struct row by_kernels = rule_ratio(&kernels, &fused), by_loop = rule_ratio(&loop, &fused);
    const struct row by_bytes = rule_ratio(&kernel_bytes, &bytes),
                     same = rule_ratio(&other, &fused);
    const double passes = bytes.centre / (4 * C42_ELEMENTS);
    const bool one_pass = passes <= C42_BYTES;
    const bool longer = takes_longer(&by_kernels) && takes_longer(&by_loop);
    const bool as_long = takes_as_long(&by_kernels) && takes_as_long(&by_loop);
    const bool positive = share.low >= MEMORY_BOUND, negative = takes_as_long(&same);

    rule_say(
        f->evidence,
        "LayerNorm of 16384x8192 fp16, graph, cold: the fused kernel moves %.4f times one read and "
        "one write by count, and reaches %.2f of a copy of as many",
        passes, share.centre);
    rule_say_row(f->evidence, "three passes as three kernels, over it, bytes", &by_bytes);
    rule_say_row(f->evidence, "time", &by_kernels);
    rule_say_row(f->evidence, "as one kernel that loads its row three times, time", &by_loop);
    say_in_cache(bundle, f);
    rule_say_control(f, true, positive, "the fused kernel is bound by memory, share of a copy",
                     &share);
    rule_say_control(f, false, negative,
                     "another fused kernel that reads once, RMSNorm with bias and SiLU, over it",
                     &same);
    rule_conclude(f,
                  !one_pass || as_long ? CLAIM_REFUTED
                  : longer             ? CLAIM_REPRODUCED
                                       : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C40",
     .article = "ai-rng",
     .quote = "Normalization + activation | layer norm or RMS norm with bias and activation | "
              "reduces bandwidth and improves cache use",
     .statement = "Fused norm, bias and activation is 1.3x or more as fast as 3 to 5 kernels in a "
                  "graph, at 256 MiB and at one row.",
     .rule = "silu(rmsnorm(x) + bias) as three kernels over one, fp16, by graph, cold. REPRODUCED "
             "when the ratio of times is 1.3 or more both at 16384x8192 (256 MiB a tensor) and at "
             "one row of 4096, REFUTED when either is below 1.05, else MIXED. Positive control: "
             "the fused kernel reaches 0.85 of a copy of the same bytes. Negative control: one of "
             "the three kernels alone over the fused one must stay below 1.3.",
     .judge = judge_c40,
     .needs = NEEDS(c40_needs, quantised_needs)},
    {.id = "C42",
     .article = "dev.to",
     .quote = "Naively these can involve multiple passes through memory.",
     .statement = "A two- or three-pass LayerNorm moves more bytes than one read and one write and "
                  "takes longer; 'can': not when L1 or L2 serves the re-read. The fused kernel "
                  "moves at most 1.1 times one read and one write.",
     .rule =
         "LayerNorm of 16384x8192 fp16, by graph, cold, three passes over one. REPRODUCED when the "
         "fused kernel's bytes are at most 1.1 times one read and one write and three passes take "
         "1.05 times as long or more both as three kernels and as one kernel that loads its row "
         "three times, REFUTED when neither takes as much as that or the bytes are more, else "
         "MIXED. Positive control: the fused kernel reaches 0.85 of a copy of the same bytes. "
         "Negative control: another fused kernel that reads once must not take 1.05 times as long.",
     .judge = judge_c42,
     .needs = NEEDS(c42_needs, cached_needs)},
};
CLAIM_SUBJECT(claims);
