/* What a fusion gains, predicted from bytes, kernels and two figures of the chip; beside it, what it
 * gained.
 *
 * An operation of k kernels that moves B bytes takes, by the model,
 *
 *     t = k x edge + B / rate
 *
 * edge is what a dependent kernel costs in a graph (edges.step by graph, with no body). rate is what
 * the copy of the same probe, size, mode and cache state reaches beyond one edge. Where the buffers
 * are cold, the bytes that the unfused chain moves beyond those of the fused kernel are its
 * intermediates: they move at the warm copy's rate where the probe has a warm copy of that size, that
 * is, where they fit the L2.
 *
 * The gain is the time of impl=unfused over that of impl=fused, both by graph; where there is no chain,
 * that of impl=twice, one kernel that reads its input twice instead of holding it. The model knows no
 * instruction and no operation: products, and what little fits one SM, are beyond it. It was written
 * before the bundles that it is scored on were measured, but after the first runs of bias_gelu_scale. */
#ifndef GPUFLOOR_DERIVE_FUSION_H
#define GPUFLOOR_DERIVE_FUSION_H

#include "report/rows.h"

struct fusion_chip {
    double edge_ns;
    double rate, warm_rate; /* bytes/ns; warm_rate NaN: as rate */
};

/* Time of the unfused chain over that of the fused kernel. */
double derive_fusion_gain(const struct fusion_chip *chip, double unfused_kernels,
                          double unfused_bytes, double fused_kernels, double fused_bytes);

/* Adds derived.fusion_gain, derived.predicted_gain and derived.gain_error, whose keys are those of
 * the fused time with the probe's name in front. */
void derive_fusions(struct rows *rows);

#endif
