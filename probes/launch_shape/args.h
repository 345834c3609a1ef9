/* Arguments of the kernels in launch_shape.cu, for C and CUDA alike. */
#ifndef PROBES_LAUNCH_SHAPE_ARGS_H
#define PROBES_LAUNCH_SHAPE_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum { SLICE_THREADS = 256 };

struct slice_args {
    const void *in;    /* 16-byte elements */
    uint32_t *partial; /* one word per thread: what it read, xored; or NULL */
    uint32_t *sink;    /* never written */
    uint32_t first, elements;
};
ARGS_SIZE(struct slice_args, 32);

#endif
