/* decoder_layer: how close to the time of reading its weights can a decoder's layer come at small
 * batch, and a whole step of one token? What is the rest?
 *
 * Method. Layers of Llama's kind in bf16, the residual and all sums in fp32; weights of N(0,
 * 1/columns), old keys and values of N(0, 1), a fixed position. A chain of layers feeds each
 * layer's residual to the next; a whole step is the embedding of a token, all layers, the last
 * norm, the head, and the choice of the greatest logit, whose token is the next step's. The same
 * device functions are packed as
 *     impl=stream     a kernel for each operator, launched one by one
 *     impl=graph      the same in a graph
 *     impl=fused      a kernel for each of the six steps that depend on each other, in a graph
 *     impl=dependent  the same as programmatic dependents, which ask for weights before they wait
 *     impl=barrier    one kernel that stays, with a barrier of the grid at each edge
 *     impl=ring       one kernel; a ninth warp keeps a ring of weights in shared memory full, old
 *                     keys and values among them, across steps and layers
 *     impl=values     the ring, and each word with its epoch in place of barriers
 *     impl=near       values, and weights that lie in the memory behind each SM's own half of the
 *                     L2 (core/sides.h): of a stream from anywhere half comes through the link
 *                     between the halves, and words wait behind it. impl=far, a control: behind the
 *                     other
 *     impl=cublas     the four products by cuBLASLt, the fastest of its algorithms, and a kernel
 *                     for each operator between; in a graph. Its head is ours
 *     impl=read       reads as many bytes and drops them; share_of_read compares with it
 *
 * power, energy: two steps a launch or a graph, again and again, for a third of a second, from one
 * step of NVML's energy counter to another. impl=read, the control, reads as many bytes as a step.
 * Where steps in a row take more than 1.1 times step_time the board did something else, too, and
 * both are missing. Only impl=stream may take longer: it waits for its launches. What is timed next
 * finds a warmer board.
 *
 * Inside the timed region: two amounts of work, n and 2n layers or steps, in a launch, a graph,
 * or a row of launches between two events; the slope is one layer's time, or one step's. A gate
 * holds the first event until all is queued, but for impl=stream, of which the host is a part. A
 * launch's own cost is thus in no figure of a kernel that stays. Every layer has weights and
 * caches of its own; what lies between two uses of a layer's is more than three times the L2.
 *
 * What is checked, before and after: each step against float64 from what the step before it handed
 * over (2e-3; half a unit of bf16 where they are few); one layer (1e-2); a chain, and the logits
 * of a step, to twice the error of a float64 chain that rounds to bf16 where the kernels do; the
 * token. All packagings that add up in the same
 * order give the same bits: fused, dependent, barrier, ring, values and near on the one hand,
 * stream and graph on the other, which round what goes into a product behind the norm's factor and
 * not before it. What timed launches leave has the bits of what was verified. Rows of the cache
 * that no token has reached are NaN. --check adds small shapes on eight blocks, with blocks that
 * wait at random, against float64 on the CPU; --deep 10^5 layers in one launch.
 *
 * Expected on an H200, context 1024: a 1b layer reads 123.7 MB, 26.7 us at the rate of a long
 * read; an 8b layer 440 MB, 95.1 us. Six edges of 1.1 us and the empty memory pipe behind each of
 * them cost a graph of six kernels 40 us; a barrier 33; the ring hides what its 200 KB an SM
 * cover, 4.7 us of memory time, and should come to 28 to 29 us. Found: 46, 49, and 34 to 37;
 * near, which was not foreseen, 31, and far 53. Alone, words take 6 us from all SMs to all SMs
 * beside a stream (edges; docs/FINDINGS.md). Of joules were expected, from 130 W of the idle board
 * and up to 520 W for the bytes at the rate of a long read: for a step of 1B 0.42 as a graph and
 * 0.36 near, for one of 8B 2.3 and 2.15, and fewer for a read of a step's bytes. Found: 0.46, 0.38,
 * 2.5, 2.2, and 0.36 for 1B's.
 *
 * Traps. A short chain's weights stay in the L2. A graph cannot be replayed with a fixed epoch: its
 * words would look fresh; kernels that stay are launched, each time with greater epochs. The choice
 * of a token by its greatest logit is not stable among near ties, so it is checked with the
 * logits. SMs' clocks are not compared with each other: `where` uses differences on one SM only.
 * What one launch shows of a wait differs from the next by a tenth: `where`, `closes`,
 * barrier_under_load and `timeline` are medians over five launches, of means over blocks and
 * layers. Medians over blocks would not add up: waits are skewed, and the sum was off by 4 %. */
#include <math.h>
#include <stdio.h>

#include "fused/decoder_layer/odd.h"
#include "fused/decoder_layer/point.h"

#define KEYS "model,context,batch,impl,l2"
static const struct probe_metric metrics[] = {
    [LAYER_TIME] = {"layer_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                    "one layer of a chain"},
    [STEP_TIME] = {"step_time", "ns", PROBE_LOWER, PROBE_SLOPE, "event", KEYS,
                   "one whole step: embedding, all layers, head, choice of a token"},
    [SHARE_OF_READ] = {"share_of_read", "ratio", PROBE_HIGHER, .keys = KEYS,
                       .what = "time to read a layer's bytes over the time of the layer"},
    [BYTES] = {"bytes", "bytes", PROBE_EXACT, .keys = KEYS,
               .what = "that one layer must read: weights, keys and values"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "of one layer, relative to what it adds to the residual, from float64"},
    [KERNELS] = {"kernels", "count", PROBE_EXACT, .keys = KEYS,
                 .what = "of one layer; of a chain of any length, where one kernel stays"},
    [CAUGHT] = {"caught", "ratio", PROBE_HIGHER, .keys = "model,context,impl",
                .what = "share of planted faults that verification sees"},
    [WHERE] = {"where", "ns", PROBE_LOWER, .timer = "device",
               .keys = "model,context,impl,step,part",
               .what = "a block's time in a step of a layer: weights, activations, waiting, tail"},
    [CLOSES] = {"closes", "ratio", PROBE_LOWER, .keys = "model,context,impl",
                .what = "sum of all parts of `where` over layer_time"},
    [TIMELINE] = {"timeline", "ns", PROBE_LOWER, .timer = "device", .keys = "model,context,impl",
                  .what =
                      "moments of each step of a layer, by block, since the block began the layer"},
    [BARRIER_UNDER_LOAD] = {"barrier_under_load", "ns", PROBE_LOWER, .timer = "device",
                            .keys = "model,context,impl",
                            .what = "an edge for the block that waits least: while the memory "
                                    "streams (ring, values), or idles (barrier)"},
    [ENDURED] = {"endured", "count", PROBE_EXACT, .keys = "model,context,impl,skew_ns",
                 .what =
                     "layers that one launch ended with the right bits, with blocks that wait at "
                     "random"},
    [POWER] = {"power", "watts", PROBE_LOWER, .keys = KEYS,
               .what = "of the board while it does step after step, by NVML's energy counter"},
    [ENERGY] = {"energy", "joules", PROBE_LOWER, .keys = KEYS,
                .what = "that the board takes for one whole step, or to read its bytes"},
};

static const char *const model_words[] = {"1b", "3b", "8b", "70b", NULL};
static const struct probe_parameter parameters[] = {
    {"model", MODEL_1B, MODEL_1B, MODEL_70B, "of the one point to measure", model_words},
    {"context", 1024, 2, 1 << 20, "of that point: keys of a sequence, the new one included", NULL},
    {"batch", 1, 1, DECODER_BATCH, "of that point: 1, 2 or 4 sequences", NULL},
    {"layers", 0, 0, 1024, "of that model; this and what follows, 0: the model's own", NULL},
    {"hidden", 0, 0, 1 << 16, "its residual's length", NULL},
    {"heads", 0, 0, 1024, "its query heads", NULL},
    {"kv_heads", 0, 0, 1024, "its heads of keys and values", NULL},
    {"head_dim", 0, 0, 128, "64 or 128", NULL},
    {"ffn", 0, 0, 1 << 17, "its intermediate's length", NULL},
    {"vocabulary", 0, 0, 1 << 20, "its tokens", NULL},
};

enum { TIMED_STEPS = 1, TIMED_LAYERS = 4, HELD_LAYERS = 2, TURNS = 2 };
static const double SLOW = 1.08;

/* --- a read of as many bytes ------------------------------------------------------------------ */

/* ns a layer of the last launches of a read, both amounts in turn. */
enum { SPEEDS = 64 };
struct speeds {
    double ns[SPEEDS];
    size_t n;
};

static void keep_speed(struct speeds *s, double ns)
{
    s->ns[s->n++ % SPEEDS] = ns;
}

/* Where some launches are slower than the fastest by more than SLOW: which ones, in order. A row of
 * slow ones tells a state that lasts from one that each launch finds anew. */
static void say_speeds(struct probe_run *r, const struct speeds *s)
{
    const size_t n = s->n < SPEEDS ? s->n : SPEEDS;
    char order[SPEEDS + 1] = "";
    double least = INFINITY;
    size_t slow = 0;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, s->ns[i]);
    for (size_t i = 0; i < n; i++) {
        const bool is_slow = s->ns[(s->n - n + i) % SPEEDS] > SLOW * least;
        order[i] = is_slow ? 's' : 'f';
        slow += is_slow;
    }
    if (slow > 0)
        probe_fact(r, "speeds", "%zu of %zu launches slow: %s", slow, n, order);
}

static void measure_read(struct probe_run *r, struct point *q)
{
    const double bytes = decoder_layer_reads(&q->p);
    struct speeds speeds = {.n = 0};
    if (!point_begin(r, q, "read", q->flags))
        return;
    /* the first one looks for its kernel, which no gate may hold up */
    decoder_launch_read(r, &q->t, bytes);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (uint32_t n = q->layers; n <= 2 * q->layers; n += q->layers) {
            gpu_time_start(r);
            decoder_launch_read(r, &q->t, n * bytes);
            const double ns = gpu_time_stop(r).ns;
            probe_sample(r, LAYER_TIME, n, ns);
            keep_speed(&speeds, ns / n);
        }
    say_speeds(r, &speeds);
    q->read_ns = probe_median(r, LAYER_TIME);
    probe_value(r, BYTES, bytes);
}

/* --- how long does it take? ------------------------------------------------------------------- */

/* Two amounts of one kind of work. */
struct timed {
    int metric;
    double n;
    struct decoder_work work[2];
    struct gpu_graph graph[2];
};

static double time_once(struct probe_run *r, const struct decoder_packing *p, const struct timed *t,
                        int i)
{
    if (p->way->in_graph)
        return gpu_replay_ns(r, &t->graph[i]);
    if (p->way->layer)
        gpu_time_start_ungated(r);
    else
        gpu_time_start(r);
    decoder_launch(r, p, &t->work[i]);
    return gpu_time_stop(r).ns;
}

/* Steps first: layers leave their output, and steps their logits. Beside a step layers are short,
 * so they take two turns. */
static void time_way(struct probe_run *r, const struct point *q, const struct decoder_packing *p)
{
    const uint32_t layers = q->p.model.layers;
    struct timed of[] = {{.metric = STEP_TIME,
                          .n = q->steps,
                          .work = {{.layers = layers, .steps = q->steps},
                                   {.layers = layers, .steps = 2 * q->steps}}},
                         {.metric = LAYER_TIME,
                          .n = q->layers,
                          .work = {{.layers = q->layers}, {.layers = 2 * q->layers}}}};
    const size_t first = q->steps == 0, n = PROBE_LENGTH(of);

    for (size_t w = first; w < n; w++)
        for (int i = 0; i < 2 && p->way->in_graph; i++) {
            gpu_graph_begin(r);
            decoder_launch(r, p, &of[w].work[i]);
            of[w].graph[i] = gpu_graph_end(r);
        }
    decoder_poison(r, p->t);
    gpu_empty_l2(r);
    while (probe_more(r))
        for (size_t w = first; w < n; w++)
            for (int turn = 0; turn < (first == 0 && w > 0 ? TURNS : 1); turn++)
                for (int i = 0; i < 2; i++)
                    probe_sample(r, of[w].metric, of[w].n * (1 << i), time_once(r, p, &of[w], i));
    for (size_t w = first; w < n; w++)
        for (int i = 0; i < 2 && p->way->in_graph; i++)
            gpu_graph_free(&of[w].graph[i]);
}

/* Kernels of a layer by the graph's count; one kernel stays however many layers it does. */
static void count_kernels(struct probe_run *r, const struct point *q,
                          const struct decoder_packing *p)
{
    const struct decoder_work one = {.layers = 1}, many = {.layers = q->layers};
    const unsigned merges = q->p.splits > 1 || !p->way->layer;
    const size_t embeds = p->way->layer != NULL;
    const size_t n = decoder_count_kernels(r, p, p->way->layer ? &one : &many) - embeds;
    probe_value(r, KERNELS, (double)n);
    probe_require(r, p->way->bits == BITS_LIBRARY || n == p->way->kernels - !merges,
                  "%s: %zu kernels, expected %u", way_name(p->way), n, p->way->kernels - !merges);
}

/* Returns ns of a step; NaN where none was timed. */
static double measure_open_way(struct probe_run *r, struct point *q,
                               const struct decoder_packing *p)
{
    const enum decoder_bits bits = p->way->bits;
    const double error = point_verify(r, q, p);
    count_kernels(r, q, p);

    time_way(r, q, p);

    const double ns = probe_median(r, LAYER_TIME);
    point_require_bits(r, p, &q->digest[bits][1], 0, "after timing");
    if (q->steps > 0)
        point_require_bits(r, p, &q->chosen[bits][1], 2 * q->steps, "after timing");
    probe_value(r, ERROR, error);
    probe_value(r, BYTES, decoder_layer_reads(&q->p));
    if (!isnan(ns) && q->read_ns > 0)
        probe_value(r, SHARE_OF_READ, q->read_ns / ns);
    q->layer_ns[p->way - decoder_ways] = ns;
    probe_fact(r, "packaging", "%s", p->way->what);
    probe_fact(r, "chain", "%u and %u layers, %u sets of weights, %u splits of the keys", q->layers,
               2 * q->layers, q->p.sets, q->p.splits);
    if (p->way->has_ring)
        probe_fact(r, "stages", "%u of %d bytes", q->p.stages, (int)DECODER_TILE_BYTES);
    if (p->way->is_near)
        probe_fact(r, "sides", "%u and %u SMs, mask %#x of 8 KiB in a page",
                   q->t.near.args.map.count[0], q->t.near.args.map.count[1],
                   q->t.near.args.map.mask);
    return q->steps > 0 ? probe_median(r, STEP_TIME) : (double)NAN;
}

/* --- all packagings --------------------------------------------------------------------------- */

static void measure_way(struct probe_run *r, struct point *q, enum decoder_way_name name,
                        unsigned flags)
{
    const bool is_library = decoder_ways[name].bits == BITS_LIBRARY;
    struct decoder_library library;
    char why[320] = "";
    double step_ns = NAN;
    struct decoder_packing p = {&decoder_ways[name], &q->t, &q->kernels, NULL};

    if (!point_begin(r, q, way_name(p.way), flags))
        return;
    if (is_library && decoder_library_open(r, &library, blas_open(r, why, sizeof why), &q->t))
        p.library = &library;
    const char *lacks = decoder_lacks(r, &p);
    if (lacks)
        probe_missing(r, LAYER_TIME, lacks);
    else
        step_ns = measure_open_way(r, q, &p);
    point_measure_power(r, q, &p, lacks, step_ns);
    if (p.library)
        decoder_library_close(r, &library);
}

/* A control: the same kernel, each of whose SMs reads what lies behind the other half of the L2. */
static void measure_far(struct probe_run *r, struct point *q)
{
    const struct decoder_packing p = {&decoder_ways[WAY_NEAR], &q->t, &q->kernels, NULL};
    const double near_ns = q->layer_ns[WAY_NEAR];
    const char *lacks;

    if (!point_begin(r, q, "far", PROBE_THRICE))
        return;
    if ((lacks = decoder_lacks(r, &p))) {
        probe_missing(r, LAYER_TIME, lacks);
        return;
    }
    decoder_near_swap(r, &q->p, &q->t.near, q->t.weights, q->t.head);
    measure_open_way(r, q, &p);
    decoder_near_swap(r, &q->p, &q->t.near, q->t.weights, q->t.head);
    q->layer_ns[WAY_NEAR] = near_ns;
}

/* --- planted faults, and many layers ---------------------------------------------------------- */

static void measure_faults(struct probe_run *r, struct point *q, enum decoder_way_name name)
{
    const struct decoder_packing p = {&decoder_ways[name], &q->t, &q->kernels, NULL};
    if (!q->kernels.stays[name] ||
        !probe_begin_case(r, PROBE_TWICE, "model=%s,context=%u,impl=%s", q->p.model.name,
                          q->p.context, way_name(p.way)))
        return;
    point_ready(r, q);
    probe_value(r, CAUGHT, decoder_check_faults(r, &q->check, &p));
}

/* One launch with blocks that wait at random, against one without. */
static void measure_endurance(struct probe_run *r, struct point *q, enum decoder_way_name name)
{
    enum { LAYERS = 100000, SKEW_NS = 2000 };
    const struct decoder_packing p = {&decoder_ways[name], &q->t, &q->kernels, NULL};
    if (!decoder_can_watch(&p) ||
        !probe_begin_case(r, PROBE_DEEP, "model=%s,context=%u,impl=%s,skew_ns=%d", q->p.model.name,
                          q->p.context, way_name(p.way), SKEW_NS))
        return;
    point_ready(r, q);
    uint64_t digest[2];
    for (int i = 0; i < 2; i++) {
        point_launch_poisoned(r, &p,
                              (struct decoder_work){.layers = LAYERS,
                                                    .is_watched = i > 0,
                                                    .skew_ns = i > 0 ? SKEW_NS : 0});
        digest[i] = decoder_digest(r, &q->t, 0);
    }
    const bool right =
        decoder_require_no_abort(r, &q->t, "10^5 layers") &&
        probe_require(r, digest[0] == digest[1], "the same bits with and without skew");
    probe_value(r, ENDURED, right ? LAYERS : 0);
}

/* --- the sweep -------------------------------------------------------------------------------- */

/* False, with a note, where this machine refuses it. */
static bool make_point(struct probe_run *r, struct point *q, const struct decoder_model *model,
                       uint32_t context, uint32_t batch, bool is_given)
{
    const struct decoder_machine m = decoder_machine_of(r);
    char why[240];
    *q = (struct point){.p = {.model = *model, .context = context, .batch = batch}};
    bool fits = decoder_problem_make(&q->p, &m, why, sizeof why);
    q->layers = !fits ? 0 : probe_is_check_run(r) ? 2 : decoder_chain_layers(&q->p, m.l2_bytes);
    q->held = q->layers;
    if (fits && q->layers == 0) {
        snprintf(why, sizeof why, "model=%s: no chain that is timed is cold", model->name);
        fits = false;
    }
    if (!fits && is_given)
        probe_usage(r, "%s", why);
    if (!fits)
        probe_note(r, "not measured: %s", why);
    else
        q->kernels = decoder_kernels_of(r, &q->p);
    return fits;
}

/* Every packaging; some: those of a curve. */
static void measure_ways(struct probe_run *r, struct point *q, bool all, unsigned flags)
{
    static const enum decoder_way_name curve[] = {WAY_GRAPH, WAY_DEPENDENT, WAY_BARRIER,
                                                  WAY_VALUES, WAY_NEAR};
    q->flags = flags;
    measure_read(r, q);
    point_measure_power(r, q, NULL, NULL,
                        q->read_ns * decoder_step_reads(&q->p) / decoder_layer_reads(&q->p));
    for (size_t i = 0; i < (all ? DECODER_WAYS : PROBE_LENGTH(curve)); i++)
        measure_way(r, q, all ? (enum decoder_way_name)i : curve[i], flags);
}

/* Half a second each. C88b takes these, from slow to fast, and the read; all others are left to
 * --deep. */
static const bool power_due[][CONSUMERS] = {
    [MODEL_1B] = {[BARE_READ] = true, [WAY_GRAPH] = true, [WAY_DEPENDENT] = true,
                  [WAY_NEAR] = true},
    [MODEL_8B] = {[WAY_GRAPH] = true, [WAY_NEAR] = true},
};

static void measure_main(struct probe_run *r, int name)
{
    const struct decoder_model *model = &decoder_models[name];
    struct decoder_model timed = *model;
    struct point q;
    if (timed.chain == 0)
        timed.chain = TIMED_LAYERS;
    if (!make_point(r, &q, &timed, 1024, 1, false))
        return;
    if (model->chain == 0 && q.held > HELD_LAYERS) /* float64 of a long layer takes long */
        q.held = HELD_LAYERS;
    q.steps = TIMED_STEPS;
    q.is_power_due = power_due[name];
    measure_ways(r, &q, true, 0);
    if (model->chain)
        measure_far(r, &q);
    for (enum decoder_way_name w = WAY_BARRIER; w <= WAY_NEAR; w++)
        point_measure_where(r, &q, w);
    for (enum decoder_way_name w = WAY_BARRIER; w <= WAY_NEAR && model->chain; w++)
        measure_endurance(r, &q, w);
    point_free(r, &q);
}

static void measure_beside(struct probe_run *r)
{
    static const struct {
        int model;
        uint32_t context, batch;
        bool all, has_steps;
        unsigned flags;
    } points[] = {
        {MODEL_1B, 128, 1, false, false, PROBE_THRICE},
        {MODEL_1B, 8192, 1, false, false, PROBE_THRICE},
        {MODEL_1B, 32768, 1, false, false, PROBE_THRICE | PROBE_SLOW},
        {MODEL_8B, 128, 1, false, false, PROBE_THRICE | PROBE_SLOW},
        {MODEL_8B, 8192, 1, false, false, PROBE_THRICE | PROBE_SLOW},
        {MODEL_8B, 32768, 1, false, false, PROBE_THRICE | PROBE_SLOW},
        {MODEL_3B, 1024, 1, false, true, PROBE_THRICE | PROBE_SLOW},
        {MODEL_70B, 1024, 1, false, false, PROBE_DEEP},
        {MODEL_3B, 8192, 1, true, false, PROBE_DEEP},
        {MODEL_1B, 1024, 2, true, true, PROBE_DEEP},
        {MODEL_1B, 1024, 4, true, true, PROBE_DEEP},
        {MODEL_8B, 1024, 2, true, false, PROBE_DEEP},
        {MODEL_8B, 1024, 4, true, false, PROBE_DEEP},
    };
    for (size_t i = 0; i < PROBE_LENGTH(points); i++) {
        struct point q;
        if (!probe_is_due(r, points[i].flags))
            continue;
        if (!make_point(r, &q, &decoder_models[points[i].model], points[i].context, points[i].batch,
                        false))
            continue;
        if (points[i].has_steps)
            q.steps = TIMED_STEPS;
        else if (q.p.sets > 2 * q.layers) /* a chain needs no more */
            q.p.sets = 2 * q.layers;
        measure_ways(r, &q, points[i].all, points[i].flags);
        point_free(r, &q);
    }
}

/* Small, with every step's peculiarities: three heads to a kv head, and rows of two chunks. */
static const struct decoder_model small = {"small", {576, 9, 3, 64, 2064, 1003}, 3, 0};

static void measure_small(struct probe_run *r)
{
    struct decoder_model model = small;
    struct point q = {.p = {.model = model, .context = 200, .batch = 1, .sets = 2}};
    const struct decoder_machine m = decoder_machine_of(r);
    char why[240];
    if (!probe_require(r, decoder_problem_make(&q.p, &m, why, sizeof why), "%s", why))
        return;
    q.layers = 2;
    q.kernels = decoder_kernels_of(r, &q.p);
    measure_faults(r, &q, WAY_BARRIER);
    measure_faults(r, &q, WAY_VALUES);
    measure_faults(r, &q, WAY_NEAR);
    point_free(r, &q);
    if (!probe_is_check_run(r))
        return;
    for (uint32_t batch = 1; batch <= DECODER_BATCH; batch *= 2) {
        struct point whole = {.p = {.model = model, .context = 200, .batch = batch, .sets = 2}};
        if (!probe_require(r, decoder_problem_make(&whole.p, &m, why, sizeof why), "%s", why))
            continue;
        whole.layers = 2;
        whole.steps = 2;
        whole.kernels = decoder_kernels_of(r, &whole.p);
        measure_ways(r, &whole, true, 0);
        point_free(r, &whole);
    }
}

/* --- the command line ------------------------------------------------------------------------- */

static bool is_given(const struct probe_run *r)
{
    for (size_t i = 0; i < PROBE_LENGTH(parameters); i++)
        if (probe_parameter_given(r, parameters[i].name))
            return true;
    return false;
}

static void take(const struct probe_run *r, const char *name, uint32_t *value, bool *changed)
{
    const int64_t given = probe_parameter(r, name);
    if (given == 0)
        return;
    *value = (uint32_t)given;
    *changed = true;
}

static void measure_given(struct probe_run *r)
{
    struct decoder_model model = decoder_models[probe_parameter(r, "model")];
    struct decoder_shape *s = &model.shape;
    bool changed = false;
    struct point q;

    take(r, "layers", &model.layers, &changed);
    take(r, "hidden", &s->hidden, &changed);
    take(r, "heads", &s->heads, &changed);
    take(r, "kv_heads", &s->kv_heads, &changed);
    take(r, "head_dim", &s->head_dim, &changed);
    take(r, "ffn", &s->ffn, &changed);
    take(r, "vocabulary", &s->vocabulary, &changed);
    if (changed) {
        model.name = "given";
        model.chain = 0;
    }
    if (!make_point(r, &q, &model, (uint32_t)probe_parameter(r, "context"),
                    (uint32_t)probe_parameter(r, "batch"), true))
        return;
    q.steps = TIMED_STEPS;
    measure_ways(r, &q, true, 0);
    for (enum decoder_way_name w = WAY_BARRIER; w <= WAY_NEAR; w++)
        point_measure_where(r, &q, w);
    point_free(r, &q);
}

static void measure(struct probe_run *r)
{
    if (is_given(r)) {
        measure_given(r);
        return;
    }
    measure_small(r);
    if (probe_is_check_run(r)) {
        if (probe_begin_case(r, 0, "model=odd,context=0,batch=0,impl=all,l2=cold"))
            probe_fact(r, "shapes", "%d of seeded sizes", decoder_check_odd_shapes(r));
        return;
    }
    measure_main(r, MODEL_1B);
    measure_main(r, MODEL_8B);
    measure_beside(r);
}

const struct probe probe = {
    .name = "decoder_layer",
    .what = "How close to the read of its weights come a decoder's layer and a whole step?",
    .method = 2,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
