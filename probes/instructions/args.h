/* Arguments of the kernels in instructions.cu, for C and CUDA alike. */
#ifndef PROBES_INSTRUCTIONS_ARGS_H
#define PROBES_INSTRUCTIONS_ARGS_H

#include <stdint.h>

#include "core/args.h"

/* A chain of one instruction, each with the result of the one before. */
enum {
    CHAIN_SHORT = 128, /* instructions between the first two clock reads */
    CHAIN_LONG = 256,  /* and between the next two: the slope is over the 128 between them */
    MMA_SHORT = 32,    /* the same of mma.sync, each of which takes twenty cycles */
    MMA_LONG = 64,
    WGMMA_SHORT = 4,   /* and of wgmma with n = 256, which takes a hundred; then twice as many */
    WGMMA_NARROW_SHORT = 12, /* the same with n of 64 or 8 */
    LATENCY_TURNS = 31,

    SCALAR_CHAINS = 4, /* independent ones of a warp, for the throughput */
    SCALAR_WARPS = 32,
    FULL_RATE_UNROLL = 512, /* instructions of a warp in a turn: the loop's own 3 are 0.6 % */
    SCALAR_UNROLL = 128,    /* and where they find free slots, nothing */
    MMA_CHAINS = 8,
    MMA_WARPS = 16,
    MMA_UNROLL = 64,
    WGMMA_GROUPS = 2, /* warpgroups of four warps */
    WGMMA_UNROLL = 8,

    SCALAR_OPERANDS = 4, /* a, b of even steps, a, b of odd ones */
    RING_TILES = 8,      /* of the ldmatrix ring: 32 rows of 16 bytes each */
    TILE_BYTES = 512,
    WGMMA_SLICES = 4,    /* operands of so many wgmma along k lie in shared memory */
    A_SLICE_BYTES = 64 * 32,
    B_SLICE_BYTES = 256 * 32,
    A_BYTES = WGMMA_SLICES * A_SLICE_BYTES,
    B_BYTES = WGMMA_SLICES * B_SLICE_BYTES,
};

struct instructions_args {
    const uint64_t *in; /* operands and first values; each kind of chain says how */
    uint32_t *out;      /* what the chains of one block end with: [chain][word][thread] */
    uint64_t *cycles;   /* latency: the whole loop, then two stretches a turn; else one a block */
    uint32_t turns;     /* of the loop */
    uint32_t witness;   /* block that writes `out` */
};
ARGS_SIZE(struct instructions_args, 32);

/* Tile of the ldmatrix ring that follows, and the words that no address is made of. */
ARGS_BOTH uint32_t ring_next(uint32_t tile)
{
    return (5 * tile + 3) % RING_TILES; /* visits all eight (Hull and Dobell, 1962) */
}

ARGS_BOTH uint32_t ring_word(uint32_t tile, uint32_t row, uint32_t word)
{
    return (tile * 128 + row * 4 + word) * 0x9e3779b9u;
}

#endif
