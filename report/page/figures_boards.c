/* The figure of two boards: how many times as good the second is, number by number. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/page.h"

enum { RATIOS_MOST = 96, LEAST_APART = 8, ROW = 19 };
static const double SAME = 1.015; /* so near to 1 are "the same within 1.5 %", which share a row */
enum { LABEL, VALUE_A, VALUE_B }; /* columns of the section's table */

static const struct chart_key classes[] = {{BOARDS_CHIP, CHART_INK, CHART_DOT},
                                           {BOARDS_PINS, CHART_MEMORY, CHART_SQUARE},
                                           {BOARDS_L2, CHART_SYNCHRONISE, CHART_OPEN_SQUARE},
                                           {BOARDS_LINKS, CHART_LIBRARY, CHART_SQUARE},
                                           {BOARDS_ALIKE, CHART_INK, CHART_CIRCLE},
                                           {BOARDS_TWO, CHART_SECONDARY, CHART_CIRCLE},
                                           {BOARDS_NOT, CHART_LAUNCH, CHART_DIAMOND}};
enum { CLASSES = sizeof classes / sizeof classes[0] };

struct ratio {
    const struct point *point;
    const struct chart_key *class;
};

/* All ratios from the best to the worst; only those classes in `keys` that have any. */
static size_t take_ratios(const struct section *section, struct ratio *ratios,
                          struct chart_key *keys, size_t *n_keys)
{
    size_t n = 0;

    memset(ratios, 0, RATIOS_MOST * sizeof *ratios);
    *n_keys = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        const struct series *series = section_find(section, classes[k].name);
        if (series)
            keys[(*n_keys)++] = classes[k];
        for (size_t i = 0; series && i < series->n; i++) {
            const size_t at = (size_t)series->point[i].x;
            if (at < RATIOS_MOST)
                ratios[at] = (struct ratio){&series->point[i], &classes[k]};
            n = at < RATIOS_MOST && at >= n ? at + 1 : n;
        }
    }
    return n;
}

static bool is_same(const struct ratio *ratio)
{
    return (!strcmp(ratio->class->name, BOARDS_CHIP) ||
            !strcmp(ratio->class->name, BOARDS_ALIKE)) &&
           fabs(log(ratio->point->y.value)) <= log(SAME);
}

/* "3.22, 4.63 TB/s": the two numbers of a ratio, from the table. */
static const char *both(struct drawing *d, const char *label)
{
    const struct grid *grid = &d->section->grid[0];

    for (size_t i = 0; i < grid_rows(grid); i++)
        if (!strcmp(grid_at(grid, i, LABEL)->text, label)) {
            const struct number a = draw_cell(grid, i, VALUE_A), b = draw_cell(grid, i, VALUE_B);
            const char *first = draw_say(d, &a), *second = draw_say(d, &b);
            const char *unit = strchr(first, ' '), *other = strchr(second, ' ');
            const bool is_alike = unit && other && !strcmp(unit, other);
            return DRAW_TEXT(d, "%.*s, %s", is_alike ? (int)(unit - first) : 40, first, second);
        }
    return "";
}

static struct chart_dot dot_of(struct drawing *d, const struct ratio *ratio)
{
    const struct number *y = &ratio->point->y;
    return (struct chart_dot){y->value, ratio->class->role, ratio->class->mark,
                              draw_tip(d, ratio->point->label, y), draw_anchor(d, y)};
}

/* A row a ratio. Where enough others remain, those that are the same share one row. */
static size_t fill_rows(struct drawing *d, const struct ratio *ratios, size_t n,
                        struct chart_row *rows, struct chart_dot *dots)
{
    size_t n_same = 0, n_rows = 0, n_put = 0, shared = SIZE_MAX;

    for (size_t i = 0; i < n; i++)
        n_same += is_same(&ratios[i]);
    const bool is_shared = n_same > 1 && n - n_same >= LEAST_APART;
    for (size_t i = 0; i < n; i++) {
        const bool joins = is_shared && is_same(&ratios[i]);
        if (joins && shared != SIZE_MAX)
            continue;
        struct chart_row *row = &rows[n_rows++];
        const size_t from = n_put;
        for (size_t k = i; k < n; k++)
            if (k == i || (joins && is_same(&ratios[k])))
                dots[n_put++] = dot_of(d, &ratios[k]);
        *row = (struct chart_row){
            .label = joins ? DRAW_TEXT(d, "%zu other numbers", n_same)
                           : ratios[i].point->label,
            .aside = joins ? "" : both(d, ratios[i].point->label),
            .on = {{&dots[from], n_put - from,
                    joins ? "the same within 1.5 %" 
                          : draw_three(d, ratios[i].point->y.value), NULL, .strong = true}}};
        shared = joins ? i : shared;
    }
    return n_rows;
}

/* Upright lines at the ratios of chip and pins; one where they are alike. */
static size_t fill_factors(struct drawing *d, struct chart_reference *references)
{
    const struct series *factors = section_find(d->section, BOARDS_FACTORS);
    size_t n = 0;

    for (size_t i = 0; factors && i < factors->n && i < 2; i++) {
        const struct number *is = &factors->point[i].y;
        if (!(is->value > 0))
            continue;
        const char *label = DRAW_TEXT(d, "%s %s", factors->point[i].label, draw_say(d, is));
        if (n > 0 && fabs(log(is->value / references[0].at)) < log(SAME))
            references[0].label = DRAW_TEXT(d, "%s, %s", references[0].label, label);
        else
            references[n++] = (struct chart_reference){
                .at = is->value, .upright = true, .line = CHART_DASHED, .label = label};
    }
    return n;
}

bool figure_ratio(struct drawing *d)
{
    static const double ticks[] = {0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10};
    struct ratio ratios[RATIOS_MOST];
    struct chart_row rows[RATIOS_MOST];
    struct chart_dot dots[RATIOS_MOST];
    struct chart_reference references[2];
    struct chart_key keys[CLASSES];
    size_t n_keys = 0;
    const size_t n = take_ratios(d->section, ratios, keys, &n_keys);

    if (n == 0)
        return false;
    const size_t n_rows = fill_rows(d, ratios, n, rows, dots);
    const double low = fmin(0.9, ratios[n - 1].point->y.value), high = ratios[0].point->y.value;
    const struct chart_rows chart = {
        .title = "How many times as good the second board is, by number",
        .height = 94 + ROW * (double)n_rows,
        .axes = {{.title = "times as good",
                  .scale = CHART_LOG2,
                  .low = 0.95 * low,
                  .high = 1.1 * fmax(1.2, high),
                  .ticks = ticks,
                  .n_ticks = sizeof ticks / sizeof ticks[0]}},
        .n_axes = 1,
        .one = 1,
        .references = references,
        .n_references = fill_factors(d, references),
        .aside = "A, B",
        .keys = keys,
        .n_keys = n_keys,
        .rows = rows,
        .n_rows = n_rows};
    chart_rows(d->out, &chart, d->width, d->standalone);
    d->how = "How many times as good B is as A: a shorter time or a higher rate. Dashed: what the "
             "chip (SMs x clock) and the pins of the memory alone would make of a number. The "
             "colour is what explains it.";
    return true;
}
