/* Claims about fusion that harms: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#define STREAMS "what=streams,rows=32,columns=2000000,type=fp32,"
#define MANY "what=streams,rows=96,columns=250000,type=fp32,"
#define FEW "what=streams,rows=4,columns=16000000,type=fp32,"

/* us, with a spread by which ratios vary. */
static void us(struct bundle *b, const char *keys, const char *impl, const char *l2, double centre,
               double spread)
{
    char id[192];
    snprintf(id, sizeof id, "harm.time{%simpl=%s,mode=graph,l2=%s,timer=event}", keys, impl, l2);
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1e3 * centre, 1e3 * centre * spread, 7);
}

static void count(struct bundle *b, const char *metric, const char *keys, const char *impl,
                  double value)
{
    char id[192];
    snprintf(id, sizeof id, "harm.%s{%simpl=%s,mode=graph,l2=cold}", metric, keys, impl);
    put_spread(&b->rows, id, "count", ROW_EXACT, value, 0, 7);
}

/* --- C60 ------------------------------------------------------------------------------------- */

/* us of 96 arrays in one kernel that spills and in one that fits, its local memory; of 32 arrays in
 * one kernel. Two kernels take 80, or 200 us. */
static enum claim_verdict c60(double spilling, double narrow, double local, double some)
{
    struct bundle b = {0};
    us(&b, MANY, "unfused", "cold", 80, 0.01);
    us(&b, MANY, "fused", "cold", spilling, 0.001);
    us(&b, MANY, "narrow", "cold", narrow, 0.001);
    count(&b, "local", MANY, "fused", local);
    count(&b, "local", MANY, "narrow", 0);
    us(&b, STREAMS, "unfused", "cold", 200, 0.001);
    us(&b, STREAMS, "fused", "cold", some, 0.001);
    return verdict("C60", &b);
}

static void registers_spill(void **unused)
{
    (void)unused;
    assert_int_equal(c60(300, 50, 1856, 130), CLAIM_REPRODUCED);
    assert_int_equal(c60(70, 50, 1856, 130), CLAIM_REFUTED);
    assert_int_equal(c60(82.4, 50, 1856, 130), CLAIM_MIXED);       /* straddles */
    assert_int_equal(c60(300, 90, 1856, 130), CLAIM_MIXED);        /* not healed */
    assert_int_equal(c60(300, 50, 0, 130), CLAIM_NOT_TESTABLE);    /* nothing spilled */
    assert_int_equal(c60(300, 50, 1856, 220), CLAIM_NOT_TESTABLE); /* fusion alone harms */
}

/* --- C61 ------------------------------------------------------------------------------------- */

static enum claim_verdict c61a(double fused, double cap_64, double cap_32, double few,
                               double registers)
{
    struct bundle b = {0};
    count(&b, "warps", STREAMS, "fused", fused);
    count(&b, "warps", STREAMS, "cap_64", cap_64);
    count(&b, "warps", STREAMS, "cap_32", cap_32);
    count(&b, "registers", STREAMS, "fused", registers);
    count(&b, "registers", STREAMS, "cap_64", 64);
    count(&b, "registers", STREAMS, "cap_32", 32);
    count(&b, "warps", FEW, "fused", few);
    count(&b, "warps", FEW, "cap_32", 64);
    return verdict("C61a", &b);
}

static void registers_take_warps(void **unused)
{
    (void)unused;
    assert_int_equal(c61a(8, 32, 64, 64, 188), CLAIM_REPRODUCED);
    assert_int_equal(c61a(64, 64, 64, 64, 188), CLAIM_REFUTED);
    assert_int_equal(c61a(32, 32, 64, 64, 188), CLAIM_MIXED);
    assert_int_equal(c61a(8, 32, 64, 48, 188), CLAIM_NOT_TESTABLE);
    assert_int_equal(c61a(8, 32, 64, 64, 64), CLAIM_NOT_TESTABLE); /* no more than with the cap */
}

/* us with all warps, half, a quarter, and without the unused memory. */
static void put_warps(struct bundle *b, const char *what, double all, double half, double quarter,
                      double plain)
{
    char keys[96];
    snprintf(keys, sizeof keys, "what=%s,rows=0,columns=48000000,type=fp32,", what);
    us(b, keys, "all", "cold", all, 0.01);
    us(b, keys, "half", "cold", half, 0.001);
    us(b, keys, "quarter", "cold", quarter, 0.001);
    us(b, keys, "plain", "cold", plain, 0.001);
}

static enum claim_verdict c61(double half, double quarter, double compute_half, double plain)
{
    struct bundle b = {0};
    put_warps(&b, "memory", 100, half, quarter, plain);
    put_warps(&b, "compute", 100, compute_half, 200, 100);
    return verdict("C61", &b);
}

static void half_of_the_warps(void **unused)
{
    (void)unused;
    assert_int_equal(c61(150, 300, 120, 100), CLAIM_REPRODUCED);
    assert_int_equal(c61(101, 300, 100, 100), CLAIM_REFUTED);
    assert_int_equal(c61(150, 300, 100, 100), CLAIM_MIXED);
    assert_int_equal(c61(111, 300, 120, 100), CLAIM_MIXED);        /* straddles */
    assert_int_equal(c61(150, 105, 120, 100), CLAIM_NOT_TESTABLE); /* warps do not matter at all */
    assert_int_equal(c61(150, 300, 120, 90), CLAIM_NOT_TESTABLE);  /* it is the unused memory */
}

/* --- C63 ------------------------------------------------------------------------------------- */

#define MANY_ROWS(impl)                                                                            \
    "norm.time{op=rmsnorm_bias_silu,rows=16384,cols=8192,type=fp16,impl=" impl                     \
    ",mode=graph,l2=cold,timer=event}"

static enum claim_verdict c63(double fused, double many_fused)
{
    struct bundle b = {0};
    us(&b, "what=serial,rows=1,columns=262144,type=fp16,", "fused", "warm", fused, 0.01);
    us(&b, "what=serial,rows=1,columns=262144,type=fp16,", "unfused", "warm", 3, 0.001);
    us(&b, "what=serial,rows=4096,columns=16384,type=fp16,", "unfused", "cold",
       many_fused > 3 ? 100 : 3, 0.001);
    put_spread(&b.rows, MANY_ROWS("fused"), "ns", ROW_LOWER, 1e3 * many_fused, 10, 7);
    put_spread(&b.rows, MANY_ROWS("unfused"), "ns", ROW_LOWER, 1e5, 10, 7);
    return verdict("C63", &b);
}

static void fewer_blocks(void **unused)
{
    (void)unused;
    assert_int_equal(c63(10, 70), CLAIM_REPRODUCED);
    assert_int_equal(c63(2.5, 70), CLAIM_REFUTED);
    assert_int_equal(c63(3.1, 70), CLAIM_MIXED);
    assert_int_equal(c63(10, 120), CLAIM_NOT_TESTABLE);
    assert_int_equal(c63(10, 3), CLAIM_NOT_TESTABLE); /* 256 times the elements take as long */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_spill),
        cmocka_unit_test(registers_take_warps),
        cmocka_unit_test(half_of_the_warps),
        cmocka_unit_test(fewer_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
