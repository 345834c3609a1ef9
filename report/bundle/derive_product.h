/* What the chip's own figures make of a product: a model of the time of a row of block_count.
 *
 * A block starts, learns where its operands lie (a load from the L2), has its first copy (a bulk
 * copy from the L2), then copies and multiplies at once, so that the longer of the two counts, and
 * one k-step of the shorter (the first copies have no products beside them, or the last products no
 * copies); sends the sums that belong to others, where a tile is split; writes its tile, and ends
 * when the last write has been answered (a round trip to the L2). No figure in it is fitted. The only
 * one taken from the row itself is the time of the same kernel when it returns at once.
 *
 * It is no blind prediction where it was made. Its first terms were written, and the rate of reading
 * was chosen, with nine times at 1024^3 of an H200 in view: of the three rates that bandwidth has,
 * that of lines read by two SMs comes nearest. The 21 warm rows that followed were predicted blind,
 * 13 % off in the median, nearly all too low; the k-step of the shorter was added then, which makes it 9 %
 * over tiles and waves, and 10 % over all 30. What it says of other boards is the test of it.
 *
 * What it does not know: which blocks stand side by side and so ask for the same lines at the same
 * time; what barriers and the way out cost; the clock under the power limit. */
#ifndef REPORT_BUNDLE_DERIVE_PRODUCT_H
#define REPORT_BUNDLE_DERIVE_PRODUCT_H

#include "report/bundle/rows.h"

/* Of one SM where not said otherwise. */
struct product_chip {
    double l2_ns, copy_ns;       /* a dependent load, a bulk copy of few bytes, both from the L2 */
    double read_rate;            /* bytes/ns from the L2, of lines that a second SM reads, too */
    double write_rate;           /* bytes/ns into the L2 by bulk copies */
    double ghz;                  /* the SM's clock */
    double wgmma_cycles;         /* m64n256k16 */
    double shared_bytes;         /* a cycle, out of shared memory */
    double exchange_bytes;       /* a cycle, into another SM's shared memory */
};

struct product_row {
    double tile_m, tile_n, k;
    double split;                /* blocks that share a tile's k */
    double on_busiest;           /* tiles, or their parts, that the busiest SM computes */
    double rounds;               /* in how many turns its blocks come, side by side or not */
    double empty_ns;
};

double derive_product_ns(const struct product_chip *chip, const struct product_row *row);

/* Makes derived.predicted_time and derived.prediction_error for the warm rows of block_count.time
 * of the wgmma kernel. */
void derive_products(const struct rows *rows, struct rows *made, double n_sm);

extern const char *const derive_product_needs[]; /* up to NULL; report/bundle/needs.h */

#endif
