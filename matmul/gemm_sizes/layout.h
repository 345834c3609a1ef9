/* gemm_sizes: one product in several layouts in memory, next to the same product aligned. */
#ifndef MATMUL_GEMM_SIZES_LAYOUT_H
#define MATMUL_GEMM_SIZES_LAYOUT_H

#include "matmul/common/way.h"

void sizes_measure_layouts(struct probe_run *r, const struct ways *ways);

#endif
