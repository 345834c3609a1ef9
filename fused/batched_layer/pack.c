#include "fused/batched_layer/pack.h"

#include <stdio.h>

PROBE_IMAGE(batched_layer);

static const float EPSILON = 1e-5f;

/* --- the packagings --------------------------------------------------------------------------- */

static const uint8_t apart[] = {
    OP_NORM_ATTENTION, OP_QKV,     OP_ROPE, OP_APPEND, OP_ATTENTION, OP_O,  OP_ADD_O,
    OP_NORM_FFN,       OP_GATE_UP, OP_SILU, OP_DOWN,   OP_ADD_DOWN,  OP_END};
static const uint8_t together[] = {OP_NORM_ATTENTION, OP_QKV,  OP_LOOK,      OP_O_ADDS, OP_NORM_FFN,
                                   OP_GATE_UP,        OP_SILU, OP_DOWN_ADDS, OP_END};

const struct batched_pack batched_packs[BATCHED_IMPLS] = {
    [IMPL_STREAM] = {"stream", "a kernel for each operator, launched one by one", apart, BITS_APART,
                     false},
    [IMPL_GRAPH] = {"graph", "the same kernels, in a graph", apart, BITS_APART, true},
    [IMPL_FUSED] = {"fused",
                    "rope, append, attention and merge as one kernel, the residual added by the "
                    "products, in a graph",
                    together, BITS_FUSED, true},
};

/* --- the kernels ------------------------------------------------------------------------------ */

static cudaKernel_t kernel_of(struct probe_run *r, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "batched_%s", name);
    return gpu_kernel(r, &image_batched_layer, full, sizeof(struct batched_args));
}

/* Of attention: all of the SM's memory is for keys on their way. */
static cudaKernel_t kernel_for(struct probe_run *r, const char *name,
                               const struct batched_problem *p)
{
    char full[40];
    snprintf(full, sizeof full, "%s_%u_%u", name, p->shape.head_dim, p->group);
    const cudaKernel_t kernel = kernel_of(r, full);
    gpu_kernel_shared(kernel, 0, 100);
    return kernel;
}

struct batched_kernels batched_kernels_of(struct probe_run *r, const struct batched_problem *p)
{
    return (struct batched_kernels){
        .norm = kernel_of(r, "norm"),
        .rope = kernel_of(r, "rope"),
        .append = kernel_of(r, "append"),
        .attention = kernel_for(r, "attention", p),
        .merge = kernel_of(r, "merge"),
        .silu = kernel_of(r, "silu"),
        .add = kernel_of(r, "add"),
        .look = kernel_for(r, "look", p),
        .read =
            gpu_kernel(r, &image_batched_layer, "batched_read", sizeof(struct batched_read_args)),
        .nothing = gpu_kernel(r, &image_batched_layer, "batched_nothing",
                              sizeof(struct batched_nothing_args))};
}

/* --- launches --------------------------------------------------------------------------------- */

static struct batched_args args_of(const struct batched_tensors *t, enum batched_operator op,
                                   struct batched_turn turn)
{
    const bool is_ffn = op >= OP_NORM_FFN && op <= OP_ADD_DOWN;
    return (struct batched_args){.norm = batched_layer_at(t, turn.weights) +
                                         decoder_norm_place(&t->p.shape, is_ffn),
                                 .residual = is_ffn ? t->middle : turn.residual,
                                 .moved = is_ffn ? t->output : t->middle,
                                 .x = t->x[is_ffn],
                                 .qkv = t->qkv,
                                 .turned = t->turned,
                                 .cache = batched_cache_at(t, turn.cache),
                                 .rope = t->rope,
                                 .parts = t->parts,
                                 .tickets = t->tickets,
                                 .attention = t->attention,
                                 .delta = t->delta[is_ffn],
                                 .gate_up = t->gate_up,
                                 .h = t->h,
                                 .shape = t->p.shape,
                                 .batch = t->p.batch,
                                 .context = t->p.context,
                                 .capacity = t->p.capacity,
                                 .splits = t->p.splits,
                                 .epsilon = EPSILON};
}

static unsigned blocks_for(size_t items, unsigned threads)
{
    return (unsigned)((items + threads - 1) / threads);
}

static void launch_ours(struct probe_run *r, const struct batched_work *w, enum batched_operator op,
                        struct batched_turn turn)
{
    const struct batched_args a = args_of(w->t, op, turn);
    const struct decoder_shape *s = &a.shape;
    const size_t b = a.batch, pairs = b * s->kv_heads, eighth = s->head_dim / 8;
    switch (op) {
    case OP_NORM_ATTENTION:
    case OP_NORM_FFN: gpu_launch(r, w->k->norm, a.batch, BATCHED_THREADS, 0, &a); return;
    case OP_ROPE:
        gpu_launch(r, w->k->rope,
                   blocks_for(b * (s->heads + s->kv_heads) * (eighth / 2), BATCHED_THREADS),
                   BATCHED_THREADS, 0, &a);
        return;
    case OP_APPEND:
        gpu_launch(r, w->k->append, blocks_for(2 * pairs * eighth, BATCHED_THREADS),
                   BATCHED_THREADS, 0, &a);
        return;
    case OP_ATTENTION:
        gpu_launch(r, w->k->attention, (unsigned)pairs * a.splits, LOOK_THREADS, 0, &a);
        if (a.splits > 1)
            gpu_launch(r, w->k->merge, blocks_for(b * s->heads * (s->head_dim / 4), LOOK_THREADS),
                       LOOK_THREADS, 0, &a);
        return;
    case OP_LOOK:
        gpu_launch(r, w->k->look, (unsigned)pairs * a.splits, LOOK_THREADS, 0, &a);
        return;
    case OP_SILU:
        gpu_launch(r, w->k->silu, blocks_for(b * (s->ffn / 8), BATCHED_THREADS), BATCHED_THREADS, 0,
                   &a);
        return;
    default: /* the two additions */
        gpu_launch(r, w->k->add, blocks_for(b * (s->hidden / 4), BATCHED_THREADS), BATCHED_THREADS,
                   0, &a);
    }
}

void batched_launch_operator(struct probe_run *r, const struct batched_work *w,
                             enum batched_operator op, struct batched_turn turn)
{
    static const int product[BATCHED_ALL_OPERATORS] = {
        [OP_QKV] = 1 + PRODUCT_QKV,         [OP_O] = 1 + PRODUCT_O,
        [OP_GATE_UP] = 1 + PRODUCT_GATE_UP, [OP_DOWN] = 1 + PRODUCT_DOWN,
        [OP_O_ADDS] = 1 + PRODUCT_O_ADDS,   [OP_DOWN_ADDS] = 1 + PRODUCT_DOWN_ADDS};
    if (product[op] > 0)
        batched_multiply(r, w->products, w->t, (enum batched_product)(product[op] - 1),
                         turn.weights, turn.residual);
    else
        launch_ours(r, w, op, turn);
}

void batched_launch(struct probe_run *r, const struct batched_work *w,
                    const struct batched_pack *pack, uint32_t layers, uint32_t again)
{
    const struct batched_problem *p = &w->t->p;
    for (uint32_t layer = 0; layer < layers; layer++) {
        const struct batched_turn turn = {layer / again % p->weight_sets, layer % p->cache_sets,
                                          layer == 0 ? w->t->input : w->t->output};
        for (const uint8_t *op = pack->operators; *op != OP_END; op++)
            batched_launch_operator(r, w, (enum batched_operator) * op, turn);
    }
}

void batched_launch_often(struct probe_run *r, const struct batched_work *w,
                          enum batched_operator op, uint32_t times)
{
    const struct batched_problem *p = &w->t->p;
    for (uint32_t left = times; left-- > 0;)
        batched_launch_operator(
            r, w, op,
            (struct batched_turn){left % p->weight_sets, left % p->cache_sets, w->t->input});
}

void batched_launch_read(struct probe_run *r, const struct batched_work *w, double bytes)
{
    const struct batched_tensors *t = w->t;
    const uint64_t all = t->p.weight_sets * decoder_layer_bytes(&t->p.shape) / 16;
    const unsigned most = (unsigned)gpu_facts(r)->n_sm * 2;
    const unsigned blocks = all / READ_ROUND < most ? (unsigned)(all / READ_ROUND) : most;
    const uint64_t turn = (uint64_t)blocks * READ_ROUND;
    const struct batched_read_args a = {.from = t->weights->memory,
                                        .vectors = (uint64_t)(bytes / 16),
                                        .room = blocks > 0 ? all / turn * turn : 0};
    if (!probe_require(r, a.room > 0, "the weights have a turn of the reading kernel"))
        return;
    gpu_launch(r, w->k->read, blocks, READ_THREADS, 0, &a);
}
