/* The claims on long contexts and on attention's leverage: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <math.h>

/* --- C43b ------------------------------------------------------------------------------------- */

static void share(struct bundle *b, const char *metric, int batch, int context, double value)
{
    char id[120];
    if (batch)
        snprintf(id, sizeof id, "attention_decode.%s{shape=8b,batch=%d,context=%d}", metric, batch,
                 context);
    else
        snprintf(id, sizeof id, "attention_decode.%s{shape=8b,context=%d}", metric, context);
    put_spread(&b->rows, id, "ratio", ROW_LOWER, value, 0.001, 7);
}

/* Shares of a step: one of 8192 keys, 8 of 8192, 64 of 1024, 64 of 8192; one of 1024, of 131072. */
static enum claim_verdict of_shares(double a, double b, double c, double d, double least,
                                    double longest)
{
    static const int batches[] = {1, 8, 64, 64}, contexts[] = {8192, 8192, 1024, 8192};
    const double values[] = {a, b, c, d};
    struct bundle all = {0};

    for (int i = 0; i < 4; i++) {
        share(&all, "share_of_step", batches[i], contexts[i], values[i]);
        share(&all, "byte_share", batches[i], contexts[i], 0.5);
    }
    share(&all, "share_of_token", 0, 1024, least);
    share(&all, "share_of_token", 0, 131072, longest);
    return verdict("C43b", &all);
}

static void shares_of_a_step(void **unused)
{
    (void)unused;
    assert_int_equal(of_shares(0.1, 0.38, 0.38, 0.8, 0.05, 0.54), CLAIM_MIXED);
    assert_int_equal(of_shares(0.6, 0.7, 0.7, 0.9, 0.05, 0.54), CLAIM_REPRODUCED);
    assert_int_equal(of_shares(0.1, 0.2, 0.2, 0.24, 0.05, 0.54), CLAIM_REFUTED);
    assert_int_equal(of_shares(0.1, 0.2, 0.2, 0.24, 0.05, 0.2), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_shares(0.6, 0.7, 0.7, 0.9, 0.3, 0.54), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_shares(1, 1, 1, 1, 1, 1), CLAIM_NOT_TESTABLE); /* all figures are 1 */
}

/* --- C44 -------------------------------------------------------------------------------------- */

/* Exponents of memory, of the unfused one also at short contexts; the driver over the count at 8192
 * tokens; what became of 65536 tokens unfused: NULL: computed. */
static enum claim_verdict of_memory(double fused, double unfused, double few, double counted,
                                    const char *why)
{
    struct bundle b = {0};
    char id[160];
    const double base = 4e9, at_1024 = 1e8;
#define FOOTPRINT(context, impl, bytes)                                                            \
    (snprintf(id, sizeof id,                                                                       \
              "attention_prefill.footprint{heads=32,kv_heads=32,depth=128,context=%d,mask=causal," \
              "type=bf16,impl=%s}",                                                                \
              context, impl),                                                                      \
     put_spread(&b.rows, id, "bytes", ROW_LOWER, bytes, 0, 7))
    FOOTPRINT(512, "unfused", at_1024 / exp2(few));
    FOOTPRINT(1024, "unfused", at_1024);
    FOOTPRINT(8192, "fused", 2e8);
    FOOTPRINT(16384, "fused", 2e8 * exp2(fused));
    FOOTPRINT(65536, "fused", 2e8 * exp2(3 * fused));
    FOOTPRINT(8192, "unfused", base);
    FOOTPRINT(16384, "unfused", base * exp2(unfused));
    struct row *longest = FOOTPRINT(65536, "unfused", base * exp2(3 * unfused));
    if (why) {
        longest->status = ROW_MISSING;
        longest->why = strdup(why);
    }
    put_spread(&b.rows,
               "attention_prefill.memory{heads=32,kv_heads=32,depth=128,context=8192,mask=causal,"
               "type=bf16,impl=unfused,mode=graph,l2=cold}",
               "bytes", ROW_EXACT, base / counted, 0, 7);
    return verdict("C44", &b);
}

static void growth_of_memory(void **unused)
{
    static const char full[] = "more than this GPU's memory holds";
    (void)unused;
    assert_int_equal(of_memory(0.98, 1.95, 1, 1, full), CLAIM_REPRODUCED);
    assert_int_equal(of_memory(1.9, 1.95, 1, 1, NULL), CLAIM_REFUTED);
    assert_int_equal(of_memory(0.98, 1.1, 1, 1, NULL), CLAIM_REFUTED);
    assert_int_equal(of_memory(0.98, 1.95, 1, 1, NULL), CLAIM_MIXED); /* it fits both ways */
    assert_int_equal(of_memory(1.9, 1.95, 1, 1, full), CLAIM_MIXED);
    assert_int_equal(of_memory(0.98, 1.95, 1, 1.2, full),
                     CLAIM_NOT_TESTABLE); /* count and driver */
    assert_int_equal(of_memory(0.98, 1.95, 1.8, 1, full), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_memory(0, 0, 0, 1, full), CLAIM_NOT_TESTABLE); /* all figures are equal */
    assert_int_equal(of_memory(0.98, 1.95, 1, 1, "no library here"), CLAIM_NOT_TESTABLE);
}

/* --- C44b ------------------------------------------------------------------------------------- */

/* Exponents of time from 1024 to 8192 tokens; the fused time at 1024 tokens in a warm L2, over
 * cold. */
static enum claim_verdict of_time(double fused, double unfused, double warm)
{
    struct bundle b = {0};
#define TIME(context, impl, l2)                                                                    \
    "attention_prefill.time{heads=32,kv_heads=32,depth=128,context=" #context                      \
    ",mask=causal,type=bf16,impl=" impl ",mode=graph,l2=" l2 ",timer=event}"
#define NS(id, value) put_spread(&b.rows, id, "ns", ROW_LOWER, value, 1, 7)
    NS(TIME(1024, "fused", "cold"), 30e3);
    NS(TIME(1024, "fused", "warm"), 30e3 * warm);
    NS(TIME(8192, "fused", "cold"), 30e3 * pow(8, fused));
    NS(TIME(1024, "unfused", "cold"), 90e3);
    NS(TIME(8192, "unfused", "cold"), 90e3 * pow(8, unfused));
    return verdict("C44b", &b);
}

static void growth_of_time(void **unused)
{
    (void)unused;
    assert_int_equal(of_time(1.5, 1.9, 1), CLAIM_REPRODUCED);
    assert_int_equal(of_time(1.85, 1.9, 1), CLAIM_REFUTED);
    assert_int_equal(of_time(1.75, 1.9, 1), CLAIM_MIXED);
    assert_int_equal(of_time(1.5, 1.9, 0.5), CLAIM_NOT_TESTABLE);
    assert_int_equal(of_time(0, 0, 1), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_step),
        cmocka_unit_test(growth_of_memory),
        cmocka_unit_test(growth_of_time),
    };
    return cmocka_run_group_tests_name("claims on long contexts", tests, NULL, NULL);
}
