/* The ledger: what the memory of an SM is said to cost. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C10: the latency of L1 ------------------------------------------------------------------- */

static const double C10_LEAST = 31, C10_MOST = 36, C10_ASKED = 20000, C10_CLOCK = 0.005;
static const double C10_CONTROL_LEAST = 150;

static void judge_c10(const struct bundle *bundle, struct finding *f)
{
    struct row l1, spin, control;
    if (!rule_take(bundle, "memory_latency.load{level=l1}", &l1, f) ||
        !rule_take(bundle, "spin.waited{asked=20000}", &spin, f) ||
        !rule_take(bundle, "memory_latency.control{path=l2}", &control, f))
        return;

    bool positive =
        rule_place(&spin, C10_ASKED * (1 - C10_CLOCK), C10_ASKED * (1 + C10_CLOCK)) == PLACE_INSIDE;
    bool negative =
        rule_place(&control, C10_LEAST, C10_MOST) == PLACE_ABOVE && control.low > C10_CONTROL_LEAST;
    rule_say_row(f->evidence, "a dependent L1 hit takes", &l1);
    rule_say_control(f, true, positive, "a wait of 20000 cycles reads", &spin);
    rule_say_control(f, false, negative, "the same ring kept out of L1 reads", &control);
    rule_conclude(f, rule_band(rule_place(&l1, C10_LEAST, C10_MOST)), positive, negative);
}

/* --- C11: is L1 the fastest? ------------------------------------------------------------------ */

static void judge_c11(const struct bundle *bundle, struct finding *f)
{
    struct row shared, l1, l2;
    if (!rule_take(bundle, "memory_latency.load{level=shared}", &shared, f) ||
        !rule_take(bundle, "memory_latency.load{level=l1}", &l1, f) ||
        !rule_take(bundle, "memory_latency.load{level=l2}", &l2, f))
        return;

    enum claim_verdict verdict = CLAIM_MIXED;
    if (rule_faster(&shared, &l1))
        verdict = CLAIM_REFUTED;
    else if (rule_faster(&l1, &shared))
        verdict = CLAIM_REPRODUCED;
    rule_say_row(f->evidence, "shared memory", &shared);
    rule_say_row(f->evidence, "L1", &l1);
    rule_say_control(f, true, rule_faster(&l1, &l2), "L1 is faster than L2, at", &l2);
    rule_say_control(f, false, !rule_faster(&l2, &l1), "L2 is faster than L1, at", &l1);
    rule_conclude(f, verdict, rule_faster(&l1, &l2), !rule_faster(&l2, &l1));
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {"C10", "smallest.ai",
     "Even the L1 cache, considered the fastest local memory on the SM, has a latency of ~33 "
     "cycles.",
     "A dependent L1 hit takes about 33 SM cycles: pure pointer chase, slope.",
     "REPRODUCED when the interval of memory_latency.load{level=l1} lies in 31 to 36 cycles, "
     "REFUTED when it lies outside. Positive control: a wait of 20000 cycles reads as such "
     "within 0.5 %. Negative control: the same ring kept out of L1 must not read so, but above "
     "150 cycles.",
     judge_c10},
    {"C11", "smallest.ai", "considered the fastest local memory on the SM",
     "No memory of the SM other than its registers answers faster than an L1 hit.",
     "REFUTED when shared memory's interval lies below L1's by more than 3 % and a cycle, "
     "REPRODUCED when L1's lies below shared memory's by that. Positive control: L1 reads faster "
     "than L2 by the same rule. Negative control: \"L2 is faster than L1\" must fail.",
     judge_c11},
};
CLAIM_SUBJECT(claims);
