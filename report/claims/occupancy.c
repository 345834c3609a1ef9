/* The ledger: how many warps an SM needs, and what limits them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/rules.h"

/* Every value times a constant. */
static struct row scaled(const struct row *row, double factor)
{
    struct row product = {
        .id = row->id, .unit = row->unit, .better = row->better, .once = row->once};
    for (size_t i = 0; i < row->n; i++)
        row_put(&product, row->round[i], row->value[i] * factor, NAN);
    row_finish(&product);
    return product;
}

/* --- C12: the cost of an L1 or shared-memory hit ---------------------------------------------- */

static const double C12_HALF = 0.5, C12_WORSE = 1.5, C12_MOVED = 1.03;
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
static struct row share_of_rate(const struct row *full, const struct row *few, int loads)
{
    struct row ratio = rule_ratio(full, few);
    return scaled(&ratio, (double)FEW_WARPS * loads / (FULL_WARPS * FULL_LOADS));
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

    struct row share = share_of_rate(&full, &one, 1), remedy = share_of_rate(&full, &eight, 8);
    struct row slower = rule_ratio(&worst, &one);
    snprintf(what, sizeof what, "%s, 4 warps, one load each: share of the load rate", memory);
    rule_say_row(f->evidence, what, &share);
    rule_say_row(f->evidence, "worst pattern, times as slow", &slower);
    rule_say_row(f->evidence, "with eight loads each: share", &remedy);
    *part = both(part_of(rule_place(&share, 0, C12_HALF), PLACE_INSIDE),
                 part_of(rule_place(&slower, C12_WORSE, INFINITY), PLACE_INSIDE));
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
    *row = rule_ratio(&apart, &piece);
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

    struct row slower = rule_ratio(&l2, &l1);
    bool positive = rule_place(&slower, C12_WORSE, INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&one_piece, 0, C12_MOVED) == PLACE_INSIDE;
    enum holding slow = both(shared, cached);
    enum holding moved = part_of(rule_place(&in_l1, 0, C12_MOVED), PLACE_ABOVE);
    rule_say_row(f->evidence, "32 layers 2 MiB apart over one piece, in L1", &in_l1);
    rule_say_row(f->evidence, "in L2", &in_l2);
    rule_say_control(f, true, positive, "rows of 4 MiB from L2 over 16 KiB from L1", &slower);
    rule_say_control(f, false, negative, "a single layer, moved, is slower", &one_piece);
    rule_conclude(f,
                  slow == OPEN || moved == OPEN || slow != moved ? CLAIM_MIXED
                  : slow == HOLDS                                ? CLAIM_REPRODUCED
                                                                 : CLAIM_REFUTED,
                  positive, negative);
}

/* --- C13: how many warps device memory needs -------------------------------------------------- */

static const double C13_SHARE = 0.9;

static const struct need c13_needs[] = {
    {NEED_BEST, "occupancy.*_rate{level=hbm,*warps=[124],*}"},
    {NEED_BEST, "occupancy.*_rate{level=hbm,*}"},
    {NEED_ONE, "occupancy.read_rate{level=hbm,warps=32,loads=8}"},
    {NEED_ONE, "occupancy.read_rate{level=hbm,warps=1,loads=1}"},
    NEEDS_END};

static void judge_c13(const struct bundle *bundle, struct finding *f)
{
    struct row few, most, many, one;
    if (!RULE_TAKE(bundle, c13_needs, f, &few, &most, &many, &one))
        return;

    struct row share = rule_ratio(&few, &most), full = rule_ratio(&many, &most);
    struct row least = rule_ratio(&one, &most);
    enum place place = rule_place(&share, C13_SHARE, INFINITY);
    bool positive = rule_place(&full, C13_SHARE, INFINITY) == PLACE_INSIDE;
    bool negative = rule_place(&least, C13_SHARE, INFINITY) == PLACE_BELOW;
    rule_say_row(f->evidence, "sustained", &most);
    rule_say_row(f->evidence, "with at most 4 warps an SM", &few);
    rule_say_row(f->evidence, "which is a share of", &share);
    rule_say(f->evidence, ", by %s", few.id);
    rule_say_control(f, true, positive, "32 warps of 8 loads reach 0.9, at", &full);
    rule_say_control(f, false, negative, "1 warp of 1 load reaches 0.9, at", &least);
    rule_conclude(f,
                  place == PLACE_STRADDLES ? CLAIM_MIXED
                  : place == PLACE_INSIDE  ? CLAIM_REFUTED
                                           : CLAIM_REPRODUCED,
                  positive, negative);
}

/* --- C15, C16, C17: what limits the warps on an SM -------------------------------------------- */

static const double SPLIT_MOVED = 1.5;

/* "registers=%d,local=%d,shared=%d,block=%d,carveout=%d" */
struct config {
    int registers, local, shared, block, carveout;
};

#define CONFIG(metric) "occupancy." metric "{registers=%d,local=%d,shared=%d,block=%d,carveout=%d}"
#define CONFIGS "occupancy.resident_warps{*,local=0,*,carveout=100}"

static const struct need resident_needs[] = {{NEED_ANY, CONFIG("resident_warps")}, NEEDS_END};
static const struct need tally_needs[] = {
    {NEED_ANY, CONFIGS}, {NEED_ANY, CONFIG("predicted_warps")}, NEEDS_END};

static void config_id(char id[DOCUMENT_ID], const char *metric, const struct config *c)
{
    snprintf(id, DOCUMENT_ID, CONFIG("%s"), metric, c->registers, c->local, c->shared, c->block,
             c->carveout);
}

static bool take_resident(const struct bundle *bundle, struct config c, struct row *row,
                          struct finding *f)
{
    char id[DOCUMENT_ID];
    config_id(id, "resident_warps", &c);
    return rule_take(bundle, id, row, f);
}

static bool config_of(const struct row *row, struct config *c)
{
    static const char *const keys[] = {"registers", "local", "shared", "block", "carveout"};
    int *const fields[] = {&c->registers, &c->local, &c->shared, &c->block, &c->carveout};
    char text[24];
    for (int i = 0; i < 5; i++) {
        if (!row_key(row, keys[i], text, sizeof text))
            return false;
        *fields[i] = atoi(text);
    }
    return true;
}

/* Configurations that request shared memory, by whether dropping the request lets more warps in. */
struct tally {
    int bound, free, disagree;
    char first[DOCUMENT_ID];
};

static struct tally tally_of(const struct bundle *bundle, struct finding *f)
{
    struct tally t = {0};
    const struct row *row, *without, *predicted;
    struct config c;
    char id[DOCUMENT_ID];

    for (size_t next = 0; (row = rule_next(bundle, CONFIGS, &next, f));) {
        if (!row_usable(row) || !config_of(row, &c) || c.shared == 0)
            continue;
        config_id(id, "predicted_warps", &c);
        predicted = rule_find(bundle, id, f);
        c.shared = 0;
        config_id(id, "resident_warps", &c);
        without = rule_find(bundle, id, f);
        if (!without || !row_usable(without) || !predicted)
            continue;
        if (row->centre != predicted->centre)
            t.disagree++;
        else if (row->centre < without->centre)
            t.bound++;
        else if (t.free++ == 0)
            snprintf(t.first, sizeof t.first, "%s", row->id);
    }
    return t;
}

/* The negative control must not be one of the configurations that refute: if it came out right, it
 * alone would refute the claim. */
static void judge_c15(const struct bundle *bundle, struct finding *f)
{
    struct row large, without, again;
    if (!take_resident(bundle, (struct config){32, 0, 32768, 256, 100}, &large, f) ||
        !take_resident(bundle, (struct config){32, 0, 0, 256, 100}, &without, f) ||
        !take_resident(bundle, (struct config){32, 0, 0, 256, 75}, &again, f))
        return;

    struct tally t = tally_of(bundle, f);
    bool positive = large.centre < without.centre;
    bool negative = without.centre == again.centre;
    rule_say(
        f->evidence,
        "of %d configurations with shared memory it binds in %d, and in %d it does not (first: "
        "%s); in %d more the API did not agree",
        t.bound + t.free + t.disagree, t.bound, t.free, t.free ? t.first : "none", t.disagree);
    rule_say_control(f, true, positive, "32 KiB a block bind where 64 warps fit without, at",
                     &large);
    rule_say_control(f, false, negative,
                     "dropping nothing, at carve-outs of 75 and 100 %, changes them, to", &again);
    rule_conclude(f,
                  t.free > 0                       ? CLAIM_REFUTED
                  : t.bound > 0 && t.disagree == 0 ? CLAIM_REPRODUCED
                                                   : CLAIM_MIXED,
                  positive, negative);
}

/* Least and most resident warps over the carve-outs 0, 25, 50, 75 and 100 %. */
struct swing {
    double least, most, first, last;
};

static bool take_swing(const struct bundle *bundle, struct config c, struct swing *s,
                       struct row *at_full, struct finding *f)
{
    *s = (struct swing){.least = INFINITY, .most = 0};
    for (c.carveout = 0; c.carveout <= 100; c.carveout += 25) {
        if (!take_resident(bundle, c, at_full, f))
            return false;
        s->least = fmin(s->least, at_full->centre);
        s->most = fmax(s->most, at_full->centre);
        s->first = c.carveout == 0 ? at_full->centre : s->first;
        s->last = at_full->centre;
    }
    return true;
}

static void say_swing(struct finding *f, const char *what, const struct swing *s)
{
    rule_say(f->evidence, "%s%s: %.0f to %.0f warps", f->evidence[0] ? "; " : "", what, s->least,
             s->most);
}

static bool moves(const struct swing *s)
{
    return s->least < s->most;
}

static const struct need split_needs[] = {{NEED_ONE, "occupancy.split{carveout=100}"},
                                          {NEED_ONE, "occupancy.split{carveout=0}"},
                                          NEEDS_END};

/* Did the carve-out shrink the L1? A ring that fits only the larger L1 tells. */
static bool take_split(const struct bundle *bundle, struct row *ratio, struct finding *f)
{
    struct row small, large;
    if (!RULE_TAKE(bundle, split_needs, f, &small, &large))
        return false;
    *ratio = rule_ratio(&small, &large);
    return true;
}

static void judge_c16(const struct bundle *bundle, struct finding *f)
{
    struct swing none, local, shared, registers;
    struct row row, by_registers, split;
    if (!take_swing(bundle, (struct config){32, 0, 0, 256, 0}, &none, &row, f) ||
        !take_swing(bundle, (struct config){32, 256, 0, 256, 0}, &local, &row, f) ||
        !take_swing(bundle, (struct config){128, 0, 0, 256, 0}, &registers, &by_registers, f) ||
        !take_swing(bundle, (struct config){32, 0, 32768, 256, 0}, &shared, &row, f) ||
        !take_split(bundle, &split, f))
        return;

    bool took = rule_place(&split, SPLIT_MOVED, INFINITY) == PLACE_INSIDE;
    say_swing(f, "carve-out 0 to 100 %, 32 registers, no shared memory", &none);
    say_swing(f, "with 256 bytes of local memory a thread", &local);
    rule_say_control(f, true, took && moves(&shared),
                     "a kernel bound by shared memory moves, and a ring of 0.6 of the SM's memory "
                     "leaves L1, times as slow",
                     &split);
    rule_say_control(f, false, !moves(&registers), "a kernel bound by registers moves, at",
                     &by_registers);
    rule_conclude(f, moves(&none) || moves(&local) ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  took && moves(&shared), !moves(&registers));
}

static void judge_c17(const struct bundle *bundle, struct finding *f)
{
    struct swing shared, registers, warps;
    struct row row, bound;
    if (!take_swing(bundle, (struct config){32, 0, 32768, 256, 0}, &shared, &bound, f) ||
        !take_swing(bundle, (struct config){128, 0, 0, 256, 0}, &registers, &row, f) ||
        !take_swing(bundle, (struct config){32, 0, 0, 256, 0}, &warps, &row, f))
        return;

    bool rises = registers.last > registers.first;
    bool positive = shared.last > shared.first, negative = !(warps.last > warps.first);
    say_swing(f, "carve-out 0 to 100 %, bound by shared memory", &shared);
    say_swing(f, "by registers", &registers);
    rule_say_control(f, true, positive, "a kernel bound by shared memory gains, to", &bound);
    rule_say_control(f, false, negative, "a kernel with all the warps there are gains, to", &row);
    rule_conclude(f, rises ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C12",
     .article = "smallest.ai",
     .quote = "This means that even the best-placed data in shared or L1 memory still adds "
              "latency, especially when memory access is irregular or fragmented across layers.",
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
     .statement = "No configuration with at most 4 warps per SM reaches 90 % of sustained DRAM "
                  "bandwidth; narrowed to DRAM reads.",
     .rule = "REFUTED when the best reading of device memory by at most 4 warps an SM, by loads or "
             "by asynchronous copies, reaches 0.9 of the best by any number, REPRODUCED when it "
             "stays below. Both are chosen in the first round and judged on the others. Positive "
             "control: 32 warps of 8 loads reach 0.9. Negative control: 1 warp of 1 load must not.",
     .judge = judge_c13,
     .needs = NEEDS(c13_needs)},
    {.id = "C15",
     .article = "smallest.ai",
     .quote = "But this is gated by the amount of available L1/shared memory per SM.",
     .statement = "Shared memory is the binding limit of occupancy in every configuration; read as "
                  "a general statement.",
     .rule = "Shared memory binds where dropping a kernel's request for it lets more warps in. "
             "REFUTED when in any measured configuration that asks for some it does not bind, and "
             "the warps counted are as the occupancy API has them, REPRODUCED when it binds in "
             "all, MIXED when none refutes and the API disagrees about some. Positive control: 32 "
             "KiB a block of 8 warps of 32 registers bind. Negative control: a request for none, "
             "at carve-outs of 75 and 100 %, must not.",
     .judge = judge_c15,
     .needs = NEEDS(resident_needs, tally_needs)},
    {.id = "C16",
     .article = "smallest.ai",
     .quote = "Every SM has to maintain the context of all its active warps\u2014registers, local "
              "memory, and thread state. But this is gated by the amount of available L1/shared "
              "memory per SM.",
     .statement = "The number of resident warps of a kernel without shared memory changes with the "
                  "L1/shared split; where the context is kept is not claimed and not tested.",
     .rule = "REPRODUCED when a kernel of 32 registers without shared memory, in blocks of 8 "
             "warps, with or without 256 bytes of local memory a thread, changes the number of "
             "resident warps over carve-outs from 0 to 100 %; REFUTED when neither does. Positive "
             "control: the carve-out moves the split: a kernel bound by shared memory changes, and "
             "a ring of 0.6 of the SM's memory is 1.5 times as slow at 100 % or more. Negative "
             "control: a kernel bound by registers must not change.",
     .judge = judge_c16,
     .needs = NEEDS(resident_needs, split_needs)},
    {.id = "C17",
     .article = "smallest.ai",
     .quote = "So, to maintain high occupancy (i.e., more warps to hide memory latency), you need "
              "more L1 capacity.",
     .statement = "Raising the shared-memory share of L1 raises occupancy also where shared memory "
                  "is not the limiter.",
     .rule =
         "REPRODUCED when raising the carve-out from 0 to 100 % raises the resident warps of a "
         "kernel that registers limit, REFUTED as a general rule when it does not. Positive "
         "control: it raises those of a kernel bound by shared memory, for which the claim holds. "
         "Negative control: those of a kernel that has all the warps there are must not rise.",
     .judge = judge_c17,
     .needs = NEEDS(resident_needs)},
};
CLAIM_SUBJECT(claims);
