/* Arguments of the kernels of layer, for C and CUDA alike, and how a layer is divided among
 * ranks. */
#ifndef LINKS_LAYER_ARGS_H
#define LINKS_LAYER_ARGS_H

#include "fused/common/decoder/decoder.h"
#include "links/common/exchange.h"

/* A rank has whole heads, with the kv heads of their groups, and parts of the intermediate and of
 * the vocabulary. So QKV, gate, up and the head are divided by rows, O and down by columns: what
 * these two give on one rank is a summand of what the residual gets. A rank's share is a layer of
 * its own shape: decoder_place() and its like hold. */
ARGS_BOTH struct decoder_shape layer_share(struct decoder_shape whole, uint32_t ranks)
{
    whole.heads /= ranks, whole.kv_heads /= ranks, whole.ffn /= ranks;
    whole.vocabulary /= ranks;
    return whole;
}

/* Memory of a layer that is divided: its matrices, and what else is. */
enum layer_part {
    LAYER_NORM = DECODER_MATRICES, /* every rank has all of it */
    LAYER_CACHE,                   /* keys, or values: kv heads x capacity rows */
};

/* Deals out a rank's share of one part, of bf16: each element becomes mean + scale x element. Of a
 * cache, the rows of each head from `known` on become NaN. 1 rank gets the whole part, in its place
 * if `to` is `from`. */
struct layer_deal_args {
    const uint32_t *from; /* pairs of bf16 */
    uint32_t *to;
    struct decoder_shape whole;
    uint32_t part, rank, ranks;
    uint32_t rows, columns, whole_columns; /* of the share, of the whole */
    uint32_t capacity, known;
    float scale, mean;
};
ARGS_SIZE(struct layer_deal_args, 80);

/* Logits in float64, of a head of bf16 and what goes into it: a warp has a row. */
struct layer_rate_args {
    const uint32_t *head; /* pairs of bf16 */
    const double *x;
    double *logits;
    uint32_t rows, columns;
};
ARGS_SIZE(struct layer_rate_args, 32);

/* Of a kernel that is layers, and of one that is a step of one layer. */
struct layer_args {
    struct decoder_args decoder; /* of this rank's share; `epoch` is not used */
    struct exchange exchange;    /* packets, of at least hidden / 2 units */
    float *share;                /* steps: what O or down gives on this rank, hidden fp32; or what
                                  * NCCL gathers of a choice: this rank's best, and from
                                  * LAYER_GATHERED_AT on those of all, each a logit and the bits of
                                  * a row */
    uint32_t has_residual;       /* steps: the share has this rank's residual in it */
    uint32_t pad;
};
ARGS_SIZE(struct layer_args, 408);

enum {
    LAYER_SUM_THREADS = 512, /* of the kernel that adds all ranks' shares */
    LAYER_DEAL_THREADS = 256,
    LAYER_RATE_THREADS = 256, /* of the kernel that rates rows in float64 */
    LAYER_GATHERED_AT = 4,
};

#endif
