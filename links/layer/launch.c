/* layer: kernels, what they take, and in which order they are launched. */
#include "links/layer/bench.h"

#include <stdio.h>

PROBE_IMAGE(layer);
PROBE_IMAGE(layer_nodes);
PROBE_IMAGE(layer_deal);

enum { PRODUCER_THREADS = 32, IN_FLIGHT = 4 };

const char *const way_names[WAYS] = {"push", "near", "graph_push", "graph_nccl"};
static const char *const node_names[] = {
    [EMBED] = "layer_embed", [QKV] = "layer_qkv", [ATTENTION] = "layer_attention_128_4",
    [MERGE] = "layer_merge", [O] = "layer_o",     [GATE_UP] = "layer_gate_up",
    [DOWN] = "layer_down",   [ADD] = "layer_add", [HEAD] = "layer_head",
    [CHOOSE] = "layer_choose", [BEST] = "layer_best", [CHOOSE_GATHERED] = "layer_choose_gathered"};

bool way_stays(enum way way)
{
    return way < GRAPH_PUSH;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static uint32_t stages_of(const struct bench *b, enum way way, enum node node)
{
    const bool is_product =
        node == QKV || node == O || node == GATE_UP || node == DOWN || node == HEAD;
    return way_stays(way) ? b->share.stages : is_product ? b->share.product_stages : 0;
}

/* Dynamic shared memory of a block. */
static uint32_t shared_of(const struct bench *b, enum way way, enum node node)
{
    const bool has_none = node == MERGE || node == EMBED || node == ADD || node == CHOOSE_GATHERED;
    if (!way_stays(way) && has_none)
        return 0;
    return decoder_shared_bytes(&b->share, stages_of(b, way, node), way_stays(way));
}

void bench_find_kernels(struct bench *b)
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
    b->deal =
        links_kernel(b->links, &image_layer_deal, "layer_deal", sizeof(struct layer_deal_args));
    b->move = links_kernel(b->links, &image_layer_deal, "layer_move_near",
                           sizeof(struct decoder_move_args));
    b->rate =
        links_kernel(b->links, &image_layer_deal, "layer_rate", sizeof(struct layer_rate_args));
}

/* --- arguments -------------------------------------------------------------------------------- */

static struct exchange exchange_of(const struct bench *b, int rank)
{
    struct exchange x = {.team = b->teams.team[rank]};
    x.packets.slots = bench_slots(b);
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
                                      .share = bench_at(&b->sum, rank, 0),
                                      .has_residual = way == GRAPH_NCCL && rank == 0};
        a[rank].decoder =
            (struct decoder_args){.weights = bench_at(&b->weights, rank, 0),
                                  .cache = bench_at(&b->caches, rank, 0),
                                  .rope = bench_at(&b->rope, rank, 0),
                                  .input = whole ? NULL : bench_at(&b->input, rank, 0),
                                  .embedding = whole ? bench_at(&b->embedding, rank, 0) : NULL,
                                  .head = whole ? bench_head(b, rank) : NULL,
                                  .head_norm = whole ? bench_at(&b->head_norm, rank, 0) : NULL,
                                  .logits = whole ? bench_at(&b->logits[way], rank, 0) : NULL,
                                  .tokens = bench_at(&b->tokens[way], rank, 0),
                                  .output = bench_at(&b->output[way], rank, 0),
                                  .mail = bench_at(&b->mail[!way_stays(way)], rank, 0),
                                  .barrier = bench_at(&b->barrier, rank, 0),
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

/* --- launches --------------------------------------------------------------------------------- */

static unsigned blocks_of(const struct bench *b, enum node node)
{
    const struct decoder_shape *s = &b->share.model.shape;
    const uint32_t words = s->heads * s->head_dim / 2;
    const uint32_t merging = (words + DECODER_WARPS - 1) / DECODER_WARPS;
    const uint32_t adding = (s->hidden / 2 + LAYER_SUM_THREADS - 1) / LAYER_SUM_THREADS;
    const bool is_one = node == EMBED || node == CHOOSE || node == BEST || node == CHOOSE_GATHERED;
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
                                    .block = node == ADD  ? LAYER_SUM_THREADS
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

void bench_launch_sum(const struct bench *b, enum way way)
{
    struct layer_args a[LINKS_MOST];

    arguments(b, way, (struct work){1, 0}, a);
    launch_sum(b, way, a);
}

void bench_launch(const struct bench *b, enum way way, struct work work)
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

void bench_wait(const struct bench *b)
{
    uint32_t aborted;

    teams_wait(b->r, &b->teams);
    for (int rank = 0; rank < b->gpus; rank++) {
        const struct grid_barrier_state *state = bench_at(&b->barrier, rank, 0);
        links_read(b->links, rank, &aborted, &state->aborted, sizeof aborted);
        if (aborted)
            probe_fail(b->r, "rank %d: a block waited for its own GPU's for %d ms in vain", rank,
                       TEAMS_BUDGET_NS / 1000000);
    }
}
