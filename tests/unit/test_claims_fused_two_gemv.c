/* The claim on where an intermediate is kept: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

/* The chain's time ratio, its share of a copy, its three kernels alone over all three together; two
 * products: the intermediate's bytes. */
struct c28 {
    double ratio, share_of_copy, alone, intermediate;
    double counted;          /* ratio of the chain's bytes by counters; 0: not counted */
    double shared, dram, l2; /* bytes of the two products by counters; 0: not counted */
};
static const struct c28 h200 = {3.01, 0.99, 1.005, 28672, 0, 0, 0, 0};

#define CHAIN_TIME(impl)                                                                           \
    "bias_gelu_scale.time{rows=16384,cols=8192,type=fp16,impl=" impl                               \
    ",mode=graph,l2=cold,timer=event}"
#define LAYER_TIME(impl)                                                                           \
    "two_gemv.time{model=4096,hidden=14336,batch=1,type=bf16,impl=" impl                           \
    ",mode=graph,l2=cold,timer=event}"

static void put(struct bundle *b, const char *id, const char *unit, double value)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, value, 0.001 * value, 7);
}

/* Bytes of one kernel of the chain, by counters, over the fused one's; 0: not counted. */
static double counted_one = 1;

static enum claim_verdict c28_of(const char *claim, struct c28 c, struct finding *f)
{
    static const char *const impls[] = {"fused", "shared", "l2", "kernels", "dram"};
    static const char *const kernels[] = {"bias", "gelu", "scale"};
    const char *chain = "{rows=16384,cols=8192,type=fp16,impl=%s,mode=graph,l2=cold";
    const char *layer = "{model=4096,hidden=14336,batch=1,type=bf16,impl=%s,mode=graph,l2=cold";
    struct bundle b = {0};
    char keys[128], id[192];

    for (int fused = 0; fused < 2; fused++) {
        snprintf(keys, sizeof keys, chain, fused ? "fused" : "unfused");
        snprintf(id, sizeof id, "bias_gelu_scale.time%s,timer=event}", keys);
        put(&b, id, "ns", 126000 * (fused ? 1 : c.ratio));
        snprintf(id, sizeof id, "bias_gelu_scale.bytes%s}", keys);
        put_spread(&b.rows, id, "bytes", ROW_EXACT, fused ? 537e6 : 1611e6, 0, 7);
    }
    snprintf(keys, sizeof keys, chain, "fused");
    snprintf(id, sizeof id, "bias_gelu_scale.share_of_copy%s}", keys);
    put(&b, id, "ratio", c.share_of_copy);
    for (size_t i = 0; i < 3; i++) {
        snprintf(keys, sizeof keys, chain, kernels[i]);
        snprintf(id, sizeof id, "bias_gelu_scale.time%s,timer=event}", keys);
        put(&b, id, "ns", 126000 * c.ratio * c.alone / 3);
    }
    for (size_t i = 0; i < 5; i++) { /* `dram` last: its keys are used below */
        snprintf(keys, sizeof keys, layer, impls[i]);
        snprintf(id, sizeof id, "two_gemv.time%s,timer=event}", keys);
        put(&b, id, "ns", 55500);
    }
    snprintf(id, sizeof id, "two_gemv.intermediate%s}", keys);
    put_spread(&b.rows, id, "bytes", ROW_EXACT, c.intermediate, 0, 7);
    snprintf(id, sizeof id, "two_gemv.bytes%s}", keys);
    put_spread(&b.rows, id, "bytes", ROW_EXACT, 235e6, 0, 7);
    if (c.counted > 0) {
        put_counted(&b, "dram_bytes", CHAIN_TIME("fused"), 540e6);
        put_counted(&b, "dram_bytes", CHAIN_TIME("unfused"), 540e6 * c.counted);
        if (counted_one > 0)
            put_counted(&b, "dram_bytes", CHAIN_TIME("scale"), 540e6 * counted_one);
    }
    if (c.shared > 0) {
        put_counted(&b, "dram_bytes", LAYER_TIME("shared"), c.shared);
        put_counted(&b, "dram_bytes", LAYER_TIME("dram"), c.dram);
        put_counted(&b, "dram_bytes", LAYER_TIME("kernels"), c.l2);
    }
    return verdict_of(claim, &b, f);
}

static enum claim_verdict c28_with(struct c28 c, struct finding *f)
{
    return c28_of("C28", c, f);
}

static enum claim_verdict c28(struct c28 c)
{
    struct finding f;
    return c28_with(c, &f);
}

static void kept_on_the_chip(void **unused)
{
    struct c28 c = h200;
    (void)unused;
    assert_int_equal(c28(c), CLAIM_REPRODUCED);
    c.ratio = 2.7; /* 0.85 of what was predicted */
    assert_int_equal(c28(c), CLAIM_MIXED);
    c.ratio = 2.8; /* 0.9: the interval contains the threshold */
    assert_int_equal(c28(c), CLAIM_MIXED);
    c.ratio = 1.9; /* 0.45 */
    assert_int_equal(c28(c), CLAIM_REFUTED);
    c.ratio = 3.5;
    assert_int_equal(c28(c), CLAIM_MIXED);
}

static void its_controls(void **unused)
{
    struct c28 c = h200;
    (void)unused;
    c.share_of_copy = 0.80; /* time does not measure bytes */
    assert_int_equal(c28(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.alone = 1.1; /* a part of the intermediates did not go through memory */
    assert_int_equal(c28(c), CLAIM_NOT_TESTABLE);
    c.alone = 0.9; /* or time reads bytes that are not there */
    assert_int_equal(c28(c), CLAIM_NOT_TESTABLE);
    c.alone = 1.05;
    assert_int_equal(c28(c), CLAIM_REPRODUCED);
}

/* Counted bytes go before what time lets infer. */
static void by_counters(void **unused)
{
    struct c28 c = h200;
    (void)unused;
    c.counted = 2.98;
    assert_int_equal(c28(c), CLAIM_REPRODUCED);
    counted_one = 1.5; /* one of the three moves more than one pass, by counters */
    assert_int_equal(c28(c), CLAIM_NOT_TESTABLE);
    c.counted = 1.8, counted_one = 0; /* without its bytes those that time lets infer */
    assert_int_equal(c28(c), CLAIM_REPRODUCED);
    counted_one = 1;
    c.counted = 1.8;
    assert_int_equal(c28(c), CLAIM_REFUTED);
    c.counted = 2.5;
    assert_int_equal(c28(c), CLAIM_MIXED);
}

static void in_shared_memory(void **unused)
{
    struct finding f;
    struct c28 c = h200;
    (void)unused;
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_NOT_TESTABLE); /* not counted */
    assert_non_null(strstr(f.evidence, "0.00024 of the bytes, immaterial"));
    assert_non_null(strstr(f.evidence, "in shared memory"));
    assert_non_null(strstr(f.evidence, "presume"));
    assert_true(strlen(f.evidence) + 1 < sizeof f.evidence);
    c.shared = 235e6, c.dram = 235e6 + 2 * 28672, c.l2 = 235e6;
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_REPRODUCED);
    c.dram = 235e6 + 5000;
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_REFUTED);
    c.dram = 235e6 + 28672 * 1.5;
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_MIXED);
    c.l2 = 235e6 + 28672; /* what moves nothing reads as moving half of it */
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_NOT_TESTABLE);
    c.shared = c.dram = c.l2 = 100e6; /* not the bytes of the layer */
    assert_int_equal(c28_of("C28a", c, &f), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_on_the_chip),
        cmocka_unit_test(its_controls),
        cmocka_unit_test(by_counters),
        cmocka_unit_test(in_shared_memory),
    };
    return cmocka_run_group_tests_name("claims on an intermediate's place", tests, NULL, NULL);
}
