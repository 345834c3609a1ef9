// The loads of a chase: each address is the value of the load before. step() is one load. use() is
// an instruction that needs its value; without it the compiler moves a clock read ahead of the
// load.
#ifndef PROBES_COMMON_LOADS_CUH
#define PROBES_COMMON_LOADS_CUH

#include "core/device/load.cuh"

struct load_shared { // this block's shared memory: an address has 32 bits
    typedef uint32_t address;
    static __device__ __forceinline__ void step(uint32_t &p)
    {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    }
    static __device__ __forceinline__ void use(uint32_t p) { consume(p); }
};

struct load_l1 { // global memory, cached in L1 and L2
    typedef uint64_t address;
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
    }
    static __device__ __forceinline__ void use(uint64_t p) { consume(p); }
};

struct load_l2 { // global memory, cached in L2 only
    typedef uint64_t address;
    static __device__ __forceinline__ void step(uint64_t &p)
    {
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
    }
    static __device__ __forceinline__ void use(uint64_t p) { consume(p); }
};

// The given number of loads; the value of the last one is used.
template <int STEPS, typename LOAD>
__device__ __forceinline__ void stretch(typename LOAD::address &p)
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        LOAD::step(p);
    LOAD::use(p);
}

#endif
