/* Claims about the article's own product: judged on its own board, elsewhere recorded; and C23. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

static char l40s[] = "nvidia-l40s", h200[] = "nvidia-h200";
#define PRODUCT "{m=1024,n=1024,k=1024,type=fp16,acc=fp32,layout=nn,"

static void put_count(struct bundle *b, const char *metric, const char *tile, int count)
{
    char id[160];
    snprintf(id, sizeof id, "peers.%s" PRODUCT "impl=triton,tile=%s,l2=warm}", metric, tile);
    put_spread(&b->rows, id, "count", ROW_EXACT, count, 0, 7);
}

static enum claim_verdict c20(char *board, int tuned, int known, int forced)
{
    struct bundle b = {.board = board};
    put_count(&b, "blocks", "tuned", tuned);
    put_count(&b, "idle_sms", "tuned", 14);
    put_count(&b, "blocks", "128x64x32", known);
    put_count(&b, "blocks", "forced", forced);
    return verdict("C20", &b);
}

static void blocks(void **unused)
{
    (void)unused;
    assert_int_equal(c20(l40s, 128, 128, 256), CLAIM_REPRODUCED);
    assert_int_equal(c20(l40s, 64, 128, 256), CLAIM_REFUTED);
    assert_int_equal(c20(h200, 128, 128, 256), CLAIM_NOT_TESTABLE);
    assert_int_equal(c20(NULL, 128, 128, 256), CLAIM_NOT_TESTABLE);
    assert_int_equal(c20(l40s, 128, 130, 256), CLAIM_NOT_TESTABLE);
    assert_int_equal(c20(l40s, 128, 128, 128), CLAIM_NOT_TESTABLE);
}

/* Five clocks in us, in the order of the claim. */
static enum claim_verdict c21(char *board, const double us[5], double warm, double large)
{
    static const char *const clocks[] = {"do_bench", "event_hot", "event_cold", "graph_warm",
                                         "graph_cold"};
    struct bundle b = {.board = board};
    char id[192];
    for (size_t i = 0; i < 5; i++) {
        snprintf(id, sizeof id,
                 "peers.clock" PRODUCT "impl=triton,tile=tuned,clock=%s,timer=event}", clocks[i]);
        put_spread(&b.rows, id, "ns", ROW_LOWER, 1e3 * us[i], 5, 7);
    }
    put_spread(&b.rows, "peers.time" PRODUCT "impl=triton,tile=tuned,l2=warm,timer=event}", "ns",
               ROW_LOWER, 1e3 * warm, 5, 7);
    put_spread(&b.rows,
               "peers.time{m=4096,n=4096,k=4096,type=fp16,acc=fp32,layout=nn,impl=triton,tile=best,"
               "l2=warm,timer=event}", "ns", ROW_LOWER, 1e3 * large, 5, 7);
    return verdict("C21", &b);
}

static void clocks(void **unused)
{
    const double one[] = {13, 16, 17, 9, 11}, none[] = {19, 16, 17, 9, 11};
    const double edge[] = {14.5, 16, 17, 9, 11};
    (void)unused;
    assert_int_equal(c21(l40s, one, 9, 500), CLAIM_REPRODUCED);
    assert_int_equal(c21(l40s, none, 9, 500), CLAIM_REFUTED);
    assert_int_equal(c21(l40s, edge, 9, 500), CLAIM_MIXED);
    assert_int_equal(c21(h200, one, 9, 500), CLAIM_NOT_TESTABLE);
    assert_int_equal(c21(l40s, one, 12, 500), CLAIM_NOT_TESTABLE);
    assert_int_equal(c21(l40s, one, 9, 13), CLAIM_NOT_TESTABLE);
}

static void put_time(struct bundle *b, const char *id, double us)
{
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1e3 * us, 5, 7);
}

static enum claim_verdict c23(double triton, double cublas, double torch, double larger)
{
    struct bundle b = {.board = h200};
    put_time(&b, "peers.time" PRODUCT "impl=triton,tile=tuned,l2=warm,timer=event}", triton);
    if (torch > 0)
        put_time(&b, "peers.time" PRODUCT "impl=torch,tile=auto,l2=warm,timer=event}", torch);
    put_time(&b, "gemm_sizes.time" PRODUCT "impl=cublas,tile=auto,l2=warm,timer=event}", cublas);
    put_time(&b, "gemm_sizes.time" PRODUCT "impl=own,tile=best,l2=warm,timer=event}", 4.8);
    put_time(&b,
             "gemm_sizes.time{m=1536,n=1536,k=1536,type=fp16,acc=fp32,layout=nn,impl=cublas,"
             "tile=auto,l2=warm,timer=event}", larger);
    return verdict("C23", &b);
}

static void on_par(void **unused)
{
    (void)unused;
    assert_int_equal(c23(5.5, 5.2, 5.2, 11.5), CLAIM_REPRODUCED);
    assert_int_equal(c23(6.5, 5.2, 5.2, 11.5), CLAIM_REFUTED);
    assert_int_equal(c23(4.5, 5.2, 5.2, 11.5), CLAIM_REFUTED);
    assert_int_equal(c23(5.72, 5.2, 5.2, 11.5), CLAIM_MIXED);
    assert_int_equal(c23(5.5, 5.2, 6.5, 11.5), CLAIM_NOT_TESTABLE);
    assert_int_equal(c23(5.5, 5.2, 5.2, 5.4), CLAIM_NOT_TESTABLE);
    assert_int_equal(c23(5.5, 5.2, 0, 11.5), CLAIM_NOT_TESTABLE); /* PyTorch is not there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(clocks),
        cmocka_unit_test(on_par),
    };
    return cmocka_run_group_tests_name("claims on the article's product", tests, NULL, NULL);
}
