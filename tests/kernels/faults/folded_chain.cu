// expect 1: expected mufu=128, found none
/* A latency chain of 128 reciprocals between the clocks. 1 / (1 / x) is x, and the assembler knows
 * it, volatile or not: none is left, and what the clocks read would be their own distance. */
#include "chase.h"

struct folded_args {
    float *x;
    u64 *out;
};

// sass: clocks=2 mufu=128 other<=3
extern "C" __global__ void folded_chain(struct folded_args args)
{
    float x = *args.x;
    u64 t0, t1;

    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < 128; i++)
        asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
    asm volatile("{ .reg .pred q; setp.eq.f32 q, %0, 0f3F000000; @q exit; }" ::"f"(x) : "memory");
    CLOCK(t1);
    *args.x = x;
    args.out[0] = t1 - t0;
}
