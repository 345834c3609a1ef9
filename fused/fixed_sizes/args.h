/* Arguments of the kernels in fixed_sizes.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_FIXED_SIZES_ARGS_H
#define FUSED_FIXED_SIZES_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/verdict.h"
#include "fused/common/decoder/decoder.h"

enum {
    FIXED_CONTEXT = 4096, /* keys that the fixed kernels are built for, */
    FIXED_SPLITS = 16,    /* in so many parts of each kv head, */
    FIXED_KV_HEADS = 8,
    FIXED_HIDDEN = 4096,
    FIXED_GROUP = 4, /* heads of a kv head, and elements of a head: of all kernels */
    FIXED_DIM = 128,
    FIXED_BLOCKS = 1,                          /* on an SM */
    FIXED_THREADS_RING = DECODER_THREADS + 32, /* with a ring: one warp more */
    FIXED_GENERATIONS = 2,                     /* of what lies between two phases */
};

/* One token's attention over `context` keys, its product with W, and the residual. */
struct fixed_sizes_args {
    const char *cache;   /* sets x (keys, values): kv_heads x capacity x 128 bf16 each */
    const char *weights; /* sets x hidden x (kv_heads x 512) bf16 */
    uint64_t cache_stride, weight_stride; /* bytes from set to set; item i has set i % sets */
    const uint16_t *q;                    /* items x (kv_heads x 512) bf16 */
    const float *residual;                /* items x hidden */
    float *states; /* generations x kv_heads x splits x 4 x (maximum, sum, 128) */
    uint32_t *x;   /* generations x (kv_heads x 256): pairs of bf16 */
    float *y;      /* items x hidden */
    struct grid_barrier_state *barrier;
    float q_scale, scale; /* of a score, in powers of two; of the product */
    uint32_t context, capacity, kv_heads, hidden, splits; /* the fixed kernels read only context */
    uint32_t sets, items, budget_ns;
    uint32_t stages; /* of the ring; 0: there is none */
    uint32_t pad;
};
ARGS_SIZE(struct fixed_sizes_args, 128);

/* The same in double. */
struct fixed_sizes_verify_args {
    const char *cache, *weights;
    uint64_t cache_stride, weight_stride;
    const uint16_t *q;
    const float *residual, *y;
    double *scores;    /* items x heads x context */
    double *attention; /* items x heads x 128 */
    double *expected;  /* items x hidden x (y, bound) */
    struct verdict *verdict;
    double q_scale, scale;
    uint32_t context, capacity, kv_heads, hidden, sets, items;
};
ARGS_SIZE(struct fixed_sizes_verify_args, 128);

#endif
