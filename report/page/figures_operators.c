/* The figures of fused operators, attention and weights; of the ledger; and of how far rows repeat.
 * */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/page.h"

/* --- fusion ----------------------------------------------------------------------------------- */

enum { FUSIONS_MOST = 24, POINTS_MOST = 32, LABEL_MOST = 42 };
enum { OPERATORS, SHAPE, APART, FUSED, GAIN, MODEL }; /* columns of the section's table */

static struct chart_row fusion_row(struct drawing *d, const struct grid *grid, size_t i,
                                   struct chart_dot dots[2])
{
    const struct number gain = draw_cell(grid, i, GAIN), model = draw_cell(grid, i, MODEL);
    const char *name = DRAW_TEXT(d, "%s, %s", draw_cell_text(d, grid, i, OPERATORS),
                                 draw_cell_text(d, grid, i, SHAPE));
    char text[48];

    dots[0] = (struct chart_dot){model.value, CHART_SECONDARY, CHART_TICK,
                                 draw_tip(d, DRAW_TEXT(d, "%s, the model", name), &model),
                                 draw_anchor(d, &model)};
    dots[1] = (struct chart_dot){gain.value, gain.value < 1 ? CHART_LAUNCH : CHART_MEMORY,
                                 CHART_DOT, draw_tip(d, name, &gain), draw_anchor(d, &gain)};
    return (struct chart_row){
        .label = strlen(name) > LABEL_MOST ? draw_cell_text(d, grid, i, OPERATORS) : name,
        .aside = DRAW_TEXT(d, "%s to %s", draw_cell_text(d, grid, i, APART),
                           draw_cell_text(d, grid, i, FUSED)),
        .on = {{dots, 2, DRAW_TEXT(d, "%s", number_cell(text, sizeof text, &gain, "x")), NULL,
                .strong = true}}};
}

bool figure_fusion(struct drawing *d)
{
    static const struct chart_key keys[] = {
        {"measured", CHART_MEMORY, CHART_DOT},
        {"loss", CHART_LAUNCH, CHART_DOT},
        {"what bytes and launches say", CHART_SECONDARY, CHART_TICK}};
    struct chart_row rows[FUSIONS_MOST];
    struct chart_dot dots[FUSIONS_MOST][2];
    const struct grid *grid = &d->section->grid[0];
    const size_t all = d->section->n_grids ? grid_rows(grid) : 0;
    double least = 0.8, most = 1.25;
    size_t n = 0;

    for (size_t i = 0; i < all && n < FUSIONS_MOST; i++) {
        const struct number gain = draw_cell(grid, i, GAIN);
        if (!(gain.value > 0))
            continue;
        least = fmin(least, gain.value);
        most = fmax(most, gain.value);
        rows[n] = fusion_row(d, grid, i, dots[n]);
        n++;
    }
    if (n == 0)
        return false;
    const struct chart_rows chart = {.title = d->section->finding,
                                     .axes = {{.title = "times faster",
                                               .scale = CHART_LOG10,
                                               .low = 0.6 * least,
                                               .high = 1.6 * most}},
                                     .n_axes = 1,
                                     .one = 1,
                                     .aside = "apart, fused, us",
                                     .keys = keys,
                                     .n_keys = 3,
                                     .rows = rows,
                                     .n_rows = n};
    chart_rows(d->out, &chart, d->width, d->standalone);
    d->how = "How many times faster one kernel is than the separate ones; in the shaded part it is "
             "slower. The stroke is a prediction from bytes and launches without fitted constants.";
    return true;
}

/* --- decode and weights ----------------------------------------------------------------------- */

struct kind {
    const char *series, *name;
    enum chart_role role;
    enum chart_mark mark;
    enum chart_line line;
};

/* The series of these kinds that the section has, in microseconds. */
static size_t draw_kinds(struct drawing *d, const struct kind *kinds, size_t n_kinds,
                         const char *of, struct chart_point points[][POINTS_MOST],
                         struct chart_series *series)
{
    size_t all = 0;

    for (size_t k = 0; k < n_kinds; k++) {
        const struct series *from = section_find(d->section, kinds[k].series);
        const size_t n = draw_points(d, from, 1, "us", points[k], POINTS_MOST);
        const char *name = kinds[k].name ? kinds[k].name : kinds[k].series;
        const bool quoted = n > 0 && from->point[0].y.quoted;
        for (size_t i = 0; i < n; i++)
            points[k][i].title = DRAW_TEXT(d, of, points[k][i].x, points[k][i].title);
        if (n == 1) { /* a line's name would stand beside no line */
            points[k][0].label = DRAW_TEXT(d, "%s%s %s", name, quoted ? " \u2020" : "",
                                           draw_three(d, points[k][0].y));
            points[k][0].side = CHART_ABOVE;
        }
        series[k] = (struct chart_series){points[k],
                                          n,
                                          n > 1 ? name : NULL,
                                          kinds[k].role,
                                          kinds[k].mark,
                                          kinds[k].line,
                                          .strong = kinds[k].role == CHART_OURS &&
                                                    kinds[k].mark == CHART_DOT};
        all += n;
    }
    return all;
}

static const struct kind decode_kinds[] = {
    {"a read of the cache", "a read of it", CHART_INK, CHART_NO_MARK, CHART_DASHED},
    {"one query, int8", "int8", CHART_HOST, CHART_SQUARE, CHART_SOLID},
    {"one query, fp8", "fp8", CHART_SYNCHRONISE, CHART_DIAMOND, CHART_SOLID},
    {"FlashAttention", NULL, CHART_QUOTED, CHART_CIRCLE, CHART_NO_LINE},
    {"cuDNN", NULL, CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_NO_LINE},
    {"one query, bf16", "bf16", CHART_OURS, CHART_DOT, CHART_SOLID}};
enum { DECODE_KINDS = sizeof decode_kinds / sizeof decode_kinds[0] };

/* "72 %" beside the points whose share of a read is known: the table's first column in per cent. */
static void label_shares(struct drawing *d, const struct series *bf16, struct chart_point *points,
                         size_t n)
{
    const struct grid *grid = &d->section->grid[d->section->n_grids - 1];

    for (size_t i = 0; bf16 && i < n && i < grid_rows(grid); i++) {
        const struct number share = draw_cell(grid, i, 2);
        if (!number_there(&share))
            continue;
        points[i].label = DRAW_TEXT(d, "%.0f keys: %s of a read", points[i].x,
                                    section_say(&d->texts, &share, "%"));
        points[i].brief = section_say(&d->texts, &share, "%");
        points[i].strong = true;
        points[i].side = CHART_LEFT;
    }
}

bool figure_decode(struct drawing *d)
{
    struct chart_point points[DECODE_KINDS][POINTS_MOST];
    struct chart_series series[DECODE_KINDS];
    const struct series *bf16 = section_find(d->section, "one query, bf16");
    size_t n;

    if (draw_kinds(d, decode_kinds, DECODE_KINDS, "%.0f keys, %s", points, series) == 0 || !bf16)
        return false;
    n = series[DECODE_KINDS - 1].n_points;
    label_shares(d, bf16, points[DECODE_KINDS - 1], n);
    const struct chart_xy chart = {
        .title = "One query over a cache of keys",
        .height = 340,
        .x = {.title = "keys in the cache", .scale = CHART_LOG2},
        .y = {.title = "us for one query of each head", .scale = CHART_LOG10},
        .series = series,
        .n_series = DECODE_KINDS};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->title = "Decode: one query over a cache of keys";
    d->how =
        "The dashed line is how long it takes to read a bf16 cache once at full rate.";
    return true;
}

static const struct kind weights_kinds[] = {
    {"int8 converted inside", "int8", CHART_HOST, CHART_SQUARE, CHART_SOLID},
    {"fp8 converted inside", "fp8", CHART_SYNCHRONISE, CHART_DIAMOND, CHART_SOLID},
    {"bf16", NULL, CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_SOLID},
    {"int4 converted inside", "int4", CHART_OURS, CHART_DOT, CHART_SOLID}};
enum { WEIGHTS_KINDS = sizeof weights_kinds / sizeof weights_kinds[0] };

bool figure_weights(struct drawing *d)
{
    struct chart_point points[WEIGHTS_KINDS][POINTS_MOST];
    struct chart_series series[WEIGHTS_KINDS];

    if (draw_kinds(d, weights_kinds, WEIGHTS_KINDS, "batch %.0f, %s", points, series) == 0)
        return false;
    for (size_t k = WEIGHTS_KINDS - 2; k < WEIGHTS_KINDS; k++)
        for (size_t i = 0; i < series[k].n_points; i++) {
            points[k][i].label = draw_three(d, points[k][i].y);
            points[k][i].side = k == WEIGHTS_KINDS - 1 ? CHART_BELOW : CHART_ABOVE;
        }
    const struct chart_xy chart = {
        .title = d->section->finding,
        .height = 300,
        .x = {.title = "batch: rows that share the weights", .scale = CHART_LOG2},
        .y = {.title = "us for one product, weights cold", .scale = CHART_LOG10},
        .series = series,
        .n_series = WEIGHTS_KINDS};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->how =
        "One matrix of weights times so many rows. Where the lines cross, four bits no longer pay.";
    return true;
}

/* --- claims ----------------------------------------------------------------------------------- */

enum { SOURCES_MOST = 12, CLAIMS_MOST = 512 };

/* By verdict: no, partly, yes, then what cannot be told and what is open. */
static const struct {
    enum claim_verdict verdict;
    enum chart_role role;
} verdicts[] = {{CLAIM_REFUTED, CHART_NO},
                {CLAIM_MIXED, CHART_PARTLY},
                {CLAIM_REPRODUCED, CHART_YES},
                {CLAIM_NOT_TESTABLE, CHART_UNKNOWN},
                {CLAIM_OPEN, CHART_UNKNOWN}};
enum { VERDICTS = sizeof verdicts / sizeof verdicts[0] };

static size_t fill_group(struct drawing *d, const char *source, struct chart_box *boxes,
                         size_t room)
{
    const struct tellings *claims = &d->page->claims;
    size_t n = 0;

    for (size_t v = 0; v < VERDICTS; v++)
        for (size_t i = 0; i < claims->n && n < room; i++) {
            const struct telling *one = &claims->telling[i];
            if (!claim_is_of(one->claim, source) || one->finding.verdict != verdicts[v].verdict)
                continue;
            boxes[n++] = (struct chart_box){
                one->claim->id, /* a phone shows no tooltips */
                DRAW_TEXT(d, "%s, %s%s%s", one->claim->id, telling_word(one->finding.verdict),
                          d->width == CHART_WIDE ? ": " : "",
                          d->width == CHART_WIDE ? one->claim->statement : ""),
                one->claim->id, verdicts[v].role};
        }
    return n;
}

bool figure_claims(struct drawing *d)
{
    static const struct chart_key keys[] = {{"no", CHART_NO, CHART_NO_MARK},
                                            {"partly", CHART_PARTLY, CHART_NO_MARK},
                                            {"yes", CHART_YES, CHART_NO_MARK},
                                            {"can't tell, or open", CHART_UNKNOWN, CHART_NO_MARK}};
    struct chart_box *boxes = calloc(CLAIMS_MOST, sizeof *boxes);
    struct chart_group groups[SOURCES_MOST];
    size_t n_groups = 0, n = 0;

    const char *source;
    for (size_t i = 0; boxes && n_groups < SOURCES_MOST && (source = claim_source(i)); i++) {
        const size_t held = fill_group(d, source, boxes + n, CLAIMS_MOST - n);
        if (held > 0)
            groups[n_groups++] = (struct chart_group){claim_reference(source), boxes + n, held};
        n += held;
    }
    const struct chart_boxes chart = {.title = d->section->finding,
                                      .keys = keys,
                                      .n_keys = 4,
                                      .groups = groups,
                                      .n_groups = n_groups};
    if (n > 0)
        chart_boxes(d->out, &chart, d->width, d->standalone);
    free(boxes);
    d->how =
        "Each box is a sentence of an article, or a question of our own, tested by a rule with "
        "controls, and leads to its quote, the rule and the evidence.";
    return n > 0;
}

/* --- trust ------------------------------------------------------------------------------------ */

bool figure_trust(struct drawing *d)
{
    struct chart_point points[POINTS_MOST];
    const struct series *spread = section_find(d->section, "spread of the rows");
    size_t n = 0;

    for (size_t i = 0; spread && i < spread->n && n < POINTS_MOST; i++) {
        const struct point *point = &spread->point[i];
        char text[48];
        if (!(point->y.value > 0))
            continue;
        number_say(text, sizeof text, &point->y, "%");
        points[n] = (struct chart_point){
            .x = 100 * point->y.value,
            .y = point->x,
            .title = DRAW_TEXT(d, "%.0f of a hundred rows: %s", point->x, text)};
        if (point->x == 50 || point->x == 90)
            points[n].label =
                DRAW_TEXT(d, "%s within %s", point->x == 50 ? "half" : "nine in ten", text);
        points[n].strong = true;
        points[n++].side = CHART_LEFT;
    }
    if (n < 2)
        return false;
    const struct chart_series series = {points,    n,           NULL,         CHART_OURS,
                                        CHART_DOT, CHART_SOLID, .radius = 2.5};
    const struct chart_xy chart = {
        .title = "How far rows repeat",
        .height = 230,
        .height_narrow = 230,
        .x = {.title = "spread from run to run, % of the number, half of the interval",
              .scale = CHART_LOG10},
        .y = {.title = "% of rows that stay within", .zero = true, .high = 100},
        .series = &series,
        .n_series = 1};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->how =
        "Of a hundred times and rates so many repeat within the spread below, from run to run.";
    return true;
}
