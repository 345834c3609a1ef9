/* Where a bundle's figures come from: its machine, software and runs, and which were measured
 * elsewhere. */
#ifndef REPORT_CLI_ORIGIN_H
#define REPORT_CLI_ORIGIN_H

#include "report/bundle/bundle.h"
#include "report/cli/table.h"

/* Prints one paragraph without a line end. With a name it is an entry of a list. Without one it is
 * text, in which figures measured elsewhere start a line of their own. */
void origin_print(FILE *out, const struct bundle *bundle, const char *name,
                  enum table_format format);

#endif
