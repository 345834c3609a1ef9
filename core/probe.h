/* A probe is one question put to the machine. It is one executable and one folder: NAME/NAME.c,
 * other .c files, and .cu files with its kernels. A host probe includes only this header. A probe
 * that uses the GPU includes core/gpu.h, which includes this one.
 *
 *     probes/spin/spin.c
 *
 *     enum { WAITED };
 *     static const struct probe_metric metrics[] = {
 *         [WAITED] = {.name = "waited", .unit = "cycles", .keys = "asked", .what = "..."},
 *     };
 *
 *     static void measure(struct probe_run *r)
 *     {
 *         if (!probe_begin_case(r, 0, "asked=%d", 10000))
 *             return;
 *         while (probe_more(r)) {
 *             ... the timed region, one visible paragraph ...
 *             probe_sample(r, WAITED, 1, cycles);
 *         }
 *     }
 *
 *     const struct probe probe = {
 *         .name = "spin", .what = "...", .method = 1, .needs = PROBE_GPU,
 *         .metrics = metrics, .n_metrics = PROBE_LENGTH(metrics), .measure = measure,
 *     };
 *
 * core has main(). It reads the options, finds the GPU, calls measure() once, reduces the samples
 * to statistics, and prints a table or, with --json, one run document. A probe does no statistics
 * and no formatting. Words: a *sample* is one timed repetition, a *case* is one point of a sweep,
 * and a *run* is one process of one probe.
 *
 * Exit status: 0 measured, 1 a check or a call failed, 2 usage error, 77 cannot be measured here
 * (with a reason, and a valid document). */
#ifndef GPUFLOOR_PROBE_H
#define GPUFLOOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PROBE_PRINTF(text, first) __attribute__((format(printf, text, first)))

struct probe_run; /* one process's measurement; core/probe.c */

enum probe_better { PROBE_LOWER, PROBE_HIGHER, PROBE_EXACT };

/* How samples become the metric's value.
 *   PROBE_EACH   value / n of each sample.
 *   PROBE_SLOPE  samples come at two amounts of work n; the value is
 *                (median at n_high - median at n_low) / (n_high - n_low), so that whatever does not
 *                grow with the work cancels. Never a median or minimum of differences.
 *   PROBE_P99, PROBE_P999   the 99th or the 99.9th percentile of value / n: for tails, next to the
 *                median of the same samples. Null with fewer than five samples beyond it, that is
 *                with fewer than 500 or 5000 samples.
 * If the unit is a rate (bytes/s, flop/s), samples are still *times* in ns for n bytes or flops.
 * Statistics are taken on the times and converted afterwards. */
enum probe_form { PROBE_EACH, PROBE_SLOPE, PROBE_P99, PROBE_P999 };

struct probe_metric {
    const char *name;         /* "load_time"; the id: probe.name{keys of the case,timer=...} */
    const char *unit;         /* one of core/unit.h */
    enum probe_better better; /* PROBE_EXACT: a count; all samples and all runs must agree */
    enum probe_form form;
    const char *timer;        /* "device", "event" or "wall" for a time; NULL for anything else */
    const char *keys;         /* keys of its cases in fixed order, for --list: "level" */
    const char *what;         /* one line */
};

/* A parameter of a probe, set by hand with --set NAME=VALUE. `gpufloor run` uses the defaults. */
struct probe_parameter {
    const char *name;
    int64_t standard, min, max;
    const char *what;
    const char *const *words; /* of min, min + 1 ..., then NULL: type=bf16; NULL: numbers */
};

enum probe_needs {
    PROBE_HOST,       /* runs anywhere */
    PROBE_GPU_IF_ANY, /* uses a GPU where there is one */
    PROBE_GPU,        /* exits 77 without one */
};

struct probe {
    const char *name;   /* also of the folder, of its .c and of the program */
    const char *what;   /* the question, one line */
    int method;         /* raised when numbers stop being comparable with earlier ones */
    const char *draft;  /* NULL; or why its figures are not to be believed yet. `gpufloor run`
                         * leaves a draft out unless it is named */
    enum probe_needs needs;
    int min_cc;         /* least compute capability, 90 for 9.0; 0: any */
    const struct probe_metric *metrics;
    size_t n_metrics;
    const struct probe_parameter *parameters;
    size_t n_parameters;
    const char *fixed; /* NULL; or why an operator takes no sizes by --set */
    void (*measure)(struct probe_run *r);
};

extern const struct probe probe; /* each executable defines exactly one */

/* Starts a case; keys in their fixed order, "rows=%d,cols=%d". If it returns false, this run leaves
 * the case out (because of --case, or because of its flags): skip its set-up too. How often a case
 * runs is declared by its flags. Without one of them it runs in every round, which is for numbers
 * that the report shows first and for times on which a verdict or the finding of a section
 * rests. */
enum {
    PROBE_TWICE = 1,       /* first and last round, which must agree; not with `run --quick`: maps,
                            * censuses, capacities, searches, campaigns */
    PROBE_POWER_BOUND = 2, /* large products, long streams: kept, marked, where the clock moves */
    PROBE_DEEP = 4,        /* only with --deep; never part of `gpufloor run` */
    PROBE_THRICE = 8,      /* first, middle and last round: points of a curve, sweeps beside
                            * others */
    PROBE_SLOW = 16,       /* not with `run --quick`: what takes long to prepare */
};
bool probe_begin_case(struct probe_run *r, unsigned flags, const char *keys, ...)
    PROBE_PRINTF(3, 4);
#define PROBE_NO_KEYS "%s", "" /* a metric with one case only */

/* Is a case with these flags due in this round? For set-up that several cases share: it is skipped
 * where none of them is. */
bool probe_is_due(const struct probe_run *r, unsigned flags);

/* The sample loop of the current case. True until one of these holds, tested in this order:
 *   - 1000 rounds of the loop ("count"),
 *   - 32 ms (PROBE_THRICE: 20; with `run --quick`: 8) since the loop began and at least 5 rounds
 *     ("time"),
 *   - at 20, 28, 40, 56, 80 ... rounds: the 95 % order-statistic interval of every metric's median
 *     is within 0.2 % of it, or within one timer tick ("stable").
 * Two rounds of warm-up come first; their samples are discarded. The word in parentheses is stored
 * with the case. If the SM clock moved by more than 1 % meanwhile, the loop begins anew, up to
 * three times. A PROBE_POWER_BOUND loop whose clock is held back when it would end (see METHOD.md)
 * begins anew once, 50 ms or 1000 rounds after it began; not with `run --quick`. Under --check the
 * loop body runs once and its sample is dropped. */
bool probe_more(struct probe_run *r);

/* How many passes of this case's loop have samples that are dropped: those of warm-up, and what
 * came before the clock stood still, or the power limit had acted. A program that keeps for other
 * cases what it timed in the same passes drops as many. */
size_t probe_dropped_passes(const struct probe_run *r);

/* One raw sample: `value` in the metric's unit (in ns for a rate) for n units of work. */
void probe_sample(struct probe_run *r, int metric, double n, double value);

/* The SM clock during the sample just recorded, in MHz. If the clock moved by more than 1 % in each
 * attempt at a case, the case is discarded with that reason, unless it is PROBE_POWER_BOUND.
 * core/gpu.h calls this. */
void probe_clock(struct probe_run *r, double mhz);

/* Forgets the clocks of the loop. Where one loop times several cases in turn, the first case has
 * the clocks of all: call this after the loop, then give the first case its own. */
void probe_forget_clocks(struct probe_run *r);

/* A metric's median over the samples of this case so far. Use it for a share whose reference was
 * timed in the same process. NaN if nothing was sampled (--check), or under --counters, where times
 * are not valid. */
double probe_median(struct probe_run *r, int metric);

/* A metric over the whole samples of this case so far, in its unit: their values added up, over
 * their work added up; of a rate, their work over their time. A slope's samples count at both
 * amounts of work, with all that does not grow with it. Ask this of what the hardware cannot do: no
 * sample takes less time than its work, but a slope looks too fast where the shorter samples alone
 * are slow. NaN as above, and for a single value or a map. */
double probe_whole(struct probe_run *r, int metric);

/* A single value that is not a timing: a count, a ratio, an error. */
void probe_value(struct probe_run *r, int metric, double value);

/* A map, as one metric rather than one case per cell: rows.n x columns.n values in the metric's
 * unit, row by row. A cell that was not measured is NaN. The metric's value is the median of the
 * finite cells; the document holds all cells next to it. Cases that hold a map are PROBE_TWICE. */
struct probe_axis {
    const char *name; /* "sm" */
    size_t n;
    const double *at; /* position of each, or NULL for 0, 1, 2 ... */
};
void probe_grid(struct probe_run *r, int metric, struct probe_axis rows, struct probe_axis columns,
                const double *values);

/* A metric that cannot be measured in this case: null in the document, with the reason. */
void probe_missing(struct probe_run *r, int metric, const char *why);

/* A fact stored with the case's figures: absolute sizes, registers, the kernel a library chose. */
void probe_fact(struct probe_run *r, const char *key, const char *format, ...) PROBE_PRINTF(3, 4);

/* A condition without which the numbers are invalid. If it is false, status "failed", exit 1.
 * Returns ok. */
bool probe_require(struct probe_run *r, bool ok, const char *format, ...) PROBE_PRINTF(3, 4);

/* A remark for the report's footnotes. */
void probe_note(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* Ends the run: cannot be measured here (77), or failed (1). The document is written in both
 * cases. */
_Noreturn void probe_skip(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);
_Noreturn void probe_fail(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* Exits with 2: a parameter value that this machine cannot serve. */
_Noreturn void probe_usage(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* Runs this program again, in a process of its own, with --set parameter=value: for an experiment
 * that may cost a process its GPU, such as a fault. In the child, measure() recognises its task by
 * probe_parameter_given(). The child is killed after limit_ms. Returns its exit status, -1 when it
 * was killed for taking too long, -2 when a signal ended it. `said` gets the last line that it
 * wrote to stderr. */
int probe_respawn(struct probe_run *r, const char *parameter, int64_t value, int limit_ms,
                  char *said, size_t size);

int64_t probe_parameter(const struct probe_run *r, const char *name);
bool probe_parameter_given(const struct probe_run *r, const char *name);

bool probe_has_gpu(const struct probe_run *r);  /* for PROBE_GPU_IF_ANY only */
/* --counters: all that the loop's body does on the GPU is counted as the case's own. */
bool probe_is_counted(const struct probe_run *r);
bool probe_is_check_run(const struct probe_run *r); /* --check: fresh shapes, every kernel once */
bool probe_deep(const struct probe_run *r);     /* --deep: every sweep */
bool probe_energy(const struct probe_run *r);   /* --energy: of operators in graphs, too */
bool probe_in_full(const struct probe_run *r);  /* first round or --check: verify all elements */
uint64_t probe_seed(const struct probe_run *r); /* differs in every run; seeds all inputs */

/* Monotonic host clock in ns; its cost and step are measured at start-up and stored. */
uint64_t probe_host_ns(void);

/* Host memory, until free() or the end of the process. Ends the run if there is none. */
void *probe_host_alloc(struct probe_run *r, size_t bytes);

/* Step of a timer ("wall", "device", "event") in ns, as measured at start-up. */
double probe_tick_ns(const struct probe_run *r, const char *timer);

#endif
