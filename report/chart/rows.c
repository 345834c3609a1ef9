/* Dot plots: a row a thing, its label at the left, its marks on one or two axes. In a narrow figure
 * the label stands above the marks. */
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

/* --- laying out ------------------------------------------------------------------------------- */

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

/* Where an axis must end so that each row's text fits right of its last mark, which needs less room
 * the farther left that mark is; but it keeps 0.6 of the region, and then some texts stand left. */
static double end_for_texts(const struct chart_rows *chart, size_t axis,
                            const struct region *region)
{
    const double from = region->map.from;
    double to = region->right - 2 * RADIUS;

    for (size_t i = 0; i < chart->n_rows; i++) {
        const struct chart_dots *on = &chart->rows[i].on[axis];
        const double width = svg_text_width(on->text, (struct svg_style){.bold = on->strong});
        double last = 0;

        for (size_t k = 0; k < on->n_dots; k++) {
            struct axis_map unit = region->map;
            unit.from = 0;
            unit.to = 1;
            if (axis_shows(&unit, on->dots[k].value))
                last = fmax(last, axis_at(&unit, on->dots[k].value));
        }
        if (last > 0)
            to = fmin(to, from + (region->right - width - 2 * RADIUS - 6 - from) / last);
    }
    return fmax(to, from + 0.6 * (region->right - from));
}

/* Shares the paper between axes. A wide figure keeps room for the texts right of the marks; in a
 * narrow one a text that does not fit stands left of them. */
static void lay_regions(struct layout *layout)
{
    const struct chart_rows *chart = layout->chart;
    const double paper = svg_width(layout->narrow ? CHART_NARROW : CHART_WIDE);
    const double left = layout->narrow ? 0 : layout->label_end;
    const double right = paper - (layout->narrow ? 0 : aside_width(chart));
    const double share = chart->share > 0.1 && chart->share < 0.9 ? chart->share : 0.68;
    const double gap = layout->n_axes > 1 ? (layout->narrow ? 14 : 30) : 0;
    double from = left;

    for (size_t a = 0; a < layout->n_axes; a++) {
        struct region *is = &layout->regions[a];
        const double part = layout->n_axes == 1 ? 1 : a == 0 ? share : 1 - share;
        const double length = part * (right - left - gap);

        *is = (struct region){from, from + length, map_of(chart, a)};
        is->map.from = from + 2 * RADIUS;
        is->map.to = layout->narrow ? is->right - 12 : end_for_texts(chart, a, is);
        from += length + gap;
    }
}

/* Lines that the labels of references take: two where side by side they would overlap. */
static int reference_lines(const struct layout *layout)
{
    const struct chart_rows *chart = layout->chart;
    const struct axis_map *map = &layout->regions[0].map;

    for (size_t i = 0; i < chart->n_references; i++)
        for (size_t k = 0; k < i; k++) {
            const struct chart_reference *a = &chart->references[i], *b = &chart->references[k];
            const struct svg_style bold = {.bold = true};
            const double both = svg_text_width(a->label, bold) + svg_text_width(b->label, bold);
            if (axis_shows(map, a->at) && axis_shows(map, b->at) &&
                fabs(axis_at(map, a->at) - axis_at(map, b->at)) < both / 2 + 6)
                return 2;
        }
    return chart->n_references > 0;
}

static bool has_titles(const struct layout *layout)
{
    const struct chart_rows *chart = layout->chart;
    bool has = chart->aside && !layout->narrow;

    for (size_t a = 0; a < layout->n_axes; a++)
        has = has || chart->axes[a].title;
    return has;
}

static void lay_out(struct layout *layout, FILE *out, struct svg_form form)
{
    const struct chart_rows *chart = layout->chart;
    const size_t n = chart->n_rows ? chart->n_rows : 1;

    layout->narrow = form.width == CHART_NARROW;
    layout->n_axes = chart->n_axes < CHART_AXES ? chart->n_axes : CHART_AXES;
    layout->label_end = label_width(chart);
    layout->titles = svg_keys_height(form.width, chart->keys, chart->n_keys) + 13;
    lay_regions(layout);
    layout->top = layout->titles + (has_titles(layout) ? 10 : -7);
    layout->top += layout->n_axes ? 16 * reference_lines(layout) : 0;
    layout->row = layout->narrow ? ROW_NARROW : ROW_WIDE;
    if (!layout->narrow && chart->height > 0)
        layout->row = fmax(18, (fmin(chart->height, 4000) - layout->top - TICKS_BELOW) / (double)n);
    layout->bottom = layout->top + layout->row * (double)n;
    svg_begin(&layout->svg, out, form, layout->bottom + TICKS_BELOW, chart->title);
}

/* --- the frame -------------------------------------------------------------------------------- */

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
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, SVG_GRID, 1,
                 CHART_SOLID);
        axis_label(axis, ticks.at[i], text);
        const double half = svg_text_width(text, style) / 2 + 1;
        x = fmin(fmax(x, half), svg->width - half);
        if (svg_is_free(svg, svg_text_box(x, layout->bottom + 18, text, style)))
            svg_text(svg, x, layout->bottom + 18, text, style);
    }
    svg_text_cut(svg, layout->narrow ? is->left : is->map.from - RADIUS, layout->titles,
                 axis->title, is->right - is->left, (struct svg_style){.colour = CHART_SECONDARY});
}

static void draw_one(struct layout *layout)
{
    const struct axis_map *map = &layout->regions[0].map;
    const double one = layout->chart->one;

    if (layout->n_axes == 0 || one <= 0 || !axis_shows(map, one))
        return;
    const double x = axis_at(map, one);
    if (x > map->from)
        svg_rect(&layout->svg, (struct svg_box){map->from, layout->top, x, layout->bottom},
                 SVG_BAND);
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
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, CHART_INK, 1.2,
                 CHART_SOLID);
    }
    for (size_t i = 0; i < chart->n_references; i++) {
        const struct chart_reference *reference = &chart->references[i];
        struct places places = {.within = {0, layout->titles + 4, svg->width, layout->top},
                                .one_line = true};
        const char *label =
            layout->narrow && reference->brief ? reference->brief : reference->label;

        if (!axis_shows(map, reference->at))
            continue;
        const double x = axis_at(map, reference->at);
        svg_line(svg, (struct svg_segment){x, layout->top, x, layout->bottom}, CHART_SECONDARY, 1.2,
                 reference->line);
        for (int up = 0; up < 2; up++)
            for (int at = 0; at < 3; at++)
                place_add(&places,
                          x + (at == 0   ? 0
                               : at == 1 ? -4
                                         : 4),
                          layout->top - 5 - 15 * up,
                          at == 0   ? SVG_MIDDLE
                          : at == 1 ? SVG_START
                                    : SVG_END);
        place_label(svg, &places, label,
                    (struct svg_style){.bold = reference->strong,
                                       .colour = reference->strong ? CHART_INK : CHART_SECONDARY});
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The marks' first and last place, of all or of those that are measured; false: there is none. */
static bool reach(const struct region *region, const struct chart_dots *on, bool ticks,
                  double *first, double *last)
{
    bool any = false;

    for (size_t i = 0; i < on->n_dots; i++) {
        if (!axis_shows(&region->map, on->dots[i].value) ||
            (on->dots[i].mark == CHART_TICK && !ticks))
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

    if (!reach(region, on, true, &first, &last))
        return;
    /* Bars on a logarithmic axis would lie: a dotted guide leads the eye. */
    if (guide >= 0 && first - RADIUS - 3 > guide)
        svg_line(svg, (struct svg_segment){guide, y, first - RADIUS - 3, y}, SVG_RULE, 1,
                 CHART_DOTTED);
    if (on->joined && last > first)
        svg_line(svg, (struct svg_segment){first, y, last, y}, (int)on->dots[0].role, 1.4,
                 CHART_DASHED);
    for (size_t i = 0; i < on->n_dots; i++) {
        const struct chart_dot *dot = &on->dots[i];
        if (axis_shows(&region->map, dot->value))
            svg_mark(svg, (struct svg_mark){axis_at(&region->map, dot->value), y, RADIUS, dot->mark,
                                            (int)dot->role, dot->title, dot->anchor});
    }
}

/* The text of the marks: right of them, else left, else shorter, else none. A model's tick near by
 * stays between; one farther off is not what the text is about. */
static void draw_value(struct layout *layout, size_t a, const struct chart_dots *on, double y)
{
    const struct region *region = &layout->regions[a];
    double first = region->map.from, last = region->map.from - 3 * RADIUS;
    double all_first = first, all_last = last;
    const bool any = reach(region, on, true, &all_first, &all_last);
    if (any && !reach(region, on, false, &first, &last)) {
        first = all_first;
        last = all_last;
    }
    const bool near = all_last - last < 30;
    const struct svg_style style = {.colour = any ? CHART_INK : CHART_SECONDARY,
                                    .bold = on->strong};
    const char *texts[] = {on->text, on->brief};
    struct places places = {.within = {region->left, 0, region->right, layout->bottom},
                            .one_line = true};

    place_add(&places, (near ? fmax(last, all_last) : last) + 1.3 * RADIUS + 4, y + 4.4, SVG_START);
    if (any)
        place_add(&places, (first - all_first < 30 ? all_first : first) - 1.3 * RADIUS - 4, y + 4.4,
                  SVG_END);
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
    svg_text_cut(svg, svg->width, line, row->aside,
                 layout->narrow ? aside : aside_width(layout->chart), end);
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
