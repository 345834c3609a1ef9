/* The claim about the clock: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static enum claim_verdict z01(double clock_ns, double l1_ns)
{
    struct bundle b = {0};
    struct finding f;
    put_spread(&b.rows, "clock_read.time{timer=wall}", "ns", ROW_LOWER, clock_ns, 0.5, 7);
    put_spread(&b.rows, "host_memory.load_time{level=l1,timer=wall}", "ns", ROW_LOWER, l1_ns, 0.1,
               7);
    return verdict_of("Z01", &b, &f);
}

static void the_clock_is_cheap(void **unused)
{
    (void)unused;
    assert_int_equal(z01(20, 1), CLAIM_REPRODUCED);
    assert_int_equal(z01(200, 1), CLAIM_REFUTED);
    assert_int_equal(z01(100, 1), CLAIM_MIXED);
    assert_int_equal(z01(1, 1), CLAIM_NOT_TESTABLE);   /* no clock is as fast as a load */
    assert_int_equal(z01(20, 20), CLAIM_NOT_TESTABLE); /* and no load as slow as a clock */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_clock_is_cheap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
