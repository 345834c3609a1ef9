/* report/bundle/counted.c, and how a rule takes a counted figure. Documents are made by hand, with
 * known answers. */
#include "report/bundle/counted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/claims/rules.h"
#include "tests/unit/test_claims_help.h"

#define CASE "rows=1,impl=fused,mode=graph,l2=cold"
#define TIME "made_up.time{" CASE ",timer=event}"
#define SHARE "made_up.share{" CASE "}"

/* One case of one time. A pass of the set "memory" has three operations, one of "pipes" six. */
static const char DOCUMENT[] =
    "{'schema':'counters','schema_version':1,'status':'ok','suite':{'commit':'c0ffee1'},"
    "'started':'%s','environment':{'gpu':{'board':'%s'}},'probes':[{'name':'made_up',"
    "'timed':{'probe':{'name':'made_up','method':%d},'cubins':{'made_up.sm_90a':'%s'}},"
    "'cases':[{'case':'" CASE "','metrics':[{'name':'time','unit':'ns','better':'lower',"
    "'timer':'event','median':1,'pass_work':100},{'name':'share','unit':'ratio','better':'higher',"
    "'median':1}],'counters':{'dram_read':%g,'dram_write':30,'tensor_busy':25},"
    "'counters_least':{'dram_read':285,'dram_write':0,'tensor_busy':24},"
    "'counters_most':{'dram_read':330,'dram_write':60,'tensor_busy':26},%s"
    "'works':{'memory':{'time,event':3},'pipes':{'time,event':6}}}]}]}";

struct made {
    const char *started, *board, *cubin, *sweeps;
    int method;
    double read;
};
static const struct made sound = {"2026-11-22T10:00:00Z", "a-board", "abc", "'sweeps':0,", 1, 300};

static json_t *document(const struct made *m)
{
    char text[2000];
    snprintf(text, sizeof text, DOCUMENT, m->started, m->board, m->method, m->cubin, m->read,
             m->sweeps);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    return object;
}

/* A bundle whose rows were timed by the cubin "abc", and the counted figures of n documents. */
static struct bundle counted_by(const struct made *made, size_t n)
{
    static char name[] = "made_up";
    struct bundle b = {.board = strdup("a-board"), .n_parts = 1};
    json_t *documents[4];
    char why[DOCUMENT_WHY];

    b.parts = calloc(1, sizeof *b.parts);
    assert_non_null(b.parts);
    b.parts[0] = (struct part){
        .name = strdup(name), .method = 1, .cubins = json_pack("{s:s}", "made_up.sm_90a", "abc")};
    assert_true(bundle_index(&b));
    for (size_t i = 0; i < n; i++)
        documents[i] = document(&made[i]);
    assert_true(counted_take(&b, documents, n, why));
    for (size_t i = 0; i < n; i++)
        json_decref(documents[i]);
    return b;
}

static const struct row *figure(const struct bundle *b, const char *id)
{
    const struct row *row = rows_find(&b->counted, id);
    assert_non_null(row);
    return row;
}

static void a_count_is_of_one_operation(void **unused)
{
    struct bundle b = counted_by(&sound, 1);
    (void)unused;
    const struct row *bytes = figure(&b, "dram_bytes of " TIME);
    assert_close(bytes->centre, 110, 1e-9); /* the pass of its own set has three */
    assert_close(bytes->low, 95, 1e-9);
    assert_close(bytes->high, 130, 1e-9);
    assert_string_equal(bytes->unit, "bytes");
    assert_int_equal(bytes->status, ROW_OK);
    assert_close(figure(&b, "dram_read of " TIME)->centre, 100, 1e-9);
    const struct row *busy = figure(&b, "tensor_busy of " TIME);
    assert_close(busy->centre, 0.25, 1e-9); /* a share is that of the pass */
    assert_close(busy->low, 0.24, 1e-9);
    assert_null(rows_find(&b.counted, "dram_bytes of " SHARE)); /* it has no samples */
    assert_null(rows_find(&b.counted, "fma_busy of " TIME));    /* not counted */
    assert_int_equal(counted_find(&b, "made_up", 7)->stale, false);
    bundle_free(&b);
}

static void a_sweep_is_no_operation(void **unused)
{
    static const char *const sweeps[] = {"'sweeps':2,", "", "'sweeps':0.5,"};
    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct made m = sound;
        m.sweeps = sweeps[i];
        struct bundle b = counted_by(&m, 1);
        const struct row *bytes = figure(&b, "dram_bytes of " TIME);
        assert_false(row_usable(bytes));
        assert_non_null(strstr(bytes->why, i == 0 ? "swe" : "older"));
        bundle_free(&b);
    }
}

/* Two times in one pass: whose bytes are they? Two metrics of one time are fine. */
static void two_bodies_are_not_one(void **unused)
{
    (void)unused;
    for (int other = 5; other <= 6; other++) {
        json_t *made = document(&sound), *metrics;
        struct bundle b = {.board = strdup("a-board")};
        char why[DOCUMENT_WHY];
        metrics = json_object_get(
            json_array_get(
                json_object_get(json_array_get(json_object_get(made, "probes"), 0), "cases"), 0),
            "metrics");
        json_object_set_new(json_array_get(metrics, 0), "pass_value", json_real(5));
        json_array_append_new(metrics,
                              json_pack("{s:s, s:s, s:s, s:i}", "name", "other", "unit", "bytes/s",
                                        "better", "lower", "pass_value", other));
        assert_true(counted_take(&b, &made, 1, why));
        assert_int_equal(row_usable(figure(&b, "dram_bytes of " TIME)), other == 5);
        json_decref(made);
        bundle_free(&b);
    }
}

static void nonsense_is_not_counted(void **unused)
{
    struct made m = sound;
    (void)unused;
    m.read = -1e6;
    struct bundle b = counted_by(&m, 1);
    assert_null(rows_find(&b.counted, "dram_read of " TIME));
    bundle_free(&b);
}

static void other_kernels_are_stale(void **unused)
{
    struct made made[2] = {sound, sound};
    (void)unused;
    made[0].cubin = "def";
    struct bundle b = counted_by(made, 1);
    assert_int_equal(figure(&b, "dram_bytes of " TIME)->status, ROW_STALE);
    assert_true(b.counted_from[0].stale);
    bundle_free(&b);
    made[0] = sound;
    made[0].method = 2;
    b = counted_by(made, 1);
    assert_true(b.counted_from[0].stale);
    bundle_free(&b);
    /* The same kernels go before the more preferred document. */
    made[1].read = 600;
    b = counted_by(made, 2);
    assert_close(figure(&b, "dram_read of " TIME)->centre, 200, 1e-9);
    assert_int_equal(b.n_counted, 1);
    bundle_free(&b);
    made[0] = sound;
    b = counted_by(made, 2);
    assert_close(figure(&b, "dram_read of " TIME)->centre, 100, 1e-9);
    bundle_free(&b);
}

/* --- files ------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/gpufloor_counted_XXXXXX";

static void write_document(const char *path, const struct made *m)
{
    char why[DOCUMENT_WHY];
    json_t *object = document(m);
    assert_true(document_write(path, object, why));
    json_decref(object);
}

/* The value of dram_read that a bundle in that folder gets; else NaN, with the reason. */
static double read_with(const char *const *files, size_t n, char why[DOCUMENT_WHY])
{
    struct bundle b = {.board = strdup("a-board"), .path = strdup(folder)};
    double value = NAN;
    if (counted_open(&b, files, n, why)) {
        const struct row *row = rows_find(&b.counted, "dram_read of " TIME);
        value = row ? row->centre : 0;
    }
    bundle_free(&b);
    return value;
}

static void documents_of_a_folder(void **unused)
{
    char in[80], old[100], new[100], given[100], why[DOCUMENT_WHY];
    struct made m = sound;
    (void)unused;

    assert_non_null(mkdtemp(folder));
    snprintf(in, sizeof in, "%s/counters", folder);
    assert_close(read_with(NULL, 0, why), 0, 0); /* no folder: nothing counted, no error */
    assert_int_equal(mkdir(in, 0700), 0);
    snprintf(old, sizeof old, "%s/b.json", in);
    snprintf(new, sizeof new, "%s/a.json", in);
    snprintf(given, sizeof given, "%s/given.json", folder);
    write_document(old, &m);
    m.started = "2026-11-22T11:00:00Z";
    m.read = 600;
    write_document(new, &m);
    m.started = "2026-11-20T11:00:00Z";
    m.read = 900;
    write_document(given, &m);

    const char *files[] = {old, given};
    assert_close(read_with(NULL, 0, why), 200, 1e-9);  /* the newest */
    assert_close(read_with(files, 2, why), 300, 1e-9); /* the last file, whatever its date */

    unlink(given);
    m.board = "another";
    write_document(given, &m);
    assert_true(isnan(read_with(files, 2, why)));
    assert_non_null(strstr(why, "given.json: counted on another, and the bundle is of a-board"));
    unlink(given);
    assert_true(isnan(read_with(files, 2, why)));
    assert_non_null(strstr(why, "given.json: No such file"));
    unlink(old);
    unlink(new);
    rmdir(in);
    rmdir(folder);
}

/* --- rules ------------------------------------------------------------------------------------ */

static const struct need needs[] = {{NEED_COUNTED, "dram_bytes of " TIME},
                                    {NEED_COUNTED, "tensor_busy of made_up.time{rows=%d,*}"},
                                    {NEED_ANY, "*.time{*"},
                                    {NEED_COUNTED, "dram_read of unknown.time{a=1}"},
                                    {NEED_COUNTED, "fma_busy of " TIME},
                                    NEEDS_END};

static void judge_counted(const struct bundle *bundle, struct finding *f)
{
    struct row bytes, busy, whole = rule_number(1000, "bytes");
    struct finding aside = rule_aside(f);

    assert_true(rule_take_counted(bundle, "dram_bytes", TIME, &bytes, f));
    assert_true(rule_take_rows(bundle, needs, f, (struct row *const[]){&bytes}, 1));
    assert_true(rule_take_counted(bundle, "tensor_busy", "made_up.time{rows=1,*}", &busy, f));
    assert_close(busy.centre, 0.25, 1e-9);
    const struct row share = rule_quotient(&bytes, &whole);
    assert_close(share.low, 0.095, 1e-9);
    assert_close(share.high, 0.130, 1e-9);
    assert_int_equal(rule_place(&share, 0.1, 0.2), PLACE_STRADDLES);
    rule_say_row(f, "device memory moved", &bytes);

    assert_false(rule_take_counted(bundle, "dram_read", "unknown.time{a=1}", &bytes, &aside));
    assert_non_null(strstr(aside.evidence, "no counters document holds unknown"));
    aside = rule_aside(f);
    assert_false(rule_take_counted(bundle, "fma_busy", TIME, &bytes, &aside));
    assert_non_null(strstr(aside.evidence, "the counters document of made_up holds no fma_busy"));
    /* A need of another kind covers no counted figure, and the other way round. */
    const size_t n_refused = f->n_refused;
    assert_false(rule_take_counted(bundle, "dram_written", TIME, &bytes, &aside));
    assert_false(rule_take(bundle, "unknown.rate{a=1}", &bytes, &aside));
    assert_int_equal(f->n_refused, n_refused + 2);
    f->n_refused = n_refused;
    f->verdict = CLAIM_MIXED;
}

static void a_rule_takes_figures(void **unused)
{
    const struct claim claim = {.id = "C0", .judge = judge_counted, .needs = NEEDS(needs)};
    struct finding f;
    struct made m = sound;
    (void)unused;
    struct bundle b = counted_by(&m, 1);
    claim_judge(&claim, &b, &f);
    assert_string_equal(f.evidence, "device memory moved 110 B (95 B to 130 B)");
    bundle_free(&b);
    m.cubin = "def";
    b = counted_by(&m, 1);
    claim_judge(&claim, &b, &f);
    assert_non_null(strstr(f.evidence, ", counted with other kernels than the timed ones"));
    bundle_free(&b);
}

/* Every counted need of the ledger has a known figure and an id. */
static void needs_of_the_ledger(void **unused)
{
    const char *what;
    size_t n;
    (void)unused;
    assert_null(counted_split("dram_bites of " TIME, &n));
    assert_null(counted_split(TIME, &n));
    assert_string_equal(counted_split("dram_bytes of " TIME, &n), TIME);
    assert_int_equal(n, 10);
    for (size_t i = 0; counted_figure(i, &what); i++)
        assert_true(*what);
    for (size_t i = 0; claim_at(i); i++)
        for (const struct need *const *list = claim_at(i)->needs; *list; list++)
            for (const struct need *need = *list; need->id; need++)
                assert_int_equal(need->kind == NEED_COUNTED, counted_split(need->id, &n) != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_is_of_one_operation), cmocka_unit_test(a_sweep_is_no_operation),
        cmocka_unit_test(two_bodies_are_not_one),      cmocka_unit_test(nonsense_is_not_counted),
        cmocka_unit_test(other_kernels_are_stale),     cmocka_unit_test(documents_of_a_folder),
        cmocka_unit_test(a_rule_takes_figures),        cmocka_unit_test(needs_of_the_ledger),
    };
    return cmocka_run_group_tests_name("counted figures", tests, NULL, NULL);
}
