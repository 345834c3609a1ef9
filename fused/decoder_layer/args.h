/* Arguments of the kernels in fill.cu and check.cu, for C and CUDA alike. */
#ifndef FUSED_DECODER_LAYER_ARGS_H
#define FUSED_DECODER_LAYER_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"
#include "fused/common/decoder/reference.h"

enum {
    FILL_THREADS = 256,
    CHECK_THREADS = 256,
    READ_THREADS = 512,
    READ_VECTORS = 8, /* that a thread asks for together */
    READ_ROUND = READ_THREADS * READ_VECTORS,
};

/* Every element becomes mean + scale x element. bf16, or fp32 where is_fp32. */
struct decoder_scale_args {
    void *memory;
    uint64_t count;
    float scale, mean;
};
ARGS_SIZE(struct decoder_scale_args, 24);

/* Reads `vectors` of 16 bytes and drops them: the first is `begin`, and `from` comes behind `room`.
 * Both are a number of whole turns of the grid. */
struct decoder_read_args {
    const void *from;
    uint64_t vectors, room, begin;
    uint32_t *never; /* written if all bits of a thread's vectors, or-ed, are 0x9e3779b9 */
};
ARGS_SIZE(struct decoder_read_args, 40);

/* How numbers lie in words of 32 bits, `stride` words apart: in the mail each may have an epoch
 * beside it. */
enum decoder_layout {
    LAYOUT_FP32,
    LAYOUT_NEIGHBOURS, /* two bf16 a word: 2i and 2i + 1 */
    LAYOUT_HALVES,     /* two bf16 a word: i and i + `half` of each run of 2 x half */
    LAYOUT_F64,        /* no words: numbers of the reference itself */
};

/* In float64: one operation of the reference. What each kernel takes of it, check.cu says. */
struct decoder_check_args {
    const void *weights; /* bf16: a matrix, or a norm's weights */
    const void *cache;   /* keys of the layer; its values follow */
    const float *rope;
    const uint32_t *words; /* what a kernel left */
    const double *in;
    double *out, *scratch;
    struct verdict *verdict;
    struct decoder_shape shape;
    uint32_t batch, context, capacity;
    uint32_t rows, columns; /* of the matrix */
    uint32_t count;         /* words, or numbers */
    uint32_t layout, stride, half;
    uint32_t rounds;                    /* enum decoder_rounds */
    double epsilon, relative, absolute; /* bound of an element: relative x |reference| + absolute */
};
ARGS_SIZE(struct decoder_check_args, 152);

#endif
