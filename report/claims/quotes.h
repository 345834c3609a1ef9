/* Sentences of the articles that are judged by a claim which quotes another one. */
#ifndef REPORT_CLAIMS_QUOTES_H
#define REPORT_CLAIMS_QUOTES_H

#include <stddef.h>

struct quote {
    const char *article, *sentence;
    const char *ids;   /* of the claims that judge it: "C28 C29" */
    const char *apart; /* what of it they do not judge, and why; NULL: nothing */
};

/* The sentence at place i, or NULL past the last one. */
const struct quote *quote_at(size_t i);

#endif
