// Clusters of blocks, compute capability 9.0 and up: ranks, the cluster's barrier, and the shared
// memory of other blocks.
#ifndef GPUFLOOR_CLUSTER_CUH
#define GPUFLOOR_CLUSTER_CUH

#include <stdint.h>

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t cluster_rank(void)
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ uint32_t cluster_size(void)
{
    uint32_t size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

// The barrier of all threads of the cluster. The relaxed functions order nothing. With release and
// acquire, what was written before the barrier is visible after it.
__device__ __forceinline__ void cluster_arrive_relaxed(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait_relaxed(void)
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address, in the cluster's window, of the same variable in the block of that rank.
__device__ __forceinline__ uint32_t cluster_map(uint32_t shared, uint32_t rank)
{
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(rank));
    return there;
}

// The same as a generic 64-bit address. Chases use this one: the compiler converts a 32-bit address
// to a generic one before every load, by two moves, one of them in the dependency chain.
__device__ __forceinline__ uint64_t cluster_map_generic(const void *shared, uint32_t rank)
{
    uint64_t there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
    return there;
}

__device__ __forceinline__ void cluster_store(uint32_t address, uint32_t v)
{
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

// Sends 64 bits to another block's shared memory. That block's mbarrier counts them as 8 of the
// bytes that it expects. A thread that has waited for that barrier sees them, with no fence on
// either side.
__device__ __forceinline__ void cluster_send(uint32_t address, uint64_t v, uint32_t barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(
                     address),
                 "l"(v), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void cluster_send_32(uint32_t address, uint32_t v, uint32_t barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                     address),
                 "r"(v), "r"(barrier)
                 : "memory");
}

#endif
#endif
