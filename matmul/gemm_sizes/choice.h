/* gemm_sizes: is a kernel chosen by measurement, or by a rule, better than any fixed one?
 *
 * All of our kernels compute all of the shapes in choice.c, in two passes: the first is for
 * choosing, the second for judging. The cost of a choice on a shape is the time of the chosen
 * kernel over that of the fastest, both from the second pass. The geometric mean over the shapes is
 * reported.
 *     measured    the fastest of the first pass on that shape
 *     neighbour   the fastest of the first pass on the nearest other shape
 *     rule        of this GPU's newest kind of kernel, the largest tile that gives nine of ten SMs
 *                 a block or, where none does, the tile that makes most blocks
 *     fixed_elsewhere  the one kernel that is best on the other seven shapes, in the first pass
 *     fixed       the one kernel that is best for all shapes, which is known only afterwards
 *     worst       the one kernel that is worst */
#ifndef MATMUL_GEMM_SIZES_CHOICE_H
#define MATMUL_GEMM_SIZES_CHOICE_H

#include "matmul/common/way.h"

void sizes_measure_choices(struct probe_run *r, const struct ways *ways);

#endif
