/* The ledger: how many warps an SM needs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/rules.h"

static double times(const double *value, const void *factor)
{
    return value[0] * *(const double *)factor;
}

/* Every value times a constant. */
static struct row scaled(const struct row *row, double factor, struct finding *f)
{
    return rule_formed(f, &row, 1, NULL, times, &factor);
}

/* --- C12: the cost of an L1 or shared-memory hit ---------------------------------------------- */

static const double C12_HALF = 0.5, C12_WORSE = 1.5, C12_MOVED = 0.03;
enum { FEW_WARPS = 4, FULL_WARPS = 32, FULL_LOADS = 8 };

enum holding { HOLDS, FAILS, OPEN };

static enum holding part_of(enum place place, enum place holds)
{
    if (place == PLACE_STRADDLES)
        return OPEN;
    return place == holds ? HOLDS : FAILS;
}

static enum holding both(enum holding a, enum holding b)
{
    if (a == FAILS || b == FAILS)
        return FAILS;
    return a == HOLDS && b == HOLDS ? HOLDS : OPEN;
}

#define HIT "occupancy.hit{memory=%s,stride=%d,warps=%d,loads=%d}"
#define LAYERS "occupancy.layers{level=%s,layers=%d,placement=%s}"

static const struct need hit_needs[] = {{NEED_ANY, HIT}, {NEED_ANY, LAYERS}, NEEDS_END};

static bool take_hit(const struct bundle *bundle, const char *memory, int stride, int warps,
                     int loads, struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, HIT, memory, stride, warps, loads);
}

/* The share of the SM's load rate that 4 warps reach with `loads` loads each. A rate is warps x
 * loads over the cycles from one load to the next. */
static struct row share_of_rate(const struct row *full, const struct row *few, int loads,
                                struct finding *f)
{
    struct row ratio = rule_ratio(f, full, few);
    return scaled(&ratio, (double)FEW_WARPS * loads / (FULL_WARPS * FULL_LOADS), f);
}

/* At most half the rate, and the worst pattern at least 1.5 times as slow. */
static bool judge_memory(const struct bundle *bundle, const char *memory, int worst_stride,
                         enum holding *part, struct finding *f)
{
    struct row one, eight, full, worst;
    char what[80];
    if (!take_hit(bundle, memory, 1, FEW_WARPS, 1, &one, f) ||
        !take_hit(bundle, memory, 1, FEW_WARPS, FULL_LOADS, &eight, f) ||
        !take_hit(bundle, memory, 1, FULL_WARPS, FULL_LOADS, &full, f) ||
        !take_hit(bundle, memory, worst_stride, FEW_WARPS, 1, &worst, f))
        return false;

    struct row share = share_of_rate(&full, &one, 1, f),
               remedy = share_of_rate(&full, &eight, 8, f);
    struct row slower = rule_ratio(f, &worst, &one);
    snprintf(what, sizeof what, "%s, 4 warps, one load each: share of the load rate", memory);
    rule_say_row(f, what, &share);
    rule_say_figure(f, memory, &share);
    rule_say_row(f, "worst pattern, times as slow", &slower);
    rule_say_row(f, "with eight loads each: share", &remedy);
    *part = both(part_of(rule_place(&share, 0, RULE_LIMIT(f, C12_HALF)), PLACE_INSIDE),
                 part_of(rule_place(&slower, RULE_LIMIT(f, C12_WORSE), INFINITY), PLACE_INSIDE));
    return true;
}

/* The latency of separate layers over that of one piece. */
static bool take_apart(const struct bundle *bundle, const char *level, int layers, struct row *row,
                       struct finding *f)
{
    struct row apart, piece;
    if (!rule_take_formed(bundle, &apart, f, LAYERS, level, layers, "apart") ||
        !rule_take_formed(bundle, &piece, f, LAYERS, level, layers, "contiguous"))
        return false;
    *row = rule_ratio(f, &apart, &piece);
    return true;
}

static const struct need c12_needs[] = {
    {NEED_ONE, "occupancy.layers{level=l1,layers=32,placement=contiguous}"},
    {NEED_ONE, "occupancy.layers{level=l2,layers=32,placement=contiguous}"},
    NEEDS_END};

static void judge_c12(const struct bundle *bundle, struct finding *f)
{
    struct row l1, l2, in_l1, in_l2, one_piece;
    enum holding shared, cached;
    if (!judge_memory(bundle, "shared", 32, &shared, f) ||
        !judge_memory(bundle, "l1", 16, &cached, f) || !take_apart(bundle, "l1", 32, &in_l1, f) ||
        !take_apart(bundle, "l2", 32, &in_l2, f) || !take_apart(bundle, "l1", 1, &one_piece, f) ||
        !RULE_TAKE(bundle, c12_needs, f, &l1, &l2))
        return;

    struct row slower = rule_ratio(f, &l2, &l1);
    bool positive = rule_place(&slower, RULE_LIMIT(f, C12_WORSE), INFINITY) == PLACE_INSIDE;
    const double most = 1 + RULE_LIMIT(f, C12_MOVED);
    bool negative = rule_place(&one_piece, 0, most) == PLACE_INSIDE;
    enum holding slow = both(shared, cached);
    enum holding moved = part_of(rule_place(&in_l1, 0, most), PLACE_ABOVE);
    rule_say_row(f, "32 layers 2 MiB apart over one piece, in L1", &in_l1);
    rule_say_row(f, "in L2", &in_l2);
    rule_say_control(f, true, positive, "rows of 4 MiB from L2 over 16 KiB from L1", &slower);
    rule_say_control(f, false, negative, "a single layer, moved, is slower", &one_piece);
    rule_say_figure(f, "apart", &in_l1);
    rule_say_part(f, "few loads get at most half rate",
                  slow == HOLDS   ? CLAIM_REPRODUCED
                  : slow == FAILS ? CLAIM_REFUTED
                                  : CLAIM_MIXED,
                  NULL, NAN);
    rule_say_part(f, "layers apart cost",
                  moved == HOLDS   ? CLAIM_REPRODUCED
                  : moved == FAILS ? CLAIM_REFUTED
                                   : CLAIM_MIXED,
                  &in_l1, NAN);
    rule_conclude(f,
                  slow == OPEN || moved == OPEN || slow != moved ? CLAIM_MIXED
                  : slow == HOLDS                                ? CLAIM_REPRODUCED
                                                                 : CLAIM_REFUTED,
                  positive, negative);
}

/* --- C13: how many warps device memory needs -------------------------------------------------- */

static const double C13_SHARE = 0.9;

static const struct need c13_needs[] = {
    {NEED_BEST, "occupancy.*_rate{level=hbm,*warps=1,*}"},
    {NEED_BEST, "occupancy.*_rate{level=hbm,*}"},
    {NEED_ONE, "occupancy.read_rate{level=hbm,warps=32,loads=8}"},
    {NEED_ONE, "occupancy.read_rate{level=hbm,warps=1,loads=1}"},
    NEEDS_END};
static const struct need plain_needs[] = {
    {NEED_BEST, "occupancy.read_rate{level=hbm,warps=1,loads=*}"},
    {NEED_BEST, "occupancy.read_rate{level=hbm,warps=2,loads=*}"},
    {NEED_BEST, "occupancy.read_rate{level=hbm,warps=4,loads=*}"},
    NEEDS_END};

/* Plain loads alone, by one warp and by more. */
static void say_plain(const struct bundle *bundle, const struct row *most, struct finding *f)
{
    static const char *const words[] = {"by plain loads, one warp an SM reaches", "two", "four"};
    struct finding ignored = rule_aside(f);
    struct row row;

    for (size_t i = 0; plain_needs[i].id; i++)
        if (rule_take_best(bundle, plain_needs[i].id, &row, &ignored)) {
            const struct row share = rule_ratio(&ignored, &row, most);
            rule_say_row(f, words[i], &share);
        }
}

static void judge_c13(const struct bundle *bundle, struct finding *f)
{
    struct row single, most, many, one;
    if (!RULE_TAKE(bundle, c13_needs, f, &single, &most, &many, &one))
        return;

    const double enough = RULE_LIMIT(f, C13_SHARE);
    struct row share = rule_ratio(f, &single, &most), full = rule_ratio(f, &many, &most);
    struct row least = rule_ratio(f, &one, &most);
    enum place place = rule_place(&share, enough, INFINITY);
    bool positive = rule_place(&full, enough, INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&least, enough, INFINITY) == PLACE_BELOW;
    rule_say_row(f, "sustained", &most);
    rule_say_row(f, "by one warp an SM", &single);
    rule_say_row(f, "which is a share of", &share);
    rule_say(f->evidence, ", by %s", single.id);
    say_plain(bundle, &most, f);
    rule_say_control(f, true, positive, "32 warps of 8 loads reach 0.9, at", &full);
    rule_say_control(f, false, negative, "1 warp of 1 load reaches 0.9, at", &least);
    rule_say_figure(f, "share", &share);
    rule_conclude(f,
                  place == PLACE_STRADDLES ? CLAIM_MIXED
                  : place == PLACE_INSIDE  ? CLAIM_REFUTED
                                           : CLAIM_REPRODUCED,
                  positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C12",
     .article = "smallest.ai",
     .clause = "even the best-placed data in shared or L1 memory still adds latency, especially "
               "when memory access is irregular or fragmented across layers",
     .quote = "This means that even the best-placed data in shared or L1 memory still adds "
              "latency, especially when memory access is irregular or fragmented across layers.",
     .since = "2026-11-22",
     .plain = {.yes = "Four warps reach {l1:%} of L1's rate, {shared:%} of shared memory's; far "
                      "layers take {apart} times as long.",
               .no = "Four warps reach {l1:%} of L1's rate, {shared:%} of shared memory's; far "
                     "layers, {apart} times the time, are no slower.",
               .partly = "On the SM {parts}."},
     .surprise = 3,
     .statement =
         "With few warps and one load in flight each, L1 and shared hits leave the SM at half its "
         "load rate or less; bank conflicts, sectors and per-layer placement make it worse.",
     .rule =
         "Two parts. Slow: with 4 warps of one load each, shared memory and L1 are at half or less "
         "of the load rate that 32 warps of 8 loads reach, and the worst pattern (all lanes in one "
         "bank; a line for each lane) is 1.5 times as slow or more. Fragmented: 32 layers 2 MiB "
         "apart, the same loads, all in L1, are slower by more than 3 % than in one piece. "
         "REPRODUCED when both hold, REFUTED when both fail, MIXED when they disagree. The same in "
         "L2, which is no best-placed data, and what 4 warps reach with eight loads each are "
         "reported only. Positive control: rows of 4 MiB from L2 are 1.5 times as slow as from L1 "
         "or more. Negative control: a single layer, moved by 2 MiB, must not be slower.",
     .judge = judge_c12,
     .needs = NEEDS(hit_needs, c12_needs)},
    {.id = "C13",
     .article = "smallest.ai",
     .quote =
         "To mask latency effectively, Nvidia GPUs require each SM to have multiple active warps.",
     .clause = "require each SM to have multiple active warps",
     .since = "2026-11-22",
     .plain = {.yes = "By one warp on each SM device memory is read at {share:%} of the best rate, "
                      "less than {C13_SHARE:%}.",
               .no = "One warp on each SM reads memory at {share} times the rate of the best "
                     "number of warps.",
               .partly = "Between: one warp on each SM reads device memory at {share:range} of the "
                         "best rate against a limit of {C13_SHARE}."},
     .surprise = 8,
     .statement = "No way to read device memory by one warp an SM reaches 90 % of the sustained "
                  "rate; 'multiple' is more than one.",
     .rule = "REFUTED when the best reading of device memory by one warp an SM, by loads or by "
             "asynchronous copies, reaches 0.9 of the best by any number, REPRODUCED when it stays "
             "below. Both are chosen in the first round and judged on the others. Said beside it: "
             "what plain loads reach by one, two and four warps. Positive control: 32 warps of 8 "
             "loads reach 0.9. Negative control: 1 warp of 1 load must not.",
     .judge = judge_c13,
     .needs = NEEDS(c13_needs, plain_needs)},
};
CLAIM_SUBJECT(claims);
