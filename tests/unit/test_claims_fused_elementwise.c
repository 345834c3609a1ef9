/* The claims about chains of elementwise operators: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#include <stdio.h>

#define CHAIN "chain=%s,operations=%d,type=%s,impl=%s,mode=graph,l2=cold"

static void put(struct bundle *b, const char *id, const char *unit, double value, double spread)
{
    put_spread(&b->rows, id, unit, ROW_LOWER, value, spread * value, 7);
}

/* --- C37 -------------------------------------------------------------------------------------- */

/* us at 256 MiB of fp32: without arithmetic, of 8, of 16, of 1024 multiply-adds; in bf16, of 16, of
 * 1024; shares of a copy of 8, of 16, of 1024. */
struct c37 {
    double none, eight, sixteen, many, narrow, narrow_many, share_8, share_16, share_many;
};
static const struct c37 h200_37 = {132.6, 132.4, 132.0, 2186, 67, 2168, 0.97, 0.975, 0.06};

static void put_fmas(struct bundle *b, int n, const char *type, double us, double share)
{
    char id[200];
    snprintf(id, sizeof id, "elementwise_chain.time{rows=8192,cols=8192," CHAIN ",timer=event}",
             "fmas", n, type, "fused");
    put(b, id, "ns", us * 1e3, 0.002);
    snprintf(id, sizeof id, "elementwise_chain.share_of_copy{rows=8192,cols=8192," CHAIN "}",
             "fmas", n, type, "fused");
    if (share > 0)
        put(b, id, "ratio", share, 0.002);
}

static enum claim_verdict c37(const char *claim, struct c37 c)
{
    struct bundle b = {0};
    put_fmas(&b, 0, "fp32", c.none, 0.97);
    put_fmas(&b, 8, "fp32", c.eight, c.share_8);
    put_fmas(&b, 16, "fp32", c.sixteen, c.share_16);
    put_fmas(&b, 1024, "fp32", c.many, c.share_many);
    put_fmas(&b, 16, "bf16", c.narrow, 0);
    put_fmas(&b, 1024, "bf16", c.narrow_many, 0);
    return verdict(claim, &b);
}

static void bytes_matter_more(void **unused)
{
    struct c37 c = h200_37;
    (void)unused;
    assert_int_equal(c37("C37", c), CLAIM_REPRODUCED);
    c.narrow = 90; /* half the bytes save a third only */
    assert_int_equal(c37("C37", c), CLAIM_MIXED);
    c.eight = 80; /* half the arithmetic saves more */
    assert_int_equal(c37("C37", c), CLAIM_REFUTED);
    c = h200_37;
    c.share_16 = 0.85; /* not bound by bandwidth */
    assert_int_equal(c37("C37", c), CLAIM_NOT_TESTABLE);
    c = h200_37;
    c.many = 133; /* 1024 multiply-adds cost nothing either: was anything computed? */
    assert_int_equal(c37("C37", c), CLAIM_NOT_TESTABLE);
    c = h200_37;
    c.narrow_many = 1093; /* the bytes decide there too */
    assert_int_equal(c37("C37", c), CLAIM_NOT_TESTABLE);
}

static void little_arithmetic(void **unused)
{
    struct c37 c = h200_37;
    struct bundle empty = {0};
    (void)unused;
    assert_int_equal(c37("C37a", c), CLAIM_REPRODUCED);
    c.sixteen = 160; /* sixteen cost 20 % */
    assert_int_equal(c37("C37a", c), CLAIM_MIXED);
    c.share_16 = 0.8, c.eight = 150, c.share_8 = 0.85;
    assert_int_equal(c37("C37a", c), CLAIM_REFUTED);
    c = h200_37;
    c.many = 133;
    assert_int_equal(c37("C37a", c), CLAIM_NOT_TESTABLE);
    c = h200_37;
    c.share_many = 0.95;
    assert_int_equal(c37("C37a", c), CLAIM_NOT_TESTABLE);
    assert_int_equal(verdict("C37a", &empty), CLAIM_NOT_TESTABLE);
}

/* --- C39, C52 --------------------------------------------------------------------------------- */

/* Fused, in times of one kernel's: plain of 4 and 16, activated of 4 and 16; what a chain of one
 * gains; a single kernel's share of a copy; unfused over fused instructions. */
struct chains {
    double plain_4, plain_16, activated_4, activated_16, one, share, instructions;
    double pass, harder; /* unfused: a kernel of a chain over one alone; gelu and silu over plain */
};
static const struct chains h200 = {1, 1.01, 1.09, 3.2, 1, 0.97, 1, 1, 1};

static void put_chain(struct bundle *b, const char *kind, int n, double times,
                      const struct chains *c)
{
    static const char *const impls[] = {"unfused", "fused"};
    char id[200];
    for (int i = 0; i < 2; i++) {
        const double a_kernel = c->pass * (kind[0] == 'a' ? c->harder : 1);
        const double kernels = i ? 1 : n, cost = i ? times : n == 1 ? c->one : n * a_kernel;
#define PUT(metric, unit, value, spread)                                                           \
    snprintf(id, sizeof id, "elementwise_chain." metric "{rows=16384,cols=8192," CHAIN "%s}",      \
             kind, n, "fp16", impls[i], strcmp(metric, "time") ? "" : ",timer=event");             \
    put(b, id, unit, value, spread)
        PUT("time", "ns", 131e3 * cost, n == 1 ? 0 : 0.002);
        PUT("bytes", "bytes", kernels * 537e6, 0);
        PUT("instructions", "count", i ? 22 : 22 * c->instructions, 0);
        PUT("share_of_copy", "ratio", c->share / cost, 0.002);
    }
}

static enum claim_verdict chains(const char *claim, struct chains c)
{
    struct bundle b = {0};
    put_chain(&b, "plain", 1, 1, &c);
    put_chain(&b, "plain", 4, c.plain_4, &c);
    put_chain(&b, "plain", 16, c.plain_16, &c);
    put_chain(&b, "activated", 4, c.activated_4, &c);
    put_chain(&b, "activated", 16, c.activated_16, &c);
    return verdict(claim, &b);
}

static void fused_chains(void **unused)
{
    struct chains c = h200;
    (void)unused;
    assert_int_equal(chains("C39b", c), CLAIM_MIXED); /* 16 with activations keep a third */
    c.activated_16 = 1.1;
    assert_int_equal(chains("C39b", c), CLAIM_REPRODUCED);
    c = (struct chains){2.2, 3, 2.3, 4, 1, 0.97, 1, 1, 1};
    assert_int_equal(chains("C39b", c), CLAIM_REFUTED);
    c = h200;
    c.share = 0.7; /* the unfused kernels are bad ones */
    assert_int_equal(chains("C39b", c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.one = 3.6; /* one operator gains from being fused with none */
    assert_int_equal(chains("C39b", c), CLAIM_NOT_TESTABLE);
}

static void passes_over_tensors(void **unused)
{
    struct chains c = h200;
    (void)unused;
    assert_int_equal(chains("C39", c), CLAIM_REPRODUCED);
    c.harder = 1.3; /* arithmetic costs, too */
    assert_int_equal(chains("C39", c), CLAIM_MIXED);
    c.pass = 0.6; /* and a pass less than its bytes */
    assert_int_equal(chains("C39", c), CLAIM_REFUTED);
    c.pass = 0.9; /* the limit lies in its interval */
    assert_int_equal(chains("C39", c), CLAIM_MIXED);
    c.pass = 0.6;
    c.harder = 1;
    assert_int_equal(chains("C39", c), CLAIM_MIXED);
    c = h200;
    c.share = 0.7; /* kernels that bytes do not bind */
    assert_int_equal(chains("C39", c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.activated_16 = 1.2; /* gelu and silu are not seen anywhere */
    assert_int_equal(chains("C39", c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.plain_16 = 16, c.activated_16 = 40; /* one pass takes as long as 16 */
    assert_int_equal(chains("C39", c), CLAIM_NOT_TESTABLE);
}

static void same_arithmetic(void **unused)
{
    struct chains c = h200;
    (void)unused;
    assert_int_equal(chains("C52", c), CLAIM_REPRODUCED);
    c.plain_4 = 1.5;
    assert_int_equal(chains("C52", c), CLAIM_MIXED);
    c = h200;
    c.plain_4 = 0.7, c.plain_16 = 0.7;
    assert_int_equal(chains("C52", c), CLAIM_REFUTED);
    c = h200;
    c.plain_16 = 1.5; /* above the ridge */
    assert_int_equal(chains("C52", c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.activated_16 = 1; /* what is above it follows too */
    assert_int_equal(chains("C52", c), CLAIM_NOT_TESTABLE);
    c = h200;
    c.instructions = 1.2;
    assert_int_equal(chains("C52", c), CLAIM_NOT_TESTABLE);
}

/* --- C83 -------------------------------------------------------------------------------------- */

static void put_life(struct bundle *b, const char *life, int steps, double registers, double warps)
{
    char id[120];
    snprintf(id, sizeof id, "elementwise_chain.registers{life=%s,steps=%d,elements=1}", life,
             steps);
    put(b, id, "count", registers, 0);
    snprintf(id, sizeof id, "elementwise_chain.resident_warps{life=%s,steps=%d,elements=1}", life,
             steps);
    put(b, id, "count", warps, 0);
}

/* Registers of chains of 64. */
static enum claim_verdict c83(double dependent, double live, double inputs)
{
    struct bundle b = {0};
    put_life(&b, "dependent", 1, 8, 64);
    put_life(&b, "dependent", 4, 10, 64);
    put_life(&b, "dependent", 64, dependent, 64);
    put_life(&b, "live", 4, 11, 64);
    put_life(&b, "live", 64, live, 24);
    put_life(&b, "inputs", 16, 31, 64);
    put_life(&b, "inputs", 64, inputs, 64);
    return verdict("C83", &b);
}

static void registers_of_values(void **unused)
{
    (void)unused;
    assert_int_equal(c83(9, 68, 32), CLAIM_REFUTED);
    assert_int_equal(c83(60, 68, 32), CLAIM_REPRODUCED);
    assert_int_equal(c83(20, 68, 32), CLAIM_MIXED);
    assert_int_equal(c83(9, 40, 32), CLAIM_NOT_TESTABLE); /* the count is blind */
    assert_int_equal(c83(9, 68, 70), CLAIM_NOT_TESTABLE); /* whatever is longer takes more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_matter_more), cmocka_unit_test(little_arithmetic),
        cmocka_unit_test(fused_chains),      cmocka_unit_test(passes_over_tensors),
        cmocka_unit_test(same_arithmetic),   cmocka_unit_test(registers_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
