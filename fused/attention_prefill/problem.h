/* attention_prefill: what is computed, its operands on the GPU, and the kernels for them. */
#ifndef FUSED_ATTENTION_PREFILL_PROBLEM_H
#define FUSED_ATTENTION_PREFILL_PROBLEM_H

#include "core/blas.h"
#include "fused/attention_prefill/args.h"
#include "fused/common/operation.h"

enum { PREFILL_WORKSPACE = 4 << 20 }; /* bytes, of cuBLAS; more does not speed these products up */

struct prefill_problem {
    int heads, kv_heads, depth, queries, keys;
    bool is_causal;
    enum gpu_type type;
};

bool prefill_is_bf16(const struct prefill_problem *p);
int32_t prefill_causal_end(const struct prefill_problem *p); /* as kernels take it */
float prefill_scale(const struct prefill_problem *p);        /* of the scores */

/* Bytes of Q or Out, of K or V, of the scores. */
size_t prefill_q_bytes(const struct prefill_problem *p);
size_t prefill_kv_bytes(const struct prefill_problem *p);
size_t prefill_scores_bytes(const struct prefill_problem *p);
/* Bytes of operands and result, and of what the chain needs beside them. */
double prefill_memory(const struct prefill_problem *p, bool has_chain);

/* The library of the chain's products: opened for the first tensors that ask for it, tried once. */
struct prefill_library {
    struct blas *blas; /* NULL: not to be had, or not asked for yet */
    bool was_tried;
};

struct prefill_tensors {
    struct prefill_problem of;
    struct pool q, k, v, out;
    struct pool scores; /* heads x queries x row; none where only the fused kernel runs */
    struct pool workspace;
    size_t row;              /* elements of a row of scores */
    const struct blas *blas; /* NULL: not to be had, or not asked for */
    cudaKernel_t wgmma, mma; /* NULL where the GPU, or the depth, is not for it */
    cudaKernel_t softmax, verify, naive;
};

/* Inputs are functions of the seed. With a library there is room for the chain, too; NULL: for the
 * fused kernels only. PREFILL_TIMED: as many sets as keep operands out of the L2; PREFILL_ONCE:
 * one, which takes no more memory than it must. */
enum prefill_use { PREFILL_TIMED, PREFILL_ONCE };
struct prefill_tensors prefill_tensors_of(struct probe_run *r, struct prefill_problem p,
                                          struct prefill_library *library, enum prefill_use use,
                                          uint64_t seed);
void prefill_tensors_free(struct probe_run *r, struct prefill_tensors *t);

/* What the kernels take of a set; `together` is left to who launches. */
struct attention_prefill_args prefill_args_of(const struct prefill_tensors *t, size_t set);

#endif
