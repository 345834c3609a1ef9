/* gpufloor run: measures this machine, writes one bundle, and shows the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/bundle/folder.h"
#include "report/bundle/machine.h"
#include "report/cli/answers.h"
#include "report/cli/child.h"
#include "report/cli/command.h"
#include "report/cli/compare.h"
#include "report/cli/devices.h"
#include "report/cli/home.h"
#include "report/cli/report.h"
#include "report/cli/session.h"
#include "report/cli/spawn.h"
#include "report/page/out.h"

static const char standard_board[] =
    "nvidia-h200"; /* whose results are shown if there is no GPU */

static const double PYTHON_LIMIT_S = 60;

enum { KEY_QUICK = 256, KEY_SEED, KEY_SHARED, KEY_RAW, KEY_RESULTS, KEY_LIMIT, KEY_WITH,
       KEY_CONTINUE, KEY_DEEP, KEY_EACH, KEY_PEERS, KEY_REQUIRE_GPU, KEY_DEVICES, KEY_ENERGY };

static const struct argp_option table[] = {
    {.name = "quick", .key = KEY_QUICK, .doc = "One round: a look, from which no verdict follows"},
    {.name = "deep",
     .key = KEY_DEEP,
     .doc = "One round of every sweep, from which no verdict follows"},
    {.name = "energy",
     .key = KEY_ENERGY,
     .doc =
         "Power and energy of each operator or product in a graph, too, by NVML's energy counter: "
         "half a second a case, so name the programs"},
    {.name = "rounds", .key = 'r', .arg = "N", .doc = "Rounds (default 7)"},
    {.name = "seed",
     .key = KEY_SEED,
     .arg = "N",
     .doc = "Seed of the order and of all inputs "
            "(default: drawn from the clock)"},
    {.name = "output",
     .key = 'o',
     .arg = "FILE",
     .doc = "Write the bundle there, each round as it ends (default: TIME-BOARD.json "
            "in " HOME_RUNS_WORDS "); no file is ever overwritten"},
    {.name = "continue",
     .key = KEY_CONTINUE,
     .arg = "FILE",
     .doc = "Measure the rounds that an interrupted or killed run left out, into that file: on the "
            "same card, by the same commit; programs, rounds and seed are the file's"},
    {.name = "device", .key = 'd', .arg = "N", .doc = "GPU to measure (default 0)"},
    {.name = "each",
     .key = KEY_EACH,
     .arg = "N,N...",
     .doc = "Measure these GPUs, one after the other, into a bundle each"},
    {.name = "devices",
     .key = KEY_DEVICES,
     .arg = "N,N...",
     .doc = "One run over these two GPUs, or four: the programs of links/ use them all, "
            "and the one-GPU programs that explain their rows use the first. One is measured as by "
            "--device"},
    {.name = "require-gpu", .key = KEY_REQUIRE_GPU, .doc = "Exit with 1 unless a GPU was measured"},
    {.name = "shared",
     .key = KEY_SHARED,
     .doc = "Measure although other processes use the GPU, and "
            "mark the runs"},
    {.name = "with",
     .key = KEY_WITH,
     .arg = "FILE",
     .doc = "A program that answers as a probe does joins every round, for example "
            "baselines/peers.py; up to 8 times"},
    {.name = "peers",
     .key = KEY_PEERS,
     .doc = "PyTorch's and Triton's forms (baselines/) join every round, if python3 has torch"},
    {.name = "raw", .key = KEY_RAW, .doc = "Keep every raw sample in a file beside the bundle"},
    {.name = "results",
     .key = KEY_RESULTS,
     .arg = "DIR",
     .doc = "Committed results (default: " HOME_RESULTS_WORDS ")"},
    {.name = "timeout",
     .key = KEY_LIMIT,
     .arg = "S",
     .doc = "Longest time of one process, in "
            "seconds (default 120; with --deep or --energy 600; to compile before round 1 900)"},
    {0},
};

static const struct exclusion excluded[] = {
    {"continue", "rounds seed output raw quick deep energy", "the bundle has its own"},
    {"continue", "each", "a bundle is of one GPU"},
    {"quick", "deep", NULL},
    {"rounds", "quick deep", "that is one round"},
    {"each", "output", "each GPU has a bundle of its own"},
    {"each", "device", NULL},
    {"devices", "each device", "it names the GPUs itself"},
    {0},
};

/* "0,2": GPUs, each once. */
static size_t take_list(const char *option, int *to, size_t most, char *list,
                        const struct argp_state *state)
{
    char *rest = NULL;
    size_t n = 0;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        const int device = (int)command_whole(state, option, one, 0, 255);
        for (size_t i = 0; i < n; i++)
            if (to[i] == device)
                command_fail(state, 0, "%s: GPU %d stands there twice", option, device);
        if (n == most)
            command_fail(state, 0, "%s: at most %zu GPUs", option, most);
        to[n++] = device;
    }
    if (n == 0)
        command_fail(state, 0, "%s: expected GPUs, as in %s=0,2", option, option);
    return n;
}

static void take_devices(struct run_options *o, char *list, const struct argp_state *state)
{
    o->n_devices = take_list("--devices", o->devices, SESSION_DEVICES_MAX, list, state);
    if (o->n_devices == 3)
        command_fail(state, 0, "--devices: expected one GPU, two or four");
}

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct run_options *o = state->input;

    switch (key) {
    case KEY_QUICK: o->quick = true; break;
    case KEY_DEEP: o->deep = true; break;
    case KEY_ENERGY: o->energy = true; break;
    case 'r': o->rounds = (int)command_whole(state, "--rounds", argument, 1, ROW_RUNS_MAX); break;
    case KEY_SEED:
        o->seed = (uint64_t)command_whole(state, "--seed", argument, 0, INT64_MAX);
        break;
    case 'o': o->output = argument; break;
    case KEY_CONTINUE: o->resumed = argument; break;
    case 'd': o->device = (int)command_whole(state, "--device", argument, 0, 255); break;
    case KEY_EACH:
        o->n_each = take_list("--each", o->each, SESSION_EACH_MAX, argument, state);
        break;
    case KEY_DEVICES: take_devices(o, argument, state); break;
    case KEY_REQUIRE_GPU: o->require_gpu = true; break;
    case KEY_SHARED: o->shared = true; break;
    case KEY_WITH:
        if (o->n_with == SESSION_WITH_MAX)
            command_fail(state, 0, "--with: at most %d times", SESSION_WITH_MAX);
        o->with[o->n_with++] = argument;
        break;
    case KEY_PEERS: o->peers = true; break;
    case KEY_RAW: o->raw = true; break;
    case KEY_RESULTS: o->results = argument; break;
    case KEY_LIMIT:
        o->limit_s = (double)command_whole(state, "--timeout", argument, 1, 86400);
        break;
    case ARGP_KEY_ARGS:
        o->names = state->argv + state->next;
        o->n_names = (size_t)(state->argc - state->next);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --- which probes ----------------------------------------------------------------------------- */

static bool asked_for(const struct session *s, const struct listed *probe)
{
    for (size_t i = 0; i < s->options.n_names; i++)
        if (!strcmp(s->options.names[i], probe->name))
            return true;
    if (probe->added || s->options.n_names > 0)
        return probe->added;
    if (s->resumed)
        return session_resumes(s, probe->name);
    return devices_take(probe, s->options.n_devices);
}

static bool take_with(struct session *s)
{
    char why[DOCUMENT_WHY];
    for (size_t i = 0; i < s->options.n_with; i++)
        if (!catalogue_add(&s->catalogue, s->options.with[i], why)) {
            out_say("gpufloor run: --with %s\n", why);
            return false;
        }
    return true;
}

/* Where this tree, or the folder that it was installed to, has a program in Python; else NULL. */
static char *find_baseline(char path[PATH_MAX], const char *name)
{
    char beside[80];

    if (access(home_path(path, HOME_BASELINES, name), X_OK) == 0)
        return path;
    snprintf(beside, sizeof beside, "baselines/%s", name);
    return access(home_path(path, HOME_PROGRAMS, beside), X_OK) == 0 ? path : NULL;
}

/* The programs in Python join if they can run; else one line says why they do not. */
static bool take_peers(struct session *s)
{
    static const char *const names[] = {"peers.py", "fused_peers.py", "layer_peers.py"};
    static const char look[] =
        "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))";
    const char *const argv[] = {"python3", "-c", look, NULL};
    char path[PATH_MAX], why[DOCUMENT_WHY];
    struct child_result result;

    bool python = child_run(argv, PYTHON_LIMIT_S, NULL, NULL, &result);
    bool torch = python && result.exit_code == 0;
    child_free(&result);
    if (!torch)
        out_say("no peers: %s\n", python ? "python3 has no torch" : "there is no python3");
    for (size_t i = 0; torch && i < sizeof names / sizeof names[0]; i++)
        if (!find_baseline(path, names[i])) {
            out_say("no peers: there is no baselines/%s beside this program\n", names[i]);
        } else if (!catalogue_add(&s->catalogue, path, why)) {
            out_say("gpufloor run: --peers: %s\n", why);
            return false;
        }
    return true;
}

/* Without a GPU, probes that need one are left out without being asked, and so are those that need
 * several where one is measured. A line says so of the latter, and of one that was added. */
static bool choose_tasks(struct session *s)
{
    s->tasks = calloc(s->catalogue.n, sizeof *s->tasks);
    for (size_t i = 0; s->tasks && i < s->catalogue.n; i++) {
        const struct listed *probe = &s->catalogue.probes[i];
        if (!asked_for(s, probe))
            continue;
        if (!s->gpu_state[0] && probe->takes_gpus && s->options.n_devices < 2)
            out_say("skip  %s: it needs two GPUs or four (--devices=0,1)\n", probe->name);
        else if (!s->gpu_state[0] || probe->needs != NEEDS_GPU)
            s->tasks[s->n_tasks++].probe = probe;
        else if (probe->added)
            out_say("skip  %s: it needs a GPU\n", probe->name);
    }
    return s->tasks != NULL;
}

static void say_gpu_state(const struct session *s)
{
    if (s->gpu_state[0]) /* what was not built says nothing of the GPU */
        out_say("%s: %s\n", strcmp(s->gpu_state, "not_built") ? "no GPU" : "GPU probes",
                s->gpu_why[0] ? s->gpu_why : s->gpu_state);
}

/* In one line, before anything is measured. */
static void say_settings(const struct session *s)
{
    char text[MACHINE_TEXT];
    if (!s->gpu_state[0] && *machine_settings(s->environment, text, sizeof text))
        fprintf(stderr, "warn  %s\n", text);
}

static bool alone(struct session *s)
{
    const json_t *gpu = json_object_get(s->environment, "gpu");
    const bool mps = json_integer_value(json_object_get(gpu, "mps")) != 0;
    struct nvml_state state = devices_state(s);
    if (state.n_processes <= 0 || s->options.shared)
        return true;
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL); /* our own first process may still end */
    state = devices_state(s);
    if (state.n_processes <= 0)
        return true;
    out_say("gpufloor run: %d other process%s on the GPU%s: wait, or give --shared to measure "
            "all the same\n",
            state.n_processes, state.n_processes == 1 ? " is" : "es are",
            mps ? " (MPS is on, and its server is one)" : "");
    return false;
}

/* --- afterwards ------------------------------------------------------------------------------- */

static bool say_outcomes(const struct session *s)
{
    bool all_fine = true;
    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct task *task = &s->tasks[i];
        bool skipped = task->n_skipped == task->n_runs;
        const char *word = task->n_failed ? "FAIL" : task->n_runs && skipped ? "skip" : "ok";
        if (task->n_runs > 0)
            out_say("%-5s %-18s %d run%s  %.1f s%s%s\n", word, task->probe->name,
                    task->n_runs, task->n_runs == 1 ? "" : "s", task->total_s,
                    task->why[0] ? "  " : "", task->why);
        all_fine = all_fine && task->n_failed == 0;
    }
    return all_fine;
}

/* The committed results of a board, if there are any. */
static bool open_committed(const struct session *s, const char *board, struct bundle *committed)
{
    char folder[PATH_MAX], why[DOCUMENT_WHY];
    size_t n = 0;

    if (snprintf(folder, sizeof folder, "%s/%s", s->options.results, board) >= PATH_MAX)
        return false;
    char **paths = paths_in(folder, &n);
    paths_free(paths, n);
    if (n == 0)
        return false;
    if (catalogue_read(committed, folder, why))
        return true;
    out_say("gpufloor run: %s\n", why);
    return false;
}

static void show(const struct session *s, const json_t *document)
{
    struct bundle measured, committed = {0};
    const char *board;

    if (!bundle_take(&measured, document, s->path))
        return;
    board = measured.board ? measured.board : standard_board;
    bool known = open_committed(s, board, &committed);
    const struct bundle *const columns[] = {&measured, &committed};
    if (measured.board)
        answers_print(stdout, &measured, s->options.results, ANSWERS_ALL, NULL, TABLE_TEXT);
    else
        report_headline(stdout, columns, known ? 2 : 1, TABLE_TEXT);
    if (known && measured.board)
        compare_normal(stdout, &committed, &measured, s->options.results);
    bundle_free(&committed);
    bundle_free(&measured);
}

/* Has any program that uses a GPU measured one? */
static bool gpu_measured(const struct session *s)
{
    for (size_t i = 0; i < s->n_tasks && !s->gpu_state[0]; i++) {
        const struct task *task = &s->tasks[i];
        if (task->probe->needs != NEEDS_HOST && task->n_runs > task->n_failed + task->n_skipped)
            return true;
    }
    return false;
}

static int finish(struct session *s)
{
    json_t *bundle = session_bundle(s, true);
    enum session_saved saved = session_save(s, bundle);
    bool all_fine = say_outcomes(s) && saved == SAVED && !s->interrupted;

    if (s->interrupted)
        out_say("interrupted: the bundle holds what was measured until then\n");
    if (saved != NOT_SAVED)
        out_say("wrote %s\n", s->path);
    show(s, bundle);
    json_decref(bundle);
    if (s->options.require_gpu && !gpu_measured(s)) {
        out_say("gpufloor run: --require-gpu: no GPU was measured\n");
        all_fine = false;
    }
    return all_fine ? EXIT_FINE : EXIT_WORSE;
}

/* --- one GPU, or several ---------------------------------------------------------------------- */

enum { GO_ON = -1 };

static int refuse(const struct session *s, const char *why)
{
    out_say("gpufloor run: --%s %s\n", s->options.resumed ? "continue" : "output", why);
    return EXIT_TROUBLE;
}

/* All that can be refused is refused here. GO_ON, or an exit status. */
static int prepare(struct session *s)
{
    char why[DOCUMENT_WHY];

    s->environment = json_object();
    s->runs = json_array();
    s->lost = json_object();
    s->began_s = child_now_s();
    progress_open(&s->progress);
    session_find_gpu(s);
    if (session_interrupted()) {
        out_say("interrupted: nothing was measured until then\n");
        return EXIT_WORSE;
    }
    say_gpu_state(s);
    const bool listed = s->options.n_devices > 0;
    if (s->gpu_state[0] && (s->options.require_gpu || s->options.n_each > 0 || listed)) {
        out_say("gpufloor run: --%s: GPU %d cannot be measured\n",
                s->options.require_gpu ? "require-gpu" : listed ? "devices" : "each",
                listed ? s->options.devices[0] : s->options.device);
        return EXIT_WORSE;
    }
    if (!s->gpu_state[0] && !devices_find(s))
        return EXIT_WORSE;
    say_settings(s);
    if (s->options.resumed && !session_open_resumed(s, why))
        return refuse(s, why);
    if (!alone(s) || !choose_tasks(s))
        return EXIT_TROUBLE;
    if (s->n_tasks == 0 && !s->resumed) {
        out_say("gpufloor run: nothing to measure: what was asked for needs %s\n",
                s->gpu_state[0] ? "a GPU" : "two GPUs or four");
        return EXIT_FINE;
    }
    if (s->options.resumed ? session_resume(s, why) : session_place(s, why))
        return GO_ON;
    return refuse(s, why);
}

static void close_session(struct session *s)
{
    nvml_close(s->nvml);
    for (size_t i = 0; i + 1 < SESSION_DEVICES_MAX; i++)
        nvml_close(s->beside[i]);
    free(s->tasks);
    json_decref(s->environment);
    json_decref(s->runs);
    json_decref(s->said);
    json_decref(s->lost);
    json_decref(s->resumed);
    json_decref(s->continued);
    if (s->held >= 0)
        close(s->held);
}

/* Every name is taken before the first GPU is measured. Those of GPUs whose turn never comes are
 * given back. */
static int measure_all(struct session *all, size_t n)
{
    int status = GO_ON, worst = EXIT_FINE;

    for (size_t i = 0; i < n && status == GO_ON; i++)
        status = prepare(&all[i]);
    for (size_t i = 0; i < n; i++) {
        if (status != GO_ON || (i > 0 && session_interrupted())) {
            session_let_go(&all[i]);
            continue;
        }
        if (n > 1)
            out_say("GPU %d\n", all[i].options.device);
        session_measure(&all[i]);
        const int ended = finish(&all[i]);
        worst = ended > worst ? ended : worst;
    }
    for (size_t i = 0; i < n; i++)
        close_session(&all[i]);
    return status == GO_ON ? worst : status;
}

static int run_all(const struct session *first)
{
    const struct run_options *o = &first->options;
    const size_t n = o->n_each > 0 ? o->n_each : 1;
    struct session *all = calloc(n, sizeof *all);

    for (size_t i = 0; all && i < n; i++) {
        all[i] = *first;
        if (o->n_each > 0)
            all[i].options.device = o->each[i];
    }
    const int status = all ? measure_all(all, n) : EXIT_TROUBLE;
    free(all);
    return status;
}

int run_main(int argc, char **argv)
{
    char results[PATH_MAX];
    struct session s = {.held = -1,
                        .options = {.rounds = 7, .device = -1, .seed = (uint64_t)time(NULL),
                                    .results = home_path(results, HOME_RESULTS, "")}};
    const struct argp parser = {
        .options = table,
        .parser = take,
        .args_doc = "[PROBE...]",
        .doc = "Measures this machine: rounds of every probe, each run a "
               "process of its own, into one bundle; then prints the report. "
               "Without a GPU, the host's part. A draft runs only by its name.\vEach round "
               "is on disk when it ends: a run that is killed, by whatever signal, leaves its "
               "whole rounds, and --continue goes on with them.\nExit: 0, also when nothing that "
               "was asked for can be measured here (but see --require-gpu); 1 when a probe failed "
               "or it was interrupted; 2 usage."};
    command_parse(&parser, excluded, argc, argv, &s.options);
    s.options.rounds = s.options.quick || s.options.deep ? 1 : s.options.rounds;
    s.options.device = s.options.device < 0 ? 0 : s.options.device;
    devices_show(&s.options);

    catalogue_open(&s.catalogue, true);
    int status = EXIT_TROUBLE;
    if (take_with(&s) && (!s.options.peers || take_peers(&s)) &&
        catalogue_knows(&s.catalogue, "run", s.options.names, s.options.n_names)) {
        session_catch_signals();
        spawn_adopt();
        status = run_all(&s);
    }
    catalogue_free(&s.catalogue);
    return status;
}
