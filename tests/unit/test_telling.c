/* The ledger told to readers: words, sentences, classes of what cannot be told, the order. */
#include <stdlib.h>

#include "core/document.h"
#include "report/claims/rules.h"
#include "report/claims/telling.h"
#include "tests/unit/test_report_help.h"

static const struct need needs[] = {
    {NEED_ONE, "p.time{a=*}"}, {NEED_ONE, "p.share{a=*}"}, NEEDS_END};
static const double LIMIT = 0.5;

/* Half or more; a limit, a control and a part that rows decide. */
static void judge(const struct bundle *bundle, struct finding *f)
{
    struct row time, share;
    if (!RULE_TAKE(bundle, needs, f, &time, &share))
        return;
    const double limit = RULE_LIMIT(f, LIMIT);
    const enum claim_verdict half = rule_band(rule_place(&share, limit, INFINITY));
    rule_say_row(f, "it takes", &time);
    rule_say_figure(f, "time", &time);
    rule_say_figure(f, "share", &share);
    rule_say_count(f, "rounds", 2000000);
    rule_say_part(f, "a long row", half, &share, limit);
    rule_say_part(f, "a short one", CLAIM_REPRODUCED, NULL, NAN);
    rule_say_control(f, true, time.centre > 1, "it takes more than 1", &time);
    rule_conclude(f, half, time.centre > 1, true);
}

static const struct claim claim = {.id = "C24",
                                   .article = "a",
                                   .quote = "one two three four",
                                   .statement = "It is half.",
                                   .rule = "Half.",
                                   .judge = judge,
                                   .plain = {.yes = "{time}, {share:%}, {share:change}, {rounds}.",
                                             .no = "{share:range} under {LIMIT}, {LIMIT:%}.",
                                             .partly = "{parts}."},
                                   .needs = NEEDS(needs)};

static struct bundle bundle_of(double ns, double share, double spread, size_t n)
{
    struct bundle b = {.head = json_object()};
    put_spread(&b.rows, "p.time{a=1}", "ns", ROW_LOWER, ns, 0.01 * ns, n);
    put_spread(&b.rows, "p.share{a=1}", "ratio", ROW_HIGHER, share, spread, n);
    return b;
}

static struct telling *told(const struct claim *one, struct bundle b)
{
    struct telling *t = calloc(1, sizeof *t);
    assert_non_null(t);
    telling_judge(t, one, &b);
    json_decref(b.head);
    rows_free(&b.rows);
    return t;
}

static void says(const struct claim *one, struct bundle b, const char *sentence, enum claim_why why,
                 bool generic)
{
    struct telling *t = told(one, b);
    assert_string_equal(t->sentence, sentence);
    assert_int_equal(t->finding.why, why);
    assert_int_equal(t->is_generic, generic);
    free(t);
}

static void sentences(void **unused)
{
    struct claim bare = claim, wrong = claim;
    (void)unused;
    says(&claim, bundle_of(4830, 0.86, 0.01, 7), "4.83 us, 86 %, 14 % less, 2 million.", WHY_NONE,
         false);
    says(&claim, bundle_of(4830, 0.25, 0.01, 7), "0.24 to 0.26 under 0.5, 50 %.", WHY_NONE, false);
    says(&claim, bundle_of(4830, 0.5, 0.01, 7),
         "A short one: holds; a long row (0.49 to 0.51): between, limit 0.5.", WHY_NONE, false);
    bare.plain.no = "{share:%}.";
    says(&bare, bundle_of(4830, -0.10478, 0.01, 7), "-10 %.", WHY_NONE, false);
    says(&bare, bundle_of(4830, -0.0524, 0.001, 7), "-5.2 %.", WHY_NONE, false);
    says(&bare, bundle_of(4830, -0.00524, 0.0001, 7), "-0.52 %.", WHY_NONE, false);
    says(&bare, bundle_of(4830, -0.9912, 0.01, 7), "-99.1 %.", WHY_NONE, false);
    bare.plain.yes = NULL;
    says(&bare, bundle_of(4830, 0.86, 0.01, 7), "Holds: It is half.", WHY_NONE, true);
    wrong.plain.yes = "It takes {tme}.";
    says(&wrong, bundle_of(4830, 0.86, 0.01, 7), "Holds: It is half.", WHY_NONE, true);
}

static void refuse(const struct bundle *bundle, struct finding *f)
{
    (void)bundle;
    rule_say_why(f, WHY_OTHER_GPU, "an L40S");
    rule_not_testable(f, "recorded");
}

/* A control of which the value follows in the list of controls. */
static void fail_at(const struct bundle *bundle, struct finding *f)
{
    struct row time, share;
    if (!RULE_TAKE(bundle, needs, f, &time, &share))
        return;
    rule_say_control(f, false, false, "from run to run it grows, too, at", &share);
    rule_conclude(f, CLAIM_REPRODUCED, true, false);
}

static void classes(void **unused)
{
    struct bundle none = {.head = json_object()};
    struct claim other = claim;
    (void)unused;
    says(&claim, none, "Not measured: p.time; run `p`.", WHY_MISSING, false);
    says(&claim, bundle_of(4830, 0.86, 0.01, 3),
         "Not steady: p.time has too few runs; run `p` again.", WHY_UNSTEADY, false);
    says(&claim, bundle_of(0.5, 0.86, 0.01, 7), "A control failed: it takes more than 1.",
         WHY_CONTROL, false);
    other.judge = fail_at;
    says(&other, bundle_of(4830, 0.86, 0.01, 7), "A control failed: from run to run it grows, too.",
         WHY_CONTROL, false);
    other.judge = refuse;
    says(&other, bundle_of(4830, 0.86, 0.01, 7), "Only an L40S can tell.", WHY_OTHER_GPU, false);
}

/* Over the whole ledger, of which an empty bundle decides nothing. */
static void all_claims(void **unused)
{
    struct bundle none = {.head = json_object()};
    struct tellings t;
    size_t count[TELLING_VERDICTS], sum = 0, n = 0;
    const char *source;
    (void)unused;
    assert_true(tellings_open(&t, &none, NULL));
    assert_int_equal(tellings_count(&t, NULL, count), t.n);
    assert_int_equal(count[CLAIM_NOT_TESTABLE] + count[CLAIM_OPEN], t.n);
    while ((source = claim_source(n))) {
        const size_t of_it = tellings_count(&t, source, count);
        assert_true(of_it > 0);
        sum += of_it;
        n++;
    }
    assert_int_equal(sum, t.n);
    assert_string_equal(claim_source(n - 1), claim_own);
    assert_null(tellings_surprising(&t, 0));
    assert_non_null(tellings_find(&t, "C10"));
    assert_null(tellings_find(&t, "C00"));
    t.telling[3].finding.verdict = t.telling[5].finding.verdict = CLAIM_REFUTED;
    const struct telling *first = tellings_surprising(&t, 0), *next = tellings_surprising(&t, 1);
    assert_true(first->claim->surprise >= next->claim->surprise && first != next);
    assert_null(tellings_surprising(&t, 2));
    tellings_free(&t);
    json_decref(none.head);
}

static void words(void **unused)
{
    struct claim beside = claim;
    char text[64];
    (void)unused;
    assert_string_equal(telling_word(CLAIM_MIXED), "partly");
    assert_string_equal(telling_class(WHY_NEVER), "never");
    assert_string_equal(telling_quote(&claim, 2, text, sizeof text), "one two [...]");
    assert_string_equal(telling_quote(&claim, 4, text, sizeof text), "one two three four");
    beside.id = "C24b";
    assert_true(telling_is_beside(&claim, &beside));
    beside.id = "C25";
    assert_false(telling_is_beside(&claim, &beside));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sentences), cmocka_unit_test(classes),
                                       cmocka_unit_test(all_claims), cmocka_unit_test(words)};
    return cmocka_run_group_tests_name("telling", tests, NULL, NULL);
}
