/* Boards side by side: the numbers of the summary, how many times as good each board is as the
 * first, and which factor of the chip explains it. */
#ifndef REPORT_PAGE_BOARDS_H
#define REPORT_PAGE_BOARDS_H

#include "report/page/section.h"

enum { BOARDS_MOST = 10 };

/* What is compared: bundles in the order of the command, called A, B, C. */
struct boards {
    struct summary of[BOARDS_MOST];
    size_t n;
};

/* How a ratio between two boards is explained. */
enum explained {
    EXPLAINED_BY,     /* it is within 5 % of what a factor says */
    EXPLAINED_EITHER, /* of what two factors say, which are too near to tell apart */
    EXPLAINED_PART,   /* it lies between two factors */
    EXPLAINED_NOT,    /* a finding; nothing is guessed */
    EXPLAINED_ABSENT, /* one of the boards lacks the number */
};

struct explanation {
    enum explained kind;
    enum factor factor;  /* of EXPLAINED_BY, and the first of EXPLAINED_EITHER */
    double expected[2];  /* what the entry's factors say; NaN: unknown, or no such factor */
    struct number ratio; /* how many times as good the second is, times and rates alike */
};

/* Compares a number of the summary on two boards. */
struct explanation boards_explain(const struct summary *first, const struct summary *second,
                                  const struct summary_entry *entry);

/* Series of the section "numbers" of two boards: the ratios by what explains them, x being the rank
 * from the best; and what they are compared with, the ratios of chip and pins. */
#define BOARDS_CHIP "clock or chip"
#define BOARDS_PINS "pins"
#define BOARDS_L2 "L2 size"
#define BOARDS_LINKS "links"
#define BOARDS_ALIKE "alike"
#define BOARDS_TWO "two factors"
#define BOARDS_NOT "not explained"
#define BOARDS_FACTORS "factors"

/* The i-th section, or NULL past the last one. The claims take counted figures from the bundles. */
typedef void boards_builder(const struct boards *boards, struct section *section);
boards_builder *boards_section_at(size_t i);

#endif
