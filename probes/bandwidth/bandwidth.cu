// Kernels of bandwidth: read, write and copy by each path and on each level, and the kernels that
// check them. An element is 16 bytes. A piece is what a block moves in one turn.
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "probes/bandwidth/args.h"

// --- what all have in common ---------------------------------------------------------------------

__device__ __forceinline__ void store_128(void *p, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ uint4 load_ca_128(const void *p)
{
    uint4 v;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

// Volatile in PTX, too: the assembler hoists a plain load out of a loop that only reads.
__device__ __forceinline__ uint4 load_shared_128(uint32_t p)
{
    uint4 v;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(p)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_shared_128(uint32_t p, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(p), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ bool differ(uint4 a, uint4 b)
{
    return a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
}

__device__ __forceinline__ void add(uint32_t &sum, uint4 v)
{
    sum += v.x + v.y;
    sum += v.z + v.w;
}

__device__ __forceinline__ uint32_t sum_of_warp(uint32_t sum)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

// Each warp adds its lanes' sums to one of SUM_WORDS words, a line apart.
__device__ __forceinline__ void hand_over(uint32_t *gathered, uint32_t sum)
{
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(gathered + blockIdx.x % SUM_WORDS * SUM_SPACING, sum);
}

// The same with one addition per block: one per warp would slow a stream of short-lived blocks by
// 2 %.
__device__ __forceinline__ void hand_over_block(uint32_t *gathered, uint32_t sum)
{
    __shared__ uint32_t of_warp[32];
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32)
        hand_over(gathered, threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
}

// The value that a write puts into element e.
__device__ __forceinline__ uint4 pattern(uint32_t salt, uint32_t e)
{
    uint32_t x = (e ^ salt) * 0x9e3779b9u, y = x ^ x >> 15;
    return make_uint4(x, y, y + salt, ~x);
}

// Where a block is: at element `at`, after the given number of complete rounds through its range.
// Its log gains a mark for every piece that it finishes.
struct walker {
    uint32_t at, end, round, log;

    __device__ __forceinline__ walker(const struct bandwidth_walk &walk) : round(0), log(0)
    {
        uint32_t who = walk.who == WHO_BLOCK ? blockIdx.x : walk.who == WHO_PAIR ? sm_id() / 2 : 0;
        uint32_t first = who * walk.first & (0 - walk.step);
        at = who * walk.base + (first < walk.range ? first : 0);
        end = who * walk.base + walk.range;
    }
    __device__ __forceinline__ void next(const struct bandwidth_walk &walk)
    {
        log += bandwidth_mark(at);
        at += walk.step;
        if (at >= end)
            at -= walk.range, round++;
    }
    __device__ __forceinline__ void hand_log(uint32_t *gathered) const
    {
        if (threadIdx.x == 0)
            atomicAdd(gathered + blockIdx.x % SUM_WORDS * SUM_SPACING, log);
    }
};

// --- global memory by loads and stores -----------------------------------------------------------

// sass-loop: ldg128.gpu=4 stores=0 other<=20 exits<=4 local=0 together moving regs<=32 arch=75
// sass-loop: ldg128.gpu=4 stores=0 other<=20 exits<=3 local=0 together moving regs<=32 arch=80+
extern "C" __global__ void __launch_bounds__(STREAM_THREADS)
bandwidth_read(const __grid_constant__ struct bandwidth_args a)
{
    const uint4 *in = (const uint4 *)a.in + threadIdx.x;
    struct walker w(a.walk);
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.walk.turns; turn++) {
        uint4 v[STREAM_LOADS];
#pragma unroll
        for (int i = 0; i < STREAM_LOADS; i++)
            v[i] = load_cg_128(in + w.at + i * STREAM_THREADS);
#pragma unroll
        for (int i = 0; i < STREAM_LOADS; i++)
            add(sum, v[i]);
        w.next(a.walk);
    }
    hand_over_block(a.sum, sum);
}

// sass-loop: stg128.weak=4 loads=0 other<=52 exits<=2 local=0 moving regs<=40
extern "C" __global__ void __launch_bounds__(STREAM_THREADS)
bandwidth_write(const __grid_constant__ struct bandwidth_args a)
{
    struct walker w(a.walk);

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.walk.turns; turn++) {
#pragma unroll
        for (int i = 0; i < STREAM_LOADS; i++) {
            uint32_t e = w.at + threadIdx.x + i * STREAM_THREADS;
            store_128((uint4 *)a.out + e, pattern(a.salt + w.round, e));
        }
        w.next(a.walk);
    }
    w.hand_log(a.log);
}

// sass-loop: ldg128.gpu=2 stg128.weak=2 other<=25 exits<=2 local=0 together moving regs<=32
// sass-loop: stg128=2 moving
extern "C" __global__ void __launch_bounds__(STREAM_THREADS)
bandwidth_copy(const __grid_constant__ struct bandwidth_args a)
{
    const uint4 *in = (const uint4 *)a.in + threadIdx.x;
    uint4 *out = (uint4 *)a.out + threadIdx.x;
    struct walker w(a.walk);

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.walk.turns; turn++) {
        uint4 v[COPY_LOADS];
#pragma unroll
        for (int i = 0; i < COPY_LOADS; i++)
            v[i] = load_cg_128(in + w.at + i * blockDim.x);
#pragma unroll
        for (int i = 0; i < COPY_LOADS; i++)
            store_128(out + w.at + i * blockDim.x, v[i]);
        w.next(a.walk);
    }
    w.hand_log(a.log);
}

// --- global memory by asynchronous copies ------------------------------------------------------

extern __shared__ __align__(128) uint4 ring[];

#if __CUDA_ARCH__ >= 800

// Waits for the oldest step of the ring. Every thread reads what it copied itself, or nothing.
__device__ __forceinline__ void take_step(uint32_t slot, bool read, uint32_t &sum)
{
    cp_async_wait<ASYNC_SLOTS - 1>();
    for (int i = 0; read && i < ASYNC_LOADS; i++)
        add(sum, load_shared_128(slot + i * ASYNC_THREADS * 16));
}

// A ring of ASYNC_SLOTS steps; a step is one group of copies. After the last real group come empty
// ones, which the waits count like any other.
// sass-loop: ldgsts.bypass.weak=4 ldgdepbar=1 depbar.3=1 depbar=1 other<=40 exits<=3 local=0 moving
// sass-and: arch=80+
extern "C" __global__ void __launch_bounds__(ASYNC_THREADS)
bandwidth_read_cp_async(const __grid_constant__ struct bandwidth_args a)
{
    const uint4 *in = (const uint4 *)a.in + threadIdx.x;
    uint32_t first = shared_address(ring + threadIdx.x), sum = 0;
    struct walker w(a.walk);

#pragma unroll 1
    for (uint32_t turn = 0; turn < a.walk.turns; turn++) {
        uint32_t slot = first + turn % ASYNC_SLOTS * (ASYNC_LOADS * ASYNC_THREADS * 16);
        take_step(slot, a.sum && turn >= ASYNC_SLOTS, sum);
#pragma unroll
        for (int i = 0; i < ASYNC_LOADS; i++)
            cp_async_16(slot + i * ASYNC_THREADS * 16, in + w.at + i * ASYNC_THREADS);
        cp_async_commit();
        w.next(a.walk);
    }
    for (uint32_t i = 0; i < ASYNC_SLOTS; i++) {
        uint32_t turn = a.walk.turns + i;
        uint32_t slot = first + turn % ASYNC_SLOTS * (ASYNC_LOADS * ASYNC_THREADS * 16);
        take_step(slot, a.sum && turn >= ASYNC_SLOTS, sum);
        cp_async_commit();
    }
    w.hand_log(a.log);
    if (a.sum)
        hand_over(a.sum, sum);
}

#endif
#if __CUDA_ARCH__ >= 900

enum { BULK_ELEMENTS = BULK_BYTES / 16 };

// The ring of bulk copies: BULK_SLOTS pieces of shared memory, each with a barrier that opens when
// the piece is full. Use u of the ring is use u / BULK_SLOTS of a slot.
struct bulk_ring {
    uint32_t data, full;

    __device__ __forceinline__ bulk_ring(const uint64_t *barriers)
        : data(shared_address(ring)), full(shared_address(barriers))
    {
        for (int i = 0; threadIdx.x == 0 && i < BULK_SLOTS; i++)
            mbarrier_make(full + 8 * i, 1);
        if (threadIdx.x == 0)
            mbarrier_made();
    }
    __device__ __forceinline__ uint32_t slot(uint32_t use) const
    {
        return data + use % BULK_SLOTS * BULK_BYTES;
    }
    __device__ __forceinline__ void load(uint32_t use, const uint4 *from) const
    {
        uint32_t barrier = full + use % BULK_SLOTS * 8;
        mbarrier_expect(barrier, BULK_BYTES);
        bulk_load(slot(use), from, BULK_BYTES, barrier);
    }
    __device__ __forceinline__ void wait(uint32_t use) const
    {
        mbarrier_wait(full + use % BULK_SLOTS * 8, use / BULK_SLOTS % 2);
    }
};

// All threads wait for a piece and read it.
__device__ __forceinline__ void read_piece(const struct bulk_ring &r, uint32_t use, uint32_t &sum)
{
    r.wait(use);
    for (uint32_t e = threadIdx.x; e < BULK_ELEMENTS; e += BULK_THREADS)
        add(sum, load_shared_128(r.slot(use) + e * 16));
    __syncthreads();
}

// One thread does it all, unless the pieces are to be checked.
// sass-loop: ublkcp=1 syncs>=2 other<=242 exits<=4 local=0 outer ahead moving arch=90a
// sass-loop: ublkcp=1 syncs>=2 other<=158 exits<=4 local=0 outer ahead moving arch=100+
extern "C" __global__ void __launch_bounds__(BULK_THREADS)
bandwidth_read_bulk(const __grid_constant__ struct bandwidth_args a)
{
    __shared__ uint64_t barriers[BULK_SLOTS];
    struct bulk_ring r(barriers);
    const uint4 *in = (const uint4 *)a.in;
    struct walker w(a.walk);
    uint32_t sum = 0;

    if (a.sum)
        __syncthreads();
    else if (threadIdx.x != 0)
        return;
#pragma unroll 1
    for (uint32_t use = 0; use < a.walk.turns + BULK_SLOTS; use++) {
        if (use >= BULK_SLOTS && a.sum)
            read_piece(r, use - BULK_SLOTS, sum);
        else if (use >= BULK_SLOTS)
            r.wait(use - BULK_SLOTS);
        if (use < a.walk.turns && threadIdx.x == 0) {
            r.load(use, in + w.at);
            w.next(a.walk);
        }
    }
    w.hand_log(a.log);
    if (a.sum)
        hand_over(a.sum, sum);
}

// Writes one piece of shared memory to every place.
// sass-loop: ublkcp=1 other<=16 exits<=2 local=0 moving arch=90a+
extern "C" __global__ void __launch_bounds__(BULK_THREADS)
bandwidth_write_bulk(const __grid_constant__ struct bandwidth_args a)
{
    uint4 *out = (uint4 *)a.out;
    struct walker w(a.walk);

    for (uint32_t e = threadIdx.x; e < BULK_ELEMENTS; e += BULK_THREADS)
        ring[e] = pattern(a.salt, e);
    bulk_store_fence();
    __syncthreads();
    if (threadIdx.x != 0)
        return;
#pragma unroll 1
    for (uint32_t turn = 0; turn < a.walk.turns; turn++) {
        bulk_store(out + w.at, shared_address(ring), BULK_BYTES);
        bulk_store_commit();
        bulk_store_read_wait<BULK_SLOTS - 1>();
        w.next(a.walk);
    }
    bulk_store_wait<0>();
    w.hand_log(a.log);
}

// Loads run half a ring ahead of the stores; the stores still read the other half.
// sass-loop: ublkcp=2 syncs>=2 other<=65 exits<=2 local=0 outer moving arch=90a,100
// sass-loop: ublkcp=2 syncs>=2 other<=110 exits<=2 local=0 outer moving arch=120
extern "C" __global__ void __launch_bounds__(32)
bandwidth_copy_bulk(const __grid_constant__ struct bandwidth_args a)
{
    __shared__ uint64_t barriers[BULK_SLOTS];
    const uint32_t ahead = BULK_SLOTS / 2;
    struct bulk_ring r(barriers);
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    struct walker to(a.walk), from(a.walk);

    if (threadIdx.x != 0)
        return;
#pragma unroll 1
    for (uint32_t use = 0; use < a.walk.turns + ahead; use++) {
        if (use < a.walk.turns) {
            bulk_store_read_wait<BULK_SLOTS / 2 - 1>();
            r.load(use, in + from.at);
            from.next(a.walk);
        }
        if (use >= ahead) {
            r.wait(use - ahead);
            bulk_store(out + to.at, r.slot(use - ahead), BULK_BYTES);
            bulk_store_commit();
            to.next(a.walk);
        }
    }
    bulk_store_wait<0>();
    to.hand_log(a.log);
}

#endif

// --- the memory of an SM -------------------------------------------------------------------------

// Runs `body` a.passes times between two reads of the clock by all threads of the block.
template <typename BODY>
__device__ __forceinline__ uint64_t passes(const struct bandwidth_local_args &a, BODY body)
{
    __syncthreads();
    uint64_t began = clock_cycles();
#pragma unroll 1
    for (uint32_t pass = 0; pass < a.passes; pass++)
        body(pass);
    __syncthreads();
    return clock_cycles() - began;
}

// Thread 0 reports the cycles of its block.
__device__ __forceinline__ void state(const struct bandwidth_local_args &a, uint64_t cycles,
                                      uint32_t wrong)
{
    int all_wrong = __syncthreads_count(wrong != 0);
    if (threadIdx.x == 0)
        a.blocks[blockIdx.x] = {cycles, sm_id(), (uint32_t)all_wrong};
}

// A block has a range of its own, read once before. No shared memory, which would take from the L1.
// sass-loop: ldg128.cta=4 stores=0 other<=15 exits<=2 local=0 together moving regs<=40
// sass: bar.block=1 ldg128=4 looped closed
extern "C" __global__ void __launch_bounds__(L1_THREADS)
bandwidth_l1_read(const __grid_constant__ struct bandwidth_local_args a)
{
    const uint4 *in = (const uint4 *)a.in + (uint64_t)blockIdx.x * a.elements + threadIdx.x;
    uint32_t sum = 0, cold = 0;

#pragma unroll 1
    for (uint32_t e = 0; e < a.elements; e += L1_THREADS)
        add(cold, load_ca_128(in + e));
    uint64_t cycles = passes(a, [&](uint32_t) {
#pragma unroll 1
        for (uint32_t e = 0; e < a.elements; e += STREAM_LOADS * L1_THREADS) {
            uint4 v[STREAM_LOADS];
#pragma unroll
            for (int i = 0; i < STREAM_LOADS; i++)
                v[i] = load_ca_128(in + e + i * L1_THREADS);
#pragma unroll
            for (int i = 0; i < STREAM_LOADS; i++)
                add(sum, v[i]);
        }
    });
    hand_over(a.sum, sum);
    state(a, cycles, cold == 0x5eedf100u);
}

// sass-loop: lds128=4 stores=0 other<=11 exits<=2 local=0 together regs<=64
// sass: bar.block=1 lds128=4 looped closed
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS)
bandwidth_shared_read(const __grid_constant__ struct bandwidth_local_args a)
{
    const uint4 *in = (const uint4 *)a.in + blockIdx.x * LOCAL_ELEMENTS;
    uint32_t first = shared_address(ring + threadIdx.x), sum = 0;

    for (uint32_t e = threadIdx.x; e < LOCAL_ELEMENTS; e += LOCAL_THREADS)
        ring[e] = in[e];
    uint64_t cycles = passes(a, [&](uint32_t) {
        uint4 v[LOCAL_LOADS];
#pragma unroll
        for (int i = 0; i < LOCAL_LOADS; i++)
            v[i] = load_shared_128(first + i * LOCAL_THREADS * 16);
#pragma unroll
        for (int i = 0; i < LOCAL_LOADS; i++)
            add(sum, v[i]);
    });
    hand_over(a.sum, sum);
    state(a, cycles, 0);
}

// sass-loop: sts128=4 loads=0 other<=7 exits<=2 local=0 regs<=64
// sass: bar.block=1 sts128=4 looped closed
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS)
bandwidth_shared_write(const __grid_constant__ struct bandwidth_local_args a)
{
    uint32_t first = shared_address(ring + threadIdx.x), wrong = 0;
    uint4 v[LOCAL_LOADS];

    for (int i = 0; i < LOCAL_LOADS; i++)
        v[i] = pattern(a.salt, threadIdx.x + i * LOCAL_THREADS);
    uint64_t cycles = passes(a, [&](uint32_t pass) {
#pragma unroll
        for (int i = 0; i < LOCAL_LOADS; i++) {
            v[i].w = pass;
            store_shared_128(first + i * LOCAL_THREADS * 16, v[i]);
        }
    });
    for (uint32_t e = threadIdx.x; e < LOCAL_ELEMENTS; e += LOCAL_THREADS) {
        uint4 must = pattern(a.salt, e);
        must.w = a.passes - 1;
        wrong += differ(must, ring[e]);
    }
    state(a, cycles, wrong);
}

// From the first half of the block's shared memory to the second.
// sass-loop: lds128=4 sts128=4 other<=3 exits<=2 local=0 together regs<=64
// sass: bar.block=1 lds128=4 looped closed
extern "C" __global__ void __launch_bounds__(LOCAL_THREADS)
bandwidth_shared_copy(const __grid_constant__ struct bandwidth_local_args a)
{
    const uint4 *in = (const uint4 *)a.in + blockIdx.x * LOCAL_ELEMENTS;
    uint32_t first = shared_address(ring + threadIdx.x), wrong = 0;

    for (uint32_t e = threadIdx.x; e < LOCAL_ELEMENTS; e += LOCAL_THREADS)
        ring[e] = in[e];
    uint64_t cycles = passes(a, [&](uint32_t) {
        uint4 v[LOCAL_LOADS];
#pragma unroll
        for (int i = 0; i < LOCAL_LOADS; i++)
            v[i] = load_shared_128(first + i * LOCAL_THREADS * 16);
#pragma unroll
        for (int i = 0; i < LOCAL_LOADS; i++)
            store_shared_128(first + (LOCAL_ELEMENTS + i * LOCAL_THREADS) * 16, v[i]);
    });
    for (uint32_t e = threadIdx.x; e < LOCAL_ELEMENTS; e += LOCAL_THREADS)
        wrong += differ(in[e], ring[LOCAL_ELEMENTS + e]);
    state(a, cycles, wrong);
}

// Fused multiply-adds. Each lane reads three operands of 4 bytes, none of them twice in a row, or
// the operand reuse cache would serve it. The sums are stored and checked.
// sass-loop: ffma=192 other<=3 exits<=2 local=0 regs<=64
// sass: bar.block=1 ffma=192 looped closed
extern "C" __global__ void __launch_bounds__(REGISTER_THREADS)
bandwidth_register_read(const __grid_constant__ struct bandwidth_local_args a)
{
    const float *in = (const float *)a.in;
    float sum[REGISTER_SUMS], factor[REGISTER_OPERANDS], term[REGISTER_OPERANDS];

    for (int i = 0; i < REGISTER_SUMS; i++)
        sum[i] = in[threadIdx.x + i];
    for (int i = 0; i < REGISTER_OPERANDS; i++) {
        factor[i] = 0.5f + 1e-3f * in[threadIdx.x + 100 + i];
        term[i] = in[threadIdx.x + 200 + i];
    }
    uint64_t cycles = passes(a, [&](uint32_t) {
#pragma unroll
        for (int i = 0; i < REGISTER_SUMS * REGISTER_ROUNDS; i++)
            asm volatile("fma.rn.f32 %0, %0, %1, %2;"
                         : "+f"(sum[i % REGISTER_SUMS])
                         : "f"(factor[i % REGISTER_OPERANDS]), "f"(term[i % REGISTER_OPERANDS]));
    });
    uint32_t bits = 0;
    for (int i = 0; i < REGISTER_SUMS; i++)
        bits += __float_as_uint(sum[i]);
    hand_over(a.sum, bits);
    state(a, cycles, 0);
}

// --- checks --------------------------------------------------------------------------------------

// result[0] gains the number of elements of `out` that are wrong, result[1] the sum of all its
// words.
// sass: none not a timed kernel
extern "C" __global__ void bandwidth_verify(const __grid_constant__ struct bandwidth_verify_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, sum = 0, wrong = 0;
    const uint4 *in = (const uint4 *)a.in, *out = (const uint4 *)a.out;

    for (uint64_t e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; e < a.elements; e += step) {
        uint4 must = in ? in[e] : pattern(a.salt, (uint32_t)(e % a.period)), is = out[e];
        wrong += differ(must, is);
        sum += (uint64_t)is.x + is.y + is.z + is.w;
    }
    atomicAdd((unsigned long long *)&a.result[1], (unsigned long long)sum);
    if (wrong)
        atomicAdd((unsigned long long *)&a.result[0], (unsigned long long)wrong);
}
