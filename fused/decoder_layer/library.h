/* The four products of a layer by cuBLASLt: bf16 in, fp32 out, the fastest algorithm of those
 * that it offers. */
#ifndef FUSED_DECODER_LAYER_LIBRARY_H
#define FUSED_DECODER_LAYER_LIBRARY_H

#include "core/blas.h"
#include "fused/decoder_layer/tensors.h"

struct decoder_library {
    const struct blas *blas;
    struct blas_plan *plan[DECODER_MATRICES];
    int choice[DECODER_MATRICES];
    void *workspace;
};

/* Searches; false, with why, where there is no cuBLASLt or where it offers nothing. */
bool decoder_library_open(struct probe_run *r, struct decoder_library *library,
                          const struct blas *blas, const struct decoder_tensors *t);
void decoder_library_close(struct probe_run *r, struct decoder_library *library);

/* raw = x times the matrix of a set; both lie in the mail of kernels that come and go. */
void decoder_library_multiply(struct probe_run *r, const struct decoder_library *library,
                              const struct decoder_tensors *t, enum decoder_matrix m, uint32_t set);

#endif
