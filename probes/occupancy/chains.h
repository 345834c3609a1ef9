/* Arguments of the multiply-adds in chains.cu, for C and CUDA alike. */
#ifndef PROBES_OCCUPANCY_CHAINS_H
#define PROBES_OCCUPANCY_CHAINS_H

#include <stdint.h>

#include "core/args.h"

enum {
    OCCUPANCY_FMAS = 512, /* of a warp in a turn of the loop: the loop's own 3 are 0.6 % */
};

struct occupancy_fma_args {
    const float *operands; /* of each lane a 1: factor and term */
    uint32_t *wrong;       /* counts the chains that ended with a wrong number */
    uint32_t *census;      /* blocks that each SM ran, or NULL */
    uint32_t turns, pad;
};
ARGS_SIZE(struct occupancy_fma_args, 32);

#endif
