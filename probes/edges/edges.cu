// Kernels of edges: a chain of steps, each of which needs the results of every step before it.
// There is one kernel for each way to make a step wait. The step is the same in all of them.
#include <cooperative_groups.h>

#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "probes/edges/step.cuh"

// --- the step ------------------------------------------------------------------------------------

struct in_shared {
    volatile uint32_t *cells;
    __device__ __forceinline__ uint32_t load(uint32_t i) const { return cells[i]; }
    __device__ __forceinline__ void store(uint32_t i, uint32_t word) const { cells[i] = word; }
};

template <typename CELLS>
__device__ __forceinline__ void step(const struct edges_args &a, CELLS cells,
                                     const struct warp_index &p, uint32_t k)
{
    uint32_t before = cells.load((k & 1) * p.warps + p.other), sum = 0;
    if (a.chunks > 0)
        sum = read_body(a, p.own, p.warps, before);
    if (threadIdx.x % 32 == 0)
        cells.store((~k & 1) * p.warps + p.own, (before ^ sum) * 0x9e3779b1u + 1);
}

// --- one step a launch ---------------------------------------------------------------------------

__device__ __forceinline__ void one_step(const struct edges_args &a)
{
    step(a, in_global{a.cells}, index_of_warp(), a.first);
    if (a.census && threadIdx.x == 0)
        a.census[blockIdx.x] = sm_id();
}

// sass-loop: ldg128.gpu=8 guarded=8 other<=89 exits<=2 local=0 together moving regs<=64
// sass-and: arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_one(const __grid_constant__ struct edges_args a)
{
    one_step(a);
}

#if __CUDA_ARCH__ >= 900

// Waits before its step until all launches before it are complete. The next launch may begin, and
// wait in its turn, as soon as this one has begun ...
// sass-loop: ldg128.gpu=8 guarded=8 other<=82 exits<=2 local=0 together moving regs<=64 arch=90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_dependent_early(const __grid_constant__ struct edges_args a)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    one_step(a);
}

// ... or as soon as it has done its step.
// sass-loop: ldg128.gpu=8 guarded=8 other<=82 exits<=1 local=0 together moving regs<=64 arch=90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=1 local=0 together moving regs<=64 arch=100+
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_dependent_late(const __grid_constant__ struct edges_args a)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    one_step(a);
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// The early variant without the wait; its results must be wrong.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_dependent_unwaited(const __grid_constant__ struct edges_args a)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    one_step(a);
}

#endif

// --- all steps in one launch ---------------------------------------------------------------------

template <typename CELLS, typename WAIT>
__device__ __forceinline__ void chain(const struct edges_args &a, CELLS cells, WAIT wait)
{
    const struct warp_index p = index_of_warp();
#pragma unroll 1
    for (uint32_t k = a.first; k != a.first + a.steps; k++) {
        step(a, cells, p, k);
        wait();
    }
    if (a.census && threadIdx.x == 0)
        a.census[blockIdx.x] = sm_id();
}

// The grid synchronisation of cooperative groups, unchanged.
// sass-loop: ldg128.gpu=8 guarded=8 other<=89 exits<=2 local=0 together moving regs<=64
// sass-and: arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
// sass-loop: bar.block>=2 membar.gpu=1 ldg>=1 guarded<=9 other<=218 outer
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_grid_sync(const __grid_constant__ struct edges_args a)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    chain(a, in_global{a.cells}, [&] { grid.sync(); });
}

// The barrier that our own kernels use: two counters for the whole grid.
// sass-loop: ldg128.gpu=8 guarded=8 other<=88 exits<=2 local=0 together moving regs<=64
// sass-and: arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
// sass-loop: bar.block=2 membar.gpu=1 reds.gpu=2 cctl>=1 ldg>=1 guarded<=8 other<=182 outer
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_counter(const __grid_constant__ struct edges_args a)
{
    struct grid_barrier barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);
    chain(a, in_global{a.cells}, [&] { grid_barrier(barrier); });
}

// sass-loop: ldg128.gpu=8 guarded=8 other<=89 exits<=2 local=0 together moving regs<=64
// sass-and: arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
// sass-loop: bar.block=1 membar=0 other<=142 outer
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_block(const __grid_constant__ struct edges_args a)
{
    chain(a, in_global{a.cells}, [] { __syncthreads(); });
}

// The words in the block's shared memory: nothing leaves the SM before the end.
// sass-loop: sts=1 lds=1 bar.block=1 guarded=1 other<=133 exits<=2 local=0 regs<=64
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_block_shared(const __grid_constant__ struct edges_args a)
{
    __shared__ uint32_t cells[2 * EDGES_WARPS];
    const in_global outside = {a.cells};

    if (threadIdx.x < EDGES_WARPS)
        cells[threadIdx.x] = outside.load(threadIdx.x);
    __syncthreads();
    chain(a, in_shared{cells}, [] { __syncthreads(); });
    const uint32_t last = (a.steps & 1) * EDGES_WARPS + threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        outside.store(last, cells[last]);
}

// No wait at all: the time of the step itself. Its results must be wrong.
// sass-loop: ldg128.gpu=8 guarded=8 other<=89 exits<=2 local=0 together moving regs<=64
// sass-and: arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
// sass-loop: stg32.gpu>=1 bar=0 other<=149 outer
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_unwaited(const __grid_constant__ struct edges_args a)
{
    chain(a, in_global{a.cells}, [] {});
}

#if __CUDA_ARCH__ >= 900

// The barrier of one cluster.
// sass-loop: ldg128.gpu=8 guarded=8 other<=82 exits<=2 local=0 together moving regs<=64 arch=90a
// sass-loop: ldg128.gpu=8 guarded=8 other<=58 exits<=2 local=0 together moving regs<=64 arch=100+
// sass-loop: ucgabar_arv=1 membar=1 other<=148 outer arch=90a+
extern "C" __global__ void __launch_bounds__(EDGES_THREADS, 1)
edges_cluster(const __grid_constant__ struct edges_args a)
{
    chain(a, in_global{a.cells}, [] {
        cluster_arrive();
        cluster_wait();
    });
}

#endif
