// Kernels of memory_latency: the pointer chase (common/chase.cuh) by loads and by copies, in each
// address space.
#include "core/device/async.cuh"
#include "core/device/permute.cuh"
#include "probes/common/chase.cuh"
#include "probes/memory_latency/args.h"

struct load_constant { // an address in constant memory has 32 bits
    __device__ __forceinline__ void step(uint32_t &p) const
    {
        asm volatile("ld.const.u32 %0, [%0];" : "+r"(p)::"memory");
    }
};

// All repeats, between two readings of both clocks. The end is reported as its distance from
// `origin`.
template <int SHORT = CHASE_SHORT, int LONG = CHASE_LONG, typename LOAD, typename POINTER>
__device__ __forceinline__ void chase(const struct chase_args &a, LOAD load, POINTER p,
                                      POINTER origin = 0)
{
    struct clock_pair lead = clock_edge();
    chase<SHORT, LONG>(load, p, a.repeats, a.samples);
    struct clock_pair tail = clock_edge();
    *a.result = {{lead.cycles, lead.ns}, {tail.cycles, tail.ns}, p - origin, sm_id()};
}

// Walks the ring with all threads together, in the order of the chase: neighbouring threads load
// neighbouring steps of the cycle. The order matters. After a lap a cache holds the end of the lap.
// A chase that starts at the beginning then meets the same lines as a single thread that has walked
// for ever. If each thread walked a stretch of its own, the cache would hold the ends of all
// stretches, and that would hide the steps of the curve.
template <typename LOAD> __device__ __forceinline__ void warm(const struct chase_args &a)
{
    for (uint64_t lap = 0; lap < a.warm_laps; lap++)
        for (uint64_t i = threadIdx.x; i < a.order.n; i += CHASE_THREADS) {
            uint64_t p = (uint64_t)a.ring + permute(a.order, i) * CHASE_SPACING;
            LOAD().step(p);
            consume(p);
        }
    __syncthreads();
}

template <typename LOAD> __device__ __forceinline__ void chase_global(const struct chase_args &a)
{
    if (!chosen(a.sm, a.claim, a.ticket))
        return;
    warm<LOAD>(a);
    uint64_t first = (uint64_t)a.ring + permute(a.order, 0) * CHASE_SPACING;
    if (threadIdx.x == 0)
        chase(a, LOAD(), a.start ? a.start : first);
}

// sass: clocks=7 ldg64.cta=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_l1(const __grid_constant__ struct chase_args a)
{
    chase_global<load_l1>(a);
}

// sass: clocks=7 ldg64.gpu=*,32,64 other<=*,3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_l2(const __grid_constant__ struct chase_args a)
{
    chase_global<load_l2>(a);
}

// sass: clocks=7 lds32=*,32,64 other<=*,2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_shared(const __grid_constant__ struct chase_args a)
{
    __shared__ uint32_t ring[CHASE_WORDS];
    if (!chosen(a.sm, a.claim, a.ticket))
        return;
    uint32_t base = (uint32_t)__cvta_generic_to_shared(ring);
    for (uint32_t i = threadIdx.x; i < CHASE_WORDS; i += blockDim.x)
        ring[permute(a.order, i)] = base + 4 * (uint32_t)permute(a.order, (i + 1) % CHASE_WORDS);
    __syncthreads();
    if (threadIdx.x == 0)
        chase(a, load_shared(), base + 4 * (uint32_t)permute(a.order, 0), base - SHARED_ORIGIN);
}

__constant__ __align__(256) uint32_t constants[CHASE_CONSTANTS];

template <int SHORT, int LONG>
__device__ __forceinline__ void chase_constants(const struct chase_args &a)
{
    if (!chosen(a.sm, a.claim, a.ticket) || threadIdx.x > 0)
        return;
    load_constant load;
    uint32_t p = (uint32_t)a.start + lane();
#pragma unroll 1
    for (uint64_t i = 0; i < a.warm_laps * a.order.n; i++)
        load.step(p);
    consume(p);
    chase<SHORT, LONG>(a, load, p);
}

// sass: clocks=7 ldc.indexed=*,32,64 other<=*,2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_constant(const __grid_constant__ struct chase_args a)
{
    chase_constants<CHASE_SHORT, CHASE_LONG>(a);
}

// sass: clocks=7 ldc.indexed=*,8,16 other<=*,2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_constant_miss(const __grid_constant__ struct chase_args a)
{
    chase_constants<MISS_SHORT, MISS_LONG>(a);
}

// The addresses of the constants, in global and in constant memory, so that the host can write
// them.
// sass: none not a timed kernel
extern "C" __global__ void memory_latency_where(const __grid_constant__ struct where_args a)
{
    a.out[0] = (uint64_t)(const void *)constants;
    a.out[1] = __cvta_generic_to_constant(constants);
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

// The same chase by asynchronous copies. A step copies 16 bytes of a line into shared memory, waits
// for the copy, and reads the next address there. It is the time of one asynchronous copy from its
// address to its data, including the read from shared memory (load level=shared). There is no
// shorter way to the data of such a copy.
#if __CUDA_ARCH__ >= 800

template <bool through_l1> struct copy_async { // cp.async, by a thread
    uint32_t slot;
    __device__ __forceinline__ void step(uint64_t &p) const
    {
        if (through_l1)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(slot), "l"(p)
                         : "memory");
        else
            cp_async_16(slot, (const void *)p);
        cp_async_commit();
        cp_async_wait<0>();
        asm volatile("ld.shared.u64 %0, [%1];" : "=l"(p) : "r"(slot) : "memory");
    }
};

template <typename WARM, typename COPY>
__device__ __forceinline__ void chase_async(const struct chase_args &a, COPY copy)
{
    if (!chosen(a.sm, a.claim, a.ticket))
        return;
    warm<WARM>(a);
    uint64_t first = (uint64_t)a.ring + permute(a.order, 0) * CHASE_SPACING;
    if (threadIdx.x == 0)
        chase(a, copy, a.start ? a.start : first);
}

// sass: clocks=7 ldgsts.weak=*,32,64 lds64=*,32,64 other<=*,67,131 local=0 waited chain arch=80+
// sass: ldgsts.bypass=*,0,0 ldgdepbar=*,32,64 depbar.0=*,32,64 arch=80+
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_cp_async_ca(const __grid_constant__ struct chase_args a)
{
    __shared__ __align__(16) uint64_t slot[2];
    chase_async<load_l1>(a, copy_async<true>{shared_address(slot)});
}

// sass: clocks=7 ldgsts.weak=*,32,64 lds64=*,32,64 other<=*,67,131 local=0 waited chain arch=80+
// sass: ldgsts.bypass=*,32,64 ldgdepbar=*,32,64 depbar.0=*,32,64 arch=80+
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_cp_async(const __grid_constant__ struct chase_args a)
{
    __shared__ __align__(16) uint64_t slot[2];
    chase_async<load_l2>(a, copy_async<false>{shared_address(slot)});
}

#endif
#if __CUDA_ARCH__ >= 900

struct copy_bulk { // cp.async.bulk, by the copy engine (TMA)
    uint32_t slot, barrier, parity;
    __device__ __forceinline__ void step(uint64_t &p)
    {
        mbarrier_expect(barrier, 16);
        bulk_load(slot, (const void *)p, 16, barrier);
        mbarrier_wait(barrier, parity);
        parity ^= 1;
        asm volatile("ld.shared.u64 %0, [%1];" : "=l"(p) : "r"(slot) : "memory");
    }
};

// sass: clocks=7 ublkcp=*,32,64 lds64=*,32,64 other<=*,360,709 local=0 waited looped chain
// sass-and: arch=90a,100
// sass: clocks=7 ublkcp=*,32,64 lds64=*,32,64 other<=*,1125,2240 local=0 waited looped chain
// sass-and: arch=120
extern "C" __global__ void __launch_bounds__(CHASE_THREADS)
memory_latency_bulk(const __grid_constant__ struct chase_args a)
{
    __shared__ __align__(16) uint64_t slot[2], barrier;
    if (threadIdx.x == 0) {
        mbarrier_make(shared_address(&barrier), 1);
        mbarrier_made();
    }
    __syncthreads();
    chase_async<load_l2>(a, copy_bulk{shared_address(slot), shared_address(&barrier), 0});
}

#endif
