/* One matrix-vector product, with the matrix stored by rows or by columns: what does a layout cost
 * a kernel whose lanes run along the rows, and one whose lanes run across them? */
#ifndef FUSED_ATTENTION_DECODE_GEMV_H
#define FUSED_ATTENTION_DECODE_GEMV_H

#include "fused/attention_decode/args.h"
#include "fused/common/operation.h"

/* Four cases, cold, in every round. `metric` is a slope of time. */
void decode_measure_gemv(struct probe_run *r, int metric);

#endif
