/* The claim about batch 1: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

/* Products vary by 1 % from run to run, reads do not. */
static void put(struct bundle *b, const char *id, double rate)
{
    double spread = strstr(id, ".rate") ? 0.01 * rate : 0;
    put_spread(&b->rows, id, "bytes/s", ROW_HIGHER, rate, spread, 7);
}

static const int shapes[][2] = {{2048, 8192}, {16384, 2048}, {4096, 4096},
                                {6144, 4096}, {14336, 4096}, {4096, 14336},
                                {8192, 8192}, {8192, 28672}, {2048, 2048}};

/* Shares of 4.7 TB/s: of every product, of that of 4096 x 4096; of a read of their bytes, of the
 * longest read, of the starved product. */
struct c14 {
    double each, smallest, read, read_smallest, longest, starved;
};
static const struct c14 h200 = {0.92, 0.79, 0.95, 0.83, 0.98, 0.02};

static enum claim_verdict c14_with(struct c14 c, size_t n_shapes, struct finding *f)
{
    const double sustained = 4.7e12;
    struct bundle b = {0};
    char id[160];

    put(&b, "gemv.read{bytes=1073741824,path=ld,l2=cold}", sustained);
    put(&b, "gemv.rate{m=4096,k=4096,type=bf16,acc=fp32,impl=one_warp,l2=cold}",
        c.starved * sustained);
    for (size_t i = 0; i < n_shapes; i++) {
        int m = shapes[i][0], k = shapes[i][1];
        bool smallest = m * k == 4096 * 4096, longest = m * k == 8192 * 28672;
        double share = m == 4096 && smallest ? c.smallest : c.each;
        double read = longest ? c.longest : smallest ? c.read_smallest : c.read;
        snprintf(id, sizeof id, "gemv.read{bytes=%d,path=ld,l2=cold}", 2 * m * k);
        put(&b, id, read * sustained);
        snprintf(id, sizeof id, "gemv.rate{m=%d,k=%d,type=bf16,acc=fp32,impl=cublas_gemm,l2=cold}",
                 m, k);
        put(&b, id, 0.9 * share * sustained);
        snprintf(id, sizeof id, "gemv.rate{m=%d,k=%d,type=bf16,acc=fp32,impl=own,l2=cold}", m, k);
        put(&b, id, share * sustained);
    }
    return verdict_of("C14", &b, f);
}

static enum claim_verdict c14(struct c14 c)
{
    struct finding f;
    return c14_with(c, 9, &f);
}

static void too_little_work(void **unused)
{
    struct c14 c = h200;
    (void)unused;
    assert_int_equal(c14(c), CLAIM_REFUTED); /* 32 MiB are short, but that is no collapse */
    c.smallest = 0.70;                       /* its interval contains 0.70 */
    assert_int_equal(c14(c), CLAIM_MIXED);
    c.smallest = 0.60; /* one collapses, the others do not */
    assert_int_equal(c14(c), CLAIM_MIXED);
    c.read_smallest = 0.62; /* and that a read does so too is no excuse */
    assert_int_equal(c14(c), CLAIM_MIXED);
    c.each = 0.65;
    assert_int_equal(c14(c), CLAIM_REPRODUCED);
    c.each = 0.70;
    assert_int_equal(c14(c), CLAIM_MIXED);
}

static void its_controls(void **unused)
{
    struct c14 c = h200;
    struct finding f;
    (void)unused;
    c.longest = 0.80; /* launched this way not even a long read gets there */
    assert_int_equal(c14(c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.starved = 0.75; /* one warp an SM is as good: the rule does not see warps */
    assert_int_equal(c14(c), CLAIM_NOT_TESTABLE);
    c.each = c.smallest = 0.6; /* nor would the other verdict be valid */
    assert_int_equal(c14(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c14_with(h200, 8, &f), CLAIM_NOT_TESTABLE); /* a shape is missing */
}

/* The evidence must tell a reader why: the shapes, and the share of a read of the same bytes. */
static void its_evidence(void **unused)
{
    struct finding f;
    (void)unused;
    c14_with(h200, 9, &f);
    assert_non_null(strstr(f.evidence, "8B down (4096 x 14336) 0.97"));
    assert_non_null(strstr(f.evidence, "8B o (4096 x 4096) 0.9"));
    assert_non_null(strstr(f.evidence, " (cuBLAS 0."));
    assert_non_null(strstr(f.evidence, "1B o (2048 x 2048) 0.97"));
    assert_true(strlen(f.evidence) + 1 < sizeof f.evidence);
}

/* TB/s: 2048 x 2048 by eight, two and one warps a block; a starved product and ours; 70B down and
 * the sustained rate. */
struct c14b {
    double eight, two, one, starved, fed, longest, sustained;
};
static const struct c14b enough = {2.27, 2.26, 1.8, 0.16, 3.6, 4.48, 4.6};

static enum claim_verdict c14b(struct c14b c)
{
#define OF(m, k, impl) "gemv.rate{m=" m ",k=" k ",type=bf16,acc=fp32,impl=" impl ",l2=cold}"
    struct bundle b = {0};
    put(&b, OF("2048", "2048", "own_8_warps"), c.eight * 1e12);
    put_spread(&b.rows, OF("2048", "2048", "own"), "bytes/s", ROW_HIGHER, c.two * 1e12, 0, 7);
    put(&b, OF("2048", "2048", "own_1_warp"), c.one * 1e12);
    put(&b, OF("4096", "4096", "one_warp"), c.starved * 1e12);
    put(&b, OF("4096", "4096", "own"), c.fed * 1e12);
    put(&b, OF("8192", "28672", "own"), c.longest * 1e12);
    put(&b, "gemv.read{bytes=1073741824,path=ld,l2=cold}", c.sustained * 1e12);
    return verdict("C14b", &b);
}

static void more_warps(void **unused)
{
    struct c14b c = enough;
    (void)unused;
    assert_int_equal(c14b(c), CLAIM_REFUTED);
    c.eight = 2.8;
    assert_int_equal(c14b(c), CLAIM_REPRODUCED);
    c.eight = 2.4; /* 6 % */
    assert_int_equal(c14b(c), CLAIM_MIXED);
    c.eight = 2.26 * 1.03; /* straddles 3 % */
    assert_int_equal(c14b(c), CLAIM_MIXED);
    c = enough;
    c.starved = 3; /* a product starved of warps is not slow: warps are not seen */
    assert_int_equal(c14b(c), CLAIM_NOT_TESTABLE);
    c = enough;
    c.longest = 3; /* even the longest has room: anything may pass for a want of warps */
    assert_int_equal(c14b(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c14b((struct c14b){1, 1, 1, 1, 1, 1, 1}), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_work),
        cmocka_unit_test(its_controls),
        cmocka_unit_test(its_evidence),
        cmocka_unit_test(more_warps),
    };
    return cmocka_run_group_tests_name("claims on products with a vector", tests, NULL, NULL);
}
