/* The ledger: what a bundle says of each published claim. */
#ifndef REPORT_CLAIMS_CLAIMS_H
#define REPORT_CLAIMS_CLAIMS_H

#include "report/bundle/bundle.h"

enum claim_verdict { CLAIM_REPRODUCED, CLAIM_REFUTED, CLAIM_MIXED, CLAIM_NOT_TESTABLE };
const char *claim_verdict_name(enum claim_verdict verdict);

enum { CLAIM_TEXT = 1600 };

/* What was found. A verdict other than NOT TESTABLE stands on controls that came out as they must:
 * the positive one (the instrument sees what is known to be there) passed, and the negative one
 * (the same rule, put to figures where it must not hold) failed. */
struct finding {
    const struct claim *claim;
    struct finding *of; /* what it stands aside of, see rule_aside(); or NULL */
    size_t n_refused;   /* ids asked for that no need of the claim covers: a fault of its judge */
    enum claim_verdict verdict;
    char evidence[CLAIM_TEXT];
    char controls[CLAIM_TEXT];
};

/* The metrics that a judge takes (report/bundle/needs.h). */
enum need_kind {
    NEED_ONE,  /* the row, or the first that matches */
    NEED_BEST, /* the best of all that match */
    NEED_ANY,  /* one by one: ids are formed by it, rows walked or looked up */
};
struct need {
    enum need_kind kind;
    const char *id;
};

struct claim {
    const char *id;
    const char *article;   /* the article's name */
    const char *quote;     /* verbatim */
    const char *statement; /* ours: what is judged */
    const char *rule;      /* the thresholds, fixed here before anything was measured */
    void (*judge)(const struct bundle *bundle, struct finding *finding);
    const struct need *const *needs; /* lists up to NULL, each up to NEEDS_END; see NEEDS() */
};

/* The claim at place i, or NULL past the last one. */
const struct claim *claim_at(size_t i);

/* The whole reference of an article: author or house, title, date where known. */
const char *claim_reference(const char *article);

/* Judges it; evidence and controls are always filled in. */
void claim_judge(const struct claim *claim, const struct bundle *bundle, struct finding *finding);

#endif
