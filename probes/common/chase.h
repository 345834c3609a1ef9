/* What the pointer chases of this folder hand over, for C and CUDA alike; chase.cuh has the code of
 * the kernels. For the host alone: a launch that is meant for one SM, and its samples. */
#ifndef PROBES_COMMON_CHASE_H
#define PROBES_COMMON_CHASE_H

#include <stdint.h>

#include "core/device/harness.h"

enum {
    CHASE_SHORT = 32, /* loads between the first two clock reads */
    CHASE_LONG = 64,  /* and between the next two: the slope is over the 32 between them */
    CHASE_LOADS = 1 + CHASE_SHORT + CHASE_LONG, /* of one such pair; the first is not timed */
};

struct chase_sample {
    uint64_t short_cycles, long_cycles;
};

struct chase_result {
    struct harness_stamp lead, tail; /* around all repeats, on one SM */
    uint64_t end;                    /* where the chase stopped; 0: the SM asked for was not met */
    uint64_t sm;
};

#ifndef __CUDACC__
#include "core/gpu.h"

/* Launches one block for each SM until one ran on the SM that args name, and left its result.
 * `given` is the ticket inside args, `ticket` the last one that was used. */
void chase_launch(struct probe_run *r, cudaKernel_t kernel, unsigned threads, const void *args,
                  uint32_t *given, uint32_t *ticket, struct chase_result *result);

/* The SM clock between the two stamps of a launch, in MHz; hands it over. */
double chase_clock(struct probe_run *r, const struct chase_result *at);

/* Hands over the n pairs of stretches of one launch, and the SM clock while it ran; in ns too, by
 * that clock, unless in_ns is -1. */
void chase_hand_over(struct probe_run *r, const struct chase_result *at,
                     const struct chase_sample *samples, size_t n, int in_cycles, int in_ns);

/* The i-th size of a sweep that goes up by half octaves from `first`; every other one is a power of
 * two times it, whatever rounding would make of a product of square roots. */
size_t chase_half_octave(size_t first, int i);
#endif

#endif
