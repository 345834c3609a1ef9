/* Shared by links*.c: the rows that the section of what lies between GPUs takes, and its parts. */
#ifndef REPORT_PAGE_LINKS_H
#define REPORT_PAGE_LINKS_H

#include "report/page/section.h"

/* Of links_needs in sections.h. */
enum {
    LINKS_LOAD,
    LINKS_ATOMIC,
    LINKS_ONE_WAY,
    LINKS_BARRIER,
    LINKS_ORDERED,
    LINKS_COPY,
    LINKS_SUM,
    LINKS_RATE,
    LINKS_RAW,
    LINKS_SMS,
    LINKS_LAYER,
    LINKS_STEP,
    LINKS_BYTES,
    LINKS_DIFFER,
    LINKS_LAYER_DIFFER,
    LINKS_ALONE,
};

/* Sizes of a sweep's usable rows, ascending, each once. */
enum { LINKS_SIZES = 16, LINKS_SIZES_FOUND = 256 };
size_t links_sizes(const struct summary *summary, int need, double size[LINKS_SIZES_FOUND]);

/* "256 KiB" */
const char *links_say_bytes(struct section *s, double bytes);

/* Copies at the largest size by each way, and a curve of each way's rates. */
void links_rates(const struct summary *summary, struct section *s);

/* A decoder's layer that the GPUs share. */
void links_layer(const struct summary *summary, struct section *s);

/* Rows of the report in short, for its first table: what, number, what stands beside it. */
void links_short(const struct summary *summary, struct section *s);

#endif
