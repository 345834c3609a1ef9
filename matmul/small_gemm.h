/* Arguments of the kernels in small_gemm.cu, for C and CUDA alike. */
#ifndef GPUFLOOR_SMALL_GEMM_H
#define GPUFLOOR_SMALL_GEMM_H

#include <stdint.h>

enum {
    PEAK_WARPS = 16,      /* a block, and one block an SM */
    PEAK_CHAINS = 8,      /* independent products of each warp */
    VERIFY_TILE = 16,
};

struct peak_args {
    const uint32_t *operands; /* 6 words a lane and chain: N(0,1), 16-bit, two a word */
    float *sink;              /* never written */
    uint64_t turns;           /* of the loop: PEAK_CHAINS products m16n8k16 a warp and turn */
};

struct verify_verdict {
    double error_squared, reference_squared; /* sums over the tensor */
    uint64_t wrong;                          /* outputs beyond the bound, NaN included */
};

struct verify_args {
    const void *a, *b, *c;          /* row-major, m x k, k x n, m x n, 16-bit */
    struct verify_verdict *verdict; /* zeroed, device memory */
    uint32_t m, n, k;               /* multiples of VERIFY_TILE */
    uint32_t pad;
};

#endif
