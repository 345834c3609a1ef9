/* The ledger: softmax in one kernel and on one SM, and whether it stays in range. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/claims/fused.h"

/* --- C33: does a long row fit one SM? --------------------------------------------------------- */

#define LONGEST(type, impl) "softmax.longest{type=" type ",impl=" impl "}"
static const double C33_LONG = 131072, C33_GRANTED = 12288; /* fp32 in the 48 KiB of every block */

enum { HELD, IN_SHARED, TWO_NUMBERS, SEARCHES };
static const struct need longest_needs[][SEARCHES + 1] = {{{NEED_ONE, LONGEST("fp32", "resident")},
                                                           {NEED_ONE, LONGEST("fp32", "shared")},
                                                           {NEED_ONE, LONGEST("fp32", "online")},
                                                           NEEDS_END},
                                                          {{NEED_ONE, LONGEST("fp16", "resident")},
                                                           {NEED_ONE, LONGEST("fp16", "shared")},
                                                           {NEED_ONE, LONGEST("fp16", "online")},
                                                           NEEDS_END}};
enum { TYPES = sizeof longest_needs / sizeof *longest_needs };

static void judge_c33(const struct bundle *bundle, struct finding *f)
{
    static const char *const types[TYPES] = {"fp32", "fp16"};
    const double length = RULE_LIMIT(f, C33_LONG), granted = RULE_LIMIT(f, C33_GRANTED);
    bool positive = true, negative = true;
    size_t held_less = 0;

    rule_say(f->evidence, "longest row in one block's registers and shared memory");
    for (size_t i = 0; i < TYPES; i++) {
        struct row longest[SEARCHES];
        if (!RULE_TAKE(bundle, longest_needs[i], f, &longest[HELD], &longest[IN_SHARED],
                       &longest[TWO_NUMBERS]))
            return;
        const bool found = fused_at_least(&longest[IN_SHARED], granted);
        const bool longer = fused_at_least(&longest[TWO_NUMBERS], length);
        rule_say_row(f, types[i], &longest[HELD]);
        rule_say_figure(f, types[i], &longest[HELD]);
        rule_say_part(f, types[i], rule_band(rule_place(&longest[HELD], 0, length)), &longest[HELD],
                      NAN);
        rule_say_row(f, "in shared memory alone", &longest[IN_SHARED]);
        char what[64];
        snprintf(what, sizeof what, "48 KiB of shared memory are found, %s", types[i]);
        rule_say_control(f, true, found, what, &longest[IN_SHARED]);
        snprintf(what, sizeof what, "a block that keeps two numbers takes a longer row, %s",
                 types[i]);
        rule_say_control(f, false, longer, what, &longest[TWO_NUMBERS]);
        held_less += fused_below(&longest[HELD], length);
        positive = positive && found;
        negative = negative && longer;
    }
    rule_conclude(f,
                  held_less == TYPES ? CLAIM_REPRODUCED
                  : held_less == 0   ? CLAIM_REFUTED
                                     : CLAIM_MIXED,
                  positive, negative);
}

/* --- C34: does one row need several SMs? ------------------------------------------------------ */

#define ONE(metric, cols, impl)                                                                    \
    "softmax." metric "{rows=1,cols=" cols ",type=fp16,impl=" impl ",mode=graph,l2=warm*"
#define SPREAD "[tgl][wra][ois]*" /* two, grid, last: over several SMs */
static const double C34_COLS = 1048576, C34_ERROR = 0.01, C34_SLOWER = 2, C34_LONGER = 2;

static const struct need crossover_needs[] = {{NEED_ANY, ONE("time", "%s", "%s")}, NEEDS_END};

/* The shortest measured row that a way over several SMs computes faster than one SM does. */
static void say_crossover(const struct bundle *bundle, struct finding *f)
{
    static const char *const cols[] = {"1024",   "4096",   "16384",  "65536",
                                       "131072", "262144", "1048576"};
    static const char *const impls[] = {"two", "last", "grid", "cluster16"};

    for (size_t k = 0; k < sizeof impls / sizeof impls[0]; k++) {
        const char *first = NULL;
        struct row online, other;
        for (size_t i = 0; i < sizeof cols / sizeof cols[0] && !first; i++) {
            struct finding aside = rule_aside(f);
            if (rule_take_formed(bundle, &online, &aside, ONE("time", "%s", "%s"), cols[i],
                                 "online") &&
                rule_take_formed(bundle, &other, &aside, ONE("time", "%s", "%s"), cols[i],
                                 impls[k]) &&
                rule_faster(f, &other, &online))
                first = cols[i];
        }
        rule_say(f->evidence, "%s%s %s",
                 k ? ", " : "; faster than one SM from a row of: ", impls[k],
                 first ? first : "never");
    }
}

#define BATCHED(impl) "softmax.time{rows=sm,cols=131072,type=fp16,impl=" impl ",mode=graph,l2=cold*"

static const struct need batched_needs[] = {{NEED_ONE, BATCHED("online")},
                                            {NEED_ONE, BATCHED("two")},
                                            {NEED_ONE, BATCHED("resident")},
                                            NEEDS_END};

/* With a row for every SM there is nothing to spread. */
static void say_batched(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row online, resident, two;
    if (RULE_TAKE(bundle, batched_needs, &aside, &online, &two, &resident))
        rule_say(f->evidence,
                 "; with a row of 131072 for each SM: time of two kernels over that of one block "
                 "a row %.2f, over that of one that holds its row %.2f",
                 two.centre / online.centre, two.centre / resident.centre);
}

static enum place error_of(const struct row *error, struct finding *f)
{
    return rule_place(error, 0, RULE_LIMIT(f, C34_ERROR));
}

static const struct need c34_needs[] = {{NEED_ONE, LONGEST("fp16", "resident")},
                                        {NEED_ONE, ONE("error", "1048576", "online")},
                                        {NEED_ONE, ONE("error", "1048576", "two")},
                                        {NEED_ONE, ONE("error", "16384", "resident")},
                                        {NEED_ONE, ONE("error", "1048576", "unmerged")},
                                        {NEED_ONE, ONE("time", "1048576", "online")},
                                        {NEED_BEST, ONE("time", "1048576", SPREAD)},
                                        {NEED_ONE, ONE("time", "131072", "fused")},
                                        NEEDS_END};

/* Wrong: several SMs are necessary. Right, and as fast as they are within a factor: they are
 * not. */
static enum claim_verdict necessary(enum place error, const struct row *over_best,
                                    struct finding *f)
{
    if (error == PLACE_ABOVE)
        return CLAIM_REPRODUCED;
    return error == PLACE_INSIDE && over_best->high <= RULE_LIMIT(f, C34_SLOWER) ? CLAIM_REFUTED
                                                                                 : CLAIM_MIXED;
}

static void judge_c34(const struct bundle *bundle, struct finding *f)
{
    struct row longest, online, two, resident, unmerged, one_ns, best_ns, shorter_ns;
    if (!RULE_TAKE(bundle, c34_needs, f, &longest, &online, &two, &resident, &unmerged, &one_ns,
                   &best_ns, &shorter_ns))
        return;
    if (rule_place(&longest, C34_COLS, INFINITY) != PLACE_BELOW) {
        rule_not_testable(f, "one block holds a row of 1048576 here");
        return;
    }

    const struct row over_best = rule_ratio(f, &one_ns, &best_ns),
                     grows = rule_ratio(f, &one_ns, &shorter_ns);
    const bool right = error_of(&resident, f) == PLACE_INSIDE && error_of(&two, f) == PLACE_INSIDE;
    const bool timed = fused_at_least(&grows, RULE_LIMIT(f, C34_LONGER));
    const bool negative = error_of(&unmerged, f) == PLACE_ABOVE;
    rule_say_row(f, "one row of 1048576 fp16, a block that reads twice: error", &online);
    rule_say_row(f, "time", &one_ns);
    rule_say_row(f, "the fastest way over several SMs", &best_ns);
    rule_say(f->evidence, ", by %s", best_ns.id);
    rule_say_row(f, "one block over that", &over_best);
    rule_say_row(f, "longest row that a block holds", &longest);
    say_crossover(bundle, f);
    say_batched(bundle, f);
    rule_say_control(f, true, error_of(&resident, f) == PLACE_INSIDE,
                     "a row that fits, held by one block: error", &resident);
    rule_say_control(f, true, error_of(&two, f) == PLACE_INSIDE,
                     "the long row by two kernels: error", &two);
    rule_say_control(f, true, timed,
                     "one block takes longer than the fused kernel over 131072, times", &grows);
    rule_say_control(f, false, negative, "two kernels that do not merge: error", &unmerged);
    rule_say_figure(f, "error", &online);
    rule_say_figure(f, "one", &one_ns);
    rule_say_figure(f, "best", &best_ns);
    rule_say_figure(f, "ratio", &over_best);
    rule_say_part(f, "to get it right",
                  error_of(&online, f) == PLACE_ABOVE    ? CLAIM_REPRODUCED
                  : error_of(&online, f) == PLACE_INSIDE ? CLAIM_REFUTED
                                                         : CLAIM_MIXED,
                  NULL, NAN);
    rule_say_part(f, "to halve the time", rule_band(rule_place(&over_best, C34_SLOWER, INFINITY)),
                  &over_best, C34_SLOWER);
    rule_conclude(f, necessary(error_of(&online, f), &over_best, f), right && timed, negative);
}

/* --- C41, C41b: traffic ----------------------------------------------------------------------- */

static const double C41_LESS = 1.5, C41_NONE = 1.1, C41_COMPUTED = 3, C41_STORED = 4;
static const double C41_WITHIN = 0.15, C41_SHARE_OF_COPY = 0.85, C41_CHAIN = 2;

#define LONG(metric, size, impl)                                                                   \
    "softmax." metric "{" size ",type=fp16,impl=" impl ",mode=graph,l2=cold*"
#define SIZE_A "rows=131072,cols=4096"
#define SIZE_B "rows=8192,cols=32768"
#define TIME_A(impl)                                                                               \
    "softmax.time{" SIZE_A ",type=fp16,impl=" impl ",mode=graph,l2=cold,timer=event}"

static const struct need traffic_needs[] = {{NEED_ONE, TIME_A("fused")},
                                            {NEED_ONE, TIME_A("unfused")},
                                            {NEED_ONE, TIME_A("unfused_stored")},
                                            {NEED_ONE, TIME_A("scale")},
                                            {NEED_ONE, LONG("share_of_copy", SIZE_A, "fused")},
                                            NEEDS_END};
static const struct need counted_needs[] = {COUNTED_BYTES(TIME_A("fused")),
                                            COUNTED_BYTES(TIME_A("unfused")),
                                            COUNTED_BYTES(TIME_A("scale")), NEEDS_END};
static const struct need wide_needs[] = {{NEED_ONE, LONG("time", SIZE_B, "fused")},
                                         {NEED_ONE, LONG("time", SIZE_B, "unfused")},
                                         {NEED_ONE, LONG("time", SIZE_B, "unfused_stored")},
                                         NEEDS_END};

/* Times over the fused kernel's: three kernels; four with a stored mask; one of the three. */
struct traffic {
    struct row computed, stored, one, chain, share; /* chain: the three over that one */
};

static bool take_traffic(const struct bundle *bundle, struct traffic *t, struct finding *f)
{
    struct row fused, unfused, stored, scale;
    if (!RULE_TAKE(bundle, traffic_needs, f, &fused, &unfused, &stored, &scale, &t->share))
        return false;
    t->computed = rule_ratio(f, &unfused, &fused);
    t->stored = rule_ratio(f, &stored, &fused);
    t->one = rule_ratio(f, &scale, &fused);
    t->chain = rule_ratio(f, &unfused, &scale);
    return true;
}

/* False if all times are equal. */
static bool sees_traffic(const struct traffic *t, struct finding *f)
{
    const bool bound = fused_at_least(&t->share, RULE_LIMIT(f, C41_SHARE_OF_COPY));
    const bool chain = fused_at_least(&t->chain, RULE_LIMIT(f, C41_CHAIN));
    rule_say_control(f, true, bound, "the fused kernel's share of a copy", &t->share);
    rule_say_control(f, true, chain, "three kernels over one of them, time", &t->chain);
    return bound && chain;
}

static void judge_c41(const struct bundle *bundle, struct finding *f)
{
    struct traffic t;
    if (!take_traffic(bundle, &t, f))
        return;

    const struct fused_counted counted = {TIME_A("unfused"), TIME_A("fused"), TIME_A("scale")};
    const double less = RULE_LIMIT(f, C41_LESS);
    const struct row moved = fused_moved(
        bundle, &counted, "131072x4096 fp16, graph, cold, three kernels over one", &t.computed, f);
    const bool positive = sees_traffic(&t, f), negative = fused_below(&t.one, less);
    rule_say_control(f, false, negative, "the scaling kernel alone over the fused one", &t.one);
    const bool told =
        fused_counters_tell(bundle, &counted, less, "and by counters", f);
    rule_say_figure(f, "moved", &moved);
    rule_conclude(f,
                  fused_at_least(&moved, less)                   ? CLAIM_REPRODUCED
                  : fused_below(&moved, RULE_LIMIT(f, C41_NONE)) ? CLAIM_REFUTED
                                                                 : CLAIM_MIXED,
                  positive, negative && told);
}

static enum place about(const struct row *ratio, double expected, struct finding *f)
{
    const double within = RULE_LIMIT(f, C41_WITHIN);
    return rule_place(ratio, expected * (1 - within), expected * (1 + within));
}

/* Another size, measured in three rounds: said and not judged. */
static void say_wide(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row fused, unfused, stored;
    if (RULE_TAKE(bundle, wide_needs, &aside, &fused, &unfused, &stored))
        rule_say(f->evidence, "; not judged: 8192x32768 %.2f and %.2f",
                 unfused.centre / fused.centre, stored.centre / fused.centre);
}

static void judge_c41b(const struct bundle *bundle, struct finding *f)
{
    struct traffic t;
    if (!take_traffic(bundle, &t, f))
        return;

    const enum place computed = about(&t.computed, C41_COMPUTED, f);
    const enum place stored = about(&t.stored, C41_STORED, f);
    const enum place one = about(&t.one, C41_COMPUTED, f);
    rule_say(f->evidence, "131072x4096 fp16, graph, cold");
    rule_say_row(f, "three kernels over one, time", &t.computed);
    rule_say_row(f, "four with a stored mask over one", &t.stored);
    say_wide(bundle, f);
    const bool positive = sees_traffic(&t, f), negative = one == PLACE_BELOW || one == PLACE_ABOVE;
    rule_say_control(f, false, negative, "the scaling kernel alone over the fused one", &t.one);
    rule_say_figure(f, "computed", &t.computed);
    rule_say_figure(f, "stored", &t.stored);
    rule_say_part(f, "three kernels, 3 times", rule_band(about(&t.computed, C41_COMPUTED, f)),
                  &t.computed, NAN);
    rule_say_part(f, "four with a stored mask, 4 times", rule_band(about(&t.stored, C41_STORED, f)),
                  &t.stored, NAN);
    rule_conclude(f,
                  computed == PLACE_INSIDE && stored == PLACE_INSIDE   ? CLAIM_REPRODUCED
                  : computed == PLACE_BELOW || computed == PLACE_ABOVE ? CLAIM_REFUTED
                                                                       : CLAIM_MIXED,
                  positive, negative);
}

/* --- C82: stable ------------------------------------------------------------------------------ */

/* Wrong on purpose; their results serve as controls only. */
static bool is_control(const struct row *row)
{
    char impl[48];
    row_key(row, "impl", impl, sizeof impl);
    return !strncmp(impl, "naive", 5) || !strncmp(impl, "finite", 6);
}

/* Over the rows of one probe: cases, cases that are right, and the naive control's worst. */
struct stability {
    size_t right, cases, unusable;
    double naive_least, naive_most;
};

static struct stability stability_of(const struct bundle *bundle, const char *glob,
                                     struct finding *f)
{
    struct stability s = {.naive_least = INFINITY, .naive_most = -INFINITY};
    const struct row *row;
    size_t next = 0;

    while ((row = rule_next(bundle, glob, &next, f))) {
        char impl[48];
        if (row->status == ROW_MISSING)
            continue;
        if (!row_usable(row) || isnan(row->low)) {
            s.unusable++;
        } else if (!is_control(row)) {
            s.cases++;
            s.right += row->low >= 1;
        } else if (row_key(row, "impl", impl, sizeof impl) && !strncmp(impl, "naive", 5)) {
            s.naive_least = fmin(s.naive_least, row->centre);
            s.naive_most = fmax(s.naive_most, row->centre);
        }
    }
    return s;
}

static const struct need controls_needs[] = {
    {NEED_ONE, "softmax.stable{case=by_60,type=fp32,impl=naive}"},
    {NEED_ONE, "softmax.stable{case=by_60,type=fp16,impl=naive}"},
    {NEED_ONE, "softmax.stable{case=by_6e4,type=fp32,impl=naive}"},
    {NEED_ONE, "softmax.stable{case=by_6e4,type=fp16,impl=naive}"},
    {NEED_ONE, "softmax.stable{case=all_below,type=fp32,impl=finite}"},
    NEEDS_END};

/* The controls of softmax's own cases. Without a maximum: right at +-60 in fp32, wrong there in
 * fp16, and wrong at +-6e4 in both. With -5e4 for minus infinity: wrong in a row of -6e4. */
static bool controls_hold(const struct bundle *bundle, struct finding *f, bool *positive)
{
    struct row fp32, fp16, far32, far16, finite;
    if (!RULE_TAKE(bundle, controls_needs, f, &fp32, &fp16, &far32, &far16, &finite))
        return false;
    *positive = fp32.low >= 1;
    rule_say_control(f, true, *positive, "without a maximum, logits of +-60 in fp32", &fp32);
    rule_say_control(f, false, fp16.high < 1, "in fp16", &fp16);
    rule_say_control(f, false, far32.high == 0, "+-6e4 in fp32", &far32);
    rule_say_control(f, false, far16.high == 0, "in fp16", &far16);
    rule_say_control(f, false, finite.high == 0, "-5e4 for minus infinity, rows of -6e4", &finite);
    return fp16.high < 1 && far32.high == 0 && far16.high == 0 && finite.high == 0;
}

/* In the order of the probes. */
static const struct need stable_needs[] = {{NEED_ANY, "softmax.stable{*"},
                                           {NEED_ANY, "attention_prefill.stable{*"},
                                           {NEED_ANY, "attention_decode.stable{*"},
                                           NEEDS_END};

static void judge_c82(const struct bundle *bundle, struct finding *f)
{
    static const char *const probes[] = {"softmax", "attention_prefill", "attention_decode"};
    bool positive = false, all = true;
    size_t cases = 0, right = 0;
    const bool seen = controls_hold(bundle, f, &positive);
    bool negative = seen;

    if (!f->controls[0])
        return;
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        const char *glob = stable_needs[i].id;
        const struct stability s = stability_of(bundle, glob, f);
        if (s.cases == 0 || s.unusable > 0) {
            rule_not_testable(f, "%s: %zu cases, %zu of them not to be used", glob,
                              s.cases + s.unusable, s.unusable);
            return;
        }
        all &= s.right == s.cases;
        cases += s.cases;
        right += s.right;
        rule_say_check(f, false, s.naive_least < 1, "kernels without a maximum are right",
                       s.naive_least, "ratio");
        negative &= s.naive_least < 1; /* false if the control is missing */
        rule_say(f->evidence, "%s%s: %zu of %zu cases right in every row", i ? "; " : "", probes[i],
                 s.right, s.cases);
        rule_say(f->controls, "; negative control: %s without a maximum: %s", probes[i],
                 s.naive_least < 1   ? "goes wrong, as it must"
                 : s.naive_least > 1 ? "is not in this bundle"
                                     : "PASSED");
    }
    rule_say_count(f, "cases", (size_t)cases);
    rule_say_count(f, "right", (size_t)right);
    rule_conclude(f, all ? CLAIM_REPRODUCED : CLAIM_REFUTED, positive, negative);
}

/* --- the entries ------------------------------------------------------------------------------ */

static const struct claim claims[] = {
    {.id = "C33",
     .article = "smallest.ai",
     .quote = "For example, softmax over long context lengths may not fit on a single SM due to "
              "memory constraints.",
     .clause =
         "softmax over long context lengths may not fit on a single SM due to memory constraints",
     .since = "2026-11-22T13:00Z",
     .plain = {.yes = "One SM holds a row of {fp32} numbers in fp32, {fp16} in fp16, at most: "
                      "under {C33_LONG}.",
               .no = "One SM holds a row of {fp32} numbers in fp32, {fp16} in fp16: no less than "
                     "{C33_LONG}.",
               .partly = "A row of {C33_LONG} does not fit one SM: {parts}."},
     .surprise = 3,
     .statement = "The longest row that one block can hold on chip is under 128 K elements, in "
                  "fp32 and in fp16; 128 K is our choice of 'long'.",
     .rule =
         "The longest row is found by bisection over launches of one block with right results, its "
         "row in 26 x 16 bytes of registers a thread, 512 threads, and all shared memory that a "
         "block can have. REPRODUCED when it is below 131072 elements in both types, REFUTED in "
         "neither, MIXED in one. Positive control: the same in shared memory alone finds 48 KiB of "
         "fp32 at least, and as many elements of fp16. Negative control: by the same search, a "
         "block that keeps two numbers of its row must take 131072 and more.",
     .judge = judge_c33,
     .needs = NEEDS(longest_needs[0], longest_needs[1])},
    {.id = "C34",
     .article = "smallest.ai",
     .quote = "Without batching, spreading the operation across SMs becomes necessary",
     .clause = "spreading the operation across SMs becomes necessary",
     .since = "2026-11-22T13:20Z",
     .plain = {.yes = "One SM gets a row of 1048576 numbers wrong, by {error} of it.",
               .no =
                   "One SM gets a row of 1048576 numbers right, in {one}; several SMs take {best}.",
               .partly = "A row of 1048576 takes one SM {one}, several {best}. Needed {parts}."},
     .surprise = 4,
     .statement = "With a single row (no batching) a softmax of a row that one SM cannot hold "
                  "needs several SMs: one block gets it wrong. If one block is right but takes "
                  "more than twice the time, it is not necessary, but slow without.",
     .rule = "One row of 1048576 fp16, beyond what a block holds, in the L2. REPRODUCED when one "
             "block that reads its row twice is wrong (an element beyond its bound, or norm of the "
             "error above 0.01). REFUTED when it is right and takes at most twice the time of the "
             "fastest way over several SMs, chosen in the first round; MIXED when it is right and "
             "slower: then spreading is necessary for speed only. Positive controls: a row that "
             "fits, held by one block, and the long row by two kernels are right; one block takes "
             "at least twice as long as the fused kernel takes over an eighth of the row. Negative "
             "control: two kernels that do not merge their parts must be wrong.",
     .judge = judge_c34,
     .needs = NEEDS(c34_needs, crossover_needs, batched_needs)},
    {.id = "C41",
     .article = "dev.to",
     .quote = "This reduces memory traffic significantly.",
     .since = "2026-11-29T18:40Z",
     .plain =
         {.yes =
              "As three kernels scale, mask and softmax move {moved} times what one kernel moves.",
          .no = "As three kernels scale, mask and softmax move only {moved} times what one kernel "
                "moves.",
          .partly = "Between: as three kernels scale, mask and softmax move {moved:range} times "
                    "what one moves against limits of {C41_NONE} and {C41_LESS}."},
     .surprise = 2,
     .statement = "Scale, mask and softmax as three kernels move at least 1.5 times the bytes of "
                  "device memory that one kernel moves; 'significantly' is read as a third; where "
                  "bytes are not counted, time decides in their stead.",
     .rule = "131072x4096 fp16, by graph, cold, three kernels over one: bytes of device memory by "
             "hardware counters; where these are not counted, time, which bytes decide there. "
             "REPRODUCED when the ratio is 1.5 or more, REFUTED below 1.1, else MIXED. Positive "
             "controls: the fused kernel reaches 0.85 of a copy of the same bytes, and three "
             "kernels take at least twice as long as one of them. Negative control: the scaling "
             "kernel alone over the fused one must stay below 1.5, in time and, where bytes are "
             "counted, in bytes (since 29 November).",
     .judge = judge_c41,
     .needs = NEEDS(traffic_needs, counted_needs)},
    {.id = "C41b",
     .article = "dev.to",
     .quote = "This reduces memory traffic significantly.",
     .clause = "",
     .since = "2026-11-22",
     .plain = {.yes = "Softmax takes {computed} times as long by three kernels, {stored} by four, "
                      "as bytes predict.",
               .no = "Softmax takes {computed} times as long by three kernels, not 3 times as "
                     "bytes predict.",
               .partly = "Time of softmax follows bytes: {parts}."},
     .surprise = 1,
     .statement = "Scale, mask and softmax in one kernel take the time of two tensor passes "
                  "against six (eight with a stored mask), within 15 %.",
     .rule = "131072x4096 fp16, graph, cold: three kernels over one within 15 % of 3, four kernels "
             "that write and read a mask over one within 15 % of 4. REPRODUCED when both ratios "
             "are, REFUTED when the first is outside, else MIXED. Positive controls as for C41. "
             "Negative control: the scaling kernel alone over the fused one must not read 3.",
     .judge = judge_c41b,
     .needs = NEEDS(traffic_needs, wide_needs)},
    {.id = "C82",
     .article = "ai-rng",
     .quote = "Stable numerics: softmax is computed in a way that avoids overflow.",
     .clause = "softmax is computed in a way that avoids overflow",
     .plain = {.yes =
                   "All {cases} cases of softmax and attention with extreme logits come out right.",
               .no = "{right} of {cases} cases of softmax and attention with extreme logits come "
                     "out right, not all."},
     .surprise = 1,
     .statement = "Logits of +-60 to +-6e4 and all -inf rows give no NaN, inf or false zero row; "
                  "naive exp must fail the same rows.",
     .rule = "Softmax, fused prefill and split decode attention; \"generally share\" is narrowed "
             "to the kernels of this suite. A row is right when it is finite, sums to 1 within "
             "1e-3 and the rounding of its type, lies no further from float64 than twice an "
             "unfused max-subtracting softmax, and is zero where no logit counts. REPRODUCED when "
             "every row of every kernel is right, REFUTED when one is not. Positive control: "
             "softmax without the maximum is right at +-60 in fp32. Negative controls: it must go "
             "wrong at +-60 in fp16, at +-6e4, and in each of the attention probes; -5e4 for minus "
             "infinity must go wrong in rows of -6e4.",
     .judge = judge_c82,
     .needs = NEEDS(controls_needs, stable_needs)},
};
CLAIM_SUBJECT(claims);
