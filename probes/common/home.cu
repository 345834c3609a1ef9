// How far is the home of a line from one SM? An atomic is carried out at the line's home, the
// partition of the L2 in front of its piece of device memory, whatever copies of the line exist.
#include "probes/common/chase.cuh"
#include "probes/common/home.h"

// Each line twice: the first atomic brings it into the L2, the second is timed, with the clock read
// after it. An addition of 0 changes nothing, not even in constants.
// sass: clocks=6 atomg.gpu=*,1 other<=*,3 local=0 waited
extern "C" __global__ void home_ask(const __grid_constant__ struct home_args a)
{
    if (!chosen(a.sm, a.claim, a.ticket) || threadIdx.x > 0)
        return;
    const uint64_t *line = a.line + lane();
    uint64_t p = 0;
    struct clock_pair lead = clock_edge();
#pragma unroll 1
    for (uint64_t i = 0; i < a.n; i++) {
        uint64_t again = line[i];
        p = again;
        add_nothing().step(p);
        consume(p);
        consume(again);
        uint64_t t0 = clock_cycles();
        add_nothing().step(again);
        consume(again);
        uint64_t t1 = clock_cycles();
        a.cycles[i] = t1 - t0;
    }
    struct clock_pair tail = clock_edge();
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, line[0], sm_id()};
}
