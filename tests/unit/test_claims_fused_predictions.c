/* The model of fusions and the claim that rests on it. */
#include "tests/unit/test_claims_help.h"

#include <math.h>
#include <stdio.h>

#include "report/derive.h"
#include "report/derive_fusion.h"

static void by_hand(void **unused)
{
    const struct fusion_chip chip = {.edge_ns = 1000, .rate = 4, .warm_rate = NAN};
    const struct fusion_chip warm = {.edge_ns = 1000, .rate = 4, .warm_rate = 8};
    (void)unused;
    /* 3 edges and 12000 / 4 against 1 and 4000 / 4 */
    assert_close(derive_fusion_gain(&chip, 3, 12000, 1, 4000), 6000.0 / 2000, 1e-9);
    /* the 8000 bytes between them come out of the L2 */
    assert_close(derive_fusion_gain(&warm, 3, 12000, 1, 4000), 5000.0 / 2000, 1e-9);
}

static void put(struct rows *rows, const char *metric, const char *impl, double value)
{
    char id[200];
    snprintf(id, sizeof id, "norm.%s{rows=8,type=fp16,impl=%s,mode=graph,l2=cold%s}", metric, impl,
             strcmp(metric, "time") ? "" : ",timer=event");
    put_spread(rows, id, "ns", ROW_LOWER, value, 0, 7);
}

static void from_rows(void **unused)
{
    struct rows rows = {0};
    (void)unused;
    put_spread(&rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", "ns",
               ROW_LOWER, 1000, 0, 7);
    put(&rows, "time", "copy", 3000); /* 8000 bytes in 2000 ns beyond an edge */
    put(&rows, "bytes", "copy", 8000);
    put(&rows, "time", "fused", 2500);
    put(&rows, "bytes", "fused", 4000);
    put(&rows, "kernels", "fused", 1);
    put(&rows, "time", "unfused", 5000);
    put(&rows, "bytes", "unfused", 12000);
    derive(&rows, NULL);
    assert_null(rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}"));
    put(&rows, "kernels", "unfused", 3);
    derive(&rows, NULL);
    const struct row *gain =
        rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *predicted =
        rows_find(&rows, "derived.predicted_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *error =
        rows_find(&rows, "derived.gain_error{probe=norm,rows=8,type=fp16,l2=cold}");
    assert_non_null(gain);
    assert_non_null(predicted);
    assert_non_null(error);
    assert_close(gain->centre, 2, 1e-9);
    assert_close(predicted->centre, (3000 + 3000.0) / (1000 + 1000.0), 1e-9);
    assert_close(error->centre, 0.5, 1e-9);
    rows_free(&rows);
}

/* A kernel that reads twice stands for the chain where there is none. */
static void reading_twice(void **unused)
{
    struct rows rows = {0};
    (void)unused;
    put_spread(&rows, "edges.step{mode=graph,blocks=sm,body=0,span=64-512,timer=event}", "ns",
               ROW_LOWER, 1000, 0, 7);
    put(&rows, "time", "copy", 3000);
    put(&rows, "bytes", "copy", 8000);
    put(&rows, "time", "fused", 5000);
    put(&rows, "bytes", "fused", 8000);
    put(&rows, "kernels", "fused", 1);
    put(&rows, "time", "twice", 2500);
    put(&rows, "bytes", "twice", 12000);
    put(&rows, "kernels", "twice", 1);
    derive(&rows, NULL);
    const struct row *gain =
        rows_find(&rows, "derived.fusion_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    const struct row *predicted =
        rows_find(&rows, "derived.predicted_gain{probe=norm,rows=8,type=fp16,l2=cold}");
    assert_non_null(gain);
    assert_non_null(predicted);
    assert_close(gain->centre, 0.5, 1e-9);
    assert_close(predicted->centre, 4000.0 / 3000.0, 1e-9);
    rows_free(&rows);
}

/* Ten fusions whose gains are 2 and predicted so, but for `wrong` of them; one row by one block that takes
 * `blocked` times as long as by many; gain of the known one. */
static enum claim_verdict c80(int wrong, int losers, double off, double blocked, double known,
                              struct finding *f)
{
    struct bundle b = {0};
    char id[200];

    for (int i = 0; i < 10; i++) { /* the last lose, and are called losses */
        const bool loses = i >= 10 - losers;
        snprintf(id, sizeof id, "derived.fusion_gain{probe=norm,rows=%d,type=fp16,l2=cold}", i);
        put_spread(&b.rows, id, "ratio", ROW_HIGHER, (i < wrong) != loses ? 0.5 : 2, 0, 7);
        snprintf(id, sizeof id, "derived.predicted_gain{probe=norm,rows=%d,type=fp16,l2=cold}", i);
        put_spread(&b.rows, id, "ratio", ROW_HIGHER, (loses ? 0.5 : 2) * (1 + off), 0, 7);
    }
#define KNOWN "{probe=bias_gelu_scale,rows=16384,cols=8192,type=fp16,l2=cold}"
    put_spread(&b.rows, "derived.fusion_gain" KNOWN, "ratio", ROW_HIGHER, known, 0, 7);
    put_spread(&b.rows, "derived.predicted_gain" KNOWN, "ratio", ROW_HIGHER, 3, 0, 7);
#define ROW(metric, impl, timer)                                                                   \
    "softmax." metric "{rows=1,cols=131072,type=fp16,impl=" impl ",mode=graph,l2=warm" timer "}"
    put_spread(&b.rows, ROW("time", "resident", ",timer=event"), "ns", ROW_LOWER, 1000 * blocked, 0,
               7);
    put_spread(&b.rows, ROW("time", "two", ",timer=event"), "ns", ROW_LOWER, 1000, 0, 7);
    put_spread(&b.rows, ROW("bytes", "resident", ""), "bytes", ROW_EXACT, 200, 0, 7);
    put_spread(&b.rows, ROW("bytes", "two", ""), "bytes", ROW_EXACT, 300, 0, 7);
    return verdict_of("C80", &b, f);
}

static void verdicts(void **unused)
{
    struct finding f;
    struct bundle none = {0};
    (void)unused;
    assert_int_equal(c80(0, 2, 0.05, 1.5, 3, &f), CLAIM_REPRODUCED);
    assert_int_equal(c80(3, 2, 0.05, 1.5, 3, &f), CLAIM_MIXED);        /* signs */
    assert_int_equal(c80(0, 2, 0.30, 1.5, 3, &f), CLAIM_MIXED);        /* sizes */
    assert_int_equal(c80(0, 2, 0.05, 1.0, 3, &f), CLAIM_MIXED);        /* a blocked one that ties */
    assert_int_equal(c80(0, 2, 0.05, 0.8, 3, &f), CLAIM_REFUTED);      /* and one that wins */
    assert_int_equal(c80(0, 2, 0.05, 1.5, 2, &f), CLAIM_NOT_TESTABLE); /* the known one is not seen */
    assert_int_equal(c80(0, 0, 0.05, 1.5, 3, &f), CLAIM_NOT_TESTABLE); /* none loses: signs say nothing */
    assert_int_equal(verdict_of("C80", &none, &f), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(from_rows),
        cmocka_unit_test(reading_twice),
        cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
