/* Boards side by side: conditions first, then numbers with what explains them, the host's apart. */
#include "report/page/boards.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/unit.h"
#include "report/cli/conditions.h"
#include "report/page/boards_claims.h"

/* A factor explains a ratio this near to it. A rest is printed from REST on. Boards are alike in
 * a factor whose ratio is within ALIKE. */
static const double NEAR = 1.05, REST = 0.015, ALIKE = 1.01;
static const double HELD_BACK = 0.98; /* of the chip's clock: below, a case was held back */
enum { WITH_VALUES = 3 }; /* up to so many boards have a column of values each */

/* --- the table -------------------------------------------------------------------------------- */

enum { BETWEEN = 5 }; /* GPUs: of boards that all have as many of them, two or more */
static const struct group {
    const char *title, *names[24];
} groups[] = {
    {"memory, one load:",
     {"shared-load", "l1-load", "dsmem-load", "l2-load", "l2-far-load", "l2-loaded", "hbm-load",
      "hbm-loaded"}},
    {"capacities:", {"l2-near-size", "l2-size"}},
    {"rates:",
     {"l1-read", "shared-read", "dsmem-read", "l2-read", "l2-copy", "hbm-read", "hbm-copy",
      "hbm-one-warp", "wgmma", "mma-sync"}},
    {"synchronise and launch:",
     {"block-barrier", "cluster-barrier-relaxed", "cluster-barrier", "atomic", "flag", "flag-data",
      "grid-barrier", "grid-sync", "graph-kernel", "step-graph-early", "step-kernel", "step-graph",
      "graph-1024"}},
    {"products and operators:",
     {"product-1024", "product-1024-mma", "product-1024-cublas", "product-8192-cublas",
      "vector-bf16", "vector-int4", "gelu", "rmsnorm", "prefill", "decode",
      "token"}},
    [BETWEEN] =
        {"between GPUs:",
         {"peer-l2-load", "peer-load", "peer-flag", "gpus-barrier", "sum-16k", "sum-16k-node",
          "sum-16k-nccl", "sum-16k-nccl-symmetric", "sum-256k", "sum-256k-node", "sum-1m",
          "sum-1m-node", "peer-copy", "peer-copy-both", "peer-store", "peer-store-both",
          "gpus-layer", "gpus-layer-nccl", "gpus-step", "gpus-step-nccl"}},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static const char *const of_the_host[] = {"host-load", "host-read", "step-stream", "submit",
                                          "round-trip", "wakeup", "process", NULL};

static const char *const factor_names[FACTORS] = {
    [FACTOR_NONE] = "alike",     [FACTOR_CLOCK] = "clock", [FACTOR_CHIP] = "chip",
    [FACTOR_PINS] = "pins",      [FACTOR_L2] = "L2 size",  [FACTOR_POWER] = "chip",
    [FACTOR_HOST] = "host",      [FACTOR_LINKS] = "links",
};

/* --- factors ---------------------------------------------------------------------------------- */

static bool is_near(double ratio, double expected, double limit)
{
    return fabs(log(ratio / expected)) <= log(limit);
}

/* The clock at which a case ran: that of the chip where the row does not say. */
static double held_mhz(const struct summary *summary, const struct number *number)
{
    return isfinite(number->clock_mhz) ? number->clock_mhz : summary_clock_mhz(summary);
}

static bool is_held_back(const struct summary *summary, const struct number *number)
{
    return held_mhz(summary, number) < HELD_BACK * summary_clock_mhz(summary);
}

/* What a factor alone makes of a number of 1, at the clock at which the number was measured. */
static double size_of(const struct summary *summary, enum factor factor,
                      const struct number *number)
{
    switch (factor) {
    case FACTOR_NONE: return 1;
    case FACTOR_CLOCK: return held_mhz(summary, number);
    case FACTOR_CHIP:
    case FACTOR_POWER: return summary_sms(summary) * held_mhz(summary, number);
    case FACTOR_PINS: return summary_pins(summary);
    case FACTOR_L2: return summary_fact(summary, "l2_bytes");
    case FACTOR_LINKS: return summary_links(summary);
    default: return NAN;
    }
}

/* How many times as much of a factor the second board has. */
static double ratio_of(const struct summary *first, const struct summary *second,
                       enum factor factor)
{
    const struct number none = number_none();
    return size_of(second, factor, &none) / size_of(first, factor, &none);
}

static bool is_better_higher(const char *unit)
{
    return unit_is_rate(unit) || !strcmp(unit, "bytes") || !strcmp(unit, "bytes/cycle");
}

/* Which of the factors explains it. What is alike needs no second one. */
static void judge(struct explanation *e, const struct summary_entry *entry)
{
    const double ratio = e->ratio.value, *is = e->expected;
    const bool near[2] = {is_near(ratio, is[0], NEAR), is_near(ratio, is[1], NEAR)};

    e->factor = entry->factor[near[1] && !near[0]];
    if (near[0] && near[1] && entry->factor[0] != FACTOR_NONE)
        e->kind = EXPLAINED_EITHER;
    else if (near[0] || near[1])
        e->kind = EXPLAINED_BY;
    else if ((ratio > is[0] && ratio < is[1]) || (ratio < is[0] && ratio > is[1]))
        e->kind = EXPLAINED_PART;
    else
        e->kind = EXPLAINED_NOT;
}

struct explanation boards_explain(const struct summary *first, const struct summary *second,
                                  const struct summary_entry *entry)
{
    const struct number a = summary_number(first, entry->name);
    const struct number b = summary_number(second, entry->name);
    struct explanation e = {.kind = EXPLAINED_ABSENT, .ratio = number_none(),
                            .expected = {NAN, NAN}};

    if (!(a.value > 0) || !(b.value > 0) || strcmp(a.unit, b.unit) != 0)
        return e;
    e.ratio = is_better_higher(a.unit) ? number_ratio(&b, &a) : number_ratio(&a, &b);
    for (size_t i = 0; i < 2; i++)
        if (i == 0 || entry->factor[i] != FACTOR_NONE)
            e.expected[i] =
                size_of(second, entry->factor[i], &b) / size_of(first, entry->factor[i], &a);
    judge(&e, entry);
    return e;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Is it explained by a clock that at least one of the boards could not hold? */
static bool is_held(const struct summary *first, const struct summary *second,
                    const struct summary_entry *entry, const struct explanation *e)
{
    const struct number a = summary_number(first, entry->name);
    const struct number b = summary_number(second, entry->name);

    return e->kind == EXPLAINED_BY &&
           (e->factor == FACTOR_CLOCK || e->factor == FACTOR_CHIP || e->factor == FACTOR_POWER) &&
           (is_held_back(first, &a) || is_held_back(second, &b));
}

/* "power: 1.33, 1.37 GHz": the clocks; "chip at" where the case is not declared as one that reaches
 * the power limit. */
static const char *held(struct section *s, const struct summary *first,
                        const struct summary *second, const struct summary_entry *entry,
                        enum factor factor)
{
    const struct number a = summary_number(first, entry->name);
    const struct number b = summary_number(second, entry->name);
    const bool is_bound = a.power_bound && b.power_bound;

    return section_text(s, "%s %.2f, %.2f GHz",
                        is_bound ? "power:" : section_text(s, "%s at", factor_names[factor]),
                        held_mhz(first, &a) / 1e3, held_mhz(second, &b) / 1e3);
}

/* ", +4 %": what the factor leaves. */
static const char *rest(struct section *s, double ratio, double expected)
{
    const double left = ratio / expected - 1;
    return fabs(left) < REST ? "" : section_text(s, ", %+.0f %%", 100 * left);
}

static const char *say_not(struct section *s, const struct summary_entry *entry,
                           const struct explanation *e)
{
    const struct number expected = number_fact(e->expected[0], "ratio");

    if (!number_there(&expected) || is_near(expected.value, 1, ALIKE))
        return "not explained";
    return section_text(s, "not explained (%s: %s)", factor_names[entry->factor[0]],
                        section_say(s, &expected, ""));
}

static const char *say_part(struct section *s, const struct summary_entry *entry,
                            const struct explanation *e)
{
    const char *first = factor_names[entry->factor[0]], *second = factor_names[entry->factor[1]];

    if (is_near(e->expected[1], 1, NEAR))
        return section_text(s, "%s, in part", first);
    return section_text(s, "between %s and %s", first, second);
}

static const char *say(struct section *s, const struct summary *first, const struct summary *second,
                       const struct summary_entry *entry, const struct explanation *e)
{
    const size_t which = e->factor != entry->factor[0];

    switch (e->kind) {
    case EXPLAINED_BY:
        return section_text(s, "%s%s",
                            is_held(first, second, entry, e)
                                ? held(s, first, second, entry, e->factor)
                                : factor_names[e->factor],
                            rest(s, e->ratio.value, e->expected[which]));
    case EXPLAINED_EITHER:
        return section_text(s, "%s or %s", factor_names[entry->factor[0]],
                            factor_names[entry->factor[1]]);
    case EXPLAINED_PART: return say_part(s, entry, e);
    case EXPLAINED_NOT: return say_not(s, entry, e);
    default: return "-";
    }
}

/* The same behind a ratio, where each board has a column of them. */
static const char *mark(struct section *s, const struct explanation *e)
{
    switch (e->kind) {
    case EXPLAINED_BY: return section_text(s, " %s", factor_names[e->factor]);
    case EXPLAINED_EITHER: return " =";
    case EXPLAINED_PART: return " ~";
    case EXPLAINED_NOT: return " ?";
    default: return "";
    }
}

/* --- which boards ----------------------------------------------------------------------------- */

static const char *name_of(struct section *s, const struct summary *summary)
{
    char name[160];
    return section_text(s, "%.60s", bundle_fact(summary->bundle, "gpu", "name", name, sizeof name,
                                                summary->bundle->name));
}

static bool is_same_board(const struct summary *a, const struct summary *b)
{
    return a->bundle->board && b->bundle->board && !strcmp(a->bundle->board, b->bundle->board);
}

/* "the same chip, faster memory": as far as the facts say. */
static const char *relation(struct section *s, const struct summary *a, const struct summary *b)
{
    const double chip = ratio_of(a, b, FACTOR_CHIP), clock = ratio_of(a, b, FACTOR_CLOCK);
    const double pins = ratio_of(a, b, FACTOR_PINS);
    const int was = summary_cc(a), is = summary_cc(b);

    if (is_same_board(a, b))
        return "the same board twice";
    if (!isfinite(chip) || !isfinite(pins) || !was || !is)
        return "boards that do not say what they are";
    if (was == is && summary_sms(a) == summary_sms(b) && is_near(clock, 1, ALIKE))
        return section_text(s, "the same chip, %s", is_near(pins, 1, ALIKE) ? "memory as fast"
                                                    : pins > 1              ? "faster memory"
                                                                            : "slower memory");
    const struct number of[2] = {number_fact(chip, "ratio"), number_fact(pins, "ratio")};
    return section_text(s, "%s generation%s, %s times the chip, %s times the pins",
                        was == is ? "the same" : "another",
                        was == is ? "" : section_text(s, " (cc %.1f, %.1f)", was / 10.0, is / 10.0),
                        section_say(s, &of[0], ""), section_say(s, &of[1], ""));
}

static const char *capitals(struct section *s, const char *text)
{
    char upper[200];
    size_t n = 0;
    for (; text[n] && n + 1 < sizeof upper; n++)
        upper[n] = (char)toupper((unsigned char)text[n]);
    upper[n] = '\0';
    return section_text(s, "%s", upper);
}

static const char *letter(struct section *s, size_t i)
{
    return section_text(s, "%c", (int)('A' + i));
}

/* --- conditions ------------------------------------------------------------------------------- */

static void say_bundle(struct section *s, const struct summary *summary, size_t i)
{
    const json_t *suite = json_object_get(summary->bundle->head, "suite");
    char driver[80];
    const char *version =
        bundle_fact(summary->bundle, "driver", "version", driver, sizeof driver, NULL);

    section_line(s, section_text(
        s, "%c: %s, %s, %.10s, %d round%s, commit %.7s%s", (int)('A' + i), name_of(s, summary),
        version ? section_text(s, "driver %.24s", version) : "no GPU",
        document_get_text(summary->bundle->head, "started", "undated"), summary->bundle->n_rounds,
        summary->bundle->n_rounds == 1 ? "" : "s", document_get_text(suite, "commit", "unknown"),
        bundle_n_others(summary->bundle) > 0 ? " and others" : ""));
}

/* A row of facts: numbers that a unit suits, with their ratio. */
static void put_fact(struct grid *grid, struct section *s, const struct boards *boards,
                     const char *label, const char *unit, enum factor factor, const char *fact)
{
    const struct number none = number_none();
    double of[BOARDS_MOST];

    grid_text(grid, label);
    for (size_t i = 0; i < boards->n; i++) {
        const struct summary *summary = &boards->of[i];
        of[i] = fact ? summary_fact(summary, fact) : size_of(summary, factor, &none);
        const struct number number = number_fact(of[i], unit);
        if (factor == FACTOR_CHIP && isfinite(of[i]))
            grid_text(grid, section_text(s, "%.0f x %.0f", summary_sms(summary),
                                         summary_clock_mhz(summary)));
        else if (!strcmp(unit, "hertz") || !strcmp(unit, "watts"))
            grid_text(grid, isfinite(of[i]) ? section_text(s, "%.0f", of[i]) : "-");
        else
            grid_number(grid, &number);
    }
    for (size_t i = 1; i < boards->n; i++) {
        const struct number ratio = number_fact(of[i] / of[0], "ratio");
        grid_number(grid, &ratio);
    }
    grid_text(grid, factor == FACTOR_NONE ? "" : section_text(s, "= %s", factor_names[factor]));
}

/* Columns of values, then of ratios; `last` heads a column of texts, or is NULL. */
static size_t columns_of(struct section *s, const struct boards *boards, struct column *columns,
                         bool values, const char *last)
{
    size_t n = 0;

    columns[n++] = (struct column){NULL, NULL, NULL, 'l'};
    for (size_t i = 0; i < (values ? boards->n : 1); i++)
        columns[n++] = (struct column){NULL, letter(s, i), NULL, 'r'};
    for (size_t i = 1; i < boards->n; i++)
        columns[n++] = (struct column){
            NULL, boards->n == 2 ? "ratio" : section_text(s, "%c/A", (int)('A' + i)), "x", 'r'};
    if (last)
        columns[n++] = (struct column){NULL, last, NULL, 'l'};
    return n;
}

static bool have_links(const struct boards *boards)
{
    for (size_t i = 0; i < boards->n; i++)
        if (isnan(summary_links(&boards->of[i])))
            return false;
    return true;
}

static void tabulate_facts(struct section *s, const struct boards *boards)
{
    struct column columns[SECTION_COLUMNS];

    if (boards->n > (SECTION_COLUMNS - 1) / 2)
        return;
    struct grid *grid = section_grid(s, columns, columns_of(s, boards, columns, true, ""));
    put_fact(grid, s, boards, "SMs x clock, MHz", "count", FACTOR_CHIP, NULL);
    put_fact(grid, s, boards, "clock, MHz", "hertz", FACTOR_CLOCK, NULL);
    put_fact(grid, s, boards, "pins of the memory", "bytes/s", FACTOR_PINS, NULL);
    put_fact(grid, s, boards, "L2", "bytes", FACTOR_L2, NULL);
    if (have_links(boards))
        put_fact(grid, s, boards, "links of a GPU", "bytes/s", FACTOR_LINKS, NULL);
    put_fact(grid, s, boards, "memory", "bytes", FACTOR_NONE, "memory_bytes");
    put_fact(grid, s, boards, "power limit, W", "watts", FACTOR_NONE, "power_limit_w");
}

/* Does the table above, or the head's lines, show it already? */
static bool is_shown(const char *key)
{
    static const char *const shown[] = {"board", "n_sm", "card", "power_limit", "sm_clock_max",
                                        "memory_clock", "commit", "driver"};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (!strcmp(key, shown[i]))
            return true;
    return false;
}

/* "board, cpu (X, Y)": what differs between the first board and another. */
static const char *differing(struct section *s, const json_t *differs)
{
    const char *key, *said = "";
    json_t *values;

    json_object_foreach((json_t *)differs, key, values) {
        const char *word = section_text(s, "%s", key);
        said = section_text(s, "%s%s%s", said, *said ? ", " : "", word);
        if (!is_shown(key))
            said = section_text(s, "%s (%.80s, %.80s)", said,
                                json_string_value(json_array_get(values, 0)),
                                json_string_value(json_array_get(values, 1)));
    }
    return *said ? said : "nothing that a bundle states";
}

static const char *listed(struct section *s, const json_t *names)
{
    const char *said = "";
    for (size_t i = 0; i < json_array_size(names); i++)
        said = section_text(s, "%s%s%s", said, *said ? ", " : "",
                            json_string_value(json_array_get(names, i)));
    return *said ? said : "nothing";
}

static void say_conditions(struct section *s, const struct boards *boards)
{
    for (size_t i = 1; i < boards->n; i++) {
        json_t *c = conditions_json(boards->of[0].bundle, boards->of[i].bundle);
        const size_t n_changed = json_array_size(json_object_get(c, "changed_code"));
        const char *to = boards->n > 2 ? section_text(s, " in %c", (int)('A' + i)) : "";
        section_note(s, "Differs%s: %s.", to, differing(s, json_object_get(c, "differs")));
        section_note(s, "Same%s: %s.", to, listed(s, json_object_get(c, "same")));
        if (n_changed > 0)
            section_note(s, "Programs whose code is not the same: %zu.", n_changed);
        json_decref(c);
    }
}

static void build_conditions(const struct boards *boards, struct section *s)
{
    const char *names = "";

    s->name = "conditions";
    s->title = "BOARDS";
    s->has_no_number = true;
    for (size_t i = 0; i < boards->n; i++) {
        names = section_text(s, "%s%s%s (%c)", names, i ? ", " : "", name_of(s, &boards->of[i]),
                             (int)('A' + i));
        say_bundle(s, &boards->of[i], i);
    }
    s->finding = names;
    tabulate_facts(s, boards);
    say_conditions(s, boards);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* What a pair's numbers are, for the sentence above them. */
struct tally {
    size_t n, same, by[FACTORS], either, part, not_explained, absent;
};

static void count(struct tally *tally, const struct explanation *e,
                  const struct summary_entry *entry, bool has_held_clock)
{
    const size_t which = e->factor != entry->factor[0];

    if (e->kind == EXPLAINED_ABSENT) {
        tally->absent++;
        return;
    }
    tally->n++;
    tally->either += e->kind == EXPLAINED_EITHER;
    tally->part += e->kind == EXPLAINED_PART;
    tally->not_explained += e->kind == EXPLAINED_NOT;
    if (has_held_clock)
        tally->by[FACTOR_POWER]++;
    else if (e->kind == EXPLAINED_BY && is_near(e->expected[which], 1, ALIKE))
        tally->same++;
    else if (e->kind == EXPLAINED_BY)
        tally->by[e->factor == FACTOR_POWER ? FACTOR_CHIP : e->factor]++;
}

static const char *add(struct section *s, const char *said, size_t n, const char *one,
                       const char *several)
{
    if (n == 0)
        return said;
    return section_text(s, "%s%s %zu %s", said, *said ? "," : "", n, n == 1 ? one : several);
}

/* "of 44 numbers 25 are the same, 9 follow the pins, 5 lie between two factors, ..." */
static const char *say_tally(struct section *s, const struct tally *tally)
{
    const char *said = "";

    said = add(s, said, tally->same, "is the same", "are the same");
    said = add(s, said, tally->by[FACTOR_POWER], "follows the clock under load",
               "follow the clock under load");
    said = add(s, said, tally->by[FACTOR_CHIP], "follows the chip", "follow the chip");
    said = add(s, said, tally->by[FACTOR_CLOCK], "follows the clock", "follow the clock");
    said = add(s, said, tally->by[FACTOR_PINS], "follows the pins", "follow the pins");
    said = add(s, said, tally->by[FACTOR_L2], "follows the size of the L2",
               "follow the size of the L2");
    said = add(s, said, tally->by[FACTOR_LINKS], "follows the links", "follow the links");
    said = add(s, said, tally->either, "follows one of two factors", "follow one of two factors");
    said = add(s, said, tally->part, "lies between two factors", "lie between two factors");
    said = add(s, said, tally->not_explained, "is not explained", "are not explained");
    if (tally->n == 0)
        return "no number is measured on both";
    said = section_text(s, "of %zu number%s%s", tally->n, tally->n == 1 ? "" : "s", said);
    return tally->absent ? section_text(s, "%s; %zu %s not on both", said, tally->absent,
                                        tally->absent == 1 ? "is" : "are")
                         : said;
}

/* Of two forms the second stands in where a board lacks the first: mma.sync for wgmma. */
static bool is_spared(const struct boards *boards, const char *name)
{
    const char *better = !strcmp(name, "mma-sync")           ? "wgmma"
                         : !strcmp(name, "product-1024-mma") ? "product-1024"
                                                             : NULL;
    for (size_t i = 0; better && i < boards->n; i++) {
        const struct number number = summary_number(&boards->of[i], better);
        if (!number_there(&number))
            return false;
    }
    return better != NULL;
}

static bool is_anywhere(const struct boards *boards, const char *name)
{
    for (size_t i = 0; i < boards->n; i++) {
        const struct number number = summary_number(&boards->of[i], name);
        if (number_there(&number))
            return true;
    }
    return false;
}

/* The points of a figure by what explains them; `x` is the rank, which is known when all are
 * there. */
static void put_point(struct section *s, const struct explanation *e, const char *label)
{
    const bool by = e->kind == EXPLAINED_BY;
    const char *class = by && e->factor == FACTOR_PINS    ? BOARDS_PINS
                        : by && e->factor == FACTOR_L2    ? BOARDS_L2
                        : by && e->factor == FACTOR_LINKS ? BOARDS_LINKS
                        : by && e->factor == FACTOR_NONE  ? BOARDS_ALIKE
                        : by                              ? BOARDS_CHIP
                        : e->kind == EXPLAINED_NOT        ? BOARDS_NOT
                                                          : BOARDS_TWO;
    struct series *series = NULL;

    if (e->kind == EXPLAINED_ABSENT)
        return;
    for (size_t i = 0; i < s->n_series && !series; i++)
        if (!strcmp(s->series[i].name, class))
            series = &s->series[i];
    series_put(series ? series : section_series(s, class, "rank"), NAN, &e->ratio, label);
}

/* The best has rank 0; equal ones stay in the order of the table. */
static void rank(struct section *s)
{
    for (size_t a = 0; a < s->n_series; a++)
        for (size_t i = 0; i < s->series[a].n; i++) {
            struct point *point = &s->series[a].point[i];
            size_t before = 0;
            for (size_t b = 0; b < s->n_series; b++)
                for (size_t k = 0; k < s->series[b].n; k++) {
                    const double other = s->series[b].point[k].y.value;
                    before += other > point->y.value ||
                              (other == point->y.value && (b < a || (b == a && k < i)));
                }
            point->x = (double)before;
        }
}

/* What the ratios are compared with. */
static void put_factors(struct section *s, const struct boards *boards)
{
    const double chip = ratio_of(&boards->of[0], &boards->of[1], FACTOR_CHIP);
    const double pins = ratio_of(&boards->of[0], &boards->of[1], FACTOR_PINS);
    const struct number of[2] = {number_fact(chip, "ratio"), number_fact(pins, "ratio")};
    struct series *series = section_series(s, BOARDS_FACTORS, "factor");

    series_put(series, 0, &of[0], factor_names[FACTOR_CHIP]);
    series_put(series, 1, &of[1], factor_names[FACTOR_PINS]);
}

/* A row: label, values, ratios, and of two boards the explanation. */
static void put_row(struct grid *grid, struct section *s, const struct boards *boards,
                    const struct summary_entry *entry, struct tally tally[BOARDS_MOST])
{
    const size_t n_values = boards->n <= WITH_VALUES ? boards->n : 1;
    struct explanation e = {.kind = EXPLAINED_ABSENT};

    grid_text(grid, section_label(s, &boards->of[0], entry->label));
    for (size_t i = 0; i < n_values; i++) {
        const struct number number = summary_number(&boards->of[i], entry->name);
        grid_number(grid, &number);
    }
    for (size_t i = 1; i < boards->n; i++) {
        e = boards_explain(&boards->of[0], &boards->of[i], entry);
        if (tally)
            count(&tally[i], &e, entry, is_held(&boards->of[0], &boards->of[i], entry, &e));
        grid_number_with(grid, &e.ratio, boards->n > 2 && tally ? mark(s, &e) : NULL);
    }
    if (boards->n == 2 && tally) {
        grid_text(grid, say(s, &boards->of[0], &boards->of[1], entry, &e));
        put_point(s, &e, section_label(s, &boards->of[0], entry->label));
    }
}

/* How many GPUs each of the boards has; 0: not each as many. */
static size_t gpus_of(const struct boards *boards)
{
    const size_t n = bundle_gpus(boards->of[0].bundle);

    for (size_t i = 1; i < boards->n; i++)
        if (bundle_gpus(boards->of[i].bundle) != n)
            return 0;
    return n;
}

static size_t put_group(struct grid *grid, struct section *s, const struct boards *boards,
                        const struct group *group, struct tally tally[BOARDS_MOST])
{
    size_t n_nowhere = 0;
    bool is_begun = false;

    if (group == &groups[BETWEEN] && gpus_of(boards) < 2)
        return 0;
    for (const char *const *name = group->names; *name; name++) {
        if (is_spared(boards, *name))
            continue;
        if (!is_anywhere(boards, *name)) {
            n_nowhere++;
            continue;
        }
        if (!is_begun)
            grid_split(grid, group->title);
        is_begun = true;
        put_row(grid, s, boards, summary_find(*name), tally);
    }
    return n_nowhere;
}

/* The sentence of the section: of two boards their relation is its title. */
static void find(struct section *s, const struct boards *boards, const struct tally *tally)
{
    if (boards->n == 2) {
        s->title = capitals(s, relation(s, &boards->of[0], &boards->of[1]));
        s->finding = section_text(s, "%s.", say_tally(s, &tally[1]));
        return;
    }
    s->title = "AGAINST A";
    s->finding = "";
    for (size_t i = 1; i < boards->n; i++)
        s->finding = section_text(s, "%s%s%c, %s: %s.", s->finding, i > 1 ? " " : "",
                                  (int)('A' + i), relation(s, &boards->of[0], &boards->of[i]),
                                  say_tally(s, &tally[i]));
}

/* Boards of several GPUs each, but not of as many: what lies between them has no line. */
static void say_apart(struct section *s, const struct boards *boards)
{
    const char *said = "";
    size_t n_several = 0;

    for (size_t i = 0; i < boards->n; i++) {
        const size_t n = bundle_gpus(boards->of[i].bundle);
        n_several += n > 1;
        said = section_text(s, "%s%s%zu", said, i == 0 ? "" : ", ", n);
    }
    if (n_several > 1)
        section_note(s, "What lies between GPUs is not compared: the boards have %s of them.",
                     said);
}

static void explain(struct section *s, const struct boards *boards, size_t n_nowhere)
{
    section_note(s, "ratio: how many times as good %s is, a shorter time or a higher rate.",
                 boards->n == 2 ? "B" : "the board");
    section_note(s, "A factor explains what is within 5 %% of it; a rest from 2 %% on is printed. "
                    "clock: of the SMs while the row was measured; chip: that x SMs; power: the "
                    "same, held down by the power limit.");
    if (gpus_of(boards) > 1)
        section_note(s, "links: what those of a GPU carry one way; alike: within 5 %%, where no "
                        "factor is known.");
    else
        say_apart(s, boards);
    if (boards->n == 2)
        section_note(s, "In part: between two factors.");
    else
        section_note(s, "~: between two factors; =: one of two; ?: not explained.");
    section_note(s, "Not explained is a finding: no cause was measured.");
    if (n_nowhere > 0)
        section_note(s, "Measured on none: %zu more.", n_nowhere);
    for (size_t i = 1; i < boards->n; i++)
        if (is_same_board(&boards->of[0], &boards->of[i])) {
            section_note(s, "Which differences between two bundles of one board are more than "
                            "chance: gpufloor compare.");
            break;
        }
    section_note(s, "Every row: report --all.");
}

static void build_numbers(const struct boards *boards, struct section *s)
{
    struct column columns[SECTION_COLUMNS];
    struct tally tally[BOARDS_MOST] = {{0}};
    size_t n_nowhere = 0;

    s->name = "numbers";
    s->has_no_number = true;
    struct grid *grid =
        section_grid(s, columns, columns_of(s, boards, columns, boards->n <= WITH_VALUES,
                                            boards->n == 2 ? "explained by" : NULL));
    for (size_t i = 0; i < GROUPS; i++)
        n_nowhere += put_group(grid, s, boards, &groups[i], tally);
    rank(s);
    if (boards->n == 2)
        put_factors(s, boards);
    find(s, boards, tally);
    explain(s, boards, n_nowhere);
    section_doubts(s);
}

/* --- the host --------------------------------------------------------------------------------- */

/* "+-23 %": half the widest interval of the boards' numbers. */
static const char *widest(struct section *s, const struct boards *boards, const char *name)
{
    double most = NAN;

    for (size_t i = 0; i < boards->n; i++) {
        const struct number n = summary_number(&boards->of[i], name);
        if (number_there(&n) && isfinite(n.low) && isfinite(n.high))
            most = fmax(most, fmax(n.high - n.value, n.value - n.low) / n.value);
    }
    return isnan(most) ? "-" : section_text(s, "+-%.0f %%", 100 * most);
}

static void build_host(const struct boards *boards, struct section *s)
{
    struct column columns[SECTION_COLUMNS];
    char cpu[160];

    s->name = "host";
    s->title = "HOST";
    s->has_no_number = true;
    s->finding = "paced by the CPU, in no count above.";
    for (size_t i = 0; i < boards->n; i++)
        s->finding = section_text(
            s, "%s %c: %.48s%s", s->finding, (int)('A' + i),
            bundle_fact(boards->of[i].bundle, "host", "cpu", cpu, sizeof cpu, "unknown"),
            i + 1 < boards->n ? ";" : ".");
    struct grid *grid = section_grid(
        s, columns, columns_of(s, boards, columns, boards->n <= WITH_VALUES, "spread"));
    for (size_t i = 0; of_the_host[i]; i++)
        if (is_anywhere(boards, of_the_host[i])) {
            put_row(grid, s, boards, summary_find(of_the_host[i]), NULL);
            grid_text(grid, widest(s, boards, of_the_host[i]));
        }
}

boards_builder *boards_section_at(size_t i)
{
    static boards_builder *const builders[] = {build_conditions, build_numbers, build_host,
                                               boards_claims};
    return i < sizeof builders / sizeof builders[0] ? builders[i] : NULL;
}
