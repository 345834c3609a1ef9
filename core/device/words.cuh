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

// Words 2i and 2i + 1.
__device__ __forceinline__ void words_put_pair(uint64_t *words, uint32_t i, uint32_t epoch,
                                               uint32_t first, uint32_t second)
{
    const uint64_t here = (uint64_t)epoch << 32;
    store_relaxed_2x64((ulonglong2 *)words + i, {here | first, here | second});
}

// A thread gets N pairs of words, 16 bytes at a time: first, first + step ..., as far as they are
// before `end`; all three count pairs, and first is before end. Of other pairs word[i] is 0. Waits
// until somebody has given up, who then sets given_up: see grid_barrier_given_up().
//
// A poll asks for all that is missing: to poll one, and then to load the rest, costs a way through
// the L2 more. It asks for nothing else: what is there already would come again beside other
// traffic. What is missing are bits of one number, not predicates: for eight of them ptxas has too
// few, and would wait for some words before it asks for the others.
template <int N>
__device__ __forceinline__ void words_take(const uint64_t *words, uint32_t epoch, uint32_t first,
                                           uint32_t step, uint32_t end, uint2 (&word)[N],
                                           struct grid_barrier_state *state, uint32_t budget_ns,
                                           bool &given_up)
{
    const ulonglong2 *from = (const ulonglong2 *)words + first;
    uint32_t missing = 1;
    ulonglong2 got[N] = {}; // without, ptxas keeps registers for what the last take left
    uint64_t came_ns = 0;
#pragma unroll
    for (int i = 1; i < N; i++)
        missing |= (first + i * step < end) << i;
#pragma unroll 1
    for (uint32_t polls = 1;; polls++) {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (missing >> i & 1)
                got[i] = load_relaxed_2x64(from + i * step);
#pragma unroll
        for (int i = 0; i < N; i++)
            if ((uint32_t)(got[i].x >> 32) == epoch && (uint32_t)(got[i].y >> 32) == epoch)
                missing &= ~(1u << i);
        if (missing == 0 || given_up)
            break;
        if (polls % GRID_BARRIER_POLLS != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        given_up = grid_barrier_given_up(state, came_ns, budget_ns);
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        word[i] = make_uint2((uint32_t)got[i].x, (uint32_t)got[i].y);
}

#endif
