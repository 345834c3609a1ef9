/* The packagings of a layer, as data: which operators they launch, in which order. */
#ifndef FUSED_BATCHED_LAYER_PACK_H
#define FUSED_BATCHED_LAYER_PACK_H

#include "fused/batched_layer/args.h"
#include "fused/batched_layer/products.h"

enum batched_impl { IMPL_STREAM, IMPL_GRAPH, IMPL_FUSED, BATCHED_IMPLS };

/* Packagings of one kind give the same bits. */
enum batched_bits { BITS_APART, BITS_FUSED, BATCHED_BITS };

struct batched_pack {
    const char *name, *what;
    const uint8_t *operators; /* enum batched_operator, in order; then OP_END */
    enum batched_bits bits;
    bool in_graph;            /* timed as a graph; else launched one by one */
};
extern const struct batched_pack batched_packs[BATCHED_IMPLS];

/* The kernels of one shape. */
struct batched_kernels {
    cudaKernel_t norm, rope, append, attention, merge, silu, add, look, read, nothing;
};
struct batched_kernels batched_kernels_of(struct probe_run *r, const struct batched_problem *p);

/* What is launched, on what. */
struct batched_work {
    const struct batched_tensors *t;
    const struct batched_kernels *k;
    const struct batched_products *products;
};

/* Which sets an operator uses, and the residual that its layer gets. */
struct batched_turn {
    uint32_t weights, cache;
    const float *residual;
};

/* All asynchronous, and can be captured. */
void batched_launch_operator(struct probe_run *r, const struct batched_work *w,
                             enum batched_operator op, struct batched_turn turn);

/* A chain of layers. `again`: so many layers in a row have the same weights, as micro-batches of
 * one layer do; 1: none. */
void batched_launch(struct probe_run *r, const struct batched_work *w,
                    const struct batched_pack *pack, uint32_t layers, uint32_t again);

/* `times` times one operator, over all its sets in turn; the last time the first set. */
void batched_launch_often(struct probe_run *r, const struct batched_work *w,
                          enum batched_operator op, uint32_t times);

/* One launch of the reading kernel, over `bytes` of the weights, again from the beginning where
 * they end. */
void batched_launch_read(struct probe_run *r, const struct batched_work *w, double bytes);

#endif
