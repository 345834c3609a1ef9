/* Many bundles of one board in the order of their dates: what became of a number. */
#ifndef REPORT_CLI_TREND_H
#define REPORT_CLI_TREND_H

#include "core/document.h"
#include "report/cli/table.h"

/* Prints the bundles of a folder, and how each named number of the summary went (glob: each metric
 * whose id matches; of a single one, each bundle's value). Text and Markdown have at most
 * TREND_LINES lines, TSV has all values. False, with one line in why, when a bundle cannot be read,
 * when the bundles are of several boards, and when no metric matches. */
enum { TREND_LINES = 45 };
bool trend_print(FILE *out, const char *folder, const char *glob, enum table_format format,
                 char why[DOCUMENT_WHY]);

#endif
