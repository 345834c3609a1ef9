/* attention_prefill: whether results are right, and whether a fault would be seen. */
#ifndef FUSED_ATTENTION_PREFILL_CHECK_H
#define FUSED_ATTENTION_PREFILL_CHECK_H

#include "fused/attention_prefill/form.h"

/* For struct operation; self: struct prefill_form. By the GPU, and in full some rows on the CPU. */
double prefill_verify(struct probe_run *r, const void *self, const char *when);
/* By the GPU alone: enough for what is computed once, to see that it can be. */
double prefill_verify_by_gpu(struct probe_run *r, const struct prefill_form *form,
                             const char *when);
/* The same without judgement, for planted faults. */
bool prefill_is_wrong(struct probe_run *r, const void *self);

/* Of all rows, the share that one verification looks at. */
double prefill_share_verified(const struct probe_run *r, const struct prefill_problem *p);

/* Computes with this causal_end in place of the problem's; is_naive: by the control that leaves the
 * maximum out. Returns which share of the rows that are looked at is right. wrong_rows is a word of
 * device memory. */
double prefill_share_right(struct probe_run *r, const struct prefill_form *form, int causal_end,
                           bool is_naive, uint32_t *wrong_rows);

/* Wrong arguments, each of which verification has to see. */
void prefill_check_mutants(struct probe_run *r, const struct prefill_form *form);

/* Odd shapes by each kernel and the chain, for --check. */
void prefill_check_shapes(struct probe_run *r, struct prefill_library *library);

#endif
