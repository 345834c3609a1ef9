/* The memory of one problem: weights, caches, what goes in and what comes out. */
#ifndef FUSED_DECODER_LAYER_TENSORS_H
#define FUSED_DECODER_LAYER_TENSORS_H

#include "core/gpu.h"
#include "fused/common/decoder/model.h"
#include "fused/decoder_layer/near.h"

enum decoder_mail_kind { MAIL_WORDS, MAIL_EPOCHS, DECODER_MAIL_KINDS }; /* 4 bytes a word, or 8 */

/* Blocks of a product that comes and goes: a kernel for each step, or for each operator. */
uint32_t decoder_product_blocks(const struct probe_run *r);

struct decoder_tensors {
    struct decoder_problem p;
    uint32_t steps, generations; /* at most */
    char *weights, *cache;       /* p.sets of each */
    float *rope, *input, *output, *logits;
    void *embedding, *head, *head_norm; /* NULL: layers alone */
    uint32_t *tokens;
    void *mail[DECODER_MAIL_KINDS];
    uint64_t mail_words; /* of one generation, at most */
    struct grid_barrier_state *barrier;
    uint64_t *stamps;   /* of `generations` layers */
    uint64_t read_next; /* vector of the weights with which the next read begins */
    uint32_t epoch;     /* greater than every one used so far */
    struct decoder_near_copy near; /* of the weights */
    cudaKernel_t reader; /* found by the first decoder_launch_read() */
};

struct decoder_machine decoder_machine_of(const struct probe_run *r);

/* Of a problem that was made. `generations` layers can be looked at one by one afterwards, `steps`
 * tokens be chosen in a launch; 0: layers alone, without embedding and head. */
struct decoder_tensors decoder_tensors_of(struct probe_run *r, const struct decoder_problem *p,
                                          uint32_t generations, uint32_t steps, uint64_t seed);
/* Checks that no kernel's wait used up its budget, too. */
void decoder_tensors_free(struct probe_run *r, struct decoder_tensors *t);

/* The results, and what steps hand over, become NaN, and nothing is chosen. */
void decoder_poison(struct probe_run *r, const struct decoder_tensors *t);

/* Fails where a kernel gave up waiting, and says so. */
bool decoder_require_no_abort(struct probe_run *r, const struct decoder_tensors *t,
                              const char *when);

/* Bytes of a set's cache, and of all weights. */
uint64_t decoder_cache_bytes(const struct decoder_problem *p);

/* One launch of the reading kernel, over `bytes` of the weights, again from the beginning where
 * they end. It begins where the last one ended: with what was read the longest time ago. */
void decoder_launch_read(struct probe_run *r, struct decoder_tensors *t, double bytes);

#endif
