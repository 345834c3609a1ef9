// Loads, stores and additions with a memory order, at the scope of the whole GPU: the parts of
// flags and barriers between blocks.
#ifndef GPUFLOOR_ORDER_CUH
#define GPUFLOOR_ORDER_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t load_acquire(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_relaxed(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ uint64_t load_relaxed_64(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

// 16 bytes by one instruction. Each half is whole; PTX does not promise that both are of one store.
__device__ __forceinline__ ulonglong2 load_relaxed_2x64(const ulonglong2 *p)
{
    ulonglong2 v;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.x), "=l"(v.y)
                 : "l"(p)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_release(uint32_t *p, uint32_t v)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void store_relaxed(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void store_relaxed_64(uint64_t *p, uint64_t v)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
// 16 bytes by one instruction; whole as load_relaxed_2x64() has it.
__device__ __forceinline__ void store_relaxed_2x64(ulonglong2 *p, ulonglong2 v)
{
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.x), "l"(v.y)
                 : "memory");
}

// Adds, and returns the old value.
__device__ __forceinline__ uint32_t add_release(uint32_t *p, uint32_t v)
{
    uint32_t before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(p), "r"(v)
                 : "memory");
    return before;
}

__device__ __forceinline__ uint32_t add_relaxed(uint32_t *p, uint32_t v)
{
    uint32_t before;
    asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(p), "r"(v)
                 : "memory");
    return before;
}

// Adds, and returns nothing.
__device__ __forceinline__ void red_relaxed(uint32_t *p, uint32_t v)
{
    asm volatile("red.add.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// Makes the relaxed loads before it acquire.
__device__ __forceinline__ void fence_acquire(void)
{
    asm volatile("fence.acquire.gpu;" ::: "memory");
}

#endif
#endif
