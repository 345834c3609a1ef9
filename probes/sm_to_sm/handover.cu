// More kernels of sm_to_sm: data handed from a producer to a consumer on another SM, and a store
// until it is visible there.
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/load.cuh"
#include "core/device/order.cuh"
#include "probes/sm_to_sm/handover.h"

// --- a payload and a flag -----------------------------------------------------------------------

// With order: what a lane finds behind the flag is what was written before it. Without, the
// consumer finds what its L1 kept from the trip before.
struct ordered {
    static __device__ __forceinline__ void put(uint32_t *flag, uint32_t k)
    {
        store_release(flag, k);
    }
    static __device__ __forceinline__ uint32_t look(const uint32_t *flag)
    {
        return load_acquire(flag);
    }
};
struct unordered {
    static __device__ __forceinline__ void put(uint32_t *flag, uint32_t k)
    {
        store_relaxed(flag, k);
    }
    static __device__ __forceinline__ uint32_t look(const uint32_t *flag)
    {
        return load_relaxed(flag);
    }
};

__device__ __forceinline__ uint32_t load_cached(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

// The lanes write the payload of trip k, then one of them the flag.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ void produce(const struct handover_args &a, uint32_t k)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < a.words; i += HANDOVER_THREADS)
        a.payload[SIDE][i] = k + i;
    __syncwarp();
    if (threadIdx.x == 0)
        WAY::put(a.flag[SIDE], k);
}

enum { POLLS = 256 }; // between two checks of the timer

template <typename WAY>
__device__ __forceinline__ bool await(const uint32_t *flag, uint32_t k, uint64_t give_up_ns)
{
    do
#pragma unroll 1
        for (int i = 0; i < POLLS; i++)
            if (WAY::look(flag) == k)
                return true;
    while (clock_ns() < give_up_ns);
    return false;
}

// Waits for the other side's trip k and counts the words that are not its payload.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ bool consume_payload(const struct handover_args &a, uint32_t k,
                                                uint64_t give_up_ns, uint32_t &stale)
{
    if (!await<WAY>(a.flag[1 - SIDE], k, give_up_ns))
        return false;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < a.words; i += HANDOVER_THREADS)
        stale += load_cached(a.payload[1 - SIDE] + i) != k + i;
    return true;
}

// n round trips; side 0 begins. The words are used before the answer, as its number depends on
// them.
template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ bool trips(const struct handover_args &a, uint32_t n, uint32_t &k,
                                      uint64_t give_up_ns, uint32_t &stale)
{
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        k++;
        if (SIDE == 0)
            produce<WAY, 0>(a, k);
        if (!consume_payload<WAY, SIDE>(a, k, give_up_ns, stale))
            return false;
        __syncwarp();
        if (SIDE == 1)
            produce<WAY, 1>(a, k);
    }
    return true;
}

template <typename WAY, uint32_t SIDE>
__device__ __forceinline__ void play(const struct handover_args &a)
{
    uint64_t give_up_ns = clock_ns() + a.budget_ns;
    uint32_t k = a.first, stale = 0;
    bool came = trips<WAY, SIDE>(a, 1, k, give_up_ns, stale);
    uint64_t t0 = clock_cycles();
    came = came && trips<WAY, SIDE>(a, HANDOVER_SHORT, k, give_up_ns, stale);
    uint64_t t1 = clock_cycles();
    came = came && trips<WAY, SIDE>(a, HANDOVER_LONG, k, give_up_ns, stale);
    uint64_t t2 = clock_cycles();

    __syncwarp();
    for (int apart = 16; apart > 0; apart /= 2)
        stale += __shfl_xor_sync(0xffffffff, stale, apart);
    if (threadIdx.x > 0)
        return;
    if (SIDE == 0) {
        a.result->short_cycles = came ? t1 - t0 : 0;
        a.result->long_cycles = came ? t2 - t1 : 0;
    }
    a.result->stale[SIDE] = stale;
    a.result->sm[SIDE] = sm_id();
}

template <typename WAY> __device__ __forceinline__ void hand_over(const struct handover_args &a)
{
    if (sm_id() == a.side[0])
        play<WAY, 0>(a);
    if (sm_id() == a.side[1] && !a.mute)
        play<WAY, 1>(a);
}

// sass-loop: ldg32.gpu=1 cctl=1 other<=8 local=0
extern "C" __global__ void __launch_bounds__(HANDOVER_THREADS, 1)
sm_to_sm_handover_ordered(const __grid_constant__ struct handover_args a)
{
    hand_over<ordered>(a);
}

// sass-loop: ldg32.gpu=1 cctl=0 other<=8 local=0
extern "C" __global__ void __launch_bounds__(HANDOVER_THREADS, 1)
sm_to_sm_handover_unordered(const __grid_constant__ struct handover_args a)
{
    hand_over<unordered>(a);
}

// --- a store until it is visible ----------------------------------------------------------------

struct by_nothing {
    static __device__ __forceinline__ void step(uint32_t *p, uint32_t &v)
    {
        store_relaxed(p, v);
        v++;
    }
};
struct by_fence {
    static __device__ __forceinline__ void step(uint32_t *p, uint32_t &v)
    {
        store_relaxed(p, v);
        __threadfence();
        v++;
    }
};
struct by_fence_of_system {
    static __device__ __forceinline__ void step(uint32_t *p, uint32_t &v)
    {
        store_relaxed(p, v);
        __threadfence_system();
        v++;
    }
};
struct by_reading_back { // the next value is made of what the L2 gives back
    static __device__ __forceinline__ void step(uint32_t *p, uint32_t &v)
    {
        store_relaxed(p, v);
        v = load_relaxed(p) + 1;
    }
};
#if __CUDA_ARCH__ >= 900
struct by_bulk { // 16 bytes of shared memory, stored by the copy engine of the SM
    static __device__ __forceinline__ void step(uint32_t *p, uint32_t &v)
    {
        __shared__ __align__(16) uint32_t words[4];
        words[0] = v;
        bulk_store_fence();
        bulk_store(p, shared_address(words), sizeof words);
        bulk_store_commit();
        bulk_store_wait<0>();
        v++;
    }
};
#endif

template <int N, typename WAY> __device__ __forceinline__ void stores(char *lines, uint32_t &v)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        WAY::step((uint32_t *)(lines + i % VISIBLE_LINES * VISIBLE_APART), v);
    asm volatile(
        "{ .reg .pred q; setp.eq.u32 q, %0, 0x5eedf100; @q st.global.u32 [%1], %0; }" ::"r"(v),
        "l"(lines)
        : "memory"); // the clock is read when the last value is there
}

template <typename WAY> __device__ __forceinline__ void visible(const struct visible_args &a)
{
    uint32_t v = a.first;
    stores<1, WAY>(a.lines, v);
    uint64_t t0 = clock_cycles();
    stores<VISIBLE_SHORT, WAY>(a.lines, v);
    uint64_t t1 = clock_cycles();
    stores<VISIBLE_LONG, WAY>(a.lines, v);
    uint64_t t2 = clock_cycles();
    a.cycles[0] = t1 - t0;
    a.cycles[1] = t2 - t1;
}

#define VISIBLE(name, WAY)                                                                         \
    extern "C" __global__ void __launch_bounds__(1, 1)                                             \
        sm_to_sm_visible_##name(const __grid_constant__ struct visible_args a)                     \
    {                                                                                              \
        visible<WAY>(a);                                                                           \
    }

// sass: kernel=sm_to_sm_visible_nothing clocks=3 stg32.gpu=16,32 other<=18,34 local=0
// sass-and: arch=75,80,86,89
// sass: kernel=sm_to_sm_visible_nothing clocks=3 stg32.gpu=16,32 other<=24,34 local=0
// sass-and: arch=90a,100
// sass: kernel=sm_to_sm_visible_nothing clocks=3 stg32.gpu=16,32 other<=20,34 local=0
// sass-and: arch=120
VISIBLE(nothing, by_nothing)
// sass: kernel=sm_to_sm_visible_fence clocks=3 stg32.gpu=16,32 membar.gpu=16,32 other<=50,98 local=0
// sass-and: arch=75,80,86,89
// sass: kernel=sm_to_sm_visible_fence clocks=3 stg32.gpu=16,32 membar.gpu=16,32 other<=72,130 local=0
// sass-and: arch=90a,100
// sass: kernel=sm_to_sm_visible_fence clocks=3 stg32.gpu=16,32 membar.gpu=16,32 other<=69,130 local=0
// sass-and: arch=120
VISIBLE(fence, by_fence)
// sass: kernel=sm_to_sm_visible_fence_of_system clocks=3 stg32.gpu=16,32 membar.sys=16,32 other<=50,98 local=0
// sass-and: arch=75,80,86,89
// sass: kernel=sm_to_sm_visible_fence_of_system clocks=3 stg32.gpu=16,32 membar.sys=16,32 other<=72,130 local=0
// sass-and: arch=90a,100
// sass: kernel=sm_to_sm_visible_fence_of_system clocks=3 stg32.gpu=16,32 membar.sys=16,32 other<=69,130 local=0
// sass-and: arch=120
VISIBLE(fence_of_system, by_fence_of_system)
// sass: kernel=sm_to_sm_visible_reading_back clocks=3 stg32.gpu=16,32 ldg32.gpu=16,32 other<=18,34 local=0
// sass-and: waited arch=75,80,86,89
// sass: kernel=sm_to_sm_visible_reading_back clocks=3 stg32.gpu=16,32 ldg32.gpu=16,32 other<=24,34 local=0
// sass-and: waited arch=90a,100
// sass: kernel=sm_to_sm_visible_reading_back clocks=3 stg32.gpu=16,32 ldg32.gpu=16,32 other<=20,34 local=0
// sass-and: waited arch=120
VISIBLE(reading_back, by_reading_back)
#if __CUDA_ARCH__ >= 900
// sass: kernel=sm_to_sm_visible_bulk clocks=3 sts32=16,32 ublkcp=16,32 depbar.0=16,32
// sass-and: other<=113,185 local=0 arch=90a,100
// sass: kernel=sm_to_sm_visible_bulk clocks=3 sts32=16,32 ublkcp=16,32 depbar.0=16,32
// sass-and: other<=99,167 local=0 arch=120
VISIBLE(bulk, by_bulk)
#endif
