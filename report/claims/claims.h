/* The ledger: what a bundle says of each published claim. */
#ifndef REPORT_CLAIMS_CLAIMS_H
#define REPORT_CLAIMS_CLAIMS_H

#include "report/bundle/bundle.h"

/* OPEN: no program measures the claim yet, whatever the bundle. */
enum claim_verdict { CLAIM_REPRODUCED, CLAIM_REFUTED, CLAIM_MIXED, CLAIM_NOT_TESTABLE, CLAIM_OPEN };
const char *claim_verdict_name(enum claim_verdict verdict);

enum { CLAIM_TEXT = 1600, CLAIM_LIMITS = 24, CLAIM_SELDOM = 8 };
enum { CLAIM_FIGURES = 48, CLAIM_PARTS = 16, CLAIM_CONTROLS = 16, CLAIM_WORDS = 104 };

/* Why a claim cannot be told from a bundle: only another GPU could tell; something was not
 * measured; rows do not repeat; a control did not come out; the program was a draft; no run can
 * tell. */
enum claim_why {
    WHY_NONE,
    WHY_OTHER_GPU,
    WHY_MISSING,
    WHY_UNSTEADY,
    WHY_CONTROL,
    WHY_DRAFT,
    WHY_NEVER
};

/* A number that a judge states. key: the name by which a plain sentence calls it, or "". */
struct figure {
    char name[CLAIM_WORDS], key[24];
    const char *id, *unit; /* id: of the row, NULL for a number that is none's */
    double value, low, high;
};

/* One of several statements that a verdict is made of. limit: NaN for none. */
struct part_of_verdict {
    char what[CLAIM_WORDS];
    enum claim_verdict verdict; /* MIXED: its interval contains the limit */
    double value, low, high, limit;
    const char *unit;
};

struct control {
    bool positive, as_it_must; /* as_it_must: it passed, or failed, as its kind must */
    char what[CLAIM_WORDS];
    double value;
    const char *unit;
};

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

    /* The same as data, from which sentences, tables and JSON are made. */
    struct figure figures[CLAIM_FIGURES];
    struct part_of_verdict parts[CLAIM_PARTS];
    struct control controlled[CLAIM_CONTROLS];
    size_t n_figures, n_parts, n_controlled;
    double limit_value[CLAIM_LIMITS]; /* of limit[], as the source has them */
    enum claim_why why;
    char lacks[320];  /* of NOT TESTABLE: what is missing, unsteady or failed, in one line */
    char decides[96]; /* and what would decide: "run `norm` again" */
};

/* The verdict in one sentence for who has never seen the project, with numbers from the finding:
 *     "A load that hits L1 takes {l1}."
 * A slot names a figure by its key, a threshold by its name in the source, or is {parts}: what
 * holds, and what does not. After a colon stands how it is printed: % (of 1), change ("14 % less"),
 * range ("31 to 36 cycles"), low, high. What cannot be told needs no words of the claim. */
struct plain {
    const char *yes, *no, *partly;
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
    struct plain plain;    /* of all claims that have a rule by which they can be decided */
    int surprise;          /* 0 to 9: how much the usual verdict contradicts what readers expect */
    const char *waits;     /* of an open claim: what is not measured yet, in few words */
    const char *since;     /* when the rule got its present form: "2026-11-22" */
    void (*judge)(const struct bundle *bundle, struct finding *finding);
    const struct need *const *needs; /* lists up to NULL, each up to NEEDS_END; see NEEDS() */
    const char *open; /* which measurement would decide a claim that is OPEN, and has no rule, no
                       * judge and no needs; NULL for all others */
};

/* The claim that follows one in the ledger, NULL after the last; of NULL the first. Who walks over
 * all takes this: claim_at() walks from the first one each time. */
const struct claim *claim_after(const struct claim *claim);

/* The claim at place i, or NULL past the last one; and the place of a claim. */
const struct claim *claim_at(size_t i);
size_t claim_place(const struct claim *claim);

/* The articles in the order in which the ledger meets them; NULL past the last one. */
const char *claim_article(size_t i);

/* Where sentences come from: the articles, and last claim_own, for questions that are gpufloor's
 * and are counted apart. NULL past the last. */
extern const char claim_own[];
const char *claim_source(size_t i);
bool claim_is_of(const struct claim *claim, const char *source);

/* Is an id meant by one of some globs, with commas between? In any case, and also as a bare number:
 * "C24", "c24", "24,C5*". NULL means all. */
bool claim_is_wanted(const char *globs, const char *id);

/* The first of the globs that means no claim, and its length; NULL: there is none. */
const char *claim_unknown(const char *globs, size_t *length);

/* The claim of that id, or NULL. */
const struct claim *claim_find(const char *id);

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
