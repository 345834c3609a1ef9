/* The ledger: what the blocks of one kernel that stays work on at one time. */
#include <math.h>

#include "report/claims/rules.h"

#define POINT "{model=8192,hidden=28672,impl="
#define STAMPED(metric, impl) "two_layers." metric POINT impl "}"

/* --- C08: are two layers ever at work at once? ------------------------------------------------ */

static const double C08_OVERLAPS = 0.05, C08_NEVER = 0.02; /* shares of the time */
static const double C08_SEES = 0.05; /* of two operations, of one layer or of two */

static const struct need c08_needs[] = {{NEED_ONE, STAMPED("layer_overlap_least", "values")},
                                        {NEED_ONE, STAMPED("layer_overlap_most", "values")},
                                        {NEED_ONE, STAMPED("layer_overlap_least", "turns")},
                                        {NEED_ONE, STAMPED("layer_overlap_most", "turns")},
                                        {NEED_ONE, STAMPED("layer_overlap_least", "halves")},
                                        {NEED_ONE, STAMPED("layer_overlap_most", "halves")},
                                        {NEED_ONE, STAMPED("layer_overlap_most", "barrier")},
                                        {NEED_ONE, STAMPED("overlap_least", "turns")},
                                        {NEED_ONE, STAMPED("caught", "unwaited")},
                                        NEEDS_END};

/* What is said and not judged. */
static const struct need c08_beside[] = {
    {NEED_ANY, STAMPED("layer_overlap", "*")},
    {NEED_ANY, STAMPED("overlap_least", "values")},
    {NEED_ANY, "two_layers.resolution" POINT "barrier,timer=device}"},
    {NEED_ANY, "two_layers.stamp_error" POINT "barrier,timer=device}"},
    NEEDS_END};

/* At work at once for as long as the stamps make sure of; never, as far as they can tell. */
static enum claim_verdict judge_overlap(struct finding *f, const char *what, const char *part,
                                        const char *key, const struct row *least,
                                        const struct row *most)
{
    const double overlaps = RULE_LIMIT(f, C08_OVERLAPS), never = RULE_LIMIT(f, C08_NEVER);
    const enum place surely = rule_place(least, overlaps, INFINITY);
    const enum place hardly = rule_place(most, never, INFINITY);
    const enum claim_verdict verdict = surely == PLACE_UNKNOWN || hardly == PLACE_UNKNOWN
                                           ? CLAIM_NOT_TESTABLE
                                       : surely == PLACE_INSIDE ? CLAIM_REFUTED
                                       : hardly == PLACE_BELOW  ? CLAIM_REPRODUCED
                                                                : CLAIM_MIXED;
    rule_say_row(f, what, least);
    rule_say_row(f, "and at most", most);
    rule_say_figure(f, key, least);
    rule_say_part(f, part, verdict, least, overlaps);
    return verdict;
}

/* One kernel in which they are refutes that they never are. */
static enum claim_verdict of_all(const enum claim_verdict *part, size_t n)
{
    enum claim_verdict all = part[0];
    for (size_t i = 1; i < n; i++)
        if (all == CLAIM_NOT_TESTABLE || part[i] == CLAIM_NOT_TESTABLE)
            all = CLAIM_NOT_TESTABLE;
        else if (all == CLAIM_REFUTED || part[i] == CLAIM_REFUTED)
            all = CLAIM_REFUTED;
        else if (all != part[i])
            all = CLAIM_MIXED;
    return all;
}

static void judge_c08(const struct bundle *bundle, struct finding *f)
{
    struct row values, values_most, turns, turns_most, halves, halves_most, barrier, seen, caught;
    if (!RULE_TAKE(bundle, c08_needs, f, &values, &values_most, &turns, &turns_most, &halves,
                   &halves_most, &barrier, &seen, &caught))
        return;

    rule_say(f->evidence, "two layers in one kernel that stays; shares of the time in which both "
                          "are at work, given what stamps are off by");
    const enum claim_verdict parts[] = {
        judge_overlap(f, "without a barrier of the grid, one item: at least",
                      "in one item, that they never are", "values", &values, &values_most),
        judge_overlap(f, "two items in turn: at least", "in two items in turn, that they never are",
                      "turns", &turns, &turns_most),
        judge_overlap(f, "a layer on each half of the blocks, four items: at least",
                      "with a layer on each half of the blocks, that they never are", "halves",
                      &halves, &halves_most)};

    const bool sees = rule_place(&seen, RULE_LIMIT(f, C08_SEES), INFINITY) == PLACE_INSIDE;
    const bool is_caught = rule_place(&caught, 1, INFINITY) == PLACE_INSIDE;
    const bool is_apart = rule_place(&barrier, 0, RULE_LIMIT(f, C08_NEVER)) == PLACE_INSIDE;
    rule_say_control(f, true, sees,
                     "two operations, of one layer or of two, are seen at work at once, two items "
                     "in turn, at least",
                     &seen);
    rule_say_control(f, false, is_caught, "kernels that wait for no word are seen to be wrong",
                     &caught);
    rule_say_control(f, false, is_apart,
                     "a barrier behind each operation leaves of two layers at most", &barrier);
    rule_say_row_beside(bundle, f,
                        "not judged: two operations, of one layer or of two, one item: at least",
                        STAMPED("overlap_least", "values"));
    rule_say_row_beside(bundle, f, "a step of the clock that all SMs share",
                        "two_layers.resolution" POINT "barrier,timer=device}");
    rule_say_row_beside(bundle, f, "two stamps of one moment are apart at most",
                        "two_layers.stamp_error" POINT "barrier,timer=device}");
    rule_conclude(f, of_all(parts, sizeof parts / sizeof parts[0]), sees, is_caught && is_apart);
}

/* --- the entry -------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C08",
     .article = "smallest.ai",
     .quote = "Each SM, even in a fused kernel, typically ends up working on the same layer at any "
              "point in time",
     .clause = "Each SM, even in a fused kernel, [...] ends up working on the same layer at any "
               "point in time",
     .since = "2026-11-28T19:00Z",
     .plain = {.yes = "In one kernel of two layers without a barrier of the grid, both are hardly "
                      "ever at work at once: surely {values:%} of the time, {turns:%} with two "
                      "items, {halves:%} with half of the blocks for each.",
               .no = "Two layers in one kernel overlap {values:%} of the time; two items "
                     "{turns:%}, by halves {halves:%}.",
               .partly = "Two layers in one kernel at work at once: {parts}."},
     .surprise = 4,
     .statement = "In a persistent kernel, however it is built, two layers are never active at "
                  "once. Which kernels are typical cannot be measured.",
     .rule =
         "Two layers of two products in one kernel that stays, on all SMs; blocks write down each "
         "operation's tasks with begin and end by the clock that all SMs share, waiting left out. "
         "The share of the time in which tasks of both layers are under way, without a barrier "
         "of the grid: for one item, for two items in turn, and for four with a layer on each half "
         "of the blocks; two operations of one layer do not count. What messages between SMs leave "
         "open about the clock, and a step of it, make a least and a most of it. All results are "
         "checked. REFUTED when it is at least 0.05 by the least in one of the three; REPRODUCED "
         "when below 0.02 by the most in all; else MIXED. Positive control: without a barrier "
         "blocks go on as they end, so of two items in turn two operations, of one layer or of "
         "two, are at work at once for at least 0.05. Negative controls: with a barrier of the "
         "grid behind each operation two layers are for at most 0.02 by the most, and kernels that "
         "do not wait for their words are seen to be wrong. Until 28 November the halves were the "
         "positive control, and two kernels were judged.",
     .judge = judge_c08,
     .needs = NEEDS(c08_needs, c08_beside)},
};
CLAIM_SUBJECT(claims);
