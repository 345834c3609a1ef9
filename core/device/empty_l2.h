/* Argument of the kernel in empty_l2.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_EMPTY_L2_H
#define GPUFLOOR_EMPTY_L2_H

#include <stdint.h>

#include "core/args.h"

struct empty_l2_args {
    char *memory;   /* aligned to a line of 128 bytes */
    uint64_t lines; /* of 128 bytes */
};
ARGS_SIZE(struct empty_l2_args, 16);

#endif
