/* edges: what does one more dependent step cost, for each way to make it wait for the step before?
 *
 * Method. A chain of K steps, with 256 threads per block. The step is always the same: each warp
 * takes the word that a warp of the next block left in the step before, mixes it, and leaves its
 * own. A step that runs too early or too late anywhere makes the end of the chain wrong. With a
 * body, the grid first reads the given number of bytes in each step, through L2 only, at addresses
 * that depend on the word. The grid is one block per SM (blocks=sm), one cluster, or one block. The
 * next step waits by
 *     stream        one launch per step; the chain is queued after a gate kernel
 *     submitted     the same without the gate, as a program submits it: the host may be the slower
 *     graph         one node per step, one replay
 *     *_pdl_early   programmatic dependent launch (compute capability 9.0): a kernel lets the next
 *                   one begin at once; the next one waits by griddepcontrol.wait
 *     *_pdl_late    the same, but a kernel lets the next one begin after its own step
 *     grid_sync     one launch, cooperative groups' grid.sync() between steps
 *     counter       one launch, the barrier of core/device/grid_barrier.cuh,
 *                   which barriers calls twin
 *     cluster       one launch of one cluster, with the cluster's barrier
 *     block         one launch of one block, __syncthreads(); block_shared: the words, too, stay in
 *                   the SM, in shared memory
 *     unwaited      one launch without any wait: the time of the step itself, and the negative
 *                   control
 * The time of a step is the slope over two lengths: span=64-512 means 64 and 512 steps.
 * different.c has chains of kernels that differ (different); exchange.c has steps in which all SMs
 * hand words over to all SMs, idle and while the memory streams (exchange); beside.c asks where the
 * words wait then (exchange_beside).
 *
 * Inside the timed region: the chain, between two events. Launch, replay and drain cancel in the
 * slope.
 * Expected on an H200: 2 us by stream, 1.0 to 1.3 with programmatic launch. 1.15 us by graph, 0.9
 * with programmatic launch. 1.2 us by grid.sync(), 1.0 by counter. 0.56 us in a cluster of 16.
 * 0.2 us in one block, and 0.07 there in shared memory. Of the graph's 1.15 us, 0.54 are those of a
 * kernel that returns at once. A body of 256 MiB takes 62.5 us unwaited, and 3 more by graph and by
 * counter: an edge, a load of the memory, and warps that wait for those with one chunk more.
 *
 * Traps. A stream holds about a thousand launches. No longer chain can be queued after a gate, so
 * span=512-4096 has no stream. The spans must agree: if the time of a chain is not a straight line
 * in its length, no slope is the cost of a step. Words next to each other in one sector cost 0.5 us
 * when several SMs read and write them at the same time, so each word has a sector of its own. A
 * barrier that orders too little would look fast. The host therefore computes every chain too, and
 * compares it before and after the timing; without the wait, the result must be wrong (wrong).
 * Every wait in a kernel has a time budget. Only grid.sync() has none; it needs none, because a
 * cooperative launch makes all blocks resident. */
#include "probes/edges/edges.h"

#include <string.h>

PROBE_IMAGE(edges);

static const struct probe_metric metrics[] = {
    [STEP] = {"step", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "mode,blocks,body,span", .what = "one more dependent step of a chain"},
    [CHAIN] = {"chain", "ns", PROBE_LOWER, .timer = "event", .keys = "mode,blocks,body,steps",
        .what = "a whole chain, with an event pair's own time"},
    [WRONG] = {"wrong", "ratio", PROBE_HIGHER, .keys = "mode,blocks,body,steps",
        .what = "share of wrong words when nothing makes a step wait: must not be 0"},
    [DIFFERENT] = {"different", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "mode,kernels,reads,span",
        .what = "one more step of a chain of so many kernels, each with 12 KiB of its own code"},
    [EXCHANGE] = {"exchange", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "mode,words,stream,span",
        .what = "one more exchange: all SMs hand so many words over to all SMs"},
    [STREAMED] = {"streamed", "bytes/s", PROBE_HIGHER, .timer = "event",
        .keys = "mode,words,stream,span",
        .what = "what a warp of each SM reads from the memory beside these exchanges"},
    [TAKEN_WRONG] = {"taken_wrong", "ratio", PROBE_HIGHER, .keys = "mode,words,stream,exchanges",
        .what = "share of threads that took wrong words when nobody waited: must not be 0"},
    [BESIDE] = {"exchange_beside", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "among,words,stream,tile,in_flight,span",
        .what = "one more exchange by values beside a stream: so many bytes on their way to an SM"},
    [STREAMED_BESIDE] = {"streamed_beside", "bytes/s", PROBE_HIGHER, .timer = "event",
        .keys = "among,words,stream,tile,in_flight,span", .what = "what all SMs read meanwhile"},
    [STREAMED_ALONE] = {"streamed_alone", "bytes/s", PROBE_HIGHER, .timer = "event",
        .keys = "among,words,stream,tile,in_flight,span",
        .what = "the same stream in the same kernel for as long, without the exchanges"},
};

enum {
    BODY_SMALL = 1 << 20,
    BODY_LARGE = 32 << 20,
    BODY_SHIFT = 977, /* chunks, from one part of the memory to the next */
};

enum how { BY_STREAM, BY_SUBMISSION, BY_GRAPH, BY_ONE_LAUNCH };
enum { PER_SM = 0, NEVER = 1 << 30 };

static const struct mode {
    const char *name, *kernel;
    enum how how;
    unsigned blocks; /* 0: one per SM */
    bool dependent, cluster;
    unsigned flags, flags_long, flags_body; /* of the cases: short, long, with a body */
} modes[] = {
    {"stream", "edges_one", BY_STREAM, PER_SM, 0, 0, 0, NEVER, PROBE_DEEP},
    {"stream_pdl_early", "edges_dependent_early", BY_STREAM, PER_SM, 1, 0, PROBE_THRICE, NEVER,
     PROBE_DEEP},
    {"stream_pdl_late", "edges_dependent_late", BY_STREAM, PER_SM, 1, 0, PROBE_THRICE, NEVER,
     PROBE_DEEP},
    {"submitted", "edges_one", BY_SUBMISSION, PER_SM, 0, 0, PROBE_DEEP, PROBE_DEEP, PROBE_DEEP},
    {"graph", "edges_one", BY_GRAPH, PER_SM, 0, 0, 0, 0, PROBE_THRICE},
    {"graph", "edges_one", BY_GRAPH, 1, 0, 0, PROBE_THRICE, PROBE_DEEP, NEVER},
    {"graph_pdl_early", "edges_dependent_early", BY_GRAPH, PER_SM, 1, 0, 0, PROBE_DEEP, PROBE_DEEP},
    {"graph_pdl_late", "edges_dependent_late", BY_GRAPH, PER_SM, 1, 0, PROBE_THRICE, PROBE_DEEP,
     PROBE_DEEP},
    {"grid_sync", "edges_grid_sync", BY_ONE_LAUNCH, PER_SM, 0, 0, PROBE_THRICE, PROBE_DEEP,
     PROBE_DEEP},
    {"counter", "edges_counter", BY_ONE_LAUNCH, PER_SM, 0, 0, 0, 0, PROBE_THRICE},
    {"cluster", "edges_cluster", BY_ONE_LAUNCH, 8, 0, 1, PROBE_DEEP, PROBE_DEEP, NEVER},
    {"cluster", "edges_cluster", BY_ONE_LAUNCH, 16, 0, 1, PROBE_THRICE, PROBE_DEEP, NEVER},
    {"block", "edges_block", BY_ONE_LAUNCH, 1, 0, 0, PROBE_THRICE, PROBE_DEEP, NEVER},
    {"block_shared", "edges_block_shared", BY_ONE_LAUNCH, 1, 0, 0, 0, PROBE_DEEP, NEVER},
    {"unwaited", "edges_unwaited", BY_ONE_LAUNCH, PER_SM, 0, 0, PROBE_THRICE, PROBE_DEEP,
     PROBE_DEEP},
};

/* The same steps without any wait. The body gives the warps time to drift apart. */
static const struct control {
    struct mode m;
    int body;
} controls[] = {
    {{"graph_pdl_early", "edges_dependent_unwaited", BY_GRAPH, PER_SM, 1, 0, 0, 0, 0}, BODY_LARGE},
    {{"unwaited", "edges_unwaited", BY_ONE_LAUNCH, PER_SM, 0, 0, 0, 0, 0}, BODY_SMALL},
    {{"unwaited", "edges_unwaited", BY_ONE_LAUNCH, 16, 0, 1, 0, 0, 0}, BODY_SMALL},
    {{"unwaited", "edges_unwaited", BY_ONE_LAUNCH, 1, 0, 0, 0, 0, 0}, BODY_SMALL},
};

/* Whose steps read a body that the L2 does not hold, too. */
static const struct mode streaming[] = {
    {"graph", "edges_one", BY_GRAPH, PER_SM, 0, 0, 0, 0, 0},
    {"counter", "edges_counter", BY_ONE_LAUNCH, PER_SM, 0, 0, 0, 0, 0},
    {"unwaited", "edges_unwaited", BY_ONE_LAUNCH, PER_SM, 0, 0, 0, 0, 0},
};

/* One way to make a step wait, ready to run. */
struct chain {
    const struct mode *m;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    char blocks[12];
    uint32_t words; /* in a row of cells */
};

/* --- what a chain must come to --------------------------------------------------------------- */

static void compute_chain(uint32_t *row[2], const uint32_t *sum, uint32_t words, int steps)
{
    const uint32_t ahead = (EDGES_WARPS + 1) % words;
    for (int k = 0; k < steps; k++) {
        const uint32_t *before = row[k & 1];
        uint32_t *after = row[~k & 1];
        for (uint32_t i = 0, other = ahead; i < words; i++, other++) {
            other = other == words ? 0 : other;
            after[i] = (before[other] ^ sum[i]) * 0x9e3779b1u + 1;
        }
    }
}

/* How many words differ from what the host computes, after a chain that has just run. */
static uint32_t differing(struct probe_run *r, const struct ladder *l, uint32_t words, int steps)
{
    uint32_t *row[2] = {l->room, l->room + words}, wrong = 0;
    uint32_t *sum = l->room + 2 * words, *found = l->room + 3 * words;

    for (uint32_t i = 0; i < words; i++)
        row[0][i] = l->first[i * EDGES_SPACING];
    memset(sum, 0, words * sizeof *sum);
    for (uint32_t chunk = 0; chunk < l->a.chunks; chunk++)
        sum[chunk % words] ^= edges_chunk_sum(l, chunk);
    compute_chain(row, sum, words, steps);
    gpu_to_host(r, found, l->a.cells + (steps & 1) * words * EDGES_SPACING,
                words * EDGES_SPACING * sizeof *found);
    for (uint32_t i = 0; i < words; i++)
        wrong += found[i * EDGES_SPACING] != row[steps & 1][i];
    return wrong;
}

/* --- chains ---------------------------------------------------------------------------------- */

static void enqueue(struct probe_run *r, struct ladder *l, const struct chain *c, int steps)
{
    struct edges_args a = l->a;
    if (c->m->how == BY_ONE_LAUNCH) {
        a.steps = (uint32_t)steps;
        gpu_launch_shape(r, c->kernel, &c->shape, &a);
        return;
    }
    for (a.steps = 1; a.first < (uint32_t)steps; a.first++)
        gpu_launch_shape(r, c->kernel, &c->shape, &a);
}

static struct gpu_graph capture(struct probe_run *r, struct ladder *l, const struct chain *c,
                                int steps)
{
    if (c->m->how != BY_GRAPH)
        return (struct gpu_graph){0};
    gpu_graph_begin(r);
    enqueue(r, l, c, steps);
    return gpu_graph_end(r);
}

/* GPU time of one chain. All of it is in the queue before the first step begins, but for a chain by
 * submission, which is as a program queues it. */
static double chain_ns(struct probe_run *r, struct ladder *l, const struct chain *c,
                       const struct gpu_graph *graph, int steps)
{
    if (graph->exec)
        return gpu_replay_ns(r, graph);
    if (c->m->how == BY_SUBMISSION)
        gpu_time_start_ungated(r);
    else
        gpu_time_start(r);
    enqueue(r, l, c, steps);
    return gpu_time_stop(r).ns;
}

/* Runs the chain once from the known start; returns how many words are wrong. */
static uint32_t run_once(struct probe_run *r, struct ladder *l, const struct chain *c,
                         const struct gpu_graph *graph, int steps)
{
    const size_t row_bytes = (size_t)c->words * EDGES_SPACING * sizeof *l->first;
    gpu_poison(r, l->a.cells, 2 * row_bytes);
    gpu_to_device(r, l->a.cells, l->first, row_bytes);
    if (graph->exec)
        CUDA(cudaGraphLaunch(graph->exec, gpu_stream(r)));
    else
        enqueue(r, l, c, steps);
    return differing(r, l, c->words, steps);
}

bool edges_check_waits(struct probe_run *r, const struct ladder *l)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &l->a.barrier->aborted, sizeof aborted);
    return probe_require(r, aborted == 0, "no wait in a kernel took more than %d ms",
                         WAIT_BUDGET_NS / 1000000);
}

static bool check_chain(struct probe_run *r, struct ladder *l, const struct chain *c,
                        const struct gpu_graph *graph, int steps)
{
    if (!strcmp(c->m->name, "unwaited"))
        return true;
    uint32_t wrong = run_once(r, l, c, graph, steps);
    edges_check_waits(r, l);
    return probe_require(r, wrong == 0, "%d steps end in the words that the host computes", steps);
}

/* --- cases ----------------------------------------------------------------------------------- */

void edges_note_sms(struct probe_run *r, const struct ladder *l, unsigned blocks)
{
    uint32_t seen[GRID_BARRIER_BLOCKS], distinct = 0;
    gpu_to_host(r, seen, l->census, blocks * sizeof *seen);
    for (uint32_t i = 0; i < blocks; i++) {
        bool is_new = true;
        for (uint32_t j = 0; j < i; j++)
            is_new = is_new && seen[j] != seen[i];
        distinct += is_new;
    }
    probe_fact(r, "blocks", "%u", blocks);
    probe_fact(r, "sms", "%u", distinct);
}

static void note_sms(struct probe_run *r, struct ladder *l, const struct chain *c)
{
    l->a.census = l->census;
    enqueue(r, l, c, 1);
    l->a.census = NULL;
    edges_note_sms(r, l, c->shape.grid.x);
}

static void set_body(struct probe_run *r, struct ladder *l, int bytes)
{
    l->a.chunks = (uint32_t)bytes / EDGES_CHUNK;
    l->a.body = l->a.chunks > l->body_chunks ? edges_memory(r, l) : l->body;
}

static void measure_step(struct probe_run *r, struct ladder *l, const struct chain *c, int body,
                         struct span span, unsigned flags)
{
    const int n[2] = {span.low, span.high};
    struct gpu_graph graph[2];

    if ((flags & NEVER) || !probe_begin_case(r, flags, "mode=%s,blocks=%s,body=%d,span=%d-%d",
                                             c->m->name, c->blocks, body, span.low, span.high))
        return;
    set_body(r, l, body);
    note_sms(r, l, c);
    for (int i = 0; i < 2; i++)
        graph[i] = capture(r, l, c, n[i]);

    bool right = check_chain(r, l, c, &graph[0], n[0]) && check_chain(r, l, c, &graph[1], n[1]);
    while (right && probe_more(r))
        for (int i = 0; i < 2; i++)
            probe_sample(r, STEP, n[i], chain_ns(r, l, c, &graph[i], n[i]));

    if (right)
        check_chain(r, l, c, &graph[1], n[1]);
    gpu_require_gates_held(r);
    for (int i = 0; i < 2; i++)
        if (graph[i].exec)
            gpu_graph_free(&graph[i]);
}

static void measure_chain(struct probe_run *r, struct ladder *l, const struct chain *c, int steps)
{
    if ((c->m->how == BY_STREAM && steps > MIDDLE) ||
        !probe_begin_case(r, PROBE_DEEP, "mode=%s,blocks=%s,body=0,steps=%d", c->m->name, c->blocks,
                          steps))
        return;
    l->a.chunks = 0;
    struct gpu_graph graph = capture(r, l, c, steps);
    while (probe_more(r))
        probe_sample(r, CHAIN, 1, chain_ns(r, l, c, &graph, steps));
    if (graph.exec)
        gpu_graph_free(&graph);
}

static void measure_control(struct probe_run *r, struct ladder *l, const struct chain *c, int body)
{
    if (!probe_begin_case(r, 0, "mode=%s,blocks=%s,body=%d,steps=%d", c->m->name, c->blocks, body,
                          SHORT))
        return;
    set_body(r, l, body);
    struct gpu_graph graph = capture(r, l, c, SHORT);
    probe_value(r, WRONG, (double)run_once(r, l, c, &graph, SHORT) / c->words);
    if (graph.exec)
        gpu_graph_free(&graph);
}

/* --- preparation ------------------------------------------------------------------------------ */

/* False if this GPU or this build cannot do it. */
static bool prepare_chain(struct probe_run *r, struct chain *c, const struct mode *m)
{
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, blocks = m->blocks == PER_SM ? n_sm : m->blocks;
    *c = (struct chain){.m = m, .words = blocks * EDGES_WARPS};
    c->kernel = gpu_kernel_if_any(r, &image_edges, m->kernel, sizeof(struct edges_args));
    c->shape = (struct gpu_shape){.grid = {blocks, 1, 1},
                                  .block = EDGES_THREADS,
                                  .cluster = m->cluster ? blocks : 0,
                                  .cooperative = m->how == BY_ONE_LAUNCH && !m->cluster,
                                  .dependent = m->dependent};
    snprintf(c->blocks, sizeof c->blocks, m->blocks == PER_SM ? "sm" : "%u", m->blocks);
    if (!c->kernel || (m->cluster && gpu_facts(r)->cc < 90))
        return false;
    if (m->cluster && blocks > 8)
        gpu_kernel_clusters(c->kernel);
    return true;
}

static void prepare_body(struct probe_run *r, struct ladder *l, size_t bytes)
{
    uint32_t *body = probe_host_alloc(r, bytes);
    void *device = gpu_alloc(r, bytes, "the body");

    gpu_fill_normal(r, device, GPU_FP32, bytes / 4, probe_seed(r));
    gpu_to_host(r, body, device, bytes);
    l->body = device;
    l->body_chunks = (uint32_t)(bytes / EDGES_CHUNK);
    l->chunk_sum = probe_host_alloc(r, bytes / EDGES_CHUNK * sizeof *l->chunk_sum);
    memset(l->chunk_sum, 0, bytes / EDGES_CHUNK * sizeof *l->chunk_sum);
    for (size_t i = 0; i < bytes / 4; i++)
        l->chunk_sum[i / (EDGES_CHUNK / 4)] ^= body[i];
}

const void *edges_memory(struct probe_run *r, struct ladder *l)
{
    const size_t bytes = (size_t)l->body_chunks * EDGES_CHUNK;
    const char *body = l->body;

    if (l->memory)
        return l->memory;
    char *to = gpu_alloc(r, MEMORY_BODIES * bytes, "what is streamed");
    for (size_t part = 0; part < MEMORY_BODIES; part++, to += bytes) {
        const size_t shift = part * BODY_SHIFT % l->body_chunks * EDGES_CHUNK;
        CUDA(cudaMemcpyAsync(to, body + shift, bytes - shift, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
        CUDA(cudaMemcpyAsync(to + bytes - shift, body, shift, cudaMemcpyDeviceToDevice,
                             gpu_stream(r)));
    }
    return l->memory = to - MEMORY_BODIES * bytes;
}

uint32_t edges_chunk_sum(const struct ladder *l, uint32_t chunk)
{
    return l->chunk_sum[(chunk + chunk / l->body_chunks * BODY_SHIFT) % l->body_chunks];
}

static struct ladder prepare(struct probe_run *r)
{
    struct ladder l = {.a = {.budget_ns = WAIT_BUDGET_NS}};
    size_t words = (size_t)gpu_facts(r)->n_sm * EDGES_WARPS * EDGES_SPACING;
    uint64_t seed = probe_seed(r);

    l.a.cells = gpu_alloc(r, 2 * words * sizeof *l.first, "the cells");
    l.a.barrier = gpu_alloc(r, sizeof *l.a.barrier, "the barrier");
    l.census = gpu_alloc(r, GRID_BARRIER_BLOCKS * sizeof *l.census, "the census");
    CUDA(cudaMemsetAsync(l.a.barrier, 0, sizeof *l.a.barrier, gpu_stream(r)));
    l.room = probe_host_alloc(r, 4 * words * sizeof *l.room);
    l.first = probe_host_alloc(r, words * sizeof *l.first);
    for (size_t i = 0; i < words; i++)
        l.first[i] = (uint32_t)(seed * 6364136223846793005u + i * 2654435761u);
    return l;
}

static void measure_mode(struct probe_run *r, struct ladder *l, const struct chain *c)
{
    static const struct span start = {1, SHORT}, middle = {SHORT, MIDDLE}, end = {MIDDLE, LONG};
    const struct mode *m = c->m;

    if (probe_is_check_run(r)) {
        measure_step(r, l, c, 0, start, 0);
        measure_step(r, l, c, BODY_SMALL, start, m->flags_body & NEVER);
        return;
    }
    measure_step(r, l, c, 0, start, m->flags_long);
    measure_step(r, l, c, 0, middle, m->flags);
    measure_step(r, l, c, 0, end, m->flags_long);
    measure_step(r, l, c, BODY_SMALL, middle, m->flags_body | PROBE_DEEP);
    measure_step(r, l, c, BODY_LARGE, middle, m->flags_body);
    for (int steps = 1; steps <= LONG; steps *= 2)
        measure_chain(r, l, c, steps);
}

/* Steps that read more than the L2 holds. */
static void measure_streaming(struct probe_run *r, struct ladder *l)
{
    static const struct span few = {8, SHORT};
    const int bytes = (int)l->body_chunks * EDGES_CHUNK * STEP_BODIES;
    struct chain c;

    for (size_t i = 0; i < PROBE_LENGTH(streaming); i++)
        if (prepare_chain(r, &c, &streaming[i]))
            measure_step(r, l, &c, bytes, few, PROBE_THRICE | PROBE_POWER_BOUND);
}

static void measure(struct probe_run *r)
{
    const int most = probe_is_check_run(r) ? BODY_SMALL : BODY_LARGE;
    struct ladder l = prepare(r);
    struct chain c;

    prepare_body(r, &l, (size_t)most);
    for (size_t i = 0; i < PROBE_LENGTH(modes); i++)
        if (prepare_chain(r, &c, &modes[i]))
            measure_mode(r, &l, &c);
    for (size_t i = 0; i < PROBE_LENGTH(controls); i++)
        if (prepare_chain(r, &c, &controls[i].m))
            measure_control(r, &l, &c, controls[i].body < most ? controls[i].body : most);
    measure_streaming(r, &l);
    edges_measure_different(r, &l);
    edges_measure_exchanges(r, &l);
    edges_measure_beside(r, &l);
}

const struct probe probe = {
    .name = "edges",
    .what = "What does one more dependent step cost, by each way to make it wait?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
