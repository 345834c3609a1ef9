/* Claims about tails and bursts: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, spread * centre, 7);
}

/* --- C68 -------------------------------------------------------------------------------------- */

struct c68 {
    double many_512, graph_512, one_512, many_64, graph_64, one_64; /* tails */
    double idle, loaded, first, same, busy;
};
static const struct c68 falls = {1.3, 1.01, 1.05, 1.2, 1.03, 1.35, 24e3, 30e3, 1.6, 1.55, 0.95};

static enum claim_verdict c68(struct c68 c)
{
    struct bundle b = {0};
    put(&b, "ratio", c.many_512, 0.01, "jitter.step_tail{launches=512,mode=stream,host=loaded}");
    put(&b, "ratio", c.graph_512, 0.01, "jitter.step_tail{launches=512,mode=graph,host=loaded}");
    put(&b, "ratio", c.one_512, 0.01, "jitter.step_tail{launches=512,mode=persistent,host=loaded}");
    put(&b, "ratio", c.many_64, 0.01, "jitter.step_tail{launches=64,mode=stream,host=loaded}");
    put(&b, "ratio", c.graph_64, 0.01, "jitter.step_tail{launches=64,mode=graph,host=loaded}");
    put(&b, "ratio", c.one_64, 0.01, "jitter.step_tail{launches=64,mode=persistent,host=loaded}");
    put(&b, "ns", c.idle, 0.01, "jitter.step{launches=8,mode=stream,host=idle,timer=wall}");
    put(&b, "ns", c.loaded, 0.01, "jitter.step{launches=8,mode=stream,host=loaded,timer=wall}");
    put(&b, "ratio", c.busy, 0.01, "jitter.host_load{launches=512,mode=stream,host=loaded}");
    put(&b, "ratio", c.first, 0.01, "jitter.step_tail{launches=1,mode=stream,host=loaded}");
    put(&b, "ratio", c.same, 0.01, "jitter.step_tail{launches=1,mode=persistent,host=loaded}");
    return verdict("C68", &b);
}

static void fewer_launches_shorter_tails(void **unused)
{
    struct c68 c = falls;
    (void)unused;
    assert_int_equal(c68(c), CLAIM_REPRODUCED);
    c.graph_64 = 1.2; /* from 512 only */
    assert_int_equal(c68(c), CLAIM_MIXED);
    c.graph_512 = c.one_512 = 1.29;
    assert_int_equal(c68(c), CLAIM_REFUTED);
    c.graph_512 = 1.17; /* straddles 0.9 */
    assert_int_equal(c68(c), CLAIM_MIXED);
    c = falls;
    c.busy = 0.5; /* no loaded host */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.loaded = c.idle; /* a load that nobody feels */
    assert_int_equal(c68(c), CLAIM_NOT_TESTABLE);
    c = falls;
    c.same = 1.2; /* the same thing against itself falls, too */
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

static void put_layer(struct bundle *b, const char *rival, int streams, double one, double many,
                      double ns)
{
    char id[160];
    snprintf(id, sizeof id, "jitter.layer_wall_tail{mode=persistent,rival=%s,streams=%d,"
             "priority=equal}", rival, streams);
    put(b, "ratio", one, 0.001, id);
    snprintf(id, sizeof id, "jitter.layer_tail{mode=persistent,rival=%s,streams=%d,priority=equal}",
             rival, streams);
    put(b, "ratio", one, 0.001, id);
    snprintf(id, sizeof id, "jitter.layer_wall_tail{mode=stream,rival=%s,streams=%d,priority=equal}",
             rival, streams);
    put(b, "ratio", many, 0.001, id);
    snprintf(id, sizeof id, "jitter.layer_tail{mode=stream,rival=%s,streams=%d,priority=equal}",
             rival, streams);
    put(b, "ratio", many, 0.001, id);
    static const char *const times[] = {"layer{mode=stream", "layer_p99{mode=persistent",
                                        "layer_p99{mode=stream"};
    for (int i = 0; i < 3; i++) {
        snprintf(id, sizeof id, "jitter.%s,rival=%s,streams=%d,priority=equal,timer=wall}",
                 times[i], rival, streams);
        put(b, "ns", ns, 0.001, id);
    }
}

/* Ratio of the tails next to each kind of rival and alone, and how much the tensor rival slows. */
static enum claim_verdict c87(double stream, double tensor, double tiny, double alone,
                              double slowed)
{
    struct bundle b = {0};
    put_layer(&b, "stream", 2, stream * 1.5, 1.5, 3e5);
    put_layer(&b, "tensor", 2, tensor * 1.5, 1.5, slowed * 4e4);
    put_layer(&b, "tiny", 2, tiny * 1.5, 1.5, 6e4);
    put_layer(&b, "none", 0, alone * 1.2, 1.2, 4e4);
    return verdict("C87", &b);
}

static void steadier_beside_others(void **unused)
{
    (void)unused;
    assert_int_equal(c87(0.8, 0.8, 0.8, 0.95, 1.4), CLAIM_REPRODUCED);
    assert_int_equal(c87(0.8, 1.2, 0.8, 0.95, 1.4), CLAIM_REFUTED);
    assert_int_equal(c87(0.8, 0.95, 0.8, 0.95, 1.4), CLAIM_MIXED);
    assert_int_equal(c87(0.8, 0.8, 0.8, 0.8, 1.4), CLAIM_NOT_TESTABLE);   /* also without rivals */
    assert_int_equal(c87(0.8, 0.8, 0.8, 0.95, 1.01), CLAIM_NOT_TESTABLE); /* no contention */
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
