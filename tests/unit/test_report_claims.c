/* The ledger's rules: each verdict, and no verdict without its controls. */
#include "tests/unit/test_report_help.h"
#include "tests/unit/test_reached.h"

#include "core/board.h"
#include "report/claims/claims.h"

#define GEMM(size)                                                                                 \
    "small_gemm.time{m=" #size ",n=" #size ",k=" #size ",type=fp16,acc=fp32,layout=nn,"
#define CUBLAS "impl=cublas,tile=auto,split=auto,l2=warm,timer=event}"

static void cycles(struct bundle *b, const char *id, double centre, double spread)
{
    put_spread(&b->rows, id, "cycles", ROW_LOWER, centre, spread, 7);
}

static void ns(struct bundle *b, const char *id, double centre)
{
    put_spread(&b->rows, id, "ns", ROW_LOWER, centre, centre / 1000, 7);
}

static enum claim_verdict verdict(const char *id, const struct bundle *bundle,
                                  struct finding *finding)
{
    for (size_t i = 0; claim_at(i); i++)
        if (!strcmp(claim_at(i)->id, id)) {
            claim_judge(claim_at(i), bundle, finding);
            assert_int_equal(finding->n_refused, 0);
            note_reached(id, finding);
            return finding->verdict;
        }
    fail_msg("no claim %s", id);
    return CLAIM_NOT_TESTABLE;
}

/* C10 with these figures, each with its spread between runs. */
static enum claim_verdict c10_with(double l1, double spread, double spin, double shared,
                                   double control, size_t n)
{
    struct bundle b = {0};
    struct finding f;
    put_spread(&b.rows, "memory_latency.load{level=l1}", "cycles", ROW_LOWER, l1, spread, n);
    cycles(&b, "spin.waited{asked=20000}", spin, 5);
    cycles(&b, "memory_latency.load{level=shared}", shared, 0.1);
    cycles(&b, "memory_latency.control{path=l2}", control, 1);
    enum claim_verdict v = verdict("C10", &b, &f);
    assert_true(f.evidence[0] && f.controls[0]);
    rows_free(&b.rows);
    return v;
}

static enum claim_verdict c10(double l1, double spread, double spin, double control, size_t n)
{
    return c10_with(l1, spread, spin, 23, control, n);
}

static void latency_of_l1(void **unused)
{
    (void)unused;
    assert_int_equal(c10(32.5, 0.2, 20010, 270, 7), CLAIM_REPRODUCED);
    assert_int_equal(c10(28.0, 0.2, 20010, 270, 7), CLAIM_REFUTED);
    assert_int_equal(c10(40.0, 0.2, 20010, 270, 7), CLAIM_REFUTED);
    assert_int_equal(c10(31.0, 0.2, 20010, 270, 7), CLAIM_MIXED);        /* straddles 31 */
    assert_int_equal(c10(32.5, 0.2, 20300, 270, 7), CLAIM_NOT_TESTABLE); /* the clock lies */
    assert_int_equal(c10_with(32.5, 0.2, 20010, 46, 270, 7), CLAIM_NOT_TESTABLE); /* the chase */
    assert_int_equal(c10_with(32.5, 0.2, 20010, 4, 270, 7), CLAIM_NOT_TESTABLE);
    assert_int_equal(c10(32.5, 0.2, 20010, 33, 7), CLAIM_NOT_TESTABLE); /* control reads so, too */
    assert_int_equal(c10(32.5, 0.2, 20010, 100, 7), CLAIM_NOT_TESTABLE);
    assert_int_equal(c10(32.5, 0.2, 20010, 270, 5), CLAIM_NOT_TESTABLE); /* too few runs */
    assert_int_equal(c10(32.5, 0.2, 20010, 270, 1), CLAIM_NOT_TESTABLE);
}

/* constant and again: 0 is not in the bundle, and as L1 reads. */
static enum claim_verdict c11_with(double shared, double constant, double l1, double again,
                                   double l2)
{
    struct bundle b = {0};
    struct finding f;
    cycles(&b, "memory_latency.load{level=shared}", shared, 0.1);
    cycles(&b, "memory_latency.load{level=l1}", l1, 0.1);
    cycles(&b, "memory_latency.load{level=l2}", l2, 0.1);
    cycles(&b, "memory_latency.curve{bytes=16384}", again > 0 ? again : l1, 0.1);
    if (constant > 0)
        cycles(&b, "memory_latency.constant{bytes=1024,spacing=64}", constant, 0.1);
    enum claim_verdict v = verdict("C11", &b, &f);
    rows_free(&b.rows);
    return v;
}

static enum claim_verdict c11(double shared, double l1, double l2)
{
    return c11_with(shared, 0, l1, 0, l2);
}

static void fastest_of_the_sm(void **unused)
{
    (void)unused;
    assert_int_equal(c11(23, 32, 270), CLAIM_REFUTED);
    assert_int_equal(c11(40, 32, 270), CLAIM_MIXED); /* who knows of constants? */
    assert_int_equal(c11_with(40, 40, 32, 0, 270), CLAIM_REPRODUCED);
    assert_int_equal(c11_with(40, 28, 32, 0, 270), CLAIM_REFUTED);
    assert_int_equal(c11(31.5, 32, 270), CLAIM_MIXED); /* below, but by less than a cycle */
    assert_int_equal(c11_with(23, 0, 32, 34, 270), CLAIM_NOT_TESTABLE); /* L1 is not L1 */
    assert_int_equal(c11_with(23, 0, 32, 30, 270), CLAIM_NOT_TESTABLE);
    assert_int_equal(c11(23, 32, 32.5), CLAIM_NOT_TESTABLE); /* L2 like L1: the order is not seen */
    assert_int_equal(c11(23, 270, 32), CLAIM_NOT_TESTABLE);
}

static enum claim_verdict c22(const char *slug, double us_1024, double us_512, double us_4096)
{
    char copy[32];
    struct finding f;
    strncpy(copy, slug, sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    struct bundle b = {.board = copy};
    ns(&b, GEMM(512) CUBLAS, us_512 * 1e3);
    ns(&b, GEMM(1024) CUBLAS, us_1024 * 1e3);
    ns(&b, GEMM(1024) "impl=mma,tile=64x64,split=auto,l2=warm,timer=event}", us_1024 * 2e3);
    ns(&b, GEMM(4096) CUBLAS, us_4096 * 1e3);
    enum claim_verdict v = verdict("C22", &b, &f);
    rows_free(&b.rows);
    return v;
}

static void half_of_the_peak(void **unused)
{
    (void)unused;
    /* At 989.4 TFLOP/s half the peak is 4.341 us for 1024^3 and 277.8 us for 4096^3. */
    assert_int_equal(c22("nvidia-h200", 5.2, 3.4, 190), CLAIM_REPRODUCED);
    assert_int_equal(c22("nvidia-h200", 4.0, 3.4, 190), CLAIM_REFUTED);
    assert_int_equal(c22("nvidia-h200", 4.341, 3.4, 190), CLAIM_MIXED);
    assert_int_equal(c22("nvidia-h200", 5.2, 3.4, 300), CLAIM_NOT_TESTABLE); /* 4096^3 too slow */
    assert_int_equal(c22("nvidia-h200", 5.2, 0.4, 190), CLAIM_NOT_TESTABLE); /* 512^3 too fast */
    assert_int_equal(c22("nvidia-h200", 1, 1, 1), CLAIM_NOT_TESTABLE); /* a stuck timer */
    assert_int_equal(c22("nvidia-unheard-of", 5.2, 3.4, 190), CLAIM_NOT_TESTABLE);
}

static void an_empty_bundle(void **unused)
{
    struct bundle b = {0};
    struct finding f;
    (void)unused;
    for (size_t i = 0; claim_at(i); i++) {
        claim_judge(claim_at(i), &b, &f);
        assert_int_equal(f.n_refused, 0);
        assert_int_equal(f.verdict, claim_at(i)->judge ? CLAIM_NOT_TESTABLE : CLAIM_OPEN);
        assert_true(f.evidence[0] != '\0');
    }
}

static void boards(void **unused)
{
    char slug[32];
    (void)unused;
    assert_string_equal(board_slug(slug, sizeof slug, "NVIDIA H200"), "nvidia-h200");
    assert_string_equal(board_slug(slug, sizeof slug, "NVIDIA A100-SXM4-40GB"),
                        "nvidia-a100-sxm4-40gb");
    assert_string_equal(board_slug(slug, sizeof slug, "--(c)  X--"), "c-x");
    assert_string_equal(board_slug(slug, sizeof slug, "\xff"), "unknown");
    assert_string_equal(board_slug(slug, 4, "NVIDIA H200"), "nvi");
    assert_true(board_peak("nvidia-h200")->fp16_fp32_flops == 989.4e12);
    assert_ptr_equal(board_peak("2x-nvidia-h200"), board_peak("nvidia-h200"));
    assert_null(board_peak("2x-"));
    assert_null(board_peak("2-nvidia-h200"));
    assert_null(board_peak("nvidia-h200-mig-1g-18gb"));
    assert_null(board_peak("nvidia-geforce-rtx-4090-laptop-gpu"));
    assert_null(board_peak(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_of_l1),    cmocka_unit_test(fastest_of_the_sm),
        cmocka_unit_test(half_of_the_peak), cmocka_unit_test(an_empty_bundle),
        cmocka_unit_test(boards),
    };
    return cmocka_run_group_tests_name("report claims", tests, NULL, NULL);
}
