/* What formats do to numbers: one product of quantised weights, of several kinds of numbers, in
 * fp64. */
#ifndef FUSED_QUANTIZED_FORMATS_H
#define FUSED_QUANTIZED_FORMATS_H

#include "core/gpu.h"

/* Cases of QUANTIZED_QUALITY_ERROR and QUANTIZED_CLAMPED: every format, input and calibration. */
void quantized_measure_formats(struct probe_run *r);

#endif
