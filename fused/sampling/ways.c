#include "fused/sampling/ways.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"

PROBE_IMAGE(sampling);

enum { SHARED_STATIC = 26 << 10 };
const char *const sampling_step_names[N_STEPS] = {"penalty", "temperature", "top_k",
                                                  "softmax", "top_p",       "draw"};

/* --- rows ------------------------------------------------------------------------------------- */

static void load_kernels(struct probe_run *r, struct sampling_rows *t)
{
    static const char *const fused[2][2] = {{"sampling_block", "sampling_block_whole"},
                                            {"sampling_cluster", "sampling_cluster_whole"}};
    static const char *const selects[] = {"sampling_block_top_k", "sampling_cluster_top_k"};
    const size_t size = sizeof(struct sampling_args), step_size = sizeof(struct sampling_step_args);
    char name[64];

    for (int c = 0; c < 2; c++) {
        for (int whole = 0; whole < 2; whole++)
            t->sample[c][whole] = gpu_kernel_if_any(r, &image_sampling, fused[c][whole], size);
        t->top_k[c] = gpu_kernel_if_any(r, &image_sampling, selects[c], size);
    }
    t->once = gpu_kernel_if_any(r, &image_sampling, "sampling_cluster_once", size);
    for (int small = 0; small < 2; small++)
        for (int i = 0; i < N_STEPS; i++)
            if (i != TOP_K && (!small || i < TOP_K)) {
                snprintf(name, sizeof name, "sampling_%s%s", sampling_step_names[i],
                         small ? "_small" : "");
                t->steps[small][i] = gpu_kernel(r, &image_sampling, name, step_size);
            }
}

static void fill_with_bits(struct probe_run *r, const struct pool *p, uint64_t seed)
{
    const size_t words = p->sets * p->stride / 4;
    uint32_t *host = probe_host_alloc(r, words * 4);
    for (size_t i = 0; i < words; i++)
        host[i] = (uint32_t)(draw(&seed) >> 32);
    gpu_to_device(r, p->memory, host, words * 4);
    free(host);
}

static void repeat_first(struct probe_run *r, const struct pool *p)
{
    for (size_t set = 1; set < p->sets; set++)
        CUDA(cudaMemcpyAsync(pool_at(p, set), p->memory, p->bytes, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
}

struct sampling_rows sampling_rows_new(struct probe_run *r, uint32_t batch, uint32_t vocabulary,
                                       uint32_t k, double p, uint64_t seed)
{
    const float penalty = 1.2f, temperature = 0.3f;
    struct sampling_rows t = {.batch = batch, .vocabulary = vocabulary};
    t.rule = (struct sampling_rule){.penalty = penalty,
                                    .inverse_penalty = 1 / penalty,
                                    .inverse_temperature = 1 / temperature,
                                    .k = k,
                                    .share = p < 1 ? (uint32_t)(p * 0x1p32) : UINT32_MAX};
    t.stride = ((uint64_t)vocabulary + 3) / 4 * 4;
    t.words = ((uint64_t)vocabulary + 31) / 32;
    t.sets = operation_sets(r, 4 * (double)batch * (double)vocabulary);
    load_kernels(r, &t);

    const size_t row = k ? 4 * t.stride : 4, few = 4 * (k ? k : 1);
    const size_t bytes[N_PARTS] = {
        [SEEN] = 4 * t.words, [NOISE] = 4, [TOKENS] = 4,   [PENALISED] = row, [TEMPERED] = row,
        [VALUES] = few,       [IDS] = few, [MASSES] = few, [KEPT] = few};
    t.parts[LOGITS] = pool_normal(r, GPU_FP32, batch * t.stride, t.sets, seed, "the logits");
    for (int i = SEEN; i < N_PARTS; i++)
        t.parts[i] = pool_new(r, batch * bytes[i], t.sets, "a part of the rows");
    fill_with_bits(r, &t.parts[SEEN], seed + 1);
    fill_with_bits(r, &t.parts[NOISE], seed + 2);
    for (int i = LOGITS; i <= NOISE; i++)
        repeat_first(r, &t.parts[i]);
    return t;
}

void sampling_rows_free(struct probe_run *r, struct sampling_rows *t)
{
    for (int i = 0; i < N_PARTS; i++)
        pool_free(r, &t->parts[i]);
}

void sampling_rows_poison(struct probe_run *r, const struct sampling_rows *t)
{
    for (int i = TOKENS; i < N_PARTS; i++)
        pool_poison(r, &t->parts[i]);
}

/* --- one kernel ------------------------------------------------------------------------------- */

size_t sampling_shared(const struct sampling_rows *t, unsigned cluster)
{
    const size_t vectors = ((size_t)t->vocabulary + 3) / 4, each = SAMPLING_THREADS * cluster;
    return cluster > 1 ? (vectors + each - 1) / each * SAMPLING_THREADS * 16 : 0;
}

bool sampling_fits(struct probe_run *r, const struct sampling_rows *t, unsigned cluster)
{
    const size_t shared = sampling_shared(t, cluster);
    const cudaKernel_t all[] = {t->sample[1][0], t->sample[1][1], t->top_k[1], t->once};

    if (cluster == 1)
        return true;
    if (!all[0] || shared + SHARED_STATIC > gpu_facts(r)->shared_per_block)
        return false;
    for (size_t i = 0; i < PROBE_LENGTH(all); i++) {
        gpu_kernel_shared(all[i], shared, -1);
        if (cluster > 8)
            gpu_kernel_clusters(all[i]);
    }
    return gpu_clusters_at_once(all[0], SAMPLING_THREADS, shared, cluster) > 0;
}

static struct sampling_args args_of(const struct sampling_rows *t, unsigned cluster, size_t set)
{
    const uint32_t rank = (t->rule.k + 12) / 13; /* 13 blocks are enough, so 3 may have few */
    return (struct sampling_args){.logits = pool_at(&t->parts[LOGITS], set),
                                  .seen = pool_at(&t->parts[SEEN], set),
                                  .noise = pool_at(&t->parts[NOISE], set),
                                  .tokens = pool_at(&t->parts[TOKENS], set),
                                  .values = pool_at(&t->parts[VALUES], set),
                                  .ids = pool_at(&t->parts[IDS], set),
                                  .stride = t->stride,
                                  .seen_stride = t->words,
                                  .vocabulary = t->vocabulary,
                                  .once_rank = (uint16_t)rank,
                                  .once_blocks =
                                      (uint16_t)(rank ? (t->rule.k + rank - 1) / rank : 0),
                                  .rule = t->rule,
                                  .cluster = cluster};
}

static void launch_rows(struct probe_run *r, const struct sampling_rows *t, cudaKernel_t kernel,
                        const struct sampling_args *a, unsigned rows)
{
    const struct gpu_shape shape = {.grid = {rows * a->cluster, 1, 1},
                                    .block = SAMPLING_THREADS,
                                    .shared = sampling_shared(t, a->cluster),
                                    .cluster = a->cluster > 1 ? a->cluster : 0};
    gpu_launch_shape(r, kernel, &shape, a);
}

bool sampling_can_be_once(const struct sampling_rows *t)
{
    return 0 < t->rule.k && t->rule.k <= SAMPLING_ONCE_K && t->vocabulary <= SAMPLING_ONCE_LOGITS;
}

static cudaKernel_t kernel_of(const struct sampling_rows *t, struct sampling_way way)
{
    return way.is_once ? t->once : t->sample[way.cluster > 1][t->rule.k == 0];
}

void sampling_draw_fused(struct probe_run *r, const struct sampling_rows *t,
                         struct sampling_way way, size_t set)
{
    const struct sampling_args a = args_of(t, way.cluster, set);
    launch_rows(r, t, kernel_of(t, way), &a, t->batch);
}

/* --- six kernels ------------------------------------------------------------------------------ */

static struct sampling_step_args step_args_of(const struct sampling_rows *t,
                                              enum sampling_step step, size_t set)
{
    static const enum sampling_part in[] = {LOGITS, PENALISED, TEMPERED, VALUES, MASSES, KEPT};
    static const enum sampling_part out[] = {PENALISED, TEMPERED, VALUES, MASSES, KEPT, TOKENS};
    const bool is_wide = step < TOP_K;
    return (struct sampling_step_args){.in = pool_at(&t->parts[in[step]], set),
                                       .out = pool_at(&t->parts[out[step]], set),
                                       .seen = pool_at(&t->parts[SEEN], set),
                                       .ids = pool_at(&t->parts[IDS], set),
                                       .noise = pool_at(&t->parts[NOISE], set),
                                       .tokens = pool_at(&t->parts[TOKENS], set),
                                       .stride = is_wide ? t->stride : t->rule.k,
                                       .seen_stride = t->words,
                                       .count = is_wide ? t->vocabulary : t->rule.k,
                                       .rule = t->rule};
}

/* One vector a thread where four would leave SMs without a block. */
static void launch_each_logit(struct probe_run *r, const struct sampling_rows *t,
                              enum sampling_step step, const struct sampling_step_args *a)
{
    const size_t vectors = t->stride / 4;
    const bool is_small = vectors * t->batch < (size_t)gpu_facts(r)->n_sm * SAMPLING_EACH * 4;
    const size_t each = SAMPLING_EACH * (is_small ? 1 : 4);
    gpu_launch_grid(r, t->steps[is_small][step],
                    (dim3){(unsigned)((vectors + each - 1) / each), t->batch, 1}, SAMPLING_EACH, 0,
                    a);
}

void sampling_draw_step(struct probe_run *r, const struct sampling_rows *t, unsigned cluster,
                        enum sampling_step step, size_t set)
{
    const struct sampling_step_args a = step_args_of(t, step, set);
    struct sampling_args select = args_of(t, cluster, set);

    select.logits = a.in;
    if (step == TOP_K)
        launch_rows(r, t, t->top_k[cluster > 1], &select, t->batch);
    else if (step < TOP_K)
        launch_each_logit(r, t, step, &a);
    else
        gpu_launch(r, t->steps[0][step], t->batch, 32, 0, &a);
}

void sampling_draw_many(struct probe_run *r, const struct sampling_rows *t, struct sampling_way way,
                        const uint32_t *noise, uint32_t *tokens, unsigned draws)
{
    struct sampling_args a = args_of(t, way.cluster, 0);
    struct sampling_step_args last = step_args_of(t, DRAW, 0);

    a.noise = last.noise = noise;
    a.tokens = last.tokens = tokens;
    a.stride = a.seen_stride = last.stride = 0;
    gpu_poison(r, tokens, 4 * (size_t)draws);
    if (!way.is_chain) {
        launch_rows(r, t, kernel_of(t, way), &a, draws);
        return;
    }
    for (enum sampling_step step = PENALTY; step < DRAW; step++)
        sampling_draw_step(r, t, way.cluster, step, 0);
    gpu_launch(r, t->steps[0][DRAW], draws, 32, 0, &last);
}
