/* The memory of one model and of one problem: weights; caches, what goes in, what operators hand
 * over, what comes out. */
#ifndef FUSED_BATCHED_LAYER_TENSORS_H
#define FUSED_BATCHED_LAYER_TENSORS_H

#include "core/gpu.h"
#include "fused/batched_layer/problem.h"

struct batched_machine batched_machine_of(const struct probe_run *r);

/* Sets of one layer's weights; several batches share them. */
struct batched_weights {
    struct decoder_shape shape;
    uint32_t sets;
    char *memory;
};
struct batched_weights batched_weights_of(struct probe_run *r, const struct batched_problem *p,
                                          uint64_t seed);
void batched_weights_free(struct probe_run *r, struct batched_weights *w);

/* The residual goes from `input`, in later layers from `output`, to `middle`, behind attention, and
 * on to `output`. So all that a layer's operators hand over is there when it has ended. */
struct batched_tensors {
    struct batched_problem p;
    const struct batched_weights *weights;
    char *cache; /* p.cache_sets of it */
    float *rope, *input, *middle, *output, *parts;
    uint32_t *tickets;
    void *x[2], *qkv, *turned, *attention, *delta[2], *gate_up, *h;
};

/* What products get is N(0, 1) at first, so that their algorithms can be timed. */
struct batched_tensors batched_tensors_of(struct probe_run *r, const struct batched_problem *p,
                                          const struct batched_weights *w, uint64_t seed);
void batched_tensors_free(struct probe_run *r, struct batched_tensors *t);

/* What operators hand over, and the result, become NaN. The new token's rows of the caches do, too.
 * Or what one operator leaves. */
void batched_poison(struct probe_run *r, const struct batched_tensors *t);
void batched_poison_one(struct probe_run *r, const struct batched_tensors *t,
                        enum batched_operator op);

const char *batched_layer_at(const struct batched_tensors *t, uint32_t set);
char *batched_cache_at(const struct batched_tensors *t, uint32_t set);

/* What an operator leaves; of append, NULL: rows of the cache. */
struct batched_result {
    void *memory;
    size_t count; /* numbers */
    bool is_fp32;
};
struct batched_result batched_result_of(const struct batched_tensors *t, enum batched_operator op);

#endif
