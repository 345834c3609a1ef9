/* The ledger: the quality of fused results: the same bits, the same error, faults that are
 * caught. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/fused.h"

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

static const double C75_BLIND = 0.01, C75B_WORSE = 0.03, C75B_SEEN = 2;
enum { TOLD_APART = 10 };

struct c75 {
    int compared, differ, blind;
    double most, most_ulps, least_caught;
    char most_id[DOCUMENT_ID], ulps_id[DOCUMENT_ID]; /* of most, of most_ulps */
};

#define DIFFER "*.differ{*"
#define FUSED(metric) "*." metric "{*impl=fused,*"
#define UNFUSED(metric) "*." metric "{*impl=unfused,*"
#define CAUGHT "*.caught{*"

static const struct need compared_needs[] = {
    {NEED_ANY, DIFFER}, {NEED_ANY, "*.ulps{*"}, {NEED_ANY, CAUGHT}, NEEDS_END};

/* Every fused result that was compared with the unfused one, bit by bit. Each also needs the share
 * of planted faults that verification caught in the same case. */
static void compare_all(const struct bundle *bundle, struct c75 *c, struct finding *f)
{
    const struct row *row, *ulps, *caught;

    c->least_caught = INFINITY;
    for (size_t next = 0; (row = rule_next(bundle, DIFFER, &next, f));) {
        if (!row_usable(row))
            continue;
        c->compared++;
        c->differ += row->centre > 0;
        if (row->centre > c->most) {
            c->most = row->centre;
            snprintf(c->most_id, sizeof c->most_id, "%s", row->id);
        }
        ulps = beside(bundle, row, "ulps", f);
        if (ulps && ulps->centre > c->most_ulps) {
            c->most_ulps = ulps->centre;
            snprintf(c->ulps_id, sizeof c->ulps_id, "%s", ulps->id);
        }
        caught = beside(bundle, row, "caught", f);
        c->blind += !caught || caught->low < 1 - RULE_LIMIT(f, C75_BLIND);
        if (caught)
            c->least_caught = fmin(c->least_caught, caught->centre);
    }
}

static const struct need c75_needs[] = {{NEED_ONE, "repeatability.distinct{order=two_kernels,*"},
                                        {NEED_ONE, "repeatability.distinct{order=inputs,*"},
                                        NEEDS_END};

static void judge_c75(const struct bundle *bundle, struct finding *f)
{
    struct c75 c = {0};
    struct row ordered, inputs;

    compare_all(bundle, &c, f);
    if (c.compared == 0) {
        rule_not_testable(f, "no fused result in this bundle was compared with the unfused one");
        return;
    }
    if (!RULE_TAKE(bundle, c75_needs, f, &ordered, &inputs))
        return;
    const bool apart = inputs.low >= TOLD_APART;
    const bool positive = c.blind == 0 && apart, negative = ordered.high <= 1;

    rule_say(f->evidence, "of %d fused results compared with the unfused ones %d differ in a bit",
             c.compared, c.differ);
    if (c.differ)
        rule_say(f->evidence, "; at most %.3g of the elements: %s; by at most %g ulps: %s", c.most,
                 c.most_id, c.most_ulps, c.most_ulps > 0 ? c.ulps_id : "not counted");
    rule_say(
        f->controls,
        "positive control: in each of these cases verification sees planted faults: %.0f %% of "
        "them at least, not shown for %d, %s",
        100 * c.least_caught, c.blind, c.blind == 0 ? "passed" : "FAILED");
    rule_say_check(f, true, c.blind == 0, "verification sees planted faults", c.least_caught,
                   "ratio");
    rule_say_control(f, true, apart, "ten inputs give ten results", &inputs);
    rule_say_control(f, false, negative, "one kernel differs from itself, results in 10000 runs",
                     &ordered);
    rule_say_count(f, "compared", (size_t)c.compared);
    rule_say_count(f, "differ", (size_t)c.differ);
    rule_conclude(f, c.differ ? CLAIM_REFUTED : CLAIM_REPRODUCED, positive, negative);
}

/* --- C75b: are they the same within rounding? ------------------------------------------------- */

static const struct need errors_needs[] = {
    {NEED_ANY, FUSED("error")}, {NEED_ANY, UNFUSED("error")}, NEEDS_END};

#define INT4(metric)                                                                               \
    "quantized." metric "{rows=4096,cols=14336,batch=1,type=int4,impl=fused,mode=graph,l2=cold}"
#define SAME(mode)                                                                                 \
    "bias_gelu_scale.error{rows=16384,cols=8192,type=fp16,impl=fused,mode=" mode ",l2=cold}"

static const struct need c75b_needs[] = {{NEED_ONE, INT4("error")},
                                         {NEED_ONE, INT4("error_unquantised")},
                                         {NEED_ONE, SAME("graph")},
                                         {NEED_ONE, SAME("stream")},
                                         NEEDS_END};

static void judge_c75b(const struct bundle *bundle, struct finding *f)
{
    const double worse_by = 1 + RULE_LIMIT(f, C75B_WORSE);
    const struct row *error, *unfused;
    struct row own, of_format, once, again;
    int cases = 0, worse = 0;

    for (size_t next = 0; (error = rule_next(bundle, FUSED("error"), &next, f));) {
        if (!row_usable(error) || !(unfused = unfused_of(bundle, error, f)))
            continue;
        cases++;
        worse += error->centre > worse_by * unfused->centre;
    }
    if (cases == 0) {
        rule_not_testable(f, "no fused error in this bundle has the unfused one beside it");
        return;
    }
    if (!RULE_TAKE(bundle, c75b_needs, f, &own, &of_format, &once, &again))
        return;

    const struct row seen = rule_ratio(f, &of_format, &own), same = rule_ratio(f, &again, &once);
    const bool positive = fused_at_least(&seen, RULE_LIMIT(f, C75B_SEEN));
    const bool negative = fused_below(&same, worse_by);
    const size_t half = 2 * rule_tally(f, "cases in which it is worse", (size_t)worse);
    rule_say(f->evidence,
             "against float64 the fused result is worse by more than 3 %% in %d of %d cases", worse,
             cases);
    rule_say_control(f, true, positive, "4 bits for a weight are worse than the kernel, times",
                     &seen);
    rule_say_control(f, false, negative, "one kernel launched otherwise is worse by 3 %", &same);
    rule_say_count(f, "cases", (size_t)cases);
    rule_say_count(f, "worse", (size_t)worse);
    rule_conclude(f,
                  worse == 0              ? CLAIM_REPRODUCED
                  : half >= (size_t)cases ? CLAIM_REFUTED
                                          : CLAIM_MIXED,
                  positive, negative);
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

    rule_say_row(f, "different results in 10000 runs on the same inputs, by atomicAdd", &arrival);
    rule_say_row(f, "added up by the last to arrive", &last);
    rule_say_row(f, "by a second kernel", &two);
    rule_say_control(f, true, positive, "ten inputs give ten results", &inputs);
    rule_say_control(f, false, negative,
                     "atomics on integers, whose order cannot matter, give several", &fixed);
    rule_say_figure(f, "arrival", &arrival);
    rule_say_figure(f, "last", &last);
    rule_say_part(f, "atomics that give several results",
                  rule_band(rule_place(&arrival, 2, INFINITY)), &arrival, NAN);
    rule_say_part(f, "a fixed order that gives one", one ? CLAIM_REPRODUCED : CLAIM_REFUTED, &last,
                  NAN);
    rule_conclude(f,
                  !several ? CLAIM_REFUTED
                  : one    ? CLAIM_REPRODUCED
                           : CLAIM_MIXED,
                  positive, negative);
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
    rule_say_why(f, WHY_NEVER, "what debugging and maintenance cost is no figure of a GPU");
    rule_not_testable(f, "what debugging and maintenance cost cannot be measured here");
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C75",
     .article = "8bit.tr",
     .quote = "Does fusion change model outputs? No, if implemented correctly.",
     .since = "2026-11-22",
     .plain =
         {.yes = "None of {compared} fused results differs in a bit from the separate kernels'.",
          .no = "{differ} of {compared} fused results differ in bits from the separate kernels'."},
     .surprise = 6,
     .statement = "A correct fused kernel never differs in a bit from the unfused chain; operators "
                  "stand for models.",
     .rule = "Every fused kernel against its unfused chain on the same inputs, bit by bit. REFUTED "
             "when one that passes verification differs in any bit, REPRODUCED when none does. "
             "Positive controls: in each of these cases verification sees 0.99 of the planted "
             "faults, and ten inputs give ten results. Negative control: a kernel in a fixed "
             "order, run 10000 times on the same inputs, must not differ from itself.",
     .judge = judge_c75,
     .needs = NEEDS(compared_needs, c75_needs)},
    {.id = "C75b",
     .article = "8bit.tr",
     .quote = "Does fusion change model outputs? No, if implemented correctly.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "{worse} of {cases} fused results are further from float64 than the separate "
                      "kernels'.",
               .no = "{worse} of {cases} fused results are further from float64 than the separate "
                     "kernels': half or more.",
               .partly = "No further from float64 than separate kernels: does not hold for {worse} "
                         "of {cases} fused results, for the others holds."},
     .surprise = 2,
     .statement = "Fused and unfused results agree within rounding: against float64 a fused kernel "
                  "errs no more than its unfused chain.",
     .rule = "The error against float64, relative Frobenius norm, of every fused form that has the "
             "unfused one beside it. REPRODUCED when it is larger by more than 3 % in none, "
             "REFUTED when in half of them or more, MIXED between. Positive control: against the "
             "weights as they were, int4 errs at least twice as much as its kernel does. Negative "
             "control: one kernel on the same inputs, launched from a stream and by a graph, must "
             "not differ by 3 %.",
     .judge = judge_c75b,
     .needs = NEEDS(errors_needs, c75b_needs)},
    {.id = "C76",
     .article = "ai-rng",
     .quote = "Nondeterminism: race conditions or atomic behavior can change outputs across runs.",
     .clause = "atomic behavior can change outputs across runs",
     .plain = {.yes =
                   "Sums by atomics give {arrival} results in 10000 runs, in a fixed order {last}.",
               .no = "Sums by atomics give {arrival} result in 10000 runs, as a fixed order does "
                     "({last}).",
               .partly = "In 10000 runs: {parts}."},
     .surprise = 3,
     .statement = "Sums split over blocks by fp32 atomics give more than one result in 10000 runs, "
                  "where a fixed order gives one.",
     .rule = "REPRODUCED when atomicAdd gives more than one and both fixed orders give one, "
             "REFUTED when atomicAdd gives one, else MIXED. Positive control: ten inputs are told "
             "apart. Negative control: atomics on integers must not give more than one.",
     .judge = judge_c76,
     .needs = NEEDS(c76_needs)},
    {.id = "C81",
     .article = "8bit.tr",
     .quote = "What is the biggest risk? Kernel bugs that are hard to detect in QA.",
     .statement = "Bugs of fused kernels are hard to detect, and so debugging and maintenance "
                  "become harder.",
     .rule = "Not testable: nothing here measures what debugging costs. Recorded: the share of "
             "planted faults that verification sees.",
     .judge = judge_c81,
     .needs = NEEDS(caught_needs)},
};
CLAIM_SUBJECT(claims);
