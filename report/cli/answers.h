/* The report of one bundle as answers: the sections of report/page/ in order. */
#ifndef REPORT_CLI_ANSWERS_H
#define REPORT_CLI_ANSWERS_H

#include <jansson.h>
#include <stdio.h>

#include "report/bundle/bundle.h"
#include "report/cli/suggest.h"
#include "report/cli/table.h"
#include "report/page/summary.h"

enum answers {
    ANSWERS_ALL,  /* every section */
    ANSWERS_HEAD, /* the head and the first section */
    ANSWERS_ONE,  /* one section, or some, with interval, status and id of every number */
    ANSWERS_SHORT, /* ten numbers, the small product, the claims; in Markdown only */
};

/* Prints them as text, Markdown or JSON. `section` is the name of ANSWERS_ONE, or several,
 * "small,sizes", and known. `results` is the folder of all boards' committed results. False: out of
 * memory. */
bool answers_print(FILE *out, const struct bundle *bundle, const char *results,
                   enum answers answers, const char *section, enum table_format format);

/* Completes a summary of a bundle with the committed results of its board, if there are any and
 * they are not the bundle. True: `committed` is open, and the caller closes it. */
bool answers_committed(struct summary *summary, struct bundle *committed);

/* Is the bundle the folder of its board's committed results? */
bool answers_is_committed(const struct bundle *bundle, const char *results);

/* Writes the answers as one HTML file, and the figures of that page as files of a folder. False,
 * with one line in why. */
bool answers_page(const char *path, const struct bundle *bundle, const char *results,
                  char why[DOCUMENT_WHY]);
bool answers_figures(const char *folder, const struct bundle *bundle, const char *results,
                     char why[DOCUMENT_WHY]);

bool answers_known(const char *section);

/* Is a name one of "small,sizes"? */
bool answers_is_among(const char *sections, const char *name);
void answers_near(struct suggest *near);

/* What a bundle is, for documents that are made of it: name, board, path, date, commit, rounds. */
json_t *answers_bundle_json(const struct bundle *bundle);

/* All names, separated by blanks. */
char *answers_names(char *text, size_t size);

#endif
