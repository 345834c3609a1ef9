/* The ledger: libraries, hand-written kernels, compilers, and who chooses. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* --- C79: does the library win on standard products? ------------------------------------------ */

static const double FASTER = 0.03; /* a smaller difference does not count */

#define SQUARE(n) "m=" #n ",n=" #n ",k=" #n
#define OVER_LIBRARY(shape, type, impl, l2)                                                        \
    "gemm_sizes.over_library{" shape ",type=" type ",acc=fp32,layout=nn," impl ",l2=" l2 "}"
#define OWN "impl=own,tile=best"

static const struct need smaller_needs[] = {
    {NEED_ONE, OVER_LIBRARY(SQUARE(512), "fp16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(1024), "fp16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(1536), "fp16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY("m=1,n=4096,k=4096", "bf16", OWN, "cold")},
    {NEED_ONE, OVER_LIBRARY("m=16,n=4096,k=4096", "bf16", OWN, "cold")},
    NEEDS_END};

static void say_smaller(const struct bundle *bundle, struct finding *f)
{
    static const char *const names[] = {"512^3", "1024^3", "1536^3", "1 x 4096 x 4096",
                                        "16 x 4096 x 4096"};
    struct row row;
    size_t n = 0;
    for (size_t i = 0; i < COUNT(names); i++)
        if (rule_look_up(bundle, smaller_needs[i].id, &row, f))
            rule_say(f->evidence, "%s%s %.3f", n++ ? ", " : "; not judged: ", names[i], row.centre);
}

static const struct need judged_needs[] = {
    {NEED_ONE, OVER_LIBRARY(SQUARE(2048), "fp16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(4096), "fp16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(4096), "bf16", OWN, "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(8192), "fp16", OWN, "warm")},
    NEEDS_END};
/* The library against itself is sampled at a size at which the board is not at its power limit. */
static const struct need c79_needs[] = {
    {NEED_ONE, OVER_LIBRARY(SQUARE(2048), "fp16", "impl=mma,tile=32x32", "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(1024), "fp16", "impl=cublaslt,tile=best", "warm")},
    NEEDS_END};

static void judge_c79(const struct bundle *bundle, struct finding *f)
{
    static const char *const judged[] = {"2048^3 fp16", "4096^3 fp16", "4096^3 bf16",
                                         "8192^3 fp16"};
    struct row own, loser, itself;
    const double within = RULE_LIMIT(f, FASTER);
    size_t wins = 0, fails = 0;

    if (!RULE_TAKE(bundle, c79_needs, f, &loser, &itself))
        return;
    for (size_t i = 0; i < COUNT(judged); i++) {
        if (!rule_take(bundle, judged_needs[i].id, &own, f))
            return;
        const enum place place = rule_place(&own, 0, 1 + within);
        rule_say_row(f, judged[i], &own);
        rule_say_figure(f, i ? "last" : "first", &own);
        rule_say_part(f, judged[i], rule_band(rule_place(&own, 1 + within, INFINITY)), &own,
                      1 + within);
        wins += place == PLACE_ABOVE;
        fails += place == PLACE_INSIDE;
    }
    say_smaller(bundle, f);
    const bool positive = rule_place(&loser, 0, 1 + within) == PLACE_ABOVE;
    const bool negative = rule_place(&itself, 0, 1 + within) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "the library wins against tiles of 32x32 at 2048^3, by",
                     &loser);
    rule_say_control(f, false, negative,
                     "it wins against itself at 1024^3, where no power limit makes noise, by",
                     &itself);
    rule_conclude(f,
                  wins == COUNT(judged)    ? CLAIM_REPRODUCED
                  : fails == COUNT(judged) ? CLAIM_REFUTED
                                           : CLAIM_MIXED,
                  positive, negative);
}

/* --- C79b, C79c: hand-written kernels and a compiler's ---------------------------------------- */

#define PEER(op, rows, cols, impl, l2)                                                             \
    "fused_peers.time{op=" op ",rows=" #rows ",cols=" #cols ",type=fp16,impl=" impl ",l2=" l2      \
    ",timer=event}"
#define HAND(program, op, rows, cols, impl, l2)                                                    \
    program ".time{" op "rows=" #rows ",cols=" #cols ",type=fp16,impl=" impl ",mode=graph,l2=" l2  \
            ",timer=event}"

/* Sequences of small operators, each by our fused kernel, by PyTorch's own kernels, and by what its
 * compiler makes of the same lines. The last three are one operator at three shapes. */
enum { SEQUENCES = 5, SHAPES_FROM = 2 };
enum way { CUSTOM, LIBRARY, COMPILER, WAYS };
static const char *const sequences[SEQUENCES] = {"bias, GELU and scale", "residual and RMS norm",
                                                 "softmax with scale and mask, 131072 x 4096",
                                                 "1 x 131072", "32 x 32768"};
static const char *const short_names[SEQUENCES] = {"bias-GELU-scale", "residual and norm",
                                                   "softmax 131072 x 4096", "softmax 1 x 131072",
                                                   "softmax 32 x 32768"};
static const struct need sequence_needs[] = {
    {NEED_ONE, HAND("bias_gelu_scale", "", 16384, 8192, "fused", "cold")},
    {NEED_ONE, PEER("bias_gelu_scale", 16384, 8192, "eager", "cold")},
    {NEED_ONE, PEER("bias_gelu_scale", 16384, 8192, "compile", "cold")},
    {NEED_ONE, HAND("norm", "op=rmsnorm_residual,", 16384, 8192, "fused", "cold")},
    {NEED_ONE, PEER("rmsnorm_residual", 16384, 8192, "eager", "cold")},
    {NEED_ONE, PEER("rmsnorm_residual", 16384, 8192, "compile", "cold")},
    {NEED_ONE, HAND("softmax", "", 131072, 4096, "fused", "cold")},
    {NEED_ONE, PEER("softmax", 131072, 4096, "eager", "cold")},
    {NEED_ONE, PEER("softmax", 131072, 4096, "compile", "cold")},
    {NEED_ONE, HAND("softmax", "", 1, 131072, "fused", "warm")},
    {NEED_ONE, PEER("softmax", 1, 131072, "eager", "warm")},
    {NEED_ONE, PEER("softmax", 1, 131072, "compile", "warm")},
    {NEED_ONE, HAND("softmax", "", 32, 32768, "fused", "warm")},
    {NEED_ONE, PEER("softmax", 32, 32768, "eager", "warm")},
    {NEED_ONE, PEER("softmax", 32, 32768, "compile", "warm")},
    NEEDS_END};

static bool take_sequence(const struct bundle *bundle, size_t i, struct row way[WAYS],
                          struct finding *f)
{
    for (size_t k = 0; k < WAYS; k++)
        if (!rule_take(bundle, sequence_needs[WAYS * i + k].id, &way[k], f))
            return false;
    rule_say(f->evidence, "%s%s %.1f, %.1f, %.1f us", f->evidence[0] ? "; " : "", sequences[i],
             way[CUSTOM].centre / 1e3, way[LIBRARY].centre / 1e3, way[COMPILER].centre / 1e3);
    return true;
}

/* Is one way faster than both others, or one of them than it, by more than 3 %? Else MIXED. */
static enum claim_verdict wins(const struct row way[WAYS], enum way one, struct finding *f)
{
    const double more = 1 + RULE_LIMIT(f, FASTER);
    size_t behind = 0;

    for (enum way other = CUSTOM; other < WAYS; other++) {
        const struct row ratio = rule_ratio(f, &way[other], &way[one]);
        const struct row inverse = rule_ratio(f, &way[one], &way[other]);
        if (other != one && rule_place(&inverse, more, INFINITY) == PLACE_INSIDE)
            return CLAIM_REFUTED;
        behind += other != one && rule_place(&ratio, more, INFINITY) == PLACE_INSIDE;
    }
    return behind == WAYS - 1 ? CLAIM_REPRODUCED : CLAIM_MIXED;
}

static const double C79_APART = 1.5;
static const struct need three_needs[] = {
    {NEED_ONE, HAND("bias_gelu_scale", "", 16384, 8192, "unfused", "cold")},
    {NEED_ONE, PEER("bias_gelu_scale", 16384, 8192, "eager", "cold")},
    {NEED_ONE, PEER("bias_gelu_scale", 16384, 8192, "compile", "cold")},
    NEEDS_END};

/* Three kernels of PyTorch's move three times the bytes of the compiler's one: the clock must see
 * it. Three kernels of ours must not win over that one. */
static bool take_peers_controls(const struct bundle *bundle, bool *positive, bool *negative,
                                struct finding *f)
{
    struct row ours, library, compiler;

    if (!RULE_TAKE(bundle, three_needs, f, &ours, &library, &compiler))
        return false;
    const struct row apart = rule_ratio(f, &library, &compiler),
                     behind = rule_ratio(f, &ours, &compiler);
    *positive = rule_place(&apart, RULE_LIMIT(f, C79_APART), INFINITY) == PLACE_INSIDE;
    *negative = rule_place(&behind, 1 + RULE_LIMIT(f, FASTER), INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, *positive,
                     "bias, GELU and scale: PyTorch's three kernels over its compiler's one",
                     &apart);
    rule_say_control(f, false, *negative,
                     "our three kernels win over that one; their time over its", &behind);
    return true;
}

/* Over the sequences from `first` on: one way wins at each, at none, or at some. */
static void judge_sequences(const struct bundle *bundle, size_t first, enum way one,
                            struct finding *f)
{
    struct row way[WAYS];
    size_t won = 0, lost = 0, library = 0, custom = 0;
    bool positive, negative;

    rule_say(f->evidence, "by our kernel, PyTorch's library, its compiler");
    for (size_t i = first; i < SEQUENCES; i++) {
        if (!take_sequence(bundle, i, way, f))
            return;
        const enum claim_verdict here = wins(way, one, f);
        const enum way a = one == CUSTOM ? LIBRARY : CUSTOM,
                       b = one == COMPILER ? LIBRARY : COMPILER;
        const struct row over =
            rule_ratio(f, &way[way[a].centre < way[b].centre ? a : b], &way[one]);
        rule_say_part(f, short_names[i], here, &over, NAN);
        won += here == CLAIM_REPRODUCED;
        lost += here == CLAIM_REFUTED;
        library += way[one].high < way[LIBRARY].low;
        custom += way[one].high < way[CUSTOM].low;
    }
    rule_say_count(f, "n", (size_t)(SEQUENCES - first));
    rule_say_count(f, "library", library);
    if (one != CUSTOM)
        rule_say_count(f, "custom", custom);
    if (take_peers_controls(bundle, &positive, &negative, f))
        rule_conclude(f,
                      won == SEQUENCES - first    ? CLAIM_REPRODUCED
                      : lost == SEQUENCES - first ? CLAIM_REFUTED
                                                  : CLAIM_MIXED,
                      positive, negative);
}

static void judge_c79b(const struct bundle *bundle, struct finding *f)
{
    judge_sequences(bundle, 0, CUSTOM, f);
}

static void judge_c79c(const struct bundle *bundle, struct finding *f)
{
    judge_sequences(bundle, SHAPES_FROM, COMPILER, f);
}

/* --- C89: is a chosen kernel better than a fixed one? ----------------------------------------- */

#define OVER_BEST(by) "gemm_sizes.over_best{by=" by "}"

static const double C89_NEAR = 0.03, C89_FRAGILE = 1.5;

static enum claim_verdict chosen_against_fixed(const struct row *chosen, const struct row *fixed,
                                               struct finding *f)
{
    const double near = 1 + RULE_LIMIT(f, C89_NEAR);
    const struct row ahead = rule_ratio(f, fixed, chosen);
    if (rule_place(&ahead, near, INFINITY) == PLACE_BELOW)
        return CLAIM_REFUTED;
    return rule_place(chosen, 0, near) == PLACE_INSIDE &&
                   rule_place(&ahead, near, INFINITY) == PLACE_INSIDE
               ? CLAIM_REPRODUCED
               : CLAIM_MIXED;
}

static const struct need choice_needs[] = {{NEED_ONE, OVER_BEST("worst")},
                                           {NEED_ONE, "gemm_sizes.slowest_over_best{of=all}"},
                                           {NEED_ONE, "gemm_sizes.moved{of=all}"},
                                           NEEDS_END};

/* A kernel measured twice must agree with itself; the worst fixed one must not pass for the
 * best. */
static bool take_choice_controls(const struct bundle *bundle, bool *positive, bool *negative,
                                 struct finding *f)
{
    struct row worst, slowest, moved;

    if (!RULE_TAKE(bundle, choice_needs, f, &worst, &slowest, &moved))
        return false;
    const double near = 1 + RULE_LIMIT(f, C89_NEAR);
    *positive = rule_place(&moved, 0, near) == PLACE_INSIDE;
    *negative = rule_place(&worst, 0, near) == PLACE_ABOVE;
    rule_say(f->evidence, "; the slowest fixed kernel on its worst shape: %.1f, which is %s",
             slowest.centre, slowest.low >= RULE_LIMIT(f, C89_FRAGILE) ? "fragile" : "not fragile");
    rule_say_control(f, true, *positive, "a kernel measured twice agrees within 3 %, at", &moved);
    rule_say_control(f, false, *negative, "the worst fixed kernel comes within 3 %, at", &worst);
    return true;
}

static const struct need held_out_needs[] = {{NEED_ONE, OVER_BEST("neighbour")},
                                             {NEED_ONE, OVER_BEST("rule")},
                                             {NEED_ONE, OVER_BEST("fixed_elsewhere")},
                                             NEEDS_END};

static const struct need tuner_needs[] = {{NEED_ONE, OVER_BEST("measured")}, NEEDS_END};

/* Nobody has seen the shape on which the choice is judged. */
static void judge_c89(const struct bundle *bundle, struct finding *f)
{
    struct row neighbour, rule, fixed, measured;
    bool positive, negative;

    if (!RULE_TAKE(bundle, held_out_needs, f, &neighbour, &rule, &fixed))
        return;
    const enum claim_verdict by_time = chosen_against_fixed(&neighbour, &fixed, f);
    const enum claim_verdict by_rule = chosen_against_fixed(&rule, &fixed, f);
    rule_say_row(f,
                 "time over the fastest kernel's, on 8 shapes: chosen by measuring the nearest "
                 "other shape",
                 &neighbour);
    rule_say_row(f, "by a rule", &rule);
    rule_say_row(f, "the one that is best on the other seven", &fixed);
    if (rule_look_up(bundle, tuner_needs[0].id, &measured, f))
        rule_say_row(f, "not judged: what tuners do, by measuring that very shape (C89b)",
                     &measured);
    if (!take_choice_controls(bundle, &positive, &negative, f))
        return;
    rule_say_figure(f, "neighbour", &neighbour);
    rule_say_figure(f, "rule", &rule);
    rule_say_figure(f, "fixed", &fixed);
    const struct row by_shape = rule_ratio(f, &fixed, &neighbour),
                     ruled = rule_ratio(f, &fixed, &rule);
    rule_say_part(f, "by the nearest measured shape", by_time, &by_shape, NAN);
    rule_say_part(f, "by a rule", by_rule, &ruled, NAN);
    rule_conclude(f,
                  by_time == CLAIM_REPRODUCED || by_rule == CLAIM_REPRODUCED ? CLAIM_REPRODUCED
                  : by_time == CLAIM_REFUTED && by_rule == CLAIM_REFUTED     ? CLAIM_REFUTED
                                                                             : CLAIM_MIXED,
                  positive, negative);
}

static const struct need measured_needs[] = {
    {NEED_ONE, OVER_BEST("measured")}, {NEED_ONE, OVER_BEST("fixed")}, NEEDS_END};

static void judge_c89b(const struct bundle *bundle, struct finding *f)
{
    struct row measured, fixed;
    bool positive, negative;

    if (!RULE_TAKE(bundle, measured_needs, f, &measured, &fixed))
        return;
    rule_say_row(f,
                 "time over the fastest kernel's, on 8 shapes: chosen by measuring that very shape",
                 &measured);
    rule_say_row(f, "the one that is best on all eight", &fixed);
    rule_say_figure(f, "measured", &measured);
    rule_say_figure(f, "fixed", &fixed);
    if (take_choice_controls(bundle, &positive, &negative, f))
        rule_conclude(f, chosen_against_fixed(&measured, &fixed, f), positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C79",
     .article = "ai-rng",
     .quote = "Libraries win for standard matmul and convolution primitives, especially when "
              "shapes are well supported.",
     .clause = "Libraries win for standard matmul",
     .since = "2026-11-22",
     .plain = {.yes = "gpufloor's kernels take {first} times as long as cuBLASLt's at 2048^3, "
                      "{last} times at 8192^3.",
               .no = "gpufloor's kernels take {first} times as long as cuBLASLt's at 2048^3, "
                     "{last} at 8192^3: no win.",
               .partly = "cuBLASLt beats gpufloor's kernels: {parts}."},
     .surprise = 3,
     .statement = "cuBLASLt is faster than our kernels on large square products; this suite has no "
                  "convolution.",
     .rule = "2048^3, 4096^3 and 8192^3 in fp16, 4096^3 in bf16, warm: the fastest of our kernels "
             "over the fastest that cuBLASLt offers, replayed in turn. REPRODUCED when the library "
             "is faster by more than 3 % at each, REFUTED when at none, MIXED otherwise. Positive "
             "control: it is, against our portable kernel with tiles of 32x32. Negative control: "
             "it is not, against itself, at 1024^3: larger products meet the board's power limit, "
             "and no two are alike within 3 %.",
     .judge = judge_c79,
     .needs = NEEDS(c79_needs, judged_needs, smaller_needs)},
    {.id = "C79b",
     .article = "ai-rng",
     .quote = "Custom kernels win when an operation is structurally unique, such as a specialized "
              "attention variant, an unusual quantization scheme, or a fused sequence of small "
              "operators.",
     .clause = "a fused sequence of small operators",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "gpufloor's kernel beats PyTorch and its compiler in all {n} sequences of operators.",
          .no = "gpufloor's kernel is behind PyTorch or its compiler in all {n} sequences of "
                "operators.",
          .partly = "gpufloor's kernel beats PyTorch and its compiler: {parts}."},
     .surprise = 3,
     .statement = "A fused sequence of small operators is faster by our kernel than by PyTorch's "
                  "library and by its compiler.",
     .rule = "Bias, GELU and scale; residual and RMS norm; softmax with scale and mask at three "
             "shapes; fp16, by graph. REPRODUCED when our kernel is faster than both by more than "
             "3 % at each, REFUTED when one of them is so at each, MIXED otherwise. Positive "
             "control: PyTorch's three kernels take 1.5 times as long as its compiler's one. "
             "Negative control: our three separate kernels must not win over that one.",
     .judge = judge_c79b,
     .needs = NEEDS(sequence_needs, three_needs)},
    {.id = "C79c",
     .article = "ai-rng",
     .quote = "Compiler-generated kernels win when shapes vary and the system benefits from "
              "automated specialization without hand-tuning every case.",
     .clause = "Compiler-generated kernels win when shapes vary",
     .since = "2026-11-22",
     .plain = {.yes = "PyTorch's compiler wins at all {n} shapes of a softmax.",
               .no = "Of {n} softmax shapes a compiler beats PyTorch's library at {library}, our "
                     "kernel at {custom}.",
               .partly = "PyTorch's compiler wins for softmax: {parts}."},
     .surprise = 5,
     .statement =
         "Softmax with scale and mask at three shapes, from the same lines of PyTorch, is faster "
         "by its compiler than by its library and by our kernel, which has a form for each: tuned "
         "by hand for every case, which the sentence sets compilers against.",
     .rule = "131072 x 4096, 1 x 131072 and 32 x 32768, fp16, by graph. REPRODUCED when the "
             "compiler is faster than both by more than 3 % at each, REFUTED when one of them is "
             "so at each, MIXED otherwise. The controls of C79b.",
     .judge = judge_c79c,
     .needs = NEEDS(sequence_needs, three_needs)},
    {.id = "C89",
     .article = "8bit.tr",
     .quote =
         "Automate kernel selection based on hardware detection to avoid fragile manual configs.",
     .clause = "Automate kernel selection",
     .since = "2026-11-22",
     .plain = {.yes = "Not measured on its shape, a chosen kernel takes {neighbour} or {rule} "
                      "times the best, a fixed one {fixed}.",
               .no = "Not measured on its shape, a chosen kernel takes {neighbour} and {rule} "
                     "times the best, a fixed one {fixed}.",
               .partly = "A chosen kernel beats a fixed one: {parts}."},
     .surprise = 4,
     .statement =
         "On a shape that was not used to choose, a kernel that is chosen automatically, by "
         "measuring the nearest other shape or by a rule on blocks and SMs, comes within 3 % of "
         "the best and beats a fixed one. Hardware detection is not tested, as there is one board.",
     .rule =
         "All of our kernels on 8 shapes, fp16, measured twice: once to choose, once to judge, by "
         "the geometric mean of time over the fastest. Each shape gets the kernel that is fastest "
         "on the nearest other one, the one of a rule on blocks and SMs, or the one that is best "
         "on the seven others. REPRODUCED when one of the first two comes within 3 % of 1 and the "
         "last is more than 3 % behind it; REFUTED when the last is within 3 % of both, or ahead; "
         "MIXED otherwise. Positive control: the two measurements of a kernel agree within 3 %. "
         "Negative control: the worst fixed kernel does not come within 3 % of the fastest.",
     .judge = judge_c89,
     .needs = NEEDS(held_out_needs, tuner_needs, choice_needs)},
    {.id = "C89b",
     .article = "8bit.tr",
     .quote =
         "Automate kernel selection based on hardware detection to avoid fragile manual configs.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Chosen by time, a kernel takes {measured} times the best, a "
                      "fixed one {fixed}.",
               .no = "Chosen by time, a kernel takes {measured} times the best, a "
                     "fixed one only {fixed}.",
               .partly = "Between: measured on its shape a kernel takes {measured:range} times the "
                         "best, a fixed one {fixed:range}; {C89_NEAR:%} decide."},
     .surprise = 1,
     .statement = "A kernel chosen by measuring that very shape comes within 3 % of the best and "
                  "beats every fixed one.",
     .rule = "The figures of C89: chosen in the first pass on a shape and judged in the second on "
             "the same, against the fixed kernel that is best on all eight, which is known only "
             "afterwards. REPRODUCED and REFUTED as there. The controls of C89.",
     .judge = judge_c89b,
     .needs = NEEDS(measured_needs, choice_needs)},
};
CLAIM_SUBJECT(claims);
