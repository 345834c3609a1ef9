/* The ledger: what limits the number of warps on an SM. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/document.h"
#include "report/claims/rules.h"

/* --- C15, C16, C17: what limits the warps on an SM -------------------------------------------- */

static const double SPLIT_MOVED = 1.5;

/* "registers=%d,local=%d,shared=%d,block=%d,carveout=%d" */
struct config {
    int registers, local, shared, block, carveout;
};

#define CONFIG(metric) "occupancy." metric "{registers=%d,local=%d,shared=%d,block=%d,carveout=%d}"
#define CONFIGS "occupancy.resident_warps{*,local=0,*,carveout=100}"

static const struct need resident_needs[] = {{NEED_ANY, CONFIG("resident_warps")}, NEEDS_END};
static const struct need predicted_needs[] = {{NEED_ANY, CONFIG("predicted_warps")}, NEEDS_END};
static const struct need tally_needs[] = {{NEED_ANY, CONFIGS}, NEEDS_END};

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

/* --- C15: is occupancy gated by shared memory? ------------------------------------------------ */

/* The author's case: a kernel whose blocks ask for much shared memory. */
static void judge_c15(const struct bundle *bundle, struct finding *f)
{
    struct swing shared, registers;
    struct row large, without, row;

    if (!take_resident(bundle, (struct config){32, 0, 32768, 256, 100}, &large, f) ||
        !take_resident(bundle, (struct config){32, 0, 0, 256, 100}, &without, f) ||
        !take_swing(bundle, (struct config){32, 0, 32768, 256, 0}, &shared, &row, f) ||
        !take_swing(bundle, (struct config){128, 0, 0, 256, 0}, &registers, &row, f))
        return;

    const bool binds = large.centre < without.centre, follows = shared.first < shared.last;
    const bool reside =
        without.centre == rule_centre_beside(bundle, &without, "occupancy.predicted_warps", f);
    rule_say_row(f, "with 32 KiB of shared memory a block, resident warps", &large);
    rule_say_row(f, "without", &without);
    say_swing(f, "with it, shared memory made 0 to 100 % of what an SM can give", &shared);
    rule_say_control(f, true, reside, "without shared memory as many warps reside as the API says",
                     &without);
    rule_say_control(f, false, !moves(&registers),
                     "a kernel without shared memory, bound by registers, changes with it, at",
                     &row);
    rule_say_figure(f, "large", &large);
    rule_say_figure(f, "without", &without);
    rule_say_number(f, "first", shared.first, "count");
    rule_say_number(f, "last", shared.last, "count");
    rule_say_part(f, "fewer warps", binds ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    rule_say_part(f, "more again with more of it", follows ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL,
                  NAN);
    rule_conclude(f,
                  binds && follows     ? CLAIM_REPRODUCED
                  : !binds && !follows ? CLAIM_REFUTED
                                       : CLAIM_MIXED,
                  reside, !moves(&registers));
}

/* Our universal. The negative control must not be one of the configurations that refute: if it came
 * out right, it alone would refute the claim. */
static void judge_c15b(const struct bundle *bundle, struct finding *f)
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
    rule_say_count(f, "n", (size_t)(t.bound + t.free + t.disagree));
    rule_say_count(f, "bound", (size_t)t.bound);
    rule_say_count(f, "free", (size_t)t.free);
    rule_say_count(f, "disagree", (size_t)t.disagree);
    rule_conclude(f,
                  t.free > 0                       ? CLAIM_REFUTED
                  : t.bound > 0 && t.disagree == 0 ? CLAIM_REPRODUCED
                                                   : CLAIM_MIXED,
                  positive, negative);
}

/* --- C16: and that of a kernel without any? --------------------------------------------------- */

static const struct need split_needs[] = {{NEED_ONE, "occupancy.split{carveout=100}"},
                                          {NEED_ONE, "occupancy.split{carveout=0}"},
                                          NEEDS_END};

/* Did the carve-out shrink the L1? A ring that fits only the larger L1 tells. */
static bool take_split(const struct bundle *bundle, struct row *ratio, struct finding *f)
{
    struct row small, large;
    if (!RULE_TAKE(bundle, split_needs, f, &small, &large))
        return false;
    *ratio = rule_ratio(f, &small, &large);
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

    bool took = rule_place(&split, RULE_LIMIT(f, SPLIT_MOVED), INFINITY) == PLACE_INSIDE;
    say_swing(f, "carve-out 0 to 100 %, 32 registers, no shared memory", &none);
    say_swing(f, "with 256 bytes of local memory a thread", &local);
    rule_say_control(f, true, took && moves(&shared),
                     "a kernel bound by shared memory moves, and a ring of 0.6 of the SM's memory "
                     "leaves L1, times as slow",
                     &split);
    rule_say_control(f, false, !moves(&registers), "a kernel bound by registers moves, at",
                     &by_registers);
    const struct swing *swing = moves(&local) ? &local : &none;
    rule_say_number(f, "least", swing->least, "count");
    rule_say_number(f, "most", swing->most, "count");
    rule_conclude(f, moves(&none) || moves(&local) ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  took && moves(&shared), !moves(&registers));
}

/* --- C17: does more shared memory raise occupancy? -------------------------------------------- */

/* The author's case: a kernel that shared memory limits. */
static void judge_c17(const struct bundle *bundle, struct finding *f)
{
    struct swing shared, warps;
    struct row row, bound, split;
    if (!take_swing(bundle, (struct config){32, 0, 32768, 256, 0}, &shared, &bound, f) ||
        !take_swing(bundle, (struct config){32, 0, 0, 256, 0}, &warps, &row, f) ||
        !take_split(bundle, &split, f))
        return;

    const bool took = rule_place(&split, RULE_LIMIT(f, SPLIT_MOVED), INFINITY) == PLACE_INSIDE;
    const bool negative = !(warps.last > warps.first);
    say_swing(f, "carve-out 0 to 100 %, bound by shared memory", &shared);
    rule_say_control(f, true, took,
                     "the carve-out is taken: a ring of 0.6 of the SM's memory leaves L1, times as "
                     "slow",
                     &split);
    rule_say_control(f, false, negative, "a kernel with all the warps there are gains, to", &row);
    rule_say_number(f, "first", shared.first, "count");
    rule_say_number(f, "last", shared.last, "count");
    rule_conclude(f, shared.last > shared.first ? CLAIM_REPRODUCED : CLAIM_REFUTED, took, negative);
}

/* Our general rule: also where registers are the limit. */
static void judge_c17b(const struct bundle *bundle, struct finding *f)
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
    rule_say_number(f, "first", registers.first, "count");
    rule_say_number(f, "last", registers.last, "count");
    rule_conclude(f, rises ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C15",
     .article = "smallest.ai",
     .quote = "But this is gated by the amount of available L1/shared memory per SM.",
     .since = "2026-11-29T03:00Z",
     .plain = {.yes = "An SM holds {large} warps of blocks with 32 KiB of shared memory, {without} "
                      "without any.",
               .no = "An SM holds {large} warps of blocks with 32 KiB of shared memory, {without} "
                     "without: no limit.",
               .partly = "Shared memory of 32 KiB a block: {parts}."},
     .surprise = 1,
     .statement = "The shared memory that a kernel's blocks ask for limits the number of resident "
                  "warps, and the SM's amount of it decides how many there are.",
     .rule = "Blocks of 8 warps of 32 registers with 32 KiB of shared memory each. REPRODUCED when "
             "fewer warps reside than without shared memory, and more where 100 % of what an SM "
             "can give is shared memory than where it is 0 %; REFUTED when neither holds; MIXED "
             "otherwise. Positive control: without shared memory as many warps reside as the "
             "occupancy API says. "
             "Negative control: a kernel that registers limit must not change with that share.",
     .judge = judge_c15,
     .needs = NEEDS(resident_needs, predicted_needs)},
    {.id = "C15b",
     .article = "smallest.ai",
     .quote = "But this is gated by the amount of available L1/shared memory per SM.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Shared memory limits the warps in all {n} kernels that use some.",
               .no = "Shared memory limits the warps in {bound} of {n} kernels that use some; in "
                     "{free} it does not.",
               .partly = "Shared memory limits the warps: holds in {bound} of {n} kernels that use "
                         "some, in {disagree} does not as the driver counts."},
     .surprise = 4,
     .statement = "Shared memory is the binding limit of occupancy in every configuration that "
                  "asks for some.",
     .rule = "Shared memory binds where dropping a kernel's request for it lets more warps in. "
             "REFUTED when in any measured configuration that asks for some it does not bind, and "
             "the warps counted are as the occupancy API has them, REPRODUCED when it binds in "
             "all, MIXED when none refutes and the API disagrees about some. Positive control: 32 "
             "KiB a block of 8 warps of 32 registers bind. Negative control: a request for none, "
             "at carve-outs of 75 and 100 %, must not.",
     .judge = judge_c15b,
     .needs = NEEDS(resident_needs, predicted_needs, tally_needs)},
    {.id = "C16",
     .article = "smallest.ai",
     .quote = "Every SM has to maintain the context of all its active warps\u2014registers, local "
              "memory, and thread state. But this is gated by the amount of available L1/shared "
              "memory per SM.",
     .clause = "this is gated by the amount of available L1/shared memory per SM",
     .plain =
         {.yes = "The split of L1 moves even kernels without shared memory: {least} to {most} "
                 "warps an SM.",
          .no = "A kernel without shared memory keeps {most} warps on an SM, however L1 is split."},
     .surprise = 4,
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
     .clause = "to maintain high occupancy (i.e., more warps to hide memory latency), you need "
               "more L1 capacity",
     .since = "2026-11-22",
     .plain = {.yes = "With the smallest shared memory {first} warps of 32 KiB a block fit, with "
                      "the largest {last}.",
               .no = "With the smallest shared memory {first} warps of 32 KiB a block fit, with "
                     "the largest no more: {last}."},
     .surprise = 1,
     .statement = "A kernel that shared memory limits has more resident warps when a larger part "
                  "of the SM's L1 is shared memory.",
     .rule =
         "REPRODUCED when raising the carve-out from 0 to 100 % raises the resident warps of a "
         "kernel whose blocks of 8 warps ask for 32 KiB, REFUTED when it does not. Positive "
         "control: the carve-out is taken: a ring of 0.6 of the SM's memory is 1.5 times as slow "
         "at 100 %. Negative control: the warps of a kernel that has all there are must not rise.",
     .judge = judge_c17,
     .needs = NEEDS(resident_needs, split_needs)},
    {.id = "C17b",
     .article = "smallest.ai",
     .quote = "So, to maintain high occupancy (i.e., more warps to hide memory latency), you need "
              "more L1 capacity.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "A kernel that registers limit gains by more shared memory, too: {first} "
                      "warps become {last}.",
               .no = "A kernel that registers limit gains no warp by more shared memory: {first}, "
                     "then {last}."},
     .surprise = 3,
     .statement = "Raising the shared-memory share of L1 raises occupancy also where shared memory "
                  "is not the limiter.",
     .rule = "REPRODUCED when raising the carve-out from 0 to 100 % raises the resident warps of a "
             "kernel that registers limit, REFUTED when it does not. Positive control: it raises "
             "those of a kernel bound by shared memory, for which the claim holds. Negative "
             "control: those of a kernel that has all the warps there are must not rise.",
     .judge = judge_c17b,
     .needs = NEEDS(resident_needs)},
};
CLAIM_SUBJECT(claims);
