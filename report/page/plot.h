/* A report's figures for papers: the points as tab-separated values, and a script of gnuplot 5.4
 * that draws them into a PDF of one column's width. Every number is one of a section or of the
 * summary. */
#ifndef REPORT_PAGE_PLOT_H
#define REPORT_PAGE_PLOT_H

#include <stdio.h>

#include "report/page/section.h"

struct plot;
struct evidence;

/* The i-th figure, or NULL past the last one. */
struct plot_entry {
    const char *name;    /* of its files: "curve" */
    const char *section; /* that has its points */
    void (*draw)(struct plot *plot);
    double height_cm;
};
const struct plot_entry *plot_at(size_t i);

/* Writes NAME.tsv to `data` and NAME.gp to `script`. Without points the script says why there is no
 * figure. `second` is the other board of a section of two, else NULL. False: memory is short. */
bool emit_plot(FILE *data, FILE *script, const struct plot_entry *entry,
               const struct summary *summary, const struct summary *second,
               const struct section *section);

/* --- for figures ------------------------------------------------------------------------------ */

/* The data have columns id, x, centre, low, high, label, series; each series is a block
 * (`index`). */
struct plot {
    FILE *data, *set, *draw; /* the points; settings of the script; what it plots */
    const struct plot_entry *entry;
    const struct summary *summary;
    const struct section *section;
    struct evidence *evidence; /* one; of two boards two */
    size_t n_evidence;
    int n_blocks, n_drawn;
};

/* Text of a script: in quotes, on one line, "us" after a number as microseconds. */
void plot_text(FILE *out, const char *text);

/* How a series is drawn: its values times x and y; mark and line are gnuplot's point and dash
 * types, 0: none. Of a dot plot y is the rank and x the value. */
struct plot_look {
    const char *colour; /* of chart_colour() */
    int mark, line;
    double x, y;
    const char *name; /* in the key; NULL: not there */
    bool is_ranked;
};

/* Puts the points of a series, by x, as a block; of `prefix`, unless NULL, only those whose label
 * begins so, and draws them with their intervals. Returns the block; -1: there are none. */
int plot_series(struct plot *plot, const char *series, const char *prefix,
                const struct plot_look *look);

/* Puts a point of a block that a figure makes from a table. The first of a block has the x 0. */
void plot_point(struct plot *plot, const char *series, double x, const struct number *number,
                const char *label);
int plot_block(struct plot *plot);
void plot_draw(struct plot *plot, int block, const struct plot_look *look, bool has_interval);

/* One more thing that is plotted; the caller writes it to plot->draw. */
void plot_next(struct plot *plot);

/* Axes: a title above the left end, ticks on a logarithmic axis where they are said. */
void plot_axis(struct plot *plot, const char *axis, const char *title, int log_base);

extern void plot_curve(struct plot *plot), plot_flight(struct plot *plot),
    plot_ladder(struct plot *plot), plot_blocks(struct plot *plot), plot_waves(struct plot *plot),
    plot_sizes(struct plot *plot), plot_fusion(struct plot *plot), plot_decode(struct plot *plot),
    plot_sums(struct plot *plot), plot_copies(struct plot *plot), plot_ratio(struct plot *plot);

#endif
