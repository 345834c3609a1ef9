/* The ledger: the order of the memories, and how large the registers are. */
#include <math.h>

#include "report/claims/rules.h"

/* --- C54: registers beside global memory; C54b, C54c: what we add ---------------------------- */

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

static const double C54_MORE = 0.03, C54_TIMES = 5, C54_TINY = 0.01;
static const double BANKS = 128, BANKS_WITHIN = 0.05;
static const double CLOCK_WITHIN = 0.005; /* of the rate in cycles: spin's known answer */

/* Does a's interval lie above b's by more than 3 %? */
static bool above(const struct row *a, const struct row *b, struct finding *f)
{
    return a->low > (1 + RULE_LIMIT(f, C54_MORE)) * b->high;
}

/* A whole ladder: each level must beat the one before, and the last one by a factor of five.
 * Neither, if a step is too small to tell. */
static enum claim_verdict climb(const struct row level[LEVELS], const struct row *last_step,
                                struct finding *f)
{
    bool latency = level[0].better == ROW_LOWER, ordered = true, reversed = false;
    for (int i = 0; i + 1 < LEVELS; i++) {
        const struct row *far = &level[i], *near = &level[i + 1];
        ordered = ordered && (latency ? above(far, near, f) : above(near, far, f));
        reversed = reversed || (latency ? above(near, far, f) : above(far, near, f));
    }
    enum place five = rule_place(last_step, RULE_LIMIT(f, C54_TIMES), INFINITY);
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
        rule_say_row(f, level_names[i], &level[i]);
    }
    return true;
}

/* Both halves must agree for a verdict other than mixed. */
static enum claim_verdict both(enum claim_verdict a, enum claim_verdict b)
{
    return a == b ? a : CLAIM_MIXED;
}

static const struct need bank_needs[] = {
    {NEED_ONE, "bandwidth.sm_rate{level=shared,op=read,path=ld,*}"},
    {NEED_ONE, "bandwidth.rate{level=l1,op=read,path=ld,bytes=65536}"},
    {NEED_ONE, "bandwidth.rate{level=shared,op=read,path=ld,*}"},
    {NEED_ONE, "memory_latency.load{level=shared}"},
    {NEED_ONE, "memory_latency.load{level=l2}"},
    NEEDS_END};

/* Shared memory's rate is known, and that an L2 hit takes several times as long. L1 and shared
 * memory are one memory: of these neither is the faster. */
static bool take_controls(const struct bundle *bundle, bool *positive, bool *negative,
                          struct finding *f)
{
    struct row banks, l1, shared, near, far;

    if (!RULE_TAKE(bundle, bank_needs, f, &banks, &l1, &shared, &near, &far))
        return false;
    const struct row apart = rule_ratio(f, &far, &near);
    const bool clocked = rule_place(&apart, RULE_LIMIT(f, C54_TIMES), INFINITY) == PLACE_INSIDE;
    const bool read = rule_place(&banks, BANKS * (1 - RULE_LIMIT(f, BANKS_WITHIN)),
                                 BANKS * (1 + RULE_LIMIT(f, CLOCK_WITHIN))) == PLACE_INSIDE;
    *negative = !above(&l1, &shared, f) && !above(&shared, &l1, f);
    *positive = read && clocked;
    rule_say_control(f, true, read, "32 banks of 4 bytes a cycle read", &banks);
    rule_say_control(f, true, clocked, "an L2 hit takes 5 times as long as shared memory, at",
                     &apart);
    rule_say_control(f, false, *negative, "\"L1 or shared memory has the higher rate\", L1 at",
                     &l1);
    return true;
}

static const struct need c54_needs[] = {{NEED_ONE, "bandwidth.capacity{level=register}"},
                                        {NEED_ONE, "bandwidth.capacity{level=hbm}"},
                                        NEEDS_END};

/* The author's contrast is with global memory. */
static void judge_c54(const struct bundle *bundle, struct finding *f)
{
    struct row slow, fast, low, high, registers, global;
    bool positive, negative;

    if (!rule_take(bundle, latency_needs[0].id, &slow, f) ||
        !rule_take(bundle, latency_needs[3].id, &fast, f) ||
        !rule_take(bundle, rate_needs[0].id, &low, f) ||
        !rule_take(bundle, rate_needs[3].id, &high, f) ||
        !RULE_TAKE(bundle, c54_needs, f, &registers, &global))
        return;
    const double times = RULE_LIMIT(f, C54_TIMES);
    const struct row sooner = rule_ratio(f, &slow, &fast), more = rule_ratio(f, &high, &low);
    const struct row size = rule_ratio(f, &registers, &global);
    const enum claim_verdict by_latency = rule_band(rule_place(&sooner, times, INFINITY));
    const enum claim_verdict by_rate = rule_band(rule_place(&more, times, INFINITY));
    const enum claim_verdict tiny = rule_band(rule_place(&size, 0, RULE_LIMIT(f, C54_TINY)));

    rule_say_row(f, "device memory over registers, latency", &sooner);
    rule_say_row(f, "registers over device memory, rate", &more);
    rule_say_row(f, "bytes", &size);
    rule_say_figure(f, "sooner", &sooner);
    rule_say_figure(f, "more", &more);
    rule_say_figure(f, "size", &size);
    rule_say_part(f, "latency", by_latency, &sooner, times);
    rule_say_part(f, "rate", by_rate, &more, times);
    rule_say_part(f, "bytes", tiny, &size, C54_TINY);
    if (take_controls(bundle, &positive, &negative, f))
        rule_conclude(f, both(both(by_latency, by_rate), tiny), positive, negative);
}

static void judge_c54b(const struct bundle *bundle, struct finding *f)
{
    struct row latency[LEVELS], rate[LEVELS];
    bool positive, negative;

    if (!take_ladder(bundle, latency_needs, latency, f) ||
        !take_ladder(bundle, rate_needs, rate, f) ||
        !take_controls(bundle, &positive, &negative, f))
        return;
    const struct row sooner = rule_ratio(f, &latency[2], &latency[3]);
    const struct row more = rule_ratio(f, &rate[3], &rate[2]);
    rule_say_row(f, "registers over shared memory, latency", &sooner);
    rule_say_row(f, "rate", &more);
    rule_say_figure(f, "hbm", &latency[0]);
    rule_say_figure(f, "l2", &latency[1]);
    rule_say_figure(f, "shared", &latency[2]);
    rule_say_figure(f, "registers", &latency[3]);
    rule_say_figure(f, "sooner", &sooner);
    rule_say_figure(f, "more", &more);
    rule_say_part(f, "by latency", climb(latency, &sooner, f), &sooner, NAN);
    rule_say_part(f, "by rate", climb(rate, &more, f), &more, NAN);
    rule_conclude(f, both(climb(latency, &sooner, f), climb(rate, &more, f)), positive, negative);
}

static const struct need c54c_needs[] = {{NEED_ONE, "bandwidth.capacity{level=register}"},
                                         {NEED_ONE, "bandwidth.capacity{level=shared}"},
                                         {NEED_ONE, "bandwidth.capacity{level=l2}"},
                                         {NEED_ONE, "bandwidth.capacity{level=hbm}"},
                                         NEEDS_END};

static void judge_c54c(const struct bundle *bundle, struct finding *f)
{
    struct row registers, shared, l2, global;

    if (!RULE_TAKE(bundle, c54c_needs, f, &registers, &shared, &l2, &global))
        return;
    const struct row size = rule_ratio(f, &registers, &shared),
                     of_l2 = rule_ratio(f, &registers, &l2);
    const struct row of_global = rule_ratio(f, &registers, &global);
    const struct row large = rule_ratio(f, &global, &shared);
    const bool positive = of_global.high < 1, negative = !(large.high < 1);

    rule_say_row(f, "bytes of the registers of all SMs over those of shared memory", &size);
    rule_say_row(f, "over those of the L2", &of_l2);
    rule_say(f->evidence, "; a thread has at most 1020");
    rule_say_control(f, true, positive, "they are smaller than device memory, bytes over its",
                     &of_global);
    rule_say_control(f, false, negative,
                     "device memory is smaller than shared memory, bytes over its", &large);
    rule_say_figure(f, "size", &size);
    rule_conclude(f,
                  size.high < 1   ? CLAIM_REPRODUCED
                  : size.low >= 1 ? CLAIM_REFUTED
                                  : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C54",
     .article = "dev.to",
     .quote =
         "Global memory is large but relatively slow. [...] Registers are extremely fast but tiny.",
     .since = "2026-11-22",
     .plain = {.yes = "Registers answer {sooner} times sooner than device memory, with {size:%} of "
                      "its bytes.",
               .no = "Registers answer {sooner} times sooner than device memory, with {size:%} of "
                     "its bytes: no contrast.",
               .partly = "Registers against device memory: {parts}."},
     .statement = "Registers are at least 5 times as fast as global memory, in latency and in "
                  "rate, and hold at most a hundredth of its bytes.",
     .rule = "The article's contrast, registers of all SMs against device memory; 5 times and a "
             "hundredth are our reading. REPRODUCED when latency (a dependent fma), read rate "
             "(operands of fma) and bytes all hold, REFUTED when none does, MIXED otherwise. "
             "Positive controls: shared memory reads at 128 bytes a cycle, within 5 % below; an L2 "
             "hit takes 5 times as long as shared memory or more. Negative control: L1 and shared "
             "memory, which are one memory, must not be set apart by rate.",
     .judge = judge_c54,
     .needs = NEEDS(latency_needs, rate_needs, c54_needs, bank_needs)},
    {.id = "C54b",
     .article = "dev.to",
     .quote =
         "Global memory is large but relatively slow. [...] Registers are extremely fast but tiny.",
     .clause = "",
     .since = "2026-11-22",
     .plain =
         {.yes = "Registers answer in {registers}, shared memory in {shared}, L2 in {l2}.",
          .no =
              "Registers answer in {registers}, shared memory in {shared}, L2 in {l2}: no ladder.",
          .partly = "Each memory nearer to the SM is faster: {parts}."},
     .statement = "From device memory over L2 and shared memory to registers each is faster, in "
                  "latency and in rate; registers are 5 times as fast as shared memory.",
     .rule =
         "Two ladders, of latency and of read rate. REPRODUCED when in both, of device memory, L2, "
         "shared memory and registers, each is faster than the one before by more than 3 %, and "
         "registers at least 5 times as fast as shared memory; REFUTED when in both a step goes "
         "the other way or the factor is below 5; MIXED otherwise. The controls of C54.",
     .judge = judge_c54b,
     .needs = NEEDS(latency_needs, rate_needs, bank_needs)},
    {.id = "C54c",
     .article = "dev.to",
     .quote =
         "Global memory is large but relatively slow. [...] Registers are extremely fast but tiny.",
     .clause = "",
     .since = "2026-11-29T03:00Z",
     .plain = {.yes = "All registers hold {size} times the bytes of all shared memory: fewer.",
               .no = "All registers hold {size} times the bytes of all shared memory.",
               .partly = "Between: all registers hold {size:range} times the bytes of all shared "
                         "memory against a limit of 1."},
     .surprise = 7,
     .statement = "The registers of all SMs hold fewer bytes than their shared memory.",
     .rule = "REPRODUCED when they do, REFUTED when they hold at least as many. Positive control: "
             "they hold fewer than device memory. Negative control: device memory must not hold "
             "fewer than shared memory.",
     .judge = judge_c54c,
     .needs = NEEDS(c54c_needs)},
};
CLAIM_SUBJECT(claims);
