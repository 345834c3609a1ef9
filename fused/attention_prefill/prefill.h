/* Arguments of the fused kernels for attention over a prompt, prefill.cuh (mma.sync) and wgmma.cuh,
 * for C and CUDA alike. */
#ifndef FUSED_ATTENTION_PREFILL_PREFILL_H
#define FUSED_ATTENTION_PREFILL_PREFILL_H

#include <stddef.h>
#include <stdint.h>

#include "core/args.h"

/* Out = softmax(scale Q K^T) V, head by head. Query i sees the first i + causal_end keys:
 * causal_end = 1 is the causal mask of a prompt, keys - queries + 1 that of a prompt that continues
 * what is in the cache, `keys` no mask. The result of a query that sees no key is zero. All are
 * packed, 16 bits an element, 16-byte aligned; each head of K and V serves `share` query heads. */
struct attention_prefill_args {
    const void *q;     /* heads x queries x depth */
    const void *k, *v; /* heads / share x keys x depth */
    void *out;         /* as q */
    uint32_t queries, keys, heads, share;
    int32_t causal_end;
    uint32_t together; /* heads that are worked on at a time; of each KV head all or none */
    float scale;
    float scale_log2; /* scale log2(e), as exp(scale s) = 2^(scale_log2 s) */
};
ARGS_SIZE(struct attention_prefill_args, 64);

/* By wgmma, depth 128 only. The maps have boxes of 128 rows x 64 columns of one head; what a box
 * has beyond the last row of its head is zero. */
struct attention_prefill_wgmma_args {
#ifdef __CUDACC__
    alignas(64) unsigned char maps[3][128];
#else
    _Alignas(64) unsigned char maps[3][128]; /* of q, k, v: head, row, element */
#endif
    struct attention_prefill_args of;
};
ARGS_SIZE(struct attention_prefill_wgmma_args, 448);

/* Both kernels take 128 queries a block. Shared memory of the first: the queries, and two tiles of
 * 64 keys and of their values; of the second: the queries, two tiles of 128, and barriers. */
enum {
    ATTENTION_PREFILL_ROWS = 128,
    ATTENTION_PREFILL_KEYS = 64,
    ATTENTION_PREFILL_THREADS = 128,
    ATTENTION_PREFILL_BLOCKS = 2, /* on an SM */
    ATTENTION_PREFILL_WGMMA_KEYS = 128,
    ATTENTION_PREFILL_WGMMA_THREADS = 384,
    ATTENTION_PREFILL_WGMMA_SHARED = 5 * 32768 + 128,
};
#define ATTENTION_PREFILL_SHARED(depth)                                                            \
    (2 * (size_t)(depth) * (ATTENTION_PREFILL_ROWS + 4 * ATTENTION_PREFILL_KEYS))

#endif
