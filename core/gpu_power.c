/* Power and energy of repeated work, by NVML's energy counter. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/gpu.h"
#include "core/gpu_inside.h"
#include "core/nvml.h"
#include "core/run.h"

/* Three steps of a counter that moves every 100 ms, the first of them seen late. */
static const double WARM_NS = 100e6, COUNTED_NS = 290e6, GIVE_UP_NS = 2e9;
static const double BATCH_NS = 2e6;
static const double CALLS_MOST = 1000; /* of a batch: a stream holds about so many launches */
static const double IN_A_ROW = 1.1; /* a call in a row over one alone: beyond, the GPU waits, too */
/* A board keeps to its limit over a second, and takes 1.1 times as much for most of it: see
 * docs/METHOD.md. */
static const double LIMIT_PASSED = 1.25;

enum { STEPS_KEPT = 8 };

/* The counter's steps while work goes on. One thread writes them; the run's own reads them when
 * that one has ended. */
struct meter {
    const struct nvml *nvml;
    double began_ns;
    double last_ns, last_j;   /* the latest look: when it began, what it saw */
    double first_ns, first_j; /* at the first step after the warm-up; NaN before */
    double end_ns, end_j;     /* at the latest step */
    double least_ns, most_ns; /* the first came after that moment, the latest before this one */
    int steps;
    double watts[STEPS_KEPT]; /* from one step to the next */
    atomic_bool is_done;
    pthread_t thread;
};

static void look(struct meter *m)
{
    const double now_ns = (double)probe_host_ns(), joules = nvml_energy_j(m->nvml);
    const double last_ns = m->last_ns;
    const bool is_step = joules != m->last_j;

    if (isnan(joules)) /* a look that failed */
        return;
    m->last_ns = now_ns;
    m->last_j = joules;
    if (!is_step || now_ns - m->began_ns < WARM_NS)
        return;
    if (isnan(m->first_ns)) {
        m->first_ns = now_ns;
        m->first_j = joules;
        m->least_ns = last_ns;
        return;
    }
    if (m->steps < STEPS_KEPT)
        m->watts[m->steps] = 1e9 * (joules - (m->steps ? m->end_j : m->first_j)) /
                             (now_ns - (m->steps ? m->end_ns : m->first_ns));
    m->end_ns = now_ns;
    m->end_j = joules;
    m->most_ns = (double)probe_host_ns();
    m->steps++;
}

static bool has_enough(const struct meter *m)
{
    return m->end_ns - m->first_ns >= COUNTED_NS ||
           (double)probe_host_ns() - m->began_ns >= GIVE_UP_NS;
}

/* In a thread of its own: a look takes 5 ms in some virtual machines, and the GPU would idle. */
static void *watch(void *meter)
{
    static const struct timespec a_while = {.tv_nsec = 500000};
    struct meter *m = meter;

    while (!has_enough(m)) {
        look(m);
        nanosleep(&a_while, NULL);
    }
    atomic_store(&m->is_done, true);
    return NULL;
}

/* It may outlive a run that a failed call ends, so it is not on the stack. */
static struct meter *start_meter(struct probe_run *r, const struct nvml *nvml)
{
    struct meter *m = probe_host_alloc(r, sizeof *m);
    const double now_ns = (double)probe_host_ns();
    *m = (struct meter){.nvml = nvml,
                        .began_ns = now_ns,
                        .last_ns = now_ns,
                        .last_j = nvml_energy_j(nvml),
                        .first_ns = NAN,
                        .end_ns = NAN};
    atomic_init(&m->is_done, false);
    if (pthread_create(&m->thread, NULL, watch, m) != 0)
        probe_fail(r, "no thread to watch the energy counter");
    return m;
}

/* Batch after batch, one always queued behind the one that runs. Returns ns of a call. */
static double keep_busy(struct probe_run *r, const struct meter *m,
                        void (*once)(struct probe_run *, void *), void *what, double once_ns)
{
    const double calls = fmin(fmax(1, ceil(BATCH_NS / once_ns)), CALLS_MOST);
    struct gpu_events e = gpu_events(r);
    cudaEvent_t done[] = {e.start, e.stop};
    double n = 0;

    for (int batch = 0; !atomic_load(&m->is_done); batch++) {
        for (double i = 0; i < calls; i++, n++)
            once(r, what);
        CUDA(cudaEventRecord(done[batch % 2], gpu_stream(r)));
        if (batch > 0)
            CUDA(cudaEventSynchronize(done[(batch - 1) % 2]));
    }
    gpu_wait(r);
    return ((double)probe_host_ns() - m->began_ns) / n;
}

/* "728 709 705": does it fall towards the limit, or stand still? */
static void tell_steps(struct probe_run *r, const struct meter *m)
{
    char text[STEPS_KEPT * 16] = "";
    size_t used = 0;

    for (int i = 0; i < m->steps && i < STEPS_KEPT; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.0f", i ? " " : "",
                                 fmin(fmax(m->watts[i], -1e9), 1e9));
    probe_fact(r, "watts_by_step", "%s", text);
}

static void take(struct probe_run *r, const struct meter *m, double call_ns,
                 struct gpu_power *power)
{
    const double limit_w = nvml_facts(m->nvml).power_limit_w;
    const double counted_ns = m->end_ns - m->first_ns;
    /* By the longest time between the two steps: a look may come late, and take long. */
    const double least_w = 1e9 * (m->end_j - m->first_j) / (m->most_ns - m->least_ns);

    power->watts = 1e9 * (m->end_j - m->first_j) / counted_ns;
    power->joules = power->watts * call_ns * 1e-9;
    power->why = NULL;
    probe_fact(r, "energy_counter", "%d steps in %.0f ms", m->steps, counted_ns / 1e6);
    tell_steps(r, m);
    probe_fact(r, "power_limit_w", "%.0f", limit_w);
    probe_require(r, power->watts > 0 && !(least_w > LIMIT_PASSED * limit_w),
                  "at least %.0f W, where the limit is %.0f", least_w, limit_w);
}

struct gpu_power gpu_power(struct probe_run *r, void (*once)(struct probe_run *r, void *what),
                           void *what, double once_ns)
{
    struct gpu_power power = {NAN, NAN, NULL};
    char why[NVML_WHY];

    power.why = probe_is_check_run(r) ? "not measured under --check"
                : probe_is_counted(r) ? "not measured under --counters"
                : !(once_ns > 0)      ? "how long the work takes was not measured"
                                      : NULL;
    if (power.why)
        return power;
    power.why = "NVML has no energy counter here";
    struct nvml *nvml = nvml_open(gpu_pci_bus(r), why);
    if (!isnan(nvml_energy_j(nvml))) {
        gpu_wait(r);
        struct meter *m = start_meter(r, nvml);
        const double call_ns = keep_busy(r, m, once, what, once_ns);
        pthread_join(m->thread, NULL);
        power.why = "NVML's energy counter does not move here";
        if (m->end_ns - m->first_ns >= COUNTED_NS)
            take(r, m, call_ns, &power);
        free(m);
    }
    nvml_close(nvml);
    return power;
}

static void replay(struct probe_run *r, void *graph)
{
    CUDA(cudaGraphLaunch(((const struct gpu_graph *)graph)->exec, gpu_stream(r)));
}

bool gpu_power_waits(struct probe_run *r, const struct gpu_power *power, double ns)
{
    const double longer = 1e9 * power->joules / power->watts / ns;
    probe_fact(r, "in_a_row", "%.3f times the time of one", longer);
    return !(longer <= IN_A_ROW);
}

struct gpu_power gpu_power_of_graph(struct probe_run *r, const struct gpu_graph *graph, double ns)
{
    struct gpu_graph replayed = *graph;
    struct gpu_power power = gpu_power(r, replay, &replayed, ns);

    if (!power.why && !(r->flags & PROBE_POWER_BOUND) && gpu_power_waits(r, &power, ns))
        return (struct gpu_power){NAN, NAN,
                                  "in a row, graphs take more than 1.1 times the time of one"};
    return power;
}

bool gpu_power_value(struct probe_run *r, int watts, int joules, const struct gpu_power *power,
                     double n)
{
    if (power->why) {
        probe_missing(r, watts, power->why);
        return false;
    }
    probe_value(r, watts, power->watts);
    if (n > 0)
        probe_value(r, joules, power->joules / n);
    return true;
}
