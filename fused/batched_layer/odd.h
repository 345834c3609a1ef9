/* A campaign of small shapes, drawn from the run's seed. */
#ifndef FUSED_BATCHED_LAYER_ODD_H
#define FUSED_BATCHED_LAYER_ODD_H

#include "core/probe.h"

/* Every packaging at each of them: each operator against float64 on the GPU, the layer against
 * float64 on the CPU. Returns how many shapes. */
int batched_check_odd_shapes(struct probe_run *r);

#endif
