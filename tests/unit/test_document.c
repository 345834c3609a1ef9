/* core/document.c: what is written is read back, what is malformed is refused in one line that
 * names the file, and no write ever leaves half a file, replaces one, or forgets a temporary
 * one. */
#include "core/document.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char folder[] = "/tmp/gpufloor-document-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* every test removes what it made */
}

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t entries(const char *where)
{
    size_t n = 0;
    DIR *dir = opendir(where);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* A small but whole document of either kind. */
static const char metric_text[] = "{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"lower\",\"n\":7,"
                                  "\"median\":1.5,\"best\":null,\"why\":\"?\"}";
static const char run_format[] =
    "{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
    "\"status\":\"ok\",\"cases\":[{\"case\":\"k=1\",\"metrics\":[%s]}]%s}";

static const char *run_with(const char *metric, const char *more)
{
    static char bytes[2048];
    snprintf(bytes, sizeof bytes, run_format, metric, more);
    return bytes;
}

static const char *bundle_with(const char *run)
{
    static char bytes[4096];
    snprintf(bytes, sizeof bytes, "{\"schema\":\"bundle\",\"schema_version\":1,\"environment\":{},"
             "\"runs\":[%s]}", run);
    return bytes;
}

static json_t *parse(const char *bytes, const char *kind, char why[DOCUMENT_WHY])
{
    why[0] = '\0';
    return document_parse(bytes, strlen(bytes), "some.json", kind, why);
}

static void assert_taken(const char *bytes, const char *kind)
{
    char why[DOCUMENT_WHY];
    json_t *document = parse(bytes, kind, why);
    if (!document)
        fail_msg("refused: %s\n%s", why, bytes);
    json_decref(document);
}

/* Refused with one line that starts with the file's name and has `word` in it. */
static void assert_refused(const char *bytes, size_t size, const char *kind, const char *word)
{
    char why[DOCUMENT_WHY] = "";
    json_t *document = document_parse(bytes, size, "some.json", kind, why);
    if (document)
        fail_msg("taken, expected '%s': %.*s", word, (int)size, bytes);
    if (strncmp(why, "some.json: ", 11) || strchr(why, '\n') || !strstr(why, word))
        fail_msg("says '%s', expected '%s'", why, word);
}

#define assert_refused_text(text, kind, word) assert_refused(text, strlen(text), kind, word)

/* --- reading ---------------------------------------------------------------------------------- */

static void takes_what_is_whole(void **state)
{
    (void)state;
    assert_taken(run_with(metric_text, ""), "run");
    assert_taken(run_with("", ""), "run");
    /* unknown field */
    assert_taken(run_with(metric_text, ",\"of_tomorrow\":{\"a\":[1,2]}"), "run");
    assert_taken(bundle_with(run_with(metric_text, "")), "bundle");
    assert_taken(bundle_with(""), "bundle");
}

static void refuses_what_is_no_document(void **state)
{
    static const char nul[] = "{\"schema\":\0\"run\"}";
    (void)state;
    assert_refused("", 0, "run", "empty");
    assert_refused_text(" ", "run", "not valid JSON");
    assert_refused_text("hello", "run", "not valid JSON");
    assert_refused_text("\xff\xfe\x00", "run", "not valid JSON");
    assert_refused_text("{\"schema\":\"run\",\"a\":\"\xc3\x28\"}", "run", "not valid JSON");
    assert_refused(nul, sizeof nul - 1, "run", "not valid JSON");
    assert_refused_text("{\"schema\":\"run\"} trailing", "run", "not valid JSON");
    assert_refused_text("{\"schema\":\"run\",\"schema\":\"run\"}", "run", "not valid JSON");
    assert_refused_text("{\"a\":NaN}", "run", "not valid JSON");
    assert_refused_text("{\"a\":1e999}", "run", "not valid JSON");
    assert_refused_text("[]", "run", "object");
    assert_refused_text("{}", "run", "schema");
    assert_refused_text("{}", "bundle", "expected a gpufloor bundle");
}

static void refuses_every_truncation(void **state)
{
    char bytes[2048];
    (void)state;
    snprintf(bytes, sizeof bytes, "%s", run_with(metric_text, ""));
    for (size_t size = 0; size < strlen(bytes); size++)
        assert_refused(bytes, size, "run", size ? "not valid JSON" : "empty");
}

static void refuses_deep_nesting(void **state)
{
    enum { DEPTH = 200000 };
    char *bytes = malloc(DEPTH);
    (void)state;
    memset(bytes, '[', DEPTH);
    assert_refused(bytes, DEPTH, "run", "not valid JSON");
    free(bytes);
}

static void refuses_another_kind_or_version(void **state)
{
    (void)state;
    assert_refused_text(run_with("", ""), "bundle", "schema run");
    assert_refused_text(bundle_with(""), "run", "schema bundle");
    assert_refused_text("{\"schema\":\"run\",\"schema_version\":2}", "run", "newer");
    assert_refused_text("{\"schema\":\"bundle\",\"schema_version\":99999999999}", "bundle",
                        "newer");
    assert_refused_text("{\"schema\":\"run\",\"schema_version\":0}", "run", "schema_version");
    assert_refused_text("{\"schema\":\"run\",\"schema_version\":-1}", "run", "schema_version");
    assert_refused_text("{\"schema\":\"run\",\"schema_version\":\"1\"}", "run", "schema_version");
    assert_refused_text("{\"schema\":\"run\",\"schema_version\":1.0}", "run", "schema_version");
    assert_refused_text("{\"schema\":\"run\"}", "run", "schema_version");
    assert_refused_text("{\"schema\":1,\"schema_version\":1}", "run", "schema");
}

static void refuses_a_newer_run_inside(void **state)
{
    static const char version[] = "\"schema_version\":";
    char text[4096];
    (void)state;
    snprintf(text, sizeof text, "%s", bundle_with(run_with("", "")));
    char *at = strstr(strstr(text, "\"runs\""), version);
    assert_non_null(at);
    at[strlen(version)] = '2';
    assert_refused_text(text, "bundle", "newer");
}

static void refuses_wrong_types(void **state)
{
    static const struct {
        const char *bytes, *word;
    } runs[] = {
        {"{\"schema\":\"run\",\"schema_version\":1}", "probe"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":7}", "probe"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\"}}", "method"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":\"1\"}}",
         "method"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1}}",
         "status"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"fine\",\"cases\":[]}",
         "status"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"ok\"}",
         "cases"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"ok\",\"cases\":{}}",
         "cases"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"ok\",\"cases\":[3]}",
         "case 0"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"ok\",\"cases\":[{\"case\":\"\"}]}",
         "metrics"},
        {"{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
         "\"status\":\"ok\",\"cases\":[{\"case\":\"\",\"metrics\":{}}]}",
         "metrics"},
    };
    static const struct {
        const char *metric, *word;
    } metrics[] = {
        {"7", "name"},
        {"{\"unit\":\"ns\",\"better\":\"lower\"}", "name"},
        {"{\"name\":\"load\",\"better\":\"lower\"}", "unit"},
        {"{\"name\":\"load\",\"unit\":\"us\",\"better\":\"lower\"}", "unknown unit 'us'"},
        {"{\"name\":\"load\",\"unit\":3,\"better\":\"lower\"}", "unit"},
        {"{\"name\":\"load\",\"unit\":\"ns\"}", "better"},
        {"{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"smaller\"}", "better"},
        {"{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"lower\",\"median\":\"5\"}", "\"median\""},
        {"{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"lower\",\"best\":[]}", "\"best\""},
        {"{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"lower\",\"n\":{}}", "\"n\""},
        {"{\"name\":\"load\",\"unit\":\"ns\",\"better\":\"lower\",\"mad\":true}", "\"mad\""},
    };
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(runs); i++) {
        assert_refused_text(runs[i].bytes, "run", runs[i].word);
        assert_refused_text(bundle_with(runs[i].bytes + 0), "bundle", runs[i].word);
    }
    for (size_t i = 0; i < CHECK_LENGTH(metrics); i++)
        assert_refused_text(run_with(metrics[i].metric, ""), "run", metrics[i].word);
    assert_refused_text("{\"schema\":\"bundle\",\"schema_version\":1}", "bundle", "environment");
    assert_refused_text(
        "{\"schema\":\"bundle\",\"schema_version\":1,\"environment\":[],\"runs\":[]}", "bundle",
        "environment");
    assert_refused_text(
        "{\"schema\":\"bundle\",\"schema_version\":1,\"environment\":{},\"runs\":{}}", "bundle",
        "runs");
    assert_refused_text(bundle_with("5"), "bundle", "probe");
}

/* Unit and direction: a metric's own, else what the run says of its name. */
static void words_said_once(void **state)
{
    static const char bare[] =
        "{\"name\":\"load\",\"n\":7,\"median\":1.5,\"best\":null,\"why\":\"?\"}";
    static const char said[] = ",\"metrics\":{\"load\":{\"unit\":\"ns\",\"better\":\"lower\"}}";
    static const struct {
        const char *metric, *said, *word;
    } wrong[] = {
        {bare, "", "metric load has the unknown unit '(none)'"},
        {bare, ",\"metrics\":{\"store\":{\"unit\":\"ns\",\"better\":\"lower\"}}", "unit '(none)'"},
        {bare, ",\"metrics\":{\"load\":{\"unit\":\"us\",\"better\":\"lower\"}}", "unit 'us'"},
        {bare, ",\"metrics\":{\"load\":{\"unit\":7,\"better\":\"lower\"}}", "unit '(none)'"},
        {bare, ",\"metrics\":{\"load\":{\"unit\":\"ns\"}}", "\"better\""},
        {bare, ",\"metrics\":{\"load\":[\"ns\",\"lower\"]}", "unit '(none)'"},
        {bare, ",\"metrics\":[]", "unit '(none)'"},
        {bare, ",\"metrics\":7", "unit '(none)'"},
        {"{\"name\":\"load\",\"unit\":null}", said, "unit '(none)'"},
        {"{\"name\":\"load\",\"unit\":\"us\"}", said, "unit 'us'"},
        {"{\"name\":\"load\",\"better\":\"smaller\"}", said, "\"better\""},
        {"{\"median\":1}", said, "without a name"},
    };
    char why[DOCUMENT_WHY];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        assert_refused_text(run_with(wrong[i].metric, wrong[i].said), "run", wrong[i].word);
        assert_refused_text(bundle_with(run_with(wrong[i].metric, wrong[i].said)), "bundle",
                            wrong[i].word);
    }
    assert_taken(bundle_with(run_with(bare, said)), "bundle");
    /* its own */
    assert_taken(run_with(metric_text, ",\"metrics\":{\"load\":{\"unit\":\"us\"}}"), "run");

    json_t *once = parse(run_with(bare, said), "run", why);
    const json_t *table = json_object_get(once, "metrics");
    const json_t *own = json_loads("{\"name\":\"load\",\"unit\":\"cycles\"}", 0, NULL);
    assert_string_equal(document_metric_word(table, own, "unit"), "cycles");
    assert_string_equal(document_metric_word(table, own, "better"), "lower");
    assert_null(document_metric_word(NULL, own, "better"));
    json_decref((json_t *)own);
    json_t *each = parse(run_with(metric_text, ""), "run", why);
    assert_false(json_equal(once, each));
    document_spread_words(once);
    assert_true(json_equal(once, each));
    document_spread_words(each); /* nothing is left to do */
    assert_true(json_equal(once, each));
    document_spread_words(NULL);
    json_decref(once);
    json_decref(each);
}

/* One run of one case, whose id has so many characters. */
static const char *run_of_id(size_t length)
{
    enum { AROUND = sizeof "p.m{}" - 1 };
    static char run[2048];
    char keys[1024];

    memset(keys, 'k', length - AROUND);
    keys[length - AROUND] = '\0';
    snprintf(run, sizeof run,
             "{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
             "\"status\":\"ok\",\"cases\":[{\"case\":\"%s\",\"metrics\":[{\"name\":\"m\","
             "\"unit\":\"ns\",\"better\":\"lower\"}]}]}",
             keys);
    return run;
}

/* An id that would be cut could be that of another row. */
static void long_ids_are_refused(void **state)
{
    char why[DOCUMENT_WHY], counters[4096];
    (void)state;
    json_t *document = parse(run_of_id(DOCUMENT_ID_MOST), "run", why);
    assert_non_null(document);
    json_decref(document);
    assert_refused_text(run_of_id(DOCUMENT_ID_MOST + 1), "run", "401 characters");
    assert_refused_text(bundle_with(run_of_id(600)), "bundle", "600 characters");
    snprintf(counters, sizeof counters,
             "{\"schema\":\"counters\",\"schema_version\":1,\"probes\":[{\"name\":\"p\","
             "\"counted\":[%s]}]}",
             run_of_id(500));
    assert_refused_text(counters, "counters", "500 characters");
}

/* A row holds 32 rounds: one more is refused, not left out. */
static void many_rounds_are_refused(void **state)
{
    static const char run[] =
        "{\"schema\":\"run\",\"schema_version\":1,\"probe\":{\"name\":\"p\",\"method\":1},"
        "\"status\":\"ok\",\"cases\":[],\"run\":{\"round\":%d}}";
    char text[400], why[DOCUMENT_WHY];
    (void)state;
    snprintf(text, sizeof text, run, DOCUMENT_ROUNDS_MAX - 1);
    json_t *document = parse(text, "run", why);
    assert_non_null(document);
    json_decref(document);
    snprintf(text, sizeof text, run, DOCUMENT_ROUNDS_MAX);
    assert_refused_text(text, "run", "round 32; expected 0 to 31");
    assert_refused_text(bundle_with(text), "bundle", "round 32");
    snprintf(text, sizeof text, run, -1);
    assert_refused_text(text, "run", "round -1");
}

/* What is printed holds ASCII alone, and reads back as it was. */
static void printed_in_ascii(void **state)
{
    static const char text[] = "{\"a\":\"\\u001b\\u007f\\u009b\\u202e\\u00e9\\u007f\"}";
    json_t *document = json_loads(text, 0, NULL);
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);
    (void)state;
    assert_non_null(document);
    assert_true(document_print(out, document, JSON_COMPACT));
    fclose(out);
    for (size_t i = 0; i < size; i++)
        assert_true(said[i] >= 0x20 && said[i] < 0x7f);
    json_t *again = json_loads(said, 0, NULL);
    assert_true(json_equal(document, again));
    json_decref(document);
    json_decref(again);
    free(said);
}

/* Untrusted text in a message is cut, and the message stays one that fits. */
static void long_names_are_cut(void **state)
{
    char metric[1024], name[801];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(metric, sizeof metric, "{\"name\":\"%s\",\"unit\":\"us\",\"better\":\"lower\"}", name);
    assert_refused_text(run_with(metric, ""), "run", "unknown unit");
    snprintf(metric, sizeof metric, "{\"schema\":\"%s\"}", name);
    assert_refused_text(metric, "run", "schema");
}

static void load_names_the_file(void **state)
{
    char why[DOCUMENT_WHY] = "";
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("none.json"));
    assert_null(document_load(path, "run", why));
    assert_non_null(strstr(why, path));
    assert_non_null(strstr(why, "No such file"));
    assert_null(document_load(folder, "run", why));
    assert_non_null(strstr(why, "not a regular file"));
    assert_null(document_load("/dev/zero", "run", why));
    assert_non_null(strstr(why, "not a regular file"));

    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_null(document_load(path, "run", why));
    assert_non_null(strstr(why, "empty"));
    assert_int_equal(truncate(path, (off_t)DOCUMENT_BYTES_MAX + 1), 0); /* sparse */
    assert_null(document_load(path, "run", why));
    assert_non_null(strstr(why, "larger than any"));
    unlink(path);
}

/* --- small helpers ---------------------------------------------------------------------------- */

static void numbers_and_texts(void **state)
{
    json_t *object = json_pack("{s:f, s:i, s:s, s:n, s:b}", "real", 1.5, "whole", 3, "text", "t",
                               "null", "bool", 1);
    json_t *number = document_number(2.5), *none = document_number((double)NAN);
    json_t *infinite = document_number(-(double)INFINITY);
    (void)state;
    assert_same(document_get_number(object, "real"), 1.5);
    assert_same(document_get_number(object, "whole"), 3);
    assert_nan(document_get_number(object, "text"));
    assert_nan(document_get_number(object, "null"));
    assert_nan(document_get_number(object, "bool"));
    assert_nan(document_get_number(object, "absent"));
    assert_nan(document_get_number(NULL, "real"));
    assert_string_equal(document_get_text(object, "text", "?"), "t");
    assert_string_equal(document_get_text(object, "real", "?"), "?");
    assert_string_equal(document_get_text(object, "absent", "?"), "?");
    assert_null(document_get_text(NULL, "text", NULL));
    assert_same(json_real_value(number), 2.5);
    assert_true(json_is_null(none));
    assert_true(json_is_null(infinite));
    json_decref(object);
    json_decref(number);
    json_decref(none);
    json_decref(infinite);
}

static void ids(void **state)
{
    static const struct {
        const char *keys, *timer, *id;
    } table[] = {
        {"", NULL, "p.load"},
        {"", "wall", "p.load{timer=wall}"},
        {"level=l1", NULL, "p.load{level=l1}"},
        {"rows=4,cols=8", "event", "p.load{rows=4,cols=8,timer=event}"},
    };
    char id[DOCUMENT_ID], name[700];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        json_t *one = json_pack("{s:s}", "case", table[i].keys);
        json_t *metric = json_pack("{s:s, s:s*}", "name", "load", "timer", table[i].timer);
        document_metric_id(id, "p", one, metric);
        assert_string_equal(id, table[i].id);
        json_decref(one);
        json_decref(metric);
    }
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    document_metric_id(id, name, NULL, NULL); /* longer than an id may be: cut, no overflow */
    assert_int_equal(strlen(id), DOCUMENT_ID - 1);
}

static void time_is_utc(void **state)
{
    char stamp[24];
    int year, month, day, hour, minute, second, used = 0;
    (void)state;
    document_time(stamp, sizeof stamp);
    assert_int_equal(sscanf(stamp, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour,
                            &minute, &second, &used),
                     6);
    assert_int_equal(used, 20);
    assert_int_equal(stamp[20], '\0');
    assert_true(year >= 2024 && month <= 12 && day <= 31 && hour < 24 && minute < 60 &&
                second < 61);
}

/* --- writing ---------------------------------------------------------------------------------- */

static json_t *whole_bundle(void)
{
    char why[DOCUMENT_WHY];
    json_t *bundle = parse(bundle_with(run_with(metric_text, "")), "bundle", why);
    assert_non_null(bundle);
    return bundle;
}

static void round_trip(void **state)
{
    static const double values[] = {0, 1, -1.5, 31.25, 5220.125, 4.8e12, 1e-9, 123456789};
    char why[DOCUMENT_WHY] = "";
    json_t *bundle = whole_bundle(), *extra = json_array();
    const char *path = in_folder("bundle.json");
    (void)state;

    for (size_t i = 0; i < CHECK_LENGTH(values); i++)
        json_array_append_new(extra, json_real(values[i]));
    json_object_set_new(bundle, "extra", extra);
    json_object_set_new(bundle, "quotes", json_string("\"\\\n\t\xc3\xa9"));
    assert_true(document_write(path, bundle, why));
    assert_int_equal(entries(folder), 1);
    json_t *back = document_load(path, "bundle", why);
    assert_non_null(back);
    assert_true(json_equal(back, bundle));
    json_decref(back);
    json_decref(bundle);
    unlink(path);
}

static void never_overwrites(void **state)
{
    char why[DOCUMENT_WHY] = "", path[256], line[16] = "";
    json_t *bundle = whole_bundle();
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("there.json"));
    FILE *file = fopen(path, "w");
    fputs("precious", file);
    fclose(file);

    assert_false(document_write(path, bundle, why));
    assert_non_null(strstr(why, path));
    assert_non_null(strstr(why, "exists"));
    assert_int_equal(entries(folder), 1); /* no temporary file is left */
    file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(line, "precious");
    json_decref(bundle);
    unlink(path);
}

/* In place of a file: the new document, or the old one where the new one cannot be written. */
static void replaces_what_is_there(void **state)
{
    char why[DOCUMENT_WHY] = "", path[256];
    json_t *bundle = whole_bundle();
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("there.json"));
    FILE *file = fopen(path, "w");
    fputs("old", file);
    fclose(file);

    assert_true(document_replace(path, bundle, why));
    assert_int_equal(entries(folder), 1);
    json_t *back = document_load(path, "bundle", why);
    assert_true(json_equal(back, bundle));
    json_decref(back);
    assert_false(document_replace("/proc/none.json", bundle, why));
    assert_non_null(strstr(why, "/proc/none.json: cannot be written"));
    unlink(path);

    mkdir(path, 0777); /* a folder is not replaced, and nothing is left beside it */
    assert_false(document_replace(path, bundle, why));
    assert_int_equal(entries(folder), 1);
    rmdir(path);
    json_decref(bundle);
}

/* What a process of this number left under the temporary name gives way; what somebody holds, and
 * what is no document of ours, does not. */
static void left_by_one_of_this_number(void **state)
{
    static const struct {
        const char *text;
        bool is_left, held;
    } cases[] = {{"", true, false},
                 {"{\"schema\":\"bundle\"", true, false},
                 {"{\"schema\":\"bundle\"", false, true},
                 {"precious", false, false}};
    char why[DOCUMENT_WHY], path[256], temporary[300];
    json_t *bundle = whole_bundle();

    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("bundle.json"));
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        FILE *file = fopen(temporary, "w");
        fputs(cases[i].text, file);
        fflush(file);
        if (cases[i].held)
            flock(fileno(file), LOCK_EX);
        assert_int_equal(document_write(path, bundle, why), cases[i].is_left);
        assert_int_equal(unlink(temporary) == 0, !cases[i].is_left);
        assert_int_equal(unlink(path) == 0, cases[i].is_left);
        if (!cases[i].is_left)
            assert_non_null(strstr(why, "File exists"));
        fclose(file);
    }
    json_decref(bundle);
}

static void folder_that_cannot_be_written(void **state)
{
    char why[DOCUMENT_WHY] = "";
    json_t *bundle = whole_bundle();
    (void)state;
    assert_false(document_write("/proc/none.json", bundle, why)); /* root cannot either */
    assert_non_null(strstr(why, "/proc/none.json: cannot be written"));
    assert_false(document_write(in_folder("missing/bundle.json"), bundle, why));
    assert_non_null(strstr(why, "No such file"));
    assert_int_equal(entries(folder), 0);

    char path[5000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(document_write(path, bundle, why));
    assert_non_null(strstr(why, "path too long"));
    json_decref(bundle);
}

/* Runs f in a child process and returns its exit status. */
static int in_child(int (*f)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(f());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_t *large_bundle(void)
{
    json_t *bundle = whole_bundle(), *filler = json_array();
    for (int i = 0; i < 100000; i++)
        json_array_append_new(filler, json_integer(i));
    json_object_set_new(bundle, "filler", filler);
    return bundle;
}

/* Writing fails in the midst of a file: the kernel's limit on file sizes stands in for a full disk
 * where none can be mounted. */
static int write_beyond_a_limit(void)
{
    char why[DOCUMENT_WHY] = "", path[256];
    const struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof path, "%s", in_folder("big.json"));
    if (setrlimit(RLIMIT_FSIZE, &limit) || document_write(path, large_bundle(), why))
        return 1;
    if (!strstr(why, "cannot be written") || !strstr(why, path) || strchr(why, '\n'))
        return 2;
    return entries(folder) == 0 ? 0 : 3;
}

static void write_that_fails_midway(void **state)
{
    (void)state;
    assert_int_equal(in_child(write_beyond_a_limit), 0);
    assert_int_equal(entries(folder), 0);
}

/* A real full disk, in a mount namespace of its own; needs root. */
static int write_to_a_full_disk(void)
{
    char why[DOCUMENT_WHY] = "", path[256];
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, "size=64k"))
        return 77;
    snprintf(path, sizeof path, "%s", in_folder("big.json"));
    if (document_write(path, large_bundle(), why))
        return 1;
    if (!strstr(why, strerror(ENOSPC)) || !strstr(why, path))
        return 2;
    return entries(folder) == 0 ? 0 : 3;
}

static void full_disk(void **state)
{
    (void)state;
    int status = in_child(write_to_a_full_disk);
    if (status == 77)
        skip();
    assert_int_equal(status, 0);
}

/* The fast reader gives what jansson gives, or leaves it to jansson. */
static void plain_is_as_jansson_reads_it(void **state)
{
    static const struct {
        const char *text;
        bool is_plain;
    } cases[] = {
        {"{}", true},
        {"[]", true},
        {" [ 1 , 2 ]\n", true},
        {"{\"a\":{\"b\":[true,false,null]}}", true},
        {"[0,-0,7,-7,123456789012345678,-123456789012345678]", true},
        {"[1234567890123456789,9223372036854775807]", true},
        {"[9223372036854775808]", false},
        {"[0.1,-0.0,1e5,1E+5,1e-5,123456.789e-3,0.000001]", true},
        {"[5e-324,1.7976931348623157e308,0.30000000000000004,1e23,1e22,9007199254740993.0]", true},
        {"[1e400]", false},
        {"[01]", false},
        {"[1.]", false},
        {"[.5]", false},
        {"[+1]", false},
        {"[1e]", false},
        {"[-]", false},
        {"[1x]", false},
        {"[\"\\u00b1 \\n\"]", true},
        {"[\"\xc2\xb1\"]", true},
        {"[\"\xc2\"]", false},
        {"[\"\\u0000\"]", false},
        {"[\"\n\"]", false},
        {"{\"a\":1,\"a\":2}", false},
        {"{\"\\u0061\":1}", false},
        {"[1,]", false},
        {"{\"a\"}", false},
        {"[1] 2", false},
        {"1", false},
        {"", false},
        {"[tru]", false},
        {"[\"", false},
        {"[\"\\", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t size = strlen(cases[i].text);
        json_t *plain = parse_plain(cases[i].text, size);
        json_t *other = json_loadb(cases[i].text, size, JSON_REJECT_DUPLICATES, NULL);
        if (!plain != !cases[i].is_plain)
            fail_msg("%s: %s", cases[i].text, plain ? "read" : "not read");
        if (plain && (!other || !json_equal(plain, other)))
            fail_msg("%s: not as jansson reads it", cases[i].text);
        json_decref(plain);
        json_decref(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_whole),
        cmocka_unit_test(plain_is_as_jansson_reads_it),
        cmocka_unit_test(refuses_what_is_no_document),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(refuses_another_kind_or_version),
        cmocka_unit_test(refuses_a_newer_run_inside),
        cmocka_unit_test(refuses_wrong_types),
        cmocka_unit_test(words_said_once),
        cmocka_unit_test(long_ids_are_refused),
        cmocka_unit_test(many_rounds_are_refused),
        cmocka_unit_test(printed_in_ascii),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(load_names_the_file),
        cmocka_unit_test(numbers_and_texts),
        cmocka_unit_test(ids),
        cmocka_unit_test(time_is_utc),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(never_overwrites),
        cmocka_unit_test(replaces_what_is_there),
        cmocka_unit_test(left_by_one_of_this_number),
        cmocka_unit_test(folder_that_cannot_be_written),
        cmocka_unit_test(write_that_fails_midway),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests_name("document", tests, make_folder, remove_folder);
}
