/* core/stat.c against exact answers, published tables, brute force, and properties. */
#include "core/draw.h"
#include "core/stat.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* --- medians, quantiles, summaries ------------------------------------------------------------ */

static void medians(void **state)
{
    (void)state;
    assert_nan(stat_median(NULL, 0));
    assert_same(stat_median((double[]){7}, 1), 7);
    assert_same(stat_median((double[]){1, 2}, 2), 1.5);
    assert_same(stat_median((double[]){1, 2, 10}, 3), 2);
    assert_same(stat_median((double[]){1, 2, 4, 100}, 4), 3);
    assert_same(stat_median((double[]){5, 5, 5, 5, 5}, 5), 5);
    assert_same(stat_median((double[]){1, 1, 1, 2, 2, 2}, 6), 1.5);
    assert_same(stat_median((double[]){-3, -1, 0, 8}, 4), -0.5);
}

static void quantiles(void **state)
{
    const double four[] = {1, 2, 3, 4};
    (void)state;
    assert_nan(stat_quantile(NULL, 0, 0.5));
    assert_same(stat_quantile((double[]){9}, 1, 0), 9);
    assert_same(stat_quantile((double[]){9}, 1, 0.3), 9);
    assert_same(stat_quantile((double[]){9}, 1, 1), 9);
    /* Type 7 of Hyndman and Fan, as in R's quantile(1:4, c(0, .1, .25, .5, .75, 1)). */
    assert_same(stat_quantile(four, 4, 0), 1);
    assert_close(stat_quantile(four, 4, 0.1), 1.3, 1e-15);
    assert_same(stat_quantile(four, 4, 0.25), 1.75);
    assert_same(stat_quantile(four, 4, 0.5), 2.5);
    assert_same(stat_quantile(four, 4, 0.75), 3.25);
    assert_same(stat_quantile(four, 4, 1), 4);
}

static void summary_of_few(void **state)
{
    const double values[] = {9, 1, 5, 3, 7};
    struct stat_summary s = stat_summarise(values, 5);
    (void)state;
    assert_int_equal(s.n, 5);
    assert_same(s.median, 5);
    assert_same(s.min, 1);
    assert_same(s.max, 9);
    assert_same(s.q1, 3);
    assert_same(s.q3, 7);
    assert_same(s.mad, 2);
    assert_nan(s.p01);
    assert_nan(s.p99);
    assert_nan(s.p999);
    assert_memory_equal(values, ((const double[]){9, 1, 5, 3, 7}), sizeof values);
}

static void summary_of_one_and_none(void **state)
{
    struct stat_summary one = stat_summarise((double[]){42}, 1), none = stat_summarise(NULL, 0);
    (void)state;
    assert_int_equal(one.n, 1);
    assert_same(one.median, 42);
    assert_same(one.min, 42);
    assert_same(one.max, 42);
    assert_same(one.q1, 42);
    assert_same(one.q3, 42);
    assert_same(one.mad, 0);
    assert_int_equal(none.n, 0);
    assert_nan(none.median);
    assert_nan(none.min);
    assert_nan(none.max);
    assert_nan(none.mad);
}

static void summary_of_ties(void **state)
{
    struct stat_summary s = stat_summarise((double[]){2, 2, 2, 9, 2, 2}, 6);
    (void)state;
    assert_same(s.median, 2);
    assert_same(s.mad, 0);
    assert_same(s.q1, 2);
    assert_same(s.q3, 2);
    assert_same(s.max, 9);
}

/* A percentile appears with the fifth sample in its tail, not before. */
static void tails(void **state)
{
    static double values[5000];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(values); i++)
        values[i] = (double)((i * 1237) % 5000); /* 1237 is prime to 5000: each number once */
    assert_nan(stat_summarise(values, 499).p01);
    assert_nan(stat_summarise(values, 499).p99);
    assert_true(stat_summarise(values, 500).p01 >= 0);
    assert_true(stat_summarise(values, 500).p99 >= 0);
    assert_nan(stat_summarise(values, 4999).p999);
    struct stat_summary s = stat_summarise(values, 5000);
    assert_close(s.p01, 49.99, 1e-12);
    assert_close(s.p99, 4949.01, 1e-12);
    assert_close(s.p999, 4994.001, 1e-12);
    assert_same(s.median, 2499.5);
}

static void best_of_first(void **state)
{
    const double values[] = {5, 3, 8, 1, 9};
    (void)state;
    assert_nan(stat_least_of_first(values, 0, 3));
    assert_nan(stat_largest_of_first(values, 0, 3));
    assert_same(stat_least_of_first(values, 5, 3), 3);
    assert_same(stat_largest_of_first(values, 5, 3), 8);
    assert_same(stat_least_of_first(values, 5, 4), 1);
    assert_same(stat_largest_of_first(values, 5, 5), 9);
    assert_same(stat_least_of_first(values, 5, 100), 1);
    assert_same(stat_largest_of_first(values, 5, 100), 9);
    assert_same(stat_least_of_first(values, 1, 100), 5);
}

/* --- the interval of a median ----------------------------------------------------------------- */

/* Conover, "Practical Nonparametric Statistics", and any binomial table, at 95 %. */
static void ranks_of_the_table(void **state)
{
    static const size_t lows[] = {[6] = 1,  [7] = 1,  [8] = 1,  [9] = 2,  [10] = 2,
                                  [11] = 2, [12] = 3, [13] = 3, [14] = 3, [15] = 4,
                                  [16] = 4, [17] = 5, [18] = 5, [19] = 5, [20] = 6};
    (void)state;
    for (size_t n = 0; n < 6; n++) {
        size_t low = 77, high = 88;
        assert_false(stat_median_ranks(n, 0.95, &low, &high));
    }
    for (size_t n = 6; n < CHECK_LENGTH(lows); n++) {
        size_t low = 0, high = 0;
        assert_true(stat_median_ranks(n, 0.95, &low, &high));
        assert_int_equal(low, lows[n]);
        assert_int_equal(high, n + 1 - lows[n]);
    }
}

/* Share of the 2^n equally likely sign patterns for which the median lies between the order
 * statistics `low` and n+1-low: at least `low` values below it and at least `low` above. */
static double coverage(unsigned n, size_t low)
{
    unsigned long covered = 0;
    for (unsigned long pattern = 0; pattern < 1ul << n; pattern++) {
        size_t below = 0;
        for (unsigned i = 0; i < n; i++)
            below += pattern >> i & 1;
        covered += below >= low && n - below >= low;
    }
    return (double)covered / (double)(1ul << n);
}

static void ranks_by_brute_force(void **state)
{
    static const double confidences[] = {0.5, 0.8, 0.9, 0.95, 0.99};
    (void)state;
    for (unsigned n = 1; n <= 14; n++)
        for (size_t c = 0; c < CHECK_LENGTH(confidences); c++) {
            size_t low = 0, high = 0;
            if (!stat_median_ranks(n, confidences[c], &low, &high)) {
                assert_true(n < 2 || coverage(n, 1) < confidences[c]);
                continue;
            }
            assert_true(low >= 1 && low <= n / 2);
            assert_int_equal(high, n + 1 - low);
            assert_true(coverage(n, low) >= confidences[c]);
            if (2 * (low + 1) <= n) /* and it is the narrowest that does */
                assert_true(coverage(n, low + 1) < confidences[c]);
        }
}

/* log of the binomial coefficient times 2^-n, summed: exact enough at any n. */
static double below_half(double n, size_t low)
{
    double sum = 0;
    for (size_t i = 0; i < low; i++)
        sum += exp(lgamma(n + 1) - lgamma((double)i + 1) - lgamma(n - (double)i + 1) - n * log(2));
    return sum;
}

/* A loop body may hand over several samples a pass: n goes well beyond a thousand. */
static void ranks_of_many(void **state)
{
    static const size_t sizes[] = {50, 100, 500, 1000, 1073, 1075, 1100, 2000, 8000, 50000};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(sizes); i++) {
        size_t n = sizes[i], low = 0, high = 0;
        assert_true(stat_median_ranks(n, 0.95, &low, &high));
        assert_int_equal(low + high, n + 1);
        assert_true(1 - 2 * below_half((double)n, low) >= 0.95 - 1e-9);
        assert_true(1 - 2 * below_half((double)n, low + 1) < 0.95);
    }
}

/* --- the interval of a ratio ------------------------------------------------------------------ */

/* Values whose pairwise ratios are all different, so that a ratio tells its rank. */
static void distinct(double *values, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        values[i] = 1 + draw_uniform(&seed);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Which of the n*m sorted ratios bounds the interval from below (from 1; 0: no interval); checks
 * that the upper one mirrors it and that the centre is the median of the ratios. */
static size_t rank_of_ratio(size_t n, size_t m, double confidence)
{
    double fresh[STAT_RATIO_MAX], old[STAT_RATIO_MAX];
    static double all[STAT_RATIO_MAX * STAT_RATIO_MAX];
    struct stat_ratio ratio;
    size_t k = 0, count = n * m;

    distinct(fresh, n, 1);
    distinct(old, m, 2);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            all[i * m + j] = fresh[i] / old[j];
    qsort(all, count, sizeof *all, ascending);
    bool found = stat_ratio(fresh, n, old, m, confidence, &ratio);
    assert_same(ratio.centre,
                count % 2 ? all[count / 2] : (all[count / 2 - 1] + all[count / 2]) / 2);
    if (!found) {
        assert_nan(ratio.low);
        assert_nan(ratio.high);
        return 0;
    }
    while (k < count && all[k] != ratio.low)
        k++;
    assert_true(k < count);
    assert_same(ratio.high, all[count - 1 - k]);
    return k + 1;
}

/* Over every way to deal the ranks of n+m equal-footed values to the two samples: the share in
 * which at least k pairs lie each way round, which is when the interval covers the truth. */
static double ratio_coverage(unsigned n, unsigned m, size_t k)
{
    unsigned long covered = 0, all = 0;
    for (unsigned long deal = 0; deal < 1ul << (n + m); deal++) {
        size_t taken = 0, pairs = 0;
        for (unsigned i = 0; i < n + m; i++)
            if (deal >> i & 1)
                taken++;
            else
                pairs += taken; /* old value i has `taken` new ones below it */
        if (taken != n)
            continue;
        all++;
        covered += pairs >= k && (size_t)n * m - pairs >= k;
    }
    return (double)covered / (double)all;
}

static void ratio_by_brute_force(void **state)
{
    static const double confidences[] = {0.8, 0.9, 0.95, 0.99};
    (void)state;
    for (unsigned n = 1; n <= 6; n++)
        for (unsigned m = 1; m <= 7; m++)
            for (size_t c = 0; c < CHECK_LENGTH(confidences); c++) {
                size_t k = rank_of_ratio(n, m, confidences[c]);
                /* With k = 0 every outcome covers, which promises nothing and says nothing. */
                assert_true(k == 0 || ratio_coverage(n, m, k) >= confidences[c] - 1e-12);
                /* A coverage of exactly 80 % may round to either side of 0.8. */
                assert_true(ratio_coverage(n, m, k + 1) < confidences[c] + 1e-12);
            }
}

/* Critical values of U, two-sided 5 %, as printed in the tables (Mann & Whitney 1947; Siegel). The
 * interval then starts at the ratio of rank U + 1. */
static void ratio_of_the_table(void **state)
{
    static const struct {
        size_t n, m, critical;
    } table[] = {{4, 4, 0},   {3, 5, 0},   {5, 5, 2},    {6, 6, 5},    {7, 7, 8},
                 {5, 8, 6},   {8, 8, 13},  {10, 10, 23}, {7, 14, 22}, {7, 20, 34},
                 {15, 15, 64}, {20, 20, 127}};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++)
        assert_int_equal(rank_of_ratio(table[i].n, table[i].m, 0.95), table[i].critical + 1);
    assert_int_equal(rank_of_ratio(3, 3, 0.95), 0);
    assert_int_equal(rank_of_ratio(3, 4, 0.95), 0);
    assert_int_equal(rank_of_ratio(1, 7, 0.95), 0);
}

static void ratio_of_seven(void **state)
{
    /* All new values are twice all old ones. */
    const double old[] = {10, 10, 10, 10, 10, 10, 10}, fresh[] = {20, 20, 20, 20, 20, 20, 20};
    struct stat_ratio ratio;
    (void)state;
    assert_true(stat_ratio(fresh, 7, old, 7, 0.95, &ratio));
    assert_same(ratio.centre, 2);
    assert_same(ratio.low, 2);
    assert_same(ratio.high, 2);
}

static void ratio_refuses(void **state)
{
    static double many[STAT_RATIO_MAX + 1];
    struct stat_ratio ratio;
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(many); i++)
        many[i] = 1 + (double)i;
    assert_false(stat_ratio(many, 0, many, 7, 0.95, &ratio));
    assert_nan(ratio.centre);
    assert_false(stat_ratio(many, 7, many, 0, 0.95, &ratio));
    assert_false(stat_ratio(many, STAT_RATIO_MAX + 1, many, 7, 0.95, &ratio));
    assert_false(stat_ratio(many, 7, many, STAT_RATIO_MAX + 1, 0.95, &ratio));
    assert_true(stat_ratio(many, STAT_RATIO_MAX, many, STAT_RATIO_MAX, 0.95, &ratio));
    assert_same(ratio.centre, 1);
}

/* --- properties ------------------------------------------------------------------------------- */

static void shuffle(double *values, size_t n, uint64_t *seed)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(draw(seed) % i);
        double v = values[i - 1];
        values[i - 1] = values[k];
        values[k] = v;
    }
}

static void assert_summary(struct stat_summary a, struct stat_summary b, double factor,
                           double shift, double tolerance)
{
    assert_int_equal(a.n, b.n);
    assert_close(a.median, b.median * factor + shift, tolerance);
    assert_close(a.min, b.min * factor + shift, tolerance);
    assert_close(a.max, b.max * factor + shift, tolerance);
    assert_close(a.q1, b.q1 * factor + shift, tolerance);
    assert_close(a.q3, b.q3 * factor + shift, tolerance);
    assert_close(a.p01, b.p01 * factor + shift, tolerance);
    assert_close(a.p99, b.p99 * factor + shift, tolerance);
    assert_close(a.mad, b.mad * factor, tolerance > 0 ? 1e-9 : 0);
}

static void order_scale_and_shift(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 7, 20, 101, 600};
    double values[600], changed[600];
    uint64_t seed = 3;
    (void)state;

    for (size_t k = 0; k < CHECK_LENGTH(sizes); k++) {
        size_t n = sizes[k];
        for (size_t i = 0; i < n; i++)
            values[i] = 100 + 10 * draw_uniform(&seed);
        struct stat_summary s = stat_summarise(values, n);

        memcpy(changed, values, sizeof changed);
        shuffle(changed, n, &seed);
        assert_summary(stat_summarise(changed, n), s, 1, 0, 0);
        for (size_t i = 0; i < n; i++)
            changed[i] = 8 * values[i]; /* a power of two: exact */
        assert_summary(stat_summarise(changed, n), s, 8, 0, 0);
        for (size_t i = 0; i < n; i++)
            changed[i] = values[i] + 1000;
        assert_summary(stat_summarise(changed, n), s, 1, 1000, 1e-13);
    }
}

static void ratio_properties(void **state)
{
    double a[7], b[7], changed[7];
    struct stat_ratio r, other;
    uint64_t seed = 5;
    (void)state;

    for (int trial = 0; trial < 50; trial++) {
        distinct(a, 7, draw(&seed));
        distinct(b, 7, draw(&seed));
        assert_true(stat_ratio(a, 7, b, 7, 0.95, &r));
        assert_true(r.low <= r.centre && r.centre <= r.high);

        memcpy(changed, a, sizeof changed);
        shuffle(changed, 7, &seed);
        assert_true(stat_ratio(changed, 7, b, 7, 0.95, &other));
        assert_same(other.centre, r.centre);
        assert_same(other.low, r.low);
        assert_same(other.high, r.high);

        for (int i = 0; i < 7; i++)
            changed[i] = 4 * a[i];
        assert_true(stat_ratio(changed, 7, b, 7, 0.95, &other));
        assert_same(other.centre, 4 * r.centre);
        assert_same(other.low, 4 * r.low);
        assert_same(other.high, 4 * r.high);

        assert_true(stat_ratio(b, 7, a, 7, 0.95, &other)); /* new and old exchanged */
        assert_close(other.centre, 1 / r.centre, 1e-12);
        assert_close(other.low, 1 / r.high, 1e-12);
        assert_close(other.high, 1 / r.low, 1e-12);
    }
}

static void disjoint(void **state)
{
    (void)state;
    assert_true(stat_disjoint((double[]){3, 4}, 2, (double[]){1, 2}, 2));
    assert_true(stat_disjoint((double[]){1, 2}, 2, (double[]){3, 4}, 2));
    assert_false(stat_disjoint((double[]){1, 3}, 2, (double[]){2, 4}, 2));
    /* touching is not beyond */
    assert_false(stat_disjoint((double[]){2, 3}, 2, (double[]){1, 2}, 2));
    assert_false(stat_disjoint((double[]){1, 5}, 2, (double[]){2, 3}, 2));
    assert_false(stat_disjoint(NULL, 0, (double[]){1}, 1));
    assert_false(stat_disjoint((double[]){1}, 1, NULL, 0));
}

/* --- slopes and deviations -------------------------------------------------------------------- */

static void slopes(void **state)
{
    (void)state;
    assert_same(stat_slope(110, 10, 210, 20), 10);
    assert_same(stat_slope(5, 1, 5, 2), 0);
    assert_same(stat_slope(8, 1, 5, 2), -3);
}

/* T(n) = 500 + 31 n, and noise that only adds, as interrupts do. The minimum of each side has met
 * no noise once in 200 samples, so its slope is right; the minimum of paired differences is not. */
static void slope_of_noisy_minima(void **state)
{
    enum { N = 200 };
    double low[N], high[N], differences[N];
    uint64_t seed = 11;
    (void)state;

    for (size_t i = 0; i < N; i++) {
        low[i] = 500 + 31 * 100 + (i % 7 ? 300 * draw_uniform(&seed) : 0);
        high[i] = 500 + 31 * 200 + (i % 5 ? 300 * draw_uniform(&seed) : 0);
        differences[i] = (high[i] - low[i]) / 100;
    }
    double best = stat_slope(stat_least_of_first(low, N, 100), 100,
                             stat_least_of_first(high, N, 100), 200);
    assert_same(best, 31);
    assert_true(stat_least_of_first(differences, N, 100) < 30);
    double centre = stat_slope(stat_summarise(low, N).median, 100, stat_summarise(high, N).median,
                               200);
    assert_close(centre, 31, 0.02);
}

static void deviations(void **state)
{
    (void)state;
    assert_nan(stat_deviation(NULL, 0));
    assert_nan(stat_deviation((double[]){4}, 1));
    assert_same(stat_deviation((double[]){4, 4, 4}, 3), 0);
    assert_close(stat_deviation((double[]){2, 4, 4, 4, 5, 5, 7, 9}, 8), sqrt(32.0 / 7), 1e-14);
    /* Far from zero, where the sum of squares alone would lose every digit. */
    assert_close(stat_deviation((double[]){1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, 4), sqrt(30),
                 1e-7);
}

/* Two clusters; a wider gap outside of what is looked at; values that are all the same. */
static void borders(void **unused)
{
    (void)unused;
    const double two[] = {1, 280, 281, 290, 450, 460, 461, 2000}, same[] = {3, 3, 3};
    double width;
    assert_true(stat_border(two, 1, 7, &width) == 370 && width == 160);
    assert_true(stat_border(two, 0, 8, &width) == 1230.5 && width == 1539);
    assert_true(isnan(stat_border(same, 0, 3, &width)) && width == 0);
    assert_true(isnan(stat_border(two, 3, 4, &width)) && width == 0);
}

/* One pair that is far off moves the median little, and the ratio of the sums by a half. */
static void pairs(void **unused)
{
    (void)unused;
    struct stat_pairs p = {0};
    assert_nan(stat_pairs_median(&p));
    for (int i = 0; i < 6; i++)
        stat_pairs_add(&p, i == 2 ? 401 : 100 + i, 100);
    assert_same(stat_pairs_median(&p), (1.03 + 1.04) / 2);
    stat_pairs_add(&p, -300, 100);
    assert_same(stat_pairs_median(&p), 1.03);
    p.n = 0;
    for (int i = 0; i < STAT_PAIRS_MOST + 9; i++)
        stat_pairs_add(&p, i < STAT_PAIRS_MOST ? 2 : 9, 1);
    assert_true(p.n == STAT_PAIRS_MOST && p.ratio[STAT_PAIRS_MOST - 1] == 2);
    assert_same(stat_pairs_median(&p), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(summary_of_few),
        cmocka_unit_test(summary_of_one_and_none),
        cmocka_unit_test(summary_of_ties),
        cmocka_unit_test(tails),
        cmocka_unit_test(best_of_first),
        cmocka_unit_test(ranks_of_the_table),
        cmocka_unit_test(ranks_by_brute_force),
        cmocka_unit_test(ranks_of_many),
        cmocka_unit_test(ratio_by_brute_force),
        cmocka_unit_test(ratio_of_the_table),
        cmocka_unit_test(ratio_of_seven),
        cmocka_unit_test(ratio_refuses),
        cmocka_unit_test(order_scale_and_shift),
        cmocka_unit_test(ratio_properties),
        cmocka_unit_test(pairs),
        cmocka_unit_test(disjoint),
        cmocka_unit_test(slopes),
        cmocka_unit_test(slope_of_noisy_minima),
        cmocka_unit_test(deviations),
        cmocka_unit_test(borders),
    };
    return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
