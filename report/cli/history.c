#include "report/cli/history.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stat.h"
#include "report/bundle/folder.h"

enum { SETS_MAX = HISTORY_BUNDLES };

/* --- which set is it? ------------------------------------------------------------------------- */

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static bool is_same_card(const struct part *a, const struct part *b)
{
    return !strcmp(text_of(a->card), text_of(b->card));
}

static bool is_same_set(const struct part *a, const struct part *b)
{
    return is_same_card(a, b) && !strcmp(text_of(a->commit), text_of(b->commit));
}

/* Is what this bundle has of a probe one of the sides, or of its set? */
static bool is_compared(const struct history *history, const struct part *part)
{
    for (size_t side = 0; side < 2; side++) {
        const struct part *own =
            history->compared[side] ? bundle_part(history->compared[side], part->name) : NULL;
        if (own && is_same_set(own, part))
            return true;
    }
    return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_all(struct history *history, char **paths, size_t n, char why[DOCUMENT_WHY])
{
    for (size_t i = n; i > 0 && history->n < HISTORY_BUNDLES; i--) {
        if (!bundle_open(&history->bundles[history->n], paths[i - 1], why))
            return false;
        history->n++;
    }
    return true;
}

bool history_open(struct history *history, const char *results, const struct bundle *old,
                  const struct bundle *new, char why[DOCUMENT_WHY])
{
    char folder[PATH_MAX];
    const char *board = new->board;
    size_t n = 0;

    *history = (struct history){.compared = {old, new}};
    if (!board || strchr(board, '/') ||
        snprintf(folder, sizeof folder, "%s/%s", results, board) >= PATH_MAX)
        return true;
    char **paths = paths_in(folder, &n);
    const bool opened = read_all(history, paths, n, why);
    paths_free(paths, n);
    if (!opened)
        history_close(history);
    return opened;
}

void history_close(struct history *history)
{
    for (size_t i = 0; i < history->n; i++)
        bundle_free(&history->bundles[i]);
    history->n = 0;
}

/* --- spread ----------------------------------------------------------------------------------- */

/* The centres of one set. */
struct set {
    const struct part *part;
    double centre[HISTORY_BUNDLES];
    size_t n;
};

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static struct set *set_of(struct set *sets, size_t *n, const struct part *part)
{
    for (size_t i = 0; i < *n; i++)
        if (is_same_set(sets[i].part, part))
            return &sets[i];
    sets[*n] = (struct set){.part = part};
    return &sets[(*n)++];
}

/* Variances within sets, each weighed by its degrees of freedom; relative to the set's mean. */
static double pooled(const struct set *sets, size_t n)
{
    double squares = 0, freedom = 0;
    for (size_t i = 0; i < n; i++) {
        const double mean = mean_of(sets[i].centre, sets[i].n);
        if (sets[i].n < 2 || !(mean > 0))
            continue;
        const double relative = stat_deviation(sets[i].centre, sets[i].n) / mean;
        squares += relative * relative * (double)(sets[i].n - 1);
        freedom += (double)(sets[i].n - 1);
    }
    return freedom > 0 ? sqrt(squares / freedom) : (double)NAN;
}

/* Of the cards' means, each the mean of its sets' means. */
static double between_cards(const struct set *sets, size_t n, size_t *cards)
{
    double card[SETS_MAX];
    *cards = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        size_t n_sets = 0, first = n;
        for (size_t k = 0; k < n; k++)
            if (is_same_card(sets[k].part, sets[i].part)) {
                first = k < first ? k : first;
                sum += mean_of(sets[k].centre, sets[k].n);
                n_sets++;
            }
        if (first == i)
            card[(*cards)++] = sum / (double)n_sets;
    }
    const double mean = *cards > 0 ? mean_of(card, *cards) : 0;
    return *cards >= 2 && mean > 0 ? stat_deviation(card, *cards) / mean : (double)NAN;
}

struct spread history_spread(const struct history *history, const struct row *row)
{
    struct spread spread = SPREAD_UNKNOWN;
    struct set *sets = calloc(SETS_MAX, sizeof *sets);

    for (size_t i = 0; sets && i < history->n; i++) {
        const struct row *then = rows_find(&history->bundles[i].rows, row->id);
        const struct part *part = bundle_part(&history->bundles[i], row->probe);
        if (!then || !part || then->method != row->method || then->n == 0 || !row_usable(then) ||
            is_compared(history, part))
            continue;
        struct set *set = set_of(sets, &spread.sets, part);
        set->centre[set->n++] = then->centre;
    }
    if (sets) {
        spread.within = pooled(sets, spread.sets);
        spread.between = between_cards(sets, spread.sets, &spread.cards);
    }
    free(sets);
    return spread;
}

void history_count(const struct history *history, size_t *sets, size_t *cards)
{
    const struct part *seen[HISTORY_BUNDLES];
    size_t n = 0;

    *sets = *cards = 0;
    for (size_t i = 0; i < history->n; i++) {
        const struct part *part = history->bundles[i].n_parts ? history->bundles[i].parts : NULL;
        size_t of_set = 0, of_card = 0;
        if (!part || is_compared(history, part))
            continue;
        for (size_t k = 0; k < n; k++) {
            of_set += is_same_set(seen[k], part);
            of_card += is_same_card(seen[k], part);
        }
        *cards += of_card == 0;
        *sets += of_set == 1; /* the second makes a scatter */
        seen[n++] = part;
    }
}
