#include "report/chart/xy.h"
#include "report/chart/axis.h"
#include "report/chart/place.h"

#include <math.h>
#include <string.h>

struct plot {
    struct svg svg;
    const struct chart_xy *chart;
    struct axis_map x, y;
    struct axis_ticks ticks; /* of y */
    struct svg_box area;
    bool empty; /* neither data nor a range: a frame without ticks */
};

static bool narrow(const struct plot *plot)
{
    return plot->svg.form.width == CHART_NARROW;
}

/* --- the frame -------------------------------------------------------------------------------- */

static void take_spans(const struct chart_xy *chart, struct axis_span *x, struct axis_span *y)
{
    for (size_t i = 0; i < chart->n_series; i++)
        for (size_t k = 0; k < chart->series[i].n_points; k++) {
            const struct chart_point *point = &chart->series[i].points[k];
            if (!axis_draws(chart->x.scale, point->x) || !axis_draws(chart->y.scale, point->y))
                continue;
            axis_include(x, chart->x.scale, point->x);
            axis_include(y, chart->y.scale, point->y);
        }
    for (size_t i = 0; i < chart->n_references; i++) {
        const bool upright = chart->references[i].upright;
        axis_include(upright ? x : y, upright ? chart->x.scale : chart->y.scale,
                     chart->references[i].at);
    }
}

/* The widest label of an axis, whose values are `times` those of the ticks. */
static double widest(const struct chart_axis *axis, const struct axis_ticks *ticks, double most)
{
    double width = 0;

    for (size_t i = 0; i < ticks->n; i++) {
        char text[CHART_TEXT];
        axis_label(axis, ticks->at[i], text);
        width = fmax(width, svg_text_width(text, (struct svg_style){0}));
    }
    return fmin(width, most);
}

static bool has_right(const struct chart_xy *chart)
{
    return chart->right_factor > 0 && isfinite(chart->right_factor) &&
           axis_draws(CHART_LOG2, chart->right_factor);
}

/* The right axis shows the same range in its own unit. */
static struct axis_map right_map(const struct plot *plot)
{
    struct axis_map map = plot->y;
    map.low *= plot->chart->right_factor;
    map.high *= plot->chart->right_factor;
    return map;
}

/* Ticks of the right axis; none where its range is beyond what can be drawn. */
static struct axis_ticks right_ticks(const struct plot *plot)
{
    const struct axis_map map = right_map(plot);
    const struct axis_ticks none = {.n = 0};
    const size_t most = (size_t)fmax((plot->area.bottom - plot->area.top) / 42, 2);

    if (!axis_draws(map.scale, map.low) || !axis_draws(map.scale, map.high) || map.low >= map.high)
        return none;
    return axis_ticks(&map, &plot->chart->right, most);
}

static void lay_out(struct plot *plot, FILE *out, struct svg_form form)
{
    const struct chart_xy *chart = plot->chart;
    const bool small = form.width == CHART_NARROW;
    const double given = small ? chart->height_narrow : chart->height;
    const double height = fmin(fmax(given > 0 ? given : small ? 300 : 360, 140), 4000);
    const double top = small ? 30 : 26, bottom = small ? 44 : 46;
    const size_t most = (size_t)fmax((height - top - bottom) / 42, 2);
    struct axis_span x = {0}, y = {0};

    svg_begin(&plot->svg, out, form, height, chart->title);
    take_spans(chart, &x, &y);
    plot->empty = x.n == 0 && !(chart->x.high > chart->x.low && chart->y.high > chart->y.low);
    plot->x = axis_map(&chart->x, x, 0);
    plot->y = axis_map(&chart->y, y, most);
    plot->ticks = axis_ticks(&plot->y, &chart->y, most + 1);
    plot->area = (struct svg_box){0, top, 0, plot->svg.height - bottom};
    const double limit = plot->svg.width / 5;
    plot->area.left = fmax(small ? 34 : 46, widest(&chart->y, &plot->ticks, limit) + 12);
    double right = small ? 12 : 190;
    if (has_right(chart)) {
        const struct axis_ticks ticks = right_ticks(plot);
        right = fmax(small ? 34 : 46, widest(&chart->right, &ticks, limit) + 12);
    }
    plot->area.right = plot->svg.width - right;
    plot->x.from = plot->area.left;
    plot->x.to = plot->area.right;
    plot->y.from = plot->area.bottom;
    plot->y.to = plot->area.top;
}

/* A tick's label stands only where no other does. */
static void tick_label(struct svg *svg, double x, double y, const char *text, enum svg_at at,
                       double room)
{
    const struct svg_style style = {.colour = CHART_SECONDARY, .at = at};
    const struct svg_box box = svg_text_box(x, y, text, style);

    if (box.right - box.left > room)
        svg_text_cut(svg, x, y, text, room, style);
    else if (svg_is_free(svg, box))
        svg_text(svg, x, y, text, style);
}

static void draw_grid(struct plot *plot)
{
    const struct svg_box area = plot->area;
    const struct chart_xy *chart = plot->chart;
    struct svg *svg = &plot->svg;
    char text[CHART_TEXT];

    for (int i = 0; plot->empty && i < 2; i++) {
        const double y = i ? area.top : area.bottom;
        svg_line(svg, (struct svg_segment){area.left, y, area.right, y}, SVG_GRID, 1, CHART_SOLID);
    }
    if (plot->empty)
        return;
    for (size_t i = 0; i < plot->ticks.n; i++) {
        const double y = axis_at(&plot->y, plot->ticks.at[i]);
        svg_line(svg, (struct svg_segment){area.left, y, area.right, y}, SVG_GRID, 1, CHART_SOLID);
        axis_label(&chart->y, plot->ticks.at[i], text);
        tick_label(svg, area.left - 8, y + 4.4, text, SVG_END, area.left - 9);
    }
    const struct axis_ticks below = axis_ticks_beside(&plot->x, &chart->x, 10);
    for (size_t i = 0; i < below.n; i++) {
        axis_label(&chart->x, below.at[i], text);
        /* A label at an end of the axis must not leave the figure. */
        const double half = svg_text_width(text, (struct svg_style){0}) / 2 + 1;
        const double x = fmin(fmax(axis_at(&plot->x, below.at[i]), half), svg->width - half);
        tick_label(svg, x, area.bottom + 18, text, SVG_MIDDLE, svg->width);
    }
    if (!has_right(chart))
        return;
    const struct axis_ticks right = right_ticks(plot);
    for (size_t i = 0; i < right.n; i++) {
        const double y = axis_at(&plot->y, right.at[i] / chart->right_factor);
        axis_label(&chart->right, right.at[i], text);
        tick_label(svg, area.right + 8, y + 4.4, text, SVG_START, svg->width - area.right - 9);
    }
}

static void draw_titles(struct plot *plot)
{
    const struct chart_xy *chart = plot->chart;
    struct svg *svg = &plot->svg;
    const double right =
        has_right(chart)
            ? fmin(svg_text_width(chart->right.title, (struct svg_style){0}), svg->width / 3)
            : 0;
    const struct svg_style start = {.colour = CHART_SECONDARY};
    const struct svg_style end = {.colour = CHART_SECONDARY, .at = SVG_END};
    const struct svg_style middle = {.colour = CHART_SECONDARY, .at = SVG_MIDDLE};

    svg_text_cut(svg, 0, 13, chart->y.title, svg->width - right - 16, start);
    if (right > 0)
        svg_text_cut(svg, svg->width, 13, chart->right.title, right, end);
    svg_text_cut(svg, (plot->area.left + plot->area.right) / 2, plot->area.bottom + 37,
                 chart->x.title, plot->area.right - plot->area.left, middle);
}

/* --- what is drawn in it ---------------------------------------------------------------------- */

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* The part of a band that the plot shows; false where there is none. */
static bool band_box(const struct plot *plot, const struct chart_band *band, struct svg_box *box)
{
    const struct axis_map *map = band->upright ? &plot->x : &plot->y;
    double from = band->from;

    /* On a logarithmic axis a band from 0 begins at the axis' end. */
    if (map->scale != CHART_LINEAR && from <= 0)
        from = map->low;
    if (!axis_draws(map->scale, from) || !axis_draws(map->scale, band->to))
        return false;
    *box = plot->area;
    const double a = axis_at(map, from), b = axis_at(map, band->to);
    if (band->upright) {
        box->left = clamp(fmin(a, b), plot->area.left, plot->area.right);
        box->right = clamp(fmax(a, b), plot->area.left, plot->area.right);
    } else {
        box->top = clamp(fmin(a, b), plot->area.top, plot->area.bottom);
        box->bottom = clamp(fmax(a, b), plot->area.top, plot->area.bottom);
    }
    return box->right > box->left && box->bottom > box->top;
}

static void draw_bands(struct plot *plot)
{
    struct svg_box box;
    for (size_t i = 0; i < plot->chart->n_bands; i++)
        if (band_box(plot, &plot->chart->bands[i], &box))
            svg_rect(&plot->svg, box, SVG_BAND);
}

static bool reference_line(const struct plot *plot, const struct chart_reference *reference,
                           struct svg_segment *line)
{
    const struct axis_map *map = reference->upright ? &plot->x : &plot->y;

    if (!axis_shows(map, reference->at))
        return false;
    const double at = axis_at(map, reference->at);
    const struct svg_box area = plot->area;
    *line = reference->upright ? (struct svg_segment){at, area.top, at, area.bottom}
                               : (struct svg_segment){area.left, at, area.right, at};
    return true;
}

static void draw_references(struct plot *plot)
{
    struct svg_segment line;

    for (size_t i = 0; i < plot->chart->n_references; i++)
        if (reference_line(plot, &plot->chart->references[i], &line)) {
            svg_line(&plot->svg, line, CHART_SECONDARY, 1.2, plot->chart->references[i].line);
            svg_take_line(&plot->svg, line);
        }
}

/* Cuts a segment to the plot (Liang and Barsky); false where nothing of it is inside. */
static bool clip(const struct svg_box *area, struct svg_segment *line)
{
    const double dx = line->x1 - line->x0, dy = line->y1 - line->y0;
    const double p[4] = {-dx, dx, -dy, dy};
    const double q[4] = {line->x0 - area->left, area->right - line->x0, line->y0 - area->top,
                         area->bottom - line->y0};
    double from = 0, to = 1;

    for (int i = 0; i < 4; i++) {
        if (p[i] == 0 && q[i] < -1e-3)
            return false;
        if (p[i] < 0)
            from = fmax(from, q[i] / p[i]);
        if (p[i] > 0)
            to = fmin(to, q[i] / p[i]);
    }
    if (from > to + 1e-6)
        return false;
    *line = (struct svg_segment){line->x0 + from * dx, line->y0 + from * dy, line->x0 + to * dx,
                                 line->y0 + to * dy};
    return true;
}

static bool point_drawn(const struct plot *plot, const struct chart_point *point)
{
    return axis_draws(plot->x.scale, point->x) && axis_draws(plot->y.scale, point->y);
}

static bool point_shown(const struct plot *plot, const struct chart_point *point)
{
    return axis_shows(&plot->x, point->x) && axis_shows(&plot->y, point->y);
}

/* One path; it is interrupted where a point is missing or outside. */
static void draw_line(struct plot *plot, const struct chart_series *series)
{
    FILE *out = plot->svg.out;
    double last_x = -1, last_y = -1;
    bool open = false;

    for (size_t i = 1; i < series->n_points; i++) {
        const struct chart_point *a = &series->points[i - 1], *b = &series->points[i];
        if (!point_drawn(plot, a) || !point_drawn(plot, b))
            continue;
        struct svg_segment line = {axis_at(&plot->x, a->x), axis_at(&plot->y, a->y),
                                   axis_at(&plot->x, b->x), axis_at(&plot->y, b->y)};
        if (!clip(&plot->area, &line))
            continue;
        if (!open)
            fputs("<path d=\"", out);
        if (!open || line.x0 != last_x || line.y0 != last_y) {
            fputc('M', out);
            svg_number(out, line.x0);
            fputc(' ', out);
            svg_number(out, line.y0);
        }
        fputc('L', out);
        svg_number(out, line.x1);
        fputc(' ', out);
        svg_number(out, line.y1);
        open = true;
        last_x = line.x1;
        last_y = line.y1;
        svg_take_line(&plot->svg, line);
    }
    if (!open)
        return;
    fprintf(out, "\" stroke-linejoin=\"round\" stroke-width=\"%s\"",
            series->line != CHART_SOLID ? "1.4"
            : series->faint             ? "1.2"
                                        : "2.2");
    svg_dashes(&plot->svg, series->line);
    svg_paint(&plot->svg, (int)series->role, SVG_STROKE);
    fputs("/>\n", out);
}

static double radius_of(const struct chart_series *series)
{
    if (series->mark == CHART_NO_MARK)
        return 0;
    return series->radius > 0 ? fmin(series->radius, 12) : series->faint ? 3.5 : 5;
}

static void draw_marks(struct plot *plot, const struct chart_series *series)
{
    for (size_t i = 0; i < series->n_points; i++) {
        const struct chart_point *point = &series->points[i];
        if (point_shown(plot, point))
            svg_mark(&plot->svg,
                     (struct svg_mark){axis_at(&plot->x, point->x), axis_at(&plot->y, point->y),
                                       radius_of(series), series->mark, (int)series->role,
                                       point->title, point->anchor});
    }
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Where labels may stand: not over the ticks, and from the titles down. */
static struct svg_box label_room(const struct plot *plot)
{
    return (struct svg_box){plot->area.left + 2, plot->area.top - 12, plot->svg.width - 1,
                            plot->area.bottom - 1};
}

/* Tries a label, then its short form; in a narrow figure the short form alone. */
static void place_either(struct plot *plot, const struct places *places, const char *label,
                         const char *brief, struct svg_style style)
{
    const char *first = narrow(plot) && brief ? brief : label;
    if (!place_label(&plot->svg, places, first, style) && brief)
        place_label(&plot->svg, places, brief, style);
}

static void reference_label(struct plot *plot, const struct chart_reference *reference)
{
    const struct svg_style style = {.colour = reference->strong ? CHART_INK : CHART_SECONDARY,
                                    .bold = reference->strong};
    struct places places = {.within = label_room(plot)};
    struct svg_segment line;

    if (!reference_line(plot, reference, &line))
        return;
    const double x = line.x0, y = line.y0, top = plot->area.top, bottom = plot->area.bottom;
    if (reference->upright) {
        const double at[] = {top + 10, top + 26, top + 42, bottom - 24, bottom - 8};
        for (size_t i = 0; i < 5; i++) {
            const double line_at = at[reference->low ? 4 - i : i];
            place_add(&places, x + 6, line_at, SVG_START);
            place_add(&places, x - 6, line_at, SVG_END);
        }
    } else {
        const double beside[] = {0, -6, 6, -10, 10, -14, 14};
        for (size_t i = 0; !narrow(plot) && !has_right(plot->chart) && i < 7; i++)
            place_add(&places, plot->area.right + 6, y + 4.4 + beside[i], SVG_START);
        place_add(&places, plot->area.right - 4, y - 5, SVG_END);
        place_add(&places, plot->area.left + 6, y - 5, SVG_START);
        place_add(&places, (plot->area.left + plot->area.right) / 2, y - 5, SVG_MIDDLE);
        place_add(&places, plot->area.right - 4, y + 15, SVG_END);
        place_add(&places, plot->area.left + 6, y + 15, SVG_START);
    }
    place_either(plot, &places, reference->label, reference->brief, style);
}

static void band_label(struct plot *plot, const struct chart_band *band)
{
    struct places places = {.within = label_room(plot)};
    struct svg_box box;

    if (!band_box(plot, band, &box))
        return;
    const double middle = (box.left + box.right) / 2;
    if (band->upright) {
        const double down[] = {16, 44, 72, 100, 140};
        for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
            const double y = plot->area.top + down[i];
            place_add(&places, middle, y, SVG_MIDDLE);
            place_add(&places, box.left - 6, y, SVG_END);
            place_add(&places, box.right + 6, y, SVG_START);
        }
    } else {
        for (double y = box.top + 14; y < box.bottom - 3 && places.n + 3 <= PLACES; y += 16) {
            place_add(&places, box.right - 6, y, SVG_END);
            place_add(&places, box.left + 6, y, SVG_START);
            place_add(&places, middle, y, SVG_MIDDLE);
        }
        place_add(&places, box.right - 6, box.top - 5, SVG_END);
    }
    place_either(plot, &places, band->label, band->brief,
                 (struct svg_style){.colour = CHART_SECONDARY});
}

/* At the end of the line, else at its beginning, else along it from the end. */
static void series_name(struct plot *plot, const struct chart_series *series)
{
    struct places places = {.within = label_room(plot)};
    const size_t n = series->n_points, stride = n > 6 ? n / 6 : 1;

    for (size_t k = 0; k < n; k += stride)
        for (size_t end = 0; end < (k ? 1 : 2); end++) {
            const struct chart_point *point = &series->points[end ? 0 : n - 1 - k];
            if (point_shown(plot, point))
                place_around(&places, axis_at(&plot->x, point->x), axis_at(&plot->y, point->y),
                             radius_of(series), 1, k || end ? CHART_ABOVE : CHART_RIGHT, false);
        }
    const int colour = series->faint ? CHART_SECONDARY : (int)series->role;
    place_label(&plot->svg, &places, series->name,
                (struct svg_style){.colour = colour, .bold = series->strong});
}

static void point_labels(struct plot *plot, const struct chart_series *series, bool strong)
{
    const bool note = series->mark == CHART_NO_MARK;

    for (size_t i = 0; i < series->n_points; i++) {
        const struct chart_point *point = &series->points[i];
        struct places places = {.within = label_room(plot)};
        const struct svg_style style = {.colour = strong ? (int)series->role
                                                  : note ? CHART_SECONDARY
                                                         : CHART_INK,
                                        .bold = strong};

        if (!point->label || point->strong != strong || !point_shown(plot, point))
            continue;
        place_around(&places, axis_at(&plot->x, point->x), axis_at(&plot->y, point->y),
                     radius_of(series), place_lines(point->label), point->side, strong && !note);
        place_either(plot, &places, point->label, point->brief, style);
    }
}

void xy_draw(FILE *out, const struct chart_xy *chart, struct svg_form form)
{
    struct plot plot = {.chart = chart};

    lay_out(&plot, out, form);
    draw_bands(&plot);
    draw_grid(&plot);
    draw_titles(&plot);
    draw_references(&plot);
    for (size_t i = 0; i < chart->n_series; i++)
        if (chart->series[i].line)
            draw_line(&plot, &chart->series[i]);
    for (size_t i = 0; i < chart->n_series; i++)
        draw_marks(&plot, &chart->series[i]);
    for (size_t i = 0; i < chart->n_references; i++)
        reference_label(&plot, &chart->references[i]);
    for (size_t i = 0; i < chart->n_bands; i++)
        band_label(&plot, &chart->bands[i]);
    for (size_t i = 0; i < chart->n_series; i++)
        point_labels(&plot, &chart->series[i], true);
    for (size_t i = 0; i < chart->n_series; i++)
        series_name(&plot, &chart->series[i]);
    for (size_t i = 0; i < chart->n_series; i++)
        point_labels(&plot, &chart->series[i], false);
    svg_end(&plot.svg);
}

void chart_xy(FILE *out, const struct chart_xy *chart, enum chart_width width, bool standalone)
{
    xy_draw(out, chart, (struct svg_form){width, standalone, false});
}
