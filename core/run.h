/* Internal to core: the state of one run. Probes do not include this. */
#ifndef GPUFLOOR_RUN_H
#define GPUFLOOR_RUN_H

#include <jansson.h>
#include <setjmp.h>
#include <stdio.h>

#include "core/document.h"
#include "core/probe.h"
#include "core/stat.h"

enum { RUN_EXIT_OK = 0, RUN_EXIT_FAILED = 1, RUN_EXIT_USAGE = 2, RUN_EXIT_SKIPPED = 77 };
enum { RUN_PARAMETERS_MAX = 16, RUN_KEYS = 384 };

struct options {
    int device;
    int round, rounds; /* 0-based; rounds = 1 when run by hand */
    uint64_t seed;
    bool check, deep, energy, quick, list, json;
    const char *raw;      /* side file of raw samples, or NULL */
    const char *only;     /* glob that a case's keys must match, or NULL */
    const char *counters; /* a counter set, or "launches"; NULL: time is measured */
    int64_t parameters[RUN_PARAMETERS_MAX];
    bool given[RUN_PARAMETERS_MAX];
};

/* Samples of one metric in the current case, and what became of them. */
struct series {
    double *value, *work;
    size_t n, room;
    double direct;           /* probe_value() */
    bool has_direct;
    char missing[160];
    json_t *grid;            /* probe_grid(), or NULL */
};

enum { LOOP_DROPPED_MOST = 3 };
enum { LOOP_IDLE, LOOP_WARMING, LOOP_SAMPLING, LOOP_WATCHED, LOOP_DONE };

struct loop {
    int state;
    int passes;         /* of the loop body since warm-up ended */
    size_t dropped_passes; /* passes whose samples are dropped */
    int next_look;      /* pass count at the next test of stability */
    int sweeps;         /* of the L2 that the watched passes made, see gpu_sweep_l2() */
    uint64_t began_ns;
    bool is_settled; /* the power limit has acted, and what was sampled before is dropped */
    struct {
        double least_mhz, most_mhz;
    } dropped[LOOP_DROPPED_MOST]; /* the SM clock of what was sampled before, and dropped */
    size_t n_dropped;
    const char *stopped;
};

/* Observes each pass of the loop body, under --counters. The loop then ends when the watch has seen
 * enough. The harness runs nothing of its own around the body (no stamps of the SM clock). */
struct watch {
    void (*begin)(struct probe_run *r); /* before a pass */
    bool (*end)(struct probe_run *r);   /* after it; true: one more pass */
    void (*close_case)(struct probe_run *r, json_t *one); /* adds the results to the case */
};

struct probe_run {
    struct options options;
    char keys[RUN_KEYS];
    unsigned flags;
    bool in_case;
    int n_cases;           /* cases that this run measured */
    struct loop loop;
    const struct watch *watch; /* NULL: nobody */
    void (*settle)(struct probe_run *); /* waits until the SM clock is steady; NULL: no GPU */
    double steady_mhz;     /* the SM clock of small work; 0: no GPU */
    double slow_mhz;       /* the SM clock at which a case of small work begins, where it is low */
    struct series *series; /* one per metric */
    double *clock_mhz;
    size_t n_clock, room_clock;
    json_t *cases, *facts, *notes;
    json_t *metrics;       /* unit and direction of each metric that a case has, by its name */
    json_t *lost;          /* libraries without which some rows are missing, a line each */
    json_t *checks;        /* that failed; of those that passed the number is kept */
    json_int_t n_passed;
    bool failed;
    double tick_wall_ns, cost_wall_ns, tick_device_ns, tick_event_ns;
    FILE *raw;
    jmp_buf *leave;        /* by which probe_skip and probe_fail return */
    int exit_status;
    char why[DOCUMENT_WHY];
    json_t *environment;
    json_t *cubins;        /* "image.sm_90a" -> SHA-256 */
    json_t *counters;      /* under --counters: how reading them went; else NULL */
    struct counting *counting; /* under --counters; core/gpu_counters.c; else NULL */
    struct gpu *gpu;       /* NULL without one; core/gpu.c */
    const char *gpu_state; /* why there is none, one word; NULL: not looked for */
    char gpu_why[DOCUMENT_WHY];
};

/* core/options.c: reads the command line. Exits with 2 on a bad one, with 0 after --help. */
void options_read(struct options *options, int argc, char **argv);
void options_list(FILE *out, bool json); /* --list */

/* The word for a direction in documents and lists. */
const char *better_name(enum probe_better better);

/* core/samples.c: closes the current case, if any, into r->cases. */
void samples_close_case(struct probe_run *r);
void samples_free(struct probe_run *r);

/* core/probe.c: a library that is not to be had, in one line that names what is lost; said once. */
void run_lost(struct probe_run *r, const char *line);

/* core/show.c: the table that a run by hand prints. */
void show_run(FILE *out, const json_t *document);

/* core/environment.c: allow-listed facts of the host and of this program. */
json_t *environment_host(void);

/* "firecracker", "gvisor" or "hypervisor" from what the kernel shows; null on bare metal as far as
 * can be seen. */
struct utsname;
json_t *environment_virtualisation(const struct utsname *system);

/* core/gpu_counters.c, or core/gpu_none.c in a build without CUDA. Under --counters: counters_open
 * opens the plugin before anything calls CUDA, counters_start begins reading once there is a GPU,
 * and counters_close ends it. If counters are refused the run is skipped with the reason. */
void counters_open(struct probe_run *r);
void counters_start(struct probe_run *r);
void counters_close(struct probe_run *r);

/* core/gpu.c, or core/gpu_none.c in a build without CUDA. gpu_open returns false when no GPU is
 * available; state is then one of not_built, no_driver, old_driver, stub_driver, no_device, failed,
 * and why explains it in one line. */
bool gpu_open(struct probe_run *r, const char **state, char why[DOCUMENT_WHY]);
bool gpu_guards_intact(struct probe_run *r); /* checks every allocation still held */
void gpu_close(struct probe_run *r);

#endif
