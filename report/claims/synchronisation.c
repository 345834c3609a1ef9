/* The ledger: waiting for other SMs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/document.h"
#include "report/claims/rules.h"

/* --- C01: is there a barrier across SMs? ------------------------------------------------------ */

#define VIOLATIONS "barriers.violations{*"
#define CONTROLS "barriers.control_violates{scope=%s,barrier=*,blocks=%s,*"
#define OF_GRID "barriers.control_violates{scope=grid,*"
#define GRID_TIME "barriers.grid_time{barrier=%s,per_sm=1,threads=256,store=none*"

static const struct need barrier_needs[] = {{NEED_ANY, VIOLATIONS}, {NEED_ANY, "barriers.sms{*"},
                                            {NEED_ANY, CONTROLS},   {NEED_ANY, OF_GRID},
                                            {NEED_ANY, GRID_TIME},  NEEDS_END};
static const struct need block_needs[] = {
    {NEED_ONE, "barriers.block_time{barrier=syncthreads,warps=8,*"}, NEEDS_END};

/* Would the oracle have caught a faulty barrier of this many blocks: one that does not wait, and
 * one that waits and does not order? Every barrier that lacks something must have been caught. */
static bool oracle_sees(const struct bundle *bundle, const char *scope, const char *blocks,
                        struct finding *f)
{
    struct finding ignored = rule_aside(f);
    struct row control;
    char id[DOCUMENT_ID], barrier[24];
    const struct row *row;
    int waitless = 0, orderless = 0;

    snprintf(id, sizeof id, CONTROLS, scope, blocks);
    for (size_t next = 0; (row = rule_next(bundle, id, &next, f));) {
        if (!rule_take(bundle, row->id, &control, &ignored) || !(control.low > 0))
            return false;
        row_key(row, "barrier", barrier, sizeof barrier);
        if (strcmp(barrier, "none") == 0)
            waitless++;
        else
            orderless++;
    }
    return waitless > 0 && orderless > 0;
}

/* Reports what the oracle saw of the grid's controls, by name. */
static void say_controls(const struct bundle *bundle, struct finding *f)
{
    char barrier[24], what[80];
    const struct row *row;

    for (size_t next = 0; (row = rule_next(bundle, OF_GRID, &next, f));) {
        row_key(row, "barrier", barrier, sizeof barrier);
        snprintf(what, sizeof what, "the grid with barrier=%s violates", barrier);
        rule_say_control(f, false, row_usable(row) && row->low > 0, what, row);
    }
}

/* Counts the kinds of barrier that should span at least two SMs; those that do and keep the order;
 * and those that only seem to, because the oracle is blind for them. */
static void count_barriers(const struct bundle *bundle, struct finding *f, int *judged, int *sound,
                           int *blind)
{
    char scope[16], barrier[24], blocks[16], rounds[24];
    double widest = 0, most = 0; /* SMs of a sound barrier, and its rounds */
    const struct row *row;

    for (size_t next = 0; (row = rule_next(bundle, VIOLATIONS, &next, f));) {
        const struct row *sms = rule_beside(bundle, row, "barriers.sms", NULL, NULL, f);
        bool refused = row->status == ROW_MISSING;
        row_key(row, "scope", scope, sizeof scope);
        row_key(row, "barrier", barrier, sizeof barrier);
        row_key(row, "blocks", blocks, sizeof blocks);
        row_key(row, "rounds", rounds, sizeof rounds);
        if (!strcmp(scope, "block"))
            continue;
        if (!refused && (!row_usable(row) || !sms || !row_usable(sms) || !(sms->low >= 2)))
            continue;
        if (!refused && row->high == 0 && !oracle_sees(bundle, scope, blocks, f)) {
            ++*blind;
            continue;
        }
        rule_say(f->evidence, "%s%s barrier (%s) ", *judged ? "; " : "", scope, barrier);
        if (refused)
            rule_say(f->evidence, "refused");
        else
            rule_say(f->evidence, "over %.0f SMs: %.0f violations in %s rounds", sms->centre,
                     row->high, rounds);
        ++*judged;
        if (refused || row->high != 0)
            continue;
        ++*sound;
        if (sms->centre >= widest) {
            most = sms->centre > widest ? atof(rounds) : fmax(most, atof(rounds));
            widest = sms->centre;
        }
    }
    rule_say_number(f, "sms", widest, "count");
    rule_say_number(f, "rounds", most, "count");
}

/* C01b, the weak form: not whether there is one, but at what price. */
static void say_price(const struct bundle *bundle, struct finding *f)
{
    static const char *const barriers[] = {"sync", "twin"};
    struct finding ignored = rule_aside(f);
    struct row grid, block;
    char id[DOCUMENT_ID];

    for (size_t i = 0; i < 2; i++) {
        if (!rule_take_formed(bundle, &grid, &ignored, GRID_TIME, barriers[i]) ||
            !RULE_TAKE(bundle, block_needs, &ignored, &block))
            continue;
        struct row ratio = rule_ratio(&ignored, &grid, &block);
        rule_say_figure(f, "time", &grid);
        snprintf(id, sizeof id,
                 "the weak form, C01b: a barrier of the grid (%s) over one of a "
                 "block, 256 threads",
                 barriers[i]);
        rule_say_row(f, id, &ratio);
    }
}

static const struct need c01_needs[] = {{NEED_ONE, "barriers.violations{scope=block,*"}, NEEDS_END};

static void judge_c01(const struct bundle *bundle, struct finding *f)
{
    struct row block;
    int judged = 0, sound = 0, blind = 0;
    if (!RULE_TAKE(bundle, c01_needs, f, &block))
        return;

    count_barriers(bundle, f, &judged, &sound, &blind);
    if (judged + blind == 0) {
        rule_not_testable(f, "no barrier over two SMs or more in this bundle");
        return;
    }
    say_price(bundle, f);
    rule_say_control(f, true, block.high == 0, "__syncthreads in one block, violations", &block);
    say_controls(bundle, f);
    rule_say_count(f, "judged", (size_t)judged);
    rule_conclude(f, sound > 0 ? CLAIM_REFUTED : CLAIM_REPRODUCED, block.high == 0,
                  oracle_sees(bundle, "grid", "sm", f) && (sound > 0 || blind == 0));
}

/* --- C02: does it deadlock? ------------------------------------------------------------------- */

/* Grid sizes; the first two are within what is resident at once. */
static const char *const sizes[] = {"0.5xcapacity", "1xcapacity", "1xcapacity+1", "2xcapacity"};
enum { SIZES = 4, WITHIN = 2 };

#define SCENE(metric) "deadlock." metric "{scene=%s,launch=%s,blocks=%s}"

static const struct need completed_needs[] = {{NEED_ANY, SCENE("completed")}, NEEDS_END};
static const struct need refused_needs[] = {{NEED_ANY, SCENE("refused")}, NEEDS_END};

static bool take_scene(const struct bundle *bundle, const char *metric, const char *scene,
                       const char *launch, const char *blocks, struct row *row, struct finding *f)
{
    return rule_take_formed(bundle, row, f, SCENE("%s"), metric, scene, launch, blocks);
}

static bool take_sizes(const struct bundle *bundle, const char *metric, const char *launch,
                       struct row rows[SIZES], struct finding *f)
{
    for (size_t i = 0; i < SIZES; i++)
        if (!take_scene(bundle, metric, "alone", launch, sizes[i], &rows[i], f))
            return false;
    return true;
}

/* Adds how a scene ended that no rule uses, if it is in the bundle. */
static void say_scene(const struct bundle *bundle, struct finding *f, const char *what,
                      const char *scene, const char *launch, const char *blocks)
{
    struct finding ignored = rule_aside(f);
    struct row done;
    if (take_scene(bundle, "completed", scene, launch, blocks, &done, &ignored))
        rule_say(f->evidence, "; %s: %s", what, done.low > 0 ? "completes" : "deadlocks");
}

static const char *outcome(const struct row *completed, const struct row *refused)
{
    if (refused && refused->low > 0)
        return "refused";
    return completed->low > 0 ? "completes" : "deadlocks";
}

static void judge_c02(const struct bundle *bundle, struct finding *f)
{
    struct row done[SIZES], quits;
    bool within = true, above = false;
    if (!take_sizes(bundle, "completed", "ordinary", done, f) ||
        !take_scene(bundle, "completed", "one_quits", "cooperative", "1xcapacity", &quits, f))
        return;

    for (size_t i = 0; i < SIZES; i++) {
        rule_say(f->evidence, "%s%s %s", i ? ", " : "ordinary launch: ", sizes[i],
                 outcome(&done[i], NULL));
        within = within && (i >= WITHIN || done[i].low > 0);
        above = above || (i >= WITHIN && done[i].low > 0);
    }
    say_scene(bundle, f, "two launches at once, 0.75xcapacity each", "two_streams", "ordinary",
              "0.75xcapacity");
    say_scene(bundle, f, "the same, the second overtaking", "overtaken", "ordinary",
              "0.75xcapacity");
    enum claim_verdict verdict = CLAIM_MIXED;
    if (done[SIZES - 1].low > 0)
        verdict = CLAIM_REFUTED;
    else if (within && !above)
        verdict = CLAIM_REPRODUCED;
    rule_say_control(f, true, quits.high == 0,
                     "a block that never comes is seen as a deadlock, "
                     "completed",
                     &quits);
    rule_say_control(f, false, done[0].low > 0, "\"deadlocks\" at half the capacity, completed",
                     &done[0]);
    rule_say_part(f, "an end where all fit", within ? CLAIM_REPRODUCED : CLAIM_REFUTED, NULL, NAN);
    rule_say_part(f, "a deadlock where one does not", !above ? CLAIM_REPRODUCED : CLAIM_REFUTED,
                  NULL, NAN);
    rule_conclude(f, verdict, quits.high == 0, done[0].low > 0);
}

/* --- C02b: and is there no way out? ----------------------------------------------------------- */

static void judge_c02b(const struct bundle *bundle, struct finding *f)
{
    struct row done[SIZES], refused[SIZES], ordinary, small;
    int kept = 0, broken = 0;
    if (!take_sizes(bundle, "completed", "cooperative", done, f) ||
        !take_sizes(bundle, "refused", "cooperative", refused, f) ||
        !take_scene(bundle, "completed", "alone", "ordinary", "2xcapacity", &ordinary, f) ||
        !take_scene(bundle, "completed", "alone", "ordinary", "0.5xcapacity", &small, f))
        return;

    for (size_t i = 0; i < SIZES; i++) {
        rule_say(f->evidence, "%s%s %s", i ? ", " : "cooperative launch: ", sizes[i],
                 outcome(&done[i], &refused[i]));
        kept += i < WITHIN ? done[i].low > 0 : refused[i].low > 0;
        broken += done[i].high == 0 && refused[i].high == 0;
    }
    say_scene(bundle, f, "two such launches at once, 0.75xcapacity each, the second overtaking",
              "overtaken", "cooperative", "0.75xcapacity");
    say_scene(bundle, f, "unequal numbers of barriers, against which no launch helps", "unequal",
              "cooperative", "1xcapacity");

    enum claim_verdict verdict = CLAIM_MIXED;
    if (broken > 0)
        verdict = CLAIM_REPRODUCED;
    else if (kept == SIZES)
        verdict = CLAIM_REFUTED;
    rule_say_control(f, true, ordinary.high == 0,
                     "twice the capacity deadlocks when launched "
                     "ordinarily, completed",
                     &ordinary);
    rule_say_control(f, false, refused[0].high == 0, "half the capacity is refused too, refused",
                     &refused[0]);
    rule_say_control(f, false, small.low > 0,
                     "half the capacity deadlocks when launched ordinarily, completed", &small);
    rule_say_count(f, "kept", (size_t)kept);
    rule_say_count(f, "broken", (size_t)broken);
    rule_say_count(f, "sizes", (size_t)SIZES);
    rule_conclude(f, verdict, ordinary.high == 0, refused[0].high == 0 && small.low > 0);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C01",
     .article = "smallest.ai",
     .quote = "But CUDA only supports synchronization within a single SM\u2014not across them.",
     .plain =
         {.yes = "None of {judged} barriers across SMs works: each is refused, or an SM is missed.",
          .no = "{sms} SMs met at a barrier {rounds} times, and none was missed; it takes {time}."},
     .surprise = 9,
     .statement = "No barrier that spans blocks on two or more SMs works correctly: cluster, "
                  "cooperative-grid and hand-written barriers over distinct SM ids.",
     .rule = "REFUTED when one barrier that reaches over two SMs or more shows no violation: each "
             "round every block stores the round's number, crosses, and reads what all blocks "
             "stored; 1000000 rounds of grid.sync() and of our barrier, 100000 of the others, "
             "which take longer. REPRODUCED when all of them are refused or violate. Positive "
             "control: __syncthreads in one block shows none. Negative controls: the grid must "
             "show violations without a barrier, and with one that waits for all and does not "
             "order, for lack of the release, of the acquire, or of the block's own barrier before "
             "the arrival; and a barrier of clusters counts only where as many blocks show some "
             "without one and with a relaxed arrival. The weak form (C01b), the price of a grid's "
             "barrier over a block's, is reported only.",
     .judge = judge_c01,
     .needs = NEEDS(c01_needs, barrier_needs, block_needs)},
    {.id = "C02",
     .article = "smallest.ai",
     .quote =
         "If a fused computation is split across SMs and requires synchronization (e.g., between "
         "attention steps), you risk deadlocks where some SMs are stalled waiting for others.",
     .clause = "you risk deadlocks where some SMs are stalled waiting for others",
     .plain = {.yes =
                   "An ordinary launch hangs when one block more than fits waits for the others.",
               .no = "An ordinary launch finishes even when twice the blocks that fit wait for "
                     "each other.",
               .partly = "Of an ordinary launch whose blocks wait: {parts}."},
     .surprise = 1,
     .statement = "A spin barrier in an ordinary launch that has the GPU to itself hangs when the "
                  "grid exceeds the resident capacity and only then.",
     .rule = "REPRODUCED when an ordinary launch does not complete at 1xcapacity+1 and 2xcapacity "
             "blocks and does at 0.5x and 1x, REFUTED when it completes at 2x. Waits end after 20 "
             "ms: a barrier takes a microsecond, and a deadlock is not to hold the GPU longer. Two "
             "launches at once, each within the capacity, are reported only. Positive control: a "
             "block that never comes is seen as a deadlock. Negative control: a deadlock must not "
             "be seen at half the capacity.",
     .judge = judge_c02,
     .needs = NEEDS(completed_needs)},
    {.id = "C02b",
     .article = "smallest.ai",
     .quote = "Even with fusion, the GPU cannot safely scale this computation across all its SMs:",
     .clause = "the GPU cannot safely scale this computation across all its SMs",
     .since = "2026-11-22",
     .plain = {.yes =
                   "A cooperative launch was accepted and hung, at {broken} of {sizes} grid sizes.",
               .no = "A cooperative launch uses all SMs and refuses what would hang, at {kept} of "
                     "{sizes} sizes.",
               .partly = "A cooperative launch finishes or refuses: holds at {kept} of {sizes} "
                         "sizes, at others does not."},
     .surprise = 6,
     .statement = "A kernel whose blocks wait for each other cannot be launched on all SMs so that "
                  "a deadlock is ruled out. Judged on cooperative launches.",
     .rule = "The deadlocks themselves are C02, and how fast all SMs are is C04. REFUTED when a "
             "cooperative launch completes at 0.5x and 1x of the resident capacity and is refused "
             "at 1xcapacity+1 and 2xcapacity, REPRODUCED when one is accepted and does not "
             "complete. Positive control: an ordinary launch of twice the capacity deadlocks. "
             "Negative controls: half the capacity must not be refused, and must complete when "
             "launched ordinarily: where nothing completes, a deadlock says nothing.",
     .judge = judge_c02b,
     .needs = NEEDS(completed_needs, refused_needs)},
};
CLAIM_SUBJECT(claims);
