// Kernels of jitter: the smallest possible steps, dependent reads as in a layer, and rival work
// that runs at the same time. None is timed by its own clock, but by the host and %globaltimer.
#include "core/device/clock.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "probes/jitter/args.h"

// One step, or all of them one after another: each step depends on the one before.
// sass-loop: ldg32.sys=4 stg32.sys=4 bar.block=4 other<=23 local=0 arch=75,80,86,89
// sass-loop: ldg32.sys=4 stg32.sys=4 bar.block=4 guarded<=8 other<=15 local=0 arch=90a+
extern "C" __global__ void __launch_bounds__(TINY_THREADS)
jitter_tiny(const __grid_constant__ struct tiny_args a)
{
    volatile uint32_t *count = a.count;
    for (uint32_t i = 0; i < a.steps; i++) {
        if (threadIdx.x == 0)
            *count = *count + 1;
        __syncthreads();
    }
}

// The result of block b in step s: its share of the step's weights, and its neighbour's last value.
__device__ __forceinline__ void layer_step(const struct layer_args &a, uint32_t s)
{
    __shared__ uint32_t parts[LAYER_THREADS / 32];
    const uint32_t elements = LAYER_BYTES / 16;
    const uint4 *in = (const uint4 *)a.weights + (uint64_t)s * elements;
    uint32_t sum = 0;

#pragma unroll 8
    for (uint32_t i = blockIdx.x * LAYER_THREADS + threadIdx.x; i < elements;
         i += gridDim.x * LAYER_THREADS) {
        uint4 v = load_cg_128(in + i);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum ^= __shfl_xor_sync(~0u, sum, lanes);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t before = load_relaxed(a.values[s % 2] + (blockIdx.x + 1) % gridDim.x);
        for (int w = 1; w < LAYER_THREADS / 32; w++)
            sum ^= parts[w];
        store_relaxed(a.values[(s + 1) % 2] + blockIdx.x, before * 31 + sum);
    }
    __syncthreads();
}

// A layer begins with the first block of its first launch, and ends with the last block of its
// last. Each block counts layers for itself: a graph's arguments are the same in every replay.
__device__ __forceinline__ void layer_stamped(const struct layer_args &a, uint64_t began,
                                              uint64_t ended)
{
    uint32_t turn = load_relaxed(a.turns + blockIdx.x);
    if (a.first == 0)
        atomicMin((unsigned long long *)&a.stamps[turn].begin, (unsigned long long)began);
    if (a.first + a.steps == LAYER_STEPS) {
        atomicMax((unsigned long long *)&a.stamps[turn].end, (unsigned long long)ended);
        store_relaxed(a.turns + blockIdx.x, turn + 1);
    }
}

// Steps [first, first + steps) of a layer: one of them, or all with a barrier of the grid in
// between.
// sass-loop: ldg128.gpu=8 other<=94 local=0 arch=75,80,86,89,90a
// sass-loop: ldg128.gpu=8 other<=48 local=0 arch=100+
// sass-loop: bar.block=4 ldg32.gpu>=1 stg32.gpu>=1 guarded<=1 other<=228 local=0
// sass-and: arch=75,80,86,89,90a,100
// sass-loop: bar.block=4 ldg32.gpu>=1 stg32.gpu>=1 guarded<=1 other<=165 local=0 arch=120
extern "C" __global__ void __launch_bounds__(LAYER_THREADS)
jitter_layer(const __grid_constant__ struct layer_args a)
{
    uint64_t began = clock_ns();
    struct grid_barrier barrier;
    if (a.steps > 1)
        barrier = grid_barrier_join(a.barrier, gridDim.x, 500000000);
    for (uint32_t s = a.first; s < a.first + a.steps; s++) {
        layer_step(a, s);
        if (s + 1 < a.first + a.steps)
            grid_barrier(barrier);
    }
    uint64_t ended = clock_ns();
    if (threadIdx.x == 0)
        layer_stamped(a, began, ended);
}

// An item of a queue: one block, busy for a given time.
// sass-loop: cs2r=1 other<=5 local=0
extern "C" __global__ void jitter_item(const __grid_constant__ struct item_args a)
{
    uint64_t began = clock_ns(), now;
    while ((now = clock_ns()) - began < a.work_ns)
        ;
    if (threadIdx.x == 0)
        a.stamps[blockIdx.x] = {began, now};
}

// Rivals: other work on the same GPU. This one streams from device memory,
// sass-loop: ldg128.gpu=4 other<=32 exits<=3 local=0 moving
extern "C" __global__ void __launch_bounds__(RIVAL_THREADS)
jitter_rival_stream(const __grid_constant__ struct rival_args a)
{
    uint32_t sum = 0;
#pragma unroll 4
    for (uint32_t i = blockIdx.x * RIVAL_THREADS + threadIdx.x; i < a.elements;
         i += gridDim.x * RIVAL_THREADS) {
        uint4 v = load_cg_128((const uint4 *)a.in + i);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x5eedf100u)
        *a.sink = sum;
}

// this one keeps the tensor cores busy,
// sass-loop: hmma=16 other<=3 exits<=2 local=0 arch=75,80,86,89
// sass-loop: hmma=64 other<=3 exits<=2 local=0 arch=90a+
extern "C" __global__ void __launch_bounds__(RIVAL_THREADS)
jitter_rival_tensor(const __grid_constant__ struct rival_args a)
{
    uint32_t x = 0x3c003c00u + threadIdx.x, y = 0x38003800u + blockIdx.x;
    float d[4][4] = {};

    for (uint32_t turn = 0; turn < a.turns; turn++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                         : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
                         : "r"(x), "r"(y), "r"(x ^ y));
    if (d[0][0] + d[1][1] + d[2][2] + d[3][3] == -1.0f)
        *a.sink = 1;
}

// and this one is empty, to be launched over and over.
// sass-all: exit=2 stg32=1 other<=7 local=0
extern "C" __global__ void jitter_rival_tiny(const __grid_constant__ struct rival_args a)
{
    if (a.turns == ~0u)
        *a.sink = 1;
}
