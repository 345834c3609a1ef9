/* The claims on what fusing three kernels saves: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#define FUSED(metric, impl)                                                                        \
    "bias_gelu_scale." metric "{rows=16384,cols=8192,type=fp16,impl=" impl ",mode=graph,l2=cold"

static void ns(struct bundle *b, const char *id, double centre)
{
    put_spread(&b->rows, id, "ns", ROW_LOWER, centre, centre / 1000, 7);
}

/* Bytes of one kernel of the chain, by counters, over the fused one's; 0: not counted. */
static double counted_one = 1;

/* Times in us: fused, three kernels, one of them; the bytes' ratio by counters, 0: not counted; the
 * share of a copy. */
static enum claim_verdict c38(const char *claim, double fused, double unfused, double scale,
                              double counted, double copy)
{
    struct bundle b = {0};
    ns(&b, FUSED("time", "fused") ",timer=event}", fused);
    put_spread(&b.rows, FUSED("time", "unfused") ",timer=event}", "ns", ROW_LOWER, unfused,
               unfused / 50, 7);
    ns(&b, FUSED("time", "scale") ",timer=event}", scale);
    put_spread(&b.rows, FUSED("share_of_copy", "fused") "}", "ratio", ROW_HIGHER, copy, 0.01, 7);
    if (counted > 0) {
        put_counted(&b, "dram_bytes", FUSED("time", "fused") ",timer=event}", 1e9);
        put_counted(&b, "dram_bytes", FUSED("time", "unfused") ",timer=event}", counted * 1e9);
        if (counted_one > 0)
            put_counted(&b, "dram_bytes", FUSED("time", "scale") ",timer=event}",
                        counted_one * 1e9);
    }
    return verdict(claim, &b);
}

static void what_fusion_saves(void **unused)
{
    (void)unused;
    assert_int_equal(c38("C38", 130, 390, 131, 0, 0.95), CLAIM_REPRODUCED);
    assert_int_equal(c38("C38", 130, 390, 131, 3, 0.95), CLAIM_REPRODUCED);
    assert_int_equal(c38("C38", 130, 390, 131, 1.5, 0.95), CLAIM_MIXED); /* counters see less */
    assert_int_equal(c38("C38", 130, 390, 131, 1.05, 0.95), CLAIM_REFUTED);
    counted_one = 2.5; /* they see the chain's bytes whatever runs */
    assert_int_equal(c38("C38", 130, 390, 131, 3, 0.95), CLAIM_NOT_TESTABLE);
    counted_one = 0; /* without that kernel's bytes time decides */
    assert_int_equal(c38("C38", 130, 390, 131, 1, 0.95), CLAIM_REPRODUCED);
    counted_one = 1;
    assert_int_equal(c38("C38", 130, 120, 55, 0, 0.95), CLAIM_REFUTED);
    assert_int_equal(c38("C38", 130, 390, 131, 0, 0.80), CLAIM_NOT_TESTABLE); /* not by memory */
    assert_int_equal(c38("C38", 130, 390, 300, 0, 0.95), CLAIM_NOT_TESTABLE); /* one reads 2.3 */
    assert_int_equal(c38("C38", 130, 130, 130, 3, 0.95), CLAIM_NOT_TESTABLE); /* all are equal */
    assert_int_equal(c38("C38b", 130, 390, 131, 0, 0.95), CLAIM_REPRODUCED);
    assert_int_equal(c38("C38b", 130, 300, 131, 0, 0.95), CLAIM_REFUTED);
    assert_int_equal(c38("C38b", 130, 130 * 3.3, 131, 0, 0.95), CLAIM_MIXED);
    assert_int_equal(c38("C38b", 130, 390, 390, 0, 0.95), CLAIM_NOT_TESTABLE);
    assert_int_equal(c38("C38b", 130, 130, 130, 0, 0.95), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_fusion_saves)};
    return cmocka_run_group_tests_name("claims on fusion", tests, NULL, NULL);
}
