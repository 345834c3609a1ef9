/* The ledger: what the values of a chain cost in registers. */
#include <math.h>

#include "report/claims/fused.h"

/* --- C83: registers that values take ---------------------------------------------------------- */

static const double C83_RISES = 0.5, C83_FLAT = 0.05, C83_LIVE = 0.8;

#define LIFE(metric) "elementwise_chain." metric "{life=%s,steps=%d,elements=1}"

static const struct need life_needs[] = {
    {NEED_ANY, LIFE("registers")}, {NEED_ANY, LIFE("resident_warps")}, NEEDS_END};

static bool take_life(const struct bundle *bundle, const char *metric, const char *life, int steps,
                      struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, LIFE("%s"), metric, life, steps);
}

static double per_value(const double *value, const void *values)
{
    return (value[0] - value[1]) / *(const double *)values;
}

/* Registers per value, from a chain of `from` values to one of `to`. */
static bool take_slope(const struct bundle *bundle, const char *life, int from, int to,
                       struct row *slope, struct finding *f)
{
    struct row few, many;
    if (!take_life(bundle, "registers", life, from, &few, f) ||
        !take_life(bundle, "registers", life, to, &many, f))
        return false;
    const double values = to - from;
    *slope =
        rule_formed(f, (const struct row *const[]){&many, &few}, 2, "ratio", per_value, &values);
    return true;
}

static void judge_c83(const struct bundle *bundle, struct finding *f)
{
    struct row dependent, live, inputs, few, many, warps_1, warps_64;
    if (!take_slope(bundle, "dependent", 4, 64, &dependent, f) ||
        !take_slope(bundle, "live", 4, 64, &live, f) ||
        !take_slope(bundle, "inputs", 16, 64, &inputs, f) ||
        !take_life(bundle, "registers", "dependent", 1, &few, f) ||
        !take_life(bundle, "registers", "dependent", 64, &many, f) ||
        !take_life(bundle, "resident_warps", "dependent", 1, &warps_1, f) ||
        !take_life(bundle, "resident_warps", "dependent", 64, &warps_64, f))
        return;

    const double least = RULE_LIMIT(f, C83_RISES);
    const bool rises = fused_at_least(&dependent, least);
    const bool flat = fused_below(&dependent, RULE_LIMIT(f, C83_FLAT));
    const bool positive = fused_at_least(&live, RULE_LIMIT(f, C83_LIVE));
    const bool negative = fused_below(&inputs, least);
    rule_say(f->evidence, "a dependent chain of 1 takes %.0f registers, one of 64 %.0f", few.centre,
             many.centre);
    rule_say_row(f, "registers a value from 4 to 64", &dependent);
    rule_say(f->evidence, "; resident warps an SM %.0f and %.0f: %s", warps_1.centre,
             warps_64.centre,
             warps_64.high < warps_1.low ? "occupancy is lost" : "no occupancy is lost");
    rule_say_control(f, true, positive, "values kept to the end take registers, each", &live);
    rule_say_control(f, false, negative,
                     "values loaded and added up one by one, from 16 to 64, take registers, each",
                     &inputs);
    rule_say_figure(f, "few", &few);
    rule_say_figure(f, "many", &many);
    rule_say_figure(f, "slope", &dependent);
    rule_conclude(f,
                  rises  ? CLAIM_REPRODUCED
                  : flat ? CLAIM_REFUTED
                         : CLAIM_MIXED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C83",
     .article = "dev.to",
     .quote = "Every intermediate value consumes registers.",
     .plain = {.yes = "A chain of 64 operators takes {many} registers, one of 1 takes {few}: "
                      "{slope} for each value.",
               .no = "A chain of 64 operators takes {many} registers, one of 1 takes {few}.",
               .partly = "Between: each value of a chain takes {slope:range} registers against "
                         "limits of {C83_FLAT} and {C83_RISES}."},
     .surprise = 6,
     .statement = "Registers per thread rise by at least half a register per operation of a "
                  "dependent chain; values all kept live are the control.",
     .rule = "Registers as loaded, one element a thread, chains of 4 and 64 operators. REPRODUCED "
             "when a dependent chain takes 0.5 registers a value or more, REFUTED when 0.05 or "
             "fewer, MIXED between. Positive control: values that are all kept to the end take 0.8 "
             "each or more. Negative control: values that are loaded and added up, from 16 to 64, "
             "take fewer than 0.5 each.",
     .judge = judge_c83,
     .needs = NEEDS(life_needs)},
};
CLAIM_SUBJECT(claims);
