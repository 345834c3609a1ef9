// Loads and stores, by which cache may keep their data, and an instruction that makes a reader wait
// for them. Each is one instruction. They are volatile, so that none is dropped, merged or
// reordered.
#ifndef GPUFLOOR_LOAD_CUH
#define GPUFLOOR_LOAD_CUH

#include <stdint.h>

// A shared-memory address in the 32-bit form that shared-memory instructions take.
__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

// Through L2 only.
__device__ __forceinline__ uint64_t load_cg(const void *p)
{
    uint64_t v;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ uint4 load_cg_128(const void *p)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

// The same; zeros if `there` is false. Predicated instead of branched, so that the loads of one
// turn of a loop are issued together.
__device__ __forceinline__ uint4 load_cg_128_if(const void *p, bool there)
{
    uint4 v = make_uint4(0, 0, 0, 0);
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %5, 0;\n\t"
                 "@q ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)
                 : "l"(p), "r"((uint32_t)there));
    return v;
}

// For data that is used once: past the L1, by the path for data that no thread writes meanwhile.
__device__ __forceinline__ uint4 load_once(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// Through the L1, as any load goes, by the same path: for data that the caches may keep.
__device__ __forceinline__ uint4 load_ordinary(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// Makes everything that follows wait until p has arrived. Only an instruction that uses a loaded
// value makes a clock read wait for the load. p is an address of the chase and never 1, so the
// store is never done. It goes to p itself, or an address would have to be fetched in between.
__device__ __forceinline__ void consume(uint64_t p)
{
    asm volatile("{ .reg .pred q; setp.eq.u64 q, %0, 1; @q st.global.u64 [%0], %0; }" ::"l"(p)
                 : "memory");
}

// The same for an address in shared memory.
__device__ __forceinline__ void consume(uint32_t p)
{
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %0, 1; @q st.shared.u32 [%0], %0; }" ::"r"(p)
                 : "memory");
}

#endif
