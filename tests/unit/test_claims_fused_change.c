/* The claims on what a change of kernels may break: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *id, const char *unit, double value)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, value, 0, 7);
}

static void campaign(struct bundle *b, const char *program, const char *guard, double tried,
                     double wrong)
{
    char id[80];
    snprintf(id, sizeof id, "%s.shapes{guard=%s}", program, guard);
    put(b, id, "count", tried);
    snprintf(id, sizeof id, "%s.wrong_shapes{guard=%s}", program, guard);
    put(b, id, "count", wrong);
}

/* Shapes tried and wrong without the guard, wrong behind it; the share of planted faults seen. */
static enum claim_verdict c77(double tried, double wrong, double guarded, double caught)
{
    struct bundle b = {0};
    campaign(&b, "bias_gelu_scale", "off", tried, wrong);
    campaign(&b, "bias_gelu_scale", "on", 24, guarded);
    put(&b, "bias_gelu_scale.caught{rows=1001,cols=1024,type=fp16,impl=fused,mode=graph,l2=warm}",
        "ratio", caught);
    return verdict("C77", &b);
}

static void rare_shapes(void **unused)
{
    (void)unused;
    assert_int_equal(c77(24, 20, 0, 1), CLAIM_REPRODUCED);
    assert_int_equal(c77(24, 0, 0, 1), CLAIM_REFUTED);
    assert_int_equal(c77(24, 20, 2, 1), CLAIM_NOT_TESTABLE);  /* wrong where they are made for it */
    assert_int_equal(c77(24, 0, 0, 0.5), CLAIM_NOT_TESTABLE); /* blind verification */
    assert_int_equal(c77(3, 0, 0, 1), CLAIM_NOT_TESTABLE);    /* too few */
    assert_int_equal(c77(1, 1, 1, 1), CLAIM_NOT_TESTABLE);    /* all figures are 1 */
}

/* Shapes tried and wrong in softmax; wrong without a guard; the error of an ordinary shape. */
static enum claim_verdict c77b(double tried, double wrong, double unguarded, double error,
                               struct finding *f)
{
    struct bundle b = {0};
    campaign(&b, "bias_gelu_scale", "on", 20, 0);
    campaign(&b, "norm", "on", 30, 0);
    campaign(&b, "softmax", "on", tried, wrong);
    campaign(&b, "quantized", "on", 40, 0);
    campaign(&b, "bias_gelu_scale", "off", 24, unguarded);
    put(&b, "bias_gelu_scale.error{rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold}",
        "ratio", error);
    return verdict_of("C77b", &b, f);
}

static void shapes_of_this_suite(void **unused)
{
    struct finding f;
    (void)unused;
    assert_int_equal(c77b(48, 1, 20, 1e-4, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "softmax: wrong at 1 of 48 odd shapes"));
    assert_int_equal(c77b(48, 0, 20, 1e-4, &f), CLAIM_REFUTED);
    assert_int_equal(c77b(48, 0, 0, 1e-4, &f), CLAIM_NOT_TESTABLE); /* it sees no wrong shape */
    assert_int_equal(c77b(48, 1, 20, 0.5, &f), CLAIM_NOT_TESTABLE); /* all shapes are wrong */
    assert_int_equal(c77b(5, 0, 20, 1e-4, &f), CLAIM_NOT_TESTABLE); /* too few */
}

#define OF(context)                                                                                \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=causal,type=bf16,impl="

/* Fused and unfused memory of an operator by count; of attention, what the driver says of three
 * kernels over the count, and of one kernel over three; whether 65536 tokens fit unfused. */
static enum claim_verdict c78(const char *claim, double fused, double agree, double saved,
                              bool fits, struct finding *f)
{
    struct bundle b = {0};
#define CASE(impl) "{rows=8,cols=64,type=fp16,impl=" impl ",mode=graph,l2=warm}"
    put(&b, "norm.memory" CASE("fused"), "bytes", fused);
    put(&b, "norm.memory" CASE("unfused"), "bytes", 100);
    put(&b, "attention_prefill.memory" OF(8192) "unfused,mode=graph,l2=cold}", "bytes", 1e9);
    put(&b, "attention_prefill.memory" OF(8192) "fused,mode=graph,l2=cold}", "bytes",
        1e9 * agree * saved);
    put(&b, "attention_prefill.footprint" OF(8192) "unfused}", "bytes", 1e9 * agree);
    put(&b, "attention_prefill.footprint" OF(8192) "fused}", "bytes", 1e9 * agree * saved);
    put(&b, "attention_prefill.footprint" OF(4096) "fused}", "bytes", 5e8 * agree * saved);
    put(&b, "attention_prefill.footprint" OF(65536) "fused}", "bytes", 8e9);
    put(&b, "attention_prefill.footprint" OF(65536) "unfused}", "bytes", 8e9);
    if (!fits) {
        struct row *row = rows_get(&b.rows, "attention_prefill.footprint" OF(65536) "unfused}",
                                   "bytes", ROW_LOWER);
        row->status = ROW_MISSING;
        row->why = strdup("more than this GPU's memory holds");
    }
    return verdict_of(claim, &b, f);
}

static void what_fits(void **unused)
{
    struct finding f;
    (void)unused;
    assert_int_equal(c78("C78", 50, 1, 0.1, false, &f), CLAIM_REPRODUCED);
    assert_int_equal(c78("C78", 50, 1, 0.95, true, &f), CLAIM_REFUTED);
    assert_int_equal(c78("C78", 50, 1, 0.1, true, &f), CLAIM_MIXED);
    assert_int_equal(c78("C78", 50, 1.2, 0.1, false, &f), CLAIM_NOT_TESTABLE); /* not the count */
}

static void more_memory(void **unused)
{
    struct finding f;
    struct bundle b = {0};
    (void)unused;
    assert_int_equal(c78("C78b", 50, 1, 0.1, false, &f), CLAIM_REFUTED);
    assert_int_equal(c78("C78b", 120, 1, 0.1, false, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "most: norm.memory"));
    assert_int_equal(c78("C78b", 50, 1.2, 0.1, false, &f), CLAIM_NOT_TESTABLE);
    assert_int_equal(c78("C78b", 50, 1, 1.3, false, &f), CLAIM_NOT_TESTABLE); /* nothing is saved */
    assert_int_equal(verdict_of("C78b", &b, &f), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rare_shapes),
        cmocka_unit_test(shapes_of_this_suite),
        cmocka_unit_test(what_fits),
        cmocka_unit_test(more_memory),
    };
    return cmocka_run_group_tests_name("claims on a change of kernels", tests, NULL, NULL);
}
