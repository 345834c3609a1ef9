/* Arguments of the kernels in doubled.cu, for C and CUDA alike. */
#ifndef FUSED_DOUBLED_ARGS_H
#define FUSED_DOUBLED_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum { DOUBLED_THREADS = 256 };

struct doubled_args {
    const float *in; /* elements */
    float *out;      /* likewise */
    uint64_t elements;
    float factor;
    uint32_t pad;
};
ARGS_SIZE(struct doubled_args, 32);

struct doubled_verify_args {
    const float *in, *out;
    struct verdict *verdict; /* zeroed, device memory */
    uint64_t elements;
    double factor;
};
ARGS_SIZE(struct doubled_verify_args, 40);

#endif
