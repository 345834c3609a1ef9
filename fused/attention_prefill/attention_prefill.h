/* attention_prefill: what is computed, its operands on the GPU, the forms to compute it in, and
 * whether results are right. */
#ifndef FUSED_ATTENTION_PREFILL_ATTENTION_PREFILL_H
#define FUSED_ATTENTION_PREFILL_ATTENTION_PREFILL_H

#include "core/blas.h"
#include "fused/attention_prefill/args.h"
#include "fused/common/operator.h"

/* Dimensions of a shape. `context` is how many keys there are; no key of the cases says how many
 * queries: 0 stands for as many. */
enum { HEADS, KV_HEADS, DEPTH, CONTEXT, MASK, QUERIES };
enum prefill_mask { PREFILL_CAUSAL = 1, PREFILL_NO_MASK }; /* 0: a dimension that was not given */

/* A shape, as kernels and formulas take it. */
struct prefill_problem {
    int heads, kv_heads, depth, queries, keys;
    bool is_causal;
    enum gpu_type type;
};

/* In this order: the fused kernels, the chain, its parts, which come behind it, on what it left. */
enum prefill_part {
    PREFILL_FUSED, /* the best fused kernel that there is: by wgmma, else by mma.sync */
    PREFILL_MMA,   /* that of mma.sync, where both can run */
    PREFILL_CHAIN,
    PREFILL_VALUES,
    PREFILL_SCORES,
    PREFILL_SOFTMAX,
    N_PREFILL_PARTS,
};
/* Groups of forms beside those of operator.h. */
enum { BY_MMA = OPERATOR_OWN, VALUES = OPERATOR_OWN << 1 };

/* The operator's part of a set. */
struct prefill {
    struct prefill_problem of;
    struct pool q, k, v, out;
    void *scores, *workspace; /* heads x queries x row, and cuBLAS's; one set, of the chain alone */
    size_t row;               /* elements of a row of scores */
    const struct blas *blas;  /* NULL: no chain */
    cudaKernel_t wgmma, mma;  /* NULL where the GPU, or the depth, is not for it */
    cudaKernel_t softmax, verify, naive;
};

extern const struct fused_operator attention_prefill;

/* --- problem.c ------------------------------------------------------------------------------- */

enum { PREFILL_WORKSPACE = 4 << 20 }; /* bytes, of cuBLAS; more does not speed these products up */

struct prefill_problem prefill_problem_of(const struct operator_shape *shape);
bool prefill_is_bf16(const struct prefill_problem *p);
int32_t prefill_causal_end(const struct prefill_problem *p); /* as kernels take it */
float prefill_scale(const struct prefill_problem *p);        /* of the scores */

/* Bytes of Q or Out, of K or V, of the scores. */
size_t prefill_q_bytes(const struct prefill_problem *p);
size_t prefill_kv_bytes(const struct prefill_problem *p);
size_t prefill_scores_bytes(const struct prefill_problem *p);
/* Bytes of operands and result, and of what the chain needs beside them. */
double prefill_memory(const struct prefill_problem *p, bool has_chain);
double prefill_free_bytes(void); /* of the GPU's memory, by the driver */

/* The kernels for a problem and, if asked for, the library; no memory. */
struct prefill prefill_load(struct probe_run *r, struct prefill_problem p, bool has_chain);
void prefill_open(struct probe_run *r, struct operator_set *s);

/* What the kernels take of a set; `together` is left to who launches. */
struct attention_prefill_args prefill_args_of(const struct prefill *t, size_t set);

/* --- form.c ---------------------------------------------------------------------------------- */

/* Can it be had here? */
bool prefill_has(const struct prefill *t, enum prefill_part part);
void prefill_launch(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                    size_t set);
/* A fused part with other arguments than its own. */
void prefill_launch_as(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                       struct attention_prefill_args a);

void prefill_reset(struct probe_run *r, const struct operator_set *s);
size_t prefill_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                     struct operator_form *list);

/* --- check.c --------------------------------------------------------------------------------- */

/* Of all rows, the share that one verification looks at. */
double prefill_share_verified(const struct prefill_problem *p, bool all);

/* Looks at set 0 by the GPU alone, and judges it. */
double prefill_check(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                     const char *when);
struct verdict prefill_verify(struct probe_run *r, const struct operator_set *s,
                              const struct operator_form *f, bool all, uint64_t *due);
void prefill_check_on_host(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, const char *when);
/* The errors of both, and wrong arguments, each of which verification has to see. */
void prefill_judge(struct probe_run *r, const struct operator_set *s,
                   const struct operator_form *unfused, const struct operator_form *fused);

/* Computes with this causal_end in place of the problem's; is_naive: by the control that leaves the
 * maximum out. Returns which share of the rows that are looked at is right. wrong_rows is a word of
 * device memory. */
double prefill_share_right(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                           int causal_end, bool is_naive, uint32_t *wrong_rows);

/* Odd shapes by each fused kernel and the chain, for --check. */
void prefill_check_shapes(struct probe_run *r);

#endif
