// expect 1: expected loads=32,64, found 32,32
/* The second stretch is as long as the first: the slope between them would be 0. */
#include "chase.h"

// sass: clocks=3 loads=32,64 other<=3 local=0 waited
extern "C" __global__ void too_few(struct chase_args args)
{
    u64 p = (u64)args.start, *sink = args.out + 2, t0, t1, t2;

    STEP(p);
    CONSUME(p, sink);
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < 32; i++)
        STEP(p);
    CONSUME(p, sink);
    CLOCK(t1);
#pragma unroll
    for (int i = 0; i < 32; i++)
        STEP(p);
    CONSUME(p, sink);
    CLOCK(t2);
    args.out[0] = t1 - t0;
    args.out[1] = t2 - t1;
}
