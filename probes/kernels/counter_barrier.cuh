// The textbook's barrier of a grid, on one counter: what people write, and slower than the one in
// core/device/grid_barrier.cuh. The counter must be 0 when the first launch begins.
#ifndef GPUFLOOR_COUNTER_BARRIER_CUH
#define GPUFLOOR_COUNTER_BARRIER_CUH

#include "core/device/grid_barrier.cuh"

// Everyone adds one and waits until the counter says that all have.
struct counter_barrier {
    struct grid_barrier_state *state;
    uint32_t *counter;
    uint32_t members, target, budget_ns;
    bool given_up;

    __device__ __forceinline__ void meet()
    {
        uint64_t came_ns = 0;
        target += members;
        add_release(counter, 1);
        for (uint32_t polls = 1; !given_up; polls++) {
            if ((int32_t)(load_acquire(counter) - target) >= 0)
                break;
            if (polls % GRID_BARRIER_POLLS != 0)
                continue;
            if (came_ns == 0)
                came_ns = clock_ns();
            given_up = grid_barrier_given_up(state, came_ns, budget_ns);
        }
    }

    __device__ __forceinline__ void cross()
    {
        __syncthreads();
        if (threadIdx.x == 0)
            meet();
        __syncthreads();
    }
};

#endif
