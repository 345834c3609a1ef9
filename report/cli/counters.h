/* `gpufloor counters`: counters.c measures and writes the document, counters_show.c prints it. */
#ifndef REPORT_CLI_COUNTERS_H
#define REPORT_CLI_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/document.h"
#include "report/cli/counted.h"
#include "report/cli/table.h"

/* One probe of the document, for a person. */
void counters_show(FILE *out, const json_t *probe);

/* Whether a file begins as such a document does; prints all of one, or says why not. */
bool counters_are_in(const char *path);
bool counters_report(FILE *out, const char *path, char why[DOCUMENT_WHY]);

#endif
