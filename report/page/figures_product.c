/* The figures of products: blocks, time, waves, sizes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/page.h"

enum { POINTS_MOST = 64 };

/* --- blocks ----------------------------------------------------------------------------------- */

static struct chart_point *lowest(struct chart_point *points, size_t n, double from, double to)
{
    struct chart_point *low = NULL;
    for (size_t i = 0; i < n; i++)
        if (points[i].x >= from && points[i].x < to && (!low || points[i].y < low->y))
            low = &points[i];
    return low;
}

/* "64x64: 5.64 us" becomes "ours, wgmma, 256 blocks of 64x64: 5.64 us". */
static void name_blocks(struct drawing *d, const char *name, struct chart_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++)
        points[i].title = DRAW_TEXT(d, "%s, %.0f blocks of %s", name, points[i].x, points[i].title);
}

static void label_best(struct drawing *d, struct chart_point *points, size_t n, double n_sm)
{
    struct chart_point *few = lowest(points, n, 0, n_sm), *many = lowest(points, n, n_sm, INFINITY);

    if (few) {
        few->label = DRAW_TEXT(d, "%.0f blocks: %s", few->x, draw_three(d, few->y));
        few->strong = true;
        few->side = CHART_BELOW;
    }
    if (many) {
        many->label = DRAW_TEXT(d, "%.0f: %s", many->x, draw_three(d, many->y));
        many->strong = true;
        many->side = CHART_BELOW;
    }
}

/* Of the table's lines the one whose name begins, or whose tile ends, so. */
static size_t single(struct drawing *d, const char *name, const char *label,
                     struct chart_point *point)
{
    const struct series *all = section_find(d->section, "time over blocks");

    for (size_t i = 0; all && i < all->n; i++) {
        const struct point *at = &all->point[i];
        if (!strstr(at->label, name))
            continue;
        *point = (struct chart_point){.x = at->x,
                                      .y = at->y.value * number_scale(at->y.unit, "us"),
                                      .title = draw_tip(d, at->label, &at->y),
                                      .anchor = draw_anchor(d, &at->y)};
        point->label = DRAW_TEXT(d, "%s %s", label, draw_three(d, point->y));
        return 1;
    }
    return 0;
}

/* Tiles that divide the product evenly are a line; the others are marks beside it, moved to
 * `uneven`. Returns how many are left. */
static size_t part_uneven(struct chart_point *points, size_t n, struct chart_point *uneven,
                          size_t *n_uneven)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (log2(points[i].x) == rint(log2(points[i].x)))
            points[kept++] = points[i];
        else
            uneven[(*n_uneven)++] = points[i];
    return kept;
}

bool figure_blocks(struct drawing *d)
{
    struct chart_point uneven[POINTS_MOST];
    size_t n_uneven = 0;
    struct chart_point wgmma[POINTS_MOST], mma[POINTS_MOST], triton[POINTS_MOST], library, stream;
    const struct series *quoted = section_find(d->section, "Triton");
    const struct series *fixed = section_find(d->section, "fixed cost");
    size_t n = draw_points(d, section_find(d->section, "ours, wgmma"), 1, "us", wgmma, POINTS_MOST);
    const size_t n_mma =
        draw_points(d, section_find(d->section, "ours, mma.sync"), 1, "us", mma, POINTS_MOST);
    const size_t n_triton = draw_points(d, quoted, 1, "us", triton, POINTS_MOST);
    const double n_sm = summary_sms(d->page->summary);
    const char *of = n > 0 ? "ours, wgmma" : "ours, mma.sync";

    if (n + n_mma == 0)
        return false;
    label_best(d, n > 0 ? wgmma : mma, n > 0 ? n : n_mma, n_sm);
    name_blocks(d, "ours, wgmma", wgmma, n);
    name_blocks(d, "ours, mma.sync", mma, n_mma);
    name_blocks(d, "Triton", triton, n_triton);
    n = part_uneven(wgmma, n, uneven, &n_uneven);
    const struct chart_series series[] = {
        {mma, n_mma, n > 0 ? "ours, mma.sync" : of, n > 0 ? CHART_LIBRARY : CHART_OURS, CHART_DOT,
         CHART_SOLID, .faint = n > 0, .strong = n == 0},
        {triton, n_triton, n_triton && quoted->point[0].y.quoted ? "Triton \u2020" : "Triton",
         CHART_QUOTED, CHART_CIRCLE, .line = CHART_SOLID},
        {uneven, n_uneven, .role = CHART_OURS, .mark = CHART_DOT, .faint = true},
        {wgmma, n, of, CHART_OURS, CHART_DOT, CHART_SOLID, .strong = true},
        {&library, single(d, "cuBLAS its", "cuBLAS", &library), .role = CHART_LIBRARY,
         .mark = CHART_OPEN_SQUARE},
        {&stream, single(d, "_stream", "stream-K", &stream), .role = CHART_OURS,
         .mark = CHART_DIAMOND}};
    const struct chart_reference sms = {n_sm, true, CHART_DOTTED, DRAW_TEXT(d, "%.0f SMs", n_sm),
                                        .strong = true};
    const char *part = fixed && fixed->n == 2 ? DRAW_TEXT(d, "%.3g to %s do not grow with k",
                                         fixed->point[0].y.value * 1e-3,
                                         draw_say(d, &fixed->point[1].y))
                             : NULL;
    const struct chart_band band = {
        0, part ? fixed->point[1].y.value * 1e-3 : 0, false,
        part ? DRAW_TEXT(d, "%s: launch, first operands, store", part) : NULL, part};
    const struct chart_xy chart = {.title = d->section->finding,
                                   .height = 400,
                                   .x = {.title = "thread blocks", .scale = CHART_LOG2},
                                   .y = {.title = "us for one product, L2 warm", .zero = true},
                                   .series = series,
                                   .n_series = 6,
                                   .references = &sms,
                                   .n_references = isfinite(n_sm) ? 1 : 0,
                                   .bands = &band,
                                   .n_bands = fixed != NULL};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->title = "Time over the number of blocks";
    d->how =
        "A product of 1024^3, fp16 with fp32 sums. Each mark is the fastest kernel with so many "
        "blocks, one tile a block.";
    return true;
}

/* --- where the time goes ---------------------------------------------------------------------- */

enum { PARTS = 5, BARS = 2 };

static bool take_bar(struct drawing *d, const char *name, struct chart_segment *segments,
                     struct chart_bar *bar)
{
    static const char *const briefs[PARTS] = {"load", "multiply", NULL, "store", "next"};
    static const enum chart_role roles[PARTS] = {CHART_LIBRARY, CHART_MEMORY, CHART_MEMORY,
                                                 CHART_LIBRARY, CHART_LAUNCH};
    const struct series *parts = section_find(d->section, name);

    if (!parts || parts->n != PARTS + 1)
        return false;
    for (size_t i = 0; i < PARTS; i++) {
        const struct number *time = &parts->point[i].y;
        char text[48];
        segments[i] = (struct chart_segment){
            .value = time->value,
            .text = DRAW_TEXT(d, "%s", number_cell(text, sizeof text, time, "us")),
            .name = parts->point[i].label,
            .brief = briefs[i],
            .title = draw_tip(d, parts->point[i].label, time),
            .anchor = draw_anchor(d, time),
            .role = roles[i],
            .soft = i != 1};
    }
    *bar = (struct chart_bar){parts->point[PARTS].label, draw_say(d, &parts->point[PARTS].y),
                              segments, PARTS};
    return true;
}

bool figure_time(struct drawing *d)
{
    struct chart_segment segments[BARS][PARTS];
    struct chart_bar bars[BARS];
    size_t n = 0;

    n += take_bar(d, "a block of few", segments[n], &bars[n]);
    n += take_bar(d, "a block of many", segments[n], &bars[n]);
    if (n == 0)
        return false;
    const struct chart_bars chart = {"Where the time goes, seen from one block", bars, n};
    chart_bars(d->out, &chart, d->width, d->standalone);
    d->title = DRAW_TEXT(d, "Where the %s go, seen from one block", bars[0].total);
    return true;
}

/* --- waves ------------------------------------------------------------------------------------ */

bool figure_waves(struct drawing *d)
{
    struct chart_point points[POINTS_MOST];
    const struct series *longer = section_find(d->section, "one tile more than SMs");
    const size_t n =
        draw_points(d, section_find(d->section, "time over tiles"), 1, "us", points, POINTS_MOST);
    const double n_sm = summary_sms(d->page->summary), ticks[] = {96, n_sm, 2 * n_sm};
    const struct chart_reference sms[] = {{n_sm, true, .line = CHART_DOTTED},
                                          {2 * n_sm, true, .line = CHART_DOTTED}};

    if (n < 2 || !isfinite(n_sm))
        return false;
    for (size_t i = 0; i < n; i++) {
        const bool is_more = points[i].x == n_sm + 1 || points[i].x == 2 * n_sm + 1;
        points[i].title = DRAW_TEXT(d, "%.0f tiles%s", points[i].x, strchr(points[i].title, ':'));
        points[i].label = DRAW_TEXT(d, "%.0f: %s", points[i].x, draw_three(d, points[i].y));
        points[i].strong = is_more;
        points[i].side = points[i].x == n_sm + 1          ? CHART_RIGHT
                         : is_more || points[i].x == n_sm ? CHART_LEFT
                                                          : CHART_BELOW;
    }
    const struct chart_series series = {points,    n,           NULL,          CHART_OURS,
                                        CHART_DOT, CHART_SOLID, .strong = true};
    const struct chart_xy chart = {
        .title = "Time over the number of tiles",
        .height = 250,
        .height_narrow = 250,
        .x = {.title = "tiles; dotted: as many as SMs, and twice as many",
              .ticks = ticks,
              .n_ticks = 3},
        .y = {.title = "us for so many tiles of 128x64", .zero = true},
        .series = &series,
        .n_series = 1,
        .references = sms,
        .n_references = 2};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->title = longer ? DRAW_TEXT(d, "One tile more than there are SMs costs %.0f %%",
                                  100 * longer->point[0].y.value)
                      : "Waves of tiles";
    return true;
}

/* --- sizes ------------------------------------------------------------------------------------ */

bool figure_sizes(struct drawing *d)
{
    static const struct {
        const char *series, *name;
        enum chart_role role;
        enum chart_mark mark;
        enum chart_line line;
    } kinds[] = {{"the tensor cores at the clock held", "tensor cores, clock held", CHART_INK,
                  CHART_NO_MARK, CHART_DASHED},
                 {"cuBLASLt, best", "cuBLASLt, best", CHART_LIBRARY, CHART_SQUARE, CHART_SOLID},
                 {"cuBLAS", "cuBLAS", CHART_LIBRARY, CHART_OPEN_SQUARE, CHART_SOLID},
                 {"ours", "ours", CHART_OURS, CHART_DOT, CHART_SOLID}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    struct chart_point points[KINDS][POINTS_MOST];
    struct chart_series series[KINDS];
    size_t all = 0;

    for (size_t k = 0; k < KINDS; k++) {
        const size_t n = draw_points(d, section_find(d->section, kinds[k].series), 1, "TFLOP/s",
                                     points[k], POINTS_MOST);
        for (size_t i = 0; i < n; i++)
            points[k][i].title = DRAW_TEXT(d, "N = %.0f, %s", points[k][i].x, points[k][i].title);
        series[k] = (struct chart_series){points[k],
                                          n,
                                          kinds[k].name,
                                          kinds[k].role,
                                          kinds[k].mark,
                                          kinds[k].line,
                                          .strong = k == KINDS - 1,
                                          .faint = k == 1};
        if (kinds[k].mark == CHART_OPEN_SQUARE &&
            n > 1) { /* at the end the names would be too many */
            points[k][n - 2].label = kinds[k].name;
            points[k][n - 2].side = CHART_ABOVE;
            series[k].name = NULL;
        }
        all += n;
    }
    const struct chart_xy chart = {
        .title = d->section->finding,
        .height = 400,
        .x = {.title = "N, of a product of N x N x N", .scale = CHART_LOG2},
        .y = {.title = "TFLOP/s, fp16, L2 warm", .zero = true},
        .series = series,
        .n_series = KINDS};
    if (all == 0)
        return false;
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->how =
        "Rates of square products. The dashed line is what the tensor cores alone compute at the "
        "clock that the chip held at that size.";
    return true;
}
