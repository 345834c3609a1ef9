/* The claims about attention in blocks: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#define SHAPE(context, mask, type)                                                                 \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=" mask ",type=" type ",impl="
#define TIME(context, mask, type, impl)                                                            \
    "attention_prefill.time" SHAPE(context, mask, type) impl ",mode=graph,l2=cold,timer=event}"
#define RATE(mask)                                                                                 \
    "attention_prefill.rate" SHAPE(8192, mask, "bf16") "fused,mode=graph,l2=cold}"
#define NORM                                                                                       \
    "norm.time{op=rmsnorm_bias_silu,rows=16384,cols=8192,type=fp16,impl=fused,mode=graph,l2=cold," \
    "timer=event}"

/* --- C94 -------------------------------------------------------------------------------------- */

/* Bytes written over those of the result: by the fused kernel at 4096 tokens and at 8192, by three
 * kernels, by one product of them; and what that product reads, over the scores. */
struct written {
    double fused, fused_8192, chain, product, read;
};
static const struct written blocks = {1, 1, 65, 1, 1.04};

static enum claim_verdict of_written(struct written w)
{
    const double result = 32.0 * 4096 * 128 * 2, scores = 32.0 * 4096 * 4096 * 2;
    struct bundle b = {0};
    put_counted(&b, "dram_written", TIME(4096, "causal", "fp16", "fused"), w.fused * result);
    put_counted(&b, "dram_written", TIME(4096, "none", "fp16", "fused"), result);
    put_counted(&b, "dram_written", TIME(8192, "causal", "bf16", "fused"), 2 * result);
    put_counted(&b, "dram_written", TIME(8192, "none", "bf16", "fused"), w.fused_8192 * 2 * result);
    put_counted(&b, "dram_written", TIME(4096, "causal", "fp16", "unfused"), w.chain * result);
    put_counted(&b, "dram_written", TIME(4096, "causal", "fp16", "values"), w.product * result);
    if (w.read > 0)
        put_counted(&b, "dram_read", TIME(4096, "causal", "fp16", "values"), w.read * scores);
    return verdict("C94", &b);
}

static void scores_stay(void **unused)
{
    struct written w = blocks;
    (void)unused;
    assert_int_equal(of_written(w), CLAIM_REPRODUCED);
    w.fused = 33; /* scores of one prompt are written */
    assert_int_equal(of_written(w), CLAIM_REFUTED);
    w = blocks;
    w.fused_8192 = 2.5;
    assert_int_equal(of_written(w), CLAIM_REFUTED);
    w.fused_8192 = 1.15;
    assert_int_equal(of_written(w), CLAIM_MIXED);
    w.fused_8192 = 1.05;
    assert_int_equal(of_written(w), CLAIM_REPRODUCED);
    w = blocks;
    w.chain = 1; /* counters see no scores */
    assert_int_equal(of_written(w), CLAIM_NOT_TESTABLE);
    w = blocks;
    w.read = 0.5;
    assert_int_equal(of_written(w), CLAIM_NOT_TESTABLE);
    w.read = 0; /* not counted */
    assert_int_equal(of_written(w), CLAIM_NOT_TESTABLE);
    w = blocks;
    w.product = 1.5; /* more than a result is written where only a result is */
    assert_int_equal(of_written(w), CLAIM_NOT_TESTABLE);
}

/* --- C95 -------------------------------------------------------------------------------------- */

/* Shares of the cycles: causal and unmasked by counters, the same by flop/s, and a norm's. */
struct busy {
    double causal, none, by_rate, by_rate_none, norm;
};
static const struct busy h200 = {0.78, 0.82, 0.77, 0.83, 0};

static void put_rate(struct bundle *b, const char *id, double share)
{
    /* 100 SMs of 2048 multiply-adds a cycle at 1500 MHz; in one run at 1200, which does as much
     * less */
    struct row *row = put_spread(&b->rows, id, "flop/s", ROW_HIGHER,
                                 share * 2 * 2048 * 100 * 1500e6, 0, 7);
    for (int round = 0; round < 7; round++) {
        const double mhz = round == 3 ? 1200 : 1500;
        row->value[round] *= mhz / 1500;
        row_put_clock(row, round, mhz);
    }
}

static enum claim_verdict of_busy(struct busy s)
{
    struct bundle b = {.head = json_pack("{s:{s:{s:i}}}", "environment", "gpu", "n_sm", 100)};
    put_rate(&b, RATE("causal"), s.by_rate);
    put_rate(&b, RATE("none"), s.by_rate_none);
    put_spread(&b.rows,
               "instructions.throughput{op=wgmma,shape=m64n256k16,type=fp16,acc=fp32,a=shared}",
               "ops/cycle", ROW_HIGHER, 2048, 0, 7);
    rows_finish(&b.rows);
    put_counted(&b, "tensor_busy", TIME(8192, "causal", "bf16", "fused"), s.causal);
    put_counted(&b, "tensor_busy", TIME(8192, "none", "bf16", "fused"), s.none);
    put_counted(&b, "tensor_busy", NORM, s.norm);
    const enum claim_verdict found = verdict("C95", &b);
    json_decref(b.head);
    return found;
}

static void tensor_cores(void **unused)
{
    struct busy s = h200;
    (void)unused;
    assert_int_equal(of_busy(s), CLAIM_REPRODUCED);
    assert_int_equal(of_busy((struct busy){0.4, 0.45, 0.41, 0.44, 0}), CLAIM_REFUTED);
    assert_int_equal(of_busy((struct busy){0.4, 0.6, 0.41, 0.6, 0}), CLAIM_MIXED);
    s.by_rate = 0.6; /* counters see more than the flops need */
    assert_int_equal(of_busy(s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.none = 0.4;
    assert_int_equal(of_busy(s), CLAIM_NOT_TESTABLE);
    s = h200;
    s.norm = 0.2; /* a norm keeps tensor cores busy */
    assert_int_equal(of_busy(s), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_stay),
        cmocka_unit_test(tensor_cores),
    };
    return cmocka_run_group_tests_name("claims on attention in blocks", tests, NULL, NULL);
}
