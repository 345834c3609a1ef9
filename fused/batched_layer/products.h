/* The products of a layer by cuBLASLt: bf16 in, sums in fp32; the fastest algorithm of those that
 * it offers, by measurement. What goes on to a norm is bf16, or is added to the residual, which is
 * fp32. */
#ifndef FUSED_BATCHED_LAYER_PRODUCTS_H
#define FUSED_BATCHED_LAYER_PRODUCTS_H

#include "core/blas.h"
#include "fused/batched_layer/tensors.h"

enum batched_product {
    PRODUCT_QKV, PRODUCT_O, PRODUCT_GATE_UP, PRODUCT_DOWN, PRODUCT_O_ADDS, PRODUCT_DOWN_ADDS,
    BATCHED_PRODUCTS
};

struct batched_products {
    struct blas_plan *plan[BATCHED_PRODUCTS];
    int choice[BATCHED_PRODUCTS];
    void *workspace;
};

/* Searches; false where cuBLASLt offers nothing. */
bool batched_products_open(struct probe_run *r, struct batched_products *products,
                           const struct blas *blas, const struct batched_tensors *t);
void batched_products_close(struct probe_run *r, struct batched_products *products);

/* With the weights of a set. `residual`: what O adds to. */
void batched_multiply(struct probe_run *r, const struct batched_products *products,
                      const struct batched_tensors *t, enum batched_product which, uint32_t set,
                      const float *residual);

/* A large product, for the rate of the tensor cores: `tokens` rows times the matrix of gate and up.
 * False where cuBLASLt offers none, or where memory does not hold it. */
struct batched_large {
    struct blas_plan *plan;
    int choice;
    struct blas_gemm gemm;
    double flops;
};
bool batched_large_open(struct probe_run *r, struct batched_large *large, const struct blas *blas,
                        const struct batched_weights *w, uint32_t tokens, uint64_t seed);
void batched_large_launch(struct probe_run *r, const struct batched_large *large);
void batched_large_close(struct probe_run *r, struct batched_large *large);

#endif
