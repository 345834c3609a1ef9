/*
 * C = A x B on the tensor cores through mma.sync: 16-bit operands, fp32 sums, 16-bit result rounded
 * to nearest. One block computes one tile of C. The tile table is in mma_gemm.h.
 *
 * The main loop, its ring in shared memory and the swizzle there: core/device/mma_ring.cuh.
 *
 * Bulk copies
 *   A k-step of this loop at 128x64 takes 1.25 times as long as when the tensor memory accelerator
 *   (TMA) fills the ring; cp.async from dedicated warps is slower still. So sm_90 and up have a
 *   second 128x64. One thread of a dedicated warp starts two copies a k-step. Each slot has two
 *   barriers: one opens when the slot is full, the other when all warps have left it. The loop has
 *   no __syncthreads. Measured on an H200 at 1024^3:
 *     - The barriers have the block's memory order. A wait or an arrival with the cluster's order
 *       compiles to a fence of the whole GPU and a cache invalidation: 0.3 us in each k-step.
 *     - A warp tests one slice ahead whether the next slot is full: saves 0.5 us in all.
 *     - The first copies start before the block's first barrier: saves 0.25 us.
 *     - stmatrix instead of 4-byte stores, in cold code that runs once: saves 0.2 us.
 *
 * SASS
 *   For each slice of a warp of wt_m x wt_n, the main loop has wt_m/16 * wt_n/8 HMMA.16816.F32 and
 *   wt_m/16 + wt_n/16 LDSM.x4 (for B transposed, .MT88). The refill's LDGSTS.BYPASS.128, each under
 *   a predicate, and a single BAR.SYNC are interleaved with them. There is no branch but the loop's
 *   own and no local memory. The tma loop has neither LDGSTS nor BAR, but two barrier tests
 *   (SYNCS). Full unrolling within the k-step keeps register indices static.
 */
#include "matmul/common/mma_gemm.h"

#include "core/device/clock.cuh"
#include "core/device/mma_ring.cuh"

/* Not on sm_120: a block there has too little shared memory for the tma tile. */
#if !defined(MMA_GEMM_7_5) && \
    (!defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200))
#define MMA_GEMM_HAS_TMA 1
#else
#define MMA_GEMM_HAS_TMA 0
#endif

/*
 * Stores a warp's rows of C, warp_m/wk x warp_n of them from c on. In each mma a lane holds two
 * neighbouring elements of a row. A trip through the warp's own shared memory, swizzled like the
 * tiles, turns them into 16-byte chunks of whole rows.
 */
template <class s, bool bf16>
static __device__ __forceinline__ void store_rows(const float (&sum)[s::mmas_m * s::mmas_n][4],
                                                  uint32_t mine, unsigned char *c, size_t ldc)
{
    constexpr int rows = s::warp_m / s::warps_k, chunks = s::warp_n / 8;
    const uint32_t lane = threadIdx.x % 32;
    unsigned char *stage = ring + mine;

    __syncwarp(); /* other lanes may still be reading their sums from here */
#pragma unroll
    for (int i = 0; i < rows / 16 * s::mmas_n; i++) {
        const uint32_t row = i / s::mmas_n * 16 + lane / 4, word = lane % 4 * 4;
        const int column = i % s::mmas_n;

        *(uint32_t *)(stage + swizzled<chunks>(row, column) + word) =
            pack<bf16>(sum[i][0], sum[i][1]);
        *(uint32_t *)(stage + swizzled<chunks>(row + 8, column) + word) =
            pack<bf16>(sum[i][2], sum[i][3]);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < rows * chunks / 32; i++) {
        const uint32_t row = (i * 32 + lane) / chunks, chunk = (i * 32 + lane) % chunks;

        *(uint4 *)(c + row * ldc + chunk * 16) =
            *(const uint4 *)(stage + swizzled<chunks>(row, chunk));
    }
}

template <class s, bool bf16>
static __device__ __forceinline__ void gemm_tile(const struct mma_gemm_args &args)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t warp_m = warp % s::warps_m, warp_n = warp / s::warps_m % s::warps_n;
    const uint32_t warp_k = warp / (s::warps_m * s::warps_n);
    /* Lane l of an ldmatrix.x4 names row l % 16 of a 16x16 block, and its left or right chunk. */
    const uint32_t row = lane % 16, side = lane / 16;
    const uint32_t a_addr =
        swizzled<s::a_chunks>(warp_m * s::warp_m + row, warp_k * s::slices * 2 + side);
    const uint32_t b_addr =
        swizzled<s::b_chunks>(warp_k * s::slices * 16 + row, warp_n * s::warp_n / 8 + side);
    float sum[s::mmas_m * s::mmas_n][4] = {};
    struct refill r = refill_setup<s>(args);

    refill_start<s>(r);
    accumulate<s, bf16>(sum, r, shared_address(ring) + a_addr,
                        shared_address(ring) + s::a_bytes + b_addr);

    uint32_t mine = warp * (s::warp_m * s::warp_n * 2); /* part of the ring for this warp alone */
    if constexpr (s::warps_k > 1)
        mine = sum_over_k<s, 1, 0>(sum, warp, warp_k);
    size_t c_row = blockIdx.y * s::tile_m + warp_m * s::warp_m;
    const size_t c_column = blockIdx.x * s::tile_n + warp_n * s::warp_n;
#pragma unroll
    for (uint32_t d = 1; d < s::warps_k; d *= 2)
        c_row += warp_k & d ? s::warp_m / 2 / d : 0; /* the halves that sum_over_k kept */
    store_rows<s, bf16>(sum, mine, (unsigned char *)args.c + 2 * (c_row * args.ldc + c_column),
                        2 * (size_t)args.ldc);
    if (args.census && threadIdx.x == 0)
        atomicAdd(args.census + sm_id(), 1u);
}

#if MMA_GEMM_HAS_TMA

/* A row of MMA_GEMM_TMA_TILES. After the ring come the tile of C and then the barriers. */
template <int m, int n, int stages, int wm, int wn>
struct tma_shape : mma_shape<m, n, 64, stages, wm, wn, 1, 1, 0> {
    using base = mma_shape<m, n, 64, stages, wm, wn, 1, 1, 0>;
    static constexpr int block_threads = base::threads + 32; /* one more warp, which only fetches */
    static constexpr int c_chunks = base::warp_n / 8; /* 16-byte chunks in a warp's row of C */
    static constexpr int warp_bytes = 2 * base::warp_m * base::warp_n; /* of C */
    static constexpr int barriers_at = base::ring_bytes + 2 * m * n;

    static_assert(n == 64, "the swizzle of TMA has rows of 128 bytes");
    static_assert(c_chunks == 4, "32 chunks of C are 8 rows, after which the swizzle repeats");
    static_assert(barriers_at + 16 * stages == MMA_GEMM_TMA_SHARED(m, n, stages),
                  "the barriers fit");
};

/* The barrier that opens when slot i of the ring is full: once in each turn of the ring. */
template <class s> static __device__ __forceinline__ uint32_t full(uint32_t i)
{
    return shared_address(ring) + s::barriers_at + 8 * i;
}

/* The barrier that opens when every warp has left slot i. */
template <class s> static __device__ __forceinline__ uint32_t left(uint32_t i)
{
    return full<s>(s::stages + i);
}

static __device__ __forceinline__ void barrier_make(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Is the phase of this parity over? */
static __device__ __forceinline__ bool barrier_open(uint32_t barrier, uint32_t parity)
{
    uint32_t open;

    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(open)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return open;
}

static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
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

/* A slot of the ring, and the parity of its turn. */
struct turn {
    uint32_t slot, parity;
};

template <class s> static __device__ __forceinline__ struct turn next_turn(struct turn p)
{
    const bool last = p.slot + 1 == s::stages;

    return {last ? 0 : p.slot + 1, last ? p.parity ^ 1 : p.parity};
}

/* Copies the box at (x, y) of a map to shared memory, swizzled; counts its bytes at the barrier. */
static __device__ __forceinline__ void copy_box(uint32_t dst, const unsigned char *map, uint32_t x,
                                                uint32_t y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(dst),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

template <class s>
static __device__ __forceinline__ void fetch(const struct mma_gemm_tma_args &args, uint32_t step,
                                             uint32_t slot)
{
    const uint32_t at = shared_address(ring) + slot * s::slot_bytes;

    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full<s>(slot)),
                 "r"((uint32_t)s::slot_bytes)
                 : "memory");
    copy_box(at, args.a_map, step * s::k_step, blockIdx.y * s::tile_m, full<s>(slot));
    copy_box(at + s::a_bytes, args.b_map, blockIdx.x * s::tile_n, step * s::k_step, full<s>(slot));
}

/* What the fetching thread does before the block's first barrier, ... */
template <class s>
static __device__ __forceinline__ void fetch_first(const struct mma_gemm_tma_args &args)
{
#pragma unroll
    for (int i = 0; i < s::stages; i++) {
        barrier_make(full<s>(i), 1);
        barrier_make(left<s>(i), s::warps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fetch<s>(args, 0, 0);
}

/* ... and after it. */
template <class s>
static __device__ __forceinline__ void fetch_rest(const struct mma_gemm_tma_args &args,
                                                  uint32_t steps)
{
    struct turn p = next_turn<s>({0, 1});

#pragma unroll 1
    for (uint32_t step = 1; step < steps; step++) {
        if (step >= s::stages)
            barrier_wait(left<s>(p.slot), p.parity);
        fetch<s>(args, step, p.slot);
        p = next_turn<s>(p);
    }
}

/* accumulate() on a ring that others fill. */
template <class s, bool bf16>
static __device__ __forceinline__ void accumulate_fed(float (&sum)[s::mmas_m * s::mmas_n][4],
                                                      uint32_t steps, uint32_t a_addr,
                                                      uint32_t b_addr)
{
    struct operands<s> o[2];
    struct turn p = {0, 0};

    barrier_wait(full<s>(0), 0);
    load_slice<s>(o[0], a_addr, b_addr, 0);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step++) {
        const struct turn next = next_turn<s>(p);
        bool ready = false;

#pragma unroll
        for (int i = 0; i < s::slices; i++) {
            const int part = (i + 1) % s::slices; /* the slice to load next */
            const uint32_t slot = (part == 0 ? next.slot : p.slot) * s::slot_bytes;

            if (i == s::slices - 2)
                ready = barrier_open(full<s>(next.slot), next.parity);
            if (part == 0 && step + 1 < steps && !ready)
                barrier_wait(full<s>(next.slot), next.parity);
            /* After the last k-step this reads a stale slot into registers that nobody uses. */
            load_slice<s>(o[part % 2], a_addr + slot, b_addr + slot, part);
            multiply<s, bf16>(sum, o[i % 2]);
        }
        /* The mma above have consumed everything that ldmatrix read from the slot. */
        if (threadIdx.x % 32 == 0 && step + s::stages < steps)
            barrier_arrive(left<s>(p.slot));
        p = next;
    }
}

/* store_rows() with stmatrix, which stores four 8x8 blocks at once. */
template <class s, bool bf16>
static __device__ __forceinline__ void store_blocks(const float (&sum)[s::mmas_m * s::mmas_n][4],
                                                    uint32_t mine, unsigned char *c, size_t ldc)
{
    const uint32_t lane = threadIdx.x % 32, row = lane / s::c_chunks, chunk = lane % s::c_chunks;
    const uint32_t to = shared_address(ring) + mine + swizzled<s::c_chunks>(lane % 16, lane / 16);
    const unsigned char *from = ring + mine + swizzled<s::c_chunks>(row, chunk);

#pragma unroll
    for (int i = 0; i < s::mmas_m; i++) {
#pragma unroll
        for (int j = 0; j < s::mmas_n; j += 2) {
            const float(&x)[4] = sum[i * s::mmas_n + j], (&y)[4] = sum[i * s::mmas_n + j + 1];

            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             (to ^ (j * 16)) + i * 16 * s::c_chunks * 16),
                         "r"(pack<bf16>(x[0], x[1])), "r"(pack<bf16>(x[2], x[3])),
                         "r"(pack<bf16>(y[0], y[1])), "r"(pack<bf16>(y[2], y[3]))
                         : "memory");
        }
    }
    __syncwarp();
    c += row * ldc + chunk * 16;
#pragma unroll
    for (int i = 0; i < s::warp_m * s::c_chunks / 32; i++)
        *(uint4 *)(c + i * (32 / s::c_chunks) * ldc) = *(const uint4 *)(from + i * 512);
}

template <class s, bool bf16>
static __device__ __forceinline__ void tma_tile(const struct mma_gemm_tma_args &args)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t warp_m = warp % s::warps_m, warp_n = warp / s::warps_m;
    const uint32_t row = lane % 16, side = lane / 16; /* as in gemm_tile */
    float sum[s::mmas_m * s::mmas_n][4] = {};

    if (warp == s::warps && lane == 0)
        fetch_first<s>(args);
    __syncthreads();
    const uint32_t steps = args.gemm.k / s::k_step;
    if (warp == s::warps) {
        if (lane == 0)
            fetch_rest<s>(args, steps);
        return;
    }
    accumulate_fed<s, bf16>(
        sum, steps, shared_address(ring) + swizzled<s::a_chunks>(warp_m * s::warp_m + row, side),
        shared_address(ring) + s::a_bytes +
            swizzled<s::b_chunks>(row, warp_n * s::warp_n / 8 + side));

    const size_t c_row = blockIdx.y * s::tile_m + warp_m * s::warp_m,
                 ldc = 2 * (size_t)args.gemm.ldc;
    const uint32_t c_column = blockIdx.x * s::tile_n + warp_n * s::warp_n;
    store_blocks<s, bf16>(sum, s::ring_bytes + warp * s::warp_bytes,
                          (unsigned char *)args.gemm.c + c_row * ldc + 2 * c_column, ldc);
    if (args.gemm.census && threadIdx.x == 0)
        atomicAdd(args.gemm.census + sm_id(), 1u);
}

#endif

/* Kernels: tile_row is a row of the table; each kernel restates the HMMA of its main loop. */

template <int m, int n> struct tile_row;

#define MMA_GEMM_TILE_ROW(m, n, ...)                                                               \
    template <> struct tile_row<m, n> : mma_shape<m, n, __VA_ARGS__> {                             \
    };
MMA_GEMM_TILES(MMA_GEMM_TILE_ROW)

#define MMA_GEMM_KERNEL(type, is_bf16, m, n, hmma)                                                 \
    static_assert(tile_row<m, n>::hmma_per_step == hmma, "the contract above is out of date");     \
    extern "C" __global__ void __launch_bounds__(tile_row<m, n>::threads, tile_row<m, n>::blocks)  \
        mma_gemm_##type##_##m##x##n(const __grid_constant__ struct mma_gemm_args args)             \
    {                                                                                              \
        gemm_tile<tile_row<m, n>, is_bf16>(args);                                                  \
    }

#ifndef MMA_GEMM_7_5

// sass-loop: kernel=mma_gemm_fp16_256x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 256, 128, 128)
// sass-loop: kernel=mma_gemm_fp16_128x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 128, 128, 128)
// sass-loop: kernel=mma_gemm_fp16_128x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 128, 64, 64)
// sass-loop: kernel=mma_gemm_fp16_64x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(fp16, false, 64, 64, 64)

#endif

// sass-loop: kernel=mma_gemm_fp16_64x32 hmma>=32 local=0 arch=80+
// sass-loop: kernel=mma_gemm_fp16_64x32 hmma>=64 local=0 arch=75
MMA_GEMM_KERNEL(fp16, false, 64, 32, 32)
// sass-loop: kernel=mma_gemm_fp16_32x32 hmma>=16 local=0 arch=80+
// sass-loop: kernel=mma_gemm_fp16_32x32 hmma>=32 local=0 arch=75
MMA_GEMM_KERNEL(fp16, false, 32, 32, 16)

#ifndef MMA_GEMM_7_5

// sass-loop: kernel=mma_gemm_bf16_256x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 256, 128, 128)
// sass-loop: kernel=mma_gemm_bf16_128x128 hmma>=128 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 128, 128, 128)
// sass-loop: kernel=mma_gemm_bf16_128x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 128, 64, 64)
// sass-loop: kernel=mma_gemm_bf16_64x64 hmma>=64 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 64, 64, 64)
// sass-loop: kernel=mma_gemm_bf16_64x32 hmma>=32 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 64, 32, 32)
// sass-loop: kernel=mma_gemm_bf16_32x32 hmma>=16 local=0 arch=80+
MMA_GEMM_KERNEL(bf16, true, 32, 32, 16)

#endif

#ifndef MMA_GEMM_7_5

#define MMA_GEMM_WARP_KERNEL(name, m, n, k_step, stages, wm, wn, wk, blocks, rotate)               \
    extern "C" __global__ void __launch_bounds__(MMA_GEMM_THREADS(wm, wn, wk), blocks)             \
        mma_gemm_fp16_##m##x##n##_##name(const __grid_constant__ struct mma_gemm_args args)        \
    {                                                                                              \
        gemm_tile<mma_shape<m, n, k_step, stages, wm, wn, wk, blocks, rotate>, false>(args);       \
    }

// The rows of MMA_GEMM_WARP_TILES.
// sass-loop: kernel=mma_gemm_fp16_128x64_2warps hmma>=128 local=0 arch=80+
// sass-loop: kernel=mma_gemm_fp16_128x64_8warps hmma>=32 local=0 arch=80+
MMA_GEMM_WARP_TILES(MMA_GEMM_WARP_KERNEL)

#endif

#if MMA_GEMM_HAS_TMA

template <int m, int n> struct tma_row;

#define MMA_GEMM_TMA_TILE_ROW(m, n, ...)                                                           \
    template <> struct tma_row<m, n> : tma_shape<m, n, __VA_ARGS__> {                              \
    };
MMA_GEMM_TMA_TILES(MMA_GEMM_TMA_TILE_ROW)

#define MMA_GEMM_TMA_KERNEL(type, is_bf16, m, n, hmma)                                             \
    static_assert(tma_row<m, n>::hmma_per_step == hmma, "the contract above is out of date");      \
    extern "C" __global__ void __launch_bounds__(tma_row<m, n>::block_threads, 1)                  \
        mma_gemm_##type##_##m##x##n##_tma(const __grid_constant__ struct mma_gemm_tma_args args)   \
    {                                                                                              \
        tma_tile<tma_row<m, n>, is_bf16>(args);                                                    \
    }

// sass-loop: kernel=mma_gemm_fp16_128x64_tma hmma>=64 local=0 arch=90a,100
MMA_GEMM_TMA_KERNEL(fp16, false, 128, 64, 64)

// sass-loop: kernel=mma_gemm_bf16_128x64_tma hmma>=64 local=0 arch=90a,100
MMA_GEMM_TMA_KERNEL(bf16, true, 128, 64, 64)

#endif
