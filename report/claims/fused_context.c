/* The ledger: what fused attention means for long contexts, and where its leverage lies. */
#include <math.h>
#include <string.h>

#include "report/claims/fused.h"

#define SHAPE(context)                                                                             \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=causal,type=bf16,impl="
#define FOOTPRINT(context, impl) "attention_prefill.footprint" SHAPE(context) impl "}"
#define TIME(context, impl, l2)                                                                    \
    "attention_prefill.time" SHAPE(context) impl ",mode=graph,l2=" l2 ",timer=event}"

/* log2 of how often a row is doubled by a factor of 2^doublings in context. */
static struct row exponent_of(const struct row *longer, const struct row *shorter, int doublings,
                              struct finding *f)
{
    struct row ratio = rule_ratio(f, longer, shorter);
    for (size_t i = 0; i < ratio.n; i++)
        ratio.value[i] = log2(ratio.value[i]) / doublings;
    row_finish(&ratio);
    return ratio;
}

/* --- C43b: is attention where decode spends its time? ----------------------------------------- */

static const double C43B_MOST = 0.50, C43B_SMALL = 0.25;
#define SHARE(context) "attention_decode.share_of_token{shape=8b,context=" #context "}"
#define STEP(metric) "attention_decode." metric "{shape=8b,batch=%d,context=%d}"

static const struct need step_needs[] = {
    {NEED_ANY, STEP("share_of_step")}, {NEED_ANY, STEP("byte_share")}, NEEDS_END};
static const struct need c43b_needs[] = {
    {NEED_ONE, SHARE(1024)}, {NEED_ONE, SHARE(131072)}, NEEDS_END};

static void judge_c43b(const struct bundle *bundle, struct finding *f)
{
    static const struct {
        int batch, context;
        const char *what;
    } points[] = {{1, 8192, "attention's share of a step's time, 8B, one sequence of 8192 keys"},
                  {8, 8192, "8 of 8192"},
                  {64, 1024, "64 of 1024"},
                  {64, 8192, "64 of 8192"}};
    enum { N = sizeof points / sizeof points[0] };
    const double most = RULE_LIMIT(f, C43B_MOST), small = RULE_LIMIT(f, C43B_SMALL);
    struct row share, bytes, least, longest;
    int highest = 0, below = 0;

    for (int i = 0; i < N; i++) {
        if (!rule_take_formed(bundle, &share, f, STEP("share_of_step"), points[i].batch,
                              points[i].context) ||
            !rule_take_formed(bundle, &bytes, f, STEP("byte_share"), points[i].batch,
                              points[i].context))
            return;
        highest += fused_at_least(&share, most);
        below += fused_below(&share, small);
        char what[48];
        snprintf(what, sizeof what, "%d x %d", points[i].batch, points[i].context);
        rule_say_part(f, what, rule_band(rule_place(&share, most, INFINITY)), &share, most);
        rule_say_figure(f, i ? "last" : "first", &share);
        rule_say_row(f, points[i].what, &share);
        rule_say(f->evidence, ", of its bytes %.3f", bytes.centre);
    }
    if (!RULE_TAKE(bundle, c43b_needs, f, &least, &longest))
        return;
    const bool positive = fused_at_least(&longest, most), negative = fused_below(&least, small);
    rule_say_control(f, true, positive, "one sequence of 131072 keys takes half of the time, at",
                     &longest);
    rule_say_control(f, false, negative, "one of 1024 takes a quarter, at", &least);
    rule_conclude(f,
                  highest == N ? CLAIM_REPRODUCED
                  : below == N ? CLAIM_REFUTED
                               : CLAIM_MIXED,
                  positive, negative);
}

/* --- C44: how does memory grow? --------------------------------------------------------------- */

static const double C44_HALFWAY = 1.5, C44_COUNTED = 0.05, C44_SEEN = 1.5;

static const struct need c44_needs[] = {
    {NEED_ONE, FOOTPRINT(8192, "fused")},
    {NEED_ONE, FOOTPRINT(16384, "fused")},
    {NEED_ONE, FOOTPRINT(8192, "unfused")},
    {NEED_ONE, FOOTPRINT(16384, "unfused")},
    {NEED_ONE, "attention_prefill.memory" SHAPE(8192) "unfused,*"},
    {NEED_ONE, FOOTPRINT(65536, "fused")},
    NEEDS_END};
static const struct need c44_short[] = {
    {NEED_ONE, FOOTPRINT(512, "unfused")}, {NEED_ONE, FOOTPRINT(1024, "unfused")}, NEEDS_END};
static const struct need c44_longest[] = {{NEED_ANY, FOOTPRINT(65536, "unfused")}, NEEDS_END};

static void judge_c44(const struct bundle *bundle, struct finding *f)
{
    struct row fused[2], chain[2], few[2], counted, longest;
    if (!RULE_TAKE(bundle, c44_needs, f, &fused[0], &fused[1], &chain[0], &chain[1], &counted,
                   &longest) ||
        !RULE_TAKE(bundle, c44_short, f, &few[0], &few[1]))
        return;
    const struct row *unfused = rule_find(bundle, c44_longest[0].id, f);
    const bool fits = unfused && row_usable(unfused);
    if (!fits && !(unfused && unfused->why && strstr(unfused->why, "memory"))) {
        rule_not_testable(f, "whether 65536 tokens fit unfused was not tried");
        return;
    }

    const struct row of_fused = exponent_of(&fused[1], &fused[0], 1, f);
    const struct row of_chain = exponent_of(&chain[1], &chain[0], 1, f);
    const struct row agree = rule_ratio(f, &chain[0], &counted),
                     seen = rule_ratio(f, &fused[1], &fused[0]);
    const double halfway = RULE_LIMIT(f, C44_HALFWAY), within = RULE_LIMIT(f, C44_COUNTED);
    const bool grows = fused_below(&of_fused, halfway) && fused_at_least(&of_chain, halfway);
    const bool alike = fused_below(&of_fused, halfway) == fused_below(&of_chain, halfway);
    const struct row of_few = exponent_of(&few[1], &few[0], 1, f);
    const bool counts = rule_place(&agree, 1 - within, 1 + within) == PLACE_INSIDE;
    const bool sees = fused_at_least(&seen, RULE_LIMIT(f, C44_SEEN));
    const bool negative = fused_below(&of_few, halfway);

    rule_say_row(f, "exponent of memory from 8192 to 16384 tokens: fused", &of_fused);
    rule_say_row(f, "unfused", &of_chain);
    rule_say_row(f, "65536 tokens: fused", &longest);
    rule_say(f->evidence, ", unfused: %s", fits ? "computed" : unfused->why);
    rule_say_control(f, true, counts, "memory by the driver over memory by count, 8192 tokens",
                     &agree);
    rule_say_control(f, true, sees, "fused, twice the tokens take more, times", &seen);
    rule_say_control(f, false, negative,
                     "from 512 to 1024 tokens, where operands weigh as much, unfused, exponent",
                     &of_few);
    rule_say_figure(f, "fused", &of_fused);
    rule_say_figure(f, "chain", &of_chain);
    rule_say_part(f, "memory growing like a line, not like a square",
                  grows ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    rule_say_part(f, "65536 tokens that fit only fused", !fits ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  NULL, NAN);
    rule_conclude(f,
                  grows && !fits  ? CLAIM_REPRODUCED
                  : alike && fits ? CLAIM_REFUTED
                                  : CLAIM_MIXED,
                  counts && sees, negative);
}

/* --- C44b: how does time grow? ---------------------------------------------------------------- */

static const double C44B_LESS = 0.2, C44B_NONE = 0.1, C44B_SEEN = 2;

static const struct need c44b_needs[] = {
    {NEED_ONE, TIME(1024, "fused", "cold")},   {NEED_ONE, TIME(8192, "fused", "cold")},
    {NEED_ONE, TIME(1024, "unfused", "cold")}, {NEED_ONE, TIME(8192, "unfused", "cold")},
    {NEED_ONE, TIME(1024, "fused", "warm")},   NEEDS_END};

static void judge_c44b(const struct bundle *bundle, struct finding *f)
{
    struct row fused[2], chain[2], warm;
    if (!RULE_TAKE(bundle, c44b_needs, f, &fused[0], &fused[1], &chain[0], &chain[1], &warm))
        return;

    const struct row of_fused = exponent_of(&fused[1], &fused[0], 3, f);
    const struct row of_chain = exponent_of(&chain[1], &chain[0], 3, f);
    const struct row of_warm = exponent_of(&fused[1], &warm, 3, f);
    const struct row less = rule_less(f, &of_chain, &of_fused);
    const struct row none = rule_less(f, &of_fused, &of_warm);
    const struct row seen = rule_ratio(f, &chain[1], &chain[0]);
    const double by = RULE_LIMIT(f, C44B_LESS);
    const bool positive = fused_at_least(&seen, RULE_LIMIT(f, C44B_SEEN));
    const bool negative = fused_below(&none, by) && none.low > -by;

    rule_say_row(f, "exponent of time from 1024 to 8192 tokens, causal, bf16: fused", &of_fused);
    rule_say_row(f, "unfused", &of_chain);
    rule_say_row(f, "less by", &less);
    rule_say_control(f, true, positive, "unfused, 8192 tokens over 1024, time", &seen);
    rule_say_control(f, false, negative, "a warm L2 at 1024 tokens makes as much, exponent", &none);
    rule_say_figure(f, "fused", &of_fused);
    rule_say_figure(f, "chain", &of_chain);
    rule_say_figure(f, "less", &less);
    rule_conclude(f,
                  fused_at_least(&less, by)                      ? CLAIM_REPRODUCED
                  : fused_below(&less, RULE_LIMIT(f, C44B_NONE)) ? CLAIM_REFUTED
                                                                 : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C43b",
     .article = "ai-rng",
     .quote = "Attention kernels are the highest leverage target",
     .clause = "highest leverage target",
     .since = "2026-11-22",
     .plain = {.yes = "Attention takes {first:%} of a decode step at 1 sequence of 8192 keys, "
                      "{last:%} at 64.",
               .no = "Attention takes only {first:%} of a decode step at 1 sequence of 8192 keys, "
                     "{last:%} at 64.",
               .partly = "Attention takes half of a decode step, by sequences x keys: {parts}."},
     .surprise = 4,
     .statement =
         "In decode attention takes more of a step's time than all products with weights together, "
         "for 1 to 64 sequences of 1024 to 8192 keys; leverage is read as share of time.",
     .rule = "An 8B model, bf16: attention of all layers over the whole step, in which the rest "
             "takes the time of its weights at the rate of a read measured in the same process; "
             "keys and values grow with the batch, weights do not. One sequence of 8192 keys, 8 of "
             "8192, 64 of 1024, 64 of 8192. REPRODUCED when the share is 0.50 or more in all four, "
             "REFUTED when it is below 0.25 in all four, MIXED otherwise; said beside each: the "
             "share of the bytes. Positive control: one sequence of 131072 keys takes 0.50. "
             "Negative control: one of 1024 keys must stay below 0.25.",
     .judge = judge_c43b,
     .needs = NEEDS(step_needs, c43b_needs)},
    {.id = "C44",
     .article = "ai-rng",
     .quote = "Fused attention kernels can change the economics of context length.",
     .clause = "change the economics of context length",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "Memory of attention grows with tokens^{fused} fused, ^{chain} unfused.",
          .no = "Memory of attention grows with tokens^{fused} fused, with tokens^{chain} unfused; "
                "65536 fit both ways.",
          .partly = "Memory of attention grows with tokens^{fused} fused, with tokens^{chain} "
                    "unfused: {parts}."},
     .surprise = 3,
     .statement = "At long contexts the memory of attention over a prompt grows rather like a line "
                  "when fused and rather like a square when not, and a length fits fused that does "
                  "not fit unfused.",
     .rule = "bf16, 32 heads of 128, memory as the driver says it is gone. The exponent of memory "
             "from 8192 to 16384 tokens, where operands no longer weigh: below 1.5 when fused, 1.5 "
             "or more when not; and of 65536 tokens, whether they were computed or are more than "
             "the GPU's memory holds. REPRODUCED when both exponents are so and 65536 tokens fit "
             "fused alone, REFUTED when both exponents lie on one side and they fit both ways, "
             "MIXED otherwise. Positive controls: at 8192 tokens the driver and the count of bytes "
             "agree within 5 %, and twice the tokens take at least 1.5 times the memory. Negative "
             "control: from 512 to 1024 tokens, where operands weigh as much as the scores, the "
             "unfused exponent must stay below 1.5.",
     .judge = judge_c44,
     .needs = NEEDS(c44_needs, c44_short, c44_longest)},
    {.id = "C44b",
     .article = "ai-rng",
     .quote = "Fused attention kernels can change the economics of context length.",
     .clause = "",
     .since = "2026-11-22",
     .plain =
         {.yes = "Time of attention grows with tokens^{fused} fused, with tokens^{chain} unfused.",
          .no = "Time of attention grows with tokens^{fused} fused, with tokens^{chain} unfused: "
                "no slower.",
          .partly = "Time grows with tokens^{fused} fused, ^{chain} unfused: between, "
                    "{less:range} less, limits {C44B_NONE} and {C44B_LESS}."},
     .surprise = 3,
     .statement = "Time grows more slowly with context, too, when attention is fused: its exponent "
                  "is less by 0.2 or more.",
     .rule = "Exponent of time from 1024 to 8192 tokens, causal, bf16, 32 heads of 128, by graph, "
             "cold. REPRODUCED when that of three kernels exceeds the fused kernel's by 0.2 or "
             "more, REFUTED when by less than 0.1, else MIXED. Positive control: three kernels "
             "take at least twice as long at 8192 tokens as at 1024. Negative control: a warm L2 "
             "at 1024 tokens must not make such a difference.",
     .judge = judge_c44b,
     .needs = NEEDS(c44b_needs)},
};
CLAIM_SUBJECT(claims);
