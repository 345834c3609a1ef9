/* The blocks of a product: how many there are, what they fetch, where they run, and when they reach
 * each stage. */
#ifndef MATMUL_BLOCK_COUNT_BLOCKS_H
#define MATMUL_BLOCK_COUNT_BLOCKS_H

#include "core/gpu.h"
#include "matmul/common/way.h"

/* --- how many, and what for ------------------------------------------------------------------- */

struct geometry {
    unsigned tile_m, tile_n, threads;
    unsigned blocks;
    unsigned wide, high; /* C in tiles */
    unsigned tiles;      /* number that is computed */
    unsigned a_block;    /* tiles, or parts of tiles, that the busiest block computes */
};

struct geometry blocks_geometry(const struct product *p, const struct way *w);

/* Bytes of A and B requested from the L2. Blocks that share an operand fetch it once for both, as
 * soon as they know that the other has begun. */
double blocks_operand_bytes(const struct product *p, const struct way *w, const struct geometry *g);

/* --- what they saw ---------------------------------------------------------------------------- */

/* For each watched launch: ns from the first block's start to the last block's start. Then medians
 * over blocks of the cycles from a block's start to its first operands, to issuing its last copy,
 * to its last product, and to its end. */
enum { BLOCKS_MOMENTS = 5, BLOCKS_WATCHED = 9 };

struct blocks_seen {
    unsigned busiest, idle; /* blocks on the SM that ran most; SMs without a block */
    double moment[BLOCKS_MOMENTS][BLOCKS_WATCHED];
};

/* Launches the watched twin; false where the tile has none. */
bool blocks_watch(struct probe_run *r, const struct ways *ways, const struct product *p,
                  const struct way *w, unsigned blocks, struct blocks_seen *s);

/* The median over the watched launches; sorts them. */
double blocks_median(double values[BLOCKS_WATCHED]);

#endif
