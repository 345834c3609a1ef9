/* The claim about drawing a token in one kernel: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

#define SAMPLING(metric, batch, impl, l2)                                                          \
    "sampling." metric "{vocabulary=128256,batch=" batch ",k=50,p=0.9,type=fp32,impl=" impl        \
    ",mode=graph,l2=" l2
#define TIME(batch, impl, l2) SAMPLING("time", batch, impl, l2) ",timer=event}"
#define DRAWS(metric) SAMPLING(metric, "100000", "fused", "warm") "}"

/* us, and shares of the draws. */
struct c66 {
    double fused, unfused, many_fused, many_unfused, border, differ, blind;
};
static const struct c66 good = {5, 15, 80, 240, 0, 1e-5, 0.2};

static void us(struct bundle *b, const char *id, double centre, double spread)
{
    put_spread(&b->rows, id, "ns", ROW_LOWER, 1e3 * centre, 1e3 * centre * spread, 7);
}

static void once(struct bundle *b, const char *id, double value)
{
    const double twice[] = {value, value};
    struct row *row = put_values(&b->rows, id, "ratio", ROW_LOWER, twice, 2);
    row->once = true;
    row_finish(row);
}

static enum claim_verdict c66(struct c66 c)
{
    struct bundle b = {0};
    us(&b, TIME("1", "fused", "warm"), c.fused, 0.001);
    us(&b, TIME("1", "unfused", "warm"), c.unfused, 0.01);
    us(&b, TIME("256", "fused", "cold"), c.many_fused, 0.001);
    us(&b, TIME("256", "unfused", "cold"), c.many_unfused, 0.01);
    once(&b, DRAWS("border"), c.border);
    once(&b, DRAWS("differ"), c.differ);
    if (c.blind >= 0)
        once(&b, DRAWS("control"), c.blind);
    return verdict("C66", &b);
}

static void one_kernel(void **unused)
{
    struct c66 c = good;
    (void)unused;
    assert_int_equal(c66(c), CLAIM_REPRODUCED);
    c.many_unfused = 79; /* within 3 % */
    assert_int_equal(c66(c), CLAIM_REPRODUCED);
    c.many_unfused = 70; /* the sign turns */
    assert_int_equal(c66(c), CLAIM_MIXED);
    c = good;
    c.unfused = 7;
    assert_int_equal(c66(c), CLAIM_REFUTED);
    c.unfused = 7.5; /* straddles 1.5 */
    assert_int_equal(c66(c), CLAIM_MIXED);
}

static void its_controls(void **unused)
{
    struct c66 c = good;
    (void)unused;
    c.border = 2e-4; /* other tokens */
    assert_int_equal(c66(c), CLAIM_NOT_TESTABLE);
    c = good;
    c.differ = 2e-4;
    assert_int_equal(c66(c), CLAIM_NOT_TESTABLE);
    c = good;
    c.many_fused = 5; /* a stuck timer */
    assert_int_equal(c66(c), CLAIM_NOT_TESTABLE);
    c = good;
    c.blind = 0; /* a missing penalty is not seen */
    assert_int_equal(c66(c), CLAIM_NOT_TESTABLE);
    c.blind = -1; /* nobody looked */
    assert_int_equal(c66(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kernel),
        cmocka_unit_test(its_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
