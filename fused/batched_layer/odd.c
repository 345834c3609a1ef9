#include "fused/batched_layer/odd.h"

#include <math.h>
#include <stdlib.h>

#include "core/draw.h"
#include "fused/batched_layer/point.h"

enum { SHAPES = 12 };
static const double LAYER_ERROR = 1e-2;

static void *fetched(struct probe_run *r, const void *device, size_t bytes)
{
    void *host = probe_host_alloc(r, bytes);
    gpu_to_host(r, host, device, bytes);
    return host;
}

static struct reference_values values_of(struct probe_run *r, const struct batched_problem *p)
{
    const struct decoder_shape *s = &p->shape;
    const size_t batch = p->batch * sizeof(double);
    return (struct reference_values){
        probe_host_alloc(r, batch * (s->heads + 2 * s->kv_heads) * s->head_dim),
        probe_host_alloc(r, batch * s->heads * s->head_dim), probe_host_alloc(r, batch * s->hidden),
        probe_host_alloc(r, batch * s->ffn), probe_host_alloc(r, batch * s->hidden)};
}

static void free_values(struct reference_values *v)
{
    double *const all[] = {v->qkv, v->attention, v->o, v->h, v->down};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        free(all[i]);
}

/* The residual behind one layer, on the CPU, and what it was. */
static void layer_on_host(struct probe_run *r, const struct batched_tensors *t, double *residual,
                          double *was)
{
    const struct batched_problem *p = &t->p;
    const size_t count = (size_t)p->batch * p->shape.hidden;
    float *input = fetched(r, t->input, 4 * count);
    void *weights = fetched(r, batched_layer_at(t, 0), decoder_layer_bytes(&p->shape));
    void *cache = fetched(r, batched_cache_at(t, 0), batched_cache_bytes(p));
    float *rope = fetched(r, t->rope, 4ull * p->shape.head_dim);
    struct reference_values values = values_of(r, p);
    const struct reference_layer l = {.shape = &p->shape,
                                      .batch = p->batch,
                                      .context = p->context,
                                      .capacity = p->capacity,
                                      .weights = weights,
                                      .cache = cache,
                                      .rope = rope,
                                      .epsilon = 1e-5,
                                      .rounds = ROUNDS_AFTER};
    for (size_t i = 0; i < count; i++)
        residual[i] = was[i] = input[i];
    reference_whole_layer(&l, residual, &values);
    free_values(&values);
    free(rope);
    free(cache);
    free(weights);
    free(input);
}

/* Of what the layer adds. */
static double error_of(struct probe_run *r, const struct batched_tensors *t, const double *residual,
                       const double *was)
{
    const size_t count = (size_t)t->p.batch * t->p.shape.hidden;
    float *output = fetched(r, t->output, 4 * count);
    double apart = 0, moved = 0;
    for (size_t i = 0; i < count; i++) {
        apart += (output[i] - residual[i]) * (output[i] - residual[i]);
        moved += (residual[i] - was[i]) * (residual[i] - was[i]);
    }
    free(output);
    return sqrt(apart / moved);
}

static void check_shape(struct probe_run *r, struct point *q)
{
    const size_t bytes = (size_t)q->p.batch * q->p.shape.hidden * sizeof(double);
    double *residual = probe_host_alloc(r, bytes), *was = probe_host_alloc(r, bytes);
    point_ready(r, q);
    layer_on_host(r, &q->t, residual, was);
    for (enum batched_impl impl = 0; impl < BATCHED_IMPLS && q->has_products; impl++) {
        const struct batched_pack *pack = &batched_packs[impl];
        const struct batched_work w = point_work(q);
        point_verify(r, q, pack);
        batched_poison(r, &q->t);
        batched_launch(r, &w, pack, 1, 1);
        const double error = error_of(r, &q->t, residual, was);
        probe_require(r, error <= LAYER_ERROR, "%s: as on the CPU in float64: error %.2g",
                      pack->name, error);
    }
    free(residual);
    free(was);
    point_free(r, q);
    batched_weights_free(r, &q->family->w);
}

/* Heads in odd groups, batches that fill no tile, splits without a key. */
static struct batched_problem draw_problem(int i, uint64_t *state)
{
    static const uint32_t contexts[] = {2, 3, 31, 33, 64, 65, 130, 257},
                          batches[] = {1, 2, 3, 7, 17, 33, 65, 130};
    const uint32_t d = i % 3 == 0 ? 128 : 64, kv = 1 + (uint32_t)draw_below(state, 2);
    const uint32_t group = 1 + (uint32_t)draw_below(state, d == 64 ? 4 : 8);
    const uint32_t splits[] = {0, 1, 1 + (uint32_t)draw_below(state, 32)};
    return (struct batched_problem){.model = "odd",
                                    .shape = {.hidden = 8 * (8 + (uint32_t)draw_below(state, 40)),
                                              .heads = kv * group,
                                              .kv_heads = kv,
                                              .head_dim = d,
                                              .ffn = 8 * (8 + (uint32_t)draw_below(state, 60)),
                                              .vocabulary = 1000},
                                    .batch = batches[draw_below(state, PROBE_LENGTH(batches))],
                                    .context = contexts[draw_below(state, PROBE_LENGTH(contexts))],
                                    .splits = splits[i % 3],
                                    .weight_sets = 2,
                                    .cache_sets = 2};
}

int batched_check_odd_shapes(struct probe_run *r)
{
    const struct batched_machine m = batched_machine_of(r);
    uint64_t state = probe_seed(r);
    struct family family = {.blas = NULL};
    int checked = 0;

    for (int i = 0; i < SHAPES; i++) {
        struct point q = {.p = draw_problem(i, &state), .family = &family};
        char why[240];
        if (!probe_require(r, batched_problem_make(&q.p, &m, why, sizeof why), "an odd shape: %s",
                           why))
            continue;
        q.p.layers = 2;
        check_shape(r, &q);
        checked++;
    }
    return checked;
}
