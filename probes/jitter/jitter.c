/* jitter: does a step made of fewer launches take a steadier time?
 *
 * Method. A step is a piece of work that a program repeats. The probe times it again and again and
 * looks at the tail: p99 and p99.9 next to the median, and p99 / median as one figure.
 *     step    K dependent trivial kernels (one block, one addition), by stream, by graph, or as one
 *             persistent kernel that does K additions with a barrier after each. With an idle host;
 *             with one busy thread for each CPU that this process may use, in addition to the
 *             thread that launches (host=loaded); and with one busy thread on the very CPU of the
 *             thread that launches, to which both are bound (host=shared). timer=wall: from before
 *             the first launch call to after the synchronisation.
 *     layer   eight dependent reads of 4 MiB, by one block per SM, as eight launches, a graph, or
 *             one cooperative kernel with a barrier of the grid in between. Alone, and together
 *             with other streams of the same process that keep the GPU busy: each reads 256 MiB of
 *             its own, multiplies on the tensor cores, or launches trivial kernels without end.
 *             timer=device: from the first instruction to the last, by %globaltimer; timer=wall as
 *             above. rival_rate is what the other streams still achieve while layer follows layer;
 *             with mode=none, what they achieve alone.
 *     item    a queue of tiny items (one block, 5 us of work) that arrive in bursts of 16, as a
 *             Poisson process drawn anew for each trace of 512 items. Each item has a launch of its
 *             own, by one stream or by eight in turn; or one launch takes all that wait. The three
 *             serve the same traces. latency is from an item's arrival to its end. busy is the
 *             share of the SMs' time spent on items, until the trace is over and all are served.
 *
 * Inside the timed region: the calls shown. A case takes a fixed number of steps, whatever they
 * show: "until it looks stable" is no rule for a tail. That number is the figure's n: 10^4 steps of
 * up to 8 launches and 1500 of 64 on a shared CPU, else 4000 of 8; 1000 layers, 500 while others
 * read memory. --deep takes 10^5 steps of up to 8 launches, 10^4 of more (500 of 512 launches where
 * the host is not loaded) and 5000 layers, and states p99.9; with four or eight other streams 50
 * layers, for a median.
 * Expected: the median falls with fewer launches. Whether p99 / median falls is the question.
 *
 * Traps. Tails of the wall clock depend on the operating system as much as on the GPU. They differ
 * between machines and between runs, and are properties of the measured machine. The scheduler
 * mostly leaves a CPU to the thread that launches: host_load is then 0.937 on 16 CPUs. In some
 * cases it does not: host_load is 0.96, and a few steps in a hundred wait for 4 ms. p99 then shows
 * one or the other, whatever the number of steps. On a shared CPU the launching thread waits for
 * whole time slices, some milliseconds each: the longer a step, the likelier it meets one. A load
 * or a rival that does not slow the step down proves nothing; the claims' judges test for that. By
 * its own clock a layer of the persistent kernel begins before it joins the grid's barrier. That
 * kernel needs all its blocks resident at once, so it waits for the rivals' blocks to leave, while
 * a single launch takes free room as it appears. 600000 items per second are more than single
 * launches can serve. The queue then grows as long as the trace lasts, and latencies are those of a
 * trace of 512 items; the items served per second are stored next to them. */
#include "probes/jitter/args.h"

#include <math.h>
#include <string.h>

#include "core/draw.h"
#include "core/gpu.h"
#include "core/stat.h"
#include "probes/jitter/load.h"

PROBE_IMAGE(jitter);

#define STEP_KEYS "launches,mode,host"
#define LAYER_KEYS "mode,rival,streams,priority"
#define ITEM_KEYS "load,items,launch"
enum { P99 = 1, P999, TAIL, N_OF_A_STEP }; /* indices after the median's, in this order */
enum {
    STEP,
    LAYER = N_OF_A_STEP,
    LAYER_WALL = 2 * N_OF_A_STEP,
    HOST_LOAD = 3 * N_OF_A_STEP, RIVAL_RATE, BUSY, LATENCY, LATENCY_P99,
};
#define OF_A_STEP(metric, id, tail, clock, of, line)                                               \
    [metric] = {id, "ns", PROBE_LOWER, .timer = clock, .keys = of, .what = line},                  \
    [metric + P99] = {id "_p99", "ns", PROBE_LOWER, .form = PROBE_P99, .timer = clock,             \
        .keys = of, .what = "its 99th percentile"},                                                \
    [metric + P999] = {id "_p999", "ns", PROBE_LOWER, .form = PROBE_P999, .timer = clock,          \
        .keys = of, .what = "its 99.9th percentile"},                                              \
    [metric + TAIL] = {tail, "ratio", PROBE_LOWER, .keys = of,                                     \
        .what = "99th percentile over median, timer=" clock}
static const struct probe_metric metrics[] = {
    OF_A_STEP(STEP, "step", "step_tail", "wall", STEP_KEYS,
              "a step of so many dependent trivial launches"),
    OF_A_STEP(LAYER, "layer", "layer_tail", "device", LAYER_KEYS,
              "eight dependent reads of 4 MiB, first instruction to last"),
    OF_A_STEP(LAYER_WALL, "layer", "layer_wall_tail", "wall", LAYER_KEYS,
              "eight dependent reads of 4 MiB, first call to the host's knowing"),
    [HOST_LOAD] = {"host_load", "ratio", PROBE_HIGHER, .keys = STEP_KEYS,
        .what = "share of those CPUs' time that the busy threads had"},
    [RIVAL_RATE] = {"rival_rate", "ops/s", PROBE_HIGHER, .keys = LAYER_KEYS,
        .what = "kernels that all rivals together finish beside the layers"},
    [BUSY] = {"busy", "ratio", PROBE_HIGHER, .keys = ITEM_KEYS,
        .what = "share of all SMs' time that went into items"},
    [LATENCY] = {"latency", "ns", PROBE_LOWER, .timer = "wall", .keys = ITEM_KEYS,
        .what = "an item's arrival to its end"},
    [LATENCY_P99] = {"latency_p99", "ns", PROBE_LOWER, .form = PROBE_P99, .timer = "wall",
        .keys = ITEM_KEYS, .what = "its 99th percentile"},
};

enum { STEPS_MOST = 100000, WARM_STEPS = 5, CHECK_STEPS = 3 };

enum mode { BY_STREAM, BY_GRAPH, PERSISTENT, N_MODES };
static const char *const mode_names[] = {"stream", "graph", "persistent"};
enum host { IDLE, LOADED, SHARED, N_HOSTS };
static const char *const host_names[] = {"idle", "loaded", "shared"};

struct jitter {
    cudaKernel_t tiny, layer, item;
    uint32_t *count; /* of tiny steps */
    double *ns;      /* what each of up to STEPS_MOST steps took */
};

/* Records n steps' times, once for each figure that n samples support. */
static void sample_tail(struct probe_run *r, int metric, const double *ns, int n)
{
    for (int i = 0; i < n; i++) {
        probe_sample(r, metric, 1, ns[i]);
        if (n >= 500)
            probe_sample(r, metric + P99, 1, ns[i]);
        if (n >= 5000)
            probe_sample(r, metric + P999, 1, ns[i]);
    }
    if (n >= 500)
        probe_value(r, metric + TAIL, probe_median(r, metric + P99) / probe_median(r, metric));
}

/* --- steps of K launches ---------------------------------------------------------------------- */

static void launch_tiny(struct probe_run *r, const struct jitter *j, int launches, uint32_t steps)
{
    struct tiny_args a = {.count = j->count, .steps = steps};
    for (int i = 0; i < launches; i++)
        gpu_launch(r, j->tiny, 1, TINY_THREADS, 0, &a);
}

static void time_steps(struct probe_run *r, const struct jitter *j, enum mode mode, int launches,
                       const struct gpu_graph *graph, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t t0 = probe_host_ns();

        if (mode == BY_GRAPH)
            CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
        else if (mode == BY_STREAM)
            launch_tiny(r, j, launches, 1);
        else
            launch_tiny(r, j, 1, (uint32_t)launches);
        gpu_wait(r);

        j->ns[i] = (double)(probe_host_ns() - t0);
    }
}

static void measure_steps(struct probe_run *r, const struct jitter *j, enum mode mode, int launches,
                          enum host host, int n, unsigned flags)
{
    struct gpu_graph graph = {0};
    uint32_t count = 0;

    if (!probe_begin_case(r, flags, "launches=%d,mode=%s,host=%s", launches, mode_names[mode],
                          host_names[host]))
        return;
    /* Not on this stack, which a call that fails leaves while the threads still run. */
    struct crowd *crowd = probe_host_alloc(r, sizeof *crowd);
    *crowd = (struct crowd){.n = 0};
    if (mode == BY_GRAPH) {
        gpu_graph_begin(r);
        launch_tiny(r, j, launches, 1);
        graph = gpu_graph_end(r);
    }
    if (host == LOADED)
        jitter_crowd_begin(crowd);
    else if (host == SHARED)
        jitter_neighbour_begin(crowd);
    time_steps(r, j, mode, launches, &graph, WARM_STEPS);
    CUDA(cudaMemsetAsync(j->count, 0, sizeof count, gpu_stream(r)));
    gpu_wait(r);
    time_steps(r, j, mode, launches, &graph, n);
    if (host != IDLE)
        probe_value(r, HOST_LOAD, jitter_crowd_load(crowd));
    jitter_crowd_end(crowd);

    sample_tail(r, STEP, j->ns, n);
    gpu_to_host(r, &count, j->count, sizeof count);
    probe_require(r, count == (uint32_t)n * (uint32_t)launches, "%d steps of %d did %u additions",
                  n, launches, count);
    if (mode == BY_GRAPH)
        gpu_graph_free(&graph);
}

/* The number of steps follows from their duration: 512 launches by stream take 1.6 ms, and twice
 * that on a shared CPU. What no claim rests on is left to --deep. */
static void measure_all_steps(struct probe_run *r, const struct jitter *j)
{
    static const struct {
        int launches, usual[N_HOSTS], deep[N_HOSTS]; /* steps; usual 0: with --deep only */
    } all[] = {{1, {0, 0, 10000}, {STEPS_MOST, STEPS_MOST, STEPS_MOST}},
               {8, {4000, 4000, 10000}, {STEPS_MOST, STEPS_MOST, STEPS_MOST}},
               {64, {0, 0, 1500}, {10000, 10000, 10000}},
               {512, {0, 0, 0}, {500, 10000, 500}}};

    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
            for (enum host host = IDLE; host < N_HOSTS; host++) {
                const bool spare = all[i].usual[host] == 0 || (host != SHARED && mode != BY_STREAM);
                const int n = probe_deep(r) ? all[i].deep[host] : all[i].usual[host];
                const unsigned usual = host == SHARED ? 0 : PROBE_THRICE; /* what claims rest on */
                measure_steps(r, j, mode, all[i].launches, host,
                              probe_is_check_run(r) ? CHECK_STEPS : n, spare ? PROBE_DEEP : usual);
            }
}

/* --- a layer among rivals --------------------------------------------------------------------- */

enum { LAYERS_DEEP = 5000, LAYERS_MOST = LAYERS_DEEP + WARM_STEPS, BLOCKS_MAX = 1024 };
enum { ALONE_NS = 50000000 };

struct scene {
    enum mode mode;
    enum rival_kind kind;
    int streams; /* of rivals */
    bool higher; /* a higher priority than theirs */
};

struct layerer {
    struct layer_args args;
    cudaStream_t stream;
    struct gpu_graph graph;
    uint32_t *sums;       /* host: the sum of the weights of step s and block b */
    uint32_t *values;     /* host: the expected values of the blocks */
    struct stamp *stamps; /* host: one per layer */
    unsigned blocks;
};

/* The layer, as one launch per step or as one launch. */
static void launch_layer(struct probe_run *r, const struct jitter *j, struct layerer *l,
                         enum mode mode)
{
    struct gpu_shape shape = {.grid = {l->blocks, 1, 1},
                              .block = LAYER_THREADS,
                              .cooperative = mode == PERSISTENT,
                              .stream = l->stream};
    l->args.steps = mode == PERSISTENT ? LAYER_STEPS : 1;
    for (l->args.first = 0; l->args.first < LAYER_STEPS; l->args.first += l->args.steps)
        gpu_launch_shape(r, j->layer, &shape, &l->args);
}

/* What one more layer does to the values: the same arithmetic, on the host. */
static void follow_layer(struct layerer *l)
{
    uint32_t before[BLOCKS_MAX];
    for (int s = 0; s < LAYER_STEPS; s++) {
        memcpy(before, l->values, l->blocks * sizeof *before);
        for (unsigned b = 0; b < l->blocks; b++)
            l->values[b] = before[(b + 1) % l->blocks] * 31 + l->sums[(unsigned)s * l->blocks + b];
    }
}

static struct layerer make_layer(struct probe_run *r)
{
    size_t words = (size_t)LAYER_STEPS * LAYER_BYTES / 4;
    struct layerer l = {.blocks = (unsigned)gpu_facts(r)->n_sm};
    void *weights = gpu_alloc(r, 4 * words, "the layer's weights");
    uint32_t *copy = probe_host_alloc(r, 4 * words);

    if (l.blocks > BLOCKS_MAX)
        probe_fail(r, "no room for a layer of %u blocks", l.blocks);
    gpu_fill_normal(r, weights, GPU_FP32, words, probe_seed(r));
    gpu_to_host(r, copy, weights, 4 * words);
    l.sums = probe_host_alloc(r, (size_t)LAYER_STEPS * l.blocks * sizeof *l.sums);
    l.values = probe_host_alloc(r, l.blocks * sizeof *l.values);
    l.stamps = probe_host_alloc(r, LAYERS_MOST * sizeof *l.stamps);
    memset(l.sums, 0, (size_t)LAYER_STEPS * l.blocks * sizeof *l.sums);
    memset(l.values, 0, l.blocks * sizeof *l.values);
    for (size_t i = 0; i < words; i += 4) {
        size_t step = i / (LAYER_BYTES / 4), element = i % (LAYER_BYTES / 4) / 4;
        l.sums[step * l.blocks + element / LAYER_THREADS % l.blocks] ^=
            copy[i] ^ copy[i + 1] ^ copy[i + 2] ^ copy[i + 3];
    }
    l.args.weights = weights;
    for (int i = 0; i < 2; i++) {
        l.args.values[i] = gpu_alloc(r, l.blocks * sizeof *l.values, "the layer's values");
        CUDA(cudaMemsetAsync(l.args.values[i], 0, l.blocks * sizeof *l.values, gpu_stream(r)));
    }
    l.args.stamps = gpu_alloc(r, LAYERS_MOST * sizeof *l.stamps, "stamps");
    l.args.turns = gpu_alloc(r, l.blocks * sizeof *l.args.turns, "turns");
    l.args.barrier = gpu_alloc(r, sizeof *l.args.barrier, "a barrier");
    CUDA(cudaMemsetAsync(l.args.barrier, 0, sizeof *l.args.barrier, gpu_stream(r)));
    gpu_wait(r);
    return l;
}

/* Prepares n layers: a stream, the graph if the mode needs one, and cleared stamps. */
static void prepare_layers(struct probe_run *r, const struct jitter *j, struct layerer *l,
                           const struct scene *scene, int n)
{
    int least = 0, greatest = 0;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA(cudaStreamCreateWithPriority(&l->stream, cudaStreamNonBlocking,
                                      scene->higher ? greatest : least));
    if (scene->mode == BY_GRAPH) {
        CUDA(cudaStreamBeginCapture(l->stream, cudaStreamCaptureModeThreadLocal));
        launch_layer(r, j, l, BY_GRAPH);
        CUDA(cudaStreamEndCapture(l->stream, &l->graph.graph));
        CUDA(cudaGraphInstantiate(&l->graph.exec, l->graph.graph, 0));
        CUDA(cudaGraphUpload(l->graph.exec, l->stream));
        CUDA(cudaStreamSynchronize(l->stream));
    }
    for (int i = 0; i < n; i++)
        l->stamps[i] = (struct stamp){.begin = UINT64_MAX};
    gpu_to_device(r, l->args.stamps, l->stamps, (size_t)n * sizeof *l->stamps);
    CUDA(cudaMemsetAsync(l->args.turns, 0, l->blocks * sizeof *l->args.turns, gpu_stream(r)));
    gpu_wait(r);
}

/* n layers, one after another; the host waits for each. */
static void time_layers(struct probe_run *r, const struct jitter *j, struct layerer *l,
                        enum mode mode, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t t0 = probe_host_ns();

        if (mode == BY_GRAPH)
            CUDA(cudaGraphLaunch(l->graph.exec, l->stream));
        else
            launch_layer(r, j, l, mode);
        CUDA(cudaStreamSynchronize(l->stream));

        j->ns[i] = (double)(probe_host_ns() - t0);
    }
}

/* Records the host's times of n layers, and the GPU's. The values must be what the host computes.
 * Each layer's stamps must come after the last one's and lie within its host time, give or take a
 * tick. */
static void sample_layers(struct probe_run *r, const struct jitter *j, struct layerer *l, int n)
{
    uint32_t got[BLOCKS_MAX], aborted;
    int misplaced = 0;

    for (int i = 0; i < n + WARM_STEPS; i++)
        follow_layer(l);
    gpu_to_host(r, got, l->args.values[0], l->blocks * sizeof *got);
    gpu_to_host(r, &aborted, &l->args.barrier->aborted, sizeof aborted);
    probe_require(r, !aborted && !memcmp(got, l->values, l->blocks * sizeof *got),
                  "%d layers more, and every block's value is what the host computes", n);

    sample_tail(r, LAYER_WALL, j->ns, n);
    gpu_to_host(r, l->stamps, l->args.stamps, (size_t)(n + WARM_STEPS) * sizeof *l->stamps);
    for (int i = 0; i < n; i++) {
        const struct stamp *last = &l->stamps[WARM_STEPS + i - 1], *s = last + 1;
        double ns = (double)(int64_t)(s->end - s->begin);
        misplaced += s->begin < last->end || s->end < s->begin ||
                     ns > j->ns[i] + probe_tick_ns(r, "device");
        j->ns[i] = ns;
    }
    sample_tail(r, LAYER, j->ns, n);
    probe_require(r, misplaced == 0, "stamps of %d layers, %d of them misplaced", n, misplaced);
}

/* How many layers a case takes: with streamers, or with many streams, each layer is slow. */
static int layers_of(struct probe_run *r, const struct scene *scene)
{
    if (probe_is_check_run(r))
        return CHECK_STEPS;
    if (scene->streams > 2)
        return 50;
    if (scene->streams == 1 || scene->higher)
        return 500;
    return probe_deep(r) ? LAYERS_DEEP : scene->kind == STREAMER ? 500 : 1000;
}

static void measure_layers(struct probe_run *r, const struct jitter *j, struct layerer *l,
                           struct rivals *all, const struct scene *scene)
{
    bool spare = scene->kind != NONE && (scene->streams != 2 || scene->higher);
    /* A claim takes streams and one kernel. */
    const unsigned usual = scene->kind != NONE && scene->mode == BY_GRAPH ? PROBE_THRICE : 0;
    int n = layers_of(r, scene);

    if (!probe_begin_case(r, spare ? PROBE_DEEP : usual, "mode=%s,rival=%s,streams=%d,priority=%s",
                          mode_names[scene->mode], jitter_rival_names[scene->kind], scene->streams,
                          scene->higher ? "higher" : "equal"))
        return;
    prepare_layers(r, j, l, scene, n + WARM_STEPS);
    jitter_rivals_begin(r, all, scene->kind, scene->streams);
    time_layers(r, j, l, scene->mode, WARM_STEPS);

    long before = jitter_rivals_finished(all);
    uint64_t t0 = probe_host_ns();
    time_layers(r, j, l, scene->mode, n);
    double seconds = (double)(probe_host_ns() - t0) / 1e9;
    if (scene->kind != NONE)
        probe_value(r, RIVAL_RATE, (double)(jitter_rivals_finished(all) - before) / seconds);

    jitter_rivals_end(all);
    sample_layers(r, j, l, n);
    if (scene->mode == BY_GRAPH)
        gpu_graph_free(&l->graph);
    CUDA(cudaStreamDestroy(l->stream));
}

/* What two rivals achieve without a layer. */
static void measure_rivals(struct probe_run *r, struct rivals *all, enum rival_kind kind)
{
    if (!probe_begin_case(r, PROBE_THRICE, "mode=none,rival=%s,streams=2,priority=equal",
                          jitter_rival_names[kind]))
        return;
    jitter_rivals_begin(r, all, kind, 2);
    long before = jitter_rivals_finished(all);
    jitter_let_pass(ALONE_NS);
    probe_value(r, RIVAL_RATE, (double)(jitter_rivals_finished(all) - before) / (ALONE_NS / 1e9));
    jitter_rivals_end(all);
}

static void measure_scenes(struct probe_run *r, const struct jitter *j)
{
    static const struct {
        int streams;
        bool higher;
    } among[] = {{1, false}, {2, false}, {2, true}, {4, false}, {8, false}};
    struct layerer l = make_layer(r);
    struct rivals *all = probe_host_alloc(r, sizeof *all); /* not on this stack either */

    memset(all, 0, sizeof *all);
    jitter_rivals_make(r, &image_jitter, all);
    for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
        measure_layers(r, j, &l, all, &(struct scene){.mode = mode, .kind = NONE});
    for (enum rival_kind kind = STREAMER; kind < NONE; kind++) {
        measure_rivals(r, all, kind);
        for (size_t i = 0; i < PROBE_LENGTH(among); i++)
            for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
                measure_layers(r, j, &l, all,
                               &(struct scene){mode, kind, among[i].streams, among[i].higher});
    }
}

/* --- bursts of items -------------------------------------------------------------------------- */

enum { ITEMS = 512, BURST = 16, BURSTS = ITEMS / BURST, ITEM_NS = 5000, ITEM_STREAMS = 8 };
/* of host and GPU clock; systems set theirs by half of that */
static const double DRIFT_MOST = 1e-3;
enum { TRACES_MOST = 10 };
enum { EACH, EACH_OF_8, BATCHED, N_LAUNCHES };
static const char *const launch_names[] = {"each", "each_of_8_streams", "batched"};

struct trace {
    double arrival_ns[BURSTS]; /* after the beginning of the trace */
    double length_ns;
};

struct queue {
    cudaStream_t stream[ITEM_STREAMS];
    cudaEvent_t event;
    struct stamp *stamps;  /* mapped */
    uint64_t began, ended; /* the trace, on the host's clock */
};

/* Bursts at moments drawn uniformly over the trace: a Poisson process with a given count, so that
 * every trace offers the load that its key says. */
static void draw_trace(struct trace *t, uint64_t *seed, double load)
{
    t->length_ns = ITEMS / load * 1e9;
    for (int i = 0; i < BURSTS; i++)
        t->arrival_ns[i] = draw_uniform(seed) * t->length_ns;
    stat_sort(t->arrival_ns, BURSTS);
}

static void launch_items(struct probe_run *r, const struct jitter *j, struct queue *q, int first,
                         int n, cudaStream_t stream)
{
    struct item_args a = {.stamps = q->stamps + first, .work_ns = ITEM_NS};
    struct gpu_shape shape = {.grid = {(unsigned)n, 1, 1}, .block = 32, .stream = stream};
    gpu_launch_shape(r, j->item, &shape, &a);
}

/* Launches the items of a trace as they arrive, and waits for the last. */
static void serve(struct probe_run *r, const struct jitter *j, struct queue *q,
                  const struct trace *t, int how)
{
    bool busy = false;

    memset(q->stamps, 0, ITEMS * sizeof *q->stamps);
    q->began = probe_host_ns();
    for (int next = 0, here = 0; next < ITEMS;) {
        double now = (double)(probe_host_ns() - q->began);
        while (here < ITEMS && t->arrival_ns[here / BURST] <= now)
            here += BURST;
        if (busy) {
            const cudaError_t said = cudaEventQuery(q->event);
            busy = said == cudaErrorNotReady;
            if (!busy)
                gpu_must(said, "cudaEventQuery(q->event)", __FILE__, __LINE__);
        }
        if (here == next || busy)
            continue;
        if (how == BATCHED) {
            launch_items(r, j, q, next, here - next, q->stream[0]);
            CUDA(cudaEventRecord(q->event, q->stream[0]));
            busy = true;
            next = here;
        } else {
            launch_items(r, j, q, next, 1, q->stream[how == EACH ? 0 : next % ITEM_STREAMS]);
            next++;
        }
    }
    for (int i = 0; i < ITEM_STREAMS; i++)
        CUDA(cudaStreamSynchronize(q->stream[i]));
    q->ended = probe_host_ns();
}

/* Records a trace. Returns how many of its items were impossible: began before they arrived, worked
 * for too short a time, or ended after the host had waited for all. It must be none. */
static int sample_items(struct probe_run *r, const struct queue *q, const struct trace *t,
                        struct gpu_host_clock clock, double *served_ns)
{
    double over_ns = t->length_ns, busy_ns = 0;
    int impossible = 0;

    for (int i = 0; i < ITEMS; i++) {
        const struct stamp *s = &q->stamps[i];
        double began = (double)(int64_t)(s->begin - clock.timer_minus_host - q->began);
        double worked = (double)(int64_t)(s->end - s->begin), ended = began + worked;
        double came = t->arrival_ns[i / BURST];

        impossible += began + clock.uncertainty_ns < came || worked < ITEM_NS ||
                      ended - clock.uncertainty_ns > (double)(q->ended - q->began);
        over_ns = ended > over_ns ? ended : over_ns;
        busy_ns += worked;
        probe_sample(r, LATENCY, 1, ended - came);
        probe_sample(r, LATENCY_P99, 1, ended - came);
    }
    probe_sample(r, BUSY, 1, busy_ns / (gpu_facts(r)->n_sm * over_ns));
    *served_ns += over_ns;
    return impossible;
}

/* During a trace of 17 ms the clocks drift by 8.5 us where the system sets its own by 500 ppm.
 * A second look bounds how far from `before` they came. Twice as much is no drift. */
static double uncertain_by_then(struct probe_run *r, const struct gpu_host_clock *before,
                                double trace_ns)
{
    const struct gpu_host_clock after = gpu_relate_clocks(r);
    const double moved =
        fabs((double)(int64_t)(after.timer_minus_host - before->timer_minus_host));
    const double known = before->uncertainty_ns + after.uncertainty_ns;

    probe_require(r, moved <= known + DRIFT_MOST * trace_ns,
                  "the clocks of host and GPU moved by %.0f ns in a trace of %.0f", moved,
                  trace_ns);
    return fmax(before->uncertainty_ns, moved + after.uncertainty_ns);
}

static void measure_items(struct probe_run *r, const struct jitter *j, struct queue *q,
                          const struct trace *traces, int n, int load, int how)
{
    double uncertainty_ns = 0, served_ns = 0;
    int impossible = 0;

    if (!probe_begin_case(r, PROBE_THRICE, "load=%d,items=%d,launch=%s", load, ITEMS,
                          launch_names[how]))
        return;
    for (int i = 0; i < n; i++) {
        struct gpu_host_clock clock = gpu_relate_clocks(r);
        serve(r, j, q, &traces[i], how);
        clock.uncertainty_ns = uncertain_by_then(r, &clock, (double)(q->ended - q->began));
        impossible += sample_items(r, q, &traces[i], clock, &served_ns);
        if (clock.uncertainty_ns > uncertainty_ns)
            uncertainty_ns = clock.uncertainty_ns;
    }
    probe_require(r, impossible == 0, "%d of %d items served too early, too late or too briefly",
                  impossible, n * ITEMS);
    probe_fact(r, "clocks_agree_ns", "%.0f", uncertainty_ns);
    probe_fact(r, "served_per_second", "%.0f", n * ITEMS * 1e9 / served_ns);
}

static void measure_bursts(struct probe_run *r, const struct jitter *j)
{
    static const struct {
        int load, traces;
    } loads[] = {{30000, 5}, {600000, TRACES_MOST}};
    struct queue q = {.stamps = gpu_mapped(r, ITEMS * sizeof *q.stamps)};
    struct trace traces[TRACES_MOST];
    uint64_t seed = probe_seed(r);

    CUDA(cudaEventCreateWithFlags(&q.event, cudaEventDisableTiming));
    for (int i = 0; i < ITEM_STREAMS; i++) {
        CUDA(cudaStreamCreateWithFlags(&q.stream[i], cudaStreamNonBlocking));
        launch_items(r, j, &q, i, 1, q.stream[i]);
        CUDA(cudaStreamSynchronize(q.stream[i]));
    }
    for (size_t i = 0; i < PROBE_LENGTH(loads); i++) {
        int n = probe_is_check_run(r) ? 1 : loads[i].traces;
        for (int k = 0; k < n; k++)
            draw_trace(&traces[k], &seed, loads[i].load);
        for (int how = 0; how < N_LAUNCHES; how++)
            measure_items(r, j, &q, traces, n, loads[i].load, how);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void measure(struct probe_run *r)
{
    struct jitter j = {.count = gpu_alloc(r, sizeof *j.count, "a counter"),
                       .ns = probe_host_alloc(r, STEPS_MOST * sizeof *j.ns)};

    j.tiny = gpu_kernel(r, &image_jitter, "jitter_tiny", sizeof(struct tiny_args));
    j.layer = gpu_kernel(r, &image_jitter, "jitter_layer", sizeof(struct layer_args));
    j.item = gpu_kernel(r, &image_jitter, "jitter_item", sizeof(struct item_args));

    measure_all_steps(r, &j);
    measure_bursts(r, &j);
    measure_scenes(r, &j);
}

const struct probe probe = {
    .name = "jitter",
    .what = "Does a step made of fewer launches take a steadier time?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
