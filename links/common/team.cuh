// How kernels on several GPUs wait for each other: polls with a budget, and a barrier.
//
//     struct team_barrier barrier = team_join(a.team);
//     for (...) {
//         ... work ...
//         team_barrier<true, true>(a.team, barrier); // all blocks of all ranks, with order
//     }
//
// Everybody polls his own memory only; what he waits for, the others write there. A poll is a
// relaxed load of system scope: it asks the L2 and leaves the L1 alone. What acquires is one fence
// behind the last poll. Acquiring polls would empty the L1 each time.
//
// No wait is for ever. After the budget, a thread writes into the state of every rank who waited
// for whom. All that wait look there now and then, and go on without what they waited for: the
// kernels run to their ends, with meaningless results. The host checks `lost`.
#ifndef LINKS_COMMON_TEAM_CUH
#define LINKS_COMMON_TEAM_CUH

#include "core/device/clock.cuh"
#include "core/device/order_sys.cuh"
#include "links/common/team.h"

enum : uint32_t { TEAM_POLLS = 256 }; // between two looks at the timer and at `lost`

// One thread's patience. It lasts for the launch: who has given up waits no more.
struct team_watch {
    uint64_t came_ns; // of this wait; 0: it is short so far
    uint32_t polls;
    bool given_up;
};

__device__ __forceinline__ void team_lose(const struct team &t, uint32_t awaited)
{
#pragma unroll 1
    for (uint32_t k = 0; k < t.ranks; k++)
        store_relaxed_sys(&t.state[k]->lost, TEAM_LOST + t.rank * 256 + awaited);
}

// Call it after each poll that found nothing. True: stop waiting.
__device__ __forceinline__ bool team_gives_up(const struct team &t, struct team_watch &w,
                                              uint32_t awaited)
{
    if (++w.polls % TEAM_POLLS != 0)
        return false;
    if (w.came_ns == 0)
        w.came_ns = clock_ns();
    if (clock_ns() - w.came_ns > t.budget_ns)
        team_lose(t, awaited);
    w.given_up = load_relaxed_sys(&t.mine->lost) != 0;
    return w.given_up;
}

// Waits until poll() is true, for what rank `awaited` writes.
template <typename POLL>
__device__ __forceinline__ void team_wait(const struct team &t, struct team_watch &w,
                                          uint32_t awaited, const POLL &poll)
{
    w.came_ns = 0;
    while (!w.given_up && !poll())
        if (team_gives_up(t, w, awaited))
            break;
}

// Has `seen` come as far as `number`? Numbers may wrap.
__device__ __forceinline__ bool team_reached(uint32_t seen, uint32_t number)
{
    return (int32_t)(seen - number) >= 0;
}

// --- a barrier of all ranks ----------------------------------------------------------------------

struct team_barrier {
    uint32_t number; // of the last barrier that was crossed
    struct team_watch watch;
};

// Call it before a launch's first barrier, with all threads. No block of this rank can cross the
// next barrier before all have come to it, so that all read the same number here. The shuffle waits
// for the load: else a block could come before it has read.
__device__ __forceinline__ struct team_barrier team_join(const struct team &t)
{
    const uint32_t number = load_relaxed_sys(&t.mine->inbox[t.rank]);
    return {__shfl_sync(~0u, number, 0), {0, 0, false}};
}

// Adds one, and starts again from 0 at the last block; returns the old value.
__device__ __forceinline__ uint32_t team_arrive(uint32_t *arrived, uint32_t blocks)
{
    return atomicInc(arrived, blocks - 1);
}

// Of one block in each rank, or of the whole GRID, all blocks of which must be resident at once.
// The block that arrives last tells the other ranks and its own; each block waits for what all
// ranks tell, in its own GPU's memory. ORDERED: what any thread of any rank wrote before is visible
// to every thread after. So the block that tells acquires first what the others released.
// Lane 0 has seen them arrive; the lanes that tell have it from lane 0, by __syncwarp().
// Without ORDERED the barrier orders nothing, not even within the block's GPU.
template <bool GRID, bool ORDERED>
__device__ __forceinline__ void team_barrier(const struct team &t, struct team_barrier &b)
{
    const uint32_t lane = threadIdx.x;
    bool tells = true;

    __syncthreads();
    b.number++;
    if (lane < 32) {
        if (GRID) {
            uint32_t before = 0;
            if (ORDERED)
                __threadfence();
            if (lane == 0)
                before = team_arrive(&t.mine->arrived, gridDim.x);
            tells = __shfl_sync(~0u, before, 0) == gridDim.x - 1;
        }
        if (tells) {
            if (GRID && ORDERED) {
                fence_acquire_sys();
                __syncwarp();
            }
            if (ORDERED)
                fence_release_sys();
            if (lane < t.ranks)
                store_relaxed_sys(&t.state[lane]->inbox[t.rank], b.number);
        }
        if (lane < t.ranks && (GRID || lane != t.rank)) {
            const uint32_t *word = &t.mine->inbox[lane];
            team_wait(t, b.watch, lane,
                      [&]() { return team_reached(load_relaxed_sys(word), b.number); });
        }
        if (ORDERED)
            fence_acquire_sys();
    }
    __syncthreads();
}

#endif
