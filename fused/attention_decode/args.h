/* Arguments of the kernels in attention_decode.cu, for C and CUDA alike. */
#ifndef FUSED_ATTENTION_DECODE_ARGS_H
#define FUSED_ATTENTION_DECODE_ARGS_H

#include "core/args.h"
#include "core/verdict.h"
#include "fused/attention_decode/decode.h"
#include "fused/attention_decode/rope.h"

enum {
    DECODE_THREADS = 256,
    DECODE_VECTORS = 8, /* 16-byte loads of a thread in flight, when reading or dequantising */
    DECODE_GEMV_THREADS = 512,
    DECODE_GEMV_WARPS = DECODE_GEMV_THREADS / 32,
    DECODE_GEMV_ROWS = 64,  /* of a block: 4 of each warp, or 4 of each of 16 lanes */
    DECODE_GEMV_TURN = 1024 /* columns are a multiple of it: 4 loads of 8 a lane along a row */
};

enum decode_number { DECODE_BF16, DECODE_E4M3, DECODE_INT8, N_DECODE_NUMBERS };

/* Of a whole cache without pages, heads and sequences packed: one head (y) of keys (z = 0) or of
 * values, which lie `apart` bytes behind the keys. */
struct decode_dequantise_args {
    const void *from; /* 8 bit */
    void *to;         /* bf16 */
    uint64_t from_apart, to_apart;
    const float *scale;              /* kv_heads for keys, kv_heads for values */
    uint32_t head_vectors, kv_heads; /* vectors of 8 bytes of a head at `from` */
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
    const void *q;    /* not turned */
    const void *turn; /* NULL: q is what attention takes */
    const void *out, *k_new, *v_new;
    double *scores; /* batch x heads x keys */
    struct verdict *verdict;
    uint32_t *wrong_rows; /* outputs (sequence, head) with an element beyond its bound, or NULL */
    uint32_t keys, group, d, number;
    float scale;
    uint32_t pad;
};
ARGS_SIZE(struct decode_verify_args, 168);

#endif
