/* Arguments of the kernels in batched_layer.cu and check.cu, for C and CUDA alike. Tensors are
 * row-major, sequences one behind the other. Weights and caches lie as
 * fused/common/decoder/decoder.h says. */
#ifndef FUSED_BATCHED_LAYER_ARGS_H
#define FUSED_BATCHED_LAYER_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"
#include "fused/common/decoder/reference.h"

enum {
    BATCHED_THREADS = 256,
    LOOK_THREADS = 128, /* of attention */
    LOOK_WARPS = LOOK_THREADS / 32,
    LOOK_BLOCKS = 4,    /* of an SM, for which its registers are enough */
    LOOK_BLOCKS_8 = 3,  /* the same, of groups of more than four heads */
    LOOK_SPLITS = 32,   /* of a sequence's keys, at most */
    LOOK_STATE = 4,     /* fp32 in front of a part's row, two of them unused: a row lies on
                         * 16 bytes */
    CHECK_THREADS = 256,
    CHECK_TILE = 64,    /* rows, and sequences, of a block of the reference's product */
    READ_THREADS = 512,
    READ_VECTORS = 8,   /* that a thread asks for together */
    READ_ROUND = READ_THREADS * READ_VECTORS,
};

/* One operator of a layer. A kernel takes of it what it needs. */
struct batched_args {
    const void *norm;        /* hidden bf16 */
    const float *residual;   /* batch x hidden: what an operator gets */
    float *moved;            /* batch x hidden: the residual behind it */
    void *x;                 /* batch x hidden bf16: behind a norm */
    const void *qkv;         /* batch x (heads + 2 kv_heads) x head_dim bf16, as the product leaves
                              * it */
    void *turned;            /* batch x (heads + kv_heads) x head_dim bf16: q and k, rotated */
    void *cache;             /* keys of the layer; its values follow */
    const float *rope;       /* head_dim/2 x (cosine, sine) of the new token's position */
    float *parts;            /* batch x heads x splits x (LOOK_STATE + head_dim): maximum, sum,
                              * row */
    uint32_t *tickets;       /* batch x kv_heads; zero before and after */
    void *attention;         /* batch x heads x head_dim bf16 */
    const void *delta;       /* batch x hidden bf16: what is added to the residual */
    const void *gate_up;     /* batch x 2 ffn bf16: gate, then up */
    void *h;                 /* batch x ffn bf16 */
    struct decoder_shape shape;
    uint32_t batch, context, capacity, splits;
    float epsilon;
};
ARGS_SIZE(struct batched_args, 160);

/* Reads `vectors` of 16 bytes from `from` on, modulo `room` of them, and drops them. */
struct batched_read_args {
    const void *from;
    uint64_t vectors, room;
    uint32_t *never; /* written if all bits of a thread's vectors, or-ed, are 0x9e3779b9 */
};
ARGS_SIZE(struct batched_read_args, 32);

/* Of the kernel that does nothing. */
struct batched_nothing_args {
    uint64_t nothing;
};
ARGS_SIZE(struct batched_nothing_args, 8);

/* bf16: every element becomes mean + scale x element. */
struct batched_scale_args {
    void *memory;
    uint64_t count;
    float scale, mean;
};
ARGS_SIZE(struct batched_scale_args, 24);

/* One operation of the reference in float64, or a comparison with it: check.cu says what each
 * kernel takes of it. */
struct batched_check_args {
    const void *weights; /* bf16: a matrix, or a norm's weights */
    const void *cache;   /* keys of the layer; its values follow */
    const float *rope;
    const void *bits;    /* what a kernel left: bf16, or fp32 where is_fp32 */
    const double *in, *less;
    double *out, *scratch;
    struct verdict *verdict;
    struct decoder_shape shape;
    uint32_t batch, context, capacity;
    uint32_t rows, columns; /* of the matrix */
    uint32_t is_fp32;
    uint64_t count;      /* numbers */
    double epsilon, relative, absolute; /* bound of a number: relative x |reference| + absolute */
};
ARGS_SIZE(struct batched_check_args, 152);

#endif
