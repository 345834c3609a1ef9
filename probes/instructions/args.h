/* Arguments of the kernels in instructions.cu, for C and CUDA alike. */
#ifndef PROBES_INSTRUCTIONS_ARGS_H
#define PROBES_INSTRUCTIONS_ARGS_H

#include <stdint.h>

#include "core/args.h"

/* A chain of one instruction: each works on the result of the one before. */
enum {
    CHAIN_SHORT = 128, /* instructions between the first two clock reads */
    CHAIN_LONG = 256,  /* and between the next two; the slope is over 128 */
    MMA_SHORT = 32,    /* the same for mma.sync, which takes twenty cycles */
    MMA_LONG = 64,
    WGMMA_SHORT = 4,   /* for wgmma with n = 256, about a hundred cycles; then twice as many */
    WGMMA_NARROW_SHORT = 12, /* the same with n = 64 or 8 */
    LATENCY_TURNS = 31,

    SCALAR_CHAINS = 4, /* independent chains per warp, for the throughput */
    SCALAR_WARPS = 32,
    FULL_RATE_UNROLL = 512, /* instructions per warp and turn: the loop's own 3 are 0.6 % */
    SCALAR_UNROLL = 128,    /* where the loop's own find free issue slots */
    MMA_CHAINS = 8,
    MMA_WARPS = 16,
    MMA_UNROLL = 64,
    WGMMA_GROUPS = 2, /* warpgroups of four warps */
    WGMMA_UNROLL = 8,

    SCALAR_OPERANDS = 4, /* a, b of even steps; a, b of odd steps */
    RING_TILES = 8,      /* tiles of the ldmatrix ring: 32 rows of 16 bytes each */
    TILE_BYTES = 512,
    WGMMA_SLICES = 4,    /* how many wgmma along k have operands in shared memory */
    A_SLICE_BYTES = 64 * 32,
    B_SLICE_BYTES = 256 * 32,
    A_BYTES = WGMMA_SLICES * A_SLICE_BYTES,
    B_BYTES = WGMMA_SLICES * B_SLICE_BYTES,
};

struct instructions_args {
    const uint64_t *in; /* operands and first values; the layout depends on the kind of chain */
    uint32_t *out;      /* what the chains of one block end with: [chain][word][thread] */
    uint64_t *cycles;   /* latency: whole loop, then two stretches per turn; else one per block */
    uint32_t turns;     /* of the loop */
    uint32_t witness;   /* block that writes `out` */
};
ARGS_SIZE(struct instructions_args, 32);

/* The next tile of the ldmatrix ring; the words that hold no address. */
ARGS_BOTH uint32_t ring_next(uint32_t tile)
{
    return (5 * tile + 3) % RING_TILES; /* visits all eight (Hull and Dobell, 1962) */
}

ARGS_BOTH uint32_t ring_word(uint32_t tile, uint32_t row, uint32_t word)
{
    return (tile * 128 + row * 4 + word) * 0x9e3779b9u;
}

#endif
