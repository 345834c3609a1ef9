/* Arguments of the rotary embedding and of the append to the cache, for C and CUDA alike. See
 * rope.cuh. */
#ifndef FUSED_ATTENTION_DECODE_ROPE_H
#define FUSED_ATTENTION_DECODE_ROPE_H

#include "core/args.h"
#include "fused/attention_decode/kv_cache.h"

enum {
    ROPE_THREADS = 128,
    ROPE_EACH = 16 /* numbers of a thread: eight, and the eight half a row further on */
};

struct rope_args {
    struct kv_cache cache;
    const void *q, *k, *v; /* batch x heads x d, batch x kv_heads x d twice; bf16 */
    void *q_to, *k_to;     /* rotated, like q and k; k_to is unused where k goes into the cache */
    const void *turn;      /* d/2 pairs of fp32: cos, sin of this position */
    uint32_t key;          /* the row of the cache to write */
    uint32_t batch, heads, pad;
};
ARGS_SIZE(struct rope_args, 144);

#endif
