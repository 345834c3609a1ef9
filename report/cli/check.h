/* The questions of `gpufloor check`: may a bundle be contributed to results/? */
#ifndef REPORT_CLI_CHECK_H
#define REPORT_CLI_CHECK_H

#include "report/bundle/bundle.h"
#include "report/cli/catalogue.h"

/* A note forbids nothing: it is for the person who reads. */
enum answer { ANSWER_OK, ANSWER_NOTE, ANSWER_NO };
enum { ANSWER_WHY = 400, CHECK_NAME = 240 };

/* What is asked about. `document` is whole, and `bundle` was taken from it. */
struct checked {
    const char *path;
    long long bytes;
    const json_t *document;
    struct bundle bundle;
    const struct catalogue *catalogue; /* of this tree */
    const char *results;
};

struct question {
    const char *name;
    enum answer (*ask)(const struct checked *checked, char why[ANSWER_WHY]);
};

/* The i-th question, or NULL past the last one. */
const struct question *question_at(size_t i);

/* The place of the bundle in results/: "nvidia-h200/2026-11-27-4a747a3-1.json". Its own number is
 * kept where its name has one; else the first that is free. Returns name. */
char *check_name(char name[CHECK_NAME], const struct checked *checked);

/* check_words.c: text that the schema does not name, or that names a person, a machine or a
 * path. */
enum answer ask_personal(const struct checked *checked, char why[ANSWER_WHY]);

/* check_words.c: characters that could speak to a terminal, or are not seen. */
enum answer ask_text(const struct checked *checked, char why[ANSWER_WHY]);

#endif
