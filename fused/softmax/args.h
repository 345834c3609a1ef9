/* Arguments of the kernels in softmax.cu and check.cu, for C and CUDA alike.
 *
 * out[c] = exp(scale in[c]) / (the sum of that over the columns that count). A column counts if it
 * is within the row's length and its logit is not minus infinity; the others' results are 0. If no
 * column of a row counts, all its results are 0, fused and unfused. A NaN or plus infinity within
 * the length makes the whole row NaN. */
#ifndef FUSED_SOFTMAX_ARGS_H
#define FUSED_SOFTMAX_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum {
    SOFTMAX_VECTORS = 4,          /* 16-byte accesses of a thread in flight at a time */
    SOFTMAX_STREAM_VECTORS = 2,   /* likewise where a row is streamed, with twice that in flight */
    SOFTMAX_THREADS = 1024,       /* most in a block */
    SOFTMAX_SMALL_THREADS = 256,  /* likewise for one operator of the chain, and for a check */
    SOFTMAX_HELD_THREADS = 512,   /* in a block of softmax_held, softmax_shared or softmax_pair */
    SOFTMAX_HELD = 26,            /* vectors that a thread of softmax_held has in registers */
    SOFTMAX_PAIR = 8,             /* likewise for softmax_pair, of which two blocks share an SM */
    SOFTMAX_PARTS = 256,          /* most blocks that share a row */
    SOFTMAX_CLUSTER = 16,         /* most blocks of a cluster */
    SOFTMAX_BUDGET_NS = 20000000, /* for any wait for another block */
};

/* What blocks that share a row leave for each other. Before the first launch all bits of the slots
 * are set and the rest is zero. Each launch leaves it as the next launch of as many blocks needs
 * it. */
struct softmax_state {
    uint32_t ticket;  /* softmax_last: blocks that have finished */
    uint32_t turn;    /* softmax_grid: launches so far; its lowest bit chooses the slots */
    uint32_t aborted; /* a block has waited beyond the budget; the results mean nothing */
    uint32_t pad;
    uint64_t slots[2][SOFTMAX_PARTS]; /* greatest logit and sum of each block, one 8-byte access */
};
ARGS_SIZE(struct softmax_state, 4112);

/* A row has `vectors` 16-byte vectors: cols elements and padding. Rows are packed. `parts` blocks
 * share a row, `slice` vectors each. */
struct softmax_args {
    const void *in;           /* logits, 16-byte aligned */
    const void *mask;         /* softmax_add: what to add to them, laid out alike */
    void *out;                /* likewise; padding gets zeros */
    const uint32_t *lengths;  /* one per row: columns from there on are masked; NULL: cols */
    void *partial;            /* softmax_partial, _finish, _last: a struct part for each block */
    struct softmax_state *state;
    uint32_t cols, vectors, parts, slice;
    float scale, exponent; /* positive; scale x log2(e) */
    uint32_t row;  /* softmax_last, softmax_grid: the one row of the launch */
    uint32_t keep; /* see fused/common/load_group.cuh */
};
ARGS_SIZE(struct softmax_args, 80);

struct softmax_verify_args {
    const void *in, *out;
    const uint32_t *lengths; /* or NULL */
    struct verdict *verdict; /* zeroed, device memory */
    uint64_t rows;
    uint64_t first, step; /* the rows that are checked */
    uint32_t cols, vectors, is_fused;
    float scale;
};
ARGS_SIZE(struct softmax_verify_args, 72);

/* Rows on which a softmax that is not numerically stable goes wrong. */
enum softmax_kind {
    SOFTMAX_PLAIN, /* N(0,1) */
    SOFTMAX_PLUS_60, SOFTMAX_MINUS_60, /* the same, shifted */
    SOFTMAX_PLUS_1E3, SOFTMAX_MINUS_1E3,
    SOFTMAX_PLUS_6E4, SOFTMAX_MINUS_6E4,
    SOFTMAX_ONE_ABOVE,   /* one +6e4 among -6e4 */
    SOFTMAX_ALL_BELOW,   /* all -6e4 */
    SOFTMAX_ONE_FINITE,  /* all but one minus infinity */
    SOFTMAX_NONE_FINITE, /* all minus infinity */
    SOFTMAX_TAIL_MASKED, /* N(0,1), the second half masked by its length */
    N_SOFTMAX_KINDS,
};

/* Row r is of kind r % N_SOFTMAX_KINDS. */
struct softmax_stable_args {
    const void *normal; /* softmax_adversary: fp32 numbers of N(0,1), one per element of `in` */
    void *in;           /* softmax_adversary writes it, softmax_stable reads it */
    const void *out, *unfused; /* results, and those of an unfused softmax */
    uint32_t *lengths;
    uint32_t *right;      /* softmax_stable: one word a row */
    uint32_t cols, vectors;
};
ARGS_SIZE(struct softmax_stable_args, 56);

#endif
