/* Derived figures: formed from several cases or probes rather than measured by one.
 *
 *   derived.capacity{level=l1|l2_near|l2}        bytes   footprint at a tenth of a rise's height
 *   derived.bytes_in_flight{level,warps,loads}   bytes   per SM, by Little's law
 *   derived.flops{keys of a product's time}      flop/s  2 m n k / time
 *   derived.fixed_time, marginal_flops, fit_error   t(N) = t0 + 2 N^3 / P over squares
 *   derived.predicted_time, derived.prediction_error{keys of block_count.time}
 *                                                ns, ratio  report/bundle/derive_product.h
 *   derived.little_rate, derived.little_hit, derived.little_fma{keys of a point of occupancy}
 *                                                report/bundle/derive_occupancy.h
 *   derived.fusion_gain, derived.predicted_gain, derived.gain_error, derived.traffic_gain,
 *   derived.bytes_cut{probe and keys of a fused time}
 *                                                ratio  report/bundle/derive_fusion.h
 *
 * Each is formed per run from values of that run, and then summarised like any other row. */
#ifndef REPORT_BUNDLE_DERIVE_H
#define REPORT_BUNDLE_DERIVE_H

#include <jansson.h>
#include <stddef.h>

#include "report/bundle/rows.h"

/* Adds the derived rows to finished rows, and finishes them anew. Derived rows are made in a table
 * of their own, so that their inputs do not move meanwhile. `gpu` is environment.gpu, or NULL. If a
 * figure cannot be formed although its inputs were measured, its row has no value and says why. */
void derive(struct rows *rows, const json_t *gpu);

/* Latency over footprint: one run's curve. */
struct curve {
    size_t n;
    const double *bytes, *cycles; /* bytes ascending */
};

/* A rise from one plateau to the next, and the footprint at a tenth of its height. */
struct step {
    double from_cycles, to_cycles, bytes;
};

/* Finds the steps of a curve, in order; returns their number, at most `most`. Plateaus may slope,
 * as the far partition of an L2 and device memory behind a TLB do. */
size_t derive_steps(struct curve curve, struct step *steps, size_t most);

struct capacities {
    double l1, l2_near, l2; /* bytes; NaN where the curve shows none */
};

/* Reads capacities off a curve. l2_bytes is the L2 size that the GPU states, 0 if unknown: it
 * decides which of several steps is the L2's end, never the value. */
struct capacities derive_capacities(struct curve curve, double l2_bytes);

/* Bytes in flight on each SM that sustain `rate` bytes/s at a latency of `load_ns`. */
double derive_in_flight(double rate, double load_ns, double n_sm);

/* The line t = fixed + work / rate through times of different amounts of work. It minimises the
 * squares of the relative errors: 5 % counts the same at any size. NaN for fewer than four
 * times. */
struct fit {
    double fixed_ns, rate; /* work a second */
    double error;          /* root mean square of the relative errors */
};
struct fit derive_fit(const double *work, const double *ns, size_t n);

/* Makes the fits over the squares of gemm_sizes.time; report/bundle/derive_fits.c. */
void derive_fits(const struct rows *rows, struct rows *made);

/* The inputs of derived figures: the i-th need (report/bundle/needs.h), or NULL past the last one.
 * *file names the part of derive that uses it. */
const char *derive_need(size_t i, const char **file);
extern const char *const derive_fits_needs[]; /* up to NULL */

/* What each derived metric is, for the list of metrics; NULL past the last one. */
struct derived_metric {
    const char *name, *unit, *better, *keys, *what; /* better: "higher", "lower" */
};
const struct derived_metric *derived_metric(size_t i);

#endif
