/* MPS, by which processes share one context of the GPU. */
#ifndef GPUFLOOR_MPS_H
#define GPUFLOOR_MPS_H

/* Is this process, which has a context, a client of MPS? n_mps is what NVML says of the GPU: how
 * many clients it has, or -1. 1, 0, or -1 with one line in why. */
int mps_is_on(int n_mps, const char **why);

#endif
