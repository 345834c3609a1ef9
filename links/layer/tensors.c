/* layer: what is where. */
#include "links/layer/bench.h"

#include <math.h>
#include <stdlib.h>

#include "fused/common/decoder/reference.h"
#include "fused/common/rope.h"

enum { NORM_SPREAD = 8 };

static uint64_t cache_bytes(const struct decoder_problem *p)
{
    return 2 * decoder_cache_half(&p->model.shape, 1, p->capacity);
}

/* One part of every rank's share, or with 1 rank all of it in its place. */
static void deal(struct bench *b, int part, const struct links_memory *from, uint64_t from_at,
                 const struct links_memory *to, uint64_t to_at, int ranks,
                 struct layer_deal_args one)
{
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_DEAL_THREADS};
    for (int rank = 0; rank < ranks; rank++) {
        one.from = bench_at(from, rank, from_at);
        one.to = bench_at(to, rank, to_at);
        one.whole = b->whole.model.shape;
        one.part = (uint32_t)part;
        one.rank = (uint32_t)rank;
        one.ranks = (uint32_t)ranks;
        one.capacity = b->whole.capacity;
        one.known = b->whole.context - 1;
        links_launch_at(b->links, rank, b->deal, &shape, &one, sizeof one);
    }
}

/* The drawn layer `set`, as all ranks draw it, dealt out to `ranks` of them: N(0, 1/columns), norms
 * of 1 and a spread of 1/8, keys and values of N(0, 1). */
void bench_deal_layer(struct bench *b, uint32_t set, int ranks)
{
    const struct decoder_shape *whole = &b->whole.model.shape,
                               *share = ranks == 1 ? whole : &b->share.model.shape;
    const struct links_memory *weights = ranks == 1 ? &b->drawn : &b->weights;
    const struct links_memory *caches = ranks == 1 ? &b->drawn_cache : &b->caches;
    const uint64_t layer = ranks == 1 ? 0 : set * decoder_layer_bytes(share);
    const uint64_t cache = ranks == 1 ? 0 : set * cache_bytes(&b->share);
    const uint64_t from_half = cache_bytes(&b->whole) / 2;
    const uint64_t to_half = decoder_cache_half(share, 1, b->whole.capacity);

    for (int rank = 0; rank < ranks; rank++) {
        links_fill_normal(b->links, rank, bench_at(&b->drawn, rank, 0), GPU_BF16,
                          b->drawn.bytes / 2, b->seed + 2 * set);
        links_fill_normal(b->links, rank, bench_at(&b->drawn_cache, rank, 0), GPU_BF16,
                          b->drawn_cache.bytes / 2, b->seed + 2 * set + 1);
    }
    for (int m = 0; m < DECODER_MATRICES; m++) {
        const enum decoder_matrix matrix = (enum decoder_matrix)m;
        const uint32_t columns = decoder_columns(whole, matrix);
        deal(b, m, &b->drawn, decoder_place(whole, m), weights, layer + decoder_place(share, m),
             ranks,
             (struct layer_deal_args){.rows =
                                          decoder_units(share, matrix) * decoder_unit_rows(matrix),
                                      .columns = decoder_columns(share, matrix),
                                      .whole_columns = columns,
                                      .scale = 1 / sqrtf((float)columns)});
    }
    for (int which = 0; which < 2; which++) {
        deal(b, LAYER_NORM, &b->drawn, decoder_norm_place(whole, which), weights,
             layer + decoder_norm_place(share, which), ranks,
             (struct layer_deal_args){.rows = 1,
                                      .columns = whole->hidden,
                                      .whole_columns = whole->hidden,
                                      .scale = 1.0f / NORM_SPREAD,
                                      .mean = 1});
        deal(b, LAYER_CACHE, &b->drawn_cache, (uint64_t)which * from_half, caches,
             cache + (uint64_t)which * to_half, ranks,
             (struct layer_deal_args){.rows = share->kv_heads * b->whole.capacity,
                                      .columns = whole->head_dim,
                                      .whole_columns = whole->head_dim,
                                      .scale = 1});
    }
}

float *bench_angles(const struct bench *b)
{
    const uint32_t d = b->whole.model.shape.head_dim;
    float *rope = probe_host_alloc(b->r, d * sizeof *rope);
    rope_angles(rope, d, b->whole.context - 1);
    return rope;
}

/* Embedding, head and the norm before it: whole, the same on all ranks. The residual with which
 * layers begin is the first token's embedding. */
static void fill_ends(struct bench *b)
{
    const uint32_t hidden = b->whole.model.shape.hidden, rows = b->whole.model.shape.vocabulary;
    const size_t row = hidden * sizeof(uint16_t);
    uint16_t *bits = probe_host_alloc(b->r, row);

    b->token = (uint32_t)(b->seed % rows);
    for (int rank = 0; rank < b->gpus; rank++) {
        links_fill_normal(b->links, rank, bench_at(&b->embedding, rank, 0), GPU_BF16,
                          (size_t)rows * hidden, b->seed - 2);
        links_fill_normal(b->links, rank, bench_at(&b->head, rank, 0), GPU_BF16,
                          (size_t)rows * hidden, b->seed - 3);
        links_fill_normal(b->links, rank, bench_at(&b->head_norm, rank, 0), GPU_BF16, hidden,
                          b->seed - 4);
    }
    deal(b, LAYER_NORM, &b->head, 0, &b->head, 0, b->gpus,
         (struct layer_deal_args){.rows = rows,
                                  .columns = hidden,
                                  .whole_columns = hidden,
                                  .scale = 1 / sqrtf((float)hidden)});
    deal(b, LAYER_NORM, &b->head_norm, 0, &b->head_norm, 0, b->gpus,
         (struct layer_deal_args){.rows = 1,
                                  .columns = hidden,
                                  .whole_columns = hidden,
                                  .scale = 1.0f / NORM_SPREAD,
                                  .mean = 1});
    links_read(b->links, 0, bits, bench_at(&b->embedding, 0, b->token * (uint64_t)row), row);
    for (uint32_t i = 0; i < hidden; i++)
        b->before[i] = (float)reference_bf16(bits[i]);
    for (int rank = 0; rank < b->gpus; rank++)
        links_write(b->links, rank, bench_at(&b->input, rank, 0), b->before,
                    hidden * sizeof *b->before);
    free(bits);
}

void bench_fill(struct bench *b)
{
    const size_t rope_bytes = b->rope.bytes;
    float *rope = bench_angles(b);

    for (int rank = 0; rank < b->gpus; rank++) {
        links_write(b->links, rank, bench_at(&b->rope, rank, 0), rope, rope_bytes);
        links_fill(b->links, rank, bench_at(&b->boxes, rank, 0), 0, b->boxes.bytes);
        links_fill(b->links, rank, bench_at(&b->mail[0], rank, 0), 0, b->mail[0].bytes);
        links_fill(b->links, rank, bench_at(&b->barrier, rank, 0), 0, b->barrier.bytes);
    }
    fill_ends(b);
    for (uint32_t set = 0; set < b->share.sets; set++)
        bench_deal_layer(b, set, b->gpus);
    links_wait(b->links);
    free(rope);
}

uint64_t bench_slots(const struct bench *b)
{
    const uint32_t pairs = b->share.model.shape.hidden / 2, blocks = b->share.blocks;
    return exchange_slots(pairs > blocks ? pairs : blocks, (uint32_t)b->gpus);
}

char *bench_head(const struct bench *b, int rank)
{
    return bench_at(&b->head, rank,
                    (uint64_t)rank * decoder_matrix_bytes(&b->share.model.shape, DECODER_HEAD));
}

static void allocate_ends(struct bench *b)
{
    const struct decoder_shape *s = &b->whole.model.shape;
    const uint64_t bytes = decoder_matrix_bytes(s, DECODER_HEAD);

    b->embedding = links_alloc_own(b->links, bytes, "the embedding");
    b->head = links_alloc_own(b->links, bytes, "the head");
    b->head_norm = links_alloc_own(b->links, s->hidden * sizeof(uint16_t), "the last norm");
    b->x = links_alloc_own(b->links, s->hidden * sizeof(double), "what goes into the head");
    b->rates = links_alloc_own(b->links, s->vocabulary * sizeof(double), "logits in float64");
    for (int way = 0; way < WAYS; way++) {
        b->logits[way] = links_alloc_own(b->links, b->share.model.shape.vocabulary * sizeof(float),
                                         "a rank's logits");
        b->tokens[way] = links_alloc_own(b->links, (1 + STEPS_MOST) * sizeof(uint32_t), "tokens");
    }
    b->rated = probe_host_alloc(b->r, s->vocabulary * sizeof *b->rated);
}

void bench_allocate(struct bench *b)
{
    const struct decoder_shape *s = &b->share.model.shape;
    const uint64_t words = decoder_mail_of(s, 1, b->share.splits, b->share.blocks).words;
    const size_t hidden = s->hidden * sizeof(float);
    struct links *l = b->links;

    b->weights = links_alloc_own(l, b->share.sets * decoder_layer_bytes(s), "weights");
    b->caches = links_alloc_own(l, b->share.sets * cache_bytes(&b->share), "keys and values");
    b->drawn = links_alloc_own(l, decoder_layer_bytes(&b->whole.model.shape), "a whole layer");
    b->drawn_cache = links_alloc_own(l, cache_bytes(&b->whole), "a whole layer's cache");
    b->rope = links_alloc(l, s->head_dim * sizeof(float), "cosines and sines");
    b->input = links_alloc(l, hidden, "the residual");
    b->sum = links_alloc(l, hidden, "a summand");
    b->boxes = links_alloc(
        l, PACKET_GENERATIONS * (uint64_t)b->gpus * bench_slots(b) * EXCHANGE_SLOT, "mailboxes");
    b->mail[0] = links_alloc(l, 2 * words * 8, "what steps hand over");
    b->mail[1] = links_alloc(l, words * 4, "what kernels hand over");
    b->barrier = links_alloc(l, sizeof(struct grid_barrier_state), "a barrier");
    for (int way = 0; way < WAYS; way++)
        b->output[way] = links_alloc(l, hidden, "the output");
    b->out = probe_host_alloc(b->r, hidden);
    b->before = probe_host_alloc(b->r, hidden);
    b->left = probe_host_alloc(b->r, hidden);
    b->timed = probe_host_alloc(b->r, hidden);
    allocate_ends(b);
}
