/* The claims about attention over a prompt: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <math.h>
#include <stdio.h>

#define SHAPE(context, type)                                                                       \
    "{heads=32,kv_heads=32,depth=128,context=" #context ",mask=causal,type=" type ",impl="
#define TIME(context, type, impl)                                                                  \
    "attention_prefill.time" SHAPE(context, type) impl ",mode=graph,l2=cold,timer=event}"

/* The fused kernel varies by 1 % from run to run, the library does not. */
static void us(struct bundle *b, const char *id, double time)
{
    double spread = strstr(id, "impl=fused") ? time * 10 : 0;
    put_spread(&b->rows, id, "ns", ROW_LOWER, time * 1e3, spread, 7);
}

/* Times in us: 4096 tokens fused, unfused, one product; 8192 tokens fused, unfused. */
struct times {
    double fused, chain, product, fused_8192, chain_8192;
};
static const struct times h200 = {480, 1500, 250, 1750, 5800};

static enum claim_verdict of_times(const char *id, struct times t)
{
    struct bundle b = {0};
    us(&b, TIME(4096, "fp16", "fused"), t.fused);
    us(&b, TIME(4096, "fp16", "unfused"), t.chain);
    us(&b, TIME(4096, "fp16", "values"), t.product);
    us(&b, TIME(8192, "bf16", "fused"), t.fused_8192);
    us(&b, TIME(8192, "bf16", "unfused"), t.chain_8192);
    return verdict(id, &b);
}

static void how_much_faster(void **unused)
{
    struct times t = h200;
    (void)unused;
    assert_int_equal(of_times("C43", t), CLAIM_REPRODUCED);
    assert_int_equal(of_times("C55", t), CLAIM_REPRODUCED);
    t.fused = 800; /* 1.9 times, and longer prompts gain more */
    assert_int_equal(of_times("C43", t), CLAIM_MIXED);
    assert_int_equal(of_times("C55", t), CLAIM_REPRODUCED);
    t.fused_8192 = 3500;
    assert_int_equal(of_times("C43", t), CLAIM_REFUTED);
    t.fused = 750; /* the interval contains 2, and at 8192 it is less */
    assert_int_equal(of_times("C43", t), CLAIM_MIXED);
    t.fused = 1000; /* the interval contains 1.5 */
    assert_int_equal(of_times("C55", t), CLAIM_MIXED);
    t.fused = 1200;
    assert_int_equal(of_times("C55", t), CLAIM_REFUTED);
}

/* Shares of a token: at 1024, 4096 and 8192 keys of 8B, half as much more of 1B; at 131072 of 8B. */
static enum claim_verdict of_shares(double a, double b, double c, double longest)
{
    static const int contexts[] = {1024, 4096, 8192};
    const double share[] = {a, b, c};
    struct bundle all = {0};
    char id[100];

    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "attention_decode.share_of_token{shape=%s,context=%d}",
                 i < 3 ? "8b" : "1b", contexts[i % 3]);
        put_spread(&all.rows, id, "ratio", ROW_LOWER, share[i % 3] * (i < 3 ? 1 : 1.5), 0.001, 7);
    }
    put_spread(&all.rows, "attention_decode.share_of_token{shape=8b,context=131072}", "ratio",
               ROW_LOWER, longest, 0.001, 7);
    return verdict("C43b", &all);
}

static void shares_of_a_token(void **unused)
{
    (void)unused;
    assert_int_equal(of_shares(0.05, 0.08, 0.11, 0.54), CLAIM_REFUTED);
    assert_int_equal(of_shares(0.05, 0.08, 0.20, 0.54), CLAIM_MIXED); /* 0.3 of 1B */
    assert_int_equal(of_shares(0.05, 0.08, 0.11, 0.20), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_shares(0.20, 0.40, 0.50, 0.60), CLAIM_REPRODUCED);
    assert_int_equal(of_shares(0.30, 0.40, 0.50, 0.60), CLAIM_NOT_TESTABLE); /* at 1024, too */
}

static void their_controls(void **unused)
{
    struct times t = h200;
    (void)unused;
    t.product = 1100; /* no chain is faster than two of its products */
    assert_int_equal(of_times("C43", t), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_times("C55", t), CLAIM_NOT_TESTABLE);
    t = h200;
    t.fused =
        100; /* a product alone reads 2.5 over the fused kernel: half of its flops are missing */
    assert_int_equal(of_times("C43", t), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_times("C55", t), CLAIM_NOT_TESTABLE);
}

/* Memory grows as base x context^exponent; `counted` over what the driver says at 8192. */
static enum claim_verdict of_memory(double fused, double unfused, double counted, bool has_long)
{
    struct bundle b = {0};
    char id[160];
    for (int context = 512; context <= (has_long ? 16384 : 8192); context *= 2)
        for (int i = 0; i < 2; i++) {
            const double bytes = 1e8 * pow(context / 1024.0, i ? unfused : fused);
            const double both[] = {bytes, bytes};
            snprintf(id, sizeof id,
                     "attention_prefill.footprint{heads=32,kv_heads=32,depth=128,context=%d,"
                     "mask=causal,type=bf16,impl=%s}",
                     context, i ? "unfused" : "fused");
            put_values(&b.rows, id, "bytes", ROW_LOWER, both, 2)->once = true;
            row_finish(rows_get(&b.rows, id, "bytes", ROW_LOWER));
        }
    put_spread(&b.rows,
               "attention_prefill.memory" SHAPE(8192, "bf16") "unfused,mode=graph,l2=cold}",
               "bytes", ROW_EXACT, counted * 1e8 * pow(8, unfused), 0, 7);
    return verdict("C44", &b);
}

static void growth_of_memory(void **unused)
{
    (void)unused;
    assert_int_equal(of_memory(1.0, 1.86, 0.99, true), CLAIM_REPRODUCED);
    assert_int_equal(of_memory(1.0, 1.7, 0.99, true), CLAIM_REFUTED);
    assert_int_equal(of_memory(1.5, 1.86, 0.99, true), CLAIM_REFUTED);
    assert_int_equal(of_memory(1.0, 1.86, 0.8, true), CLAIM_NOT_TESTABLE);   /* count and driver */
    assert_int_equal(of_memory(1.0, 1.05, 0.99, true), CLAIM_NOT_TESTABLE);  /* cannot tell them */
    assert_int_equal(of_memory(1.0, 1.86, 0.99, false), CLAIM_NOT_TESTABLE); /* 16384 is missing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_much_faster),
        cmocka_unit_test(shares_of_a_token),
        cmocka_unit_test(their_controls),
        cmocka_unit_test(growth_of_memory),
    };
    return cmocka_run_group_tests_name("claims on attention over a prompt", tests, NULL, NULL);
}
