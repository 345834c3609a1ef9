/* The ledger: what a change of kernels may break: results at rare shapes, and what fits in
 * memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/fused.h"

/* --- C77: do rare shapes break specialised kernels? ------------------------------------------- */

enum { C77_TRIED = 20, C77B_TRIED = 100, N_CAMPAIGNS = 4 };
static const double C77_BLIND = 0.01, C77_ERROR = 0.01;

#define SHAPES(program, metric, guard) program "." metric "{guard=" guard "}"
#define ORDINARY(metric)                                                                           \
    "bias_gelu_scale." metric "{rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold}"

static const struct need c77_needs[] = {
    {NEED_ONE, SHAPES("bias_gelu_scale", "shapes", "off")},
    {NEED_ONE, SHAPES("bias_gelu_scale", "wrong_shapes", "off")},
    {NEED_ONE, SHAPES("bias_gelu_scale", "shapes", "on")},
    {NEED_ONE, SHAPES("bias_gelu_scale", "wrong_shapes", "on")},
    {NEED_ONE, "bias_gelu_scale.caught{*,type=fp16,impl=fused,*"},
    NEEDS_END};

static void judge_c77(const struct bundle *bundle, struct finding *f)
{
    struct row tried, wrong, taken, wrong_taken, caught;
    if (!RULE_TAKE(bundle, c77_needs, f, &tried, &wrong, &taken, &wrong_taken, &caught))
        return;

    const bool enough = tried.low >= C77_TRIED && taken.low >= C77_TRIED;
    const bool positive = enough && fused_at_least(&caught, 1 - RULE_LIMIT(f, C77_BLIND));
    const bool negative = wrong_taken.high <= 0;
    rule_say(f->evidence,
             "bias, GELU and scale by kernels that find the column with a mask, which takes rows "
             "of a power of two: launched at %.0f odd shapes without that guard, wrong at %.0f; at "
             "%.0f behind it, wrong at %.0f",
             tried.centre, wrong.centre, taken.centre, wrong_taken.centre);
    rule_say_control(f, true, positive, "verification sees planted faults, a share of", &caught);
    rule_say_control(f, false, negative, "shapes for which the kernels are made are wrong, too",
                     &wrong_taken);
    rule_say_figure(f, "tried", &tried);
    rule_say_figure(f, "wrong", &wrong);
    rule_conclude(f,
                  wrong.low > 0     ? CLAIM_REPRODUCED
                  : wrong.high <= 0 ? CLAIM_REFUTED
                                    : CLAIM_MIXED,
                  positive, negative);
}

static const struct need campaign_needs[] = {
    {NEED_ONE, SHAPES("bias_gelu_scale", "shapes", "on")},
    {NEED_ONE, SHAPES("bias_gelu_scale", "wrong_shapes", "on")},
    {NEED_ONE, SHAPES("norm", "shapes", "on")},
    {NEED_ONE, SHAPES("norm", "wrong_shapes", "on")},
    {NEED_ONE, SHAPES("softmax", "shapes", "on")},
    {NEED_ONE, SHAPES("softmax", "wrong_shapes", "on")},
    {NEED_ONE, SHAPES("quantized", "shapes", "on")},
    {NEED_ONE, SHAPES("quantized", "wrong_shapes", "on")},
    NEEDS_END};
static const struct need c77b_needs[] = {
    {NEED_ONE, SHAPES("bias_gelu_scale", "wrong_shapes", "off")},
    {NEED_ONE, ORDINARY("error")},
    NEEDS_END};

static void judge_c77b(const struct bundle *bundle, struct finding *f)
{
    struct row tried[N_CAMPAIGNS], wrong[N_CAMPAIGNS], unguarded, ordinary;
    double all = 0, bad = 0;
    if (!RULE_TAKE(bundle, campaign_needs, f, &tried[0], &wrong[0], &tried[1], &wrong[1], &tried[2],
                   &wrong[2], &tried[3], &wrong[3]) ||
        !RULE_TAKE(bundle, c77b_needs, f, &unguarded, &ordinary))
        return;

    for (int i = 0; i < N_CAMPAIGNS; i++) {
        all += tried[i].low;
        bad += wrong[i].centre;
        rule_say(f->evidence, "%s%s: wrong at %.0f of %.0f odd shapes", i ? "; " : "",
                 tried[i].probe ? tried[i].probe : "?", wrong[i].centre, tried[i].centre);
    }
    if (all < C77B_TRIED) {
        rule_not_testable(f, "%.0f shapes are too few: %d are needed", all, C77B_TRIED);
        return;
    }
    const bool positive = unguarded.low > 0;
    const bool negative = fused_below(&ordinary, RULE_LIMIT(f, C77_ERROR));
    rule_say_control(f, true, positive, "kernels without their guard are seen to go wrong, shapes",
                     &unguarded);
    rule_say_control(f, false, negative, "an ordinary shape is wrong, too, error", &ordinary);
    rule_say_number(f, "all", all, "count");
    rule_say_number(f, "bad", bad, "count");
    rule_conclude(f, bad > 0 ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- C78: does a change of kernels decide what fits in memory? -------------------------------- */

static const double C78_MORE = 0.1, C78_COUNTED = 0.05, C78_SEEN = 1.5;

#define OF(context)                                                                                \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=causal,type=bf16,impl="
#define FOOTPRINT(context, impl) "attention_prefill.footprint" OF(context) impl "}"
#define COUNTED(impl) "attention_prefill.memory" OF(8192) impl ",mode=graph,l2=cold}"

static const struct need c78_needs[] = {{NEED_ONE, FOOTPRINT(8192, "unfused")},
                                        {NEED_ONE, FOOTPRINT(8192, "fused")},
                                        {NEED_ONE, FOOTPRINT(4096, "fused")},
                                        {NEED_ONE, COUNTED("unfused")},
                                        {NEED_ONE, COUNTED("fused")},
                                        {NEED_ONE, FOOTPRINT(65536, "fused")},
                                        NEEDS_END};
static const struct need c78_longest[] = {{NEED_ANY, FOOTPRINT(65536, "unfused")}, NEEDS_END};

struct change {
    struct row chain, fused, shorter, counted, fused_counted, longest;
};

static bool take_change(const struct bundle *bundle, struct change *c, struct finding *f)
{
    return RULE_TAKE(bundle, c78_needs, f, &c->chain, &c->fused, &c->shorter, &c->counted,
                     &c->fused_counted, &c->longest);
}

/* False if all figures are equal. */
static bool sees_memory(const struct change *c, struct finding *f)
{
    const double within = RULE_LIMIT(f, C78_COUNTED);
    const struct row agree = rule_ratio(f, &c->chain, &c->counted);
    const struct row grows = rule_ratio(f, &c->fused, &c->shorter);
    const bool counts = rule_place(&agree, 1 - within, 1 + within) == PLACE_INSIDE;
    const bool sees = fused_at_least(&grows, RULE_LIMIT(f, C78_SEEN));
    rule_say_control(f, true, counts,
                     "memory by the driver over memory by count, three kernels of attention, 8192 "
                     "tokens",
                     &agree);
    rule_say_control(f, true, sees, "8192 tokens take more than 4096, fused, times", &grows);
    return counts && sees;
}

static void judge_c78(const struct bundle *bundle, struct finding *f)
{
    struct change c;
    if (!take_change(bundle, &c, f))
        return;
    const struct row *unfused = rule_find(bundle, c78_longest[0].id, f);
    const bool fits = unfused && row_usable(unfused);
    if (!fits && !(unfused && unfused->why && strstr(unfused->why, "memory"))) {
        rule_not_testable(f, "whether 65536 tokens fit unfused was not tried");
        return;
    }

    const double more = 1 + RULE_LIMIT(f, C78_MORE);
    const struct row ratio = rule_ratio(f, &c.chain, &c.fused);
    const struct row same = rule_ratio(f, &c.fused, &c.fused_counted);
    const bool differs = fused_at_least(&ratio, more);
    const bool alike = rule_place(&ratio, 1 / more, more) == PLACE_INSIDE;
    const bool positive = sees_memory(&c, f), negative = fused_below(&same, more);
    rule_say_row(f, "attention of 8192 tokens by three kernels over by one, memory by the driver",
                 &ratio);
    rule_say(f->evidence, "; 65536 tokens by one kernel: computed, by three: %s",
             fits ? "computed" : unfused->why);
    rule_say_control(f, false, negative, "one kernel over its own count of bytes", &same);
    rule_say_figure(f, "ratio", &ratio);
    rule_say_part(f, "more memory by three kernels", differs ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  &ratio, more);
    rule_say_part(f, "65536 tokens that fit by one kernel only",
                  !fits ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    rule_conclude(f,
                  differs && !fits ? CLAIM_REPRODUCED
                  : alike && fits  ? CLAIM_REFUTED
                                   : CLAIM_MIXED,
                  positive, negative);
}

/* --- C78b: does a fused kernel need more? ----------------------------------------------------- */

#define FUSED_MEMORY "*.memory{*impl=fused,*"
#define UNFUSED_MEMORY "*.memory{*impl=unfused,*"

static const struct need counted_needs[] = {
    {NEED_ANY, FUSED_MEMORY}, {NEED_ANY, UNFUSED_MEMORY}, NEEDS_END};
static const struct need graph_needs[] = {{NEED_ANY, "repeatability.graph_memory{nodes=4096}"},
                                          NEEDS_END};

struct compared {
    int n;
    double least, most;
    char most_id[DOCUMENT_ID];
};

static struct compared compare(const struct bundle *bundle, struct finding *f)
{
    struct compared c = {.least = INFINITY};
    const struct row *fused;

    for (size_t next = 0; (fused = rule_next(bundle, FUSED_MEMORY, &next, f));) {
        const struct row *unfused = rule_beside(bundle, fused, NULL, "impl", "unfused", f);
        if (!row_usable(fused) || !unfused || !row_usable(unfused))
            continue;
        const double ratio = fused->centre / unfused->centre;
        c.n++;
        c.least = fmin(c.least, ratio);
        if (ratio > c.most) {
            c.most = ratio;
            snprintf(c.most_id, sizeof c.most_id, "%s", fused->id);
        }
    }
    return c;
}

static void judge_c78b(const struct bundle *bundle, struct finding *f)
{
    const struct compared all = compare(bundle, f);
    struct change c;
    struct row graph;
    if (all.n == 0) {
        rule_not_testable(
            f, "no fused operator in this bundle has its memory beside the unfused one's");
        return;
    }
    if (!take_change(bundle, &c, f))
        return;

    const double more = 1 + RULE_LIMIT(f, C78_MORE);
    const struct row saved = rule_ratio(f, &c.fused, &c.chain);
    const bool positive = sees_memory(&c, f), negative = fused_below(&saved, more);
    rule_say(
        f->evidence,
        "memory of operands, results, intermediates and workspace by count, fused over unfused, "
        "%d cases: %.3g to %.3g (most: %s)",
        all.n, all.least, all.most, all.most_id);
    if (rule_look_up(bundle, graph_needs[0].id, &graph, f))
        rule_say_row(f, "what a graph of 4096 kernels takes when it is instantiated", &graph);
    rule_say_control(f, false, negative,
                     "by the driver fused attention, which stores no scores, takes more", &saved);
    rule_say_number(f, "most", all.most, "ratio");
    rule_say_count(f, "n", (size_t)all.n);
    rule_conclude(f, all.most > more ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

#define C77_QUOTE                                                                                  \
    "Edge-case shapes: rare shapes can trigger incorrect code paths in specialized kernels."
#define C78_QUOTE "Validate memory usage patterns to avoid unexpected OOMs after kernel changes."

static const struct claim claims[] = {
    {.id = "C77",
     .article = "ai-rng",
     .quote = C77_QUOTE,
     .clause = "rare shapes can trigger incorrect code paths in specialized kernels",
     .since = "2026-11-22",
     .plain = {.yes = "Kernels for rows of a power of two are wrong at {wrong} of {tried} other "
                      "shapes, unguarded.",
               .no = "Kernels for rows of a power of two are wrong at {wrong} of {tried} other "
                     "shapes, even unguarded.",
               .partly = "Unguarded kernels are wrong at other shapes: holds in some rounds, in "
                         "others does not ({wrong:range} of {tried})."},
     .surprise = 2,
     .statement = "A kernel that is specialised to some shapes, and right at them, gives wrong "
                  "results at others when nothing guards it: by construction, since the kernels "
                  "were written for rows of a power of two.",
     .rule = "The kernels of bias_gelu_scale, which find a column with a mask and so take rows of "
             "a power of two, launched at odd shapes of a fixed seed, with and without the guard "
             "that refuses the others; they stay inside their memory. REPRODUCED when without it a "
             "shape comes out wrong, REFUTED when none does; at least 20 shapes each way. Positive "
             "control: verification sees 0.99 of the planted faults. Negative control: behind the "
             "guard no shape is wrong.",
     .judge = judge_c77,
     .needs = NEEDS(c77_needs)},
    {.id = "C77b",
     .article = "ai-rng",
     .quote = C77_QUOTE,
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "gpufloor's fused kernels are wrong at {bad} of {all} odd shapes.",
               .no = "gpufloor's fused kernels are wrong at none of {all} odd shapes."},
     .surprise = 2,
     .statement = "Odd shapes of a fixed seed find a wrong result in some fused kernel of this "
                  "suite as it stands. (While it was made, --check found one in a product: a bulk "
                  "store that wrote behind the rows of C; see docs/FINDINGS.md.)",
     .rule = "Shapes that bias_gelu_scale, norm, softmax and quantized take, by every form, "
             "against float64. REPRODUCED when one is wrong, REFUTED when none of at least 100 is. "
             "Positive control: kernels launched without their guard are seen to go wrong. "
             "Negative control: an ordinary shape has an error below 0.01.",
     .judge = judge_c77b,
     .needs = NEEDS(campaign_needs, c77b_needs)},
    {.id = "C78",
     .article = "8bit.tr",
     .quote = C78_QUOTE,
     .clause = "unexpected OOMs after kernel changes",
     .since = "2026-11-22",
     .plain = {.yes = "By three kernels attention takes {ratio} times the memory; 65536 tokens fit "
                      "only one.",
               .no = "By three kernels attention takes {ratio} times the memory; 65536 tokens fit "
                     "both ways.",
               .partly = "Three kernels of attention instead of one: {parts}."},
     .surprise = 3,
     .statement = "A change of kernels alone decides whether an operator fits: attention over one "
                  "length runs by one kernel and is more than the memory holds by three. That is "
                  "what the advice warns of; the advice itself is no claim.",
     .rule = "Attention, bf16, 32 heads of 128. REPRODUCED when at 8192 tokens three kernels take "
             "1.1 times the memory of one or more, as the driver says it is gone, and 65536 tokens "
             "were computed by one and are more than the memory holds by three; REFUTED when the "
             "memory is the same within 10 % and both compute 65536 tokens; MIXED otherwise. "
             "Positive controls: for three kernels over 8192 tokens the count is what the driver "
             "says, within 5 %, and twice the tokens take at least 1.5 times the memory. Negative "
             "control: the one kernel over its own count must stay below 1.1.",
     .judge = judge_c78,
     .needs = NEEDS(c78_needs, c78_longest)},
    {.id = "C78b",
     .article = "8bit.tr",
     .quote = C78_QUOTE,
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Of {n} fused cases one takes {most} times the memory of separate kernels.",
               .no =
                   "Of {n} fused cases the worst takes {most} times the memory of separate ones."},
     .surprise = 3,
     .statement =
         "Some fused variant takes more than 1.1 times the device memory of the unfused one.",
     .rule = "By count of operands, results, intermediates and workspace. REPRODUCED when one "
             "does, REFUTED when none does. Positive controls as for C78. Negative control: by the "
             "driver the fused attention, which stores no scores, must not take 1.1 times as much.",
     .judge = judge_c78b,
     .needs = NEEDS(counted_needs, c78_needs, graph_needs)},
};
CLAIM_SUBJECT(claims);
