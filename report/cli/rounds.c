/* Rounds: each runs every probe once, in a seeded random order, each in a process of its own. Drift
 * of the machine then spreads over all probes instead of hitting one. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/draw.h"
#include "report/cli/child.h"
#include "report/cli/devices.h"
#include "report/cli/session.h"
#include "report/cli/spawn.h"
#include "report/page/out.h"

/* NVML may list a probe that has just ended for a moment. */
static const double LEAVING_S = 2.0, LOOK_S = 1.0;
enum { LEAVING_LOOK_NS = 5000000 }; /* between two looks: there are 280 runs */
static const double LIMIT_S = 120, DEEP_LIMIT_S = 600; /* of one process */
static const double PREPARE_LIMIT_S = 900;             /* of one that compiles before round 1 */

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    (void)number;
    signalled = 1;
}

void session_catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll() must return */
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        sigaction(caught[i], NULL, &before);
        if (caught[i] != SIGHUP || before.sa_handler != SIG_IGN) /* nohup */
            sigaction(caught[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

bool session_interrupted(void)
{
    return signalled != 0;
}

/* --- watching the GPU ------------------------------------------------------------------------- */

/* The number of processes in a group that may use the GPU: a probe may start children of its
 * own. */
static int processes_of(pid_t group)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    int n = 0;

    while (processes && (entry = readdir(processes)))
        if (isdigit((unsigned char)entry->d_name[0]) && getpgid(atoi(entry->d_name)) == group)
            n++;
    if (processes)
        closedir(processes);
    return n;
}

/* While a probe runs, it and its children may be on the GPU; further processes are foreign. Two
 * looks in a row are required, because one of ours may end between the two counts. */
static bool tick(void *context, pid_t group)
{
    struct session *s = context;

    if (s->nvml && child_now_s() - s->looked_s > LOOK_S) {
        s->looked_s = child_now_s();
        s->seen = devices_state(s);
        s->reasons |= s->seen.reasons;
        bool suspicious = s->seen.n_processes > 1 && s->seen.n_processes > processes_of(group);
        s->n_suspicious = suspicious ? s->n_suspicious + 1 : 0;
        s->foreign = s->foreign || s->n_suspicious >= 2;
    }
    s->now.sm_clock_mhz = s->seen.sm_clock_mhz;
    s->now.temperature_c = s->seen.temperature_c;
    progress_draw(&s->progress, &s->now);
    return !session_interrupted();
}

/* Before a run the GPU should be free; a process of our own that is ending gets a moment. */
static void look_before(struct session *s)
{
    double until = child_now_s() + LEAVING_S;

    s->foreign = false;
    s->n_suspicious = 0;
    s->seen = devices_state(s);
    while (s->seen.n_processes > 0 && child_now_s() < until && !session_interrupted()) {
        nanosleep(&(struct timespec){.tv_nsec = LEAVING_LOOK_NS}, NULL);
        s->seen = devices_state(s);
    }
    s->foreign = s->seen.n_processes > 0;
    s->reasons = 0; /* a GPU at rest may say anything */
}

static json_t *state_object(const struct nvml_state *state)
{
    char reasons[160];
    nvml_reasons(reasons, sizeof reasons, state->reasons);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "sm_clock_mhz",
                     document_number(state->sm_clock_mhz), "temperature_c",
                     document_number(state->temperature_c), "power_w",
                     document_number(state->power_w), "held_back_by",
                     state->knows_reasons ? json_string(reasons) : json_null(), "n_processes",
                     state->n_processes < 0 ? json_null() : json_integer(state->n_processes));
}

/* --- one run ---------------------------------------------------------------------------------- */

static json_t *failed_document(const struct session *s, const struct task *task, const char *why,
                               double elapsed_s)
{
    const struct listed *probe = task->probe;
    char started[24];
    document_time(started, sizeof started);
    return json_pack(
        "{s:s, s:i, s:{s:s, s:i, s:s, s:s*}, s:s, s:s, s:{s:i, s:i, s:I, s:s, s:f, s:b, "
        "s:b}, s:[], s:[], "
        "s:[]}",
        "schema", "run", "schema_version", DOCUMENT_SCHEMA_VERSION, "probe", "name", probe->name,
        "method", probe->method, "what", document_get_text(probe->list, "what", ""), "draft",
        document_get_text(probe->list, "draft", NULL), "status", "failed", "why", why, "run",
        "round", s->now.round - 1, "rounds", s->options.rounds, "seed", (json_int_t)s->options.seed,
        "started", started, "elapsed_s", elapsed_s, "check", 0, "deep", s->options.deep, "cases",
        "checks", "notes");
}

static double limit_of(const struct session *s)
{
    if (s->options.limit_s > 0)
        return s->options.limit_s;
    return s->options.deep || s->options.energy ? DEEP_LIMIT_S : LIMIT_S;
}

/* What the process printed as a run document, or a document that says how it failed. NULL if
 * stopped. */
static json_t *document_of(const struct session *s, const struct task *task, bool started,
                           const struct child_result *result)
{
    char why[DOCUMENT_WHY] = "", reason[DOCUMENT_WHY] = "", end[420];
    json_t *document = NULL;

    if (result->stopped)
        return NULL;
    if (!started)
        snprintf(why, sizeof why, "could not be started: %.400s", result->said);
    else if (result->timed_out || result->signal || result->too_long)
        child_end(result, limit_of(s), why, sizeof why);
    else if (!(document = document_parse(result->out ? result->out : "", result->n_out, "stdout",
                                         "run", reason)))
        snprintf(why, sizeof why, "printed no run document (%.200s); %.200s", reason,
                 child_end(result, limit_of(s), end, sizeof end));
    const json_t *probe = json_object_get(document, "probe");
    if (document && strcmp(document_get_text(probe, "name", ""), task->probe->name)) {
        snprintf(why, sizeof why, "printed the document of another probe");
        json_decref(document);
        document = NULL;
    }
    out_ascii(why, sizeof why); /* a parser quotes what it did not understand */
    if (!document)
        return failed_document(s, task, why, result->elapsed_s);
    bool says_ok = !strcmp(document_get_text(document, "status", ""), "ok");
    if (says_ok && result->exit_code != 0) {
        json_object_set_new(document, "status", json_string("failed"));
        json_object_set_new(document, "why",
                            json_string(child_end(result, limit_of(s), end, sizeof end)));
    }
    return document;
}

/* Processes that a program left behind are named, once each. They are not ended: a foreign program
 * may have meant to. */
static void name_left_behind(struct session *s, const struct task *task, pid_t group,
                             json_t *document)
{
    struct orphan orphans[SESSION_LEFT_MAX];
    const size_t n = spawn_orphans(group, orphans, SESSION_LEFT_MAX);

    for (size_t i = 0; i < n; i++) {
        bool named = s->n_left == SESSION_LEFT_MAX;
        for (size_t k = 0; k < s->n_left; k++)
            named |= s->left[k] == orphans[i].pid;
        if (named)
            continue;
        s->left[s->n_left++] = orphans[i].pid;
        progress_say(&s->progress, "warn  %s: left a process behind: %s (pid %d)",
                     task->probe->name, orphans[i].name, (int)orphans[i].pid);
        json_array_append_new(json_object_get(document, "notes"), /* if there is one */
                              json_sprintf("left a process behind: %s", orphans[i].name));
    }
}

/* A reader refuses a bundle that is too large, and with it all that was measured: what would make
 * it so is not kept. */
static json_t *if_it_fits(struct session *s, const struct task *task, json_t *document,
                          double elapsed_s)
{
    char why[DOCUMENT_WHY];
    const size_t size = document_size(document);

    if (s->n_bytes == 0)
        s->n_bytes = document_size(s->runs);
    if (!document || s->n_bytes + size <= DOCUMENT_RUNS_MAX) {
        s->n_bytes += size;
        return document;
    }
    snprintf(why, sizeof why, "printed a document of %zu bytes; all runs of a bundle may have %d",
             size, DOCUMENT_RUNS_MAX);
    json_decref(document);
    return failed_document(s, task, why, elapsed_s);
}

static json_t *run_probe(struct session *s, struct task *task)
{
    char device[16], round[16], rounds[16], seed[32];
    char gpus[32];
    const char *argv[24] = {task->probe->path, "--json", "--device", device, "--round", round,
                            "--rounds", rounds, "--seed", seed};
    struct child_result result;

    snprintf(device, sizeof device, "%d", s->options.device);
    snprintf(round, sizeof round, "%d", s->now.round - 1);
    snprintf(rounds, sizeof rounds, "%d", s->options.rounds);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->options.seed);
    size_t n = 10;
    if (task->probe->takes_gpus) {
        snprintf(gpus, sizeof gpus, "gpus=%zu", s->options.n_devices);
        argv[n++] = "--set";
        argv[n++] = gpus;
    }
    if (s->options.quick)
        argv[n++] = "--quick";
    if (s->options.deep)
        argv[n++] = "--deep";
    if (s->options.energy && !task->probe->added)
        argv[n++] = "--energy";
    if (s->raw_path[0]) {
        argv[n++] = "--raw";
        argv[n++] = s->raw_path;
    }
    bool started = child_run(argv, limit_of(s), tick, s, &result);
    s->reasons |= devices_state(s).reasons; /* a short run had no look */
    json_t *document = if_it_fits(s, task, document_of(s, task, started, &result),
                                  result.elapsed_s);
    name_left_behind(s, task, result.group, document);
    task->last_s = result.elapsed_s;
    task->total_s += result.elapsed_s;
    child_free(&result);
    return document;
}

/* --- a run in its round ----------------------------------------------------------------------- */

/* What a document says of the machine goes into the bundle once: the host's part from the first
 * document, the GPU's part from the first that has it. */
static void keep_environment(struct session *s, json_t *document)
{
    json_t *environment = json_object_get(document, "environment");
    if (json_is_object(environment))
        json_object_update_missing(s->environment, environment);
    if (document)
        json_object_del(document, "environment");
}

static const char *discarded_case(const json_t *document)
{
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(document, "cases"), i, one)
        if (document_get_text(one, "discarded", NULL))
            return document_get_text(one, "discarded", "");
    return NULL;
}

/* What slowed the GPU down during the run is no cause to repeat it: it stays, marked. */
static void mark_slowed(struct session *s, json_t *document)
{
    char by[160];
    nvml_slowdowns(by, sizeof by, s->reasons);
    if (!by[0])
        return;
    json_object_set_new(document, "slowed_by", json_string(by));
    progress_say(&s->progress, "warn  %s: slowed down (%s) in round %d; marked",
                 document_get_text(json_object_get(document, "probe"), "name", "?"), by,
                 s->now.round);
}

/* Adds what the runner knows of the run. Returns why it must be repeated, or NULL. */
static const char *judge(struct session *s, json_t *document, int repeat, json_t *before)
{
    json_t *about = json_object_get(document, "run");

    if (json_is_object(about) && repeat > 0)
        json_object_set_new(about, "repeat", json_integer(repeat));
    if (s->nvml)
        json_object_set_new(document, "nvml", json_pack("{s:O, s:o}", "before", before, "after",
                                                        state_object(&s->seen)));
    mark_slowed(s, document);
    if (s->foreign && s->options.shared) {
        json_object_set_new(document, "shared", json_true());
        progress_say(&s->progress, "warn  %s: another process was on the GPU in round %d; marked",
                     document_get_text(json_object_get(document, "probe"), "name", "?"),
                     s->now.round);
    }
    if (s->foreign && !s->options.shared) {
        static const char cause[] = "another process was on the GPU";
        json_object_set_new(document, "discarded", json_string(cause));
        return cause;
    }
    return discarded_case(document);
}

static void count(struct session *s, struct task *task, const json_t *document)
{
    const char *status = document_get_text(document, "status", "failed");

    task->n_runs++;
    if (!strcmp(status, "ok"))
        return;
    snprintf(task->why, sizeof task->why, "%s", document_get_text(document, "why", "no reason"));
    if (!strcmp(status, "skipped")) {
        task->n_skipped++;
    } else {
        task->n_failed++;
        progress_say(&s->progress, "FAIL  %s: %s (round %d)", task->probe->name, task->why,
                     s->now.round);
    }
}

/* A library that is not to be had is said once, not by every program and in every round. */
static void say_lost(struct session *s, const json_t *document)
{
    const json_t *line;
    size_t i;

    json_array_foreach(json_object_get(document, "lost"), i, line)
    {
        const char *text = json_string_value(line);
        if (!text || json_object_get(s->lost, text))
            continue;
        json_object_set_new(s->lost, text, json_true());
        progress_say(&s->progress, "warn  %s", text);
    }
}

static void run_task(struct session *s, struct task *task)
{
    const char *cause = NULL;

    s->now.probe = task->probe->name;
    for (int repeat = 0; repeat == 0 || (cause && repeat <= SESSION_REPEATS_MAX); repeat++) {
        look_before(s);
        json_t *before = state_object(&s->seen), *document = run_probe(s, task);
        if (!document) {
            json_decref(before);
            return;
        }
        cause = judge(s, document, repeat, before);
        json_decref(before);
        keep_environment(s, document);
        session_keep_new_facts(s, document);
        say_lost(s, document);
        count(s, task, document);
        if (cause && repeat < SESSION_REPEATS_MAX) {
            task->n_repeats++;
            progress_say(&s->progress, "warn  %s: %s in round %d; repeated", task->probe->name,
                         cause, s->now.round);
        }
        json_array_append_new(s->runs, document);
    }
}

/* --- before the first round ------------------------------------------------------------------- */

/* What a program compiles when it is run for the first time would take a round's time, and more
 * than one process may have. One that fails here says why in its rounds. */
static void prepare_task(struct session *s, const struct task *task)
{
    const double limit_s = s->options.limit_s > 0 ? s->options.limit_s : PREPARE_LIMIT_S;
    char device[16], end[420];
    const char *const argv[] = {task->probe->path, "--prepare", "--device", device,
                                s->options.deep ? "--deep" : NULL, NULL};
    struct child_result result;

    snprintf(device, sizeof device, "%d", s->options.device);
    s->now.probe = task->probe->name;
    const bool started = child_run(argv, limit_s, tick, s, &result);
    name_left_behind(s, task, result.group, NULL);
    if (!started || result.timed_out || (result.signal && !result.stopped))
        progress_say(&s->progress, "warn  %s: --prepare: %s", task->probe->name,
                     started ? child_end(&result, limit_s, end, sizeof end) : result.said);
    else if (result.exit_code == EXIT_SUCCESS)
        progress_say(&s->progress, "ready %-18s %.1f s", task->probe->name, result.elapsed_s);
    child_free(&result);
}

static void prepare_tasks(struct session *s)
{
    s->now.round = s->n_kept + 1;
    for (size_t i = 0; i < s->n_tasks && s->n_kept < s->options.rounds; i++)
        if (json_is_true(json_object_get(s->tasks[i].probe->list, "prepares")) &&
            !session_interrupted())
            prepare_task(s, &s->tasks[i]);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* The order of the rounds follows from the seed alone. */
static void shuffle(size_t *order, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)draw_below(state, i), kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* Each probe is expected to take as long as its last run. */
static double seconds_left(const struct session *s, const size_t *order, size_t place)
{
    double left = 0, whole = 0;
    for (size_t i = 0; i < s->n_tasks; i++) {
        whole += s->tasks[order[i]].last_s;
        left += i >= place ? s->tasks[order[i]].last_s : 0;
    }
    return s->now.round == s->n_kept + 1 ? (double)NAN
                                         : left + whole * (s->now.rounds - s->now.round);
}

static void say_round(struct session *s, double began_s)
{
    if (!s->progress.terminal)
        progress_say(&s->progress, "round %d/%d  %.1f s", s->now.round, s->now.rounds,
                     child_now_s() - began_s);
}

void session_measure(struct session *s)
{
    uint64_t state = s->options.seed;
    size_t *order = calloc(s->n_tasks, sizeof *order);

    s->now = (struct progress_now){.total = (int)s->n_tasks * s->options.rounds,
                                   .rounds = s->options.rounds, .probe = "", .left_s = NAN};
    for (size_t i = 0; order && i < s->n_tasks; i++)
        order[i] = i;
    prepare_tasks(s);
    for (int round = 1; order && round <= s->options.rounds; round++) {
        double began_s = child_now_s();
        s->now.round = round;
        shuffle(order, s->n_tasks, &state);
        if (round <= s->n_kept) {
            s->now.done += (int)s->n_tasks;
            continue;
        }
        for (size_t i = 0; i < s->n_tasks && !session_interrupted(); i++) {
            s->now.left_s = seconds_left(s, order, i);
            run_task(s, &s->tasks[order[i]]);
            s->now.done++;
        }
        if ((s->interrupted = session_interrupted()))
            break;
        s->n_whole = round;
        session_keep(s);
        say_round(s, began_s);
    }
    progress_clear(&s->progress);
    free(order);
}

/* --- is there a GPU? -------------------------------------------------------------------------- */

/* NVML counts GPUs in PCI order and ignores CUDA_VISIBLE_DEVICES. So this makes CUDA count in the
 * same order, and looks the device up in the list if there is one. */
struct nvml *session_open_nvml(int device, char why[NVML_WHY])
{
    char gpu[64];

    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
    devices_entry(getenv("CUDA_VISIBLE_DEVICES"), device, gpu, sizeof gpu);
    return nvml_open(gpu, why);
}

static void open_nvml(struct session *s)
{
    char why[NVML_WHY];
    s->nvml = session_open_nvml(s->options.device, why);
    const json_t *unknown = json_object_get(json_object_get(s->environment, "gpu"), "unknown");
    if (!s->nvml && !json_object_get(unknown, "nvml")) /* else it is said with the settings */
        progress_say(&s->progress, "warn  clocks and other processes are not watched: %s", why);
}

json_t *session_ask(struct session *s, int device)
{
    struct task task = {.probe = catalogue_find(&s->catalogue, "null")};
    const int first = s->options.device;

    s->now = (struct progress_now){.round = 1};
    s->options.device = device;
    json_t *document = run_probe(s, &task);
    s->options.device = first;
    return document;
}

void session_find_gpu(struct session *s)
{
    snprintf(s->gpu_state, sizeof s->gpu_state, "not_built");
    snprintf(s->gpu_why, sizeof s->gpu_why, "the probe 'null', which looks for one, is not built");
    if (!catalogue_find(&s->catalogue, "null"))
        return;
    json_t *document = session_ask(s, s->options.device);
    const json_t *environment = json_object_get(document, "environment");
    const char *state = document_get_text(document, "gpu_state", "failed");
    const bool is_there = !json_object_get(document, "gpu_state") &&
                          json_object_get(environment, "gpu");

    if (is_there) {
        s->gpu_state[0] = '\0';
    } else {
        snprintf(s->gpu_state, sizeof s->gpu_state, "%.31s", state);
        snprintf(s->gpu_why, sizeof s->gpu_why, "%s",
                 document_get_text(document, "gpu_why", document_get_text(document, "why", "")));
    }
    keep_environment(s, document);
    json_decref(document);
    if (is_there)
        open_nvml(s);
}
