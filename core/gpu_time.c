/* The gate in the stream, and the time between two events behind it; see core/gpu.h. The gate's
 * kernel is in core/device/host_clock.cu, and is loaded at its first use. */
#include <math.h>

#include "core/device/host_clock.h"
#include "core/gpu_inside.h"
#include "core/run.h"

PROBE_IMAGE(host_clock);

enum { BUDGET_NS = 200000000, LATE_MOST = 2 };

/* --- the gate -------------------------------------------------------------------------------- */

void gpu_gate_close(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    struct host_clock_gate_args a = {.budget_ns = BUDGET_NS, .ticket = ++g->gate_ticket};
    if (!g->gate) {
        g->gate = gpu_mapped(r, 2 * sizeof *g->gate);
        g->gatekeeper = gpu_kernel(r, &image_host_clock, "host_clock_gate", sizeof a);
    }
    a.gate = g->gate;
    gpu_launch(r, g->gatekeeper, 1, 1, 0, &a);
}

void gpu_gate_open(struct probe_run *r)
{
    *(volatile uint32_t *)r->gpu->gate = r->gpu->gate_ticket;
}

bool gpu_gate_held(const struct probe_run *r)
{
    return !r->gpu->gate || ((volatile const uint32_t *)r->gpu->gate)[1] == 0;
}

void gpu_require_gates_held(struct probe_run *r)
{
    probe_require(r, gpu_gate_held(r), "the gate was opened before its time was up");
}

/* --- one launch or one replay, timed --------------------------------------------------------- */

struct gpu_events gpu_events(const struct probe_run *r)
{
    return (struct gpu_events){r->gpu->start, r->gpu->stop};
}

double gpu_elapsed_ns(cudaEvent_t start, cudaEvent_t stop)
{
    float ms;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    return (double)ms * 1e6;
}

static void start_timing(struct probe_run *r, bool closes)
{
    struct gpu *g = r->gpu;
    g->has_closed = closes;
    g->late_before = g->gate ? ((volatile const uint32_t *)g->gate)[1] : 0;
    if (closes)
        gpu_gate_close(r);
    gpu_clock_start(r);
    CUDA(cudaEventRecord(g->start, g->stream));
}

void gpu_time_start(struct probe_run *r)
{
    start_timing(r, !r->watch && !probe_is_check_run(r) && !r->gpu->is_gateless);
}

void gpu_time_start_ungated(struct probe_run *r)
{
    start_timing(r, false);
}

/* A gate that opens by itself once is forgiven, as if it had not been late: the host may have
 * paused. A fact of the case counts those of the process so far. The second time running no gate is
 * closed from then on. */
static void look_for_late(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    volatile uint32_t *late = &((volatile uint32_t *)g->gate)[1];

    if (*late != g->gate_ticket) {
        g->n_late = 0;
        return;
    }
    if (++g->n_late < LATE_MOST) {
        *late = g->late_before;
        probe_fact(r, "late_gates", "%u", ++g->n_forgiven);
        return;
    }
    g->is_gateless = true;
    probe_note(
        r,
        "a gate opened by itself %d times running, since launches wait for their ends or the "
        "host stood still: from here on its time is in times by events",
        LATE_MOST);
}

struct gpu_time gpu_time_stop(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    CUDA(cudaEventRecord(g->stop, g->stream));
    gpu_clock_end(r);
    if (g->has_closed)
        gpu_gate_open(r);
    const double mhz = gpu_clock_read(r);
    if (!r->watch)
        probe_clock(r, mhz);
    if (g->has_closed)
        look_for_late(r);
    return (struct gpu_time){gpu_elapsed_ns(g->start, g->stop), mhz};
}

double gpu_launch_clocked_ns(struct probe_run *r, cudaKernel_t kernel,
                             const struct gpu_shape *shape, const void *args, double *mhz)
{
    gpu_time_start(r);
    gpu_launch_shape(r, kernel, shape, args);
    const struct gpu_time t = gpu_time_stop(r);
    *mhz = t.mhz;
    return t.ns;
}

double gpu_launch_ns(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                     const void *args)
{
    double mhz;
    return gpu_launch_clocked_ns(r, kernel, shape, args, &mhz);
}

double gpu_replay_ns(struct probe_run *r, const struct gpu_graph *graph)
{
    gpu_time_start(r);
    CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
    return gpu_time_stop(r).ns;
}

void gpu_require_below_pins(struct probe_run *r, int metric, double fetched)
{
    const double rate = fetched * probe_whole(r, metric), pins = gpu_facts(r)->pin_rate;
    if (!isnan(rate))
        probe_require(r, rate <= pins,
                      "whole launches: %.3f TB/s is not above the pin rate of %.3f", rate / 1e12,
                      pins / 1e12);
}

void gpu_sample_graphs(struct probe_run *r, int metric, double n, const struct gpu_graph graph[2])
{
    while (probe_more(r)) {
        probe_sample(r, metric, n, gpu_replay_ns(r, &graph[0]));
        probe_sample(r, metric, 2 * n, gpu_replay_ns(r, &graph[1]));
    }
}
