// Kernels of signal: a token that goes round a ring of GPUs, and barriers of all of them.
#include "core/device/clock.cuh"
#include "links/common/team.cuh"
#include "links/signal/args.h"

#if __CUDA_ARCH__ >= 800

// --- the token: what is stored at the next GPU, and how it is waited for -------------------------

// A number, and nothing that must be seen with it.
struct relaxed {
    static __device__ __forceinline__ void send(struct signal_box *next, uint32_t number, uint32_t)
    {
        store_relaxed_sys(&next->flag, number);
    }
    static __device__ __forceinline__ void hear(const struct ring_args &a, struct team_watch &w,
                                                uint32_t number, uint32_t &)
    {
        const uint32_t *flag = &a.mine->flag;
        team_wait(a.team, w, a.awaited,
                  [&]() { return team_reached(load_relaxed_sys(flag), number); });
    }
};

// A value by an ordinary store, then the number, released; acquired, then an ordinary load.
struct acquire {
    static __device__ __forceinline__ void send(struct signal_box *next, uint32_t number,
                                                uint32_t value)
    {
        next->value = value;
        store_release_sys(&next->flag, number);
    }
    static __device__ __forceinline__ void hear(const struct ring_args &a, struct team_watch &w,
                                                uint32_t number, uint32_t &value)
    {
        relaxed::hear(a, w, number, value);
        fence_acquire_sys();
        value = a.mine->value;
    }
};

// Value and number in one store of eight bytes.
struct packet {
    static __device__ __forceinline__ void send(struct signal_box *next, uint32_t number,
                                                uint32_t value)
    {
        store_relaxed_sys_64(&next->packet, (uint64_t)number << 32 | value);
    }
    static __device__ __forceinline__ void hear(const struct ring_args &a, struct team_watch &w,
                                                uint32_t number, uint32_t &value)
    {
        const uint64_t *from = &a.mine->packet;
        uint64_t seen = 0;
        team_wait(a.team, w, a.awaited, [&]() {
            seen = load_relaxed_sys_64(from);
            return team_reached((uint32_t)(seen >> 32), number);
        });
        value = (uint32_t)seen;
    }
};

// Every GPU adds one to the value that it passes on. The one where turns begin passes on the number
// of the next turn.
template <typename ORDER>
__device__ __forceinline__ void turns(const struct ring_args &a, struct team_watch &w,
                                      uint32_t &number, uint32_t &value, uint32_t n)
{
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        number++;
        ORDER::hear(a, w, number, value);
        ORDER::send(a.next, number + a.leads, value + 1);
    }
}

template <typename ORDER> __device__ __forceinline__ void ring(const struct ring_args &a)
{
    struct team_watch watch = {0, 0, false};
    uint32_t number = a.first, value = 0;

    if (a.leads)
        ORDER::send(a.next, number + 1, 1);
    struct clock_pair lead = clock_edge();
    turns<ORDER>(a, watch, number, value, SIGNAL_WARM);
    uint64_t t0 = clock_cycles();
    turns<ORDER>(a, watch, number, value, a.turns);
    uint64_t t1 = clock_cycles();
    turns<ORDER>(a, watch, number, value, 2 * a.turns);
    uint64_t t2 = clock_cycles();
    struct clock_pair tail = clock_edge();
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, t1 - t0, t2 - t1, value, 0};
}

// Between two clock reads stand the turns of one stretch, and nothing of another stretch.
// sass: clocks=7 ldg32.sys=2,2,2 stg32.sys=2,2,2 looped arch=80+
// sass-loop: ldg32.sys=2 membar=0 cctl=0 other<=44 guarded<=0 local=0 arch=80+
// sass-loop: stg32.sys=2 membar=0 cctl=0 other<=54 guarded<=0 local=0 outer arch=80+
extern "C" __global__ void __launch_bounds__(1)
signal_ring_relaxed(const __grid_constant__ struct ring_args a)
{
    ring<relaxed>(a);
}

// sass: clocks=7 ldg32.sys=2,2,2 membar.sys=1,1,1 stg32.sys=2,2,2 looped arch=90a+
// sass: clocks=7 ldg32.sys=2,2,2 membar.sys=2,2,2 stg32.sys=2,2,2 looped arch=80,86,89
// sass-loop: ldg32.sys=2 membar=0 cctl=0 other<=44 guarded<=0 local=0 arch=80+
// sass-loop: membar.sys=1 cctl=1 ldg32.weak=1 other<=61 guarded<=0 local=0 outer arch=90a+
// sass-loop: membar.sys=2 ldg32.weak=1 other<=61 guarded<=0 local=0 outer arch=80,86,89
extern "C" __global__ void __launch_bounds__(1)
signal_ring_acquire(const __grid_constant__ struct ring_args a)
{
    ring<acquire>(a);
}

// sass: clocks=7 ldg64.sys=1,1,1 stg64.sys=1,1,1 looped arch=80+
// sass-loop: ldg64.sys=1 membar=0 cctl=0 other<=40 guarded<=0 local=0 arch=80+
// sass-loop: stg64.sys=1 membar=0 cctl=0 other<=56 guarded<=0 local=0 outer arch=80+
extern "C" __global__ void __launch_bounds__(1)
signal_ring_packet(const __grid_constant__ struct ring_args a)
{
    ring<packet>(a);
}

// --- barriers ------------------------------------------------------------------------------------

template <bool GRID, bool ORDERED>
__device__ __forceinline__ void crossings(const struct barrier_args &a, struct team_barrier &b,
                                          uint32_t n)
{
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++)
        team_barrier<GRID, ORDERED>(a.team, b);
}

template <bool GRID, bool ORDERED>
__device__ __forceinline__ void barriers(const struct barrier_args &a)
{
    struct team_barrier barrier = team_join(a.team);

    struct clock_pair lead = clock_edge();
    crossings<GRID, ORDERED>(a, barrier, SIGNAL_WARM);
    uint64_t t0 = clock_cycles();
    crossings<GRID, ORDERED>(a, barrier, a.rounds);
    uint64_t t1 = clock_cycles();
    crossings<GRID, ORDERED>(a, barrier, 2 * a.rounds);
    uint64_t t2 = clock_cycles();
    struct clock_pair tail = clock_edge();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, t1 - t0, t2 - t1, 0, 0};
}

// One crossing between two clock reads; the polls, which hold no fence; and all of a crossing.
// sass: kernel=signal_barrier_* clocks=7 bar.block=2,2,2 ldg32.sys=2,2,2 looped closed arch=80+
// sass-loop: kernel=signal_barrier_* ldg32.sys=2 membar=0 cctl=0 other<=50 local=0 arch=80+
// sass-loop: kernel=signal_barrier_block bar.block=2 membar=0 cctl=0 other<=72 outer arch=80+
// sass-loop: kernel=signal_barrier_grid bar.block=2 atomg=1 membar=0 cctl=0 other<=92 outer
// sass-and: arch=80+
// sass-loop: kernel=signal_barrier_block_ordered bar.block=2 membar.sys=1 cctl=1 outer arch=90a+
// sass-loop: kernel=signal_barrier_block_ordered bar.block=2 membar.sys=2 outer arch=80,86,89
// sass-loop: kernel=signal_barrier_grid_ordered bar.block=2 membar.sys=1 membar.gpu=1 outer
// sass-and: cctl=3 arch=90a+
// sass-loop: kernel=signal_barrier_grid_ordered atomg=1 cctl>=1 membar.sys=1 stg32.sys.guarded=1
// sass-and: guarded=1 between outer arch=90a+   arrive, acquire, release, tell
// sass-loop: kernel=signal_barrier_grid_ordered bar.block=2 membar.sys=3 membar.gpu=1 outer
// sass-and: arch=80,86,89
#define BARRIER(name, grid, ordered)                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        name(const __grid_constant__ struct barrier_args a)                                        \
    {                                                                                              \
        barriers<grid, ordered>(a);                                                                \
    }

BARRIER(signal_barrier_block, false, false)
BARRIER(signal_barrier_grid, true, false)
BARRIER(signal_barrier_block_ordered, false, true)
BARRIER(signal_barrier_grid_ordered, true, true)

// --- whether a barrier orders memory -------------------------------------------------------------

// The last warp writes and all but the first read; the first one arrives and waits for the block.
// The store and the loads are ordinary ones.
template <bool ORDERED> __device__ __forceinline__ void order(const struct order_args &a)
{
    struct team_barrier barrier = team_join(a.team);
    uint32_t early = 0, late = 0;

#pragma unroll 1
    for (uint32_t round = a.first + 1; round != a.first + a.rounds + 1; round++) {
        const uint32_t set = round % 2 * gridDim.x * ORDER_STRIDE;
        if (threadIdx.x == blockDim.x - 1) {
            uint32_t *slot = a.next + set + blockIdx.x * ORDER_STRIDE;
            if (round % ORDER_LATE_EVERY == 0)
                for (uint32_t k = 0; k < ORDER_LATE_ADDS; k++)
                    red_relaxed_sys(slot + 1, 1);
            *slot = round;
        }
        team_barrier<true, ORDERED>(a.team, barrier);
        for (uint32_t k = threadIdx.x - 32; k < gridDim.x; k += blockDim.x - 32) {
            const uint32_t seen = a.mine[set + k * ORDER_STRIDE];
            late += (int32_t)(seen - round) < 0;
            early += (int32_t)(seen - round) > 0;
        }
    }
    if (late > 0)
        atomicAdd(&a.wrong[0], late);
    if (early > 0)
        atomicAdd(&a.wrong[1], early);
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(256)
signal_order_ordered(const __grid_constant__ struct order_args a)
{
    order<true>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(256)
signal_order_unordered(const __grid_constant__ struct order_args a)
{
    order<false>(a);
}

#endif
