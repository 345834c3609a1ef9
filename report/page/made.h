/* The files that the report makes: a page, figures, LaTeX. They take the place of what is there,
 * but never that of a bundle, whose name stands on the same command line. */
#ifndef REPORT_PAGE_MADE_H
#define REPORT_PAGE_MADE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/document.h"

/* Opens it for writing, empty. NULL, with one line in why: it cannot be written, or it is there and
 * holds JSON, as bundles do. */
FILE *made_open(const char *path, char why[DOCUMENT_WHY]);

/* False, with one line in why: not all of it was written. What a full disk keeps back is seen
 * here. */
bool made_close(FILE *out, const char *path, char why[DOCUMENT_WHY]);

/* Makes the folder, which may be there already. */
bool made_folder(const char *folder, char why[DOCUMENT_WHY]);

/* Is this a bundle or another document of gpufloor's, or a folder that holds one? Then it was meant
 * to be read. */
bool made_of_bundles(const char *path);

#endif
