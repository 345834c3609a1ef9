/* compare: one case of each verdict, and the conditions on each. */
#include "tests/unit/test_report_help.h"

#include "report/cli/compare.h"

static struct comparison compared(struct row *old, struct row *new, double within)
{
    const struct spread spread = {.within = within, .between = 0.5, .sets = 2, .cards = 2};
    return compare_rows(old, new, DID_IT_MATTER, &spread, 0.01);
}

/* Two rows of n runs, 0.1 % around their centres. */
static struct comparison of_unit(const char *unit, double old_centre, double new_centre,
                                 enum row_better better, size_t n)
{
    struct rows old = {0}, new = {0};
    struct row *a = put_spread(&old, "a.b", unit, better, old_centre, old_centre / 1000, n);
    struct row *b = put_spread(&new, "a.b", unit, better, new_centre, new_centre / 1000, n);
    struct comparison c = compared(a, b, NAN);
    rows_free(&old);
    rows_free(&new);
    return c;
}

static struct comparison of(double old_centre, double new_centre, enum row_better better, size_t n)
{
    return of_unit("ns", old_centre, new_centre, better, n);
}

/* Watts are not slower. */
static void words(void **unused)
{
    static const char *const speeds[] = {"ns", "cycles", "bytes/s", "flop/s", "ops/cycle"};
    static const char *const others[] = {"watts", "joules", "ratio", "ulps", "bytes", "hertz"};
    (void)unused;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        assert_int_equal(of_unit(speeds[i], 100, 97, ROW_LOWER, 7).verdict, VERDICT_FASTER);
        assert_int_equal(of_unit(speeds[i], 100, 97, ROW_HIGHER, 7).verdict, VERDICT_SLOWER);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(of_unit(others[i], 100, 97, ROW_LOWER, 7).verdict, VERDICT_BETTER);
        assert_int_equal(of_unit(others[i], 100, 97, ROW_HIGHER, 7).verdict, VERDICT_WORSE);
        assert_int_equal(of_unit(others[i], 100, 100.3, ROW_LOWER, 7).verdict, VERDICT_SAME);
    }
    for (int i = 0; i < N_VERDICTS; i++)
        assert_non_null(verdict_name((enum verdict)i));
    assert_string_equal(verdict_name(VERDICT_WORSE), "WORSE");
}

static void directions(void **unused)
{
    (void)unused;
    assert_int_equal(of(100, 97, ROW_LOWER, 7).verdict, VERDICT_FASTER);
    assert_int_equal(of(100, 103, ROW_LOWER, 7).verdict, VERDICT_SLOWER);
    assert_int_equal(of(100, 97, ROW_HIGHER, 7).verdict, VERDICT_SLOWER);
    assert_int_equal(of(100, 103, ROW_HIGHER, 7).verdict, VERDICT_FASTER);
    assert_int_equal(of(100, 100.3, ROW_LOWER, 7).verdict, VERDICT_SAME);
    assert_true(fabs(of(100, 97, ROW_LOWER, 7).ratio - 0.97) < 1e-12);
}

static void a_small_difference_is_the_same(void **unused)
{
    (void)unused;
    /* All runs lie beyond all runs, but by less than 1 %. */
    assert_int_equal(of(100, 100.7, ROW_LOWER, 7).verdict, VERDICT_SAME);
}

static void few_runs_decide_nothing(void **unused)
{
    (void)unused;
    assert_int_equal(of(100, 150, ROW_LOWER, 6).verdict, VERDICT_SLOWER);
    struct comparison c = of(100, 150, ROW_LOWER, 1);
    assert_int_equal(c.verdict, VERDICT_UNSURE);
    assert_string_equal(c.note, "needs 6 runs");
}

/* Two runs and more are judged with a slack: 2 %, and twice the distance of a side's own runs. */
static void a_few_runs_are_judged_with_slack(void **unused)
{
    struct rows old = {0}, new = {0};
    const double close[] = {100, 100.2}, near[] = {101.8, 101.9}, far[] = {103, 103.2};
    const double wide[] = {104, 108}, half[] = {50, 50.1};
    struct row *a = put_values(&old, "a.b", "ns", ROW_LOWER, close, 2);
    (void)unused;
    assert_int_equal(compared(a, put_values(&new, "a.c", "ns", ROW_LOWER, near, 2), NAN).verdict,
                     VERDICT_UNSURE); /* beyond, but by less than 2 % */
    assert_int_equal(compared(a, put_values(&new, "a.d", "ns", ROW_LOWER, far, 2), NAN).verdict,
                     VERDICT_SLOWER);
    assert_int_equal(compared(a, put_values(&new, "a.d", "ns", ROW_LOWER, far, 2), 0.02).verdict,
                     VERDICT_SAME); /* three standard deviations are 6 % */
    assert_int_equal(compared(a, put_values(&new, "a.e", "ns", ROW_LOWER, wide, 2), NAN).verdict,
                     VERDICT_UNSURE); /* its own runs lie 3.8 % apart, and it 5.9 % off */
    assert_int_equal(compared(a, put_values(&new, "a.f", "ns", ROW_LOWER, half, 2), NAN).verdict,
                     VERDICT_FASTER);
    rows_free(&old);
    rows_free(&new);
}

/* Whatever the board's spread: twice the time is slower, half the rate too, and a tenth is not the
 * same. */
static void no_spread_hides_a_large_change(void **unused)
{
    struct rows old = {0}, new = {0};
    struct row *time = put_spread(&old, "a.b", "ns", ROW_LOWER, 100, 1, 7);
    struct row *rate = put_spread(&old, "a.r", "bytes/s", ROW_HIGHER, 100, 1, 7);
    struct row *twice = put_spread(&new, "a.b", "ns", ROW_LOWER, 200, 1, 7);
    struct row *halved = put_spread(&new, "a.r", "bytes/s", ROW_HIGHER, 50, 0.5, 7);
    struct row *tenth = put_spread(&new, "a.c", "ns", ROW_LOWER, 112, 1, 7);
    (void)unused;
    assert_int_equal(compared(time, twice, 10).verdict, VERDICT_SLOWER);
    assert_int_equal(compared(rate, halved, 10).verdict, VERDICT_SLOWER);
    struct comparison c = compared(time, tenth, 0.05); /* 3 x 5 % > 12 % */
    assert_int_equal(c.verdict, VERDICT_UNSURE);
    assert_string_equal(c.note, "the board scatters by 15 %");
    rows_free(&old);
    rows_free(&new);
}

/* What --threshold allows is the same, however much; spread and ticks add no more than 40 %. */
static void a_threshold_is_as_large_as_it_says(void **unused)
{
    struct rows old = {0}, new = {0};
    const struct spread unknown = {.within = NAN, .between = NAN};
    const struct spread wild = {.within = 10, .between = NAN};
    put_spread(&old, "a.b", "ns", ROW_LOWER, 100, 0.1, 7);
    struct row *few = put_spread(&old, "a.few", "ns", ROW_LOWER, 100, 0.1, 3);
    struct row *a = (struct row *)rows_find(&old, "a.b");
    (void)unused;
    struct row *b = put_spread(&new, "a.b", "ns", ROW_LOWER, 112, 0.1, 7);
    assert_int_equal(compare_rows(a, b, DID_IT_MATTER, &unknown, 0.20).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(few, b, DID_IT_MATTER, &unknown, 0.20).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(a, b, DID_IT_MATTER, &unknown, 0.11).verdict, VERDICT_SLOWER);
    b = put_spread(&new, "a.c", "ns", ROW_LOWER, 150, 0.1, 7);
    assert_int_equal(compare_rows(a, b, DID_IT_MATTER, &wild, 0.60).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(few, b, DID_IT_MATTER, &wild, 0.60).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(a, b, DID_IT_MATTER, &wild, 0.45).verdict, VERDICT_SLOWER);
    assert_int_equal(compare_rows(few, b, DID_IT_MATTER, &wild, 0.45).verdict, VERDICT_SLOWER);
    rows_free(&old);
    rows_free(&new);
}

/* Of cards another spread counts, and 3 % where one card is known. */
static void is_it_normal_is_another_question(void **unused)
{
    struct rows old = {0}, new = {0};
    struct row *a = put_spread(&old, "a.b", "ns", ROW_LOWER, 100, 0.1, 7);
    struct row *b = put_spread(&new, "a.b", "ns", ROW_LOWER, 102.5, 0.1, 7);
    struct row *far = put_spread(&new, "a.c", "ns", ROW_LOWER, 104, 0.1, 7);
    const struct spread two = {.within = 0.001, .between = 0.02, .sets = 4, .cards = 2};
    const struct spread one = {.within = 0.001, .between = NAN, .sets = 2, .cards = 1};
    (void)unused;
    assert_int_equal(compare_rows(a, b, DID_IT_MATTER, &two, 0.01).verdict, VERDICT_SLOWER);
    assert_int_equal(compare_rows(a, b, IS_IT_NORMAL, &two, 0.01).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(a, b, IS_IT_NORMAL, &one, 0.01).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(a, far, IS_IT_NORMAL, &two, 0.01).verdict, VERDICT_SAME);
    assert_int_equal(compare_rows(a, far, IS_IT_NORMAL, &one, 0.01).verdict, VERDICT_SLOWER);
    rows_free(&old);
    rows_free(&new);
}

static void doubt(void **unused)
{
    struct rows rows = {0};
    struct row *old = put_spread(&rows, "a.old", "ns", ROW_LOWER, 100, 0.2, 7);
    const double wide[] = {97, 99, 100, 101.5, 103, 105, 108};
    (void)unused;
    put_values(&rows, "a.new", "ns", ROW_LOWER, wide, 7);
    old = (struct row *)rows_find(&rows, "a.old");
    struct comparison c = compared(old, (struct row *)rows_find(&rows, "a.new"), NAN);
    assert_int_equal(c.verdict, VERDICT_UNSURE);
    assert_non_null(strstr(c.note, "runs"));
    rows_free(&rows);
}

static void spread_between_bundles_and_ticks(void **unused)
{
    struct rows old = {0}, new = {0};
    struct row *a = put_spread(&old, "a.b", "ns", ROW_LOWER, 100, 0.1, 7);
    struct row *b = put_spread(&new, "a.b", "ns", ROW_LOWER, 103, 0.1, 7);
    (void)unused;
    assert_int_equal(compared(a, b, 0.005).verdict, VERDICT_SLOWER); /* 3 x 0.5 % < 3 % */
    struct comparison c = compared(a, b, 0.02);
    assert_int_equal(c.verdict, VERDICT_SAME);
    assert_string_equal(c.note, "within 6.0 %");
    b->resolution = 2; /* two ticks are 4 % */
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_SAME);
    rows_free(&old);
    rows_free(&new);
}

static void exact_metrics(void **unused)
{
    struct rows old = {0}, new = {0};
    const double one[] = {128}, same[] = {128, 128}, other[] = {256};
    (void)unused;
    struct row *a = put_values(&old, "a.b", "count", ROW_EXACT, one, 1);
    struct row *b = put_values(&new, "a.b", "count", ROW_EXACT, same, 2);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_SAME);
    b = put_values(&new, "a.c", "count", ROW_EXACT, other, 1);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_CHANGED);

    /* Older documents hold nine digits of 2^31, newer ones all; and seven of a ratio. */
    const double nine = 2.14748365e9, all = 2147483648, more = 2147483681;
    const double long_ratio = 0.123456789, ratio = 0.1234568, another = 0.1234569;
    a = put_values(&old, "b.c", "bytes", ROW_EXACT, &nine, 1);
    assert_int_equal(compared(a, put_values(&new, "b.c", "bytes", ROW_EXACT, &all, 1), NAN).verdict,
                     VERDICT_SAME);
    assert_int_equal(
        compared(a, put_values(&new, "b.d", "bytes", ROW_EXACT, &more, 1), NAN).verdict,
        VERDICT_CHANGED);
    a = put_values(&old, "b.e", "ratio", ROW_EXACT, &long_ratio, 1);
    assert_int_equal(
        compared(a, put_values(&new, "b.e", "ratio", ROW_EXACT, &ratio, 1), NAN).verdict,
        VERDICT_SAME);
    assert_int_equal(
        compared(a, put_values(&new, "b.f", "ratio", ROW_EXACT, &another, 1), NAN).verdict,
        VERDICT_CHANGED);
    rows_free(&old);
    rows_free(&new);
}

static void once_rows_may_be_the_same(void **unused)
{
    struct rows old = {0}, new = {0};
    const double first[] = {100, 100.2}, second[] = {100.1, 100.4}, third[] = {100, 120};
    (void)unused;
    struct row *a = put_values(&old, "a.b", "ns", ROW_LOWER, first, 2);
    struct row *b = put_values(&new, "a.b", "ns", ROW_LOWER, second, 2);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_SAME);
    b = put_values(&new, "a.c", "ns", ROW_LOWER, third, 2);
    b->once = true;
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    rows_free(&old);
    rows_free(&new);
}

static void one_sided_and_not_comparable(void **unused)
{
    struct rows old = {0}, new = {0};
    struct row *a = put_spread(&old, "a.b", "ns", ROW_LOWER, 100, 0.1, 7);
    struct row *b = put_spread(&new, "a.b", "ns", ROW_LOWER, 100, 0.1, 7);
    (void)unused;
    assert_int_equal(compared(a, NULL, NAN).verdict, VERDICT_GONE);
    assert_int_equal(compared(NULL, b, NAN).verdict, VERDICT_NEW);
    b->method = 1;
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_NC);
    b->method = 0;
    b->unit = "cycles";
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_NC);
    b->unit = "ns";
    b->n_failed = 1;
    row_finish(b);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    b->n = 0;
    b->n_failed = 0;
    row_finish(b);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_GONE);
    rows_free(&old);
    rows_free(&new);
}

static void no_ratio_of_some_zeros(void **unused)
{
    struct rows old = {0}, new = {0};
    const double zeros[] = {0, 0, 0, 0, 0, 0, 0}, mixed[] = {0, 1, 1, 1, 1, 1, 1};
    const double below[] = {-1, -1, -1, -1, -1, -1, -1};
    (void)unused;
    struct row *a = put_values(&old, "a.b", "ratio", ROW_LOWER, zeros, 7);
    struct row *b = put_values(&new, "a.b", "ratio", ROW_LOWER, zeros, 7);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_SAME);
    b = put_values(&new, "a.c", "ratio", ROW_LOWER, mixed, 7);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    assert_int_equal(compared(b, a, NAN).verdict, VERDICT_UNSURE);
    b = put_values(&new, "a.d", "ratio", ROW_LOWER, below, 7);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    rows_free(&old);
    rows_free(&new);
}

/* The ratio is infinite or 0; whatever a tick is, and however the board scatters. */
static void all_runs_from_or_to_zero_have_a_direction(void **unused)
{
    const double zeros[] = {0, 0, 0, 0, 0, 0, 0}, more[] = {0.9, 1, 1, 1, 1, 1, 1};
    (void)unused;
    for (size_t n = 1; n <= 7; n += n == 1 ? 1 : 5) { /* 1, 2, 7 */
        struct rows rows = {0};
        put_values(&rows, "a.zero", "ratio", ROW_HIGHER, zeros, n);
        put_values(&rows, "a.more", "ratio", ROW_HIGHER, more, n);
        put_values(&rows, "b.zero", "ratio", ROW_LOWER, zeros, n);
        put_values(&rows, "b.more", "ratio", ROW_LOWER, more, n)->resolution = 1;
        struct row *high[2] = {(struct row *)rows_find(&rows, "a.zero"),
                               (struct row *)rows_find(&rows, "a.more")};
        struct row *low[2] = {(struct row *)rows_find(&rows, "b.zero"),
                              (struct row *)rows_find(&rows, "b.more")};
        const bool few = n == 1;
        struct comparison c = compared(high[1], high[0], 10);
        assert_int_equal(c.verdict, few ? VERDICT_UNSURE : VERDICT_WORSE);
        assert_true(c.ratio == 0);
        c = compared(low[0], low[1], 10);
        assert_int_equal(c.verdict, few ? VERDICT_UNSURE : VERDICT_WORSE);
        assert_true(isinf(c.ratio));
        assert_string_equal(c.note, few ? "needs 6 runs" : n == 2 ? "2 and 2 runs" : "from 0");
        c = compared(high[0], high[1], NAN);
        assert_int_equal(c.verdict, few ? VERDICT_UNSURE : VERDICT_BETTER);
        c = compared(low[1], low[0], NAN);
        assert_int_equal(c.verdict, few ? VERDICT_UNSURE : VERDICT_BETTER);
        rows_free(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(directions),
        cmocka_unit_test(a_small_difference_is_the_same),
        cmocka_unit_test(few_runs_decide_nothing),
        cmocka_unit_test(a_few_runs_are_judged_with_slack),
        cmocka_unit_test(no_spread_hides_a_large_change),
        cmocka_unit_test(a_threshold_is_as_large_as_it_says),
        cmocka_unit_test(is_it_normal_is_another_question),
        cmocka_unit_test(doubt),
        cmocka_unit_test(spread_between_bundles_and_ticks),
        cmocka_unit_test(exact_metrics),
        cmocka_unit_test(once_rows_may_be_the_same),
        cmocka_unit_test(one_sided_and_not_comparable),
        cmocka_unit_test(no_ratio_of_some_zeros),
        cmocka_unit_test(all_runs_from_or_to_zero_have_a_direction),
    };
    return cmocka_run_group_tests_name("report compare", tests, NULL, NULL);
}
