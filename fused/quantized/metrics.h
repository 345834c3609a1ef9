/* The probe's own metrics, behind those of all operations. */
#ifndef FUSED_QUANTIZED_METRICS_H
#define FUSED_QUANTIZED_METRICS_H

#include "fused/common/operation.h"

enum quantized_metric {
    QUANTIZED_ERROR_UNQUANTISED = N_OPERATION_METRICS,
    QUANTIZED_QUALITY_ERROR,
    QUANTIZED_CLAMPED,
};

#endif
