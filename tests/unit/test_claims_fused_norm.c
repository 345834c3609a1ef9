/* Claims about fused norms: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#define LONG "rows=16384,cols=8192,type=fp16,impl="

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, spread * centre, 7);
}

/* --- C40 -------------------------------------------------------------------------------------- */

struct c40 {
    double large, row, one, share, spread; /* unfused over fused; silu over fused; of a copy */
};
static const struct c40 gains = {2.9, 2.0, 1.0, 0.95, 0.01};

static enum claim_verdict c40(struct c40 c)
{
#define CHAIN(metric, rest) "norm." metric "{op=rmsnorm_bias_silu," rest
    struct bundle b = {0};
    put(&b, "ns", 133e3, 0, CHAIN("time", LONG "fused,mode=graph,l2=cold,timer=event}"));
    put(&b, "ns", c.large * 133e3, c.spread,
        CHAIN("time", LONG "unfused,mode=graph,l2=cold,timer=event}"));
    put(&b, "ns", c.one * 133e3, 0.01, CHAIN("time", LONG "silu,mode=graph,l2=cold,timer=event}"));
    put(&b, "ns", 2e3, 0,
        CHAIN("time", "rows=1,cols=4096,type=fp16,impl=fused,mode=graph,l2=cold,"
                      "timer=event}"));
    put(&b, "ns", c.row * 2e3, c.spread,
        CHAIN("time", "rows=1,cols=4096,type=fp16,impl=unfused,mode=graph,l2=cold,timer=event}"));
    put(&b, "ratio", c.share, 0.01, CHAIN("share_of_copy", LONG "fused,mode=graph,l2=cold}"));
    put(&b, "bytes", 536903680, 0, CHAIN("bytes", LONG "fused,mode=graph,l2=cold}"));
    put(&b, "bytes", 1610645504, 0, CHAIN("bytes", LONG "unfused,mode=graph,l2=cold}"));
    return verdict("C40", &b);
}

static void one_kernel_for_norm_bias_activation(void **unused)
{
    struct c40 c = gains;
    (void)unused;
    assert_int_equal(c40(c), CLAIM_REPRODUCED);
    c.row = 1.2; /* too little at one row */
    assert_int_equal(c40(c), CLAIM_MIXED);
    c.row = 1.0;
    assert_int_equal(c40(c), CLAIM_REFUTED);
    c = gains;
    c.large = 1.0;
    assert_int_equal(c40(c), CLAIM_REFUTED);
    c = gains;
    c.large = 1.3;
    c.spread = 0.05; /* straddles */
    assert_int_equal(c40(c), CLAIM_MIXED);
    c = gains;
    c.share = 0.7; /* a poor fused kernel */
    assert_int_equal(c40(c), CLAIM_NOT_TESTABLE);
    c = gains;
    c.one = 1.4; /* one kernel of the chain is as slow as that */
    assert_int_equal(c40(c), CLAIM_NOT_TESTABLE);
}

/* --- C42 -------------------------------------------------------------------------------------- */

struct c42 {
    double kernels, loop, same, share, passes; /* over the fused kernel's time; bytes over 4 N */
};
static const struct c42 slower = {1.92, 1.3, 0.98, 0.94, 1.0001};

static enum claim_verdict c42(struct c42 c)
{
#define LAYER(metric, impl) "norm." metric "{op=layernorm," LONG impl ",mode=graph,l2=cold"
    struct bundle b = {0};
    put(&b, "ns", 135e3, 0, LAYER("time", "fused") ",timer=event}");
    put(&b, "ns", c.kernels * 135e3, 0.01, LAYER("time", "unfused") ",timer=event}");
    put(&b, "ns", c.loop * 135e3, 0.01, LAYER("time", "three_pass") ",timer=event}");
    put(&b, "ns", c.same * 135e3, 0.01,
        "norm.time{op=rmsnorm_bias_silu," LONG "fused,mode=graph,l2=cold,timer=event}");
    put(&b, "ratio", c.share, 0.01, LAYER("share_of_copy", "fused") "}");
    put(&b, "bytes", c.passes * 4 * 16384 * 8192, 0, LAYER("bytes", "fused") "}");
    put(&b, "bytes", 2.0 * 4 * 16384 * 8192, 0, LAYER("bytes", "unfused") "}");
    return verdict("C42", &b);
}

static void passes_through_memory(void **unused)
{
    struct c42 c = slower;
    (void)unused;
    assert_int_equal(c42(c), CLAIM_REPRODUCED);
    c.loop = 0.99; /* the L1 serves the other loads */
    assert_int_equal(c42(c), CLAIM_MIXED);
    c.kernels = 1.01; /* and the L2 */
    assert_int_equal(c42(c), CLAIM_REFUTED);
    c = slower;
    c.loop = 1.05; /* straddles */
    assert_int_equal(c42(c), CLAIM_MIXED);
    c = slower;
    c.passes = 1.2; /* a fused kernel that reads twice */
    assert_int_equal(c42(c), CLAIM_REFUTED);
    c = slower;
    c.share = 0.8;
    assert_int_equal(c42(c), CLAIM_NOT_TESTABLE);
    c = slower;
    c.same = 1.2; /* one pass is not one pass */
    assert_int_equal(c42(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel_for_norm_bias_activation),
        cmocka_unit_test(passes_through_memory),
    };
    return cmocka_run_group_tests_name("claims about fused norms", tests, NULL, NULL);
}
