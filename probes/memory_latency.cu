// Kernels of memory_latency: the pointer chase itself, in three kinds of memory.
//
// A ring holds absolute addresses, so that a step is one load and nothing else. The compiler moves a
// clock read ahead of a load it does not wait for, whatever barrier or clobber stands between: only
// an instruction that *uses* the loaded value holds the clock back. Hence consume() before every
// closing clock read, and the contracts below, which tests/kernels proves from the cubins.
#include "core/device/clock.cuh"
#include "probes/memory_latency.h"

enum { MEET_NS = 4000 }; // for how long blocks on other SMs stay, so that every SM gets one

struct load_l1 { // cached in L1 and L2
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

struct load_l2 { // cached in L2 only
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
    }
};

struct load_shared { // a shared address has 32 bits
    static __device__ __forceinline__ void step(uint32_t &p)
    {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    }
};

// Compares p, so that whatever follows waits for the load that made it. Nothing in a ring is 1; the
// store goes to p itself, or an address would be fetched between the clocks.
__device__ __forceinline__ void consume(uint64_t p)
{
    asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q st.global.u64 [%0], %0; }" ::"l"(p)
                 : "memory");
}
__device__ __forceinline__ void consume(uint32_t p)
{
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %0, 1; @q st.shared.u32 [%0], %0; }" ::"r"(p)
                 : "memory");
}

template <int STEPS, typename LOAD, typename POINTER>
__device__ __forceinline__ void steps(POINTER &p)
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        LOAD::step(p);
}

// The measurement. One untimed step first, consumed, so that both timed stretches begin alike. The
// differences are kept in 64 bits: where only the low half counts, the assembler reads some of the
// clocks by another instruction, which takes longer.
template <typename LOAD, typename POINTER>
__device__ __forceinline__ void chase(const struct chase_args &a, POINTER p)
{
    struct clock_pair lead = clock_edge();
#pragma unroll 1
    for (uint32_t i = 0; i < a.repeats; i++) {
        LOAD::step(p);
        consume(p);
        uint64_t t0 = clock_cycles();
        steps<CHASE_SHORT, LOAD>(p);
        consume(p);
        uint64_t t1 = clock_cycles();
        steps<CHASE_LONG, LOAD>(p);
        consume(p);
        uint64_t t2 = clock_cycles();

        a.samples[i] = {t1 - t0, t2 - t1};
    }
    struct clock_pair tail = clock_edge();
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, (uint64_t)p, sm_id()};
}

// True in exactly one block: the first on the SM that was asked for. The others wait a little, so
// that no SM gets a second block before each has one. Uses no shared memory: a single byte of it
// would take 8 KiB from the L1.
__device__ __forceinline__ bool chosen(const struct chase_args &a)
{
    bool mine = false;
    if (threadIdx.x == 0) {
        mine = sm_id() == a.sm && atomicExch(a.claim, a.ticket) != a.ticket;
        uint64_t came = clock_ns();
        while (!mine && clock_ns() - came < MEET_NS)
            ;
    }
    return __syncthreads_or(mine);
}

// Walks the ring, all threads together, in the order in which the chase will go: neighbouring threads
// load neighbouring steps of the cycle. The order matters. What a cache still holds when a lap is
// over are the lines of its end, so a chase that starts at the beginning meets them as a single
// thread would that has walked for ever. Threads that walk a stretch each leave the ends of all
// stretches instead, and hide the steps of the curve.
template <typename LOAD> __device__ __forceinline__ void warm(const struct chase_args &a)
{
    for (uint64_t lap = 0; lap < a.warm_laps; lap++)
        for (uint64_t i = threadIdx.x; i < a.order.n; i += CHASE_THREADS) {
            uint64_t p = (uint64_t)a.ring + permute(a.order, i) * CHASE_SPACING;
            LOAD::step(p);
            consume(p);
        }
    __syncthreads();
}

template <typename LOAD> __device__ __forceinline__ void chase_global(const struct chase_args &a)
{
    if (!chosen(a))
        return;
    warm<LOAD>(a);
    uint64_t first = (uint64_t)a.ring + permute(a.order, 0) * CHASE_SPACING;
    if (threadIdx.x == 0)
        chase<LOAD>(a, a.start ? a.start : first);
}

// sass: clocks=7 loads=*,32,64 other<=3 local=0 waited
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_l1(const __grid_constant__ struct chase_args a)
{
    chase_global<load_l1>(a);
}

// sass: clocks=7 loads=*,32,64 other<=3 local=0 waited
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_l2(const __grid_constant__ struct chase_args a)
{
    chase_global<load_l2>(a);
}

// sass: clocks=7 loads=*,32,64 other<=3 local=0 waited
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_shared(const __grid_constant__ struct chase_args a)
{
    __shared__ uint32_t ring[CHASE_WORDS];
    if (!chosen(a))
        return;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(ring);
    for (uint32_t i = threadIdx.x; i < CHASE_WORDS; i += blockDim.x)
        ring[permute(a.order, i)] = base + 4 * (uint32_t)permute(a.order, (i + 1) % CHASE_WORDS);
    __syncthreads();
    if (threadIdx.x == 0)
        chase<load_shared>(a, base + 4 * (uint32_t)permute(a.order, 0));
}

// Line permute(i) points to line permute(i + 1): one cycle through all lines.
// sass: none not a timed kernel
extern "C" __global__ void memory_latency_ring(const __grid_constant__ struct ring_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.order.n; i += step) {
        uint64_t next = permute(a.order, i + 1 == a.order.n ? 0 : i + 1);
        *(uint64_t *)(a.ring + permute(a.order, i) * CHASE_SPACING) =
            (uint64_t)a.ring + next * CHASE_SPACING;
    }
}
