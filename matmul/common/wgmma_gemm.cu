/*
 * C = A x B on the tensor cores through wgmma, fed by bulk copies: 16-bit operands, 16-bit result
 * rounded to nearest. Compute capability 9.0 only. This file has the kernels. wgmma_gemm.h has the
 * table of tiles, the arguments and how to launch; wgmma_gemm.cuh explains how a block works.
 *
 * What limits it, at 1024^3
 *   H200, us per graph node, fp16, N(0,1), warm L2. cuBLASLt's best takes 5.14, an empty kernel of
 *   the same shape 0.70:
 *
 *                        full   copies alone   products alone   bytes that a block takes in
 *     128x64             4.81           4.37             4.24         384 KiB
 *     128x64_multicast   4.85           4.57             4.30         384, half of B's shared
 *     128x64_alone       5.15           4.92             4.26         384
 *     64x128_alone       6.00           5.64             4.16         384
 *     32x256_alone       6.23           5.64             5.31         576
 *     16x512_alone      11.1               .                .        1056
 *     128x128_split2     6.12           5.82             5.43         256, and 32 KiB of sums
 *
 *   All have 128 blocks. Copies take longer than products throughout. The number of bytes alone
 *   does not decide: 128x64 and 128x64_alone differ only in which blocks are neighbours and in how
 *   they are launched. Clusters of two start sooner. And the blocks of a GPC, 16 neighbours of the
 *   grid, then need 2 panels of A and 8 of B instead of 1 and 16. If all blocks fetch the same
 *   tile, copies alone take 4.55 without clusters. Also measured:
 *     - Clusters of four, one block an SM: 128 such blocks do not fit the GPU at once; 1.7 times
 *       the time.
 *     - Split-K over two blocks takes in a third less, but the sum costs 1 us: an SM writes into
 *       another's shared memory at 14 to 21 bytes a cycle. Computing the half that is given away
 *       first, and sending it while the other half is computed, was no faster. At 512^3 a split is
 *       within 0.2 us of the best.
 *     - Tensor maps as kernel parameters: first data come 150 cycles later; 0.08 us without
 *       clusters, no visible effect with them.
 *     - 4 stages instead of 8: 5.25.
 *     - wgmma not transposed, two m64n64 a slice: the same without clusters, 0.3 us more with
 *       multicast. Two warpgroups: 0.05 more, and 0.6.
 *     - Blocks that start along k at different steps: 0.2 to 0.3 us more.
 *     - Writing the result with 4-byte stores: 2500 cycles from the last product. With stmatrix and
 *       one bulk copy a warpgroup: 400 until the copy is issued, and 700 more until it has read.
 *   At 2048^3 and 4096^3 the power limit sets the clock; the loop takes 1.01 times the cycles of
 *   the products alone.
 *
 * SASS
 *   The loop has n/64/wgs x 4 HGMMA and little else that waits: a barrier test, an arrival, and a
 *   WARPGROUP.DEPBAR that lets the last k-step's products run. No local memory.
 */
#include "matmul/common/wgmma_gemm.cuh"
#include "matmul/common/wgmma_store.cuh"

#if defined __CUDA_ARCH_FEAT_SM90_ALL

/* --- the kernel ------------------------------------------------------------------------------- */

template <class s, enum layout layout, enum type type, enum mode mode, bool watched>
static __device__ __forceinline__ void compute(const struct wgmma_gemm_args &args, struct post<s> p,
                                               struct wgmma_gemm_watch *watch)
{
    struct walk<s> w = {0, 0};
    uint32_t tile = p.first;

    do {
        struct sums<s, type> sum;

        if (tile != p.first)
            p.go_to(args, tile);
        const uint32_t later = s::persistent ? (p.tiles - 1 - tile) / p.stride : 0;
        accumulate<s, layout, type, mode, watched>(sum, p, w, later * p.steps,
                                                   tile == p.first ? watch : NULL);
        if (watched && threadIdx.x == 0)
            watch->products_done = clock_cycles();
        if constexpr (s::split > 1)
            exchange<s, type>(sum, p);
        store<s, type>(args, sum, p);
        tile += p.stride;
    } while (s::persistent && tile < p.tiles);
    if (threadIdx.x % 128 == 0)
        bulk_store_read_wait<0>(); /* a block loses its shared memory when it ends */
}

template <class s, enum layout layout, enum type type, enum mode mode, bool watched>
static __device__ __forceinline__ void gemm(const struct wgmma_gemm_args &args)
{
    struct wgmma_gemm_watch *watch = args.watch + blockIdx.y * gridDim.x + blockIdx.x;
    const uint32_t warp = threadIdx.x / 32;

    if (watched && threadIdx.x == 0) {
        watch->start_ns = clock_ns();
        watch->start = clock_cycles();
        watch->sm = sm_id();
    }
    if (args.k == 0)
        return;
    const struct post<s> p(args);
    if (s::persistent && p.first >= p.tiles)
        return;
    if (warp == 4 * s::wgs) {
        if (elected())
            begin<s, layout, mode>(args, p);
        __syncwarp();
    }
    __syncthreads();
    if (s::multicast || s::split > 1)
        cluster_arrive_relaxed();
    if (warp >= 4 * s::wgs) {
        if constexpr (s::spare)
            asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(s::wgs == 2 ? 40 : 32));
        if (s::multicast)
            cluster_wait_relaxed();
        if (warp == 4 * s::wgs && mode != PRODUCTS && elected())
            fetch_rest<s, layout>(args, p);
        if (watched && warp == 4 * s::wgs && elected())
            watch->fetched = clock_cycles();
    } else {
        if constexpr (s::spare)
            asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(s::wgs == 2 ? 232 : 160));
        compute<s, layout, type, mode, watched>(args, p, watch);
        if (watched && threadIdx.x == 0) {
            watch->end = clock_cycles();
            watch->end_ns = clock_ns();
        }
    }
}

/* Clusters are part of the kernel: the compiler then omits the code that tests for them. */
#define WGMMA_KERNEL(kernel, row, layout, type, mode, watched)                                     \
    extern "C" __global__ void __cluster_dims__(row_##row::cluster, 1, 1)                          \
        __launch_bounds__(row_##row::threads, 1)                                                   \
            wgmma_##kernel##_##row(const __grid_constant__ struct wgmma_gemm_args args)            \
    {                                                                                              \
        gemm<row_##row, layout, type, mode, watched>(args);                                        \
    }

#define WGMMA_ROW(name, ...)                                                                       \
    WGMMA_KERNEL(gemm_fp16, name, NN, FP16, FULL, false)                                           \
    WGMMA_KERNEL(gemm_bf16, name, NN, BF16, FULL, false)

#define WGMMA_WATCHED(name) WGMMA_KERNEL(watched_fp16, name, NN, FP16, FULL, true)

#define WGMMA_PARTS(name)                                                                          \
    WGMMA_WATCHED(name)                                                                            \
    WGMMA_KERNEL(loads_fp16, name, NN, FP16, LOADS, false)                                         \
    WGMMA_KERNEL(products_fp16, name, NN, FP16, PRODUCTS, false)

// sass-loop: kernel=wgmma_gemm_*x64* hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=77
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_64x128_alone hgmma=8 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1
// sass-and: other<=91 local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_128x128* hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=59
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_256x128* hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=80
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_96x192 hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=60
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_192x* hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=80
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_128x256 hgmma=8 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1 other<=103
// sass-and: local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_32x256_alone hgmma=4 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1
// sass-and: other<=56 local=0 arch=90a
// sass-loop: kernel=wgmma_gemm_*_16x512_alone hgmma=8 syncs<=3 bar=0 ldg=0 stg=0 guarded<=1
// sass-and: other<=89 local=0 arch=90a
WGMMA_GEMM_TILES(WGMMA_ROW)

/* The other layouts, and sums in fp16. */
WGMMA_KERNEL(gemm_fp16_nt, 128x64, NT, FP16, FULL, false)
WGMMA_KERNEL(gemm_fp16_tn, 128x64, TN, FP16, FULL, false)
WGMMA_KERNEL(gemm_fp16_nt, 256x128, NT, FP16, FULL, false)
WGMMA_KERNEL(gemm_fp16_tn, 256x128, TN, FP16, FULL, false)
WGMMA_KERNEL(gemm_fp16_sums_in_fp16, 128x64, NN, FP16_SUMS, FULL, false)

/* The parts of a kernel by themselves, and the whole kernel that records times and SMs. */
// sass-loop: kernel=wgmma_watched_* hgmma>=4 syncs<=3 bar=0 ldg=0 guarded<=1 other<=93 local=0
// sass-and: arch=90a
// sass-loop: kernel=wgmma_loads_* utmaldg>=2 hgmma=0 other<=20 local=0 arch=90a
// sass-loop: kernel=wgmma_products_* hgmma>=4 utmaldg=0 syncs=0 bar=0 ldg=0 other<=74 local=0
// sass-and: arch=90a
WGMMA_PARTS(128x64)
WGMMA_PARTS(128x64_alone)
WGMMA_PARTS(128x64_multicast)
WGMMA_PARTS(128x64_persistent)
WGMMA_PARTS(64x128_alone)
WGMMA_PARTS(32x256_alone)
WGMMA_PARTS(128x128_split2)
WGMMA_PARTS(64x64)

/* Watched twins of the others: which SM runs each block, and when. */
WGMMA_WATCHED(256x128_once)
WGMMA_WATCHED(96x192)
WGMMA_WATCHED(128x128)
WGMMA_WATCHED(128x128_split4)
WGMMA_WATCHED(128x64_4stages)
WGMMA_WATCHED(16x512_alone)
WGMMA_WATCHED(64x64_split2)
WGMMA_WATCHED(48x64)
WGMMA_WATCHED(32x64)
WGMMA_WATCHED(32x64_split2)
WGMMA_WATCHED(16x64_alone)

#endif
