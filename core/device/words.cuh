// Words that say themselves whether they are there: each lies in memory beside the epoch in which
// it was written, and both were written by one store of 8 bytes. Who needs words polls the words,
// and no flag.
#ifndef GPUFLOOR_WORDS_CUH
#define GPUFLOOR_WORDS_CUH

#include "core/device/grid_barrier.cuh"
#include "core/device/order.cuh"

__device__ __forceinline__ void words_put(uint64_t *words, uint32_t i, uint32_t epoch,
                                          uint32_t bits)
{
    store_relaxed_64(words + i, (uint64_t)epoch << 32 | bits);
}

// A thread gets N pairs of words, 16 bytes at a time: first, first + step ..., as far as they are
// before `end`; all three count pairs, and first is before end. Of other pairs word[i] is not
// written. All are polled until all are of the epoch: to poll one, and then to load the rest, costs
// a way through the L2 more. Waits until somebody has given up, who then sets given_up: see
// grid_barrier_given_up().
template <int N>
__device__ __forceinline__ void words_take(const uint64_t *words, uint32_t epoch, uint32_t first,
                                           uint32_t step, uint32_t end, uint2 (&word)[N],
                                           struct grid_barrier_state *state, uint32_t budget_ns,
                                           bool &given_up)
{
    const ulonglong2 *from = (const ulonglong2 *)words + first;
    uint64_t came_ns = 0;
#pragma unroll 1
    for (uint32_t polls = 1;; polls++) {
        bool is_here = true;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (i > 0 && first + i * step >= end)
                continue;
            const ulonglong2 got = load_relaxed_2x64(from + i * step);
            is_here &= (uint32_t)(got.x >> 32) == epoch && (uint32_t)(got.y >> 32) == epoch;
            word[i] = make_uint2((uint32_t)got.x, (uint32_t)got.y);
        }
        if (is_here || given_up)
            break;
        if (polls % GRID_BARRIER_POLLS != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        given_up = grid_barrier_given_up(state, came_ns, budget_ns);
    }
}

#endif
