/* core/samples.c, alone: a made-up probe, scripted samples, and a clock that this file turns. This
 * file also replaces what it needs of core/probe.c (the clock, the timers' ticks, the way out). */
#include "core/draw.h"
#include "core/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { TIME, SLOPE, RATE, HIGHER, COUNT, CYCLES, P99, P999, ALIKE, AGAIN, STREAM, N_METRICS };
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_EACH, "wall", "", "a time"},
    [SLOPE] = {"slope", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "", "a time by slope"},
    [RATE] = {"rate", "bytes/s", PROBE_HIGHER, PROBE_EACH, "event", "", "a rate"},
    [HIGHER] = {"share", "ratio", PROBE_HIGHER, PROBE_EACH, NULL, "", "higher is better, no rate"},
    [COUNT] = {"count", "count", PROBE_EXACT, PROBE_EACH, NULL, "", "a count"},
    [CYCLES] = {"cycles", "cycles", PROBE_LOWER, PROBE_EACH, NULL, "", "ticks by one"},
    [P99] = {"p99", "ns", PROBE_LOWER, PROBE_P99, "wall", "", "a tail"},
    [P999] = {"p999", "ns", PROBE_LOWER, PROBE_P999, "wall", "", "a longer one"},
    [ALIKE] = {"time", "ns", PROBE_LOWER, PROBE_EACH, "event", "", "the same by another timer"},
    [AGAIN] = {"time", "cycles", PROBE_EXACT, PROBE_EACH, "device", "",
               "its name, and no other word of it"},
    [STREAM] = {"stream", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, "event", "", "a rate by slope"},
};
const struct probe probe = {
    .name = "made_up", .what = "?", .method = 1, .metrics = metrics, .n_metrics = N_METRICS,
};

/* --- stand-ins for core/probe.c --------------------------------------------------------------- */

static uint64_t now_ns;
static double tick_ns;

uint64_t probe_host_ns(void)
{
    return now_ns;
}

double probe_tick_ns(const struct probe_run *r, const char *timer)
{
    (void)r;
    (void)timer;
    return tick_ns;
}

void probe_fail(struct probe_run *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why, sizeof r->why, format, arguments);
    va_end(arguments);
    longjmp(*r->leave, 1);
}

/* --- a run ------------------------------------------------------------------------------------ */

static struct probe_run run, *const r = &run;

static int begin(void **state)
{
    (void)state;
    run = (struct probe_run){.options = {.rounds = 1}};
    r->series = calloc(N_METRICS + 1, sizeof *r->series);
    r->cases = json_array();
    r->facts = json_object();
    r->metrics = json_object();
    now_ns = 1000;
    tick_ns = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    samples_free(r);
    json_decref(r->cases);
    return 0;
}

/* Why an action ended the run; "" when it did not. */
#define failure_of(action) \
    __extension__({ \
        jmp_buf here; \
        r->leave = &here; \
        r->why[0] = '\0'; \
        if (setjmp(here) == 0) { \
            action; \
        } \
        r->leave = NULL; \
        r->why; \
    })

/* The case closed last. */
static const json_t *last_case(void)
{
    samples_close_case(r);
    size_t n = json_array_size(r->cases);
    assert_true(n > 0);
    return json_array_get(r->cases, n - 1);
}

static const json_t *metric_of(const json_t *one, const char *name)
{
    const json_t *metric;
    size_t i;
    json_array_foreach(json_object_get(one, "metrics"), i, metric)
        if (!strcmp(document_get_text(metric, "name", ""), name))
            return metric;
    return NULL;
}

static double number(const json_t *object, const char *key)
{
    return document_get_number(object, key);
}

static const char *text(const json_t *object, const char *key)
{
    return document_get_text(object, key, "");
}

/* Its unit or direction. */
static const char *word(const json_t *metric, const char *key)
{
    return document_metric_word(r->metrics, metric, key);
}

/* Fills one case of one metric from a script: sample i of the loop, warm-up not counted, is
 * script(i); the two passes of warm-up hand over absurd values. Returns the passes sampled. */
static int sample_flagged(unsigned flags, int metric, double (*script)(int), uint64_t ns_a_pass)
{
    int pass = 0;
    assert_true(probe_begin_case(r, flags, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, metric, 1, pass < 2 ? 1e12 : script(pass - 2));
        now_ns += ns_a_pass;
        pass++;
    }
    return pass - 2;
}

static int sample_all(int metric, double (*script)(int), uint64_t ns_a_pass)
{
    return sample_flagged(0, metric, script, ns_a_pass);
}

/* --- when the loop ends ----------------------------------------------------------------------- */

static double constant(int i)
{
    (void)i;
    return 100;
}

static double two_modes(int i)
{
    return i % 2 ? 200 : 100;
}

static void stops_when_stable(void **state)
{
    (void)state;
    assert_int_equal(sample_all(TIME, constant, 1), 20);
    const json_t *one = last_case(), *m = metric_of(one, "time");
    assert_string_equal(text(one, "stopped"), "stable");
    assert_string_equal(text(one, "case"), "");
    assert_int_equal(number(m, "n"), 20); /* the two of the warm-up are gone */
    assert_same(number(m, "median"), 100);
    assert_same(number(m, "best"), 100);
    assert_same(number(m, "min"), 100);
    assert_same(number(m, "max"), 100);
    assert_same(number(m, "mad"), 0);
    assert_string_equal(word(m, "unit"), "ns");
    assert_string_equal(word(m, "better"), "lower");
    assert_string_equal(text(m, "timer"), "wall");
    assert_null(json_object_get(one, "discarded"));
    assert_null(json_object_get(one, "once"));
    assert_null(json_object_get(one, "power_bound"));
}

static void stops_by_count(void **state)
{
    (void)state;
    assert_int_equal(sample_all(TIME, two_modes, 1), 1000);
    const json_t *one = last_case(), *m = metric_of(one, "time");
    assert_string_equal(text(one, "stopped"), "count");
    assert_int_equal(number(m, "n"), 1000);
    assert_same(number(m, "median"), 150);
    assert_same(number(m, "mad"), 50);
    assert_same(number(m, "q1"), 100);
    assert_same(number(m, "q3"), 200);
    assert_same(number(m, "p01"), 100);
    assert_same(number(m, "p99"), 200);
}

static void stops_by_time(void **state)
{
    (void)state;
    /* the first to see more than 32 ms */
    assert_int_equal(sample_all(TIME, two_modes, 4000000), 9);
    assert_string_equal(text(last_case(), "stopped"), "time");
    assert_int_equal(sample_all(TIME, two_modes, 1000000000), 5); /* never fewer than five */
    assert_string_equal(text(last_case(), "stopped"), "time");
    /* 20 ms in three rounds, 8 in a quick one. */
    assert_int_equal(sample_flagged(PROBE_THRICE, TIME, two_modes, 2500000), 9);
    r->options.quick = true;
    assert_int_equal(sample_flagged(PROBE_THRICE, TIME, two_modes, 1000000), 9);
    assert_int_equal(sample_all(TIME, two_modes, 1000000), 9);
    assert_int_equal(sample_all(TIME, two_modes, 5000000), 5); /* not fewer */
    assert_string_equal(text(last_case(), "stopped"), "time");
    r->options.quick = false;
}

/* Passes of 5 ms whose clock falls, as at the power limit, at pass `falls`. */
static int sample_held_back(unsigned flags, int falls)
{
    int pass = 0;
    assert_true(probe_begin_case(r, flags, PROBE_NO_KEYS));
    for (; probe_more(r); pass++) {
        probe_sample(r, TIME, 1, pass % 2 ? 100 : 200);
        probe_clock(r, pass < falls ? 1980 : 1500);
        now_ns += 5000000;
    }
    samples_close_case(r);
    return pass - 2;
}

/* The samples and the clock are of what comes after 50 ms, at the limit's clock. */
static void assert_settled(int n, double most_mhz)
{
    const json_t *one = last_case(), *dropped = json_object_get(one, "dropped_loops");
    assert_int_equal(number(metric_of(one, "time"), "n"), n);
    assert_same(number(json_object_get(one, "sm_clock"), "max_mhz"), 1500);
    assert_int_equal(json_array_size(dropped), 1);
    assert_same(number(json_array_get(dropped, 0), "max_mhz"), most_mhz);
    assert_same(number(json_array_get(dropped, 0), "min_mhz"), 1500);
}

static void the_power_limit_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 6), 10 + 7);
    assert_string_equal(text(last_case(), "stopped"), "time");
    assert_settled(7, 1980);
    assert_int_equal(probe_dropped_passes(r), 2 + 10);
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND | PROBE_THRICE, 5), 10 + 5);
    assert_settled(5, 1980);
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 100), 7); /* the clock does not fall */
    assert_null(json_object_get(last_case(), "dropped_loops"));
    assert_int_equal(probe_dropped_passes(r), 2);
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND | PROBE_THRICE, 100), 5);
    r->options.quick = true;
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 3), 5);
    r->options.quick = false;
}

/* A clock that stands still is the limit's where it is far below that of small work. */
static void a_low_clock_is_waited_for(void **state)
{
    (void)state;
    /* no GPU, no clock of small work */
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 0), 7);
    r->steady_mhz = 1980;
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 0), 10 + 7);
    assert_settled(7, 1500);
    assert_int_equal(sample_held_back(0, 0), 7);
    r->steady_mhz = 1700;
    assert_int_equal(sample_held_back(PROBE_POWER_BOUND, 0), 7);
    r->steady_mhz = 0;
}

/* The same sample again and again is stable after 20, but not before the limit has acted. */
static void stable_waits_for_the_limit(void **state)
{
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, PROBE_POWER_BOUND, PROBE_NO_KEYS));
    for (; probe_more(r); pass++) {
        probe_sample(r, TIME, 1, pass < 24 ? 100 : 120);
        probe_clock(r, pass < 12 ? 1980 : 1500);
        now_ns += 1000000;
    }
    samples_close_case(r);
    assert_string_equal(text(last_case(), "stopped"), "stable");
    assert_same(number(metric_of(last_case(), "time"), "median"), 120);
    assert_settled(20, 1980);
    assert_int_equal(pass, 2 + 50 + 20);
}

/* Stable from about 50 passes on; the loop looks at 20, 28, 40, 56. */
static double settles(int i)
{
    return i < 15 ? 1000 * (i + 1) : 500;
}

static void looks_at_20_28_40(void **state)
{
    (void)state;
    /* At 20 nearly all differ; at 40 the 25 constant ones are too few (ranks 14 and 27); at 56 the
     * 41 fill the ranks around the median. */
    assert_int_equal(sample_all(TIME, settles, 1), 56);
    assert_string_equal(text(last_case(), "stopped"), "stable");
}

static double nearly(int i)
{
    return 1000 + (i % 2 ? 1.9 : -1.9); /* half the interval is 0.19 % */
}

static double not_nearly(int i)
{
    return 1000 + (i % 2 ? 2.1 : -2.1);
}

static void stable_is_two_thousandths(void **state)
{
    (void)state;
    assert_int_equal(sample_all(TIME, nearly, 1), 20);
    assert_int_equal(sample_all(TIME, not_nearly, 1), 1000);
}

static double one_tick(int i)
{
    return i % 2 ? 64 : 32;
}

static void stable_within_a_tick(void **state)
{
    (void)state;
    tick_ns = 32;
    assert_int_equal(sample_all(TIME, one_tick, 1), 20);
    assert_same(number(metric_of(last_case(), "time"), "resolution"), 32);
    tick_ns = 31;
    assert_int_equal(sample_all(TIME, one_tick, 1), 1000);
}

static double one_cycle(int i)
{
    return 31 + i % 2;
}

static void cycles_tick_by_one(void **state)
{
    (void)state;
    assert_int_equal(sample_all(CYCLES, one_cycle, 1), 20);
    assert_same(number(metric_of(last_case(), "cycles"), "resolution"), 1);
}

static void every_metric_must_be_stable(void **state)
{
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, TIME, 1, 100);
        probe_sample(r, HIGHER, 1, two_modes(pass++));
    }
    assert_string_equal(text(last_case(), "stopped"), "count");
}

/* Twelve noisy samples a pass: no number of them makes a spread of 2 % stable within 80 passes. */
static void many_samples_a_pass(void **state)
{
    uint64_t seed = 1;
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        for (int i = 0; i < 12; i++)
            probe_sample(r, TIME, 1, 1000 + 400 * draw_uniform(&seed));
        pass++;
    }
    const json_t *one = last_case();
    assert_string_equal(text(one, "stopped"), "count");
    assert_int_equal(pass - 2, 1000);
    assert_int_equal(number(metric_of(one, "time"), "n"), 12000);
    assert_close(number(metric_of(one, "time"), "median"), 1200, 0.01);
    assert_close(number(metric_of(one, "time"), "p999"), 1400, 0.001);
}

static void noisy(void **state)
{
    uint64_t seed = 7;
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        double spike = draw_uniform(&seed) < 0.02 ? 5000 : 0; /* an interrupt now and then */
        probe_sample(r, TIME, 1, 1000 + draw_uniform(&seed) + spike);
        pass++;
    }
    const json_t *m = metric_of(last_case(), "time");
    assert_int_equal(pass - 2, 20); /* a rare spike does not move the median's interval */
    assert_close(number(m, "median"), 1000.5, 0.0005);
    assert_true(number(m, "mad") < 1);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void per_unit_of_work(void **state)
{
    (void)state;
    tick_ns = 10;
    assert_true(probe_begin_case(r, 0, "rows=%d", 4));
    while (probe_more(r))
        probe_sample(r, TIME, 50, 100);
    const json_t *one = last_case(), *m = metric_of(one, "time");
    assert_string_equal(text(one, "case"), "rows=4");
    assert_same(number(m, "median"), 2);
    assert_same(number(m, "best"), 2);
    assert_same(number(m, "resolution"), 0.2);
}

static double best_is_late(int i)
{
    return i == 50 ? 1 : i == 60 ? 999 : i == 10 ? 90 : i == 15 ? 250 : two_modes(i);
}

/* "best" looks at the first 20 samples, however many follow. */
static void best_of_the_first_twenty(void **state)
{
    (void)state;
    assert_int_equal(sample_all(TIME, best_is_late, 1), 1000);
    const json_t *m = metric_of(last_case(), "time");
    assert_same(number(m, "min"), 1);
    assert_same(number(m, "best"), 90);
    assert_int_equal(sample_all(HIGHER, best_is_late, 1), 1000);
    m = metric_of(last_case(), "share");
    assert_same(number(m, "max"), 999);
    assert_same(number(m, "best"), 250);
    assert_string_equal(word(m, "better"), "higher");
}

static void twentieth_counts_twenty_first_not(void **state)
{
    int pass = 0;
    (void)state;
    for (int place = 19; place <= 20; place++) {
        assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
        for (pass = 0; probe_more(r); pass++)
            probe_sample(r, TIME, 1, pass - 2 == place ? 5 : two_modes(pass));
        assert_same(number(metric_of(last_case(), "time"), "best"), place == 19 ? 5 : 100);
    }
}

/* T(n) = 500 + 31 n at two works, the larger first. */
static void slope_of_two_works(void **state)
{
    (void)state;
    tick_ns = 32;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, SLOPE, 200, 500 + 31 * 200);
        probe_sample(r, SLOPE, 100, 500 + 31 * 100);
    }
    const json_t *one = last_case(), *m = metric_of(one, "slope");
    const json_t *low = json_array_get(json_object_get(m, "sides"), 0);
    const json_t *high = json_array_get(json_object_get(m, "sides"), 1);
    assert_string_equal(text(one, "stopped"), "stable");
    assert_same(number(m, "median"), 31);
    assert_same(number(m, "best"), 31);
    assert_same(number(m, "mad"), 0);
    assert_same(number(m, "resolution"), 0.32);
    assert_int_equal(number(m, "n"), 20);
    assert_same(number(low, "work"), 100);
    assert_int_equal(json_object_size(low), 4); /* work, n, median, mad: no extremes */
    assert_same(number(low, "median"), 3600);
    assert_same(number(high, "work"), 200);
    assert_same(number(high, "median"), 6700);
    assert_null(json_object_get(m, "min")); /* never a minimum of differences */
    assert_null(json_object_get(m, "max"));
}

/* The best of a slope comes from the least of each side, which never met in one pass. */
static void slope_of_noisy_minima(void **state)
{
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, SLOPE, 100, 500 + 31 * 100 + (pass % 10 == 3 ? 0 : 700 + pass % 7));
        probe_sample(r, SLOPE, 200, 500 + 31 * 200 + (pass % 10 == 8 ? 0 : 700 + pass % 7));
        pass++;
        now_ns += 1000000;
    }
    const json_t *m = metric_of(last_case(), "slope");
    assert_same(number(m, "best"), 31);
    assert_close(number(m, "median"), 31, 0.002);
}

/* Where more work took less time, there is no time of one unit. */
static void slope_that_falls(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, SLOPE, 100, 5000);
        probe_sample(r, SLOPE, 200, 4990);
    }
    const json_t *m = metric_of(last_case(), "slope");
    assert_true(json_is_null(json_object_get(m, "median")));
    assert_true(json_is_null(json_object_get(m, "best")));
    assert_non_null(strstr(text(m, "why"), "more work took less time"));
    assert_int_equal(json_array_size(json_object_get(m, "sides")), 2);
}

static void sample_slope(int works)
{
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        for (int w = 1; w <= works; w++)
            probe_sample(r, SLOPE, w, 10 * w);
        now_ns += 50000000;
    }
}

static void slope_of_one_work(void **state)
{
    (void)state;
    sample_slope(1);
    assert_non_null(strstr(failure_of(samples_close_case(r)), "exactly two"));
}

static void slope_of_three_works(void **state)
{
    (void)state;
    sample_slope(3);
    assert_non_null(strstr(failure_of(samples_close_case(r)), "exactly two"));
}

static double times_of_a_rate(int i)
{
    static const double times[] = {100, 200, 400, 500};
    return times[i % 4];
}

/* Statistics are taken on times: the median rate is that of the median time. */
static void tails(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    for (int i = 1000; i > 0; i--) { /* 2, 4, ... 2000 ns for two units each, in no order */
        probe_sample(r, P99, 2, 2 * (i * 37 % 1000 + 1));
        probe_sample(r, P999, 2, i);
    }
    const json_t *one = last_case(), *m = metric_of(one, "p99");
    assert_same(number(m, "median"), 990.01); /* type 7: between the 990th and the 991st */
    assert_same(number(m, "best"), number(m, "median"));
    assert_int_equal(number(m, "n"), 1000);
    m = metric_of(one, "p999"); /* one sample beyond it is not enough */
    assert_true(json_is_null(json_object_get(m, "median")));
    assert_true(strlen(text(m, "why")) > 0);
}

static const double SEVEN_DIGITS = 5e-7;

static void rates_are_converted_afterwards(void **state)
{
    int pass = 0;
    (void)state;
    tick_ns = 32;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r))
        probe_sample(r, RATE, 1000, times_of_a_rate(pass++));
    const json_t *m = metric_of(last_case(), "rate");
    assert_int_equal(number(m, "n"), 1000);
    assert_close(number(m, "median"), 1000 / 300e-9, SEVEN_DIGITS);
    assert_close(number(m, "best"), 1000 / 100e-9, SEVEN_DIGITS);
    assert_close(number(m, "max"), 1000 / 100e-9, SEVEN_DIGITS);
    assert_close(number(m, "min"), 1000 / 500e-9, SEVEN_DIGITS);
    assert_true(number(m, "q1") <= number(m, "median") && number(m, "median") <= number(m, "q3"));
    /* third quartile of the times: 425 */
    assert_close(number(m, "q1"), 1000 / 425e-9, SEVEN_DIGITS);
    assert_close(number(m, "q3"), 1000 / 175e-9, SEVEN_DIGITS);
    assert_close(number(m, "p99"), 1000 / 100e-9, SEVEN_DIGITS);
    assert_close(number(m, "p01"), 1000 / 500e-9, SEVEN_DIGITS);
    /* Relative spread and step stay what they were on the times. */
    assert_close(number(m, "mad") / number(m, "median"), 150.0 / 300, 5e-3);
    assert_close(number(m, "resolution") / number(m, "median"), 32.0 / 300, SEVEN_DIGITS);
}

static void more_than_one_case(void **state)
{
    (void)state;
    for (int i = 1; i <= 3; i++) {
        assert_true(probe_begin_case(r, 0, "i=%d", i));
        while (probe_more(r))
            probe_sample(r, TIME, 1, 10 * i);
        probe_fact(r, i == 1 ? "first" : "later", "%d bytes", i);
    }
    samples_close_case(r);
    assert_int_equal(json_array_size(r->cases), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(r->cases, i), *facts = json_object_get(one, "facts");
        assert_same(number(metric_of(one, "time"), "median"), 10.0 * (double)(i + 1));
        assert_int_equal(number(metric_of(one, "time"), "n"), 20);
        assert_int_equal(json_object_size(facts), 1);
        assert_string_equal(text(facts, i ? "later" : "first"),
                            ((const char *const[]){"1 bytes", "2 bytes", "3 bytes"})[i]);
    }
}

static void median_within_the_run(void **state)
{
    (void)state;
    sample_all(TIME, two_modes, 1);
    assert_same(probe_median(r, TIME), 150);
    assert_nan(probe_median(r, HIGHER)); /* nothing was sampled */
    assert_same(number(metric_of(last_case(), "time"), "median"), 150);

    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, SLOPE, 1, 12);
        probe_sample(r, SLOPE, 2, 20);
        probe_sample(r, RATE, 1000, 100);
    }
    assert_same(probe_median(r, SLOPE), 8);
    assert_close(probe_median(r, RATE), 1e10, 1e-12);
}

/* T(n) = ns_a_unit n + 5, but late_ns more for the shorter of n = 1000 and 2000: as rate and as
 * time. */
static void sample_late(double ns_a_unit, double late_ns)
{
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r))
        for (int n = 1000; n <= 2000; n += 1000) {
            const double ns = ns_a_unit * n + 5 + (n == 1000 ? late_ns : 0);
            probe_sample(r, STREAM, n, ns);
            probe_sample(r, SLOPE, n, ns);
        }
}

/* A slope is faster than what was possible where the shorter samples alone are slow. Whole samples
 * never are; half of the work left out, or a tenth, is seen by both. */
static void whole_samples_are_not_too_fast(void **state)
{
    const double least_ns = 1, most_rate = 1e9; /* of a unit, what is possible */
    (void)state;
    sample_late(1.06, 0);
    assert_close(probe_median(r, STREAM), 1e9 / 1.06, 1e-12);
    assert_close(probe_whole(r, STREAM), 1e9 * 3000 / (3180 + 10), 1e-12);
    assert_close(probe_whole(r, SLOPE), (3180 + 10) / 3000.0, 1e-12);
    sample_late(1.06, 80);
    assert_true(probe_median(r, STREAM) > most_rate && probe_median(r, SLOPE) < least_ns);
    assert_true(probe_whole(r, STREAM) < most_rate && probe_whole(r, SLOPE) > least_ns);
    sample_late(1.06, 3000); /* so late that the slope falls, and is none */
    assert_nan(probe_median(r, STREAM));
    assert_close(probe_whole(r, STREAM), 1e9 * 3000 / (3180 + 10 + 3000), 1e-12);
    for (int late = 0; late <= 80; late += 80)
        for (int half = 0; half <= 1; half++) {
            sample_late(1.06 * (half ? 0.5 : 0.9), late);
            assert_true(probe_median(r, STREAM) > most_rate && probe_median(r, SLOPE) < least_ns);
            assert_true(probe_whole(r, STREAM) > most_rate && probe_whole(r, SLOPE) < least_ns);
        }
}

/* Each sample of each work counts as it is, the rare slow one too; warm-up does not. */
static void whole_is_of_all_samples(void **state)
{
    int pass = 0;
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    for (; probe_more(r); pass++) {
        probe_sample(r, TIME, 2, pass < 2 ? 1e12 : pass == 5 ? 1200 : 200);
        probe_sample(r, RATE, 1000, pass < 2 ? 1e12 : 100);
    }
    assert_int_equal(pass - 2, 20);
    assert_same(probe_median(r, TIME), 100);
    assert_same(probe_whole(r, TIME), (19 * 200 + 1200) / 40.0);
    assert_close(probe_whole(r, RATE), 1e10, 1e-12);
}

/* None was sampled, or what was handed over is no sample. */
static void whole_of_nothing(void **state)
{
    const double cells[] = {1, 2};
    (void)state;
    assert_non_null(strstr(failure_of(probe_whole(r, TIME)), "outside a case"));
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    assert_nan(probe_whole(r, TIME));
    probe_value(r, COUNT, 3);
    probe_grid(r, CYCLES, (struct probe_axis){"a", 1, NULL}, (struct probe_axis){"b", 2, NULL},
               cells);
    probe_sample(r, HIGHER, 1, 1);
    probe_missing(r, HIGHER, "it is not to be known");
    assert_nan(probe_whole(r, COUNT));
    assert_nan(probe_whole(r, CYCLES));
    assert_nan(probe_whole(r, HIGHER));
    assert_true(probe_begin_case(r, 0, "k=2")); /* what came before is of another case */
    assert_nan(probe_whole(r, HIGHER));
}

/* --- single values ---------------------------------------------------------------------------- */

static void single_values(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    probe_value(r, COUNT, 132);
    probe_missing(r, HIGHER, "no reference on this board");
    const json_t *one = last_case(), *m = metric_of(one, "count");
    assert_same(number(m, "median"), 132);
    assert_null(json_object_get(m, "best")); /* one value has none */
    assert_int_equal(number(m, "n"), 1);
    assert_string_equal(word(m, "better"), "exact");
    assert_null(json_object_get(m, "why"));
    assert_null(json_object_get(one, "stopped")); /* there was no loop */

    m = metric_of(one, "share");
    assert_true(json_is_null(json_object_get(m, "median")));
    assert_null(json_object_get(m, "best"));
    assert_int_equal(number(m, "n"), 0);
    assert_string_equal(text(m, "why"), "no reference on this board");
    assert_null(metric_of(one, "time")); /* what was not handed over is not there */
}

/* Unit and direction stand beside the cases, once for all metrics of a name that agree in them. */
static void words_are_said_once(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        assert_true(probe_begin_case(r, 0, "k=%d", k));
        probe_value(r, TIME, 5);
        probe_value(r, COUNT, 3);
        probe_value(r, ALIKE, 6);
        probe_value(r, AGAIN, 7);
    }
    const json_t *metrics_of_case = json_object_get(last_case(), "metrics");
    json_t *said = json_loads("{\"time\":{\"unit\":\"ns\",\"better\":\"lower\"},"
                              "\"count\":{\"unit\":\"count\",\"better\":\"exact\"}}", 0, NULL);
    static const char *const units[] = {"ns", "count", "ns", "cycles"};
    static const char *const better[] = {"lower", "exact", "lower", "exact"};

    assert_true(json_equal(r->metrics, said));
    assert_int_equal(json_array_size(metrics_of_case), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *m = json_array_get(metrics_of_case, i);
        assert_string_equal(word(m, "unit"), units[i]);
        assert_string_equal(word(m, "better"), better[i]);
        assert_int_equal(json_object_get(m, "unit") != NULL, i == 3);
        assert_int_equal(json_object_get(m, "better") != NULL, i == 3);
    }
    json_decref(said);
}

/* What is whole keeps its digits, and has no point; other figures have seven. */
static void digits_of_figures(void **state)
{
    static const struct {
        double value;
        const char *text;
    } values[] = {{132, "132"},
                  {85899345919, "85899345919"},
                  {-7, "-7"},
                  {0, "0"},
                  {1.5, "1.5"},
                  {1.23456789, "1.234568"},
                  {0.000123456789, "0.0001234568"},
                  {123456789.25, "123456800"},
                  {4.63012345678e12, "4.630123e12"},
                  {3.88123456789e14, "3.881235e14"}};
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        assert_true(probe_begin_case(r, 0, "i=%zu", i));
        probe_value(r, HIGHER, values[i].value);
        char *written = json_dumps(json_object_get(metric_of(last_case(), "share"), "median"),
                                   JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        assert_string_equal(written, values[i].text);
        free(written);
    }
}

static void a_map(void **state)
{
    const double cells[] = {200.123456, 300, (double)NAN, 210, 310, 410}, at[] = {0, 5, 9};
    (void)state;
    assert_true(probe_begin_case(r, PROBE_TWICE, PROBE_NO_KEYS));
    probe_grid(r, CYCLES, (struct probe_axis){"sm", 2, NULL}, (struct probe_axis){"slice", 3, at},
               cells);
    assert_same(probe_median(r, CYCLES), 300);
    const json_t *m = metric_of(last_case(), "cycles"), *grid = json_object_get(m, "grid");
    const json_t *axes = json_object_get(grid, "axes"), *values = json_object_get(grid, "values");
    assert_same(number(m, "median"), 300); /* of the five that are numbers */
    assert_same(number(m, "best"), 200.1235); /* seven */
    assert_same(number(m, "max"), 410);
    assert_int_equal(number(m, "n"), 5);
    assert_string_equal(text(json_array_get(axes, 0), "name"), "sm");
    assert_same(
        json_number_value(json_array_get(json_object_get(json_array_get(axes, 0), "at"), 1)), 1);
    assert_same(
        json_number_value(json_array_get(json_object_get(json_array_get(axes, 1), "at"), 2)), 9);
    assert_int_equal(json_array_size(values), 6);
    assert_same(json_number_value(json_array_get(values, 0)), 200.12); /* five digits */
    assert_true(json_is_null(json_array_get(values, 2)));
    assert_same(json_number_value(json_array_get(values, 5)), 410);

    assert_true(probe_begin_case(r, 0, "k=2")); /* and the next case has none */
    probe_value(r, COUNT, 1);
    assert_null(metric_of(last_case(), "cycles"));
}

static void values_that_are_no_numbers(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    probe_value(r, HIGHER, (double)NAN);
    probe_value(r, COUNT, (double)INFINITY);
    const json_t *one = last_case();
    assert_true(json_is_null(json_object_get(metric_of(one, "share"), "median")));
    assert_true(strlen(text(metric_of(one, "share"), "why")) > 0);
    assert_true(json_is_null(json_object_get(metric_of(one, "count"), "median")));
}

static void a_missing_value_stays_in_its_case(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, "i=1"));
    probe_missing(r, HIGHER, "why");
    assert_true(probe_begin_case(r, 0, "i=2"));
    probe_value(r, COUNT, 1);
    const json_t *one = last_case();
    assert_null(metric_of(one, "share"));
    assert_non_null(metric_of(one, "count"));
}

/* --- the SM clock ----------------------------------------------------------------------------- */

enum { PASSES = 22 }; /* of a case whose samples are all the same: two to warm up, and twenty */

/* The clock ends at last_mhz in the first attempts at the case, and stands still in later ones. */
static const json_t *case_with_attempts(unsigned flags, double last_mhz, int attempts)
{
    assert_true(probe_begin_case(r, flags, PROBE_NO_KEYS));
    for (int i = 0; probe_more(r); i++) {
        const int pass = i % PASSES;
        probe_sample(r, TIME, 1, i / PASSES < attempts ? 100 : 90);
        probe_clock(r, pass < 2                                ? 300 /* slow while warming up */
                       : pass >= 18 && i / PASSES < attempts ? last_mhz
                                                               : 1980);
    }
    return last_case();
}

static const json_t *case_with_clock(unsigned flags, double last_mhz)
{
    return case_with_attempts(flags, last_mhz, INT_MAX);
}

static void clock_stands_still(void **state)
{
    const json_t *one = case_with_clock(0, 1980), *clock = json_object_get(one, "sm_clock");
    (void)state;
    assert_null(json_object_get(one, "discarded"));
    assert_int_equal(number(clock, "n"), 20);
    assert_same(number(clock, "median_mhz"), 1980);
    assert_same(number(clock, "min_mhz"), 1980);
    assert_same(number(clock, "max_mhz"), 1980);
}

static void clock_moves(void **state)
{
    (void)state;
    assert_null(json_object_get(case_with_clock(0, 1980 * 0.991), "discarded"));
    const json_t *one = case_with_clock(0, 1980 * 0.98);
    assert_string_equal(text(one, "discarded"), "SM clock moved by 2.0 % (1940 to 1980 MHz)");
    /* A dropped case stays in the document, with its figures. */
    assert_same(number(metric_of(one, "time"), "median"), 100);
    assert_close(number(json_object_get(one, "sm_clock"), "min_mhz"), 1940.4, 1e-9);
    assert_non_null(json_object_get(case_with_clock(0, 1980 * 1.02), "discarded"));
}

/* The case begins anew; what was sampled while the clock moved is not in its figures. */
static void clock_moves_at_first(void **state)
{
    (void)state;
    for (int attempts = 1; attempts <= 3; attempts++) {
        const json_t *one = case_with_attempts(0, 1980 * 0.98, attempts);
        assert_null(json_object_get(one, "discarded"));
        const json_t *dropped = json_object_get(one, "dropped_loops");
        assert_int_equal(json_array_size(dropped), attempts);
        assert_int_equal(probe_dropped_passes(r), attempts * PASSES + 2);
        assert_same(number(json_array_get(dropped, 0), "min_mhz"), 1980 * 0.98);
        assert_same(number(json_array_get(dropped, 0), "max_mhz"), 1980);
        assert_same(number(metric_of(one, "time"), "median"), 90);
        assert_int_equal(number(metric_of(one, "time"), "n"), 20);
        assert_same(number(json_object_get(one, "sm_clock"), "min_mhz"), 1980);
    }
    const json_t *never = case_with_attempts(0, 1980 * 0.98, 4);
    assert_int_equal(json_array_size(json_object_get(never, "dropped_loops")), 3);
    assert_non_null(json_object_get(never, "discarded"));
    assert_null(json_object_get(case_with_clock(0, 1980), "dropped_loops"));
    assert_null(json_object_get(case_with_clock(PROBE_POWER_BOUND, 1980 * 0.975), "dropped_loops"));
}

/* A clock that moves stays where it went: one odd reading between two good ones is the timer's. */
static void clock_read_wrong_once(void **state)
{
    (void)state;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    for (int pass = 0; probe_more(r); pass++) {
        probe_sample(r, TIME, 1, 100);
        probe_clock(r, pass == 10 ? 1980 * 1.02 : 1980);
    }
    const json_t *one = last_case();
    assert_null(json_object_get(one, "discarded"));
    assert_same(number(json_object_get(one, "sm_clock"), "max_mhz"), 1980);
}

static void clock_moves_when_power_bound(void **state)
{
    const json_t *one = case_with_clock(PROBE_POWER_BOUND, 1980 * 0.975);
    (void)state;
    assert_null(json_object_get(one, "discarded"));
    assert_true(json_is_true(json_object_get(one, "power_bound")));
    assert_same(number(json_object_get(one, "sm_clock"), "min_mhz"), 1980 * 0.975);
}

static void clock_of_the_next_case(void **state)
{
    (void)state;
    case_with_clock(0, 1980 * 0.5);
    sample_all(TIME, constant, 1);
    const json_t *one = last_case();
    assert_null(json_object_get(one, "sm_clock"));
    assert_null(json_object_get(one, "discarded"));
}

/* --- which cases run -------------------------------------------------------------------------- */

static void once_is_first_and_last(void **state)
{
    (void)state;
    r->options.rounds = 7;
    for (int round = 0; round < 7; round++) {
        r->options.round = round;
        assert_int_equal(probe_begin_case(r, PROBE_TWICE, "k=1"), round == 0 || round == 6);
        assert_int_equal(probe_begin_case(r, 0, "k=1"), 1);
        r->in_case = false;
    }
    r->options = (struct options){.rounds = 1};
    assert_true(probe_begin_case(r, PROBE_TWICE, "k=1"));
    probe_value(r, COUNT, 1);
    assert_true(json_is_true(json_object_get(last_case(), "once")));
}

static void thrice_is_first_middle_and_last(void **state)
{
    (void)state;
    for (int rounds = 1; rounds <= 8; rounds++) {
        int n = 0;
        r->options.rounds = rounds;
        for (r->options.round = 0; r->options.round < rounds; r->options.round++) {
            n += probe_begin_case(r, PROBE_THRICE, "k=1");
            r->in_case = false;
        }
        assert_int_equal(n, rounds < 3 ? rounds : 3);
    }
    r->options = (struct options){.round = 3, .rounds = 7};
    assert_true(probe_begin_case(r, PROBE_THRICE, "k=1"));
    probe_value(r, COUNT, 1);
    assert_true(json_is_true(json_object_get(last_case(), "thrice")));
    assert_null(json_object_get(last_case(), "once"));
}

/* A look has no other round that could agree, and no time. */
static void quick_leaves_out_what_must_agree_and_what_is_slow(void **state)
{
    (void)state;
    r->options = (struct options){.rounds = 1, .quick = true};
    assert_false(probe_begin_case(r, PROBE_TWICE, "k=1"));
    assert_false(probe_begin_case(r, PROBE_SLOW, "k=1"));
    assert_false(probe_begin_case(r, PROBE_THRICE | PROBE_SLOW, "k=1"));
    assert_true(probe_begin_case(r, PROBE_THRICE, "k=1"));
    assert_true(probe_begin_case(r, 0, "k=1"));
    r->options.quick = false;
    assert_true(probe_begin_case(r, PROBE_SLOW, "k=1"));
}

static int n_settled;
static void settle(struct probe_run *of)
{
    (void)of;
    n_settled++;
    r->slow_mhz = n_settled % 2 ? 1900 : 0;
}

/* Before each case whose clock must not move, before its warm-up; never between its samples. */
static void the_clock_settles_before_small_work(void **state)
{
    static const struct {
        unsigned flags;
        bool check;
        int settled;
    } cases[] = {{0, false, 1}, {PROBE_POWER_BOUND, false, 0}, {0, true, 0}};
    (void)state;
    r->settle = settle;
    for (size_t i = 0; i < PROBE_LENGTH(cases); i++) {
        n_settled = 0;
        r->options.check = cases[i].check;
        assert_true(probe_begin_case(r, cases[i].flags, "k=1"));
        for (int pass = 0; probe_more(r); pass++) {
            assert_int_equal(n_settled, cases[i].settled);
            probe_sample(r, TIME, 1, 100);
        }
        assert_int_equal(n_settled, cases[i].settled);
    }
}

static void deep_only_when_asked(void **state)
{
    (void)state;
    assert_false(probe_begin_case(r, PROBE_DEEP, "k=1"));
    r->options.deep = true;
    assert_true(probe_begin_case(r, PROBE_DEEP, "k=1"));
}

static void case_by_glob(void **state)
{
    (void)state;
    r->options.only = "level=l*,bytes=?";
    assert_true(probe_begin_case(r, 0, "level=l1,bytes=4"));
    assert_true(probe_begin_case(r, 0, "level=l2,bytes=8"));
    assert_false(probe_begin_case(r, 0, "level=l1,bytes=16"));
    assert_false(probe_begin_case(r, 0, "level=hbm,bytes=4"));
    assert_false(probe_begin_case(r, 0, PROBE_NO_KEYS));
    r->options.only = "*";
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
}

/* A case that is left out closes the one before it, and takes no samples. */
static void left_out_case(void **state)
{
    (void)state;
    r->options.only = "k=1";
    assert_true(probe_begin_case(r, 0, "k=1"));
    probe_value(r, COUNT, 1);
    assert_false(probe_begin_case(r, 0, "k=2"));
    assert_int_equal(json_array_size(r->cases), 1);
    assert_non_null(strstr(failure_of(probe_value(r, COUNT, 2)), "outside a case"));
}

static void check_runs_the_body_once(void **state)
{
    int pass = 0;
    (void)state;
    r->options.check = true;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    while (probe_more(r)) {
        probe_sample(r, TIME, 1, 100);
        pass++;
    }
    assert_int_equal(pass, 1);
    assert_nan(probe_median(r, TIME));
    assert_nan(probe_whole(r, TIME));
    samples_close_case(r);
    assert_int_equal(json_array_size(r->cases), 0);
}

/* --- mistakes of a probe ---------------------------------------------------------------------- */

static void mistakes(void **state)
{
    (void)state;
    assert_non_null(strstr(failure_of(probe_more(r)), "outside a case"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, 1, 1)), "outside a case"));
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    assert_non_null(strstr(failure_of(probe_sample(r, N_METRICS, 1, 1)), "metric"));
    assert_non_null(strstr(failure_of(probe_sample(r, -1, 1, 1)), "metric"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, 0, 1)), "time"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, -1, 1)), "time"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, (double)NAN, 1)), "time"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, 1, (double)NAN)), "time"));
    assert_non_null(strstr(failure_of(probe_sample(r, TIME, 1, (double)INFINITY)), "time"));
    assert_string_equal(failure_of(probe_sample(r, TIME, 1, 1)), "");
}

/* --- raw samples ------------------------------------------------------------------------------ */

static void raw_samples(void **state)
{
    char *written = NULL;
    size_t size = 0, lines = 0;
    (void)state;
    r->raw = open_memstream(&written, &size);
    r->options.round = 2;
    r->options.rounds = 3;
    assert_true(probe_begin_case(r, 0, "k=%d", 1));
    for (int pass = 0; probe_more(r); pass++)
        probe_sample(r, TIME, 3, pass < 2 ? 1e12 : 0.1 + (double)(pass % 2));
    fclose(r->raw);
    r->raw = NULL;
    for (size_t i = 0; i < size; i++)
        lines += written[i] == '\n';
    assert_int_equal(lines, 1000); /* the warm-up is not among them */
    assert_non_null(strstr(written, "made_up\ttime\tk=1\twall\t2\t3\t0.10000000000000001\t0\n"));
    assert_null(strstr(written, "\t1000000000000\n"));
    free(written);
}

/* --- a watch, as --counters sets one ---------------------------------------------------------- */

static char watched[32];

static void watch_begins(struct probe_run *run_)
{
    (void)run_;
    strcat(watched, "(");
}

static bool watch_ends(struct probe_run *run_)
{
    strcat(watched, ")");
    return run_->loop.passes < 3;
}

static void watch_closes(struct probe_run *run_, json_t *one)
{
    json_object_set_new(one, "passes", json_integer(run_->loop.passes));
}

static void a_watch_sees_every_pass_but_warm_up(void **state)
{
    static const struct watch watch = {watch_begins, watch_ends, watch_closes};
    (void)state;
    watched[0] = '\0';
    r->watch = &watch;
    assert_true(probe_begin_case(r, 0, PROBE_NO_KEYS));
    for (int pass = 0; probe_more(r); pass++) {
        probe_sample(r, TIME, 1, pass < 2 ? 1e12 : 100 + pass);
        strcat(watched, "b");
    }
    assert_string_equal(watched, "bb(b)(b)(b)");
    assert_nan(probe_whole(r, TIME));
    const json_t *one = last_case(), *m = metric_of(one, "time");
    assert_string_equal(text(one, "stopped"), "watched");
    assert_int_equal(number(one, "passes"), 3);
    assert_int_equal(number(m, "n"), 3); /* those of the warm-up are thrown away */
    assert_same(number(m, "median"), 103);

    assert_true(probe_begin_case(r, 0, "k=%d", 1)); /* without a loop there is nothing to see */
    probe_value(r, COUNT, 5);
    assert_null(json_object_get(last_case(), "passes"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stops_when_stable),
        TEST(stops_by_count),
        TEST(stops_by_time),
        TEST(the_power_limit_is_waited_for),
        TEST(a_low_clock_is_waited_for),
        TEST(stable_waits_for_the_limit),
        TEST(looks_at_20_28_40),
        TEST(stable_is_two_thousandths),
        TEST(stable_within_a_tick),
        TEST(cycles_tick_by_one),
        TEST(every_metric_must_be_stable),
        TEST(many_samples_a_pass),
        TEST(noisy),
        TEST(per_unit_of_work),
        TEST(best_of_the_first_twenty),
        TEST(twentieth_counts_twenty_first_not),
        TEST(slope_of_two_works),
        TEST(slope_of_noisy_minima),
        TEST(slope_that_falls),
        TEST(slope_of_one_work),
        TEST(slope_of_three_works),
        TEST(tails),
        TEST(rates_are_converted_afterwards),
        TEST(more_than_one_case),
        TEST(median_within_the_run),
        TEST(whole_samples_are_not_too_fast),
        TEST(whole_is_of_all_samples),
        TEST(whole_of_nothing),
        TEST(single_values),
        TEST(words_are_said_once),
        TEST(digits_of_figures),
        TEST(a_map),
        TEST(values_that_are_no_numbers),
        TEST(a_missing_value_stays_in_its_case),
        TEST(clock_stands_still),
        TEST(clock_moves),
        TEST(clock_moves_at_first),
        TEST(clock_read_wrong_once),
        TEST(clock_moves_when_power_bound),
        TEST(clock_of_the_next_case),
        TEST(once_is_first_and_last),
        TEST(thrice_is_first_middle_and_last),
        TEST(quick_leaves_out_what_must_agree_and_what_is_slow),
        TEST(the_clock_settles_before_small_work),
        TEST(deep_only_when_asked),
        TEST(case_by_glob),
        TEST(left_out_case),
        TEST(check_runs_the_body_once),
        TEST(mistakes),
        TEST(raw_samples),
        TEST(a_watch_sees_every_pass_but_warm_up),
    };
    return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
