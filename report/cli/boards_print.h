/* Several bundles side by side, and published figures beside ours: as text, Markdown, JSON. */
#ifndef REPORT_CLI_BOARDS_PRINT_H
#define REPORT_CLI_BOARDS_PRINT_H

#include <stdio.h>

#include "report/bundle/bundle.h"
#include "report/cli/table.h"
#include "report/page/boards.h"

/* Each board over the first, and what explains it (report/page/boards.h). At most BOARDS_MOST. The
 * bundles' counted figures are read. False, with one line in why. */
bool boards_print(FILE *out, struct bundle *bundles, size_t n, enum table_format format,
                  char why[DOCUMENT_WHY]);

/* The figures of others (report/page/published.h) beside those of the bundles. */
bool boards_published(FILE *out, struct bundle *bundles, size_t n, enum table_format format,
                      char why[DOCUMENT_WHY]);

/* Where two boards are written to: a page, a folder of its figures, of LaTeX, of figures for
 * papers; NULL: not that. */
struct boards_files {
    const char *html, *figures, *tex, *plots;
};

/* Writes what is asked for of two bundles. `results` is the folder of all boards' committed
 * results. False, with one line in why. */
bool boards_write(struct bundle bundles[2], const char *results, const struct boards_files *files,
                  char why[DOCUMENT_WHY]);

#endif
