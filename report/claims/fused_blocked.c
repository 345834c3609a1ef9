/* The ledger: attention over a prompt in blocks: what stays on the SM, and how busy it keeps the
 * tensor cores. */
#include <math.h>

#include "report/claims/fused.h"
#include "report/claims/prefill.h"

#define RATE(context, mask, type, impl)                                                            \
    "attention_prefill.rate" PREFILL_OF(context, mask, type) impl ",mode=graph,l2=cold}"
#define COUNTED(figure, time)                                                                      \
    {                                                                                              \
        NEED_COUNTED, figure " of " time                                                           \
    }

/* --- C94: do scores reach device memory? ------------------------------------------------------ */

static const double C94_RESULT = 1.1, C94_CONTROL = 1.2, C94_TWICE = 2, C94_SEEN = 0.9;

/* Bytes of the result: 32 heads of 128 in a type of two bytes. */
#define RESULT(context) (32.0 * 128 * 2 * (context))
/* Bytes of all scores, of which the chain keeps the masked ones, too. */
#define SCORES(context) (32.0 * 2 * (double)(context) * (double)(context))

static const struct need c94_needs[] = {
    COUNTED("dram_written", PREFILL_TIME(4096, "causal", "fp16", "fused")),
    COUNTED("dram_written", PREFILL_TIME(4096, "none", "fp16", "fused")),
    COUNTED("dram_written", PREFILL_TIME(8192, "causal", "bf16", "fused")),
    COUNTED("dram_written", PREFILL_TIME(8192, "none", "bf16", "fused")),
    COUNTED("dram_written", PREFILL_TIME(4096, "causal", "fp16", "unfused")),
    COUNTED("dram_written", PREFILL_TIME(4096, "causal", "fp16", "values")),
    COUNTED("dram_read", PREFILL_TIME(4096, "causal", "fp16", "values")),
    NEEDS_END};
enum { PROMPTS = 4 };

static void judge_c94(const struct bundle *bundle, struct finding *f)
{
    static const char *const names[PROMPTS] = {"4096 tokens, causal", "4096, no mask",
                                               "8192, causal", "8192, no mask"};
    static const double tokens[PROMPTS] = {4096, 4096, 8192, 8192};
    struct row written[PROMPTS], chain, product, read;
    const double alone = RULE_LIMIT(f, C94_RESULT), twice = RULE_LIMIT(f, C94_TWICE);
    size_t clean = 0, more = 0;
    if (!RULE_TAKE(bundle, c94_needs, f, &written[0], &written[1], &written[2], &written[3], &chain,
                   &product, &read))
        return;

    rule_say(f->evidence, "bytes that the fused kernel writes to device memory, over those of its "
                          "result");
    struct row most = {.centre = -INFINITY};
    for (size_t i = 0; i < PROMPTS; i++) {
        const struct row result = rule_number(RESULT(tokens[i]), "bytes");
        const struct row ratio = rule_quotient(&written[i], &result);
        rule_say_row(f, names[i], &ratio);
        clean += fused_below(&ratio, alone);
        more += fused_at_least(&ratio, twice);
        if (ratio.centre > most.centre)
            most = ratio;
    }
    const struct row result = rule_number(RESULT(4096), "bytes");
    const struct row scores = rule_number(SCORES(4096), "bytes");
    const struct row by_chain = rule_quotient(&chain, &result);
    const struct row by_product = rule_quotient(&product, &result);
    const struct row seen = rule_quotient(&read, &scores);
    const bool sees = fused_at_least(&seen, RULE_LIMIT(f, C94_SEEN));
    const bool alone_too = fused_below(&by_product, RULE_LIMIT(f, C94_CONTROL));
    const bool negative = fused_at_least(&by_chain, twice);
    rule_say_control(f, true, sees,
                     "a product that reads the scores: bytes read over those of the scores", &seen);
    rule_say_control(f, true, alone_too, "it writes its result and no more, times", &by_product);
    rule_say_control(f, false, negative, "three kernels, which keep scores in memory, write",
                     &by_chain);
    rule_say_figure(f, "most", &most);
    rule_say_figure(f, "chain", &by_chain);
    rule_conclude(f,
                  clean == PROMPTS ? CLAIM_REPRODUCED
                  : more > 0       ? CLAIM_REFUTED
                                   : CLAIM_MIXED,
                  sees && alone_too, negative);
}

/* --- C95: are the tensor cores busy? ---------------------------------------------------------- */

static const double C95_HALF = 0.5, C95_AGREE = 0.15, C95_IDLE = 0.01;

#define NORM                                                                                       \
    "norm.time{op=rmsnorm_bias_silu,rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold," \
    "timer=event}"
#define PEAK "instructions.throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,a=shared}"

static const struct need c95_counted[] = {
    COUNTED("tensor_busy", PREFILL_TIME(8192, "causal", "bf16", "fused")),
    COUNTED("tensor_busy", PREFILL_TIME(8192, "none", "bf16", "fused")),
    COUNTED("tensor_busy", NORM), NEEDS_END};
static const struct need c95_needs[] = {{NEED_ONE, RATE(8192, "causal", "bf16", "fused")},
                                        {NEED_ONE, RATE(8192, "none", "bf16", "fused")},
                                        {NEED_ONE, PEAK},
                                        NEEDS_END};
enum { MASKS = 2 };

/* In each run, flop/s over what the tensor cores of all SMs could do at the run's clock. */
static struct row of_peak(const struct bundle *bundle, const struct row *rate,
                          const struct row *multiply_adds)
{
    const double n_sm = bundle_sms(bundle);
    struct row share = *rate;

    share.unit = "ratio";
    for (size_t i = 0; i < share.n; i++)
        share.value[i] /= 2 * multiply_adds->centre * n_sm * rate->clock_of[i] * 1e6;
    row_finish(&share);
    return share;
}

static void judge_c95(const struct bundle *bundle, struct finding *f)
{
    static const char *const names[MASKS] = {"causal", "no mask"};
    struct row busy[MASKS], idle, rate[MASKS], peak;
    const double half = RULE_LIMIT(f, C95_HALF), within = RULE_LIMIT(f, C95_AGREE);
    bool agree = true;
    size_t above = 0, below = 0;
    if (!RULE_TAKE(bundle, c95_needs, f, &rate[0], &rate[1], &peak) ||
        !RULE_TAKE(bundle, c95_counted, f, &busy[0], &busy[1], &idle))
        return;

    rule_say(f->evidence, "fused attention, 8192 tokens, bf16, 32 heads of 128: share of its "
                          "cycles in which the tensor cores are busy, by counters");
    for (size_t i = 0; i < MASKS; i++) {
        const struct row by_rate = of_peak(bundle, &rate[i], &peak);
        const struct row ratio = rule_quotient(&busy[i], &by_rate);
        rule_say_row(f, names[i], &busy[i]);
        rule_say_row(f, "by its flop/s and the rate of the instruction", &by_rate);
        const bool same = rule_place(&ratio, 1 - within, 1 + within) == PLACE_INSIDE;
        rule_say_control(f, true, same, "the one over the other", &ratio);
        rule_say_figure(f, i ? "none" : "causal", &busy[i]);
        const bool both = fused_at_least(&busy[i], half) && fused_at_least(&by_rate, half);
        const bool neither = fused_below(&busy[i], half) && fused_below(&by_rate, half);
        rule_say_part(f, names[i],
                      both      ? CLAIM_REPRODUCED
                      : neither ? CLAIM_REFUTED
                                : CLAIM_MIXED,
                      &busy[i], half);
        above += both;
        below += neither;
        agree &= same;
    }
    const bool negative = fused_below(&idle, RULE_LIMIT(f, C95_IDLE));
    rule_say_control(f, false, negative, "a norm, which multiplies no matrices", &idle);
    rule_conclude(f,
                  above == MASKS   ? CLAIM_REPRODUCED
                  : below == MASKS ? CLAIM_REFUTED
                                   : CLAIM_MIXED,
                  agree, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C94",
     .article = "ai-rng",
     .quote = "blocked computation",
     .since = "2026-11-27T15:02Z",
     .plain = {.yes = "Fused attention writes no scores: {most} times its result; three kernels "
                      "{chain} times.",
               .no = "Fused attention writes more than its result: {most} times; three kernels "
                     "{chain} times.",
               .partly = "Between: fused attention writes {most:range} times its result to device "
                         "memory against limits of {C94_RESULT} and {C94_TWICE}."},
     .surprise = 0,
     .statement = "A fused attention kernel computes in blocks: scores never reach device memory.",
     .rule = "Bytes written to device memory by hardware counters over those of the result, 32 "
             "heads of 128, at 4096 tokens in fp16 and at 8192 in bf16, each with a causal mask "
             "and without. What was never written there cannot be read from there, so reads, in "
             "which operands come again, are not judged. REPRODUCED when all four read below 1.1, "
             "REFUTED when one reads 2 or more, MIXED otherwise. Without counters NOT TESTABLE. "
             "Positive control: of a single product whose operand is the scores, counters see at "
             "least 0.9 of their bytes read, and of written ones less than 1.2 times its result. "
             "Negative control: three kernels must write twice the result or more. The limits were "
             "set with these counts in the tree.",
     .judge = judge_c94,
     .needs = NEEDS(c94_needs)},
    {.id = "C95",
     .article = "ai-rng",
     .quote = "efficient use of tensor cores",
     .since = "2026-11-27T15:02Z",
     .plain = {.yes = "Fused attention keeps tensor cores busy for {causal:%} of its "
                      "cycles, {none:%} without a mask.",
               .no = "Fused attention keeps tensor cores busy for only {causal:%} of its "
                     "cycles, {none:%} without a mask.",
               .partly = "Fused attention keeps tensor cores busy for half of its cycles: "
                         "{parts}."},
     .surprise = 0,
     .statement =
         "A fused attention kernel keeps the tensor cores busy for more than half of its time.",
     .rule = "Cycles in which the tensor pipe is busy, of those in which an SM holds a warp, by "
             "hardware counters; and flop/s that the mask leaves over 2 x multiply-adds of "
             "wgmma.m64n256k16 x SMs x the clock of the run; 8192 tokens, bf16, 32 heads of 128, "
             "with a causal mask and without. REPRODUCED when all four read 0.5 or more, REFUTED "
             "when all read less, MIXED otherwise. Without counters NOT TESTABLE. Positive "
             "control: counters and flop/s agree within 15 %. Negative control: a norm, which "
             "multiplies no matrices, must read below 0.01.",
     .judge = judge_c95,
     .needs = NEEDS(c95_needs, c95_counted)},
};
CLAIM_SUBJECT(claims);
