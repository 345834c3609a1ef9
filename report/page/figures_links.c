/* The figures of what lies between GPUs: an all-reduce by size, and copies by size. */
#include <stdio.h>

#include "report/page/page.h"

enum { LINES_MOST = 8, SIZES_MOST = 16 };

struct line {
    const char *series; /* and its name in the figure */
    enum chart_role role;
    enum chart_mark mark;
    enum chart_line line;
};

/* The lines that the section has, over bytes. */
static size_t take_lines(struct drawing *d, const struct line *lines, size_t n_lines,
                         const char *shown, struct chart_point points[][SIZES_MOST],
                         struct chart_series *series)
{
    size_t n_drawn = 0;

    for (size_t i = 0; i < n_lines; i++) {
        const struct series *from = section_find(d->section, lines[i].series);
        const size_t n = draw_points(d, from, 1, shown, points[n_drawn], SIZES_MOST);
        if (n == 0)
            continue;
        for (size_t k = 0; k < n; k++) {
            struct chart_point *point = &points[n_drawn][k];
            char bytes[CHART_TEXT];
            chart_bytes(bytes, point->x);
            point->title = DRAW_TEXT(d, "%s, %s", bytes, point->title);
        }
        series[n_drawn] = (struct chart_series){points[n_drawn],
                                                n,
                                                lines[i].series,
                                                lines[i].role,
                                                lines[i].mark,
                                                lines[i].line,
                                                .strong = lines[i].role == CHART_OURS &&
                                                          lines[i].mark == CHART_DOT};
        n_drawn++;
    }
    return n_drawn;
}

bool figure_sums(struct drawing *d)
{
    static const struct line lines[] = {
        {"NCCL", CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_SOLID},
        {"NCCL, symmetric", CHART_LIBRARY, CHART_SQUARE, CHART_DASHED},
        {"two shots", CHART_LAUNCH, CHART_DIAMOND, CHART_SOLID},
        {"one shot", CHART_OURS, CHART_DOT, CHART_SOLID},
        {"one shot, early start", CHART_OURS, CHART_CIRCLE, CHART_DASHED},
        {"in a kernel", CHART_SYNCHRONISE, CHART_CIRCLE, CHART_SOLID}};
    struct chart_point points[LINES_MOST][SIZES_MOST];
    struct chart_series series[LINES_MOST];
    const size_t n =
        take_lines(d, lines, sizeof lines / sizeof lines[0], "us", points, series);

    if (n == 0)
        return false;
    const struct chart_xy chart = {
        .title = "An all-reduce over its bytes",
        .height = 420,
        .height_narrow = 340,
        .x = {.title = "bytes of bf16", .scale = CHART_LOG2, .format = chart_bytes},
        .y = {.title = "us for one all-reduce", .scale = CHART_LOG10},
        .series = series,
        .n_series = n};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->title = "An all-reduce by whom, over its bytes";
    d->how = "Each as a node of a graph, and the faster of one and two shots within a kernel that "
             "goes on. NCCL runs as it chooses, without NVLink multicast.";
    return true;
}

/* What the links can carry in one direction, headers included: a fact of the board. */
static size_t put_links(struct drawing *d, struct chart_reference *reference)
{
    const double rate = summary_links(d->page->summary);
    const struct number all = number_fact(rate, "bytes/s");
    *reference = (struct chart_reference){rate * 1e-9, false, CHART_DOTTED,
                                          DRAW_TEXT(d, "links %s", draw_say(d, &all)),
                                          .brief = NULL};
    return rate > 0;
}

bool figure_copies(struct drawing *d)
{
    static const struct line lines[] = {
        {"copy engine", CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_SOLID},
        {"bulk copies", CHART_LAUNCH, CHART_DIAMOND, CHART_SOLID},
        {"stores", CHART_SYNCHRONISE, CHART_CIRCLE, CHART_SOLID},
        {"loads", CHART_OURS, CHART_DOT, CHART_SOLID}};
    static const double ticks[] = {16,      256,      4 << 10,   64 << 10,
                                   1 << 20, 16 << 20, 256 << 20};
    struct chart_point points[LINES_MOST][SIZES_MOST];
    struct chart_series series[LINES_MOST];
    struct chart_reference links;
    const size_t n =
        take_lines(d, lines, sizeof lines / sizeof lines[0], "GB/s", points, series);

    if (n == 0)
        return false;
    const struct chart_xy chart = {
        .title = "The rate of a copy between GPUs over its bytes",
        .height = 380,
        .x = {.title = "bytes of a copy in one direction", .scale = CHART_LOG2,
              .format = chart_bytes, .ticks = ticks, .n_ticks = sizeof ticks / sizeof ticks[0]},
        .y = {.title = "GB/s", .zero = true},
        .series = series,
        .n_series = n,
        .references = &links,
        .n_references = put_links(d, &links)};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->title = "A copy to or from another GPU by whom, over its bytes";
    d->how =
        "Small copies take a fixed time, so that their rate grows with their bytes. The dotted "
        "line is what the links can carry, headers included.";
    return true;
}
