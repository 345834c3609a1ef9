/* gemm_sizes: one product as it may lie in memory, beside the same aligned. */
#ifndef MATMUL_GEMM_SIZES_LAYOUT_H
#define MATMUL_GEMM_SIZES_LAYOUT_H

#include "matmul/common/way.h"

void sizes_measure_layouts(struct probe_run *r, const struct ways *ways);

#endif
