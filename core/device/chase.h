/* What a pointer chase is made of, for C and CUDA alike; chase.cuh has the code. */
#ifndef GPUFLOOR_CHASE_H
#define GPUFLOOR_CHASE_H

#include <stdint.h>

#include "core/device/harness.h"

enum {
    CHASE_SHORT = 32, /* loads between the first two clock reads */
    CHASE_LONG = 64,  /* between the next two; the slope is over 32 */
    CHASE_LOADS = 1 + CHASE_SHORT + CHASE_LONG, /* per such pair; the first is not timed */
};

struct chase_sample {
    uint64_t short_cycles, long_cycles;
};

struct chase_result {
    struct harness_stamp lead, tail; /* around all repeats, on one SM */
    uint64_t end;                    /* where the chase stopped; 0: no block ran on the given SM */
    uint64_t sm;
};

#endif
