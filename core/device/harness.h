/* Arguments of the harness's own kernels, for C and CUDA alike. */
#ifndef GPUFLOOR_HARNESS_H
#define GPUFLOOR_HARNESS_H

#include <stdint.h>

struct harness_stamp { /* both clocks of one SM at one moment */
    uint64_t cycles, ns;
};

struct harness_stamp_args {
    struct harness_stamp *out; /* one per SM, by %smid; host memory */
    uint64_t n_sm;
};

struct harness_tick_args {
    uint64_t *out;  /* [0] smallest step of %globaltimer in ns */
    uint64_t ns;    /* how long to look */
};

struct harness_warm_args {
    float *sink;    /* never written */
    uint64_t ns;    /* how long */
};

struct harness_fill_args {
    void *out;      /* count elements */
    uint64_t count, seed;
};

struct harness_sweep_args {
    const void *in; /* bytes, a multiple of 16 */
    uint64_t bytes;
    uint32_t *sink; /* never written */
};

#endif
