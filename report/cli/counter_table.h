/* `gpufloor counters`: counters.c measures and writes the document, counter_table.c prints it. */
#ifndef REPORT_CLI_COUNTER_TABLE_H
#define REPORT_CLI_COUNTER_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/document.h"
#include "report/cli/counter_figures.h"
#include "report/cli/table.h"

/* One probe of the document, for a person. */
void counter_table_show(FILE *out, const json_t *probe);

/* Whether a file begins as such a document does; prints all of one, or says why not. */
bool counter_table_is_for(const char *path);
bool counter_table_report(FILE *out, const char *path, char why[DOCUMENT_WHY]);

#endif
