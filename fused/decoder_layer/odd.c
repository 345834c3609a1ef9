#include "fused/decoder_layer/odd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "fused/decoder_layer/check.h"

enum { SHAPES = 24, LAYERS = 3, SETS = 2, SKEW_NS = 3000, FEW_BLOCKS = 8 };
static const double OUTPUT_ERROR = 1e-2;

static void *fetched(struct probe_run *r, const void *device, size_t bytes)
{
    void *host = probe_host_alloc(r, bytes);
    gpu_to_host(r, host, device, bytes);
    return host;
}

static struct reference_layer fetch_layer(struct probe_run *r, const struct decoder_tensors *t,
                                          uint32_t layer, enum decoder_rounds rounds)
{
    const struct decoder_problem *p = &t->p;
    const uint64_t weights = decoder_layer_bytes(&p->model.shape), cache = decoder_cache_bytes(p);
    return (struct reference_layer){.shape = &p->model.shape,
                                    .batch = p->batch,
                                    .context = p->context,
                                    .capacity = p->capacity,
                                    .weights =
                                        fetched(r, t->weights + layer % p->sets * weights, weights),
                                    .cache = fetched(r, t->cache + layer % p->sets * cache, cache),
                                    .rope = fetched(r, t->rope, 4 * p->model.shape.head_dim),
                                    .epsilon = 1e-5,
                                    .rounds = rounds};
}

static void forget_layer(struct reference_layer *l)
{
    free((void *)(uintptr_t)l->weights);
    free((void *)(uintptr_t)l->cache);
    free((void *)(uintptr_t)l->rope);
}

static struct reference_values values_of(struct probe_run *r, const struct decoder_problem *p)
{
    const struct decoder_shape *s = &p->model.shape;
    const size_t batch = p->batch * sizeof(double);
    return (struct reference_values){
        probe_host_alloc(r, batch * (s->heads + 2 * s->kv_heads) * s->head_dim),
        probe_host_alloc(r, batch * s->heads * s->head_dim), probe_host_alloc(r, batch * s->hidden),
        probe_host_alloc(r, batch * s->ffn), probe_host_alloc(r, batch * s->hidden)};
}

static void free_values(struct reference_values *v)
{
    free(v->qkv);
    free(v->attention);
    free(v->o);
    free(v->h);
    free(v->down);
}

/* The residual behind the chain, computed on the CPU with the way's roundings. */
static double *chain_on_host(struct probe_run *r, const struct decoder_tensors *t,
                             enum decoder_rounds rounds)
{
    const struct decoder_problem *p = &t->p;
    const size_t count = (size_t)p->batch * p->model.shape.hidden;
    float *input = fetched(r, t->input, 4 * count);
    double *residual = probe_host_alloc(r, count * sizeof *residual);
    struct reference_values values = values_of(r, p);

    for (size_t i = 0; i < count; i++)
        residual[i] = input[i];
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        struct reference_layer l = fetch_layer(r, t, layer, rounds);
        reference_whole_layer(&l, residual, &values);
        forget_layer(&l);
    }
    free_values(&values);
    free(input);
    return residual;
}

static double error_of(struct probe_run *r, const struct decoder_tensors *t,
                       const double *reference)
{
    const size_t count = (size_t)t->p.batch * t->p.model.shape.hidden;
    uint32_t *bits = fetched(r, t->output, 4 * count);
    double *values = probe_host_alloc(r, count * sizeof *values);
    reference_widen_fp32(bits, 1, count, values);
    const double error = reference_distance(values, reference, count);
    free(bits);
    free(values);
    return error;
}

/* One packaging at one shape: plainly, and where it has a watched twin, with blocks that wait. */
static void check_way(struct probe_run *r, struct decoder_check *c, const struct decoder_packing *p,
                      const double *reference, uint64_t digest[DECODER_BITS])
{
    const char *name = way_name(p->way);
    for (int skewed = 0; skewed <= (!p->way->layer && decoder_can_watch(p)); skewed++) {
        const struct decoder_work work = {.layers = LAYERS,
                                          .keeps_mail = true,
                                          .is_watched = skewed,
                                          .skew_ns = skewed ? SKEW_NS : 0};
        decoder_poison(r, p->t);
        decoder_launch(r, p, &work);
        decoder_require_no_abort(r, p->t, name);
        const double error = error_of(r, p->t, reference);
        probe_require(r, error <= OUTPUT_ERROR, "%s: as on the CPU in float64: error %.2g", name,
                      error);
        const uint64_t bits = decoder_digest(r, p->t, 0);
        if (digest[p->way->bits] == 0)
            digest[p->way->bits] = bits;
        probe_require(r, bits == digest[p->way->bits],
                      "%s: the same bits as packagings that add up in the same order", name);
        if (p->way->layer)
            continue;
        const struct decoder_found found = decoder_check_phases(r, c, p, LAYERS, NULL);
        decoder_require_phases(r, &found, name);
    }
}

static void check_shape(struct probe_run *r, const struct decoder_problem *p,
                        const struct blas *blas, uint64_t seed)
{
    struct decoder_tensors t = decoder_tensors_of(r, p, LAYERS, 0, seed);
    const struct decoder_kernels k = decoder_kernels_of(r, p);
    struct decoder_check c = decoder_check_open(r, &t);
    struct decoder_library library;
    const bool has_library = decoder_library_open(r, &library, blas, &t);
    uint64_t digest[DECODER_BITS] = {0};
    double *reference[2] = {chain_on_host(r, &t, ROUNDS_BEFORE),
                            chain_on_host(r, &t, ROUNDS_AFTER)};

    for (int way = 0; way < DECODER_WAYS; way++) {
        const struct decoder_packing packing = {&decoder_ways[way], &t, &k,
                                                has_library ? &library : NULL};
        if (!decoder_lacks(r, &packing))
            check_way(r, &c, &packing, reference[packing.way->rounds == ROUNDS_AFTER], digest);
    }
    free(reference[0]);
    free(reference[1]);
    decoder_check_close(r, &c);
    if (has_library)
        decoder_library_close(r, &library);
    decoder_tensors_free(r, &t);
}

/* Rows that are no multiple of a chunk, heads in odd groups, splits without a key. */
static struct decoder_problem draw_problem(int i, uint64_t *state)
{
    static const uint32_t contexts[] = {2, 3, 33, 64, 65, 130, 257, 500}, batches[] = {1, 1, 2, 4};
    const uint32_t d = i % 3 == 0 ? 128 : 64, kv = 1 + (uint32_t)draw_below(state, 2);
    const uint32_t group = 1 + (uint32_t)draw_below(state, d == 64 ? 4 : 8);
    struct decoder_problem p = {
        .model = {.name = "odd",
                  .shape = {.heads = kv * group, .kv_heads = kv, .head_dim = d, .vocabulary = 1000},
                  .layers = LAYERS},
        .sets = SETS};
    p.model.shape.hidden = 8 * (24 + (uint32_t)draw_below(state, 40));
    p.model.shape.ffn = i % 4 == 0 ? 16 * (129 + (uint32_t)draw_below(state, 20))
                                   : 8 * (8 + (uint32_t)draw_below(state, 100));
    p.context = contexts[draw_below(state, 8)];
    p.batch = batches[draw_below(state, 4)];
    p.splits = i % 2 ? 0
                     : 1 + (uint32_t)draw_below(state, FEW_BLOCKS / (p.batch * kv) > 0
                                                           ? FEW_BLOCKS / (p.batch * kv)
                                                           : 1);
    return p;
}

int decoder_check_odd_shapes(struct probe_run *r)
{
    uint64_t state = probe_seed(r);
    char why[160];
    int checked = 0;
    const struct blas *blas = blas_open(r, why, sizeof why);

    for (int i = 0; i < SHAPES; i++) {
        struct decoder_problem p = draw_problem(i, &state);
        struct decoder_machine m = decoder_machine_of(r);
        if (i % 3 != 1 && m.blocks > FEW_BLOCKS)
            m.blocks = FEW_BLOCKS;
        if (m.blocks > p.model.shape.hidden)
            m.blocks = p.model.shape.hidden;
        if (!probe_require(r, decoder_problem_make(&p, &m, why, sizeof why), "an odd shape: %s",
                           why))
            continue;
        check_shape(r, &p, blas, state);
        checked++;
    }
    return checked;
}
