#include "probes/common/chase.h"

#include <math.h>

#include "core/gpu.h"

enum { CHASE_TRIES = 20 };

void chase_launch(struct probe_run *r, cudaKernel_t kernel, unsigned threads, const void *args,
                  uint32_t *given, uint32_t *ticket, struct chase_result *result)
{
    result->end = 0;
    for (int i = 0; i < CHASE_TRIES && result->end == 0; i++) {
        *given = ++*ticket;
        gpu_launch(r, kernel, (unsigned)gpu_facts(r)->n_sm, threads, 0, args);
        gpu_wait(r);
    }
    if (result->end == 0)
        probe_fail(r, "no block of %d launches came to run on the SM asked for", CHASE_TRIES);
}

double chase_clock(struct probe_run *r, const struct chase_result *at)
{
    double mhz =
        1e3 * (double)(at->tail.cycles - at->lead.cycles) / (double)(at->tail.ns - at->lead.ns);
    probe_clock(r, mhz);
    return mhz;
}

void chase_hand_over(struct probe_run *r, const struct chase_result *at,
                     const struct chase_sample *samples, size_t n, int in_cycles, int in_ns)
{
    double mhz = chase_clock(r, at);
    for (size_t i = 0; i < n; i++) {
        double few = (double)samples[i].short_cycles, many = (double)samples[i].long_cycles;
        probe_sample(r, in_cycles, CHASE_SHORT, few);
        probe_sample(r, in_cycles, CHASE_LONG, many);
        if (in_ns >= 0) {
            probe_sample(r, in_ns, CHASE_SHORT, few * 1e3 / mhz);
            probe_sample(r, in_ns, CHASE_LONG, many * 1e3 / mhz);
        }
    }
}

size_t chase_half_octave(size_t first, int i)
{
    return i % 2 ? (size_t)(sqrt(2) * (double)(first << i / 2) + 0.5) : first << i / 2;
}
