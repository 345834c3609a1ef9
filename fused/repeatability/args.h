/* Arguments of the kernels in repeatability.cu, for C and CUDA alike. */
#ifndef FUSED_REPEATABILITY_ARGS_H
#define FUSED_REPEATABILITY_ARGS_H

#include <stdint.h>

#include "core/args.h"

enum {
    SUM_THREADS = 256,
    SUM_PARTS = 64,  /* blocks that share a row */
    SUM_PART = 2048, /* elements of a row that one block adds */
    SUM_ROWS = 64,
    SUM_COLUMNS = SUM_PARTS * SUM_PART,
};

struct sum_args {
    const float *a, *x; /* SUM_ROWS x SUM_COLUMNS, row-major; SUM_COLUMNS */
    float *y;           /* SUM_ROWS, zeroed where it is added to */
    float *partial;     /* SUM_ROWS x SUM_PARTS; unused by atomics */
    int64_t *fixed;     /* SUM_ROWS, zeroed: sums in units of 2^-32; fixed_point only */
    uint32_t *ticket;   /* SUM_ROWS, zero before and after; last_arriver only */
};
ARGS_SIZE(struct sum_args, 48);

struct sum_hash_args {
    const uint32_t *bits; /* n words: the results of one run */
    uint64_t *hash;       /* one per run; this is run number *run, which the kernel increments */
    uint32_t *run;
    uint32_t n, runs; /* words; number of hashes that fit */
};
ARGS_SIZE(struct sum_hash_args, 32);

#endif
