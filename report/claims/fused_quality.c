/* The ledger: the quality of fused results: the same bits, the same memory, faults that are
 * caught. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/rules.h"

static const struct row *usable(const struct row *row)
{
    return row && row_usable(row) ? row : NULL;
}

/* Another metric of the same case, such as the ulps that go with a share that differs. */
static const struct row *beside(const struct bundle *bundle, const struct row *row,
                                const char *metric, struct finding *f)
{
    char whole[DOCUMENT_ID];
    snprintf(whole, sizeof whole, "%s.%s", row->probe, metric);
    return usable(rule_beside(bundle, row, whole, NULL, NULL, f));
}

static const struct row *unfused_of(const struct bundle *bundle, const struct row *fused,
                                    struct finding *f)
{
    return usable(rule_beside(bundle, fused, NULL, "impl", "unfused", f));
}

/* --- C75: are fused and unfused results the same? --------------------------------------------- */

static const double C75_SEEN = 0.99;

struct c75 {
    int compared, differ, blind, worse, judged_by_error;
    double most, most_ulps, least_caught;
    char first[DOCUMENT_ID];
};

#define DIFFER "*.differ{*"
#define FUSED(metric) "*." metric "{*impl=fused,*"
#define UNFUSED(metric) "*." metric "{*impl=unfused,*"
#define CAUGHT "*.caught{*"

static const struct need compared_needs[] = {
    {NEED_ANY, DIFFER},         {NEED_ANY, "*.ulps{*"},       {NEED_ANY, CAUGHT},
    {NEED_ANY, FUSED("error")}, {NEED_ANY, UNFUSED("error")}, NEEDS_END};

/* Every fused result that was compared with the unfused one, bit by bit. Each also needs the share
 * of planted faults that verification caught in the same case. */
static void compare_all(const struct bundle *bundle, struct c75 *c, struct finding *f)
{
    const struct row *row, *ulps, *caught, *error, *unfused;

    c->least_caught = INFINITY;
    for (size_t next = 0; (row = rule_next(bundle, DIFFER, &next, f));) {
        if (!row_usable(row))
            continue;
        c->compared++;
        if (row->centre > 0 && c->differ++ == 0)
            snprintf(c->first, sizeof c->first, "%s", row->id);
        c->most = fmax(c->most, row->centre);
        if ((ulps = beside(bundle, row, "ulps", f)))
            c->most_ulps = fmax(c->most_ulps, ulps->centre);
        caught = beside(bundle, row, "caught", f);
        c->blind += !caught || caught->low < C75_SEEN;
        if (caught)
            c->least_caught = fmin(c->least_caught, caught->centre);
    }
    for (size_t next = 0; (error = rule_next(bundle, FUSED("error"), &next, f));) {
        if (!row_usable(error) || !(unfused = unfused_of(bundle, error, f)))
            continue;
        c->judged_by_error++;
        c->worse += error->centre > 1.03 * unfused->centre;
    }
}

static const struct need c75_needs[] = {{NEED_ONE, "repeatability.distinct{order=two_kernels,*"},
                                        NEEDS_END};

static void judge_c75(const struct bundle *bundle, struct finding *f)
{
    struct c75 c = {0};
    struct row ordered;

    compare_all(bundle, &c, f);
    if (c.compared == 0) {
        rule_not_testable(f, "no fused result in this bundle was compared with the unfused one");
        return;
    }
    if (!RULE_TAKE(bundle, c75_needs, f, &ordered))
        return;
    const bool positive = c.blind == 0, negative = ordered.high <= 1;

    rule_say(f->evidence, "of %d fused results compared with the unfused ones %d differ in a bit",
             c.compared, c.differ);
    if (c.differ)
        rule_say(f->evidence, " (first: %s; at most %.3g of the elements, by %g ulps)", c.first,
                 c.most, c.most_ulps);
    rule_say(f->evidence,
             "; against float64 the fused result is worse by more than 3 %% in %d of %d cases: the "
             "weaker statement, within rounding, %s",
             c.worse, c.judged_by_error, c.worse ? "fails there" : "holds");
    rule_say(
        f->controls,
        "positive control: in each of these cases verification sees planted faults: %.0f %% of "
        "them at least, not shown for %d, %s",
        100 * c.least_caught, c.blind, positive ? "passed" : "FAILED");
    rule_say_control(f, false, negative, "one kernel differs from itself, results in 10000 runs",
                     &ordered);
    rule_conclude(f, c.differ ? CLAIM_REFUTED : CLAIM_REPRODUCED, positive, negative);
}

/* --- C76: do atomics change results from run to run? ------------------------------------------ */

static const struct need c76_needs[] = {{NEED_ONE, "repeatability.distinct{order=arrival,*"},
                                        {NEED_ONE, "repeatability.distinct{order=last_arriver,*"},
                                        {NEED_ONE, "repeatability.distinct{order=two_kernels,*"},
                                        {NEED_ONE, "repeatability.distinct{order=fixed_point,*"},
                                        {NEED_ONE, "repeatability.distinct{order=inputs,*"},
                                        NEEDS_END};

static void judge_c76(const struct bundle *bundle, struct finding *f)
{
    struct row arrival, last, two, fixed, inputs;
    if (!RULE_TAKE(bundle, c76_needs, f, &arrival, &last, &two, &fixed, &inputs))
        return;
    const bool several = arrival.low > 1, one = last.high <= 1 && two.high <= 1;
    const bool positive = inputs.low >= 10, negative = fixed.high <= 1;

    rule_say_row(f->evidence, "different results in 10000 runs on the same inputs, by atomicAdd",
                 &arrival);
    rule_say_row(f->evidence, "added up by the last to arrive", &last);
    rule_say_row(f->evidence, "by a second kernel", &two);
    rule_say_control(f, true, positive, "ten inputs give ten results", &inputs);
    rule_say_control(f, false, negative,
                     "atomics on integers, whose order cannot matter, give several", &fixed);
    rule_conclude(f,
                  !several ? CLAIM_REFUTED
                  : one    ? CLAIM_REPRODUCED
                           : CLAIM_MIXED,
                  positive, negative);
}

/* --- C77: do rare shapes break kernels? ------------------------------------------------------- */

static void judge_c77(const struct bundle *bundle, struct finding *f)
{
    (void)bundle;
    rule_not_testable(
        f,
        "shapes are drawn under --check, which is no part of a bundle; what they found while this "
        "suite was "
        "made stands in docs/FINDINGS.md: a bulk store that wrote behind the rows of C where n is "
        "no "
        "multiple of 8, and libraries that round partial sums at odd sizes");
}

/* --- C78: does a fused kernel or a graph need more memory? ------------------------------------ */

static const double C78_MORE = 1.1, C78_COUNTED = 0.05;

#define FOOTPRINT                                                                                  \
    "attention_prefill.footprint{heads=32,kv_heads=32,depth=128,context=8192,mask=causal,"         \
    "type=bf16,impl="
#define COUNTED                                                                                    \
    "attention_prefill.memory{heads=32,kv_heads=32,depth=128,context=8192,mask=causal,type=bf16,"  \
    "impl="

static const struct need counted_needs[] = {
    {NEED_ANY, FUSED("memory")}, {NEED_ANY, UNFUSED("memory")}, NEEDS_END};
static const struct need c78_needs[] = {{NEED_ONE, "repeatability.graph_memory{nodes=4096}"},
                                        {NEED_ONE, FOOTPRINT "unfused}"},
                                        {NEED_ONE, FOOTPRINT "fused}"},
                                        {NEED_ONE, COUNTED "unfused,*"},
                                        NEEDS_END};

/* The rule uses counts. The memory that the driver reports as taken checks them, if both are
 * known. */
static void judge_c78(const struct bundle *bundle, struct finding *f)
{
    struct row graph, seen, counted, fused_seen;
    const struct row *fused, *unfused;
    double most = 0, least = INFINITY;
    int compared = 0;
    char most_id[DOCUMENT_ID] = "";

    for (size_t next = 0; (fused = rule_next(bundle, FUSED("memory"), &next, f));) {
        if (!row_usable(fused) || !(unfused = unfused_of(bundle, fused, f)))
            continue;
        const double ratio = fused->centre / unfused->centre;
        compared++;
        least = fmin(least, ratio);
        if (ratio > most) {
            most = ratio;
            snprintf(most_id, sizeof most_id, "%s", fused->id);
        }
    }
    if (compared == 0) {
        rule_not_testable(
            f, "no fused operator in this bundle has its memory beside the unfused one's");
        return;
    }
    if (!RULE_TAKE(bundle, c78_needs, f, &graph, &seen, &fused_seen, &counted))
        return;
    const struct row agree = rule_ratio(&seen, &counted), saved = rule_ratio(&fused_seen, &seen);
    const bool positive = rule_place(&agree, 1 - C78_COUNTED, 1 + C78_COUNTED) == PLACE_INSIDE;
    const bool negative = rule_place(&saved, C78_MORE, INFINITY) == PLACE_BELOW;

    rule_say(
        f->evidence,
        "memory of operands, results, intermediates and workspace by count, fused over unfused, "
        "%d cases: %.3g to %.3g (most: %s)",
        compared, least, most, most_id);
    rule_say_row(f->evidence, "what a graph of 4096 kernels takes when it is instantiated", &graph);
    rule_say_control(
        f, true, positive,
        "memory by the driver over memory by count, three kernels of attention, 8192 tokens",
        &agree);
    rule_say_control(f, false, negative,
                     "by the driver fused attention, which stores no scores, takes more", &saved);
    rule_conclude(f, most > C78_MORE ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- C81: are bugs hard to see? --------------------------------------------------------------- */

static const struct need caught_needs[] = {{NEED_ANY, CAUGHT}, NEEDS_END};

/* The least share of planted faults that verification caught; NaN if none was planted. */
static double least_caught(const struct bundle *bundle, int *cases, struct finding *f)
{
    double least = NAN;
    const struct row *row;

    *cases = 0;
    for (size_t next = 0; (row = rule_next(bundle, CAUGHT, &next, f));)
        if (row_usable(row)) {
            least = isnan(least) ? row->centre : fmin(least, row->centre);
            ++*cases;
        }
    return least;
}

static void judge_c81(const struct bundle *bundle, struct finding *f)
{
    int cases;
    const double caught = least_caught(bundle, &cases, f);

    if (cases)
        rule_say(f->evidence,
                 "recorded and not judged: in each of %d cases verification saw %.0f %% of the "
                 "planted faults or "
                 "more",
                 cases, 100 * caught);
    rule_not_testable(f, "what debugging and maintenance cost cannot be measured here");
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C75",
     .article = "8bit.tr",
     .quote = "Does fusion change model outputs? No, if implemented correctly.",
     .statement = "A correct fused kernel never differs in a bit from the unfused chain; operators "
                  "stand for models.",
     .rule = "Every fused kernel against its unfused chain on the same inputs, bit by bit, and "
             "both against float64. REFUTED when one that passes verification differs in any bit, "
             "REPRODUCED when none does. Said beside it: the weaker statement, that the fused "
             "error is not larger, by 3 %. Positive control: in each of these cases verification "
             "sees 0.99 of the planted faults. Negative control: a kernel in a fixed order, run "
             "10000 times on the same inputs, must not differ from itself.",
     .judge = judge_c75,
     .needs = NEEDS(compared_needs, c75_needs)},
    {.id = "C76",
     .article = "ai-rng",
     .quote = "Nondeterminism: race conditions or atomic behavior can change outputs across runs.",
     .statement = "Sums split over blocks by fp32 atomics give more than one result in 10000 runs, "
                  "where a fixed order gives one.",
     .rule = "REPRODUCED when atomicAdd gives more than one and both fixed orders give one, "
             "REFUTED when atomicAdd gives one, else MIXED. Positive control: ten inputs are told "
             "apart. Negative control: atomics on integers must not give more than one.",
     .judge = judge_c76,
     .needs = NEEDS(c76_needs)},
    {.id = "C77",
     .article = "ai-rng",
     .quote =
         "Edge-case shapes: rare shapes can trigger incorrect code paths in specialized kernels.",
     .statement = "Random shapes find a wrong result in some fused kernel of this suite.",
     .rule = "Not testable from a bundle: shapes are drawn by --check of every probe, which ends "
             "with 1 when one is wrong.",
     .judge = judge_c77,
     .needs = NEEDS(NULL)},
    {.id = "C78",
     .article = "8bit.tr",
     .quote = "Validate memory usage patterns to avoid unexpected OOMs after kernel changes.",
     .statement =
         "Some fused variant takes more than 1.1 times the device memory of the unfused one.",
     .rule =
         "By count of operands, results, intermediates and workspace. REPRODUCED when one does, "
         "REFUTED when none does. Positive control: for three kernels of attention over 8192 "
         "tokens the count is what the driver says is gone, within 5 %. Negative control: by the "
         "driver the fused kernel, which stores no scores, must not take 1.1 times as much.",
     .judge = judge_c78,
     .needs = NEEDS(counted_needs, c78_needs)},
    {.id = "C81",
     .article = "8bit.tr",
     .quote = "What is the biggest risk? Kernel bugs that are hard to detect in QA.",
     .statement = "Debugging and maintenance become harder.",
     .rule = "Not testable: nothing here measures what debugging costs. Recorded: the share of "
             "planted faults that verification sees.",
     .judge = judge_c81,
     .needs = NEEDS(caught_needs)},
};
CLAIM_SUBJECT(claims);
