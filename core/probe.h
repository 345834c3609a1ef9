/* A probe: one question put to the machine, one executable, one folder: NAME/NAME.c, other .c files,
 * and .cu files with its kernels. This is the one header that a host probe includes; a probe that uses
 * the GPU includes core/gpu.h, which brings this along.
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
 * core holds main(): it reads the options, finds the GPU, calls measure() once, reduces the samples
 * to statistics, and prints a table or, with --json, one run document. A probe does no statistics
 * and no formatting. Words: a *sample* is one timed repetition, a *case* one point of a sweep, a
 * *run* one process of one probe.
 *
 * Exit: 0 measured, 1 a check or a call failed, 2 usage, 77 cannot be measured here (with a reason,
 * and a valid document). */
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
 *                grow with the work drops out. Never a median or minimum of differences.
 *   PROBE_P99, PROBE_P999   the 99th percentile of value / n, or the 99.9th: for tails, beside the
 *                same samples' median. Null with fewer than five samples beyond it (500, 5000).
 * Where the unit is a rate (bytes/s, flop/s) samples are still *times* in ns for n bytes or flops:
 * statistics are taken on times, and converted afterwards. */
enum probe_form { PROBE_EACH, PROBE_SLOPE, PROBE_P99, PROBE_P999 };

struct probe_metric {
    const char *name;         /* "load_time": the id is probe.name{keys of the case,timer=...} */
    const char *unit;         /* one of core/unit.h */
    enum probe_better better; /* PROBE_EXACT: a count; all samples and all runs must agree */
    enum probe_form form;
    const char *timer;        /* "device", "event" or "wall" for a time; NULL for anything else */
    const char *keys;         /* keys of its cases in their fixed order, for --list: "level" */
    const char *what;         /* one line */
};

/* A knob of a probe, set by hand with --set NAME=VALUE; `gpufloor run` leaves all at their default. */
struct probe_parameter {
    const char *name;
    int64_t standard, min, max;
    const char *what;
    const char *const *words; /* of min, min + 1 ..., NULL behind the last: type=bf16; NULL: numbers */
};

enum probe_needs {
    PROBE_HOST,       /* runs anywhere */
    PROBE_GPU_IF_ANY, /* uses a GPU where there is one */
    PROBE_GPU,        /* exits 77 without one */
};

struct probe {
    const char *name;   /* of the folder, of its .c, of the program */
    const char *what;   /* the question, one line */
    int method;         /* raised whenever numbers stop being comparable with earlier ones */
    enum probe_needs needs;
    int min_cc;         /* least compute capability, 90 for 9.0; 0: any */
    const struct probe_metric *metrics;
    size_t n_metrics;
    const struct probe_parameter *parameters;
    size_t n_parameters;
    void (*measure)(struct probe_run *r);
};

extern const struct probe probe; /* each executable defines exactly one */

/* Starts a case; keys in their fixed order, "rows=%d,cols=%d". False when this run leaves it out
 * (--case, or a PROBE_ONCE case outside the first and last round): skip its set-up then. */
enum {
    PROBE_ONCE = 1,        /* maps, censuses, capacities: first and last round only */
    PROBE_POWER_BOUND = 2, /* large products, long streams: kept although the clock moves, marked */
    PROBE_DEEP = 4,        /* only with --deep; never part of `gpufloor run` */
};
bool probe_begin_case(struct probe_run *r, unsigned flags, const char *keys, ...)
    PROBE_PRINTF(3, 4);
#define PROBE_NO_KEYS "%s", "" /* a metric with one case only */

/* The sample loop of the current case. True until one of these holds, looked at in this order:
 *   - 1000 rounds of the loop ("count"),
 *   - 80 ms since the loop began and at least 5 rounds ("time"),
 *   - at 20, 40, 80, 160 ... rounds: the 95 % order-statistic interval of every metric's median is
 *     within 0.2 % of it, or within one timer tick ("stable").
 * Two rounds of warm-up come first; their samples are thrown away. Which of the three stopped the
 * loop is stored with the case. Under --check the loop body runs once and its sample is dropped. */
bool probe_more(struct probe_run *r);

/* One raw sample: `value` in the metric's unit (in ns for a rate) for n units of work. */
void probe_sample(struct probe_run *r, int metric, double n, double value);

/* The SM clock during the sample just handed over, in MHz. A case whose clock moved by more than
 * 1 % is discarded with that cause, unless it is PROBE_POWER_BOUND. core/gpu.h calls this. */
void probe_clock(struct probe_run *r, double mhz);

/* A metric's median over the samples of this case so far: for a share, whose
 * reference was timed in the same process. NaN where nothing was sampled (--check), or where
 * counters look on and times are not to be trusted (--counters). */
double probe_median(struct probe_run *r, int metric);

/* A single value that is no timing: a count, a ratio, an error. */
void probe_value(struct probe_run *r, int metric, double value);

/* A map, as one metric and not a case a cell: rows.n x columns.n values in the metric's unit, row by
 * row, NaN where a cell was not measured. The metric's value is the median of the finite cells; the
 * cells stand in the document with it. Cases that hold a map are PROBE_ONCE. */
struct probe_axis {
    const char *name; /* "sm" */
    size_t n;
    const double *at; /* position of each, or NULL for 0, 1, 2 ... */
};
void probe_grid(struct probe_run *r, int metric, struct probe_axis rows, struct probe_axis columns,
                const double *values);

/* A metric that cannot be had in this case: null in the document, with the reason. */
void probe_missing(struct probe_run *r, int metric, const char *why);

/* A fact beside the case's figures: absolute sizes, registers, the kernel a library chose. */
void probe_fact(struct probe_run *r, const char *key, const char *format, ...) PROBE_PRINTF(3, 4);

/* A condition without which the numbers do not stand. False: status "failed", exit 1. Returns ok. */
bool probe_require(struct probe_run *r, bool ok, const char *format, ...) PROBE_PRINTF(3, 4);

/* A remark for the report's footnotes. */
void probe_note(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* Leaves: cannot be measured here (77), or failed (1); the document is written all the same. */
_Noreturn void probe_skip(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);
_Noreturn void probe_fail(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* Leaves with 2: a parameter that this machine cannot serve. */
_Noreturn void probe_usage(struct probe_run *r, const char *format, ...) PROBE_PRINTF(2, 3);

/* This very program again, in a process of its own, as --set parameter=value: for what may cost a
 * process its GPU, such as a fault. measure() sees by probe_parameter_given() that it is the one to
 * do it. Killed after limit_ms. Returns its exit status, -1 when it was killed for taking too long,
 * -2 when it died of a signal; `said` gets the last line that it wrote to stderr. */
int probe_respawn(struct probe_run *r, const char *parameter, int64_t value, int limit_ms,
                  char *said, size_t size);

int64_t probe_parameter(const struct probe_run *r, const char *name);
bool probe_parameter_given(const struct probe_run *r, const char *name);

bool probe_has_gpu(const struct probe_run *r);  /* only asked under PROBE_GPU_IF_ANY */
bool probe_is_check_run(const struct probe_run *r); /* --check: fresh shapes, every kernel once */
bool probe_deep(const struct probe_run *r);     /* --deep: every sweep */
bool probe_in_full(const struct probe_run *r);  /* first round or --check: verify whole tensors */
uint64_t probe_seed(const struct probe_run *r); /* differs in every run; inputs are drawn from it */

/* Monotonic host clock in ns; its cost and step are measured at start-up and stored. */
uint64_t probe_host_ns(void);

/* Program-lifetime host memory, or the end of the run. */
void *probe_host_alloc(struct probe_run *r, size_t bytes);

/* Step of a timer ("wall", "device", "event") in ns, as measured at start-up. */
double probe_tick_ns(const struct probe_run *r, const char *timer);

#endif
