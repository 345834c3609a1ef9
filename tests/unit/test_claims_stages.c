/* The claim about two stages on two groups of SMs: each verdict, and no verdict without its
 * controls. */
#include "tests/unit/test_claims_help.h"

/* Throughput of halves over that of all SMs where weights lie, and the controls. */
struct c07 {
    double cold, warm, shared, pins, caught;
};
static const struct c07 useful = {1.0, 1.3, 1.8, 0.88, 1};

static void put(struct bundle *b, const char *id, const char *unit, enum row_better better,
                double centre)
{
    put_spread(&b->rows, id, unit, better, centre, 0.005 * centre, 7);
}

static void put_times(struct bundle *b, const char *metric, double cold, double warm, double shared)
{
    static const struct {
        const char *impl;
        bool is_half;
        int place;
    } ways[] = {
        {"model=4096,hidden=14336,impl=all,l2=cold", false, 0},
        {"model=4096,hidden=14336,impl=dependent,l2=cold", false, 0},
        {"model=4096,hidden=14336,impl=stay,l2=cold", false, 0},
        {"model=4096,hidden=14336,impl=queue,l2=cold", true, 0},
        {"model=2048,hidden=2048,impl=all,l2=warm", false, 1},
        {"model=2048,hidden=2048,impl=stay,l2=warm", false, 1},
        {"model=2048,hidden=2048,impl=queue,l2=warm", true, 1},
        {"model=2048,hidden=2048,impl=stay_shared,l2=warm", false, 2},
        {"model=2048,hidden=2048,impl=turns_shared,l2=warm", false, 2},
        {"model=2048,hidden=2048,impl=queue_shared,l2=warm", true, 2},
        {"model=4096,hidden=14336,impl=green,l2=cold", true, 0},
        {"model=2048,hidden=2048,impl=green,l2=warm", true, 1},
    };
    const double rate[] = {cold, warm, shared}, ns[] = {54000, 4000, 3400};
    for (size_t i = 0; i < CHECK_LENGTH(ways); i++) {
        char id[160];
        const double all = ns[ways[i].place];
        snprintf(id, sizeof id, "two_stages.%s{%s,timer=event}", metric, ways[i].impl);
        const double value = ways[i].is_half ? all / rate[ways[i].place] : all;
        put_spread(&b->rows, id, "ns", ROW_LOWER, value, ways[i].is_half ? 0.01 * value : 0, 7);
    }
}

static enum claim_verdict c07_of(struct c07 c, const char *draft, struct finding *f)
{
    const double caught[] = {c.caught, c.caught};
    struct part part = {.name = (char[]){"two_stages"}, .draft = (char *)(uintptr_t)draft};
    struct bundle b = {.parts = &part, .n_parts = 1};
    put_times(&b, "interval", c.cold, c.warm, c.shared);
    put_times(&b, "latency", 0.8, 0.8, 0.8);
    put(&b, "two_stages.share_of_pins{model=4096,hidden=14336,impl=all,l2=cold}", "ratio",
        ROW_HIGHER, c.pins);
    struct row *row =
        put_values(&b.rows, "two_stages.caught{model=2048,hidden=2048,impl=unwaited,l2=warm}",
                   "ratio", ROW_HIGHER, caught, 2);
    row->once = true;
    row_finish(row);
    assert_true(bundle_index(&b));
    const enum claim_verdict found = verdict_of("C07", &b, f);
    index_free(&b.programs);
    return found;
}

static enum claim_verdict c07(struct c07 c)
{
    struct finding f;
    return c07_of(c, NULL, &f);
}

static void two_groups(void **unused)
{
    struct c07 c = useful;
    struct finding f;
    (void)unused;
    assert_int_equal(c07_of(c, NULL, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "one item takes in device memory, by halves 67.50 us"));
    assert_non_null(strstr(f.evidence, "; by green contexts 67.50 us"));
    assert_non_null(strstr(f.evidence, "; on all SMs 54 us"));
    assert_non_null(strstr(f.evidence, "and in the L2 by halves 5 us"));
    assert_non_null(strstr(f.evidence, "in the L2 by green contexts 5 us"));
    assert_non_null(strstr(f.evidence, "in the L2 on all SMs 4 us"));
    c.cold = 0.92; /* a little slower is still of use */
    assert_int_equal(c07(c), CLAIM_REFUTED);
    c.cold = 0.9; /* straddles */
    assert_int_equal(c07(c), CLAIM_MIXED);
    c.cold = 0.6; /* in one place only */
    assert_int_equal(c07(c), CLAIM_MIXED);
    c.warm = 0.6;
    assert_int_equal(c07(c), CLAIM_MIXED);
    c.shared = 0.6;
    assert_int_equal(c07(c), CLAIM_REPRODUCED);
    c = useful, c.pins = 0.5; /* what halves are compared with is slow */
    assert_int_equal(c07(c), CLAIM_NOT_TESTABLE);
    assert_int_equal(c07_of(useful, "its rival is weak", &f), CLAIM_NOT_TESTABLE);
    c = useful, c.caught = 0.5; /* a missing wait is not seen */
    assert_int_equal(c07(c), CLAIM_NOT_TESTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_groups)};
    return cmocka_run_group_tests_name("claims stages", tests, NULL, NULL);
}
