/* attention_prefill: what is computed, its operands, and the launches that compute it. */
#ifndef FUSED_ATTENTION_PREFILL_PROBLEM_H
#define FUSED_ATTENTION_PREFILL_PROBLEM_H

#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "fused/attention_prefill/args.h"
#include "fused/common/operation.h"

PROBE_IMAGE(attention_prefill);

static const float LOG2_E = 1.4426950409f;
enum { WORKSPACE = 4 << 20 }; /* of cuBLAS; more does not make these products faster */

/* What is computed. */
struct problem {
    int heads, kv_heads, depth, queries, keys;
    bool is_causal;
    enum gpu_type type;
};

struct tensors {
    struct problem of;
    struct pool q, k, v, out;
    struct pool scores; /* heads x queries x row; none where only the fused kernel runs */
    struct pool workspace;
    size_t row;              /* elements of a row of scores */
    const struct blas *blas; /* NULL: not to be had */
    cudaKernel_t wgmma, mma; /* NULL where the GPU, or the depth, is not for it */
    cudaKernel_t softmax, verify, naive;
};

/* The best fused kernel that there is, that of mma.sync in any case; the chain, or a part of it. */
enum part { FUSED, MMA, CHAIN, SCORES, SOFTMAX, VALUES };
struct work {
    const struct tensors *t;
    enum part part;
};

/* --- operands and kernels -------------------------------------------------------------------- */

static bool is_bf16(const struct problem *p)
{
    return p->type == GPU_BF16;
}

static int32_t reach_of(const struct problem *p)
{
    return p->is_causal ? p->keys - p->queries + 1 : p->keys;
}

static float scale_of(const struct problem *p)
{
    return (float)(1 / sqrt(p->depth));
}

/* Bytes of Q or Out, of K or V, of the scores. */
static size_t q_bytes(const struct problem *p)
{
    return 2 * (size_t)p->heads * (size_t)p->queries * (size_t)p->depth;
}

static size_t kv_bytes(const struct problem *p)
{
    return 2 * (size_t)p->kv_heads * (size_t)p->keys * (size_t)p->depth;
}

static size_t scores_bytes(const struct problem *p)
{
    return 2 * (size_t)p->heads * (size_t)p->queries * ((size_t)(p->keys + 7) / 8 * 8);
}

/* Operands and result, and what the chain needs beside them. */
static double memory_of(const struct problem *p, bool has_chain)
{
    const double operands = 2 * (double)(q_bytes(p) + kv_bytes(p));
    return operands + (has_chain ? (double)scores_bytes(p) + WORKSPACE : 0);
}

static void load_kernels(struct probe_run *r, struct tensors *t)
{
    const struct problem *p = &t->of;
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

/* is_bare: without what keeps the buffers of a measurement apart, so that what the driver says is
 * gone is what the buffer takes. */
static struct pool buffer(struct probe_run *r, size_t bytes, size_t sets, bool is_bare,
                          const char *what)
{
    if (!is_bare)
        return pool_new(r, bytes, sets, what);
    return (struct pool){
        .memory = gpu_alloc(r, bytes, what), .bytes = bytes, .stride = bytes, .sets = 1};
}

static void fill(struct probe_run *r, const struct problem *p, const struct pool *pool,
                 uint64_t seed)
{
    gpu_fill_normal(r, pool->memory, p->type, pool->sets * pool->stride / 2, seed);
}

enum for_what { FOR_TIMING, FOR_ONE_RESULT };

/* FOR_TIMING: in as many sets as keep operands out of the L2. */
static struct tensors tensors_of(struct probe_run *r, struct problem p, bool has_chain,
                                 enum for_what for_what, uint64_t seed)
{
    static struct blas *blas;
    static char why[320];
    struct tensors t = {.of = p, .row = (size_t)(p.keys + 7) / 8 * 8};
    const bool is_bare = for_what == FOR_ONE_RESULT;
    const size_t sets = is_bare ? 1 : operation_sets(r, memory_of(&p, false));

    if (has_chain && !blas && !why[0])
        blas = blas_open(r, why, sizeof why);
    t.blas = has_chain ? blas : NULL;
    load_kernels(r, &t);
    t.q = buffer(r, q_bytes(&p), sets, is_bare, "Q");
    t.k = buffer(r, kv_bytes(&p), sets, is_bare, "K");
    t.v = buffer(r, kv_bytes(&p), sets, is_bare, "V");
    t.out = buffer(r, q_bytes(&p), sets, is_bare, "the result");
    if (t.blas) {
        t.scores = buffer(r, scores_bytes(&p), 1, is_bare, "the scores");
        t.workspace = buffer(r, WORKSPACE, 1, is_bare, "cuBLAS's workspace");
    }
    fill(r, &p, &t.q, seed);
    fill(r, &p, &t.k, seed + 1);
    fill(r, &p, &t.v, seed + 2);
    return t;
}

static void tensors_free(struct probe_run *r, struct tensors *t)
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

static struct attention_prefill_args args_of(const struct tensors *t, size_t set)
{
    const struct problem *p = &t->of;
    return (struct attention_prefill_args){.q = pool_at(&t->q, set),
                                           .k = pool_at(&t->k, set),
                                           .v = pool_at(&t->v, set),
                                           .out = pool_at(&t->out, set),
                                           .queries = (uint32_t)p->queries,
                                           .keys = (uint32_t)p->keys,
                                           .heads = (uint32_t)p->heads,
                                           .share = (uint32_t)(p->heads / p->kv_heads),
                                           .causal_end = reach_of(p),
                                           .scale = scale_of(p),
                                           .scale_log2 = scale_of(p) * LOG2_E};
}

/* Heads whose K and V take half of the L2; of each KV head all query heads or none. On an H200,
 * 8192 tokens, that is 8 heads, and by wgmma 6 % faster than all 32 at a time; by mma.sync, which
 * is less in need of memory, all at a time are faster by 3 %, as the long blocks then come first.
 */
static uint32_t heads_together(const struct probe_run *r, const struct problem *p)
{
    size_t share = (size_t)(p->heads / p->kv_heads), head = 2 * kv_bytes(p) / (size_t)p->kv_heads;
    size_t together = gpu_facts(r)->l2_bytes / 2 / head * share;
    return (uint32_t)(together < share              ? share
                      : together > (size_t)p->heads ? (size_t)p->heads
                                                    : together);
}

/* --- launches -------------------------------------------------------------------------------- */

static bool has(const struct tensors *t, enum part part)
{
    return part == MMA ? t->mma != NULL : part == FUSED ? t->wgmma || t->mma : t->blas != NULL;
}

static bool by_wgmma(const struct work *w)
{
    return w->part == FUSED && w->t->wgmma;
}

/* A tensor map of three dimensions, head, row and element, with boxes of 128 rows and 64 columns:
 * what a box has beyond the last row of its head is zero, and not the next head's. */
static void map_of(struct probe_run *r, unsigned char map[128], const struct problem *p,
                   const void *base, uint32_t heads, uint32_t rows)
{
    CUresult (*encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                       const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                       CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill) = gpu_driver_entry("cuTensorMapEncodeTiled", 12000);
    const cuuint64_t size[] = {128, rows, heads}, stride[] = {256, 256 * (cuuint64_t)rows};
    const cuuint32_t box[] = {64, 128, 1}, step[] = {1, 1, 1};
    CUtensorMap tensor;

    if (!encode ||
        encode(&tensor,
               is_bf16(p) ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3,
               (void *)(uintptr_t)base, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        probe_fail(r, "a tensor map of %u heads of %u rows was refused", (unsigned)heads,
                   (unsigned)rows);
    memcpy(map, &tensor, 128);
}

static void launch_as(struct probe_run *r, const struct work *w, struct attention_prefill_args a)
{
    const struct tensors *t = w->t;
    const unsigned blocks = (a.queries + ATTENTION_PREFILL_ROWS - 1) / ATTENTION_PREFILL_ROWS;

    if (!by_wgmma(w)) {
        a.together = a.heads;
        gpu_launch(r, t->mma, blocks * a.heads, ATTENTION_PREFILL_THREADS,
                   ATTENTION_PREFILL_SHARED(t->of.depth), &a);
        return;
    }
    a.together = heads_together(r, &t->of);
    struct attention_prefill_wgmma_args args = {.of = a};
    map_of(r, args.maps[0], &t->of, a.q, a.heads, a.queries);
    map_of(r, args.maps[1], &t->of, a.k, a.heads / a.share, a.keys);
    map_of(r, args.maps[2], &t->of, a.v, a.heads / a.share, a.keys);
    gpu_launch(r, t->wgmma, blocks * a.heads, ATTENTION_PREFILL_WGMMA_THREADS,
               ATTENTION_PREFILL_WGMMA_SHARED, &args);
}

static void launch_fused(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    launch_as(r, w, args_of(w->t, set));
}

/* Of one KV head the queries of all its query heads lie behind one another: one product. */
static void launch_product(struct probe_run *r, const struct tensors *t, size_t set, bool is_scores)
{
    const struct problem *p = &t->of;
    const int rows = p->heads / p->kv_heads * p->queries;
    const struct blas_gemm gemm = {.type = is_bf16(p) ? BLAS_BF16 : BLAS_FP16,
                                   .layout = {'n', is_scores ? 't' : 'n'},
                                   .m = rows,
                                   .n = is_scores ? p->keys : p->depth,
                                   .k = is_scores ? p->depth : p->keys,
                                   .lda = is_scores ? 0 : (int)t->row,
                                   .ldc = is_scores ? (int)t->row : 0,
                                   .a = is_scores ? pool_at(&t->q, set) : t->scores.memory,
                                   .b = pool_at(is_scores ? &t->k : &t->v, set),
                                   .c = is_scores ? t->scores.memory : pool_at(&t->out, set),
                                   .workspace = t->workspace.memory,
                                   .workspace_bytes = WORKSPACE,
                                   .stream = gpu_stream(r)};
    const long long q = (long long)rows * p->depth, scores = (long long)rows * (long long)t->row;
    const struct blas_batch batch = {.count = p->kv_heads,
                                     .a = is_scores ? q : scores,
                                     .b = (long long)p->keys * p->depth,
                                     .c = is_scores ? scores : q};
    blas_gemm_batched(r, t->blas, &gemm, &batch);
}

static void launch_softmax(struct probe_run *r, const struct tensors *t)
{
    const struct problem *p = &t->of;
    const struct attention_softmax_args a = {.scores = t->scores.memory,
                                             .queries = (uint32_t)p->queries,
                                             .keys = (uint32_t)p->keys,
                                             .row = (uint32_t)t->row,
                                             .causal_end = reach_of(p),
                                             .scale = scale_of(p)};
    const unsigned threads = (a.row + 8 * SOFTMAX_VECTORS - 1) / (8 * SOFTMAX_VECTORS);
    gpu_launch(r, t->softmax, a.queries * (unsigned)p->heads, (threads + 31) / 32 * 32, 0, &a);
}

static void launch_chain(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    if (w->part == CHAIN || w->part == SCORES)
        launch_product(r, w->t, set, true);
    if (w->part == CHAIN || w->part == SOFTMAX)
        launch_softmax(r, w->t);
    if (w->part == CHAIN || w->part == VALUES)
        launch_product(r, w->t, set, false);
}

static void launch_part(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    (w->part <= MMA ? launch_fused : launch_chain)(r, self, set);
}

static void poison(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    pool_poison(r, &w->t->out);
    if (w->t->blas)
        pool_poison(r, &w->t->scores);
}

/* Before the second product alone: its probabilities as the chain leaves them, no result. */
static void poison_values(struct probe_run *r, const void *self)
{
    const struct work *w = self, chain = {.t = w->t, .part = CHAIN};
    launch_chain(r, &chain, 0);
    pool_poison(r, &w->t->out);
}

#endif
