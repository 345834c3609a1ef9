/* The claim about fused chains: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

static char board[] = "nvidia-h200";

/* us a product; share of wrong outputs without waiting. At 989.4 Tflop/s half of the peak is
 * 4.34 us at 1024^3 and 278 us at 4096^3. */
struct c27 {
    double alone, graph, rows, grid, unwaited, wrong, large;
};
static const struct c27 slow = {4.81, 4.90, 4.50, 4.60, 3.40, 0.8, 205};

static void put_time(struct bundle *b, const char *metric, const char *mode, double us)
{
    char id[200];
    snprintf(id, sizeof id, "gemm_chain.%s,type=fp16,acc=fp32,impl=wgmma,tile=128x64,mode=%s}",
             metric, mode);
    put_spread(&b->rows, id, "ns", ROW_LOWER, us * 1000, us * 2, 7);
}

static enum claim_verdict c27_of(struct c27 c, char *where, struct finding *f)
{
    static const char chain[] = "time{products=8,m=1024,n=1024";
    struct bundle b = {.board = where};

    put_time(&b, "alone{m=1024,n=1024,k=1024", "graph,timer=event", c.alone);
    put_time(&b, chain, "graph,timer=event", c.graph);
    put_time(&b, chain, "graph_pdl,timer=event", 0.9 * c.graph);
    put_time(&b, chain, "stream,timer=event", 1.2 * c.graph);
    put_time(&b, chain, "persistent_rows,timer=event", c.rows);
    put_time(&b, chain, "persistent_grid,timer=event", c.grid);
    put_time(&b, chain, "unwaited,timer=event", c.unwaited);
    put_spread(&b.rows,
               "gemm_chain.wrong{products=8,m=1024,n=1024,type=fp16,acc=fp32,impl=wgmma,"
               "tile=128x64,mode=unwaited}",
               "ratio", ROW_HIGHER, c.wrong, 0, 7);
    put_spread(&b.rows,
               "small_gemm.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,impl=cublas,"
               "tile=auto,split=auto,l2=warm,timer=event}",
               "ns", ROW_LOWER, c.large * 1000, c.large, 7);
    return verdict_of("C27", &b, f);
}

static enum claim_verdict c27(struct c27 c)
{
    struct finding f;
    return c27_of(c, board, &f);
}

static void verdicts(void **unused)
{
    struct c27 c = slow;
    (void)unused;
    assert_int_equal(c27(c), CLAIM_REPRODUCED);
    c.rows = 4.34; /* 0.902 of alone, and half of the peak lies in the interval */
    assert_int_equal(c27(c), CLAIM_MIXED);
    c.rows = 4.20; /* past half of the peak */
    assert_int_equal(c27(c), CLAIM_REFUTED);
    c.rows = 4.60, c.grid = 4.20; /* whichever wait it is by */
    assert_int_equal(c27(c), CLAIM_REFUTED);
    c = (struct c27){6.00, 6.00, 5.00, 5.10, 4.00, 0.8, 205}; /* 0.83 of alone */
    assert_int_equal(c27(c), CLAIM_MIXED);
    c.rows = 4.40; /* 0.73 of alone, below half of the peak */
    assert_int_equal(c27(c), CLAIM_REFUTED);
    c.rows = 5.40; /* its interval contains 0.90 */
    assert_int_equal(c27(c), CLAIM_MIXED);
}

static void its_controls(void **unused)
{
    struct c27 c = slow;
    (void)unused;
    c.graph = 5.40; /* a chain costs more than its products however it is launched */
    assert_int_equal(c27(c), CLAIM_NOT_TESTABLE);
    c.graph = 4.20;
    assert_int_equal(c27(c), CLAIM_NOT_TESTABLE);
    c = slow;
    c.unwaited = 5.20; /* slower than with the waits: said, not judged */
    assert_int_equal(c27(c), CLAIM_REPRODUCED);
    c = slow;
    c.wrong = 0; /* the verification is blind, or the wait is not what makes it right */
    assert_int_equal(c27(c), CLAIM_NOT_TESTABLE);
    c = slow;
    c.large = 300; /* no product passes half of the peak here */
    assert_int_equal(c27(c), CLAIM_NOT_TESTABLE);
    c.rows = 4.20;
    assert_int_equal(c27(c), CLAIM_NOT_TESTABLE);
}

static void its_evidence(void **unused)
{
    static char other[] = "nvidia-unheard-of";
    struct finding f;
    (void)unused;
    assert_int_equal(c27_of(slow, other, &f), CLAIM_NOT_TESTABLE);
    assert_int_equal(c27_of(slow, board, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "mode=persistent_rows"));
    assert_non_null(strstr(f.evidence, "programmatic dependents"));
    assert_true(strlen(f.evidence) + 1 < sizeof f.evidence);
    assert_true(strlen(f.controls) + 1 < sizeof f.controls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(its_controls),
        cmocka_unit_test(its_evidence),
    };
    return cmocka_run_group_tests_name("claims on chains of products", tests, NULL, NULL);
}
