/* A bundle as tables. */
#ifndef REPORT_CLI_REPORT_H
#define REPORT_CLI_REPORT_H

#include "report/bundle/bundle.h"
#include "report/cli/table.h"

/* The headline rows (report/cli/headline.c) of several bundles side by side. */
void report_headline(FILE *out, const struct bundle *const bundles[], size_t n,
                     enum table_format format);

/* Prints everything: the headline, a table per probe, what was not measured and why. glob selects
 * metrics (NULL: all, with the headline). False if it matches none. */
bool report_whole(FILE *out, const struct bundle *const bundles[], size_t n,
                  enum table_format format, const char *glob);

/* Prints the cells of a map metric as tab-separated values: a line per row, its position first. In
 * a folder, the newest bundle that has the map is used. False, with one line in why. */
bool report_map(FILE *out, const char *path, const char *id, char why[DOCUMENT_WHY]);

/* Prints errors, memory, bits and faults of every fused kernel (report/cli/quality.c) in two
 * tables. False if the bundle has none. */
bool report_quality(FILE *out, const struct bundle *bundle, enum table_format format);

/* A row's centre with its spread, for a person: "32.1 cycles ±0.3 %". Returns text. */
char *report_value(char *text, size_t size, const struct row *row);

/* The i-th of the metrics that report_quality() takes (report/bundle/needs.h); NULL past the last
 * one. */
const char *report_quality_need(size_t i);

#endif
