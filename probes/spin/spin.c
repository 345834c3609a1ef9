/* spin: do the instruments measure a known duration correctly?
 *
 * Method. A kernel waits a given number of cycles of the SM's clock. Three instruments measure it.
 * The kernel counts the cycles itself: they must be those asked for, plus at most one turn of the
 * waiting loop. Events time waits of N and 2N cycles: the slope is the length of one cycle. The
 * inverse of that must be the SM clock, read by the kernel as cycles over %globaltimer. Both are
 * compared over the same waits, since the clock moves: it may still rise behind another program's
 * work. A later, longer wait measures the clock once more. The value that NVML reports meanwhile is
 * stored as well, with a note if it differs.
 *
 * Inside the timed region: the wait. A gate holds the stream until the events and the wait between
 * them are queued. Without the gate, the pair would also time how much later than the event the
 * host submits the kernel, and up to 0.7 us of that would stay in the slope. What stays with the
 * gate [0.1 us] is a ten-thousandth of N, which is 2 million cycles.
 * Expected: N to N + 60 cycles; 0.505 ns per cycle at 1980 MHz; over the same waits, events and
 * counters agree within 0.2 % in the median of all pairs.
 *
 * Every figure of this suite rests on these. NVML's value is a label with a resolution of 15 MHz on
 * some boards, not a measurement: it is the second method, not the judge. */
#include "probes/spin/args.h"

#include <math.h>
#include <time.h>

#include "core/gpu.h"
#include "core/nvml.h"
#include "core/stat.h"

PROBE_IMAGE(spin);

enum { WAITED, CYCLE_TIME, SM_CLOCK };
static const struct probe_metric metrics[] = {
    [WAITED] = {"waited", "cycles", PROBE_LOWER, .keys = "asked",
        .what = "cycles counted by a kernel that was asked to wait this many"},
    [CYCLE_TIME] = {"cycle_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .what = "length of one cycle, from waits of 2 and 4 million cycles"},
    [SM_CLOCK] = {"sm_clock", "hertz", PROBE_HIGHER, .keys = "source",
        .what = "SM clock while the GPU is busy, as measured and as NVML says"},
};

enum {
    BUDGET_NS = 1000000000,
    LONG = 200000,
    CYCLES = 2000000, /* 1 ms */
    OVERSHOOT = 100,
    BUSY_CYCLES = 60000000,
};
static const double AGREE = 0.002;

struct spinner {
    cudaKernel_t kernel;
    struct spin_result *result;
    cudaEvent_t start, stop;
};

static void spin(struct probe_run *r, const struct spinner *s, uint64_t cycles)
{
    struct spin_args a = {.asked = cycles, .budget_ns = BUDGET_NS, .result = s->result};
    gpu_launch(r, s->kernel, 1, 1, 0, &a);
}

static double clock_of(const struct spin_result *result)
{
    return 1e3 * (double)(result->tail.cycles - result->lead.cycles) /
           (double)(result->tail.ns - result->lead.ns);
}

static void measure_waited(struct probe_run *r, const struct spinner *s, int asked)
{
    if (!probe_begin_case(r, 0, "asked=%d", asked))
        return;
    while (probe_more(r)) {
        spin(r, s, (uint64_t)asked);
        gpu_wait(r);
        probe_sample(r, WAITED, 1, (double)s->result->cycles);
        if (asked >= LONG) /* shorter windows give no clock good to 1 % */
            probe_clock(r, clock_of(s->result));
    }
    double waited = probe_median(r, WAITED);
    if (!isnan(waited))
        probe_require(r, waited >= asked && waited < asked + OVERSHOOT,
                      "waited %.0f cycles, asked for %d", waited, asked);
}

/* Whether events and counters agree is asked of each pair of waits by itself. */
static void measure_cycle(struct probe_run *r, const struct spinner *s)
{
    struct stat_pairs pairs = {0};

    if (!probe_begin_case(r, 0, PROBE_NO_KEYS))
        return;
    while (probe_more(r)) {
        double by_events = 0, by_counters = 0; /* ns that the second wait takes longer */
        for (uint64_t n = CYCLES; n <= 2 * CYCLES; n += CYCLES) {
            gpu_gate_close(r);

            CUDA(cudaEventRecord(s->start, gpu_stream(r)));
            spin(r, s, n);
            CUDA(cudaEventRecord(s->stop, gpu_stream(r)));

            gpu_gate_open(r);
            gpu_wait(r);
            double mhz = clock_of(s->result), ns = gpu_elapsed_ns(s->start, s->stop);
            probe_clock(r, mhz);
            probe_sample(r, CYCLE_TIME, (double)n, ns);
            double sign = n == CYCLES ? -1 : 1;
            by_events += sign * ns;
            by_counters += sign * 1e3 * (double)n / mhz;
        }
        stat_pairs_add(&pairs, by_events, by_counters);
    }
    if (isnan(probe_median(r, CYCLE_TIME)))
        return;
    double agreed = stat_pairs_median(&pairs);
    probe_require(r, fabs(agreed - 1) < AGREE,
                  "by events, waits take %.4f of what they take by counters", agreed);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void measure_clock(struct probe_run *r, const struct spinner *s)
{
    char why[NVML_WHY];
    struct nvml *nvml = nvml_open(gpu_pci_bus(r), why);
    double measured = NAN, said = NAN;

    if (probe_begin_case(r, 0, "source=measured")) {
        spin(r, s, BUSY_CYCLES); /* 30 ms; NVML is asked in the middle */
        pause_ms(10);
        if (nvml)
            said = 1e6 * nvml_state(nvml).sm_clock_mhz;
        gpu_wait(r);
        measured = 1e6 * clock_of(s->result);
        probe_value(r, SM_CLOCK, measured);
    }
    if (probe_begin_case(r, 0, "source=nvml")) {
        if (said > 0)
            probe_value(r, SM_CLOCK, said);
        else
            probe_missing(r, SM_CLOCK, nvml ? "NVML does not say" : why);
        if (said > 0 && fabs(measured / said - 1) > AGREE)
            probe_note(r, "SM clock: measured %.1f MHz, NVML says %.0f", measured / 1e6,
                       said / 1e6);
    }
    nvml_close(nvml);
}

static void measure(struct probe_run *r)
{
    struct spinner s = {.result = gpu_mapped(r, sizeof *s.result)};
    s.kernel = gpu_kernel(r, &image_spin, "spin_wait", sizeof(struct spin_args));
    CUDA(cudaEventCreate(&s.start));
    CUDA(cudaEventCreate(&s.stop));

    measure_waited(r, &s, 1000);
    measure_waited(r, &s, 20000);
    measure_waited(r, &s, LONG);
    measure_cycle(r, &s);
    measure_clock(r, &s);
    gpu_require_gates_held(r);
}

const struct probe probe = {
    .name = "spin",
    .what = "Does the instrument measure a wait whose length is known?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
