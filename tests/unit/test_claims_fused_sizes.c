/* The claim about kernels of fixed sizes: each verdict, and no verdict without its controls. */
#include "tests/unit/test_claims_help.h"

/* Times of sizes as arguments over fixed ones at 4096 keys, of fixed over arguments at fewer; what
 * 8192 keys take over 512; and the controls. */
struct c32 {
    double own, at_3072, at_2048, at_1024, at_512, sees, again, pins, caught;
};
static const struct c32 useful = {1.01, 1.03, 1.08, 1.12, 1.15, 1.5, 1.0, 0.66, 1};

static void put(struct bundle *b, const char *keys, const char *impl, double centre, double spread)
{
    char id[160];
    snprintf(id, sizeof id, "fixed_sizes.time{context=%s,impl=%s,l2=cold,timer=event}", keys, impl);
    put_spread(&b->rows, id, "ns", ROW_LOWER, centre, spread * centre, 7);
}

static enum claim_verdict c32(struct c32 c)
{
    static const char *const keys[] = {"3072", "2048", "1024", "512"};
    const double others[] = {c.at_3072, c.at_2048, c.at_1024, c.at_512};
    const double caught[] = {c.caught, c.caught};
    struct bundle b = {0};
    put(&b, "4096", "fixed", 16000, 0);
    put(&b, "4096", "given", 16000 * c.own, 0.005);
    put(&b, "4096", "again", 16000 * c.own * c.again, 0.005);
    put(&b, "8192", "given", 12000 * c.sees, 0.005);
    put(&b, "512", "capped", 12500, 0.005);
    for (size_t i = 0; i < CHECK_LENGTH(keys); i++) {
        put(&b, keys[i], "given", 12000, 0);
        put(&b, keys[i], "fixed", 12000 * others[i], 0.005);
    }
    put_spread(&b.rows, "fixed_sizes.share_of_pins{context=4096,impl=given,l2=cold}", "ratio",
               ROW_HIGHER, c.pins, 0.005, 7);
    struct row *row = put_values(&b.rows, "fixed_sizes.caught{context=8192,impl=beyond,l2=cold}",
                                 "ratio", ROW_HIGHER, caught, 2);
    row->once = true;
    row_finish(row);
    return verdict("C32", &b);
}

static void fixed_sizes(void **unused)
{
    struct c32 c = useful;
    (void)unused;
    assert_int_equal(c32(c), CLAIM_REFUTED);
    c.own = 1.07; /* neither a tenth nor nothing */
    assert_int_equal(c32(c), CLAIM_MIXED);
    c.own = 1.15;
    assert_int_equal(c32(c), CLAIM_REPRODUCED);
    c = useful, c.at_512 = 1.3; /* at one of the other sizes */
    assert_int_equal(c32(c), CLAIM_REPRODUCED);
    c = useful, c.at_2048 = 1.2; /* straddles */
    assert_int_equal(c32(c), CLAIM_MIXED);
    c = useful, c.own = 1.15, c.at_512 = 1.5;
    assert_int_equal(c32(c), CLAIM_REPRODUCED);
}

static void controls_of_fixed_sizes(void **unused)
{
    struct c32 c = useful;
    (void)unused;
    c.sees = 1.05; /* keys are not seen in the time */
    assert_int_equal(c32(c), CLAIM_NOT_TESTABLE);
    c = useful, c.again = 1.06; /* two cases of one kernel differ */
    assert_int_equal(c32(c), CLAIM_NOT_TESTABLE);
    c = useful, c.pins = 0.3; /* a slow kernel hides what sizes cost */
    assert_int_equal(c32(c), CLAIM_NOT_TESTABLE);
    c = useful, c.caught = 0.5;
    assert_int_equal(c32(c), CLAIM_NOT_TESTABLE);
    c = (struct c32){1, 1, 1, 1, 1, 1, 1, 1, 1}; /* a timer that is stuck */
    assert_int_equal(c32(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fixed_sizes),
                                       cmocka_unit_test(controls_of_fixed_sizes)};
    return cmocka_run_group_tests_name("claims fused sizes", tests, NULL, NULL);
}
