/* The claims about what fused results are worth: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#define CASE(impl, l2) "{rows=8,cols=64,type=fp16,impl=" impl ",mode=graph,l2=" l2 "}"

static void put(struct bundle *b, const char *id, double value)
{
    put_spread(&b->rows, id, "ratio", ROW_LOWER, value, 0, 7);
}

/* Share of results that differ, faults seen, results of a fixed order and of ten inputs. */
static enum claim_verdict c75(double differ, double caught, double ordered, double inputs,
                              struct finding *f)
{
    struct bundle b = {0};
    put(&b, "norm.differ" CASE("fused", "warm"), differ);
    put(&b, "norm.ulps" CASE("fused", "warm"), 2);
    put(&b, "norm.caught" CASE("fused", "warm"), caught);
    put(&b, "repeatability.distinct{order=two_kernels,runs=10000}", ordered);
    put(&b, "repeatability.distinct{order=inputs,runs=10}", inputs);
    return verdict_of("C75", &b, f);
}

static void the_same_bits(void **unused)
{
    struct finding f;
    (void)unused;
    assert_int_equal(c75(0, 1, 1, 10, &f), CLAIM_REPRODUCED);
    assert_int_equal(c75(1e-3, 1, 1, 10, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "by at most 2 ulps"));
    assert_int_equal(c75(0, 0.8, 1, 10, &f), CLAIM_NOT_TESTABLE); /* blind verification */
    assert_int_equal(c75(0, 1, 3, 10, &f), CLAIM_NOT_TESTABLE);   /* it differs from itself */
    assert_int_equal(c75(1, 1, 1, 1, &f), CLAIM_NOT_TESTABLE);    /* all figures are 1 */
}

/* The fused error over the unfused one, in two cases; int4's own error over its kernel's; one
 * kernel from a stream over the same by a graph. */
static enum claim_verdict c75b(double first, double second, double int4, double again)
{
    struct bundle b = {0};
#define INT4(metric)                                                                               \
    "quantized." metric "{rows=4096,cols=14336,batch=1,type=int4,impl=fused,mode=graph,l2=cold}"
#define GELU(impl, mode)                                                                           \
    "bias_gelu_scale.error{rows=16384,cols=8192,type=fp16,impl=" impl ",mode=" mode ",l2=cold}"
    put(&b, "norm.error" CASE("fused", "warm"), first);
    put(&b, "norm.error" CASE("unfused", "warm"), 1);
    put(&b, "softmax.error" CASE("fused", "warm"), second);
    put(&b, "softmax.error" CASE("unfused", "warm"), 1);
    put(&b, GELU("fused", "graph"), 0.001);
    put(&b, GELU("fused", "stream"), 0.001 * again);
    put(&b, GELU("unfused", "graph"), 0.001);
    put(&b, INT4("error"), 0.001);
    put(&b, INT4("error_unquantised"), 0.001 * int4);
    return verdict("C75b", &b);
}

static void within_rounding(void **unused)
{
    struct bundle b = {0};
    (void)unused;
    assert_int_equal(c75b(0.9, 1, 70, 1), CLAIM_REPRODUCED);
    assert_int_equal(c75b(0.9, 1.2, 70, 1), CLAIM_MIXED);
    assert_int_equal(c75b(1.1, 1.2, 70, 1), CLAIM_REFUTED);
    assert_int_equal(c75b(0.9, 1, 1, 1), CLAIM_NOT_TESTABLE);    /* no error is seen */
    assert_int_equal(c75b(0.9, 1, 70, 1.1), CLAIM_NOT_TESTABLE); /* the same is not the same */
    assert_int_equal(verdict("C75b", &b), CLAIM_NOT_TESTABLE);
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

static void not_testable_as_such(void **unused)
{
    struct finding f;
    struct bundle seen = {0};
    (void)unused;
    put(&seen, "norm.caught" CASE("fused", "warm"), 0.875);
    assert_int_equal(verdict_of("C81", &seen, &f), CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.evidence, "saw 88 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits),
        cmocka_unit_test(within_rounding),
        cmocka_unit_test(from_run_to_run),
        cmocka_unit_test(not_testable_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
