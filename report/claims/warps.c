/* The ledger: do warps decide the time of a 1024^3 product? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/block_count.h"

/* --- C25: is a shortage of warps the reason? -------------------------------------------------- */

static const double C25_EXPLAINS = 0.50, C25_EXPOSED = 0.20, C25_ALIKE = 0.10, C25_WAITS = 0.05;
static const double C25_MODEL = 0.10;

enum { WHOLE, EMPTY, LOADS, PRODUCTS, PARTS };

static const struct need parts_needs[] = {
    {NEED_ANY, "block_count.time{" CUBE_KEYS "*,timer=event}"}, /* also with other residence */
    {NEED_ANY, "block_count.empty{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.loads{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.products{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.warps{" CUBE_KEYS "*}"},
    NEEDS_END};
static const struct need model_needs[] = {
    {NEED_ANY, "derived.prediction_error{*}"}, {NEED_ANY, "derived.predicted_time{*}"}, NEEDS_END};

/* A configuration and its parts. */
struct parts {
    struct row row[PARTS];
    double warps;
};

static bool take_parts(const struct bundle *bundle, const struct row *whole, struct parts *p,
                       struct finding *f)
{
    static const char *const names[] = {[EMPTY] = "block_count.empty",
                                        [LOADS] = "block_count.loads",
                                        [PRODUCTS] = "block_count.products"};

    p->row[WHOLE] = *whole;
    p->warps = rule_centre_beside(bundle, whole, "block_count.warps", f);
    for (size_t i = EMPTY; i < PARTS; i++)
        if (!rule_take_beside(bundle, whole, names[i], &p->row[i], f))
            return false;
    return true;
}

/* Shares of the whole time: the share spent waiting for operands; and the share of the shorter of
 * loads and products, without the empty kernel, that the longer one does not hide. */
static double waiting(const double *v)
{
    return (v[WHOLE] - v[PRODUCTS]) / v[WHOLE];
}
static double exposed(const double *v)
{
    return (v[WHOLE] - fmax(v[LOADS], v[PRODUCTS])) / (fmin(v[LOADS], v[PRODUCTS]) - v[EMPTY]);
}
static double waiting_rise(const double *v)
{
    return waiting(v + PARTS) - waiting(v);
}
static double exposed_rise(const double *v)
{
    return exposed(v + PARTS) - exposed(v);
}

static struct row rise(const struct parts *few, const struct parts *many,
                       double (*of)(const double *))
{
    const struct row *in[2 * PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        in[i] = &few->row[i];
        in[PARTS + i] = &many->row[i];
    }
    return cube_formed(in, 2 * PARTS, "ratio", of);
}

/* What a factor e of resident warps saves, measured where nothing else changes: the tile of many
 * blocks, with one block an SM (forced by shared memory) and with as many as fit. */
struct sensitivity {
    struct row alone, many;
    double warps_alone, warps_many;
};

/* The share of the difference between `few` and `many` that their numbers of resident warps
 * explain. */
static struct row explained(const struct sensitivity *s, const struct row *few, double warps_few,
                            const struct row *many, double warps_many)
{
    struct row out = {.id = many->id, .unit = "ratio", .better = ROW_LOWER};
    const double per_e = 1 / log(s->warps_many / s->warps_alone);

    for (size_t i = 0; i < many->n; i++) {
        const int round = many->round[i];
        const double saved = (row_at(&s->alone, round) - row_at(&s->many, round)) * per_e;
        const double slower = many->value[i] - row_at(few, round);
        row_put(&out, round, saved * log(warps_few / warps_many) / slower, NAN);
    }
    row_finish(&out);
    return out;
}

static bool take_sensitivity(const struct bundle *bundle, const struct row *many,
                             struct sensitivity *s, struct finding *f)
{
    char id[DOCUMENT_ID];
    const char *at = strstr(many->id, "resident=max");

    snprintf(id, sizeof id, "%.*sresident=1%s", (int)(at - many->id), many->id,
             at + strlen("resident=max"));
    if (!rule_take(bundle, id, &s->alone, f) || !rule_take(bundle, many->id, &s->many, f))
        return false;
    s->warps_alone = rule_centre_beside(bundle, &s->alone, "block_count.warps", f);
    s->warps_many = rule_centre_beside(bundle, &s->many, "block_count.warps", f);
    if (s->warps_many > s->warps_alone)
        return true;
    rule_not_testable(f, "one block an SM has no fewer warps: nothing to tell their effect by");
    return false;
}

/* Does the model of busiest SM and operand bytes, which ignores warps, predict this row's time? */
static bool model_says(const struct bundle *bundle, const struct row *time, struct finding *f)
{
    const struct row *predicted =
        rule_beside(bundle, time, "derived.predicted_time", NULL, NULL, f);

    if (!predicted || !row_usable(predicted)) {
        rule_say(f->evidence, ", model none");
        return false;
    }
    const struct row ratio = rule_ratio(predicted, time);
    rule_say(f->evidence, ", model %+.1f %%", 100 * (ratio.centre - 1));
    return rule_place(&ratio, 1 - C25_MODEL, 1 + C25_MODEL) == PLACE_INSIDE;
}

static bool say_parts(const struct bundle *bundle, const struct parts *p, struct finding *f)
{
    const struct row *in[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        in[i] = &p->row[i];
    const struct row waits = cube_formed(in, PARTS, "ratio", waiting);
    const struct row shows = cube_formed(in, PARTS, "ratio", exposed);

    rule_say(f->evidence, "%s", f->evidence[0] ? "; " : "");
    cube_say(bundle, in[WHOLE], f);
    rule_say(f->evidence,
             " us: empty %.2f, loads %.2f, products %.2f, waiting share %.3f, exposed "
             "%.3f, %.0f warps on the busiest SM",
             in[EMPTY]->centre / 1e3, in[LOADS]->centre / 1e3, in[PRODUCTS]->centre / 1e3,
             waits.centre, shows.centre, p->warps);
    return model_says(bundle, in[WHOLE], f);
}

/* Inserts a value into an ascending list. */
static void insert(double *sorted, size_t *n, double value)
{
    size_t at;
    for (at = (*n)++; at > 0 && sorted[at - 1] > value; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = value;
}

static double middle(const double *sorted, size_t n)
{
    return n == 0 ? (double)NAN : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* Covers all rows that the model predicts. Returns the median error without the two rows that are
 * judged, because the model may have been written with these in view. */
static double say_model(const struct bundle *bundle, const struct row *few, const struct row *many,
                        struct finding *f)
{
    enum { MOST = 64 };
    double all[MOST], others[MOST];
    const struct row *row;
    size_t n = 0, n_others = 0;

    for (size_t next = 0; n < MOST && (row = rule_next(bundle, model_needs[0].id, &next, f));) {
        const char *keys = strchr(row->id, '{');
        if (!row_usable(row))
            continue;
        insert(all, &n, row->centre);
        if (strcmp(keys, strchr(few->id, '{')) != 0 && strcmp(keys, strchr(many->id, '{')) != 0)
            insert(others, &n_others, row->centre);
    }
    if (n > 0)
        rule_say(f->evidence,
                 "; the model of all %zu warm rows errs by %.1f %% in the median, "
                 "%.1f %% at most (its terms were chosen with an H200's 128x64 and "
                 "64x64 in view)",
                 n, 100 * middle(all, n), 100 * all[n - 1]);
    if (n_others > 0)
        rule_say(f->evidence, ", of the other %zu by %.1f %%", n_others,
                 100 * middle(others, n_others));
    return middle(others, n_others);
}

/* Are the parts long enough for the clock to distinguish them from the empty kernel? */
static bool resolved(const struct parts *p)
{
    const struct row *row = p->row;
    return fmin(row[LOADS].centre, row[PRODUCTS].centre) - row[EMPTY].centre >=
           2 * row[LOADS].resolution;
}

static const struct need c25_controls_needs[] = {
    {NEED_ONE, CUBE_WGMMA("128x64", "1", "tiles")},
    {NEED_ONE, CUBE_WGMMA("128x64_4stages", "1", "tiles")},
    {NEED_ONE, CUBE_WGMMA("32x256_alone", "1", "tiles")},
    {NEED_ONE, CUBE_WGMMA("256x128_once", "1", "tiles")},
    NEEDS_END};

static bool c25_controls(const struct bundle *bundle, const struct sensitivity *s, bool *positive,
                         bool *negative, struct finding *f)
{
    struct row deep, shallow, narrow, wide;

    if (!RULE_TAKE(bundle, c25_controls_needs, f, &deep, &shallow, &narrow, &wide))
        return false;
    const struct row shown = rule_ratio(&shallow, &deep);
    const struct row share =
        explained(s, &narrow, rule_centre_beside(bundle, &narrow, "block_count.warps", f), &wide,
                  rule_centre_beside(bundle, &wide, "block_count.warps", f));
    *positive = rule_faster(&deep, &shallow);
    *negative = rule_faster(&narrow, &wide) && !rule_faster(&s->alone, &s->many) &&
                rule_place(&share, C25_EXPLAINS, INFINITY) == PLACE_BELOW;
    rule_say_control(f, true, *positive, "half as many k-steps on their way take longer, ratio",
                     &shown);
    rule_say_control(f, false, *negative,
                     "128 blocks of 32x256 to 32 of 256x128, fewer warps and four times the work "
                     "for a block: warps explain half of it, share",
                     &share);
    return true;
}

static enum claim_verdict both(enum claim_verdict a, enum claim_verdict b)
{
    return a == b ? a : CLAIM_MIXED;
}

static void judge_c25(const struct bundle *bundle, struct finding *f)
{
    struct row best_few, best_many;
    struct parts few, many;
    struct sensitivity s;
    bool positive, negative;

    if (!cube_best(bundle, CUBE_FEW, true, &best_few, f) ||
        !cube_best(bundle, CUBE_MANY, true, &best_many, f)) {
        rule_not_testable(f, "no tile with fewer blocks than SMs, or none with as many, was taken "
                             "apart in this bundle");
        return;
    }
    if (!take_parts(bundle, &best_few, &few, f) || !take_parts(bundle, &best_many, &many, f) ||
        !take_sensitivity(bundle, &best_many, &s, f))
        return;
    const bool model_few = say_parts(bundle, &few, f), model_many = say_parts(bundle, &many, f);
    const struct row waits = rise(&few, &many, waiting_rise);
    const struct row shows = rise(&few, &many, exposed_rise);
    const struct row share = explained(&s, &best_few, few.warps, &best_many, many.warps);
    rule_say_row(f->evidence, "waiting share rises by", &waits);
    rule_say_row(f->evidence, "exposed share by", &shows);
    rule_say_row(f->evidence, "share of the slowdown that warps explain", &share);
    const double blind = say_model(bundle, &best_few, &best_many, f);
    if (!rule_faster(&best_few, &best_many) || !resolved(&few) || !resolved(&many)) {
        rule_not_testable(f, "there is no slowdown to be explained, or its parts are too short");
        return;
    }

    const bool alike = rule_place(&shows, -C25_ALIKE, C25_ALIKE) == PLACE_INSIDE;
    const bool by_warps = rule_place(&share, C25_EXPLAINS, INFINITY) == PLACE_INSIDE &&
                          rule_place(&shows, C25_EXPOSED, INFINITY) == PLACE_INSIDE;
    const bool by_bytes = (model_few && model_many && blind <= C25_MODEL) ||
                          (alike && rule_faster(&few.row[LOADS], &many.row[LOADS]));
    const enum claim_verdict cause = by_warps == by_bytes ? CLAIM_MIXED
                                     : by_warps           ? CLAIM_REPRODUCED
                                                          : CLAIM_REFUTED;
    const enum claim_verdict waited = rule_band(rule_place(&waits, C25_WAITS, INFINITY));
    rule_say(f->evidence, "; the cause: %s, more waiting: %s", claim_verdict_name(cause),
             claim_verdict_name(waited));
    if (c25_controls(bundle, &s, &positive, &negative, f))
        rule_conclude(f, both(cause, waited), positive, negative);
}

/* --- the entry ------------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C25",
     .article = "smallest.ai",
     .quote = "That\u2019s because with smaller blocks per SM, the amount of work each SM does "
              "shrinks, and there are fewer warps available to hide memory latency. The GPU spends "
              "more time waiting and less time computing.",
     .statement = "Our reading, two halves: fewer resident warps cause what C24 finds; and a "
                  "larger part of the time is waiting.",
     .rule = "Between the best tile with fewer blocks than SMs and the best with as many, of those "
             "with parts. Cause: REPRODUCED when resident warps explain 0.5 of the slowdown, by "
             "what they are worth at one tile with and without a second block on each SM, and the "
             "exposed share x = (all - max(loads, products)) / (min(loads, products) - empty) "
             "rises by 0.2; REFUTED when the model of busiest SM and operand bytes, which knows no "
             "warps, predicts both times within 10 % (on an H200 no blind prediction) and all "
             "other warm rows within 10 % in the median, or x stays within 0.1 while loads take "
             "longer. Waiting: REPRODUCED when (all - products) / all rises by 0.05, REFUTED when "
             "not. MIXED when the halves differ. Positive control: half the stages take longer at "
             "one tile. Negative control: warps must not explain half of what 32 blocks of 256x128 "
             "take longer than 128 of 32x256, which have more warps, but a quarter of the work "
             "each; nor may one block an SM be the faster.",
     .judge = judge_c25,
     .needs = NEEDS(cube_needs, parts_needs, model_needs, c25_controls_needs)},
};
CLAIM_SUBJECT(claims);
