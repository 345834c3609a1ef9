// Kernels of timers: the cost of reading the cycle counter, and whether all SMs share one time.
#include "core/device/clock.cuh"
#include "probes/timers/args.h"

// Readings back to back; their sum is used, so that none is dropped.
// sass: clocks=33 other<=0,0,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2,0,2 local=0
extern "C" __global__ void timers_reads(const __grid_constant__ struct reads_args a)
{
    uint64_t first = clock_cycles(), last = first, sum = 0;
#pragma unroll
    for (int i = 0; i < TIMERS_READS; i++) {
        last = clock_cycles();
        sum ^= last;
    }
    a.out[0] = last - first;
    a.out[1] = sum;
}

// Waits until *word is value. False when the budget is spent.
__device__ __forceinline__ bool met(volatile uint32_t *word, uint32_t value, uint64_t began,
                                    uint64_t budget)
{
    while (*word != value)
        if (clock_ns() - began > budget)
            return false;
    return true;
}

// SM 0 exchanges time stamps with every other SM in turn, as NTP does between hosts. It sends at
// t1, the other takes its time stamp t2 and answers, and SM 0 gets the answer at t3. The other's
// clock is ahead by t2 - (t1 + t3) / 2, to within half of the round trip; the shortest round trip
// is best.
// sass-loop: membar=1 cs2r>=2 ldg.sys=3 stg.sys=1 other<=48 local=0 outer
extern "C" __global__ void timers_skew(const __grid_constant__ struct skew_args a)
{
    uint32_t me = sm_id();
    uint64_t began = clock_ns();

    if (me != 0 && me < a.n_sm) {
        for (uint32_t i = 1; i <= TIMERS_EXCHANGES; i++) {
            if (!met(&a.mail[me].ping, i, began, a.budget_ns))
                return;
            *(volatile uint64_t *)&a.mail[me].stamp = clock_ns();
            __threadfence();
            *(volatile uint32_t *)&a.mail[me].pong = i;
        }
        return;
    }
    for (uint32_t sm = 1; me == 0 && sm < a.n_sm; sm++) {
        uint64_t least = ~0ull;
        int64_t offset = 0;
        for (uint32_t i = 1; i <= TIMERS_EXCHANGES; i++) {
            uint64_t t1 = clock_ns();
            *(volatile uint32_t *)&a.mail[sm].ping = i;
            if (!met(&a.mail[sm].pong, i, began, a.budget_ns))
                return;
            uint64_t t3 = clock_ns();
            __threadfence();
            uint64_t t2 = *(volatile uint64_t *)&a.mail[sm].stamp;
            if (t3 - t1 < least) {
                least = t3 - t1;
                offset = (int64_t)(t2 - t1) - (int64_t)(t3 - t1) / 2;
            }
        }
        a.offset[sm] = offset;
        a.round_trip[sm] = least;
    }
}
