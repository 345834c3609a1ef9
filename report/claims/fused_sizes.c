/* The ledger: a fused kernel that is built for fixed sizes, and one that takes them. */
#include <math.h>

#include "report/claims/fused.h"

#define TIME(context, impl)                                                                        \
    "fixed_sizes.time{context=" context ",impl=" impl ",l2=cold,timer=event}"

/* --- C32: fixed sizes ------------------------------------------------------------------------- */

static const double C32_BRITTLE = 1.2; /* times as long, at a size that it is not built for */
static const double C32_GAINS = 1.1, C32_NOTHING = 1.05; /* of sizes as arguments, at its own */
static const double C32_SEES = 1.15, C32_PINS = 0.4, C32_SAME = 0.03;

static const struct need c32_needs[] = {
    {NEED_ONE, TIME("4096", "fixed")},
    {NEED_ONE, TIME("4096", "given")},
    {NEED_ONE, TIME("4096", "again")},
    {NEED_ONE, TIME("3072", "fixed")},
    {NEED_ONE, TIME("3072", "given")},
    {NEED_ONE, TIME("2048", "fixed")},
    {NEED_ONE, TIME("2048", "given")},
    {NEED_ONE, TIME("1024", "fixed")},
    {NEED_ONE, TIME("1024", "given")},
    {NEED_ONE, TIME("512", "fixed")},
    {NEED_ONE, TIME("512", "given")},
    {NEED_ONE, TIME("8192", "given")},
    {NEED_ONE, "fixed_sizes.share_of_pins{context=4096,impl=given,l2=cold}"},
    {NEED_ONE, "fixed_sizes.caught{context=8192,impl=beyond,l2=cold}"},
    NEEDS_END};

/* What is said and not judged. */
static const struct need c32_beside[] = {{NEED_ANY, TIME("*", "*")}, NEEDS_END};

enum { OTHERS = 4 };

/* The greatest of the ratios of pairs of rows, fixed over given. */
static double worst_of(const double *value, const void *with)
{
    double worst = -INFINITY;
    (void)with;
    for (int i = 0; i < OTHERS; i++)
        worst = fmax(worst, value[2 * i] / value[2 * i + 1]);
    return worst;
}

/* It has the id of the length at which the fixed kernel does worst. */
static struct row worst_at_others(const struct row of[2 * OTHERS], struct finding *f)
{
    const struct row *from[2 * OTHERS];
    int worst = 0;

    for (int i = 1; i < OTHERS; i++)
        if (of[2 * i].centre / of[2 * i + 1].centre >
            of[2 * worst].centre / of[2 * worst + 1].centre)
            worst = i;
    for (int i = 0; i < 2 * OTHERS; i++)
        from[i] = &of[(2 * worst + i) % (2 * OTHERS)];
    return rule_formed(f, from, (size_t)2 * OTHERS, "ratio", worst_of, NULL);
}

static enum claim_verdict judge_own(struct finding *f, const struct row *own)
{
    const double gains = RULE_LIMIT(f, C32_GAINS), nothing = RULE_LIMIT(f, C32_NOTHING);
    const enum place place = rule_place(own, nothing, gains);
    const enum claim_verdict verdict = place == PLACE_ABOVE     ? CLAIM_REPRODUCED
                                       : place == PLACE_BELOW   ? CLAIM_REFUTED
                                       : place == PLACE_UNKNOWN ? CLAIM_NOT_TESTABLE
                                                                : CLAIM_MIXED;
    rule_say_row(f, "where the fixed kernel is built for, sizes as arguments take times as long",
                 own);
    rule_say_figure(f, "own", own);
    rule_say_part(f, "that fixed sizes gain a tenth", rule_band(rule_place(own, gains, INFINITY)),
                  own, gains);
    return verdict;
}

static enum claim_verdict judge_others(struct finding *f, const struct row *worst)
{
    const double brittle = RULE_LIMIT(f, C32_BRITTLE);
    const enum claim_verdict verdict = rule_band(rule_place(worst, brittle, INFINITY));
    rule_say_row(f, "at fewer keys the fixed kernel takes times as long, at most", worst);
    rule_say_figure(f, "others", worst);
    rule_say_part(f, "that they cost a fifth at fewer keys", verdict, worst, brittle);
    return verdict;
}

/* Either of the two makes the claim; neither refutes it. */
static enum claim_verdict either(enum claim_verdict a, enum claim_verdict b)
{
    if (a == CLAIM_REPRODUCED || b == CLAIM_REPRODUCED)
        return CLAIM_REPRODUCED;
    return a == b ? a : CLAIM_MIXED;
}

static void say_capped(const struct bundle *bundle, struct finding *f, const char *what,
                       const char *capped, const char *given)
{
    struct finding aside = rule_aside(f);
    struct row ratio;
    if (rule_take_ratio(bundle, capped, given, &ratio, &aside))
        rule_say_row(f, what, &ratio);
}

static void judge_c32(const struct bundle *bundle, struct finding *f)
{
    struct row fixed, given, again, of[2 * OTHERS], most, pins, caught;
    if (!RULE_TAKE(bundle, c32_needs, f, &fixed, &given, &again, &of[0], &of[1], &of[2], &of[3],
                   &of[4], &of[5], &of[6], &of[7], &most, &pins, &caught))
        return;

    const struct row own = rule_ratio(f, &given, &fixed), same = rule_ratio(f, &again, &given);
    const struct row sees = rule_ratio(f, &most, &of[2 * OTHERS - 1]);
    const struct row worst = worst_at_others(of, f);
    const enum claim_verdict at_own = judge_own(f, &own), at_others = judge_others(f, &worst);

    const double margin = RULE_LIMIT(f, C32_SAME);
    const bool keys_count = rule_place(&sees, RULE_LIMIT(f, C32_SEES), INFINITY) == PLACE_INSIDE;
    const bool is_strong = rule_place(&pins, RULE_LIMIT(f, C32_PINS), INFINITY) == PLACE_INSIDE;
    const bool agrees = rule_place(&same, 1 - margin, 1 + margin) == PLACE_INSIDE;
    const bool is_caught = rule_place(&caught, 1, INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, keys_count, "16 times the keys take longer", &sees);
    rule_say_control(f, true, is_strong, "sizes as arguments read near the rate of the pins",
                     &pins);
    rule_say_control(f, false, agrees, "the same kernel in two cases differs: it takes", &same);
    rule_say_control(f, false, is_caught, "results beyond what a kernel is built for are wrong",
                     &caught);
    say_capped(bundle, f, "not judged: fixed but for the length, at 512 keys",
               TIME("512", "capped"), TIME("512", "given"));
    say_capped(bundle, f, "at 4096", TIME("4096", "capped"), TIME("4096", "given"));
    rule_conclude(f, either(at_own, at_others), keys_count && is_strong, agrees && is_caught);
}

/* --- the entry -------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C32",
     .article = "smallest.ai",
     .quote = "Large fused kernels typically assume static shapes for efficiency, making them "
              "brittle in practice.",
     .clause = "assume static shapes for efficiency, making them brittle in practice.",
     .since = "2026-11-23",
     .plain =
         {.yes = "Sizes of the build gain {own} times, and take up to {others} times as long at "
                 "fewer keys.",
          .no = "Sizes of the build gain {own} times, and take at most {others} times as long at "
                "fewer keys.",
          .partly = "Fixed sizes, at their own and at fewer keys: {parts}."},
     .surprise = 5,
     .statement = "A fused kernel built for fixed sizes loses 20 % at others that fit into it, or "
                  "one that takes its sizes at run time loses 10 % to it at its own. That kernels "
                  "typically are built so cannot be measured.",
     .rule =
         "Attention over a token's old keys, its product with W and the residual, in one kernel: "
         "with all sizes constants of the build, for 4096 keys, and with all sizes as arguments. "
         "REPRODUCED when at 3072, 2048, 1024 or 512 keys, padded, the fixed one takes 1.2 times "
         "as long as the other or more, or when at 4096 the other takes 1.1 times as long as the "
         "fixed one or more; REFUTED when at most 1.05 times, and the fixed one nowhere 1.2 times; "
         "else MIXED. That the fixed one cannot hold more keys, heads or columns is so by "
         "construction, and not judged. Positive controls: sizes as arguments take at least 1.15 "
         "times as long for 8192 keys as for 512, and read at 0.4 of the rate of the pins or "
         "more. Negative controls: the same kernel in two cases differs by at most 3 %, and a "
         "fixed kernel's results over 8192 keys are seen to be wrong. Said beside it: fixed sizes "
         "but for the length.",
     .judge = judge_c32,
     .needs = NEEDS(c32_needs, c32_beside)},
};
CLAIM_SUBJECT(claims);
