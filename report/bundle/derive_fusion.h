/* What a fusion gains, predicted from counts of what its kernels do and figures of the chip; beside
 * it, what it gained.
 *
 * An operation takes the sum over its kernels of an edge and of what takes longest:
 *
 *     bytes        over the rate of a copy of the same probe, size, mode and cache state beyond one
 *                  edge; of operands, results and spilled registers
 *     draw         the same bytes over what the SMs that have a block can take in, each as many as
 *                  arrive where all read the same lines at once (bandwidth.in_step): there nothing
 *                  but the SM is the limit
 *     waiting      trips x latency: the loads that a thread waits for one behind the other, times the
 *                  rounds in which blocks come. The latency is that under the load which the kernel's
 *                  own bytes make in that time (bandwidth.loaded_latency)
 *     arithmetic   fp32 operations, or exponentials, over what those SMs finish in that time
 *                  (instructions.throughput); a product, over the rate of the product alone. Where
 *                  the product inside is ours and slower than the chain's, nothing is predicted
 *
 * Where an SM has one block at a time, which loads all that it works on before it stores any,
 * nothing overlaps: arithmetic comes on top of the other three. Spilled registers move at the L2's
 * rate where it holds those of all resident threads, at that of the copy otherwise.
 *
 * edge is what a dependent kernel costs in a graph (edges.step by graph, with no body). Where the
 * buffers are cold, the bytes that the unfused chain moves beyond those of the fused kernel are its
 * intermediates: they move at the warm copy's rate where the probe has a warm copy of that size,
 * that is, where they fit the L2. A probe that says what its kernels do and has no copy of that size
 * gets the rate of bandwidth's copy, and so does one whose copy takes less than an edge and a half. Of a probe that says nothing of its kernels, bytes and edges
 * are all there is: traffic_gain is that for all of them.
 *
 * The gain is the time of impl=unfused over that of impl=fused, both by graph; where there is no chain,
 * that of impl=twice, one kernel that reads its input twice instead of holding it. Some other forms
 * count as fusions of their own, with `impl` among their keys: see `pairs` in derive_fusion.c.
 *
 * No constant is fitted. Bytes and edges were written before the bundles that they are scored on
 * were measured, but after the first runs of bias_gelu_scale; the other terms with the times of an
 * H200 in view, none of them chosen by a number. What it does not know: barriers and shuffles, how a
 * block begins and ends, latency under a load that writes, instructions that are neither of the
 * two kinds, exponentials that get in the way of a product. That the L2 holds what is spilled is
 * assumed, not measured: in no case here does it. */
#ifndef REPORT_BUNDLE_DERIVE_FUSION_H
#define REPORT_BUNDLE_DERIVE_FUSION_H

#include "report/bundle/rows.h"

/* NaN: not measured; what needs it is left out. */
struct fusion_chip {
    double edge_ns;
    double rate, warm_rate;   /* bytes/ns; warm_rate NaN: as rate */
    double n_sm;
    double sm_rate;           /* bytes/ns that one SM can take in */
    double load_ns[3], load[3]; /* latency at so many bytes/ns of the whole chip, rising from 0 */
    double ghz;
    double operations, exponentials; /* of one SM in a cycle */
    double l2_bytes, l2_rate;
};

/* One kernel, by count; 0: not known. fused/common/operation.h says what is what. */
struct fusion_kernel {
    double bytes, blocks, trips, alone, spilled, local, operations, exponentials, flops;
    double product_rate; /* flops/ns */
};

/* Time without the edge; `cached` of its bytes, a share, come out of the L2. */
double derive_kernel_ns(const struct fusion_chip *chip, const struct fusion_kernel *kernel,
                        double cached);

/* By bytes and edges alone: time of the unfused chain over that of the fused kernel. */
double derive_fusion_gain(const struct fusion_chip *chip, double unfused_kernels,
                          double unfused_bytes, double fused_kernels, double fused_bytes);

/* Adds derived.fusion_gain, derived.predicted_gain, derived.gain_error, derived.traffic_gain and
 * derived.bytes_cut, whose keys are those of the fused time with the probe's name in front. n_sm: NaN
 * or 0 where it is not known. */
void derive_fusions(const struct rows *rows, struct rows *made, double n_sm);

extern const char *const derive_fusion_needs[]; /* up to NULL; report/bundle/needs.h */

#endif
