// Kernels of shared_room: h = x + residual, y = (h - mean) / sqrt(variance + epsilon), rows of
// bf16, h in fp32.
//
//     room_plain, room_pipe            all of it, a row of h in shared memory; x and residual by
//                                      plain loads, or by copies that run ahead
//     room_sum                         its first part: h goes to memory
//     room_norm_plain, room_norm_pipe  its second part, from h in memory
//     room_cached                      all of it; each block's h lies in global memory, and is read
//                                      again through the cache part of L1
//
// The unused shared memory is the launch's: no kernel knows of it. Each thread reads what it wrote
// itself: rows are dealt out by vectors of eight elements.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/async.cuh"
#include "core/device/load.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/shared_room/args.h"

extern __shared__ uint4 room_memory[];

enum { ROOM_BLOCKS = 6 }; // on an SM: what their registers leave room for

struct room_scratch {
    float sum[ROOM_THREADS / 32], square[ROOM_THREADS / 32];
};

// Where the 16 or 32 bytes of a vector lie: two words of 16 bytes, of x and residual, or both of h.
struct room_row {
    const uint4 *first, *second;
    uint32_t step; // from vector to vector
};
template <bool IS_FUSED>
__device__ __forceinline__ struct room_row row_of(const struct shared_room_args &a, uint32_t row)
{
    const uint64_t at = (uint64_t)row * a.columns;
    const uint4 *h = (const uint4 *)(a.h + at);
    if (!IS_FUSED)
        return {h, h + 1, 2};
    return {(const uint4 *)a.x + at / ROOM_VECTOR, (const uint4 *)a.residual + at / ROOM_VECTOR, 1};
}

// A vector of h from its two words.
template <bool IS_FUSED>
__device__ __forceinline__ void h_of(uint4 first, uint4 second, float (&h)[ROOM_VECTOR])
{
    if (IS_FUSED) {
        float r[ROOM_VECTOR];
        widen<bf16>(first, h);
        widen<bf16>(second, r);
#pragma unroll
        for (int i = 0; i < ROOM_VECTOR; i++)
            h[i] += r[i];
    } else {
        const uint32_t word[ROOM_VECTOR] = {first.x,  first.y,  first.z,  first.w,
                                            second.x, second.y, second.z, second.w};
#pragma unroll
        for (int i = 0; i < ROOM_VECTOR; i++)
            h[i] = __uint_as_float(word[i]);
    }
}

__device__ __forceinline__ float sum_of(const float (&h)[ROOM_VECTOR])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < ROOM_VECTOR; i++)
        sum += h[i];
    return sum;
}

// The two halves of a vector lie `half` vectors apart, so that a warp's accesses follow each other.
__device__ __forceinline__ void put(float4 *to, uint32_t half, const float (&h)[ROOM_VECTOR])
{
    to[0] = make_float4(h[0], h[1], h[2], h[3]);
    to[half] = make_float4(h[4], h[5], h[6], h[7]);
}
__device__ __forceinline__ void get(const float4 *from, uint32_t half, float (&h)[ROOM_VECTOR])
{
    const float4 a = from[0], b = from[half];
    h[0] = a.x, h[1] = a.y, h[2] = a.z, h[3] = a.w;
    h[4] = b.x, h[5] = b.y, h[6] = b.z, h[7] = b.w;
}

/* --- what is done with a row of h ----------------------------------------------------------- */

// The squares of what this thread's part of a row differs from its mean.
__device__ __forceinline__ float squares(const float4 *h, uint32_t vectors, float mean)
{
    float sum = 0;
#pragma unroll 1
    for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS) {
        float x[ROOM_VECTOR];
        get(h + v, vectors, x);
#pragma unroll
        for (int i = 0; i < ROOM_VECTOR; i++)
            sum = fmaf(x[i] - mean, x[i] - mean, sum);
    }
    return sum;
}

__device__ __forceinline__ void store(uint4 *y, const float4 *h, uint32_t vectors, float mean,
                                      float scale)
{
#pragma unroll 1
    for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS) {
        float x[ROOM_VECTOR];
        get(h + v, vectors, x);
#pragma unroll
        for (int i = 0; i < ROOM_VECTOR; i++)
            x[i] = (x[i] - mean) * scale;
        y[v] = narrow<bf16>(x);
    }
}

// h is there; `sum` is of this thread's part. `looks`: how often h is read for its variance.
__device__ __forceinline__ void finish(const struct shared_room_args &a, uint32_t row,
                                       const float4 *h, float sum, uint32_t looks,
                                       struct room_scratch &scratch)
{
    const uint32_t vectors = a.columns / ROOM_VECTOR;
    const float mean = block_reduce<adding, ROOM_THREADS / 32>(sum, scratch.sum) * a.inverse;
    float square = 0;
#pragma unroll 1
    for (uint32_t look = 0; look < looks; look++) {
        asm volatile("" ::: "memory"); // each look reads again
        square += squares(h, vectors, mean);
    }
    square = block_reduce<adding, ROOM_THREADS / 32>(square, scratch.square) * a.inverse_looks;
    store((uint4 *)a.y + (uint64_t)row * vectors, h, vectors, mean, rsqrtf(square + a.epsilon));
}

/* --- by plain loads --------------------------------------------------------------------------- */

// One vector of a thread at a time: what hides its latency are other warps.
template <bool IS_FUSED>
__device__ __forceinline__ float take(const struct shared_room_args &a, uint32_t row, float4 *h)
{
    const uint32_t vectors = a.columns / ROOM_VECTOR;
    const struct room_row from = row_of<IS_FUSED>(a, row);
    float sum = 0;
#pragma unroll 1
    for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS) {
        float x[ROOM_VECTOR];
        const uint4 first = load_once(from.first + v * from.step);
        const uint4 second = load_once(from.second + v * from.step);
        h_of<IS_FUSED>(first, second, x);
        put(h + v, vectors, x);
        sum += sum_of(x);
    }
    return sum;
}

template <bool IS_FUSED> __device__ __forceinline__ void plain(const struct shared_room_args &a)
{
    __shared__ struct room_scratch scratch;
    float4 *h = (float4 *)room_memory;
    const float sum = take<IS_FUSED>(a, blockIdx.x, h);
    finish(a, blockIdx.x, h, sum, 1, scratch);
}

/* --- by copies that run ahead ----------------------------------------------------------------- */

// A block's rows as tiles of 256 vectors. A thread copies what it reads itself, so that nobody else
// waits for it. While the block works on a row, the next one's first tiles are under way.
struct room_tiles {
    uint4 *stages;          // ROOM_STAGES x (first words, second words) of ROOM_THREADS
    uint32_t row, last, at; // the tile that is asked for next: its row, the block's end, its vector
};
__device__ __forceinline__ uint4 *stage_of(const struct room_tiles &t, uint32_t tile)
{
    return t.stages + tile % ROOM_STAGES * (2 * ROOM_THREADS) + threadIdx.x;
}

template <bool IS_FUSED>
__device__ __forceinline__ void ask(struct room_tiles &t, const struct shared_room_args &a,
                                    uint32_t tile)
{
    const uint32_t vectors = a.columns / ROOM_VECTOR, v = t.at + threadIdx.x;
    if (t.row < t.last && v < vectors) {
        const struct room_row from = row_of<IS_FUSED>(a, t.row);
        const uint32_t to = shared_address(stage_of(t, tile));
        cp_async_16(to, from.first + v * from.step);
        cp_async_16(to + ROOM_THREADS * sizeof(uint4), from.second + v * from.step);
    }
    cp_async_commit(); // of a tile that is not there: a group of nothing
    t.at += ROOM_THREADS;
    if (t.at >= vectors)
        t.at = 0, t.row++;
}

template <bool IS_FUSED> __device__ __forceinline__ void pipe(const struct shared_room_args &a)
{
    __shared__ struct room_scratch scratch;
    const uint32_t vectors = a.columns / ROOM_VECTOR, first = blockIdx.x * ROOM_ROWS;
    const uint32_t last = min(first + ROOM_ROWS, a.rows);
    float4 *h = (float4 *)(room_memory + ROOM_STAGES * 2 * ROOM_THREADS);
    struct room_tiles t = {room_memory, first, last, 0};
    uint32_t tile = 0;

#pragma unroll
    for (uint32_t i = 0; i < ROOM_STAGES; i++)
        ask<IS_FUSED>(t, a, i);
#pragma unroll 1
    for (uint32_t row = first; row < last; row++) {
        float sum = 0;
#pragma unroll 1
        for (uint32_t v = threadIdx.x; v < vectors + threadIdx.x; v += ROOM_THREADS, tile++) {
            cp_async_wait<ROOM_STAGES - 1>();
            if (v < vectors) {
                const uint4 *from = stage_of(t, tile);
                float x[ROOM_VECTOR];
                h_of<IS_FUSED>(from[0], from[ROOM_THREADS], x);
                put(h + v, vectors, x);
                sum += sum_of(x);
            }
            ask<IS_FUSED>(t, a, tile + ROOM_STAGES); // where this one was: it has been read
        }
        finish(a, row, h, sum, 1, scratch);
    }
}

/* --- the kernels ------------------------------------------------------------------------------ */

#define ROOM(name, body)                                                                           \
    extern "C" __global__ void __launch_bounds__(ROOM_THREADS, ROOM_BLOCKS)                        \
        room_##name(const __grid_constant__ struct shared_room_args a)                             \
    {                                                                                              \
        body;                                                                                      \
    }
// Of a thread no more registers, and of a block no more static shared memory, than leave room for
// ROOM_BLOCKS. In a loop with copies no wait comes behind what was asked for in the same turn.
// sass-loop: kernel=room_plain ldg128na=2 sts128=2 other<=46 exits<=2 local=0 together arch=80+
// sass-all: kernel=room_plain ldg128na=2 lds128=8 sts128=2 stg128=1 bar.block=2 regs<=40
// sass-and: smem=64 looped arch=80+
ROOM(plain, plain<true>(a))
// sass-loop: kernel=room_norm_plain ldg128na=2 sts128=2 other<=46 exits<=2 local=0 together
// sass-and: arch=80+
// sass-all: kernel=room_norm_plain ldg128na=2 lds128=8 sts128=2 stg128=1 bar.block=2 regs<=40
// sass-and: smem=64 looped arch=80+
ROOM(norm_plain, plain<false>(a))
// sass-loop: kernel=room_pipe ldgsts.bypass=2 depbar.1=1 lds128=2 sts128=2 guarded<=2 other<=89
// sass-and: local=0 ahead arch=80+
// sass-all: kernel=room_pipe ldgsts.bypass=6 lds128=10 sts128=2 stg128=1 bar.block=2 ldg=0
// sass-and: regs<=40 smem=64 looped calls arch=80+
ROOM(pipe, pipe<true>(a))
// sass-loop: kernel=room_norm_pipe ldgsts.bypass=2 depbar.1=1 lds128=2 sts128=2 guarded<=2
// sass-and: other<=89 local=0 ahead arch=80+
// sass-all: kernel=room_norm_pipe ldgsts.bypass=6 lds128=10 sts128=2 stg128=1 bar.block=2 ldg=0
// sass-and: regs<=40 smem=64 looped calls arch=80+
ROOM(norm_pipe, pipe<false>(a))

// The first part alone: a block a row, as plain as the rest.
// sass-loop: kernel=room_sum ldg128na=2 stg128=2 other<=46 exits<=2 local=0 together arch=80+
// sass-all: kernel=room_sum ldg128na=2 stg128=2 bar=0 regs<=40 smem=0 looped arch=80+
ROOM(sum, {
    const uint32_t vectors = a.columns / ROOM_VECTOR;
    const struct room_row from = row_of<true>(a, blockIdx.x);
    float4 *h = (float4 *)(a.h + (uint64_t)blockIdx.x * a.columns);
    _Pragma("unroll 1") for (uint32_t v = threadIdx.x; v < vectors; v += ROOM_THREADS)
    {
        float x[ROOM_VECTOR];
        h_of<true>(load_once(from.first + v), load_once(from.second + v), x);
        put(h + 2 * v, 1, x);
    }
})

// Blocks that stay, each with a row of h of its own in global memory.
// sass-loop: kernel=room_cached ldg128na=2 stg128=2 other<=53 local=0 together arch=80+
// sass-all: kernel=room_cached ldg128na=2 ldg128.weak=4 stg128=3 lds128=4 bar.block=2 regs<=40
// sass-and: smem=64 looped arch=80+
ROOM(cached, {
    __shared__ struct room_scratch scratch;
    float4 *h = (float4 *)(a.h + (uint64_t)blockIdx.x * a.columns);
    _Pragma("unroll 1") for (uint32_t row = blockIdx.x; row < a.rows; row += gridDim.x)
    {
        const float sum = take<true>(a, row, h);
        finish(a, row, h, sum, a.looks, scratch);
    }
})

#endif
