/* The ledger: what decides the time of a 1024^3 product, the number of blocks or something else? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/block_count.h"

#define FIRST_TILES(tiles)                                                                         \
    "block_count.time{m=4096,n=2048,k=1024,type=fp16,*tiles=" tiles ",resident=max,l2=warm,*}"
#define DEPTH(k)                                                                                   \
    "block_count.time{m=1024,n=1024,k=" #k ",type=fp16,*tile=128x64,*tiles=all,*l2=warm,*}"

/* --- rows of the probe ------------------------------------------------------------------------ */

const char *const cube_kernel_names[CUBE_KERNELS] = {"wgmma", "mma.sync"};
static const char *const kernels[CUBE_KERNELS] = {
    "block_count.time{" CUBE_KEYS "impl=wgmma,*tiles=all,*l2=warm,*}",
    "block_count.time{" CUBE_KEYS "impl=mma,*tiles=all,*l2=warm,*}"};

const struct need cube_needs[] = {
    {NEED_ANY, "block_count.time{" CUBE_KEYS "impl=wgmma,*tiles=all,*l2=warm,*}"},
    {NEED_ANY, "block_count.time{" CUBE_KEYS "impl=mma,*tiles=all,*l2=warm,*}"},
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

/* The fastest of a group, or of the least blocks. */
static bool pick(const struct bundle *bundle, enum cube_kernel kernel, enum cube_group group,
                 bool parts, bool fewest, struct row *best, struct finding *f)
{
    const double n_sm = bundle_sms(bundle);
    const struct row *row;
    const char *id = NULL;
    double least = INFINITY;

    for (size_t next = 0; (row = rule_next(bundle, kernels[kernel], &next, f));) {
        if (!row_usable(row) || row->n == 0 || group_of(bundle, row, n_sm, f) != group ||
            (parts && !has_parts(bundle, row, f)))
            continue;
        const double by =
            fewest ? rule_centre_beside(bundle, row, "block_count.blocks", f) : row->value[0];
        if (by < least) {
            least = by;
            id = row->id;
        }
    }
    return id && rule_take_best(bundle, id, best, f);
}

bool cube_best(const struct bundle *bundle, enum cube_kernel kernel, enum cube_group group,
               bool parts, struct row *best, struct finding *f)
{
    return pick(bundle, kernel, group, parts, false, best, f);
}

bool cube_fewest(const struct bundle *bundle, enum cube_kernel kernel, struct row *fewest,
                 struct finding *f)
{
    return pick(bundle, kernel, CUBE_FEW, false, true, fewest, f);
}

void cube_say(const struct bundle *bundle, const struct row *time, struct finding *f)
{
    char tile[48];
    row_key(time, "tile", tile, sizeof tile);
    rule_say(f->evidence, "%s (%.0f blocks) %.2f", tile,
             rule_centre_beside(bundle, time, "block_count.blocks", f), time->centre / 1e3);
}

/* --- C24, C24b: more blocks than SMs ---------------------------------------------------------- */

static const double C24_DELTA = 0.03; /* a smaller difference does not count */
static const double C24_IDLE = 0.20;  /* what most SMs without work cost, at least */

#define TRITON(tile, l2) "peers.time{" CUBE_KEYS "impl=triton,tile=" tile ",l2=" l2 ",timer=event}"
#define BY_TRITON(tile)                                                                            \
    "peers.clock{" CUBE_KEYS "impl=triton,tile=" tile ",clock=do_bench,timer=event}"

static const struct need triton_needs[] = {
    {NEED_ONE, TRITON("tuned", "warm")},      {NEED_ONE, TRITON("forced", "warm")},
    {NEED_ONE, TRITON("128x256x64", "warm")}, {NEED_ONE, TRITON("128x128x32", "warm")},
    {NEED_ONE, TRITON("128x64x32", "warm")},  NEEDS_END};
static const struct need count_needs[] = {
    {NEED_ONE, "peers.blocks{" CUBE_KEYS "impl=triton,tile=tuned,l2=warm}"},
    {NEED_ONE, "peers.blocks{" CUBE_KEYS "impl=triton,tile=forced,l2=warm}"},
    NEEDS_END};
static const struct need clock_needs[] = {{NEED_ONE, TRITON("tuned", "cold")},
                                          {NEED_ONE, TRITON("forced", "cold")},
                                          {NEED_ONE, BY_TRITON("tuned")},
                                          {NEED_ONE, BY_TRITON("forced")},
                                          NEEDS_END};

/* Is the one with more blocks slower? */
enum claim_verdict cube_slower(const struct row *ratio, struct finding *f)
{
    const enum place place = rule_place(ratio, 0, 1 + RULE_LIMIT(f, C24_DELTA));
    return place == PLACE_ABOVE    ? CLAIM_REPRODUCED
           : place == PLACE_INSIDE ? CLAIM_REFUTED
                                   : CLAIM_MIXED;
}

static void say_other_clocks(const struct bundle *bundle, struct finding *f)
{
    struct row cold[2], bench[2];
    struct finding ignored = rule_aside(f);

    if (!RULE_TAKE(bundle, clock_needs, &ignored, &cold[0], &cold[1], &bench[0], &bench[1]))
        return;
    const struct row by_cold = rule_ratio(&ignored, &cold[1], &cold[0]);
    const struct row by_bench = rule_ratio(&ignored, &bench[1], &bench[0]);
    rule_say_row(f, "cold", &by_cold);
    rule_say_row(f, "by do_bench", &by_bench);
}

/* --- C24b: our kernels, and other ways to fill the SMs ---------------------------------------- */

/* Of the line through the times at two depths: its time at k = 0. */
static double at_none(const double *at, const void *depths)
{
    const double *k = depths;
    return at[0] - k[0] * (at[1] - at[0]) / (k[1] - k[0]);
}

/* The times over k are no line: each further step of k costs more. So there are two values, by the
 * two pairs of neighbours; the less first. */
static void find_fixed(struct cube_cost *cost, const struct row *short_k, const struct row *long_k,
                       struct finding *f)
{
    const double less[] = {512, 1024}, more[] = {1024, 2048};
    const struct row by_less =
        rule_formed(f, (const struct row *const[]){short_k, &cost->whole}, 2, "ns", at_none, less);
    const struct row by_more =
        rule_formed(f, (const struct row *const[]){&cost->whole, long_k}, 2, "ns", at_none, more);
    const bool grows = by_more.centre < by_less.centre;

    cost->fixed[0] = grows ? by_more : by_less;
    cost->fixed[1] = grows ? by_less : by_more;
}

static const struct need whole_needs[] = {{NEED_ONE, CUBE_WGMMA("128x64", "1", "tiles")},
                                          {NEED_ONE, DEPTH(512)},
                                          {NEED_ONE, DEPTH(2048)},
                                          {NEED_ONE, FIRST_TILES("sm")},
                                          {NEED_ONE, FIRST_TILES("sm+1")},
                                          NEEDS_END};
static const struct need empty_needs[] = {
    {NEED_ANY, "block_count.empty{" CUBE_KEYS "*,timer=event}"}, NEEDS_END};

bool cube_cost(const struct bundle *bundle, struct cube_cost *cost, struct finding *f)
{
    struct row short_k, long_k, products;
    const double n_sm = bundle_sms(bundle);

    if (!RULE_TAKE(bundle, whole_needs, f, &cost->whole, &short_k, &long_k, &cost->wave[0],
                   &cost->wave[1]) ||
        !rule_take_beside(bundle, &cost->whole, "block_count.empty", &cost->empty, f) ||
        !rule_take_beside(bundle, &cost->whole, "block_count.products", &products, f))
        return false;
    find_fixed(cost, &short_k, &long_k, f);
    cost->idle_sms = rule_centre_beside(bundle, &cost->whole, "block_count.idle_sms", f);
    cost->idle_ns = cost->whole.centre * cost->idle_sms / n_sm;
    cost->waits_ns = cost->whole.centre - products.centre;
    return true;
}

/* Where the time of the best tile goes. Idle SMs cost no more than their share of all. */
static void say_where_it_goes(const struct bundle *bundle, double n_sm, struct finding *f)
{
    struct cube_cost cost;
    struct finding ignored = rule_aside(f);

    if (!cube_cost(bundle, &cost, &ignored))
        return;
    const char *waves = rule_centre_beside(bundle, &cost.whole, "block_count.blocks", f) > n_sm
                            ? "more than one"
                            : "none";
    const double us = 1e3, all = cost.whole.centre / 100;
    const double wave = cost.wave[1].centre - cost.wave[0].centre;

    rule_say(
        f->evidence,
        "; of the %.2f us of 128x64: fixed, by lines through two of the times at k = 512, 1024 and "
        "2048, %.2f to %.2f us (%.0f to %.0f %%), of these %.2f for the empty kernel; %.0f idle "
        "SMs %.2f us at most (%.0f %%); waves %s (a tile more than SMs would add %.2f us, %.0f "
        "%%); waiting for operands %.2f us (%.0f %%)",
        cost.whole.centre / us, cost.fixed[0].centre / us, cost.fixed[1].centre / us,
        cost.fixed[0].centre / all, cost.fixed[1].centre / all, cost.empty.centre / us,
        cost.idle_sms, cost.idle_ns / us, cost.idle_ns / all, waves, wave / us,
        100 * wave / cost.wave[0].centre, cost.waits_ns / us, cost.waits_ns / all);
}

static const struct need part_needs[] = {
    {NEED_ONE, CUBE_WGMMA("128x64", "1", "tiles")},
    {NEED_ONE, CUBE_WGMMA("64x64", "1", "tiles")},
    {NEED_ANY, "block_count.loads{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.products{" CUBE_KEYS "*,timer=event}"},
    {NEED_ANY, "block_count.operand_bytes{" CUBE_KEYS "*}"},
    NEEDS_END};

/* What the smaller tile loses: in the empty kernel, in its loads, or in its products. */
static void say_loss(const struct bundle *bundle, struct finding *f)
{
    static const char *const metrics[] = {"block_count.empty", "block_count.loads",
                                          "block_count.products", "block_count.operand_bytes"};
    struct finding ignored = rule_aside(f);
    struct row large, small;
    double of_large[4], of_small[4];

    if (!rule_take(bundle, part_needs[0].id, &large, &ignored) ||
        !rule_take(bundle, part_needs[1].id, &small, &ignored))
        return;
    for (size_t i = 0; i < 4; i++) {
        of_large[i] = rule_centre_beside(bundle, &large, metrics[i], f);
        of_small[i] = rule_centre_beside(bundle, &small, metrics[i], f);
        if (isnan(of_large[i]) || isnan(of_small[i]))
            return;
    }
    rule_say(f->evidence,
             "; from 128x64 to 64x64 %+.2f us: the empty kernel %+.2f, its loads %+.2f, its "
             "products %+.2f, with %.2f times the bytes of operands",
             (small.centre - large.centre) / 1e3, (of_small[0] - of_large[0]) / 1e3,
             (of_small[1] - of_large[1]) / 1e3, (of_small[2] - of_large[2]) / 1e3,
             of_small[3] / of_large[3]);
}

/* The best split and persistent rows against the best with few blocks: how many there are, and how
 * many are slower, and as fast. In the rest the interval holds the limit. */
struct filled {
    size_t n, slower, as_fast;
};

static void say_others(const struct bundle *bundle, enum cube_kernel kernel, const struct row *few,
                       struct filled *filled, struct finding *f)
{
    static const char *const names[] = {
        [CUBE_SPLIT] = "split along k", [CUBE_PERSISTENT] = "persistent or stream-K"};
    struct row row;

    for (enum cube_group g = CUBE_SPLIT; g <= CUBE_PERSISTENT; g++)
        if (cube_best(bundle, kernel, g, false, &row, f)) {
            const struct row ratio = rule_ratio(f, &row, few);
            const enum claim_verdict slower = cube_slower(&ratio, f);
            filled->n++;
            filled->slower += slower == CLAIM_REPRODUCED;
            filled->as_fast += slower == CLAIM_REFUTED;
            rule_say(f->evidence, ", %s ", names[g]);
            cube_say(bundle, &row, f);
        }
}

static const struct need staircase_needs[] = {
    {NEED_ONE, FIRST_TILES("96")}, {NEED_ONE, FIRST_TILES("sm")}, NEEDS_END};

/* With most SMs idle a product takes longer; and where the SMs that work have as much to do each,
 * more of them are not slower. The second is the staircase's where there is one. */
static bool take_our_controls(const struct bundle *bundle, enum cube_kernel kernel,
                              const struct row *few, bool *positive, bool *negative,
                              struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row fewest, part, all;
    const double n_sm = bundle_sms(bundle);

    if (!cube_fewest(bundle, kernel, &fewest, f))
        return false;
    const struct row idle = rule_ratio(f, &fewest, few), back = rule_ratio(f, few, &fewest);
    *positive = rule_place(&idle, 1 + RULE_LIMIT(f, C24_IDLE), INFINITY) == PLACE_INSIDE;
    rule_say_control(f, true, *positive, "the tile that makes fewest blocks takes longer, times",
                     &idle);
    if (kernel == CUBE_BY_WGMMA && n_sm > 96 &&
        RULE_TAKE(bundle, staircase_needs, &ignored, &part, &all)) {
        const struct row filled = rule_ratio(f, &all, &part);
        *negative = rule_place(&filled, 0, n_sm / 96) == PLACE_INSIDE;
        rule_say_control(f, false, *negative,
                         "as many tiles of one size as SMs take longer, for each, than 96 tiles; "
                         "time of all over time of 96",
                         &filled);
    } else {
        *negative = cube_slower(&back, f) == CLAIM_REFUTED;
        rule_say_control(f, false, *negative,
                         "more blocks, but still fewer than SMs, take longer, times", &back);
    }
    return true;
}

static void judge_c24b(const struct bundle *bundle, struct finding *f)
{
    const double n_sm = bundle_sms(bundle);
    bool positive = false, negative = false;
    size_t n = 0, lost = 0, kept = 0;
    struct filled filled = {0};
    struct row few, many;

    for (enum cube_kernel k = 0; k < CUBE_KERNELS; k++) {
        if (!cube_best(bundle, k, CUBE_FEW, false, &few, f) ||
            !cube_best(bundle, k, CUBE_MANY, false, &many, f))
            continue;
        const struct row ratio = rule_ratio(f, &many, &few);
        const enum claim_verdict here = cube_slower(&ratio, f);
        rule_say(f->evidence, "%sby %s, us: fewer blocks than SMs ", n++ ? "; " : "",
                 cube_kernel_names[k]);
        cube_say(bundle, &few, f);
        rule_say(f->evidence, ", as many or more ");
        cube_say(bundle, &many, f);
        say_others(bundle, k, &few, &filled, f);
        rule_say_figure(f, "ratio", &ratio);
        rule_say_part(f, cube_kernel_names[k], here, &ratio, 1 + C24_DELTA);
        lost += here == CLAIM_REPRODUCED;
        kept += here == CLAIM_REFUTED;
        if (n == 1 && !take_our_controls(bundle, k, &few, &positive, &negative, f))
            return;
    }
    if (n == 0) {
        rule_not_testable(f, "tiles with fewer blocks than SMs, and with as many, are not both in "
                             "this bundle");
        return;
    }
    say_loss(bundle, f);
    say_where_it_goes(bundle, n_sm, f);
    const bool all_slower = filled.slower == filled.n;
    if (filled.n > 0)
        rule_say_part(f, "split or persistent grids",
                      all_slower           ? CLAIM_REPRODUCED
                      : filled.as_fast > 0 ? CLAIM_REFUTED
                                           : CLAIM_MIXED,
                      NULL, NAN);
    rule_conclude(f,
                  lost == n && all_slower ? CLAIM_REPRODUCED
                  : kept == n             ? CLAIM_REFUTED
                                          : CLAIM_MIXED,
                  positive, negative);
}

/* --- C24: by Triton, where it is -------------------------------------------------------------- */

static void judge_c24(const struct bundle *bundle, struct finding *f)
{
    struct row few, many, starved, half, most, n_few, n_many;

    if (!RULE_TAKE(bundle, triton_needs, f, &few, &many, &starved, &half, &most) ||
        !RULE_TAKE(bundle, count_needs, f, &n_few, &n_many))
        return;
    if (!(n_few.high < bundle_sms(bundle)) || !(n_many.low >= bundle_sms(bundle))) {
        rule_not_testable(f, "the tuner picks %.0f blocks and is forced to %.0f, on %.0f SMs",
                          n_few.centre, n_many.centre, bundle_sms(bundle));
        return;
    }
    const struct row ratio = rule_ratio(f, &many, &few), idle = rule_ratio(f, &starved, &few);
    const struct row doubled = rule_ratio(f, &most, &half);
    const bool positive = rule_place(&idle, 1 + RULE_LIMIT(f, C24_IDLE), INFINITY) == PLACE_INSIDE;
    const bool negative = cube_slower(&doubled, f) == CLAIM_REFUTED;
    rule_say(f->evidence, "Triton, warm, by slope: tuned (%.0f blocks) %.2f us, forced (%.0f) %.2f",
             n_few.centre, few.centre / 1e3, n_many.centre, many.centre / 1e3);
    rule_say_row(f, "times as long, median of the rounds", &ratio);
    say_other_clocks(bundle, f);
    rule_say_control(f, true, positive, "32 blocks take longer than what the tuner picks, times",
                     &idle);
    rule_say_control(f, false, negative,
                     "tiles of half the size, which make 64 blocks 128, still fewer than SMs, take "
                     "longer, times",
                     &doubled);
    rule_say_figure(f, "few", &few);
    rule_say_figure(f, "many", &many);
    rule_say_figure(f, "n_few", &n_few);
    rule_say_figure(f, "n_many", &n_many);
    rule_say_figure(f, "ratio", &ratio);
    rule_conclude(f, cube_slower(&ratio, f), positive, negative);
}

/* --- the entries ----------------------------------------------------------------------------- */

static const struct claim claims[] = {
    {.id = "C24",
     .article = "smallest.ai",
     .quote = "when we force Triton to pick block sizes that result in \u2265142 active "
              "blocks\u2014fully engaging every SM\u2014the performance actually gets worse, "
              "dropping to ~17 microseconds.",
     .clause = "when we force Triton to pick block sizes that result in \u2265142 active "
               "blocks\u2014fully engaging every SM\u2014the performance actually gets worse",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "Triton's product takes {few} by {n_few} blocks, {many} by {n_many}, at "
                      "least one an SM.",
               .no = "Triton's product takes {few} by {n_few} blocks, {many} by {n_many}: not "
                     "{C24_DELTA:%} longer.",
               .partly = "Between: by {n_many} blocks instead of {n_few} Triton's product takes "
                         "{ratio:range} times as long; the limit is {C24_DELTA:%} more."},
     .surprise = 5,
     .statement = "At 1024^3 Triton's best configuration with at least as many blocks as SMs is "
                  "slower than the one with fewer that its tuner picks.",
     .rule = "The article's own experiment, fp16, warm L2, by the slope of graphs; cold, and "
             "do_bench, are said beside it, and the 17 us, which are an L40S's, are not judged. "
             "REPRODUCED when the forced one is slower by more than 3 %, REFUTED when it is not, "
             "MIXED when the interval holds 3 %. Positive control: tiles that make 32 blocks take "
             "1.2 times as long as what the tuner picks or more. Negative control: tiles of half "
             "the size, where 64 blocks become 128 and still every one has an SM, must not be "
             "slower. Without Triton in the bundle NOT TESTABLE; our kernels are C24b.",
     .judge = judge_c24,
     .needs = NEEDS(triton_needs, count_needs, clock_needs)},
    {.id = "C24b",
     .article = "smallest.ai",
     .quote = "when we force Triton to pick block sizes that result in \u2265142 active "
              "blocks\u2014fully engaging every SM\u2014the performance actually gets worse, "
              "dropping to ~17 microseconds.",
     .clause = "",
     .since = "2026-11-28",
     .plain = {.yes = "gpufloor's kernels, too, take {ratio} times as long with a block for each "
                      "SM or more.",
               .no = "gpufloor's kernels take {ratio} times as long with a block for each SM or "
                     "more: no loss.",
               .partly = "gpufloor's kernels slower with a block for each SM or more: {parts}."},
     .surprise = 4,
     .statement = "At 1024^3 other kernels, too, are slower with at least as many blocks as SMs, "
                  "however these are made: by smaller tiles, by tiles split along k, by stream-K "
                  "or by a persistent grid.",
     .rule =
         "Our kernels by wgmma and by mma.sync, those that the GPU has, fp16, warm L2. REPRODUCED "
         "when by each the best tile with at least as many blocks as SMs is slower than the best "
         "with fewer, by more than 3 %, and so are the best tile split along k into as many blocks "
         "and the best persistent or stream-K grid, where there are any; REFUTED when by none the "
         "smaller tile is slower; MIXED otherwise. The best are chosen in the first round and "
         "judged on the others. Positive control: the tile that makes fewest blocks takes 1.2 "
         "times as long as the best or more. Negative control: of one tile size, as many tiles as "
         "SMs must not take longer, for each, than 96; without the wgmma kernel, the best tile "
         "must not be slower than the one with fewest blocks.",
     .judge = judge_c24b,
     .needs = NEEDS(cube_needs, whole_needs, empty_needs, part_needs, staircase_needs)},
};
CLAIM_SUBJECT(claims);
