/* Arguments of the kernel in graphs.cu, for C and CUDA alike. */
#ifndef PROBES_GRAPHS_ARGS_H
#define PROBES_GRAPHS_ARGS_H

#include <stdint.h>

struct graphs_args {
    uint64_t *sum; /* one thread adds so much to it */
    uint64_t amount;
};

#endif
