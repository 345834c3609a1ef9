// expect 1: expected clocks=2, found 0
/* Reads of the global timer, which ticks every 32 ns or so, are no reads of the SM clock. */
#include "chase.h"

#define TIMER(t) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory")

// sass: clocks=2 loads=8 waited
extern "C" __global__ void wrong_timer(struct chase_args args)
{
    u64 p = (u64)args.start, t0, t1;

    TIMER(t0);
#pragma unroll
    for (int i = 0; i < 8; i++)
        STEP(p);
    CONSUME(p, args.out);
    TIMER(t1);
    args.out[0] = t1 - t0;
}
