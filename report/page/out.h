/* The one way by which text leaves this program. A bundle, a document of counters, what a program
 * prints, the name of a board or of a file: all are untrusted. What no reader sees, or what changes
 * how other text is seen, becomes a visible number (report/chart/character.h). What the format
 * itself would take for markup is escaped. JSON leaves by document_print(), and takes text that is
 * no document's own by out_json(). */
#ifndef REPORT_PAGE_OUT_H
#define REPORT_PAGE_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum out_format {
    OUT_TEXT,   /* a terminal */
    OUT_TSV,    /* a cell: a backslash is doubled, so that all can be read back */
    OUT_DATA,   /* the same, for gnuplot, which takes quotes for its own */
    OUT_QUOTED, /* between single quotes of gnuplot */
    OUT_MD,     /* a paragraph or a cell; at its start no list and no heading begins */
    OUT_HTML,   /* and SVG: between elements and in attributes */
    OUT_TEX,    /* LaTeX and BibTeX, without the signs of a paper: see tex_put() */
};

void out_put(FILE *out, const char *text, enum out_format format);
void out_bytes(FILE *out, const char *text, size_t n, enum out_format format);

/* What printf() would write, let out as a whole; a line end at its very end remains. */
void out_printf(FILE *out, enum out_format format, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* The same to stderr as text: what is wrong. */
void out_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Any text as a string of JSON; null for NULL. Where it is no valid UTF-8, like the name of a file
 * or what was cut within a character, it is written as on a terminal. */
json_t *out_json(const char *text);

/* Prints a document and a line end, and releases it. False without one: memory is short. */
bool out_document(FILE *out, json_t *document, size_t flags);

/* Columns that n bytes take on a screen once they are let out. */
size_t out_width(const char *text, size_t n);

/* In place: every byte that is not printable ASCII becomes a number. For what goes on into a
 * document, which takes valid text only, and may be cut at any byte before. What no longer fits is
 * lost. */
void out_ascii(char *text, size_t size);

#endif
