/* Predicts what a fusion gains, from counts of what its kernels do and from figures of the chip,
 * and reports it with the measured gain.
 *
 * The time of an operation is a sum over its kernels. Each contributes an edge plus the longest of
 * these four:
 *
 *     bytes        its bytes (operands, results, spilled registers) over the rate of a copy of the
 *                  same probe, size, mode and cache state, beyond one edge
 *     draw         the same bytes over what the SMs that have a block can take in. An SM's rate is
 *                  the one it reaches when all SMs read the same lines at once (bandwidth.in_step):
 *                  there only the SM is the limit
 *     waiting      trips x latency. Trips are the dependent loads of a thread, times the waves of
 *                  blocks. The latency is that under the load which the kernel's own bytes make in
 *                  that time (bandwidth.loaded_latency)
 *     arithmetic   fp32 operations, or exponentials, over what those SMs finish in that time
 *                  (instructions.throughput); for a product, its flops over the rate of the product
 *                  alone. If the product inside is ours and slower than the chain's, nothing is
 *                  predicted
 *
 * Where an SM has one block at a time, which loads everything before it stores anything, nothing
 * overlaps: arithmetic is added to the longest of the other three. Spilled registers move at the
 * L2's rate where the L2 holds those of all resident threads, else at that of the copy.
 *
 * The edge is the cost of a dependent kernel in a graph (edges.step by graph, with no body). Where
 * the buffers are cold, the bytes that the unfused chain moves beyond those of the fused kernel are
 * its intermediates. They move at the warm copy's rate where the probe has a warm copy of that
 * size, that is, where they fit the L2. A probe that describes its kernels but has no copy of that
 * size gets the rate of bandwidth's copy; so does one whose copy takes less than an edge and a
 * half. For a probe that does not describe its kernels, bytes and edges are the only terms.
 * traffic_gain has these two terms for all probes.
 *
 * The gain is the time of impl=unfused over that of impl=fused, both by graph. Where there is no
 * chain, it is the time of impl=twice, one kernel that reads its input twice instead of holding it.
 * Some other forms count as fusions of their own, with `impl` among their keys: see `pairs` in
 * derive_fusion.c.
 *
 * No constant is fitted. The terms bytes and edges were written before the bundles that they are
 * scored on were measured, but after the first runs of bias_gelu_scale. The other terms were
 * written with the times of an H200 in view; no number decided their choice. The model does not
 * know barriers and shuffles, how a block begins and ends, latency under a load that writes,
 * instructions of other kinds, and exponentials that get in the way of a product. It assumes that
 * the L2 holds what is spilled; in no case here is it so, and it was not measured. */
#ifndef REPORT_BUNDLE_DERIVE_FUSION_H
#define REPORT_BUNDLE_DERIVE_FUSION_H

#include "report/bundle/rows.h"

/* NaN: not measured; what needs it is left out. */
struct fusion_chip {
    double edge_ns;
    double rate, warm_rate;   /* bytes/ns; warm_rate NaN: as rate */
    double n_sm;
    double sm_rate;           /* bytes/ns that one SM can take in */
    double load_ns[3], load[3]; /* latency at these loads of the chip in bytes/ns, rising from 0 */
    double ghz;
    double operations, exponentials; /* of one SM per cycle */
    double l2_bytes, l2_rate;
};

/* One kernel, by count; 0: not known. fused/common/operation.h explains the fields. */
struct fusion_kernel {
    double bytes, blocks, trips, alone, spilled, local, operations, exponentials, flops;
    double product_rate; /* flops/ns */
};

/* Time without the edge; the L2 serves `cached` of its bytes, a share. */
double derive_kernel_ns(const struct fusion_chip *chip, const struct fusion_kernel *kernel,
                        double cached);

/* By bytes and edges alone: the time of the unfused chain over that of the fused kernel. */
double derive_fusion_gain(const struct fusion_chip *chip, double unfused_kernels,
                          double unfused_bytes, double fused_kernels, double fused_bytes);

/* Adds derived.fusion_gain, derived.predicted_gain, derived.gain_error, derived.traffic_gain and
 * derived.bytes_cut. Their keys are those of the fused time, preceded by the probe's name. n_sm:
 * NaN or 0 if unknown. */
void derive_fusions(const struct rows *rows, struct rows *made, double n_sm);

extern const char *const derive_fusion_needs[]; /* up to NULL; report/bundle/needs.h */

#endif
