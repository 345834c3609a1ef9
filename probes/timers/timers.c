/* timers: how fine and how costly are the clocks that all figures come from, and do the SMs agree
 * on the time?
 *
 * Method.
 *     tick         smallest non-zero step: of %globaltimer over 0.2 ms on one SM, of an event pair
 *                  over 64 empty pairs, of the host's clock over 2000 readings (core measures all
 *                  three at start-up, in every process)
 *     clock64_cost cycles from one reading of the cycle counter to the next, over 32 readings
 *     event_floor  what an event pair reads with nothing between, behind a gate as all that is
 *                  timed by events: so much is in every such time that is no slope
 *     skew         largest difference of %globaltimer between SM 0 and any other, by time stamps
 *                  that travel there and back; known to within half of the round trip
 *
 * Expected on an H200: tick 32 ns, 32 ns (1 us on some boards) and 20 ns; clock64_cost 2 to
 * 20 cycles; event_floor 1 to 3 us; skew under 1 us.
 *
 * A time below two ticks is not a measurement, and no verdict rests on one. The cycle counters of
 * two SMs are not comparable at all. */
#include "probes/timers/args.h"

#include <stdlib.h>

#include "core/gpu.h"

PROBE_IMAGE(timers);

enum { TICK_DEVICE, TICK_EVENT, TICK_WALL, CLOCK64_COST, EVENT_FLOOR, SKEW };
static const struct probe_metric metrics[] = {
    [TICK_DEVICE] = {"tick", "ns", PROBE_LOWER, .timer = "device",
        .what = "smallest step of %globaltimer"},
    [TICK_EVENT] = {"tick", "ns", PROBE_LOWER, .timer = "event",
        .what = "smallest difference between two readings of an event pair"},
    [TICK_WALL] = {"tick", "ns", PROBE_LOWER, .timer = "wall",
        .what = "smallest step of the host's clock"},
    [CLOCK64_COST] = {"clock64_cost", "cycles", PROBE_LOWER,
        .what = "from one reading of the cycle counter to the next"},
    [EVENT_FLOOR] = {"event_floor", "ns", PROBE_LOWER, .timer = "event",
        .what = "an event pair behind a gate, with nothing between"},
    [SKEW] = {"skew", "ns", PROBE_LOWER, .timer = "device",
        .what = "largest difference of %globaltimer between SM 0 and another SM"},
};

enum { SKEW_BUDGET_NS = 200000000 };

static void measure_reads(struct probe_run *r)
{
    uint64_t *out = gpu_mapped(r, 2 * sizeof *out);
    struct reads_args a = {.out = out};
    cudaKernel_t kernel = gpu_kernel(r, &image_timers, "timers_reads", sizeof a);

    while (probe_more(r)) {
        gpu_launch(r, kernel, 1, 1, 0, &a);
        gpu_wait(r);
        probe_sample(r, CLOCK64_COST, TIMERS_READS, (double)out[0]);
    }
}

static void measure_events(struct probe_run *r)
{
    while (probe_more(r)) {
        gpu_time_start(r);

        probe_sample(r, EVENT_FLOOR, 1, gpu_time_stop(r).ns);
    }
}

static void measure_skew(struct probe_run *r)
{
    int n_sm = gpu_facts(r)->n_sm;
    size_t shared = gpu_facts(r)->shared_per_sm / 2 + 1024; /* one block per SM */
    struct skew_args a = {.mail = gpu_alloc(r, (size_t)n_sm * sizeof *a.mail, "mailboxes"),
                          .offset = gpu_mapped(r, (size_t)n_sm * sizeof *a.offset),
                          .round_trip = gpu_mapped(r, (size_t)n_sm * sizeof *a.round_trip),
                          .budget_ns = SKEW_BUDGET_NS,
                          .n_sm = (uint32_t)n_sm};
    cudaKernel_t kernel = gpu_kernel(r, &image_timers, "timers_skew", sizeof a);
    int met = 0;
    int64_t widest = 0;
    uint64_t slowest = 0;

    CUDA(cudaMemsetAsync(a.mail, 0, (size_t)n_sm * sizeof *a.mail, gpu_stream(r)));
    gpu_kernel_shared(kernel, shared, 100);
    gpu_launch(r, kernel, (unsigned)n_sm, 1, shared, &a);
    gpu_wait(r);
    for (int i = 1; i < n_sm; i++) {
        met += a.round_trip[i] > 0;
        widest = llabs(a.offset[i]) > widest ? llabs(a.offset[i]) : widest;
        slowest = a.round_trip[i] > slowest ? a.round_trip[i] : slowest;
    }
    if (probe_require(r, met == n_sm - 1, "%d of %d SMs answered", met, n_sm - 1))
        probe_value(r, SKEW, (double)widest);
    probe_fact(r, "round_trip_ns", "%llu", (unsigned long long)slowest);
}

static void measure(struct probe_run *r)
{
    if (probe_begin_case(r, 0, PROBE_NO_KEYS)) {
        probe_value(r, TICK_DEVICE, probe_tick_ns(r, "device"));
        probe_value(r, TICK_EVENT, probe_tick_ns(r, "event"));
        probe_value(r, TICK_WALL, probe_tick_ns(r, "wall"));
    }
    if (probe_begin_case(r, 0, PROBE_NO_KEYS))
        measure_reads(r);
    if (probe_begin_case(r, 0, PROBE_NO_KEYS))
        measure_events(r);
    if (probe_begin_case(r, PROBE_THRICE, PROBE_NO_KEYS))
        measure_skew(r);
}

const struct probe probe = {
    .name = "timers",
    .what = "How fine, how costly and how common are the clocks that all else is read from?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
