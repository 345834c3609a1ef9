/* Rows that a judge forms from others: how seldom they are measured, and that one without an
 * interval decides nothing. */
#include <math.h>
#include <stdio.h>

#include "report/claims/rules.h"
#include "tests/unit/test_claims_help.h"

#define A "memory_latency.load{level=l1}"
#define B "memory_latency.load{level=l2}"

static const struct need needs[] = {{NEED_ONE, A}, {NEED_ONE, B}, NEEDS_END};

/* Six rounds from `first` on. */
static void put_from(struct bundle *b, const char *id, int first, double value)
{
    struct row *row = rows_get(&b->rows, id, "cycles", ROW_LOWER);
    for (int i = 0; i < 6; i++)
        row_put(row, first + i, value + i, NAN);
    row_finish(row);
}

static double mean(const double *value, const void *with)
{
    (void)with;
    return (value[0] + value[1]) / 2;
}

/* By a place that is counted, by an end of an interval, by a control, or by a row that is formed of
 * a formed one: without an interval none of them may decide. */
enum by { BY_BAND, BY_COUNT, BY_END, BY_CONTROL, BY_LESS, BY_FORMED, WAYS };
static enum by by;

static void judge_formed(const struct bundle *bundle, struct finding *f)
{
    struct row a, b;
    if (!RULE_TAKE(bundle, needs, f, &a, &b))
        return;
    const struct row *const from[] = {&a, &b};
    const struct row ratio = by == BY_LESS     ? rule_less(f, &a, &b)
                             : by == BY_FORMED ? rule_formed(f, from, 2, NULL, mean, NULL)
                                               : rule_ratio(f, &a, &b);
    const enum place place = rule_place(&ratio, 0, 100);
    enum claim_verdict verdict = CLAIM_REFUTED;
    if (by == BY_BAND)
        verdict = rule_band(place);
    else if (by == BY_CONTROL || place == PLACE_INSIDE || (by == BY_END && ratio.high < 100))
        verdict = CLAIM_REPRODUCED;
    rule_say_control(f, false, ratio.low < 100, "it holds, too", &ratio);
    rule_conclude(f, verdict, true, by == BY_CONTROL ? ratio.low < 100 : true);
}

static struct finding judged(int first_of_b)
{
    const struct claim claim = {.id = "C0", .judge = judge_formed, .needs = NEEDS(needs)};
    struct bundle b = {0};
    struct finding f;
    put_from(&b, A, 0, 60);
    put_from(&b, B, first_of_b, 30);
    claim_judge(&claim, &b, &f);
    rows_free(&b.rows);
    return f;
}

static void too_few_runs_in_common(void **unused)
{
    (void)unused;
    for (by = BY_BAND; by < WAYS; by++) {
        struct finding f = judged(0);
        assert_int_equal(f.verdict, CLAIM_REPRODUCED);
        f = judged(3); /* three rounds in common */
        assert_int_equal(f.verdict, CLAIM_NOT_TESTABLE);
        assert_non_null(strstr(f.evidence, "a row without an interval"));
    }
}

/* A row without an interval that no judge formed, as rule_conclude() sees it. */
static void a_place_that_is_unknown(void **unused)
{
    const struct row none = {.unit = "ratio", .centre = 1, .low = NAN, .high = NAN};
    struct finding f = {.verdict = CLAIM_MIXED};
    (void)unused;
    assert_int_equal(rule_place(&none, 0, 2), PLACE_UNKNOWN);
    assert_int_equal(rule_band(PLACE_UNKNOWN), CLAIM_NOT_TESTABLE);
    rule_conclude(&f, rule_band(rule_place(&none, 0, 2)), true, true);
    assert_int_equal(f.verdict, CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.evidence, "no interval"));
}

/* What is formed of a row that is measured seldom is measured seldom. */
static void as_seldom_as_its_parents(void **unused)
{
    struct row often = {.id = "a", .unit = "ns", .better = ROW_LOWER}, once = often, thrice = often;
    struct finding f = {.verdict = CLAIM_MIXED};
    (void)unused;
    for (int i = 0; i < 7; i++)
        row_put(&often, i, 8, NAN);
    row_put(&once, 0, 2, NAN), row_put(&once, 6, 4, NAN);
    once.once = true;
    row_put(&thrice, 0, 2, NAN), row_put(&thrice, 3, 2, NAN), row_put(&thrice, 6, 4, NAN);
    thrice.thrice = true;

    struct row row = rule_ratio(&f, &often, &once);
    assert_true(row.once && !row.thrice && row.low == 2 && row.high == 4);
    row = rule_less(&f, &thrice, &often);
    assert_true(row.thrice && !row.once && row.low == -6 && row.high == -4);
    row = rule_rate(&f, &thrice, 2, "bytes/s");
    assert_true(row.thrice && row.better == ROW_HIGHER && row.high == 1e9);
    row = rule_ratio(&f, &once, &thrice);
    assert_true(row.once && row.thrice && row.n == 2);
    row = rule_ratio(&f, &often, &often);
    assert_true(!row.once && !row.thrice && row.n == 7);
}

static void judge_aside(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row a, b;
    if (!RULE_TAKE(bundle, needs, f, &a, &b))
        return;
    const struct row said = rule_ratio(&aside, &a, &b);
    assert_true(isnan(said.low));
    rule_say(f->evidence, "beside it %.1f", said.centre);
    rule_conclude(f, CLAIM_REPRODUCED, true, true);
}

/* What is only said decides nothing, and hinders nothing. */
static void formed_for_an_aside(void **unused)
{
    const struct claim claim = {.id = "C0", .judge = judge_aside, .needs = NEEDS(needs)};
    struct bundle b = {0};
    struct finding f;
    (void)unused;
    put_from(&b, A, 0, 60);
    put_from(&b, B, 3, 30);
    claim_judge(&claim, &b, &f);
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    rows_free(&b.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_runs_in_common),
        cmocka_unit_test(formed_for_an_aside),
        cmocka_unit_test(a_place_that_is_unknown),
        cmocka_unit_test(as_seldom_as_its_parents),
    };
    return cmocka_run_group_tests_name("rows that judges form", tests, NULL, NULL);
}
