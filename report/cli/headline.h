/* The headline: the few rows that a person looks at first. A table of data, used by `report`, after
 * `run`, and for the README. */
#ifndef REPORT_CLI_HEADLINE_H
#define REPORT_CLI_HEADLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/bundle/rows.h"

struct headline {
    const char *label;
    const char *glob; /* of metric ids */
    enum {
        HEADLINE_FIRST, /* the first that matches */
        HEADLINE_BEST,  /* the best of all that match */
        HEADLINE_HOST,  /* the first; paced by the host and as noisy, so it is shown apart */
    } kind;
};

/* The row at place i, or NULL past the last one. */
const struct headline *headline_at(size_t i);

/* Its figure in a bundle's rows; false if there is none. *row's strings belong to `rows`. */
bool headline_row(const struct headline *headline, const struct rows *rows, struct row *row);

#endif
