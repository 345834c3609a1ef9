/* Pointer chases of the probes, for C and CUDA alike. For the host alone: a launch that must run on
 * one given SM, and its samples. */
#ifndef PROBES_COMMON_CHASE_H
#define PROBES_COMMON_CHASE_H

#include "core/device/chase.h"

#ifndef __CUDACC__
#include "core/gpu.h"

/* Launches one block per SM, again and again, until one ran on the SM that args name and left its
 * result. `given` is the ticket inside args; `ticket` is the last one that was used. */
void chase_launch(struct probe_run *r, cudaKernel_t kernel, unsigned threads, const void *args,
                  uint32_t *given, uint32_t *ticket, struct chase_result *result);

/* Records the SM clock between the two stamps of a launch, and returns it in MHz. */
double chase_clock(struct probe_run *r, const struct chase_result *at);

/* Records the n pairs of stretches of one launch, and the SM clock while it ran. Also in ns by that
 * clock, unless in_ns is -1. */
void chase_hand_over(struct probe_run *r, const struct chase_result *at,
                     const struct chase_sample *samples, size_t n, int in_cycles, int in_ns);

/* The i-th size of a sweep in half octaves from `first`. Every second size is exactly `first` times
 * a power of two; a product of square roots would round. */
size_t chase_half_octave(size_t first, int i);
#endif

#endif
