/* Dot plots: a row a thing, its label at the left, its marks on one or two axes. In a narrow figure the
 * label stands above the marks. */
#include "report/chart/axis.h"
#include "report/chart/place.h"

#include <math.h>

#define ROW_WIDE 23.0
#define ROW_NARROW 36.0
#define TICKS_BELOW 28.0
#define RADIUS 5.0

/* Where an axis' marks and their texts may stand, and the scale in it. */
struct region {
    double left, right;
    struct axis_map map;
};

struct layout {
    struct svg svg;
    const struct chart_rows *chart;
    size_t n_axes;
    bool narrow;
    struct region regions[CHART_AXES];
    double label_end, titles, top, row, bottom; /* titles: their base line; row: its height */
};

static struct svg_style label_style(const struct chart_row *row)
{
    return (struct svg_style){.bold = row->strong, .size = SVG_EM_ROW};
}

static double row_top(const struct layout *layout, size_t i)
{
    return layout->top + layout->row * (double)i;
}

/* --- laying out --------------------------------------------------------------------------------------- */

static double label_width(const struct chart_rows *chart)
{
    double width = 0;
    for (size_t i = 0; i < chart->n_rows; i++)
        width = fmax(width, svg_text_width(chart->rows[i].label, label_style(&chart->rows[i])));
    return fmin(width + 14, 330);
}

static double aside_width(const struct chart_rows *chart)
{
    double width = svg_text_width(chart->aside, (struct svg_style){0});
    for (size_t i = 0; i < chart->n_rows; i++)
        width = fmax(width, svg_text_width(chart->rows[i].aside, (struct svg_style){0}));
    return width > 0 ? fmin(width + 16, 220) : 0;
}

static double value_width(const struct chart_rows *chart, size_t axis)
{
    double width = 0;
    for (size_t i = 0; i < chart->n_rows; i++) {
        const struct chart_dots *on = &chart->rows[i].on[axis];
        width = fmax(width, svg_text_width(on->text, (struct svg_style){.bold = on->strong}));
    }
    return width > 0 ? width + 2 * RADIUS + 6 : 2 * RADIUS;
}

static struct axis_map map_of(const struct chart_rows *chart, size_t axis)
{
    const struct chart_axis *is = &chart->axes[axis];
    struct axis_span span = {0};

    for (size_t i = 0; i < chart->n_rows; i++)
        for (size_t k = 0; k < chart->rows[i].on[axis].n_dots; k++)
            axis_include(&span, is->scale, chart->rows[i].on[axis].dots[k].value);
    for (size_t i = 0; axis == 0 && i < chart->n_references; i++)
        axis_include(&span, is->scale, chart->references[i].at);
    if (axis == 0 && chart->one > 0)
        axis_include(&span, is->scale, chart->one);
    return axis_map(is, span, 0);
}

/* Shares the paper between axes. A wide figure keeps room for the texts right of the marks; in a
 * narrow one a text that does not fit stands left of them. */
static void lay_regions(struct layout *layout)
{
    const struct chart_rows *chart = layout->chart;
    const double left = layout->narrow ? 0 : layout->label_end;
    const double right = layout->svg.width - (layout->narrow ? 0 : aside_width(chart));
    const double share = chart->share > 0.1 && chart->share < 0.9 ? chart->share : 0.68;
    const double gap = layout->n_axes > 1 ? (layout->narrow ? 14 : 30) : 0;
    double from = left;

    for (size_t a = 0; a < layout->n_axes; a++) {
        struct region *is = &layout->regions[a];
        const double part = layout->n_axes == 1 ? 1 : a == 0 ? share : 1 - share;
        const double length = part * (right - left - gap);
        const double keep = layout->narrow ? 12 : fmin(value_width(chart, a), 0.35 * length);

        *is = (struct region){from, from + length, map_of(chart, a)};
        is->map.from = from + 2 * RADIUS;
        is->map.to = from + length - keep;
        from += length + gap;
    }
}

static void lay_out(struct layout *layout, FILE *out, struct svg_form form)
{
    const struct chart_rows *chart = layout->chart;
    const size_t n = chart->n_rows ? chart->n_rows : 1;
    const double references = chart->n_references > 1 ? 32 : chart->n_references ? 17 : 0;

    layout->narrow = form.width == CHART_NARROW;
    layout->n_axes = chart->n_axes < CHART_AXES ? chart->n_axes : CHART_AXES;
    layout->label_end = label_width(chart);
    layout->titles = svg_keys_height(form.width, chart->keys, chart->n_keys) + 12;
    layout->top = layout->titles + 10 + references;
    layout->row = layout->narrow ? ROW_NARROW : ROW_WIDE;
    if (!layout->narrow && chart->height > 0)
        layout->row = fmax(18, (fmin(chart->height, 4000) - layout->top - TICKS_BELOW) / (double)n);
    layout->bottom = layout->top + layout->row * (double)n;
    svg_begin(&layout->svg, out, form, layout->bottom + TICKS_BELOW, chart->title);
    lay_regions(layout);
}

/* --- the frame ------------------------------------------------------------------------------------------ */

static void draw_axis(struct layout *layout, size_t a)
{
    struct svg *svg = &layout->svg;
    const struct region *is = &layout->regions[a];
    const struct chart_axis *axis = &layout->chart->axes[a];
    const struct axis_ticks ticks = axis_ticks_beside(&is->map, axis, 8);
    const struct svg_style style = {.colour = CHART_SECONDARY, .at = SVG_MIDDLE};

    for (size_t i = 0; i < ticks.n; i++) {
        char text[CHART_TEXT];
        double x = axis_at(&is->map, ticks.at[i]);
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, SVG_GRID, 1, CHART_SOLID);
        axis_label(axis, ticks.at[i], text);
        const double half = svg_text_width(text, style) / 2 + 1;
        x = fmin(fmax(x, half), svg->width - half);
        if (svg_is_free(svg, svg_text_box(x, layout->bottom + 18, text, style)))
            svg_text(svg, x, layout->bottom + 18, text, style);
    }
    svg_text_cut(svg, layout->narrow ? is->left : is->map.from - RADIUS, layout->titles, axis->title,
                 is->right - is->left, (struct svg_style){.colour = CHART_SECONDARY});
}

static void draw_one(struct layout *layout)
{
    const struct axis_map *map = &layout->regions[0].map;
    const double one = layout->chart->one;

    if (layout->n_axes == 0 || one <= 0 || !axis_shows(map, one))
        return;
    const double x = axis_at(map, one);
    if (x > map->from)
        svg_rect(&layout->svg, (struct svg_box){map->from, layout->top, x, layout->bottom}, SVG_BAND);
}

static void draw_references(struct layout *layout)
{
    const struct chart_rows *chart = layout->chart;
    struct svg *svg = &layout->svg;
    const struct axis_map *map = &layout->regions[0].map;

    if (layout->n_axes == 0)
        return;
    if (chart->one > 0 && axis_shows(map, chart->one)) {
        const double x = axis_at(map, chart->one);
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, CHART_INK, 1.2, CHART_SOLID);
    }
    for (size_t i = 0; i < chart->n_references; i++) {
        const struct chart_reference *reference = &chart->references[i];
        struct places places = {.within = {0, layout->titles + 4, svg->width, layout->top}};
        const char *label = layout->narrow && reference->brief ? reference->brief : reference->label;

        if (!axis_shows(map, reference->at))
            continue;
        const double x = axis_at(map, reference->at);
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, CHART_SECONDARY, 1.2,
                 reference->line);
        for (int up = 0; up < 2; up++)
            for (int at = 0; at < 3; at++)
                place_add(&places, x + (at == 1 ? 0 : at ? 4 : -4), layout->top - 5 - 15 * up,
                          at == 1 ? SVG_MIDDLE : at ? SVG_END : SVG_START);
        place_label(svg, &places, label,
                    (struct svg_style){.bold = reference->strong,
                                       .colour = reference->strong ? CHART_INK : CHART_SECONDARY});
    }
}

/* --- rows --------------------------------------------------------------------------------------------- */

/* The marks' first and last place; false: there is no mark to be seen. */
static bool reach(const struct region *region, const struct chart_dots *on, double *first, double *last)
{
    bool any = false;

    for (size_t i = 0; i < on->n_dots; i++) {
        if (!axis_shows(&region->map, on->dots[i].value))
            continue;
        const double x = axis_at(&region->map, on->dots[i].value);
        *first = any ? fmin(*first, x) : x;
        *last = any ? fmax(*last, x) : x;
        any = true;
    }
    return any;
}

static void draw_dots(struct layout *layout, size_t a, const struct chart_dots *on, double y,
                      double guide)
{
    const struct region *region = &layout->regions[a];
    struct svg *svg = &layout->svg;
    double first = 0, last = 0;

    if (!reach(region, on, &first, &last))
        return;
    /* Bars on a logarithmic axis would lie: a dotted guide leads the eye. */
    if (guide >= 0 && first - RADIUS - 3 > guide)
        svg_line(svg, (struct svg_segment){guide, y, first - RADIUS - 3, y}, SVG_RULE, 1, CHART_DOTTED);
    if (on->joined && last > first)
        svg_line(svg, (struct svg_segment){first, y, last, y}, (int)on->dots[0].role, 1.4, CHART_DASHED);
    for (size_t i = 0; i < on->n_dots; i++) {
        const struct chart_dot *dot = &on->dots[i];
        if (axis_shows(&region->map, dot->value))
            svg_mark(svg, (struct svg_mark){axis_at(&region->map, dot->value), y, RADIUS, dot->mark,
                                            (int)dot->role, dot->title, dot->anchor});
    }
}

/* The text of the marks: right of them, else left, else shorter, else none. */
static void draw_value(struct layout *layout, size_t a, const struct chart_dots *on, double y)
{
    const struct region *region = &layout->regions[a];
    double first = region->map.from, last = region->map.from - 2 * RADIUS;
    const bool any = reach(region, on, &first, &last);
    const struct svg_style style = {.colour = any ? CHART_INK : CHART_SECONDARY, .bold = on->strong};
    const char *texts[] = {on->text, on->brief};
    struct places places = {.within = {region->left, 0, region->right, layout->bottom}};

    place_add(&places, last + RADIUS + 5, y + 4.4, SVG_START);
    if (any)
        place_add(&places, first - RADIUS - 5, y + 4.4, SVG_END);
    for (size_t i = layout->narrow && on->brief; i < 2; i++)
        if (texts[i] && place_label(&layout->svg, &places, texts[i], style))
            return;
}

static void draw_row(struct layout *layout, size_t i)
{
    const struct chart_row *row = &layout->chart->rows[i];
    struct svg *svg = &layout->svg;
    const struct svg_style style = label_style(row);
    const struct svg_style end = {.at = SVG_END};
    const double top = row_top(layout, i);
    const double y = layout->narrow ? top + 26 : top + layout->row / 2;
    const double line = layout->narrow ? top + 13 : y + 4.7; /* base line of the label */
    const double aside = fmin(svg_text_width(row->aside, end), layout->svg.width / 3);
    const double room = layout->narrow ? svg->width - aside - 8 : layout->label_end - 12;

    if (row->rule)
        svg_line(svg, (struct svg_segment){0, top, svg->width, top}, SVG_RULE, 1, CHART_SOLID);
    const double guide = fmin(svg_text_width(row->label, style), room) + 8;
    for (size_t a = 0; a < layout->n_axes; a++)
        draw_dots(layout, a, &row->on[a], y, layout->narrow || a ? -1 : guide);
    const bool linked = svg_link(svg, row->anchor);
    svg_text_cut(svg, 0, line, row->label, room, style);
    svg_link_end(svg, linked);
    svg_text_cut(svg, svg->width, line, row->aside, layout->narrow ? aside : aside_width(layout->chart),
                 end);
    for (size_t a = 0; a < layout->n_axes; a++)
        draw_value(layout, a, &row->on[a], y);
}

void chart_rows(FILE *out, const struct chart_rows *chart, enum chart_width width, bool standalone)
{
    struct layout layout = {.chart = chart};
    struct svg *svg = &layout.svg;
    const struct svg_style heading = {.colour = CHART_SECONDARY, .at = SVG_END};

    lay_out(&layout, out, (struct svg_form){width, standalone, false});
    svg_keys(svg, 0, chart->keys, chart->n_keys);
    draw_one(&layout);
    for (size_t a = 0; a < layout.n_axes; a++)
        draw_axis(&layout, a);
    draw_references(&layout);
    if (!layout.narrow)
        svg_text_cut(svg, svg->width, layout.titles, chart->aside, aside_width(chart), heading);
    for (size_t i = 0; i < chart->n_rows; i++)
        draw_row(&layout, i);
    svg_end(svg);
}
