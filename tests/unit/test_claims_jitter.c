/* Claims about tails and bursts: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, spread * centre, 7);
}

/* --- C68 -------------------------------------------------------------------------------------- */

/* p99 in us of steps of 8 and of 64 launches, by stream, graph and one kernel; of one launch and of
 * the same; and what the busy thread had of the CPU. Medians are 10 us. */
struct c68 {
    double by_8[3], by_64[3], one, same, busy;
};
static const struct c68 falls = {{4000, 3900, 60}, {4200, 4100, 900}, 14, 14.2, 0.49};

static void put_step(struct bundle *b, const char *launches, const char *mode, const char *host,
                     double p99)
{
    char id[128];
    snprintf(id, sizeof id, "jitter.step_p99{launches=%s,mode=%s,host=%s,timer=wall}", launches,
             mode, host);
    put(b, "ns", p99 * 1e3, 0.01, id);
    snprintf(id, sizeof id, "jitter.step{launches=%s,mode=%s,host=%s,timer=wall}", launches, mode,
             host);
    put(b, "ns", 10e3, 0, id);
}

static enum claim_verdict c68(struct c68 c)
{
    static const char *const modes[] = {"stream", "graph", "persistent"};
    struct bundle b = {0};
    for (int i = 0; i < 3; i++) {
        put_step(&b, "8", modes[i], "shared", c.by_8[i]);
        put_step(&b, "64", modes[i], "shared", c.by_64[i]);
    }
    put_step(&b, "1", "stream", "shared", c.one);
    put_step(&b, "1", "persistent", "shared", c.same);
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
    c.same = 12; /* the same thing against itself falls, too */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
}

/* --- C69 -------------------------------------------------------------------------------------- */

#define ITEM(metric, load, launch) "jitter." metric "{load=" load ",items=512,launch=" launch "}"

static enum claim_verdict c69(double batched, double each, double calm, double wait)
{
    struct bundle b = {0};
    put(&b, "ratio", batched, 0.01, ITEM("busy", "600000", "batched"));
    put(&b, "ratio", each, 0.01, ITEM("busy", "600000", "each_of_8_streams"));
    put(&b, "ratio", each / 2, 0.01, ITEM("busy", "600000", "each"));
    put(&b, "ratio", calm, 0.01, ITEM("busy", "30000", "batched"));
    put(&b, "ratio", 0.001, 0.01, ITEM("busy", "30000", "each_of_8_streams"));
    put(&b, "ns", wait, 0.01, ITEM("latency", "600000", "each_of_8_streams,timer=wall"));
    put(&b, "ns", 4e4, 0.01, ITEM("latency", "30000", "each_of_8_streams,timer=wall"));
    put(&b, "ns", 1e4, 0.01, ITEM("latency", "600000", "batched,timer=wall"));
    return verdict("C69", &b);
}

static void batches_make_steady_work(void **unused)
{
    (void)unused;
    assert_int_equal(c69(0.024, 0.012, 0.001, 3e5), CLAIM_REPRODUCED);
    assert_int_equal(c69(0.015, 0.012, 0.001, 3e5), CLAIM_REFUTED);
    assert_int_equal(c69(0.018, 0.012, 0.001, 3e5), CLAIM_MIXED);
    assert_int_equal(c69(0.024, 0.012, 0.002, 3e5), CLAIM_NOT_TESTABLE); /* calm: rises, too */
    assert_int_equal(c69(0.024, 0.012, 0.001, 5e4), CLAIM_NOT_TESTABLE); /* no queue */
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
