/* One `gpufloor run`: what its parts share. run.c reads the options and shows the result, rounds.c
 * measures, save.c writes. */
#ifndef REPORT_CLI_SESSION_H
#define REPORT_CLI_SESSION_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/document.h"
#include "core/nvml.h"
#include "report/cli/catalogue.h"
#include "report/cli/progress.h"

enum { SESSION_REPEATS_MAX = 3, SESSION_WITH_MAX = 8 };

struct run_options {
    char **names; /* probes asked for; NULL-terminated, empty: all */
    size_t n_names;
    const char *with[SESSION_WITH_MAX]; /* programs from elsewhere that join every round */
    size_t n_with;
    int rounds, device;
    uint64_t seed;
    double limit_s; /* of one process */
    bool quick, shared, raw;
    const char *output, *results;
    const char *resumed; /* the interrupted bundle to go on with, or NULL */
};

/* A probe that takes part. */
struct task {
    const struct listed *probe;
    double last_s, total_s; /* of its last run, of all its runs */
    int n_runs, n_failed, n_skipped, n_repeats;
    char why[400]; /* of the last failure or skip */
};

struct session {
    struct run_options options;
    struct catalogue catalogue;
    struct task *tasks;
    size_t n_tasks;
    struct nvml *nvml;
    struct nvml_state seen; /* read last */
    struct progress progress;
    struct progress_now now;
    bool interrupted;
    double looked_s;
    int n_suspicious; /* looks in a row that saw more processes on the GPU than are ours */
    bool foreign;     /* another process was on the GPU before or during the current run */

    json_t *environment, *runs;
    int n_kept;        /* rounds of the resumed bundle, which are not measured again */
    json_t *continued; /* when it was resumed; NULL: never */
    char gpu_state[32]; /* empty: there is a GPU */
    char gpu_why[DOCUMENT_WHY];
    char started[24];
    double began_s;
    char path[PATH_MAX], raw_path[PATH_MAX];
};

/* rounds.c: asks the null probe whether there is a GPU, and opens NVML when there is. */
void session_find_gpu(struct session *s);

/* Every task once a round, until all rounds are done or a signal asks to stop. */
void session_measure(struct session *s);

/* Catches SIGINT, SIGTERM and SIGHUP; session_interrupted says whether one came. */
void session_catch_signals(void);
bool session_interrupted(void);

/* resume.c: takes up the interrupted bundle options.resumed: its whole rounds, seed and place. After
 * the tasks are chosen. False with one line in why if it is of another commit, card or host. */
bool session_resume(struct session *s, char why[DOCUMENT_WHY]);

/* save.c: decides where the bundle goes, and tries whether it can go there, before anything is
 * measured. False with one line in why. */
bool session_place(struct session *s, char why[DOCUMENT_WHY]);

/* The same for any document: at `output`, or for NULL at build/run/TIME-BOARD and the ending. */
bool place_document(char path[PATH_MAX], const char *output, const char *started,
                    const char *board, const char *ending, char why[DOCUMENT_WHY]);

/* The bundle document of what has been measured so far; the caller releases it. */
json_t *session_bundle(struct session *s);

/* Writes it; if its place fails, to the temporary folder instead, and s->path says where. False if
 * it could be written nowhere. */
bool session_save(struct session *s, const json_t *bundle);

#endif
