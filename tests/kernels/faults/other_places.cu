// expect 2: other_places.cu:5: 'other' has other places than the classes
/* Three numbers for two intervals. */
#include "chase.h"

// sass: clocks=3 loads=8,16 other<=3,3,3 waited
extern "C" __global__ void other_places(struct chase_args args)
{
    u64 p = (u64)args.start, t0;

    STEP(p);
    CLOCK(t0);
    args.out[0] = t0;
}
