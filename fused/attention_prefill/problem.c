#include "fused/attention_prefill/problem.h"

#include <math.h>
#include <stdio.h>

PROBE_IMAGE(attention_prefill);

static const float LOG2_E = 1.4426950409f;

/* --- sizes ----------------------------------------------------------------------------------- */

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

/* --- operands and kernels -------------------------------------------------------------------- */

static void load_kernels(struct probe_run *r, struct prefill_tensors *t)
{
    const struct prefill_problem *p = &t->of;
    const char *type = gpu_type_name(p->type);
    char name[64];

    snprintf(name, sizeof name, "attention_prefill_%s_%d", type, p->depth);
    t->mma =
        gpu_kernel_if_any(r, &image_attention_prefill, name, sizeof(struct attention_prefill_args));
    if (t->mma)
        gpu_kernel_shared(t->mma, ATTENTION_PREFILL_SHARED(p->depth), 100);
    snprintf(name, sizeof name, "attention_prefill_wgmma_%s", type);
    t->wgmma = gpu_kernel_if_any(r, &image_attention_prefill, name,
                                 sizeof(struct attention_prefill_wgmma_args));
    if (p->depth != 128)
        t->wgmma = NULL;
    if (t->wgmma)
        gpu_kernel_shared(t->wgmma, ATTENTION_PREFILL_WGMMA_SHARED, 100);
    snprintf(name, sizeof name, "attention_softmax_%s", type);
    t->softmax =
        gpu_kernel(r, &image_attention_prefill, name, sizeof(struct attention_softmax_args));
    t->verify = gpu_kernel(r, &image_attention_prefill, "attention_prefill_verify",
                           sizeof(struct attention_row_args));
    t->naive = gpu_kernel(r, &image_attention_prefill, "attention_prefill_naive",
                          sizeof(struct attention_row_args));
}

static const struct blas *open_library(struct probe_run *r, struct prefill_library *library)
{
    char why[320];
    if (!library->was_tried)
        library->blas = blas_open(r, why, sizeof why);
    library->was_tried = true;
    return library->blas;
}

/* PREFILL_ONCE: without what keeps the buffers of a measurement apart, so that what the driver says
 * is gone is what the buffer takes. */
static struct pool buffer(struct probe_run *r, size_t bytes, size_t sets, enum prefill_use use,
                          const char *what)
{
    if (use == PREFILL_TIMED)
        return pool_new(r, bytes, sets, what);
    return (struct pool){
        .memory = gpu_alloc(r, bytes, what), .bytes = bytes, .stride = bytes, .sets = 1};
}

static void fill(struct probe_run *r, const struct prefill_problem *p, const struct pool *pool,
                 uint64_t seed)
{
    gpu_fill_normal(r, pool->memory, p->type, pool->sets * pool->stride / 2, seed);
}

struct prefill_tensors prefill_tensors_of(struct probe_run *r, struct prefill_problem p,
                                          struct prefill_library *library, enum prefill_use use,
                                          uint64_t seed)
{
    struct prefill_tensors t = {.of = p, .row = row_of_scores(&p)};
    const size_t sets = use == PREFILL_ONCE ? 1 : operation_sets(r, prefill_memory(&p, false));

    t.blas = library ? open_library(r, library) : NULL;
    load_kernels(r, &t);
    t.q = buffer(r, prefill_q_bytes(&p), sets, use, "Q");
    t.k = buffer(r, prefill_kv_bytes(&p), sets, use, "K");
    t.v = buffer(r, prefill_kv_bytes(&p), sets, use, "V");
    t.out = buffer(r, prefill_q_bytes(&p), sets, use, "the result");
    if (t.blas) {
        t.scores = buffer(r, prefill_scores_bytes(&p), 1, use, "the scores");
        t.workspace = buffer(r, PREFILL_WORKSPACE, 1, use, "cuBLAS's workspace");
    }
    fill(r, &p, &t.q, seed);
    fill(r, &p, &t.k, seed + 1);
    fill(r, &p, &t.v, seed + 2);
    return t;
}

void prefill_tensors_free(struct probe_run *r, struct prefill_tensors *t)
{
    pool_free(r, &t->q);
    pool_free(r, &t->k);
    pool_free(r, &t->v);
    pool_free(r, &t->out);
    if (t->blas) {
        pool_free(r, &t->scores);
        pool_free(r, &t->workspace);
    }
}

struct attention_prefill_args prefill_args_of(const struct prefill_tensors *t, size_t set)
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
