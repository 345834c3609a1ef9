/* Arguments of the kernels in edges.cu, for C and CUDA alike. */
#ifndef PROBES_EDGES_ARGS_H
#define PROBES_EDGES_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/device/sides.h"

enum {
    EDGES_THREADS = 256,
    EDGES_WARPS = EDGES_THREADS / 32,
    EDGES_CHUNK = 512, /* bytes of the body that one warp reads at a time, 16 per lane */
    EDGES_LOADS = 8,   /* chunks in flight */
    EDGES_SPACING = 8, /* words from one cell to the next: a sector of 32 bytes each */
};

/* Every warp has a cell in each of two rows. Step k reads, in row k % 2, the cell of the next warp
 * of the next block, mixes it with what it read of the body, and writes its own cell in the other
 * row. */
struct edges_args {
    uint32_t *cells;       /* two rows, one word for each warp of the grid */
    const void *body;      /* chunks x EDGES_CHUNK bytes, read by the whole grid in every step */
    uint32_t *census;      /* %smid of each block, or NULL */
    struct grid_barrier_state *barrier;
    uint32_t first, steps; /* number of the first step; how many steps this launch takes */
    uint32_t chunks;       /* 0: no body */
    uint32_t budget_ns;    /* for one wait in the kernel */
};
ARGS_SIZE(struct edges_args, 48);

/* --- exchange.cu ------------------------------------------------------------------------------ */

enum {
    EXCHANGE_THREADS = 256,       /* that exchange; one warp more may stream */
    EXCHANGE_TOGETHER = 8,        /* pairs of words that a thread takes at a time */
    EXCHANGE_TILES = 4,           /* of the stream, on their way to an SM */
    EXCHANGE_TILE_BYTES = 16384,
    EXCHANGE_SHARED = EXCHANGE_TILES * EXCHANGE_TILE_BYTES, /* and two rows of words */
    EXCHANGE_STATIC = 64,         /* at most, beside it */
};

/* In exchange k every block puts its share of the words into row k % 2 of the mail, and takes all
 * of them. Word i is the mix of word exchange_other(i) of the exchange before, and in the first one
 * of `first`. Thread t of a block takes pairs t, t + EXCHANGE_THREADS ... */
struct exchange_args {
    void *mail;            /* two rows of words, by values each with its epoch: 8 bytes, else 4 */
    const uint32_t *first; /* the words before the first exchange */
    uint32_t *digests;     /* of all that each exchanging thread of each block took */
    uint32_t *census;      /* %smid of each block, or NULL */
    const void *body;      /* what is streamed: body_tiles tiles, which all blocks read in turn */
    uint32_t *tiles;       /* how many each block's ninth warp had */
    uint32_t *tile_sums;   /* XOR of the last EXCHANGE_TILES of them, or NULL */
    struct grid_barrier_state *barrier;
    uint32_t words;        /* a power of two, 64 at least, and no fewer than there are blocks */
    uint32_t exchanges;
    uint32_t epoch;        /* of the first exchange; later ones count on. None was used before */
    uint32_t body_tiles;   /* 0: nothing is streamed */
    uint32_t tiles_most;   /* that a block streams, so that it ends whatever happens */
    uint32_t budget_ns;    /* for one wait in the kernel */
};
ARGS_SIZE(struct exchange_args, 88);

ARGS_BOTH uint32_t exchange_mix(uint32_t word) { return word * 0x9e3779b1u + 1; }
/* Another block's and another thread's. */
ARGS_BOTH uint32_t exchange_other(uint32_t i, uint32_t words)
{
    return (i + words / 2 + 1) & (words - 1);
}

/* --- beside.cu -------------------------------------------------------------------------------- */

enum {
    BESIDE_STAGES_MOST = 16,   /* tiles of the stream on their way to an SM */
    BESIDE_STATIC = 160,       /* bytes of shared memory, at most, beside tiles and two rows */
    BESIDE_LOOK_NS = 2000,     /* from one look for the end to the next, of who only streams */
    BESIDE_NO_SHARE = 1 << 29, /* a role: exchanges nothing */
    BESIDE_QUIET = 1 << 30,    /* added to a role: streams nothing */
};

/* In exchange k every block that has a share of the words puts it, and takes all words. Of `x`,
 * words is 4 at least, and no fewer than there are shares; body_tiles counts tiles of tile_bytes,
 * and tile_sums has the last `stages` of them. */
struct beside_args {
    struct exchange_args x;
    const uint32_t *roles; /* by %smid, which share; NULL: block b has share b, and all stream */
    uint32_t *over;        /* x.epoch, when share 0 has had its last exchange */
    uint32_t shares;       /* of the words. 0: nobody exchanges, and the stream lasts alone_ns */
    uint32_t tile_bytes;   /* a multiple of EDGES_CHUNK */
    uint32_t stages;       /* tiles on their way to an SM; shared memory has them before the rows */
    uint32_t alone_ns;
    uint32_t pieces;       /* copies that bring a tile: 1, or of SIDES_PIECE bytes that are near */
    uint32_t unused;
    struct sides_map sides; /* of the body: where `pieces` is not 1, tiles are dealt out by side */
};
ARGS_SIZE(struct beside_args, 168);

/* --- different.cu ----------------------------------------------------------------------------- */

enum {
    DIFFERENT_KERNELS = 14, /* as many as a decoder's layer has, one for each operator */
    DIFFERENT_PARTS = 8,    /* that its code works on side by side */
    DIFFERENT_TURNS = 48,   /* of it: each an XOR and a multiply-add for each part, 16 bytes each */
    DIFFERENT_BYTES = 2 * 16 * DIFFERENT_PARTS * DIFFERENT_TURNS,
};

/* Numbers that stand in the code of kernel `which` and nowhere else, i < DIFFERENT_PARTS x
 * DIFFERENT_TURNS. The second is odd. */
ARGS_BOTH uint32_t different_number(uint32_t which, uint32_t i)
{
    return (which * 0x9e3779b1u + i + 1) * 0x85ebca6bu ^ (which * 0x9e3779b1u + i) >> 7;
}
ARGS_BOTH uint32_t different_factor(uint32_t which, uint32_t i)
{
    return different_number(which, ~i) | 1;
}

#endif
