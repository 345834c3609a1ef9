/* The ledger: a claim that nobody made, the smallest possible entry. */
#include <math.h>

#include "report/claims/rules.h"

static const struct need z01_needs[] = {
    {NEED_ONE, "clock_read.time{timer=wall}"},
    {NEED_ONE, "host_memory.load_time{level=l1,timer=wall}"},
    NEEDS_END};

/* Positive control: the clock costs something. Negative control: a load from the L1 is faster. */
static void judge_z01(const struct bundle *bundle, struct finding *f)
{
    const double most_ns = 100, least_ns = 5;
    struct row clock, l1;
    if (!RULE_TAKE(bundle, z01_needs, f, &clock, &l1))
        return;
    const bool positive = rule_place(&clock, least_ns, INFINITY) == PLACE_INSIDE;
    const bool negative = rule_place(&l1, least_ns, INFINITY) == PLACE_BELOW;
    rule_say_row(f, "a reading of the clock takes", &clock);
    rule_say_figure(f, "clock", &clock);
    rule_say_control(f, true, positive, "the clock costs more than a load", &clock);
    rule_say_control(f, false, negative, "a load from the L1 costs as much", &l1);
    rule_conclude(f, rule_band(rule_place(&clock, -INFINITY, most_ns)), positive, negative);
}

static const struct claim claims[] = {
    {.id = "Z01",
     .article = "nobody",
     .quote = "Reading the clock is cheap.",
     .statement = "A reading of the host's monotonic clock takes less than 100 ns.",
     .rule = "REPRODUCED when the interval of clock_read.time lies below 100 ns, REFUTED when it "
             "lies above. Positive control: it lies above 5 ns. Negative control: a load from the "
             "L1 must not.",
     .plain = {.yes = "A reading of the clock takes {clock}.",
               .no = "A reading of the clock takes {clock}, no less than 100 ns.",
               .partly = "Between: a reading of the clock takes {clock:range} against a limit of "
                         "100 ns."},
     .surprise = 1,
     .since = "2026-11-22",
     .judge = judge_z01,
     .needs = NEEDS(z01_needs)},
};
CLAIM_SUBJECT(claims);
