/* report/cli/counter_figures.c: what counters come to, on made-up cases with known answers; each
 * word of "bound by" and what keeps it from being said. */
#include "report/cli/counter_figures.h"

#include <jansson.h>
#include <string.h>

#include "tests/unit/check.h"

/* A case by its counters (and, if given, its one metric), and the same case as it was timed. */
static struct counter_figures figures(const char *counters, const char *metric,
                                      const char *timed_metric)
{
    struct counter_figures c;
    json_t *read = json_loads(counters, 0, NULL);
    assert_non_null(read);
    json_t *one = json_pack("{s:s, s:o, s:[]}", "case", "k=1", "counters", read, "metrics");
    json_t *timed = json_pack("{s:s, s:[]}", "case", "k=1", "metrics");
    if (metric)
        json_array_append_new(json_object_get(one, "metrics"), json_loads(metric, 0, NULL));
    if (timed_metric)
        json_array_append_new(json_object_get(timed, "metrics"), json_loads(timed_metric, 0, NULL));
    counter_read(&c, "made_up", one, timed_metric ? timed : NULL);
    json_decref(one);
    json_decref(timed);
    return c;
}

/* --- levels ----------------------------------------------------------------------------------- */

static void levels_add_up(void **state)
{
    struct counter_figures c = figures(
        "{\"shared_loads\": 50, \"global_loads\": 150, \"l1_sectors\": 400,"
        " \"l1_hits\": 300, \"l2_sectors\": 100, \"l2_hits\": 80}",
        NULL, NULL);
    (void)state;
    assert_close(c.l1_hits, 0.75, 1e-12);
    assert_close(c.l2_hits, 0.8, 1e-12);
    assert_close(c.served[LEVEL_SHARED], 0.25, 1e-12);
    assert_close(c.served[LEVEL_L1], 0.75 * 0.75, 1e-12);
    assert_close(c.served[LEVEL_L2], 0.75 * 0.25 * 0.8, 1e-12);
    assert_close(c.served[LEVEL_MEMORY], 0.75 * 0.25 * 0.2, 1e-12);
}

/* The four levels of memory_latency as an H200 counted them: 3104 loads each. */
static void levels_of_an_h200(void **state)
{
    static const struct {
        const char *counters;
        enum level level;
        double share;
    } table[] = {
        {"{\"shared_loads\": 3104, \"global_loads\": 0, \"l1_sectors\": 0, \"l1_hits\": 0,"
         " \"l2_sectors\": 0, \"l2_hits\": 0}", LEVEL_SHARED, 1},
        {"{\"shared_loads\": 0, \"global_loads\": 3116, \"l1_sectors\": 3488, \"l1_hits\": 3360,"
         " \"l2_sectors\": 128, \"l2_hits\": 128}", LEVEL_L1, 3360.0 / 3488},
        {"{\"shared_loads\": 0, \"global_loads\": 3104, \"l1_sectors\": 3104, \"l1_hits\": 0,"
         " \"l2_sectors\": 3104, \"l2_hits\": 3104}", LEVEL_L2, 1},
        {"{\"shared_loads\": 0, \"global_loads\": 3104, \"l1_sectors\": 3104, \"l1_hits\": 0,"
         " \"l2_sectors\": 3104, \"l2_hits\": 0}", LEVEL_MEMORY, 1},
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        struct counter_figures c = figures(table[i].counters, NULL, NULL);
        assert_close(c.served[table[i].level], table[i].share, 1e-12);
        double all = 0;
        for (int k = 0; k < N_LEVELS; k++)
            all += c.served[k];
        assert_close(all, 1, 1e-12); /* a level that serves nothing gives 0, not NaN */
    }
}

/* Hits and lookups come from two passes, which need not agree to the last sector. */
static void more_hits_than_lookups(void **state)
{
    struct counter_figures c = figures(
        "{\"shared_loads\": 0, \"global_loads\": 9, \"l1_sectors\": 9,"
        " \"l1_hits\": 0, \"l2_sectors\": 1000, \"l2_hits\": 1001}",
        NULL, NULL);
    (void)state;
    assert_same(c.l2_hits, 1);
    assert_same(c.served[LEVEL_L2], 1);
    assert_same(c.served[LEVEL_MEMORY], 0);
}

static void levels_not_known(void **state)
{
    struct counter_figures c = figures("{}", NULL, NULL);
    (void)state;
    assert_nan(c.l1_hits);
    assert_nan(c.served[LEVEL_L2]);
    assert_int_equal(c.bound, BOUND_UNKNOWN);
    c = figures("{\"shared_loads\": 0, \"global_loads\": 0}", NULL, NULL); /* no loads: no share */
    assert_nan(c.served[LEVEL_SHARED]);
}

static void claims_are_read(void **state)
{
    (void)state;
    assert_int_equal(counter_claim("level=l1"), LEVEL_L1);
    assert_int_equal(counter_claim("warps=8,level=hbm,loads=4"), LEVEL_MEMORY);
    assert_int_equal(counter_claim("level=shared,path=x"), LEVEL_SHARED);
    assert_int_equal(counter_claim("level=l2_near"), -1);
    assert_int_equal(counter_claim("sublevel=l1"), -1);
    assert_int_equal(counter_claim("level=l2,path=cp_async"), -1);
    assert_int_equal(counter_claim("level=hbm,path=bulk"), -1);
    assert_int_equal(counter_claim("level="), -1);
    assert_int_equal(counter_claim(""), -1);
}

/* --- memory and time -------------------------------------------------------------------------- */

static void own_bytes(void **state)
{
    static const char rate[] = "{\"name\": \"rate\", \"unit\": \"bytes/s\", \"median\": 4e12,"
                               " \"pass_work\": 3000, \"pass_value\": 1}";
    static const char made[] = "{\"name\": \"rate\", \"unit\": \"bytes/s\", \"median\": 4e12,"
                               " \"pass_work\": 3, \"pass_value\": 1}";
    struct counter_figures c = figures("{\"dram_read\": 2400, \"dram_write\": 540}", rate, NULL);
    (void)state;
    assert_close(c.read_of_own, 0.8, 1e-12);
    assert_close(c.written_of_own, 0.18, 1e-12);
    assert_nan(figures("{\"dram_read\": 2400, \"dram_write\": 540}", NULL, NULL).read_of_own);
    assert_nan(figures("{\"dram_read\": 2400, \"dram_write\": 540}", made, NULL).read_of_own);
}

static void slowdowns(void **state)
{
    json_t *timed = json_pack("{s:s, s:f}", "unit", "ns", "median", 100.0);
    json_t *counted = json_pack("{s:s, s:f}", "unit", "ns", "median", 150.0);
    (void)state;
    assert_close(counter_slowdown(timed, counted), 1.5, 1e-12);
    json_object_set_new(timed, "unit", json_string("bytes/s"));
    assert_close(counter_slowdown(timed, counted), 100.0 / 150, 1e-12);
    json_object_set_new(timed, "unit", json_string("count"));
    assert_nan(counter_slowdown(timed, counted));
    assert_nan(counter_slowdown(NULL, counted));
    json_decref(timed);
    json_decref(counted);
}

/* 1000 MHz, so that a cycle is a ns. */
#define CYCLES(elapsed, most, least, sum) \
    "\"time\": " #elapsed ", \"sm_clock\": 1e9, \"sm_active_most\": " #most \
    ", \"sm_active_least\": " #least ", \"sm_active\": " #sum

static void busy_sms(void **state)
{
    struct counter_figures c = figures("{" CYCLES(1000, 400, 100, 1200) "}", NULL, NULL);
    (void)state;
    assert_close(c.body_ns, 1000, 1e-12); /* nothing was timed: the range as counted */
    assert_close(c.busy, 0.4, 1e-12);
    assert_close(c.least_busy, 0.1, 1e-12);
    assert_close(c.n_busy, 3, 1e-12);
    assert_close(c.sm_mhz, 1000, 1e-12);
}

/* The range of a counted pass contains the profiler's own gaps: the time taken without it counts.
 * Samples of a pass: two of 150 and one of 300 ns, which took 100 and 200. */
static void time_of_the_body(void **state)
{
    static const char counted[] =
        "{\"name\": \"t\", \"timer\": \"event\", \"unit\": \"ns\", \"median\": 75,"
        " \"pass_value\": 600, \"pass_work\": 4,"
        " \"sides\": [{\"n\": 20, \"median\": 150}, {\"n\": 10, \"median\": 300}]}";
    static const char timed[] =
        "{\"name\": \"t\", \"timer\": \"event\", \"unit\": \"ns\", \"median\": 50,"
        " \"sides\": [{\"n\": 7, \"median\": 100}, {\"n\": 7, \"median\": 200}]}";
    static const char wall[] = "{\"name\": \"t\", \"timer\": \"wall\", \"unit\": \"ns\","
                               " \"median\": 50}";
    static const char each[] = "{\"name\": \"t\", \"unit\": \"ns\", \"median\": 300,"
                               " \"pass_value\": 600, \"pass_work\": 2}";
    static const char each_timed[] = "{\"name\": \"t\", \"unit\": \"ns\", \"median\": 200}";
    struct counter_figures c = figures("{" CYCLES(9000, 300, 0, 300) "}", counted, timed);
    (void)state;
    assert_close(c.body_ns, 400, 1e-12);
    assert_close(c.busy, 0.75, 1e-12);
    assert_close(figures("{" CYCLES(9000, 300, 0, 300) "}", each, each_timed).body_ns, 400, 1e-12);
    c = figures("{" CYCLES(9000, 300, 0, 300) "}", counted, wall); /* that is another metric */
    assert_close(c.body_ns, 9000, 1e-12);
    c = figures("{" CYCLES(9000, 500, 0, 500) "}", counted, timed); /* more than is timed */
    assert_same(c.busy, 1);
}

/* Several cases of a probe may have no keys: their metrics distinguish them. */
static void cases_are_found(void **state)
{
    json_t *cases = json_loads(
        "[{\"case\": \"\", \"metrics\": [{\"name\": \"a\", \"timer\": \"wall\"}]},"
        " {\"case\": \"\", \"metrics\": [{\"name\": \"a\", \"timer\": \"event\"}, {\"name\": "
        "\"b\"}]},"
        " {\"case\": \"k=1\", \"metrics\": [{\"name\": \"b\"}]}]",
        0, NULL);
    json_t *like = json_loads("{\"case\": \"\", \"metrics\": [{\"name\": \"b\"}]}", 0, NULL);
    (void)state;
    assert_ptr_equal(counter_case(cases, like), json_array_get(cases, 1));
    json_object_set_new(like, "case", json_string("k=1"));
    assert_ptr_equal(counter_case(cases, like), json_array_get(cases, 2));
    json_object_set_new(like, "case", json_string("k=2"));
    assert_null(counter_case(cases, like));
    assert_null(counter_case(NULL, like));
    assert_null(counter_case(cases, NULL));
    json_decref(cases);
    json_decref(like);
}

/* --- issue slots ------------------------------------------------------------------------------ */

static void losses(void **state)
{
    struct counter_figures c = figures(
        "{\"issue\": 20, \"stalled_wait\": 100, \"stalled_barrier\": 300,"
        " \"stalled_selected\": 50, \"stalled_not_selected\": 70,"
        " \"stalled_gmma\": null, \"stalled_drain\": 0}",
        NULL, NULL);
    (void)state;
    assert_int_equal(c.n_lost, 2);
    assert_string_equal(c.lost[0].reason, "barrier");
    assert_close(c.lost[0].share, 0.8 * 0.75, 1e-12);
    assert_string_equal(c.lost[1].reason, "wait");
    assert_close(c.lost[1].share, 0.8 * 0.25, 1e-12);
}

/* --- bound by --------------------------------------------------------------------------------- */

static enum bound bound_of(const char *counters)
{
    return figures(counters, NULL, NULL).bound;
}

#define MEMORY(dram, l2, l1, active) \
    ", \"dram_busy\": " #dram ", \"l2_busy\": " #l2 ", \"l1_busy\": " #l1 \
    ", \"memory_sm_elapsed\": 1000, \"memory_sm_active\": " #active
#define PIPES(tensor, fma, issue) \
    ", \"tensor_busy\": " #tensor ", \"fma_busy\": " #fma ", \"alu_busy\": 1, \"issue\": " #issue

static void bounds(void **state)
{
    static const struct {
        const char *counters;
        enum bound bound;
        const char *limit;
        double busy;
    } table[] = {
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(5, 4, 3, 900) PIPES(0, 2, 6) "}", BOUND_LATENCY,
         "issue slots", 0.06},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(90, 40, 3, 1000) PIPES(0, 2, 6) "}", BOUND_BANDWIDTH,
         "memory", 0.9},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(20, 70, 3, 1000) PIPES(0, 2, 6) "}", BOUND_BANDWIDTH,
         "L2", 0.7},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(5, 4, 80, 1000) PIPES(0, 2, 6) "}", BOUND_BANDWIDTH,
         "L1 and shared", 0.8},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(61, 4, 3, 1000) PIPES(95, 2, 6) "}", BOUND_COMPUTE,
         "tensor pipe", 0.95},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(5, 4, 3, 1000) PIPES(0, 20, 88) "}", BOUND_COMPUTE,
         "issue slots", 0.88},
        /* busy as it may be: nobody held a warp for most of the time */
        {"{" CYCLES(1000, 499, 0, 499) MEMORY(45, 4, 3, 499) PIPES(0, 2, 6) "}", BOUND_LAUNCH,
         "memory", 45 / 49.9},
        {"{" CYCLES(1000, 500, 0, 500) MEMORY(5, 4, 3, 500) PIPES(0, 2, 6) "}", BOUND_LATENCY,
         "memory", 0.1},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(5, 4, 3, 900) PIPES(0, 2, 6)
         ", \"l2_out_busy\": 45, \"paths_sm_elapsed\": 100, \"paths_sm_active\": 50}",
         BOUND_BANDWIDTH, "out of L2", 0.9},
        /* 60 % is the line, of the time in which an SM held a warp */
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(30, 4, 3, 501) PIPES(0, 2, 6) "}", BOUND_LATENCY,
         "memory", 30 / 50.1},
        {"{" CYCLES(1000, 900, 0, 900) MEMORY(30, 4, 3, 499) PIPES(0, 2, 6) "}", BOUND_BANDWIDTH,
         "memory", 30 / 49.9},
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        struct counter_figures c = figures(table[i].counters, NULL, NULL);
        if (c.bound != table[i].bound || strcmp(c.limit, table[i].limit))
            fail_msg("row %zu: %s (%s), expected %s (%s)", i, bound_name(c.bound), c.limit,
                     bound_name(table[i].bound), table[i].limit);
        assert_close(c.limit_busy, table[i].busy, 1e-12);
    }
}

static void bound_needs_all_of_it(void **state)
{
    (void)state;
    assert_int_equal(bound_of("{" CYCLES(1000, 900, 0, 900) PIPES(0, 2, 6) "}"), BOUND_UNKNOWN);
    assert_int_equal(bound_of("{" CYCLES(1000, 900, 0, 900) MEMORY(9, 4, 3, 500) "}"),
                     BOUND_UNKNOWN);
    assert_int_equal(bound_of("{\"a\": 1" MEMORY(9, 4, 3, 500) PIPES(0, 2, 6) "}"), BOUND_UNKNOWN);
}

static struct counter_figures busy_case(const char *probe, const char *keys, const char *timer)
{
    static const char counters[] = "{" CYCLES(1000, 900, 0, 900) MEMORY(5, 4, 3, 900)
                                   PIPES(0, 2, 6) "}";
    json_t *one = json_pack("{s:s, s:[{s:s, s:s, s:s}], s:o}", "case", keys, "metrics", "name", "t",
                            "unit", "ns", "timer", timer, "counters",
                            json_loads(counters, 0, NULL));
    struct counter_figures c;
    assert_non_null(one);
    counter_read(&c, probe, one, NULL);
    json_decref(one);
    return c;
}

/* A kernel that waits for the host holds an SM: that is not a latency of the measured work. */
static void no_word_behind_a_gate(void **state)
{
    static const struct {
        const char *probe, *keys, *timer;
        bool gated;
    } table[] = {
        {"launch", "mode=stream", "event", false},
        {"launch", "mode=graph", "event", false},
        {"launch", "depth=1,work_ns=0", "wall", false},
        {"edges", "mode=stream,blocks=sm,body=0,span=64-512", "event", false},
        {"edges", "mode=stream_pdl_late,blocks=sm,body=0,span=64-512", "event", false},
        {"edges", "mode=submitted,blocks=sm,body=0,span=64-512", "event", false},
        {"edges", "mode=graph,blocks=sm,body=0,span=64-512", "event", false},
        {"host_link", "by=stream", "event", false},
        {"host_link", "by=flag,delay_us=20", "wall", true},
        {"host_link", "direction=h2d,memory=pinned,bytes=4", "event", true},
        {"host_link", "direction=h2d,memory=pinned,bytes=4", "wall", false},
        {"host_link", "level=host", "device", false},
        {"sm_to_sm", "mode=stream", "event", false},
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        struct counter_figures c = busy_case(table[i].probe, table[i].keys, table[i].timer);
        if (c.gated != table[i].gated)
            fail_msg("%s{%s}: gated %d", table[i].probe, table[i].keys, c.gated);
        assert_int_equal(c.bound, table[i].gated ? BOUND_UNKNOWN : BOUND_LATENCY);
    }
}

static void as_an_object(void **state)
{
    struct counter_figures c = figures(
        "{" CYCLES(1000, 900, 0, 900) MEMORY(90, 40, 3, 1000)
            PIPES(0, 2, 6) ", \"stalled_wait\": 5, \"shared_loads\": 4, \"global_loads\": 0}",
        NULL, NULL);
    json_t *object = counter_object(&c);
    (void)state;
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "bound_by")), "bandwidth");
    assert_same(json_number_value(json_object_get(json_object_get(object, "served"), "shared")), 1);
    assert_true(json_is_null(json_object_get(object, "l1_hit_share"))); /* never NaN */
    assert_close(json_number_value(json_object_get(json_object_get(object, "issue_slots_lost"),
                                                   "wait")), 0.94, 1e-12);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_add_up),
        cmocka_unit_test(levels_of_an_h200),
        cmocka_unit_test(more_hits_than_lookups),
        cmocka_unit_test(levels_not_known),
        cmocka_unit_test(claims_are_read),
        cmocka_unit_test(own_bytes),
        cmocka_unit_test(slowdowns),
        cmocka_unit_test(busy_sms),
        cmocka_unit_test(time_of_the_body),
        cmocka_unit_test(cases_are_found),
        cmocka_unit_test(losses),
        cmocka_unit_test(bounds),
        cmocka_unit_test(bound_needs_all_of_it),
        cmocka_unit_test(no_word_behind_a_gate),
        cmocka_unit_test(as_an_object),
    };
    return cmocka_run_group_tests_name("report_counted", tests, NULL, NULL);
}
