/* How the numbers of a table or a figure were measured, in words: rounds, interval, commit,
 * card. */
#ifndef REPORT_PAGE_EVIDENCE_H
#define REPORT_PAGE_EVIDENCE_H

#include "report/page/section.h"

enum { EVIDENCE_SPREADS = 512, EVIDENCE_SOURCES = 12 };

/* The code and the card that measured some of the numbers. */
struct evidence_source {
    char commit[12], card[BUNDLE_CARDS];
    bool quoted;
};

struct evidence {
    const struct summary *summary;
    size_t n, n_few, n_quoted;       /* numbers; of few rounds; of another card */
    size_t least_runs, most_runs;    /* of those that are not of few rounds */
    double spread[EVIDENCE_SPREADS]; /* the larger side of the interval over the centre */
    size_t n_spreads;
    struct evidence_source source[EVIDENCE_SOURCES];
    size_t n_sources;
};

struct evidence evidence_new(const struct summary *summary);
void evidence_take(struct evidence *evidence, const struct number *number);

/* Was it measured in two or three rounds of a bundle that has more? */
bool evidence_is_few(const struct evidence *evidence, const struct number *number);

/* "Medians of 7 rounds. Interval: ... gpufloor commit 4a747a3, card 98177cd94322464a." `few` and
 * `quoted` are how such numbers are marked. Returns text. */
char *evidence_say(const struct evidence *evidence, const char *few, const char *quoted, char *text,
                   size_t size);

#endif
