/* Arguments of the kernels in quantized.cu, for C and CUDA alike. */
#ifndef FUSED_QUANTIZED_ARGS_H
#define FUSED_QUANTIZED_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum quantized_format { INT4, INT8, E4M3, N_FORMATS };

enum {
    QUANTIZED_GROUP = 128,  /* columns that share a scale */
    QUANTIZED_ROWS = 16,    /* of a tile */
    QUANTIZED_WARPS = 8,    /* of a block */
    QUANTIZED_ONE = 16,     /* of a block with one column of x */
    QUANTIZED_STAGES = 3,   /* of x on its way, in quantized_tiles */
    QUANTIZED_X_VECTORS = 20, /* from one column of x to the next: 16, and 4 against conflicts */
    QUANTIZED_WIDE_INT4 = 2, /* tiles of a warp where a block takes 64 columns; others: one */
    BF16_ROWS = 2,
    BF16_LOADS = 4,
    BF16_THREADS = 256,
};

/* The products: y = W x for `batch` columns x. */
struct quantized_args {
    const void *weights; /* tiles, fused/quantized/dequantize.cuh; in quantized_bf16 row-major
                          * bf16 */
    const void *scales;  /* bf16, 16 of a tile, tile after tile; rows g and g + 8 side by side */
    const void *x;         /* batch x columns, bf16 */
    void *y;               /* batch x rows, bf16 */
    void *partial;         /* sums of the blocks that share an output; unused where grid.y is 1 */
    uint32_t *arrived;     /* how many of them are there: zero, and left zero */
    uint32_t rows, columns, batch;
    uint32_t groups;       /* of a block, where grid.y of them share an output */
};
ARGS_SIZE(struct quantized_args, 64);

/* Weights into tiles, out of them, and what a naive kernel reads. */
struct quantized_pack_args {
    const void *from;
    void *to, *scales; /* scales: written by quantize_pack, read by the others */
    void *plain_scales; /* quantize_plain: bf16, row-major */
    uint32_t rows, columns, format, pad;
};
ARGS_SIZE(struct quantized_pack_args, 48);

struct quantized_verify_args {
    const void *weights, *scales, *x, *y;
    const void *original; /* the weights before they were quantised: the reference; NULL: after */
    struct verdict *verdict;
    uint32_t rows, columns, batch, format;
    uint32_t is_rounded; /* dequantised weights were rounded to bf16 on their way */
    uint32_t pad;
};
ARGS_SIZE(struct quantized_verify_args, 72);

/* --- what a format does to numbers: quantize_quality ------------------------------------------ */

enum quality_format { Q_BF16, Q_INT8, Q_INT4_G32, Q_INT4_G128, Q_E4M3, Q_E5M2, N_Q_FORMATS };
enum quality_input { Q_NORMAL, Q_STUDENT, Q_CHANNEL, Q_MEAN, N_Q_INPUTS };
enum quality_calibration { Q_ABSMAX, Q_PERCENTILE, Q_NONE, Q_EIGHTH, N_Q_CALIBRATIONS };

enum { QUALITY_ROWS = 1024, QUALITY_COLUMNS = 4096, QUALITY_THREADS = 256 };

struct quantized_quality_args {
    const float *normal; /* 4 x QUALITY_ROWS x QUALITY_COLUMNS of N(0,1) */
    const float *x;      /* QUALITY_COLUMNS */
    struct verdict *verdict;
    uint64_t *clamped; /* gains values beyond the format's range */
    uint32_t format, input, calibration, pad;
};
ARGS_SIZE(struct quantized_quality_args, 48);

#endif
