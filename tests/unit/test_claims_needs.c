/* Needs: what one covers, and that a judge gets nothing that its claim does not name. */
#include "report/bundle/needs.h"
#include "report/claims/rules.h"
#include "tests/unit/test_claims_help.h"

#define L1 "memory_latency.load{level=l1}"
#define L2 "memory_latency.load{level=l2}"
#define FORMED "gemv.rate{m=%d,k=%d,impl=%s,l2=cold}"

static void what_a_need_covers(void **unused)
{
    (void)unused;
    assert_true(need_covers(L1, L1));
    assert_false(need_covers(L1, L2));
    assert_true(need_covers("edges.step{mode=graph,*", "edges.step{mode=graph,blocks=sm}"));
    assert_false(need_covers("edges.step{mode=graph,*", "edges.step{mode=stream,blocks=sm}"));
    assert_true(need_covers("a.b{c=[xy]*}", "a.b{c=[xy]*}")); /* a glob covers itself */
    assert_true(need_covers("a.b{c=%.2f,d=%zu,e=%s}", "a.b{c=0.50,d=12,e=*}"));
    assert_false(need_covers("a.b{c=%d}", "a.c{c=1}"));
    assert_false(need_covers(FORMED, "gemv.rate{m=1,k=2,impl=own,l2=warm}"));
}

static void its_metric(void **unused)
{
    char metric[DOCUMENT_ID];
    (void)unused;
    need_metric(metric, FORMED);
    assert_string_equal(metric, "gemv.rate");
    need_metric(metric, "*.ulps{*");
    assert_string_equal(metric, "ulps");
}

static const struct need own_needs[] = {{NEED_ONE, L1}, {NEED_ANY, FORMED}, NEEDS_END};

static void judge_within(const struct bundle *bundle, struct finding *f)
{
    struct row row;
    size_t next = 0;
    assert_true(rule_take(bundle, L1, &row, f));
    assert_true(rule_look_up(bundle, L1, &row, f));
    assert_false(rule_take_formed(bundle, &row, f, FORMED, 1, 2, "own")); /* not in the bundle */
    assert_non_null(rule_find(bundle, L1, f));
    assert_non_null(rule_next(bundle, L1, &next, f));
}

/* Every way to a row that its claim does not name, which is in the bundle. */
static void judge_beyond(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row row;
    size_t next = 0;
    assert_false(rule_take(bundle, L2, &row, f));
    assert_false(rule_take_best(bundle, "memory_latency.load{*}", &row, f));
    assert_false(rule_look_up(bundle, L2, &row, f));
    assert_false(rule_take(bundle, L2, &row, &aside));
    assert_null(rule_find(bundle, L2, f));
    assert_null(rule_next(bundle, L2, &next, f));
    assert_null(rule_beside(bundle, rows_find(&bundle->rows, L1), NULL, "level", "l2", f));
}

static struct finding judged(void (*judge)(const struct bundle *, struct finding *))
{
    const struct claim claim = {.id = "C0", .judge = judge, .needs = NEEDS(own_needs)};
    struct bundle b = {0};
    struct finding f;
    put_spread(&b.rows, L1, "cycles", ROW_LOWER, 33, 0.1, 7);
    put_spread(&b.rows, L2, "cycles", ROW_LOWER, 280, 1, 7);
    claim_judge(&claim, &b, &f);
    rows_free(&b.rows);
    return f;
}

static void nothing_else_is_given(void **unused)
{
    (void)unused;
    assert_int_equal(judged(judge_within).n_refused, 0);
    const struct finding f = judged(judge_beyond);
    assert_int_equal(f.n_refused, 7);
    assert_int_equal(f.verdict, CLAIM_NOT_TESTABLE);
    assert_non_null(strstr(f.evidence, L2 " is none of the claim's needs"));
}

/* In the bundle, and of a draft: no way leads there. */
static void judge_draft(const struct bundle *bundle, struct finding *f)
{
    struct finding aside = rule_aside(f);
    struct row row;
    size_t next = 0;
    assert_false(rule_take(bundle, L1, &row, &aside));
    assert_false(rule_take_formed(bundle, &row, &aside, FORMED, 1, 2, "own"));
    assert_false(rule_take_best(bundle, L1, &row, &aside));
    assert_false(rule_take_counted(bundle, "dram_bytes", L1, &row, &aside));
    assert_false(rule_look_up(bundle, L1, &row, f));
    assert_null(f->evidence[0] ? f->evidence : NULL); /* an aside has no effect */
    assert_null(rule_find(bundle, L1, f));
    assert_null(rule_next(bundle, L1, &next, f));
    assert_null(rule_beside(bundle, rows_find(&bundle->rows, L2), NULL, "level", "l1", f));
    assert_int_equal(f->why, WHY_DRAFT);
}

static void no_draft_is_given(void **unused)
{
    static const struct need draft_needs[] = {
        {NEED_ONE, L1}, {NEED_ANY, FORMED}, {NEED_COUNTED, "dram_bytes of " L1}, NEEDS_END};
    const struct claim claim = {.id = "C0", .judge = judge_draft, .needs = NEEDS(draft_needs)};
    struct part part = {.name = (char[]){"memory_latency"}, .draft = (char[]){"it waits"}};
    struct bundle b = {.parts = &part, .n_parts = 1};
    struct finding f;
    (void)unused;
    put_spread(&b.rows, L1, "cycles", ROW_LOWER, 33, 0.1, 7);
    put_spread(&b.rows, L2, "cycles", ROW_LOWER, 280, 1, 7);
    put_counted(&b, "dram_bytes", L1, 1e6);
    assert_true(bundle_index(&b));
    claim_judge(&claim, &b, &f);
    assert_int_equal(f.verdict, CLAIM_NOT_TESTABLE);
    assert_string_equal(f.lacks, L1 ": it waits");
    assert_string_equal(f.evidence, L1 " is of a draft: it waits"); /* once */
    part.draft = NULL;
    assert_null(bundle_draft(&b, L1));
    rows_free(&b.rows);
    rows_free(&b.counted);
    index_free(&b.programs);
}

static void every_claim_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; claim_at(i); i++)
        assert_non_null(claim_at(i)->needs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_need_covers),
        cmocka_unit_test(its_metric),
        cmocka_unit_test(nothing_else_is_given),
        cmocka_unit_test(no_draft_is_given),
        cmocka_unit_test(every_claim_says),
    };
    return cmocka_run_group_tests_name("what claims need", tests, NULL, NULL);
}
