/*
 * Arguments and table of the wgmma matrix product in wgmma_gemm.cu, compute capability 9.0 only.
 *
 * C host code and the kernels read this one file, so the host keeps no copy of a tile's shape,
 * thread count, cluster or shared memory size.
 *
 * To launch a row of the table:
 *   1. Encode three tensor maps with the boxes that wgmma_gemm_boxes() names (rank 2, 128-byte
 *      swizzle, no fill: gpu_tensor_map() as it is). Copy them into device memory one after
 *      another: A, B, C. The kernel reads them there and not from its arguments, where they would
 *      be new in each launch and delay the first data by another 150 cycles.
 *   2. gpu_launch_shape() with the grid of wgmma_gemm_grid(), the row's threads, shared bytes and
 *      cluster, and struct wgmma_gemm_args.
 * m and k may have any value. n must be a multiple of 8, because a bulk store writes 16 bytes at a
 * time, beyond the last column too. A tensor map sets further limits: operands on 16-byte
 * boundaries and leading dimensions that are multiples of 8 elements. k must exceed 64 * (split -
 * 1). The parts of a tile beyond the edges are read as zeros and never written.
 */
#ifndef MATMUL_COMMON_WGMMA_GEMM_H
#define MATMUL_COMMON_WGMMA_GEMM_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

struct wgmma_gemm_watch; /* below */

/* C = A x B, elements of 16 bits, sums in fp32 unless the kernel's name says otherwise. */
struct wgmma_gemm_args {
    const void *maps;               /* device memory, 64-byte aligned: maps of A, B and C */
    struct wgmma_gemm_watch *watch; /* one per block; only watched kernels use it */
    uint32_t m, n, k;               /* k = 0: returns at once, an empty kernel of equal shape */
    uint32_t tiles;                 /* persistent rows: number of tiles to compute; 0: all */
    uint32_t group;                 /* persistent rows: tiles along m in a band; not 0 */
    uint32_t pad;
};
ARGS_SIZE(struct wgmma_gemm_args, 40);

/*
 * The same for the stream-K kernels of wgmma_stream.cu: a cooperative grid of any size. The k-steps
 * of all tiles are counted, tile after tile, and every block takes an equal share of them. A tile
 * shared by several blocks is written by the block that has its first k-step; the others leave
 * their sums in `partials` for it.
 */
struct wgmma_stream_args {
    const void *maps;  /* as above */
    float *partials;   /* one tile per block: WGMMA_STREAM_PARTIAL(m, n) bytes each */
    uint32_t *came;    /* a word per block; zero before the first launch, and after each */
    struct grid_barrier_state *state; /* only `aborted` is used: once set, C is NaN */
    uint32_t m, n, k;
    uint32_t budget_ns; /* for one wait */
};
ARGS_SIZE(struct wgmma_stream_args, 48);

/* What a block of a watched kernel records. Cycles are those of its SM's clock. If it has several
 * tiles, first_data belongs to the first and products_done to the last. */
struct wgmma_gemm_watch {
    uint64_t sm;
    uint64_t start_ns, end_ns; /* %globaltimer, by the first warp */
    uint64_t start, first_data, products_done, end; /* cycles, by the first warp */
    uint64_t fetched; /* cycles: the last copy was issued, by the fetching warp */
};
ARGS_SIZE(struct wgmma_gemm_watch, 64);

enum { WGMMA_GEMM_K_STEP = 64, WGMMA_GEMM_MAP_BYTES = 128 };

/*
 * One row per kernel. The fastest of each size on an H200, in us per graph node, N(0,1), warm L2;
 * in brackets the best that cuBLASLt's heuristic offers (32 MiB of workspace), replayed in turn:
 *
 *     512^3    32x64          2.61 (3.08)      1024^3   128x64         4.81 (5.14)
 *     1536^3   96x192        11.45 (11.47)     2048^3   256x128_once   25.5 (24.5)
 *     4096^3   256x128        206 (199) in bf16, 128x256 205
 *     3072^3   192x192        80.7 (81.7): 256 tiles are 1.94 waves of 132, 256x128's 288 are 2.18
 *
 *     8 x 4096 x 4096, bf16, cold: 10.7 (12.3), by a tile of few rows and many stages: 128 blocks
 *     fetch, and nearly all that they need is under way at the start
 *
 * Launched as dependents (gpu_shape.dependent) they take: 48x64 2.19 (512^3), the others 4.33
 * (bf16), 10.98, 25.0 and 206.
 *
 *   m, n        rows and columns of C of one tile
 *   stages      slots of the ring in shared memory, one k-step of 64 each
 *   wgs         warpgroups that compute; each has n / wgs columns of the tile and all its rows
 *   cm, cn      blocks of a cluster along m and along n
 *   multicast   1: they share what they fetch; 0: the cluster only makes them neighbours
 *   split       blocks, of one cluster, that share a tile: each has a part of k
 *   persistent  1: a grid of any number of clusters walks all tiles
 *   spare       1: the fetching warp has a warpgroup of its own and gives its registers away
 *
 * The kernels of a row are wgmma_gemm_fp16_<name> and wgmma_gemm_bf16_<name>, layout nn. There are
 * also
 *   wgmma_gemm_fp16_nt_, wgmma_gemm_fp16_tn_     the other layouts: 128x64, 256x128
 *   wgmma_gemm_fp16_sums_in_fp16_                sums in fp16 within a k-loop: 128x64
 *   wgmma_watched_fp16_                          the same kernel, which fills args.watch: for every
 *                                                tile but 256x128, 128x256 and those of 192 rows
 *   wgmma_loads_fp16_                            all copies and barriers, no products: C is garbage
 *   wgmma_products_fp16_                         all products, of whatever is there; no copies
 * the last two for 128x64, 128x64_alone, 128x64_multicast, 128x64_persistent, 64x128_alone,
 * 32x256_alone, 128x128_split2 and 64x64.
 */
/* clang-format off */
#define WGMMA_GEMM_TILES(X) \
    /* name                m,   n, stages, wgs, cm, cn, multicast, split, persistent, spare */ \
    X(256x128,           256, 128,      4,   2,  2,  1,         1,     1,          1,     1) \
    X(256x128_once,      256, 128,      4,   2,  1,  2,         1,     1,          0,     1) \
    X(128x256,           128, 256,      4,   2,  1,  2,         1,     1,          1,     1) \
    X(192x192,           192, 192,      4,   3,  2,  1,         1,     1,          1,     1) \
    X(192x192_once,      192, 192,      4,   3,  1,  2,         1,     1,          0,     1) \
    X(192x128,           192, 128,      5,   2,  2,  1,         1,     1,          1,     1) \
    X(96x192,             96, 192,      5,   3,  1,  2,         1,     1,          0,     1) \
    X(128x128,           128, 128,      6,   2,  2,  1,         0,     1,          0,     0) \
    X(128x128_split2,    128, 128,      5,   2,  1,  1,         0,     2,          0,     0) \
    X(128x128_split4,    128, 128,      4,   2,  1,  1,         0,     4,          0,     0) \
    X(128x64,            128,  64,      8,   1,  2,  1,         0,     1,          0,     0) \
    X(128x64_alone,      128,  64,      8,   1,  1,  1,         0,     1,          0,     0) \
    X(128x64_multicast,  128,  64,      8,   1,  2,  1,         1,     1,          0,     0) \
    X(128x64_4stages,    128,  64,      4,   1,  2,  1,         0,     1,          0,     0) \
    X(128x64_persistent, 128,  64,      8,   1,  1,  1,         0,     1,          1,     0) \
    X(64x128_alone,       64, 128,      8,   1,  1,  1,         0,     1,          0,     0) \
    X(32x256_alone,       32, 256,      5,   4,  1,  1,         0,     1,          0,     0) \
    X(16x512_alone,       16, 512,      3,   4,  1,  1,         0,     1,          0,     0) \
    X(64x64,              64,  64,      4,   1,  2,  1,         0,     1,          0,     0) \
    X(64x64_split2,       64,  64,      4,   1,  1,  1,         0,     2,          0,     0) \
    X(48x64,              48,  64,      8,   1,  1,  1,         0,     1,          0,     0) \
    X(32x64,              32,  64,      4,   1,  2,  1,         0,     1,          0,     0) \
    X(32x64_split2,       32,  64,     16,   1,  1,  1,         0,     2,          0,     0) \
    X(16x64_alone,        16,  64,     20,   1,  1,  1,         0,     1,          0,     0)

/* The stream-K kernels wgmma_stream_fp16_<name> and wgmma_stream_bf16_<name>: the tile of that
 * name, with equal shares of k-steps. */
#define WGMMA_STREAM_TILES(X) \
    X(128x64_stream,     128,  64,      8,   1,  2,  1,         0,     1,          0,     0)
/* clang-format on */
#define WGMMA_STREAM_PARTIAL(m, n) (4u * (m) * (n))

/*
 * Bytes of dynamic shared memory: the ring, the staging area of C, what other blocks of a split
 * tile send, and the barriers. The staging area holds the whole tile where that is small, else
 * `out` rows of the 64 columns that a warpgroup writes at a time.
 */
#define WGMMA_GEMM_THREADS(wgs, spare) (128u * (wgs) + ((spare) ? 128u : 32u))
#define WGMMA_GEMM_ROWS(m, split) ((m) / (split))
#define WGMMA_GEMM_SMALL(m, n, split, persistent) \
    (!(persistent) && 2u * (n) * WGMMA_GEMM_ROWS(m, split) <= 20480)
#define WGMMA_GEMM_OUT(m, n, split, persistent)                                                    \
    (WGMMA_GEMM_SMALL(m, n, split, persistent) || WGMMA_GEMM_ROWS(m, split) <= 64                  \
         ? WGMMA_GEMM_ROWS(m, split)                                                               \
     : WGMMA_GEMM_ROWS(m, split) % 64 == 0 ? 64u                                                   \
                                           : 48u)
#define WGMMA_GEMM_OUT_BYTES(m, n, wgs, split, persistent)                                         \
    (WGMMA_GEMM_SMALL(m, n, split, persistent)                                                     \
         ? 2u * (n) * WGMMA_GEMM_ROWS(m, split)                                                    \
         : 128u * (wgs) * WGMMA_GEMM_OUT(m, n, split, persistent))
#define WGMMA_GEMM_RING(m, n, stages) (128u * (stages) * ((m) + (n)))
#define WGMMA_GEMM_SUMS(m, n, split) (4u * (m) * (n) / (split) * ((split) - 1))
#define WGMMA_GEMM_SHARED(m, n, stages, wgs, split, persistent)                                    \
    (WGMMA_GEMM_RING(m, n, stages) + WGMMA_GEMM_OUT_BYTES(m, n, wgs, split, persistent) +          \
     WGMMA_GEMM_SUMS(m, n, split) + 16u * (stages) + 16u)

#ifndef __CUDACC__
struct wgmma_gemm_tile {
    const char *name;           /* the end of the kernel's name */
    uint32_t m, n, k_step;      /* elements */
    uint32_t stages, warpgroups;
    uint32_t cluster_m, cluster_n, multicast, split, persistent;
    uint32_t threads;           /* in a block */
    uint32_t cluster;           /* blocks in a cluster, all along x */
    uint32_t shared;            /* bytes of dynamic shared memory */
    uint32_t out;               /* rows of C in one store */
};

#define WGMMA_GEMM_ROW(name, m, n, stages, wgs, cm, cn, multicast, split, persistent, spare)       \
    {#name,                                                                                        \
     m,                                                                                            \
     n,                                                                                            \
     WGMMA_GEMM_K_STEP,                                                                            \
     stages,                                                                                       \
     wgs,                                                                                          \
     cm,                                                                                           \
     cn,                                                                                           \
     multicast,                                                                                    \
     split,                                                                                        \
     persistent,                                                                                   \
     WGMMA_GEMM_THREADS(wgs, spare),                                                               \
     (cm) * (cn) * (split),                                                                        \
     WGMMA_GEMM_SHARED(m, n, stages, wgs, split, persistent),                                      \
     WGMMA_GEMM_OUT(m, n, split, persistent)},
static const struct wgmma_gemm_tile wgmma_gemm_tiles[] = {WGMMA_GEMM_TILES(WGMMA_GEMM_ROW)};
static const struct wgmma_gemm_tile wgmma_stream_tiles[] = {WGMMA_STREAM_TILES(WGMMA_GEMM_ROW)};
#undef WGMMA_GEMM_ROW

/* Boxes of the tensor maps of A, B and C for a layout of core/blas.h: rows and columns of the
 * stored matrix, in elements. */
struct wgmma_gemm_box {
    uint32_t rows, columns;
};
void wgmma_gemm_boxes(const struct wgmma_gemm_tile *t, const char *layout,
                      struct wgmma_gemm_box box[3]);

/* Blocks in x and y. A persistent row takes any multiple of its cluster in x instead; a sensible
 * number is what the GPU holds at once. */
void wgmma_gemm_grid(const struct wgmma_gemm_tile *t, uint32_t m, uint32_t n, uint32_t grid[2]);
#endif

#endif
