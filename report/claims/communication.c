/* The ledger: how SMs reach each other. */
#include <math.h>

#include "report/claims/rules.h"

#define PAIRS "sm_to_sm.dsmem{size=*}"

static const struct need pair_needs[] = {{NEED_ANY, PAIRS}, NEEDS_END};

/* --- C05: from SM to SM directly -------------------------------------------------------------- */

static const struct need c05_needs[] = {{NEED_ONE, "memory_latency.load{level=l2}"},
                                        {NEED_ONE, "sm_to_sm.dsmem_slowest{size=*}"},
                                        {NEED_ONE, "sm_to_sm.reference{path=own}"},
                                        {NEED_ONE, "sm_to_sm.reference{path=l2}"},
                                        NEEDS_END};

static void judge_c05(const struct bundle *bundle, struct finding *f)
{
    struct row l2, slowest, own, through_l2;
    const struct row *found;
    size_t next = 0, n = 0, n_faster = 0, n_slower = 0;

    if (!RULE_TAKE(bundle, c05_needs, f, &l2, &slowest, &own, &through_l2))
        return;
    rule_say_row(f, "an L2 hit takes", &l2);
    while ((found = rule_next(bundle, PAIRS, &next, f))) {
        struct row pair;
        if (!rule_take(bundle, found->id, &pair, f))
            return;
        rule_say_row(f, pair.id, &pair);
        n_faster += rule_faster(f, &pair, &l2);
        n_slower += rule_faster(f, &l2, &pair);
        if (n++ == 0) /* of the smallest clusters, as the report has it */
            rule_say_figure(f, "pair", &pair);
    }
    if (n == 0) {
        rule_not_testable(f, PAIRS " is not in this bundle");
        return;
    }
    rule_say_row(f, "slowest of all pairs", &slowest);

    enum claim_verdict verdict = CLAIM_MIXED;
    if (n_faster == n && rule_faster(f, &slowest, &l2))
        verdict = CLAIM_REFUTED;
    else if (n_slower == n)
        verdict = CLAIM_REPRODUCED;
    rule_say_control(f, true, rule_faster(f, &own, &l2), "the same chase in the own shared memory",
                     &own);
    rule_say_control(f, false, !rule_faster(f, &through_l2, &l2), "the same chase through the L2",
                     &through_l2);
    rule_say_figure(f, "l2", &l2);
    rule_say_figure(f, "slowest", &slowest);
    rule_say_count(f, "n", (size_t)n);
    rule_say_count(f, "faster", (size_t)n_faster);
    rule_conclude(f, verdict, rule_faster(f, &own, &l2), !rule_faster(f, &through_l2, &l2));
}

/* --- C06: only through DRAM? ------------------------------------------------------------------ */

#define HANDOFF "sm_to_sm_rate.handoff_over_pin{"
static const double C06_LATENCY = 0.8;

static const struct need c06_needs[] = {
    {NEED_BEST, HANDOFF "from=next,slab=*[0-9][0-9][0-9]}"},
    {NEED_ONE, HANDOFF "from=own,slab=*}"},
    {NEED_ONE, HANDOFF "from=next,slab=4xl2}"},
    {NEED_ONE, "sm_to_sm.flag_time{path=l2_same,by=relaxed,timer=device}"},
    {NEED_ONE, "sm_to_sm.flag_time{path=l2,by=acq_rel,timer=device}"},
    {NEED_ONE, "memory_latency.load_time{level=hbm,timer=device}"},
    NEEDS_END};

static void judge_c06(const struct bundle *bundle, struct finding *f)
{
    struct row rate, flag, ordered, dram, own, large;
    if (!RULE_TAKE(bundle, c06_needs, f, &rate, &own, &large, &flag, &ordered, &dram))
        return;

    const double pins = 1; /* no threshold of ours: the rate that no DRAM passes */
    struct row latency = rule_ratio(f, &flag, &dram), handoff = rule_ratio(f, &ordered, &dram);
    enum claim_verdict verdict = CLAIM_MIXED;
    if (rule_place(&rate, 0, pins) == PLACE_ABOVE ||
        rule_place(&latency, RULE_LIMIT(f, C06_LATENCY), INFINITY) == PLACE_BELOW)
        verdict = CLAIM_REFUTED;
    else if (rule_place(&rate, 0, pins) == PLACE_INSIDE &&
             rule_place(&latency, 1, INFINITY) == PLACE_INSIDE)
        verdict = CLAIM_REPRODUCED;

    bool positive = rule_place(&own, 0, pins) == PLACE_ABOVE;
    bool negative = rule_place(&large, 0, pins) == PLACE_INSIDE;
    rule_say_row(f, "slabs handed from SM to SM, over the rate of DRAM pins", &rate);
    rule_say(f->evidence, ", by %s", rate.id);
    rule_say_row(f, "a flag from SM to SM", &flag);
    rule_say(f->evidence, ", by %s", flag.id);
    rule_say_row(f, "over the latency of DRAM", &latency);
    rule_say_row(f, "not judged: a flag that hands over other data, by release and acquire, takes",
                 &ordered);
    rule_say_row(f, "and over the latency of DRAM", &handoff);
    rule_say_control(f, true, positive, "SMs read their own slabs above the pins", &own);
    rule_say_control(f, false, negative, "slabs of four times the L2 go round above the pins",
                     &large);
    rule_say_figure(f, "rate", &rate);
    rule_say_figure(f, "latency", &latency);
    rule_conclude(f, verdict, positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C05",
     .article = "smallest.ai",
     .quote = "there’s no mechanism to let SMs communicate directly",
     .plain =
         {.yes = "Another SM's shared memory takes {pair} to read, no less than the {l2} of an L2 "
                 "hit.",
          .no = "An SM reads another's shared memory in {pair}; an L2 hit takes {l2}.",
          .partly =
              "Another SM's shared memory read before an L2 hit ({l2}): holds at {faster} of {n} "
              "cluster sizes, at the others, or for the slowest pair ({slowest}), does not."},
     .surprise = 9,
     .statement = "Shared memory of another SM cannot be read, or only as slowly as an L2 hit; "
                  "tested on every pair of a cluster (compute capability 9.0 and up).",
     .rule = "The same article: \"3. No Network-on-Chip (NOC) for Cross-SM Coordination\"; a "
             "network between SMs and L2 is trivially there and is not counted. REFUTED when the "
             "dependent load from another SM's shared memory, its data verified, lies below the L2 "
             "hit by more than 3 % and a cycle, at every cluster size and for the slowest of all "
             "pairs that clusters reach; REPRODUCED when the L2 hit lies below it at each, by as "
             "much; else MIXED. Positive control: the own shared memory lies below by the same "
             "rule. Negative control: the same chase led through the L2 must not.",
     .judge = judge_c05,
     .needs = NEEDS(c05_needs, pair_needs)},
    {.id = "C06",
     .article = "smallest.ai",
     .quote =
         "Unlike some AI-specific chips that include a Network-on-Chip (NOC) for fast intra-chip "
         "data exchange, Nvidia GPUs rely on global DRAM for all inter-SM communication.",
     .clause = "Nvidia GPUs rely on global DRAM for all inter-SM communication",
     .since = "2026-11-22",
     .plain = {.yes = "SMs hand data on at {rate} of DRAM's rate; a bare flag takes "
                      "{latency} of an HBM load.",
               .no = "SMs hand data on at {rate} times DRAM's rate; a bare flag takes "
                     "{latency:%} of an HBM load.",
               .partly =
                   "Between: SMs hand data on at {rate:range} of DRAM's rate (limit 1), a "
                   "bare flag takes {latency:range} of an HBM load (limit {C06_LATENCY})."},
     .surprise = 7,
     .statement = "Handing data from SM to SM never runs faster than DRAM, in latency and in "
                  "bandwidth; 'all' makes one exception enough to refute.",
     .rule = "REFUTED when SMs read what others have just written, verified, above the rate of the "
             "DRAM's pins, or a flag goes one way, on the same side of the L2, in less than 0.8 of "
             "a DRAM load; REPRODUCED when neither comes before DRAM; else MIXED. Positive "
             "control: slabs that SMs read back themselves exceed the pins. Negative control: the "
             "same with slabs of four times the L2 must stay at the pins or below. Said beside it: "
             "a flag alone is no handoff; one that orders other data, too, takes longer.",
     .judge = judge_c06,
     .needs = NEEDS(c06_needs)},
};
CLAIM_SUBJECT(claims);
