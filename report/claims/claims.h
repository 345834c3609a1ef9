/* The ledger: what a bundle says of each published claim. */
#ifndef REPORT_CLAIMS_CLAIMS_H
#define REPORT_CLAIMS_CLAIMS_H

#include "report/bundle/bundle.h"

/* OPEN: no program measures the claim yet, whatever the bundle. */
enum claim_verdict { CLAIM_REPRODUCED, CLAIM_REFUTED, CLAIM_MIXED, CLAIM_NOT_TESTABLE, CLAIM_OPEN };
const char *claim_verdict_name(enum claim_verdict verdict);

enum { CLAIM_TEXT = 1600, CLAIM_LIMITS = 24, CLAIM_SELDOM = 8 };

/* What was found. A verdict other than NOT TESTABLE requires that both controls came out right. The
 * positive control (the instrument sees what is known to be there) must pass. The negative control
 * (the same rule, applied to figures for which it must not hold) must fail. */
struct finding {
    const struct claim *claim;
    struct finding *of; /* the finding whose aside this is, see rule_aside(); or NULL */
    size_t n_refused;   /* ids taken that no need of the claim covers: a fault of its judge */
    const char *limit[CLAIM_LIMITS]; /* the thresholds that the judge used, see RULE_LIMIT() */
    bool is_count[CLAIM_LIMITS];     /* of these: a count, see rule_tally() */
    size_t n_limits;
    const char
        *seldom[CLAIM_SELDOM]; /* times taken that were measured in two or three rounds only */
    size_t n_seldom;
    const char *no_interval; /* a row that the judge formed and that has no interval; or NULL */
    const char *moved;       /* the threshold that is multiplied by `by`; or NULL */
    double by;
    enum claim_verdict verdict;
    char evidence[CLAIM_TEXT];
    char controls[CLAIM_TEXT];
};

/* How a judge takes metrics (report/bundle/needs.h). */
enum need_kind {
    NEED_ONE,     /* the row, or the first that matches */
    NEED_BEST,    /* the best of all that match */
    NEED_ANY,     /* one by one: the judge builds ids from it, or walks or looks up rows */
    NEED_COUNTED, /* "FIGURE of ID", from a document of counters (report/bundle/counted.h) */
};
struct need {
    enum need_kind kind;
    const char *id;
};

struct claim {
    const char *id;
    const char *article;   /* the article's name */
    const char *quote;     /* verbatim; sentences that stand apart are joined by " [...] " */
    const char *clause;    /* the words of the quote that the rule tests; NULL: all of it; "": none,
                            * the sentence is ours, beside a claim that is the author's */
    const char *statement; /* ours: the sentence that is judged */
    const char *rule;      /* the thresholds, fixed here before anything was measured */
    const char *since;     /* when the rule got its present form: "2026-11-22" */
    void (*judge)(const struct bundle *bundle, struct finding *finding);
    const struct need *const *needs; /* lists up to NULL, each up to NEEDS_END; see NEEDS() */
    const char *open; /* which measurement would decide a claim that is OPEN, and has no rule, no
                       * judge and no needs; NULL for all others */
};

/* The claim at place i, or NULL past the last one. */
const struct claim *claim_at(size_t i);

/* The full reference of an article: author or publisher, title, date if known. */
const char *claim_reference(const char *article);

/* Judges a claim; evidence and controls are always filled in. A verdict that another value of one
 * threshold, 10 % less or more, would change says so. An open claim has what would decide it as
 * evidence. */
void claim_judge(const struct claim *claim, const struct bundle *bundle, struct finding *finding);

/* When the rule of a claim got its present form, as the list of dates.c says; NULL: it is not
 * listed. */
const char *claim_since(const struct claim *claim);

/* "rule of 2026-11-22, bundle of 2026-11-21: rule changed after the measurement". The bundle's date
 * is that of the programs that the claim needs, the oldest of them. */
enum { CLAIM_DATES = 160 };
char *claim_dates(const struct claim *claim, const struct bundle *bundle, char text[CLAIM_DATES]);

#endif
