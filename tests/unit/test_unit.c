/* core/unit.c: the closed list, how a person sees a value, and sizes. */
#include "core/unit.h"

#include <string.h>

#include "tests/unit/check.h"

static void closed_list(void **state)
{
    static const char *const known[] = {"ns", "cycles", "bytes", "bytes/s", "bytes/cycle", "flop/s",
                                        "ops/s", "ops/cycle", "hertz", "count", "ratio", "ulps",
                                        "watts", "joules", "celsius"};
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(known); i++)
        assert_true(unit_known(known[i]));
    while (unit_at(n))
        n++;
    assert_int_equal(n, CHECK_LENGTH(known));
    for (size_t i = 0; i < n; i++)
        assert_true(unit_known(unit_at(i)));
    assert_false(unit_known("us"));
    assert_false(unit_known("GB/s"));
    assert_false(unit_known("NS"));
    assert_false(unit_known("n"));
    assert_false(unit_known(""));
    assert_false(unit_known(NULL));
}

static void rates(void **state)
{
    (void)state;
    assert_true(unit_is_rate("bytes/s"));
    assert_true(unit_is_rate("flop/s"));
    assert_true(unit_is_rate("ops/s"));
    assert_false(unit_is_rate("bytes/cycle"));
    assert_false(unit_is_rate("ops/cycle"));
    assert_false(unit_is_rate("ns"));
    assert_false(unit_is_rate("hertz"));
    assert_false(unit_is_rate("/s"));
    assert_false(unit_is_rate(""));
    assert_false(unit_is_rate(NULL));
}

static void formats(void **state)
{
    static const struct {
        double value;
        const char *unit;
        int digits;
        const char *text;
    } table[] = {
        {5220, "ns", 3, "5.22 us"},
        {5220, "ns", 4, "5.220 us"},
        {0, "ns", 4, "0 ns"},
        {1, "ns", 4, "1 ns"},
        {999, "ns", 4, "999 ns"},
        {1e308, "count", 4, "1.000e+308"},
        {-1e308, "ns", 3, "-1.00e+299 s"},
        {1e308, "bytes/s", 3, "1.00e+293 PB/s"},
        {9999999999, "count", 4, "9999999999"},
        {12345678901, "count", 4, "1.235e+10"},
        {1000, "ns", 4, "1 us"},
        {1.5, "ns", 4, "1.500 ns"},
        {31.26, "cycles", 3, "31.3 cycles"},
        {250, "cycles", 4, "250 cycles"},
        {1234567, "ns", 4, "1.235 ms"},
        {-5220, "ns", 3, "-5.22 us"},
        {2.5e12, "ns", 3, "2500 s"},
        {1023, "bytes", 4, "1023 B"},
        {1024, "bytes", 4, "1 KiB"},
        {1536, "bytes", 4, "1.500 KiB"},
        {262144, "bytes", 4, "256 KiB"},
        {52428800, "bytes", 4, "50 MiB"},
        {0x1p40, "bytes", 4, "1 TiB"},
        {0x1p50, "bytes", 4, "1024 TiB"},
        {4.8e12, "bytes/s", 3, "4.80 TB/s"},
        {989.4e12, "flop/s", 4, "989.4 TFLOP/s"},
        {1980e6, "hertz", 4, "1.980 GHz"},
        {0.0123, "ratio", 3, "0.0123"},
        {0.995, "ratio", 3, "0.995"},
        {132, "count", 4, "132"},
        {700, "watts", 4, "700 W"},
        {64.2, "celsius", 3, "64.2 C"},
        {1.25, "furlongs", 3, "1.25"}, /* unknown: bare, never a crash */
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        assert_ptr_equal(unit_format(text, sizeof text, table[i].value, table[i].unit,
                                     table[i].digits), text);
        assert_string_equal(text, table[i].text);
    }
}

/* A value that rounds up to the next power of ten, or to the next unit, has no digit too many. */
static void formats_where_rounding_carries(void **state)
{
    static const struct {
        double value;
        const char *unit;
        int digits;
        const char *text;
    } table[] = {
        {9.9996, "cycles", 4, "10.00 cycles"},
        {99.996, "cycles", 4, "100.0 cycles"},
        {0.99996, "ratio", 4, "1.000"},
    };
    char text[64];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++)
        assert_string_equal(unit_format(text, sizeof text, table[i].value, table[i].unit,
                                        table[i].digits), table[i].text);
    unit_format(text, sizeof text, 999.96, "ns", 4);
    assert_true(!strcmp(text, "1000 ns") || !strcmp(text, "1.000 us") || !strcmp(text, "1 us"));
}

static void formats_what_is_missing(void **state)
{
    char text[64];
    (void)state;
    assert_string_equal(unit_format(text, sizeof text, (double)NAN, "ns", 4), "-");
    assert_string_equal(unit_format(text, sizeof text, (double)INFINITY, "ns", 4), "-");
    assert_string_equal(unit_format(text, sizeof text, -(double)INFINITY, NULL, 4), "-");
}

/* Huge and tiny values end within the buffer, whatever its size. */
static void formats_within_bounds(void **state)
{
    static const double values[] = {0, 1, -1, 5220, 1e-300, 1e300, -1.7e308, 123456.789, 0.5};
    char text[80];
    (void)state;
    for (size_t size = 1; size <= 40; size++)
        for (size_t v = 0; v < CHECK_LENGTH(values); v++)
            for (size_t u = 0; unit_at(u); u++) {
                memset(text, '#', sizeof text);
                unit_format(text, size, values[v], unit_at(u), 4);
                assert_non_null(memchr(text, '\0', size));
                for (size_t i = size; i < sizeof text; i++)
                    assert_int_equal(text[i], '#');
            }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } table[] = {
        {"0", 0},
        {"1", 1},
        {"4096", 4096},
        {"64K", 65536},
        {"1M", 1 << 20},
        {"2G", (int64_t)2 << 30},
        {"3T", (int64_t)3 << 40},
        {"9223372036854775807", INT64_MAX},
        {"8388607T", (int64_t)8388607 << 40},
        {"0T", 0},
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        int64_t bytes = -1;
        assert_true(unit_parse_size(table[i].text, &bytes));
        assert_true(bytes == table[i].bytes);
    }
}

static void bad_sizes(void **state)
{
    static const char *const bad[] = {
        "",    " ",   "K",     "abc",  "-1", "+1",   " 1",   "1 ",
        "1k",  "1KB", "1KiB",  "1.5K", "1KK", "0x10", "1e3",  "1,024",
        "9223372036854775808", "8388608T", "9007199254740992K", "99999999999999999999999",
        "18446744073709551617", "1P",
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(bad); i++) {
        int64_t bytes = -77;
        if (unit_parse_size(bad[i], &bytes))
            fail_msg("'%s' was taken for %lld bytes", bad[i], (long long)bytes);
        assert_true(bytes == -77);
    }
    assert_false(unit_parse_size(NULL, &(int64_t){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_list),
        cmocka_unit_test(rates),
        cmocka_unit_test(formats),
        cmocka_unit_test(formats_where_rounding_carries),
        cmocka_unit_test(formats_what_is_missing),
        cmocka_unit_test(formats_within_bounds),
        cmocka_unit_test(sizes),
        cmocka_unit_test(bad_sizes),
    };
    return cmocka_run_group_tests_name("unit", tests, NULL, NULL);
}
