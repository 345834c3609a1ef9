/* Claims about tails and bursts: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, spread * centre, 7);
}

/* --- C68 -------------------------------------------------------------------------------------- */

/* p999 in us of steps of 8 launches and p99 of 64, by stream, graph and one kernel; both of one
 * launch and of the same; and what the busy thread had of the CPU. Medians are 10 us. */
struct c68 {
    double by_8[3], by_64[3], one, same, one_p999, same_p999, busy;
};
static const struct c68 falls = {{4000, 3900, 60}, {4200, 4100, 900}, 14, 14.2, 4000, 4010, 0.49};

static void put_step(struct bundle *b, const char *high, const char *launches, const char *mode,
                     double us)
{
    char id[128];
    snprintf(id, sizeof id, "jitter.%s{launches=%s,mode=%s,host=shared,timer=wall}", high, launches,
             mode);
    put(b, "ns", us * 1e3, 0.01, id);
    snprintf(id, sizeof id, "jitter.step{launches=%s,mode=%s,host=shared,timer=wall}", launches,
             mode);
    if (!rows_find(&b->rows, id))
        put(b, "ns", 10e3, 0, id);
}

static enum claim_verdict c68(struct c68 c)
{
    static const char *const modes[] = {"stream", "graph", "persistent"};
    struct bundle b = {0};
    for (int i = 0; i < 3; i++) {
        put_step(&b, "step_p999", "8", modes[i], c.by_8[i]);
        put_step(&b, "step_p99", "8", modes[i], i ? 15 : 4000); /* decides nothing */
        put_step(&b, "step_p99", "64", modes[i], c.by_64[i]);
    }
    put_step(&b, "step_p99", "1", "stream", c.one);
    put_step(&b, "step_p99", "1", "persistent", c.same);
    put_step(&b, "step_p999", "1", "stream", c.one_p999);
    put_step(&b, "step_p999", "1", "persistent", c.same_p999);
    put(&b, "ratio", c.busy, 0.01, "jitter.host_load{launches=8,mode=stream,host=shared}");
    return verdict("C68", &b);
}

static void fewer_launches_shorter_tails(void **unused)
{
    struct c68 c = falls;
    (void)unused;
    assert_int_equal(c68(c), CLAIM_REPRODUCED);
    c.by_64[2] = 4150; /* from 8 only */
    assert_int_equal(c68(c), CLAIM_MIXED);
    c.by_8[2] = 3950;
    assert_int_equal(c68(c), CLAIM_REFUTED);
    c.by_8[2] = 10 + 0.9 * 3990; /* straddles 0.9 */
    assert_int_equal(c68(c), CLAIM_MIXED);
    c = falls;
    c.busy = 0.1; /* the CPU is not shared */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.by_64[0] = 39; /* a load that nobody feels */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.by_8[0] = 39;
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.same = 12; /* the same thing against itself falls, too */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.same_p999 = 60;
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
}

/* --- C69 -------------------------------------------------------------------------------------- */

#define ITEM(metric, load, launch) "jitter." metric "{load=" load ",items=512,launch=" launch "}"

/* Whatever the shares: they are load over what is served. */
static void batches_make_steady_work(void **unused)
{
    static const double each[] = {0.012, 0.016, 0.024};
    (void)unused;
    for (int i = 0; i < 3; i++) {
        struct bundle b = {0};
        struct finding f;
        put(&b, "ratio", 0.024, 0.01, ITEM("busy", "600000", "batched"));
        put(&b, "ratio", each[i], 0.01, ITEM("busy", "600000", "each_of_8_streams"));
        put(&b, "ratio", each[i] / 2, 0.01, ITEM("busy", "600000", "each"));
        put(&b, "ratio", 0.001, 0.01, ITEM("busy", "30000", "batched"));
        put(&b, "ratio", 0.001, 0.01, ITEM("busy", "30000", "each_of_8_streams"));
        put(&b, "ns", 8e5, 0.01, ITEM("latency", "600000", "each_of_8_streams,timer=wall"));
        put(&b, "ns", 1e4, 0.01, ITEM("latency", "600000", "batched,timer=wall"));
        assert_int_equal(verdict_of("C69", &b, &f), CLAIM_NOT_TESTABLE);
        assert_non_null(strstr(f.evidence, "batched 0.024"));
        assert_non_null(strstr(f.evidence, "no control could fail"));
    }
}

/* --- C87 -------------------------------------------------------------------------------------- */

/* Median and p99 in us of one fused kernel and of eight launches. */
struct layer {
    double one, one_p99, many, many_p99;
};

static void put_layer(struct bundle *b, const char *rival, int streams, struct layer l)
{
    static const char *const times[] = {"layer{mode=persistent", "layer_p99{mode=persistent",
                                        "layer{mode=stream", "layer_p99{mode=stream"};
    const double us[] = {l.one, l.one_p99, l.many, l.many_p99};
    char id[160];
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof id, "jitter.%s,rival=%s,streams=%d,priority=equal,timer=wall}",
                 times[i], rival, streams);
        put(b, "ns", us[i] * 1e3, 0.001, id);
    }
}

static enum claim_verdict c87(struct layer tensor, struct layer alone)
{
    static const struct layer stream = {120, 125, 500, 600}, tiny = {35, 40, 53, 73};
    struct bundle b = {0};
    put_layer(&b, "stream", 2, stream);
    put_layer(&b, "tensor", 2, tensor);
    put_layer(&b, "tiny", 2, tiny);
    put_layer(&b, "none", 0, alone);
    return verdict("C87", &b);
}

static void steadier_beside_others(void **unused)
{
    const struct layer alone = {33, 40, 41, 50};
    (void)unused;
    assert_int_equal(c87((struct layer){50, 60, 57, 90}, alone), CLAIM_REPRODUCED);
    assert_int_equal(c87((struct layer){50, 120, 57, 90}, alone), CLAIM_REFUTED);
    /* a shorter tail, but a larger multiple of a shorter median */
    assert_int_equal(c87((struct layer){20, 40, 57, 90}, alone), CLAIM_MIXED);
    assert_int_equal(c87((struct layer){55, 86, 57, 90}, alone), CLAIM_MIXED);
    assert_int_equal(c87((struct layer){50, 60, 57, 90}, (struct layer){33, 34, 41, 50}),
                     CLAIM_NOT_TESTABLE); /* also without rivals */
    assert_int_equal(c87((struct layer){33, 40, 41.5, 55}, alone),
                     CLAIM_NOT_TESTABLE); /* no contention */
}

static void nothing_measured(void **unused)
{
    static const char *const ids[] = {"C68", "C69", "C87"};
    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct bundle b = {0};
        assert_int_equal(verdict(ids[i], &b), CLAIM_NOT_TESTABLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_launches_shorter_tails),
        cmocka_unit_test(batches_make_steady_work),
        cmocka_unit_test(steadier_beside_others),
        cmocka_unit_test(nothing_measured),
    };
    return cmocka_run_group_tests_name("claims about jitter", tests, NULL, NULL);
}
