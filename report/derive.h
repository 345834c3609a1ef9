/* Derived figures: what is read off several cases or probes rather than measured by one.
 *
 *   derived.capacity{level=l1|l2_near|l2}        bytes   footprint a tenth up between plateaus
 *   derived.bytes_in_flight{level,warps,loads}   bytes   per SM, by Little's law
 *   derived.flops{keys of small_gemm.time}       flop/s  2 m n k / time
 *
 * Each is formed per run from values of that run, then reduced like any other row. */
#ifndef GPUFLOOR_DERIVE_H
#define GPUFLOOR_DERIVE_H

#include <jansson.h>
#include <stddef.h>

#include "report/rows.h"

/* Adds the derived rows to finished rows, and finishes them anew. `gpu` is environment.gpu, or
 * NULL. What cannot be had is a row without value that says why, where its inputs were measured at
 * all. */
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

/* Finds the steps of a curve, in order; returns how many, at most `most`. Plateaus may slope, as
 * the far partition of an L2 and device memory behind a TLB do. */
size_t derive_steps(struct curve curve, struct step *steps, size_t most);

struct capacities {
    double l1, l2_near, l2; /* bytes; NaN where the curve shows none */
};

/* Reads capacities off a curve. l2_bytes is the L2 size that the GPU states, 0 when not known: it
 * only decides which of several steps is the L2's end, never the value. */
struct capacities derive_capacities(struct curve curve, double l2_bytes);

/* Bytes in flight on each SM that sustain `rate` bytes/s at a latency of `load_ns`. */
double derive_in_flight(double rate, double load_ns, double n_sm);

/* What each derived metric is, for the list of metrics; NULL past the last one. */
struct derived_metric {
    const char *name, *unit, *keys, *what;
};
const struct derived_metric *derived_metric(size_t i);

#endif
