/* Arguments of the kernels in product_chain.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_PRODUCT_CHAIN_ARGS_H
#define FUSED_PRODUCT_CHAIN_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/device/grid_barrier.h"
#include "core/verdict.h"

enum {
    CHAIN_WARPS = 32,     /* of a block, at most */
    CHAIN_LOADS = 8,      /* vectors of a row that each lane asks for at a time, */
    CHAIN_LOADS_LESS = 6, /* and of a row that such pieces fill exactly, as that of 3072 */
};

/* Waits that are left out: a planted fault. */
enum product_chain_blind { BLIND_BARRIER = 1 };

/* y of product p is s(scale W x), s(z) = z / (1 + |z|); x is y of product p - 1. */
struct product_chain_args {
    const char *weights; /* set 0 of W: n x n, bf16 */
    uint64_t stride;     /* bytes from set to set; product p has set (first + p) % sets */
    const void *x;       /* of product 0: n, bf16 */
    void *y;             /* products x n, bf16 */
    uint32_t *sms;       /* of each block: its SM */
    uint64_t *stamps;    /* of each product: when block 0 began it, in ns */
    uint32_t *words;     /* product_chain_read: the sum of all words of the weights is added */
    struct grid_barrier_state *state;
    float scale;
    uint32_t n, sets, first, products; /* first < sets */
    uint32_t budget_ns;
    uint32_t blind; /* enum product_chain_blind */
    uint32_t late;  /* warps of a block that ask for weights behind the barrier only */
};
ARGS_SIZE(struct product_chain_args, 96);

struct product_chain_verify_args {
    const char *weights;
    uint64_t stride;
    const void *x, *y;
    uint32_t *words; /* product_chain_words: their sum is added */
    struct verdict *verdict;
    float scale;
    uint32_t n, sets, first, products, pad;
};
ARGS_SIZE(struct product_chain_verify_args, 72);

#endif
