/* The page: all sections of one report, built once, as one HTML file or as its figures. html*.c
 * print it, figures*.c draw from its sections' numbers. */
#ifndef REPORT_PAGE_PAGE_H
#define REPORT_PAGE_PAGE_H

#include <stdio.h>

#include "report/chart/chart.h"
#include "report/claims/telling.h"
#include "report/page/boards.h"

enum { PAGE_SECTIONS = 24, PAGE_ANCHOR = 400 };

struct page {
    const struct summary *summary; /* of two boards: of the first */
    const struct boards *boards;   /* what a page of two boards is of; or NULL */
    struct section section[PAGE_SECTIONS]; /* in order; the first is the head, "verdict" */
    size_t n_sections;
    struct tellings claims;
    struct page_row *row; /* each row that a section shows, section after section */
    size_t n_rows, rows_room;
};

/* A row that a section shows: once, however many of its cells rest on it. */
struct page_row {
    size_t section;
    const struct number *number;
    const char *what; /* the cell that shows it: "HBM, one dependent load, ns" */
    char *anchor;     /* its id in the page; that of a row shown before begins with the section */
};

/* False when memory is short. */
bool page_open(struct page *page, const struct summary *summary);

/* The sections of two boards side by side, without ledgers. */
void page_open_boards(struct page *page, const struct boards *boards);
void page_free(struct page *page);

const struct section *page_section(const struct page *page, const char *name);

/* Where the row of a number stands among a section's rows; NULL: it has none. */
const char *page_anchor(const struct page *page, const struct section *section,
                        const struct number *number);

/* --- figures ---------------------------------------------------------------------------------- */

/* One figure as it is drawn. `title` is for a figure that is not what its section's finding tells.
 * */
struct drawing {
    const struct page *page;
    const struct section *section;
    FILE *out;
    enum chart_width width;
    bool standalone;
    struct section texts;    /* of labels, until the figure is drawn */
    const char *title, *how; /* how: one sentence, how to read it */
};

/* Draws one figure; false, and nothing is written, where the bundle has no rows of it. */
typedef bool figure_builder(struct drawing *drawing);

struct page_figure {
    const char *name;    /* of its file: "ladder" */
    const char *section; /* below whose finding it stands */
    figure_builder *draw;
};

/* The i-th figure in the order of the page, or NULL past the last one. */
const struct page_figure *figure_at(size_t i);

/* Draws a figure into a new text, which the caller frees; NULL: there are no rows of it. Title and
 * how are static or the section's. */
char *figure_draw(const struct page *page, const struct page_figure *figure, enum chart_width width,
                  bool standalone, char title[200], char how[600]);

figure_builder figure_levels, figure_curve, figure_flight, figure_ladder, figure_blocks,
    figure_time, figure_waves, figure_sizes, figure_fusion, figure_decode, figure_weights,
    figure_layer, figure_sums, figure_copies, figure_claims, figure_trust, figure_ratio;

/* --- for builders of figures ------------------------------------------------------------------ */

#define DRAW_TEXT(drawing, ...) section_text(&(drawing)->texts, __VA_ARGS__)

/* "NAME: 16.2 ns": what a mark says of itself. */
const char *draw_tip(struct drawing *drawing, const char *name, const struct number *number);
const char *draw_three(struct drawing *drawing, double value); /* with three digits */
const char *draw_say(struct drawing *drawing, const struct number *number);
const char *draw_anchor(const struct drawing *drawing, const struct number *number);

/* The number of a row's column; none where the cell holds none. */
struct number draw_cell(const struct grid *grid, size_t row, size_t column);

/* Its text, as a table shows it. */
const char *draw_cell_text(struct drawing *drawing, const struct grid *grid, size_t row,
                           size_t column);

/* The points of a series by x, at most `most`; y in the unit `shown`, x times x_factor. A NULL
 * series has none. */
size_t draw_points(struct drawing *drawing, const struct series *series, double x_factor,
                   const char *shown, struct chart_point *points, size_t most);

#endif
