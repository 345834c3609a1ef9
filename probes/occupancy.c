/* occupancy: how many warps, and how many loads of each, does it take to keep the memory busy?
 *
 * Method. Every SM holds exactly W warps (1 to 64), and every thread has L independent 16-byte loads
 * (1 to 8) in flight at a time; the rate is bytes over time, from the slope over N and 2N turns of
 * the loop, so that launch and drain drop out. level=l2 reads a 16 MiB buffer again and again,
 * ld.global.cg; level=hbm streams through a buffer of more than 4 x L2 and goes on where the last
 * launch stopped. W warps on every SM: one block an SM, made the only one by the shared memory it
 * asks for, or two blocks of 32 warps; a census of %smid checks it.
 *
 * Inside the timed region: events around one launch.
 * Expected by Little's law: rate = bytes in flight / latency, until a limit of the memory is reached;
 * an H200 needs about 11 KB an SM for 4.2 TB/s at 340 ns, and more in practice, since the latency
 * grows with the load. The report derives the bytes in flight.
 *
 * Traps. L loads are in flight only until the loop uses them, so the mean is a little below W x 32 x
 * L x 16 bytes. An L2 rate above what every SM can take (64 bytes a cycle) is a mistake. */
#include "probes/occupancy.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(occupancy);
GPU_ARGS_SIZE(struct occupancy_args, 40);

enum { READ_RATE };
static const struct probe_metric metrics[] = {
    [READ_RATE] = {"read_rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,warps,loads",
                   "sustained read rate with so many warps an SM and loads a thread in flight"},
};

enum { LOADS_N = 4, L2_BUFFER = 16 << 20, WARPS_MAX = 64, TURNS_MIN = 8 };
static const int loads_of[LOADS_N] = {1, 2, 4, 8};
static const double TARGET_NS = 150e3, LATENCY_NS = 800, RATE_GUESS = 4e12;

struct reader {
    cudaKernel_t kernel[LOADS_N];
    void *buffer;
    uint64_t elements; /* of 16 bytes, in the whole buffer */
    uint32_t *sink, *census;
    cudaEvent_t start, stop;
};

/* How W warps get onto every SM. */
struct shape {
    unsigned blocks, threads;
    size_t shared;
    unsigned per_sm;
};

static struct shape shape_of(const struct gpu_facts *gpu, int warps)
{
    unsigned per_sm = warps > 32 ? 2 : 1;
    size_t reserved = 1 << 10; /* of each block's shared memory, by the system */
    size_t share = gpu->shared_per_sm / (per_sm + 1) + 1 - reserved / 2;
    if (share + reserved > gpu->shared_per_sm / per_sm)
        share = gpu->shared_per_sm / per_sm - reserved;
    if (share > gpu->shared_per_block)
        share = gpu->shared_per_block;
    return (struct shape){.blocks = (unsigned)gpu->n_sm * per_sm,
                          .threads = 32 * (unsigned)warps / per_sm,
                          .shared = share / 128 * 128,
                          .per_sm = per_sm};
}

static struct reader prepare(struct probe_run *r)
{
    static const char *const names[LOADS_N] = {"occupancy_read_1", "occupancy_read_2",
                                               "occupancy_read_4", "occupancy_read_8"};
    const struct gpu_facts *gpu = gpu_facts(r);
    size_t bytes = L2_BUFFER;
    struct reader x = {0};

    while (bytes < 4 * gpu->l2_bytes)
        bytes *= 2;
    for (int i = 0; i < LOADS_N; i++) {
        x.kernel[i] = gpu_kernel(r, &image_occupancy, names[i], sizeof(struct occupancy_args));
        gpu_kernel_shared(x.kernel[i], gpu->shared_per_block, 100);
    }
    x.elements = bytes / 16;
    x.buffer = gpu_alloc(r, bytes, "the buffer to read");
    gpu_fill_normal(r, x.buffer, GPU_FP32, bytes / 4, probe_seed(r));
    x.sink = gpu_alloc(r, sizeof *x.sink, "a sink");
    x.census = gpu_alloc(r, (size_t)gpu->n_sm * sizeof *x.census, "the census");
    CUDA(cudaEventCreate(&x.start));
    CUDA(cudaEventCreate(&x.stop));
    return x;
}

/* Are there exactly per_sm blocks on every SM? */
static void check_census(struct probe_run *r, const struct reader *x, cudaKernel_t kernel,
                         const struct shape *s, struct occupancy_args a)
{
    uint32_t seen[1024];
    int n_sm = gpu_facts(r)->n_sm;
    bool even = true;

    CUDA(cudaMemsetAsync(x->census, 0, (size_t)n_sm * sizeof *seen, gpu_stream(r)));
    a.census = x->census;
    gpu_launch(r, kernel, s->blocks, s->threads, s->shared, &a);
    gpu_to_host(r, seen, x->census, (size_t)n_sm * sizeof *seen);
    for (int i = 0; i < n_sm; i++)
        even = even && seen[i] == s->per_sm;
    probe_check(r, even, "%u block%s on every SM", s->per_sm, s->per_sm == 1 ? "" : "s");
}

static void measure_case(struct probe_run *r, struct reader *x, const char *level, int warps, int i)
{
    bool in_l2 = !strcmp(level, "l2");
    struct shape s = shape_of(gpu_facts(r), warps);
    uint32_t turn_elements = s.blocks * s.threads * (uint32_t)loads_of[i];
    double turn_ns = fmax(LATENCY_NS, (double)turn_elements * 16e9 / RATE_GUESS);
    uint32_t turns = (uint32_t)fmax(TARGET_NS / turn_ns, TURNS_MIN);
    struct occupancy_args a = {.in = x->buffer,
                               .sink = x->sink,
                               .turns = turns,
                               .mask = (uint32_t)((in_l2 ? L2_BUFFER / 16 : x->elements) - 1)};

    if (!probe_case(r, PROBE_POWER_BOUND, "level=%s,warps=%d,loads=%d", level, warps, loads_of[i]))
        return;
    check_census(r, x, x->kernel[i], &s, a);
    while (probe_more(r))
        for (a.turns = turns; a.turns <= 2 * turns; a.turns += turns) {
            gpu_clock_start(r);

            CUDA(cudaEventRecord(x->start, gpu_stream(r)));
            gpu_launch(r, x->kernel[i], s.blocks, s.threads, s.shared, &a);
            CUDA(cudaEventRecord(x->stop, gpu_stream(r)));

            gpu_clock_stop(r);
            probe_sample(r, READ_RATE, 16.0 * a.turns * turn_elements,
                         gpu_elapsed_ns(x->start, x->stop));
            a.first = (a.first + a.turns * turn_elements) & a.mask;
        }

    double rate = probe_median(r, READ_RATE);
    if (!isnan(rate) && !in_l2)
        probe_check(r, rate <= gpu_facts(r)->pin_rate, "%.2f TB/s is below the pin rate of %.2f",
                    rate / 1e12, gpu_facts(r)->pin_rate / 1e12);
}

static void measure(struct probe_run *r)
{
    struct reader x = prepare(r);
    static const char *const levels[] = {"l2", "hbm"};

    for (size_t level = 0; level < PROBE_LENGTH(levels); level++)
        for (int warps = 1; warps <= WARPS_MAX && warps <= gpu_facts(r)->warps_per_sm; warps *= 2)
            for (int i = 0; i < LOADS_N; i++)
                measure_case(r, &x, levels[level], warps, i);
}

const struct probe probe = {
    .name = "occupancy",
    .what = "How many warps, and how many loads of each, does it take to keep the memory busy?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
