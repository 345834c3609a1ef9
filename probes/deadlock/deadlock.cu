// Kernels of deadlock: a barrier that not all blocks may reach.
#include "probes/common/counter_barrier.cuh"
#include "probes/deadlock/args.h"

// Barriers in a launch that nobody guarantees to be resident. A block that gave up has not crossed.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(1024)
deadlock_spin(const __grid_constant__ struct deadlock_spin_args a)
{
    bool quits = a.quits && blockIdx.x == gridDim.x - 1;
    uint32_t rounds = quits ? 0 : a.rounds + (blockIdx.x == 0 ? a.extra : 0);
    counter_barrier barrier = {a.state, &a.mine->counter, gridDim.x, 0, a.budget_ns, false};
    uint32_t waited_ns = 0;

    if (threadIdx.x == 0)
        atomicAdd(&a.mine->present, 1u);
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t came = clock_ns();
        barrier.cross();
        waited_ns = max(waited_ns, (uint32_t)(clock_ns() - came));
    }
    if (threadIdx.x != 0)
        return;
    if (!barrier.given_up)
        atomicAdd(&a.mine->crossed, 1u);
    atomicMax(&a.mine->waited_ns, waited_ns);
    atomicMax(&a.mine->beside, load_relaxed(&a.others->present));
    atomicSub(&a.mine->present, 1u);
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(1024)
deadlock_hold(const __grid_constant__ struct hold_args a)
{
    uint64_t came = clock_ns();
    if (threadIdx.x == 0 && atomicAdd(a.came, 1u) == gridDim.x - 1)
        *a.held = gridDim.x;
    while (clock_ns() - came < a.ns)
        ;
}
