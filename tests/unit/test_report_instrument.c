/* instrument: a stuck timer and a wait that was none are seen, and a sound bundle is left alone. */
#include "tests/unit/test_report_help.h"

#include "report/bundle/instrument.h"

static void put_times(struct bundle *b, const char *timer, size_t n, double first, double step)
{
    char id[64];
    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof id, "a.time{i=%zu,timer=%s}", i, timer);
        put_spread(&b->rows, id, "ns", ROW_LOWER, first + step * (double)i, 0, 7);
    }
}

static void a_stuck_timer(void **unused)
{
    struct bundle b = {0};
    char why[DOCUMENT_WHY];
    (void)unused;
    put_times(&b, "event", 4, 1000, 0); /* so few may be equal */
    assert_true(instrument_holds(&b, why));
    put_times(&b, "device", 9, 10, 0.1);
    assert_true(instrument_holds(&b, why));
    put_times(&b, "event", 6, 1000, 0);
    assert_false(instrument_holds(&b, why));
    assert_string_equal(why, "all 6 times by timer=event are equal: a stuck timer");
    put_spread(&b.rows, "b.time{timer=event}", "ns", ROW_LOWER, 1000.001, 0, 7);
    assert_true(instrument_holds(&b, why));
    rows_free(&b.rows);
}

static void a_wait_of_another_length(void **unused)
{
    struct bundle b = {0};
    char why[DOCUMENT_WHY];
    (void)unused;
    put_spread(&b.rows, "spin.waited{asked=1000}", "cycles", ROW_LOWER, 1030, 0, 7);
    put_spread(&b.rows, "spin.waited{asked=20000}", "cycles", ROW_LOWER, 20011, 0, 7);
    assert_true(instrument_holds(&b, why));
    put_spread(&b.rows, "spin.waited{asked=200000}", "cycles", ROW_LOWER, 20011, 0, 7);
    assert_false(instrument_holds(&b, why));
    assert_string_equal(why, "spin was asked to wait 200000 cycles and waited 20011: no clock");
    rows_free(&b.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stuck_timer),
        cmocka_unit_test(a_wait_of_another_length),
    };
    return cmocka_run_group_tests_name("report instrument", tests, NULL, NULL);
}
