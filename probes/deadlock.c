/* deadlock: what becomes of a barrier to which not all blocks can come?
 *
 * Method. Blocks of 1024 threads meet 100 times at a barrier of their grid, on one counter. The
 * grid has half of, all of, one more than and twice what fits the GPU at once (occupancy API), by
 * an ordinary and by a cooperative launch. And some that differ: two such kernels on two streams,
 * each of three quarters of what fits; blocks that wait unequally often; one that leaves at once;
 * half of the SMs held by another kernel for longer than the waits last. Each wait ends by itself
 * after 20 ms, then all others do; a launch is complete when every block crossed all of its
 * barriers. Everything runs in a process of its own, which the host kills should it not return.
 *
 * Inside the timed region: nothing is timed.
 * Expected: ordinary launches complete up to what fits and never above it, since blocks that wait
 * are not set aside for blocks that have not begun; cooperative launches are refused instead.
 * Unequal waits deadlock in either.
 *
 * Traps. "Not complete" is what 20 ms of patience show: a barrier takes a microsecond. What fits is
 * a promise only while nothing else runs. Beside the kernel that holds SMs for longer than that,
 * "not complete" means that it waits, no more; that the two streams overlap is not shown. */
#include "probes/deadlock.h"

#include <stdio.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(deadlock);
GPU_ARGS_SIZE(struct spin_args, 40);
GPU_ARGS_SIZE(struct hold_args, 16);

enum { COMPLETED, REFUSED };
static const struct probe_metric metrics[] = {
    [COMPLETED] = {"completed", "count", PROBE_EXACT, PROBE_EACH, NULL, "scene,launch,blocks",
                   "1: all blocks crossed all of their barriers"},
    [REFUSED] = {"refused", "count", PROBE_EXACT, PROBE_EACH, NULL, "scene,launch,blocks",
                 "1: the launch was refused as too large to be resident"},
};

static const struct probe_parameter parameters[] = {
    {"play", 0, 0, 1, "1: play the scenes, say the outcomes on stderr (set by the probe itself)"},
};

/* What may deadlock. Blocks are shares of the capacity: what is resident at once, by the occupancy
 * API. Outcomes come back from the child as one letter each, in this order. */
static const struct scene {
    const char *scene, *launch, *blocks;
    double share;
    unsigned more;       /* blocks on top of that share */
    unsigned streams;    /* the same kernel on so many at once */
    uint32_t extra, quits;
    bool busy;           /* another kernel keeps half of the SMs for longer than the budget */
} scenes[] = {
    {"alone", "ordinary", "0.5xcapacity", 0.5, 0, 1, 0, 0, false},
    {"alone", "ordinary", "1xcapacity", 1, 0, 1, 0, 0, false},
    {"alone", "ordinary", "1xcapacity+1", 1, 1, 1, 0, 0, false},
    {"alone", "ordinary", "2xcapacity", 2, 0, 1, 0, 0, false},
    {"alone", "cooperative", "0.5xcapacity", 0.5, 0, 1, 0, 0, false},
    {"alone", "cooperative", "1xcapacity", 1, 0, 1, 0, 0, false},
    {"alone", "cooperative", "1xcapacity+1", 1, 1, 1, 0, 0, false},
    {"alone", "cooperative", "2xcapacity", 2, 0, 1, 0, 0, false},
    {"two_streams", "ordinary", "0.75xcapacity", 0.75, 0, 2, 0, 0, false},
    {"unequal", "cooperative", "1xcapacity", 1, 0, 1, 1, 0, false},
    {"one_quits", "cooperative", "1xcapacity", 1, 0, 1, 0, 1, false},
    {"busy", "ordinary", "1xcapacity", 1, 0, 1, 0, 0, true},
    {"busy", "cooperative", "1xcapacity", 1, 0, 1, 0, 0, true},
};
enum {
    HALF_ALONE = 0, ONE_QUITS = 10, /* places in that table */
    SPIN_THREADS = 1024,
    SPIN_ROUNDS = 100,
    SPIN_BUDGET_NS = 20000000,
    LONG_BUDGET_NS = 1000000000, /* where a tool slows the kernels down */
    HOLD_NS = 50000000,
    CHILD_MS = 20000,
};
static const char COMPLETE = '1', GIVEN_UP = '0', TOO_LARGE = 'r', OTHER = '?';

struct spinner {
    cudaKernel_t spin, hold;
    cudaStream_t other;
    struct grid_barrier_state *state;
    uint32_t *counters;
    volatile uint32_t *held; /* mapped; SMs that the holder has */
    unsigned capacity;       /* blocks */
    unsigned half;           /* of the SMs */
};

static struct spinner prepare(struct probe_run *r)
{
    struct spinner s = {.held = gpu_mapped(r, sizeof *s.held)};
    int per_sm = 0, n_sm = gpu_facts(r)->n_sm;
    s.spin = gpu_kernel(r, &image_deadlock, "deadlock_spin", sizeof(struct spin_args));
    s.hold = gpu_kernel(r, &image_deadlock, "deadlock_hold", sizeof(struct hold_args));
    gpu_kernel_shared(s.hold, gpu_facts(r)->shared_per_block, 100);
    s.state = gpu_alloc(r, sizeof *s.state, "a word to give up by");
    s.counters = gpu_alloc(r, 4 * sizeof *s.counters, "counters");
    CUDA(cudaStreamCreateWithFlags(&s.other, cudaStreamNonBlocking));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, (const void *)s.spin, SPIN_THREADS,
                                                       0));
    s.capacity = (unsigned)(per_sm * n_sm);
    s.half = (unsigned)n_sm / 2;
    return s;
}

/* Half of the SMs are another kernel's from here on, for HOLD_NS. */
static void hold(struct probe_run *r, const struct spinner *s)
{
    struct hold_args a = {.held = (uint32_t *)(uintptr_t)s->held, .ns = HOLD_NS};
    struct gpu_shape shape = {.grid = {s->half, 1, 1}, .block = SPIN_THREADS,
                              .shared = gpu_facts(r)->shared_per_block, .stream = s->other};
    uint64_t came = probe_host_ns();
    *s->held = 0;
    gpu_launch_shape(r, s->hold, &shape, &a);
    while (*s->held < shape.grid.x && probe_host_ns() - came < HOLD_NS / 2)
        ;
}

static char play(struct probe_run *r, const struct spinner *s, const struct scene *scene,
                 uint32_t budget_ns)
{
    struct gpu_shape shape = {.block = SPIN_THREADS, .cooperative = scene->launch[0] == 'c',
                              .grid = {(unsigned)(scene->share * s->capacity) + scene->more, 1, 1}};
    struct spin_args a = {.state = s->state, .counters = s->counters, .rounds = SPIN_ROUNDS,
                          .extra = scene->extra, .quits = scene->quits, .budget_ns = budget_ns};
    cudaError_t result = cudaSuccess;
    uint32_t crossed[2] = {0};

    CUDA(cudaMemsetAsync(s->counters, 0, 4 * sizeof *s->counters, gpu_stream(r)));
    CUDA(cudaMemsetAsync(s->state, 0, sizeof *s->state, gpu_stream(r)));
    gpu_wait(r);
    if (scene->busy)
        hold(r, s);
    for (unsigned i = 0; i < scene->streams && result == cudaSuccess; i++) {
        shape.stream = i == 0 ? NULL : s->other;
        a.which = i;
        result = gpu_try_launch(r, s->spin, &shape, &a);
    }
    cudaGetLastError();
    CUDA(cudaDeviceSynchronize());
    if (result != cudaSuccess)
        return result == cudaErrorCooperativeLaunchTooLarge ? TOO_LARGE : OTHER;
    gpu_to_host(r, crossed, s->counters + 2, sizeof crossed);
    return crossed[0] + crossed[1] == shape.grid.x * scene->streams ? COMPLETE : GIVEN_UP;
}

/* The child's part: plays all scenes, and says how they ended as its last line. */
static void play_all(struct probe_run *r)
{
    struct spinner s = prepare(r);
    char outcome[PROBE_LENGTH(scenes) + 1] = "";
    for (size_t i = 0; i < PROBE_LENGTH(scenes); i++)
        outcome[i] = play(r, &s, &scenes[i], SPIN_BUDGET_NS);
    fprintf(stderr, "%s\n", outcome);
}

static void measure_scenes(struct probe_run *r)
{
    char said[256] = "";
    int status = 1;

    for (size_t i = 0; i < PROBE_LENGTH(scenes); i++) {
        const struct scene *scene = &scenes[i];
        if (!probe_case(r, PROBE_ONCE, "scene=%s,launch=%s,blocks=%s", scene->scene, scene->launch,
                        scene->blocks))
            continue;
        if (!said[0])
            status = probe_again(r, "play", 1, CHILD_MS, said, sizeof said);
        char outcome = status == 0 && strlen(said) == PROBE_LENGTH(scenes) ? said[i] : OTHER;
        if (!probe_check(r, outcome != OTHER, "the child ended as it should: %d, '%s'", status,
                         said))
            continue;
        probe_value(r, COMPLETED, outcome == COMPLETE);
        probe_value(r, REFUSED, outcome == TOO_LARGE);
    }
}

/* --check plays in this process: one scene that must complete, and one that must be given up. */
static void check_scenes(struct probe_run *r)
{
    struct spinner s = prepare(r);
    if (!probe_case(r, 0, "scene=checked"))
        return;
    probe_check(r, play(r, &s, &scenes[HALF_ALONE], LONG_BUDGET_NS) == COMPLETE,
                "half the capacity completes");
    probe_check(r, play(r, &s, &scenes[ONE_QUITS], SPIN_BUDGET_NS) == GIVEN_UP,
                "with a block gone, the others give up");
}

static void measure(struct probe_run *r)
{
    if (probe_parameter(r, "play"))
        play_all(r);
    else if (probe_checking(r))
        check_scenes(r);
    else
        measure_scenes(r);
}

const struct probe probe = {
    .name = "deadlock",
    .what = "What becomes of a barrier to which not all blocks can come?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
