/* All metric ids that the report knows by name, for the ledger, the headline, the report's
 * sections, the table of quality and the derived figures. */
#ifndef REPORT_CLI_NEEDS_H
#define REPORT_CLI_NEEDS_H

#include <stdio.h>

/* Prints one glob per line, sorted; after a tab, who needs it. */
void needs_print(FILE *out);

#endif
