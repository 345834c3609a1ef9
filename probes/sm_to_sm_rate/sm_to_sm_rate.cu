// Kernels of sm_to_sm_rate: streams from and into other SMs' shared memory, and slabs that go from
// SM to SM through the L2.
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/load.cuh"
#include "probes/sm_to_sm_rate/args.h"

// What block b writes to its 16-byte element i: multiples of a number that depends on both; they
// add up to 17 times that number. The mixing is Wellons's lowbias32.
__device__ __forceinline__ uint32_t number(uint32_t seed, uint32_t block, uint32_t i)
{
    uint32_t h = seed ^ block * 0x9e3779b9u ^ i * 0x85ebca6bu;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

__device__ __forceinline__ uint4 element(uint32_t h, uint32_t round)
{
    return {h + round, 3 * h + round, 5 * h + round, 8 * h + round};
}

__device__ __forceinline__ uint32_t sum_of(uint4 v)
{
    return v.x + v.y + v.z + v.w;
}

__device__ __forceinline__ bool same(uint4 v, uint4 w)
{
    return v.x == w.x && v.y == w.y && v.z == w.z && v.w == w.w;
}

// --- streams inside a cluster --------------------------------------------------------------------
#if __CUDA_ARCH__ >= 900

// This block's rank, and whose window it uses: that of the next rank. Rank 0 follows the last.
struct seat {
    uint32_t rank, next, previous; // ranks
    uint32_t first;                // block of rank 0
    bool moves, is_moved;          // uses the next one's window; the previous one uses this one's
};

__device__ __forceinline__ struct seat seat_of(const struct stream_args &a)
{
    uint32_t size = cluster_size(), rank = cluster_rank(), cluster = blockIdx.x / size;
    struct seat s = {rank, rank + 1 == size ? 0 : rank + 1, rank == 0 ? size - 1 : rank - 1,
                     blockIdx.x - rank, false, false};
    s.moves = cluster < a.active && s.rank < a.movers;
    s.is_moved = cluster < a.active && s.previous < a.movers;
    if (threadIdx.x == 0)
        a.sm[blockIdx.x] = sm_id();
    return s;
}

__device__ __forceinline__ void fill_window(uint4 *window, uint32_t seed)
{
#pragma unroll
    for (uint32_t row = 0; row < WINDOW_ROWS; row++) {
        uint32_t i = row * RATE_THREADS + threadIdx.x;
        window[i] = element(number(seed, blockIdx.x, i), 0);
    }
}

// Four loads by generic addresses, issued before the first is used.
__device__ __forceinline__ void load_window(uint4 (&v)[WINDOW_ROWS], uint64_t from)
{
    asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%16];\n\t"
                 "ld.v4.u32 {%4, %5, %6, %7}, [%16 + 16384];\n\t"
                 "ld.v4.u32 {%8, %9, %10, %11}, [%16 + 32768];\n\t"
                 "ld.v4.u32 {%12, %13, %14, %15}, [%16 + 49152];"
                 : "=&r"(v[0].x), "=&r"(v[0].y), "=&r"(v[0].z), "=&r"(v[0].w), "=&r"(v[1].x),
                   "=&r"(v[1].y), "=&r"(v[1].z), "=&r"(v[1].w), "=&r"(v[2].x), "=&r"(v[2].y),
                   "=&r"(v[2].z), "=&r"(v[2].w), "=&r"(v[3].x), "=&r"(v[3].y), "=&r"(v[3].z),
                   "=&r"(v[3].w)
                 : "l"(from)
                 : "memory");
}

__device__ __forceinline__ void store_window(uint64_t to, uint4 v, uint32_t turn)
{
    asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x + turn), "r"(v.y + turn),
                 "r"(v.z + turn), "r"(v.w + turn)
                 : "memory");
}

// What a thread reads of each row: the same element of both halves, in turn. A single element would
// be read once, before the loop: the assembler moves a load that cannot change out of it.
// sass-loop: ld128.weak=4 other<=17 exits<=3 local=0 together arch=90a+
extern "C" __global__ void __launch_bounds__(RATE_THREADS, 1)
sm_to_sm_rate_read(const __grid_constant__ struct stream_args a)
{
    extern __shared__ uint4 window[];
    struct seat s = seat_of(a);
    uint32_t i = threadIdx.x, j = threadIdx.x ^ RATE_THREADS / 2;
    uint64_t from = cluster_map_generic(window + i, s.next);
    uint64_t then = cluster_map_generic(window + j, s.next);
    uint32_t sum = 0, expected = 0;

    fill_window(window, a.seed);
    cluster_arrive();
    cluster_wait();
    if (s.moves)
#pragma unroll 1
        for (uint32_t turn = 0; turn < a.turns; turn++) {
            uint4 v[WINDOW_ROWS];
            load_window(v, from);
#pragma unroll
            for (int row = WINDOW_ROWS - 1; row >= 0; row--)
                sum += sum_of(v[row]);
            uint64_t now = from;
            from = then;
            then = now;
        }
    cluster_arrive();
    cluster_wait();
#pragma unroll 1
    for (uint32_t row = 0; row < WINDOW_ROWS; row++)
        expected += 17 * number(a.seed, s.first + s.next, row * RATE_THREADS + i) +
                    17 * number(a.seed, s.first + s.next, row * RATE_THREADS + j);
    if (s.moves && sum != a.turns / 2 * expected)
        atomicAdd(a.errors, 1u);
}

// sass-loop: st128.weak=4 other<=7 exits<=3 local=0 arch=90a
// sass-loop: st128.weak=4 other<=7 exits<=2 local=0 arch=100+
extern "C" __global__ void __launch_bounds__(RATE_THREADS, 1)
sm_to_sm_rate_write(const __grid_constant__ struct stream_args a)
{
    extern __shared__ uint4 window[];
    struct seat s = seat_of(a);
    uint64_t to = cluster_map_generic(window + threadIdx.x, s.next);
    uint4 v = element(number(a.seed, blockIdx.x, threadIdx.x), 0);
    uint4 w = element(number(a.seed, s.first + s.previous, threadIdx.x), a.turns - 1);

    fill_window(window, ~a.seed);
    cluster_arrive();
    cluster_wait();
    if (s.moves)
#pragma unroll 1
        for (uint32_t turn = 0; turn < a.turns; turn++)
#pragma unroll
            for (uint32_t row = 0; row < WINDOW_ROWS; row++)
                store_window(to + row * RATE_ROW, v, turn);
    cluster_arrive();
    cluster_wait();
    for (uint32_t row = 0; row < WINDOW_ROWS && s.is_moved; row++)
        if (!same(window[row * RATE_THREADS + threadIdx.x], w))
            atomicAdd(a.errors, 1u);
}

// Waits for a phase within the budget.
__device__ __forceinline__ bool phase_over(uint32_t barrier, uint32_t parity, uint64_t give_up_ns)
{
    uint32_t over;
    do
        asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%1], %2; "
                     "selp.u32 %0, 1, 0, q; }"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    while (!over && clock_ns() < give_up_ns);
    return over;
}

// Bulk copies from shared memory to the next block's, one chunk each. Thread 0 sends. It waits
// until the next block has consumed the old content of the chunk's slot (free), and names that
// block's barrier (full), which counts the bytes that arrive. Thread 32 receives.
// sass-loop: ublkcp=1 syncs>=1 other<=48 exits<=2 local=0 outer moving arch=90a+
extern "C" __global__ void __launch_bounds__(RATE_THREADS, 1)
sm_to_sm_rate_bulk(const __grid_constant__ struct stream_args a)
{
    extern __shared__ uint4 window[]; // CHUNKS slots, and one chunk to send
    __shared__ uint64_t full[CHUNKS], free[CHUNKS];
    struct seat s = seat_of(a);
    uint4 *chunk = window + WINDOW_BYTES / 16;
    uint32_t send = shared_address(chunk), elements = CHUNK_BYTES / 16;
    uint64_t give_up_ns = clock_ns() + a.budget_ns;
    bool came = true;

    fill_window(window, ~a.seed);
    if (threadIdx.x < elements)
        chunk[threadIdx.x] = element(number(a.seed, blockIdx.x, threadIdx.x), 0);
    if (threadIdx.x < CHUNKS) {
        mbarrier_make(shared_address(full + threadIdx.x), 1);
        mbarrier_make(shared_address(free + threadIdx.x), 1);
        mbarrier_made();
        if (s.is_moved)
            mbarrier_expect(shared_address(full + threadIdx.x), CHUNK_BYTES);
    }
    bulk_store_fence();
    cluster_arrive();
    cluster_wait();
    if (threadIdx.x == 0 && s.moves)
#pragma unroll 1
        for (uint32_t i = 0; i < a.turns * CHUNKS && came; i++) {
            uint32_t slot = i % CHUNKS, lap = i / CHUNKS;
            came = lap == 0 || phase_over(shared_address(free + slot), lap - 1 & 1, give_up_ns);
            asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                         "[%0], [%1], %2, [%3];" ::"r"(cluster_map(
                             shared_address(window) + slot * CHUNK_BYTES, s.next)),
                         "r"(send), "r"(CHUNK_BYTES),
                         "r"(cluster_map(shared_address(full + slot), s.next))
                         : "memory");
        }
    if (threadIdx.x == 32 && s.is_moved)
#pragma unroll 1
        for (uint32_t i = 0; i < a.turns * CHUNKS && came; i++) {
            uint32_t slot = i % CHUNKS, lap = i / CHUNKS;
            came = phase_over(shared_address(full + slot), lap & 1, give_up_ns);
            if (lap + 1 < a.turns)
                mbarrier_expect(shared_address(full + slot), CHUNK_BYTES);
            asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                             cluster_map(shared_address(free + slot), s.previous))
                         : "memory");
        }
    if (!came)
        atomicAdd(a.errors, 1u);
    cluster_arrive();
    cluster_wait();
    for (uint32_t i = threadIdx.x; i < WINDOW_BYTES / 16 && s.is_moved; i += RATE_THREADS)
        if (!same(window[i], element(number(a.seed, s.first + s.previous, i % elements), 0)))
            atomicAdd(a.errors, 1u);
}
#endif

// --- slabs through the L2 ------------------------------------------------------------------------

__device__ __forceinline__ void write_slab(uint4 *slab, uint32_t elements, uint32_t seed,
                                           uint32_t round)
{
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < elements; i += RATE_THREADS) {
        uint4 v = element(number(seed, blockIdx.x, i), round);
        asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(slab + i), "r"(v.x),
                     "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
    }
}

// The sum of what this thread reads of a slab, SLAB_LOADS rows at a time, or the rows that are
// left.
__device__ __forceinline__ uint32_t read_slab(const uint4 *slab, uint32_t elements)
{
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < elements; i += SLAB_LOADS * RATE_THREADS) {
        uint4 v[SLAB_LOADS] = {};
#pragma unroll
        for (uint32_t row = 0; row < SLAB_LOADS; row++)
            if (i + row * RATE_THREADS < elements)
                v[row] = load_cg_128(slab + i + row * RATE_THREADS);
#pragma unroll
        for (uint32_t row = 0; row < SLAB_LOADS; row++)
            sum += sum_of(v[row]);
    }
    return sum;
}

// In every round all blocks write their slabs, meet, read another block's, and meet again, so that
// nobody overwrites what is still being read. The sum of what was read in a round must equal that
// of what was written in it; old data differ in every word. Reading has a clock of its own, because
// everything else that depends on `taken` does not belong to it: computing the expected sum, and
// writes that invalidate copies.
// sass-loop: ldg128.gpu=4 guarded<=4 other<=37 exits<=2 local=0 together
// sass: ldg128.guarded=4 looped waited
// sass: bar.block=2,2 membar.gpu=1,1 looped
extern "C" __global__ void __launch_bounds__(RATE_THREADS, 1)
sm_to_sm_rate_slab(const __grid_constant__ struct slab_args a)
{
    struct grid_barrier barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);
    uint32_t elements = a.slab / 16, taken = a.taken / 16;
    uint32_t from = (blockIdx.x + a.shift) % gridDim.x;
    uint4 *own = (uint4 *)a.slabs + (uint64_t)blockIdx.x * elements;
    const uint4 *other = (const uint4 *)a.slabs + (uint64_t)from * elements;
    uint32_t expected = 0, errors = 0;
    uint64_t cycles = 0;

    for (uint32_t i = threadIdx.x; i < taken; i += RATE_THREADS)
        expected += 17 * number(a.seed, from, i);
#pragma unroll 1
    for (uint32_t round = 0; round < a.rounds; round++) {
        write_slab(own, elements, a.seed, round);
        grid_barrier(barrier);
        uint64_t began = clock_cycles();
        errors += read_slab(other, taken) != expected + 4 * round * (taken / RATE_THREADS);
        grid_barrier(barrier);
        cycles += clock_cycles() - began;
    }
    if (errors)
        atomicAdd(a.errors, errors);
    if (threadIdx.x == 0) {
        a.cycles[blockIdx.x] = cycles;
        a.sm[blockIdx.x] = sm_id();
    }
}
