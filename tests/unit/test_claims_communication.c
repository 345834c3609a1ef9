/* Claims about how SMs reach each other: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

static void put(struct bundle *b, const char *id, const char *unit, enum row_better better,
                double centre)
{
    put_spread(&b->rows, id, unit, better, centre, 0.005 * centre, 7);
}

/* A case of the first and the last round only. */
static void put_once(struct bundle *b, const char *id, const char *unit, double value)
{
    const double values[] = {value, value};
    struct row *row = put_values(&b->rows, id, unit, ROW_LOWER, values, 2);
    row->once = true;
    row_finish(row);
}

/* --- C05 -------------------------------------------------------------------------------------- */

struct c05 {
    double two, sixteen, slowest, l2, own, through_l2;
};
static const struct c05 direct = {192, 191, 211, 283, 23, 283};

static enum claim_verdict c05(struct c05 c)
{
    struct bundle b = {0};
    put(&b, "memory_latency.load{level=l2}", "cycles", ROW_LOWER, c.l2);
    if (c.two > 0)
        put(&b, "sm_to_sm.dsmem{size=2}", "cycles", ROW_LOWER, c.two);
    if (c.sixteen > 0)
        put(&b, "sm_to_sm.dsmem{size=16}", "cycles", ROW_LOWER, c.sixteen);
    put_once(&b, "sm_to_sm.dsmem_slowest{size=16}", "cycles", c.slowest);
    put(&b, "sm_to_sm.reference{path=own}", "cycles", ROW_LOWER, c.own);
    put(&b, "sm_to_sm.reference{path=l2}", "cycles", ROW_LOWER, c.through_l2);
    return verdict("C05", &b);
}

static void directly(void **unused)
{
    struct c05 c = direct;
    (void)unused;
    assert_int_equal(c05(c), CLAIM_REFUTED);
    c.slowest = 282; /* one pair is no faster than the L2 */
    assert_int_equal(c05(c), CLAIM_MIXED);
    c = direct, c.sixteen = 280; /* within 3 % */
    assert_int_equal(c05(c), CLAIM_MIXED);
    c.two = 300; /* one is slower, the other not clearly */
    assert_int_equal(c05(c), CLAIM_MIXED);
    c.sixteen = 300;
    assert_int_equal(c05(c), CLAIM_REPRODUCED);
    c = direct, c.own = 280; /* the chase cannot tell shared memory from L2 */
    assert_int_equal(c05(c), CLAIM_NOT_TESTABLE);
    c = direct, c.through_l2 = 240; /* a chase through L2 looks faster than L2 */
    assert_int_equal(c05(c), CLAIM_NOT_TESTABLE);
    c = direct, c.two = c.sixteen = 0; /* no clusters */
    assert_int_equal(c05(c), CLAIM_NOT_TESTABLE);
}

/* --- C06 -------------------------------------------------------------------------------------- */

struct c06 {
    double rate, own, large, flag, dram;
};
static const struct c06 through_l2 = {1.8, 1.85, 0.82, 165, 334};

static enum claim_verdict c06(struct c06 c)
{
    struct bundle b = {0};
    put(&b, "sm_to_sm_rate.handoff_over_pin{from=next,slab=131072}", "ratio", ROW_HIGHER,
        0.9 * c.rate);
    put(&b, "sm_to_sm_rate.handoff_over_pin{from=next,slab=196608}", "ratio", ROW_HIGHER, c.rate);
    put(&b, "sm_to_sm_rate.handoff_over_pin{from=next,slab=4xl2}", "ratio", ROW_HIGHER, c.large);
    put(&b, "sm_to_sm_rate.handoff_over_pin{from=own,slab=196608}", "ratio", ROW_HIGHER, c.own);
    put(&b, "sm_to_sm.flag_time{path=l2_same,by=relaxed,timer=device}", "ns", ROW_LOWER, c.flag);
    put(&b, "sm_to_sm.flag_time{path=l2,by=acq_rel,timer=device}", "ns", ROW_LOWER, 560);
    put(&b, "memory_latency.load_time{level=hbm,timer=device}", "ns", ROW_LOWER, c.dram);
    return verdict("C06", &b);
}

static void only_through_dram(void **unused)
{
    struct c06 c = through_l2;
    (void)unused;
    assert_int_equal(c06(c), CLAIM_REFUTED);
    c.rate = 0.7; /* the flag alone is enough */
    assert_int_equal(c06(c), CLAIM_REFUTED);
    c.flag = 400;
    assert_int_equal(c06(c), CLAIM_REPRODUCED);
    c.flag = 300; /* faster than DRAM, but not by a fifth */
    assert_int_equal(c06(c), CLAIM_MIXED);
    c.rate = 1; /* straddles */
    assert_int_equal(c06(c), CLAIM_MIXED);
    c = through_l2, c.flag = 400; /* the rate alone is enough */
    assert_int_equal(c06(c), CLAIM_REFUTED);
    c = through_l2, c.own = 0.9; /* rates above the pins are not seen */
    assert_int_equal(c06(c), CLAIM_NOT_TESTABLE);
    c = through_l2, c.large = 1.3; /* they are seen where they cannot be */
    assert_int_equal(c06(c), CLAIM_NOT_TESTABLE);
}

/* With --quick and --deep, one run: no verdict, and the ledger says why. */
static void one_run(void **unused)
{
    static const char *const how[] = {"quick", "deep"};
    const double value[] = {190};
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(how); i++) {
        struct bundle b = {.head = json_pack("{s:b}", how[i], 1)};
        struct finding f;
        char said[40];
        put_values(&b.rows, "memory_latency.load{level=l2}", "cycles", ROW_LOWER, value, 1);
        assert_int_equal(verdict_of("C05", &b, &f), CLAIM_NOT_TESTABLE);
        snprintf(said, sizeof said, "(measured with --%s)", how[i]);
        assert_non_null(strstr(f.evidence, said));
        json_decref(b.head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directly),
        cmocka_unit_test(only_through_dram),
        cmocka_unit_test(one_run),
    };
    return cmocka_run_group_tests_name("claims communication", tests, NULL, NULL);
}
