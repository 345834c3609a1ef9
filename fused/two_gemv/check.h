/* Are the results of a form right? On the GPU in fp64, and for small layers on the CPU, too. */
#ifndef FUSED_TWO_GEMV_CHECK_H
#define FUSED_TWO_GEMV_CHECK_H

#include "fused/two_gemv/form.h"

/* Of an operation, whose `self` is a form: set 0, or what its launch wrote in place of it. */
double two_gemv_verify(struct probe_run *r, const void *self, const char *when);
bool two_gemv_is_wrong(struct probe_run *r, const void *self);

#endif
