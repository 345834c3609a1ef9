/* Two bundles: FASTER, SLOWER, SAME or UNSURE for each metric. */
#ifndef REPORT_CLI_COMPARE_H
#define REPORT_CLI_COMPARE_H

#include <stdio.h>

#include "report/bundle/bundle.h"
#include "report/cli/history.h"

enum verdict {
    VERDICT_SAME,
    VERDICT_FASTER,
    VERDICT_SLOWER,
    VERDICT_BETTER, /* of what is no time, no cycles and no rate */
    VERDICT_WORSE,
    VERDICT_CHANGED, /* an exact metric, or one whose runs must agree, has another value */
    VERDICT_UNSURE,
    VERDICT_NEW,  /* only in the new bundle */
    VERDICT_GONE, /* only in the old bundle */
    VERDICT_NC,   /* not comparable: another method or unit, or no value to compare */
    N_VERDICTS
};
const char *verdict_name(enum verdict verdict);

struct comparison {
    const struct row *old_row, *new_row; /* NULL where there is none */
    enum verdict verdict;
    double ratio, low, high; /* new over old: of the centres, and the 95 % interval; or NaN */
    double tau;              /* what counted as the same: 1 +- tau; NaN where nothing was weighed */
    char note[80];
};

/* Of one card, before and after; of cards. */
enum question { DID_IT_MATTER, IS_IT_NORMAL };

/* Compares one metric, by the board's spread; `threshold` is the least relative difference that
 * counts. */
struct comparison compare_rows(const struct row *old_row, const struct row *new_row,
                               enum question question, const struct spread *spread,
                               double threshold);

/* "Is my card normal?": the headline's metrics and every metric that differs, in a few lines.
 * `results` is the folder of all boards' committed bundles. */
void compare_normal(FILE *out, const struct bundle *committed, const struct bundle *measured,
                    const char *results);

#endif
