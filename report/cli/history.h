/* What the committed bundles of a board say of how a metric scatters.
 *
 * Two questions, two spreads. "Did my change matter?" is asked of one card: what counts is how the
 * centre scatters *within* sets, a set being what one card gave at one commit, bundle after bundle.
 * "Is this card normal?" is asked of cards: what counts is how their sets' centres scatter
 * *between* cards. Bundles under comparison, and the sets that they belong to, are never their own
 * history. */
#ifndef REPORT_CLI_HISTORY_H
#define REPORT_CLI_HISTORY_H

#include "report/bundle/bundle.h"

enum { HISTORY_BUNDLES = 64 };

struct history {
    struct bundle bundles[HISTORY_BUNDLES];
    size_t n;
    const struct bundle *compared[2]; /* OLD and NEW, which must outlive the history */
};

/* Relative standard deviations of a metric's centre; NaN where too little is known. */
struct spread {
    double within;        /* pooled over the sets of two bundles and more */
    double between;       /* of the cards' centres, from two cards on */
    size_t sets, cards;   /* that hold the metric as it is measured now */
};
#define SPREAD_UNKNOWN ((struct spread){.within = (double)NAN, .between = (double)NAN})

/* Reads results/BOARD/, where there is such a folder. False, with one line in why, when a bundle of
 * it cannot be read: verdicts would silently be others without it. */
bool history_open(struct history *history, const char *results, const struct bundle *old,
                  const struct bundle *new, char why[DOCUMENT_WHY]);
void history_close(struct history *history);

struct spread history_spread(const struct history *history, const struct row *row);

/* What the spreads rest on: how many sets of two bundles and more, and how many cards, the history
 * holds of any metric. */
void history_count(const struct history *history, size_t *sets, size_t *cards);

#endif
