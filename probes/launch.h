/* Arguments of the kernels in launch.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_LAUNCH_H
#define GPUFLOOR_LAUNCH_H

#include <stdint.h>

struct launch_args {
    uint64_t unused; /* a launch carries its arguments: eight bytes here */
};

struct launch_wait_args {
    uint64_t ns;
};

struct launch_stamp_args {
    uint64_t *out; /* %globaltimer: the first block's first, the last block's last moment */
};

struct gate_args {
    uint32_t *gate; /* mapped: [0] opens it at the ticket, [1] becomes that when time is up */
    uint64_t budget_ns;
    uint32_t ticket, pad;
};

/* Asks and answers through mapped host memory: the host writes 1, 2, ... to `asked`, and gets
 * %globaltimer as it was when the kernel saw that. */
struct handshake_args {
    const uint32_t *asked;
    uint64_t *answer;
    uint64_t budget_ns;
    uint32_t rounds, pad;
};

#endif
