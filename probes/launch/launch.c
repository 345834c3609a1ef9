/* launch: what does it cost to start a kernel, to learn that it ended, and to go on to the next
 * one?
 *
 * Method. Unless the keys say otherwise, the kernel is empty: one block, one thread, eight bytes of
 * arguments.
 *     submit      host time of one launch call, from the slope over 32 and 64 calls without a wait,
 *                 for each call that can launch. <<<>>> (chevrons) is what nvcc makes of it: two
 *                 calls that hand the configuration on, and cudaLaunchKernel
 *     round_trip  host time from before one launch call until the stream is empty again; whole is
 *                 the same with a grid of empty blocks
 *     edge        time from one kernel to the next, which depends on it: the slope over chains of n
 *                 and 2n. By stream, n = 64 (timer=event): the whole chain is queued after a gate
 *                 kernel that holds the GPU until the host has submitted everything, so that the
 *                 GPU is measured and not the host. timer=wall has no gate: it is what a program
 *                 pays that submits as it goes, the slower of host and GPU. By graph, n = 256: one
 *                 replay.
 *     gap         in a chain of kernels that read %globaltimer first and last, and store both
 *                 values: from the last read of one to the first read of the next. Empty kernels
 *                 have no such store in between: a gap is longer than an edge
 *     block       one more empty block, from grids of 65536 and 131072
 *     call, start, run, finish   the stretches of one launch on an idle GPU: the call; until the
 *                 first block begins; until the highest-numbered block ends; until the host knows
 *     queued      wall time per launch when the given number is queued before the host waits
 *
 * Inside the timed region: the calls shown, nothing else.
 * Expected on an H200: submit 2 to 3 us, all ways to launch within 0.2 us of each other. edge 0.5
 * us by graph, 1.3 by stream. Round trip 7 to 8 us, of which call, start and finish take 2.5 each.
 * block 0.6 ns.
 *
 * Traps. An event pair around a graph was off by up to 0.3 us without a gate, differently in each
 * process: the chains of graph are long enough to make that 1 ns per edge (with n = 64 it was 1 %).
 * The first launch of a kernel may load it: it was touched before. A stream holds about a thousand
 * launches: chains by stream stay well below that. submit, round_trip and wall depend on the speed
 * of the host.
 *
 * start and finish each lie between two clocks, which gpu_relate_clocks() relates anew before each
 * sample. The remaining error is clock_uncertainty. It does not affect start + finish, only the
 * border between them. */
#include "probes/launch/args.h"

#include <cudaTypedefs.h>

#include "core/gpu.h"

PROBE_IMAGE(launch);

enum { SUBMIT, BY_RUNTIME, BY_CHEVRONS, BY_DRIVER, BY_DRIVER_EX, WAYS, ROUND_TRIP = WAYS, WHOLE,
       EDGE, EDGE_WALL, BLOCK, CALL, START, RUN, FINISH, UNCERTAINTY, GAP, QUEUED };
static const struct probe_metric metrics[] = {
    [SUBMIT] = {"submit", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .what = "host time of one launch call that nobody waits for: cudaLaunchKernelExC"},
    [BY_RUNTIME] = {"submit_runtime", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .what = "the same by cudaLaunchKernel"},
    [BY_CHEVRONS] = {"submit_chevrons", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .what = "the same by the calls that <<<>>> is made of"},
    [BY_DRIVER] = {"submit_driver", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .what = "the same by cuLaunchKernel"},
    [BY_DRIVER_EX] = {"submit_driver_ex", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .what = "the same by cuLaunchKernelEx"},
    [ROUND_TRIP] = {"round_trip", "ns", PROBE_LOWER, .timer = "wall",
        .what = "one launch call until the stream is empty again"},
    [WHOLE] = {"whole", "ns", PROBE_LOWER, .timer = "wall", .keys = "blocks,threads",
        .what = "the same of a grid of empty blocks, which the stretches must add up to"},
    [EDGE] = {"edge", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = "mode",
        .what = "GPU time from one empty kernel to the next, dependent one"},
    [EDGE_WALL] = {"edge", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall", .keys = "mode",
        .what = "the same as the host sees it, submission included"},
    [BLOCK] = {"block", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = "threads",
        .what = "one more empty block in a large grid"},
    [CALL] = {"call", "ns", PROBE_LOWER, .timer = "wall", .keys = "blocks,threads",
        .what = "one launch call, the GPU being idle"},
    [START] = {"start", "ns", PROBE_LOWER, .timer = "device", .keys = "blocks,threads",
        .what = "from the call's return until the first block begins"},
    [RUN] = {"run", "ns", PROBE_LOWER, .timer = "device", .keys = "blocks,threads",
        .what = "from the first block's beginning to the end of the one with the highest number"},
    [FINISH] = {"finish", "ns", PROBE_LOWER, .timer = "device", .keys = "blocks,threads",
        .what = "from then until the host knows, the end of other blocks included"},
    [UNCERTAINTY] = {"clock_uncertainty", "ns", PROBE_LOWER, .timer = "device",
        .keys = "blocks,threads",
        .what = "how far from its place the border between start and finish may lie"},
    [GAP] = {"gap", "ns", PROBE_LOWER, .timer = "device", .keys = "mode",
        .what = "from a kernel's last look at the clock, before its store, to the next one's "
                "first"},
    [QUEUED] = {"queued", "ns", PROBE_LOWER, .timer = "wall", .keys = "depth,work_ns",
        .what = "one launch when so many are queued before a wait"},
};

enum {
    CALLS = 32,
    STREAM_CHAIN = 64,
    GRAPH_CHAIN = 256,
    BLOCKS = 65536,
    BLOCK_THREADS = 32,
    QUEUE = 1000,
};

struct launcher {
    cudaKernel_t null, stamp;
    uint64_t *stamps; /* device: two for each kernel of a chain */
};

/* The kernels of a chain. */
struct job {
    cudaKernel_t kernel;
    unsigned blocks, threads;
    const void *args;
    uint64_t *stamps; /* if not NULL, the arguments: two for each launch */
};

static void chain(struct probe_run *r, const struct job *j, int n)
{
    for (int i = 0; i < n; i++) {
        const struct launch_stamp_args stamp = {j->stamps + 2 * i};
        gpu_launch(r, j->kernel, j->blocks, j->threads, 0,
                   j->stamps ? (const void *)&stamp : j->args);
    }
}

/* --- submit, by each way to launch ------------------------------------------------------------ */

/* The two calls that nvcc puts before a launch by kernel<<<grid, block, shared, stream>>>(). */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

struct call {
    cudaKernel_t kernel;
    CUfunction function;
    void **parameters;
    cudaStream_t stream;
    PFN_cuLaunchKernel_v4000 driver;
    PFN_cuLaunchKernelEx_v11060 driver_ex;
};

static void by_runtime(struct probe_run *r, const struct call *c)
{
    (void)r;
    CUDA(cudaLaunchKernel((const void *)c->kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                          c->parameters, 0, c->stream));
}

static void by_runtime_ex(struct probe_run *r, const struct call *c)
{
    gpu_launch(r, c->kernel, 1, 1, 0, c->parameters[0]);
}

static void by_chevrons(struct probe_run *r, const struct call *c)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;

    const unsigned refused =
        __cudaPushCallConfiguration((dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, c->stream);
    if (refused)
        probe_fail(r, "__cudaPushCallConfiguration: %s", cudaGetErrorString((cudaError_t)refused));
    CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    CUDA(cudaLaunchKernel((const void *)c->kernel, grid, block, c->parameters, shared, stream));
}

static void by_driver(struct probe_run *r, const struct call *c)
{
    (void)r;
    gpu_must(
        (cudaError_t)c->driver(c->function, 1, 1, 1, 1, 1, 1, 0, c->stream, c->parameters, NULL),
        "cuLaunchKernel", __FILE__, __LINE__);
}

static void by_driver_ex(struct probe_run *r, const struct call *c)
{
    const CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
                                   .blockDimY = 1, .blockDimZ = 1, .hStream = c->stream};
    (void)r;
    gpu_must((cudaError_t)c->driver_ex(&config, c->function, c->parameters, NULL),
             "cuLaunchKernelEx", __FILE__, __LINE__);
}

static struct call call_of(struct probe_run *r, cudaKernel_t kernel, void **parameters)
{
    PFN_cuKernelGetFunction_v12000 function_of = gpu_driver_entry("cuKernelGetFunction", 12000);
    struct call c = {.kernel = kernel, .parameters = parameters, .stream = gpu_stream(r)};

    c.driver = gpu_driver_entry("cuLaunchKernel", 4000);
    c.driver_ex = gpu_driver_entry("cuLaunchKernelEx", 11060);
    if (!function_of || !c.driver || !c.driver_ex)
        probe_fail(r, "this driver lacks an entry point of CUDA 12");
    CUDA((cudaError_t)function_of(&c.function, (CUkernel)kernel));
    return c;
}

/* Times all ways in turn, so that they meet the same host. First each must start a kernel that
 * leaves stamps, which shows that it passes the arguments. */
static void measure_submits(struct probe_run *r, const struct launcher *l)
{
    void (*const launch[WAYS])(struct probe_run *, const struct call *) = {
        by_runtime_ex, by_runtime, by_chevrons, by_driver, by_driver_ex};
    struct launch_args nothing = {0};
    struct launch_stamp_args stamp = {l->stamps};
    void *parameters[] = {&nothing}, *stamping[] = {&stamp};
    const struct call c = call_of(r, l->null, parameters), seen = call_of(r, l->stamp, stamping);

    for (int way = 0; way < WAYS; way++) {
        uint64_t at[2] = {0, 0};
        gpu_to_device(r, l->stamps, at, sizeof at);
        launch[way](r, &seen);
        gpu_to_host(r, at, l->stamps, sizeof at);
        probe_require(r, at[0] > 0 && at[1] >= at[0], "%s starts the kernel", metrics[way].name);
    }
    while (probe_more(r))
        for (int turn = 0; turn < 2 * WAYS; turn++) {
            int way = turn % WAYS, n = turn < WAYS ? CALLS : 2 * CALLS;
            uint64_t t0 = probe_host_ns();

            for (int i = 0; i < n; i++)
                launch[way](r, &c);

            uint64_t t1 = probe_host_ns();
            gpu_wait(r);
            probe_sample(r, way, n, (double)(t1 - t0));
        }
}

/* --- round trip and edges --------------------------------------------------------------------- */

static double round_trip_ns(struct probe_run *r, const struct job *j)
{
    uint64_t t0 = probe_host_ns();

    chain(r, j, 1);
    gpu_wait(r);

    return (double)(probe_host_ns() - t0);
}

/* GPU time of n kernels that were all in the queue before the first could start. */
static double gated_ns(struct probe_run *r, const struct job *j, int n)
{
    gpu_time_start(r);
    chain(r, j, n);
    return gpu_time_stop(r).ns;
}

static void measure_stream(struct probe_run *r, const struct job *j)
{
    while (probe_more(r))
        for (int n = STREAM_CHAIN; n <= 2 * STREAM_CHAIN; n += STREAM_CHAIN) {
            probe_sample(r, EDGE, n, gated_ns(r, j, n));

            uint64_t t0 = probe_host_ns();

            chain(r, j, n);
            gpu_wait(r);

            probe_sample(r, EDGE_WALL, n, (double)(probe_host_ns() - t0));
        }
}

static struct gpu_graph graph_of(struct probe_run *r, const struct job *j, int n)
{
    gpu_graph_begin(r);
    chain(r, j, n);
    return gpu_graph_end(r);
}

static void measure_graph(struct probe_run *r, const struct job *j)
{
    struct gpu_graph graph[2];
    for (int i = 0; i < 2; i++)
        graph[i] = graph_of(r, j, GRAPH_CHAIN << i);
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

static void measure_block(struct probe_run *r, const struct job *j)
{
    struct gpu_shape shape = {.block = BLOCK_THREADS};
    if (!probe_begin_case(r, 0, "threads=%d", BLOCK_THREADS))
        return;
    while (probe_more(r))
        for (unsigned n = BLOCKS; n <= 2 * BLOCKS; n += BLOCKS) {
            shape.grid = (dim3){n, 1, 1};
            probe_sample(r, BLOCK, n, gpu_launch_ns(r, j->kernel, &shape, j->args));
        }
}

/* --- the stretches of one launch -------------------------------------------------------------- */

/* The same launch twice, with stamps and without, so that the sum of the stretches can be compared
 * with an undisturbed round trip. */
static void measure_stretches(struct probe_run *r, const struct launcher *l, unsigned blocks,
                              unsigned threads)
{
    const struct launch_args nothing = {0};
    const struct job stamped = {.kernel = l->stamp, .blocks = blocks, .threads = threads,
                                .stamps = l->stamps};
    const struct job bare = {.kernel = l->null, .blocks = blocks, .threads = threads,
                             .args = &nothing};

    if (!probe_begin_case(r, 0, "blocks=%u,threads=%u", blocks, threads))
        return;
    while (probe_more(r)) {
        struct gpu_host_clock clock = gpu_relate_clocks(r);
        uint64_t at[2], ahead = clock.timer_minus_host, t0 = probe_host_ns();

        chain(r, &stamped, 1);
        uint64_t t1 = probe_host_ns();
        gpu_wait(r);

        uint64_t t2 = probe_host_ns();
        gpu_to_host(r, at, l->stamps, sizeof at);
        probe_sample(r, CALL, 1, (double)(t1 - t0));
        probe_sample(r, START, 1, (double)(int64_t)(at[0] - ahead - t1));
        probe_sample(r, RUN, 1, (double)(int64_t)(at[1] - at[0]));
        probe_sample(r, FINISH, 1, (double)(int64_t)(t2 + ahead - at[1]));
        probe_sample(r, UNCERTAINTY, 1, clock.uncertainty_ns);
        probe_sample(r, WHOLE, 1, round_trip_ns(r, &bare));
    }
}

/* All gaps of a chain, from its stamps. */
static void sample_gaps(struct probe_run *r, const struct launcher *l)
{
    uint64_t at[2 * STREAM_CHAIN], gaps = 0;
    gpu_to_host(r, at, l->stamps, sizeof at);
    for (int i = 1; i < STREAM_CHAIN; i++)
        gaps += at[2 * i] - at[2 * i - 1];
    probe_sample(r, GAP, STREAM_CHAIN - 1, (double)gaps);
}

static void measure_gaps(struct probe_run *r, const struct launcher *l)
{
    const struct job j = {.kernel = l->stamp, .blocks = 1, .threads = 1, .stamps = l->stamps};

    if (probe_begin_case(r, 0, "mode=stream"))
        while (probe_more(r)) {
            gated_ns(r, &j, STREAM_CHAIN);
            sample_gaps(r, l);
        }
    if (probe_begin_case(r, 0, "mode=graph")) {
        struct gpu_graph graph = graph_of(r, &j, STREAM_CHAIN);
        while (probe_more(r)) {
            gpu_replay_ns(r, &graph);
            sample_gaps(r, l);
        }
        gpu_graph_free(&graph);
    }
}

/* --- depth ------------------------------------------------------------------------------------ */

static void measure_queued(struct probe_run *r, const struct job *j, unsigned flags, int depth,
                           int work_ns, int times)
{
    if (!probe_begin_case(r, flags, "depth=%d,work_ns=%d", depth, work_ns))
        return;
    while (probe_more(r)) {
        uint64_t t0 = probe_host_ns();

        for (int i = 0; i < times; i++) {
            chain(r, j, depth);
            gpu_wait(r);
        }

        probe_sample(r, QUEUED, depth * times, (double)(probe_host_ns() - t0));
    }
}

static void measure_queue(struct probe_run *r, const struct job *null)
{
    const struct launch_wait_args work = {20000};
    const struct job busy = {.kernel = gpu_kernel(r, &image_launch, "launch_wait", sizeof work),
                             .blocks = 1, .threads = 1, .args = &work};
    measure_queued(r, null, 0, 1, 0, 64);
    measure_queued(r, null, PROBE_DEEP, 10, 0, 16);
    measure_queued(r, null, PROBE_DEEP, 100, 0, 4);
    measure_queued(r, null, 0, QUEUE, 0, 1);
    measure_queued(r, &busy, 0, 1, (int)work.ns, 16);
    measure_queued(r, &busy, 0, 100, (int)work.ns, 1);
}

/* ---------------------------------------------------------------------------------------------- */

static struct launcher prepare(struct probe_run *r)
{
    struct launcher l;
    l.null = gpu_kernel(r, &image_launch, "launch_null", sizeof(struct launch_args));
    l.stamp = gpu_kernel(r, &image_launch, "launch_stamp", sizeof(struct launch_stamp_args));
    l.stamps = gpu_alloc(r, 2 * STREAM_CHAIN * sizeof *l.stamps, "the stamps");
    return l;
}

static void measure(struct probe_run *r)
{
    const struct launcher l = prepare(r);
    const struct launch_args nothing = {0};
    const struct job null = {.kernel = l.null, .blocks = 1, .threads = 1, .args = &nothing};

    if (probe_begin_case(r, 0, PROBE_NO_KEYS)) {
        measure_submits(r, &l);
        probe_begin_case(r, 0, PROBE_NO_KEYS);
        while (probe_more(r))
            probe_sample(r, ROUND_TRIP, 1, round_trip_ns(r, &null));
    }
    if (probe_begin_case(r, 0, "mode=stream"))
        measure_stream(r, &null);
    if (probe_begin_case(r, 0, "mode=graph"))
        measure_graph(r, &null);
    measure_gaps(r, &l);
    measure_block(r, &null);
    measure_stretches(r, &l, 1, 1);
    measure_stretches(r, &l, BLOCKS, BLOCK_THREADS);
    measure_queue(r, &null);
    gpu_require_gates_held(r);
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
