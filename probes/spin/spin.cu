// Kernel of spin: waits a known number of cycles, and counts them.
#include "core/device/clock.cuh"
#include "probes/spin/args.h"

// sass: clocks=6 local=0  two in each clock_edge(), one before the loop, one in it
// sass-loop: clocks=1 other<=8
extern "C" __global__ void spin_wait(const __grid_constant__ struct spin_args a)
{
    struct clock_pair lead = clock_edge();
    uint64_t t0 = clock_cycles(), t1;
    do {
        t1 = clock_cycles();
    } while (t1 - t0 < a.asked && clock_ns() - lead.ns < a.budget_ns);
    struct clock_pair tail = clock_edge();
    if (a.result)
        *a.result = {t1 - t0, {lead.cycles, lead.ns}, {tail.cycles, tail.ns}};
}
