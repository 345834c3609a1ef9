/* Rows of logits on the GPU, and the ways to draw a token from each. */
#ifndef FUSED_SAMPLING_WAYS_H
#define FUSED_SAMPLING_WAYS_H

#include "fused/common/operation.h"
#include "fused/sampling/args.h"

enum sampling_step { PENALTY, TEMPERATURE, TOP_K, SOFTMAX, TOP_P, DRAW, N_STEPS };
extern const char *const sampling_step_names[N_STEPS];

/* Buffers of a row: inputs, the drawn token, and what passes between the steps of the chain. */
enum sampling_part {
    LOGITS,
    SEEN,
    NOISE,
    TOKENS,
    PENALISED,
    TEMPERED,
    VALUES,
    IDS,
    MASSES,
    KEPT,
    N_PARTS,
};

struct sampling_rows {
    struct pool parts[N_PARTS];
    uint32_t batch, vocabulary;
    struct sampling_rule rule;
    uint64_t stride, words; /* of a row: distance of its logits; words of `seen` */
    size_t sets;
    cudaKernel_t sample[2][2], top_k[2]; /* [in a cluster][whole] */
    cudaKernel_t once;                   /* for 16 blocks per row: once.cuh */
    cudaKernel_t steps[2][N_STEPS];      /* [small] */
};

/* N(0,1) logits at temperature 0.3, a penalty on half of the vocabulary; k 0: no top-k. The number
 * of sets is what the one kernel needs, which touches the fewest bytes; all sets hold the same
 * rows. */
struct sampling_rows sampling_rows_new(struct probe_run *r, uint32_t batch, uint32_t vocabulary,
                                       uint32_t k, double p, uint64_t seed);
void sampling_rows_free(struct probe_run *r, struct sampling_rows *t);
void sampling_rows_poison(struct probe_run *r, const struct sampling_rows *t);

/* In one kernel or in six, with this many blocks per row; 1: no cluster. is_once: one kernel by
 * once.cuh. */
struct sampling_way {
    const char *name;
    unsigned cluster;
    bool is_chain, is_once;
};

/* Can this GPU launch a cluster of that size that holds a row? Prepares the kernels for it. */
bool sampling_fits(struct probe_run *r, const struct sampling_rows *t, unsigned cluster);

/* Can sampling_cluster_once take these rows, where 16 blocks fit? */
bool sampling_can_be_once(const struct sampling_rows *t);

/* Bytes of shared memory for a block's part of its row. */
size_t sampling_shared(const struct sampling_rows *t, unsigned cluster);

void sampling_draw_fused(struct probe_run *r, const struct sampling_rows *t,
                         struct sampling_way way, size_t set);
void sampling_draw_step(struct probe_run *r, const struct sampling_rows *t, unsigned cluster,
                        enum sampling_step step, size_t set);

/* Many draws from row 0 of set 0, each by a uniform number of its own, into `tokens`: in one
 * kernel, or as the last step of the chain. */
void sampling_draw_many(struct probe_run *r, const struct sampling_rows *t, struct sampling_way way,
                        const uint32_t *noise, uint32_t *tokens, unsigned draws);

#endif
