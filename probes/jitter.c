/* jitter: does a step made of fewer launches take a steadier time?
 *
 * Method. A step is a piece of work that a program repeats: its time is taken again and again, and
 * what counts is the tail, as p99 and p99.9 beside the median, and p99 / median in one figure.
 *     step    K dependent trivial kernels (one block, one addition), by stream, by graph, or as one
 *             persistent kernel that does K additions with a barrier after each; with an idle host,
 *             and with a busy thread for every CPU beside the one that launches. timer=wall: from
 *             before the first launch call to after the synchronisation.
 *     layer   eight dependent reads of 4 MiB, each by every SM, as eight launches, a graph, or one
 *             cooperative kernel with a barrier of the grid between; alone, and against other
 *             streams of the same process that keep the GPU busy: reading the same 256 MiB,
 *             multiplying on the tensor cores, or launching trivial kernels without end.
 *             timer=device: from the first instruction to the last, by %globaltimer; timer=wall as
 *             above. What the others still achieve beside it is the rival_rate.
 *     item    a queue of tiny items (one block, 5 us of work) that arrive in bursts: each in a
 *             launch of its own, or all that wait in one launch. busy is the share of the SMs'
 *             time, from the first arrival to the last end, that went into items; latency is from
 *             an item's arrival to its end. Arrivals are the same for both,
 *             and for every trace of a run.
 *
 * Inside the timed region: the calls shown. A case takes a fixed number of steps, whatever they
 * show: a tail cannot be sampled until it looks stable. Steps of 4096 launches take 11 ms each and
 * stand in --deep (1000 of them; 10^4 of 64 and 512 launches, 10^5 of fewer).
 * Expected: the median falls with the launches; whether p99 / median does is the question.
 *
 * Traps. Tails of the wall clock are the operating system's as much as the GPU's; they differ
 * between machines and runs, and belong to the machine measured. A rival that does not slow the
 * step down proves nothing: the claim's judge looks for that. The persistent kernel needs all its
 * blocks at once, so it waits for the rivals' blocks to leave; a launch slips in where it can. */
#include "probes/jitter.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/gpu.h"

PROBE_IMAGE(jitter);
GPU_ARGS_SIZE(struct tiny_args, 16);
GPU_ARGS_SIZE(struct layer_args, 48);
GPU_ARGS_SIZE(struct item_args, 16);
GPU_ARGS_SIZE(struct rival_args, 24);

#define STEP_KEYS "launches,mode,host"
#define LAYER_KEYS "mode,rival,streams,priority"
#define ITEM_KEYS "load,launch"
enum {
    STEP, STEP_P99, STEP_P999, STEP_TAIL, HOST_LOAD,
    LAYER, LAYER_P99, LAYER_TAIL, LAYER_WALL, LAYER_WALL_P99, LAYER_WALL_TAIL, RIVAL_RATE,
    BUSY, LATENCY, LATENCY_P99,
};
static const struct probe_metric metrics[] = {
    [STEP] = {"step", "ns", PROBE_LOWER, PROBE_EACH, "wall", STEP_KEYS,
              "a step of so many dependent trivial launches"},
    [STEP_P99] = {"step_p99", "ns", PROBE_LOWER, PROBE_P99, "wall", STEP_KEYS,
                  "its 99th percentile"},
    [STEP_P999] = {"step_p999", "ns", PROBE_LOWER, PROBE_P999, "wall", STEP_KEYS,
                   "its 99.9th percentile"},
    [STEP_TAIL] = {"step_tail", "ratio", PROBE_LOWER, PROBE_EACH, NULL, STEP_KEYS,
                   "99th percentile over median"},
    [HOST_LOAD] = {"host_load", "ratio", PROBE_HIGHER, PROBE_EACH, NULL, STEP_KEYS,
                   "share of all CPUs' time that the busy threads had"},
    [LAYER] = {"layer", "ns", PROBE_LOWER, PROBE_EACH, "device", LAYER_KEYS,
               "eight dependent reads of 4 MiB, first instruction to last"},
    [LAYER_P99] = {"layer_p99", "ns", PROBE_LOWER, PROBE_P99, "device", LAYER_KEYS,
                   "its 99th percentile"},
    [LAYER_TAIL] = {"layer_tail", "ratio", PROBE_LOWER, PROBE_EACH, NULL, LAYER_KEYS,
                    "99th percentile over median, on the GPU's clock"},
    [LAYER_WALL] = {"layer", "ns", PROBE_LOWER, PROBE_EACH, "wall", LAYER_KEYS,
                    "eight dependent reads of 4 MiB, first call to the host's knowing"},
    [LAYER_WALL_P99] = {"layer_p99", "ns", PROBE_LOWER, PROBE_P99, "wall", LAYER_KEYS,
                        "its 99th percentile"},
    [LAYER_WALL_TAIL] = {"layer_wall_tail", "ratio", PROBE_LOWER, PROBE_EACH, NULL, LAYER_KEYS,
                         "99th percentile over median, on the host's clock"},
    [RIVAL_RATE] = {"rival_rate", "ops/s", PROBE_HIGHER, PROBE_EACH, NULL, LAYER_KEYS,
                    "kernels that all rivals together finish beside it"},
    [BUSY] = {"busy", "ratio", PROBE_HIGHER, PROBE_EACH, NULL, ITEM_KEYS,
              "share of all SMs' time that went into items"},
    [LATENCY] = {"latency", "ns", PROBE_LOWER, PROBE_EACH, "wall", ITEM_KEYS,
                 "an item's arrival to its end"},
    [LATENCY_P99] = {"latency_p99", "ns", PROBE_LOWER, PROBE_P99, "wall", ITEM_KEYS,
                     "its 99th percentile"},
};

enum { CHECK_STEPS = 3, TAIL_STEPS = 500, THREADS_MAX = 256 };

enum mode { BY_STREAM, BY_GRAPH, PERSISTENT, N_MODES };
static const char *const mode_names[] = {"stream", "graph", "persistent"};

struct jitter {
    cudaKernel_t tiny, layer, item, rival[3];
    uint32_t *count; /* of tiny steps */
};

/* --- busy threads ----------------------------------------------------------------------------- */

static void *spin_until(void *stop)
{
    while (!atomic_load_explicit((atomic_bool *)stop, memory_order_relaxed))
        ;
    return NULL;
}

struct crowd {
    pthread_t thread[THREADS_MAX];
    atomic_bool stop;
    uint64_t began;
    int n;
};

/* A busy thread for every CPU that this process may use. */
static void crowd_begin(struct crowd *c)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    atomic_init(&c->stop, false);
    c->began = probe_host_ns();
    for (c->n = 0; c->n < n && c->n < THREADS_MAX; c->n++)
        if (pthread_create(&c->thread[c->n], NULL, spin_until, &c->stop) != 0)
            break;
}

/* Share of its thread's time that each had on a CPU, summed over all CPUs: was the host loaded? */
static double crowd_load(const struct crowd *c)
{
    double busy_ns = 0, ns = (double)(probe_host_ns() - c->began);
    for (int i = 0; i < c->n; i++) {
        clockid_t clock;
        struct timespec used;
        if (pthread_getcpuclockid(c->thread[i], &clock) == 0 && clock_gettime(clock, &used) == 0)
            busy_ns += 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
    }
    return busy_ns / (ns * (double)sysconf(_SC_NPROCESSORS_ONLN));
}

static void crowd_end(struct crowd *c)
{
    atomic_store(&c->stop, true);
    while (c->n > 0)
        pthread_join(c->thread[--c->n], NULL);
}

/* --- steps of K launches ---------------------------------------------------------------------- */

static void launch_tiny(struct probe_run *r, const struct jitter *j, int launches, uint32_t steps)
{
    struct tiny_args a = {.count = j->count, .steps = steps};
    for (int i = 0; i < launches; i++)
        gpu_launch(r, j->tiny, 1, TINY_THREADS, 0, &a);
}

static void run_step(struct probe_run *r, const struct jitter *j, enum mode mode, int launches,
                     const struct gpu_graph *graph)
{
    if (mode == BY_GRAPH)
        CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
    else if (mode == BY_STREAM)
        launch_tiny(r, j, launches, 1);
    else
        launch_tiny(r, j, 1, (uint32_t)launches);
}

static void sample_steps(struct probe_run *r, const struct jitter *j, enum mode mode, int launches,
                         const struct gpu_graph *graph, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t t0 = probe_host_ns();

        run_step(r, j, mode, launches, graph);
        gpu_wait(r);

        double ns = (double)(probe_host_ns() - t0);
        probe_sample(r, STEP, 1, ns);
        probe_sample(r, STEP_P99, 1, ns);
        if (n >= 5000)
            probe_sample(r, STEP_P999, 1, ns);
    }
    probe_value(r, STEP_TAIL, probe_median(r, STEP_P99) / probe_median(r, STEP));
}

static void measure_steps(struct probe_run *r, const struct jitter *j, enum mode mode,
                          int launches, bool loaded, int n, unsigned flags)
{
    struct gpu_graph graph = {0};
    struct crowd crowd = {.n = 0};
    uint32_t count = 0;

    if (!probe_case(r, flags, "launches=%d,mode=%s,host=%s", launches, mode_names[mode],
                    loaded ? "loaded" : "idle"))
        return;
    if (probe_checking(r))
        n = CHECK_STEPS;
    if (mode == BY_GRAPH) {
        gpu_graph_begin(r);
        launch_tiny(r, j, launches, 1);
        graph = gpu_graph_end(r);
    }
    if (loaded)
        crowd_begin(&crowd);
    run_step(r, j, mode, launches, &graph);
    CUDA(cudaMemsetAsync(j->count, 0, sizeof count, gpu_stream(r)));
    gpu_wait(r);
    sample_steps(r, j, mode, launches, &graph, n);
    if (loaded)
        probe_value(r, HOST_LOAD, crowd_load(&crowd));
    crowd_end(&crowd);

    gpu_to_host(r, &count, j->count, sizeof count);
    probe_check(r, count == (uint32_t)n * (uint32_t)launches, "%d steps of %d did %u additions", n,
                launches, count);
    if (mode == BY_GRAPH)
        gpu_graph_free(&graph);
}

/* --- rivals ----------------------------------------------------------------------------------- */

enum rival_kind { NONE = -1, STREAMER, TENSOR, TINY, N_RIVALS };
static const char *const rival_names[] = {"stream", "tensor", "tiny"};
enum { STREAMS_MAX = 8, RIVAL_BYTES = 256 << 20, RIVAL_TURNS = 4000, TINY_BATCH = 64 };

/* A stream that is never without work, and the thread that sees to it. It must not end the run:
 * what goes wrong is kept until the thread has been joined. */
struct rival {
    struct probe_run *r;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct rival_args args;
    int batch; /* kernels between two events */
    cudaEvent_t event[2];
    pthread_t thread;
    atomic_bool *stop;
    atomic_long finished; /* kernels */
    cudaError_t error;
};

static void *be_rival(void *argument)
{
    struct rival *v = argument;
    for (int turn = 0; !v->error && !atomic_load(v->stop); turn++) {
        for (int i = 0; i < v->batch && !v->error; i++)
            v->error = gpu_try_launch(v->r, v->kernel, &v->shape, &v->args);
        if (!v->error)
            v->error = cudaEventRecord(v->event[turn % 2], v->shape.stream);
        if (!v->error && turn > 0)
            v->error = cudaEventSynchronize(v->event[(turn - 1) % 2]);
        if (turn > 0)
            atomic_fetch_add(&v->finished, v->batch);
    }
    return NULL;
}

struct rivals {
    struct rival rival[STREAMS_MAX];
    atomic_bool stop;
    int n;
    void *in;
    uint32_t *sink;
};

static void rivals_begin(struct probe_run *r, const struct jitter *j, struct rivals *all,
                         enum rival_kind kind, int streams)
{
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    atomic_init(&all->stop, false);
    for (all->n = 0; kind != NONE && all->n < streams; all->n++) {
        struct rival *v = &all->rival[all->n];
        *v = (struct rival){.r = r,
                            .kernel = j->rival[kind],
                            .shape = {.grid = {2 * n_sm, 1, 1}, .block = RIVAL_THREADS},
                            .args = {.in = all->in,
                                     .sink = all->sink,
                                     .elements = RIVAL_BYTES / 16,
                                     .turns = RIVAL_TURNS},
                            .batch = kind == TINY ? TINY_BATCH : 1,
                            .stop = &all->stop};
        if (kind == TINY)
            v->shape.grid.x = 1, v->shape.block = 32;
        CUDA(cudaStreamCreateWithFlags(&v->shape.stream, cudaStreamNonBlocking));
        for (int i = 0; i < 2; i++)
            CUDA(cudaEventCreateWithFlags(&v->event[i],
                                          cudaEventDisableTiming | cudaEventBlockingSync));
        if (pthread_create(&v->thread, NULL, be_rival, v) != 0)
            probe_fail(r, "no thread for a rival stream");
    }
}

static long rivals_finished(struct rivals *all)
{
    long sum = 0;
    for (int i = 0; i < all->n; i++)
        sum += atomic_load(&all->rival[i].finished);
    return sum;
}

static void rivals_end(struct rivals *all)
{
    atomic_store(&all->stop, true);
    for (int i = 0; i < all->n; i++)
        pthread_join(all->rival[i].thread, NULL);
    for (int i = 0; i < all->n; i++) {
        struct rival *v = &all->rival[i];
        CUDA(v->error);
        CUDA(cudaStreamSynchronize(v->shape.stream));
        CUDA(cudaStreamDestroy(v->shape.stream));
        CUDA(cudaEventDestroy(v->event[0]));
        CUDA(cudaEventDestroy(v->event[1]));
    }
    all->n = 0;
}

/* --- a layer among rivals --------------------------------------------------------------------- */

enum { SETTLE_NS = 2000000 };

struct layerer {
    struct layer_args args;
    cudaStream_t stream;
    struct gpu_graph graph;
    uint32_t *sums;   /* host: of step s and block b, what its weights come to */
    uint32_t *values; /* host: what the blocks' values must be by now */
    struct layer_stamp *stamps; /* host copy */
    unsigned blocks;
};

/* The layer in steps of a launch each, or in one launch. */
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

/* What one more layer makes of the values: the same arithmetic, on the host. */
static void follow_layer(struct layerer *l)
{
    uint32_t before[1024];
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

    gpu_fill_normal(r, weights, GPU_FP32, words, probe_seed(r));
    gpu_to_host(r, copy, weights, 4 * words);
    l.sums = calloc((size_t)LAYER_STEPS * l.blocks, sizeof *l.sums);
    l.values = calloc(l.blocks, sizeof *l.values);
    l.stamps = calloc(TAIL_STEPS, sizeof *l.stamps);
    if (!l.sums || !l.values || !l.stamps || l.blocks > 1024)
        probe_fail(r, "no room for a layer of %u blocks", l.blocks);
    for (size_t i = 0; i < words; i++) {
        size_t step = i / (LAYER_BYTES / 4), element = i % (LAYER_BYTES / 4) / 4;
        l.sums[step * l.blocks + element / LAYER_THREADS % l.blocks] ^= copy[i];
    }
    free(copy);
    l.args.weights = weights;
    for (int i = 0; i < 2; i++) {
        l.args.values[i] = gpu_alloc(r, l.blocks * sizeof *l.values, "the layer's values");
        CUDA(cudaMemsetAsync(l.args.values[i], 0, l.blocks * sizeof *l.values, gpu_stream(r)));
    }
    l.args.stamp = gpu_alloc(r, TAIL_STEPS * sizeof *l.stamps, "stamps");
    l.args.barrier = gpu_alloc(r, sizeof *l.args.barrier, "a barrier");
    CUDA(cudaMemsetAsync(l.args.barrier, 0, sizeof *l.args.barrier, gpu_stream(r)));
    gpu_wait(r);
    return l;
}

/* n layers, one after the other, the host waiting for each. */
static void sample_layers(struct probe_run *r, const struct jitter *j, struct layerer *l,
                          enum mode mode, int n)
{
    struct layer_stamp *stamps = l->args.stamp;
    for (int i = 0; i < n; i++)
        l->stamps[i] = (struct layer_stamp){.begin = UINT64_MAX};
    gpu_to_device(r, stamps, l->stamps, (size_t)n * sizeof *stamps);
    for (int i = 0; i < n; i++) {
        /* A graph's arguments are those of its capture: its stamps are read after every replay. */
        l->args.stamp = mode == BY_GRAPH ? stamps : stamps + i;
        uint64_t t0 = probe_host_ns();

        if (mode == BY_GRAPH)
            CUDA(cudaGraphLaunch(l->graph.exec, l->stream));
        else
            launch_layer(r, j, l, mode);
        CUDA(cudaStreamSynchronize(l->stream));

        double ns = (double)(probe_host_ns() - t0);
        probe_sample(r, LAYER_WALL, 1, ns);
        probe_sample(r, LAYER_WALL_P99, 1, ns);
        if (mode == BY_GRAPH) {
            struct layer_stamp fresh = {.begin = UINT64_MAX};
            gpu_to_host(r, &l->stamps[i], stamps, sizeof *stamps);
            gpu_to_device(r, stamps, &fresh, sizeof fresh);
        }
        follow_layer(l);
    }
    l->args.stamp = stamps;
    if (mode != BY_GRAPH)
        gpu_to_host(r, l->stamps, stamps, (size_t)n * sizeof *stamps);
    for (int i = 0; i < n; i++) {
        probe_sample(r, LAYER, 1, (double)(l->stamps[i].end - l->stamps[i].begin));
        probe_sample(r, LAYER_P99, 1, (double)(l->stamps[i].end - l->stamps[i].begin));
    }
    probe_value(r, LAYER_TAIL, probe_median(r, LAYER_P99) / probe_median(r, LAYER));
    probe_value(r, LAYER_WALL_TAIL, probe_median(r, LAYER_WALL_P99) / probe_median(r, LAYER_WALL));
}

static void check_layer(struct probe_run *r, const struct layerer *l, int n)
{
    uint32_t got[1024], aborted;
    gpu_to_host(r, got, l->args.values[0], l->blocks * sizeof *got);
    gpu_to_host(r, &aborted, &l->args.barrier->aborted, sizeof aborted);
    probe_check(r, !aborted && !memcmp(got, l->values, l->blocks * sizeof *got),
                "%d layers more, and every block's value is what the host computes", n);
}

static void capture_layer(struct probe_run *r, const struct jitter *j, struct layerer *l)
{
    CUDA(cudaStreamBeginCapture(l->stream, cudaStreamCaptureModeThreadLocal));
    launch_layer(r, j, l, BY_GRAPH);
    CUDA(cudaStreamEndCapture(l->stream, &l->graph.graph));
    CUDA(cudaGraphInstantiate(&l->graph.exec, l->graph.graph, 0));
    CUDA(cudaGraphUpload(l->graph.exec, l->stream));
    CUDA(cudaStreamSynchronize(l->stream));
}

static void measure_layer(struct probe_run *r, const struct jitter *j, struct layerer *l,
                          struct rivals *all, enum mode mode, enum rival_kind kind, int streams,
                          bool higher, unsigned flags)
{
    int n = probe_checking(r) ? CHECK_STEPS : TAIL_STEPS, least = 0, greatest = 0;

    if (!probe_case(r, flags, "mode=%s,rival=%s,streams=%d,priority=%s", mode_names[mode],
                    kind == NONE ? "none" : rival_names[kind], streams,
                    higher ? "higher" : "equal"))
        return;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA(cudaStreamCreateWithPriority(&l->stream, cudaStreamNonBlocking,
                                      higher ? greatest : least));
    if (mode == BY_GRAPH)
        capture_layer(r, j, l);
    rivals_begin(r, j, all, kind, streams);
    for (uint64_t began = probe_host_ns(); kind != NONE && probe_host_ns() - began < SETTLE_NS;)
        ;
    long before = rivals_finished(all);
    uint64_t t0 = probe_host_ns();
    sample_layers(r, j, l, mode, n);
    double seconds = (double)(probe_host_ns() - t0) / 1e9;
    if (kind != NONE)
        probe_value(r, RIVAL_RATE, (double)(rivals_finished(all) - before) / seconds);
    rivals_end(all);
    check_layer(r, l, n);
    if (mode == BY_GRAPH)
        gpu_graph_free(&l->graph);
    CUDA(cudaStreamDestroy(l->stream));
}

static void measure_layers(struct probe_run *r, const struct jitter *j)
{
    struct layerer l = make_layer(r);
    struct rivals all = {.n = 0};

    all.in = gpu_alloc(r, RIVAL_BYTES, "what the rival streams read");
    gpu_fill_normal(r, all.in, GPU_FP32, RIVAL_BYTES / 4, probe_seed(r) + 1);
    all.sink = gpu_alloc(r, sizeof *all.sink, "a sink");
    gpu_wait(r);
    for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
        measure_layer(r, j, &l, &all, mode, NONE, 0, false, 0);
    for (int streams = 1; streams <= STREAMS_MAX; streams *= 2)
        for (int kind = 0; kind < N_RIVALS; kind++)
            for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
                for (int higher = 0; higher < 2; higher++)
                    measure_layer(r, j, &l, &all, mode, kind, streams, higher,
                                  streams == 2 && !higher ? 0 : PROBE_DEEP);
}

/* --- bursts of items -------------------------------------------------------------------------- */

enum { ITEMS = 512, BURST = 16, ITEM_NS = 5000, ITEM_STREAMS = 8, LOW = 30000, HIGH = 600000 };
enum { EACH, EACH_OF_8, BATCHED, N_LAUNCHES };
static const char *const launch_names[] = {"each", "each_of_8_streams", "batched"};

struct queue {
    cudaStream_t stream[ITEM_STREAMS];
    cudaEvent_t event;
    uint64_t arrival[ITEMS]; /* ns after the first */
    uint64_t *done;          /* mapped: %globaltimer */
};

/* Bursts of 16 with exponential gaps between them: a Poisson process of bursts. */
static void draw_arrivals(struct queue *q, uint64_t seed, double rate)
{
    double at = 0;
    for (int i = 0; i < ITEMS; i++) {
        if (i > 0 && i % BURST == 0) {
            seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
            at -= log(((double)(seed >> 11) + 0.5) / 9007199254740992.0) * BURST / rate * 1e9;
        }
        q->arrival[i] = (uint64_t)at;
    }
}

/* Serves one trace; returns the host time of the first arrival. */
static uint64_t serve(struct probe_run *r, const struct jitter *j, struct queue *q, int how)
{
    struct item_args a = {.work_ns = ITEM_NS};
    bool busy = false;
    uint64_t t0 = probe_host_ns();

    for (int next = 0; next < ITEMS;) {
        uint64_t now = probe_host_ns() - t0;
        int here = next;
        while (here < ITEMS && q->arrival[here] <= now)
            here++;
        if (busy)
            busy = cudaEventQuery(q->event) == cudaErrorNotReady;
        if (here == next || busy)
            continue;
        if (how != BATCHED)
            here = next + 1;
        struct gpu_shape shape = {.grid = {(unsigned)(here - next), 1, 1},
                                  .block = 32,
                                  .stream = q->stream[how == EACH_OF_8 ? next % ITEM_STREAMS : 0]};
        a.done = q->done + next;
        gpu_launch_shape(r, j->item, &shape, &a);
        if (how == BATCHED) {
            CUDA(cudaEventRecord(q->event, shape.stream));
            busy = true;
        }
        next = here;
    }
    for (int i = 0; i < ITEM_STREAMS; i++)
        CUDA(cudaStreamSynchronize(q->stream[i]));
    return t0;
}

static void measure_items(struct probe_run *r, const struct jitter *j, struct queue *q, int load,
                          int how)
{
    double n_sm = gpu_facts(r)->n_sm;

    if (!probe_case(r, 0, "load=%d,launch=%s", load, launch_names[how]))
        return;
    draw_arrivals(q, probe_seed(r) + (unsigned)load, load);
    struct gpu_host_clock clock = gpu_relate_clocks(r);
    probe_fact(r, "clocks_agree_ns", "%.0f", clock.uncertainty_ns);
    while (probe_more(r)) {
        uint64_t first = serve(r, j, q, how) + clock.timer_minus_host, last = 0;
        for (int i = 0; i < ITEMS; i++) {
            double ns = (double)(int64_t)(q->done[i] - first - q->arrival[i]);
            probe_sample(r, LATENCY, 1, ns);
            probe_sample(r, LATENCY_P99, 1, ns);
            last = q->done[i] > last ? q->done[i] : last;
        }
        probe_sample(r, BUSY, 1, ITEMS * (double)ITEM_NS / (n_sm * (double)(last - first)));
    }
}

static void measure_bursts(struct probe_run *r, const struct jitter *j)
{
    struct queue q = {.done = gpu_mapped(r, ITEMS * sizeof *q.done)};

    CUDA(cudaEventCreateWithFlags(&q.event, cudaEventDisableTiming));
    for (int i = 0; i < ITEM_STREAMS; i++)
        CUDA(cudaStreamCreateWithFlags(&q.stream[i], cudaStreamNonBlocking));
    for (int how = 0; how < N_LAUNCHES; how++) {
        measure_items(r, j, &q, LOW, how);
        measure_items(r, j, &q, HIGH, how);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void measure(struct probe_run *r)
{
    static const int launches[] = {1, 8, 64, 512, 4096};
    static const char *const rivals[] = {"jitter_rival_stream", "jitter_rival_tensor",
                                         "jitter_rival_tiny"};
    struct jitter j = {.count = gpu_alloc(r, sizeof *j.count, "a counter")};

    j.tiny = gpu_kernel(r, &image_jitter, "jitter_tiny", sizeof(struct tiny_args));
    j.layer = gpu_kernel(r, &image_jitter, "jitter_layer", sizeof(struct layer_args));
    j.item = gpu_kernel(r, &image_jitter, "jitter_item", sizeof(struct item_args));
    for (int i = 0; i < N_RIVALS; i++)
        j.rival[i] = gpu_kernel(r, &image_jitter, rivals[i], sizeof(struct rival_args));

    for (size_t i = 0; i < PROBE_LENGTH(launches); i++)
        for (enum mode mode = BY_STREAM; mode < N_MODES; mode++)
            for (int loaded = 0; loaded < 2; loaded++) {
                bool few = launches[i] <= 8, most = launches[i] >= 4096;
                bool spare = !loaded && !(launches[i] == 8 && mode == BY_STREAM);
                int n = few ? 4000 : TAIL_STEPS, n_deep = few ? 100000 : most ? 1000 : 10000;
                measure_steps(r, &j, mode, launches[i], loaded, probe_deep(r) ? n_deep : n,
                              most || spare ? PROBE_DEEP : 0);
            }
    measure_bursts(r, &j);
    measure_layers(r, &j);
}

const struct probe probe = {
    .name = "jitter",
    .what = "Does a step made of fewer launches take a steadier time?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
