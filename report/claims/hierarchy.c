/* The ledger: the order of the memories, and how large the registers are. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C54: each nearer memory is faster; registers are fast, but tiny ------------------------- */

enum { LEVELS = 4 };
static const char *const level_names[LEVELS] = {"device memory", "L2", "shared memory",
                                                "registers"};
static const struct need latency_needs[] = {{NEED_ONE, "memory_latency.load{level=hbm}"},
                                            {NEED_ONE, "memory_latency.load{level=l2}"},
                                            {NEED_ONE, "memory_latency.load{level=shared}"},
                                            {NEED_ONE, "instructions.latency{op=fma,type=fp32*}"},
                                            NEEDS_END};
static const struct need rate_needs[] = {
    {NEED_ONE, "bandwidth.rate{level=hbm,op=read,path=ld,bytes=536870912}"},
    {NEED_ONE, "bandwidth.rate{level=l2,op=read,path=ld,*}"},
    {NEED_ONE, "bandwidth.rate{level=shared,op=read,path=ld,*}"},
    {NEED_ONE, "bandwidth.rate{level=register,op=read,*}"},
    NEEDS_END};

static const double BY_MORE_THAN = 1.03, TIMES = 5, BANKS = 128, BANKS_WITHIN = 0.05;
static const double CLOCK_WITHIN = 0.005; /* of the rate in cycles: spin's known answer */

/* Does a's interval lie above b's by more than 3 %? */
static bool above(const struct row *a, const struct row *b)
{
    return a->low > BY_MORE_THAN * b->high;
}

/* A whole ladder: each level must beat the one before, and the last one by a factor of five.
 * Neither, if a step is too small to tell. */
static enum claim_verdict climb(const struct row level[LEVELS], const struct row *last_step)
{
    bool latency = level[0].better == ROW_LOWER, ordered = true, reversed = false;
    for (int i = 0; i + 1 < LEVELS; i++) {
        const struct row *far = &level[i], *near = &level[i + 1];
        ordered = ordered && (latency ? above(far, near) : above(near, far));
        reversed = reversed || (latency ? above(near, far) : above(far, near));
    }
    enum place five = rule_place(last_step, TIMES, INFINITY);
    if (reversed || five == PLACE_BELOW)
        return CLAIM_REFUTED;
    return ordered && five == PLACE_INSIDE ? CLAIM_REPRODUCED : CLAIM_MIXED;
}

static bool take_ladder(const struct bundle *bundle, const struct need *needs,
                        struct row level[LEVELS], struct finding *f)
{
    for (int i = 0; i < LEVELS; i++) {
        if (!rule_take(bundle, needs[i].id, &level[i], f))
            return false;
        rule_say_row(f->evidence, level_names[i], &level[i]);
    }
    return true;
}

/* Both halves must agree for a verdict other than mixed. */
static enum claim_verdict both(enum claim_verdict a, enum claim_verdict b)
{
    return a == b ? a : CLAIM_MIXED;
}

static const struct need c54_needs[] = {
    {NEED_ONE, "bandwidth.capacity{level=register}"},
    {NEED_ONE, "bandwidth.capacity{level=shared}"},
    {NEED_ONE, "bandwidth.sm_rate{level=shared,op=read,path=ld,*}"},
    {NEED_ONE, "bandwidth.rate{level=l1,op=read,path=ld,bytes=65536}"},
    NEEDS_END};

static void judge_c54(const struct bundle *bundle, struct finding *f)
{
    struct row latency[LEVELS], rate[LEVELS], banks, l1, registers, shared;

    if (!take_ladder(bundle, latency_needs, latency, f) ||
        !take_ladder(bundle, rate_needs, rate, f) ||
        !RULE_TAKE(bundle, c54_needs, f, &registers, &shared, &banks, &l1))
        return;

    struct row sooner = rule_ratio(&latency[2], &latency[3]), more = rule_ratio(&rate[3], &rate[2]);
    struct row size = rule_ratio(&registers, &shared);
    enum claim_verdict fast = both(climb(latency, &sooner), climb(rate, &more));
    enum claim_verdict tiny = size.high < 1 ? CLAIM_REPRODUCED : CLAIM_REFUTED;
    bool positive =
        rule_place(&banks, BANKS * (1 - BANKS_WITHIN), BANKS * (1 + CLOCK_WITHIN)) == PLACE_INSIDE;
    bool negative = !above(&l1, &rate[2]) && !above(&rate[2], &l1);

    rule_say_row(f->evidence, "registers over shared memory, latency", &sooner);
    rule_say_row(f->evidence, "rate", &more);
    rule_say_row(f->evidence, "bytes of all SMs", &size);
    rule_say(f->evidence,
             "; strictly ordered and 5 times: %s; tiny: %s in the aggregate (a thread has at most "
             "1020 bytes)",
             claim_verdict_name(fast), claim_verdict_name(tiny));
    rule_say_control(f, true, positive, "32 banks of 4 bytes a cycle read", &banks);
    rule_say_control(f, false, negative, "\"L1 or shared memory has the higher rate\", L1 at", &l1);
    rule_conclude(f, both(fast, tiny), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C54",
     .article = "dev.to",
     .quote =
         "Global memory is large but relatively slow. [...] Registers are extremely fast but tiny.",
     .statement =
         "From device memory over L2 and shared memory to registers each is faster, in latency and "
         "in rate; registers are 5 times as fast as shared memory, and smaller.",
     .rule =
         "Two halves, MIXED when they differ. Fast: REPRODUCED when, of device memory, L2, shared "
         "memory and registers, each is faster than the one before by more than 3 %, in latency "
         "and in read rate (registers: a dependent fma; operands of fma), and registers at least 5 "
         "times as fast as shared memory in both; REFUTED when a step goes the other way or the "
         "factor is below 5, in both ladders. Tiny: REFUTED when the registers of all SMs hold at "
         "least as many bytes as their shared memory. Positive control: shared memory reads at 128 "
         "bytes a cycle, within 5 % below. Negative control: the same rule must not set L1 and "
         "shared memory, which are one memory, apart by rate.",
     .judge = judge_c54,
     .needs = NEEDS(latency_needs, rate_needs, c54_needs)},
};
CLAIM_SUBJECT(claims);
