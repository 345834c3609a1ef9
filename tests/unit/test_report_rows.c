/* Rows: aggregation over runs, statuses, and the choice of the best of several. */
#include "tests/unit/test_report_help.h"

#include "core/document.h"
#include "report/bundle/bundle.h"

static void centre_and_interval(void **unused)
{
    struct rows rows = {0};
    const double values[] = {5, 1, 7, 3, 2, 6, 4};
    (void)unused;

    const struct row *row = put_values(&rows, "a.b", "ns", ROW_LOWER, values, 7);
    assert_true(row->centre == 4 && row->low == 1 && row->high == 7 && row->best == 4);
    assert_int_equal(row->status, ROW_OK);
    row = put_values(&rows, "a.six", "ns", ROW_LOWER, values, 6);
    assert_true(row->centre == 4 && row->low == 1 && row->high == 7);
    row = put_values(&rows, "a.five", "ns", ROW_LOWER, values, 5);
    assert_true(row->centre == 3 && isnan(row->low) && isnan(row->high));
    assert_int_equal(row->status, ROW_FEW);
    const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    row = put_values(&rows, "a.ten", "ns", ROW_LOWER, ten, 10);
    assert_true(row->centre == 5.5 && row->low == 2 && row->high == 9);
    rows_free(&rows);
}

static void one_value_a_round(void **unused)
{
    struct rows rows = {0};
    (void)unused;

    struct row *row = rows_get(&rows, "a.b{k=1}", "ns", ROW_LOWER);
    row_put(row, 3, 10, NAN);
    row_put(row, 3, 20, NAN);
    row_put(row, 4, NAN, NAN);
    for (int i = 100; i < 200; i++)
        row_put(row, i, 1, NAN);
    assert_true(row_at(row, 3) == 10);
    assert_true(isnan(row_at(row, 4)));
    assert_int_equal(row->n, ROW_RUNS_MAX);
    rows_free(&rows);
}

static void agreement(void **unused)
{
    struct rows rows = {0};
    const double same[] = {8, 8, 8}, other[] = {8, 9, 8}, near_by[] = {100, 102},
                 far_off[] = {100, 104};
    (void)unused;

    assert_int_equal(put_values(&rows, "a.same", "count", ROW_EXACT, same, 3)->status, ROW_OK);
    assert_int_equal(put_values(&rows, "a.other", "count", ROW_EXACT, other, 3)->status,
                     ROW_DISAGREE);
    struct row *once = put_values(&rows, "a.near", "ns", ROW_LOWER, near_by, 2);
    once->once = true;
    row_finish(once);
    assert_int_equal(once->status, ROW_ONCE);
    assert_true(once->low == 100 && once->high == 102 && once->centre == 101);
    once = put_values(&rows, "a.far", "ns", ROW_LOWER, far_off, 2);
    once->once = true;
    row_finish(once);
    assert_int_equal(once->status, ROW_DISAGREE);
    once->resolution = 2; /* four is two ticks: the timer cannot tell them apart */
    row_finish(once);
    assert_int_equal(once->status, ROW_ONCE);
    once = put_values(&rows, "a.lost", "ns", ROW_LOWER, far_off, 1); /* nothing to agree with */
    once->once = true;
    row_finish(once);
    assert_int_equal(once->status, ROW_FEW);
    rows_free(&rows);
}

/* Three rounds need not agree; with fewer of them the row is one of few runs. */
static void three_rounds(void **unused)
{
    struct rows rows = {0};
    const double values[] = {100, 120, 110};
    (void)unused;
    for (size_t n = 1; n <= 3; n++) {
        char id[8];
        snprintf(id, sizeof id, "a.n%zu", n);
        struct row *row = put_values(&rows, id, "ns", ROW_LOWER, values, n);
        row->thrice = true;
        row_finish(row);
        assert_int_equal(row->status, n == 3 ? ROW_THRICE : ROW_FEW);
        assert_true(row_usable(row));
    }
    const struct row *row = rows_find(&rows, "a.n3");
    assert_true(row->low == 100 && row->high == 120 && row->centre == 110);
    assert_true(row_in(row, 5) == 110 && isnan(row_at(row, 5))); /* holds in all rounds */
    rows_free(&rows);
}

static void the_best_is_chosen_in_the_first_round(void **unused)
{
    struct rows rows = {0};
    struct row picked;
    /* b is lucky in the first round and wins; its other rounds are reported. */
    const double a[] = {10, 10, 10, 10, 10, 10, 10}, b[] = {9, 12, 12, 13, 12, 12, 12};
    (void)unused;

    put_values(&rows, "p.time{tile=a}", "ns", ROW_LOWER, a, 7);
    put_values(&rows, "p.time{tile=b}", "ns", ROW_LOWER, b, 7);
    assert_true(rows_pick(&rows, "p.time{*}", &picked));
    assert_string_equal(picked.id, "p.time{tile=b}");
    assert_int_equal(picked.n, 6);
    assert_true(picked.centre == 12 && picked.low == 12 && picked.high == 13);
    assert_false(rows_pick(&rows, "q.*", &picked));
    rows_free(&rows);
}

static void keys_and_order(void **unused)
{
    struct rows rows = {0};
    char text[16];
    const double one[] = {1};
    (void)unused;

    put_values(&rows, "derived.x", "ns", ROW_LOWER, one, 1);
    put_values(&rows, "z.a{n=2,nn=3}", "ns", ROW_LOWER, one, 1);
    put_values(&rows, "b.time{k=1}", "ns", ROW_LOWER, one, 1);
    put_values(&rows, "b.rate{k=1}", "ns", ROW_LOWER, one, 1);
    put_values(&rows, "b.time{k=2}", "ns", ROW_LOWER, one, 1);
    rows_finish(&rows);
    const char *const order[] = {"b.time{k=1}", "b.time{k=2}", "b.rate{k=1}", "z.a{n=2,nn=3}",
                                 "derived.x"};
    for (size_t i = 0; i < CHECK_LENGTH(order); i++)
        assert_string_equal(rows.row[i].id, order[i]);
    const struct row *row = rows_find(&rows, "z.a{n=2,nn=3}");
    assert_true(row_key(row, "nn", text, sizeof text));
    assert_string_equal(text, "3");
    assert_false(row_key(row, "k", text, sizeof text));
    assert_null(rows_find(&rows, "z.a"));
    rows_free(&rows);
}

/* Another metric, another value of a key, both; the timer goes where the metric has none. */
static void beside_a_row(void **unused)
{
    static const char *const ids[] = {"p.time{n=1,impl=a,l2=cold,timer=event}",
                                      "p.time{n=1,impl=b,l2=cold,timer=event}",
                                      "p.empty{n=1,impl=a,l2=cold,timer=event}",
                                      "p.bytes{n=1,impl=a,l2=cold}", "p.bytes{n=1,impl=b,l2=cold}"};
    struct rows rows = {0};
    (void)unused;
    for (size_t i = 0; i < CHECK_LENGTH(ids); i++)
        put_spread(&rows, ids[i], "ns", ROW_LOWER, 1, 0, 7);
    const struct row *time = rows_find(&rows, ids[0]);
    assert_ptr_equal(rows_beside(&rows, time, NULL, "impl", "b"), rows_find(&rows, ids[1]));
    assert_ptr_equal(rows_beside(&rows, time, "p.empty", NULL, NULL), rows_find(&rows, ids[2]));
    assert_ptr_equal(rows_beside(&rows, time, "p.bytes", NULL, NULL), rows_find(&rows, ids[3]));
    assert_ptr_equal(rows_beside(&rows, time, "p.bytes", "impl", "b"), rows_find(&rows, ids[4]));
    assert_null(rows_beside(&rows, time, NULL, "impl", "c"));
    assert_null(rows_beside(&rows, time, NULL, "mpl", "b")); /* a whole key, not the end of one */
    assert_null(rows_beside(&rows, time, "p.rate", NULL, NULL));
    rows_free(&rows);
}

/* Seven runs of one case; the run of round 2 is discarded and repeated, that of round 5 failed. */
static void a_bundle(void **unused)
{
    struct bundle bundle;
    json_t *runs = json_array();
    (void)unused;

    for (int i = 0; i < 8; i++) {
        int round = i == 7 ? 2 : i;
        json_t *run = json_pack(
            "{s:{s:s, s:i}, s:s, s:{s:i}, s:[{s:s, s:[{s:s, s:s, s:s, s:s, s:f, s:f}]}]}", "probe",
            "name", "p", "method", 1, "status", i == 5 ? "failed" : "ok", "run", "round", round,
            "cases", "case", "k=1", "metrics", "name", "time", "unit", "ns", "better", "lower",
            "timer", "wall", "median", 100.0 + i, "best", 90.0 + i);
        if (i == 2)
            json_object_set_new(run, "discarded", json_string("another process"));
        json_array_append_new(runs, run);
    }
    json_t *document = json_pack("{s:{}, s:o}", "environment", "runs", runs);
    assert_true(bundle_take(&bundle, document, "made"));
    const struct row *row = rows_find(&bundle.rows, "p.time{k=1,timer=wall}");
    assert_non_null(row);
    assert_int_equal(row->n, 6);
    assert_true(row_at(row, 2) == 107);
    assert_true(isnan(row_at(row, 5)));
    assert_int_equal(row->status, ROW_FAILED);
    assert_int_equal(bundle.parts[0].n_runs, 8);
    assert_int_equal(bundle.parts[0].n_failed, 1);
    assert_int_equal(bundle.parts[0].n_discarded, 1);
    bundle_free(&bundle);
    json_decref(document);
}

/* The unit and direction of a row are its metric's own, or those that the run says of the name. The
 * tick of a time that accompanies cycles is found by their unit, whoever says it. */
static void words_of_the_run(void **unused)
{
    static const char text[] =
        "{'environment':{},'runs':[{'probe':{'name':'p','method':1},'status':'ok','run':{'round':0}"
        ","
        "'metrics':{'load':{'unit':'cycles','better':'higher'},'load_time':{'unit':'ns','better':'"
        "lower'}},"
        "'cases':[{'case':'','metrics':[{'name':'load','median':40,'resolution':1},"
        "{'name':'load_time','median':20,'resolution':32},"
        "{'name':'load','timer':'wall','unit':'count','better':'exact','median':2}]}]}]}";
    static const struct {
        const char *id, *unit;
        enum row_better better;
        double resolution;
    } rows[] = {{"p.load", "cycles", ROW_HIGHER, 1},
                {"p.load_time", "ns", ROW_LOWER, 0.5},
                {"p.load{timer=wall}", "count", ROW_EXACT, 0}};
    char json[sizeof text];
    struct bundle bundle;
    (void)unused;

    for (size_t i = 0; i < sizeof text; i++)
        json[i] = text[i] == '\'' ? '"' : text[i];
    json_t *document = json_loads(json, 0, NULL);
    assert_true(bundle_take(&bundle, document, "made"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = rows_find(&bundle.rows, rows[i].id);
        assert_non_null(row);
        assert_string_equal(row->unit, rows[i].unit);
        assert_int_equal(row->better, rows[i].better);
        assert_true(rows[i].resolution == 0 || row->resolution == rows[i].resolution);
    }
    bundle_free(&bundle);
    json_decref(document);
}

/* A folder's programs that come from elsewhere: by name where few have one origin, else counted. */
static void origins_of_a_folder(void **unused)
{
    enum { PARTS = 11, FEW = 6 };
    char name[PARTS][4], ours[] = "1111111", other[] = "2222222", card[] = "one", else_[] = "two";
    struct part parts[PARTS] = {{0}};
    char text[BUNDLE_LINE];
    struct bundle bundle = {.parts = parts, .n_parts = PARTS};
    (void)unused;

    for (int i = 0; i < PARTS; i++) {
        snprintf(name[i], sizeof name[i], "p%d", i);
        parts[i] = (struct part){.name = name[i], .commit = i < FEW ? other : ours, .card = card};
    }
    bundle.head = json_pack("{s:{s:s}, s:{s:{s:s}}}", "suite", "commit", ours, "environment", "gpu",
                            "id_hash", card);
    assert_int_equal(bundle_n_others(&bundle), FEW);
    assert_string_equal(bundle_others(&bundle, text, sizeof text),
                        "p0, p1, p2, p3, p4, p5: gpufloor 2222222");
    parts[FEW].commit = other; /* one more */
    parts[FEW + 1].card = else_;
    assert_int_equal(bundle_n_others(&bundle), FEW + 2);
    assert_string_equal(bundle_others(&bundle, text, sizeof text),
                        "7 programs: gpufloor 2222222; p7: gpufloor 1111111, another card");
    json_decref(bundle.head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(origins_of_a_folder),
        cmocka_unit_test(beside_a_row),
        cmocka_unit_test(centre_and_interval),
        cmocka_unit_test(one_value_a_round),
        cmocka_unit_test(agreement),
        cmocka_unit_test(three_rounds),
        cmocka_unit_test(the_best_is_chosen_in_the_first_round),
        cmocka_unit_test(keys_and_order),
        cmocka_unit_test(a_bundle),
        cmocka_unit_test(words_of_the_run),
    };
    return cmocka_run_group_tests_name("report rows", tests, NULL, NULL);
}
