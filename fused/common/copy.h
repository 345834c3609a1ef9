/* Arguments of the kernels in copy.cu, for C and CUDA alike. */
#ifndef FUSED_COMMON_COPY_H
#define FUSED_COMMON_COPY_H

#include <stdint.h>

#include "core/args.h"

enum { COPY_THREADS = 256, COPY_VECTORS = 4, COPY_SMALL_THREADS = 64 };

struct copy_args {
    const void *from; /* 16-byte aligned */
    void *to;
    uint64_t vectors; /* of 16 bytes */
    uint32_t *wrong;  /* copy_compare counts the vectors that differ here; the copies ignore it */
    uint32_t keep, pad; /* see fused/common/load_group.cuh */
};
ARGS_SIZE(struct copy_args, 40);

#endif
