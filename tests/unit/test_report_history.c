/* history: spread within sets and between cards, and that what is compared is no part of it. */
#include "tests/unit/test_report_help.h"

#include "report/cli/history.h"

/* A bundle of one probe and one metric, by a card at a commit. */
static void put_bundle(struct bundle *b, const char *card, const char *commit, double centre)
{
    *b = (struct bundle){.parts = calloc(1, sizeof *b->parts), .n_parts = 1};
    b->parts[0] = (struct part){
        .name = strdup("a"), .card = strdup(card), .commit = strdup(commit)};
    assert_true(bundle_index(b));
    put_spread(&b->rows, "a.b", "ns", ROW_LOWER, centre, 0, 7);
}

static struct spread spread_of(struct history *history)
{
    return history_spread(history, rows_find(&history->bundles[0].rows, "a.b"));
}

static void within_and_between(void **unused)
{
    struct history *h = calloc(1, sizeof *h);
    size_t sets, cards;
    (void)unused;
    put_bundle(&h->bundles[h->n++], "A", "1", 100);
    assert_nan(spread_of(h).within); /* of one bundle nothing is known */
    assert_nan(spread_of(h).between);
    put_bundle(&h->bundles[h->n++], "A", "1", 102);
    assert_close(spread_of(h).within, sqrt(2.0) / 101, 1e-12);
    put_bundle(&h->bundles[h->n++], "A", "2", 150); /* another commit: another set, same card */
    assert_close(spread_of(h).within, sqrt(2.0) / 101, 1e-12);
    assert_nan(spread_of(h).between);
    put_bundle(&h->bundles[h->n++], "B", "1", 110);
    const struct spread s = spread_of(h);
    assert_close(s.within, sqrt(2.0) / 101, 1e-12);
    assert_close(s.between, (125.5 - 110) / sqrt(2.0) / ((125.5 + 110) / 2), 1e-12);
    assert_int_equal(s.sets, 3);
    assert_int_equal(s.cards, 2);
    history_count(h, &sets, &cards);
    assert_int_equal(sets, 1); /* of two bundles */
    assert_int_equal(cards, 2);
    history_close(h);
    free(h);
}

static void what_is_compared_is_no_history(void **unused)
{
    struct history *h = calloc(1, sizeof *h);
    struct bundle old, new;
    (void)unused;
    put_bundle(&h->bundles[h->n++], "A", "1", 100);
    put_bundle(&h->bundles[h->n++], "A", "1", 200);
    put_bundle(&h->bundles[h->n++], "A", "2", 100);
    put_bundle(&h->bundles[h->n++], "A", "2", 101);
    put_bundle(&old, "A", "1", 100);
    put_bundle(&new, "B", "3", 100);
    assert_true(spread_of(h).within > 0.3);
    h->compared[0] = &old;
    h->compared[1] = &new;
    assert_close(spread_of(h).within, sqrt(0.5) / 100.5, 1e-12); /* the set of OLD is out */
    assert_int_equal(spread_of(h).sets, 1);
    h->compared[0] = &new;
    h->compared[1] = &old; /* and that of NEW */
    assert_int_equal(spread_of(h).sets, 1);
    bundle_free(&old);
    bundle_free(&new);
    history_close(h);
    free(h);
}

static void another_method_is_no_history(void **unused)
{
    struct history *h = calloc(1, sizeof *h);
    (void)unused;
    put_bundle(&h->bundles[h->n++], "A", "1", 100);
    put_bundle(&h->bundles[h->n++], "A", "1", 200);
    ((struct row *)rows_find(&h->bundles[1].rows, "a.b"))->method = 2;
    assert_nan(spread_of(h).within);
    assert_int_equal(spread_of(h).sets, 1);
    history_close(h);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_and_between),
        cmocka_unit_test(what_is_compared_is_no_history),
        cmocka_unit_test(another_method_is_no_history),
    };
    return cmocka_run_group_tests_name("report history", tests, NULL, NULL);
}
