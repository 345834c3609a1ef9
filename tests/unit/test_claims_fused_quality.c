/* The claims about what fused results are worth: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#define CASE(impl, l2) "{rows=8,cols=64,type=fp16,impl=" impl ",mode=graph,l2=" l2 "}"

static void put(struct bundle *b, const char *id, double value)
{
    put_spread(&b->rows, id, "ratio", ROW_LOWER, value, 0, 7);
}

/* Share of results that differ, fused error over unfused, faults seen, results of a fixed order. */
static enum claim_verdict c75(double differ, double error, double caught, double ordered,
                              struct finding *f)
{
    struct bundle b = {0};
    put(&b, "norm.differ" CASE("fused", "warm"), differ);
    put(&b, "norm.ulps" CASE("fused", "warm"), 2);
    put(&b, "norm.error" CASE("fused", "warm"), error);
    put(&b, "norm.error" CASE("unfused", "warm"), 1);
    put(&b, "norm.caught" CASE("fused", "warm"), caught);
    put(&b, "repeatability.distinct{order=two_kernels,runs=10000}", ordered);
    return verdict_of("C75", &b, f);
}

static void the_same_bits(void **unused)
{
    struct finding f;
    (void)unused;
    assert_int_equal(c75(0, 1, 1, 1, &f), CLAIM_REPRODUCED);
    assert_int_equal(c75(1e-3, 0.5, 1, 1, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "by 2 ulps"));
    assert_non_null(
        strstr(f.evidence, "0 of 1 cases: the weaker statement, within rounding, holds"));
    assert_int_equal(c75(1e-3, 1.2, 1, 1, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "1 of 1 cases"));
    assert_int_equal(c75(0, 1, 0.8, 1, &f), CLAIM_NOT_TESTABLE); /* blind verification */
    assert_int_equal(c75(0, 1, 1, 3, &f), CLAIM_NOT_TESTABLE);   /* a kernel differs from itself */
}

static enum claim_verdict c76(double arrival, double last, double two, double fixed, double inputs)
{
    struct bundle b = {0};
    struct finding f;
    put(&b, "repeatability.distinct{order=arrival,runs=10000}", arrival);
    put(&b, "repeatability.distinct{order=last_arriver,runs=10000}", last);
    put(&b, "repeatability.distinct{order=two_kernels,runs=10000}", two);
    put(&b, "repeatability.distinct{order=fixed_point,runs=10000}", fixed);
    put(&b, "repeatability.distinct{order=inputs,runs=10}", inputs);
    return verdict_of("C76", &b, &f);
}

static void from_run_to_run(void **unused)
{
    (void)unused;
    assert_int_equal(c76(9000, 1, 1, 1, 10), CLAIM_REPRODUCED);
    assert_int_equal(c76(1, 1, 1, 1, 10), CLAIM_REFUTED);
    assert_int_equal(c76(9000, 2, 1, 1, 10), CLAIM_MIXED);
    assert_int_equal(c76(9000, 1, 1, 5, 10), CLAIM_NOT_TESTABLE); /* it does not see the order */
    assert_int_equal(c76(9000, 1, 1, 1, 1), CLAIM_NOT_TESTABLE);  /* a blind hash */
}

#define LONG "{heads=32,kv_heads=32,depth=128,context=8192,mask=causal,type=bf16,impl="

/* Fused and unfused memory of an operator; what the driver says of attention over its count, and of the
 * fused form over the unfused one. */
static enum claim_verdict c78(double fused, double unfused, double agree, double saved,
                              struct finding *f)
{
    struct bundle b = {0};
    put(&b, "norm.memory" CASE("fused", "warm"), fused);
    put(&b, "norm.memory" CASE("unfused", "warm"), unfused);
    put(&b, "attention_prefill.memory" LONG "unfused,mode=graph,l2=cold}", 1e9);
    put(&b, "attention_prefill.footprint" LONG "unfused}", 1e9 * agree);
    put(&b, "attention_prefill.footprint" LONG "fused}", 1e9 * agree * saved);
    put(&b, "repeatability.graph_memory{nodes=4096}", 65536);
    return verdict_of("C78", &b, f);
}

static void more_memory(void **unused)
{
    struct finding f;
    struct bundle b = {0};
    (void)unused;
    assert_int_equal(c78(50, 100, 1, 0.1, &f), CLAIM_REFUTED);
    assert_int_equal(c78(120, 100, 1, 0.1, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "most: norm.memory"));
    assert_int_equal(c78(50, 100, 1.2, 0.1, &f),
                     CLAIM_NOT_TESTABLE); /* the count is not the driver's */
    assert_int_equal(c78(50, 100, 1, 1.3, &f),
                     CLAIM_NOT_TESTABLE); /* nor does it see what is saved */
    assert_int_equal(verdict_of("C78", &b, &f), CLAIM_NOT_TESTABLE);
}

static void not_testable_as_such(void **unused)
{
    struct finding f;
    struct bundle b = {0}, seen = {0};
    (void)unused;
    assert_int_equal(verdict_of("C77", &b, &f), CLAIM_NOT_TESTABLE);
    put(&seen, "norm.caught" CASE("fused", "warm"), 0.875);
    assert_int_equal(verdict_of("C81", &seen, &f), CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.evidence, "saw 88 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits),
        cmocka_unit_test(from_run_to_run),
        cmocka_unit_test(more_memory),
        cmocka_unit_test(not_testable_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
