/* One product of a linear layer and the ways to compute it, the library's and our own, with part of
 * the epilogue inside: what both halves of the epilogue probe are made of. */
#ifndef FUSED_EPILOGUE_PRODUCT_H
#define FUSED_EPILOGUE_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/blas.h"
#include "core/gpu.h"
#include "fused/epilogue/mma.h"

enum {
    LANES = 3, /* streams that compute at a time */
    WAYS_MAX = 72,
    ROWS_PADDED = 256, /* rows of A lie in whole tiles of the largest kernel */
    QUANTISE_BY = 32,  /* the scale of int8: 127 is four standard deviations of a product */
};

/* What all layers of a process share. */
struct epilogue_tools {
    struct blas *blas; /* NULL: see no_blas */
    char no_blas[256];
    void *workspace[LANES];   /* cuBLASLt's */
    cudaStream_t lane[LANES]; /* the first is the run's stream */
    cudaEvent_t fork, join[LANES];
};
struct epilogue_tools epilogue_tools_open(struct probe_run *r);

/* One product as it is to be computed: C, m rows of n, of A and W, with `flags` done inside. */
struct epilogue_product {
    int m, n, k;
    enum gpu_type type;
    unsigned flags;
    bool gelu_in;
    const void *a, *w, *bias, *residual;
    void *c;
    int lane; /* which stream */
};

/* How a product is computed: a choice of cuBLASLt's plan; what cuBLAS chooses, or its product with
 * a vector; ours. */
struct epilogue_way {
    enum { BY_PLAN, BY_CUBLAS, BY_CUBLAS_GEMV, BY_US } by;
    struct blas_plan *plan;
    int choice, choices;
    const struct mma_epilogue_tile *tile;
    cudaKernel_t kernel;
};

/* Computes it. False where cuBLASLt refuses: an algorithm can do without an epilogue, or not. */
bool epilogue_multiply(struct probe_run *r, const struct epilogue_tools *t,
                       const struct epilogue_way *w, const struct epilogue_product *p);
bool epilogue_is_library(const struct epilogue_way *w);

/* The same product in the library's terms; without what they lack, GELU of A and int8. */
struct blas_gemm epilogue_gemm(const struct epilogue_tools *t, const struct epilogue_product *p);

/* Threads of a block of ours. */
unsigned epilogue_threads(const struct mma_epilogue_tile *t, int k);

/* epilogue_WHAT_TYPE, epilogue_WHAT_TYPE_small: a kernel of epilogue.cu. */
cudaKernel_t epilogue_kernel(struct probe_run *r, const char *what, enum gpu_type type,
                             bool is_small, size_t size);

/* A fact: which way. */
void epilogue_way_fact(struct probe_run *r, const char *key, const struct epilogue_way *w);

/* A fact: what a launch of an operation is made of. */
void epilogue_nodes_fact(struct probe_run *r,
                         void (*launch)(struct probe_run *r, const void *self, size_t set),
                         const void *self);

/* All ways to compute a product. */
struct epilogue_ways {
    struct epilogue_way way[WAYS_MAX];
    size_t n;
    struct blas_plan *plan;
};

/* cuBLASLt has a bias, GELU behind a bias, and the addition of a matrix; nothing else of ours. */
void epilogue_add_library(struct probe_run *r, const struct epilogue_tools *t,
                          const struct epilogue_product *p, struct epilogue_ways *ways);

/* Ours: bf16; tiles take n in whole ones and k in steps of 64. */
void epilogue_add_own(struct probe_run *r, const struct epilogue_product *p,
                      struct epilogue_ways *ways);

#endif
