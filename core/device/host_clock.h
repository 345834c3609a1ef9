/* Arguments of the kernels in host_clock.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_HOST_CLOCK_H
#define GPUFLOOR_HOST_CLOCK_H

#include <stdint.h>

#include "core/args.h"

struct host_clock_gate_args {
    uint32_t *gate; /* mapped: the ticket in [0] opens it; in [1] it means: time is up */
    uint64_t budget_ns;
    uint32_t ticket, pad;
};
ARGS_SIZE(struct host_clock_gate_args, 24);

/* Questions and answers go through mapped host memory. The host writes 1, 2, ... to `asked`, and
 * gets %globaltimer as it was when the kernel saw that number. */
struct host_clock_handshake_args {
    const uint32_t *asked;
    uint64_t *answer;
    uint64_t budget_ns;
    uint32_t rounds, pad;
};
ARGS_SIZE(struct host_clock_handshake_args, 32);

#endif
