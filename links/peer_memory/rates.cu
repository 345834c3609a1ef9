// Kernels of peer_memory's rates: copies between two GPUs' memories. Which of the two is the peer's
// is for the arguments to say: a copy from it is by loads across the link, one to it by stores.
#include "core/device/async.cuh"
#include "links/peer_memory/args.h"

// Four 16-byte loads in flight a thread, past the L1, which would keep a peer's old lines.
// sass-loop: ldg128.gpu=4 stg128.weak=4 other<=32 exits<=2 local=0 together moving regs<=64
extern "C" __global__ void __launch_bounds__(COPY_THREADS)
rates_copy(const __grid_constant__ struct copy_args a)
{
    const uint4 *from = (const uint4 *)a.from;
    uint4 *to = (uint4 *)a.to;
    const uint64_t n = a.bytes / sizeof *to, step = (uint64_t)gridDim.x * COPY_THREADS;
    uint64_t i = (uint64_t)blockIdx.x * COPY_THREADS + threadIdx.x;

#pragma unroll 1
    for (; i + 3 * step < n; i += 4 * step) {
        uint4 v0 = load_cg_128(from + i), v1 = load_cg_128(from + i + step),
              v2 = load_cg_128(from + i + 2 * step), v3 = load_cg_128(from + i + 3 * step);
        to[i] = v0;
        to[i + step] = v1;
        to[i + 2 * step] = v2;
        to[i + 3 * step] = v3;
    }
#pragma unroll 1
    for (; i < n; i += step)
        to[i] = load_cg_128(from + i);
}

#if __CUDA_ARCH__ >= 900

// One thread of each block copies tiles through its shared memory, half of the stages ahead. A
// stage is filled again when the store from it has read it.
struct bulk_tiles {
    const struct copy_args &a;
    uint32_t tile, barrier;
    uint64_t n; // tiles of this block

    __device__ __forceinline__ uint64_t at(uint64_t k) const
    {
        return (blockIdx.x + k * gridDim.x) * BULK_TILE;
    }
    __device__ __forceinline__ uint32_t bytes(uint64_t k) const
    {
        return (uint32_t)min((uint64_t)BULK_TILE, a.bytes - at(k));
    }
    __device__ __forceinline__ void load(uint64_t k) const
    {
        const uint32_t stage = (uint32_t)(k % BULK_STAGES);
        mbarrier_expect(barrier + 8 * stage, bytes(k));
        bulk_load(tile + stage * BULK_TILE, (const char *)a.from + at(k), bytes(k),
                  barrier + 8 * stage);
    }
    __device__ __forceinline__ void store(uint64_t k) const
    {
        const uint32_t stage = (uint32_t)(k % BULK_STAGES);
        mbarrier_wait(barrier + 8 * stage, (uint32_t)(k / BULK_STAGES) & 1);
        bulk_store((char *)a.to + at(k), tile + stage * BULK_TILE, bytes(k));
        bulk_store_commit();
    }
};

// A store may still read its stage while three others are written: only then is the stage filled
// again.
// sass-all: depbar.3=1 depbar.0=1 ublkcp=3 syncs<=12 looped calls arch=90a+
// sass-loop: ublkcp=2 syncs>=2 other<=80 local=0 outer arch=90a,100
// sass-loop: ublkcp=2 syncs>=2 other<=97 local=0 outer arch=120
extern "C" __global__ void __launch_bounds__(BULK_THREADS)
rates_bulk(const __grid_constant__ struct copy_args a)
{
    extern __shared__ __align__(128) char tiles[];
    __shared__ __align__(8) uint64_t full[BULK_STAGES];
    if (threadIdx.x > 0)
        return;
    for (int stage = 0; stage < BULK_STAGES; stage++)
        mbarrier_make(shared_address(&full[stage]), 1);
    mbarrier_made();
    const uint64_t all = (a.bytes + BULK_TILE - 1) / BULK_TILE;
    const struct bulk_tiles t = {a, shared_address(tiles), shared_address(full),
                                 (all - blockIdx.x + gridDim.x - 1) / gridDim.x};

#pragma unroll 1
    for (uint64_t k = 0; k < t.n && k < BULK_STAGES / 2; k++)
        t.load(k);
#pragma unroll 1
    for (uint64_t k = 0; k < t.n; k++) {
        if (k + BULK_STAGES / 2 < t.n) {
            bulk_store_read_wait<BULK_STAGES / 2 - 1>();
            t.load(k + BULK_STAGES / 2);
        }
        t.store(k);
    }
    bulk_store_wait<0>();
}

#endif
