/* A linear layer, its finish, which is what is done to x W^T, and the ways through, from everything
 * in the product to a kernel for each operator. */
#ifndef FUSED_EPILOGUE_LAYER_H
#define FUSED_EPILOGUE_LAYER_H

#include "fused/common/operation.h"
#include "fused/epilogue/product.h"
#include "fused/epilogue/reference.h"

enum { N_FINISHES = 5, N_PASSES = 9 };

/* What is to be done to x and to the product. */
struct epilogue_finish {
    const char *name;
    unsigned flags;
    bool gelu_in;
    unsigned steps[2]; /* the operators one by one, as kernels behind the product */
    unsigned when[4];  /* flags of its cases: bf16 below 256 rows, below 4096, beyond; fp16 */
};
extern const struct epilogue_finish epilogue_finishes[N_FINISHES]; /* the first: bias_gelu */

/* What was found fastest for one finish. */
struct epilogue_found {
    bool searched;
    struct epilogue_ways library;
    struct epilogue_way own;
    const struct epilogue_way *best, *best_own, *best_library; /* NULL: none */
    const struct epilogue_way *product; /* with this finish behind it, or none; NULL: not chosen */
};

/* A layer's operands and results, made when its first case is, and what was found fastest. */
struct epilogue_layer {
    const struct epilogue_tools *tools;
    int m, n, k;
    enum gpu_type type;
    uint64_t seed;
    bool ready;
    size_t sets;
    struct pool a, middle, w, residual, out, quantised;
    void *bias;
    cudaKernel_t pass[N_PASSES][2];              /* [flags][is_small] */
    struct epilogue_reference reference[2];      /* [gelu_in] */
    struct epilogue_found found[N_FINISHES + 1]; /* the last: the product without a finish */
};
void epilogue_layer_free(struct probe_run *r, struct epilogue_layer *l);

/* Bytes of a matrix of 16-bit elements, and of one set of a layer's operands and results. */
size_t epilogue_bytes(int rows, int columns);
double epilogue_set_bytes(const struct epilogue_layer *l);

/* One way through: passes before, the product with part of the finish inside, passes behind. */
enum epilogue_chain { FUSED, UNFUSED, ONE_PASS, PRODUCT };
enum epilogue_whose { ANY, OWN, LIBRARY }; /* product */
struct epilogue_form {
    struct epilogue_layer *l;
    const struct epilogue_finish *finish;
    enum epilogue_chain chain;
    enum epilogue_whose whose;
    const struct epilogue_way *way; /* found when the case is made, or in the running of a race */
};

/* The product of a form, as it is to be computed. */
struct epilogue_product epilogue_product_of(const struct epilogue_form *form, size_t set);

/* Of an operation, whose `self` is a form. epilogue_prepare() stands before each case: it makes and
 * finds everything that the form needs, and writes NaN where the form writes. */
void epilogue_launch(struct probe_run *r, const void *self, size_t set);
void epilogue_prepare(struct probe_run *r, const void *self);

#endif
