// A barrier of all blocks of a grid, for kernels that stay on the GPU from one step to the next.
//
//     struct grid_barrier barrier = grid_barrier_join(a.state, gridDim.x, 20000000);
//     for (...) {
//         ... work ...
//         grid_barrier(barrier);
//     }
//
// What any thread of any block wrote before the barrier is visible to every thread after it. All
// threads of all blocks must take part, equally often. The grid has one dimension. All its blocks
// must be resident at once, which only a cooperative launch guarantees. If a block waits longer
// than the budget, in ns, it sets state->aborted. From then on every barrier of the launch lets
// everyone through, and the kernel runs to its end with meaningless results. The host checks
// `aborted`.
//
// One thread of each block arrives by adding to a counter in the L2. One thread polls until the
// counter shows that all blocks have arrived. Three things make it faster than that alone, on an
// H200:
//   - There are two counters. Every block adds to both, and polls the nearer one. This L2 has two
//     halves, and a line has its home in one of them. An atomic takes 300 cycles if the home is in
//     the SM's own half, and 510 if it is in the other. A load from the other half leaves a copy in
//     its own half, which the next addition must invalidate. The home depends on the address, on
//     bit 12 among others: the twin counters are 4 KiB apart.
//   - Additions return nothing. Polls order nothing; a single fence after the last poll does.
//   - The thread that polls is not the one that arrives, if there is more than one warp.
// What remains, one after another: a fence, 500 to 600 cycles; from an addition to a poll that sees
// it, 500; one polling period, 300; two __syncthreads. More counters, a flag per block instead,
// later polls, and more polls at a time were no faster. It is meant for one or two blocks per SM:
// from four on, cooperative groups are faster.
//
// The highest bit of a counter is the phase. It flips when all have arrived: the first block adds
// half of the range less what the others add, as in cooperative groups, so that nothing is ever
// reset. If a block's addition to one counter is late, an addition of the next round may take its
// place. That is safe: a block starts its next round only after it saw on the other counter that
// all had arrived.
#ifndef GPUFLOOR_GRID_BARRIER_CUH
#define GPUFLOOR_GRID_BARRIER_CUH

#include "core/device/clock.cuh"
#include "core/device/grid_barrier.h"
#include "core/device/order.cuh"

enum : uint32_t {
    GRID_BARRIER_PHASE = 0x80000000u,
    GRID_BARRIER_NEVER = 0x40000000u, // a value that no counter ever has
    GRID_BARRIER_POLLS = 256,         // between two checks of the timer and of `aborted`
    GRID_BARRIER_TRIES = 4,           // to tell near from far
};

struct grid_barrier {
    struct grid_barrier_state *state;
    uint32_t *counter, *twin; // this block polls the first
    uint32_t share;           // what it adds to each
    uint32_t phase;           // of its counter after the next round
    uint32_t budget_ns;
    bool given_up;
};

// The thread that polls.
__device__ __forceinline__ bool grid_barrier_polls(void)
{
    return threadIdx.x == (blockDim.x > 32 ? 32 : 0);
}

// The shortest of a few atomics that change nothing, in cycles.
__device__ __forceinline__ uint64_t grid_barrier_distance(uint32_t *counter)
{
    uint64_t least = ~0ull;
#pragma unroll 1
    for (uint32_t i = 0; i < GRID_BARRIER_TRIES; i++) {
        uint64_t t0 = clock_cycles();
        uint32_t seen = atomicCAS(counter, GRID_BARRIER_NEVER, GRID_BARRIER_NEVER);
        if (seen == GRID_BARRIER_NEVER) // so that the clock waits for it
            store_relaxed(counter, seen);
        uint64_t t1 = clock_cycles();
        least = min(least, t1 - t0);
    }
    return least;
}

// Call it before a launch's first barrier, with all threads. It takes about four microseconds.
__device__ __forceinline__ struct grid_barrier
grid_barrier_join(struct grid_barrier_state *state, uint32_t blocks, uint32_t budget_ns)
{
    uint64_t both = 2 * GRID_BARRIER_TWIN, room = (uint64_t)state->room;
    uint32_t *counter = (uint32_t *)((room + both - 1) & ~(both - 1));
    uint32_t *twin = counter + GRID_BARRIER_TWIN / sizeof *counter;
    uint32_t share = blockIdx.x == 0 ? GRID_BARRIER_PHASE - (blocks - 1) : 1;
    uint32_t phase = ~load_relaxed(counter) & GRID_BARRIER_PHASE;

    if (grid_barrier_polls() && grid_barrier_distance(twin) < grid_barrier_distance(counter))
        return {state, twin, counter, share, phase, budget_ns, false};
    return {state, counter, twin, share, phase, budget_ns, false};
}

// Has this block waited for too long, or has another one given up?
__device__ __forceinline__ bool grid_barrier_given_up(struct grid_barrier_state *state,
                                                      uint64_t came_ns, uint32_t budget_ns)
{
    if (clock_ns() - came_ns > budget_ns)
        store_relaxed(&state->aborted, 1);
    return load_relaxed(&state->aborted) != 0;
}

__device__ __forceinline__ void grid_barrier_add(uint32_t *counter, uint32_t share)
{
    red_relaxed(counter, share);
}

__device__ __forceinline__ void grid_barrier_arrive(const struct grid_barrier &b)
{
    __threadfence();
    grid_barrier_add(b.counter, b.share);
    grid_barrier_add(b.twin, b.share);
}

// Before sm_90 there is no acquire-only fence: each poll acquires.
__device__ __forceinline__ uint32_t grid_barrier_poll(const uint32_t *counter)
{
#if __CUDA_ARCH__ >= 900
    return load_relaxed(counter);
#else
    return load_acquire(counter);
#endif
}

__device__ __forceinline__ void grid_barrier_wait(struct grid_barrier &b)
{
    uint64_t came_ns = 0;
    for (uint32_t polls = 1; !b.given_up; polls++) {
        if ((grid_barrier_poll(b.counter) & GRID_BARRIER_PHASE) == b.phase)
            break;
        if (polls % GRID_BARRIER_POLLS != 0)
            continue;
        if (came_ns == 0)
            came_ns = clock_ns();
        b.given_up = grid_barrier_given_up(b.state, came_ns, b.budget_ns);
    }
    b.phase ^= GRID_BARRIER_PHASE;
#if __CUDA_ARCH__ >= 900
    fence_acquire();
#endif
}

__device__ __forceinline__ void grid_barrier(struct grid_barrier &b)
{
    __syncthreads();
    if (threadIdx.x == 0)
        grid_barrier_arrive(b);
    if (grid_barrier_polls())
        grid_barrier_wait(b);
    __syncthreads();
}

#endif
