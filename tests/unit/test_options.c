/* core/options.c: the command line of every probe. Bad ones leave with 2 and one message that names
 * the option and the value; --list describes the probe for people and for programs. */
#include "core/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/counter_sets.h"
#include "core/image.h"
#include "core/unit.h"
#include "tests/unit/check.h"

static const struct probe_metric metrics[] = {
    {"load", "cycles", PROBE_LOWER, PROBE_SLOPE, NULL, "level", "a load"},
    {"load_time", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "level", "the same in ns"},
    {"rate", "bytes/s", PROBE_HIGHER, PROBE_EACH, NULL, NULL, "no keys, no timer"},
    {"empty", "ns", PROBE_EXACT, PROBE_EACH, "wall", NULL, "no keys"},
};
static const char *const number_words[] = {"ten", "eleven", "twelve", NULL};
static const struct probe_parameter parameters[] = {
    {.name = "bytes", .standard = 4096, .min = 1024, .max = (int64_t)1 << 40, .what = "a size"},
    {.name = "warps", .standard = 8, .min = 1, .max = 64, .what = "a count"},
    /* twelve is a word, and no value here */
    {.name = "word", .standard = 10, .min = 10, .max = 11, .what = "a word", .words = number_words},
};
const struct probe probe = {
    .name = "made_up", .what = "What?", .method = 3, .needs = PROBE_GPU_IF_ANY, .min_cc = 80,
    .metrics = metrics, .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters, .n_parameters = PROBE_LENGTH(parameters),
};

uint64_t probe_host_ns(void)
{
    return (uint64_t)5 << 10;
}

/* The hashes of this program's kernels, from core/image.c. */
json_t *image_all_hashes(void)
{
    return json_pack("{s:s}", "spin.sm_90a", "00ff");
}

enum { WORDS = 8 };

static struct options read_options(const char *const words[WORDS])
{
    char *argv[WORDS + 2] = {strdup("made_up")};
    struct options options;
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = strdup(words[argc - 1]); /* left: options keeps pointers into argv */
    options_read(&options, argc, argv);
    return options;
}

#define OPTIONS(...) read_options((const char *const[WORDS]){__VA_ARGS__})

/* Reads a command line in a child; its exit status, and what it wrote to stdout and to stderr. */
static int leave_with(const char *const words[WORDS], char out[4096], char err[4096])
{
    FILE *files[2] = {tmpfile(), tmpfile()};
    char *texts[2] = {out, err};
    int status = -1;

    assert_true(files[0] && files[1]);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(files[0]), STDOUT_FILENO);
        dup2(fileno(files[1]), STDERR_FILENO);
        read_options(words);
        _exit(99); /* it was taken */
    }
    waitpid(pid, &status, 0);
    for (int i = 0; i < 2; i++) {
        rewind(files[i]);
        texts[i][fread(texts[i], 1, 4095, files[i])] = '\0';
        fclose(files[i]);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void defaults(void **state)
{
    struct options o = OPTIONS(NULL);
    (void)state;
    assert_int_equal(o.device, 0);
    assert_int_equal(o.round, 0);
    assert_int_equal(o.rounds, 1);
    assert_int_equal(o.seed, 5);
    assert_false(o.check || o.deep || o.energy || o.list || o.json);
    assert_null(o.raw);
    assert_null(o.only);
    assert_null(o.counters);
    assert_int_equal(o.parameters[0], 4096);
    assert_int_equal(o.parameters[1], 8);
    assert_false(o.given[0] || o.given[1]);
}

static void all_taken(void **state)
{
    struct options o = OPTIONS("--device=3", "--check", "--deep", "-j", "--raw=r.tsv", "--seed=77",
                               "--case=level=l1*");
    (void)state;
    assert_int_equal(o.device, 3);
    assert_true(o.check && o.deep && o.json);
    assert_int_equal(o.seed, 77);
    assert_string_equal(o.raw, "r.tsv");
    assert_string_equal(o.only, "level=l1*");
    o = OPTIONS("--round", "4", "--rounds", "7", "--list");
    assert_int_equal(o.round, 4);
    assert_int_equal(o.rounds, 7);
    assert_true(o.list);
    assert_true(OPTIONS("--energy").energy);
    o = OPTIONS("--round", "4"); /* by hand, the last round so far */
    assert_int_equal(o.rounds, 5);
}

static void parameters_are_set(void **state)
{
    struct options o = OPTIONS("--set", "bytes=64K", "-s", "warps=64");
    (void)state;
    assert_int_equal(o.parameters[0], 65536);
    assert_int_equal(o.parameters[1], 64);
    assert_true(o.given[0] && o.given[1]);
    o = OPTIONS("--set=word=eleven");
    assert_int_equal(o.parameters[2], 11);
    o = OPTIONS("--json");
    assert_int_equal(o.parameters[2], 10);
    o = OPTIONS("--set=bytes=1024", "--set=bytes=1T"); /* the limits belong; the last one counts */
    assert_true(o.parameters[0] == (int64_t)1 << 40);
    assert_false(o.given[1]);
}

static void counters_are_chosen(void **state)
{
    (void)state;
    assert_string_equal(OPTIONS("--counters", "launches").counters, "launches");
    for (size_t i = 0; i < COUNTER_SETS; i++) {
        const char *name = counter_sets[i].name;
        char word[64];
        snprintf(word, sizeof word, "--counters=%s", name);
        assert_string_equal(OPTIONS(word).counters, name);
        assert_ptr_equal(counter_set_find(name, strlen(name)), &counter_sets[i]);
    }
    assert_null(counter_set_find("smx", 3));
    assert_non_null(counter_set_find("smx", 2));
    assert_null(counter_set_find("loads", 4));
}

static void bad_command_lines(void **state)
{
    static const struct {
        const char *words[WORDS];
        const char *named; /* must appear in the message */
    } table[] = {
        {{"--nonsense"}, "--nonsense"},
        {{"-Z"}, "Z"},
        {{"stray"}, "stray"},
        {{"--device"}, "--device"},
        {{"--device=x"}, "--device x"},
        {{"--device=-1"}, "--device -1"},
        {{"--device=1x"}, "--device 1x"},
        {{"--device=99999999999999999999"}, "--device 9999"},
        {{"--seed=-4"}, "--seed -4"},
        {{"--seed=1.5"}, "--seed 1.5"},
        {{"--round=-1"}, "--round -1"},
        {{"--rounds=0"}, "--rounds 0"},
        {{"--rounds=many"}, "--rounds many"},
        {{"--energy", "--check"}, "--energy: not together with --check"},
        {{"--counters=sm", "--energy"}, "--energy: not together with --counters"},
        {{"--set=bytes"}, "bytes: expected NAME=VALUE"},
        {{"--set=byte=4096"}, "no such parameter"},
        {{"--set=bytes2=4096"}, "no such parameter"},
        {{"--set==4096"}, "no such parameter"},
        {{"--set=nothing=1"}, "nothing=1"},
        {{"--set=bytes="}, "bytes="},
        {{"--set=bytes=12q"}, "bytes=12q"},
        {{"--set=bytes=-4096"}, "from 1024 to"},
        {{"--set=bytes=1023"}, "from 1024 to"},
        {{"--set=bytes=2T"}, "from 1024 to"},
        {{"--set=bytes=9999999999T"}, "9999999999T"},
        {{"--set=warps=65"}, "from 1 to 64"},
        {{"--set=warps=0"}, "from 1 to 64"},
        {{"--set=word=twelve"}, "expected one of ten, eleven"},
        {{"--set=word=10"}, "expected one of ten, eleven"},
        {{"--set=word="}, "expected one of ten, eleven"},
        {{"--counters"}, "--counters"},
        {{"--counters="}, "expected sm, loads, memory"},
        {{"--counters=sm,loads"}, "--counters sm,loads"},
        {{"--counters=smx"}, "--counters smx"},
        {{"--counters=sm", "--check"}, "not together with --check"},
    };
    char out[4096], err[4096];
    (void)state;
    for (size_t i = 0; i < CHECK_LENGTH(table); i++) {
        int status = leave_with(table[i].words, out, err);
        if (status != 2 || out[0] || !strstr(err, table[i].named) || !strstr(err, "made_up"))
            fail_msg("%s: exit %d, expected 2 and '%s'; stdout '%s', stderr '%s'",
                     table[i].words[0], status, table[i].named, out, err);
    }
}

static void help_and_version(void **state)
{
    char out[4096], err[4096];
    (void)state;
    assert_int_equal(leave_with((const char *const[WORDS]){"--help"}, out, err), 0);
    assert_non_null(strstr(out, "What?"));
    assert_non_null(strstr(out, "--set=NAME=VALUE"));
    assert_string_equal(err, "");
    assert_int_equal(leave_with((const char *const[WORDS]){"--version"}, out, err), 0);
    assert_int_equal(strncmp(out, "gpufloor ", 9), 0);
    assert_string_equal(err, "");
}

static char *listed(bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    options_list(out, json);
    fclose(out);
    return text;
}

static void list_for_programs(void **state)
{
    char *text = listed(true);
    json_t *list = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *all, *one;
    (void)state;
    assert_non_null(list);
    assert_string_equal(document_get_text(list, "schema", ""), "probe");
    assert_string_equal(document_get_text(list, "name", ""), "made_up");
    assert_string_equal(document_get_text(list, "needs", ""), "gpu if any");
    assert_int_equal(document_get_number(list, "method"), 3);
    assert_int_equal(document_get_number(list, "min_cc"), 80);
    all = json_object_get(list, "metrics");
    assert_int_equal(json_array_size(all), PROBE_LENGTH(metrics));
    one = json_array_get(all, 1);
    assert_string_equal(document_get_text(one, "name", ""), "load_time");
    assert_string_equal(document_get_text(one, "unit", ""), "ns");
    assert_string_equal(document_get_text(one, "timer", ""), "device");
    assert_string_equal(document_get_text(one, "form", ""), "slope");
    assert_string_equal(document_get_text(one, "keys", ""), "level");
    one = json_array_get(all, 2);
    assert_string_equal(document_get_text(one, "better", ""), "higher");
    assert_true(json_is_null(json_object_get(one, "timer")));
    all = json_object_get(list, "parameters");
    assert_int_equal(json_array_size(all), PROBE_LENGTH(parameters));
    assert_int_equal(document_get_number(json_array_get(all, 1), "max"), 64);
    assert_string_equal(document_get_text(json_object_get(list, "cubins"), "spin.sm_90a", ""),
                        "00ff");
    json_decref(list);
    free(text);
}

static void list_for_people(void **state)
{
    char *text = listed(false);
    (void)state;
    assert_non_null(strstr(text, "made_up.load{level}\n"));
    assert_non_null(strstr(text, "made_up.load_time{level,timer=device}\n"));
    assert_non_null(strstr(text, "made_up.empty{timer=wall}\n"));
    assert_non_null(strstr(text, "--set warps=8"));
    assert_null(strstr(text, "made_up.rate{}")); /* the id of a metric without keys has no braces */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(all_taken),
        cmocka_unit_test(parameters_are_set),
        cmocka_unit_test(counters_are_chosen),
        cmocka_unit_test(bad_command_lines),
        cmocka_unit_test(help_and_version),
        cmocka_unit_test(list_for_programs),
        cmocka_unit_test(list_for_people),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
