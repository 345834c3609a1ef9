/* Arguments of the kernels in small_gemm.cu, for C and CUDA alike. */
#ifndef MATMUL_SMALL_GEMM_ARGS_H
#define MATMUL_SMALL_GEMM_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    PEAK_WARPS = 16, /* in a block; one block an SM */
    PEAK_CHAINS = 8, /* independent products of each warp */
    PEAK_ROUNDS = 8, /* of all chains, in one turn of the loop */
};

struct peak_args {
    const uint32_t *operands; /* 6 words per lane and chain: N(0,1), two 16-bit numbers a word */
    float *sink;              /* never written */
    uint64_t turns;           /* of the loop: PEAK_ROUNDS x PEAK_CHAINS m16n8k16 a warp and turn */
};
ARGS_SIZE(struct peak_args, 24);

#endif
