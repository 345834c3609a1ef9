/* Are the outputs of a form right? All of them against fp64 on the GPU, some rows on the CPU. */
#ifndef FUSED_QUANTIZED_CHECK_H
#define FUSED_QUANTIZED_CHECK_H

#include "core/verdict.h"
#include "fused/quantized/form.h"

/* Of an operation, whose `self` is a form: outputs of set 0, by the weights that the kernel had. */
double quantized_verify(struct probe_run *r, const void *self, const char *when);
bool quantized_is_wrong(struct probe_run *r, const void *self);

/* All outputs of set 0 against fp64: with the weights that the kernel had, or with the original. */
struct verdict quantized_run_verifier(struct probe_run *r, const struct quantized_form *form,
                                      bool original);

#endif
