/* Arguments of the kernels in attention_prefill.cu, for C and CUDA alike. */
#ifndef FUSED_ATTENTION_PREFILL_ARGS_H
#define FUSED_ATTENTION_PREFILL_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"
#include "fused/attention_prefill/prefill.h"

enum {
    PREFILL_ROW_THREADS = 128, /* of the plain kernels, which take a row a block */
    SOFTMAX_VECTORS = 4,       /* 16-byte accesses of a thread of the softmax */
    SOFTMAX_THREADS_MAX = 512,
    SOFTMAX_ROW_MAX = 8 * SOFTMAX_VECTORS * SOFTMAX_THREADS_MAX, /* elements */
};

/* probabilities = softmax(scale scores), row by row, in place; what is masked becomes zero. */
struct attention_softmax_args {
    void *scores;                /* heads x queries rows of `row` elements, 16 bits each */
    uint32_t queries, keys, row; /* row: a multiple of 8, at least keys */
    int32_t causal_end;          /* as for the fused kernel */
    float scale;
    uint32_t pad;
};
ARGS_SIZE(struct attention_softmax_args, 32);

/* For verification and for the control that leaves the maximum out: any depth up to 128. */
struct attention_row_args {
    struct attention_prefill_args of;
    struct verdict *verdict; /* zeroed, device memory */
    uint32_t *wrong_rows;    /* zeroed, device memory; NULL: not asked */
    uint64_t seed;           /* which rows are looked at */
    uint32_t rows;           /* how many */
    uint32_t depth, is_bf16, is_unfused;
};
ARGS_SIZE(struct attention_row_args, 104);

#endif
