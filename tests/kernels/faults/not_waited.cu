// expect 1: expected waited, found that the last load is not waited for in interval 1
/* The chase as everybody writes it first: nothing consumes the last load before the clock read. */
#include "chase.h"

// sass: clocks=2 loads=8 local=0 waited
extern "C" __global__ void not_waited(struct chase_args args)
{
    u64 p = (u64)args.start, t0, t1;

    STEP(p);
    CONSUME(p, args.out);
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < 8; i++)
        STEP(p);
    CLOCK(t1);
    args.out[0] = t1 - t0;
    args.out[1] = p;
}
