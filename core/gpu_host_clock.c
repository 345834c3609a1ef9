/* A gate in the stream, and the clocks of host and GPU; see core/gpu.h. The kernels are in
 * core/device/host_clock.cu, and are loaded at their first use. */
#include "core/device/host_clock.h"
#include "core/gpu_inside.h"
#include "core/run.h"

PROBE_IMAGE(host_clock);

enum { BUDGET_NS = 200000000, QUESTIONS = 16 };

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

bool gpu_gate_was_late(const struct probe_run *r)
{
    return ((volatile const uint32_t *)r->gpu->gate)[1] == r->gpu->gate_ticket;
}

void gpu_gate_forgive(struct probe_run *r)
{
    ((volatile uint32_t *)r->gpu->gate)[1] = 0;
}

/* --- the clocks ------------------------------------------------------------------------------ */

/* The GPU waits twice as long as the host. When its time is up it gives an answer that nobody asked
 * for; by then the host no longer waits, so it cannot take that for an answer. */
static void launch_handshake(struct probe_run *r)
{
    struct gpu *g = r->gpu;
    struct host_clock_handshake_args a = {.budget_ns = 2 * BUDGET_NS, .rounds = QUESTIONS};
    if (!g->asked) {
        g->asked = gpu_mapped(r, sizeof *g->asked);
        g->answer = gpu_mapped(r, sizeof *g->answer);
        g->answerer = gpu_kernel(r, &image_host_clock, "host_clock_handshake", sizeof a);
    }
    a.asked = g->asked;
    a.answer = g->answer;
    *(volatile uint32_t *)g->asked = 0;
    gpu_launch(r, g->answerer, 1, 1, 0, &a);
}

struct gpu_host_clock gpu_relate_clocks(struct probe_run *r)
{
    int64_t low = INT64_MIN, high = INT64_MAX; /* %globaltimer is ahead by at least, at most */
    launch_handshake(r);
    volatile uint32_t *asked = r->gpu->asked;
    volatile uint64_t *answer = r->gpu->answer;
    const uint64_t until = probe_host_ns() + BUDGET_NS;

    for (uint32_t round = 1; round <= QUESTIONS; round++) {
        uint64_t before = *answer, after, t0 = probe_host_ns(), t1 = t0 + round * 617 % 2048;
        while ((t0 = probe_host_ns()) < t1)
            ; /* else question and answer fall into step, and all sixteen bounds are alike */
        *asked = round;
        do {
            after = *answer;
            t1 = probe_host_ns(); /* after the look: this thread may be delayed in between */
        } while (after == before && t1 < until);
        if (t1 >= until)
            probe_fail(r, "the GPU did not answer %d questions through mapped memory in %d ms",
                       QUESTIONS, BUDGET_NS / 1000000);
        if ((int64_t)(after - t1) > low)
            low = (int64_t)(after - t1);
        if ((int64_t)(after - t0) < high)
            high = (int64_t)(after - t0);
    }
    gpu_wait(r);
    return (struct gpu_host_clock){(uint64_t)(low + (high - low) / 2), (double)(high - low) / 2};
}
