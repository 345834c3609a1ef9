// Kernels of contention: accesses of a warp that collide in a bank, or spread over sectors. The
// atomics are in atomics.cu.
//
// Chains work as in memory_latency: a load's value is the next one's address, and is used before
// the clock is read again. Loops for throughput add an unknown zero to their addresses in every
// turn; the assembler would move a load that cannot change out of the loop.
#include "core/device/clock.cuh"
#include "probes/common/loads.cuh"
#include "probes/contention/args.h"

__device__ __forceinline__ uint32_t spread_unit(const struct spread &s, uint32_t i)
{
    return i / s.run * s.far + i % s.run * s.near;
}

__device__ __forceinline__ void complain(const struct contention_args &a, bool wrong)
{
    if (wrong)
        atomicAdd(a.errors, 1u);
}

// --- chains of loads -----------------------------------------------------------------------------

// Each lane follows a ring of its own through the sets; lanes of one unit read the same word.
template <typename LOAD>
__device__ __forceinline__ void chase(const struct contention_args &a,
                                      typename LOAD::address base, uint32_t unit)
{
    typedef typename LOAD::address address;
    uint32_t offset = unit * spread_unit(a.spread, threadIdx.x);
    address p = base + offset;

    stretch<SETS, LOAD>(p); // once round, so that they are in the cache
#pragma unroll 1
    for (uint32_t i = 0; i < REPEATS; i++) {
        stretch<1, LOAD>(p);
        uint64_t t0 = clock_cycles();
        stretch<STEPS_SHORT, LOAD>(p);
        uint64_t t1 = clock_cycles();
        stretch<STEPS_LONG, LOAD>(p);
        uint64_t t2 = clock_cycles();
        if (threadIdx.x == 0)
            a.result->sample[i] = {t1 - t0, t2 - t1};
    }
    complain(a, p != base + offset + (address)((SETS + REPEATS * STEPS) % a.sets) * SET_BYTES);
}

__device__ __forceinline__ void lay_shared(const struct contention_args &a, uint32_t *words)
{
    uint32_t base = shared_address(words), word = spread_unit(a.spread, threadIdx.x % 32);
    for (uint32_t set = threadIdx.x / 32; set < SETS; set += blockDim.x / 32)
        words[set * (SET_BYTES / 4) + word] = base + (set + 1) % SETS * SET_BYTES + 4 * word;
    __syncthreads();
}

// Every `step`-th set of a ring in global memory, from the first one on.
__device__ __forceinline__ void lay_global(const struct contention_args &a, char *ring,
                                           uint32_t first, uint32_t step)
{
    char *at = ring + spread_unit(a.spread, threadIdx.x % 32);
    for (uint32_t set = first; set < a.sets; set += step)
        *(uint64_t *)(at + set * SET_BYTES) = (uint64_t)(at + (set + 1) % a.sets * SET_BYTES);
    __threadfence();
    __syncthreads();
}

// sass: clocks=3 lds32=32,64 other<=2,2 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_bank_chase(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[SETS * SET_BYTES / 4];
    lay_shared(a, words);
    chase<load_shared>(a, shared_address(words), 4);
}

// sass: clocks=3 ldg64.cta=32,64 other<=3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_sector_chase_l1(const __grid_constant__ struct contention_args a)
{
    lay_global(a, (char *)a.memory, 0, 1);
    chase<load_l1>(a, (uint64_t)a.memory, 1);
}

// sass: clocks=3 ldg64.gpu=32,64 other<=3,3 local=0 waited chain
extern "C" __global__ void __launch_bounds__(32, 1)
contention_sector_chase_l2(const __grid_constant__ struct contention_args a)
{
    lay_global(a, (char *)a.memory, 0, 1);
    chase<load_l2>(a, (uint64_t)a.memory, 1);
}

// --- many at a time ------------------------------------------------------------------------------

// The accesses of a turn, one to each set from p on: all are issued before one is used.
#define TURN_LOAD(load, pointer, letter) \
    typedef pointer address; \
    static __device__ __forceinline__ uint32_t turn(pointer p, uint32_t) \
    { \
        uint32_t v[SETS]; \
        asm volatile(load " %0, [%8];\n\t" load " %1, [%8 + 4096];\n\t" \
                     load " %2, [%8 + 8192];\n\t" load " %3, [%8 + 12288];\n\t" \
                     load " %4, [%8 + 16384];\n\t" load " %5, [%8 + 20480];\n\t" \
                     load " %6, [%8 + 24576];\n\t" load " %7, [%8 + 28672];" \
                     : "=&r"(v[0]), "=&r"(v[1]), "=&r"(v[2]), "=&r"(v[3]), "=&r"(v[4]), \
                       "=&r"(v[5]), "=&r"(v[6]), "=&r"(v[7]) \
                     : letter(p) \
                     : "memory"); \
        return v[7] + v[6] + v[5] + v[4] + v[3] + v[2] + v[1] + v[0]; \
    } \
    static __device__ __forceinline__ void finish(pointer) {}

struct turn_shared_load {
    TURN_LOAD("ld.shared.u32", uint32_t, "r")
};
struct turn_l1 {
    TURN_LOAD("ld.global.ca.u32", uint64_t, "l")
};
struct turn_l2 {
    TURN_LOAD("ld.global.cg.u32", uint64_t, "l")
};

struct turn_shared_store {
    typedef uint32_t address;
    static __device__ __forceinline__ uint32_t turn(uint32_t p, uint32_t v)
    {
#pragma unroll
        for (int set = 0; set < SETS; set++)
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(p + set * SET_BYTES), "r"(v) : "memory");
        return 0;
    }
    static __device__ __forceinline__ void finish(uint32_t p) // no turn has this number
    {
        asm volatile("{ .reg .u32 v; .reg .pred q; ld.shared.u32 v, [%0]; "
                     "setp.eq.u32 q, v, 0x5eedf100; @q st.shared.u32 [%0], %0; }" ::"r"(
                         p + (SETS - 1) * SET_BYTES)
                     : "memory");
    }
};

// All warps at once, until the end: loads end when their sum is there; after stores comes a load
// from the place of the last ones. Returns the sum of the loaded values.
template <typename WORK>
__device__ __forceinline__ uint32_t turns(const struct contention_args &a,
                                          typename WORK::address p, uint32_t n)
{
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        sum += WORK::turn(p, i);
        p += a.zero;
    }
    WORK::finish(p);
    return sum;
}

// Timed from one barrier of the block to the next; the difference cancels the cost of a barrier.
template <typename WORK>
__device__ __forceinline__ uint32_t time_turns(const struct contention_args &a,
                                               typename WORK::address p)
{
    uint32_t sum = turns<WORK>(a, p, a.warm);
    __syncthreads();
    uint64_t t0 = clock_cycles();
    sum += turns<WORK>(a, p, a.turns);
    __syncthreads();
    uint64_t t1 = clock_cycles();
    sum += turns<WORK>(a, p, 2 * a.turns);
    __syncthreads();
    uint64_t t2 = clock_cycles();
    if (threadIdx.x == 0)
        a.result->sample[0] = {t1 - t0, t2 - t1};
    return sum;
}

// Every place holds the address of the same place in the next set.
__device__ __forceinline__ void check_sum(const struct contention_args &a, uint32_t first,
                                          uint32_t sum)
{
    uint32_t turn = SETS * first + SETS * (SETS - 1) / 2 * SET_BYTES;
    complain(a, sum != (a.warm + 3 * a.turns) * turn);
}

// sass-loop: lds32=8 other<=8 local=0 together
// sass: clocks=3 lds=8,8 other<=16,18 waited looped arch=75,80,86,89,90a
// sass: clocks=3 lds=8,8 other<=17,18 waited looped arch=100+
// sass: bar.block=1,1 lds=8,8 looped closed
extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1)
contention_bank_load(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[SETS * SET_BYTES / 4];
    uint32_t p = shared_address(words) + 4 * spread_unit(a.spread, threadIdx.x % 32);
    lay_shared(a, words);
    check_sum(a, p, time_turns<turn_shared_load>(a, p));
}

// sass-loop: sts32=8 other<=5 local=0
// sass: clocks=3 lds=1,1 sts=8,8 other<=15,13 waited looped arch=75,80,86,89,90a
// sass: clocks=3 lds=1,1 sts=8,8 other<=17,15 waited looped arch=100+
// sass: bar.block=1,1 sts=8,8 looped closed
extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1)
contention_bank_store(const __grid_constant__ struct contention_args a)
{
    __shared__ uint32_t words[SETS * SET_BYTES / 4];
    uint32_t word = spread_unit(a.spread, threadIdx.x % 32);
    time_turns<turn_shared_store>(a, shared_address(words) + 4 * word);
    for (uint32_t set = 0; set < SETS; set++)
        complain(a, words[set * (SET_BYTES / 4) + word] != 2 * a.turns - 1);
}

// All warps read the same lines, so that the L1 holds them.
// sass-loop: ldg32.cta=8 other<=11 local=0 together
// sass: clocks=3 ldg=8,8 other<=20,22 waited looped arch=75,80,86,89,90a
// sass: clocks=3 ldg=8,8 other<=21,21 waited looped arch=100
// sass: clocks=3 ldg=8,8 other<=18,19 waited looped arch=120
// sass: bar.block=1,1 ldg=8,8 looped closed
extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1)
contention_sector_load_l1(const __grid_constant__ struct contention_args a)
{
    char *ring = (char *)a.memory;
    uint64_t p = (uint64_t)ring + spread_unit(a.spread, threadIdx.x % 32);
    lay_global(a, ring, threadIdx.x / 32, ALL_THREADS / 32);
    check_sum(a, (uint32_t)p, time_turns<turn_l1>(a, p));
}

// Every warp reads lines of its own: one answer for two warps would be more than the L2 sends.
// sass-loop: ldg32.gpu=8 other<=11 local=0 together
// sass: clocks=3 ldg=8,8 other<=19,22 waited looped arch=75,80,86,89,90a
// sass: clocks=3 ldg=8,8 other<=21,22 waited looped arch=100
// sass: clocks=3 ldg=8,8 other<=18,19 waited looped arch=120
// sass: bar.block=1,1 ldg=8,8 looped closed
extern "C" __global__ void __launch_bounds__(ALL_THREADS, 1)
contention_sector_load_l2(const __grid_constant__ struct contention_args a)
{
    char *ring = (char *)a.memory + threadIdx.x / 32 * WARP_BYTES;
    uint64_t p = (uint64_t)ring + spread_unit(a.spread, threadIdx.x % 32);
    lay_global(a, ring, 0, 1);
    check_sum(a, (uint32_t)p, time_turns<turn_l2>(a, p));
}
