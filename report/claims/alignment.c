/* The ledger: products whose sizes, rows or addresses are not aligned. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* --- products next to an aligned one: C58, C86 ------------------------------------------------ */

/* A product as in gemm_sizes: m x n x k, rows `ld` elements apart (0: packed), A and B `offset`
 * bytes off a boundary. `same`: it has the sizes of the aligned one. `large`: measured in two
 * rounds only, and not judged. */
struct beside {
    const char *name;
    int m, n, k, ld, offset;
    const char *layout;
    bool same, misaligned, large;
};
static const struct beside besides[] = {
    {"1024^3, rows of 1025", 1024, 1024, 1024, 1025, 0, "nn", true, true, false},
    {"2 bytes off", 1024, 1024, 1024, 1024, 2, "nn", true, true, false},
    {"8 bytes off", 1024, 1024, 1024, 1024, 8, "nn", true, true, false},
    {"1023^3", 1023, 1023, 1023, 1023, 0, "nn", false, true, false},
    {"1025^3", 1025, 1025, 1025, 1025, 0, "nn", false, true, false},
    {"1024^3, rows of 1032", 1024, 1024, 1024, 1032, 0, "nn", true, false, false},
    {"nt", 1024, 1024, 1024, 1024, 0, "nt", true, false, false},
    {"tn", 1024, 1024, 1024, 1024, 0, "tn", true, false, false},
    {"4096^3, rows of 4097", 4096, 4096, 4096, 4097, 0, "nn", true, true, true},
    {"4095^3", 4095, 4095, 4095, 4095, 0, "nn", false, true, true},
};
static const struct beside again = {"", 1024, 1024, 1024, 1024, 0, "nn", true, false, false};
static const struct beside ruler = {"", 1024, 1024, 1536, 0, 0, "nn", false, false, false};
static const struct beside vector = {"", 1, 1024, 1024, 0, 0, "nn", false, false, false};

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

/* --- C58: what misalignment costs ------------------------------------------------------------- */

static const double C58_LOSES = 0.20, C58_KEEPS = 0.05;

static void judge_c58(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    const double loses = 1 + RULE_LIMIT(f, C58_LOSES), keeps = 1 + RULE_LIMIT(f, C58_KEEPS);
    struct row over, best, same, more;
    size_t lose = 0, keep = 0, n = 0;
    double worst = 0;

    if (!take_beside(bundle, "over_aligned", &again, cublas, &same, f) ||
        !take_beside(bundle, "over_aligned", &ruler, cublas, &more, f))
        return;
    rule_say(f->evidence, "cuBLAS, time for each multiply-add over that of the aligned product");
    for (size_t i = 0; i < COUNT(besides); i++) {
        const struct beside *b = &besides[i];
        if (!b->misaligned)
            continue;
        if (!take_beside(bundle, "over_aligned", b, cublas, &over, b->large ? &ignored : f)) {
            if (b->large)
                continue;
            return;
        }
        rule_say(f->evidence, "; %s%s %.2f", b->large ? "not judged: " : "", b->name, over.centre);
        if (take_beside(bundle, "over_aligned", b, cublaslt_best, &best, &ignored))
            rule_say(f->evidence, " (best of cuBLASLt %.2f)", best.centre);
        if (b->large)
            continue;
        worst = fmax(worst, over.centre);
        lose += rule_place(&over, loses, INFINITY) == PLACE_INSIDE;
        keep += rule_place(&over, 0, keeps) == PLACE_INSIDE;
        n++;
    }
    const bool positive = rule_place(&more, loses, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&same, 0, keeps) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "half as much work again, padded on, loses 20 %, at",
                     &more);
    rule_say_control(f, false, negative, "the aligned product itself, again, loses 5 %, at", &same);
    rule_say_number(f, "worst", worst, "ratio");
    rule_conclude(f,
                  lose > 0    ? CLAIM_REPRODUCED
                  : keep == n ? CLAIM_REFUTED
                              : CLAIM_MIXED,
                  positive, negative);
}

/* --- C86: another kernel? --------------------------------------------------------------------- */

static const double C86_COSTS = 0.10, C86_SAME = 0.03;

/* Counts one change of layout, if it was measured: does it cost anything, and does it bring another
 * kernel and cost a tenth? */
struct layouts {
    size_t n, other, costly, cheap;
    double worst;
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
    if (changed)
        l->worst = fmax(l->worst, over.centre);
    l->other += changed;
    l->costly +=
        changed && rule_place(&over, 1 + RULE_LIMIT(f, C86_COSTS), INFINITY) == PLACE_INSIDE;
    l->cheap += rule_place(&over, 0, 1 + RULE_LIMIT(f, C86_SAME)) == PLACE_INSIDE;
}

static void judge_c86(const struct bundle *bundle, struct finding *f)
{
    struct row same, same_kernel, vector_kernel;
    struct layouts all = {0}, beside = {0};

    if (!take_beside(bundle, "over_aligned", &again, cublas, &same, f) ||
        !take_beside(bundle, "other_kernel", &again, cublas, &same_kernel, f) ||
        !take_beside(bundle, "other_kernel", &vector, cublas, &vector_kernel, f))
        return;
    rule_say(f->evidence, "cuBLAS: ");
    for (size_t j = 0; j < COUNT(besides); j++)
        if (besides[j].same && !besides[j].large)
            count_layout(bundle, &besides[j], cublas, &all, f);
    rule_say(f->evidence, "; not judged, cuBLASLt's first guess: ");
    for (size_t j = 0; j < COUNT(besides); j++)
        if (besides[j].same)
            count_layout(bundle, &besides[j], cublaslt_first, &beside, f);
    const double within = RULE_LIMIT(f, C86_SAME);
    const bool positive = vector_kernel.low > 0;
    const bool negative =
        same_kernel.high == 0 && rule_place(&same, 1 - within, 1 + within) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "one row instead of 1024 gets another kernel",
                     &vector_kernel);
    rule_say_control(f, false, negative, "the aligned product, asked for again, differs", &same);
    if (all.n == 0) {
        rule_not_testable(f, "no change of layout was measured");
        return;
    }
    rule_say_number(f, "worst", all.worst, "ratio");
    rule_say_count(f, "other", (size_t)all.other);
    rule_say_count(f, "n", (size_t)all.n);
    rule_say_count(f, "costly", (size_t)all.costly);
    rule_conclude(f,
                  all.costly > 0                         ? CLAIM_REPRODUCED
                  : all.other == 0 || all.cheap == all.n ? CLAIM_REFUTED
                                                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C58",
     .article = "ai-rng",
     .quote = "Padding and alignment that affect tensor core usage.",
     .clause = "Padding and alignment",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "A misaligned 1024^3 product takes up to {worst} times as long as the aligned one.",
          .no = "A misaligned 1024^3 product takes {worst} times as long as the aligned one at "
                "most: within {C58_KEEPS:%}.",
          .partly = "Between: a misaligned 1024^3 product takes up to {worst} times as long "
                    "against limits of {C58_KEEPS:%} and {C58_LOSES:%} more."},
     .surprise = 3,
     .statement =
         "A misaligned size, row length or address costs a tensor-core product 20 % or more. "
         "Whether the tensor cores are used less takes hardware counters, which a bundle has not.",
     .rule = "cuBLAS, fp16, about 1024^3, beside the aligned product replayed in turn, by time for "
             "each multiply-add. REPRODUCED when a misaligned one loses 20 %, REFUTED when none "
             "loses more than 5 %, MIXED otherwise. Positive control: with half as much work "
             "again, padded on along K, it loses 20 %. Negative control: the aligned product in "
             "other buffers must not lose 5 %.",
     .judge = judge_c58,
     .needs = NEEDS(over_needs)},
    {.id = "C86",
     .article = "ai-rng",
     .quote = "Non-contiguous tensors that prevent efficient kernels from being selected.",
     .since = "2026-11-22",
     .plain = {.yes = "{other} of {n} layouts make cuBLAS take another kernel, of up to {worst} "
                      "times the time.",
               .no = "{other} of {n} layouts make cuBLAS take another kernel, of up to {worst} "
                     "times the time: no loss.",
               .partly = "Another kernel of cuBLAS: holds for {other} of {n} layouts; a loss by "
                         "it: does not ({worst} times at most)."},
     .surprise = 3,
     .statement = "A change of row length, address or layout alone makes cuBLAS choose another "
                  "kernel, and costs 10 % or more.",
     .rule = "1024^3, the same sizes, type and values; the kernel's name is read from a captured "
             "graph. REPRODUCED when a change brings another name and costs 10 %, REFUTED when no "
             "name changes, or no change costs 3 %; MIXED otherwise. Positive control: one row "
             "instead of 1024 gets another name. Negative control: the same product again gets the "
             "same name and time.",
     .judge = judge_c86,
     .needs = NEEDS(over_needs, kernel_needs)},
};
CLAIM_SUBJECT(claims);
