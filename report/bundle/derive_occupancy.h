/* Predicts the curves of occupancy by Little's law: what is in flight over the latency of an idle
 * GPU, up to what the unit can do.
 *
 *     derived.little_rate{level,warps,loads}        bytes/s    of occupancy.read_rate
 *     derived.little_hit{memory,stride,warps,loads} cycles     of occupancy.hit, stride 1
 *     derived.little_fma{warps,chains}              ops/cycle  of occupancy.fma_rate
 *
 * Nothing is fitted, and nothing is taken from the curve itself: latencies are those of
 * memory_latency and instructions, limits those of bandwidth and instructions. The law knows no
 * queue: near the limit, where latency grows with the load, the measured curve lies below. */
#ifndef REPORT_BUNDLE_DERIVE_OCCUPANCY_H
#define REPORT_BUNDLE_DERIVE_OCCUPANCY_H

#include "report/bundle/rows.h"

/* Bytes/s of all SMs with so many bytes in flight on each, at most `limit`; NaN without one. */
double derive_little_rate(double bytes, double load_ns, double n_sm, double limit);

/* Cycles from one load of a chain to the next, where a warp's load takes `bytes` and the SM moves
 * `bytes_a_cycle` at most. */
double derive_little_hit(double in_flight, double load_cycles, double bytes, double bytes_a_cycle);

/* Multiply-adds a cycle of an SM with so many lanes in four quarters, of which each warp uses
 * one. */
double derive_little_fma(double warps, double chains, double fma_cycles, double lanes);

void derive_occupancy(const struct rows *rows, struct rows *made, double n_sm);

extern const char *const derive_occupancy_needs[]; /* up to NULL; report/bundle/needs.h */

#endif
