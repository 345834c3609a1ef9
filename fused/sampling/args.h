/* Arguments of the kernels in sampling.cu, for C and CUDA alike. */
#ifndef FUSED_SAMPLING_ARGS_H
#define FUSED_SAMPLING_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    SAMPLING_THREADS = 512,
    SAMPLING_SORTED = 1024,     /* tokens that can be sorted at a time: the greatest top-k */
    SAMPLING_CLUSTER = 16,      /* most blocks that share a row */
    SAMPLING_ONCE_K = 64,            /* sampling_cluster_once: the greatest top-k, */
    SAMPLING_ONCE_LOGITS = 131072,   /* and the longest row */
    SAMPLING_NONE = 0xffffffff, /* instead of a token: no logit is above -infinity */
    SAMPLING_EACH = 256, /* threads of a block, in the kernels that take each logit by itself */
};

/* How a token is drawn. Uniform numbers and shares are fixed-point numbers: 2^32 means 1. */
struct sampling_rule {
    float penalty, inverse_penalty, inverse_temperature;
    uint32_t k;     /* take the k highest logits, 1 to 1024; 0: all */
    uint32_t share; /* top-p: the highest that together have this much probability; 2^32 - 1: all */
};

struct sampling_args {
    const float *logits;   /* rows of `stride` fp32, 16-byte aligned */
    const uint32_t *seen;  /* rows of `seen_stride` words; one bit per token: it has occurred */
    const uint32_t *noise; /* a uniform number per row */
    uint32_t *tokens;      /* a token per row */
    float *values;         /* of the kernels that only select: a row's k highest, and their ids */
    uint32_t *ids;
    uint64_t stride, seen_stride; /* 0: every row is the same */
    uint32_t vocabulary;
    uint16_t once_rank, once_blocks; /* of once.cuh: j and c; j x c is at least k */
    struct sampling_rule rule;
    uint32_t cluster;
};
ARGS_SIZE(struct sampling_args, 96);

/* One operator of the unfused chain. What each reads and writes, in this order:
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
