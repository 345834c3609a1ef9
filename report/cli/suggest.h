/* "did you mean": of many words, the one that is nearest to what was typed. */
#ifndef REPORT_CLI_SUGGEST_H
#define REPORT_CLI_SUGGEST_H

#include <stddef.h>

#include "report/bundle/rows.h"

enum { SUGGEST_WORD = 128, SUGGEST_TEXT = SUGGEST_WORD + 24 };

struct suggest {
    const char *typed;
    size_t distance; /* of best; letters that were changed, added, left out or swapped */
    char best[SUGGEST_WORD]; /* empty: none is near enough */
    const char *glob;        /* of metric ids; NULL: words. What is meant then ends with a star */
};

struct suggest suggest_for(const char *typed);
void suggest_try(struct suggest *s, const char *word);

/* The same for a glob of metric ids that matches none: of it, `typed` holds the name before braces
 * and stars; that is what people mistype. Where keys were left out, the glob with a star is
 * meant. */
struct suggest suggest_for_metric(char typed[SUGGEST_WORD], const char *glob);
void suggest_try_metrics(struct suggest *s, const struct rows *rows);

/* "; did you mean 'WORD'?", or "" if no word is near enough. Returns text. */
char *suggest_text(char text[SUGGEST_TEXT], const struct suggest *s);

#endif
