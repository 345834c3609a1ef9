/* attention_prefill: sizes, operands and kernels. */
#include <math.h>
#include <stdio.h>

#include "fused/attention_prefill/attention_prefill.h"

PROBE_IMAGE(attention_prefill);

static const float LOG2_E = 1.4426950409f;

/* --- sizes ----------------------------------------------------------------------------------- */

struct prefill_problem prefill_problem_of(const struct operator_shape *shape)
{
    const int *dim = shape->dim, keys = dim[CONTEXT];
    return (struct prefill_problem){.heads = dim[HEADS],
                                    .kv_heads = dim[KV_HEADS],
                                    .depth = dim[DEPTH],
                                    .queries = dim[QUERIES] ? dim[QUERIES] : keys,
                                    .keys = keys,
                                    .is_causal = dim[MASK] == PREFILL_CAUSAL,
                                    .type = (enum gpu_type)shape->type};
}

bool prefill_is_bf16(const struct prefill_problem *p)
{
    return p->type == GPU_BF16;
}

int32_t prefill_causal_end(const struct prefill_problem *p)
{
    return p->is_causal ? p->keys - p->queries + 1 : p->keys;
}

float prefill_scale(const struct prefill_problem *p)
{
    return (float)(1 / sqrt(p->depth));
}

size_t prefill_q_bytes(const struct prefill_problem *p)
{
    return 2 * (size_t)p->heads * (size_t)p->queries * (size_t)p->depth;
}

size_t prefill_kv_bytes(const struct prefill_problem *p)
{
    return 2 * (size_t)p->kv_heads * (size_t)p->keys * (size_t)p->depth;
}

/* Elements of a row of scores, which begins on 16 bytes. */
static size_t row_of_scores(const struct prefill_problem *p)
{
    return (size_t)(p->keys + 7) / 8 * 8;
}

size_t prefill_scores_bytes(const struct prefill_problem *p)
{
    return 2 * (size_t)p->heads * (size_t)p->queries * row_of_scores(p);
}

double prefill_memory(const struct prefill_problem *p, bool has_chain)
{
    const double operands = 2 * (double)(prefill_q_bytes(p) + prefill_kv_bytes(p));
    return operands + (has_chain ? (double)prefill_scores_bytes(p) + PREFILL_WORKSPACE : 0);
}

double prefill_free_bytes(void)
{
    size_t available = 0, all = 0;
    CUDA(cudaMemGetInfo(&available, &all));
    return (double)available;
}

/* --- operands and kernels -------------------------------------------------------------------- */

struct prefill prefill_load(struct probe_run *r, struct prefill_problem p, bool has_chain)
{
    struct prefill t = {.of = p, .row = row_of_scores(&p)};
    const char *type = gpu_type_name(p.type);
    char name[64], why[320];

    snprintf(name, sizeof name, "attention_prefill_%s_%d", type, p.depth);
    t.mma =
        gpu_kernel_if_any(r, &image_attention_prefill, name, sizeof(struct attention_prefill_args));
    if (t.mma)
        gpu_kernel_shared(t.mma, ATTENTION_PREFILL_SHARED(p.depth), 100);
    snprintf(name, sizeof name, "attention_prefill_wgmma_%s", type);
    t.wgmma = gpu_kernel_if_any(r, &image_attention_prefill, name,
                                sizeof(struct attention_prefill_wgmma_args));
    if (p.depth != 128)
        t.wgmma = NULL;
    if (t.wgmma)
        gpu_kernel_shared(t.wgmma, ATTENTION_PREFILL_WGMMA_SHARED, 100);
    snprintf(name, sizeof name, "attention_softmax_%s", type);
    t.softmax =
        gpu_kernel(r, &image_attention_prefill, name, sizeof(struct attention_softmax_args));
    t.verify = gpu_kernel(r, &image_attention_prefill, "attention_prefill_verify",
                          sizeof(struct attention_row_args));
    t.naive = gpu_kernel(r, &image_attention_prefill, "attention_prefill_naive",
                         sizeof(struct attention_row_args));
    t.blas = has_chain ? blas_open(r, why, sizeof why) : NULL;
    return t;
}

/* Does a block's softmax hold the row, and the memory the scores, with a tenth to spare? */
static bool takes_chain(struct probe_run *r, const struct prefill_problem *p)
{
    const double more = prefill_memory(p, true) - prefill_memory(p, false);
    const bool takes = p->keys <= SOFTMAX_ROW_MAX && more < 0.9 * prefill_free_bytes();
    if (!takes)
        probe_note(r, "%d tokens are too many for the chain of kernels", p->keys);
    return takes;
}

void prefill_open(struct probe_run *r, struct operator_set *s)
{
    const struct prefill_problem p = prefill_problem_of(&s->shape);
    const bool has_chain = s->groups & (OPERATOR_UNFUSED | VALUES | OPERATOR_PARTS);
    struct prefill *t = s->own;

    *t = prefill_load(r, p, has_chain);
    t->q = operator_operand(r, s, p.type, prefill_q_bytes(&p) / 2, "Q");
    t->k = operator_operand(r, s, p.type, prefill_kv_bytes(&p) / 2, "K");
    t->v = operator_operand(r, s, p.type, prefill_kv_bytes(&p) / 2, "V");
    t->out = operator_result(r, s, prefill_q_bytes(&p), "the result");
    if (t->blas && !takes_chain(r, &p))
        t->blas = NULL;
    if (t->blas) {
        t->scores = operator_table(r, s, prefill_scores_bytes(&p), "the scores");
        t->workspace = operator_table(r, s, PREFILL_WORKSPACE, "cuBLAS's workspace");
    }
}

struct attention_prefill_args prefill_args_of(const struct prefill *t, size_t set)
{
    const struct prefill_problem *p = &t->of;
    return (struct attention_prefill_args){.q = pool_at(&t->q, set),
                                           .k = pool_at(&t->k, set),
                                           .v = pool_at(&t->v, set),
                                           .out = pool_at(&t->out, set),
                                           .queries = (uint32_t)p->queries,
                                           .keys = (uint32_t)p->keys,
                                           .heads = (uint32_t)p->heads,
                                           .share = (uint32_t)(p->heads / p->kv_heads),
                                           .causal_end = prefill_causal_end(p),
                                           .scale = prefill_scale(p),
                                           .scale_log2 = prefill_scale(p) * LOG2_E};
}
