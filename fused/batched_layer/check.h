/* Is what a packaging computes right? Held against float64 on the GPU: each operator from what the
 * operator before it really handed over, and chains of layers. */
#ifndef FUSED_BATCHED_LAYER_CHECK_H
#define FUSED_BATCHED_LAYER_CHECK_H

#include "fused/batched_layer/pack.h"

struct batched_check {
    const struct batched_tensors *t;
    double *residual, *x, *raw, *some, *delta, *attention, *h, *scores; /* device memory */
    unsigned blocks;                                                   /* that have scores */
};
struct batched_check batched_check_open(struct probe_run *r, const struct batched_tensors *t);
void batched_check_close(struct probe_run *r, struct batched_check *c);

/* What an operator left is wrong? */
struct batched_found {
    double error, limit; /* relative Frobenius norm of the difference, and what it may be */
    uint64_t wrong;      /* numbers beyond their bound */
};
bool batched_is_wrong(const struct batched_found *found);

/* Of one operator of a packaging, behind one layer with the first sets. */
struct batched_found batched_check_operator(struct probe_run *r, const struct batched_check *c,
                                            enum batched_operator op);

/* Of all operators, by probe_require; returns the greatest error. */
double batched_require_operators(struct probe_run *r, const struct batched_check *c,
                                 const struct batched_pack *pack, const char *when);

/* Judges the output of a chain of `layers`: relative to what the layers added, 1e-2 for each layer.
 * Returns the error. */
double batched_require_chain(struct probe_run *r, const struct batched_check *c, uint32_t layers,
                             const char *when);

/* Of a large product, the first tokens. */
void batched_require_large(struct probe_run *r, const struct batched_large *large,
                           const char *when);

/* The bits that an operator left: of append, the rows of the first set. */
uint64_t batched_digest(struct probe_run *r, const struct batched_tensors *t,
                        enum batched_operator op);

/* The share of planted faults that batched_check_operator() sees, one of each kind in what each
 * operator of both kinds of packagings leaves. */
double batched_check_faults(struct probe_run *r, const struct batched_check *c,
                            const struct batched_work *w);

#endif
