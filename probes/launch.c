/* launch: what does it cost to start an empty kernel, to hear back, and to go on to the next one?
 *
 * Method. The kernel is empty: one block, one thread, eight bytes of arguments.
 *     submit      host time of one launch call, from the slope over 32 and 64 calls that nobody
 *                 waits for
 *     round_trip  host time from before one launch call to after the stream is empty again
 *     edge        time from one kernel to the next, dependent one, from the slope over chains of n
 *                 and 2n. By stream, n = 64 (timer=event): the whole chain is queued behind a gate
 *                 kernel that holds the GPU until the host has submitted everything, so that the
 *                 GPU is measured and not the host; timer=wall has no gate, and is what a program
 *                 pays that submits as it goes: the slower of host and GPU. By graph, n = 256: one
 *                 replay.
 *
 * Inside the timed region: the calls shown, nothing else.
 * Expected on an H200: submit 2-3 us, round trip 7-8 us, edge 0.5 us by graph, 1.3 by stream.
 *
 * Traps. An event pair around a graph is off by up to 0.3 us, differently in different processes:
 * its chains are long enough to make that 1 ns an edge (with n = 64 it was 1 %). The first launch of
 * a kernel may load it: it was touched before. A stream holds about a thousand launches: its chains
 * stay well below. The host's speed is in submit, round_trip and wall. */
#include "probes/launch.h"

#include "core/gpu.h"

PROBE_IMAGE(launch);
GPU_ARGS_SIZE(struct launch_args, 8);
GPU_ARGS_SIZE(struct gate_args, 24);

enum { SUBMIT, ROUND_TRIP, EDGE, EDGE_WALL };
static const struct probe_metric metrics[] = {
    [SUBMIT] = {"submit", "ns", PROBE_LOWER, PROBE_SLOPE, "wall", NULL,
                "host time of one launch call that nobody waits for"},
    [ROUND_TRIP] = {"round_trip", "ns", PROBE_LOWER, PROBE_EACH, "wall", NULL,
                    "one launch call until the stream is empty again"},
    [EDGE] = {"edge", "ns", PROBE_LOWER, PROBE_SLOPE, "event", "mode",
              "GPU time from one empty kernel to the next, dependent one"},
    [EDGE_WALL] = {"edge", "ns", PROBE_LOWER, PROBE_SLOPE, "wall", "mode",
                   "the same as the host sees it, submission included"},
};

enum { CALLS = 32, STREAM_CHAIN = 64, GRAPH_CHAIN = 256, GATE_BUDGET_NS = 200000000 };

struct launcher {
    cudaKernel_t null, gate;
    cudaEvent_t start, stop;
    uint32_t *open, ticket; /* mapped */
};

static void chain(struct probe_run *r, const struct launcher *l, int n)
{
    struct launch_args a = {0};
    for (int i = 0; i < n; i++)
        gpu_launch(r, l->null, 1, 1, 0, &a);
}

static void measure_submit(struct probe_run *r, const struct launcher *l)
{
    while (probe_more(r))
        for (int n = CALLS; n <= 2 * CALLS; n += CALLS) {
            uint64_t t0 = probe_host_ns();

            chain(r, l, n);

            uint64_t t1 = probe_host_ns();
            gpu_wait(r);
            probe_sample(r, SUBMIT, n, (double)(t1 - t0));
        }
}

static void measure_round_trip(struct probe_run *r, const struct launcher *l)
{
    while (probe_more(r)) {
        uint64_t t0 = probe_host_ns();

        chain(r, l, 1);
        gpu_wait(r);

        probe_sample(r, ROUND_TRIP, 1, (double)(probe_host_ns() - t0));
    }
}

/* GPU time of n kernels that were all in the queue before the first could start. */
static double gated_ns(struct probe_run *r, struct launcher *l, int n)
{
    struct gate_args gate = {.open = l->open, .budget_ns = GATE_BUDGET_NS, .ticket = ++l->ticket};
    gpu_clock_start(r);
    gpu_launch(r, l->gate, 1, 1, 0, &gate);

    CUDA(cudaEventRecord(l->start, gpu_stream(r)));
    chain(r, l, n);
    CUDA(cudaEventRecord(l->stop, gpu_stream(r)));

    *(volatile uint32_t *)l->open = l->ticket;
    gpu_clock_stop(r);
    return gpu_elapsed_ns(l->start, l->stop);
}

static void measure_stream(struct probe_run *r, struct launcher *l)
{
    while (probe_more(r))
        for (int n = STREAM_CHAIN; n <= 2 * STREAM_CHAIN; n += STREAM_CHAIN) {
            probe_sample(r, EDGE, n, gated_ns(r, l, n));

            uint64_t t0 = probe_host_ns();

            chain(r, l, n);
            gpu_wait(r);

            probe_sample(r, EDGE_WALL, n, (double)(probe_host_ns() - t0));
        }
}

static void measure_graph(struct probe_run *r, const struct launcher *l)
{
    struct gpu_graph graph[2];
    for (int i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        chain(r, l, GRAPH_CHAIN << i);
        graph[i] = gpu_graph_end(r);
    }
    while (probe_more(r))
        for (int i = 0; i < 2; i++) {
            probe_sample(r, EDGE, GRAPH_CHAIN << i, gpu_replay_ns(r, &graph[i]));

            uint64_t t0 = probe_host_ns();

            CUDA(cudaGraphLaunch(graph[i].exec, gpu_stream(r)));
            gpu_wait(r);

            probe_sample(r, EDGE_WALL, GRAPH_CHAIN << i, (double)(probe_host_ns() - t0));
        }
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static void measure(struct probe_run *r)
{
    struct launcher l = {.open = gpu_mapped(r, sizeof *l.open)};
    l.null = gpu_kernel(r, &image_launch, "launch_null", sizeof(struct launch_args));
    l.gate = gpu_kernel(r, &image_launch, "launch_gate", sizeof(struct gate_args));
    CUDA(cudaEventCreate(&l.start));
    CUDA(cudaEventCreate(&l.stop));

    if (probe_case(r, 0, PROBE_NO_KEYS)) {
        measure_submit(r, &l);
        probe_case(r, 0, PROBE_NO_KEYS);
        measure_round_trip(r, &l);
    }
    if (probe_case(r, 0, "mode=stream"))
        measure_stream(r, &l);
    if (probe_case(r, 0, "mode=graph"))
        measure_graph(r, &l);
}

const struct probe probe = {
    .name = "launch",
    .what = "What does it cost to start an empty kernel, to hear back, and to go on to the next?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
