/* Arguments of the kernels in gemm_chain.cu, for C and CUDA alike. */
#ifndef MATMUL_GEMM_CHAIN_ARGS_H
#define MATMUL_GEMM_CHAIN_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"

enum {
    GEMM_CHAIN_COUNTERS = 65, /* one of the whole grid, and one for each row of tiles */
    GEMM_CHAIN_APART = 64,    /* words from one counter to the next: no two in a sector */
};

/*
 * The kernel that computes a tile of 128 x 64 in two halves of 64 rows. Shared memory holds all
 * weights that the tile needs of a product, a ring of X, and the way out of a half; then the
 * barriers. It takes the grid of the row 128x64, the tensor maps of the row 64x64.
 */
enum {
    GEMM_CHAIN_HALVES_THREADS = 192,
    GEMM_CHAIN_HALVES_STEPS = 16, /* of k, at most: n <= 1024 */
    GEMM_CHAIN_HALVES_SLOTS = 8,  /* of the ring of X, and the least of steps: n >= 512 */
    GEMM_CHAIN_HALVES_BOX = 8192, /* bytes of 64 rows or columns of a k-step, and of the way out */
    GEMM_CHAIN_HALVES_BARRIERS =
        GEMM_CHAIN_HALVES_BOX * (GEMM_CHAIN_HALVES_STEPS + GEMM_CHAIN_HALVES_SLOTS + 1),
    GEMM_CHAIN_HALVES_SHARED =
        GEMM_CHAIN_HALVES_BARRIERS + 16 * GEMM_CHAIN_HALVES_SLOTS + 8 * GEMM_CHAIN_HALVES_STEPS,
};

/* X(i+1) = X(i) W(i) for each i, in one cooperative launch of the grid of wgmma_gemm_grid(). */
struct gemm_chain_args {
    const void *maps; /* device memory: maps of X(i), W(i), X(i+1) for each product, as for a way */
    struct grid_barrier_state *state; /* of it, `aborted` alone */
    uint32_t *counters; /* zero before the first launch with a new shape, tile, or by_rows */
    uint32_t m, n;      /* of X; W is n x n. Multiples of the tile times its cluster */
    uint32_t products;
    uint32_t by_rows;   /* 1: a block waits for those of its own rows alone; 0: for all */
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
