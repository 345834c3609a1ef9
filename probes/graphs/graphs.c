/* graphs: what does it cost the host to make a graph, to change it, and to replay it?
 *
 * Method. A chain of n dependent kernels of one thread, captured from a stream. Each sample times:
 *     instantiate   cudaGraphInstantiate
 *     upload        cudaGraphUpload, and the wait for it
 *     first         the first replay, from the call until the stream is empty
 *     submit        the call of a later replay
 *     replay        that replay, from the call until the stream is empty
 *     set_node      cudaGraphExecKernelNodeSetParams: new arguments for one node
 *     update        cudaGraphExecUpdate: all nodes from a graph of the same form
 *     changed       the first replay after that, from the call until the stream is empty
 * nodes=1, 64, 1024: two of these give the cost per graph and the cost per node.
 *
 * Inside the timed region: the call, and the wait if one is named.
 * Expected on an H200: instantiate and upload 0.8 us per node each. submit 1 us plus 2 ns per node,
 * less than one launch. replay 5 us plus an edge of 0.73 us per node. set_node 0.3 us; 1.8 us in a
 * graph of 1024. update 0.15 us per node.
 *
 * Traps. The first replay of a graph that was not uploaded includes the upload. The kernel adds its
 * argument to a sum, which shows that every replay and every change had its effect. */
#include "probes/graphs/args.h"

#include "core/gpu.h"

PROBE_IMAGE(graphs);

enum { INSTANTIATE, UPLOAD, FIRST, SUBMIT, REPLAY, SET_NODE, UPDATE, CHANGED };
#define WALL(id, line) \
    {id, "ns", PROBE_LOWER, .timer = "wall", .keys = "nodes", .what = line}
static const struct probe_metric metrics[] = {
    [INSTANTIATE] = WALL("instantiate", "cudaGraphInstantiate"),
    [UPLOAD] = WALL("upload", "cudaGraphUpload, and the wait for it"),
    [FIRST] = WALL("first", "the first replay, from the call to its end"),
    [SUBMIT] = WALL("submit", "the call of a later replay"),
    [REPLAY] = WALL("replay", "a later replay, from the call to its end"),
    [SET_NODE] = WALL("set_node", "cudaGraphExecKernelNodeSetParams on one node"),
    [UPDATE] = WALL("update", "cudaGraphExecUpdate with a graph of the same form"),
    [CHANGED] = WALL("changed", "the first replay after an update, from the call to its end"),
};

struct maker {
    cudaKernel_t add;
    uint64_t *sum; /* of the device */
    int nodes;
};

static cudaGraph_t captured(struct probe_run *r, const struct maker *m, uint64_t amount)
{
    const struct graphs_args a = {m->sum, amount};
    cudaGraph_t graph;
    gpu_graph_begin(r);
    for (int i = 0; i < m->nodes; i++)
        gpu_launch(r, m->add, 1, 1, 0, &a);
    CUDA(cudaStreamEndCapture(gpu_stream(r), &graph));
    return graph;
}

/* New arguments for one node of an executable graph. */
static void set_node(const struct maker *m, cudaGraphExec_t exec, cudaGraphNode_t node,
                     uint64_t amount)
{
    struct graphs_args a = {m->sum, amount};
    void *parameters[] = {&a};
    const struct cudaKernelNodeParams p = {.func = (void *)m->add,
                                           .gridDim = {1, 1, 1},
                                           .blockDim = {1, 1, 1},
                                           .kernelParams = parameters};
    CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &p));
}

/* One replay; `called` gets the time at which the call returned. */
static uint64_t replay_ns(struct probe_run *r, cudaGraphExec_t exec, uint64_t *called)
{
    uint64_t t0 = probe_host_ns();

    CUDA(cudaGraphLaunch(exec, gpu_stream(r)));
    *called = probe_host_ns() - t0;
    gpu_wait(r);

    return probe_host_ns() - t0;
}

/* One sample of each metric. Returns what all replays together must have added to the sum. */
static uint64_t sample(struct probe_run *r, const struct maker *m, cudaGraph_t ones,
                       cudaGraph_t twos, cudaGraphNode_t node)
{
    const uint64_t n = (uint64_t)m->nodes;
    cudaGraphExecUpdateResultInfo info;
    cudaGraphExec_t exec;
    uint64_t called, t[6];

    t[0] = probe_host_ns();
    CUDA(cudaGraphInstantiate(&exec, ones, 0));
    t[1] = probe_host_ns();
    CUDA(cudaGraphUpload(exec, gpu_stream(r)));
    gpu_wait(r);
    t[2] = probe_host_ns();

    probe_sample(r, INSTANTIATE, 1, (double)(t[1] - t[0]));
    probe_sample(r, UPLOAD, 1, (double)(t[2] - t[1]));
    probe_sample(r, FIRST, 1, (double)replay_ns(r, exec, &called));
    probe_sample(r, REPLAY, 1, (double)replay_ns(r, exec, &called));
    probe_sample(r, SUBMIT, 1, (double)called);

    t[3] = probe_host_ns();
    set_node(m, exec, node, 5);
    t[4] = probe_host_ns();
    uint64_t added = 3 * n + 4;
    replay_ns(r, exec, &called);
    t[5] = probe_host_ns();
    CUDA(cudaGraphExecUpdate(exec, twos, &info));
    probe_sample(r, UPDATE, 1, (double)(probe_host_ns() - t[5]));
    probe_sample(r, SET_NODE, 1, (double)(t[4] - t[3]));
    probe_sample(r, CHANGED, 1, (double)replay_ns(r, exec, &called));
    CUDA(cudaGraphExecDestroy(exec));
    return added + 2 * n;
}

static void measure_nodes(struct probe_run *r, struct maker *m, unsigned flags, int nodes)
{
    uint64_t expected = 0, sum = 0;
    cudaGraphNode_t first;
    size_t one = 1;

    if (!probe_begin_case(r, flags, "nodes=%d", nodes))
        return;
    m->nodes = nodes;
    cudaGraph_t ones = captured(r, m, 1), twos = captured(r, m, 2);
    CUDA(cudaGraphGetRootNodes(ones, &first, &one));
    gpu_to_device(r, m->sum, &sum, sizeof sum);
    while (probe_more(r))
        expected += sample(r, m, ones, twos, first);
    gpu_to_host(r, &sum, m->sum, sizeof sum);
    probe_require(r, sum == expected, "replays add up to %llu", (unsigned long long)expected);
    CUDA(cudaGraphDestroy(ones));
    CUDA(cudaGraphDestroy(twos));
}

static void measure(struct probe_run *r)
{
    struct maker m = {.sum = gpu_alloc(r, sizeof *m.sum, "the sum")};
    m.add = gpu_kernel(r, &image_graphs, "graphs_add", sizeof(struct graphs_args));

    measure_nodes(r, &m, 0, 1);
    measure_nodes(r, &m, 0, 64);
    measure_nodes(r, &m, 0, 1024);
}

const struct probe probe = {
    .name = "graphs",
    .what = "What does it cost the host to make a graph, to change it, and to replay it?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
