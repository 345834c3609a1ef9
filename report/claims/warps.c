/* The ledger: do warps decide the time of a 1024^3 product? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/block_count.h"

/* --- what both claims compare ----------------------------------------------------------------- */

/* Between the best tile with fewer blocks than SMs and the best with as many or more. */
struct pair {
    enum cube_kernel kernel;
    struct row few, many;
    double warps_few, warps_many; /* on the busiest SM */
};

static const struct need warps_needs[] = {{NEED_ANY, "block_count.warps{" CUBE_KEYS "*}"},
                                          NEEDS_END};

static double warps_of(const struct bundle *bundle, const struct row *time, struct finding *f)
{
    return rule_centre_beside(bundle, time, "block_count.warps", f);
}

/* By the first kernel that has both; parts: rows whose parts were measured. */
static bool take_pair(const struct bundle *bundle, bool parts, struct pair *p, struct finding *f)
{
    for (p->kernel = 0; p->kernel < CUBE_KERNELS; p->kernel++)
        if (cube_best(bundle, p->kernel, CUBE_FEW, parts, &p->few, f) &&
            cube_best(bundle, p->kernel, CUBE_MANY, parts, &p->many, f)) {
            p->warps_few = warps_of(bundle, &p->few, f);
            p->warps_many = warps_of(bundle, &p->many, f);
            rule_say(f->evidence, "by %s, us: ", cube_kernel_names[p->kernel]);
            cube_say(bundle, &p->few, f);
            rule_say(f->evidence, ", ");
            cube_say(bundle, &p->many, f);
            if (rule_faster(f, &p->few, &p->many))
                return true;
            rule_not_testable(f, "there is no slowdown to be explained");
            return false;
        }
    rule_not_testable(f, "no tile with fewer blocks than SMs, or none with as many, %s",
                      parts ? "was taken apart in this bundle" : "is in this bundle");
    return false;
}

/* --- C25: are there fewer warps, and is that the reason? -------------------------------------- */

static const double C25_EXPLAINS = 0.50;
enum { SWEEP = 3 };

/* One tile, by two, four and eight warps on an SM: nothing else differs. */
static const struct need sweep_needs[] = {{NEED_ONE, CUBE_MMA("128x64_2warps")},
                                          {NEED_ONE, CUBE_MMA("128x64")},
                                          {NEED_ONE, CUBE_MMA("128x64_8warps")},
                                          NEEDS_END};
static const struct need alone_needs[] = {
    {NEED_ANY, "block_count.time{" CUBE_KEYS "*,timer=event}"}, NEEDS_END};

static bool take_sweep(const struct bundle *bundle, struct row sweep[SWEEP], struct finding *f)
{
    return RULE_TAKE(bundle, sweep_needs, f, &sweep[0], &sweep[1], &sweep[2]);
}

static double explained_of(const double *value, const void *halvings)
{
    const double two = value[2], four = value[3], eight = value[4];
    const double halving = fmax(two / four, four / eight) - 1;
    const double loss = value[0] / value[1] - 1;
    return halving * *(const double *)halvings / loss;
}

/* The share of the slowdown that fewer warps explain: a halving costs what the dearer of the two
 * halvings of the sweep costs, relative to its time. */
static struct row explained(const struct row sweep[SWEEP], const struct pair *p, struct finding *f)
{
    const struct row *const from[] = {&p->many, &p->few, &sweep[0], &sweep[1], &sweep[2]};
    const double halvings = log2(p->warps_few / p->warps_many);
    return rule_formed(f, from, sizeof from / sizeof from[0], "ratio", explained_of, &halvings);
}

/* The tile of many blocks with one block an SM, forced by shared memory, has fewer warps there; and
 * takes longer: warps are counted, and a loss of them is seen. From few blocks to fewest a product
 * takes longer, too, though warps are not fewer: the rule must not blame them. */
static bool take_controls(const struct bundle *bundle, const struct pair *p, bool *positive,
                          bool *negative, struct finding *f)
{
    const char *at = strstr(p->many.id, "resident=max");
    struct row alone, fewest;

    if (!at || !rule_take_formed(bundle, &alone, f, "%.*sresident=1%s", (int)(at - p->many.id),
                                 p->many.id, at + strlen("resident=max")))
        return false;
    if (!cube_fewest(bundle, p->kernel, &fewest, f)) {
        rule_not_testable(f, "no tile of few blocks is in this bundle");
        return false;
    }
    const struct row shown = rule_ratio(f, &alone, &p->many),
                     worse = rule_ratio(f, &fewest, &p->few);
    *positive = rule_faster(f, &p->many, &alone) && warps_of(bundle, &alone, f) < p->warps_many;
    *negative = rule_faster(f, &p->few, &fewest) && !(warps_of(bundle, &fewest, f) < p->warps_few);
    rule_say_control(f, true, *positive,
                     "the same tile with one block an SM has fewer warps and takes, times as long",
                     &shown);
    rule_say_control(f, false, *negative,
                     "the tile that makes fewest blocks is slower for fewer warps; times as long",
                     &worse);
    return true;
}

static void judge_c25(const struct bundle *bundle, struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row sweep[SWEEP], share;
    struct pair p;
    bool positive, negative;

    if (!take_pair(bundle, false, &p, f))
        return;
    const bool fewer = p.warps_many < p.warps_few;
    rule_say(f->evidence, "; warps on the busiest SM %.0f and %.0f: %s", p.warps_few, p.warps_many,
             fewer ? "fewer" : "not fewer, the premise fails");
    const bool swept = take_sweep(bundle, sweep, fewer ? f : &ignored);
    if (swept)
        rule_say(f->evidence, "; 128x64 by mma.sync with 2, 4 and 8 warps %.2f, %.2f, %.2f us",
                 sweep[0].centre / 1e3, sweep[1].centre / 1e3, sweep[2].centre / 1e3);
    if ((fewer && !swept) || !take_controls(bundle, &p, &positive, &negative, f))
        return;
    enum claim_verdict verdict = CLAIM_REFUTED;
    if (fewer) {
        share = explained(sweep, &p, f);
        rule_say_row(f, "share of the slowdown that warps explain", &share);
        rule_say_figure(f, "share", &share);
        verdict = rule_band(rule_place(&share, RULE_LIMIT(f, C25_EXPLAINS), INFINITY));
    }
    rule_say_number(f, "warps_few", p.warps_few, "count");
    rule_say_number(f, "warps_many", p.warps_many, "count");
    rule_conclude(f, verdict, positive, negative);
}

/* --- C25b: is more of the time spent waiting? ------------------------------------------------- */

static const double C25_WAITS = 0.05;

enum { WHOLE, EMPTY, LOADS, PRODUCTS, PARTS };

static const struct need parts_needs[] = {
    {NEED_ANY, "block_count.empty{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.loads{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.products{" CUBE_KEYS "*,timer=event}"},
    NEEDS_END};

/* A configuration and its parts. */
struct parts {
    struct row row[PARTS];
};

static bool take_parts(const struct bundle *bundle, const struct row *whole, struct parts *p,
                       struct finding *f)
{
    static const char *const names[] = {[EMPTY] = "block_count.empty",
                                        [LOADS] = "block_count.loads",
                                        [PRODUCTS] = "block_count.products"};

    p->row[WHOLE] = *whole;
    for (size_t i = EMPTY; i < PARTS; i++)
        if (!rule_take_beside(bundle, whole, names[i], &p->row[i], f))
            return false;
    return true;
}

/* Shares of the whole time: the share spent waiting for operands; and the share of the shorter of
 * loads and products, without the empty kernel, that the longer one does not hide. */
static double waiting(const double *v, const void *with)
{
    (void)with;
    return (v[WHOLE] - v[PRODUCTS]) / v[WHOLE];
}
static double exposed(const double *v, const void *with)
{
    (void)with;
    return (v[WHOLE] - fmax(v[LOADS], v[PRODUCTS])) / (fmin(v[LOADS], v[PRODUCTS]) - v[EMPTY]);
}
static double waiting_rise(const double *v, const void *with)
{
    return waiting(v + PARTS, with) - waiting(v, with);
}
static double exposed_rise(const double *v, const void *with)
{
    return exposed(v + PARTS, with) - exposed(v, with);
}

static struct row rise(const struct parts *few, const struct parts *many,
                       double (*of)(const double *, const void *), struct finding *f)
{
    const struct row *in[2 * PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        in[i] = &few->row[i];
        in[PARTS + i] = &many->row[i];
    }
    return rule_formed(f, in, 2 * PARTS, "ratio", of, NULL);
}

/* The share of the time that is spent waiting, and how much of the parts is not hidden. */
static void say_parts(const struct parts *p, const char *key, struct finding *f)
{
    const struct row *in[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        in[i] = &p->row[i];
    const struct row waits = rule_formed(f, in, PARTS, "ratio", waiting, NULL);
    const struct row shows = rule_formed(f, in, PARTS, "ratio", exposed, NULL);

    rule_say_figure(f, key, &waits);
    rule_say(f->evidence,
             "; empty %.2f, loads %.2f, products %.2f, waiting share %.3f, exposed %.3f",
             in[EMPTY]->centre / 1e3, in[LOADS]->centre / 1e3, in[PRODUCTS]->centre / 1e3,
             waits.centre, shows.centre);
}

/* Are the parts long enough for the clock to distinguish them from the empty kernel? */
static bool resolved(const struct parts *p)
{
    const struct row *row = p->row;
    return fmin(row[LOADS].centre, row[PRODUCTS].centre) - row[EMPTY].centre >=
           2 * row[LOADS].resolution;
}

static const struct need stage_needs[] = {{NEED_ONE, CUBE_WGMMA("128x64", "1", "tiles")},
                                          {NEED_ONE, CUBE_WGMMA("128x64_4stages", "1", "tiles")},
                                          {NEED_ONE, CUBE_WGMMA("128x64_multicast", "1", "tiles")},
                                          NEEDS_END};

/* With half of the stages a tile waits longer: the clock must see it. The same tile by the same
 * cluster, which fetches each operand once for two blocks, does not wait for more. */
static bool take_wait_controls(const struct bundle *bundle, bool *positive, bool *negative,
                               struct finding *f)
{
    struct row deep, shallow, shared;
    struct parts alone, together;

    if (!RULE_TAKE(bundle, stage_needs, f, &deep, &shallow, &shared) ||
        !take_parts(bundle, &deep, &alone, f) || !take_parts(bundle, &shared, &together, f))
        return false;
    const struct row shown = rule_ratio(f, &shallow, &deep);
    const struct row none = rise(&alone, &together, waiting_rise, f);
    *positive = rule_faster(f, &deep, &shallow);
    *negative = rule_place(&none, RULE_LIMIT(f, C25_WAITS), INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, *positive, "half as many k-steps on their way take longer, ratio",
                     &shown);
    rule_say_control(f, false, *negative,
                     "128x64 that shares its fetches waits for 0.05 more of its time; more", &none);
    return true;
}

static void judge_c25b(const struct bundle *bundle, struct finding *f)
{
    struct parts few, many;
    struct pair p;
    bool positive, negative;

    if (!take_pair(bundle, true, &p, f) || !take_parts(bundle, &p.few, &few, f) ||
        !take_parts(bundle, &p.many, &many, f))
        return;
    say_parts(&few, "few", f);
    say_parts(&many, "many", f);
    const struct row waits = rise(&few, &many, waiting_rise, f);
    const struct row shows = rise(&few, &many, exposed_rise, f);
    rule_say_row(f, "waiting share rises by", &waits);
    rule_say_row(f, "exposed share by", &shows);
    if (!resolved(&few) || !resolved(&many)) {
        rule_not_testable(f, "the parts are too short");
        return;
    }
    rule_say_figure(f, "rise", &waits);
    if (take_wait_controls(bundle, &positive, &negative, f))
        rule_conclude(f, rule_band(rule_place(&waits, RULE_LIMIT(f, C25_WAITS), INFINITY)),
                      positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C25",
     .article = "smallest.ai",
     .quote = "That\u2019s because with smaller blocks per SM, the amount of work each SM does "
              "shrinks, and there are fewer warps available to hide memory latency. The GPU spends "
              "more time waiting and less time computing.",
     .clause = "there are fewer warps available to hide memory latency",
     .since = "2026-11-22",
     .plain = {.yes = "More blocks leave the busiest SM {warps_many} warps, not {warps_few}; that "
                      "explains {share:%} of the loss.",
               .no = "Fewer warps are not why: more blocks give the busiest SM {warps_many} warps, "
                     "fewer {warps_few}.",
               .partly = "Between: fewer warps ({warps_many}, not {warps_few}) explain "
                         "{share:range} of the loss against a limit of {C25_EXPLAINS}."},
     .surprise = 8,
     .statement = "Where a 1024^3 product with at least as many blocks as SMs is slower than one "
                  "with fewer, its busiest SM has fewer warps, and these explain half of the loss.",
     .rule = "Our wgmma kernel, or without it the portable one: between the best tile with fewer "
             "blocks than SMs and the best with as many. REFUTED when the busiest SM has no fewer "
             "warps by census. Where it has: by what fewer warps cost at one tile where nothing "
             "else differs (128x64 by mma.sync with 2, 4 and 8 warps, the dearer halving), "
             "REPRODUCED when that explains 0.5 of the slowdown, REFUTED when less. Positive "
             "control: the tile of many blocks with one block an SM has fewer warps and takes "
             "longer. Negative control: from the best tile with few blocks to the one that makes "
             "fewest, time grows too, but warps must not be fewer.",
     .judge = judge_c25,
     .needs = NEEDS(cube_needs, warps_needs, sweep_needs, alone_needs)},
    {.id = "C25b",
     .article = "smallest.ai",
     .quote = "That\u2019s because with smaller blocks per SM, the amount of work each SM does "
              "shrinks, and there are fewer warps available to hide memory latency. The GPU spends "
              "more time waiting and less time computing.",
     .clause = "The GPU spends more time waiting and less time computing.",
     .since = "2026-11-22",
     .plain =
         {.yes =
              "By more blocks a product waits {many:%} of its time for operands, by fewer {few:%}.",
          .no = "By more blocks a product waits {many:%} of its time for operands, by fewer "
                "{few:%}: not {C25_WAITS:%} more.",
          .partly = "Between: by more blocks the part of the time spent waiting rises by "
                    "{rise:range} against a limit of {C25_WAITS}."},
     .surprise = 2,
     .statement = "Of the time of a 1024^3 product with at least as many blocks as SMs, waiting "
                  "for operands is a larger part than of one with fewer.",
     .rule = "Our wgmma kernel, whose parts are timed by themselves, between the best such tiles. "
             "REPRODUCED when the share (all - products) / all rises by 0.05, REFUTED when not. "
             "Positive control: half the stages take longer at one tile. Negative control: the "
             "share must not rise so where blocks of a cluster share what they fetch.",
     .judge = judge_c25b,
     .needs = NEEDS(cube_needs, warps_needs, parts_needs, stage_needs)},
};
CLAIM_SUBJECT(claims);
