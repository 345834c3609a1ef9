/* All metric ids that the report knows by name: of the ledger, the headline, the table of quality and
 * the derived figures. */
#ifndef REPORT_CLI_NEEDS_H
#define REPORT_CLI_NEEDS_H

#include <stdio.h>

/* One glob a line, sorted; behind a tab who wants it. */
void needs_print(FILE *out);

#endif
