/* A decoder's layer in float64, step by step, on the CPU. Arrays lie as
 * fused/common/decoder/decoder.h says; sequences one behind the other. Without CUDA, and without
 * the harness. */
#ifndef FUSED_COMMON_DECODER_REFERENCE_H
#define FUSED_COMMON_DECODER_REFERENCE_H

#include <stdint.h>

#include "fused/common/decoder/decoder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where what goes into a product behind a norm is rounded to bf16. The kernels that stay, and those
 * of the six steps, leave the norm's factor to the sums; a kernel for each operator does not. */
enum decoder_rounds {
    ROUNDS_NOT,    /* float64 throughout: what goes into the other products is not rounded either */
    ROUNDS_BEFORE, /* residual x weight */
    ROUNDS_AFTER,  /* residual x weight x factor */
};

struct reference_layer {
    const struct decoder_shape *shape;
    uint32_t batch, context, capacity;
    const void *weights; /* of one layer: decoder_place(), decoder_norm_place() */
    const void *cache;   /* of one layer: keys, and values decoder_cache_half() behind them */
    const float *rope;   /* of the new token's position: cosine, sine, ... */
    double epsilon;
    enum decoder_rounds rounds;
};

/* What each step gives, per sequence: qkv: q of all heads, k, v, rotated, (heads + 2 kv_heads) x
 * head_dim; attention: heads x head_dim; o and down: hidden; h: ffn. */
struct reference_values {
    double *qkv, *attention, *o, *h, *down;
};

/* A step from what the step before gave. The residual is not changed. What a packaging rounds to
 * bf16 when it hands it over is not rounded here. */
void reference_qkv(const struct reference_layer *l, const double *residual, double *qkv);
/* The old keys and values are the cache's; the new ones are those of qkv. */
void reference_attention(const struct reference_layer *l, const double *qkv, double *attention);
void reference_o(const struct reference_layer *l, const double *attention, double *o);
void reference_gate_up(const struct reference_layer *l, const double *residual, double *h);
void reference_down(const struct reference_layer *l, const double *h, double *down);

/* A whole layer: every step from the step before, rounded to bf16 between them unless ROUNDS_NOT,
 * and the residual moved on by what O and down give. */
void reference_whole_layer(const struct reference_layer *l, double *residual,
                           const struct reference_values *values);

/* logits: vocabulary for each sequence. */
void reference_head(const struct reference_layer *l, const void *head, const void *norm,
                    const double *residual, double *logits);

/* The lowest row of the greatest logit. */
uint32_t reference_choice(const double *logits, uint32_t vocabulary);

double reference_rounded(double value); /* to bf16, ties to even */
double reference_bf16(uint16_t bits);

/* Words of the mail as numbers: halves: word i of each run of `half` has elements i and i + half;
 * else neighbours. `words` is the number of words, `stride` their distance. */
void reference_widen(const uint32_t *words, uint32_t stride, uint64_t count, uint32_t half,
                     double *to);
void reference_widen_fp32(const uint32_t *words, uint32_t stride, uint64_t count, double *to);

/* Relative Frobenius norm of the difference; NaN where any value is. */
double reference_distance(const double *values, const double *reference, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
