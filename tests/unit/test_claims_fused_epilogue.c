/* The claims about a product's epilogue: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

static void put_drifting(struct bundle *b, int m, int n, int k, const char *op, const char *type,
                         const char *impl, double ns, double spread)
{
    char id[200];
    snprintf(id, sizeof id,
             "epilogue.time{m=%d,n=%d,k=%d,op=%s,type=%s,impl=%s,mode=graph,l2=cold,timer=event}",
             m, n, k, op, type, impl);
    put_spread(&b->rows, id, "ns", ROW_LOWER, ns, spread * ns, 7);
}

static void put_time(struct bundle *b, int m, int n, int k, const char *op, const char *type,
                     const char *impl, double ns)
{
    put_drifting(b, m, n, k, op, type, impl, ns, 0.002);
}

/* Times over that of the product alone: at few rows, and at 256 and more. */
struct c46 {
    double fused[2], one_pass, unfused;
    double drift, drift_of_fused; /* from round to round, of the others and of the fused one */
};
static const struct c46 finished = {{1.02, 1.02}, 1.12, 1.20, 0.002, 0.002};

static enum claim_verdict c46_with(struct c46 c, size_t n_sizes, struct finding *f)
{
    static const struct {
        const char *op, *type;
    } columns[] = {{"bias_gelu", "bf16"}, {"bias_residual", "bf16"}, {"bias_gelu", "fp16"}};
    static const int rows[] = {1, 16, 256, 4096, 16384};
    struct bundle b = {0};

    for (size_t j = 0; j < 3; j++)
        for (size_t i = 0; i < n_sizes; i++) {
            const double product = 12e3 * (1 + rows[i] / 300);
            const char *op = columns[j].op, *type = columns[j].type;
            put_drifting(&b, rows[i], 4096, 4096, op, type, "product", product, c.drift);
            put_drifting(&b, rows[i], 4096, 4096, op, type, "fused",
                         c.fused[rows[i] >= 256] * product, c.drift_of_fused);
            put_drifting(&b, rows[i], 4096, 4096, op, type, "one_pass", c.one_pass * product,
                         c.drift);
            put_drifting(&b, rows[i], 4096, 4096, op, type, "unfused", c.unfused * product,
                         c.drift);
        }
    return verdict_of("C46", &b, f);
}

static enum claim_verdict c46(struct c46 c)
{
    struct finding f;
    return c46_with(c, 5, &f);
}

static void finished_inside(void **unused)
{
    struct c46 c = finished;
    (void)unused;
    assert_int_equal(c46(c), CLAIM_REPRODUCED);
    c.fused[1] = 1.11; /* as long as a kernel after it, from 256 rows on */
    assert_int_equal(c46(c), CLAIM_MIXED);
    c.fused[0] = 1.15;
    assert_int_equal(c46(c), CLAIM_REFUTED);
}

/* What rounds have in common does not blur the ratio; what differs between them does. */
static void finished_while_the_clock_drifts(void **unused)
{
    struct c46 c = finished;
    (void)unused;
    c.drift = c.drift_of_fused = 0.08;
    assert_int_equal(c46(c), CLAIM_REPRODUCED);
    c.drift = 0.002;
    assert_int_equal(c46(c), CLAIM_MIXED); /* nowhere proved, nowhere disproved */
}

static void controls_of_finished(void **unused)
{
    struct c46 c = finished;
    struct finding f;
    (void)unused;
    c.unfused = c.one_pass = 1.02; /* kernels after the product are not noticed */
    assert_int_equal(c46(c), CLAIM_NOT_TESTABLE);
    c = finished;
    c.unfused = 1.07; /* two kernels faster than one */
    assert_int_equal(c46(c), CLAIM_NOT_TESTABLE);
    c = finished;
    c.fused[0] = 0.90; /* faster than the product alone */
    assert_int_equal(c46(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c46_with(finished, 4, &f), CLAIM_NOT_TESTABLE); /* 16384 rows are missing */
}

/* Times over those of three products in sequence: at 1 row, and at 16 and more. */
struct c90 {
    double fused[2], branches, grouped, own, split;
    double drift; /* from round to round, of branches and of grouped; others: 0.002 */
};
static const struct c90 merged = {{0.60, 0.60}, 0.75, 0.70, 0.69, 0.66, 0.002};

static enum claim_verdict c90_of(const char *claim, struct c90 c, size_t n_shapes,
                                 struct finding *f)
{
    static const int shapes[][2] = {{3072, 2048}, {6144, 4096}, {12288, 4096}},
                     rows[] = {1, 16, 256};
    struct bundle b = {0};
    char id[200];

    for (size_t i = 0; i < n_shapes; i++)
        for (size_t j = 0; j < 3; j++) {
            const int m = rows[j], n = shapes[i][0], k = shapes[i][1];
            const double three = 25e3;
            put_time(&b, m, n, k, "qkv", "bf16", "unfused", three);
            put_time(&b, m, n, k, "qkv", "bf16", "fused", c.fused[m > 1] * three);
            put_drifting(&b, m, n, k, "qkv", "bf16", "branches", c.branches * three, c.drift);
            put_drifting(&b, m, n, k, "qkv", "bf16", "grouped", c.grouped * three, c.drift);
            put_time(&b, m, n, k, "qkv", "bf16", "own", c.own * three);
            put_time(&b, m, n, k, "qkv", "bf16", "split", c.split * three);
            for (int three_times = 0; three_times < 2; three_times++) {
                const double bytes =
                    2.0 * n * k + (three_times ? 3 : 1) * 2.0 * m * k + 2.0 * m * n;
                snprintf(id, sizeof id,
                         "epilogue.bytes{m=%d,n=%d,k=%d,op=qkv,type=bf16,impl=%s,mode=graph,"
                         "l2=cold}",
                         m, n, k, three_times ? "unfused" : "fused");
                put_spread(&b.rows, id, "bytes", ROW_EXACT, bytes, 0, 7);
            }
        }
    return verdict_of(claim, &b, f);
}

static enum claim_verdict c90_with(struct c90 c, size_t n_shapes, struct finding *f)
{
    return c90_of("C90", c, n_shapes, f);
}

static enum claim_verdict c90(struct c90 c)
{
    struct finding f;
    return c90_with(c, 3, &f);
}

static void three_made_one(void **unused)
{
    struct c90 c = merged;
    struct finding f;
    (void)unused;
    assert_int_equal(c90_with(c, 3, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "n=6144 m=1 0.60 of the time"));
    assert_true(strlen(f.evidence) + 1 < sizeof f.evidence);
    c.grouped = c.own = 0.60; /* one launch of three is a fusion, and no rival */
    assert_int_equal(c90(c), CLAIM_REPRODUCED);
    c = merged;
    c.branches = 0.61; /* three branches do it as well */
    assert_int_equal(c90(c), CLAIM_REFUTED);
    c.branches = 0.618, c.drift = 0.01; /* 3 % lie in their interval */
    assert_int_equal(c90(c), CLAIM_MIXED);
    c = merged;
    c.fused[1] = 1.05; /* slower at 16 rows */
    assert_int_equal(c90(c), CLAIM_MIXED);
    c = merged;
    c.fused[1] = 0.74; /* as good as the branches at 16 rows, better at one */
    c.grouped = c.own = 0.73;
    assert_int_equal(c90(c), CLAIM_MIXED);
    c = merged;
    c.fused[0] = 0.96, c.split = 1.05; /* faster at one row, but not by enough */
    assert_int_equal(c90(c), CLAIM_MIXED);
    c.fused[0] = c.fused[1] = 0.99;
    assert_int_equal(c90(c), CLAIM_REFUTED);
}

static void three_in_one_launch(void **unused)
{
    struct c90 c = merged;
    struct finding f;
    (void)unused;
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_REFUTED); /* grouped takes 0.70 */
    c.grouped = 0.61;
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_REPRODUCED);
    c.fused[1] = 0.50; /* at 16 rows it does not come near */
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_MIXED);
    c = merged;
    c.grouped = 0.618, c.drift = 0.01; /* 3 % lie in its interval: neither near nor far */
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_MIXED);
    c = merged;
    c.grouped = 0.61, c.split = 0.61;
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_NOT_TESTABLE);
    c = merged;
    c.fused[1] = 0.99; /* three launches come near, too */
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_NOT_TESTABLE);
    c = (struct c90){{1, 1}, 1, 1, 1, 1, 0.002};
    assert_int_equal(c90_of("C90b", c, 3, &f), CLAIM_NOT_TESTABLE);
}

static void controls_of_one(void **unused)
{
    struct c90 c = merged;
    struct finding f;
    (void)unused;
    c.split = 0.61; /* a copy after the product is not noticed */
    assert_int_equal(c90(c), CLAIM_NOT_TESTABLE);
    c = merged;
    c.own = 0.60; /* the same blocks gain where there is nothing to gain */
    assert_int_equal(c90(c), CLAIM_NOT_TESTABLE);
    c = (struct c90){{1, 1}, 1, 1, 1, 1, 0.002}; /* a stuck timer */
    assert_int_equal(c90(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c90_with(merged, 1, &f), CLAIM_NOT_TESTABLE); /* the shape is missing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finished_inside),      cmocka_unit_test(finished_while_the_clock_drifts),
        cmocka_unit_test(controls_of_finished), cmocka_unit_test(three_made_one),
        cmocka_unit_test(controls_of_one),      cmocka_unit_test(three_in_one_launch),
    };
    return cmocka_run_group_tests_name("claims on finished products", tests, NULL, NULL);
}
