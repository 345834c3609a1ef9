/* A verdict near its threshold: the ledger moves each threshold by 10 %, and says so where another
 * verdict would come out. Tried on planted rules, and on every claim that a committed bundle
 * decides. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/bundle/folder.h"
#include "report/claims/rules.h"
#include "tests/unit/test_claims_help.h"

#define L1 "memory_latency.load{level=l1}"
static const double MOST = 40, LEAST = 30, MARGIN = 0.05, CONTROL = 100;

static const struct need needs[] = {{NEED_ONE, L1}, NEEDS_END};

/* REPRODUCED from 30 to 40; the control must lie below 100; an aside has a margin of its own. */
static void judge_planted(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row l1;
    if (!rule_take(bundle, L1, &l1, f))
        return;
    const double margin = 1 + RULE_LIMIT(&aside, MARGIN);
    const bool positive = l1.high < RULE_LIMIT(f, CONTROL) * margin;
    rule_say_row(f, "a load", &l1);
    const double least = RULE_LIMIT(f, LEAST), most = RULE_LIMIT(f, MOST);
    rule_conclude(f, rule_band(rule_place(&l1, least, most)), positive, true);
}

static struct finding planted(double cycles)
{
    const struct claim claim = {.id = "C0", .judge = judge_planted, .needs = NEEDS(needs)};
    struct bundle b = {0};
    struct finding f;
    put_spread(&b.rows, L1, "cycles", ROW_LOWER, cycles, 0.1, 7);
    claim_judge(&claim, &b, &f);
    rows_free(&b.rows);
    return f;
}

static const char *near(const struct finding *f)
{
    return strstr(f->evidence, "near its threshold");
}

static void far_from_all(void **unused)
{
    (void)unused;
    struct finding f = planted(35);
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    assert_null(near(&f));
    assert_int_equal(f.n_limits, 4); /* each once, of the aside too, in the order of use */
    assert_string_equal(f.limit[0], "MARGIN");
    assert_string_equal(f.limit[3], "MOST");
    f = planted(60);
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_null(near(&f));
}

static void near_to_one(void **unused)
{
    (void)unused;
    struct finding f = planted(31.5); /* 33 would be too much */
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    assert_non_null(
        strstr(f.evidence, "; near its threshold: with 10 % more for LEAST it is REFUTED"));
    assert_null(strstr(f.evidence, "less for LEAST"));
    f = planted(38); /* 36 would be too little */
    assert_non_null(strstr(f.evidence, "with 10 % less for MOST it is REFUTED"));
    f = planted(42);
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "with 10 % more for MOST it is REPRODUCED"));
    f = planted(33); /* the moved threshold cuts the interval */
    assert_non_null(strstr(f.evidence, "with 10 % more for LEAST it is MIXED"));
}

/* A control counts as well, and so does a margin: 1 + 0.05, not 1.05, is moved. */
static void near_to_a_control(void **unused)
{
    (void)unused;
    struct finding f = planted(104.7); /* 100 * 1.045 is less */
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "with 10 % less for MARGIN it is NOT TESTABLE"));
    assert_non_null(strstr(f.evidence, "with 10 % less for CONTROL it is NOT TESTABLE"));
    assert_null(strstr(f.evidence, "10 % more for MARGIN"));
    f = planted(108); /* the control fails already: nothing is decided, and nothing is near */
    assert_int_equal(f.verdict, CLAIM_NOT_TESTABLE);
    assert_null(near(&f));
}

/* --- 3 % faster ------------------------------------------------------------------------------- */

static double slower_by; /* of the second row */

static void judge_faster(const struct bundle *bundle, struct finding *f)
{
    struct row l1;
    if (!rule_take(bundle, L1, &l1, f))
        return;
    struct row slow = l1;
    slow.low = slow.centre = slow.high = slower_by * l1.centre;
    rule_say_row(f, "a load", &l1);
    rule_conclude(f, rule_faster(f, &l1, &slow) ? CLAIM_REPRODUCED : CLAIM_REFUTED, true, true);
}

static struct finding faster(double by)
{
    const struct claim claim = {.id = "C0", .judge = judge_faster, .needs = NEEDS(needs)};
    struct bundle b = {0};
    struct finding f;
    slower_by = by;
    put_spread(&b.rows, L1, "cycles", ROW_LOWER, 1000, 0, 7);
    claim_judge(&claim, &b, &f);
    rows_free(&b.rows);
    return f;
}

/* The 3 % of rule_faster() are moved as every threshold is. */
static void near_to_faster(void **unused)
{
    (void)unused;
    struct finding f = faster(1.05);
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    assert_int_equal(f.n_limits, 1);
    assert_string_equal(f.limit[0], "FASTER");
    assert_null(near(&f));
    f = faster(1.032); /* 0.033 * 1032 is more than 32 */
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "with 10 % more for FASTER it is REFUTED"));
    f = faster(1.03); /* 30 is less than 0.03 * 1030, and more than 0.027 * 1030 */
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_non_null(strstr(f.evidence, "with 10 % less for FASTER it is REPRODUCED"));
    f = faster(1.01);
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_null(near(&f));
}

/* --- counts ----------------------------------------------------------------------------------- */

static size_t n_right;
static const double MISSED = 0.10;

/* 0.90 of 35 must be right: between two counts, where the threshold may be moved without effect. */
static void judge_counts(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row l1;
    if (!rule_take(bundle, L1, &l1, f))
        return;
    const size_t right = rule_tally(&aside, "loads that are right", n_right);
    const double share = (double)right / 35;
    rule_say_row(f, "a load", &l1);
    rule_conclude(f, share >= 1 - RULE_LIMIT(f, MISSED) ? CLAIM_REPRODUCED : CLAIM_REFUTED, true,
                  true);
}

static struct finding counted(size_t right)
{
    const struct claim claim = {.id = "C0", .judge = judge_counts, .needs = NEEDS(needs)};
    struct bundle b = {0};
    struct finding f;
    n_right = right;
    put_spread(&b.rows, L1, "cycles", ROW_LOWER, 35, 0.1, 7);
    claim_judge(&claim, &b, &f);
    rows_free(&b.rows);
    return f;
}

static void one_less_or_more(void **unused)
{
    (void)unused;
    struct finding f = counted(32); /* 0.914: neither 0.89 nor 0.91 is more */
    assert_int_equal(f.verdict, CLAIM_REPRODUCED);
    assert_non_null(strstr(f.evidence, "with one less of the loads that are right it is REFUTED"));
    assert_null(strstr(f.evidence, "MISSED it is"));
    assert_null(strstr(f.evidence, "one more"));
    f = counted(31);
    assert_int_equal(f.verdict, CLAIM_REFUTED);
    assert_non_null(
        strstr(f.evidence, "with one more of the loads that are right it is REPRODUCED"));
    f = counted(34);
    assert_null(near(&f));
    f = counted(0); /* none less than none */
    assert_null(near(&f));
}

/* --- the committed bundles -------------------------------------------------------------------- */

static size_t decided, limits;

/* Does the evidence name just those thresholds that change the verdict? */
static void check_claim(const struct claim *claim, const struct bundle *bundle)
{
    static const struct {
        double by;
        const char *word;
    } moves[] = {{0.9, "less"}, {1.1, "more"}};
    struct finding f;

    claim_judge(claim, bundle, &f);
    assert_true(f.n_limits < CLAIM_LIMITS); /* none was left out */
    if (f.verdict == CLAIM_NOT_TESTABLE || f.verdict == CLAIM_OPEN)
        return;
    decided++;
    for (size_t i = 0; i < f.n_limits; i++, limits++)
        for (size_t k = 0; k < 2; k++) {
            struct finding moved = {.claim = claim,
                                    .verdict = CLAIM_NOT_TESTABLE,
                                    .moved = f.limit[i],
                                    .by = moves[k].by};
            char said[200];
            claim->judge(bundle, &moved);
            snprintf(said, sizeof said, "with %s %s %s %s it is %s", f.is_count[i] ? "one" : "10 %",
                     moves[k].word, f.is_count[i] ? "of the" : "for", f.limit[i],
                     claim_verdict_name(moved.verdict));
            if ((strstr(f.evidence, said) != NULL) != (moved.verdict != f.verdict))
                fail_msg("%s: \"%s\" is%s said, by a verdict of %s", claim->id, said,
                         strstr(f.evidence, said) ? "" : " not", claim_verdict_name(f.verdict));
        }
}

static bool differs(const void *programs, const char *probe, int method, const json_t *cubins)
{
    (void)programs, (void)probe, (void)method, (void)cubins;
    return false;
}

static void what_a_bundle_decides(void **unused)
{
    const struct folder_tree tree = {.differs = differs};
    char why[DOCUMENT_WHY];
    struct bundle bundle;
    (void)unused;

    if (!folder_open(&bundle, "results/nvidia-h200", &tree, why))
        fail_msg("%s (run it in the root of the repository)", why);
    for (size_t i = 0; claim_at(i); i++)
        check_claim(claim_at(i), &bundle);
    print_message("%zu claims are decided, by %zu thresholds\n", decided, limits);
    assert_true(decided > 40);
    bundle_free(&bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(far_from_all),      cmocka_unit_test(near_to_one),
        cmocka_unit_test(near_to_a_control), cmocka_unit_test(near_to_faster),
        cmocka_unit_test(one_less_or_more),  cmocka_unit_test(what_a_bundle_decides),
    };
    return cmocka_run_group_tests_name("verdicts near their thresholds", tests, NULL, NULL);
}
