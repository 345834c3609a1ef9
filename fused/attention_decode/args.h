/* Arguments of the kernels in attention_decode.cu, for C and CUDA alike. */
#ifndef FUSED_ATTENTION_DECODE_ARGS_H
#define FUSED_ATTENTION_DECODE_ARGS_H

#include "core/args.h"
#include "core/verdict.h"
#include "fused/attention_decode/decode.h"
#include "fused/attention_decode/rope.h"

enum {
    DECODE_THREADS = 256,
    DECODE_VECTORS = 8, /* 16-byte loads a thread has in flight, when reading or dequantising */
    DECODE_GEMV_THREADS = 512,
    DECODE_GEMV_WARPS = DECODE_GEMV_THREADS / 32,
    DECODE_GEMV_ROWS = 64,  /* in a block: 4 per warp, or 4 per lane of 16 lanes */
    DECODE_GEMV_TURN = 1024 /* divides columns: a lane makes 4 loads of 8 along a row */
};

enum decode_number { DECODE_BF16, DECODE_E4M3, DECODE_INT8, N_DECODE_NUMBERS };

/* For a whole cache without pages, heads and sequences packed. A block's y is its head, its z is 0
 * for keys and 1 for values, which begin `apart` bytes after the keys. */
struct decode_dequantise_args {
    const void *from; /* 8 bit */
    void *to;         /* bf16 */
    uint64_t from_apart, to_apart;
    const float *scale;              /* kv_heads for keys, then kv_heads for values */
    uint32_t head_vectors, kv_heads; /* vectors of 8 bytes in a head of `from` */
};
ARGS_SIZE(struct decode_dequantise_args, 48);

struct decode_read_args {
    const void *from;
    uint64_t vectors; /* of 16 bytes, a multiple of DECODE_THREADS x DECODE_VECTORS */
    uint32_t *sink;   /* never written */
};
ARGS_SIZE(struct decode_read_args, 24);

/* y = A x, with element (row, column) of A at row x row_stride + column x column_stride. */
struct decode_gemv_args {
    const void *a, *x; /* bf16 */
    float *y;
    struct verdict *verdict; /* of attention_decode_gemv_verify */
    uint32_t rows, columns, row_stride, column_stride;
};
ARGS_SIZE(struct decode_gemv_args, 48);

struct decode_verify_args {
    struct kv_cache cache;
    const void *q;    /* before the rotary embedding */
    const void *turn; /* NULL: attention takes q as it is */
    const void *out, *k_new, *v_new;
    double *scores; /* batch x heads x keys */
    struct verdict *verdict;
    uint32_t *wrong_rows; /* count of outputs (sequence, head) with a wrong element, or NULL */
    uint32_t keys, group, d, number;
    float scale;
    uint32_t pad;
};
ARGS_SIZE(struct decode_verify_args, 168);

#endif
