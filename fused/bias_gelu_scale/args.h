/* Arguments of the kernels in bias_gelu_scale.cu, for C and CUDA alike. */
#ifndef FUSED_BIAS_GELU_SCALE_ARGS_H
#define FUSED_BIAS_GELU_SCALE_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum {
    GELU_THREADS = 256,
    GELU_VECTOR = 8,  /* elements in one 16-byte access */
    GELU_VECTORS = 4, /* accesses of a thread in flight at a time */
    GELU_SMALL_THREADS = 64,
};

struct gelu_args {
    const void *in;   /* rows x cols fp16 or bf16, row-major, 16-byte aligned */
    void *out;        /* likewise */
    const void *bias; /* cols; unused by gelu and scale */
    uint64_t vectors; /* rows x cols / 8 */
    uint32_t row_vectors; /* cols / 8, a power of two */
    float scale;
    uint32_t keep, pad; /* see fused/common/load_group.cuh */
};
ARGS_SIZE(struct gelu_args, 48);

/* The absolute error allowed to small results. In fp16: half of its smallest number. In bf16:
 * results that the division by an exponential flushes to zero, because the exponential exceeds
 * 2^126. */
#define GELU_FP16_TINY 0x1p-25
#define GELU_BF16_TINY 0x1p-122

struct gelu_verify_args {
    const void *in, *out, *bias;
    struct verdict *verdict; /* zeroed, device memory */
    uint64_t elements;
    uint32_t cols, is_fused;
    float scale, pad;
};
ARGS_SIZE(struct gelu_verify_args, 56);

#endif
