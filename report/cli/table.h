/* One table model, three ways to print it: aligned text, Markdown, tab-separated values.
 *
 * Cells are text, let out by report/page/out.h: names in a bundle are untrusted, and must neither
 * break a table nor speak to a terminal. */
#ifndef REPORT_CLI_TABLE_H
#define REPORT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/page/out.h"

enum table_format { TABLE_TEXT, TABLE_MD, TABLE_TSV, TABLE_JSON };

/* A name stands in Markdown between backticks; what is markup was written by this program. */
enum table_kind { TABLE_PLAIN, TABLE_NAME, TABLE_MARKUP };

struct table_cell {
    char *text;
    enum table_kind kind;
};

struct table {
    struct table_cell *cells; /* row after row; the first row is the heading */
    size_t n_columns, n_cells, room;
    char align[32]; /* 'l' or 'r' a column */
};

/* A table of strlen(align) columns, "lrr"; headings then follow as the first row's cells. */
struct table table_new(const char *align);

/* Appends one cell; rows fill from left to right. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void table_name(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_markup(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a number: at least six significant digits, "-" for NaN. */
void table_number(struct table *table, double value);

/* Prints the table and releases it. TSV has no title. An empty table (headings only) is printed in
 * TSV alone. */
void table_print(FILE *out, struct table *table, enum table_format format, const char *title);

/* Reads "text", "md", "tsv" or "json"; false for anything else. */
bool table_format_read(const char *name, enum table_format *format);

/* Lets text out in a format. */
enum out_format table_out(enum table_format format);
void table_put(FILE *out, const char *text, enum table_format format);

/* Prints a paragraph that begins in column `at`, with further lines indented by `indent` blanks.
 * Lines are broken at blanks and end before column TABLE_WIDTH, or that of a narrower terminal; a
 * longer word is kept whole. */
enum { TABLE_WIDTH = 100 };
void table_wrap(FILE *out, const char *text, size_t at, size_t indent);

#endif
