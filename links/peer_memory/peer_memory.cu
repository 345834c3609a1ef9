// Kernels of peer_memory. Every access to a peer's memory has the scope of the system.
#include "core/device/chase.cuh"
#include "core/device/order.cuh"
#include "core/device/order_sys.cuh"
#include "core/device/permute.cuh"
#include "links/peer_memory/args.h"

struct load_sys {
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        asm volatile("ld.relaxed.sys.global.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

struct add_nothing_sys { // an atomic addition of 0 returns what a load would
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        asm volatile("atom.relaxed.sys.global.add.u64 %0, [%0], 0;" : "+l"(p)::"memory");
    }
};

// sass: none not a timed kernel
extern "C" __global__ void peer_memory_ring(const __grid_constant__ struct ring_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.order.n; i += step) {
        uint64_t next = permute(a.order, i + 1 == a.order.n ? 0 : i + 1);
        *(uint64_t *)(a.ring + permute(a.order, i) * CHASE_SPACING) = a.base + next * CHASE_SPACING;
    }
}

// All threads walk the ring together, in the order of the chase; then one chases.
template <typename LOAD> __device__ __forceinline__ void chase_peer(const struct chase_args &a)
{
    LOAD load;
    for (uint64_t lap = 0; lap < a.warm_laps; lap++)
        for (uint64_t i = threadIdx.x; i < a.order.n; i += CHASE_THREADS) {
            uint64_t p = (uint64_t)a.ring + permute(a.order, i) * CHASE_SPACING;
            load.step(p);
            consume(p);
        }
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    uint64_t p = (uint64_t)a.ring + permute(a.order, a.skip) * CHASE_SPACING + lane();
    struct clock_pair lead = clock_edge();
    chase(load, p, a.repeats, a.out->samples);
    struct clock_pair tail = clock_edge();
    a.out->result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, p, sm_id()};
}

// sass: clocks=7 ldg64.sys=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
peer_memory_load(const __grid_constant__ struct chase_args a)
{
    chase_peer<load_sys>(a);
}

// sass: clocks=7 atomg.sys=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
peer_memory_atomic(const __grid_constant__ struct chase_args a)
{
    chase_peer<add_nothing_sys>(a);
}

// A store and a fence behind it: p is the address, and nothing brings a value.
struct store_fence_gpu {
    __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(++n) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    uint64_t n;
};

struct store_fence_sys {
    __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(++n) : "memory");
        asm volatile("fence.acq_rel.sys;" ::: "memory");
    }
    uint64_t n;
};

// The other blocks: 16 bytes a thread into the block's piece, round and round, until the block that
// measures is done.
__device__ __forceinline__ void store_meanwhile(const struct fence_args &a)
{
    uint4 *piece = (uint4 *)((char *)a.area + (uint64_t)blockIdx.x * FENCE_PIECE);
    const uint64_t began = clock_ns();
    uint64_t laps = 0;
    do {
        if (laps == 1 && threadIdx.x == 0)
            add_relaxed(a.began, 1);
        for (uint32_t i = threadIdx.x; i < FENCE_PIECE / sizeof *piece; i += FENCE_THREADS)
            asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(piece + i),
                         "r"((uint32_t)laps)
                         : "memory");
        laps++;
    } while (load_relaxed(a.over) != a.number && clock_ns() - began < a.budget_ns);
    if (threadIdx.x == 0)
        a.stored[blockIdx.x] = {laps * FENCE_PIECE, clock_ns() - began};
}

// A fence brings no value that a clock read could wait for. A load of this GPU's memory does, and
// cannot run before the fence: one in each stretch, so that it cancels in the slope.
__device__ __forceinline__ void fenced(const struct fence_stored *here)
{
    consume(load_cg(&here->bytes));
}

template <typename FENCE> __device__ __forceinline__ void fence_peer(const struct fence_args &a)
{
    if (blockIdx.x > 0) {
        store_meanwhile(a);
        return;
    }
    if (threadIdx.x > 0)
        return;
    const uint64_t came = clock_ns();
    while (load_relaxed(a.began) - a.before < a.others)
        if (clock_ns() - came > a.budget_ns) {
            store_relaxed_sys(a.late, 1);
            break;
        }
    FENCE fence = {};
    uint64_t p = (uint64_t)a.word;
    struct clock_pair lead = clock_edge();
#pragma unroll 1
    for (uint32_t i = 0; i < a.repeats; i++) {
        steps<1>(fence, p);
        fenced(a.stored);
        uint64_t t0 = clock_cycles();
        steps<CHASE_SHORT>(fence, p);
        fenced(a.stored);
        uint64_t t1 = clock_cycles();
        steps<CHASE_LONG>(fence, p);
        fenced(a.stored);
        uint64_t t2 = clock_cycles();

        a.out->samples[i] = {t1 - t0, t2 - t1};
    }
    struct clock_pair tail = clock_edge();
    store_relaxed(a.over, a.number);
    a.out->result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, fence.n, sm_id()};
}

// sass: clocks=7 ldg64.gpu=*,1,1 membar.gpu=*,32,64 stg64.sys=*,32,64 other<=*,227,451
// sass-and: local=0 waited
extern "C" __global__ void __launch_bounds__(FENCE_THREADS)
peer_memory_fence_gpu(const __grid_constant__ struct fence_args a)
{
    fence_peer<store_fence_gpu>(a);
}

// sass: clocks=7 ldg64.gpu=*,1,1 membar.sys=*,32,64 stg64.sys=*,32,64 other<=*,227,451
// sass-and: local=0 waited
extern "C" __global__ void __launch_bounds__(FENCE_THREADS)
peer_memory_fence_sys(const __grid_constant__ struct fence_args a)
{
    fence_peer<store_fence_sys>(a);
}

// One load, and the loads behind it, each by the address that the one before brought.
// sass: clocks=7 ldg64.sys=1,8 other<=4,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32)
peer_memory_first(const __grid_constant__ struct first_args a)
{
    if (threadIdx.x > 0)
        return;
    load_sys load;
    uint64_t p = a.at + lane();
    struct clock_pair lead = clock_edge();
    uint64_t t0 = clock_cycles();
    steps<1>(load, p);
    consume(p);
    uint64_t t1 = clock_cycles();
    steps<FIRST_NEXT>(load, p);
    consume(p);
    uint64_t t2 = clock_cycles();
    struct clock_pair tail = clock_edge();
    *a.out = {t1 - t0, t2 - t1, p, {lead.cycles, lead.ns}, {tail.cycles, tail.ns}};
}

// One block on every SM: the shared memory that the launch asks for leaves no room for a second.
// sass: clocks=7 ldg64.sys=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32)
peer_memory_map(const __grid_constant__ struct map_args a)
{
    if (threadIdx.x > 0)
        return;
    const uint64_t came = clock_ns();
    while (load_acquire(a.turn) != blockIdx.x)
        if (clock_ns() - came > a.budget_ns) {
            store_relaxed_sys(a.late, 1);
            return;
        }
    load_sys load;
    uint64_t p = (uint64_t)a.ring + permute(a.order, 0) * CHASE_SPACING + lane();
    struct map_out *out = &a.out[blockIdx.x];
    struct clock_pair lead = clock_edge();
    chase(load, p, 1, &out->sample);
    struct clock_pair tail = clock_edge();
    out->result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, p, sm_id()};
    store_release(a.turn, blockIdx.x + 1);
}

// --- the stale line ---------------------------------------------------------------------------

struct read_ca {
    __device__ __forceinline__ uint32_t operator()(const uint32_t *p) const
    {
        uint32_t v;
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
        return v;
    }
};

struct read_cg {
    __device__ __forceinline__ uint32_t operator()(const uint32_t *p) const
    {
        uint32_t v;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
        return v;
    }
};

struct read_sys {
    __device__ __forceinline__ uint32_t operator()(const uint32_t *p) const
    {
        return load_relaxed_sys(p);
    }
};

// Waits for the number of the round. False when the budget is spent; the host hears of it.
__device__ __forceinline__ bool wait_round(const struct stale_args &a, const uint32_t *flag,
                                           uint32_t round)
{
    const uint64_t came = clock_ns();
    while (load_relaxed_sys(flag) != round)
        if (clock_ns() - came > a.budget_ns) {
            store_relaxed_sys(a.late, 1);
            return false;
        }
    return true;
}

// No acquire behind the wait: it would empty the L1, and hide what is looked for. The second load
// cannot run before the branch that depends on the flag.
template <typename READ> __device__ __forceinline__ void read_rounds(const struct stale_args &a)
{
    READ read;
    struct stale_out seen = {};
    for (uint32_t round = 1; round <= a.rounds; round++) {
        uint32_t before = read(a.word);
        store_relaxed_sys(a.asked, before == round ? 0 : round); // so that the load has come
        if (!wait_round(a, a.answer, round))
            break;
        seen.stale += read(a.word) != round;
        seen.wrong += load_relaxed_sys(a.word) != round;
        seen.rounds++;
    }
    *a.out = seen;
}

// sass: none not a timed kernel
extern "C" __global__ void peer_memory_read_ca(const __grid_constant__ struct stale_args a)
{
    read_rounds<read_ca>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void peer_memory_read_cg(const __grid_constant__ struct stale_args a)
{
    read_rounds<read_cg>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void peer_memory_read_sys(const __grid_constant__ struct stale_args a)
{
    read_rounds<read_sys>(a);
}

// The owner writes into its own memory, and then tells the reader.
// sass: none not a timed kernel
extern "C" __global__ void peer_memory_write(const __grid_constant__ struct stale_args a)
{
    for (uint32_t round = 1; round <= a.rounds; round++) {
        if (!wait_round(a, a.asked, round))
            return;
        store_relaxed_sys(a.word, round);
        fence_sys();
        store_relaxed_sys(a.answer, round);
    }
}
