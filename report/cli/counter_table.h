/* The tables of `gpufloor counters`. counters.c measures and writes the document, this prints
 * it. */
#ifndef REPORT_CLI_COUNTER_TABLE_H
#define REPORT_CLI_COUNTER_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/document.h"
#include "report/cli/counter_figures.h"
#include "report/cli/table.h"

/* Prints one probe of the document for a person. */
void counter_table_show(FILE *out, const json_t *probe);

/* Does a file begin as such a document does? If so, prints all of it, or says why it cannot. */
bool counter_table_is_for(const char *path);
bool counter_table_report(FILE *out, const char *path, char why[DOCUMENT_WHY]);

#endif
