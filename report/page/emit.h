/* The emitters: a report, which is a list of sections, as text, as Markdown, as JSON. Text
 * leaves them by report/page/out.h. */
#ifndef REPORT_PAGE_EMIT_H
#define REPORT_PAGE_EMIT_H

#include <jansson.h>
#include <stdio.h>

#include "report/page/section.h"

/* How text is printed. */
struct text_style {
    size_t width; /* columns, 80 at least */
    bool utf8;    /* false: blocks of a curve and other characters become ASCII */
};

/* 100 columns, or those of the terminal that `out` is, between 80 and 100; UTF-8 as LC_ALL,
 * LC_CTYPE and LANG say. */
struct text_style text_style_of(FILE *out);

/* The i-th section has the number i; the one named "verdict" is the head and has none. */
void emit_text(FILE *out, const struct section *section, size_t number,
               const struct text_style *style);

/* Each number of a section: value, interval, runs, status and id. */
void emit_text_cells(FILE *out, const struct section *section, const struct text_style *style);

void emit_markdown(FILE *out, const struct section *section, size_t number);
void emit_markdown_cells(FILE *out, const struct section *section);

/* A README's part: a table with the board as its heading, paragraphs, a list. */
void emit_markdown_short(FILE *out, const struct section *section);

/* An object; results/schema/report.schema.json describes it. */
json_t *emit_json(const struct section *section, size_t number);

/* --- shared by the emitters ------------------------------------------------------------------- */

/* The text of a cell, without a bar's or a ladder's drawing: "4.63", "-", "5.27\u2020", "514*". */
char *emit_cell(char *text, size_t size, const struct column *column, const struct cell *cell);

/* Both lines of a column's heading as one: "one dependent load, ns". */
char *emit_heading(char *text, size_t size, const struct grid *grid, size_t column);

/* What a cell's row is called: its texts before the first number, joined by blanks. */
char *emit_row_name(char *text, size_t size, const struct grid *grid, size_t row);

/* The same for evidence, where no heading stands above a column: "near, weights, us". */
char *emit_column(char *text, size_t size, const struct grid *grid, size_t column);

/* A number as a line of evidence: "16.2 ns, 16.2 to 16.2, 7 runs, stale". It is in the unit of its
 * column, `shown`, if that is not NULL. */
char *emit_evidence(char *text, size_t size, const struct number *number, const char *shown);

/* Where a point of a series lies: "N = 3072", "128 blocks (64x64)", "part = 2 (attention)". */
char *emit_place(char *text, size_t size, const struct series *series, const struct point *point);

/* The unit that the name of a series ends with, "load, ns"; NULL: with none of its points' unit. */
const char *emit_series_unit(const struct series *series, const struct number *number);

/* The cell of a table at a place, or NULL. */
const struct cell *grid_at(const struct grid *grid, size_t row, size_t column);
size_t grid_rows(const struct grid *grid);

#endif
