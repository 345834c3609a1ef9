/* Stacked bars: where a total goes, part by part. */
#include "report/chart/svg.h"

#include <math.h>

#define BAR_HEIGHT 24.0
#define BAR_EDGE 1.0 /* between two segments */

static double length_of(const struct chart_segment *segment)
{
    const double value = segment->value;
    return isfinite(value) && value > 0 && value < 1e300 ? value : 0;
}

static double total_of(const struct chart_bar *bar)
{
    double total = 0;
    for (size_t i = 0; i < bar->n_segments; i++)
        total += length_of(&bar->segments[i]);
    return isfinite(total) ? total : 0;
}

/* What a text on a segment is written in: a tint is light where the page is. */
static int ink_on(const struct chart_segment *segment)
{
    if (segment->soft)
        return CHART_INK;
    return segment->role == CHART_PARTLY ? SVG_ON_PARTLY : SVG_ON;
}

/* A text that is wider than its segment is left out. */
static void draw_segment(struct svg *svg, const struct chart_segment *segment, double x, double y,
                         double length)
{
    const struct svg_style style = {
        .colour = ink_on(segment), .bold = true, .bare = true, .at = SVG_MIDDLE};
    const double width = fmax(length - BAR_EDGE, 0.5);
    const bool linked = svg_link(svg, segment->anchor);

    fputs("<rect x=\"", svg->out);
    svg_number(svg->out, x);
    fprintf(svg->out, "\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"%s", y, width, BAR_HEIGHT,
            segment->soft ? " fill-opacity=\"0.28\"" : "");
    svg_paint(svg, (int)segment->role, SVG_FILL);
    fputc('>', svg->out);
    svg_title(svg, segment->title);
    fputs("</rect>", svg->out);
    svg_link_end(svg, linked);
    if (segment->text && svg_text_width(segment->text, style) + 1 <= width)
        svg_text(svg, x + width / 2, y + 16.4, segment->text, style);
}

/* Names stand below their segments' middles, or flush with them at the figure's edges; one for
 * which there is no room is left to the tooltip. */
static void draw_name(struct svg *svg, const struct chart_segment *segment, double x, double y,
                      double length)
{
    const char *names[] = {segment->name, segment->brief};
    struct svg_style style = {.colour = CHART_SECONDARY, .at = SVG_MIDDLE};

    for (size_t i = svg->form.width == CHART_NARROW && segment->brief; i < 2; i++) {
        const double half = svg_text_width(names[i], style) / 2;
        const double at = fmin(fmax(x + length / 2, half + 1), svg->width - half - 1);
        struct svg_box box = svg_text_box(at, y, names[i] ? names[i] : "", style);

        box.left -= 4;
        box.right += 4;
        /* A name stands under its own segment. */
        if (!names[i] || at - half > x + length || at + half < x || box.left < -4)
            continue;
        box.left = fmax(box.left, 0);
        box.right = fmin(box.right, svg->width);
        if (svg_is_free(svg, box)) {
            svg_text(svg, at, y, names[i], style);
            return;
        }
    }
}

static bool has_names(const struct chart_bar *bar)
{
    for (size_t i = 0; i < bar->n_segments; i++)
        if (bar->segments[i].name && length_of(&bar->segments[i]) > 0)
            return true;
    return false;
}

/* Draws one bar from y on, and returns the y below it. The longest bar fills the paper. */
static double draw_bar(struct svg *svg, const struct chart_bar *bar, double y, double longest,
                       double paper)
{
    const bool small = svg->form.width == CHART_NARROW;
    const struct svg_style bold = {.bold = true}, end = {.bold = true, .at = SVG_END};
    const double total = fmin(svg_text_width(bar->total, bold), svg->width / 3);
    double x = 0;

    svg_text_cut(svg, 0, y + 12, bar->label, svg->width - (small ? total + 10 : 0), bold);
    if (small)
        svg_text_cut(svg, svg->width, y + 12, bar->total, total, end);
    y += 19;
    for (size_t i = 0; i < bar->n_segments; i++) {
        const double length = length_of(&bar->segments[i]) / longest * paper;
        if (length > 0)
            draw_segment(svg, &bar->segments[i], x, y, length);
        x += length;
    }
    if (!small)
        svg_text_cut(svg, x + 8, y + 16.4, bar->total, svg->width - x - 8, bold);
    x = 0;
    for (size_t i = 0; i < bar->n_segments; i++) {
        const double length = length_of(&bar->segments[i]) / longest * paper;
        if (length > 0)
            draw_name(svg, &bar->segments[i], x, y + BAR_HEIGHT + 14, length);
        x += length;
    }
    return y + BAR_HEIGHT + (has_names(bar) ? 28 : 10);
}

void chart_bars(FILE *out, const struct chart_bars *chart, enum chart_width width, bool standalone)
{
    struct svg svg;
    double longest = 0, height = 2, room = 0, y = 2;

    for (size_t i = 0; i < chart->n_bars; i++) {
        longest = fmax(longest, total_of(&chart->bars[i]));
        height += 19 + BAR_HEIGHT + (has_names(&chart->bars[i]) ? 28 : 10);
        if (width == CHART_WIDE)
            room =
                fmax(room, svg_text_width(chart->bars[i].total, (struct svg_style){.bold = true}));
    }
    svg_begin(&svg, out, (struct svg_form){width, standalone, false}, fmax(height, 40),
              chart->title);
    const double length = svg.width - (room > 0 ? fmin(room, svg.width / 3) + 12 : 0);
    for (size_t i = 0; i < chart->n_bars; i++)
        y = draw_bar(&svg, &chart->bars[i], y, longest > 0 ? longest : 1, length);
    svg_end(&svg);
}
