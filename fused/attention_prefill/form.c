/* attention_prefill: the forms of it, each a fused kernel, the unfused chain or a part of that. */
#include "fused/attention_prefill/attention_prefill.h"

bool prefill_has(const struct prefill *t, enum prefill_part part)
{
    return part == PREFILL_MMA     ? t->mma && t->wgmma
           : part == PREFILL_FUSED ? t->mma || t->wgmma
                                   : t->blas != NULL;
}

static bool is_by_wgmma(const struct prefill *t, enum prefill_part part)
{
    return part == PREFILL_FUSED && t->wgmma;
}

/* --- fused ----------------------------------------------------------------------------------- */

/* Heads whose K and V take half of the L2; of each KV head all query heads or none. On an H200,
 * 8192 tokens, that is 8 heads, and by wgmma 6 % faster than all 32 at a time; by mma.sync, which
 * is less in need of memory, all at a time are faster by 3 %, as the long blocks then come first.
 */
static uint32_t heads_together(const struct probe_run *r, const struct prefill_problem *p)
{
    size_t share = (size_t)(p->heads / p->kv_heads);
    size_t head = 2 * prefill_kv_bytes(p) / (size_t)p->kv_heads;
    size_t together = gpu_facts(r)->l2_bytes / 2 / head * share;
    return (uint32_t)(together < share              ? share
                      : together > (size_t)p->heads ? (size_t)p->heads
                                                    : together);
}

/* By head, row and element: what a box has beyond the last row of its head is zero, and not the
 * next head's. */
static void map_heads(struct probe_run *r, unsigned char map[GPU_TENSOR_MAP_BYTES],
                      const struct prefill_problem *p, const void *base, uint32_t heads,
                      uint32_t rows)
{
    const uint64_t depth = (uint64_t)p->depth;
    const struct gpu_tensor tensor = {.type = p->type,
                                      .base = base,
                                      .rank = 3,
                                      .size = {heads, rows, depth},
                                      .stride = {rows * depth, depth},
                                      .box = {1, 128, 64}};
    gpu_tensor_map(r, map, &tensor);
}

void prefill_launch_as(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                       struct attention_prefill_args a)
{
    const unsigned blocks = (a.queries + ATTENTION_PREFILL_ROWS - 1) / ATTENTION_PREFILL_ROWS;

    if (!is_by_wgmma(t, part)) {
        a.together = a.heads;
        gpu_launch(r, t->mma, blocks * a.heads, ATTENTION_PREFILL_THREADS,
                   ATTENTION_PREFILL_SHARED(t->of.depth), &a);
        return;
    }
    a.together = heads_together(r, &t->of);
    struct attention_prefill_wgmma_args args = {.of = a};
    map_heads(r, args.maps[0], &t->of, a.q, a.heads, a.queries);
    map_heads(r, args.maps[1], &t->of, a.k, a.heads / a.share, a.keys);
    map_heads(r, args.maps[2], &t->of, a.v, a.heads / a.share, a.keys);
    gpu_launch(r, t->wgmma, blocks * a.heads, ATTENTION_PREFILL_WGMMA_THREADS,
               ATTENTION_PREFILL_WGMMA_SHARED, &args);
}

/* --- the chain ------------------------------------------------------------------------------- */

/* Of one KV head the queries of all its query heads lie behind one another: one product. */
static void launch_product(struct probe_run *r, const struct prefill *t, size_t set, bool is_scores)
{
    const struct prefill_problem *p = &t->of;
    const int rows = p->heads / p->kv_heads * p->queries;
    const struct blas_gemm gemm = {.type = prefill_is_bf16(p) ? BLAS_BF16 : BLAS_FP16,
                                   .layout = {'n', is_scores ? 't' : 'n'},
                                   .m = rows,
                                   .n = is_scores ? p->keys : p->depth,
                                   .k = is_scores ? p->depth : p->keys,
                                   .lda = is_scores ? 0 : (int)t->row,
                                   .ldc = is_scores ? (int)t->row : 0,
                                   .a = is_scores ? pool_at(&t->q, set) : t->scores,
                                   .b = pool_at(is_scores ? &t->k : &t->v, set),
                                   .c = is_scores ? t->scores : pool_at(&t->out, set),
                                   .workspace = t->workspace,
                                   .workspace_bytes = PREFILL_WORKSPACE,
                                   .stream = gpu_stream(r)};
    const long long q = (long long)rows * p->depth, scores = (long long)rows * (long long)t->row;
    const struct blas_batch batch = {.count = p->kv_heads,
                                     .a = is_scores ? q : scores,
                                     .b = (long long)p->keys * p->depth,
                                     .c = is_scores ? scores : q};
    blas_gemm_batched(r, t->blas, &gemm, &batch);
}

static void launch_softmax(struct probe_run *r, const struct prefill *t)
{
    const struct prefill_problem *p = &t->of;
    const struct attention_softmax_args a = {.scores = t->scores,
                                             .queries = (uint32_t)p->queries,
                                             .keys = (uint32_t)p->keys,
                                             .row = (uint32_t)t->row,
                                             .causal_end = prefill_causal_end(p),
                                             .scale = prefill_scale(p)};
    const unsigned threads = (a.row + 8 * SOFTMAX_VECTORS - 1) / (8 * SOFTMAX_VECTORS);
    gpu_launch(r, t->softmax, a.queries * (unsigned)p->heads, (threads + 31) / 32 * 32, 0, &a);
}

void prefill_launch(struct probe_run *r, const struct prefill *t, enum prefill_part part,
                    size_t set)
{
    if (part < PREFILL_CHAIN)
        prefill_launch_as(r, t, part, prefill_args_of(t, set));
    if (part == PREFILL_CHAIN || part == PREFILL_SCORES)
        launch_product(r, t, set, true);
    if (part == PREFILL_CHAIN || part == PREFILL_SOFTMAX)
        launch_softmax(r, t);
    if (part == PREFILL_CHAIN || part == PREFILL_VALUES)
        launch_product(r, t, set, false);
}

/* --- as the harness takes them --------------------------------------------------------------- */

/* Leaves the probabilities of set 0, as the chain computes them: what the product with V needs that
 * is verified alone, and numbers that the softmax alone is timed on. A chain that leaves out one of
 * its kernels goes wrong on them. */
void prefill_reset(struct probe_run *r, const struct operator_set *s)
{
    const struct prefill *t = s->own;
    if (!t->blas)
        return;
    prefill_launch(r, t, PREFILL_SCORES, 0);
    prefill_launch(r, t, PREFILL_SOFTMAX, 0);
}

static void launch(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   size_t set)
{
    prefill_launch(r, s->own, (enum prefill_part)f->which, set);
}

/* Bytes loaded and stored if every tensor passes once; of a softmax below a causal mask half the
 * scores are loaded. What tiles load again comes from the L2 and is not counted. */
static double bytes_of(const struct prefill_problem *p, enum prefill_part part)
{
    const double q = (double)prefill_q_bytes(p), kv = (double)prefill_kv_bytes(p);
    const double scores = (double)prefill_scores_bytes(p);
    const double product = q + kv + scores, softmax = scores * (p->is_causal ? 1.5 : 2);

    return part < PREFILL_CHAIN      ? 2 * q + 2 * kv
           : part == PREFILL_CHAIN   ? 2 * product + softmax
           : part == PREFILL_SOFTMAX ? softmax
                                     : product;
}

size_t prefill_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                     struct operator_form *list)
{
    static const struct {
        const char *name;
        unsigned group;
    } known[] = {[PREFILL_FUSED] = {"fused", OPERATOR_FUSED},
                 [PREFILL_MMA] = {"mma", BY_MMA},
                 [PREFILL_CHAIN] = {"unfused", OPERATOR_UNFUSED},
                 [PREFILL_VALUES] = {"values", VALUES},
                 [PREFILL_SCORES] = {"scores", OPERATOR_PARTS},
                 [PREFILL_SOFTMAX] = {"softmax", OPERATOR_PARTS}};
    const struct prefill *t = s->own;
    size_t n = 0;

    (void)r, (void)member;
    for (enum prefill_part part = PREFILL_FUSED; part < N_PREFILL_PARTS; part++)
        if (prefill_has(t, part))
            list[n++] = (struct operator_form){
                .name = known[part].name,
                .group = known[part].group,
                .bytes = bytes_of(&t->of, part),
                .memory = prefill_memory(&t->of, part >= PREFILL_CHAIN),
                .kernels = part == PREFILL_CHAIN ? 3 : 1,
                .launch = launch,
                .which = (int)part,
            };
    return n;
}
