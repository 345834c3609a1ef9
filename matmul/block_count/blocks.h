/* The blocks of a product: how many there are, what they fetch, where they ran, and when they came
 * how far. */
#ifndef MATMUL_BLOCK_COUNT_BLOCKS_H
#define MATMUL_BLOCK_COUNT_BLOCKS_H

#include "core/gpu.h"
#include "matmul/common/way.h"

/* --- how many, and what for ------------------------------------------------------------------- */

struct geometry {
    unsigned tile_m, tile_n, threads;
    unsigned blocks;
    unsigned wide, high;  /* tiles of C */
    unsigned tiles;       /* that are computed */
    unsigned a_block;     /* tiles, or parts of them, that the busiest block computes */
};

struct geometry blocks_geometry(const struct product *p, const struct way *w);

/* Bytes of A and B that are asked of the L2. Blocks that share fetch an operand once for both,
 * once they know that the other one is there. */
double blocks_operand_bytes(const struct product *p, const struct way *w, const struct geometry *g);

/* --- what they saw ---------------------------------------------------------------------------- */

/* Of each launch watched: ns from the first block's start to the last one's; then, medians over
 * blocks, cycles from a block's start to its first operands, to the sending of its last copy, to
 * its last product, and to its end. */
enum { BLOCKS_MOMENTS = 5, BLOCKS_WATCHED = 9 };

struct blocks_seen {
    unsigned busiest, idle; /* blocks on the SM that ran most; SMs without one */
    double moment[BLOCKS_MOMENTS][BLOCKS_WATCHED];
};

/* Launches the watched twin; false where the tile has none. */
bool blocks_watch(struct probe_run *r, const struct ways *ways, const struct product *p,
                  const struct way *w, unsigned blocks, struct blocks_seen *s);

/* Median over the launches watched; sorts them. */
double blocks_median(double values[BLOCKS_WATCHED]);

#endif
