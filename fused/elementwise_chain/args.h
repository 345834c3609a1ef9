/* Operators of a chain, and the arguments of the kernels in elementwise_chain.cu, for C and CUDA
 * alike. */
#ifndef FUSED_ELEMENTWISE_CHAIN_ARGS_H
#define FUSED_ELEMENTWISE_CHAIN_ARGS_H

#include <stdint.h>

#include "core/args.h"
#include "core/verdict.h"

enum chain_operator {
    CHAIN_BIAS,  /* x + bias[column] */
    CHAIN_SCALE, /* scale * x */
    CHAIN_LEAKY, /* max(x, leak * x) */
    CHAIN_SHIFT, /* x + shift */
    CHAIN_CLAMP, /* min(max(x, -limit), limit) */
    CHAIN_GELU,  /* in the tanh form */
    CHAIN_SILU,  /* x / (1 + exp(-x)) */
    CHAIN_FMA,   /* x * scale + shift, one instruction */
    N_CHAIN_OPERATORS,
};

/* Two chains go round five operators each: with nothing but additions, products and comparisons,
 * and with two activations among them; the third repeats one multiply-add. */
enum chain_kind { CHAIN_PLAIN, CHAIN_ACTIVATED, CHAIN_FMAS, N_CHAIN_KINDS };
#define CHAIN_OPERATOR(kind, i)                                                                    \
    ((kind) == CHAIN_FMAS ? CHAIN_FMA                                                              \
     : (i) % 5 == 0       ? CHAIN_BIAS                                                             \
     : (i) % 5 == 1       ? CHAIN_SCALE                                                            \
     : (i) % 5 == 2       ? ((kind) == CHAIN_ACTIVATED ? CHAIN_GELU : CHAIN_LEAKY)                 \
     : (i) % 5 == 3       ? ((kind) == CHAIN_ACTIVATED ? CHAIN_SILU : CHAIN_SHIFT)                 \
                          : CHAIN_CLAMP)

enum {
    CHAIN_THREADS = 256,
    CHAIN_VECTORS = 4, /* accesses of 16 bytes of a thread in flight at a time */
    CHAIN_SMALL_THREADS = 64,
    CHAIN_FMA_ROUND = 16, /* multiply-adds in a turn of the loop of chain_fma_loop */
};

struct chain_args {
    const void *in;       /* rows x columns, row-major, 16-byte aligned */
    void *out;            /* likewise */
    const void *bias;     /* columns */
    uint64_t vectors;     /* of 16 bytes in the tensor; below 2^31 */
    uint32_t row_vectors; /* in a row */
    uint32_t magic, bits; /* v / row_vectors == v * magic >> bits for all v below 2^31 */
    uint32_t rounds;      /* of the loop of chain_fma_loop */
    float scale, shift, leak, limit;
    uint32_t keep, pad; /* see fused/common/load_group.cuh */
};
ARGS_SIZE(struct chain_args, 72);

/* v / d == v * magic >> bits for v below 2^31 (Granlund and Montgomery 1994). */
static inline void chain_divide_by(uint32_t d, uint32_t *magic, uint32_t *bits)
{
    for (*bits = 31; (1ull << (*bits - 31)) < d;)
        ++*bits;
    *magic = (uint32_t)(((1ull << *bits) + d - 1) / d);
}

/* How far a small result may be off: half of fp16's smallest number; in the other types, what the
 * fast instructions of fp32 take to zero, an exponential's reciprocal below 2^-126 times x. */
#define CHAIN_FP16_TINY 0x1p-25
#define CHAIN_TINY 0x1p-122

struct chain_verify_args {
    struct chain_args a;
    struct verdict *verdict; /* zeroed, device memory */
    uint64_t elements;
    uint32_t columns, n, kind, type; /* type: enum gpu_type */
    int32_t only;                    /* this operator alone; -1: the chain of n */
    uint32_t is_fused;               /* rounded to the type at the end only */
};
ARGS_SIZE(struct chain_verify_args, 112);

#endif
