// expect 1: expected a straight line, found a loop in interval 1
/* 8 loads stand between the clocks, but they run 4 times: static counts say nothing here. */
#include "chase.h"

// sass: clocks=2 loads=8 waited
extern "C" __global__ void rolled(struct chase_args args, int n)
{
    u64 p = (u64)args.start, t0, t1;

    STEP(p);
    CONSUME(p, args.out);
    CLOCK(t0);
#pragma unroll 1
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            STEP(p);
    }
    CONSUME(p, args.out);
    CLOCK(t1);
    args.out[0] = t1 - t0;
}
