#include "core/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stat_sort(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, ascending);
}

double stat_median(const double *sorted, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double stat_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double place = q * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* A percentile is stated only if at least five samples are in its tail. */
static double tail(const double *sorted, size_t n, double q)
{
    double share = q < 0.5 ? q : 1 - q;
    return (double)n * share >= 5 - 1e-9 ? stat_quantile(sorted, n, q) : NAN;
}

struct stat_summary stat_summarise(const double *values, size_t n)
{
    struct stat_summary s = {.n = n,
                             .median = NAN,
                             .min = NAN,
                             .max = NAN,
                             .q1 = NAN,
                             .q3 = NAN,
                             .mad = NAN,
                             .p01 = NAN,
                             .p99 = NAN,
                             .p999 = NAN};
    double *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted)
        return s;

    memcpy(sorted, values, n * sizeof *sorted);
    stat_sort(sorted, n);
    s.median = stat_median(sorted, n);
    s.min = sorted[0];
    s.max = sorted[n - 1];
    s.q1 = stat_quantile(sorted, n, 0.25);
    s.q3 = stat_quantile(sorted, n, 0.75);
    s.p01 = tail(sorted, n, 0.01);
    s.p99 = tail(sorted, n, 0.99);
    s.p999 = tail(sorted, n, 0.999);

    for (size_t i = 0; i < n; i++)
        sorted[i] = fabs(values[i] - s.median);
    stat_sort(sorted, n);
    s.mad = stat_median(sorted, n);
    free(sorted);
    return s;
}

double stat_least_of_first(const double *values, size_t n, size_t count)
{
    double least = n ? values[0] : NAN;
    for (size_t i = 1; i < n && i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

double stat_largest_of_first(const double *values, size_t n, size_t count)
{
    double largest = n ? values[0] : NAN;
    for (size_t i = 1; i < n && i < count; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

bool stat_median_ranks(size_t n, double confidence, size_t *low, size_t *high)
{
    /* The interval (x_r, x_{n+1-r}) misses the median when fewer than r of n fair coins fall on one
     * side: probability 2 * P(B < r). Take the largest r that keeps the promise. Terms more than
     * twenty deviations below the middle are negligible, and for large n 2^-n is no double: so
     * start there, in logarithms. */
    double all = (double)n, below = 0;
    size_t first = all > 10 * sqrt(all) * 2 ? (size_t)(all / 2 - 10 * sqrt(all)) : 0, rank = first;

    for (size_t i = first; 2 * (i + 1) <= n; i++) {
        double k = (double)i;
        below += exp(lgamma(all + 1) - lgamma(k + 1) - lgamma(all - k + 1) - all * log(2));
        if (1 - 2 * below < confidence)
            break;
        rank = i + 1;
    }
    if (rank == 0)
        return false;
    *low = rank;
    *high = n + 1 - rank;
    return true;
}

double stat_slope(double t_low, double n_low, double t_high, double n_high)
{
    return (t_high - t_low) / (n_high - n_low);
}

/* The largest k with P(U < k) <= alpha/2 for the Mann-Whitney U of n against m: the k-th smallest
 * and k-th largest pairwise ratios bound the interval. 0 when even k = 1 breaks the promise. */
static size_t mann_whitney_rank(size_t n, size_t m, double alpha)
{
    /* ways[j][u] counts the arrangements of j of the n, among those seen so far, with statistic u.
     * It is built by the recurrence N(n, m, u) = N(n-1, m, u-m) + N(n, m-1, u), one m at a time. */
    size_t top = n * m;
    double *ways = calloc((n + 1) * (top + 1), sizeof *ways);
    size_t rank = 0;
    if (!ways)
        return 0;

    for (size_t j = 0; j <= n; j++)
        ways[j * (top + 1)] = 1;
    for (size_t seen = 1; seen <= m; seen++)
        for (size_t j = 1; j <= n; j++)
            for (size_t u = seen; u <= j * seen; u++)
                ways[j * (top + 1) + u] += ways[(j - 1) * (top + 1) + u - seen];

    double all = 0, below = 0;
    for (size_t u = 0; u <= top; u++)
        all += ways[n * (top + 1) + u];
    for (size_t u = 0; u <= top; u++) {
        below += ways[n * (top + 1) + u];
        if (below / all > alpha / 2)
            break;
        rank = u + 1;
    }
    free(ways);
    return rank;
}

bool stat_ratio(const double *new_values, size_t n, const double *old_values, size_t m,
                double confidence, struct stat_ratio *ratio)
{
    *ratio = (struct stat_ratio){.centre = NAN, .low = NAN, .high = NAN};
    if (n == 0 || m == 0 || n > STAT_RATIO_MAX || m > STAT_RATIO_MAX)
        return false;
    double *ratios = malloc(n * m * sizeof *ratios);
    if (!ratios)
        return false;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            ratios[i * m + j] = new_values[i] / old_values[j];
    stat_sort(ratios, n * m);
    ratio->centre = stat_median(ratios, n * m);

    size_t rank = mann_whitney_rank(n, m, 1 - confidence);
    if (rank > 0) {
        ratio->low = ratios[rank - 1];
        ratio->high = ratios[n * m - rank];
    }
    free(ratios);
    return rank > 0;
}

void stat_pairs_add(struct stat_pairs *pairs, double of, double over)
{
    if (pairs->n < STAT_PAIRS_MOST)
        pairs->ratio[pairs->n++] = of / over;
}

double stat_pairs_median(struct stat_pairs *pairs)
{
    stat_sort(pairs->ratio, pairs->n);
    return stat_median(pairs->ratio, pairs->n);
}

bool stat_disjoint(const double *a, size_t n, const double *b, size_t m)
{
    bool above = n > 0 && m > 0, below = above;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            above = above && a[i] > b[j];
            below = below && a[i] < b[j];
        }
    return above || below;
}

double stat_border(const double *sorted, size_t from, size_t to, double *width)
{
    double border = NAN;

    *width = 0;
    for (size_t i = from; i + 1 < to; i++)
        if (sorted[i + 1] - sorted[i] > *width) {
            *width = sorted[i + 1] - sorted[i];
            border = (sorted[i + 1] + sorted[i]) / 2;
        }
    return border;
}

double stat_deviation(const double *values, size_t n)
{
    if (n < 2)
        return NAN;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(n - 1));
}
