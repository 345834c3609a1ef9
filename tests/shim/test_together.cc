// faults: thread lane barrier grid full empty named epoch store never alone odd
//
// Tests the shim itself: blocks that are resident together and wait for each other at a grid
// barrier or for packets, also between ranks; a ring of bulk copies; and that each
// missing wait is caught.
#define SHIM_ARCH 900
#include "tests/shim/shim.h"

#include "core/device/async.cuh"
#include "core/device/grid_barrier.cuh"
#include "core/device/named_barrier.cuh"
#include "core/device/order.cuh"

enum { BLOCKS = 24, THREADS = 288, STEPS = 6 };

// --- a grid barrier: in each step every thread needs one cell of every block ---------------------

struct cells_args {
    struct grid_barrier_state *state;
    uint32_t *cells; // STEPS + 1 x gridDim.x x blockDim.x; the first step is given
    uint32_t absent; // this block does not come to the last barrier
};

static uint32_t next_cell(const uint32_t *step, uint32_t blocks, uint32_t threads, uint32_t block,
                          uint32_t thread)
{
    uint32_t x = 0;
    for (uint32_t i = 0; i < blocks; i++)
        x = x * 5 + step[i * threads + (thread + block + i) % threads];
    return x;
}

extern "C" __global__ void cells(const __grid_constant__ struct cells_args a)
{
    const uint32_t n = gridDim.x * blockDim.x, self = blockIdx.x * blockDim.x + threadIdx.x;
    struct grid_barrier barrier = grid_barrier_join(a.state, gridDim.x, 20000000);

    for (uint32_t step = 0; step < STEPS; step++) {
        a.cells[(step + 1) * n + self] =
            next_cell(a.cells + step * n, gridDim.x, blockDim.x, blockIdx.x, threadIdx.x);
        if (step == STEPS - 1 && blockIdx.x == a.absent)
            return;
        grid_barrier(barrier);
    }
}

static void test_cells(uint32_t blocks, uint32_t threads, uint32_t absent)
{
    const uint32_t n = blocks * threads;
    struct grid_barrier_state *state = (struct grid_barrier_state *)shim_alloc(sizeof *state);
    uint32_t *cell = (uint32_t *)shim_alloc(4 * (STEPS + 1) * n);
    int wrong = 0;

    memset(state, 0, sizeof *state);
    for (uint32_t i = 0; i < n; i++)
        cell[i] = (uint32_t)(1e6 * shim_normal());
    shim_launch_together(cells, {state, cell, absent}, blocks, threads, 0);
    for (uint32_t step = 0; step < STEPS; step++)
        for (uint32_t i = 0; i < n; i++)
            wrong += cell[(step + 1) * n + i] !=
                     next_cell(cell + step * n, blocks, threads, i / threads, i % threads);
    shim_check(wrong == 0, "%u blocks of %u: %d cells are wrong", blocks, threads, wrong);
    shim_check((state->aborted != 0) == (absent < blocks), "%u blocks of %u: aborted is %u", blocks,
               threads, state->aborted);
}

// --- a ring: a producer warp and eight consumer warps --------------------------------------------

enum { CONSUMERS = 256, STAGES = 3, TILE = 16 * CONSUMERS };

struct ring_args {
    const uint4 *in; // gridDim.x x tiles x CONSUMERS
    uint4 *out;      // gridDim.x x CONSUMERS
    uint32_t tiles;
};

extern __shared__ uint4 ring[];
thread_local uint4 ring[STAGES * CONSUMERS];

__device__ static uint4 plus(uint4 a, uint4 b, uint32_t times)
{
    return {a.x + b.x * times, a.y + b.y * times, a.z + b.z * times, a.w + b.w * times};
}

__device__ static void produce(const ring_args &a, uint32_t full, uint32_t empty)
{
    for (uint32_t i = 0; i < a.tiles; i++) {
        const uint32_t slot = i % STAGES, parity = i / STAGES % 2;
        mbarrier_wait(empty + 8 * slot, parity ^ 1); // open in the first round
        mbarrier_expect(full + 8 * slot, TILE);
        const char *from = (const char *)(a.in + (blockIdx.x * a.tiles + i) * CONSUMERS);
        bulk_load(shared_address(ring + slot * CONSUMERS) + (shim_fault("odd") ? 8 : 0), from,
                  TILE / 2, full + 8 * slot);
        bulk_load(shared_address(ring + slot * CONSUMERS) + TILE / 2, from + TILE / 2, TILE / 2,
                  full + 8 * slot);
    }
}

// Each thread adds its own vector of a tile and twice that of a thread of another warp.
__device__ static uint4 take(const ring_args &a, uint32_t full, uint32_t empty)
{
    __shared__ uint4 shown[2][CONSUMERS];
    const uint32_t self = threadIdx.x;
    uint4 sum = {};

    for (uint32_t i = 0; i < a.tiles; i++) {
        const uint32_t slot = i % STAGES, parity = i / STAGES % 2;
        if (i % 2)
            mbarrier_wait(full + 8 * slot, parity);
        else
            while (!mbarrier_try_wait(full + 8 * slot, parity))
                continue;
        const uint4 own = ring[slot * CONSUMERS + self];
        __syncwarp();
        if (self % 32 == 0)
            mbarrier_arrive(empty + 8 * slot);
        shown[i % 2][self] = own;
        named_barrier<CONSUMERS>(1);
        sum = plus(sum, own, 1);
        sum = plus(sum, shown[i % 2][(self + 100) % CONSUMERS], 2);
    }
    return sum;
}

extern "C" __global__ void sum_tiles(const __grid_constant__ struct ring_args a)
{
    __shared__ uint64_t barriers[2 * STAGES];
    __shared__ __align__(16) uint4 sums[CONSUMERS];
    const uint32_t full = shared_address(barriers), empty = full + 8 * STAGES;

    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < STAGES; i++) {
            mbarrier_make(full + 8 * i, 1);
            mbarrier_make(empty + 8 * i, CONSUMERS / 32);
        }
        mbarrier_made();
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x == CONSUMERS && !shim_fault("alone"))
            produce(a, full, empty);
        return;
    }
    sums[threadIdx.x] = take(a, full, empty);
    bulk_store_fence();
    named_barrier<CONSUMERS>(2);
    if (threadIdx.x == 0) {
        bulk_store(a.out + blockIdx.x * CONSUMERS, shared_address(sums), TILE);
        bulk_store_commit();
        if (!shim_fault("store"))
            bulk_store_read_wait<0>();
        sums[7] = {};
    }
}

static void test_ring(uint32_t blocks, uint32_t tiles)
{
    const uint32_t n = blocks * tiles * CONSUMERS;
    uint4 *in = (uint4 *)shim_alloc(sizeof *in * n),
          *out = (uint4 *)shim_alloc(sizeof *out * blocks * CONSUMERS);
    int wrong = 0;

    for (uint32_t i = 0; i < 4 * n; i++)
        (&in[0].x)[i] = (uint32_t)(1e6 * shim_normal());
    shim_launch_together(sum_tiles, {in, out, tiles}, blocks, CONSUMERS + 32, sizeof ring);
    for (uint32_t i = 0; i < blocks * CONSUMERS; i++) {
        const uint4 *own = in + i / CONSUMERS * tiles * CONSUMERS;
        uint4 sum = {};
        for (uint32_t k = 0; k < tiles; k++) {
            sum = plus(sum, own[k * CONSUMERS + i % CONSUMERS], 1);
            sum = plus(sum, own[k * CONSUMERS + (i + 100) % CONSUMERS], 2);
        }
        wrong += memcmp(&sum, &out[i], sizeof sum) != 0;
    }
    shim_check(wrong == 0, "%u blocks, %u tiles: %d sums are wrong", blocks, tiles, wrong);
}

// --- packets: a value and its epoch in 64 bits, between the blocks of all ranks ------------------

enum { RANKS = 4 };

struct packet_args {
    uint64_t *mailbox[RANKS]; // of each rank: 2 x all blocks of all ranks x 32
    uint32_t *result;         // gridDim.x x 32
    uint32_t rank, ranks;
};

// The sum over all packets of a lane, each of which may still be of an earlier epoch.
__device__ static uint32_t collect(const uint64_t *box, uint32_t senders, uint32_t epoch)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < senders; i += 2) { // a lane reads two packets of a sender
        const uint32_t lane = threadIdx.x, sender = i + lane / 16;
        const ulonglong2 *at = (const ulonglong2 *)(box + sender * 32) + lane % 16;
        ulonglong2 p;
        bool fresh;
        do {
            p = load_relaxed_2x64(at);
            fresh = p.x >> 32 == epoch && p.y >> 32 == epoch;
            fresh |= shim_fault("epoch") && (p.x >> 32 == epoch - 2 || p.y >> 32 == epoch - 2);
        } while (!__all_sync(~0u, fresh));
        sum += (uint32_t)p.x + 3 * (uint32_t)p.y;
    }
    return __reduce_add_sync(~0u, sum);
}

extern "C" __global__ void packets(const __grid_constant__ struct packet_args a)
{
    const uint32_t senders = a.ranks * gridDim.x, self = a.rank * gridDim.x + blockIdx.x;
    uint32_t value = self * 32 + threadIdx.x;

    for (uint32_t epoch = 1; epoch <= STEPS; epoch++) { // two epochs are under way at most
        const uint32_t half = epoch % 2 * senders * 32;
        for (uint32_t i = 0; i < a.ranks; i++)
            if (!shim_fault("never") || epoch < STEPS || self != 1)
                store_relaxed_64(a.mailbox[i] + half + self * 32 + threadIdx.x,
                                 (uint64_t)epoch << 32 | value);
        value = value * 7 + collect(a.mailbox[a.rank] + half, senders, epoch);
    }
    a.result[blockIdx.x * 32 + threadIdx.x] = value;
}

static void test_packets(uint32_t ranks, uint32_t blocks)
{
    const uint32_t n = ranks * blocks * 32;
    struct packet_args a[RANKS] = {};
    uint32_t *expected = (uint32_t *)shim_alloc(4 * n);
    int wrong = 0;

    for (uint32_t i = 0; i < ranks; i++) {
        a[i].rank = i, a[i].ranks = ranks;
        a[i].result = (uint32_t *)shim_alloc(4 * blocks * 32);
        a[i].mailbox[i] = (uint64_t *)shim_alloc(16 * n);
        memset(a[i].mailbox[i], 0, 16 * n);
    }
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t k = 0; k < ranks; k++)
            a[k].mailbox[i] = a[i].mailbox[i];
    shim_launch_ranks(packets, a, ranks, blocks, 32, 0);

    for (uint32_t i = 0; i < n; i++)
        expected[i] = i;
    for (uint32_t epoch = 1; epoch <= STEPS; epoch++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += expected[i] * (i % 2 ? 3 : 1);
        for (uint32_t i = 0; i < n; i++)
            expected[i] = expected[i] * 7 + sum;
    }
    for (uint32_t i = 0; i < n; i++)
        wrong += a[i / (blocks * 32)].result[i % (blocks * 32)] != expected[i];
    shim_check(wrong == 0, "%u ranks of %u blocks: %d results are wrong", ranks, blocks, wrong);
}

static void shim_test(void)
{
    test_cells(BLOCKS, THREADS, ~0u);
    test_cells(3, 32, ~0u);
    test_ring(BLOCKS, 10);
    test_ring(1, 1);
    test_packets(1, 24);
    test_packets(RANKS, 6);
    test_cells(5, 64, 2); // the others give up
}
