/* Whether a collective's result is right: against float64, and every rank against the others. */
#ifndef LINKS_ALL_REDUCE_JUDGE_H
#define LINKS_ALL_REDUCE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "links/common/team.h"

struct judgement {
    double error;  /* the greatest distance from float64, in shares of what rounding may cost */
    double differ; /* elements that have not the same bits in all ranks */
};

/* What there is to judge, and how it is read: a piece at a time. */
struct judged {
    int ranks;
    size_t bytes; /* that each rank contributes; of parts, that each gets */
    bool is_bf16, is_part, gathers;
    bool once;    /* sums are rounded once */
    bool whole;   /* all of it is compared; else a vector's ends and its middle, a piece of each */
    double scale; /* of sums */
    size_t piece; /* a multiple of 16 bytes, as `bytes` */
    char *host[2 * LINKS_MOST]; /* a piece of each rank's vector, and then of each rank's result */
    void (*read)(const void *of, int rank, bool is_result, size_t at, size_t bytes, char *to);
    const void *of;
};

/* It ends with the first piece that is wrong. */
struct judgement judge_result(const struct judged *j);
bool judge_is_right(struct judgement v);

#endif
