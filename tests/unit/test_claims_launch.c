/* Claims about launches: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *unit, double centre, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, 0, 7);
}

/* Differs between runs: what a ratio's interval comes from. */
static void put_wide(struct bundle *b, const char *unit, double centre, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, 0.01 * centre, 7);
}

/* --- C29 -------------------------------------------------------------------------------------- */

#define STEP(mode, blocks, span)                                                                   \
    "edges.step{mode=" mode ",blocks=" blocks ",body=0,span=" span ",timer=event}"

struct c29 {
    double graph, counter, grid_sync, graph_long, counter_long, stream, block, wrong, flag;
};
static const struct c29 measured = {1140, 1070, 1160, 1140, 1070, 2000, 67, 1, 558};

static enum claim_verdict c29_of(const char *id, struct c29 c, struct finding *f)
{
    struct bundle b = {0};
    put_wide(&b, "ns", c.flag, "sm_to_sm.flag_time{path=l2,by=acq_rel,timer=device}");
    put(&b, "ns", c.graph, STEP("graph", "sm", "64-512"));
    put(&b, "ns", c.graph / 10, STEP("graph_pdl_late", "sm", "64-512")); /* not a fused kernel */
    put_wide(&b, "ns", c.counter, STEP("counter", "sm", "64-512"));
    put(&b, "ns", c.grid_sync, STEP("grid_sync", "sm", "64-512"));
    put(&b, "ns", c.graph_long, STEP("graph", "sm", "512-4096"));
    put(&b, "ns", c.counter_long, STEP("counter", "sm", "512-4096"));
    put(&b, "ns", c.stream, STEP("stream", "sm", "64-512"));
    put(&b, "ns", c.block, STEP("block_shared", "1", "64-512"));
    put_spread(&b.rows, "edges.wrong{mode=unwaited,blocks=sm,body=1048576,steps=64}", "ratio",
               ROW_HIGHER, c.wrong, 0, 7);
    return verdict_of(id, &b, f);
}

static enum claim_verdict c29(struct c29 c)
{
    struct finding f;
    return c29_of("C29", c, &f);
}

static enum claim_verdict c29c(struct c29 c)
{
    struct finding f;
    return c29_of("C29c", c, &f);
}

static enum claim_verdict c29b(struct c29 c)
{
    struct finding f;
    return c29_of("C29b", c, &f);
}

/* What needs no barrier of all blocks, and what needs no fusion, stand beside it. */
static void beside_an_edge(void **unused)
{
    struct c29 c = measured;
    struct finding f;
    (void)unused;
    c29_of("C29c", c, &f);
    assert_non_null(strstr(f.evidence, "programmatic dependent launch 9.4"));
    assert_non_null(
        strstr(f.evidence, "from one block to one other, where that is all (C29b) 558"));
    assert_int_equal(c29b(c), CLAIM_MIXED);
    c.flag = 200;
    assert_int_equal(c29b(c), CLAIM_REPRODUCED);
    c.flag = 600;
    assert_int_equal(c29b(c), CLAIM_REFUTED);
    c.flag = 0.5 * 1140; /* straddles */
    assert_int_equal(c29b(c), CLAIM_MIXED);
    c.stream = 6000;
    assert_int_equal(c29b(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.block = c.graph;
    assert_int_equal(c29b(c), CLAIM_NOT_TESTABLE);
}

/* Over steps by stream, of 2000 ns. */
static void a_step_inside_a_kernel(void **unused)
{
    struct c29 c = measured;
    (void)unused;
    assert_int_equal(c29(c), CLAIM_REFUTED);
    c.counter = 700; /* and in long chains as before, which no stream was measured in */
    assert_int_equal(c29(c), CLAIM_MIXED);
    c.grid_sync = 300;
    assert_int_equal(c29(c), CLAIM_REPRODUCED);
    c.graph = 300; /* launches pass for eliminated, too */
    assert_int_equal(c29(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.block = 500;
    assert_int_equal(c29(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.wrong = 0;
    assert_int_equal(c29(c), CLAIM_NOT_TESTABLE);
}

static void an_edge_inside_a_kernel(void **unused)
{
    struct c29 c = measured;
    (void)unused;
    assert_int_equal(c29c(c), CLAIM_REFUTED);
    c.counter = c.counter_long = 200;
    assert_int_equal(c29c(c), CLAIM_REPRODUCED);
    c.counter_long = 400; /* not so in long chains */
    assert_int_equal(c29c(c), CLAIM_MIXED);
    c.counter = 400;
    assert_int_equal(c29c(c), CLAIM_MIXED);
    c.counter = c.counter_long = 0.5 * 1140; /* straddles */
    assert_int_equal(c29c(c), CLAIM_MIXED);
    c.grid_sync = 200; /* the better of both counts */
    c.counter_long = 200;
    assert_int_equal(c29c(c), CLAIM_REPRODUCED);
}

static void controls_of_c29(void **unused)
{
    struct c29 c = measured;
    (void)unused;
    c.block = 300; /* steps that are certainly fused do not look fused */
    assert_int_equal(c29c(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.wrong = 0; /* the answers cannot tell whether anything waits */
    assert_int_equal(c29c(c), CLAIM_NOT_TESTABLE);
    c = measured;
    c.stream = 6000; /* launches pass for eliminated, too */
    assert_int_equal(c29c(c), CLAIM_NOT_TESTABLE);
}

/* --- C50 -------------------------------------------------------------------------------------- */

#define SPLIT(launches, each)                                                                      \
    "launch_shape.split{bytes=16777216,launches=" launches ",each=" each ",timer=event}"

/* One launch that reads all, an empty one; cut into 64 and 4096; one and 63 empty ones; 64 that
 * read all; the same kernel as in 64, of which one reads; an empty one with 4096 bytes of
 * arguments. */
struct c50 {
    double one, null, few, many, nothing, everything, idle, arguments;
};
static const struct c50 h200 = {8900, 544, 75000, 4e6, 43200, 425000, 55000, 544};

static enum claim_verdict c50(const char *id, struct c50 c)
{
    struct bundle b = {0};
    put(&b, "ns", c.one, SPLIT("1", "part"));
    put(&b, "ns", c.null, "launch_shape.edge{blocks=sm,threads=256,shared=0,args=8,timer=event}");
    put(&b, "ns", 544, "launch_shape.edge{blocks=1,threads=32,shared=0,args=8,timer=event}");
    put(&b, "ns", c.arguments,
        "launch_shape.edge{blocks=1,threads=32,shared=0,args=4096,timer=event}");
    put_wide(&b, "ns", c.few, SPLIT("64", "part"));
    put_wide(&b, "ns", c.many, SPLIT("4096", "part"));
    put(&b, "ns", c.nothing, SPLIT("64", "none"));
    put(&b, "ns", c.idle, SPLIT("64", "idle"));
    put(&b, "ns", c.everything, SPLIT("64", "all"));
    return verdict(id, &b);
}

static void what_a_launch_costs(void **unused)
{
    static const char *const ids[] = {"C50", "C50b", "C50d"};
    struct c50 c = h200;
    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        c = h200;
        assert_int_equal(c50(ids[i], c), CLAIM_REPRODUCED);
        c.nothing *= 1.3; /* launches and bytes do not add up */
        assert_int_equal(c50(ids[i], c), CLAIM_NOT_TESTABLE);
        c = h200;
        c.arguments *= 1.3; /* anything passes for a cost */
        assert_int_equal(c50(ids[i], c), CLAIM_NOT_TESTABLE);
        c = (struct c50){544, 544, 544, 544, 544, 544, 544, 544}; /* a stuck timer */
        assert_int_equal(c50(ids[i], c), CLAIM_NOT_TESTABLE);
    }
    c = h200;
    c.few = 1.02 * c.one; /* 64 launches are free, 4096 are not */
    assert_int_equal(c50("C50", c), CLAIM_MIXED);
    c.many = 1.05 * c.one;
    assert_int_equal(c50("C50", c), CLAIM_REFUTED);
    c = h200;
    c.null = 8500,
    c.nothing = c.one + 63 * c.null; /* an empty launch costs as much as a full one */
    assert_int_equal(c50("C50b", c), CLAIM_REFUTED);
    c = h200;
    c.few = c.idle; /* whether one reads or all */
    assert_int_equal(c50("C50d", c), CLAIM_REFUTED);
    c.few = 1.1 * c.idle; /* straddles */
    assert_int_equal(c50("C50d", c), CLAIM_MIXED);
}

static enum claim_verdict c50c_with(double block, double total, double one, double stamped)
{
    struct bundle b = {0};
    put(&b, "ns", stamped, "launch.run{blocks=65536,threads=32,timer=device}");
    put(&b, "ns", 2500, "launch.call{blocks=1,threads=1,timer=wall}");
    put(&b, "ns", 2250, "launch.start{blocks=1,threads=1,timer=device}");
    put(&b, "ns", 100, "launch.run{blocks=1,threads=1,timer=device}");
    put(&b, "ns", 2650, "launch.finish{blocks=1,threads=1,timer=device}");
    put(&b, "ns", block, "launch.block{threads=32,timer=event}");
    put(&b, "ns", one, "launch.whole{blocks=1,threads=1,timer=wall}");
    put_wide(&b, "ns", total, "launch.whole{blocks=65536,threads=32,timer=wall}");
    return verdict("C50c", &b);
}

static enum claim_verdict c50c(double block, double total, double one)
{
    return c50c_with(block, total, one, 65536 * block);
}

static void parts_of_a_launch(void **unused)
{
    (void)unused;
    assert_int_equal(c50c(0.6, 46700, 7500), CLAIM_REPRODUCED);
    assert_int_equal(c50c(0.6, 60000, 7500), CLAIM_REFUTED);
    assert_int_equal(c50c(0.6, 46721.6 / 1.15, 7500), CLAIM_MIXED); /* straddles 15 % */
    assert_int_equal(c50c(0.6, 46700, 9500), CLAIM_NOT_TESTABLE);   /* one block does not add up */
    assert_int_equal(c50c(0.01, 8000, 7500), CLAIM_NOT_TESTABLE);   /* nor do blocks show */
    assert_int_equal(c50c_with(0.6, 46700, 7500, 3e4), CLAIM_NOT_TESTABLE); /* nor stamps agree */
}

/* --- C71 -------------------------------------------------------------------------------------- */

static enum claim_verdict c71(double one, double deep, double trip, double busy_deep)
{
    struct bundle b = {0};
    put(&b, "ns", one, "launch.queued{depth=1,work_ns=0,timer=wall}");
    put_wide(&b, "ns", deep, "launch.queued{depth=1000,work_ns=0,timer=wall}");
    put(&b, "ns", trip, "launch.round_trip{timer=wall}");
    put(&b, "ns", 27300, "launch.queued{depth=1,work_ns=20000,timer=wall}");
    put(&b, "ns", busy_deep, "launch.queued{depth=100,work_ns=20000,timer=wall}");
    return verdict("C71", &b);
}

static void depth_of_the_queue(void **unused)
{
    (void)unused;
    assert_int_equal(c71(7500, 2450, 7300, 21300), CLAIM_REPRODUCED);
    assert_int_equal(c71(7500, 6000, 7300, 21300), CLAIM_REFUTED);
    assert_int_equal(c71(7500, 4500, 7300, 21300), CLAIM_MIXED);
    assert_int_equal(c71(7500, 2450, 5000, 21300), CLAIM_NOT_TESTABLE); /* not the round trip */
    assert_int_equal(c71(7500, 2450, 7300, 9000), CLAIM_NOT_TESTABLE);  /* hides the GPU's work */
    assert_int_equal(c71(27300, 27300, 27300, 27300), CLAIM_NOT_TESTABLE); /* a stuck timer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_inside_a_kernel), cmocka_unit_test(an_edge_inside_a_kernel),
        cmocka_unit_test(controls_of_c29),        cmocka_unit_test(what_a_launch_costs),
        cmocka_unit_test(beside_an_edge),         cmocka_unit_test(parts_of_a_launch),
        cmocka_unit_test(depth_of_the_queue),
    };
    return cmocka_run_group_tests_name("claims about launches", tests, NULL, NULL);
}
