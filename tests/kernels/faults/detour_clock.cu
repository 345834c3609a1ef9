// expect 1 on 75 90a 100: expected clocks in 64 bits by CS2R, found S2UR
/* Only 32 bits of the differences are kept: ptxas reads the first and the last clock by S2UR,
 * through a scoreboard, and the middle one by CS2R. (On sm_120 it takes CS2UR, which needs
 * none.) */
#include "chase.h"

// sass: clocks=3 loads=8,16 local=0 waited
extern "C" __global__ void detour_clock(struct chase_args args)
{
    u64 p = (u64)args.start, t0, t1, t2;

    STEP(p);
    CONSUME(p, args.out);
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < 8; i++)
        STEP(p);
    CONSUME(p, args.out);
    CLOCK(t1);
#pragma unroll
    for (int i = 0; i < 16; i++)
        STEP(p);
    CONSUME(p, args.out);
    CLOCK(t2);
    ((unsigned *)args.out)[4] = (unsigned)(t1 - t0);
    ((unsigned *)args.out)[5] = (unsigned)(t2 - t1);
}
