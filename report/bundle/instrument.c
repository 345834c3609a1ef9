#include "report/bundle/instrument.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char instrument_need[] = "spin.waited{asked=*}";

enum { EQUAL_LEAST = 5 };         /* fewer times may be equal by chance */
static const double KNOWN = 0.05; /* 1000 cycles read 30 too many: the loop that waits */

static bool is_stuck(const struct bundle *bundle, const char *timer, char why[DOCUMENT_WHY])
{
    char own[16];
    double first = NAN;
    size_t n = 0;

    for (size_t i = 0; i < bundle->rows.n; i++) {
        const struct row *row = &bundle->rows.row[i];
        if (row->n == 0 || !row_key(row, "timer", own, sizeof own) || strcmp(own, timer))
            continue;
        if (n++ == 0)
            first = row->centre;
        else if (row->centre != first) /* to the last bit */
            return false;
    }
    if (n < EQUAL_LEAST)
        return false;
    snprintf(why, DOCUMENT_WHY, "all %zu times by timer=%s are equal: a stuck timer", n, timer);
    return true;
}

static bool waits_as_asked(const struct bundle *bundle, char why[DOCUMENT_WHY])
{
    const struct row *row;
    char asked[24];

    for (size_t next = 0; (row = rows_match(&bundle->rows, instrument_need, &next));) {
        const double cycles = row_key(row, "asked", asked, sizeof asked) ? atof(asked) : 0;
        if (row->n == 0 || cycles <= 0 || fabs(row->centre / cycles - 1) <= KNOWN)
            continue;
        snprintf(why, DOCUMENT_WHY, "spin was asked to wait %s cycles and waited %.0f: no clock",
                 asked, row->centre);
        return false;
    }
    return true;
}

bool instrument_holds(const struct bundle *bundle, char why[DOCUMENT_WHY])
{
    static const char *const timers[] = {"device", "event", "wall"};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        if (is_stuck(bundle, timers[i], why))
            return false;
    return waits_as_asked(bundle, why);
}
