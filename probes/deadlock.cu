// Kernels of deadlock: a barrier to which not everyone may come.
#include "probes/deadlock.h"
#include "probes/kernels/counter_barrier.cuh"

// Barriers in a launch for which nobody vouches. Given up, a block has not crossed.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(1024)
deadlock_spin(const __grid_constant__ struct spin_args a)
{
    bool quits = a.quits && blockIdx.x == gridDim.x - 1;
    uint32_t rounds = quits ? 0 : a.rounds + (blockIdx.x == 0 ? a.extra : 0);
    uint32_t *counter = a.counters + a.which;
    struct counter_barrier barrier = {a.state, counter, gridDim.x, 0, a.budget_ns, false};

    for (uint32_t i = 0; i < rounds; i++)
        barrier.cross();
    if (threadIdx.x == 0 && !barrier.given_up)
        atomicAdd(a.counters + 2 + a.which, 1u);
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(1024)
deadlock_hold(const __grid_constant__ struct hold_args a)
{
    uint64_t came = clock_ns();
    if (threadIdx.x == 0)
        atomicAdd_system(a.held, 1u);
    while (clock_ns() - came < a.ns)
        ;
}
