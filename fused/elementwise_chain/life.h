/* How many registers a value takes, by how long it lives: kernels whose registers are read from the
 * loaded image and not timed. For C and CUDA alike. */
#ifndef FUSED_ELEMENTWISE_CHAIN_LIFE_H
#define FUSED_ELEMENTWISE_CHAIN_LIFE_H

#include <stdint.h>

#include "core/args.h"

/* n values for each of a thread's elements, in fp32: each made from that before it by the next
 * operator of the plain chain, and used there only (dependent); all of them kept to the end, and
 * used from the last to the first (live); or loaded, each from a tensor of its own, and added up
 * (inputs). */
enum chain_life { CHAIN_DEPENDENT, CHAIN_LIVE, CHAIN_INPUTS, N_CHAIN_LIVES };
enum { CHAIN_STEPS_MAX = 64 };

struct live_args {
    const float *in;  /* elements; for CHAIN_INPUTS, n tensors one behind the other */
    float *out;       /* elements */
    uint64_t threads; /* elements / elements of a thread */
    uint64_t apart;   /* elements from one input to the next */
    float scale, shift, leak, limit;
};
ARGS_SIZE(struct live_args, 48);

#ifndef __CUDACC__
#include "core/gpu.h"

/* One kernel, as a case "life=..,steps=..,elements=.." of the first and last round: checked on
 * random inputs, its registers a thread and the warps that fit one SM handed over as
 * CHAIN_REGISTERS and CHAIN_WARPS. */
void chain_life_measure(struct probe_run *r, enum chain_life life, int n, int elements);
#endif

#endif
