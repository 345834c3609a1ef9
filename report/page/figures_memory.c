/* The figures of memory, waiting and launching: levels, curve, flight, ladder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/emit.h"
#include "report/page/page.h"

/* --- levels ----------------------------------------------------------------------------------- */

enum { LEVELS_MOST = 12 };
enum { LEVEL, CYCLES, NS, LOADED, READ, SIZE = 7 }; /* columns of the section's table */

struct level_dots {
    struct chart_dot time[2], rate;
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* What an SM holds has the SM's clock: cycles mean something there. */
static bool is_in_sm(const char *name)
{
    return begins(name, "registers") || begins(name, "shared") || begins(name, "constants") ||
           !strcmp(name, "L1");
}

static struct chart_row level_row(struct drawing *d, const struct grid *grid, size_t i,
                                  const char *before, struct level_dots *dots)
{
    const char *name = draw_cell_text(d, grid, i, LEVEL);
    const size_t length = strcspn(name, "*");
    const struct number cycles = draw_cell(grid, i, CYCLES), ns = draw_cell(grid, i, NS);
    const struct number loaded = draw_cell(grid, i, LOADED), read = draw_cell(grid, i, READ);
    const bool inside = is_in_sm(name);
    const enum chart_role role = inside ? CHART_COMPUTE : CHART_MEMORY;
    const char *say = draw_say(d, &ns), *size = draw_cell_text(d, grid, i, SIZE);
    char plain[48];

    number_cell(plain, sizeof plain, &ns, "ns");
    name = DRAW_TEXT(d, "%.*s", (int)(length > 0 && name[length - 1] == ' ' ? length - 1 : length),
                     name);
    dots->time[0] =
        (struct chart_dot){ns.value, role, CHART_DOT, draw_tip(d, name, &ns), draw_anchor(d, &ns)};
    dots->time[1] = (struct chart_dot){loaded.value, role, CHART_CIRCLE,
                                       draw_tip(d, DRAW_TEXT(d, "%s, loaded", name), &loaded),
                                       draw_anchor(d, &loaded)};
    dots->rate = (struct chart_dot){
        read.value * number_scale(read.unit, "TB/s"), role, CHART_SQUARE,
        draw_tip(d, DRAW_TEXT(d, "%s, read", name), &read), draw_anchor(d, &read)};
    struct chart_row row = {
        .label = name,
        .aside = strcmp(size, "-") ? size : NULL,
        .strong = true,
        .rule = i > 0 &&
                (is_in_sm(before) != inside || !begins(name, "L2") || !begins(before, "L2")) &&
                !inside,
        .on = {{dots->time, 2, say, plain, .joined = true}, {.dots = &dots->rate, .n_dots = 1}}};
    if (number_there(&loaded)) {
        char other[48];
        number_cell(other, sizeof other, &loaded, "ns");
        row.on[0].text = DRAW_TEXT(d, "%s, loaded %s", say, other);
        row.on[0].brief = DRAW_TEXT(d, "%s (%s)", plain, other);
    } else if (inside && number_there(&cycles)) {
        char other[48];
        number_cell(other, sizeof other, &cycles, "");
        row.on[0].text = DRAW_TEXT(d, "%s = %s cycles", say, other);
        row.on[0].brief = DRAW_TEXT(d, "%s = %s cy", plain, other);
    } else
        row.on[0].brief = DRAW_TEXT(d, "%s", plain);
    if (!number_there(&ns))
        row.on[0].text = row.on[0].brief = NULL;
    if (number_there(&read))
        row.on[1].text = draw_cell_text(d, grid, i, READ);
    return row;
}

bool figure_levels(struct drawing *d)
{
    struct chart_row rows[LEVELS_MOST];
    struct level_dots dots[LEVELS_MOST];
    const struct grid *grid = &d->section->grid[0];
    const size_t all = d->section->n_grids ? grid_rows(grid) : 0;
    const size_t n = all < LEVELS_MOST ? all : LEVELS_MOST;
    const char *before = "";
    bool has_loaded = false;

    for (size_t i = 0; i < n; i++) {
        const struct number loaded = draw_cell(grid, i, LOADED);
        has_loaded = has_loaded || number_there(&loaded);
        rows[i] = level_row(d, grid, i, before, &dots[i]);
        before = rows[i].label;
    }
    d->how = has_loaded
                 ? "Each dot is one dependent load on an idle chip; the open circle is the same "
                   "load while all other SMs stream. Squares: what the whole chip reads."
                 : "Each dot is one dependent load on an idle chip. Squares: what the whole "
                   "chip reads.";
    if (n == 0)
        return false;
    const struct chart_rows chart = {
        .title = d->section->finding,
        .height = 74 + 32 * (double)n,
        .axes = {{.title = "one dependent load, ns", .scale = CHART_LOG10},
                 {.title = "read rate, TB/s", .scale = CHART_LOG10}},
        .n_axes = 2,
        .aside = "size",
        .rows = rows,
        .n_rows = n};
    chart_rows(d->out, &chart, d->width, d->standalone);
    return true;
}

/* --- curve ------------------------------------------------------------------------------------ */

enum { CURVE_MOST = 256, STEPS_MOST = 4 };

static size_t curve_steps(struct drawing *d, struct chart_reference *references)
{
    const struct series *sizes = section_find(d->section, "capacities");
    size_t n = 0;

    for (size_t i = 0; sizes && i < sizes->n && n < STEPS_MOST; i++) {
        const struct point *point = &sizes->point[i];
        const char *name = !strcmp(point->label, "L2, near side")    ? "one side of the L2"
                           : !strcmp(point->label, "L2, both sides") ? "all of the L2"
                                                                     : point->label;
        const char *size = draw_say(d, &point->y);
        references[n++] = (struct chart_reference){
            point->y.value, true,          CHART_DOTTED, DRAW_TEXT(d, "%s: %s", name, size),
            size,           .strong = true};
    }
    return n;
}

/* Levels are named; what lies between two sizes and is none becomes a band. */
static size_t curve_levels(struct drawing *d, struct chart_point *notes, struct chart_band *band)
{
    const struct series *levels = section_find(d->section, "levels");
    const struct series *sizes = section_find(d->section, "capacities");
    size_t n = 0;
    char value[48];

    for (size_t i = 0; levels && i < levels->n && n < STEPS_MOST; i++) {
        const struct point *point = &levels->point[i];
        number_cell(value, sizeof value, &point->y, "");
        if (!strcmp(point->label, "no level") && sizes && sizes->n > 1) {
            *band = (struct chart_band){
                sizes->point[sizes->n - 2].y.value, sizes->point[sizes->n - 1].y.value, true,
                DRAW_TEXT(d, "%s is no level:\npart of the loads hit\nfar, part miss", value),
                "no level"};
            continue;
        }
        const bool is_memory = !strcmp(point->label, "memory");
        const char *name = is_memory ? summary_memory_name(d->page->summary) : point->label;
        notes[n++] = (struct chart_point){.x = point->x,
                                          .y = point->y.value,
                                          .label = DRAW_TEXT(d, "%s %s", name, value),
                                          .strong = true,
                                          .side = is_memory ? CHART_BELOW : CHART_ABOVE};
    }
    return n;
}

bool figure_curve(struct drawing *d)
{
    static struct chart_point const none = {.x = 0};
    struct chart_point *points = calloc(CURVE_MOST, sizeof *points), notes[STEPS_MOST] = {none};
    struct chart_reference references[STEPS_MOST];
    struct chart_band band = {0, 0, true, NULL, NULL};
    const struct series *walk = section_find(d->section, "load, cycles");
    const size_t n = points ? draw_points(d, walk, 1, "", points, CURVE_MOST) : 0;
    const double mhz = summary_clock_mhz(d->page->summary);

    for (size_t i = 0; i < n; i++) {
        char bytes[CHART_TEXT];
        chart_bytes(bytes, points[i].x);
        points[i].title = DRAW_TEXT(d, "%s%s", bytes, strchr(points[i].title, ':'));
    }
    const struct chart_series series[] = {
        {points, n, NULL, CHART_MEMORY, CHART_DOT, CHART_SOLID, .radius = 2},
        {notes, curve_levels(d, notes, &band), .role = CHART_INK}};
    const struct chart_xy chart = {
        .title = d->section->finding,
        .height = 360,
        .x = {.title = "bytes that are walked through", .scale = CHART_LOG2, .format = chart_bytes},
        .y = {.title = "cycles of a dependent load", .scale = CHART_LINEAR, .zero = true},
        .right = {.title = "ns", .scale = CHART_LINEAR},
        .right_factor = isfinite(mhz) ? 1e3 / mhz : 0,
        .series = series,
        .n_series = 2,
        .references = references,
        .n_references = curve_steps(d, references),
        .bands = &band,
        .n_bands = band.label != NULL};
    if (n > 1)
        chart_xy(d->out, &chart, d->width, d->standalone);
    free(points);
    d->how =
        "One thread follows pointers through more and more bytes. Where the line jumps, a cache "
        "is full.";
    return n > 1;
}

/* --- bytes in flight -------------------------------------------------------------------------- */

enum { WAYS_MOST = 48, LAW_POINTS = 40 };

/* "4 x 8" says how many warps, and how many loads of a thread. */
static void name_loads(struct drawing *d, struct chart_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int warps = 0, loads = 0;
        if (sscanf(points[i].title, "%d x %d", &warps, &loads) != 2)
            continue;
        const char *name = DRAW_TEXT(d, "%d warp%s x %d load%s", warps, warps == 1 ? "" : "s",
                                     loads, loads == 1 ? "" : "s");
        points[i].title = DRAW_TEXT(d, "%s%s", name, strchr(points[i].title, ':'));
        points[i].label = name;
        points[i].brief = DRAW_TEXT(d, "%d x %d", warps, loads);
    }
}

/* The fastest by one warp, which needs no others. */
static void name_one_warp(struct drawing *d, struct chart_point *points, size_t n, double best)
{
    struct chart_point *one = NULL;

    for (size_t i = 0; i < n; i++)
        if (begins(points[i].title, "1 warp,") && (!one || points[i].y > one->y))
            one = &points[i];
    if (!one)
        return;
    one->label = DRAW_TEXT(d, "1 warp on each SM,\n%.0f KiB in flight:\n%.0f %% of the best",
                           one->x, 100 * one->y / best);
    one->brief = DRAW_TEXT(d, "1 warp, %.0f KiB:\n%.0f %%", one->x, 100 * one->y / best);
    one->strong = true;
    one->side = CHART_BELOW;
}

static size_t draw_law(struct drawing *d, const struct point *full, double least,
                       struct chart_point *law)
{
    const struct number load = summary_number(d->page->summary, "hbm-load");
    const double to = full->x / 1024, rate = full->y.value * 1e-12;

    for (size_t i = 0; i < LAW_POINTS; i++) {
        const double x = least * pow(to / least, (double)i / (LAW_POINTS - 1));
        law[i] = (struct chart_point){.x = x, .y = rate * x / to};
    }
    law[LAW_POINTS * 3 / 4].label =
        DRAW_TEXT(d, "Little's law: bytes in flight / %s", draw_say(d, &load));
    law[LAW_POINTS * 3 / 4].brief = "Little's law";
    law[LAW_POINTS * 3 / 4].side = CHART_LEFT;
    return LAW_POINTS;
}

static size_t flight_limits(struct drawing *d, const struct point *full,
                            struct chart_reference *references)
{
    const struct number pins = number_fact(summary_pins(d->page->summary), "bytes/s");
    size_t n = 0;

    if (number_there(&pins))
        references[n++] =
            (struct chart_reference){pins.value * 1e-12, false, CHART_DOTTED,
                                     DRAW_TEXT(d, "pins %s", draw_say(d, &pins)), .brief = NULL};
    if (!full)
        return n;
    const struct number bytes = number_fact(full->x, "bytes");
    references[n++] = (struct chart_reference){full->y.value * 1e-12, false, CHART_DASHED,
                                               DRAW_TEXT(d, "sustained %s", draw_say(d, &full->y)),
                                               .brief = NULL};
    references[n++] = (struct chart_reference){
        full->x / 1024, true, CHART_DOTTED, draw_say(d, &bytes), NULL, true, true};
    return n;
}

bool figure_flight(struct drawing *d)
{
    struct chart_point loads[WAYS_MOST], copies[WAYS_MOST], law[LAW_POINTS];
    struct chart_reference references[3];
    const struct series *full = section_find(d->section, "the memory is full");
    const size_t n_loads =
        draw_points(d, section_find(d->section, "by loads"), 1.0 / 1024, "TB/s", loads, WAYS_MOST);
    const size_t n_copies = draw_points(d, section_find(d->section, "by copies"), 1.0 / 1024,
                                        "TB/s", copies, WAYS_MOST);
    double best = 0;

    if (n_loads + n_copies == 0)
        return false;
    for (size_t i = 0; i < n_loads + n_copies; i++)
        best = fmax(best, i < n_loads ? loads[i].y : copies[i - n_loads].y);
    name_loads(d, loads, n_loads);
    name_one_warp(d, copies, n_copies, best);
    const double least = 0.8 * (n_loads ? loads[0].x : copies[0].x);
    const struct chart_series series[] = {
        {law, full ? draw_law(d, full->point, least, law) : 0, .role = CHART_INK,
         .line = CHART_DASHED},
        {loads, n_loads, .role = CHART_MEMORY, .mark = CHART_DOT},
        {copies, n_copies, .role = CHART_LAUNCH, .mark = CHART_DIAMOND}};
    const struct chart_xy chart = {
        .title = d->section->finding,
        .height = 390,
        .x = {.title = "KiB in flight on each SM", .scale = CHART_LOG2},
        .y = {DRAW_TEXT(d, "TB/s read from %s", summary_memory_name(d->page->summary)),
              .zero = true},
        .series = series,
        .n_series = 3,
        .references = references,
        .n_references = flight_limits(d, full ? full->point : NULL, references)};
    chart_xy(d->out, &chart, d->width, d->standalone);
    d->how = "Each mark is a read of the memory by so many warps on each SM: dots by loads of 16 "
             "bytes, diamonds by asynchronous copies and other paths. The dashed line is Little's "
             "law: rate = bytes in flight / latency.";
    return true;
}

/* --- ladder ----------------------------------------------------------------------------------- */

enum { RUNGS_MOST = 40 };
static const struct {
    char letter;
    struct chart_key key;
} classes[] = {{'c', {"compute", CHART_COMPUTE, CHART_SQUARE}},
               {'m', {"memory", CHART_MEMORY, CHART_DOT}},
               {'s', {"synchronise", CHART_SYNCHRONISE, CHART_DIAMOND}},
               {'l', {"launch", CHART_LAUNCH, CHART_CIRCLE}},
               {'h', {"host", CHART_HOST, CHART_OPEN_SQUARE}}};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static const struct chart_key *class_of(const struct grid *grid, size_t row)
{
    for (size_t i = 0; i < grid->n_columns; i++) {
        const struct cell *cell = grid_at(grid, row, i);
        for (size_t k = 0; cell && cell->kind == CELL_LADDER && k < CLASSES; k++)
            if (classes[k].letter == cell->letter)
                return &classes[k].key;
    }
    return &classes[0].key;
}

bool figure_ladder(struct drawing *d)
{
    struct chart_row rows[RUNGS_MOST];
    struct chart_dot dots[RUNGS_MOST];
    struct chart_key keys[CLASSES];
    const struct grid *grid = &d->section->grid[0];
    const struct series *steps = section_find(d->section, "one dependent step");
    size_t n = 0, n_keys = 0;

    for (; steps && n < steps->n && n < RUNGS_MOST; n++) {
        const struct point *step = &steps->point[n];
        const struct chart_key *of = class_of(grid, n);
        const struct number cycles = draw_cell(grid, n, 1);
        const char *text = draw_say(d, &step->y);
        if (number_there(&cycles))
            text = DRAW_TEXT(d, "%s = %s", text, draw_say(d, &cycles));
        dots[n] = (struct chart_dot){step->y.value, of->role, of->mark,
                                     draw_tip(d, step->label, &step->y), draw_anchor(d, &step->y)};
        rows[n] = (struct chart_row){.label = step->label,
                                     .on = {{&dots[n], 1, text, NULL, .strong = true}}};
    }
    for (size_t k = 0; k < CLASSES; k++)
        for (size_t i = 0; i < n; i++)
            if (dots[i].role == classes[k].key.role) {
                keys[n_keys++] = classes[k].key;
                break;
            }
    if (n == 0)
        return false;
    const struct chart_rows chart = {
        .title = d->section->finding,
        .axes = {{NULL, CHART_LOG10, .low = dots[0].value / 1.3, .high = 1.3 * dots[n - 1].value,
                  .format = chart_ns}},
        .n_axes = 1,
        .keys = keys,
        .n_keys = n_keys,
        .rows = rows,
        .n_rows = n};
    chart_rows(d->out, &chart, d->width, d->standalone);
    d->how = "All on one logarithmic scale, each step begun when the one before it has ended.";
    return true;
}
