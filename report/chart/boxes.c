/* An array of boxes: many yes-or-no answers at one look. */
#include "report/chart/svg.h"

#include <math.h>

#define BOX_WIDTH 48.0
#define BOX_HEIGHT 26.0
#define BOX_GAP 4.0
#define GROUP_TITLE 22.0
#define GROUP_GAP 14.0

static size_t boxes_across(double width)
{
    return (size_t)((width + BOX_GAP) / (BOX_WIDTH + BOX_GAP));
}

static double group_height(const struct chart_group *group, size_t across)
{
    const size_t lines = (group->n_boxes + across - 1) / across;
    return GROUP_TITLE + (double)lines * (BOX_HEIGHT + BOX_GAP) + GROUP_GAP;
}

static void draw_box(struct svg *svg, const struct chart_box *box, double x, double y)
{
    const int ink = box->role == CHART_UNKNOWN  ? CHART_INK
                    : box->role == CHART_PARTLY ? SVG_ON_PARTLY
                                                : SVG_ON;
    const bool linked = svg_link(svg, box->anchor);

    fputs("<g>", svg->out);
    svg_title(svg, box->title);
    svg_verdict(svg, (struct svg_box){x, y, x + BOX_WIDTH, y + BOX_HEIGHT}, box->role);
    svg_text_cut(svg, x + BOX_WIDTH / 2, y + 17.4, box->text, BOX_WIDTH - 6,
                 (struct svg_style){.colour = ink, .bare = true, .at = SVG_MIDDLE});
    fputs("</g>", svg->out);
    svg_link_end(svg, linked);
}

void chart_boxes(FILE *out, const struct chart_boxes *chart, enum chart_width width,
                 bool standalone)
{
    const struct svg_form form = {width, standalone, false};
    const size_t across = boxes_across(svg_width(width));
    double height = svg_keys_height(width, chart->keys, chart->n_keys);
    struct svg svg;

    for (size_t i = 0; i < chart->n_groups; i++)
        height += group_height(&chart->groups[i], across);
    svg_begin(&svg, out, form, fmax(height, 40), chart->title);
    double y = svg_keys(&svg, 0, chart->keys, chart->n_keys);
    for (size_t i = 0; i < chart->n_groups; i++) {
        const struct chart_group *group = &chart->groups[i];
        svg_text_cut(&svg, 0, y + 13, group->title, svg.width, (struct svg_style){.bold = true});
        for (size_t k = 0; k < group->n_boxes; k++)
            draw_box(&svg, &group->boxes[k], (double)(k % across) * (BOX_WIDTH + BOX_GAP),
                     y + GROUP_TITLE + (double)(k / across) * (BOX_HEIGHT + BOX_GAP));
        y += group_height(group, across);
    }
    svg_end(&svg);
}
