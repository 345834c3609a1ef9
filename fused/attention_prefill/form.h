/* attention_prefill: the forms of it, each a fused kernel, the unfused chain or a part of that. */
#ifndef FUSED_ATTENTION_PREFILL_FORM_H
#define FUSED_ATTENTION_PREFILL_FORM_H

#include "fused/attention_prefill/problem.h"

/* In this order: the fused kernels, the chain, its parts. */
enum prefill_part {
    PREFILL_FUSED, /* the best fused kernel that there is: by wgmma, else by mma.sync */
    PREFILL_MMA,   /* that of mma.sync in any case */
    PREFILL_CHAIN,
    PREFILL_SCORES,
    PREFILL_SOFTMAX,
    PREFILL_VALUES,
};

/* What operation.h calls self. */
struct prefill_form {
    const struct prefill_tensors *t;
    enum prefill_part part;
};

/* Can it be had, for these tensors? */
bool prefill_has(const struct prefill_tensors *t, enum prefill_part part);
bool prefill_is_by_wgmma(const struct prefill_form *form);

/* For struct operation; self: struct prefill_form. */
void prefill_launch(struct probe_run *r, const void *self, size_t set);
void prefill_poison(struct probe_run *r, const void *self);
/* Of the second product: leaves it its probabilities as the chain computes them, and no result. */
void prefill_poison_values(struct probe_run *r, const void *self);

/* A fused form with other arguments than its own. */
void prefill_launch_as(struct probe_run *r, const struct prefill_form *form,
                       struct attention_prefill_args a);

#endif
