/* What stamps say: for which share of the time two operations, or two layers, are at work at
 * once. */
#ifndef FUSED_TWO_LAYERS_STAMPS_H
#define FUSED_TWO_LAYERS_STAMPS_H

#include <stdbool.h>
#include <stddef.h>

#include "fused/two_layers/args.h"

/* Shares of the time from the first begin to the last end: as stamped; and the least and the most
 * that it can be where two stamps may be `error_ns` too far apart. NaN: nothing was stamped, or a
 * task has a begin and no end, or ends before it begins. */
struct overlap {
    double stamped, least, most;
    size_t tasks;
};
/* joined: so many operations, one after another, count as one. 1: operations; LAYERS_JOINED:
 * layers. */
struct overlap overlap_of(const struct two_layers_task *tasks, size_t blocks, size_t items,
                          int joined, double error_ns);

/* How far apart two stamps at one moment can be, on any two of the SMs: what messages bound, and a
 * step of the clock. */
double clock_error_ns(const struct two_layers_clock *found, size_t blocks);

#endif
