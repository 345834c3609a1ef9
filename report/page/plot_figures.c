/* The figures for papers, one function each. */
#include <math.h>
#include <string.h>

#include "report/chart/chart.h"
#include "report/page/boards.h"
#include "report/page/plot.h"

/* gnuplot's point types: filled and hollow circle, hollow square and triangle, filled diamond,
 * upright cross. */
enum { DOT = 7, CIRCLE = 6, SQUARE = 4, TRIANGLE = 8, DIAMOND = 13, CROSS = 1 };
enum { SOLID = 1, DASHED = 2, DOTTED = 3 };

/* A line of its own across the figure, upright or level, with a text at its end. */
static void put_upright(struct plot *plot, double x, const char *text, bool at_right)
{
    fprintf(plot->set,
            "set arrow from first %.9g, graph 0 to first %.9g, graph 1 nohead back lc rgb "
            "'%s' lw 0.8 dt %d\nset label ",
            x, x, chart_colour("secondary"), DOTTED);
    plot_text(plot->set, text);
    fprintf(plot->set,
            " at first %.9g, graph 0.98 right rotate by 90 offset character %s,0 "
            "textcolor rgb '%s' font ',7'\n",
            x, at_right ? "0.7" : "-0.5", chart_colour("secondary"));
}

static void put_level(struct plot *plot, double y, const char *text, int dashes)
{
    fprintf(plot->set,
            "set arrow from graph 0, first %.9g to graph 1, first %.9g nohead back lc rgb "
            "'%s' lw 0.8 dt %d\nset label ",
            y, y, chart_colour("secondary"), dashes);
    plot_text(plot->set, text);
    fprintf(plot->set,
            " at graph 0, first %.9g left offset character 0.3,0.5 textcolor rgb '%s' "
            "font ',7'\n",
            y, chart_colour("secondary"));
}

static void put_label(struct plot *plot, double x, double y, const char *text, const char *place)
{
    fputs("set label ", plot->set);
    plot_text(plot->set, text);
    fprintf(plot->set, " at first %.9g, first %.9g %s textcolor rgb '%s' font ',7'\n", x, y, place,
            chart_colour("secondary"));
}

/* A step of ticks, 1, 2 or 5 times a power of ten, for about six of them up to `most`. */
static double tic_step(double most)
{
    const double power = pow(10, floor(log10(most / 6))), over = most / 6 / power;
    return power * (over < 1.5 ? 1 : over < 3.5 ? 2 : over < 7.5 ? 5 : 10);
}

/* Ticks of bytes at every 2^step. */
static void put_byte_tics(struct plot *plot, double factor, int step)
{
    char text[48];

    fputs("set xtics (", plot->set);
    for (int power = 0; power < 44; power += step) {
        const struct number bytes = number_fact(exp2(power), "bytes");
        fputs(power ? ", " : "", plot->set);
        plot_text(plot->set, number_say(text, sizeof text, &bytes,
                                        power < 10   ? "B"
                                        : power < 20 ? "KiB"
                                        : power < 30 ? "MiB"
                                                     : "GiB"));
        fprintf(plot->set, " %.9g", exp2(power) * factor);
    }
    fputs(")\n", plot->set);
}

/* --- curve ------------------------------------------------------------------------------------ */

void plot_curve(struct plot *plot)
{
    const struct plot_look look = {"memory", DOT, SOLID, 1, 1, NULL, false};
    const struct series *sizes = section_find(plot->section, "capacities");
    const struct series *walk = section_find(plot->section, "load, cycles");
    const double clock = summary_clock_mhz(plot->summary);
    double most = 1;
    char text[48];

    for (size_t i = 0; walk && i < walk->n; i++)
        most = fmax(most, walk->point[i].y.value);
    if (plot_series(plot, "load, cycles", NULL, &look) < 0)
        return;
    plot_axis(plot, "x", "bytes that the loads walk through", 2);
    plot_axis(plot, "y", "one dependent load, SM cycles", 0);
    put_byte_tics(plot, 1, 4);
    fputs("set yrange [0:*]\n", plot->set);
    if (isfinite(clock)) {
        fprintf(plot->set, "set link y2 via y*%.9g inverse y*%.9g\nset y2tics %.9g\n", 1e3 / clock,
                clock / 1e3, tic_step(most * 1e3 / clock));
        plot_axis(plot, "y2", "ns", 0);
    }
    for (size_t i = 0; sizes && i < sizes->n; i++)
        put_upright(plot, sizes->point[i].y.value,
                    number_say(text, sizeof text, &sizes->point[i].y, NULL), i + 1 == sizes->n);
}

/* --- flight ----------------------------------------------------------------------------------- */

/* The fastest of each number of bytes has its warps and loads beside it. */
static void label_flight(struct plot *plot, double x, double y)
{
    const struct series *loads = section_find(plot->section, "by loads");

    for (size_t i = 0; loads && i < loads->n; i++)
        if (i == 0 || loads->point[i].x != loads->point[i - 1].x)
            put_label(plot, loads->point[i].x * x, loads->point[i].y.value * y,
                      loads->point[i].label, "right offset character -0.6,0.4");
}

void plot_flight(struct plot *plot)
{
    const double x = number_scale("bytes", "KiB"), y = number_scale("bytes/s", "TB/s");
    const struct plot_look loads = {"memory", DOT, 0, x, y, "loads: warps x loads of 16 B", false};
    const struct plot_look copies = {"launch", DIAMOND, 0, x, y, "copies", false};
    const struct number rate = summary_number(plot->summary, "hbm-read");
    const struct number load = summary_number(plot->summary, "hbm-load");
    const double pins = summary_pins(plot->summary), n_sm = summary_sms(plot->summary);
    const bool any = plot_series(plot, "by loads", NULL, &loads) >= 0;

    if (plot_series(plot, "by copies", NULL, &copies) < 0 && !any)
        return;
    plot_axis(plot, "x", "KiB in flight on each SM", 2);
    plot_axis(plot, "y", "TB/s", 0);
    label_flight(plot, x, y);
    if (isfinite(pins)) {
        put_level(plot, pins * y, "pins", DOTTED);
        fprintf(plot->set, "set yrange [0:%.9g]\n", 1.12 * pins * y);
    }
    if (number_there(&rate) && number_there(&load) && isfinite(n_sm)) { /* Little's law */
        plot_next(plot);
        fprintf(plot->draw,
                "x*%.9g < %.9g ? x*%.9g : %.9g with lines lc rgb '%s' lw 1 dt %d title ",
                n_sm / load.value * 1e9 / x * y, rate.value * y, n_sm / load.value * 1e9 / x * y,
                rate.value * y, chart_colour("secondary"), DASHED);
        plot_text(plot->draw, "latency x rate, up to the sustained rate");
    }
    fputs("set samples 1000\n", plot->set);
}

/* --- dot plots -------------------------------------------------------------------------------- */

/* Rows from the top, each with a guide from its name to its mark; a name needs as much of the width
 * as it is long. */
static void begin_rows(struct plot *plot, size_t n, size_t longest)
{
    fprintf(
        plot->set,
        "set yrange [%zu.5:-0.5]\nset grid noy\nset lmargin %zu\nset ytics font ',7' offset 0.5,0\n"
        "set grid x back lc rgb '%s' lw 0.8 dt 1\nset tmargin 3\n",
        n - 1, longest * 3 / 4 + 2, chart_colour("grid"));
}

static void put_row_name(struct plot *plot, size_t i, const char *name)
{
    fprintf(plot->set, i == 0 ? "set ytics (" : "set ytics add (");
    plot_text(plot->set, name);
    fprintf(plot->set, " %zu)\n", i);
}

/* --- ladder ----------------------------------------------------------------------------------- */

struct rung {
    const char *name;
    const struct number *time;
    char letter;
};

/* The rungs as the table has them: a text and a drawing in each row. */
static size_t take_rungs(const struct section *section, struct rung *rungs, size_t most)
{
    size_t n = 0;

    for (size_t i = 0; section->n_grids > 0 && i < section->grid[0].n_cells && n < most; i++) {
        const struct cell *cell = &section->grid[0].cell[i];
        const struct cell *first = cell - i % section->grid[0].n_columns;
        if (cell->kind == CELL_LADDER && number_there(&cell->number))
            rungs[n++] = (struct rung){first->text ? first->text : "", &cell->number, cell->letter};
    }
    return n;
}

static void draw_class(struct plot *plot, const struct rung *rungs, size_t n, char letter,
                       const struct plot_look *look)
{
    bool any = false, has_interval = false;

    for (size_t i = 0; i < n; i++)
        any = any || rungs[i].letter == letter;
    if (!any)
        return;
    const int block = plot_block(plot);
    for (size_t i = 0; i < n; i++)
        if (rungs[i].letter == letter) {
            plot_point(plot, look->name, (double)i, rungs[i].time, rungs[i].name);
            has_interval = has_interval || isfinite(rungs[i].time->low);
        }
    plot_draw(plot, block, look, has_interval);
}

/* Decades of time, and room at the right for the last number. */
static void put_time_axis(struct plot *plot, const struct rung *rungs, size_t n)
{
    static const char *const marks[] = {"1 ns", "100 ns", "10 us", "1 ms", "100 ms", "10 s"};

    fprintf(plot->set, "set logscale x 10\nset xrange [%.9g:%.9g]\nset xtics (",
            rungs[0].time->value / 2, rungs[n - 1].time->value * 300);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        fputs(i ? ", " : "", plot->set);
        plot_text(plot->set, marks[i]);
        fprintf(plot->set, " 1e%zu", 2 * i);
    }
    fputs(")\n", plot->set);
}

void plot_ladder(struct plot *plot)
{
    enum { RUNGS = 40 };
    static const struct {
        char letter;
        struct plot_look look;
    } classes[] = {{'c', {"library", DOT, 0, 1, 1, "compute", true}},
                   {'m', {"memory", DOT, 0, 1, 1, "memory", true}},
                   {'s', {"synchronise", DOT, 0, 1, 1, "synchronise", true}},
                   {'l', {"launch", DOT, 0, 1, 1, "launch", true}},
                   {'h', {"host", DOT, 0, 1, 1, "host", true}}};
    struct rung rungs[RUNGS];
    const size_t n = take_rungs(plot->section, rungs, RUNGS);
    size_t longest = 0;
    char text[64];

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        longest = strlen(rungs[i].name) > longest ? strlen(rungs[i].name) : longest;
    begin_rows(plot, n, longest);
    put_time_axis(plot, rungs, n);
    for (size_t i = 0; i < n; i++) {
        put_row_name(plot, i, rungs[i].name);
        put_label(plot, rungs[i].time->value, (double)i,
                  number_say(text, sizeof text, rungs[i].time, NULL),
                  "left offset character 0.7,0");
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        draw_class(plot, rungs, n, classes[i].letter, &classes[i].look);
    fputs("set key at screen 0.5, screen 0.99 center top horizontal samplen 0 width 0\n",
          plot->set);
}

/* --- small product ---------------------------------------------------------------------------- */

static void put_fixed(struct plot *plot, double y)
{
    const struct series *fixed = section_find(plot->section, "fixed cost");

    if (!fixed || fixed->n < 2)
        return;
    fprintf(plot->set,
            "set object rectangle from graph 0, first 0 to graph 1, first %.9g behind fc "
            "rgb '%s' fs solid noborder\n",
            fixed->point[1].y.value * y, chart_colour("band"));
    put_level(plot, fixed->point[0].y.value * y, "fixed cost, at least", DOTTED);
    put_level(plot, fixed->point[1].y.value * y, "at most", DOTTED);
}

/* Below each point its label; of points that stand close together, the first's. */
static void label_points(struct plot *plot, const char *name, double y)
{
    const struct series *series = section_find(plot->section, name);

    for (size_t i = 0; series && i < series->n; i++) {
        const struct point *point = &series->point[i];
        bool is_close = false;
        for (size_t k = 0; k < i; k++)
            is_close = is_close || fabs(log2(point->x / series->point[k].x)) < 0.3;
        if (!is_close && number_there(&point->y))
            put_label(plot, point->x, point->y.value * y, point->label,
                      i == 0 ? "left offset character 0.6,0.5" : "center offset character 0,-0.8");
    }
}

void plot_blocks(struct plot *plot)
{
    const double y = number_scale("ns", "us"), n_sm = summary_sms(plot->summary);
    const struct plot_look wgmma = {"memory", DOT, SOLID, 1, y, "gpufloor, wgmma", false};
    const struct plot_look mma = {"memory", CIRCLE, 0, 1, y, "gpufloor, mma.sync", false};
    const struct plot_look triton = {"launch", CIRCLE, 0, 1, y, "Triton, quoted", false};
    const struct plot_look cublas = {"library", SQUARE, 0, 1, y, "cuBLAS", false};
    char text[48];

    if (plot_series(plot, "ours, wgmma", NULL, &wgmma) >= 0)
        label_points(plot, "ours, wgmma", y);
    plot_series(plot, "ours, mma.sync", NULL, &mma);
    plot_series(plot, "Triton", NULL, &triton);
    plot_series(plot, "time over blocks", "cuBLAS", &cublas);
    if (plot->n_drawn == 0)
        return;
    put_fixed(plot, y);
    plot_axis(plot, "x", "thread blocks", 2);
    plot_axis(plot, "y", "\u00b5s for 1024^3 in fp16", 0);
    fputs("set yrange [0:*]\n", plot->set);
    if (isfinite(n_sm)) {
        snprintf(text, sizeof text, "%.0f SMs", n_sm);
        put_upright(plot, n_sm, text, true);
    }
}

void plot_waves(struct plot *plot)
{
    const double y = number_scale("ns", "us");
    const struct plot_look look = {"memory", DOT, SOLID, 1, y, NULL, false};
    const struct series *tiles = section_find(plot->section, "time over tiles");
    char text[64];

    if (plot_series(plot, "time over tiles", NULL, &look) < 0)
        return;
    for (size_t i = 0; tiles && i < tiles->n; i++) { /* one more than SMs is told at its right */
        const char *label = tiles->point[i].label ? tiles->point[i].label : "";
        const bool is_more = strstr(label, "+1") != NULL, is_sm = strstr(label, "sm") != NULL;
        snprintf(text, sizeof text, is_sm ? "%.0f = %s" : "%.0f", tiles->point[i].x, label);
        put_label(plot, tiles->point[i].x, tiles->point[i].y.value * y, text,
                  is_more ? "left offset character 0.6,-0.6"
                  : is_sm ? "right offset character -0.6,0.6"
                          : "center offset character 0,-0.8");
    }
    plot_axis(plot, "x", "tiles, one a block", 0);
    plot_axis(plot, "y", "\u00b5s", 0);
    fputs("set yrange [0:*]\nset xrange [*:*] noextend\nset offsets graph 0.05, graph 0.2, graph "
          "0.1, 0\n",
          plot->set);
}

/* --- sizes ------------------------------------------------------------------------------------ */

void plot_sizes(struct plot *plot)
{
    const double y = number_scale("flop/s", "TFLOP/s");
    const struct plot_look looks[] = {
        {"secondary", 0, DASHED, 1, y, "tensor cores at the clock held", false},
        {"library", SQUARE, SOLID, 1, y, "cuBLAS", false},
        {"library", CIRCLE, DOTTED, 1, y, "cuBLASLt, best", false},
        {"memory", DOT, SOLID, 1, y, "gpufloor", false}};
    static const char *const names[] = {"the tensor cores at the clock held", "cuBLAS",
                                        "cuBLASLt, best", "ours"};

    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        plot_series(plot, names[i], NULL, &looks[i]);
    plot_axis(plot, "x", "N of a product N x N x N, fp16, operands in the L2", 2);
    plot_axis(plot, "y", "TFLOP/s", 0);
    fputs("set yrange [0:*]\n", plot->set);
}

/* --- fusion ----------------------------------------------------------------------------------- */

/* The value of a series at that x; 0: it has none. */
static double at_rank(const struct plot *plot, const char *name, double x)
{
    const struct series *series = section_find(plot->section, name);

    for (size_t i = 0; series && i < series->n; i++)
        if (series->point[i].x == x && number_there(&series->point[i].y))
            return series->point[i].y.value;
    return 0;
}

void plot_fusion(struct plot *plot)
{
    const struct plot_look gain = {"memory", DOT, 0, 1, 1, "measured", true};
    const struct plot_look model = {"launch", CROSS, 0, 1, 1, "model", true};
    const struct series *gains = section_find(plot->section, "gain");
    double least = 1, most = 1;
    size_t longest = 0;
    char text[48];

    for (size_t i = 0; gains && i < gains->n; i++) {
        const char *label = gains->point[i].label ? gains->point[i].label : "";
        longest = strlen(label) > longest ? strlen(label) : longest;
        least = fmin(least, gains->point[i].y.value);
        most = fmax(most, gains->point[i].y.value);
    }
    if (!gains)
        return;
    begin_rows(plot, gains->n, longest);
    plot_series(plot, "gain", NULL, &gain);
    plot_series(plot, "model", NULL, &model);
    for (size_t i = 0; i < gains->n; i++) {
        put_row_name(plot, i, gains->point[i].label);
        put_label(plot, fmax(gains->point[i].y.value, at_rank(plot, "model", gains->point[i].x)),
                  gains->point[i].x, number_cell(text, sizeof text, &gains->point[i].y, ""),
                  "left offset character 0.9,0");
    }
    fprintf(plot->set,
            "set logscale x 2\nset xrange [%.9g:%.9g]\nset xtics (0.125, 0.25, 0.5, 1, 2, 4, 8, "
            "16, 32)\n",
            least / 1.3, most * 2.5);
    plot_axis(plot, "x", "times as fast as apart", 0);
    fprintf(plot->set,
            "set object rectangle from graph 0, graph 0 to first 1, graph 1 behind fc rgb "
            "'%s' fs solid noborder\n"
            "set arrow from first 1, graph 0 to first 1, graph 1 nohead back lc rgb '%s' "
            "lw 1.2\n"
            "set key at screen 0.5, screen 0.99 center top horizontal samplen 0 width 0\n",
            chart_colour("band"), chart_colour("rule"));
}

/* --- decode ----------------------------------------------------------------------------------- */

void plot_decode(struct plot *plot)
{
    const double y = number_scale("ns", "us");
    const struct plot_look looks[] = {{"secondary", 0, DASHED, 1, y, "a read of the cache", false},
                                      {"memory", DOT, SOLID, 1, y, "bf16", false},
                                      {"synchronise", DIAMOND, 0, 1, y, "fp8", false},
                                      {"host", SQUARE, 0, 1, y, "int8", false},
                                      {"launch", CIRCLE, 0, 1, y, "FlashAttention, quoted", false},
                                      {"library", CIRCLE, 0, 1, y, "cuDNN, quoted", false}};
    static const char *const names[] = {"a read of the cache", "one query, bf16", "one query, fp8",
                                        "one query, int8",     "FlashAttention",  "cuDNN"};

    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        plot_series(plot, names[i], NULL, &looks[i]);
    plot_axis(plot, "x", "keys", 2);
    plot_axis(plot, "y", "\u00b5s for one query", 10);
    fputs("set yrange [*:*] noextend\nset rmargin 3\n", plot->set);
}

/* --- between GPUs ----------------------------------------------------------------------------- */

/* A logarithmic axis from a little below the least point of the lines to a little above the
 * most. */
static void put_range(struct plot *plot, char axis, const struct plot_look *looks, size_t n)
{
    double least = INFINITY, most = 0;

    for (size_t k = 0; k < n; k++) {
        const struct series *series = section_find(plot->section, looks[k].name);
        for (size_t i = 0; series && i < series->n; i++) {
            const struct point *point = &series->point[i];
            const double at = axis == 'x' ? point->x * looks[k].x : point->y.value * looks[k].y;
            least = at > 0 ? fmin(least, at) : least;
            most = fmax(most, at);
        }
    }
    if (most > 0)
        fprintf(plot->set, "set %crange [%.9g:%.9g]\n", axis, least / 1.2, most * 1.2);
}

void plot_sums(struct plot *plot)
{
    const double y = number_scale("ns", "us");
    enum { LOOKS = 6 };
    const struct plot_look looks[LOOKS] = {
        {"library", SQUARE, SOLID, 1, y, "NCCL", false},
        {"library", CIRCLE, DASHED, 1, y, "NCCL, symmetric", false},
        {"launch", DIAMOND, SOLID, 1, y, "two shots", false},
        {"memory", DOT, SOLID, 1, y, "one shot", false},
        {"memory", CIRCLE, DASHED, 1, y, "one shot, early start", false},
        {"synchronise", CIRCLE, SOLID, 1, y, "in a kernel", false}};

    for (size_t i = 0; i < LOOKS; i++)
        plot_series(plot, looks[i].name, NULL, &looks[i]);
    if (plot->n_drawn == 0)
        return;
    plot_axis(plot, "x", "bytes of bf16 that are added", 2);
    plot_axis(plot, "y", "\u00b5s for one all-reduce", 10);
    put_byte_tics(plot, 1, 4);
    put_range(plot, 'x', looks, LOOKS);
    put_range(plot, 'y', looks, LOOKS);
    fputs("set rmargin 3\n", plot->set);
}

void plot_copies(struct plot *plot)
{
    const double y = number_scale("bytes/s", "GB/s"), links = summary_links(plot->summary);
    enum { LOOKS = 4 };
    const struct plot_look looks[LOOKS] = {{"library", SQUARE, SOLID, 1, y, "copy engine", false},
                                           {"launch", DIAMOND, SOLID, 1, y, "bulk copies", false},
                                           {"synchronise", CIRCLE, SOLID, 1, y, "stores", false},
                                           {"memory", DOT, SOLID, 1, y, "loads", false}};

    for (size_t i = 0; i < LOOKS; i++)
        plot_series(plot, looks[i].name, NULL, &looks[i]);
    if (plot->n_drawn == 0)
        return;
    plot_axis(plot, "x", "bytes of a copy in one direction", 2);
    plot_axis(plot, "y", "GB/s", 0);
    put_byte_tics(plot, 1, 4);
    put_range(plot, 'x', looks, LOOKS);
    fputs("set yrange [0:*]\nset rmargin 3\n", plot->set);
    if (!isfinite(links))
        return;
    put_level(plot, links * y, "links, headers included", DOTTED);
    fprintf(plot->set, "set yrange [0:%.9g]\n", 1.12 * links * y);
}

/* --- two boards ------------------------------------------------------------------------------- */

/* Lines at the ratios of chip and pins, named above the plot; one where they are alike. */
static void put_factors(struct plot *plot)
{
    const struct series *factors = section_find(plot->section, BOARDS_FACTORS);
    char said[48];
    double before = 0;

    for (size_t i = 0; factors && i < factors->n; i++) {
        const struct number *is = &factors->point[i].y;
        const bool is_alike = before > 0 && fabs(log(is->value / before)) < log(1.05);
        if (!(is->value > 0) || is_alike)
            continue;
        put_upright(plot, is->value, "", false);
        fputs("set label ", plot->set);
        snprintf(said, sizeof said, "%s %.3g", factors->point[i].label, is->value);
        plot_text(plot->set, said);
        fprintf(plot->set,
                " at first %.9g, graph 1 %s offset character 0,0.6 textcolor rgb '%s' font ',7'\n",
                is->value, is->value < before || before == 0 ? "right" : "left",
                chart_colour("secondary"));
        before = is->value;
    }
}

/* The names of a class' rows, and the ratios beside its marks. */
static void name_ratios(struct plot *plot, const struct series *series, bool is_first)
{
    char text[48];

    for (size_t i = 0; series && i < series->n; i++) {
        const struct point *point = &series->point[i];
        fputs(is_first && i == 0 ? "set ytics (" : "set ytics add (", plot->set);
        plot_text(plot->set, point->label);
        fprintf(plot->set, " %.0f)\n", point->x);
        put_label(plot, fmax(point->y.value, point->y.high), point->x,
                  number_cell(text, sizeof text, &point->y, "x"), "left offset character 0.9,0");
    }
}

/* The range of a class' ratios, and its longest name. */
static void span(const struct series *series, double *least, double *most, size_t *longest)
{
    for (size_t i = 0; series && i < series->n; i++) {
        const size_t length = strlen(series->point[i].label);
        *longest = length > *longest ? length : *longest;
        *least = fmin(*least, series->point[i].y.value);
        *most = fmax(*most, series->point[i].y.value);
    }
}

void plot_ratio(struct plot *plot)
{
    static const struct plot_look looks[] = {
        {"ink", DOT, 0, 1, 1, BOARDS_CHIP, true},
        {"memory", SQUARE, 0, 1, 1, BOARDS_PINS, true},
        {"synchronise", TRIANGLE, 0, 1, 1, BOARDS_L2, true},
        {"library", SQUARE, 0, 1, 1, BOARDS_LINKS, true},
        {"ink", CIRCLE, 0, 1, 1, BOARDS_ALIKE, true},
        {"secondary", CIRCLE, 0, 1, 1, BOARDS_TWO, true},
        {"launch", DIAMOND, 0, 1, 1, BOARDS_NOT, true}};
    enum { LOOKS = sizeof looks / sizeof looks[0] };
    const struct series *of[LOOKS];
    double least = 0.9, most = 1.1;
    size_t longest = 0, n = 0;

    for (size_t k = 0; k < LOOKS; k++) {
        of[k] = section_find(plot->section, looks[k].name);
        span(of[k], &least, &most, &longest);
        name_ratios(plot, of[k], n == 0);
        n += of[k] ? of[k]->n : 0;
    }
    if (n == 0)
        return;
    begin_rows(plot, n, longest);
    for (size_t k = 0; k < LOOKS; k++)
        plot_series(plot, looks[k].name, NULL, &looks[k]);
    fprintf(plot->set,
            "set logscale x 2\nset xrange [%.9g:%.9g]\nset xtics (0.1, 0.2, 0.3, 0.5, 0.7, 1, "
            "1.4, 2, 3, 5, 10)\n",
            least / 1.05, most * 1.25);
    plot_axis(plot, "x", "how many times as good B is as A", 0);
    put_factors(plot);
    fprintf(plot->set,
            "set tmargin 5\nset arrow from first 1, graph 0 to first 1, graph 1 nohead back lc rgb "
            "'%s' lw 1.2\n"
            "set key at screen 0.5, screen 0.99 center top horizontal samplen 0 width 0\n",
            chart_colour("rule"));
}
