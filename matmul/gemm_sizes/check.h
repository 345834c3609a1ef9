/* gemm_sizes --check: 200 random shapes by every kernel, sizes that must be refused, and results
 * that must be found wrong. */
#ifndef MATMUL_GEMM_SIZES_CHECK_H
#define MATMUL_GEMM_SIZES_CHECK_H

#include "matmul/gemm_sizes/search.h"

/* The library computes every shape. Six of our kernels in turn compute those that they accept: each
 * row of a table gets 44 shapes, eleven of them of the kind that it must accept. */
void sizes_check_random_shapes(struct probe_run *r, const struct ways *ways);

/* Is all of C within the bound of its type? */
bool sizes_is_right(struct probe_run *r, const struct product *p);

/* Three faults: sums in fp16 that pass for fp32, one k-step of 64 left out, a last column that is
 * not written. The same product computed correctly must pass, so that only the faults are found. */
void sizes_check_that_faults_are_seen(struct probe_run *r, const struct ways *ways);

/* Checks that product_why_refused() refuses what it must, and nothing else. */
void sizes_check_refused(struct probe_run *r);

#endif
