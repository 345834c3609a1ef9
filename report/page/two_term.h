/* The two-term model of a transfer: fixed + bytes / rate. It takes its two terms from the ends of a
 * sweep, the smallest and the largest, and predicts what lies between; no constant is fitted
 * there. */
#ifndef REPORT_PAGE_TWO_TERM_H
#define REPORT_PAGE_TWO_TERM_H

#include <stddef.h>

struct two_term {
    double fixed_ns, rate; /* rate: bytes/s */
    double worst,
        worst_bytes;   /* the greatest distance from a time between the ends, relative: above 0
                                * the prediction is too long; and where */
    double half_bytes; /* at which half the rate is reached: fixed x rate */
};

/* Sizes ascend. All NaN for fewer than three, or where the largest takes no longer than the
 * least. */
struct two_term two_term_of(const double *bytes, const double *ns, size_t n);
double two_term_ns(const struct two_term *model, double bytes);

#endif
