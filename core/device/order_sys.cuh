// Loads, stores and additions with a memory order, at the scope of the whole system: the parts of
// flags between GPUs, and between a GPU and the host.
#ifndef GPUFLOOR_ORDER_SYS_CUH
#define GPUFLOOR_ORDER_SYS_CUH

#include <stdint.h>

__device__ __forceinline__ uint32_t load_acquire_sys(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ uint32_t load_relaxed_sys(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void store_release_sys(uint32_t *p, uint32_t v)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void store_relaxed_sys(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ uint64_t load_relaxed_sys_64(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void store_relaxed_sys_64(uint64_t *p, uint64_t v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

// 16 bytes by one instruction. Each half is whole; PTX does not promise that both are of one store.
__device__ __forceinline__ ulonglong2 load_relaxed_sys_2x64(const ulonglong2 *p)
{
    ulonglong2 v;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.x), "=l"(v.y)
                 : "l"(p)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_relaxed_sys_2x64(ulonglong2 *p, ulonglong2 v)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v.x), "l"(v.y)
                 : "memory");
}

// 16 bytes by one instruction. Each word is whole, and nothing more.
__device__ __forceinline__ uint4 load_relaxed_sys_4x32(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_relaxed_sys_4x32(uint4 *p, uint4 v)
{
    asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x),
                 "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

// Adds, and returns nothing.
__device__ __forceinline__ void red_relaxed_sys(uint32_t *p, uint32_t v)
{
    asm volatile("red.add.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void fence_sys(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// The two halves of it, where the GPU has them: the first waits for what was written before, the
// second makes the relaxed loads before it acquire, which empties the L1 and waits for nothing.
__device__ __forceinline__ void fence_release_sys(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.release.sys;" ::: "memory");
#else
    fence_sys();
#endif
}

__device__ __forceinline__ void fence_acquire_sys(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.acquire.sys;" ::: "memory");
#else
    fence_sys();
#endif
}

#endif
