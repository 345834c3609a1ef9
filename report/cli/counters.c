/* gpufloor counters: runs the same cases under CUPTI's hardware counters, in processes of their
 * own, to cross-check what was timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "core/counter_sets.h"
#include "core/version.h"
#include "report/bundle/counted.h"
#include "report/cli/catalogue.h"
#include "report/cli/child.h"
#include "report/cli/command.h"
#include "report/cli/counter_table.h"
#include "report/cli/home.h"
#include "report/cli/session.h"
#include "report/page/out.h"

enum { EXIT_REFUSED = 77, SETTINGS_MAX = 8, WORDS_MAX = 16 + 2 * SETTINGS_MAX };
enum { KEY_CASE = 256, KEY_COUNTERS, KEY_FORMAT, KEY_LIMIT, KEY_LAUNCHES };

/* Probes whose launches are traced without being asked, because launching is what they measure. */
static const char *const launchers[] = {"launch"};

struct asked {
    char **names;
    size_t n_names;
    const char *only, *set[SETTINGS_MAX], *output;
    size_t n_set;
    bool counters[COUNTER_SETS];
    uint64_t seed;
    int device;
    double limit_s;
    bool launches;
    enum table_format format;

    struct progress progress;
    struct progress_now now; /* round: number of the probe's current process */
};

static const struct argp_option table[] = {
    {.name = "case",
     .key = KEY_CASE,
     .arg = "GLOB",
     .doc = "Only cases whose keys match, for "
            "example 'level=*'"},
    {.name = "set", .key = 's', .arg = "NAME=VALUE", .doc = "Set a parameter of the probes"},
    {.name = "counters",
     .key = KEY_COUNTERS,
     .arg = "SETS",
     .doc = "Only these sets of counters: "
            "some of sm,loads,memory,paths,pipes,stalls"},
    {.name = "launches",
     .key = KEY_LAUNCHES,
     .doc = "Records of each launch as well (for the "
            "probe 'launch' always)"},
    {.name = "format", .key = KEY_FORMAT, .arg = "text|json", .doc = "Default: text"},
    {.name = "output",
     .key = 'o',
     .arg = "FILE",
     .doc = "Write the document there (default: "
            "TIME-BOARD.counters.json in " HOME_RUNS_WORDS "); never overwritten"},
    {.name = "device", .key = 'd', .arg = "N", .doc = "GPU to measure (default 0)"},
    {.name = "timeout",
     .key = KEY_LIMIT,
     .arg = "S",
     .doc = "Longest time of one process, in "
            "seconds (default 300)"},
    {0},
};

static void choose_sets(struct asked *a, const char *text, struct argp_state *state)
{
    for (size_t i = 0; i < COUNTER_SETS; i++)
        a->counters[i] = false;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        const struct counter_set *set = counter_set_find(at, length);
        if (!set)
            command_fail(state, 0,
                         "--counters %s: expected some of sm, loads, "
                         "memory, paths, pipes, stalls",
                         text);
        else
            a->counters[set - counter_sets] = true;
        at += length;
        if (!*at)
            return;
    }
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct asked *a = state->input;

    switch (key) {
    case KEY_CASE: a->only = argument; break;
    case 's':
        if (a->n_set == SETTINGS_MAX || !strchr(argument, '='))
            command_fail(state, 0, "--set %s: expected NAME=VALUE, %d times at most",
                         argument, SETTINGS_MAX);
        a->set[a->n_set++] = argument;
        break;
    case KEY_COUNTERS: choose_sets(a, argument, state); break;
    case KEY_LAUNCHES: a->launches = true; break;
    case KEY_FORMAT:
        a->format = command_format(state, argument, "text or json");
        break;
    case 'o': a->output = argument; break;
    case 'd': a->device = (int)command_whole(state, "--device", argument, 0, 255); break;
    case KEY_LIMIT:
        a->limit_s = (double)command_whole(state, "--timeout", argument, 1, 86400);
        break;
    case ARGP_KEY_NO_ARGS:
        command_fail(state, 0, "expected a probe: one that 'gpufloor list' shows");
        break;
    case ARGP_KEY_ARGS:
        a->names = state->argv + state->next;
        a->n_names = (size_t)(state->argc - state->next);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --- one process ------------------------------------------------------------------------------ */

static bool go_on(void *context, pid_t group)
{
    struct asked *a = context;
    (void)group;
    progress_draw(&a->progress, &a->now);
    return !session_interrupted();
}

static int complain(int status, const char *name, const char *why)
{
    out_say("gpufloor counters: %s: %s\n", name, why);
    return status;
}

/* The last line of a probe's own parser is advice, not the reason. */
static const char *usage_of(const struct child_result *result)
{
    return strncmp(result->said, "Try `", 5) ? result->said
                                             : "it does not take these options (see its --list)";
}

/* Runs the probe once, timed (counters NULL) or counted. The document goes to *document; the exit
 * status says whether it can be used. A refused run has a document, too. */
static int run_probe(struct asked *a, const struct listed *probe, const char *counters,
                     json_t **document)
{
    char device[16], seed[32], why[DOCUMENT_WHY], end[420];
    const char *argv[WORDS_MAX] = {probe->path, "--json", "--device", device, "--seed", seed};
    struct child_result result;
    int n = 6, status;

    snprintf(device, sizeof device, "%d", a->device);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)a->seed);
    if (a->only) {
        argv[n++] = "--case";
        argv[n++] = a->only;
    }
    for (size_t i = 0; i < a->n_set; i++) {
        argv[n++] = "--set";
        argv[n++] = a->set[i];
    }
    if (counters) {
        argv[n++] = "--counters";
        argv[n++] = counters;
    }
    bool started = child_run(argv, a->limit_s, go_on, a, &result);
    progress_clear(&a->progress);
    *document = started && result.n_out > 0
                    ? document_parse(result.out, result.n_out, "stdout", "run", why)
                    : NULL;
    document_spread_words(*document); /* cases leave their run */
    if (!started)
        status = complain(EXIT_WORSE, probe->name, result.said);
    else if (result.exit_code == EXIT_TROUBLE)
        status = complain(EXIT_TROUBLE, probe->name, usage_of(&result));
    else if (*document && result.exit_code == EXIT_REFUSED)
        status =
            complain(EXIT_REFUSED, probe->name, document_get_text(*document, "why", result.said));
    else if (!*document || result.exit_code != 0)
        status = complain(EXIT_WORSE, probe->name, child_end(&result, a->limit_s, end, sizeof end));
    else
        status = EXIT_FINE;
    child_free(&result);
    return status;
}

/* --- all of a probe --------------------------------------------------------------------------- */

static bool wants_launches(const struct asked *a, const char *name)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (!strcmp(launchers[i], name))
            return true;
    return a->launches;
}

static int n_processes(const struct asked *a, const char *name)
{
    int n = 1 + wants_launches(a, name);
    for (size_t i = 0; i < COUNTER_SETS; i++)
        n += a->counters[i];
    return n;
}

/* Keeps the machine's description once per document. */
static void keep_environment(json_t *environment, json_t *document)
{
    json_t *own = json_object_get(document, "environment");
    if (json_is_object(own))
        json_object_update_missing(environment, own);
    json_object_del(document, "environment");
}

/* The work of a pass of the process that read one set. Processes may differ in it: how many
 * operations a body repeats depends on how long one took. */
static void keep_work(json_t *whole, const json_t *one, const char *set)
{
    json_t *works = json_object_get(whole, "works"), *work = json_object();
    const json_t *metric;
    size_t i;

    json_array_foreach(json_object_get(one, "metrics"), i,
                       metric) if (json_is_number(json_object_get(metric, "pass_work")))
    {
        char name[COUNTED_METRIC];
        json_object_set(work, counted_metric(name, metric), json_object_get(metric, "pass_work"));
    }
    if (!works)
        json_object_set_new(whole, "works", works = json_object());
    json_object_set_new(works, set, work);
}

/* Adds what the process of one set counted to the cases that the probe's other processes
 * counted. */
static void merge(json_t *cases, const json_t *counted, const char *set)
{
    static const char *const values[] = {"counters", "counters_least", "counters_most"};
    const json_t *one;
    size_t i;

    json_array_foreach(counted, i, one)
    {
        json_t *whole = counter_case(cases, one);
        if (!json_object_get(one, "counters"))
            continue;
        if (!whole) {
            json_array_append_new(cases, whole = json_deep_copy(one));
        } else {
            for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
                json_object_update(json_object_get(whole, values[k]),
                                   json_object_get(one, values[k]));
            json_object_set_new(whole, "passes",
                                json_integer(json_integer_value(json_object_get(whole, "passes")) +
                                             json_integer_value(json_object_get(one, "passes"))));
        }
        keep_work(whole, one, set);
    }
}

static void add_figures(const char *probe, json_t *cases, const json_t *timed)
{
    json_t *one;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        struct counter_figures figures;
        counter_read(&figures, probe, one, counter_case(timed, one));
        json_object_set_new(one, "figures", counter_object(&figures));
    }
}

/* Runs the probe once more; its document, without what is stored elsewhere, goes to `keep`. */
static int measure_once(struct asked *a, const struct listed *probe, const char *counters,
                        json_t *document, json_t **keep)
{
    a->now.round++;
    int status = run_probe(a, probe, counters, keep);
    if (*keep)
        keep_environment(json_object_get(document, "environment"), *keep);
    if (*keep && status == EXIT_REFUSED)
        json_object_set(document, "why", json_object_get(*keep, "why"));
    return status;
}

/* Times, counts set by set, and traces launches, each in a process of its own; stops at the first
 * failure. The document gets what there is. */
static int measure_probe(struct asked *a, const struct listed *probe, json_t *document)
{
    json_t *cases = json_array(), *counted = json_array(), *timed = NULL, *traced = NULL, *run;

    a->now.probe = probe->name;
    a->now.round = 0;
    a->now.rounds = n_processes(a, probe->name);
    int status = measure_once(a, probe, NULL, document, &timed);
    for (size_t i = 0; i < COUNTER_SETS && status == EXIT_FINE; i++) {
        if (!a->counters[i])
            continue;
        status = measure_once(a, probe, counter_sets[i].name, document, &run);
        merge(cases, json_object_get(run, "cases"), counter_sets[i].name);
        json_object_set_new(run, "cases", json_array());
        if (run)
            json_array_append_new(counted, run);
    }
    if (status == EXIT_FINE && wants_launches(a, probe->name))
        status = measure_once(a, probe, "launches", document, &traced);
    add_figures(probe->name, cases, json_object_get(timed, "cases"));
    json_array_append_new(json_object_get(document, "probes"),
                          json_pack("{s:s, s:o*, s:o, s:o, s:o*}", "name", probe->name, "timed",
                                    timed, "counted", counted, "cases", cases, "traced", traced));
    a->now.done++;
    return status;
}

/* --- the document ----------------------------------------------------------------------------- */

static bool save(const struct asked *a, json_t *document)
{
    char path[PATH_MAX], why[DOCUMENT_WHY];
    const json_t *gpu = json_object_get(json_object_get(document, "environment"), "gpu");

    if (!place_write(path, document, a->output, document_get_text(document, "started", ""),
                     document_get_text(gpu, "board", "host"), ".counters.json", why)) {
        out_say("gpufloor counters: %s\n", why);
        return false;
    }
    out_say("wrote %s\n", path);
    return true;
}

static void show(const struct asked *a, json_t *document)
{
    const json_t *probe;
    size_t i;

    if (a->format == TABLE_JSON) {
        document_print(stdout, document, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        putchar('\n');
        return;
    }
    json_array_foreach(json_object_get(document, "probes"), i, probe)
        counter_table_show(stdout, probe);
}

static int measure(struct asked *a, const struct catalogue *catalogue)
{
    static const char *const words[] = {"ok", "failed"};
    char started[24], path[PATH_MAX], why[DOCUMENT_WHY];
    double began_s = child_now_s();
    int status = EXIT_FINE;

    if (a->output && !place_document(path, a->output, "", "", "", why)) {
        out_say("gpufloor counters: --output %s\n", why);
        return EXIT_TROUBLE;
    }
    document_time(started, sizeof started);
    progress_open(&a->progress);
    a->now = (struct progress_now){.total = (int)a->n_names, .left_s = NAN, .sm_clock_mhz = NAN};
    json_t *document =
        json_pack("{s:s, s:i, s:{s:s, s:s, s:b, s:s}, s:s, s:{}, s:[]}", "schema", "counters",
                  "schema_version", DOCUMENT_SCHEMA_VERSION, "suite", "version", version_number,
                  "commit", version_commit, "dirty", version_dirty, "build", version_flags,
                  "started", started, "environment", "probes");
    for (size_t i = 0; i < a->n_names && status == EXIT_FINE; i++)
        status = measure_probe(a, catalogue_find(catalogue, a->names[i]), document);
    json_object_set_new(document, "elapsed_s", json_real(child_now_s() - began_s));
    json_object_set_new(document, "status",
                        json_string(status == EXIT_REFUSED ? "refused" : words[status != 0]));
    json_object_del(json_object_get(document, "environment"), "suite");

    bool any = json_object_get(json_object_get(document, "environment"), "gpu") != NULL;
    if (status != EXIT_TROUBLE && any) {
        show(a, document);
        if (!save(a, document) && status == EXIT_FINE)
            status = EXIT_WORSE;
    }
    json_decref(document);
    return status;
}

int counters_main(int argc, char **argv)
{
    struct asked asked = {.limit_s = 300, .seed = (uint64_t)time(NULL)};
    struct catalogue catalogue;
    const struct argp parser = {
        .options = table,
        .parser = take,
        .args_doc = "PROBE...",
        .doc = "The same cases under hardware counters, in processes of their own: which level "
               "served the loads, what the SMs did, what bounds each case, and how much longer it "
               "took while it was counted.\vExit: 0; 1 when a probe failed; 2 usage; 77 when there "
               "is no GPU, or counters are refused."};
    for (size_t i = 0; i < COUNTER_SETS; i++)
        asked.counters[i] = true;
    command_parse(&parser, NULL, argc, argv, &asked);

    catalogue_open(&catalogue, false);
    session_catch_signals();
    int status = catalogue_knows(&catalogue, "counters", asked.names, asked.n_names)
                     ? measure(&asked, &catalogue) : EXIT_TROUBLE;
    catalogue_free(&catalogue);
    return status;
}
