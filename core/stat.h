/* Statistics: medians, order statistics, slopes, and the interval of a ratio. Pure, no I/O.
 *
 * Everything here is exact and deterministic: no resampling, no seeds. Sources: the order-statistic
 * interval of a median, David & Nagaraja, "Order Statistics", 7.1; the ratio of two samples by the
 * Hodges-Lehmann estimator with the Mann-Whitney interval, Hollander & Wolfe, "Nonparametric
 * Statistical Methods", 4.2-4.3. */
#ifndef GPUFLOOR_STAT_H
#define GPUFLOOR_STAT_H

#include <stdbool.h>
#include <stddef.h>

/* Five-number summary and tails of one set of samples. A figure for which n is too small is NaN:
 * p01 and p99 need n/100 >= 5 samples in the tail, p999 needs n/1000 >= 5. */
struct stat_summary {
    size_t n;
    double median, min, max, q1, q3, mad;
    double p01, p99, p999;
};

/* Sorts ascending, in place. */
void stat_sort(double *values, size_t n);

/* Median of n >= 1 *sorted* values; the mean of the middle two when n is even. NaN for n = 0. */
double stat_median(const double *sorted, size_t n);

/* Quantile q in [0, 1] of sorted values, linear between order statistics (type 7). NaN: n = 0. */
double stat_quantile(const double *sorted, size_t n, double q);

/* Summary of n values in any order; does not change its input. */
struct stat_summary stat_summarise(const double *values, size_t n);

/* Minimum and maximum of the first `count` values (of all, if there are fewer). NaN for n = 0. */
double stat_least_of_first(const double *values, size_t n, size_t count);
double stat_largest_of_first(const double *values, size_t n, size_t count);

/* Ranks (from 1) of the order statistics that bracket the median of a distribution with at least
 * the given confidence: n = 7 gives 1 and 7 (98.4 %), n = 10 gives 2 and 9 (97.9 %). Coverage is
 * exact (binomial). False when n is too small for any interval (n < 6 at 95 %). */
bool stat_median_ranks(size_t n, double confidence, size_t *low, size_t *high);

/* Slope through two points of work: (t_high - t_low) / (n_high - n_low), per unit of work. */
double stat_slope(double t_low, double n_low, double t_high, double n_high);

/* Ratio new/old of two samples of positive values: centre is the median of all n*m pairwise ratios,
 * low and high are its distribution-free interval. False, with a NaN interval, if the samples are
 * too few for `confidence` (below 4 against 4 at 95 %). n and m are at most STAT_RATIO_MAX. */
enum { STAT_RATIO_MAX = 64 };
struct stat_ratio {
    double centre, low, high;
};
bool stat_ratio(const double *new_values, size_t n, const double *old_values, size_t m,
                double confidence, struct stat_ratio *ratio);

/* Ratios of pairs, of which the median is asked: two instruments measured both of each pair. Beyond
 * STAT_PAIRS_MOST, no more are taken. The median is NaN without any; asking for it sorts them. */
enum { STAT_PAIRS_MOST = 1024 };
struct stat_pairs {
    size_t n;
    double ratio[STAT_PAIRS_MOST];
};
void stat_pairs_add(struct stat_pairs *pairs, double of, double over);
double stat_pairs_median(struct stat_pairs *pairs);

/* True when every value of a lies beyond (strictly below or strictly above) every value of b. */
bool stat_disjoint(const double *a, size_t n, const double *b, size_t m);

/* The middle of the widest gap between neighbours among sorted[from] ... sorted[to - 1], and its
 * width: the border of two clusters. NaN, and 0, where no two differ. */
double stat_border(const double *sorted, size_t from, size_t to, double *width);

/* Sample standard deviation (n - 1); NaN below two values. */
double stat_deviation(const double *values, size_t n);

#endif
