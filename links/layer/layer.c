/* layer: how long does a decoder's layer take at batch 1 that two or four GPUs share? What do its two
 * all-reduces cost?
 *
 * Method. Tensor-parallel layers of Llama's kind, as fused/decoder_layer has them on one GPU: each rank has
 * whole heads with their kv heads, and a part of the intermediate. QKV, gate and up are divided by rows, O
 * and down by columns, so that these two give summands, which an all-reduce of `hidden` fp32 completes.
 * Every rank has the norms and the residual.
 *     impl=push         one kernel that stays, with a ring of weights and words with epochs. The edge behind
 *                       O and behind down is the all-reduce: each rank pushes its words to all others, and
 *                       who needs the residual polls all ranks' words
 *     impl=near         push, and weights that lie in the memory behind each SM's own half of the L2, of
 *                       each rank's GPU
 *     impl=graph_push   the six steps as kernels, and our all-reduce as a kernel behind O and behind down,
 *                       in a graph
 *     impl=graph_nccl   the same with NCCL's all-reduce, one process a GPU, without NVLink multicast. The
 *                       first rank's summand has its residual in it, so that no kernel need add it
 * Chains of n and 2 n layers, as many as decoder_layer times; the slope is one layer's time. Of each pass
 * the longest of the ranks' times counts. All ways take turns in each pass. A kernel that stays is launched,
 * the others are graphs, behind a gate and a meeting of the ranks. Every layer of the longer chain has its
 * own weights and caches: none of them is in the L2 when it is used again.
 *
 * A whole step is the embedding of a token, all layers of the model, which take turns at the chain's sets of
 * weights, the last norm, the head, and the choice of the greatest logit, whose token is the next step's. The
 * head is divided by rows; every rank has the whole embedding. What each block of a kernel that stays has
 * chosen is one more exchange of all blocks of all ranks. In a graph a kernel finds the rank's best, and it
 * is exchanged in that kernel (ours), or gathered by NCCL for another. One step and two, in few passes of
 * their own before those of the layers.
 *
 * A whole layer's weights are drawn by seed, the same in all ranks, which keep their shares. What the ranks
 * leave has the same bits on all of them, and from push, near and graph_push: all add in the order of ranks.
 * The first, the nth and the last layer, and the last one of a step, are compared with float64 of the whole
 * layer on the CPU, from the residual that the layers before left: relative to what the layer adds, 1e-2 as
 * in decoder_layer. Layers begin with a token's embedding, as a step does, so that all logits of a step are
 * compared with float64 from what its layers leave alone: 1e-2. Its token has the greatest of its logits, is
 * the same on all ranks, and is among the greatest in float64; the second of two steps is a step from the
 * first one's token. What the last timed pass left has the bits of what was verified. A rank that is lost
 * ends the run in one line.
 *
 * Inside the timed region: n or 2 n layers, or one step or two; the slope has neither launch nor meeting.
 * Expected on H200, 8b, context 1024: a layer of 440 MB takes 111 us in one kernel of one GPU, 95 of which
 * are a read of its bytes. Two GPUs: 47.6 us of bytes, two exchanges of 1 to 1.3 us, and what remains of the
 * edges, 56 us; four: 23.8, and 33. In a graph six edges of kernels more, and each all-reduce 2.3 us (ours)
 * or 8 to 15 (NCCL).
 * Expected of near: on one GPU it takes 5.3 us off 106.6, for half of the weights no longer comes through the
 * link between the halves of the L2, beside the words. On two GPUs a rank has half of the weights and as many
 * words: 2 to 4 us less than push, whose first run took 57.8, so 54 to 56.
 * Expected of a step on two H200: 32 layers, a head of 525 MB a rank at the layer's 4.6 TB/s, 114 us, and a
 * choice of 3 us, an exchange among them: push 1.97 ms, near 1.87. In graphs, whose first layers took 74 and
 * 83 us, 8 us for the kernels of head and choice, and NCCL's gather 10 more: 2.49 ms, and 2.79. One GPU:
 * 32 x 106.6 + 226, 3.64 ms. Measured: push 56.3 us and 1.94 ms, near 53.4 and 1.84, graphs as expected.
 *
 * Traps. The numbers of exchanges must go on from launch to launch, else old words look fresh: they are a
 * counter of the GPU's own. On four GPUs attention has two kv heads a rank, and 32 blocks. A chain that is
 * compared as a whole drifts from float64 by its roundings: so single layers are. A token is not stable among
 * near ties: NCCL's sums may choose another one. */
#include "links/layer/args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fused/common/decoder/model.h"
#include "fused/common/decoder/reference.h"
#include "links/common/teams.h"

PROBE_IMAGE(layer);
PROBE_IMAGE(layer_nodes);
PROBE_IMAGE(layer_deal);

enum { TIME, STEP_TIME, BYTES, ERROR, DIFFER };
#define KEYS "model,context,gpus,impl,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS, "one layer of a chain"},
    [STEP_TIME] = {"step_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                   "one whole step: embedding, all layers, head, choice of a token among all ranks'"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS,
               .what = "that one rank must read of a layer: its share of weights, keys and values"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "of one layer, relative to what it adds to the residual, from float64"},
    [DIFFER] = {"differ", "count", PROBE_EXACT, .keys = KEYS,
                .what = "numbers of the residual that have not the same bits on all GPUs"},
};

static const char *const model_words[] = {"8b", "small", NULL};
static const struct probe_parameter parameters[] = {
    LINKS_PARAMETERS,
    {.name = "model", .max = 1, .words = model_words,
     .what = "the layer's shape; small: as --check has it, too"},
};

enum { PRODUCER_THREADS = 32, IN_FLIGHT = 4, ROPE_BASE = 500000, NORM_SPREAD = 8 };
enum { LAPS_MAX = 40, STEP_LAPS = 8, WARM_LAPS = 2, DEALERS = 8 /* blocks on an SM */ };
enum { STEPS_MOST = 2 /* that are timed */ };
enum { CHOICES_NEAR = 6 /* errors from the greatest logit, as in decoder_layer */ };
static const float EPSILON = 1e-5f;
static const double LAYER_ERROR = 1e-2;

/* --- ways --------------------------------------------------------------------------------------- */

enum way { PUSH, NEAR, GRAPH_PUSH, GRAPH_NCCL, WAYS };
static const char *const way_names[] = {"push", "near", "graph_push", "graph_nccl"};

/* A kernel that stays, or a graph. */
static bool way_stays(enum way way)
{
    return way < GRAPH_PUSH;
}

enum node {
    EMBED, QKV, ATTENTION, MERGE, O, GATE_UP, DOWN, ADD, HEAD, CHOOSE, BEST, CHOOSE_GATHERED, NODES
};
static const char *const node_names[] = {
    [EMBED] = "layer_embed", [QKV] = "layer_qkv", [ATTENTION] = "layer_attention_128_4",
    [MERGE] = "layer_merge", [O] = "layer_o",     [GATE_UP] = "layer_gate_up",
    [DOWN] = "layer_down",   [ADD] = "layer_add", [HEAD] = "layer_head",
    [CHOOSE] = "layer_choose", [BEST] = "layer_best", [CHOOSE_GATHERED] = "layer_choose_gathered"};

/* What is timed: chains of layers; and whole steps, each of which feeds its token to the next. */
enum kind { LAYERS, STEPS, KINDS };

struct work {
    uint32_t layers, steps; /* 0 steps: layers alone, from `input` */
};

/* One lap: the times of n and of 2 n, and the slowest rank's clock. */
struct lap {
    double ns[2], mhz[2];
};

/* What one layer leaves in float64, of a residual with this digest. Ways that leave the same bits share
 * it: it takes the host as long as all else. */
struct known {
    uint64_t before;
    double *after;
};

enum { VERIFIED = 4 }; /* layers of a chain */

struct bench {
    struct probe_run *r;
    struct links *links;
    struct teams teams;
    int gpus;
    struct decoder_problem whole, share; /* of all ranks, of one */
    uint32_t layers;      /* n */
    uint32_t step_layers; /* of a whole step */
    uint32_t token;       /* the first; `input` is its embedding */
    uint64_t seed;
    struct links_memory weights, caches, drawn, drawn_cache, rope, input, boxes, mail[2], barrier,
        sum, copy, embedding, head /* whole, on every rank */, head_norm, x, rates;
    struct decoder_near near[LINKS_MOST]; /* in `copy`, of each rank */
    struct links_memory output[WAYS], logits[WAYS], tokens[WAYS];
    char lacks[WAYS][160]; /* why a way cannot be, or "" */
    int stays[GRAPH_PUSH], node[NODES], deal, move, rate; /* kernels */
    float *out, *before, *left, *timed; /* hidden, on the host; timed: what NCCL's graph left */
    float *rated;                       /* the logits of all ranks */
    struct lap *lap[KINDS][WAYS];
    size_t laps[KINDS];
    int graph[KINDS][WAYS][2];
    uint64_t digest[WAYS], chosen[WAYS]; /* of 2 n layers; of two steps: tokens and logits */
    struct known known[VERIFIED];
};

static uint64_t cache_bytes(const struct decoder_problem *p)
{
    return 2 * decoder_cache_half(&p->model.shape, 1, p->capacity);
}

static void *at(const struct links_memory *m, int rank, uint64_t offset)
{
    return m->at[rank][rank] + offset;
}

/* --- what is where ------------------------------------------------------------------------------ */

/* One part of every rank's share, or with 1 rank all of it in its place. */
static void deal(struct bench *b, int part, const struct links_memory *from, uint64_t from_at,
                 const struct links_memory *to, uint64_t to_at, int ranks,
                 struct layer_deal_args one)
{
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_DEAL_THREADS};
    for (int rank = 0; rank < ranks; rank++) {
        one.from = at(from, rank, from_at);
        one.to = at(to, rank, to_at);
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
static void deal_layer(struct bench *b, uint32_t set, int ranks)
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
        links_fill_normal(b->links, rank, at(&b->drawn, rank, 0), GPU_BF16, b->drawn.bytes / 2,
                          b->seed + 2 * set);
        links_fill_normal(b->links, rank, at(&b->drawn_cache, rank, 0), GPU_BF16,
                          b->drawn_cache.bytes / 2, b->seed + 2 * set + 1);
    }
    for (int m = 0; m < DECODER_MATRICES; m++) {
        const enum decoder_matrix matrix = (enum decoder_matrix)m;
        const uint32_t columns = decoder_columns(whole, matrix);
        deal(b, m, &b->drawn, decoder_place(whole, m), weights, layer + decoder_place(share, m),
             ranks,
             (struct layer_deal_args){.rows = decoder_units(share, matrix) *
                                              decoder_unit_rows(matrix),
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

static float *angles_of(const struct bench *b)
{
    const uint32_t d = b->whole.model.shape.head_dim;
    float *rope = probe_host_alloc(b->r, d * sizeof *rope);
    for (uint32_t i = 0; i < d / 2; i++) {
        const double angle = (b->whole.context - 1) * pow(ROPE_BASE, -2.0 * i / d);
        rope[2 * i] = (float)cos(angle);
        rope[2 * i + 1] = (float)sin(angle);
    }
    return rope;
}

/* Embedding, head and the norm before it: whole, the same on all ranks. The residual with which layers
 * begin is the first token's embedding. */
static void fill_ends(struct bench *b)
{
    const uint32_t hidden = b->whole.model.shape.hidden, rows = b->whole.model.shape.vocabulary;
    const size_t row = hidden * sizeof(uint16_t);
    uint16_t *bits = probe_host_alloc(b->r, row);

    b->token = (uint32_t)(b->seed % rows);
    for (int rank = 0; rank < b->gpus; rank++) {
        links_fill_normal(b->links, rank, at(&b->embedding, rank, 0), GPU_BF16,
                          (size_t)rows * hidden, b->seed - 2);
        links_fill_normal(b->links, rank, at(&b->head, rank, 0), GPU_BF16, (size_t)rows * hidden,
                          b->seed - 3);
        links_fill_normal(b->links, rank, at(&b->head_norm, rank, 0), GPU_BF16, hidden,
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
    links_read(b->links, 0, bits, at(&b->embedding, 0, b->token * (uint64_t)row), row);
    for (uint32_t i = 0; i < hidden; i++)
        b->before[i] = (float)reference_bf16(bits[i]);
    for (int rank = 0; rank < b->gpus; rank++)
        links_write(b->links, rank, at(&b->input, rank, 0), b->before, hidden * sizeof *b->before);
    free(bits);
}

static void fill_all(struct bench *b)
{
    const size_t rope_bytes = b->rope.bytes;
    float *rope = angles_of(b);

    for (int rank = 0; rank < b->gpus; rank++) {
        links_write(b->links, rank, at(&b->rope, rank, 0), rope, rope_bytes);
        links_fill(b->links, rank, at(&b->boxes, rank, 0), 0, b->boxes.bytes);
        links_fill(b->links, rank, at(&b->mail[0], rank, 0), 0, b->mail[0].bytes);
        links_fill(b->links, rank, at(&b->barrier, rank, 0), 0, b->barrier.bytes);
    }
    fill_ends(b);
    for (uint32_t set = 0; set < b->share.sets; set++)
        deal_layer(b, set, b->gpus);
    links_wait(b->links);
    free(rope);
}

/* A mailbox has a slot for two rows of the residual, and for what a block has chosen. */
static uint64_t slots_of(const struct bench *b)
{
    const uint32_t pairs = b->share.model.shape.hidden / 2, blocks = b->share.blocks;
    return exchange_slots(pairs > blocks ? pairs : blocks, (uint32_t)b->gpus);
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
        b->logits[way] = links_alloc_own(
            b->links, b->share.model.shape.vocabulary * sizeof(float), "a rank's logits");
        b->tokens[way] = links_alloc_own(b->links, (1 + STEPS_MOST) * sizeof(uint32_t), "tokens");
    }
    b->rated = probe_host_alloc(b->r, s->vocabulary * sizeof *b->rated);
}

static void allocate(struct bench *b)
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
        l, PACKET_GENERATIONS * (uint64_t)b->gpus * slots_of(b) * EXCHANGE_SLOT, "mailboxes");
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

/* --- kernels ------------------------------------------------------------------------------------ */

static uint32_t stages_of(const struct bench *b, enum way way, enum node node)
{
    const bool is_product =
        node == QKV || node == O || node == GATE_UP || node == DOWN || node == HEAD;
    return way_stays(way) ? b->share.stages : is_product ? b->share.product_stages : 0;
}

/* Dynamic shared memory of a block. */
static uint32_t shared_of(const struct bench *b, enum way way, enum node node)
{
    const bool has_none =
        node == MERGE || node == EMBED || node == ADD || node == CHOOSE_GATHERED;
    if (!way_stays(way) && has_none)
        return 0;
    return decoder_shared_bytes(&b->share, stages_of(b, way, node), way_stays(way));
}

static void find_kernels(struct bench *b)
{
    const size_t size = sizeof(struct layer_args);
    char name[64];

    for (enum way way = 0; way_stays(way); way++) {
        snprintf(name, sizeof name, "layer_%s_128_4_%d", way_names[way], b->gpus);
        b->stays[way] = links_kernel(b->links, &image_layer, name, size);
        links_kernel_shared(b->links, b->stays[way], shared_of(b, way, QKV), -1);
    }
    for (enum node n = 0; n < NODES; n++) {
        snprintf(name, sizeof name, n == ADD || n == CHOOSE ? "%s_%d" : "%s", node_names[n],
                 b->gpus);
        b->node[n] = links_kernel(b->links, &image_layer_nodes, name, size);
        links_kernel_shared(b->links, b->node[n], shared_of(b, GRAPH_PUSH, n), -1);
    }
    b->deal = links_kernel(b->links, &image_layer_deal, "layer_deal", sizeof(struct layer_deal_args));
    b->move = links_kernel(b->links, &image_layer_deal, "layer_move_near",
                           sizeof(struct decoder_move_args));
    b->rate = links_kernel(b->links, &image_layer_deal, "layer_rate", sizeof(struct layer_rate_args));
}

/* --- near ----------------------------------------------------------------------------------------- */

/* A rank's rows of the head. */
static char *head_of(const struct bench *b, int rank)
{
    return at(&b->head, rank,
              (uint64_t)rank * decoder_matrix_bytes(&b->share.model.shape, DECODER_HEAD));
}

/* Where each rank's copy begins, and which of it is near whom; false with the reason. */
static bool find_near(struct bench *b, size_t bytes, char *start[LINKS_MOST],
                      struct sides_map map[LINKS_MOST])
{
    char *why = b->lacks[NEAR];
    const size_t size = sizeof b->lacks[NEAR];
    const double all = (double)bytes + decoder_problem_bytes(&b->share) + 2.0 * (double)b->head.bytes,
                 free_bytes = (double)gpu_facts(b->r)->free_bytes,
                 each = free_bytes / (links_is_loopback(b->links) ? b->gpus : 1);

    if (all > 0.9 * each)
        return snprintf(why, size, "with a copy of the weights it takes %.1f GB, of %.1f", all / 1e9,
                        each / 1e9),
               false;
    b->copy = links_alloc_own(b->links, bytes + SIDES_BOTH, "a copy of the weights");
    for (int rank = 0; rank < b->gpus; rank++)
        start[rank] = (char *)(((uintptr_t)at(&b->copy, rank, 0) + SIDES_BOTH - 1) / SIDES_BOTH *
                               SIDES_BOTH);
    if (!links_sides(b->links, start, bytes, map, why, size))
        return false;
    for (int rank = 0; rank < b->gpus; rank++)
        if (!decoder_near_suits(&b->share.model.shape, &map[rank]))
            return snprintf(why, size, "rank %d: a side of the L2 has more SMs than rows", rank),
                   false;
    return true;
}

static void copy_near(struct bench *b)
{
    const struct decoder_shape *s = &b->share.model.shape;
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_DEAL_THREADS};
    const uint64_t layer = decoder_near_layer_bytes(s), layers = b->share.sets * layer;
    struct sides_map map[LINKS_MOST];
    char *start[LINKS_MOST];

    if (!find_near(b, layers + decoder_near_bytes(s, DECODER_HEAD), start, map))
        return;
    for (int rank = 0; rank < b->gpus; rank++) {
        struct decoder_move_args move = {
            head_of(b, rank), start[rank] + layers, *s, DECODER_HEAD, 0, map[rank]};
        b->near[rank] = (struct decoder_near){start[rank], move.to, layer, map[rank]};
        links_launch_at(b->links, rank, b->move, &shape, &move, sizeof move);
        for (uint32_t i = 0; i < b->share.sets * DECODER_MATRICES; i++) {
            const uint32_t set = i / DECODER_MATRICES, m = i % DECODER_MATRICES;
            move.from = at(&b->weights, rank,
                           set * decoder_layer_bytes(s) + decoder_place(s, (int)m));
            move.to = start[rank] + set * layer + decoder_near_place(s, (int)m);
            move.m = m;
            links_launch_at(b->links, rank, b->move, &shape, &move, sizeof move);
        }
    }
    links_wait(b->links);
}

static struct exchange exchange_of(const struct bench *b, int rank)
{
    struct exchange x = {.team = b->teams.team[rank]};
    x.packets.slots = slots_of(b);
    for (int k = 0; k < b->gpus; k++)
        x.packets.of[k] = b->boxes.at[rank][k];
    return x;
}

static void arguments(const struct bench *b, enum way way, struct work work,
                      struct layer_args a[LINKS_MOST])
{
    const bool whole = work.steps > 0;

    for (int rank = 0; rank < b->gpus; rank++) {
        a[rank] = (struct layer_args){.exchange = exchange_of(b, rank),
                                      .share = at(&b->sum, rank, 0),
                                      .has_residual = way == GRAPH_NCCL && rank == 0};
        a[rank].decoder = (struct decoder_args){.weights = at(&b->weights, rank, 0),
                                                .cache = at(&b->caches, rank, 0),
                                                .rope = at(&b->rope, rank, 0),
                                                .input = whole ? NULL : at(&b->input, rank, 0),
                                                .embedding =
                                                    whole ? at(&b->embedding, rank, 0) : NULL,
                                                .head = whole ? head_of(b, rank) : NULL,
                                                .head_norm =
                                                    whole ? at(&b->head_norm, rank, 0) : NULL,
                                                .logits =
                                                    whole ? at(&b->logits[way], rank, 0) : NULL,
                                                .tokens = at(&b->tokens[way], rank, 0),
                                                .output = at(&b->output[way], rank, 0),
                                                .mail = at(&b->mail[!way_stays(way)], rank, 0),
                                                .barrier = at(&b->barrier, rank, 0),
                                                .shape = b->share.model.shape,
                                                .layers = work.layers,
                                                .sets = b->share.sets,
                                                .steps = !way_stays(way) ? 0
                                                         : whole         ? work.steps
                                                                         : 1,
                                                .context = b->share.context,
                                                .capacity = b->share.capacity,
                                                .splits = b->share.splits,
                                                .generations = 2,
                                                .stages = b->share.stages,
                                                .in_flight = IN_FLIGHT,
                                                .batch = 1,
                                                .budget_ns = TEAMS_BUDGET_NS,
                                                .epsilon = EPSILON,
                                                .blocks = b->share.blocks,
                                                .near = b->near[rank]};
    }
}

static unsigned blocks_of(const struct bench *b, enum node node)
{
    const struct decoder_shape *s = &b->share.model.shape;
    const uint32_t words = s->heads * s->head_dim / 2;
    const uint32_t merging = (words + DECODER_WARPS - 1) / DECODER_WARPS;
    const uint32_t adding = (s->hidden / 2 + LAYER_SUM_THREADS - 1) / LAYER_SUM_THREADS;
    const bool is_one =
        node == EMBED || node == CHOOSE || node == BEST || node == CHOOSE_GATHERED;
    return is_one              ? 1
           : node == ATTENTION ? s->kv_heads * b->share.splits
           : node == MERGE     ? merging < b->share.blocks ? merging : b->share.blocks
           : node == ADD       ? adding < b->share.blocks ? adding : b->share.blocks
                               : b->share.blocks;
}

static void launch_node(const struct bench *b, enum node node, struct layer_args a[LINKS_MOST])
{
    const uint32_t stages = stages_of(b, GRAPH_PUSH, node);
    const struct gpu_shape shape = {.grid = {blocks_of(b, node), 1, 1},
                                    .block = node == ADD ? LAYER_SUM_THREADS
                                             : stages > 0 ? DECODER_THREADS + PRODUCER_THREADS
                                                          : DECODER_THREADS,
                                    .shared = shared_of(b, GRAPH_PUSH, node)};
    for (int rank = 0; rank < b->gpus; rank++)
        a[rank].decoder.stages = stages;
    links_launch(b->links, b->node[node], &shape, a, sizeof *a);
}

/* What O or down gave on all ranks goes to the residual. */
static void launch_sum(const struct bench *b, enum way way, struct layer_args a[LINKS_MOST])
{
    struct nccl_call call[LINKS_MOST];

    if (way == GRAPH_PUSH) {
        launch_node(b, ADD, a);
        return;
    }
    for (int rank = 0; rank < b->gpus; rank++)
        call[rank] = (struct nccl_call){.op = NCCL_ALL_REDUCE,
                                        .type = NCCL_FP32,
                                        .count = b->share.model.shape.hidden,
                                        .from = a[rank].share,
                                        .to = a[rank].decoder.output};
    links_nccl(b->links, call);
}

static void launch_layer(const struct bench *b, enum way way, struct layer_args a[LINKS_MOST])
{
    launch_node(b, QKV, a);
    launch_node(b, ATTENTION, a);
    if (b->share.splits > 1)
        launch_node(b, MERGE, a);
    launch_node(b, O, a);
    launch_sum(b, way, a);
    launch_node(b, GATE_UP, a);
    launch_node(b, DOWN, a);
    launch_sum(b, way, a);
}

/* The token of the next step, and its embedding. */
static void launch_choice(const struct bench *b, enum way way, struct layer_args a[LINKS_MOST])
{
    struct nccl_call call[LINKS_MOST];

    launch_node(b, HEAD, a);
    if (way == GRAPH_PUSH) {
        launch_node(b, CHOOSE, a);
        return;
    }
    launch_node(b, BEST, a);
    for (int rank = 0; rank < b->gpus; rank++)
        call[rank] = (struct nccl_call){.op = NCCL_ALL_GATHER,
                                        .type = NCCL_FP32,
                                        .count = 2,
                                        .from = a[rank].share,
                                        .to = a[rank].share + LAYER_GATHERED_AT};
    links_nccl(b->links, call);
    launch_node(b, CHOOSE_GATHERED, a);
}

static struct work work_of(const struct bench *b, enum kind kind, uint32_t i)
{
    return kind == LAYERS ? (struct work){b->layers << i, 0} : (struct work){b->step_layers, 1u << i};
}

/* A chain, or steps, in every rank's stream. */
static void launch(const struct bench *b, enum way way, struct work work)
{
    const struct gpu_shape stays = {.grid = {b->share.blocks, 1, 1},
                                    .block = DECODER_THREADS + PRODUCER_THREADS,
                                    .shared = shared_of(b, way, QKV),
                                    .cooperative = true};
    struct layer_args a[LINKS_MOST];

    arguments(b, way, work, a);
    if (way_stays(way)) {
        links_launch(b->links, b->stays[way], &stays, a, sizeof *a);
        return;
    }
    launch_node(b, EMBED, a);
    for (uint32_t step = 0; step == 0 || step < work.steps; step++) {
        for (uint32_t layer = 0; layer < work.layers; layer++) {
            for (int rank = 0; rank < b->gpus; rank++) {
                a[rank].decoder.layer = layer;
                a[rank].decoder.steps = step;
            }
            launch_layer(b, way, a);
        }
        if (work.steps > 0)
            launch_choice(b, way, a);
    }
}

/* --- is it right? ------------------------------------------------------------------------------- */

static void wait_for_all(const struct bench *b)
{
    uint32_t aborted;

    teams_wait(b->r, &b->teams);
    for (int rank = 0; rank < b->gpus; rank++) {
        const struct grid_barrier_state *state = at(&b->barrier, rank, 0);
        links_read(b->links, rank, &aborted, &state->aborted, sizeof aborted);
        if (aborted)
            probe_fail(b->r, "rank %d: a block waited for its own GPU's for %d ms in vain", rank,
                       TEAMS_BUDGET_NS / 1000000);
    }
}

/* The first rank's output; how many numbers have other bits on another one. */
static double take_output(const struct bench *b, enum way way, float *to)
{
    const size_t n = b->share.model.shape.hidden;
    double differ = 0;

    links_read(b->links, 0, to, at(&b->output[way], 0, 0), n * sizeof *to);
    for (int rank = 1; rank < b->gpus; rank++) {
        links_read(b->links, rank, b->left, at(&b->output[way], rank, 0), n * sizeof *to);
        for (size_t i = 0; i < n; i++)
            differ += memcmp(&b->left[i], &to[i], sizeof *to) != 0;
    }
    return differ;
}

/* FNV-1a over whole words. */
static uint64_t digest_on(const void *words, size_t n, uint64_t digest)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)words + i * sizeof bits, sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3u;
    }
    return digest;
}

static const uint64_t NO_WORDS = 0xcbf29ce484222325u;

static uint64_t digest_of(const struct bench *b, const float *values)
{
    return digest_on(values, b->share.model.shape.hidden, NO_WORDS);
}

/* The residual behind so many layers; 0: the input. */
static double run_chain(const struct bench *b, enum way way, uint32_t layers, float *to)
{
    if (layers == 0) {
        links_read(b->links, 0, to, at(&b->input, 0, 0), b->input.bytes);
        return 0;
    }
    for (int rank = 0; rank < b->gpus; rank++)
        links_fill(b->links, rank, at(&b->output[way], rank, 0), 0xff, b->output[way].bytes);
    launch(b, way, (struct work){layers, 0});
    wait_for_all(b);
    return take_output(b, way, to);
}

/* One whole layer in float64: from the residual before it to the one behind it. */
static void compute(struct bench *b, uint32_t set, double *residual)
{
    const struct decoder_shape *s = &b->whole.model.shape;
    const size_t qkv = (size_t)(s->heads + 2 * s->kv_heads) * s->head_dim;
    const size_t row = (size_t)s->heads * s->head_dim;
    char *weights = malloc(b->drawn.bytes), *cache = malloc(b->drawn_cache.bytes);
    double *values = malloc((qkv + row + 2 * (size_t)s->hidden + s->ffn) * sizeof *values);
    float *rope = angles_of(b);

    if (!weights || !cache || !values)
        probe_fail(b->r, "no memory on the host for a whole layer");
    deal_layer(b, set, 1);
    links_read(b->links, 0, weights, at(&b->drawn, 0, 0), b->drawn.bytes);
    links_read(b->links, 0, cache, at(&b->drawn_cache, 0, 0), b->drawn_cache.bytes);
    const struct reference_layer layer = {.shape = s,
                                          .batch = 1,
                                          .context = b->whole.context,
                                          .capacity = b->whole.capacity,
                                          .weights = weights,
                                          .cache = cache,
                                          .rope = rope,
                                          .epsilon = (double)EPSILON,
                                          .rounds = ROUNDS_NOT};
    const struct reference_values of = {values, values + qkv, values + qkv + row,
                                        values + qkv + row + s->hidden,
                                        values + qkv + row + s->hidden + s->ffn};
    reference_whole_layer(&layer, residual, &of);
    free(weights);
    free(cache);
    free(values);
    free(rope);
}

/* Behind layer `number`, in float64, from what is in `before`. */
static const double *after_layer(struct bench *b, uint32_t number, struct known *known)
{
    const uint32_t n = b->share.model.shape.hidden;
    const uint64_t digest = digest_of(b, b->before);

    if (known->after && known->before == digest)
        return known->after;
    if (!known->after)
        known->after = probe_host_alloc(b->r, n * sizeof *known->after);
    known->before = digest;
    for (uint32_t i = 0; i < n; i++)
        known->after[i] = (double)b->before[i];
    compute(b, (number - 1) % b->share.sets, known->after);
    return known->after;
}

/* Layer `number`, counted from 1, from what the layers before it left. Returns its error. */
static double verify_layer(struct bench *b, enum way way, uint32_t number, struct known *known,
                           double *differ)
{
    const uint32_t n = b->share.model.shape.hidden;
    double error = 0, moved = 0;

    *differ += run_chain(b, way, number - 1, b->before);
    *differ += run_chain(b, way, number, b->out);
    const double *after = after_layer(b, number, known);
    for (uint32_t i = 0; i < n; i++) {
        const double off = (double)b->out[i] - after[i];
        const double by = after[i] - (double)b->before[i];
        error += off * off;
        moved += by * by;
    }
    error = sqrt(error / moved);
    probe_require(b->r, error <= LAYER_ERROR, "%s: layer %u: error %.2g of at most %.2g",
                  way_names[way], number, error, LAYER_ERROR);
    return error;
}

/* What the ranks' outputs hold is the same on all, and what it was. */
static void require_bits(struct bench *b, enum way way, const char *when)
{
    const double differ = take_output(b, way, b->out);
    const uint64_t digest = digest_of(b, b->out);
    if (b->digest[way] == 0)
        b->digest[way] = digest;
    if (way == GRAPH_NCCL)
        memcpy(b->timed, b->out, b->output[way].bytes);
    probe_require(b->r, differ == 0, "%s, %s: %.0f numbers differ between ranks", way_names[way],
                  when, differ);
    probe_require(b->r, digest == b->digest[way], "%s, %s: the same bits as before",
                  way_names[way], when);
}

/* What verified launches left in `out` of the longer chain, and what the timed ones do. NCCL may take
 * another kernel in a graph; its sums are then other roundings. */
static void require_chain(struct bench *b, enum way way)
{
    const uint32_t n = b->share.model.shape.hidden;
    double off = 0, all = 0;

    if (way != GRAPH_NCCL) {
        probe_require(b->r, digest_of(b, b->out) == b->digest[way],
                      "%s: what is timed leaves the bits of what is verified", way_names[way]);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double apart = (double)b->out[i] - (double)b->timed[i];
        off += apart * apart;
        all += (double)b->out[i] * (double)b->out[i];
    }
    probe_require(b->r, sqrt(off / all) <= LAYER_ERROR,
                  "%s: what is timed is %.2g from what is verified, of at most %.2g",
                  way_names[way], sqrt(off / all), LAYER_ERROR);
}

/* --- are steps right? --------------------------------------------------------------------------- */

/* Nothing is chosen but the first token. */
static void forget_choice(const struct bench *b, enum way way, uint32_t token)
{
    for (int rank = 0; rank < b->gpus; rank++) {
        links_fill(b->links, rank, at(&b->logits[way], rank, 0), 0xff, b->logits[way].bytes);
        links_fill(b->links, rank, at(&b->tokens[way], rank, 0), 0xff, b->tokens[way].bytes);
        links_write(b->links, rank, at(&b->tokens[way], rank, 0), &token, sizeof token);
    }
}

/* What so many steps left: their tokens, the same on all ranks, and in `rated` the last one's logits, of
 * which the last token has the greatest, the lowest among equals. Returns a digest of both. */
static uint64_t take_choice(struct bench *b, enum way way, uint32_t steps, uint32_t *last,
                            const char *when)
{
    const uint32_t rows = b->share.model.shape.vocabulary, all = rows * (uint32_t)b->gpus;
    uint32_t token[1 + STEPS_MOST], other[1 + STEPS_MOST], best = 0;
    int differ = 0;

    for (int rank = 0; rank < b->gpus; rank++) {
        uint32_t *to = rank == 0 ? token : other;
        links_read(b->links, rank, to, at(&b->tokens[way], rank, 0), sizeof token);
        links_read(b->links, rank, b->rated + (size_t)rank * rows, at(&b->logits[way], rank, 0),
                   rows * sizeof *b->rated);
        differ += memcmp(to, token, (1 + steps) * sizeof *to) != 0;
    }
    for (uint32_t i = 1; i < all; i++)
        if (b->rated[i] > b->rated[best])
            best = i;
    *last = token[steps];
    probe_require(b->r, differ == 0, "%s, %s: %d ranks have chosen other tokens", way_names[way],
                  when, differ);
    probe_require(b->r, *last == best, "%s, %s: token %u has the greatest logit, which %u has",
                  way_names[way], when, *last, best);
    return digest_on(b->rated, all, digest_on(token, 1 + steps, NO_WORDS));
}

/* NCCL may take another kernel in a graph, and another token among near ties. */
static void require_choice(struct bench *b, enum way way, const char *when)
{
    uint32_t unused;
    const uint64_t digest = take_choice(b, way, STEPS_MOST, &unused, when);

    if (b->chosen[way] == 0)
        b->chosen[way] = digest;
    if (way != GRAPH_NCCL)
        probe_require(b->r, digest == b->chosen[way], "%s, %s: the same tokens and logits as before",
                      way_names[way], when);
}

static uint64_t run_steps(struct bench *b, enum way way, uint32_t token, uint32_t steps,
                          uint32_t *last)
{
    forget_choice(b, way, token);
    launch(b, way, (struct work){b->step_layers, steps});
    wait_for_all(b);
    return take_choice(b, way, steps, last, "when verified");
}

/* All logits in float64, of the residual in `before`: by the first rank, of the whole head. */
static double *rate(struct bench *b)
{
    const uint32_t n = b->whole.model.shape.hidden, rows = b->whole.model.shape.vocabulary;
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_RATE_THREADS};
    const struct layer_rate_args a = {at(&b->head, 0, 0), at(&b->x, 0, 0), at(&b->rates, 0, 0), rows,
                                      n};
    uint16_t *norm = probe_host_alloc(b->r, n * sizeof *norm);
    double *x = probe_host_alloc(b->r, n * sizeof *x), squares = 0,
           *pure = probe_host_alloc(b->r, rows * sizeof *pure);

    links_read(b->links, 0, norm, at(&b->head_norm, 0, 0), n * sizeof *norm);
    for (uint32_t i = 0; i < n; i++)
        squares += (double)b->before[i] * (double)b->before[i];
    for (uint32_t i = 0; i < n; i++)
        x[i] = (double)b->before[i] * reference_bf16(norm[i]) /
               sqrt(squares / n + (double)EPSILON);
    links_write(b->links, 0, at(&b->x, 0, 0), x, n * sizeof *x);
    links_launch_at(b->links, 0, b->rate, &shape, &a, sizeof a);
    links_read(b->links, 0, pure, at(&b->rates, 0, 0), rows * sizeof *pure);
    free(norm);
    free(x);
    return pure;
}

/* Logits against float64, and the token among the greatest of those. */
static void require_rates(struct bench *b, enum way way, uint32_t token)
{
    const uint32_t rows = b->whole.model.shape.vocabulary;
    double *pure = rate(b), off = 0, squares = 0, most = -INFINITY;

    for (uint32_t i = 0; i < rows; i++) {
        const double apart = (double)b->rated[i] - pure[i];
        off += apart * apart;
        squares += pure[i] * pure[i];
        most = fmax(most, pure[i]);
    }
    const double error = sqrt(off / squares);
    probe_require(b->r, error <= LAYER_ERROR, "%s: logits: error %.2g of at most %.2g",
                  way_names[way], error, LAYER_ERROR);
    probe_require(b->r,
                  token < rows && pure[token] >= most - CHOICES_NEAR * error * sqrt(squares / rows),
                  "%s: token %u is among the greatest in float64", way_names[way], token);
    free(pure);
}

/* A step's logits are those of what its layers leave, which are verified as such; and two steps are two
 * times one. */
static void verify_steps(struct bench *b, enum way way)
{
    const size_t all = b->whole.model.shape.vocabulary;
    uint32_t first, second, again;

    (void)run_chain(b, way, b->step_layers, b->before);
    (void)run_steps(b, way, b->token, 1, &first);
    require_rates(b, way, first);
    const uint64_t digest = run_steps(b, way, b->token, STEPS_MOST, &second);
    const uint64_t logits = digest_on(b->rated, all, NO_WORDS);
    (void)run_steps(b, way, first, 1, &again);
    probe_require(b->r, again == second && digest_on(b->rated, all, NO_WORDS) == logits,
                  "%s: the second of two steps is a step from the first one's token", way_names[way]);
    if (way != GRAPH_NCCL)
        probe_require(b->r, digest == b->chosen[way],
                      "%s: timed steps leave the bits of what is verified", way_names[way]);
}

/* --- all of it ---------------------------------------------------------------------------------- */

/* Single layers of the chain in float64; the last one in every round. */
static void verify(struct bench *b, enum way way)
{
    const uint32_t numbers[VERIFIED] = {b->step_layers, 1, b->layers, 2 * b->layers};
    double error = 0, differ = 0;

    for (size_t i = probe_in_full(b->r) ? 0 : VERIFIED - 1; i < PROBE_LENGTH(numbers); i++) {
        const double one = verify_layer(b, way, numbers[i], &b->known[i], &differ);
        error = one <= error || isnan(error) ? error : one; /* NaN stays */
    }
    require_chain(b, way);
    verify_steps(b, way);
    probe_value(b->r, ERROR, error);
    probe_value(b->r, DIFFER, differ);
    probe_require(b->r, differ == 0, "%s: %.0f numbers differ between ranks", way_names[way], differ);
}

/* --- time --------------------------------------------------------------------------------------- */

static void open_graphs(struct bench *b, enum way way)
{
    for (enum kind kind = 0; kind < KINDS && !way_stays(way); kind++)
        for (uint32_t i = 0; i < 2; i++) {
            links_graph_begin(b->links);
            launch(b, way, work_of(b, kind, i));
            b->graph[kind][way][i] = links_graph_end(b->links);
        }
}

/* n or 2 n layers or steps in every rank, behind a gate and a meeting. */
static struct links_time time_chain(struct bench *b, enum kind kind, enum way way, uint32_t i)
{
    links_time_start(b->links);
    if (way_stays(way))
        launch(b, way, work_of(b, kind, i));
    else
        links_replay(b->links, b->graph[kind][way][i]);
    const struct links_time t = links_time_stop(b->links);
    wait_for_all(b);
    return t;
}

static void take_turns(struct bench *b, enum kind kind, const bool due[WAYS])
{
    for (enum way way = 0; way < WAYS; way++) {
        if (!due[way])
            continue;
        struct lap *lap = &b->lap[kind][way][b->laps[kind] % LAPS_MAX];
        for (uint32_t i = 0; i < 2; i++) {
            const struct links_time t = time_chain(b, kind, way, i);
            lap->ns[i] = t.longest;
            lap->mhz[i] = t.mhz;
        }
    }
    b->laps[kind]++;
}

static void give_samples(struct bench *b, enum kind kind, const struct lap *lap)
{
    for (uint32_t i = 0; i < 2; i++)
        if (kind == LAYERS)
            probe_sample(b->r, TIME, b->layers << i, lap->ns[i]);
        else
            probe_sample(b->r, STEP_TIME, 1u << i, lap->ns[i]);
}

/* Of the layers those passes that their loop kept. `is_given`: the loop has given their samples, and has the
 * clocks of all ways. */
static void give_laps(struct bench *b, enum kind kind, enum way way, bool is_given)
{
    const size_t warm = kind == LAYERS ? probe_is_check_run(b->r) : WARM_LAPS;

    if (is_given)
        probe_forget_clocks(b->r);
    for (size_t k = warm; k < b->laps[kind]; k++) {
        const struct lap *lap = &b->lap[kind][way][k];
        if (!is_given)
            give_samples(b, kind, lap);
        for (uint32_t i = 0; i < 2; i++)
            probe_clock(b->r, lap->mhz[i]);
    }
}

/* Few: a step is as long as a chain of many layers. Under --check once. Before the layers, whose output is
 * checked: steps leave their tokens and logits, and an output that nobody needs. */
static void time_steps(struct bench *b, const bool due[WAYS])
{
    const size_t laps = probe_is_check_run(b->r) ? 1 : WARM_LAPS + STEP_LAPS;

    for (enum way way = 0; way < WAYS; way++)
        if (due[way])
            forget_choice(b, way, b->token);
    while (b->laps[STEPS] < laps)
        take_turns(b, STEPS, due);
}

static bool begin(struct bench *b, enum way way)
{
    return probe_begin_case(b->r, PROBE_POWER_BOUND, "model=%s,context=%u,gpus=%d,impl=%s,l2=cold",
                            b->whole.model.name, b->whole.context, b->gpus, way_names[way]);
}

/* What a case has beside its time. */
static void describe(struct bench *b, enum way way)
{
    const struct decoder_problem *p = &b->share;

    probe_value(b->r, BYTES, decoder_layer_reads(p));
    probe_fact(b->r, "chain", "%u and %u layers, %u sets of weights, %u splits of the keys",
               b->layers, 2 * b->layers, p->sets, p->splits);
    probe_fact(b->r, "step", "%u layers, a head of %u rows a rank", b->step_layers,
               p->model.shape.vocabulary);
    if (way_stays(way))
        probe_fact(b->r, "stages", "%u of %d bytes", p->stages, (int)DECODER_TILE_BYTES);
    if (way == NEAR)
        probe_fact(b->r, "sides", "%u and %u SMs, mask 0x%02x, of the first rank",
                   b->near[0].map.count[0], b->near[0].map.count[1], b->near[0].map.mask);
    if (way == GRAPH_NCCL)
        probe_fact(b->r, "nccl", "%s", links_nccl_version(b->links));
}

/* The kernel that NCCL takes for one all-reduce of this size. */
static void describe_nccl(struct bench *b)
{
    struct layer_args a[LINKS_MOST];

    arguments(b, GRAPH_NCCL, (struct work){1, 0}, a);
    links_graph_begin(b->links);
    launch_sum(b, GRAPH_NCCL, a);
    const int graph = links_graph_end(b->links);
    probe_fact(b->r, "kernel", "%s", links_first_kernel(b->links, graph).kernel);
    links_graph_free(b->links, graph);
}

/* All but NCCL add in the same order. */
static void require_same(struct bench *b)
{
    for (enum way way = NEAR; way < GRAPH_NCCL; way++)
        if (b->digest[way]) {
            probe_require(b->r, b->digest[way] == b->digest[PUSH], "push and %s leave the same bits",
                          way_names[way]);
            probe_require(b->r, b->chosen[way] == b->chosen[PUSH],
                          "push and %s choose by the same bits", way_names[way]);
        }
}

/* One loop for all ways, in the first one's case; the others get their samples behind it. */
static void measure_ways(struct bench *b)
{
    bool due[WAYS];
    enum way first = WAYS;

    for (enum way way = 0; way < WAYS; way++) {
        due[way] = !b->lacks[way][0];
        if (first < WAYS || !begin(b, way))
            continue;
        if (due[way])
            first = way;
        else
            probe_missing(b->r, TIME, b->lacks[way]);
    }
    if (first == WAYS)
        return;
    for (enum way way = 0; way < WAYS; way++) {
        if (!due[way])
            continue;
        open_graphs(b, way);
        forget_choice(b, way, b->token);
        for (enum kind kind = 0; kind < KINDS; kind++) {
            (void)time_chain(b, kind, way, 1);
            if (kind == LAYERS)
                require_bits(b, way, "before timing");
            b->lap[kind][way] = probe_host_alloc(b->r, LAPS_MAX * sizeof ***b->lap);
        }
        require_choice(b, way, "before timing");
    }
    require_same(b);
    verify(b, first);

    time_steps(b, due);
    for (size_t dropped = 0; b->laps[LAYERS] < LAPS_MAX && probe_more(b->r);) {
        if (probe_dropped_passes(b->r) != dropped)
            b->laps[LAYERS] = 0;
        dropped = probe_dropped_passes(b->r);
        take_turns(b, LAYERS, due);
        give_samples(b, LAYERS, &b->lap[LAYERS][first][b->laps[LAYERS] - 1]);
    }

    for (enum way way = first; way < WAYS; way++) {
        if (way != first && !begin(b, way))
            continue;
        if (!due[way]) {
            probe_missing(b->r, TIME, b->lacks[way]);
            continue;
        }
        give_laps(b, LAYERS, way, way == first);
        give_laps(b, STEPS, way, false);
        require_bits(b, way, "after timing");
        require_choice(b, way, "after timing");
        if (way != first)
            verify(b, way);
        describe(b, way);
        if (way == GRAPH_NCCL)
            describe_nccl(b);
    }
}

/* --- which layers ------------------------------------------------------------------------------- */

/* Two or four kv heads a rank, rows that blocks do not divide, a short last chunk. */
static const struct decoder_model small = {"small", {1160, 16, 8, 128, 4128, 2012}, 3, 16};

/* False, with a note, where these GPUs refuse it. */
static bool make(struct bench *b, const struct decoder_model *model, uint32_t context)
{
    const struct gpu_facts *g = gpu_facts(b->r);
    const struct decoder_machine machine = {.blocks = (uint32_t)g->n_sm,
                                            .shared = (uint32_t)g->shared_per_block,
                                            .has_bulk = true,
                                            .free_bytes = (double)g->free_bytes,
                                            .l2_bytes = (double)g->l2_bytes};
    char why[240];

    b->whole = (struct decoder_problem){.model = *model, .context = context, .batch = 1, .sets = 1};
    bool fits = decoder_problem_make(&b->whole, &machine, why, sizeof why);
    b->layers = !fits                         ? 0
                : probe_is_check_run(b->r) ? 2
                                              : decoder_chain_layers(&b->whole, machine.l2_bytes);
    b->step_layers = probe_is_check_run(b->r) ? 2 : model->layers;
    b->share = (struct decoder_problem){.model = *model, .context = context, .batch = 1};
    b->share.model.shape = layer_share(model->shape, (uint32_t)b->gpus);
    b->share.sets = 2 * b->layers;
    fits = fits && b->layers > 0 && decoder_problem_make(&b->share, &machine, why, sizeof why);
    if (fits && b->share.stages == 0)
        fits = snprintf(why, sizeof why, "no room for a ring beside the vectors") == 0;
    if (!fits)
        probe_note(b->r, "not measured: %s on %d GPUs: %s", model->name, b->gpus, why);
    return fits;
}

static void measure_model(const struct bench *open, const struct decoder_model *model,
                          uint32_t context)
{
    struct bench b = *open;

    if (!make(&b, model, context))
        return;
    allocate(&b);
    find_kernels(&b);
    fill_all(&b);
    copy_near(&b);
    measure_ways(&b);
    for (int way = GRAPH_PUSH; way < WAYS; way++)
        for (int i = 0; i < 2 * KINDS && b.lap[0][way]; i++)
            links_graph_free(b.links, b.graph[i / 2][way][i % 2]);
    for (int i = 0; i < VERIFIED; i++)
        free(b.known[i].after);
}

static void measure(struct probe_run *r)
{
    const bool is_small = probe_parameter(r, "model") == 1;
    struct links *l = links_open(r);
    if (!l)
        return;
    struct bench b = {.r = r,
                      .links = l,
                      .teams = teams_open(l),
                      .gpus = links_gpus(l),
                      .seed = probe_seed(r)};
    (void)links_nccl_open(l, b.lacks[GRAPH_NCCL], sizeof b.lacks[GRAPH_NCCL]);
    if (probe_is_check_run(r) || is_small)
        measure_model(&b, &small, 200);
    if (!is_small)
        measure_model(&b, &decoder_models[MODEL_8B], 1024);
    links_close(l);
}

const struct probe probe = {
    .name = "layer",
    .what = "How long does a decoder's layer take that several GPUs share?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 90,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
