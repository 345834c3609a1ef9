/* The page as HTML: one file without scripts and without requests. */
#ifndef REPORT_PAGE_HTML_H
#define REPORT_PAGE_HTML_H

#include "report/page/page.h"

/* Prints the page of a bundle. False: memory was short. */
bool html_print(FILE *out, const struct summary *summary);

/* Prints the page of two boards. `folder` is where it will lie: a board's page beside it is linked.
 * The claims take the bundles' counted figures. */
bool html_print_boards(FILE *out, const struct boards *boards, const char *folder);

/* Writes each figure that the bundle has rows of as DIR/NAME.svg: wide and light. Makes the folder.
 * False, with one line in why. */
bool html_figures(const struct summary *summary, const char *folder, char why[DOCUMENT_WHY]);
bool html_figures_boards(const struct boards *boards, const char *folder, char why[DOCUMENT_WHY]);

/* --- shared by html*.c ------------------------------------------------------------------------ */

/* All text goes through these: escaped; in prose "^3" becomes a small 3, and "+-" its sign. */
void html_text(FILE *out, const char *text);
void html_prose(FILE *out, const char *text);

/* "LATENCY CURVE" as a name: "Latency curve". */
const char *html_name(const char *title, char *text, size_t size);

/* A heading of a part that is no section of the report: <section id=ID><h2>N TITLE</h2>. */
void html_part(FILE *out, const char *id, size_t number, const char *title);

void html_style(FILE *out);
void html_head(FILE *out, const struct page *page);
void html_tables(FILE *out, const struct section *section);
void html_rows(FILE *out, const struct page *page, size_t section);
void html_claims(FILE *out, const struct page *page);
void html_trust(FILE *out, const struct page *page, size_t number);
void html_conditions(FILE *out, const struct page *page, size_t number);
void html_cite(FILE *out, const struct page *page, size_t number);

/* What the browser's window is called, and the style; ends within <main>, before <h1>. */
void html_begin(FILE *out, const char *name);
void html_finding(FILE *out, const char *finding); /* as a heading: without a full stop */
void html_notes(FILE *out, const struct page *page, size_t section);
void html_value(FILE *out, double value, const char *unit); /* a cell of a table of rows */
const char *html_word(const char *word);                    /* the class of a claim's word */

/* Of two boards: the claims on which they differ, and the conditions of both. */
bool html_boards_claims(FILE *out, const struct page *page, const struct section *section);
void html_boards_conditions(FILE *out, const struct page *page, size_t number);

/* The figures of a section, each in both widths; the answer of the section stands below the first.
 * */
void html_section_figures(FILE *out, const struct page *page, const struct section *section);

#endif
