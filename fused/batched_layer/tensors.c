#include "fused/batched_layer/tensors.h"

#include <math.h>
#include <stdlib.h>

#include "fused/batched_layer/args.h"
#include "fused/common/rope.h"

PROBE_IMAGE(batched_layer_check);

enum {
    NORM_SPREAD = 8,    /* a norm's weights are 1, and a standard deviation of 1/8 */
    FILL_BLOCKS = 8,    /* of an SM */
};

struct batched_machine batched_machine_of(const struct probe_run *r)
{
    const struct gpu_facts *g = gpu_facts(r);
    return (struct batched_machine){.n_sm = (uint32_t)g->n_sm,
                                    .free_bytes = (double)g->free_bytes,
                                    .l2_bytes = (double)g->l2_bytes};
}

/* --- weights ---------------------------------------------------------------------------------- */

static void scale(struct probe_run *r, void *memory, uint64_t count, double by, double mean)
{
    const struct batched_scale_args a = {memory, count, (float)by, (float)mean};
    gpu_launch(r, gpu_kernel(r, &image_batched_layer_check, "batched_scale", sizeof a),
               (unsigned)gpu_facts(r)->n_sm * FILL_BLOCKS, CHECK_THREADS, 0, &a);
}

/* N(0, 1/columns), so that a product of N(0, 1) is N(0, 1). */
struct batched_weights batched_weights_of(struct probe_run *r, const struct batched_problem *p,
                                          uint64_t seed)
{
    struct batched_weights w = {.shape = p->shape, .sets = p->weight_sets};
    const struct decoder_shape *s = &w.shape;
    const uint64_t bytes = decoder_layer_bytes(s);

    w.memory = gpu_alloc(r, w.sets * bytes, "weights");
    gpu_fill_normal(r, w.memory, GPU_BF16, w.sets * bytes / 2, seed);
    for (uint32_t set = 0; set < w.sets; set++) {
        char *layer = w.memory + set * bytes;
        for (int m = 0; m < DECODER_MATRICES; m++)
            scale(r, layer + decoder_place(s, m),
                  decoder_matrix_bytes(s, (enum decoder_matrix)m) / 2,
                  1 / sqrt(decoder_columns(s, (enum decoder_matrix)m)), 0);
        for (int which = 0; which < 2; which++)
            scale(r, layer + decoder_norm_place(s, which), s->hidden, 1.0 / NORM_SPREAD, 1);
    }
    return w;
}

void batched_weights_free(struct probe_run *r, struct batched_weights *w)
{
    if (w->memory)
        gpu_release(r, w->memory);
    *w = (struct batched_weights){.memory = NULL};
}

const char *batched_layer_at(const struct batched_tensors *t, uint32_t set)
{
    return t->weights->memory + set * decoder_layer_bytes(&t->p.shape);
}

/* --- caches ----------------------------------------------------------------------------------- */

char *batched_cache_at(const struct batched_tensors *t, uint32_t set)
{
    return t->cache + set * batched_cache_bytes(&t->p);
}

/* All rows of the caches from `first` on are NaN. */
static void forget_rows(struct probe_run *r, const struct batched_tensors *t, uint32_t first)
{
    const struct batched_problem *p = &t->p;
    const size_t row = 2 * (size_t)p->shape.head_dim;
    for (uint32_t i = 0; i < 2 * p->cache_sets; i++)
        CUDA(cudaMemset2DAsync(t->cache + i * (batched_cache_bytes(p) / 2) + first * row,
                               p->capacity * row, 0xff, (p->capacity - first) * row,
                               p->batch * p->shape.kv_heads, gpu_stream(r)));
}

static void fill_rope(struct probe_run *r, const struct batched_tensors *t)
{
    const uint32_t d = t->p.shape.head_dim;
    float *host = probe_host_alloc(r, d * sizeof *host);
    rope_angles(host, d, t->p.context - 1);
    gpu_to_device(r, t->rope, host, d * sizeof *host);
    free(host);
}

/* --- what operators hand over ----------------------------------------------------------------- */

struct batched_result batched_result_of(const struct batched_tensors *t, enum batched_operator op)
{
    const struct decoder_shape *s = &t->p.shape;
    const size_t b = t->p.batch, row = (size_t)s->heads * s->head_dim;
    const size_t kv = (size_t)s->kv_heads * s->head_dim;
    switch (op) {
    case OP_NORM_ATTENTION: return (struct batched_result){t->x[0], b * s->hidden, false};
    case OP_QKV: return (struct batched_result){t->qkv, b * (row + 2 * kv), false};
    case OP_ROPE: return (struct batched_result){t->turned, b * (row + kv), false};
    case OP_ATTENTION:
    case OP_LOOK: return (struct batched_result){t->attention, b * row, false};
    case OP_O: return (struct batched_result){t->delta[0], b * s->hidden, false};
    case OP_O_ADDS:
    case OP_ADD_O: return (struct batched_result){t->middle, b * s->hidden, true};
    case OP_NORM_FFN: return (struct batched_result){t->x[1], b * s->hidden, false};
    case OP_GATE_UP: return (struct batched_result){t->gate_up, b * 2 * s->ffn, false};
    case OP_SILU: return (struct batched_result){t->h, b * s->ffn, false};
    case OP_DOWN: return (struct batched_result){t->delta[1], b * s->hidden, false};
    case OP_DOWN_ADDS:
    case OP_ADD_DOWN: return (struct batched_result){t->output, b * s->hidden, true};
    default: return (struct batched_result){NULL, 0, false};
    }
}

static size_t bytes_of(const struct batched_result *result)
{
    return result->count * (result->is_fp32 ? 4 : 2);
}

static size_t parts_bytes(const struct batched_problem *p)
{
    return 4ull * p->batch * p->shape.heads * p->splits * (LOOK_STATE + p->shape.head_dim);
}

void batched_poison_one(struct probe_run *r, const struct batched_tensors *t,
                        enum batched_operator op)
{
    const struct batched_result result = batched_result_of(t, op);
    if (result.memory)
        gpu_poison(r, result.memory, bytes_of(&result));
    else
        forget_rows(r, t, t->p.context - 1);
    if (op == OP_ATTENTION)
        gpu_poison(r, t->parts, parts_bytes(&t->p));
}

void batched_poison(struct probe_run *r, const struct batched_tensors *t)
{
    for (enum batched_operator op = 0; op < BATCHED_OPERATORS; op++)
        batched_poison_one(r, t, op);
}

/* --- all -------------------------------------------------------------------------------------- */

static void *results(struct probe_run *r, const struct batched_tensors *t, enum batched_operator op,
                     const char *what)
{
    const struct batched_result result = batched_result_of(t, op);
    return gpu_alloc(r, bytes_of(&result), what);
}

/* What products get, until operators put theirs there. */
static void fill_inputs(struct probe_run *r, const struct batched_tensors *t, uint64_t seed)
{
    static const enum batched_operator givers[] = {OP_NORM_ATTENTION, OP_ATTENTION, OP_NORM_FFN,
                                                   OP_SILU, OP_ADD_O};
    for (size_t i = 0; i < PROBE_LENGTH(givers); i++) {
        const struct batched_result of = batched_result_of(t, givers[i]);
        gpu_fill_normal(r, of.memory, of.is_fp32 ? GPU_FP32 : GPU_BF16, of.count, seed + i);
    }
}

struct batched_tensors batched_tensors_of(struct probe_run *r, const struct batched_problem *p,
                                          const struct batched_weights *w, uint64_t seed)
{
    struct batched_tensors t = {.p = *p, .weights = w};
    const struct decoder_shape *s = &p->shape;
    const size_t residual = 4ull * p->batch * s->hidden;
    const size_t tickets = 4ull * p->batch * s->kv_heads;

    t.cache = gpu_alloc(r, p->cache_sets * batched_cache_bytes(p), "keys and values");
    t.rope = gpu_alloc(r, 4ull * s->head_dim, "cosines and sines");
    t.input = gpu_alloc(r, residual, "the residual");
    t.middle = gpu_alloc(r, residual, "the residual behind attention");
    t.output = gpu_alloc(r, residual, "the output");
    t.parts = gpu_alloc(r, parts_bytes(p), "parts of attention");
    t.tickets = gpu_alloc(r, tickets, "tickets of splits");
    t.x[0] = results(r, &t, OP_NORM_ATTENTION, "a norm's result");
    t.x[1] = results(r, &t, OP_NORM_FFN, "a norm's result");
    t.qkv = results(r, &t, OP_QKV, "q, k and v");
    t.turned = results(r, &t, OP_ROPE, "q and k, rotated");
    t.attention = results(r, &t, OP_ATTENTION, "attention");
    t.delta[0] = results(r, &t, OP_O, "what O adds");
    t.delta[1] = results(r, &t, OP_DOWN, "what down adds");
    t.gate_up = results(r, &t, OP_GATE_UP, "gate and up");
    t.h = results(r, &t, OP_SILU, "the intermediate");
    CUDA(cudaMemsetAsync(t.tickets, 0, tickets, gpu_stream(r)));
    gpu_fill_normal(r, t.cache, GPU_BF16, p->cache_sets * batched_cache_bytes(p) / 2, seed);
    forget_rows(r, &t, p->context - 1); /* old rows are N(0, 1); what no token has reached is NaN */
    fill_rope(r, &t);
    gpu_fill_normal(r, t.input, GPU_FP32, (size_t)p->batch * s->hidden, seed + 1);
    fill_inputs(r, &t, seed + 2);
    return t;
}

void batched_tensors_free(struct probe_run *r, struct batched_tensors *t)
{
    void *const all[] = {t->cache,    t->rope,     t->input,   t->middle, t->output, t->parts,
                         t->tickets,  t->x[0],     t->x[1],    t->qkv,    t->turned, t->attention,
                         t->delta[0], t->delta[1], t->gate_up, t->h};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i])
            gpu_release(r, all[i]);
    *t = (struct batched_tensors){.cache = NULL};
}
