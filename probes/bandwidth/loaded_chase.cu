// The loaded chase: on one SM a thread follows a ring of pointers (chase.cuh), while the other SMs
// read a buffer at a chosen rate. One block per SM, all of them resident at once.
#include "core/device/order.cuh"
#include "core/device/permute.cuh"
#include "probes/bandwidth/loaded_chase.h"
#include "probes/common/chase.cuh"

enum { SETTLE_NS = 10000, BUDGET_NS = 50000000 };

// Line permute(i) of the ring points to line permute(i + 1).
__device__ __forceinline__ uint64_t ring_line(const char *ring, struct permutation order,
                                              uint64_t i)
{
    return (uint64_t)ring + permute(order, i % order.n) * RING_SPACING;
}

// sass: none not a timed kernel
extern "C" __global__ void loaded_chase_ring(const __grid_constant__ struct loaded_ring_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.order.n; i += step)
        *(uint64_t *)ring_line(a.ring, a.order, i) = ring_line(a.ring, a.order, i + 1);
}

// The word that the chasing SM gives the others. Each launch has two values of its own.
__device__ __forceinline__ uint32_t word_go(uint32_t ticket) { return 2 * ticket; }
__device__ __forceinline__ uint32_t word_stop(uint32_t ticket) { return 2 * ticket + 1; }

// One thread chases. Before that it waits until every block of the grid has started, and until the
// streams have settled.
__device__ __forceinline__ void chase_alone(const struct loaded_chase_args &a)
{
    uint64_t came = clock_ns(), p = ring_line(a.ring, a.order, a.start);
    struct load_l2 load;

    add_relaxed(a.arrived, 1);
    while (load_relaxed(a.arrived) < a.ticket * gridDim.x && clock_ns() - came < BUDGET_NS)
        ;
    for (uint64_t all_here = clock_ns(); clock_ns() - all_here < SETTLE_NS;)
        ;
    store_release(a.word, word_go(a.ticket));
    struct clock_pair lead = clock_edge();
    chase(load, p, a.repeats, a.samples);
    struct clock_pair tail = clock_edge();
    store_release(a.word, word_stop(a.ticket));
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, p, sm_id()};
}

// One thread of a streaming block polls the word and passes it on to its block. When the budget is
// spent it tells the block "stop" by itself.
__device__ __forceinline__ void listen(const struct loaded_chase_args &a,
                                       volatile uint32_t *heard)
{
    uint64_t came = clock_ns();
    add_relaxed(a.arrived, 1);
    while (a.streams && *heard != word_stop(a.ticket)) {
        uint32_t word = load_relaxed(a.word);
        if (clock_ns() - came > BUDGET_NS)
            word = word_stop(a.ticket);
        if (word >= word_go(a.ticket))
            *heard = word;
        __nanosleep(500);
    }
}

// A warp issues LOAD_LOADS loads per lane in a turn, and begins a turn every `interval` cycles. The
// turns of the GPU's warps are staggered evenly. The warp counts what it reads between "go" and
// "stop". In the L2 each warp reads lines of its own, because SMs that share lines fall into step
// and are served together. In device memory the two SMs of a pair, neighbours by number, begin half
// a buffer apart.
__device__ __forceinline__ void stream(const struct loaded_chase_args &a,
                                       volatile uint32_t *heard)
{
    const uint32_t turn_elements = 32 * LOAD_LOADS;
    uint32_t sm = sm_id(), who = sm / 2 + sm % 2 * ((gridDim.x + 1) / 2);
    uint32_t warps = gridDim.x * LOAD_WARPS, warp = who * LOAD_WARPS + threadIdx.x / 32;
    const uint4 *in = (const uint4 *)a.in + warp * a.base;
    uint32_t at = a.ticket * 7919u * turn_elements + threadIdx.x % 32, sum = 0, word;
    uint64_t due = clock_cycles() + (uint64_t)a.interval * warp / warps, went = 0, turns = 0;

    at += warp * a.apart / turn_elements * turn_elements;
    while ((word = *heard) != word_stop(a.ticket)) {
        if (word == word_go(a.ticket) && went == 0)
            went = clock_ns(), turns = 0;
        while (clock_cycles() < due)
            ;
        uint4 v[LOAD_LOADS];
#pragma unroll
        for (int i = 0; i < LOAD_LOADS; i++)
            v[i] = load_cg_128(in + ((at + 32 * i) & (a.elements - 1)));
#pragma unroll
        for (int i = 0; i < LOAD_LOADS; i++)
            sum += v[i].x + v[i].y + v[i].z + v[i].w;
        at += a.step;
        due += a.interval;
        turns++;
    }
    uint64_t ns = went ? clock_ns() - went : 0;
    if (threadIdx.x % 32 == 0)
        a.streamed[blockIdx.x * LOAD_WARPS + threadIdx.x / 32] = {turns * turn_elements * 16, ns};
    if (sum == 0x5eedf100u)
        a.streamed->ns = 0;
}

// sass: ldg64.gpu=*,*,32,64 other<=*,*,3,3 local=0 waited chain arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=4 other<=64 exits<=8 local=0 moving
// sass: ldg64.gpu=*,32,64 other<=*,3,3 local=0 waited chain arch=100+
extern "C" __global__ void __launch_bounds__(32 * (LOAD_WARPS + 1))
loaded_chase(const __grid_constant__ struct loaded_chase_args a)
{
    extern __shared__ volatile uint32_t heard[];
    if (sm_id() == a.sm) {
        struct load_l2 load;
        for (uint64_t lap = 0; lap < a.warm_laps; lap++)
            for (uint64_t i = threadIdx.x; i < a.order.n; i += blockDim.x) {
                uint64_t p = ring_line(a.ring, a.order, a.start + i);
                load.step(p);
                consume(p);
            }
        __syncthreads();
        if (threadIdx.x == 0)
            chase_alone(a);
        return;
    }
    if (threadIdx.x == 0)
        *heard = 0;
    __syncthreads();
    if (threadIdx.x == 32 * LOAD_WARPS)
        listen(a, heard);
    else if (a.streams && threadIdx.x < 32 * LOAD_WARPS)
        stream(a, heard);
}
