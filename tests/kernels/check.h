/* A contract against one kernel: what the checks of intervals and of loops share. sass.c has the
 * run and the meaning of the words. */
#ifndef CHECK_H
#define CHECK_H

#include "contract.h"

/* Text that grows by printf and silently stops at its end: reports only. */
struct text {
    char bytes[2048];
    size_t length;
};

void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A contract and one kernel that it covers. */
struct check {
    const struct contract *contract;
    const struct kernel *kernel;
    unsigned arch;
    struct text *found, *wrong; /* one line per kernel, shared by its contracts */
};

extern const char *const relation_signs[]; /* by enum relation */
bool holds(enum relation relation, long found, long expected);
void expect(const struct check *k, const struct word *w, long found);

const struct word *limit(const struct contract *c, const char *name); /* NULL: not in the line */
bool counted(const struct contract *c, const struct instruction *i);
long count_class(const struct check *k, const unsigned char *set, const struct word *class);
long count_other(const struct check *k, const unsigned char *set);
void check_sleep(const struct check *k, const unsigned char *set);

void check_intervals(const struct check *k); /* sass: */
void check_loop(const struct check *k);      /* sass-loop: */
void check_whole(const struct check *k);     /* sass-all: */

/* Where the values come from: see chain and moving at the top of sass.c. */
void check_chain(const struct check *k, const unsigned char *set, size_t interval);
void check_moving(const struct check *k, const unsigned char *body, size_t header);

#endif
