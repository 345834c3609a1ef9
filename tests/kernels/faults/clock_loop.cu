// expect 1: expected clocks>=2, found 1
/* A loop that reads the clock once a turn, and the other reading stands before it. */
#include "chase.h"

// sass-loop: clocks>=2 local=0
extern "C" __global__ void clock_loop(u64 *out, u64 cycles)
{
    u64 t0, t1;

    CLOCK(t0);
    do {
        CLOCK(t1);
    } while (t1 - t0 < cycles);
    out[0] = t1 - t0;
}
