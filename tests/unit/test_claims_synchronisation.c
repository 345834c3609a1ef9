/* Claims about waiting for other SMs: each verdict, and no verdict without its controls. */
#include <stdio.h>

#include "tests/unit/test_claims_help.h"

/* A count of the first and the last round. */
static void count(struct bundle *b, const char *id, double value)
{
    const double values[] = {value, value};
    struct row *row = put_values(&b->rows, id, "count", ROW_EXACT, values, 2);
    row->once = true;
    row_finish(row);
}

/* --- C01 -------------------------------------------------------------------------------------- */

#define BLOCK "{scope=block,barrier=syncthreads,blocks=1,rounds=100000}"
#define PAIR "{scope=cluster,barrier=ordered,blocks=2,rounds=100000}"
#define CONTROL(scope, barrier, blocks)                                                          \
    "barriers.control_violates{scope=" scope ",barrier=" barrier ",blocks=" blocks ",rounds=10000}"
#define SYNC "{scope=grid,barrier=sync,blocks=sm,rounds=1000000}"

struct c01 {
    double block, pair, pair_sms, sync, sync_sms;
    double none, unacquired;     /* of the grid */
    double pair_none, pair_weak; /* of a cluster of two */
    bool refused;                /* the grid's barrier */
    bool one_control;            /* of the grid */
};
static const struct c01 works = {0, 0, 2, 0, 132, 1, 1, 1, 1, false, false};

static enum claim_verdict c01(struct c01 c, struct finding *f)
{
    struct bundle b = {0};
    count(&b, "barriers.violations" BLOCK, c.block);
    count(&b, "barriers.sms" BLOCK, 1);
    count(&b, "barriers.violations" PAIR, c.pair);
    count(&b, "barriers.sms" PAIR, c.pair_sms);
    if (c.refused) {
        row_finish(rows_get(&b.rows, "barriers.violations" SYNC, "count", ROW_EXACT));
    } else {
        count(&b, "barriers.violations" SYNC, c.sync);
        count(&b, "barriers.sms" SYNC, c.sync_sms);
    }
    count(&b, CONTROL("cluster", "none", "2"), c.pair_none);
    count(&b, CONTROL("cluster", "relaxed", "2"), c.pair_weak);
    count(&b, CONTROL("grid", "none", "sm"), c.none);
    if (!c.one_control)
        count(&b, CONTROL("grid", "unacquired", "sm"), c.unacquired);
    put_spread(&b.rows, "barriers.grid_time{barrier=sync,per_sm=1,threads=256,store=none,"
               "timer=device}", "ns", ROW_LOWER, 1000, 10, 7);
    put_spread(&b.rows, "barriers.block_time{barrier=syncthreads,warps=8,timer=device}", "ns",
               ROW_LOWER, 20, 0.1, 7);
    return verdict_of("C01", &b, f);
}

static void barriers_across_sms(void **unused)
{
    struct c01 c = works;
    struct finding f;
    (void)unused;
    assert_int_equal(c01(c, &f), CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "grid barrier (sync) over 132 SMs: 0 violations in 1"));
    assert_non_null(strstr(f.evidence, "C01b")); /* the price: about 50 */
    assert_non_null(strstr(f.evidence, "50"));
    c.sync = 3; /* pairs still keep the order */
    assert_int_equal(c01(c, &f), CLAIM_REFUTED);
    c.pair = 1;
    assert_int_equal(c01(c, &f), CLAIM_REPRODUCED);
    c.pair = 0, c.pair_sms = 1; /* sound, but within one SM */
    assert_int_equal(c01(c, &f), CLAIM_REPRODUCED);
    c.sync_sms = 1;
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c = works, c.refused = true; /* pairs are not */
    assert_int_equal(c01(c, &f), CLAIM_REFUTED);
    c.pair = 1;
    assert_int_equal(c01(c, &f), CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "grid barrier (sync) refused"));
}

static void blind_oracles(void **unused)
{
    struct c01 c = works;
    struct finding f;
    (void)unused;
    c.none = 0; /* sees nothing even without a barrier */
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c = works, c.unacquired = 0; /* sees that nobody waits, but not that nothing is ordered */
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c = works, c.one_control = true; /* was not asked to */
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c = works, c.block = 2; /* sees violations where there are none */
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
}

/* Pairs keep the order, but so do blocks of a cluster without a barrier, or with a weak one. */
static void blind_to_pairs(void **unused)
{
    struct c01 c = works;
    struct finding f;
    (void)unused;
    c.pair_none = 0; /* the grid's is sound, and seen to be */
    assert_int_equal(c01(c, &f), CLAIM_REFUTED);
    c.sync = 3;
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c.pair_none = 1, c.pair_weak = 0;
    assert_int_equal(c01(c, &f), CLAIM_NOT_TESTABLE);
    c.pair_weak = 1;
    assert_int_equal(c01(c, &f), CLAIM_REFUTED);
}

/* --- C02 and C02b ----------------------------------------------------------------------------- */

static const char *const sizes[] = {"0.5xcapacity", "1xcapacity", "1xcapacity+1", "2xcapacity"};

static void put_scene(struct bundle *b, const char *scene, const char *launch, const char *blocks,
                      char outcome)
{
    char id[160];
    snprintf(id, sizeof id, "deadlock.completed{scene=%s,launch=%s,blocks=%s}", scene, launch,
             blocks);
    count(b, id, outcome == '1');
    snprintf(id, sizeof id, "deadlock.refused{scene=%s,launch=%s,blocks=%s}", scene, launch,
             blocks);
    count(b, id, outcome == 'r');
}

/* Outcomes at the four sizes, as "1100" and "11rr", and of the launch whose last block quits. */
static enum claim_verdict c02(const char *id, const char *ordinary, const char *cooperative,
                              char quits)
{
    struct bundle b = {0};
    struct finding f;
    for (size_t i = 0; i < 4; i++) {
        put_scene(&b, "alone", "ordinary", sizes[i], ordinary[i]);
        put_scene(&b, "alone", "cooperative", sizes[i], cooperative[i]);
    }
    put_scene(&b, "one_quits", "cooperative", "1xcapacity", quits);
    put_scene(&b, "overtaken", "ordinary", "0.75xcapacity", '0');
    put_scene(&b, "overtaken", "cooperative", "0.75xcapacity", '1');
    enum claim_verdict verdict = verdict_of(id, &b, &f);
    assert_non_null(strstr(f.evidence, strcmp(id, "C02") ? "the second overtaking: completes"
                                                         : "the second overtaking: deadlocks"));
    return verdict;
}

static void oversubscribed(void **unused)
{
    (void)unused;
    assert_int_equal(c02("C02", "1100", "11rr", '0'), CLAIM_REPRODUCED);
    assert_int_equal(c02("C02", "1111", "11rr", '0'), CLAIM_REFUTED);
    assert_int_equal(c02("C02", "1110", "11rr", '0'), CLAIM_MIXED);
    assert_int_equal(c02("C02", "1000", "11rr", '0'), CLAIM_MIXED); /* hangs at the capacity, too */
    assert_int_equal(c02("C02", "1100", "11rr", '1'), CLAIM_NOT_TESTABLE); /* sees no deadlock */
    assert_int_equal(c02("C02", "0000", "11rr", '0'), CLAIM_NOT_TESTABLE); /* sees only deadlocks */
}

static void cooperative(void **unused)
{
    (void)unused;
    assert_int_equal(c02("C02b", "1100", "11rr", '0'), CLAIM_REFUTED);
    assert_int_equal(c02("C02b", "1100", "1100", '0'), CLAIM_REPRODUCED);
    assert_int_equal(c02("C02b", "1100", "10rr", '0'), CLAIM_REPRODUCED);
    assert_int_equal(c02("C02b", "1100", "1rrr", '0'), CLAIM_MIXED);
    assert_int_equal(c02("C02b", "1111", "11rr", '0'), CLAIM_NOT_TESTABLE); /* there is no danger */
    assert_int_equal(c02("C02b", "1100", "rrrr", '0'), CLAIM_NOT_TESTABLE); /* refuses everything */
    assert_int_equal(c02("C02b", "0000", "0000", '0'), CLAIM_NOT_TESTABLE); /* nothing completes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_across_sms),
        cmocka_unit_test(blind_oracles),
        cmocka_unit_test(blind_to_pairs),
        cmocka_unit_test(oversubscribed),
        cmocka_unit_test(cooperative),
    };
    return cmocka_run_group_tests_name("claims: synchronisation", tests, NULL, NULL);
}
