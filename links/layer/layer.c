/* layer: how long does a decoder's layer take at batch 1 that two or four GPUs share? What do its
 * two all-reduces cost?
 *
 * Method. Tensor-parallel layers of Llama's kind, as fused/decoder_layer has them on one GPU: each
 * rank has whole heads with their kv heads, and a part of the intermediate. QKV, gate and up are
 * divided by rows, O and down by columns, so that these two give summands, which an all-reduce of
 * `hidden` fp32 completes. Every rank has the norms and the residual.
 *     impl=push         one kernel that stays, with a ring of weights and words with epochs. The
 *                       edge behind O and behind down is the all-reduce: each rank pushes its words
 *                       to all others, and who needs the residual polls all ranks' words
 *     impl=near         push, and weights that lie in the memory behind each SM's own half of the
 *                       L2, of each rank's GPU
 *     impl=graph_push   the six steps as kernels, and our all-reduce as a kernel behind O and
 *                       behind down, in a graph
 *     impl=graph_nccl   the same with NCCL's all-reduce, one process a GPU, without NVLink
 *                       multicast. The first rank's summand has its residual in it, so that no
 *                       kernel need add it
 * Chains of n and 2 n layers, as many as decoder_layer times; the slope is one layer's time. Of
 * each pass the longest of the ranks' times counts. All ways take turns in each pass. A kernel that
 * stays is launched, the others are graphs, behind a gate and a meeting of the ranks. Every layer
 * of the longer chain has its own weights and caches: none of them is in the L2 when it is used
 * again.
 *
 * A whole step is the embedding of a token, all layers of the model, which take turns at the
 * chain's sets of weights, the last norm, the head, and the choice of the greatest logit, whose
 * token is the next step's. The head is divided by rows; every rank has the whole embedding. What
 * each block of a kernel that stays has chosen is one more exchange of all blocks of all ranks. In
 * a graph a kernel finds the rank's best, and it is exchanged in that kernel (ours), or gathered by
 * NCCL for another. One step and two, in few passes of their own before those of the layers.
 *
 * A whole layer's weights are drawn by seed, the same in all ranks, which keep their shares. What
 * the ranks leave has the same bits on all of them, and from push, near and graph_push: all add in
 * the order of ranks. The first, the nth and the last layer, and the last one of a step, are
 * compared with float64 of the whole layer on the CPU, from the residual that the layers before
 * left: relative to what the layer adds, 1e-2 as in decoder_layer. Layers begin with a token's
 * embedding, as a step does, so that all logits of a step are compared with float64 from what its
 * layers leave alone: 1e-2. Its token has the greatest of its logits, is the same on all ranks, and
 * is among the greatest in float64; the second of two steps is a step from the first one's token.
 * What the last timed pass left has the bits of what was verified. A rank that is lost ends the run
 * in one line.
 *
 * Inside the timed region: n or 2 n layers, or one step or two; the slope has neither launch nor
 * meeting. Expected on H200, 8b, context 1024: a layer of 440 MB takes 111 us in one kernel of one
 * GPU, 95 of which are a read of its bytes. Two GPUs: 47.6 us of bytes, two exchanges of 1 to
 * 1.3 us, and what remains of the edges, 56 us; four: 23.8, and 33. In a graph six edges of kernels
 * more, and each all-reduce 2.3 us (ours) or 8 to 15 (NCCL).
 * Expected of near: on one GPU it takes 5.3 us off 106.6, for half of the weights no longer comes
 * through the link between the halves of the L2, beside the words. On two GPUs a rank has half of
 * the weights and as many words: 2 to 4 us less than push, whose first run took 57.8, so 54 to 56.
 * Expected of a step on two H200: 32 layers, a head of 525 MB a rank at the layer's 4.6 TB/s, 114
 * us, and a choice of 3 us, an exchange among them: push 1.97 ms, near 1.87. In graphs, whose first
 * layers took 74 and 83 us, 8 us for the kernels of head and choice, and NCCL's gather 10 more:
 * 2.49 ms, and 2.79. One GPU: 32 x 106.6 + 226, 3.64 ms. Measured (09736e3-1): push 56.0 us and
 * 1.92 ms, near 52.5 and 1.81, graphs as expected.
 *
 * Traps. The numbers of exchanges must go on from launch to launch, else old words look fresh: they
 * are a counter of the GPU's own. On four GPUs attention has two kv heads a rank, and 32 blocks. A
 * chain that is compared as a whole drifts from float64 by its roundings: so single layers are. A
 * token is not stable among near ties: NCCL's sums may choose another one. */
#include <stdio.h>
#include <stdlib.h>

#include "links/layer/bench.h"

enum { TIME, STEP_TIME, BYTES, ERROR, DIFFER };
#define KEYS "model,context,gpus,impl,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS, "one layer of a chain"},
    [STEP_TIME] =
        {"step_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
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

enum { LAPS_MAX = 40, STEP_LAPS = 8, WARM_LAPS = 2 };

/* --- time ------------------------------------------------------------------------------------- */

static struct work work_of(const struct bench *b, enum kind kind, uint32_t i)
{
    return kind == LAYERS ? (struct work){b->layers << i, 0}
                          : (struct work){b->step_layers, 1u << i};
}

static void open_graphs(struct bench *b, enum way way)
{
    for (enum kind kind = 0; kind < KINDS && !way_stays(way); kind++)
        for (uint32_t i = 0; i < 2; i++) {
            links_graph_begin(b->links);
            bench_launch(b, way, work_of(b, kind, i));
            b->graph[kind][way][i] = links_graph_end(b->links);
        }
}

/* n or 2 n layers or steps in every rank, behind a gate and a meeting. */
static struct links_time time_chain(struct bench *b, enum kind kind, enum way way, uint32_t i)
{
    links_time_start(b->links);
    if (way_stays(way))
        bench_launch(b, way, work_of(b, kind, i));
    else
        links_replay(b->links, b->graph[kind][way][i]);
    const struct links_time t = links_time_stop(b->links);
    bench_wait(b);
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

/* Of the layers those passes that their loop kept. `is_given`: the loop has given their samples,
 * and has the clocks of all ways. */
static void give_laps(struct bench *b, enum kind kind, enum way way, bool is_given)
{
    const bool is_check = probe_is_check_run(b->r);
    const size_t warm = kind == LAYERS ? is_check : is_check ? 0 : WARM_LAPS;

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

/* Few: a step is as long as a chain of many layers. Under --check once. Before the layers, whose
 * output is checked: steps leave their tokens and logits, and an output that nobody needs. */
static void time_steps(struct bench *b, const bool due[WAYS])
{
    const size_t laps = probe_is_check_run(b->r) ? 1 : WARM_LAPS + STEP_LAPS;

    for (enum way way = 0; way < WAYS; way++)
        if (due[way])
            bench_forget_choice(b, way, b->token);
    while (b->laps[STEPS] < laps)
        take_turns(b, STEPS, due);
}

static bool begin(struct bench *b, enum way way)
{
    return probe_begin_case(b->r, PROBE_POWER_BOUND, "model=%s,context=%u,gpus=%d,impl=%s,l2=cold",
                            b->whole.model.name, b->whole.context, b->gpus, way_names[way]);
}

static void verify(struct bench *b, enum way way)
{
    double differ;
    const double error = bench_verify(b, way, &differ);

    probe_value(b->r, ERROR, error);
    probe_value(b->r, DIFFER, differ);
    probe_require(b->r, differ == 0, "%s: %.0f numbers differ between ranks", way_names[way],
                  differ);
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
    links_graph_begin(b->links);
    bench_launch_sum(b, GRAPH_NCCL);
    const int graph = links_graph_end(b->links);
    probe_fact(b->r, "kernel", "%s", links_first_kernel(b->links, graph).kernel);
    links_graph_free(b->links, graph);
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
        bench_forget_choice(b, way, b->token);
        for (enum kind kind = 0; kind < KINDS; kind++) {
            (void)time_chain(b, kind, way, 1);
            if (kind == LAYERS)
                bench_require_bits(b, way, "before timing");
            b->lap[kind][way] = probe_host_alloc(b->r, LAPS_MAX * sizeof ***b->lap);
        }
        bench_require_choice(b, way, "before timing");
    }
    bench_require_same(b);
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
        bench_require_bits(b, way, "after timing");
        bench_require_choice(b, way, "after timing");
        if (way != first)
            verify(b, way);
        describe(b, way);
        if (way == GRAPH_NCCL)
            describe_nccl(b);
    }
}

/* --- which layers ----------------------------------------------------------------------------- */

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
    bench_allocate(&b);
    bench_find_kernels(&b);
    bench_fill(&b);
    bench_copy_near(&b);
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
