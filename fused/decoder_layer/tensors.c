#include "fused/decoder_layer/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "fused/common/rope.h"
#include "fused/decoder_layer/args.h"

PROBE_IMAGE(decoder_layer_fill);

enum {
    NORM_SPREAD = 8,    /* a norm's weights are 1, and a standard deviation of 1/8 */
};

struct decoder_machine decoder_machine_of(const struct probe_run *r)
{
    const struct gpu_facts *g = gpu_facts(r);
    return (struct decoder_machine){.blocks = (uint32_t)g->n_sm,
                                    .shared = (uint32_t)g->shared_per_block,
                                    .has_bulk = g->cc >= 90,
                                    .free_bytes = (double)g->free_bytes,
                                    .l2_bytes = (double)g->l2_bytes};
}

uint32_t decoder_product_blocks(const struct probe_run *r)
{
    return (uint32_t)gpu_facts(r)->n_sm;
}

uint64_t decoder_cache_bytes(const struct decoder_problem *p)
{
    return 2 * decoder_cache_half(&p->model.shape, p->batch, p->capacity);
}

/* --- filling ---------------------------------------------------------------------------------- */

static void scale(struct probe_run *r, void *memory, uint64_t count, double by, double mean)
{
    const struct decoder_scale_args a = {memory, count, (float)by, (float)mean};
    gpu_launch(r, gpu_kernel(r, &image_decoder_layer_fill, "decoder_scale_bf16", sizeof a),
               (unsigned)gpu_facts(r)->n_sm * 8, FILL_THREADS, 0, &a);
}

/* N(0, 1/columns), so that a product of N(0, 1) is N(0, 1). */
static void fill_weights(struct probe_run *r, const struct decoder_tensors *t, uint64_t seed)
{
    const struct decoder_shape *s = &t->p.model.shape;
    const uint64_t bytes = decoder_layer_bytes(s);

    gpu_fill_normal(r, t->weights, GPU_BF16, t->p.sets * bytes / 2, seed);
    for (uint32_t set = 0; set < t->p.sets; set++) {
        char *layer = t->weights + set * bytes;
        for (int m = 0; m < DECODER_MATRICES; m++)
            scale(r, layer + decoder_place(s, m),
                  decoder_matrix_bytes(s, (enum decoder_matrix)m) / 2,
                  1 / sqrt(decoder_columns(s, (enum decoder_matrix)m)), 0);
        for (int which = 0; which < 2; which++)
            scale(r, layer + decoder_norm_place(s, which), s->hidden, 1.0 / NORM_SPREAD, 1);
    }
}

/* Old rows are N(0, 1); what no token has reached is NaN, the new token's row among it. */
static void fill_caches(struct probe_run *r, const struct decoder_tensors *t, uint64_t seed)
{
    const struct decoder_problem *p = &t->p;
    const size_t row = 2 * (size_t)p->model.shape.head_dim, old = p->context - 1;
    const uint64_t half = decoder_cache_bytes(p) / 2;

    gpu_fill_normal(r, t->cache, GPU_BF16, p->sets * half, seed);
    for (uint32_t i = 0; i < 2 * p->sets; i++)
        CUDA(cudaMemset2DAsync(t->cache + i * half + old * row, p->capacity * row, 0xff,
                               (p->capacity - old) * row, p->batch * p->model.shape.kv_heads,
                               gpu_stream(r)));
}

static void fill_rope(struct probe_run *r, const struct decoder_tensors *t)
{
    const uint32_t d = t->p.model.shape.head_dim;
    float *host = probe_host_alloc(r, d * sizeof *host);
    rope_angles(host, d, t->p.context - 1);
    gpu_to_device(r, t->rope, host, d * sizeof *host);
    free(host);
}

static void fill_vocabulary(struct probe_run *r, struct decoder_tensors *t, uint64_t seed)
{
    const struct decoder_shape *s = &t->p.model.shape;
    const uint64_t count = (uint64_t)s->vocabulary * s->hidden;
    uint32_t first[DECODER_BATCH];

    t->embedding = gpu_alloc(r, 2 * count, "the embedding");
    t->head = gpu_alloc(r, 2 * count, "the head");
    t->head_norm = gpu_alloc(r, 2 * s->hidden, "the head's norm");
    t->logits = gpu_alloc(r, 4ull * t->p.batch * s->vocabulary, "logits");
    gpu_fill_normal(r, t->embedding, GPU_BF16, count, seed);
    gpu_fill_normal(r, t->head, GPU_BF16, count, seed + 1);
    gpu_fill_normal(r, t->head_norm, GPU_BF16, s->hidden, seed + 2);
    scale(r, t->head, count, 1 / sqrt(s->hidden), 0);
    scale(r, t->head_norm, s->hidden, 1.0 / NORM_SPREAD, 1);
    for (uint32_t b = 0; b < t->p.batch; b++)
        first[b] = (uint32_t)draw_below(&seed, s->vocabulary);
    gpu_to_device(r, t->tokens, first, t->p.batch * sizeof *first);
}

/* --- all -------------------------------------------------------------------------------------- */

static size_t mail_bytes(const struct decoder_tensors *t, enum decoder_mail_kind kind)
{
    return (size_t)t->generations * t->mail_words * (kind == MAIL_EPOCHS ? 8 : 4);
}

struct decoder_tensors decoder_tensors_of(struct probe_run *r, const struct decoder_problem *p,
                                          uint32_t generations, uint32_t steps, uint64_t seed)
{
    struct decoder_tensors t = {.p = *p, .steps = steps, .epoch = 1};
    const struct decoder_shape *s = &p->model.shape;
    const uint32_t coming = decoder_product_blocks(r);
    const uint32_t blocks = p->blocks > coming ? p->blocks : coming;
    const uint64_t residual = 4ull * p->batch * s->hidden;

    t.generations = generations > 2 ? generations : 2;
    t.mail_words = decoder_mail_of(s, p->batch, p->splits, blocks).words;
    t.weights = gpu_alloc(r, p->sets * decoder_layer_bytes(s), "weights");
    t.cache = gpu_alloc(r, p->sets * decoder_cache_bytes(p), "keys and values");
    t.rope = gpu_alloc(r, 4ull * s->head_dim, "cosines and sines");
    t.input = gpu_alloc(r, residual, "the residual");
    t.output = gpu_alloc(r, residual, "the output");
    t.tokens = gpu_alloc(r, 4ull * (steps + 1) * p->batch, "tokens");
    t.barrier = gpu_alloc(r, sizeof *t.barrier, "a barrier");
    t.stamps =
        gpu_alloc(r, 8ull * t.generations * DECODER_STEPS * p->blocks * DECODER_STAMPS, "stamps");
    CUDA(cudaMemsetAsync(t.barrier, 0, sizeof *t.barrier, gpu_stream(r)));
    for (int kind = 0; kind < DECODER_MAIL_KINDS; kind++) {
        const size_t bytes = mail_bytes(&t, (enum decoder_mail_kind)kind);
        t.mail[kind] = gpu_alloc(r, bytes, "what steps hand over");
        CUDA(cudaMemsetAsync(t.mail[kind], 0, bytes, gpu_stream(r)));
    }
    fill_weights(r, &t, seed);
    fill_caches(r, &t, seed + 1);
    fill_rope(r, &t);
    gpu_fill_normal(r, t.input, GPU_FP32, (size_t)p->batch * s->hidden, seed + 2);
    if (steps > 0)
        fill_vocabulary(r, &t, seed + 3);
    t.near = decoder_near_copy_of(r, p, t.weights, t.head);
    return t;
}

bool decoder_require_no_abort(struct probe_run *r, const struct decoder_tensors *t,
                              const char *when)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &t->barrier->aborted, sizeof aborted);
    if (aborted)
        CUDA(cudaMemsetAsync(t->barrier, 0, sizeof *t->barrier, gpu_stream(r)));
    return probe_require(r, aborted == 0, "%s: no block waited longer than its budget", when);
}

void decoder_tensors_free(struct probe_run *r, struct decoder_tensors *t)
{
    void *const all[] = {t->weights,
                         t->cache,
                         t->rope,
                         t->input,
                         t->output,
                         t->logits,
                         t->embedding,
                         t->head,
                         t->head_norm,
                         t->tokens,
                         t->barrier,
                         t->stamps,
                         t->mail[MAIL_WORDS],
                         t->mail[MAIL_EPOCHS]};
    decoder_require_no_abort(r, t, "at the end");
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i])
            gpu_release(r, all[i]);
    decoder_near_free(r, &t->near);
    *t = (struct decoder_tensors){0};
}

/* Words with epochs keep theirs: a NaN's bits would be one of the future. */
void decoder_poison(struct probe_run *r, const struct decoder_tensors *t)
{
    const struct decoder_problem *p = &t->p;
    gpu_poison(r, t->output, 4ull * p->batch * p->model.shape.hidden);
    gpu_poison(r, t->mail[MAIL_WORDS], mail_bytes(t, MAIL_WORDS));
    if (t->steps == 0)
        return;
    gpu_poison(r, t->logits, 4ull * p->batch * p->model.shape.vocabulary);
    gpu_poison(r, t->tokens + p->batch, 4ull * t->steps * p->batch);
}

void decoder_launch_read(struct probe_run *r, struct decoder_tensors *t, double bytes)
{
    const unsigned blocks = (unsigned)gpu_facts(r)->n_sm * 2;
    const uint64_t turn = (uint64_t)blocks * READ_ROUND;
    const uint64_t room = t->p.sets * decoder_layer_bytes(&t->p.model.shape) / 16 / turn * turn;
    const struct decoder_read_args a = {
        .from = t->weights, .vectors = (uint64_t)(bytes / 16), .room = room, .begin = t->read_next};
    if (!probe_require(r, room > 0, "the weights have a turn of the reading kernel"))
        return;
    if (!t->reader)
        t->reader = gpu_kernel(r, &image_decoder_layer_fill, "decoder_read", sizeof a);
    gpu_launch(r, t->reader, blocks, READ_THREADS, 0, &a);
    t->read_next = (t->read_next + (a.vectors + turn - 1) / turn * turn) % room;
}
