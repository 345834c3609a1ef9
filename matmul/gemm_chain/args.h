/* Arguments of the kernels in gemm_chain.cu, for C and CUDA alike. */
#ifndef MATMUL_GEMM_CHAIN_ARGS_H
#define MATMUL_GEMM_CHAIN_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    GEMM_CHAIN_COUNTERS = 65, /* one for the whole grid, and one for each row of tiles */
    GEMM_CHAIN_APART = 64,    /* words from one counter to the next: no two share a sector */
};

/*
 * The kernel that computes a tile of 128 x 64 in two halves of 64 rows. Its shared memory holds all
 * weights that the tile needs in one product, a ring of X, the staging area of one half, and the
 * barriers. It uses the grid of the row 128x64 and the tensor maps of the row 64x64.
 */
enum {
    GEMM_CHAIN_HALVES_THREADS = 192,
    GEMM_CHAIN_HALVES_STEPS = 16, /* most steps of k: n <= 1024 */
    GEMM_CHAIN_HALVES_SLOTS = 8,  /* in the ring of X; also the fewest steps: n >= 512 */
    GEMM_CHAIN_HALVES_BOX = 8192, /* bytes of 64 rows or columns of a k-step, or of the staging */
    GEMM_CHAIN_HALVES_BARRIERS =
        GEMM_CHAIN_HALVES_BOX * (GEMM_CHAIN_HALVES_STEPS + GEMM_CHAIN_HALVES_SLOTS + 1),
    GEMM_CHAIN_HALVES_SHARED =
        GEMM_CHAIN_HALVES_BARRIERS + 16 * GEMM_CHAIN_HALVES_SLOTS + 8 * GEMM_CHAIN_HALVES_STEPS,
};

/* X(i+1) = X(i) W(i) for each i, in one cooperative launch of the grid of wgmma_gemm_grid(). */
struct gemm_chain_args {
    const void *maps; /* device memory: maps of X(i), W(i), X(i+1) for each product, as for a way */
    struct grid_barrier_state *state; /* only `aborted` is used */
    uint32_t *counters; /* zero before the first launch with a new shape, tile, or by_rows */
    uint32_t m, n;      /* of X; W is n x n. Multiples of the tile times its cluster */
    uint32_t products;
    uint32_t by_rows;   /* 1: a block waits for the blocks of its own rows; 0: for all blocks */
    uint32_t budget_ns; /* for one wait */
    uint32_t pad;
};
ARGS_SIZE(struct gemm_chain_args, 48);

struct gemm_chain_scale_args {
    void *elements; /* fp16 */
    uint64_t count;
    float factor;
    uint32_t pad;
};
ARGS_SIZE(struct gemm_chain_scale_args, 24);

#endif
