/* How sections take rows: a need of theirs (report/bundle/needs.h), with the texts for its %s. */
#ifndef REPORT_PAGE_TAKE_H
#define REPORT_PAGE_TAKE_H

#include "report/page/summary.h"

/* The first usable row whose id matches the need; NULL: there is none. */
const struct row *take_row(const struct summary *summary, const char *need, ...);

/* Its number, quoted from the committed results where summary_take() does so. */
struct number take_number(const struct summary *summary, const char *need, ...);

/* The next usable row that the need covers, from *next on; or NULL. */
const struct row *take_next(const struct summary *summary, const char *need, size_t *next);

/* The number of the same case under another metric of the program, "share_of_copy"; none if there
 * is no usable row. */
struct number take_beside(const struct summary *summary, const struct row *row, const char *metric);

/* The same metric of the same case with another value of a key; none if there is no usable row. */
struct number take_other(const struct summary *summary, const struct row *row, const char *key,
                         const char *value);

/* Of a fused form's case by separate kernels: the same metric, and another one. */
struct number take_apart(const struct summary *summary, const struct row *fused);
struct number take_apart_beside(const struct summary *summary, const struct row *fused,
                                const char *metric);

/* What a fused form gains over the unfused one: derived.fusion_gain where it is formed, else their
 * ratio. The section needs both: TAKE_GAIN and the unfused time. */
#define TAKE_GAIN "derived.fusion_gain{probe=*}"
struct number take_gain(const struct summary *summary, const struct row *fused);

/* A key of the row's id as a number; NaN if it has none, or one that is a word. */
double take_key(const struct row *row, const char *key);

/* Does the id have that value of that key? */
bool take_has(const struct row *row, const char *key, const char *value);

#endif
