/* One `gpufloor run`, on one GPU or over several: what its parts share. run.c reads the options and
 * shows the result, rounds.c measures, place.c takes the bundle's name, save.c writes it. */
#ifndef REPORT_CLI_SESSION_H
#define REPORT_CLI_SESSION_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/document.h"
#include "core/nvml.h"
#include "report/cli/catalogue.h"
#include "report/cli/progress.h"

enum { SESSION_REPEATS_MAX = 3, SESSION_WITH_MAX = 8, SESSION_EACH_MAX = 16 };
enum { SESSION_DEVICES_MAX = 4 };
enum { SESSION_LEFT_MAX = 32 };

struct run_options {
    char **names; /* probes asked for; NULL-terminated, empty: all */
    size_t n_names;
    const char *with[SESSION_WITH_MAX]; /* programs from elsewhere that join every round */
    size_t n_with;
    int rounds, device;
    uint64_t seed;
    int each[SESSION_EACH_MAX]; /* GPUs to measure one after the other; none: device */
    size_t n_each;
    int devices[SESSION_DEVICES_MAX]; /* GPUs of one run over several; none: device */
    size_t n_devices;
    double limit_s; /* of one process; 0: as usual */
    bool quick, deep, energy, shared, raw, peers, require_gpu;
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
    struct nvml *nvml, *beside[SESSION_DEVICES_MAX - 1]; /* beside: of a run's other GPUs */
    struct nvml_state seen; /* read last */
    struct progress progress;
    struct progress_now now;
    bool interrupted, unwritten; /* unwritten: the last round is not on disk */
    double looked_s;
    int n_suspicious; /* looks in a row that saw more processes on the GPU than are ours */
    unsigned long long reasons; /* all that NVML said during the run for a clock held back */
    bool foreign;     /* another process was on the GPU before or during the current run */
    pid_t left[SESSION_LEFT_MAX]; /* processes that were left behind, already named */
    size_t n_left;

    json_t *environment, *runs;
    json_t *said;      /* facts of all runs, see session_keep_new_facts(); NULL: not looked for
                        * yet */
    size_t n_bytes;    /* of the runs, as they are written; 0: not counted yet */
    json_t *lost;      /* what programs said of libraries that they lack, each line once */
    json_t *resumed;   /* the bundle options.resumed; NULL: a new run */
    int n_kept;        /* rounds of the resumed bundle, which are not measured again */
    int n_whole;       /* rounds that are measured, those included */
    json_t *continued; /* when it was resumed; NULL: never */
    char gpu_state[32]; /* empty: there is a GPU */
    char gpu_why[DOCUMENT_WHY];
    char started[24];
    double began_s;
    char path[PATH_MAX], raw_path[PATH_MAX];
    int held; /* the file at path as this run wrote it last, open and locked; -1: none */
    dev_t held_device;
    ino_t held_inode;
};

/* rounds.c: asks the null probe whether there is a GPU, and opens NVML when there is. */
void session_find_gpu(struct session *s);

/* What the null probe says of that device, whose document the caller releases; and its NVML, which
 * is NULL with one line in why where there is none. */
json_t *session_ask(struct session *s, int device);
struct nvml *session_open_nvml(int device, char why[NVML_WHY]);

/* Every task once a round, until all rounds are done or a signal asks to stop. Each round is on
 * disk when it ends. */
void session_measure(struct session *s);

/* Catches SIGINT, SIGTERM and SIGHUP; session_interrupted says whether one came. A closed pipe ends
 * the talk, not the run: SIGPIPE is ignored. */
void session_catch_signals(void);
bool session_interrupted(void);

/* facts.c: takes away the facts of a run that an earlier one of s->runs has said. */
void session_keep_new_facts(struct session *s, json_t *run);

/* resume.c: holds and reads the interrupted bundle options.resumed, before the tasks are chosen.
 * False with one line in why if it is of another commit, card or host. */
bool session_open_resumed(struct session *s, char why[DOCUMENT_WHY]);

/* Does that program take part in it? */
bool session_resumes(const struct session *s, const char *program);

/* Takes it up, after the tasks are chosen: its whole rounds, seed and place. False with one line in
 * why if other programs take part now. */
bool session_resume(struct session *s, char why[DOCUMENT_WHY]);

/* place.c: decides where the bundle goes, tries whether it can go there, and takes the name with a
 * document that holds no run, all before anything is measured. False with one line in why. */
bool session_place(struct session *s, char why[DOCUMENT_WHY]);

/* Tries where any document goes: `output`, or for NULL build/run/TIME-BOARD and the ending. */
bool place_document(char path[PATH_MAX], const char *output, const char *started,
                    const char *board, const char *ending, char why[DOCUMENT_WHY]);

/* Writes a document there. Several programs may want one name at the same moment: who writes it
 * first has it, and the others take the next, unless it is the one that was asked for. */
bool place_write(char path[PATH_MAX], const json_t *document, const char *output,
                 const char *started, const char *board, const char *ending,
                 char why[DOCUMENT_WHY]);

/* Writes and removes a file as large as two bundles beside that path. False, with a line in why. */
bool place_try(const char *path, char why[DOCUMENT_WHY]);

/* Removes what runs that were killed in the middle of a write left in the folder of that path, and
 * says so in a line: files NAME.json.PID.tmp and the like of this user that nobody holds, whose
 * process is gone, or had the number that this one has now. */
void place_clear(const char *path);

/* Remembers which file is at s->path, and locks it. False, with one line in why, if another process
 * that runs holds it. */
bool session_hold(struct session *s, char why[DOCUMENT_WHY]);

/* Gives the name back; what another put there stays. */
void session_let_go(struct session *s);

/* save.c: the bundle document of what has been measured so far; the caller releases it. One that is
 * written before the end says that it is not complete. */
json_t *session_bundle(struct session *s, bool ended);

/* Writes what is measured so far. A failure is said; the next round tries again. */
void session_keep(struct session *s);

/* Writes the bundle at the end; if its place fails, to the temporary folder instead, and s->path
 * says where; if that fails, too, to stdout. */
enum session_saved { SAVED, SAVED_ELSEWHERE, NOT_SAVED };
enum session_saved session_save(struct session *s, const json_t *bundle);

#endif
