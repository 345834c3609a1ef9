/* A chain of elementwise operators as an operation of operation.h: operands, launches,
 * verification. */
#ifndef FUSED_ELEMENTWISE_CHAIN_FORM_H
#define FUSED_ELEMENTWISE_CHAIN_FORM_H

#include "fused/common/operation.h"
#include "fused/elementwise_chain/args.h"

enum { CHAIN_SINGLES = CHAIN_FMA /* operators that have a kernel of their own */ };
extern const char *const chain_operator_names[CHAIN_SINGLES];

/* Operands and results. The intermediates are written in turn. */
struct chain_tensors {
    struct pool in, middle[2], out;
    void *bias;
    size_t bytes;
    int rows, cols;
    enum gpu_type type;
    bool has_chains; /* else for multiply-adds alone */
    uint64_t seed;
    const struct gpu_image *image;
    cudaKernel_t single[CHAIN_SINGLES][2], verify; /* [operator][is_small] */
};

/* One operation: a chain, fused or not, or one operator of it (only >= 0). */
struct chain_form {
    const struct chain_tensors *t;
    cudaKernel_t fused[2]; /* [is_small] */
    enum chain_kind kind;
    int n, only;
    bool is_fused;
};

/* N(0,1) from a seed. With has_chains, for fp16 and bf16, there are the intermediates, the bias and
 * the kernels of an unfused chain. */
struct chain_tensors chain_tensors_new(struct probe_run *r, const struct gpu_image *image, int rows,
                                       int cols, enum gpu_type type, bool has_chains,
                                       uint64_t seed);
void chain_tensors_free(struct probe_run *r, struct chain_tensors *t);
/* The input and the bias again, if they are of another seed. */
void chain_tensors_draw(struct probe_run *r, struct chain_tensors *t, uint64_t seed);

/* chain_STEM and chain_STEM_small. */
void chain_kernels(struct probe_run *r, const struct gpu_image *image, const char *stem,
                   bool has_small, cudaKernel_t of[2]);

/* The whole of it as one operation; `form` must outlive that. Its launches, and its judge. */
struct operation chain_operation(const struct chain_form *form, const char *name,
                                 struct condition c);
void chain_launch(struct probe_run *r, const void *self, size_t set);
void chain_launch_unfused(struct probe_run *r, const void *self, size_t set);
bool chain_is_wrong(struct probe_run *r, const void *self);

#endif
