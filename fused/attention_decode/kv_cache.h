/* The cache of keys and values of one decoder layer, for C and CUDA alike. */
#ifndef FUSED_ATTENTION_DECODE_KV_CACHE_H
#define FUSED_ATTENTION_DECODE_KV_CACHE_H

#include <stdint.h>

#include "core/args.h"

/* The address of row `key` of KV head `head` of sequence `sequence`, in bytes from the cache's
 * base:
 *     sequence x sequence_stride + page x page_stride + head x head_stride
 *     + (key mod keys of a page) x row_stride
 * Without pages, `pages` is NULL, page_stride 0 and page_shift 31: one page holds all keys. With
 * pages, sequence_stride is 0, and `page` comes from the table. All strides are multiples of 16.
 * Keys and values have the same layout. */
struct kv_cache {
    void *k, *v;
    const uint32_t *pages; /* batch x pages_of_sequence; NULL: without pages */
    uint64_t sequence_stride, head_stride, page_stride;
    uint32_t row_stride;
    uint32_t page_shift; /* a page holds 1 << page_shift keys, 16 or more */
    uint32_t pages_of_sequence;
    uint32_t kv_heads;
    const float *k_scale, *v_scale; /* one per KV head, for 8-bit caches: value = scale x stored */
};
ARGS_SIZE(struct kv_cache, 80);

#endif
