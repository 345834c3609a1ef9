/*
 * Arguments and tile table of the mma.sync matrix product in mma_gemm.cu.
 *
 * C host code and the kernels read this one file, so the host keeps no copy of a tile's shape,
 * thread count or shared memory size.
 */
#ifndef MATMUL_COMMON_MMA_GEMM_H
#define MATMUL_COMMON_MMA_GEMM_H

#include <stdint.h>

#include "core/args.h"

/*
 * C = A x B. Elements have 16 bits, of the type in the kernel's name. The three matrices start on
 * 16-byte boundaries, and their leading dimensions are multiples of 8 elements, because every
 * global access moves 16 bytes.
 */
struct mma_gemm_args {
    const void *a;          /* m x k, row-major */
    const void *b;          /* k x n, row-major, so n is contiguous */
    void *c;                /* m x n, row-major */
    uint32_t *census;       /* one counter per SM: the blocks that it ran; or NULL */
    uint32_t m, n, k;       /* multiples of the tile's m, n and k_step, none zero */
    uint32_t lda, ldb, ldc; /* elements from one row to the next */
};
ARGS_SIZE(struct mma_gemm_args, 56);

/*
 * Arguments of the tma kernels. The maps are CUtensorMaps from cuTensorMapEncodeTiled with rank 2,
 * element strides 1, no interleave, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
 * no fill:
 *
 *   a_map     base a, size {k, m}, stride {2 * lda} bytes, box {64, tile m}
 *   b_map     base b, size {n, k}, stride {2 * ldb} bytes, box {64, 64}
 */
#ifdef __cplusplus
struct mma_gemm_tma_args {
    struct mma_gemm_args gemm; /* a and b are not read: the maps hold their addresses */
    alignas(64) unsigned char a_map[128];
    alignas(64) unsigned char b_map[128];
};
ARGS_SIZE(struct mma_gemm_tma_args, 320);
#else
struct mma_gemm_tma_args {
    struct mma_gemm_args gemm; /* a and b are not read: the maps hold their addresses */
    _Alignas(64) unsigned char a_map[128];
    _Alignas(64) unsigned char b_map[128];
};
#endif

/*
 * One row per tile, by decreasing size:
 *
 *   m, n      rows and columns of C that one block computes
 *   k_step    columns of A (rows of B) in one stage of the shared memory ring
 *   stages    stages in the ring
 *   wm,wn,wk  warps along m, n and k: a warp computes m/wm x n/wn over 1/wk of every k-step
 *   blocks    blocks that must fit on one SM; it caps the registers, not the shared memory
 *   rotate    1: each block starts its walk along k at a different step, so that blocks that share
 *             a panel of A or B do not all ask the L2 for the same lines at the same time
 *
 * The kernel of a row is mma_gemm_fp16_<m>x<n> or mma_gemm_bf16_<m>x<n>. Its grid has n / tile n
 * blocks in x and m / tile m in y. The host leaves out a row whose shared memory exceeds what the
 * device grants a block: 99 KiB on sm_86, sm_89 and sm_120, 163 KiB on sm_80, 227 KiB on sm_90 and
 * sm_100. sm_75 has the last two rows, in fp16.
 *
 * The rows of MMA_GEMM_TMA_TILES exist on sm_90 and sm_100. Their k_step is 64. They have wm x wn
 * warps plus one that fetches. The kernel is mma_gemm_<type>_<m>x<n>_tma, which takes
 * mma_gemm_tma_args.
 *
 * The rows of MMA_GEMM_WARP_TILES are 128x64 by other numbers of warps, in fp16. Nothing else
 * differs from the row of four. They show what warps are worth, and no search for the fastest
 * includes them. The kernel is mma_gemm_fp16_<m>x<n>_<name>.
 *
 * Every other row is the fastest of its tile on an H200 at 1024^3 in fp16, N(0,1), warm L2. From
 * the top they take 18.8, 10.7, 7.35, 7.45, 9.4 and 12.0 us per graph node, 6.55 with tma; cuBLAS
 * takes 5.2. Slower variants of 128x64: warps 2x1x2 7.4, eight warps 7.8, k_step 32 8.0, more
 * stages 7.4 to 7.8, rotate 7.5, cp.async from dedicated warps 7.9; 128x128 with k halved over a
 * cluster of two 7.6, of which 1.2 are the sum of the two halves. Prefetch hints and other orders
 * of the blocks gained nothing. With tma: multicast of A in a cluster of two costs 0.1 more, k_step
 * 128 and more stages save nothing, ldmatrix two slices ahead costs 0.3 more, eight warps 0.4 more.
 */
/* clang-format off */
#define MMA_GEMM_TILES(X) \
    /*  m,   n, k_step, stages, wm, wn, wk, blocks, rotate */ \
    X(256, 128,     64,      3,  4,  2,  1,      1,      0) \
    X(128, 128,     64,      3,  2,  2,  1,      1,      0) \
    X(128,  64,     64,      3,  2,  2,  1,      1,      0) \
    X( 64,  64,     64,      5,  1,  1,  2,      2,      0) \
    X( 64,  32,     64,      4,  1,  1,  2,      4,      0) \
    X( 32,  32,     64,      3,  1,  1,  2,      8,      0)

#define MMA_GEMM_TMA_TILES(X) \
    /*  m,   n, stages, wm, wn */ \
    X(128,  64,      4,  2,  2)

#define MMA_GEMM_WARP_TILES(X) \
    /* name,    m,   n, k_step, stages, wm, wn, wk, blocks, rotate */ \
    X(2warps, 128,  64,     64,      3,  2,  1,  1,      1,      0) \
    X(8warps, 128,  64,     64,      3,  4,  2,  1,      1,      0)
/* clang-format on */

/*
 * Threads in a block, and bytes of dynamic shared memory: the ring, with two bytes per element. A
 * tma tile adds the tile of C and two barriers per stage.
 */
#define MMA_GEMM_THREADS(wm, wn, wk) (32u * (wm) * (wn) * (wk))
#define MMA_GEMM_RING(m, n, k_step, stages) (2u * (stages) * (k_step) * ((m) + (n)))
#define MMA_GEMM_TMA_SHARED(m, n, stages)                                                          \
    (MMA_GEMM_RING(m, n, 64, stages) + 2u * (m) * (n) + 16u * (stages))

#ifndef __CUDACC__
struct mma_gemm_tile {
    const char *name;      /* "<m>x<n>", "<m>x<n>_tma", "<m>x<n>_2warps": ends the kernel's name */
    uint32_t m, n, k_step; /* elements */
    uint32_t split;        /* blocks that share a tile of C: always 1 */
    uint32_t tma;          /* 1: the kernel takes mma_gemm_tma_args */
    uint32_t min_cc;       /* lowest compute capability that has the kernel: 75, 80 or 90 */
    uint32_t threads;      /* in a block */
    uint32_t shared;       /* bytes of dynamic shared memory */
};

/* clang-format off */
#define MMA_GEMM_ROW(m, n, k_step, stages, wm, wn, wk, blocks, rotate) \
    {#m "x" #n, m, n, k_step, 1, 0, MMA_GEMM_RING(m, n, k_step, stages) > 49152 ? 80 : 75, \
     MMA_GEMM_THREADS(wm, wn, wk), MMA_GEMM_RING(m, n, k_step, stages)},
#define MMA_GEMM_TMA_ROW(m, n, stages, wm, wn) \
    {#m "x" #n "_tma", m, n, 64, 1, 1, 90, MMA_GEMM_THREADS(wm, wn, 1) + 32, \
     MMA_GEMM_TMA_SHARED(m, n, stages)},
/* clang-format on */
static const struct mma_gemm_tile mma_gemm_tiles[] = {MMA_GEMM_TILES(MMA_GEMM_ROW)
                                                          MMA_GEMM_TMA_TILES(MMA_GEMM_TMA_ROW)};
/* clang-format off */
#define MMA_GEMM_WARP_ROW(name, m, n, k_step, stages, wm, wn, wk, blocks, rotate) \
    {#m "x" #n "_" #name, m, n, k_step, 1, 0, 80, \
     MMA_GEMM_THREADS(wm, wn, wk), MMA_GEMM_RING(m, n, k_step, stages)},
/* clang-format on */
static const struct mma_gemm_tile mma_gemm_warp_tiles[] = {MMA_GEMM_WARP_TILES(MMA_GEMM_WARP_ROW)};
#undef MMA_GEMM_ROW
#undef MMA_GEMM_TMA_ROW
#undef MMA_GEMM_WARP_ROW
#endif

#endif
