/* gpufloor run: measures this machine, writes one bundle, and shows the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/bundle/folder.h"
#include "report/cli/answers.h"
#include "report/cli/child.h"
#include "report/cli/command.h"
#include "report/cli/compare.h"
#include "report/cli/report.h"
#include "report/cli/session.h"

static const char standard_board[] =
    "nvidia-h200"; /* whose results are shown if there is no GPU */

enum { KEY_QUICK = 256, KEY_SEED, KEY_SHARED, KEY_RAW, KEY_RESULTS, KEY_LIMIT, KEY_WITH,
       KEY_CONTINUE };

static const struct argp_option table[] = {
    {.name = "quick", .key = KEY_QUICK, .doc = "One round: a look, from which no verdict follows"},
    {.name = "rounds", .key = 'r', .arg = "N", .doc = "Rounds (default 7)"},
    {.name = "seed",
     .key = KEY_SEED,
     .arg = "N",
     .doc = "Seed of the order and of all inputs "
            "(default: drawn from the clock)"},
    {.name = "output",
     .key = 'o',
     .arg = "FILE",
     .doc = "Write the bundle there (default: "
            "build/run/TIME-BOARD.json); never overwritten"},
    {.name = "continue",
     .key = KEY_CONTINUE,
     .arg = "FILE",
     .doc = "Measure the rounds that an interrupted bundle lacks, into that file: on the same card, "
            "by the same commit, with the same probes; rounds and seed are the file's"},
    {.name = "device", .key = 'd', .arg = "N", .doc = "GPU to measure (default 0)"},
    {.name = "shared",
     .key = KEY_SHARED,
     .doc = "Measure although other processes use the GPU, and "
            "mark the runs"},
    {.name = "with",
     .key = KEY_WITH,
     .arg = "FILE",
     .doc = "A program that answers as a probe does joins every round, for example "
            "baselines/peers.py; up to 8 times"},
    {.name = "raw", .key = KEY_RAW, .doc = "Keep every raw sample in a file beside the bundle"},
    {.name = "results",
     .key = KEY_RESULTS,
     .arg = "DIR",
     .doc = "Committed results (default: "
            "results/ of this tree)"},
    {.name = "timeout",
     .key = KEY_LIMIT,
     .arg = "S",
     .doc = "Longest time of one process, in "
            "seconds (default 120)"},
    {0},
};

static error_t take(int key, char *argument, struct argp_state *state)
{
    struct run_options *o = state->input;

    switch (key) {
    case KEY_QUICK: o->quick = true; break;
    case 'r': o->rounds = (int)command_whole(state, "--rounds", argument, 1, ROW_RUNS_MAX); break;
    case KEY_SEED:
        o->seed = (uint64_t)command_whole(state, "--seed", argument, 0, INT64_MAX);
        break;
    case 'o': o->output = argument; break;
    case KEY_CONTINUE: o->resumed = argument; break;
    case 'd': o->device = (int)command_whole(state, "--device", argument, 0, 255); break;
    case KEY_SHARED: o->shared = true; break;
    case KEY_WITH:
        if (o->n_with == SESSION_WITH_MAX)
            argp_error(state, "--with: at most %d times", SESSION_WITH_MAX);
        o->with[o->n_with++] = argument;
        break;
    case KEY_RAW: o->raw = true; break;
    case KEY_RESULTS: o->results = argument; break;
    case KEY_LIMIT:
        o->limit_s = (double)command_whole(state, "--timeout", argument, 1, 86400);
        break;
    case ARGP_KEY_END:
        if (o->resumed && (o->output || o->raw || o->quick))
            argp_error(state, "--continue: not together with --output, --raw or --quick");
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
    return s->options.n_names == 0 || probe->added;
}

static bool take_with(struct session *s)
{
    char why[DOCUMENT_WHY];
    for (size_t i = 0; i < s->options.n_with; i++)
        if (!catalogue_add(&s->catalogue, s->options.with[i], why)) {
            fprintf(stderr, "gpufloor run: --with %s\n", why);
            return false;
        }
    return true;
}

static bool names_known(const struct session *s)
{
    for (size_t i = 0; i < s->options.n_names; i++)
        if (!catalogue_find(&s->catalogue, s->options.names[i])) {
            fprintf(stderr, "gpufloor run: unknown probe '%s': expected one that 'gpufloor list' "
                    "shows (those that run kernels are built by 'make', with a CUDA toolkit)\n",
                    s->options.names[i]);
            return false;
        }
    if (s->catalogue.n > 0)
        return true;
    fprintf(stderr,
            "gpufloor run: no probes beside this program: expected build/bin/probes (make)\n");
    return false;
}

/* Without a GPU, probes that need one are left out without being asked. For one that was added, a
 * line says so. */
static bool choose_tasks(struct session *s)
{
    s->tasks = calloc(s->catalogue.n, sizeof *s->tasks);
    for (size_t i = 0; s->tasks && i < s->catalogue.n; i++) {
        const struct listed *probe = &s->catalogue.probes[i];
        if (!asked_for(s, probe))
            continue;
        if (!s->gpu_state[0] || probe->needs != NEEDS_GPU)
            s->tasks[s->n_tasks++].probe = probe;
        else if (probe->added)
            fprintf(stderr, "skip  %s: it needs a GPU\n", probe->name);
    }
    return s->tasks != NULL;
}

static void say_gpu_state(const struct session *s)
{
    if (s->gpu_state[0]) /* what was not built says nothing of the GPU */
        fprintf(stderr, "%s: %s\n", strcmp(s->gpu_state, "not_built") ? "no GPU" : "GPU probes",
                s->gpu_why[0] ? s->gpu_why : s->gpu_state);
}

static bool alone(struct session *s)
{
    struct nvml_state state = nvml_state(s->nvml);
    if (state.n_processes <= 0 || s->options.shared)
        return true;
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL); /* our own first process may still end */
    state = nvml_state(s->nvml);
    if (state.n_processes <= 0)
        return true;
    fprintf(stderr,
            "gpufloor run: %d other process%s on the GPU: wait, or give --shared to measure "
            "all the same\n",
            state.n_processes, state.n_processes == 1 ? " is" : "es are");
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
            fprintf(stderr, "%-5s %-18s %d run%s  %.1f s%s%s\n", word, task->probe->name,
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
    fprintf(stderr, "gpufloor run: %s\n", why);
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

static int finish(struct session *s)
{
    json_t *bundle = session_bundle(s);
    bool saved = session_save(s, bundle), all_fine = say_outcomes(s);

    if (s->interrupted)
        fprintf(stderr, "interrupted: the bundle holds what was measured until then\n");
    fprintf(stderr, "wrote %s\n", s->path);
    show(s, bundle);
    json_decref(bundle);
    return saved && all_fine && !s->interrupted ? EXIT_FINE : EXIT_WORSE;
}

static int measure(struct session *s)
{
    char why[DOCUMENT_WHY];

    session_find_gpu(s);
    say_gpu_state(s);
    if (!alone(s) || !choose_tasks(s))
        return EXIT_TROUBLE;
    if (s->n_tasks == 0) {
        fprintf(stderr, "gpufloor run: nothing to measure: what was asked for needs a GPU\n");
        return EXIT_FINE;
    }
    if (s->options.resumed ? !session_resume(s, why) : !session_place(s, why)) {
        fprintf(stderr, "gpufloor run: --%s %s\n", s->options.resumed ? "continue" : "output", why);
        return EXIT_TROUBLE;
    }
    session_measure(s);
    return finish(s);
}

int run_main(int argc, char **argv)
{
    char results[PATH_MAX];
    struct session s = {.options = {.rounds = 7, .limit_s = 120, .seed = (uint64_t)time(NULL),
                                    .results = catalogue_path(results, "../../results")}};
    const struct argp parser = {
        .options = table,
        .parser = take,
        .args_doc = "[PROBE...]",
        .doc = "Measures this machine: rounds of every probe, each run a "
               "process of its own, into one bundle; then prints the report. "
               "Without a GPU, the host's part.\vExit: 0, also when nothing that was "
               "asked for can be measured here; 1 when a probe failed or it was "
               "interrupted; 2 usage."};
    argp_parse(&parser, argc, argv, 0, NULL, &s.options);
    if (s.options.quick)
        s.options.rounds = 1;

    catalogue_open(&s.catalogue, true);
    if (!take_with(&s) || !names_known(&s))
        return EXIT_TROUBLE;
    s.environment = json_object();
    s.runs = json_array();
    s.began_s = child_now_s();
    progress_open(&s.progress);
    session_catch_signals();
    int status = measure(&s);
    nvml_close(s.nvml);
    catalogue_free(&s.catalogue);
    free(s.tasks);
    json_decref(s.environment);
    json_decref(s.runs);
    json_decref(s.continued);
    return status;
}
