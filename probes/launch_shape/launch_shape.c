/* launch_shape: how much do arguments, blocks, shared memory and slicing add to the cost of a
 * launch?
 *
 * Method. Empty kernels. One property is varied at a time, starting from one block of 32 threads,
 * no shared memory and eight bytes of arguments. blocks=sm is one block per SM; shared=max is the
 * most that one block may have.
 *     edge      GPU time from one kernel to the next in a graph, from the slope over chains of 256
 *               and 512. carveout=alternating: every second kernel wants all of the SM's memory as
 *               L1, the others all as shared memory
 *     submit    host time of the launch call, from the slope over 32 and 64 calls
 *     block     one more empty block, from grids of 65536 and 131072
 *     split     a graph of n launches, one block of 256 threads per SM, that read 16 MiB, which
 *               stay in L2. each=part: each launch reads its own n-th part. each=all: each reads
 *               everything. each=idle: the first reads all and the others nothing. each=none: the
 *               first reads all and the others launch the empty kernel
 *
 * Inside the timed region: the calls, the replay, or the launch between two events.
 * Expected on an H200: an edge of 0.5 us; 0.55 with a block on every SM, whatever the threads.
 * Arguments are free up to 4 KiB; 32764 bytes cost 1 us on the host and 0.02 on the GPU. A block
 * costs 0.6 ns. A change of the carve-out costs nothing, since a dependent kernel finds the SMs
 * empty anyway. A kernel with more code than an exit costs 0.2 us more although it does nothing,
 * and one access to L2 0.3 us. A slice costs both, however small it is.
 *
 * Traps. A launch of 65536 blocks takes as long as dispatching its blocks takes, not as long as one
 * block lasts. Nobody inspects the images of the empty kernels: only their sizes differ. */
#include "probes/launch_shape/args.h"

#include "core/gpu.h"

PROBE_IMAGE(launch_shape);

enum { EDGE, SUBMIT, BLOCK, SPLIT };
static const struct probe_metric metrics[] = {
    [EDGE] = {"edge", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "blocks,threads,shared,args",
        .what = "GPU time from one empty kernel to the next in a graph"},
    [SUBMIT] = {"submit", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "wall",
        .keys = "blocks,threads,shared,args",
        .what = "host time of one launch call that nobody waits for"},
    [BLOCK] = {"block", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = "threads,shared", .what = "one more empty block in a large grid"},
    [SPLIT] = {"split", "ns", PROBE_LOWER, .timer = "event", .keys = "bytes,launches,each",
        .what = "a graph that reads so many bytes of L2, each launch its part, all of them, or "
                "none (by a kernel that reads nothing, or an empty one: idle); an event pair's own "
                "time included"},
};

enum { CALLS = 32, CHAIN = 256, BLOCKS = 65536, SPLIT_BYTES = 16 << 20, ARGS_MAX = 32764 };

/* The kernels of a chain. */
struct job {
    cudaKernel_t kernel, other; /* other, if any, is every second one, without shared memory */
    unsigned blocks, threads;
    size_t shared;
};

static void chain(struct probe_run *r, const struct job *j, int n)
{
    static const char nothing[ARGS_MAX];
    for (int i = 0; i < n; i++)
        if (j->other && i % 2)
            gpu_launch(r, j->other, j->blocks, j->threads, 0, nothing);
        else
            gpu_launch(r, j->kernel, j->blocks, j->threads, j->shared, nothing);
}

/* --- one property at a time ------------------------------------------------------------------- */

static void measure_edge(struct probe_run *r, const struct job *j)
{
    struct gpu_graph graph[2];
    for (int i = 0; i < 2; i++) {
        gpu_graph_begin(r);
        chain(r, j, CHAIN << i);
        graph[i] = gpu_graph_end(r);
    }
    gpu_sample_graphs(r, EDGE, CHAIN, graph);
    for (int i = 0; i < 2; i++)
        gpu_graph_free(&graph[i]);
}

static void measure_submit(struct probe_run *r, const struct job *j)
{
    while (probe_more(r))
        for (int n = CALLS; n <= 2 * CALLS; n += CALLS) {
            uint64_t t0 = probe_host_ns();

            chain(r, j, n);

            uint64_t t1 = probe_host_ns();
            gpu_wait(r);
            probe_sample(r, SUBMIT, n, (double)(t1 - t0));
        }
}

static void measure_shape(struct probe_run *r, unsigned flags, const struct job *j, int args)
{
    char keys[96];
    snprintf(keys, sizeof keys, "blocks=%s,threads=%u,shared=%s,args=%d",
             j->blocks == 1 ? "1" : "sm", j->threads, j->shared ? "max" : "0", args);
    if (!probe_begin_case(r, flags, "%s", keys))
        return;
    probe_fact(r, "blocks", "%u", j->blocks);
    probe_fact(r, "shared_bytes", "%zu", j->shared);
    measure_edge(r, j);
    if (probe_begin_case(r, args >= 4096 ? flags : PROBE_DEEP, "%s", keys))
        measure_submit(r, j);
}

static void measure_shapes(struct probe_run *r)
{
    static const int sizes[] = {64, 256, 1024, 4096, ARGS_MAX};
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    struct job j = {.kernel = gpu_kernel(r, &image_launch_shape, "launch_shape_8", 8)};
    const cudaKernel_t null = j.kernel;
    char name[40];

    for (j.threads = 32; j.threads <= 1024; j.threads *= 2) {
        j.blocks = 1;
        measure_shape(r, j.threads == 32 ? 0 /* for claim C50 */ : PROBE_DEEP, &j, 8);
        j.blocks = n_sm;
        measure_shape(r, j.threads == SLICE_THREADS ? 0 : PROBE_DEEP, &j, 8);
    }
    j.blocks = 1, j.threads = 32;
    for (size_t i = 0; i < PROBE_LENGTH(sizes); i++) {
        snprintf(name, sizeof name, "launch_shape_%d", sizes[i]);
        j.kernel = gpu_kernel(r, &image_launch_shape, name, (size_t)sizes[i]);
        measure_shape(r,
                      sizes[i] == 4096  ? 0 /* for claim C50 */
                      : sizes[i] > 4096 ? PROBE_THRICE
                                        : PROBE_DEEP,
                      &j, sizes[i]);
    }
    j.kernel = null;
    j.shared = gpu_facts(r)->shared_per_block;
    gpu_kernel_shared(null, j.shared, -1);
    measure_shape(r, PROBE_DEEP, &j, 8);
    j.blocks = n_sm;
    measure_shape(r, PROBE_DEEP, &j, 8);
}

static void measure_carveouts(struct probe_run *r)
{
    const cudaKernel_t l1 = gpu_kernel(r, &image_launch_shape, "launch_shape_l1", 8);
    const cudaKernel_t shared = gpu_kernel(r, &image_launch_shape, "launch_shape_shared", 8);
    const size_t most = gpu_facts(r)->shared_per_block;
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    const struct {
        const char *name;
        struct job job;
    } chains[] = {{"0", {l1, NULL, n_sm, 32, 0}},
                  {"100", {shared, NULL, n_sm, 32, most}},
                  {"alternating", {shared, l1, n_sm, 32, most}}};

    gpu_kernel_shared(l1, 0, 0);
    gpu_kernel_shared(shared, most, 100);
    for (size_t i = 0; i < PROBE_LENGTH(chains); i++)
        if (probe_begin_case(r, PROBE_THRICE, "carveout=%s", chains[i].name))
            measure_edge(r, &chains[i].job);
}

static void measure_block(struct probe_run *r, cudaKernel_t kernel, unsigned flags,
                          unsigned threads, size_t shared)
{
    struct gpu_shape shape = {.block = threads, .shared = shared};
    const uint64_t nothing = 0;
    if (!probe_begin_case(r, flags, "threads=%u,shared=%s", threads, shared ? "max" : "0"))
        return;
    while (probe_more(r))
        for (unsigned n = BLOCKS; n <= 2 * BLOCKS; n += BLOCKS) {
            shape.grid = (dim3){n, 1, 1};
            probe_sample(r, BLOCK, n, gpu_launch_ns(r, kernel, &shape, &nothing));
        }
}

/* --- slices ----------------------------------------------------------------------------------- */

enum each { PART, ALL, IDLE, NONE };

struct slices {
    cudaKernel_t read, null;
    unsigned blocks;
    void *in;
    uint32_t *partial, *sink;
    uint32_t whole; /* all words, xored */
};

static void read_slices(struct probe_run *r, const struct slices *s, int n, enum each each,
                        uint32_t *partial)
{
    const uint32_t all = SPLIT_BYTES / 16;
    const uint64_t nothing = 0;
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
        struct slice_args a = {.in = s->in, .partial = partial, .sink = s->sink, .elements = all};
        if (each == PART)
            a.elements = all / (uint32_t)n, a.first = a.elements * i;
        else if (each == IDLE && i > 0)
            a.elements = 0;
        if (each == NONE && i > 0)
            gpu_launch(r, s->null, s->blocks, SLICE_THREADS, 0, &nothing);
        else
            gpu_launch(r, s->read, s->blocks, SLICE_THREADS, 0, &a);
    }
}

/* Do n launches together read every word once? (If every word is read an even number of times:
 * 0.) */
static void check_slices(struct probe_run *r, const struct slices *s, int n, enum each each)
{
    const size_t words = s->blocks * SLICE_THREADS;
    uint32_t *partial = probe_host_alloc(r, words * sizeof *partial), sum = 0;

    CUDA(cudaMemsetAsync(s->partial, 0, words * sizeof *partial, gpu_stream(r)));
    read_slices(r, s, n, each, s->partial);
    gpu_to_host(r, partial, s->partial, words * sizeof *partial);
    for (size_t i = 0; i < words; i++)
        sum ^= partial[i];
    probe_require(r, sum == (each == ALL && n % 2 == 0 ? 0 : s->whole),
                  "all is read that should be");
}

static void measure_split(struct probe_run *r, const struct slices *s, unsigned flags, int n,
                          enum each each)
{
    static const char *const names[] = {"part", "all", "idle", "none"};
    if (!probe_begin_case(r, flags, "bytes=%d,launches=%d,each=%s", SPLIT_BYTES, n, names[each]))
        return;
    check_slices(r, s, n, each);
    gpu_graph_begin(r);
    read_slices(r, s, n, each, NULL);
    struct gpu_graph graph = gpu_graph_end(r);
    while (probe_more(r))
        probe_sample(r, SPLIT, 1, gpu_replay_ns(r, &graph));
    gpu_graph_free(&graph);
}

static void measure_splits(struct probe_run *r)
{
    struct slices s = {.blocks = (unsigned)gpu_facts(r)->n_sm};
    uint32_t *words = probe_host_alloc(r, SPLIT_BYTES);

    s.read = gpu_kernel(r, &image_launch_shape, "launch_shape_read", sizeof(struct slice_args));
    s.null = gpu_kernel(r, &image_launch_shape, "launch_shape_8", sizeof(uint64_t));
    s.in = gpu_alloc(r, SPLIT_BYTES, "the slices");
    s.partial = gpu_alloc(r, s.blocks * SLICE_THREADS * sizeof *words, "partial sums");
    s.sink = gpu_alloc(r, sizeof *words, "a sink");
    gpu_fill_normal(r, s.in, GPU_FP32, SPLIT_BYTES / 4, probe_seed(r));
    gpu_to_host(r, words, s.in, SPLIT_BYTES);
    for (size_t i = 0; i < SPLIT_BYTES / 4; i++)
        s.whole ^= words[i];

    for (int n = 1; n <= 4096; n *= 4)
        measure_split(r, &s, n == 1 || n == 64 || n == 4096 ? 0 : PROBE_DEEP, n, PART);
    for (enum each each = ALL; each <= NONE; each++)
        measure_split(r, &s, 0, 64, each);
}

static void measure(struct probe_run *r)
{
    cudaKernel_t null = gpu_kernel(r, &image_launch_shape, "launch_shape_8", 8);

    measure_shapes(r);
    measure_carveouts(r);
    for (unsigned threads = 64; threads <= 1024; threads *= 2)
        measure_block(r, null, threads == 1024 ? PROBE_THRICE : PROBE_DEEP, threads, 0);
    measure_block(r, null, PROBE_DEEP, 32, gpu_facts(r)->shared_per_block);
    measure_splits(r);
}

const struct probe probe = {
    .name = "launch_shape",
    .what = "What does a launch cost more for its arguments, blocks, shared memory, and slice?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
