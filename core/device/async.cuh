// Asynchronous copies: cp.async (compute capability 8.0), and the bulk copies of 9.0 with the
// barrier in shared memory (mbarrier) that they signal. Put a kernel that uses them under #if with
// the same architectures; its contract says arch=80+ or arch=90+.
#ifndef GPUFLOOR_ASYNC_CUH
#define GPUFLOOR_ASYNC_CUH

#include <stdint.h>

#include "core/device/load.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

// 16 bytes from global to shared memory, cached in L2 only.
__device__ __forceinline__ void cp_async_16(uint32_t to_shared, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_shared), "l"(from)
                 : "memory");
}

__device__ __forceinline__ void cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `pending` of this thread's groups are still in flight.
template <int pending> __device__ __forceinline__ void cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// An mbarrier: 8 bytes of shared memory, 8-byte aligned. A phase is over when all arrivals and all
// announced bytes have come. Phases alternate in parity; the first has parity 0.
__device__ __forceinline__ void mbarrier_make(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

// Call it after mbarrier_make, before any other thread or the copy engine uses the barrier.
__device__ __forceinline__ void mbarrier_made(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and announces the bytes that a bulk copy will bring.
__device__ __forceinline__ void mbarrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

// Is the phase of that parity over? Waits a little before it returns false.
__device__ __forceinline__ bool mbarrier_try_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// Bulk copy (TMA without a tensor map). `bytes` is a multiple of 16; both ends are 16-byte aligned.
__device__ __forceinline__ void bulk_load(uint32_t to_shared, const void *from, uint32_t bytes,
                                          uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to_shared),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// The same for data that is used once: its lines are the first that the L2 gives up. The last
// operand is the policy "evict first" for all of it, as createpolicy.fractional makes it.
__device__ __forceinline__ void bulk_load_once(uint32_t to_shared, const void *from, uint32_t bytes,
                                               uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(to_shared),
                 "l"(from), "r"(bytes), "r"(barrier), "l"(0x12f0000000000000ull)
                 : "memory");
}

// The opposite direction; complete when bulk_store_wait returns. The copy sees what threads wrote
// to shared memory only after bulk_store_fence().
__device__ __forceinline__ void bulk_store(void *to, uint32_t from_shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(from_shared), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void bulk_store_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void bulk_store_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most `pending` groups of this thread have still to read their shared memory.
template <int pending> __device__ __forceinline__ void bulk_store_read_wait(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

template <int pending> __device__ __forceinline__ void bulk_store_wait(void)
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

#endif
#endif
