/* Arguments of decode attention, for C and CUDA alike: one query per sequence, over a cache of keys
 * and values. See decode.cuh. */
#ifndef FUSED_ATTENTION_DECODE_DECODE_H
#define FUSED_ATTENTION_DECODE_DECODE_H

#include <stdint.h>

#include "core/args.h"
#include "fused/attention_decode/kv_cache.h"

enum {
    ATTENTION_WARPS = 8, /* in a block; each has its own keys */
    ATTENTION_THREADS = 32 * ATTENTION_WARPS,
    ATTENTION_HEADS = 8,   /* query heads per KV head, at most */
    ATTENTION_SPLITS = 64, /* blocks that share a KV head, at most */
    ATTENTION_TILE = 16, /* keys that one matrix instruction takes; a page holds a multiple of it */
    ATTENTION_BUDGET_NS = 20000000, /* for any wait for another block */
};

struct attention_decode_args {
    struct kv_cache cache;
    const void *q;    /* batch x kv_heads x group x d, bf16 */
    void *out;        /* likewise */
    float *partial;   /* batch x kv_heads x splits x 8 x d: sums before division */
    float *summary;   /* batch x kv_heads x splits x 8 x 2: maximum (times log2 e), sum */
    uint32_t *ticket; /* batch x kv_heads, 0 before and after; NULL: a second kernel merges */
    /* batch x kv_heads x splits x 8 x d/2 parts of 16 bytes, all bits set before and after. Every
     * block merges its slice, so all must be resident at once. NULL: one block merges. */
    void *parts;
    uint32_t *aborted; /* 0; nonzero once a block has waited for parts beyond the budget */
    /* With turn, q, k_new and v_new come from the projections. The kernel then rotates q and k,
     * appends k and v to the cache as row keys - 1, and attends to them. NULL: the cache holds that
     * row. */
    const void *turn;  /* d/2 pairs of fp32: cos, sin of this position */
    const void *k_new; /* batch x kv_heads x d, bf16 */
    const void *v_new;
    uint32_t keys;   /* attended to, the new one included */
    uint32_t splits; /* blocks that share a KV head */
    uint32_t group;  /* query heads per KV head, 1 to 8 */
    float scale;     /* of the scores: log2(e) / sqrt(d), because exponentials are powers of 2 */
};
ARGS_SIZE(struct attention_decode_args, 176);

#endif
