/* The ledger: products of every size, alignment and layout, and who chooses their kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/unit.h"
#include "report/claims/rules.h"

static const double DELTA = 0.03; /* a smaller difference does not count */

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define SQUARE(n) "m=" #n ",n=" #n ",k=" #n
#define TIME(n) "gemm_sizes.time{" SQUARE(n) ",type=fp16,acc=fp32,layout=nn,impl=*,tile=*,l2=warm,*"
#define OVER_LIBRARY(shape, type, impl, l2)                                                        \
    "gemm_sizes.over_library{" shape ",type=" type ",acc=fp32,layout=nn," impl ",l2=" l2 "}"
#define OWN "impl=own,tile=best"

/* --- C26: does latency bottom out before performance peaks? ---------------------------------- */

static const double C26_HALF = 0.5, C26_CUT = 3;

/* The rate of the small size over that of the large one, each by its best. */
static struct row efficiency(const struct row *small, double n, const struct row *large, double m)
{
    const struct row a = rule_rate(small, 2 * n * n * n, "flop/s");
    const struct row b = rule_rate(large, 2 * m * m * m, "flop/s");
    return rule_ratio(&a, &b);
}

#define FIT "{type=fp16,acc=fp32,layout=nn,impl=own,tile=best,l2=warm,*"

static const struct need fit_needs[] = {{NEED_ONE, "derived.fixed_time" FIT},
                                        {NEED_ONE, "derived.marginal_flops" FIT},
                                        {NEED_ONE, "derived.fit_error" FIT},
                                        NEEDS_END};

static void say_fit(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fixed, rate, error;
    char text[48];
    if (!RULE_TAKE(bundle, fit_needs, &aside, &fixed, &rate, &error))
        return;
    rule_say(f->evidence, "; own kernels fit %.2f us + 2 N^3 / %s within %.0f %% (r.m.s.)",
             fixed.centre / 1e3, unit_format(text, sizeof text, rate.centre, "flop/s", 3),
             100 * error.centre);
}

static const struct need c26_needs[] = {{NEED_BEST, TIME(128)},
                                        {NEED_BEST, TIME(256)},
                                        {NEED_BEST, TIME(512)},
                                        {NEED_BEST, TIME(1024)},
                                        {NEED_BEST, TIME(4096)},
                                        {NEED_BEST, TIME(8192)},
                                        NEEDS_END};

static void judge_c26(const struct bundle *bundle, struct finding *f)
{
    struct row t128, t256, t512, t1024, t4096, t8192;
    if (!RULE_TAKE(bundle, c26_needs, f, &t128, &t256, &t512, &t1024, &t4096, &t8192))
        return;

    const struct row share = efficiency(&t1024, 1024, &t8192, 8192);
    const struct row cut = rule_ratio(&t1024, &t512);
    const struct row small_share = efficiency(&t128, 128, &t8192, 8192);
    const struct row small_cut = rule_ratio(&t256, &t128);
    const struct row large_share = efficiency(&t4096, 4096, &t8192, 8192);
    const struct row large_cut = rule_ratio(&t8192, &t4096);
    const enum place half = rule_place(&share, 0, C26_HALF), least = rule_place(&cut, 0, C26_CUT);

    rule_say_row(f->evidence, "1024^3 fp16, rate over that of 8192^3", &share);
    rule_say_row(f->evidence, "1024^3 over 512^3, time", &cut);
    rule_say(f->evidence, "; best times %.2f us (512^3), %.2f us (1024^3), %.0f us (8192^3)",
             t512.centre / 1e3, t1024.centre / 1e3, t8192.centre / 1e3);
    say_fit(bundle, f);
    const bool positive = rule_place(&small_share, 0, C26_HALF) == PLACE_INSIDE &&
                          rule_place(&small_cut, 0, C26_CUT) == PLACE_INSIDE;
    const bool negative = rule_place(&large_share, 0, C26_HALF) == PLACE_ABOVE &&
                          rule_place(&large_cut, 0, C26_CUT) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "both hold at 128^3, rate", &small_share);
    rule_say_control(f, false, negative, "both hold at 4096^3, rate", &large_share);
    rule_conclude(f,
                  half == PLACE_ABOVE || least == PLACE_ABOVE     ? CLAIM_REFUTED
                  : half == PLACE_INSIDE && least == PLACE_INSIDE ? CLAIM_REPRODUCED
                                                                  : CLAIM_MIXED,
                  positive, negative);
}

/* --- products next to an aligned one: C58, C86 ------------------------------------------------ */

/* A product as in gemm_sizes: m x n x k, rows `ld` elements apart (0: packed), A and B `offset`
 * bytes off a boundary. `same`: it has the sizes of the aligned one. */
struct beside {
    const char *name;
    int m, n, k, ld, offset;
    const char *layout;
    bool same, misaligned;
};
static const struct beside besides[] = {
    {"1024^3, rows of 1025", 1024, 1024, 1024, 1025, 0, "nn", true, true},
    {"2 bytes off", 1024, 1024, 1024, 1024, 2, "nn", true, true},
    {"8 bytes off", 1024, 1024, 1024, 1024, 8, "nn", true, true},
    {"4096^3, rows of 4097", 4096, 4096, 4096, 4097, 0, "nn", true, true},
    {"1023^3", 1023, 1023, 1023, 1023, 0, "nn", false, true},
    {"1025^3", 1025, 1025, 1025, 1025, 0, "nn", false, true},
    {"4095^3", 4095, 4095, 4095, 4095, 0, "nn", false, true},
    {"1024^3, rows of 1032", 1024, 1024, 1024, 1032, 0, "nn", true, false},
    {"nt", 1024, 1024, 1024, 1024, 0, "nt", true, false},
    {"tn", 1024, 1024, 1024, 1024, 0, "tn", true, false},
};
static const struct beside again = {"", 1024, 1024, 1024, 1024, 0, "nn", true, false};
static const struct beside ruler = {"", 1024, 1024, 1536, 0, 0, "nn", false, false};
static const struct beside vector = {"", 1, 1024, 1024, 0, 0, "nn", false, false};

/* Who computes it: the keys of implementation and tile. */
struct by {
    const char *impl, *tile;
};
static const struct by cublas = {"cublas", "auto"}, cublaslt_best = {"cublaslt", "best"};
static const struct by cublaslt_first = {"cublaslt", "first"};

#define BESIDE(metric)                                                                             \
    "gemm_sizes." metric "{m=%d,n=%d,k=%d,type=fp16,layout=%s,lda=%s,ldb=%s,ldc=%s,offset=%d,"     \
    "impl=%s,tile=%s,l2=warm}"

static const struct need over_needs[] = {{NEED_ANY, BESIDE("over_aligned")}, NEEDS_END};
static const struct need kernel_needs[] = {{NEED_ANY, BESIDE("other_kernel")}, NEEDS_END};

static bool take_beside(const struct bundle *bundle, const char *metric, const struct beside *b,
                        struct by by, struct row *row, struct finding *f)
{
    char ld[32] = "*";

    if (b->ld)
        snprintf(ld, sizeof ld, "%d", b->ld);
    return rule_take_formed(bundle, row, f, BESIDE("%s"), metric, b->m, b->n, b->k, b->layout, ld,
                            ld, ld, b->offset, by.impl, by.tile);
}

static const double C58_LOSES = 1.20, C58_KEEPS = 1.05;

static void judge_c58(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row over, best, same, more;
    size_t lose = 0, keep = 0, n = 0;

    if (!take_beside(bundle, "over_aligned", &again, cublas, &same, f) ||
        !take_beside(bundle, "over_aligned", &ruler, cublas, &more, f))
        return;
    rule_say(f->evidence, "cuBLAS, time for each multiply-add over that of the aligned product");
    for (size_t i = 0; i < COUNT(besides); i++) {
        const struct beside *b = &besides[i];
        if (!b->misaligned)
            continue;
        if (!take_beside(bundle, "over_aligned", b, cublas, &over, f))
            return;
        rule_say(f->evidence, "; %s %.2f", b->name, over.centre);
        if (take_beside(bundle, "over_aligned", b, cublaslt_best, &best, &ignored))
            rule_say(f->evidence, " (best of cuBLASLt %.2f)", best.centre);
        lose += rule_place(&over, C58_LOSES, INFINITY) == PLACE_INSIDE;
        keep += rule_place(&over, 0, C58_KEEPS) == PLACE_INSIDE;
        n++;
    }
    const bool positive = rule_place(&more, C58_LOSES, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&same, 0, C58_KEEPS) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "half as much work again, padded on, loses 20 %, at",
                     &more);
    rule_say_control(f, false, negative, "the aligned product itself, again, loses 5 %, at", &same);
    rule_conclude(f,
                  lose > 0    ? CLAIM_REPRODUCED
                  : keep == n ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  positive, negative);
}

static const double C86_COSTS = 1.10;

/* Counts one change of layout, if it was measured: does it cost anything, and does it bring another
 * kernel and cost a tenth? */
struct layouts {
    size_t n, other, costly, cheap;
};

static void count_layout(const struct bundle *bundle, const struct beside *b, struct by by,
                         struct layouts *l, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row over, other;

    if (!take_beside(bundle, "over_aligned", b, by, &over, &ignored) ||
        !take_beside(bundle, "other_kernel", b, by, &other, &ignored))
        return;
    const bool changed = other.low > 0;
    rule_say(f->evidence, "%s%s %.2f%s", l->n ? ", " : "", b->name, over.centre,
             changed ? " (another kernel)" : "");
    l->n++;
    l->other += changed;
    l->costly += changed && rule_place(&over, C86_COSTS, INFINITY) == PLACE_INSIDE;
    l->cheap += rule_place(&over, 0, 1 + DELTA) == PLACE_INSIDE;
}

static void judge_c86(const struct bundle *bundle, struct finding *f)
{
    const struct by libraries[] = {cublas, cublaslt_first};
    struct row same, same_kernel, vector_kernel;
    struct layouts all = {0};

    if (!take_beside(bundle, "over_aligned", &again, cublas, &same, f) ||
        !take_beside(bundle, "other_kernel", &again, cublas, &same_kernel, f) ||
        !take_beside(bundle, "other_kernel", &vector, cublas, &vector_kernel, f))
        return;
    for (size_t i = 0; i < COUNT(libraries); i++) {
        struct layouts its = {0};
        rule_say(f->evidence, "%s%s: ", i ? "; " : "", i ? "cuBLASLt's first guess" : "cuBLAS");
        for (size_t j = 0; j < COUNT(besides); j++)
            if (besides[j].same)
                count_layout(bundle, &besides[j], libraries[i], &its, f);
        all.n += its.n, all.other += its.other;
        all.costly += its.costly, all.cheap += its.cheap;
    }
    const bool positive = vector_kernel.low > 0;
    const bool negative =
        same_kernel.high == 0 && rule_place(&same, 1 - DELTA, 1 + DELTA) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "one row instead of 1024 gets another kernel",
                     &vector_kernel);
    rule_say_control(f, false, negative, "the aligned product, asked for again, differs", &same);
    if (all.n == 0) {
        rule_not_testable(f, "no change of layout was measured");
        return;
    }
    rule_conclude(f,
                  all.costly > 0                         ? CLAIM_REPRODUCED
                  : all.other == 0 || all.cheap == all.n ? CLAIM_REFUTED
                                                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- C79: does the library win on standard products? ----------------------------------------- */

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
static const struct need c79_needs[] = {
    {NEED_ONE, OVER_LIBRARY(SQUARE(2048), "fp16", "impl=mma,tile=32x32", "warm")},
    {NEED_ONE, OVER_LIBRARY(SQUARE(4096), "fp16", "impl=cublaslt,tile=best", "warm")},
    NEEDS_END};

static void judge_c79(const struct bundle *bundle, struct finding *f)
{
    static const char *const judged[] = {"2048^3 fp16", "4096^3 fp16", "4096^3 bf16",
                                         "8192^3 fp16"};
    struct row own, loser, itself;
    size_t wins = 0, fails = 0;

    if (!RULE_TAKE(bundle, c79_needs, f, &loser, &itself))
        return;
    for (size_t i = 0; i < COUNT(judged); i++) {
        if (!rule_take(bundle, judged_needs[i].id, &own, f))
            return;
        const enum place place = rule_place(&own, 0, 1 + DELTA);
        rule_say_row(f->evidence, judged[i], &own);
        wins += place == PLACE_ABOVE;
        fails += place == PLACE_INSIDE;
    }
    say_smaller(bundle, f);
    const bool positive = rule_place(&loser, 0, 1 + DELTA) == PLACE_ABOVE;
    const bool negative = rule_place(&itself, 1 - DELTA, 1 + DELTA) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "the library wins against tiles of 32x32 at 2048^3, by",
                     &loser);
    rule_say_control(f, false, negative, "it wins against itself at 4096^3, by", &itself);
    rule_conclude(f,
                  wins == COUNT(judged)    ? CLAIM_REPRODUCED
                  : fails == COUNT(judged) ? CLAIM_REFUTED
                                           : CLAIM_MIXED,
                  positive, negative);
}

/* --- C89: is a chosen kernel better than a fixed one? ----------------------------------------- */

static const double C89_FRAGILE = 1.5;

static enum claim_verdict chosen_against_fixed(const struct row *chosen, const struct row *fixed)
{
    const struct row ahead = rule_ratio(fixed, chosen);
    if (rule_place(&ahead, 1 + DELTA, INFINITY) == PLACE_BELOW)
        return CLAIM_REFUTED;
    return rule_place(chosen, 0, 1 + DELTA) == PLACE_INSIDE &&
                   rule_place(&ahead, 1 + DELTA, INFINITY) == PLACE_INSIDE
               ? CLAIM_REPRODUCED
               : CLAIM_MIXED;
}

static const struct need neighbour_needs[] = {{NEED_ONE, "gemm_sizes.over_best{by=neighbour}"},
                                              NEEDS_END};
static const struct need c89_needs[] = {{NEED_ONE, "gemm_sizes.over_best{by=measured}"},
                                        {NEED_ONE, "gemm_sizes.over_best{by=rule}"},
                                        {NEED_ONE, "gemm_sizes.over_best{by=fixed}"},
                                        {NEED_ONE, "gemm_sizes.over_best{by=worst}"},
                                        {NEED_ONE, "gemm_sizes.slowest_over_best{of=all}"},
                                        {NEED_ONE, "gemm_sizes.moved{of=all}"},
                                        NEEDS_END};

static void judge_c89(const struct bundle *bundle, struct finding *f)
{
    struct row measured, rule, neighbour, fixed, worst, moved, slowest;
    if (!RULE_TAKE(bundle, c89_needs, f, &measured, &rule, &fixed, &worst, &slowest, &moved))
        return;

    const enum claim_verdict by_time = chosen_against_fixed(&measured, &fixed);
    const enum claim_verdict by_rule = chosen_against_fixed(&rule, &fixed);
    rule_say_row(f->evidence, "time over the fastest kernel's on 8 shapes: chosen by measurement",
                 &measured);
    rule_say_row(f->evidence, "by a rule", &rule);
    if (rule_look_up(bundle, neighbour_needs[0].id, &neighbour, f))
        rule_say_row(f->evidence, "by measurement of the nearest other shape", &neighbour);
    rule_say_row(f->evidence, "the best fixed one", &fixed);
    rule_say(f->evidence, "; the slowest fixed kernel on its worst shape: %.1f, which is %s",
             slowest.centre, slowest.low >= C89_FRAGILE ? "fragile" : "not fragile");
    const bool positive = rule_place(&moved, 0, 1 + DELTA) == PLACE_INSIDE;
    const bool negative = rule_place(&worst, 0, 1 + DELTA) == PLACE_ABOVE;
    rule_say_control(f, true, positive, "a kernel measured twice agrees within 3 %, at", &moved);
    rule_say_control(f, false, negative, "the worst fixed kernel comes within 3 %, at", &worst);
    rule_conclude(f,
                  by_time == CLAIM_REPRODUCED || by_rule == CLAIM_REPRODUCED ? CLAIM_REPRODUCED
                  : by_time == CLAIM_REFUTED && by_rule == CLAIM_REFUTED     ? CLAIM_REFUTED
                                                                             : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C26",
     .article = "smallest.ai",
     .quote = "Whether it\u2019s a standalone matrix multiplication or a large fused forward pass "
              "combining multiple layers into a single kernel, the result is the same: latency "
              "bottoms out well before performance peaks.",
     .statement = "A 1024^3 product runs at less than half of the rate of 8192^3, and an eighth of "
                  "its work (512^3) takes more than a third of its time; the fused half is C27.",
     .rule = "Best of all implementations, fp16 with fp32 sums, warm, by slope and so without the "
             "launch; chosen in the first round and judged on the others. REPRODUCED when the rate "
             "at 1024^3 is below half of that at 8192^3, and 1024^3 takes less than 3 times as "
             "long as 512^3; REFUTED when one of the two does not hold. Positive control: both "
             "hold at 128^3 and 256^3. Negative control: neither holds at 4096^3 and 8192^3.",
     .judge = judge_c26,
     .needs = NEEDS(c26_needs, fit_needs)},
    {.id = "C58",
     .article = "ai-rng",
     .quote = "Padding and alignment that affect tensor core usage.",
     .statement =
         "A misaligned size, row length or address costs a tensor-core product 20 % or more.",
     .rule = "cuBLAS, fp16, beside the aligned product replayed in turn, by time for each "
             "multiply-add. REPRODUCED when a misaligned one loses 20 %, REFUTED when none loses "
             "more than 5 %, MIXED otherwise. Positive control: with half as much work again, "
             "padded on along K, it loses 20 %. Negative control: the aligned product in other "
             "buffers must not lose 5 %.",
     .judge = judge_c58,
     .needs = NEEDS(over_needs)},
    {.id = "C79",
     .article = "ai-rng",
     .quote = "Libraries win for standard matmul and convolution primitives, especially when "
              "shapes are well supported.",
     .statement =
         "cuBLASLt is faster than our kernels on large square products; this suite has no "
         "convolution, and the halves on fused operators and compilers are not judged here.",
     .rule = "2048^3, 4096^3 and 8192^3 in fp16, 4096^3 in bf16, warm: the fastest of our kernels "
             "over the fastest that cuBLASLt offers, replayed in turn. REPRODUCED when the library "
             "is faster by more than 3 % at each, REFUTED when at none, MIXED otherwise. Positive "
             "control: it is, against our portable kernel with tiles of 32x32. Negative control: "
             "it is not, against itself.",
     .judge = judge_c79,
     .needs = NEEDS(c79_needs, judged_needs, smaller_needs)},
    {.id = "C86",
     .article = "ai-rng",
     .quote = "Non-contiguous tensors that prevent efficient kernels from being selected.",
     .statement = "A change of row length, address or layout alone makes cuBLAS or cuBLASLt choose "
                  "another kernel, and costs 10 % or more.",
     .rule =
         "Same sizes, type and values; the kernel's name is read from a captured graph. REPRODUCED "
         "when a change brings another name and costs 10 %, REFUTED when no name changes, or no "
         "change costs 3 %; MIXED otherwise. Positive control: one row instead of 1024 gets "
         "another name. Negative control: the same product again gets the same name and time.",
     .judge = judge_c86,
     .needs = NEEDS(over_needs, kernel_needs)},
    {.id = "C89",
     .article = "8bit.tr",
     .quote =
         "Automate kernel selection based on hardware detection to avoid fragile manual configs.",
     .statement =
         "On shapes that differ, a kernel chosen by measurement or by a rule comes within 3 % of "
         "the best and beats every fixed one; with one GPU only shapes are judged, not hardware.",
     .rule = "All of our kernels on 8 shapes, fp16, measured twice: once to choose, once to judge, "
             "by the geometric mean of time over the fastest. REPRODUCED when measurement or the "
             "rule comes within 3 % of 1 and the best fixed kernel is more than 3 % behind it; "
             "REFUTED when the best fixed one is within 3 % of both, or ahead; MIXED otherwise. "
             "Positive control: the two measurements of a kernel agree within 3 %. Negative "
             "control: the worst fixed kernel does not come within 3 % of the fastest.",
     .judge = judge_c89,
     .needs = NEEDS(c89_needs, neighbour_needs)},
};
CLAIM_SUBJECT(claims);
