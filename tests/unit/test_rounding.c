/* The bound of links/all_reduce against sums that are rounded once, rounded at each addition as a
 * library may do, and that lack an addend. */
#include "links/all_reduce/rounding.h"

#include "core/draw.h"
#include "core/half.h"
#include "tests/unit/check.h"

enum { MOST = 8, SUMS = 20000 };

static double to_bf16(double x)
{
    int exponent;
    const double part = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(part, 8)), exponent - 8);
}

/* Sums of the given kind that lie beyond the bound. */
static int beyond(int addends, bool each, bool once, bool lacks_one)
{
    uint64_t state = 7;
    int n = 0;

    for (int i = 0; i < SUMS; i++) {
        double x[MOST], sum = 0, whole = 0, found = 0;
        for (int k = 0; k < addends; k++) {
            x[k] = to_bf16((double)draw_below(&state, 2001) / 1000 - 1);
            sum += x[k];
            whole += fabs(x[k]);
        }
        for (int k = lacks_one; k < addends; k++)
            found = each ? to_bf16(found + x[k]) : found + x[k];
        n += fabs(to_bf16(found) - sum) > rounding_cost(HALF_BF16_UNIT, addends, once, sum, whole);
    }
    return n;
}

static void test_rounded_once(void **state)
{
    (void)state;
    for (int addends = 2; addends <= MOST; addends++)
        assert_int_equal(beyond(addends, false, true, false), 0);
}

static void test_rounded_each_time(void **state)
{
    (void)state;
    for (int addends = 2; addends <= MOST; addends++)
        assert_int_equal(beyond(addends, true, false, false), 0);
    assert_int_equal(beyond(2, true, true, false), 0);
    assert_true(beyond(4, true, true, false) > SUMS / 100);
}

static void test_an_addend_lacks(void **state)
{
    (void)state;
    for (int addends = 2; addends <= 4; addends++) {
        assert_true(beyond(addends, false, true, true) > SUMS * 9 / 10);
        assert_true(beyond(addends, true, false, true) > SUMS * 9 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounded_once),
        cmocka_unit_test(test_rounded_each_time),
        cmocka_unit_test(test_an_addend_lacks),
    };
    return cmocka_run_group_tests_name("rounding", tests, NULL, NULL);
}
