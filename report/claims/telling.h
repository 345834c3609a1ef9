/* The ledger told to readers: a short word and a plain sentence with its numbers for each claim,
 * why a claim cannot be told here, totals, and the order of surprise. All of it is formed from a
 * bundle's findings; a page, a section or a table prints it as it likes. */
#ifndef REPORT_CLAIMS_TELLING_H
#define REPORT_CLAIMS_TELLING_H

#include "report/claims/claims.h"

enum { TELLING_TEXT = 640, TELLING_VERDICTS = 5 /* of enum claim_verdict */ };

/* One claim and what the bundle says of it. */
struct telling {
    const struct claim *claim;
    struct finding finding;
    char sentence[TELLING_TEXT]; /* for every verdict; of an open claim what would decide it */
    bool is_generic;             /* the sentence had to be formed without the claim's own words */
};

struct tellings {
    struct telling *telling; /* in the order of the ledger */
    size_t n;
};

/* Judges all claims, or those that globs mean (NULL: all; see claim_is_wanted()). False when memory
 * is short. */
bool tellings_open(struct tellings *t, const struct bundle *bundle, const char *globs);

/* Keeps those of one verdict. */
void tellings_keep(struct tellings *t, enum claim_verdict verdict);
void tellings_free(struct tellings *t);

/* Judges one claim, and forms its sentence; or forms the sentence of what was found. */
void telling_judge(struct telling *t, const struct claim *claim, const struct bundle *bundle);
void telling_form(struct telling *t);

/* The claim of that id; NULL: it is not among them. */
const struct telling *tellings_find(const struct tellings *t, const char *id);

/* "yes", "no", "partly", "can't tell", "open". */
const char *telling_word(enum claim_verdict verdict);

/* Claims of each verdict, of one source (claim_source()) or (NULL) of all. Returns how many there
 * are. */
size_t tellings_count(const struct tellings *t, const char *source,
                      size_t count[TELLING_VERDICTS]);

/* Does a claim have the same number as another (C50 and C50b)? */
bool telling_is_beside(const struct claim *a, const struct claim *b);

/* The i-th of the claims that are decided yes, no or partly, the most surprising first; of equal
 * ones the first of the ledger. NULL past the last one. */
const struct telling *tellings_surprising(const struct tellings *t, size_t i);

/* A quote cut to a number of words: "On an Nvidia L40S [...]". Returns text. */
char *telling_quote(const struct claim *claim, size_t words, char *text, size_t size);

/* "other_gpu", "missing", "unsteady", "control", "draft", "never"; "" for none. */
const char *telling_class(enum claim_why why);

/* Of a class in words: "measured on another GPU only", for the index of what cannot be told. */
const char *telling_class_line(enum claim_why why);

#endif
