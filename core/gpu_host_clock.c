/* The clocks of host and GPU; see core/gpu.h. The kernel is in core/device/host_clock.cu, and is
 * loaded at its first use. */
#include "core/device/host_clock.h"
#include "core/gpu_inside.h"
#include "core/run.h"

PROBE_IMAGE(host_clock);

enum { BUDGET_NS = 200000000, QUESTIONS = 16 };

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
