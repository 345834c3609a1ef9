/* The probe's own metrics, behind those of all operations and of their kernels. */
#ifndef FUSED_ELEMENTWISE_CHAIN_METRICS_H
#define FUSED_ELEMENTWISE_CHAIN_METRICS_H

#include "fused/common/operation.h"

enum chain_metric {
    CHAIN_INSTRUCTIONS = N_OPERATION_EACH_METRICS, /* of an element */
    CHAIN_REGISTERS,
    CHAIN_WARPS,
};

#endif
