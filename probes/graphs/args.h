/* Arguments of the kernel in graphs.cu, for C and CUDA alike. */
#ifndef PROBES_GRAPHS_ARGS_H
#define PROBES_GRAPHS_ARGS_H

#include <stdint.h>

#include "core/args.h"

struct graphs_args {
    uint64_t *sum; /* one thread adds `amount` to it */
    uint64_t amount;
};
ARGS_SIZE(struct graphs_args, 16);

#endif
