/* The ledger: published latencies of an SM's memories. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C10: the latency of L1 ------------------------------------------------------------------- */

static const double C10_LEAST = 31, C10_MOST = 36, C10_ASKED = 20000, C10_CLOCK = 0.005;
static const double C10_CONTROL_LEAST = 150, C10_KNOWN_LEAST = 20, C10_KNOWN_MOST = 32;

static const struct need c10_needs[] = {{NEED_ONE, "memory_latency.load{level=l1}"},
                                        {NEED_ONE, "spin.waited{asked=20000}"},
                                        {NEED_ONE, "memory_latency.load{level=shared}"},
                                        {NEED_ONE, "memory_latency.control{path=l2}"},
                                        NEEDS_END};

/* A wait reads as long as was asked for, on the very clock that times it. That shows only that the
 * run of spin is valid and that the clock agrees with events. So the chase is also tried on
 * something known: shared memory, which answers in 20 to 32 cycles on all GPUs since Turing. */
static void judge_c10(const struct bundle *bundle, struct finding *f)
{
    struct row l1, spin, shared, control;
    if (!RULE_TAKE(bundle, c10_needs, f, &l1, &spin, &shared, &control))
        return;

    const double least = RULE_LIMIT(f, C10_LEAST), most = RULE_LIMIT(f, C10_MOST);
    const double within = C10_ASKED * RULE_LIMIT(f, C10_CLOCK);
    bool clock = rule_place(&spin, C10_ASKED - within, C10_ASKED + within) == PLACE_INSIDE;
    bool known = rule_place(&shared, RULE_LIMIT(f, C10_KNOWN_LEAST),
                            RULE_LIMIT(f, C10_KNOWN_MOST)) == PLACE_INSIDE;
    bool negative = rule_place(&control, least, most) == PLACE_ABOVE &&
                    control.low > RULE_LIMIT(f, C10_CONTROL_LEAST);
    rule_say_row(f, "a dependent L1 hit takes", &l1);
    rule_say_control(f, true, clock, "a wait of 20000 cycles reads", &spin);
    rule_say_control(f, true, known, "a chase through shared memory, known to take 20 to 32, reads",
                     &shared);
    rule_say_control(f, false, negative, "the same ring kept out of L1 reads", &control);
    rule_say_figure(f, "l1", &l1);
    rule_conclude(f, rule_band(rule_place(&l1, least, most)), clock && known, negative);
}

/* --- C11: is L1 the fastest? ------------------------------------------------------------------ */

static const struct need c11_needs[] = {{NEED_ONE, "memory_latency.load{level=shared}"},
                                        {NEED_ONE, "memory_latency.load{level=l1}"},
                                        {NEED_ONE, "memory_latency.load{level=l2}"},
                                        {NEED_ONE, "memory_latency.curve{bytes=16384}"},
                                        NEEDS_END};

static const struct need constant_needs[] = {/* not all bundles have these */
                                             {NEED_ANY,
                                              "memory_latency.constant{bytes=1024,spacing=64}"},
                                             NEEDS_END};

/* One faster memory refutes the claim; L1 is the fastest only if all memories were measured. */
static void judge_c11(const struct bundle *bundle, struct finding *f)
{
    struct row shared, constant, l1, again, l2;
    if (!RULE_TAKE(bundle, c11_needs, f, &shared, &l1, &l2, &again))
        return;
    bool constants = rule_look_up(bundle, constant_needs[0].id, &constant, f);

    enum claim_verdict verdict = CLAIM_MIXED;
    if (rule_faster(f, &shared, &l1) || (constants && rule_faster(f, &constant, &l1)))
        verdict = CLAIM_REFUTED;
    else if (rule_faster(f, &l1, &shared) && constants && rule_faster(f, &l1, &constant))
        verdict = CLAIM_REPRODUCED;
    bool positive = rule_faster(f, &l1, &l2);
    bool negative = !rule_faster(f, &again, &l1) && !rule_faster(f, &l1, &again);
    rule_say_row(f, "shared memory", &shared);
    if (constants)
        rule_say_row(f, "constants", &constant);
    rule_say_row(f, "L1", &l1);
    rule_say_control(f, true, positive, "L1 is faster than L2, at", &l2);
    rule_say_control(f, false, negative, "L1 and L1, measured once more, differ, at", &again);
    const bool nearer = constants && constant.centre < shared.centre;
    rule_say_figure(f, "l1", &l1);
    rule_say_figure(f, "other", nearer ? &constant : &shared);
    rule_conclude(f, verdict, positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C10",
     .article = "smallest.ai",
     .quote = "Even the L1 cache, considered the fastest local memory on the SM, has a latency of "
              "~33 cycles.",
     .clause = "has a latency of ~33 cycles",
     .plain = {.yes = "A load that hits L1 takes {l1}.",
               .no = "A load that hits L1 takes {l1}, not {C10_LEAST} to {C10_MOST}.",
               .partly = "Between: a load that hits L1 takes {l1:range} against limits of "
                         "{C10_LEAST} and {C10_MOST}."},
     .surprise = 1,
     .statement = "A dependent L1 hit takes about 33 SM cycles: pure pointer chase, slope.",
     .rule =
         "REPRODUCED when the interval of memory_latency.load{level=l1} lies in 31 to 36 cycles, "
         "REFUTED when it lies outside. Positive controls: a wait of 20000 cycles reads as such "
         "within 0.5 %, and the same chase through shared memory 20 to 32. Negative control: the "
         "same ring kept out of L1 must not read so, but above 150 cycles.",
     .judge = judge_c10,
     .needs = NEEDS(c10_needs)},
    {.id = "C11",
     .article = "smallest.ai",
     .quote = "considered the fastest local memory on the SM",
     .plain = {.yes =
                   "L1 answers in {l1}, sooner than shared and constant memory ({other} at best).",
               .no = "L1 answers in {l1}, the faster of shared and constant memory in {other}.",
               .partly = "Between: L1 answers in {l1:range}, the faster of shared and constant "
                         "memory in {other:range}; a cycle and 3 % decide."},
     .surprise = 5,
     .statement = "No memory of the SM other than its registers answers faster than an L1 hit.",
     .rule = "REFUTED when the interval of shared memory, or of a constant in its innermost cache, "
             "lies below L1's by more than 3 % and a cycle, REPRODUCED when L1's lies below both "
             "by that. Positive control: L1 reads faster than L2 by the same rule. Negative "
             "control: the same ring in L1, measured again as a point of the curve, must be "
             "neither faster nor slower.",
     .judge = judge_c11,
     .needs = NEEDS(c11_needs, constant_needs)},
};
CLAIM_SUBJECT(claims);
