/* Small shapes drawn at random, on small grids, with blocks that wait at random: every packaging
 * against float64 on the CPU. */
#ifndef FUSED_DECODER_LAYER_ODD_H
#define FUSED_DECODER_LAYER_ODD_H

#include "core/gpu.h"

/* For --check. Returns the number of shapes. */
int decoder_check_odd_shapes(struct probe_run *r);

#endif
