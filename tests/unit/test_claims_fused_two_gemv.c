/* The claim on where an intermediate is kept: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

/* The chain's time ratio, its share of a copy, its three kernels alone over all three together; two
 * products: the intermediate's bytes. */
struct c28 {
    double ratio, share_of_copy, alone, intermediate;
};
static const struct c28 h200 = {3.01, 0.99, 1.005, 28672};

static void put(struct bundle *b, const char *id, const char *unit, double value)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, value, 0.001 * value, 7);
}

static enum claim_verdict c28_with(struct c28 c, struct finding *f)
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
    for (size_t i = 0; i < 5; i++) {
        snprintf(keys, sizeof keys, layer, impls[i]);
        snprintf(id, sizeof id, "two_gemv.time%s,timer=event}", keys);
        put(&b, id, "ns", 55500);
    }
    snprintf(id, sizeof id, "two_gemv.intermediate%s}", keys);
    put_spread(&b.rows, id, "bytes", ROW_EXACT, c.intermediate, 0, 7);
    snprintf(id, sizeof id, "two_gemv.bytes%s}", keys);
    put_spread(&b.rows, id, "bytes", ROW_EXACT, 235e6, 0, 7);
    return verdict_of("C28", &b, f);
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

static void its_evidence(void **unused)
{
    struct finding f;
    struct c28 c = h200;
    (void)unused;
    c28_with(c, &f);
    assert_non_null(strstr(f.evidence, "0.00024 of the bytes, immaterial"));
    assert_non_null(strstr(f.evidence, "in shared memory"));
    assert_non_null(strstr(f.evidence, "presume"));
    assert_true(strlen(f.evidence) + 1 < sizeof f.evidence);
    c.intermediate = 10e6;
    c28_with(c, &f);
    assert_non_null(strstr(f.evidence, ", material"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_on_the_chip),
        cmocka_unit_test(its_controls),
        cmocka_unit_test(its_evidence),
    };
    return cmocka_run_group_tests_name("claims on an intermediate's place", tests, NULL, NULL);
}
