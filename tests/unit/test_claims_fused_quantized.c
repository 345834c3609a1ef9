/* The claims on quantised weights: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#define LAYER "{rows=4096,cols=14336,batch=1,type=%s,impl=%s,mode=graph,l2=cold"

/* ns of the paths; e4m3 takes what int8 does. Runs are 1 % apart, and the fused ones are fastest
 * where the others are slowest. */
struct paths {
    double full, cublas, int4, int4_unfused, int8, int8_unfused;
};
static const struct paths h200 = {27300, 30200, 10000, 66500, 17000, 74400};

static void put_time(struct bundle *b, const char *type, const char *impl, double ns)
{
    char id[160];
    snprintf(id, sizeof id, "quantized.time" LAYER ",timer=event}", type, impl);
    put_spread(&b->rows, id, "ns", ROW_LOWER, ns, (strcmp(impl, "fused") ? 0.005 : -0.005) * ns, 7);
}

static void put_bytes(struct bundle *b, const char *type, const char *impl, double bytes)
{
    char id[160];
    snprintf(id, sizeof id, "quantized.bytes" LAYER "}", type, impl);
    put_spread(&b->rows, id, "bytes", ROW_EXACT, bytes, 0, 7);
}

static enum claim_verdict with(const char *claim, struct paths p, double moved, struct finding *f)
{
    struct bundle b = {0};
    put_time(&b, "bf16", "full", p.full);
    put_time(&b, "bf16", "full_cublas", p.cublas);
    put_time(&b, "int4", "fused", p.int4);
    put_time(&b, "int4", "unfused", p.int4_unfused);
    put_time(&b, "int8", "fused", p.int8);
    put_time(&b, "int8", "unfused", p.int8_unfused);
    put_time(&b, "e4m3", "fused", p.int8);
    put_time(&b, "e4m3", "unfused", p.int8_unfused);
    put_bytes(&b, "bf16", "full", 117e6);
    put_bytes(&b, "int4", "fused", 30e6);
    put_bytes(&b, "int8", "fused", 60e6);
    put_bytes(&b, "int4", "unfused", moved * 117e6);
    put_bytes(&b, "int8", "unfused", 295e6);
    return verdict_of(claim, &b, f);
}

static enum claim_verdict of(const char *claim, struct paths p)
{
    struct finding f;
    return with(claim, p, 2.27, &f);
}

static void converting_inside(void **unused)
{
    struct paths p = h200;
    (void)unused;
    assert_int_equal(of("C45", p), CLAIM_REPRODUCED);
    p.int8 = 0.8 * p.int8_unfused; /* one format gains too little */
    assert_int_equal(of("C45", p), CLAIM_MIXED);
    p.int8 = 0.97 * p.int8_unfused;
    p.int4 = 0.97 * p.int4_unfused;
    assert_int_equal(of("C45", p), CLAIM_REFUTED);
    p = h200;
    p.int4 = 0.70 * p.int4_unfused; /* its interval contains 0.70 */
    assert_int_equal(of("C45", p), CLAIM_MIXED);
    p = h200;
    p.int4_unfused = 1.2 * p.full; /* the pass costs next to nothing */
    assert_int_equal(of("C45", p), CLAIM_NOT_TESTABLE);
    p = h200;
    p.cublas = 2 * p.full; /* two products that convert nothing are as far apart */
    assert_int_equal(of("C45", p), CLAIM_NOT_TESTABLE);
}

static void naive_paths(void **unused)
{
    struct paths p = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(of("C64", p), CLAIM_REPRODUCED);
    p.int4_unfused = 0.9 * p.full;
    assert_int_equal(of("C64", p), CLAIM_REFUTED);
    p = h200;
    p.int4 = 1.1 * p.full; /* slow without the stated cause */
    assert_int_equal(of("C64", p), CLAIM_MIXED);
    p = h200;
    p.int8 = 1.1 * p.full;
    assert_int_equal(of("C64", p), CLAIM_NOT_TESTABLE);
    p = (struct paths){1000, 1000, 1000, 1000, 1000, 1000}; /* a stuck timer */
    assert_int_equal(of("C45", p), CLAIM_NOT_TESTABLE);
    assert_int_equal(of("C64", p), CLAIM_NOT_TESTABLE);
    assert_int_equal(of("C65", p), CLAIM_NOT_TESTABLE);
    assert_int_equal(with("C64", h200, 1.9, &f), CLAIM_NOT_TESTABLE);
}

static void kernels_of_one_format(void **unused)
{
    struct paths p = h200;
    struct finding f;
    (void)unused;
    assert_int_equal(with("C65", p, 2.27, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "not testable with one GPU"));
    assert_non_null(strstr(f.evidence, "int4 unfused 2.27 and 2.44"));
    p.int4_unfused = 1.2 * p.int4;
    assert_int_equal(of("C65", p), CLAIM_REFUTED);
    p.int4_unfused = 1.5 * p.int4;
    assert_int_equal(of("C65", p), CLAIM_MIXED);
    p.int4_unfused = 100e3; /* a slow kernel, and no fallback that a runtime would have */
    assert_int_equal(of("C65", p), CLAIM_NOT_TESTABLE);
    p = h200;
    p.int4 = 0.9 * p.full; /* even the good kernel gains nothing */
    assert_int_equal(of("C65", p), CLAIM_NOT_TESTABLE);
    p = h200;
    p.cublas = 1.6 * p.full;
    assert_int_equal(of("C65", p), CLAIM_NOT_TESTABLE);
}

/* Errors over bf16's: of int8, of other 8-bit formats, of the 4-bit ones; by calibration. */
struct errors {
    double bf16, int8, fp8, int4, percentile, none, eighth, clamped;
};
static const struct errors measured = {0.00167, 4, 15, 70, 1.2, 40, 400, 0.7};

static void put_quality(struct bundle *b, const char *metric, const char *format, const char *input,
                        const char *calibration, double value)
{
    char id[160];
    snprintf(id, sizeof id, "quantized.%s{format=%s,input=%s,calibration=%s}", metric, format,
             input, calibration);
    put_spread(&b->rows, id, "ratio", ROW_LOWER, value, 0.001 * value, 7);
}

static enum claim_verdict c85(struct errors e)
{
    static const char *const inputs[] = {"normal", "student_t3", "channel_x100", "mean_8"};
    static const char *const formats[] = {"int8", "e4m3", "e5m2", "int4_g32", "int4_g128"};
    struct bundle b = {0};
    struct finding f;

    for (size_t i = 0; i < 4; i++) {
        put_quality(&b, "quality_error", "bf16", inputs[i], "none", e.bf16);
        for (size_t k = 0; k < 5; k++) {
            const double x = e.bf16 * (k == 0 ? e.int8 : k < 3 ? e.fp8 : e.int4);
            put_quality(&b, "quality_error", formats[k], inputs[i], "absmax", x);
            put_quality(&b, "quality_error", formats[k], inputs[i], "percentile", e.percentile * x);
            put_quality(&b, "quality_error", formats[k], inputs[i], "none", e.none * x);
        }
    }
    put_quality(&b, "quality_error", "int8", "normal", "eighth", e.eighth * e.bf16);
    put_quality(&b, "clamped", "int8", "normal", "absmax", 0);
    put_quality(&b, "clamped", "int8", "normal", "eighth", e.clamped);
    return verdict_of("C85", &b, &f);
}

static void quality(void **unused)
{
    struct errors e = measured;
    (void)unused;
    assert_int_equal(c85(e), CLAIM_REPRODUCED);
    e.percentile = e.none = 1; /* formats alone suffice */
    assert_int_equal(c85(e), CLAIM_REPRODUCED);
    e.int8 = e.fp8; /* nothing depends on anything, but all err more than bf16 */
    assert_int_equal(c85(e), CLAIM_MIXED);
    e.none = 3; /* no scale at all is no calibration */
    assert_int_equal(c85(e), CLAIM_MIXED);
    e.percentile = 3; /* calibration alone suffices */
    assert_int_equal(c85(e), CLAIM_REPRODUCED);
    e = (struct errors){0.00167, 1.2, 1.3, 1.4, 1.1, 1.2, 400, 0.7};
    assert_int_equal(c85(e), CLAIM_REFUTED);
    e = measured;
    e.bf16 = 0.0025;
    assert_int_equal(c85(e), CLAIM_NOT_TESTABLE);
    e = measured;
    e.clamped = 0; /* an eighth of the scale clamps nothing */
    assert_int_equal(c85(e), CLAIM_NOT_TESTABLE);
    e = measured;
    e.eighth = 3; /* or does no harm */
    assert_int_equal(c85(e), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converting_inside),
        cmocka_unit_test(naive_paths),
        cmocka_unit_test(kernels_of_one_format),
        cmocka_unit_test(quality),
    };
    return cmocka_run_group_tests_name("claims on quantised weights", tests, NULL, NULL);
}
