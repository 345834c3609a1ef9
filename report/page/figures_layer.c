/* The figure of a decoder's layer: its steps one after the other, in each form of one kernel. */
#include <stdio.h>
#include <string.h>

#include "report/page/page.h"

enum { FORMS = 3, SEGMENTS_MOST = 12 };

/* One series of the section is one bar; every second segment is all of a step but its weights. */
static bool take_line(struct drawing *d, const struct series *line,
                      struct chart_segment segment[SEGMENTS_MOST], struct chart_bar *bar)
{
    const size_t n = line->n < SEGMENTS_MOST ? line->n : SEGMENTS_MOST;
    double total = 0;

    for (size_t i = 0; i < n; i++) {
        const struct point *part = &line->point[i];
        const bool is_weights = i % 2 == 0;
        char text[48];
        total += part->y.value;
        segment[i] = (struct chart_segment){
            .value = part->y.value,
            .text = DRAW_TEXT(d, "%s", number_cell(text, sizeof text, &part->y, "us")),
            .name = is_weights ? part->label : NULL,
            .title = draw_tip(
                d, DRAW_TEXT(d, "%s, %s%s", line->name, part->label, is_weights ? ": weights" : ""),
                &part->y),
            .anchor = draw_anchor(d, &part->y),
            .role = is_weights ? CHART_MEMORY : CHART_SYNCHRONISE,
            .soft = !is_weights};
    }
    const struct number all = number_formed(total, "ns", &line->point[0].y);
    *bar = (struct chart_bar){
        .label = line->name, .total = draw_say(d, &all), .segments = segment, .n_segments = n};
    return n > 0;
}

bool figure_layer(struct drawing *d)
{
    struct chart_segment segment[FORMS][SEGMENTS_MOST];
    struct chart_bar bar[FORMS];
    size_t n = 0;

    for (size_t i = 0; i < d->section->n_series && n < FORMS; i++)
        n += take_line(d, &d->section->series[i], segment[n], &bar[n]);
    if (n == 0)
        return false;
    const struct chart_bars chart = {
        .title = "A layer of one token from step to step", .bars = bar, .n_bars = n};
    chart_bars(d->out, &chart, d->width, d->standalone);
    d->title = "One layer, from its first step to its last";
    d->how = "The median block of a kernel that does whole layers, context 1024. Dark: the weights "
             "of a step, or its keys and values, pass by. Light: the step gets what the one before "
             "handed over, waits for slower blocks, and hands over.";
    return true;
}
