/* gemm_sizes: is a kernel chosen by measurement, or by a rule, better than any fixed one?
 *
 * All of our kernels compute all of the shapes in choice.c, in two passes, the first for choosing
 * and the second for judging. A choice costs, on each shape, the time of the kernel chosen over
 * that of the fastest, both of the second pass; what is reported is the geometric mean.
 *     measured    the fastest of the first pass on that shape
 *     neighbour   the fastest of the first pass on the nearest other shape
 *     rule        of this GPU's newest kind of kernel the largest tile that makes a block for nine
 *                 of ten SMs, or, where none does, the one that makes most
 *     fixed       the one kernel that is best for all of them: known only afterwards
 *     worst       the one that is worst */
#ifndef MATMUL_GEMM_SIZES_CHOICE_H
#define MATMUL_GEMM_SIZES_CHOICE_H

#include "matmul/common/way.h"

void sizes_measure_choices(struct probe_run *r, const struct ways *ways);

#endif
