/* Where a bundle's figures come from: its machine, software and runs, and which were measured elsewhere. */
#ifndef REPORT_CLI_ORIGIN_H
#define REPORT_CLI_ORIGIN_H

#include "report/bundle/bundle.h"
#include "report/cli/table.h"

/* One paragraph, without the line's end. With a name in front it is an entry of a list; without, as
 * text, what was measured elsewhere begins a line of its own. */
void origin_print(FILE *out, const struct bundle *bundle, const char *name,
                  enum table_format format);

#endif
