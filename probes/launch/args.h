/* Arguments of the kernels in launch.cu, for C and CUDA alike. */
#ifndef PROBES_LAUNCH_ARGS_H
#define PROBES_LAUNCH_ARGS_H

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

#endif
