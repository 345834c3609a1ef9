/* What the pointer chases of this folder hand over, for C and CUDA alike; chase.cuh has the code. */
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

#endif
