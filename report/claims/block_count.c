/* The ledger: what decides the time of a 1024^3 product, the number of blocks or something else? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/claims/block_count.h"

#define FIRST_TILES(tiles)                                                                         \
    "block_count.time{m=4096,n=2048,k=1024,type=fp16,*tiles=" tiles ",resident=max,l2=warm,*}"
#define DEPTH(k)                                                                                   \
    "block_count.time{m=1024,n=1024,k=" #k ",type=fp16,*tile=128x64,*tiles=all,*l2=warm,*}"

/* --- rows of the probe ------------------------------------------------------------------------ */

static double sms_of(const struct bundle *bundle)
{
    char text[32];
    return strtod(bundle_fact(bundle, "gpu", "n_sm", text, sizeof text, "0"), NULL);
}

static const char wgmma[] = "block_count.time{" CUBE_KEYS "impl=wgmma,*tiles=all,*l2=warm,*}";
static const char mma[] = "block_count.time{" CUBE_KEYS "impl=mma,*tiles=all,*l2=warm,*}";

const struct need cube_needs[] = {{NEED_ANY, wgmma},
                                  {NEED_ANY, mma},
                                  {NEED_ANY, "block_count.blocks{" CUBE_KEYS "*}"},
                                  {NEED_ANY, "block_count.idle_sms{" CUBE_KEYS "*}"},
                                  {NEED_ANY, "block_count.products{" CUBE_KEYS "*}"},
                                  NEEDS_END};

/* Measured in every round, as a verdict needs? */
static bool has_parts(const struct bundle *bundle, const struct row *time, struct finding *f)
{
    const struct row *row = rule_beside(bundle, time, "block_count.products", NULL, NULL, f);
    return row && row_usable(row) && !row->once;
}

static enum cube_group group_of(const struct bundle *bundle, const struct row *time, double n_sm,
                                struct finding *f)
{
    const double blocks = rule_centre_beside(bundle, time, "block_count.blocks", f);
    char grid[32], split[32], resident[32];

    if (!row_key(time, "grid", grid, sizeof grid) || !row_key(time, "split", split, sizeof split) ||
        !row_key(time, "resident", resident, sizeof resident) || strcmp(resident, "max") != 0)
        return CUBE_OTHER;
    if (strcmp(grid, "tiles") != 0)
        return rule_centre_beside(bundle, time, "block_count.idle_sms", f) == 0 ? CUBE_PERSISTENT
                                                                                : CUBE_OTHER;
    if (strcmp(split, "1") != 0)
        return blocks >= n_sm ? CUBE_SPLIT : CUBE_OTHER;
    return blocks >= n_sm ? CUBE_MANY : blocks < n_sm ? CUBE_FEW : CUBE_OTHER;
}

/* The wgmma kernel's rows if there are any: kernels are not mixed. */
static const char *cubes_of(const struct bundle *bundle, struct finding *f)
{
    size_t next = 0;
    return rule_next(bundle, wgmma, &next, f) ? wgmma : mma;
}

/* The fastest of a group. The first round chooses it, the others measure it. parts: only among rows
 * that have parts. Says nothing if there is none. */
bool cube_best(const struct bundle *bundle, enum cube_group group, bool parts, struct row *best,
               struct finding *f)
{
    const char *glob = cubes_of(bundle, f), *id = NULL;
    const double n_sm = sms_of(bundle);
    const struct row *row;
    double least = INFINITY;

    for (size_t next = 0; (row = rule_next(bundle, glob, &next, f));)
        if (row_usable(row) && row->n > 0 && group_of(bundle, row, n_sm, f) == group &&
            (!parts || has_parts(bundle, row, f)) && row->value[0] < least) {
            least = row->value[0];
            id = row->id;
        }
    return id && rule_take_best(bundle, id, best, f);
}

void cube_say(const struct bundle *bundle, const struct row *time, struct finding *f)
{
    char tile[48];
    row_key(time, "tile", tile, sizeof tile);
    rule_say(f->evidence, "%s (%.0f blocks) %.2f", tile,
             rule_centre_beside(bundle, time, "block_count.blocks", f), time->centre / 1e3);
}

/* A row computed in each round from rows of that round. */
struct row cube_formed(const struct row *const *in, size_t n, const char *unit,
                       double (*of)(const double *value))
{
    struct row out = {.id = in[0]->id, .unit = unit, .better = ROW_LOWER};
    double value[8];

    for (size_t i = 0; i < in[0]->n; i++) {
        for (size_t k = 0; k < n; k++)
            value[k] = row_at(in[k], in[0]->round[i]);
        row_put(&out, in[0]->round[i], of(value), NAN);
    }
    row_finish(&out);
    return out;
}

/* --- C24: more blocks than SMs ---------------------------------------------------------------- */

static const double C24_DELTA = 0.03; /* a smaller difference does not count */

/* From times over k: the part that does not grow with k. */
static double fixed_part(const double *at)
{
    return at[0] - 512 * (at[1] - at[0]) / (2048 - 512);
}

static const struct need whole_needs[] = {{NEED_ONE, CUBE_WGMMA("128x64", "1", "tiles")},
                                          {NEED_ONE, DEPTH(512)},
                                          {NEED_ONE, DEPTH(2048)},
                                          {NEED_ONE, FIRST_TILES("sm")},
                                          {NEED_ONE, FIRST_TILES("sm+1")},
                                          NEEDS_END};
static const struct need empty_needs[] = {
    {NEED_ANY, "block_count.empty{" CUBE_KEYS "*,timer=event}"}, NEEDS_END};

/* Where the time of the best tile goes. Idle SMs would account for a part of what grows with k. */
static void say_where_it_goes(const struct bundle *bundle, double n_sm, struct finding *f)
{
    struct row whole, short_k, long_k, step[2], part[2];
    struct finding ignored = rule_aside(f);

    if (!RULE_TAKE(bundle, whole_needs, &ignored, &whole, &short_k, &long_k, &step[0], &step[1]) ||
        !rule_take_beside(bundle, &whole, "block_count.empty", &part[0], &ignored) ||
        !rule_take_beside(bundle, &whole, "block_count.products", &part[1], &ignored))
        return;
    const double idle = rule_centre_beside(bundle, &whole, "block_count.idle_sms", f), us = 1e3;
    const char *waves = rule_centre_beside(bundle, &whole, "block_count.blocks", f) > n_sm
                            ? "more than one"
                            : "none";
    const struct row fixed =
        cube_formed((const struct row *const[]){&short_k, &long_k}, 2, "ns", fixed_part);
    const double all = whole.centre / 100, over = (whole.centre - fixed.centre) * idle / n_sm;
    const double waits = whole.centre - part[1].centre;
    const double wave = step[1].centre - step[0].centre;

    rule_say(f->evidence,
             "; of the %.2f us of 128x64: fixed, by times over k, %.2f us (%.0f %%), of these %.2f "
             "for the empty kernel; %.0f idle SMs %.2f us at most (%.0f %%); waves %s (a tile "
             "more than SMs would add %.2f us, %.0f %%); waiting for operands %.2f us (%.0f %%)",
             whole.centre / us, fixed.centre / us, fixed.centre / all, part[0].centre / us, idle,
             over / us, over / all, waves, wave / us, 100 * wave / step[0].centre, waits / us,
             waits / all);
}

/* The best split and persistent rows; is one of them as fast as the best with few blocks? */
static bool say_others(const struct bundle *bundle, const struct row *few, size_t *n,
                       struct finding *f)
{
    static const char *const names[] = {[CUBE_SPLIT] = "split along k, as many blocks or more",
                                        [CUBE_PERSISTENT] =
                                            "persistent or stream-K, every SM at work"};
    bool as_fast = false;
    struct row row;

    *n = 0;
    for (enum cube_group g = CUBE_SPLIT; g <= CUBE_PERSISTENT; g++) {
        rule_say(f->evidence, "; %s: ", names[g]);
        if (!cube_best(bundle, g, false, &row, f)) {
            rule_say(f->evidence, "none");
            continue;
        }
        ++*n;
        as_fast = as_fast || !rule_faster(few, &row);
        cube_say(bundle, &row, f);
    }
    return as_fast;
}

static const struct need c24_controls_needs[] = {
    {NEED_ONE, CUBE_WGMMA("128x64_persistent", "1", "64")},
    {NEED_ONE, CUBE_WGMMA("128x64_persistent", "1", "128")},
    {NEED_ONE, FIRST_TILES("96")},
    {NEED_ONE, FIRST_TILES("sm")},
    NEEDS_END};

static bool c24_controls(const struct bundle *bundle, double n_sm, bool *positive, bool *negative,
                         struct finding *f)
{
    struct row half, full, few, many;

    if (!RULE_TAKE(bundle, c24_controls_needs, f, &half, &full, &few, &many))
        return false;
    const struct row halved = rule_ratio(&half, &full), filled = rule_ratio(&many, &few);
    *positive = rule_faster(&full, &half);
    *negative = rule_place(&filled, 0, n_sm / 96) == PLACE_INSIDE && n_sm > 96;
    rule_say_control(f, true, *positive,
                     "the same 128 tiles by 64 blocks take longer than by 128, ratio", &halved);
    rule_say_control(f, false, *negative,
                     "as many tiles of one size as SMs take longer, for each, than 96 tiles; time "
                     "of all over time of 96",
                     &filled);
    return true;
}

static void judge_c24(const struct bundle *bundle, struct finding *f)
{
    const double n_sm = sms_of(bundle);
    struct row few, many;
    bool positive, negative;
    size_t n_others;

    if (!cube_best(bundle, CUBE_FEW, false, &few, f) ||
        !cube_best(bundle, CUBE_MANY, false, &many, f)) {
        rule_not_testable(f, "tiles with fewer blocks than SMs, and with as many, are not both in "
                             "this bundle");
        return;
    }
    const struct row ratio = rule_ratio(&many, &few);
    const enum place slower = rule_place(&ratio, 0, 1 + C24_DELTA);
    rule_say(f->evidence, "us, best with fewer blocks than SMs: ");
    cube_say(bundle, &few, f);
    rule_say(f->evidence, "; with as many or more, smaller tiles: ");
    cube_say(bundle, &many, f);
    const bool as_fast = say_others(bundle, &few, &n_others, f);
    say_where_it_goes(bundle, n_sm, f);
    if (n_others == 0) {
        rule_not_testable(f, "no configuration that fills every SM another way than by smaller "
                             "tiles is in this bundle");
        return;
    }
    if (c24_controls(bundle, n_sm, &positive, &negative, f))
        rule_conclude(f,
                      slower == PLACE_INSIDE              ? CLAIM_REFUTED
                      : slower == PLACE_ABOVE && !as_fast ? CLAIM_REPRODUCED
                                                          : CLAIM_MIXED,
                      positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C24",
     .article = "smallest.ai",
     .quote = "when we force Triton to pick block sizes that result in \u2265142 active "
              "blocks\u2014fully engaging every SM\u2014the performance actually gets worse, "
              "dropping to ~17 microseconds.",
     .statement =
         "A 1024^3 product with at least as many blocks as SMs is slower than the best with fewer, "
         "whether by smaller tiles, by tiles split along k, by stream-K or by a persistent grid.",
     .rule =
         "Own kernel, fp16 with fp32 sums, warm L2. REFUTED when of the tiles the best with at "
         "least as many blocks as SMs is not slower than the best with fewer, by more than 3 %. "
         "Where it is: REPRODUCED when the best tile split along k into as many blocks or more, "
         "and the best persistent or stream-K grid with work for every SM, are slower by more than "
         "3 %, too; MIXED when one of them is not, or the interval of the first comparison holds 3 "
         "%. The best are chosen in the first round and judged on the others. Positive control: "
         "128 tiles by 64 persistent blocks take longer than by 128. Negative control: of one tile "
         "size, as many tiles as SMs must not take longer, for each, than 96.",
     .judge = judge_c24,
     .needs = NEEDS(cube_needs, whole_needs, empty_needs, c24_controls_needs)},
};
CLAIM_SUBJECT(claims);
