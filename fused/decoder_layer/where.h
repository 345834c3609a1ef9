/* Where a layer's time goes, from the stamps of a kernel that stays and is watched. */
#ifndef FUSED_DECODER_LAYER_WHERE_H
#define FUSED_DECODER_LAYER_WHERE_H

#include "fused/common/decoder/model.h"

/* A block's time in one step, in four parts that add up to it:
 *   weights      its rows of the matrix, or its keys and values, pass by
 *   activations  it gets what the step before handed over: the quickest block's time for that
 *   waiting      for slower blocks: what it takes longer than the quickest one, at either end
 *   tail         it hands over its own, the barrier included: the quickest block's time; and what
 *                passes until its next step
 * The steps of attention and of the merge poll while they compute; their quickest block that has
 * work tells the work, and what another takes longer is waiting. */
enum decoder_part {
    PART_WEIGHTS, PART_ACTIVATIONS, PART_WAITING, PART_TAIL, DECODER_PARTS
};
extern const char *const decoder_part_names[DECODER_PARTS];
extern const char *const decoder_step_names[DECODER_STEPS];

struct decoder_where {
    double ns[DECODER_STEPS][DECODER_PARTS]; /* means over blocks and layers: they add up */
    double starved[DECODER_STEPS];           /* ns of `weights` without a tile at hand */
    double sum;       /* of all parts: a layer's time in this launch */
    double edge;      /* ns: activations and tail of a step with a product, the median of them */
    double *timeline; /* DECODER_MOMENTS rows of p.blocks: ns since the block began the
                       * layer, means over the layers; NULL: not asked for */
};
enum { DECODER_MOMENTS = DECODER_STEPS * (DECODER_STAMPS - 1) }; /* rows of a timeline */

enum { DECODER_WATCHED = 4 }; /* layers of a launch that is watched, at least */

/* One launch, from stamps of DECODER_WATCHED layers or more, in cycles of `mhz`; the first and the
 * last layer do not count. splits: 1 means that no block stamps the merge. Plain C: `stamps` is
 * host memory. The caller frees nothing: timeline is memory that it gives. */
void decoder_where_of(const struct decoder_problem *p, const uint64_t *stamps, uint32_t layers,
                      double mhz, struct decoder_where *where);

/* What n launches of a problem say, n odd: of each figure the median over them; its sum is that of
 * these medians. All have a timeline, or none has. */
enum { DECODER_WATCHED_MOST = 9 };
void decoder_where_median(const struct decoder_problem *p, const struct decoder_where *launches,
                          size_t n, struct decoder_where *where);

#endif
