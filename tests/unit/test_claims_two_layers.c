/* The claim that all SMs work on one layer: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

/* Shares of the time, at least and at most, and the controls. */
struct c08 {
    double values, values_most, turns, turns_most, halves, halves_most, barrier, operations, caught;
};
static const struct c08 drifts = {0.01, 0.03, 0.07, 0.09, 0.01, 0.015, 0.012, 0.13, 1};

static void put(struct bundle *b, const char *metric, const char *impl, double centre)
{
    char id[120];
    snprintf(id, sizeof id, "two_layers.%s{model=8192,hidden=28672,impl=%s}", metric, impl);
    put_spread(&b->rows, id, "ratio", ROW_HIGHER, centre, 0.0005, 7);
}

static enum claim_verdict c08(struct c08 c)
{
    const double caught[] = {c.caught, c.caught};
    struct bundle b = {0};
    put(&b, "layer_overlap_least", "values", c.values);
    put(&b, "layer_overlap_most", "values", c.values_most);
    put(&b, "layer_overlap_least", "turns", c.turns);
    put(&b, "layer_overlap_most", "turns", c.turns_most);
    put(&b, "layer_overlap_least", "halves", c.halves);
    put(&b, "layer_overlap_most", "halves", c.halves_most);
    put(&b, "layer_overlap_most", "barrier", c.barrier);
    put(&b, "overlap_least", "values", 1); /* two operations of one layer: not asked */
    put(&b, "overlap_least", "turns", c.operations);
    put_spread(&b.rows, "two_layers.stamp_error{model=8192,hidden=28672,impl=barrier,timer=device}",
               "ns", ROW_LOWER, 1400, 10, 7);
    struct row *row =
        put_values(&b.rows, "two_layers.caught{model=8192,hidden=28672,impl=unwaited}", "ratio",
                   ROW_HIGHER, caught, 2);
    row->once = true;
    row_finish(row);
    return verdict("C08", &b);
}

static void one_layer(void **unused)
{
    struct c08 c = drifts;
    (void)unused;
    assert_int_equal(c08(c), CLAIM_REFUTED); /* one of them is enough */
    c.turns = 0.05;                          /* straddles */
    assert_int_equal(c08(c), CLAIM_MIXED);
    c.turns = 0.001, c.turns_most = 0.015; /* the other one may be, by what stamps leave open */
    assert_int_equal(c08(c), CLAIM_MIXED);
    c.values = 0.001, c.values_most = 0.015;
    assert_int_equal(c08(c), CLAIM_REPRODUCED);
    c.halves = 0.55, c.halves_most = 0.56; /* a kernel that is built so is one, too */
    assert_int_equal(c08(c), CLAIM_REFUTED);
    c.halves = 0.03, c.halves_most = 0.04;
    assert_int_equal(c08(c), CLAIM_MIXED);
    c.values = 0.2, c.values_most = 0.25;
    assert_int_equal(c08(c), CLAIM_REFUTED);
}

static void controls_of_one_layer(void **unused)
{
    struct c08 c = drifts;
    (void)unused;
    c.barrier = 0.04; /* stamps are too coarse, or the clocks differ */
    assert_int_equal(c08(c), CLAIM_NOT_TESTABLE);
    c = drifts, c.operations = 0.03; /* what is there is not seen */
    assert_int_equal(c08(c), CLAIM_NOT_TESTABLE);
    c = drifts, c.caught = 0.5;
    assert_int_equal(c08(c), CLAIM_NOT_TESTABLE);
    c = (struct c08){1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(c08(c), CLAIM_NOT_TESTABLE);
    c = (struct c08){-1, -1, -1, -1, -1, -1, -1, -1, -1};
    assert_int_equal(c08(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_layer),
                                       cmocka_unit_test(controls_of_one_layer)};
    return cmocka_run_group_tests_name("claims two_layers", tests, NULL, NULL);
}
