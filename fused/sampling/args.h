/* Arguments of the kernels in sampling.cu, for C and CUDA alike. */
#ifndef FUSED_SAMPLING_ARGS_H
#define FUSED_SAMPLING_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    SAMPLING_THREADS = 512,
    SAMPLING_SORTED = 1024,  /* tokens that are sorted at a time: the greatest top-k */
    SAMPLING_CLUSTER = 16,   /* most blocks that share a row */
    SAMPLING_NONE = 0xffffffff, /* instead of a token: no logit is above -infinity */
    SAMPLING_EACH = 256,     /* threads of a block of the kernels that take each logit by itself */
};

/* How a token is drawn. Uniform numbers and shares are fixed-point: 2^32 is 1. */
struct sampling_rule {
    float penalty, inverse_penalty, inverse_temperature;
    uint32_t k;     /* 1 to 1024 highest logits; 0: all */
    uint32_t share; /* top-p: the highest with so much of their probability; 2^32 - 1: all */
};

struct sampling_args {
    const float *logits;   /* rows of `stride` fp32, 16-byte aligned */
    const uint32_t *seen;  /* rows of `seen_stride` words: one bit a token that has occurred */
    const uint32_t *noise; /* a uniform number a row */
    uint32_t *tokens;      /* a token a row */
    float *values;         /* of the kernels that only select: the k highest of a row, and whose */
    uint32_t *ids;
    uint64_t stride, seen_stride; /* 0: every row is the same */
    uint32_t vocabulary, pad;
    struct sampling_rule rule;
    uint32_t cluster;
};
ARGS_SIZE(struct sampling_args, 96);

/* One operator of the chain that is not fused. What it reads and writes, in this order:
 *     penalty      logits (in), seen -> out          temperature  in -> out
 *     softmax      in (k highest, sorted) -> out     top_p        in -> out, normalised again
 *     draw         in, ids, noise -> tokens */
struct sampling_step_args {
    const float *in;
    float *out;
    const uint32_t *seen, *ids, *noise;
    uint32_t *tokens;
    uint64_t stride, seen_stride; /* in elements and words */
    uint32_t count;               /* of a row: the vocabulary, or k */
    uint32_t pad;
    struct sampling_rule rule;
    uint32_t pad2;
};
ARGS_SIZE(struct sampling_step_args, 96);

#endif
