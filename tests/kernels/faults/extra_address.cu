// expect 1: expected other<=3, found
/* A ring of indices instead of pointers: each step pays for an address computation. */
#include "chase.h"

// sass: clocks=2 loads=8 other<=3 local=0 waited
extern "C" __global__ void extra_address(struct chase_args args)
{
    u64 p = 1, t0, t1;

    asm volatile("ld.global.cg.u64 %0, [%1];" : "+l"(p) : "l"(args.start + p) : "memory");
    CONSUME(p, args.out);
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < 8; i++)
        asm volatile("ld.global.cg.u64 %0, [%1];" : "+l"(p) : "l"(args.start + p) : "memory");
    CONSUME(p, args.out);
    CLOCK(t1);
    args.out[0] = t1 - t0;
}
