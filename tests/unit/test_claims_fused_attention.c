/* The claims about attention over a prompt: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <math.h>

#define SHAPE(context, mask, type)                                                                 \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=" mask ",type=" type ",impl="
#define TIME(context, mask, type, impl)                                                            \
    "attention_prefill.time" SHAPE(context, mask, type) impl ",mode=graph,l2=cold,timer=event}"
#define MEMORY(context, type, impl)                                                                \
    "attention_prefill.memory" SHAPE(context, "causal", type) impl ",mode=graph,l2=cold}"

/* The fused kernel varies by 1 % from run to run, the library does not. */
static void us(struct bundle *b, const char *id, double time)
{
    double spread = strstr(id, "impl=fused") ? time * 10 : 0;
    put_spread(&b->rows, id, "ns", ROW_LOWER, time * 1e3, spread, 7);
}

/* Times in us, with a mask: 4096 tokens fused, unfused, one product; 8192 fused, unfused. Without
 * one the fused kernel takes `unmasked` times as long. */
struct times {
    double fused, chain, product, fused_8192, chain_8192, unmasked;
};
static const struct times h200 = {480, 2200, 600, 1100, 5800, 2};

static enum claim_verdict of_times(const char *id, struct times t)
{
    struct bundle b = {0};
    us(&b, TIME(4096, "causal", "fp16", "fused"), t.fused);
    us(&b, TIME(4096, "causal", "fp16", "unfused"), t.chain);
    us(&b, TIME(4096, "causal", "fp16", "values"), t.product);
    us(&b, TIME(8192, "causal", "bf16", "fused"), t.fused_8192);
    us(&b, TIME(8192, "causal", "bf16", "unfused"), t.chain_8192);
    us(&b, TIME(4096, "none", "fp16", "fused"), t.fused * t.unmasked);
    us(&b, TIME(4096, "none", "fp16", "unfused"), t.chain);
    us(&b, TIME(4096, "none", "fp16", "values"), t.product);
    us(&b, TIME(8192, "none", "bf16", "fused"), t.fused_8192 * t.unmasked);
    us(&b, TIME(8192, "none", "bf16", "unfused"), t.chain_8192);
    return verdict(id, &b);
}

static void how_much_faster(void **unused)
{
    struct times t = h200;
    (void)unused;
    assert_int_equal(of_times("C43", t), CLAIM_REPRODUCED);
    assert_int_equal(of_times("C55", t), CLAIM_REPRODUCED);
    t.unmasked = 4; /* without a mask it is 1.15 times as fast */
    assert_int_equal(of_times("C43", t), CLAIM_MIXED);
    assert_int_equal(of_times("C55", t), CLAIM_MIXED);
    t = h200;
    t.fused = 1600, t.fused_8192 = 3500, t.unmasked = 1.2;
    assert_int_equal(of_times("C43", t), CLAIM_REFUTED);
    assert_int_equal(of_times("C55", t), CLAIM_REFUTED);
    t.fused_8192 = 1100; /* 4096 tokens miss it, 8192 do not */
    assert_int_equal(of_times("C43", t), CLAIM_MIXED);
    t.fused = 1100, t.unmasked = 1; /* the interval contains 2 */
    assert_int_equal(of_times("C43", t), CLAIM_MIXED);
}

static void their_controls(void **unused)
{
    static const char *const claims[] = {"C43", "C55"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct times t = h200;
        t.product = 1600; /* no chain is faster than two of its products */
        assert_int_equal(of_times(claims[i], t), CLAIM_NOT_TESTABLE);
        t = h200;
        t.fused = 100; /* a product alone reads 6 over the fused kernel: flops are missing */
        assert_int_equal(of_times(claims[i], t), CLAIM_NOT_TESTABLE);
        t = (struct times){1000, 1000, 1000, 1000, 1000, 1}; /* a stuck timer */
        assert_int_equal(of_times(claims[i], t), CLAIM_NOT_TESTABLE);
    }
}

/* --- C55a ------------------------------------------------------------------------------------- */

/* MB at 4096 tokens: fused, unfused; how often as much at 8192 fused; the driver over the count. */
static enum claim_verdict of_memory(double fused, double unfused, double grows, double counted)
{
    struct bundle b = {0};
    const double at_8192 = 4 * unfused;
#define BYTES(id, value) put_spread(&b.rows, id, "bytes", ROW_LOWER, value, 0, 7)
    BYTES("attention_prefill.footprint" SHAPE(4096, "causal", "bf16") "fused}", fused);
    BYTES("attention_prefill.footprint" SHAPE(4096, "causal", "bf16") "unfused}", unfused);
    BYTES("attention_prefill.footprint" SHAPE(8192, "causal", "bf16") "fused}", fused * grows);
    BYTES("attention_prefill.footprint" SHAPE(8192, "causal", "bf16") "unfused}", at_8192);
    BYTES(MEMORY(8192, "bf16", "unfused"), at_8192 / counted);
    BYTES(MEMORY(4096, "fp16", "fused"), fused);
    return verdict("C55a", &b);
}

static void how_much_memory(void **unused)
{
    (void)unused;
    assert_int_equal(of_memory(134, 1150, 1.94, 1), CLAIM_REPRODUCED);
    assert_int_equal(of_memory(134, 140, 1.94, 1), CLAIM_REFUTED);
    assert_int_equal(of_memory(134, 200, 1.94, 1), CLAIM_MIXED);
    assert_int_equal(of_memory(134, 1150, 1.94, 1.2),
                     CLAIM_NOT_TESTABLE); /* not what was counted */
    assert_int_equal(of_memory(134, 1150, 1.0, 1),
                     CLAIM_NOT_TESTABLE); /* the driver sees nothing */
}

/* --- C55c ------------------------------------------------------------------------------------- */

/* MB written by counters: fused, unfused, unfused at 8192 tokens; 0: not counted. */
static enum claim_verdict of_scores(double fused, double unfused, double longer)
{
    struct bundle b = {0};
    us(&b, TIME(4096, "causal", "fp16", "unfused"), 2200);
    us(&b, TIME(4096, "causal", "fp16", "values"), 600);
    BYTES(MEMORY(4096, "fp16", "fused"), 134e6);
    BYTES(MEMORY(4096, "fp16", "unfused"), 1241e6);
    if (unfused > 0) {
        put_counted(&b, "dram_written", TIME(4096, "causal", "fp16", "fused"), fused * 1e6);
        put_counted(&b, "dram_written", TIME(4096, "causal", "fp16", "unfused"), unfused * 1e6);
        put_counted(&b, "dram_written", TIME(8192, "causal", "bf16", "unfused"), longer * 1e6);
    }
    return verdict("C55c", &b);
}

static void scores_written(void **unused)
{
    (void)unused;
    assert_int_equal(of_scores(34, 2150, 8600), CLAIM_REPRODUCED);
    assert_int_equal(of_scores(1500, 2150, 8600), CLAIM_REFUTED);
    assert_int_equal(of_scores(600, 2150, 8600), CLAIM_MIXED);
    assert_int_equal(of_scores(34, 500, 8600), CLAIM_NOT_TESTABLE); /* the chain writes none */
    assert_int_equal(of_scores(34, 2150, 100), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_scores(0, 0, 0), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_much_faster),
        cmocka_unit_test(their_controls),
        cmocka_unit_test(how_much_memory),
        cmocka_unit_test(scores_written),
    };
    return cmocka_run_group_tests_name("claims on attention over a prompt", tests, NULL, NULL);
}
