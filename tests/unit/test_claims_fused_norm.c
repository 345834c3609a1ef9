/* Claims about fused norms: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#define LONG "rows=16384,cols=8192,type=fp16,impl="

static void put(struct bundle *b, const char *unit, double centre, double spread, const char *id)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, centre, spread * centre, 7);
}

#define OF(op, metric, rest) "norm." metric "{op=" op "," rest
#define COLD(op, impl) OF(op, "time", LONG impl ",mode=graph,l2=cold,timer=event}")
#define CHAIN "rmsnorm_bias_silu"
#define ONE_ROW(impl)                                                                              \
    OF(CHAIN, "time", "rows=1,cols=4096,type=fp16,impl=" impl ",mode=graph,l2=cold,timer=event}")

/* --- C40 -------------------------------------------------------------------------------------- */

/* Bytes of one kernel of the chain, by counters, over the fused one's; 0: not counted. */
static double counted_one = 1;

struct c40 {
    double large, row, one, share, spread; /* unfused over fused; silu over fused; of a copy */
    double counted;                        /* unfused over fused; 0: not counted */
};
static const struct c40 gains = {2.9, 2.0, 1.0, 0.95, 0.01, 0};

static enum claim_verdict c40(const char *claim, struct c40 c)
{
    struct bundle b = {0};
    put(&b, "ns", 133e3, 0, COLD(CHAIN, "fused"));
    put(&b, "ns", c.large * 133e3, c.spread, COLD(CHAIN, "unfused"));
    put(&b, "ns", c.one * 133e3, 0.01, COLD(CHAIN, "silu"));
    put(&b, "ns", 2e3, 0, ONE_ROW("fused"));
    put(&b, "ns", c.row * 2e3, c.spread, ONE_ROW("unfused"));
    put(&b, "ratio", c.share, 0.01, OF(CHAIN, "share_of_copy", LONG "fused,mode=graph,l2=cold}"));
    if (c.counted > 0) {
        put_counted(&b, "dram_bytes", COLD(CHAIN, "fused"), 537e6);
        put_counted(&b, "dram_bytes", COLD(CHAIN, "unfused"), 537e6 * c.counted);
        if (counted_one > 0)
            put_counted(&b, "dram_bytes", COLD(CHAIN, "silu"), 537e6 * counted_one);
    }
    return verdict(claim, &b);
}

static void one_kernel_moves_less(void **unused)
{
    struct c40 c = gains;
    (void)unused;
    assert_int_equal(c40("C40", c), CLAIM_REPRODUCED);
    c.counted = 1.0; /* counters see no fewer bytes */
    assert_int_equal(c40("C40", c), CLAIM_REFUTED);
    c.counted = 1.2;
    assert_int_equal(c40("C40", c), CLAIM_MIXED);
    c.counted = 3;
    assert_int_equal(c40("C40", c), CLAIM_REPRODUCED);
    counted_one = 3; /* they see the chain's bytes whatever runs */
    assert_int_equal(c40("C40", c), CLAIM_NOT_TESTABLE);
    c.counted = 1, counted_one = 0; /* without that kernel's bytes time decides */
    assert_int_equal(c40("C40", c), CLAIM_REPRODUCED);
    counted_one = 1;
    c = gains;
    c.share = 0.7; /* a poor fused kernel */
    assert_int_equal(c40("C40", c), CLAIM_NOT_TESTABLE);
    c = gains;
    c.one = 1.4; /* one kernel of the chain is as slow as that */
    assert_int_equal(c40("C40", c), CLAIM_NOT_TESTABLE);
    c = gains;
    c.large = c.row = 1; /* all times are equal */
    assert_int_equal(c40("C40", c), CLAIM_NOT_TESTABLE);
}

static void one_kernel_is_faster(void **unused)
{
    struct c40 c = gains;
    (void)unused;
    assert_int_equal(c40("C40b", c), CLAIM_REPRODUCED);
    c.row = 1.2; /* too little at one row */
    assert_int_equal(c40("C40b", c), CLAIM_MIXED);
    c.row = 1.0;
    assert_int_equal(c40("C40b", c), CLAIM_REFUTED);
    c = gains;
    c.large = 1.3, c.one = 0.5;
    c.spread = 0.05; /* straddles */
    assert_int_equal(c40("C40b", c), CLAIM_MIXED);
    c = gains;
    c.share = 0.7;
    assert_int_equal(c40("C40b", c), CLAIM_NOT_TESTABLE);
}

/* Shares of what the L1s read that device memory supplies: fused, unfused, a kernel of the
 * chain. */
static enum claim_verdict c40a(double fused, double unfused, double silu)
{
    struct bundle b = {0};
    put_counted(&b, "dram_read", COLD(CHAIN, "fused"), 268e6 * fused);
    put_counted(&b, "l2_read", COLD(CHAIN, "fused"), 268e6);
    put_counted(&b, "dram_read", COLD(CHAIN, "unfused"), 805e6 * unfused);
    put_counted(&b, "l2_read", COLD(CHAIN, "unfused"), 805e6);
    put_counted(&b, "dram_read", COLD(CHAIN, "silu"), 268e6 * silu);
    put_counted(&b, "l2_read", COLD(CHAIN, "silu"), 268e6);
    return verdict("C40a", &b);
}

static void cache_use(void **unused)
{
    (void)unused;
    assert_int_equal(c40a(0.5, 1, 1), CLAIM_REPRODUCED);
    assert_int_equal(c40a(1, 1, 1), CLAIM_REFUTED);
    assert_int_equal(c40a(0.95, 1, 1), CLAIM_MIXED);
    assert_int_equal(c40a(0.5, 1, 0.5), CLAIM_NOT_TESTABLE); /* a stream that the L2 serves */
    assert_int_equal(c40a(0.5, 1.3, 1), CLAIM_NOT_TESTABLE); /* one kernel falls against three */
}

/* Shares of what loads ask that the caches serve: one kernel and three, of a large tensor and of
 * one that the L2 holds; three in the L2; a kernel that reads once. */
struct c92 {
    double large, large_of_three, fits, fits_of_three, in_l2, silu;
};

static void put_served(struct bundle *b, const char *time, double share)
{
    put_counted(b, "l1_sectors", time, 1e6);
    put_counted(b, "dram_read", time, 32e6 * (1 - share));
}

#define SMALL(impl, l2)                                                                            \
    OF("layernorm", "time", "rows=1024,cols=4096,type=fp16,impl=" impl                             \
                            ",mode=graph,l2=" l2 ",timer=event}")
static enum claim_verdict c92(struct c92 c)
{
    struct bundle b = {0};
    put_served(&b, COLD(CHAIN, "fused"), c.large);
    put_served(&b, COLD(CHAIN, "unfused"), c.large_of_three);
    put_served(&b, SMALL("fused", "cold"), c.fits);
    put_served(&b, SMALL("unfused", "cold"), c.fits_of_three);
    put_served(&b, SMALL("unfused", "warm"), c.in_l2);
    put_served(&b, COLD(CHAIN, "silu"), c.silu);
    return verdict("C92", &b);
}

static void served_by_caches(void **unused)
{
    (void)unused;
    assert_int_equal(c92((struct c92){0.67, 0.40, 0.67, 0.80, 1, 0}), CLAIM_MIXED);
    assert_int_equal(c92((struct c92){0.67, 0.40, 0.67, 0.40, 1, 0}), CLAIM_REPRODUCED);
    assert_int_equal(c92((struct c92){0.45, 0.40, 0.67, 0.80, 1, 0}), CLAIM_REFUTED);
    assert_int_equal(c92((struct c92){0.67, 0.40, 0.67, 0.80, 0.5, 0}), CLAIM_NOT_TESTABLE);
    assert_int_equal(c92((struct c92){0.67, 0.40, 0.67, 0.80, 1, 0.5}), CLAIM_NOT_TESTABLE);
}

/* --- C42 -------------------------------------------------------------------------------------- */

struct c42 {
    double kernels, loop, same, share; /* over the fused kernel's time; of a copy */
    double counted, passes;            /* bytes: kernels over fused; fused over one pass; 0: none */
    double mean;                       /* one kernel of another chain over the fused one */
};
static const struct c42 slower = {1.92, 1.3, 0.98, 0.94, 0, 0, 0.5};

static enum claim_verdict c42(const char *claim, struct c42 c)
{
    struct bundle b = {0};
    put(&b, "ns", 135e3, 0, COLD("layernorm", "fused"));
    put(&b, "ns", c.kernels * 135e3, 0.01, COLD("layernorm", "unfused"));
    put(&b, "ns", c.kernels * 135e3, 0.01, COLD(CHAIN, "unfused"));
    put(&b, "ns", c.mean * 135e3, 0.01, COLD(CHAIN, "silu"));
    put(&b, "ns", c.loop * 135e3, 0.01, COLD("layernorm", "three_pass"));
    put(&b, "ns", c.same * 135e3, 0.01, COLD(CHAIN, "fused"));
    put(&b, "ratio", c.share, 0.01,
        OF("layernorm", "share_of_copy", LONG "fused,mode=graph,l2=cold}"));
    if (c.passes > 0) {
        put_counted(&b, "dram_bytes", COLD("layernorm", "fused"), c.passes * 4 * 16384 * 8192);
        put_counted(&b, "dram_bytes", COLD("layernorm", "unfused"),
                    c.counted * c.passes * 4 * 16384 * 8192);
        if (counted_one > 0)
            put_counted(&b, "dram_bytes", COLD(CHAIN, "fused"),
                        counted_one * c.passes * 4 * 16384 * 8192);
    }
    return verdict(claim, &b);
}

static void passes_through_memory(void **unused)
{
    struct c42 c = slower;
    (void)unused;
    assert_int_equal(c42("C42", c), CLAIM_REPRODUCED);
    c.passes = 1, c.counted = 1.05; /* the L2 serves what is read again */
    assert_int_equal(c42("C42", c), CLAIM_REFUTED);
    c.counted = 1.3;
    assert_int_equal(c42("C42", c), CLAIM_MIXED);
    c.counted = 2, counted_one = 2; /* what reads once reads twice by counters, too */
    assert_int_equal(c42("C42", c), CLAIM_NOT_TESTABLE);
    counted_one = 1;
    assert_int_equal(c42("C42", c), CLAIM_REPRODUCED);
    c = slower;
    c.share = 0.8;
    assert_int_equal(c42("C42", c), CLAIM_NOT_TESTABLE);
    c = slower;
    c.same = 1.6; /* one pass is not one pass */
    assert_int_equal(c42("C42", c), CLAIM_NOT_TESTABLE);
    c = (struct c42){1, 1, 1, 0.94, 0, 0, 1}; /* a stuck timer */
    assert_int_equal(c42("C42", c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c42("C42a", c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c42("C42b", c), CLAIM_NOT_TESTABLE);
}

static void one_pass(void **unused)
{
    struct c42 c = slower;
    (void)unused;
    assert_int_equal(c42("C42a", c), CLAIM_REPRODUCED);
    c.share = 0.5;
    assert_int_equal(c42("C42a", c), CLAIM_REFUTED);
    c.share = 0.8;
    assert_int_equal(c42("C42a", c), CLAIM_MIXED);
    c.passes = 1.02, c.counted = 2; /* slow, but by counters of one pass */
    assert_int_equal(c42("C42a", c), CLAIM_REPRODUCED);
    c.counted = 1; /* and three kernels, too */
    assert_int_equal(c42("C42a", c), CLAIM_NOT_TESTABLE);
    c.passes = 1.9, c.counted = 2;
    assert_int_equal(c42("C42a", c), CLAIM_REFUTED);
    c = slower;
    c.kernels = 1.05, c.mean = 0.4; /* three passes read as one */
    assert_int_equal(c42("C42a", c), CLAIM_NOT_TESTABLE);
}

static void reading_again(void **unused)
{
    struct c42 c = slower;
    (void)unused;
    assert_int_equal(c42("C42b", c), CLAIM_REPRODUCED);
    c.loop = 0.99; /* the L1 serves the other loads */
    assert_int_equal(c42("C42b", c), CLAIM_REFUTED);
    c.loop = 1.05; /* straddles */
    assert_int_equal(c42("C42b", c), CLAIM_MIXED);
    c = slower;
    c.same = 1.2;
    assert_int_equal(c42("C42b", c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel_moves_less),
        cmocka_unit_test(one_kernel_is_faster),
        cmocka_unit_test(cache_use),
        cmocka_unit_test(served_by_caches),
        cmocka_unit_test(passes_through_memory),
        cmocka_unit_test(one_pass),
        cmocka_unit_test(reading_again),
    };
    return cmocka_run_group_tests_name("claims about fused norms", tests, NULL, NULL);
}
