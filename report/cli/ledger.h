/* How the ledger is printed. */
#ifndef REPORT_CLI_LEDGER_H
#define REPORT_CLI_LEDGER_H

#include <stdio.h>

#include "report/claims/telling.h"
#include "report/cli/elsewhere.h"
#include "report/cli/table.h"

/* For readers: totals, the table by article, a sentence for each claim, the index of what cannot be
 * told. `t` may have been kept to one verdict: then `only` is that one. */
enum { LEDGER_ALL = -1 };
void ledger_text(FILE *out, const struct bundle *bundle, const struct tellings *t, int only);

/* All of each claim: quote, figures, parts, controls, rule, dates, other boards. */
void ledger_details(FILE *out, const struct bundle *bundle, const struct tellings *t,
                    const struct elsewhere *elsewhere, enum table_format format);

void ledger_json(FILE *out, const struct bundle *bundle, const struct tellings *t,
                 const struct elsewhere *elsewhere);

/* The quotes that contain a text, in any case, with what is found of them. False: none does. */
bool ledger_search(FILE *out, const struct bundle *bundle, const char *text);

/* Several bundles side by side: claims whose words differ, then the totals of each. False when
 * memory is short. */
bool ledger_compare(FILE *out, const struct bundle *bundles, size_t n, const char *glob);

/* The table of words by article, and the machine with what was counted; both for several kinds. */
void ledger_totals(FILE *out, const struct tellings *t, enum table_format format);
void ledger_head(FILE *out, const struct bundle *bundle, enum table_format format);

#endif
