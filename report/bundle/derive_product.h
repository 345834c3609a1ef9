/* Predicts the time of a product from the chip's own figures: a model for the rows of block_count.
 *
 * The model follows one block. It starts. It learns where its operands are (a load from the L2) and
 * gets its first copy (a bulk copy from the L2). Then it copies and multiplies at once, so the
 * longer of the two counts, plus one k-step of the shorter: the first copies have no products to
 * overlap, or the last products no copies. If a tile is split, it sends the sums that belong to
 * other blocks. It writes its tile, and ends when the last write is acknowledged (a round trip to
 * the L2). No figure is fitted. The only one taken from the row itself is the time of the same
 * kernel when it returns at once.
 *
 * For the board on which it was made it is not a blind prediction. Its first terms were written,
 * and the rate of reading was chosen, with nine times at 1024^3 of an H200 in view: of bandwidth's
 * three rates, that of lines read by two SMs comes nearest. The next 21 warm rows were predicted
 * blind, with a median error of 13 %, nearly all too low. Then the k-step of the shorter was added,
 * which makes it 9 % over tiles and waves, and 10 % over all 30. Other boards are its test.
 *
 * It does not know which blocks are neighbours and so ask for the same lines at the same time, what
 * barriers and the writing of C cost, and the clock under the power limit. */
#ifndef REPORT_BUNDLE_DERIVE_PRODUCT_H
#define REPORT_BUNDLE_DERIVE_PRODUCT_H

#include "report/bundle/rows.h"

/* Figures of one SM unless stated otherwise. */
struct product_chip {
    double l2_ns, copy_ns;       /* from the L2: a dependent load, a bulk copy of few bytes */
    double read_rate;            /* bytes/ns from the L2, of lines that a second SM reads, too */
    double write_rate;           /* bytes/ns into the L2 by bulk copies */
    double ghz;                  /* the SM's clock */
    double wgmma_cycles;         /* of one m64n256k16 */
    double shared_bytes;         /* per cycle, out of shared memory */
    double exchange_bytes;       /* per cycle, into another SM's shared memory */
};

struct product_row {
    double tile_m, tile_n, k;
    double split;                /* blocks that share a tile's k */
    double on_busiest;           /* tiles, or their parts, that the busiest SM computes */
    double rounds;               /* waves in which its blocks come, one or several at a time */
    double empty_ns;
};

double derive_product_ns(const struct product_chip *chip, const struct product_row *row);

/* Makes derived.predicted_time and derived.prediction_error for the warm rows of block_count.time
 * of the wgmma kernel. */
void derive_products(const struct rows *rows, struct rows *made, double n_sm);

extern const char *const derive_product_needs[]; /* up to NULL; report/bundle/needs.h */

#endif
