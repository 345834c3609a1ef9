/* compare: one case of each verdict, and the conditions on each. */
#include "tests/unit/test_report_help.h"

#include "report/cli/compare.h"

static struct comparison compared(struct row *old, struct row *new, double deviation)
{
    return compare_rows(old, new, deviation, 0.01);
}

/* Two rows of n runs, 0.1 % around their centres. */
static struct comparison of(double old_centre, double new_centre, enum row_better better, size_t n)
{
    struct rows old = {0}, new = {0};
    struct row *a = put_spread(&old, "a.b", "ns", better, old_centre, old_centre / 1000, n);
    struct row *b = put_spread(&new, "a.b", "ns", better, new_centre, new_centre / 1000, n);
    struct comparison c = compared(a, b, NAN);
    rows_free(&old);
    rows_free(&new);
    return c;
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
    struct comparison c = of(100, 150, ROW_LOWER, 5);
    assert_int_equal(c.verdict, VERDICT_UNSURE);
    assert_string_equal(c.note, "needs 6 runs");
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
    rows_free(&old);
    rows_free(&new);
}

static void once_rows_may_be_the_same(void **unused)
{
    struct rows old = {0}, new = {0};
    const double first[] = {100, 100.2}, second[] = {100.1, 100.4}, third[] = {120, 120};
    (void)unused;
    struct row *a = put_values(&old, "a.b", "ns", ROW_LOWER, first, 2);
    struct row *b = put_values(&new, "a.b", "ns", ROW_LOWER, second, 2);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    a->once = b->once = true;
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

static void no_ratio_of_zero(void **unused)
{
    struct rows old = {0}, new = {0};
    const double zeros[] = {0, 0, 0, 0, 0, 0, 0}, mixed[] = {0, 1, 1, 1, 1, 1, 1};
    (void)unused;
    struct row *a = put_values(&old, "a.b", "ratio", ROW_LOWER, zeros, 7);
    struct row *b = put_values(&new, "a.b", "ratio", ROW_LOWER, zeros, 7);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_SAME);
    b = put_values(&new, "a.c", "ratio", ROW_LOWER, mixed, 7);
    assert_int_equal(compared(a, b, NAN).verdict, VERDICT_UNSURE);
    rows_free(&old);
    rows_free(&new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions),
        cmocka_unit_test(a_small_difference_is_the_same),
        cmocka_unit_test(few_runs_decide_nothing),
        cmocka_unit_test(doubt),
        cmocka_unit_test(spread_between_bundles_and_ticks),
        cmocka_unit_test(exact_metrics),
        cmocka_unit_test(once_rows_may_be_the_same),
        cmocka_unit_test(one_sided_and_not_comparable),
        cmocka_unit_test(no_ratio_of_zero),
    };
    return cmocka_run_group_tests_name("report compare", tests, NULL, NULL);
}
