/* Arguments of the kernels in launch.cu, for C and CUDA alike. */
#ifndef PROBES_LAUNCH_ARGS_H
#define PROBES_LAUNCH_ARGS_H

#include <stdint.h>

#include "core/args.h"

struct launch_args {
    uint64_t unused; /* a launch carries its arguments: eight bytes here */
};
ARGS_SIZE(struct launch_args, 8);

struct launch_wait_args {
    uint64_t ns;
};
ARGS_SIZE(struct launch_wait_args, 8);

struct launch_stamp_args {
    uint64_t *out; /* %globaltimer: first block's beginning, last block's end */
};
ARGS_SIZE(struct launch_stamp_args, 8);

#endif
