/* Arguments of the kernels in two_stages.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_TWO_STAGES_ARGS_H
#define FUSED_TWO_STAGES_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/verdict.h"
#include "fused/common/decoder/decoder.h"

enum {
    STAGES_SLOTS = 4, /* items that the first stage may be ahead of the second */
    STAGES_THREADS_RING = DECODER_THREADS + 32, /* with a ring: one warp more, and a block an SM */
    STAGES_BLOCKS_NO_RING = 2, /* an SM, before compute capability 9.0; weights held there: 1 */
    STAGES_COUNTER = 32,       /* words from one counter to the next */
    STAGES_FIRST = 0, /* counters: blocks that sat down in the first half, in the second, */
    STAGES_SECOND,    /* and for each slot, how often a block took its words */
    STAGES_TAKEN,
    STAGES_COUNTERS = STAGES_TAKEN + STAGES_SLOTS,
};

/* Waits that are left out: planted faults. */
enum two_stages_blind {
    BLIND_SECOND = 1, /* the second stage for the words of the first */
    BLIND_CHAIN = 2,  /* the first stage for the item before */
    BLIND_SLOT = 4,   /* the first stage for a free slot */
};

/* h = s(up_scale W1 x), y = down_scale W2 h for each item; s(z) = z / (1 + |z|). */
struct two_stages_args {
    struct decoder_shape shape; /* hidden: elements of x and y; ffn: of h; heads, kv_heads: 1 */
    const char *up, *down;      /* set 0 of W1: ffn x hidden, and of W2: hidden x ffn, bf16 */
    uint64_t up_stride, down_stride; /* bytes from set to set; item i has set i % sets */
    const float *x;                  /* items x hidden */
    void *h;            /* slots x ffn/2 words of two bf16: with epochs, or plain ones */
    void *back;         /* hidden words with epochs: y, for the first stage */
    float *y;           /* items x hidden */
    uint32_t *counters; /* 0 before each launch of a kernel that stays */
    struct grid_barrier_state *state; /* `aborted`; the rest is unused */
    float up_scale, down_scale;
    uint32_t sets, items, slots;
    uint32_t item;  /* kernels of one stage: theirs */
    uint32_t epoch; /* of item 0 */
    uint32_t budget_ns;
    uint32_t first_sms; /* SMs below this do the first stage, others the second; 0: all do both */
    uint32_t lag;       /* items that a block's second stage is behind its first */
    uint32_t is_chain;  /* x of an item is y of the one before; item 0 has x */
    uint32_t blind;     /* enum two_stages_blind */
    uint32_t shared;    /* bytes of dynamic shared memory of a block */
    uint32_t stages;    /* of the ring; 0: there is none */
};
ARGS_SIZE(struct two_stages_args, 160);

struct two_stages_verify_args {
    const char *up, *down;
    uint64_t up_stride, down_stride;
    const float *x, *y;
    double *h; /* items x ffn: in fp64, by two_stages_reference */
    struct verdict *verdict;
    float up_scale, down_scale;
    uint32_t hidden, ffn, sets, items, is_chain, pad;
};
ARGS_SIZE(struct two_stages_verify_args, 96);

#endif
