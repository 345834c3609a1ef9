// The textbook barrier of a grid, on one counter: what people usually write. It is slower than the
// one in core/device/grid_barrier.cuh. The counter must be 0 when the first launch begins.
#ifndef PROBES_COMMON_COUNTER_BARRIER_CUH
#define PROBES_COMMON_COUNTER_BARRIER_CUH

#include "core/device/grid_barrier.cuh"

// What a barrier may lack and still count right. Such barriers are controls, which must fail.
enum barrier_lack {
    LACKS_NOTHING,
    LACKS_RELEASE, // the arrival does not wait for stores in flight
    LACKS_ACQUIRE, // the wait leaves old lines in the L1
    LACKS_MEETING, // the block's other warps may still be about to store
};

// Every block adds one and waits until the counter shows that all have.
template <enum barrier_lack LACK> struct counter_barrier_less {
    struct grid_barrier_state *state;
    uint32_t *counter;
    uint32_t members, target, budget_ns;
    bool given_up;

    __device__ __forceinline__ void arrive()
    {
        target += members;
        if (LACK == LACKS_RELEASE)
            grid_barrier_add(counter, 1);
        else
            add_release(counter, 1);
    }

    __device__ __forceinline__ bool complete()
    {
        uint32_t count = LACK == LACKS_ACQUIRE ? load_relaxed(counter) : load_acquire(counter);
        return (int32_t)(count - target) >= 0;
    }

    __device__ __forceinline__ void meet()
    {
        uint64_t came_ns = 0;
        arrive();
        for (uint32_t polls = 1; !given_up && !complete(); polls++) {
            if (polls % GRID_BARRIER_POLLS != 0)
                continue;
            if (came_ns == 0)
                came_ns = clock_ns();
            given_up = grid_barrier_given_up(state, came_ns, budget_ns);
        }
    }

    __device__ __forceinline__ void cross()
    {
        if (LACK != LACKS_MEETING)
            __syncthreads();
        if (threadIdx.x == 0)
            meet();
        __syncthreads();
    }
};

using counter_barrier = counter_barrier_less<LACKS_NOTHING>;

#endif
