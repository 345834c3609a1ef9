/* The figures of the page in their order, and what all of them use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/page.h"

const struct page_figure *figure_at(size_t i)
{
    static const struct page_figure figures[] = {
        {"levels", "memory", figure_levels},    {"curve", "curve", figure_curve},
        {"flight", "flight", figure_flight},    {"ladder", "ladder", figure_ladder},
        {"blocks", "small", figure_blocks},     {"time", "small", figure_time},
        {"waves", "small", figure_waves},       {"sizes", "sizes", figure_sizes},
        {"fusion", "fusion", figure_fusion},    {"decode", "attention", figure_decode},
        {"weights", "weights", figure_weights}, {"layer", "layer", figure_layer},
        {"sums", "links", figure_sums},         {"copies", "links", figure_copies},
        {"claims", "claims", figure_claims},
        {"trust", "verdict", figure_trust},     {"ratio", "numbers", figure_ratio},
    };
    return i < sizeof figures / sizeof figures[0] ? &figures[i] : NULL;
}

char *figure_draw(const struct page *page, const struct page_figure *figure, enum chart_width width,
                  bool standalone, char title[200], char how[600])
{
    char *text = NULL;
    size_t size = 0;
    struct drawing drawing = {.page = page,
                              .section = page_section(page, figure->section),
                              .width = width,
                              .standalone = standalone,
                              .title = "",
                              .how = ""};

    if (!drawing.section || drawing.section->missing)
        return NULL;
    drawing.out = open_memstream(&text, &size);
    if (!drawing.out)
        return NULL;
    const bool drawn = figure->draw(&drawing);
    snprintf(title, 200, "%s", drawing.title);
    snprintf(how, 600, "%s", drawing.how);
    section_free(&drawing.texts);
    if (fclose(drawing.out) == 0 && drawn)
        return text;
    free(text);
    return NULL;
}

/* --- numbers ---------------------------------------------------------------------------------- */

const char *draw_say(struct drawing *drawing, const struct number *number)
{
    return section_say(&drawing->texts, number, NULL);
}

const char *draw_three(struct drawing *drawing, double value)
{
    char text[48];
    const struct number number = number_fact(value, "ratio");
    return DRAW_TEXT(drawing, "%s", number_cell(text, sizeof text, &number, "x"));
}

const char *draw_tip(struct drawing *drawing, const char *name, const struct number *number)
{
    return DRAW_TEXT(drawing, "%s%s: %s", name, number->quoted ? " \u2020" : "",
                     draw_say(drawing, number));
}

/* On a phone the table of rows is far away, and links to it would be a twentieth of the page. */
const char *draw_anchor(const struct drawing *drawing, const struct number *number)
{
    if (drawing->width == CHART_NARROW)
        return NULL;
    return page_anchor(drawing->page, drawing->section, number);
}

struct number draw_cell(const struct grid *grid, size_t row, size_t column)
{
    const struct cell *cell = grid_at(grid, row, column);
    return cell && cell->kind == CELL_NUMBER ? cell->number : number_none();
}

const char *draw_cell_text(struct drawing *drawing, const struct grid *grid, size_t row,
                           size_t column)
{
    char text[240];
    const struct cell *cell = grid_at(grid, row, column);
    emit_cell(text, sizeof text, &grid->column[column], cell);
    return DRAW_TEXT(drawing, "%s", text);
}

/* --- points ----------------------------------------------------------------------------------- */

static int by_x(const void *a, const void *b)
{
    const double x = ((const struct point *)a)->x, y = ((const struct point *)b)->x;
    return (x > y) - (x < y);
}

size_t draw_points(struct drawing *drawing, const struct series *series, double x_factor,
                   const char *shown, struct chart_point *points, size_t most)
{
    const size_t n = !series ? 0 : series->n < most ? series->n : most;
    struct point *sorted = calloc(n + 1, sizeof *sorted);

    if (!sorted || n == 0) {
        free(sorted);
        return 0;
    }
    memcpy(sorted, series->point, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_x);
    for (size_t i = 0; i < n; i++) {
        const struct number *y = &sorted[i].y;
        points[i] = (struct chart_point){
            .x = x_factor * sorted[i].x,
            .y = y->value * number_scale(y->unit, shown),
            .title = draw_tip(drawing, sorted[i].label ? sorted[i].label : series->name, y),
            .anchor = draw_anchor(drawing, y)};
    }
    free(sorted);
    return n;
}
