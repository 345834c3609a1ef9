/* The ledger: two stages on two groups of SMs. */
#include <math.h>

#include "report/claims/rules.h"

#define COLD "{model=4096,hidden=14336,impl="
#define NEAR "{model=2048,hidden=2048,impl="
#define INTERVAL(point, impl, l2) "two_stages.interval" point impl ",l2=" l2 ",timer=event}"
#define LATENCY(point, impl, l2) "two_stages.latency" point impl ",l2=" l2 ",timer=event}"

/* --- C07: do two groups of SMs pass items on as fast as all of them? -------------------------- */

static const double C07_RATE = 0.9, C07_PINS = 0.6;

/* In each state: the queue between two halves, the same kernel without halves and without overlap,
 * and with overlap. */
static const struct need c07_needs[] = {
    {NEED_ONE, INTERVAL(COLD, "queue", "cold")},
    {NEED_ONE, INTERVAL(COLD, "stay", "cold")},
    {NEED_BEST, INTERVAL(COLD, "[ad]*", "cold")}, /* all, dependent */
    {NEED_ONE, INTERVAL(NEAR, "queue", "warm")},
    {NEED_ONE, INTERVAL(NEAR, "stay", "warm")},
    {NEED_BEST, INTERVAL(NEAR, "[ad]*", "warm")},
    {NEED_ONE, INTERVAL(NEAR, "queue_shared", "warm")},
    {NEED_ONE, INTERVAL(NEAR, "stay_shared", "warm")},
    {NEED_ONE, "two_stages.share_of_pins" COLD "all,l2=cold}"},
    {NEED_ONE, "two_stages.caught" NEAR "unwaited,l2=warm}"},
    NEEDS_END};

/* What is said and not judged. */
static const struct need c07_beside[] = {{NEED_ANY, INTERVAL(COLD, "*", "cold")},
                                         {NEED_ANY, INTERVAL(NEAR, "*", "warm")},
                                         {NEED_ANY, LATENCY(COLD, "*", "cold")},
                                         {NEED_ANY, LATENCY(NEAR, "*", "warm")},
                                         NEEDS_END};

/* What all SMs take, the least of it, over what the queue takes: its throughput over theirs. */
static double rate_of(const double *value, const void *with)
{
    (void)with;
    return value[1] / value[0];
}
static double rate_over_both_of(const double *value, const void *with)
{
    (void)with;
    return fmin(value[1], value[2]) / value[0];
}

static enum claim_verdict judge_rate(struct finding *f, const char *what, const char *key,
                                     const struct row *rate)
{
    const double least = RULE_LIMIT(f, C07_RATE);
    const enum place place = rule_place(rate, least, INFINITY);
    const enum claim_verdict verdict = place == PLACE_INSIDE  ? CLAIM_REFUTED
                                       : place == PLACE_BELOW ? CLAIM_REPRODUCED
                                                              : rule_band(place);
    rule_say_row(f, what, rate);
    rule_say_figure(f, key, rate);
    rule_say_part(f, what, verdict, rate, least);
    return verdict;
}

/* One item by halves, by two green contexts, and by all SMs in one kernel. */
static void say_one_item(const struct bundle *bundle, struct finding *f)
{
    rule_say_row_beside(bundle, f, "one item takes in device memory, by halves",
                        LATENCY(COLD, "queue", "cold"));
    rule_say_row_beside(bundle, f, "by green contexts", LATENCY(COLD, "green", "cold"));
    rule_say_row_beside(bundle, f, "on all SMs", LATENCY(COLD, "stay", "cold"));
    rule_say_row_beside(bundle, f, "and in the L2 by halves", LATENCY(NEAR, "queue", "warm"));
    rule_say_row_beside(bundle, f, "in the L2 by green contexts", LATENCY(NEAR, "green", "warm"));
    rule_say_row_beside(bundle, f, "in the L2 on all SMs", LATENCY(NEAR, "stay", "warm"));
}

static void judge_c07(const struct bundle *bundle, struct finding *f)
{
    enum { QUEUE, STAY, ALL, WARM_QUEUE, WARM_STAY, WARM_ALL, NEAR_QUEUE, NEAR_STAY };
    struct row of[8], pins, caught;
    if (!RULE_TAKE(bundle, c07_needs, f, &of[QUEUE], &of[STAY], &of[ALL], &of[WARM_QUEUE],
                   &of[WARM_STAY], &of[WARM_ALL], &of[NEAR_QUEUE], &of[NEAR_STAY], &pins, &caught))
        return;

    const struct row cold =
        rule_formed(f, (const struct row *const[]){&of[QUEUE], &of[STAY], &of[ALL]}, 3, "ratio",
                    rate_over_both_of, NULL);
    const struct row warm =
        rule_formed(f, (const struct row *const[]){&of[WARM_QUEUE], &of[WARM_STAY], &of[WARM_ALL]},
                    3, "ratio", rate_over_both_of, NULL);
    const struct row held = rule_formed(
        f, (const struct row *const[]){&of[NEAR_QUEUE], &of[NEAR_STAY]}, 2, "ratio", rate_of, NULL);
    const enum claim_verdict parts[] = {judge_rate(f, "weights in device memory", "cold", &cold),
                                        judge_rate(f, "weights in the L2", "warm", &warm),
                                        judge_rate(f, "weights in shared memory", "held", &held)};
    const bool agree = parts[0] == parts[1] && parts[1] == parts[2];

    const bool positive = rule_place(&pins, RULE_LIMIT(f, C07_PINS), INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&caught, 1, INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, positive, "kernels on all SMs read weights near the rate of the pins",
                     &pins);
    rule_say_control(f, false, negative, "queues without a wait are seen to be wrong", &caught);
    rule_say_ratio_beside(
        bundle, f, "not judged: the time of one item by halves over all SMs, in device memory",
        LATENCY(COLD, "queue", "cold"), LATENCY(COLD, "stay", "cold"));
    rule_say_ratio_beside(bundle, f, "in shared memory", LATENCY(NEAR, "queue_shared", "warm"),
                          LATENCY(NEAR, "stay_shared", "warm"));
    rule_say_ratio_beside(
        bundle, f, "and from item to item over all SMs with the same overlap, in shared memory",
        INTERVAL(NEAR, "queue_shared", "warm"), INTERVAL(NEAR, "turns_shared", "warm"));
    say_one_item(bundle, f);
    rule_conclude(f, agree ? parts[0] : CLAIM_MIXED, positive, negative);
}

/* --- the entry -------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C07",
     .article = "smallest.ai",
     .quote = "This makes it impossible to parallelize the model across layers—for instance, "
              "assigning SM groups to different parts of the pipeline (e.g., encoder vs decoder), "
              "which could reduce overall latency. Without fast on-chip communication, such "
              "pipelining becomes infeasible.",
     .clause = "Without fast on-chip communication, such pipelining becomes infeasible.",
     .since = "2026-11-23",
     .plain = {.yes = "Two halves of the SMs pass on items at {held:%} of the rate of all SMs with "
                      "weights in shared memory, at {cold:%} with weights in device memory.",
               .no = "Stages on halves of the SMs reach {cold:%} of all SMs' rate, {held:%} in "
                     "shared memory.",
               .partly =
                   "Two halves of the SMs, a stage each, below {C07_RATE:%} of the rate of all "
                   "SMs: {parts}."},
     .surprise = 5,
     .statement = "Two stages on two groups of SMs do not run correctly at a useful rate.",
     .rule =
         "Two dependent products for a stream of items: each on its half of the SMs, with a "
         "queue in the L2 between, against both on all SMs in turn, by one kernel or by a kernel "
         "each, ordinary or dependent, whichever is fastest; weights in device memory, in the L2, "
         "and in shared memory. "
         "All results are checked. REFUTED when halves pass on items at 0.9 of that rate or more "
         "in each place; REPRODUCED when at less in each; else MIXED. Positive control: with "
         "weights in memory, kernels on all SMs read at 0.6 of the rate of the pins or more. "
         "Negative control: queues without a wait must be seen to be wrong, every one. Said "
         "beside it: the time of one item, where nothing overlaps, and all SMs with the same "
         "overlap.",
     .judge = judge_c07,
     .needs = NEEDS(c07_needs, c07_beside)},
};
CLAIM_SUBJECT(claims);
