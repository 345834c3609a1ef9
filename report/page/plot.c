/* What all figures for papers share: files, blocks of points, colours. */
#include "report/page/plot.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart/chart.h"
#include "report/page/evidence.h"
#include "report/page/out.h"

const struct plot_entry *plot_at(size_t i)
{
    static const struct plot_entry entries[] = {
        {"curve", "curve", plot_curve, 5.2},    {"flight", "flight", plot_flight, 5.6},
        {"ladder", "ladder", plot_ladder, 11},  {"blocks", "small", plot_blocks, 5.8},
        {"waves", "small", plot_waves, 4.4},    {"sizes", "sizes", plot_sizes, 5.6},
        {"fusion", "fusion", plot_fusion, 7.6}, {"decode", "attention", plot_decode, 5.6},
        {"sums", "links", plot_sums, 5.8},      {"copies", "links", plot_copies, 5.6},
        {"ratio", "numbers", plot_ratio, 14},
    };
    return i < sizeof entries / sizeof entries[0] ? &entries[i] : NULL;
}

/* --- text ------------------------------------------------------------------------------------- */

/* "us" behind a number and a blank. */
static bool is_us(const char *text, const char *at)
{
    return at - text >= 2 && at[-1] == ' ' && isdigit((unsigned char)at[-2]) &&
           !strncmp(at, "us", 2) && !isalnum((unsigned char)at[2]);
}

/* Between single quotes gnuplot takes all but these as it stands. */
void plot_text(FILE *out, const char *text)
{
    const char *from = text ? text : "", *at = from;

    fputc('\'', out);
    for (; *at; at++)
        if (is_us(text, at)) {
            out_bytes(out, from, (size_t)(at - from), OUT_QUOTED);
            fputs("\u00b5", out);
            from = at + 1;
        }
    out_bytes(out, from, (size_t)(at - from), OUT_QUOTED);
    fputc('\'', out);
}

static void put_cell(FILE *out, const char *text)
{
    out_put(out, text, OUT_DATA);
}

/* A comment ends with a full stop: a backslash at its end would go on in the next line. */
static void put_comment(FILE *out, const char *text)
{
    const size_t n = strlen(text);
    fputs("# ", out);
    out_put(out, text, OUT_TEXT);
    fputs(n > 0 && text[n - 1] == '.' ? "\n" : ".\n", out);
}

/* --- points ----------------------------------------------------------------------------------- */

int plot_block(struct plot *plot)
{
    fputs(plot->n_blocks > 0 ? "\n\n" : "", plot->data);
    return plot->n_blocks++;
}

static void put_value(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "\t%.9g", value);
    else
        fputs("\tNaN", out);
}

void plot_point(struct plot *plot, const char *series, double x, const struct number *number,
                const char *label)
{
    put_cell(plot->data, number->id ? number->id : "");
    put_value(plot->data, x);
    put_value(plot->data, number->value);
    put_value(plot->data, number->low);
    put_value(plot->data, number->high);
    fputc('\t', plot->data);
    put_cell(plot->data, label);
    fputc('\t', plot->data);
    put_cell(plot->data, series);
    fputc('\n', plot->data);
    for (size_t i = 0; i < plot->n_evidence; i++)
        evidence_take(&plot->evidence[i], number);
}

static int by_x(const void *a, const void *b)
{
    const struct point *x = *(const struct point *const *)a, *y = *(const struct point *const *)b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : (x > y) - (x < y);
}

int plot_series(struct plot *plot, const char *name, const char *prefix,
                const struct plot_look *look)
{
    const struct series *series = section_find(plot->section, name);
    const struct point **sorted = series ? calloc(series->n + 1, sizeof(struct point *)) : NULL;
    bool has_interval = false;
    size_t n = 0;

    for (size_t i = 0; sorted && i < series->n; i++) {
        const struct point *point = &series->point[i];
        const char *label = point->label ? point->label : "";
        if (number_there(&point->y) && (!prefix || !strncmp(label, prefix, strlen(prefix))))
            sorted[n++] = point;
    }
    if (n == 0) {
        free(sorted);
        return -1;
    }
    qsort(sorted, n, sizeof(struct point *), by_x);
    const int block = plot_block(plot);
    for (size_t i = 0; i < n; i++) {
        plot_point(plot, name, sorted[i]->x, &sorted[i]->y, sorted[i]->label);
        has_interval = has_interval || (isfinite(sorted[i]->y.low) && isfinite(sorted[i]->y.high));
    }
    free(sorted);
    plot_draw(plot, block, look, has_interval);
    return block;
}

/* --- drawing ---------------------------------------------------------------------------------- */

void plot_next(struct plot *plot)
{
    fputs(plot->n_drawn++ > 0 ? ", \\\n     " : "plot ", plot->draw);
}

static void draw_using(struct plot *plot, int block, const struct plot_look *look, bool interval)
{
    plot_next(plot);
    fprintf(plot->draw, "'%s.tsv' skip 1 index %d using ", plot->entry->name, block);
    if (look->is_ranked)
        fprintf(plot->draw, "($3*%g):2", look->x);
    else
        fprintf(plot->draw, "($2*%g):($3*%g)", look->x, look->y);
    if (interval)
        fprintf(plot->draw, ":($4*%g):($5*%g)", look->is_ranked ? look->x : look->y,
                look->is_ranked ? look->x : look->y);
}

void plot_draw(struct plot *plot, int block, const struct plot_look *look, bool has_interval)
{
    const char *colour = chart_colour(look->colour);

    if (has_interval) {
        draw_using(plot, block, look, true);
        fprintf(plot->draw, " with %cerrorbars lc rgb '%s' lw 0.7 pt 7 ps 0 notitle",
                look->is_ranked ? 'x' : 'y', colour);
    }
    draw_using(plot, block, look, false);
    if (look->line && look->mark)
        fprintf(plot->draw, " with linespoints lc rgb '%s' lw 1.4 dt %d pt %d ps 0.35", colour,
                look->line, look->mark);
    else if (look->line)
        fprintf(plot->draw, " with lines lc rgb '%s' lw 1.4 dt %d", colour, look->line);
    else
        fprintf(plot->draw, " with points lc rgb '%s' lw 1.2 pt %d ps 0.5", colour, look->mark);
    fputs(look->name ? " title " : " notitle", plot->draw);
    if (look->name)
        plot_text(plot->draw, look->name);
}

void plot_axis(struct plot *plot, const char *axis, const char *title, int log_base)
{
    if (log_base)
        fprintf(plot->set, "set logscale %s %d\n", axis, log_base);
    fprintf(plot->set, "set %slabel ", axis);
    plot_text(plot->set, title);
    fprintf(plot->set, " textcolor rgb '%s'\n", chart_colour("secondary"));
}

/* --- the script ------------------------------------------------------------------------------- */

static void put_head(FILE *out, const struct plot *plot)
{
    const struct section *section = plot->section;
    char text[2048];

    put_comment(out, section->finding ? section->finding : section->title);
    for (size_t i = 0; i < plot->n_evidence; i++) {
        put_comment(out, plot->evidence[i].summary->bundle->name);
        put_comment(out, evidence_say(&plot->evidence[i], "In NAME.tsv without an interval:",
                                      "Quoted, and hollow:", text, sizeof text));
    }
    fprintf(out, "# gnuplot %s.gp writes %s.pdf.\n", plot->entry->name, plot->entry->name);
    fprintf(out,
            "set encoding utf8\n"
            "set terminal pdfcairo noenhanced color size 8.6cm,%gcm font 'Helvetica,8' "
            "fontscale 0.5 linewidth 1 rounded\n"
            "set output '%s.pdf'\n"
            "set datafile separator tab\nset datafile commentschars ''\n",
            plot->entry->height_cm, plot->entry->name);
    fprintf(out,
            "set border 0\nset tics nomirror scale 0 textcolor rgb '%s'\n"
            "set grid y back lc rgb '%s' lw 0.8 dt 1\n"
            "set key above reverse Left maxrows 2 samplen 1.5 width 1 textcolor rgb '%s'\n",
            chart_colour("ink"), chart_colour("grid"), chart_colour("ink"));
}

/* "print" writes to the terminal: without points there is no figure. */
static void put_none(FILE *out, const struct plot *plot)
{
    fprintf(out, "print ");
    plot_text(out, plot->section->missing ? plot->section->missing
                                          : "not measured: no point of it is in this bundle");
    fputc('\n', out);
}

bool emit_plot(FILE *data, FILE *script, const struct plot_entry *entry,
               const struct summary *summary, const struct summary *second,
               const struct section *section)
{
    char *set = NULL, *draw = NULL;
    size_t n_set = 0, n_draw = 0;
    struct evidence evidence[2] = {evidence_new(summary), evidence_new(second)};
    struct plot plot = {.data = data,
                        .set = open_memstream(&set, &n_set),
                        .draw = open_memstream(&draw, &n_draw),
                        .entry = entry,
                        .summary = summary,
                        .section = section,
                        .evidence = evidence,
                        .n_evidence = second ? 2 : 1};
    bool fine = plot.set && plot.draw;

    fputs("id\tx\tcentre\tlow\thigh\tlabel\tseries\n", data);
    if (fine && !section->missing)
        entry->draw(&plot);
    fine = (!plot.set || fclose(plot.set) == 0) && fine;
    fine = (!plot.draw || fclose(plot.draw) == 0) && fine;
    if (fine && plot.n_drawn > 0) {
        put_head(script, &plot);
        fprintf(script, "%s%s\n", set, draw);
    } else if (fine) {
        put_none(script, &plot);
    }
    free(set);
    free(draw);
    return fine;
}
