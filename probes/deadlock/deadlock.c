/* deadlock: what happens at a grid barrier that not all blocks can reach?
 *
 * Method. Blocks of 1024 threads meet 100 times at a barrier of their grid, on one counter. A wait
 * that exceeds the patience gives up, and then all others do. A launch is complete when every block
 * crossed all of its barriers. All scenes run in a child process, which the host kills if it does
 * not return. The scenes:
 *     alone        half of, all of, one more than, and twice what fits the GPU at once (occupancy
 *                  API), by an ordinary and by a cooperative launch
 *     unequal      block 0 waits once more than the others
 *     one_quits    a block leaves at once
 *     busy         another kernel holds half of the SMs for 50 ms when the launch comes
 *     two_streams  two such launches at once, each with three quarters of what fits
 *     overtaken    two launches as well, while another kernel holds half of the SMs. The second
 *                  launch has the higher priority. When the SMs become free it takes them, before
 *                  all blocks of the first have started
 * The patience is 20 ms. If another kernel holds SMs it is 200 ms, longer than that kernel holds
 * them.
 *
 * Inside the timed region: nothing is timed. Each outcome comes with three facts: how long the host
 * waited, where there is a holder from before its launch; the longest wait of a block at one
 * barrier; and how many blocks of the second launch were present when a block of the first left,
 * including those that took a place just freed.
 * Expected: ordinary launches complete if all their blocks fit and never otherwise, since blocks
 * that wait are not preempted for blocks that have not started. Cooperative launches that do not
 * fit are refused. Unequal waits deadlock in both. With the holder, both complete once it has left:
 * the ordinary launch waits for 50 ms at its first barrier, and the cooperative one starts only
 * then. Two launches share the GPU as long as the first has all the room that it needs. Overtaken,
 * two ordinary launches deadlock, although each would fit: only cooperative ones run one after
 * another.
 *
 * Traps. "Not complete" means "not within the patience"; a barrier takes a microsecond. A scene
 * with the holder counts only if all of the holder's blocks had started, and the launch did not end
 * before they left. A scene with two ordinary launches counts only if blocks of both were present
 * at once. */
#include "probes/deadlock/args.h"

#include <stdio.h>
#include <string.h>

#include "core/gpu.h"

PROBE_IMAGE(deadlock);

enum { COMPLETED, REFUSED };
static const struct probe_metric metrics[] = {
    [COMPLETED] = {"completed", "count", PROBE_EXACT, .keys = "scene,launch,blocks",
        .what = "1: all blocks crossed all of their barriers"},
    [REFUSED] = {"refused", "count", PROBE_EXACT, .keys = "scene,launch,blocks",
        .what = "1: the launch was refused as too large to be resident"},
};

static const struct probe_parameter parameters[] = {
    {.name = "play", .max = 1,
     .what = "1: play the scenes, say the outcomes on stderr (set by the probe itself)"},
};

/* The scenes, each of which may deadlock. Blocks are given as shares of the capacity: the number
 * that is resident at once, by the occupancy API. */
enum with { ALONE, TWO_STREAMS, BUSY, OVERTAKEN };
static const struct scene {
    const char *scene, *launch, *blocks;
    double share;
    unsigned more;         /* blocks added to that share */
    enum with with;        /* what else runs */
    uint32_t extra, quits; /* as in struct deadlock_spin_args */
} scenes[] = {
    {"alone", "ordinary", "0.5xcapacity", 0.5, 0, ALONE, 0, 0},
    {"alone", "ordinary", "1xcapacity", 1, 0, ALONE, 0, 0},
    {"alone", "ordinary", "1xcapacity+1", 1, 1, ALONE, 0, 0},
    {"alone", "ordinary", "2xcapacity", 2, 0, ALONE, 0, 0},
    {"alone", "cooperative", "0.5xcapacity", 0.5, 0, ALONE, 0, 0},
    {"alone", "cooperative", "1xcapacity", 1, 0, ALONE, 0, 0},
    {"alone", "cooperative", "1xcapacity+1", 1, 1, ALONE, 0, 0},
    {"alone", "cooperative", "2xcapacity", 2, 0, ALONE, 0, 0},
    {"unequal", "cooperative", "1xcapacity", 1, 0, ALONE, 1, 0},
    {"one_quits", "cooperative", "1xcapacity", 1, 0, ALONE, 0, 1},
    {"busy", "ordinary", "1xcapacity", 1, 0, BUSY, 0, 0},
    {"busy", "cooperative", "1xcapacity", 1, 0, BUSY, 0, 0},
    {"two_streams", "ordinary", "0.75xcapacity", 0.75, 0, TWO_STREAMS, 0, 0},
    {"overtaken", "ordinary", "0.75xcapacity", 0.75, 0, OVERTAKEN, 0, 0},
    {"overtaken", "cooperative", "0.75xcapacity", 0.75, 0, OVERTAKEN, 0, 0},
};
enum {
    HALF_ALONE = 0, ONE_QUITS = 9, /* indices into that table */
    SPIN_THREADS = 1024,
    SPIN_ROUNDS = 100,
    PATIENCE_NS = 20000000,
    HOLD_NS = 50000000,
    OUTLAST_NS = 200000000,        /* patience where a kernel holds SMs for HOLD_NS */
    LONG_PATIENCE_NS = 1000000000, /* if a tool slows the kernels down */
    CHILD_MS = 20000,
};

/* Does another kernel hold half of the SMs? Are there two launches? */
static bool is_held(const struct scene *scene)
{
    return scene->with == BUSY || scene->with == OVERTAKEN;
}

static bool is_two(const struct scene *scene)
{
    return scene->with == TWO_STREAMS || scene->with == OVERTAKEN;
}

static unsigned blocks_of(const struct scene *scene, unsigned capacity)
{
    return (unsigned)(scene->share * capacity) + scene->more;
}

/* How a scene ended; the child prints the fields in this order. */
struct outcome {
    char end;
    unsigned took_us;   /* host time until it was over, from the launch, or from the holder's */
    unsigned waited_us; /* longest wait of a block at one barrier */
    unsigned beside;    /* blocks of the second launch present when one of the first left */
};
static const char COMPLETE = '1', GIVEN_UP = '0', TOO_LARGE = 'r', NOT_HELD = 'h', OTHER = '?';

struct spinner {
    cudaKernel_t spin, hold;
    cudaStream_t holder, second, urgent; /* in addition to the run's own */
    struct grid_barrier_state *state;
    struct spin_tally *tally; /* of two launches */
    uint32_t *came;           /* blocks of the holder, */
    volatile uint32_t *held;  /* the same in mapped memory, once all have started */
    unsigned capacity;        /* blocks */
    unsigned half;            /* of the SMs */
};

static struct spinner prepare(struct probe_run *r)
{
    struct spinner s = {.held = gpu_mapped(r, sizeof *s.held)};
    int per_sm = 0, n_sm = gpu_facts(r)->n_sm, least = 0, greatest = 0;
    s.spin = gpu_kernel(r, &image_deadlock, "deadlock_spin", sizeof(struct deadlock_spin_args));
    s.hold = gpu_kernel(r, &image_deadlock, "deadlock_hold", sizeof(struct hold_args));
    gpu_kernel_shared(s.hold, gpu_facts(r)->shared_per_block, 100);
    s.state = gpu_alloc(r, sizeof *s.state, "a word to give up by");
    s.tally = gpu_alloc(r, 2 * sizeof *s.tally, "tallies");
    s.came = gpu_alloc(r, sizeof *s.came, "a count of blocks");
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA(cudaStreamCreateWithFlags(&s.holder, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&s.second, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithPriority(&s.urgent, cudaStreamNonBlocking, greatest));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, (const void *)s.spin, SPIN_THREADS,
                                                       0));
    s.capacity = (unsigned)(per_sm * n_sm);
    s.half = (unsigned)n_sm / 2;
    return s;
}

/* Starts the holder: another kernel takes half of the SMs for HOLD_NS. */
static bool hold(struct probe_run *r, const struct spinner *s)
{
    struct hold_args a = {
        .came = s->came, .held = (uint32_t *)(uintptr_t)s->held, .ns = HOLD_NS};
    struct gpu_shape shape = {.grid = {s->half, 1, 1}, .block = SPIN_THREADS,
                              .shared = gpu_facts(r)->shared_per_block, .stream = s->holder};
    *s->held = 0;
    CUDA(cudaMemsetAsync(s->came, 0, sizeof *s->came, s->holder));
    gpu_launch_shape(r, s->hold, &shape, &a);
    const uint64_t launched = probe_host_ns(); /* the first launch may load the kernel */
    while (*s->held < s->half && probe_host_ns() - launched < HOLD_NS / 2)
        ;
    return *s->held == s->half;
}

/* Runs the launch of a scene, or both, until they end; says when the host had queued them. */
static cudaError_t spin(struct probe_run *r, const struct spinner *s, const struct scene *scene,
                        uint32_t patience_ns, uint64_t *queued)
{
    cudaStream_t second = scene->with == OVERTAKEN ? s->urgent : s->second;
    struct gpu_shape shape = {.block = SPIN_THREADS, .cooperative = scene->launch[0] == 'c',
                              .grid = {blocks_of(scene, s->capacity), 1, 1}};
    struct deadlock_spin_args a = {.state = s->state, .mine = s->tally, .others = s->tally + 1,
                                   .rounds = SPIN_ROUNDS, .extra = scene->extra,
                                   .quits = scene->quits, .budget_ns = patience_ns};
    cudaError_t result = gpu_try_launch(r, s->spin, &shape, &a);
    if (is_two(scene) && result == cudaSuccess) {
        shape.stream = second;
        a.mine = s->tally + 1, a.others = s->tally;
        result = gpu_try_launch(r, s->spin, &shape, &a);
    }
    *queued = probe_host_ns();
    /* what a refusal is, the caller judges */
    gpu_grants(result, "cudaLaunchKernelExC", __FILE__, __LINE__);
    gpu_wait(r);
    CUDA(cudaStreamSynchronize(second));
    return result;
}

static struct outcome play(struct probe_run *r, const struct spinner *s, const struct scene *scene,
                           uint32_t patience_ns)
{
    unsigned blocks = blocks_of(scene, s->capacity);
    bool held = true;
    struct spin_tally tally[2];

    CUDA(cudaMemsetAsync(s->tally, 0, sizeof tally, gpu_stream(r)));
    CUDA(cudaMemsetAsync(s->state, 0, sizeof *s->state, gpu_stream(r)));
    gpu_wait(r);
    uint64_t began = probe_host_ns(), queued; /* before the holder, or a late host made it short */
    if (is_held(scene))
        held = hold(r, s);
    cudaError_t result = spin(r, s, scene, patience_ns, &queued);
    unsigned took_us = (unsigned)((probe_host_ns() - began) / 1000);
    CUDA(cudaDeviceSynchronize());
    gpu_to_host(r, tally, s->tally, sizeof tally);

    bool complete = tally[0].crossed == blocks &&
                    tally[1].crossed == (is_two(scene) ? blocks : 0);
    unsigned longest = tally[tally[1].waited_ns > tally[0].waited_ns].waited_ns;
    struct outcome o = {complete ? COMPLETE : GIVEN_UP, took_us, longest / 1000, tally[0].beside};
    if (result != cudaSuccess)
        o.end = result == cudaErrorCooperativeLaunchTooLarge ? TOO_LARGE : OTHER;
    else if (!held || (is_held(scene) && queued - began >= HOLD_NS))
        o.end = NOT_HELD;
    return o;
}

/* The child's part: runs all scenes, and prints how they ended as its last line. */
static void play_all(struct probe_run *r)
{
    struct spinner s = prepare(r);
    struct outcome outcomes[PROBE_LENGTH(scenes)];
    for (size_t i = 0; i < PROBE_LENGTH(scenes); i++)
        outcomes[i] = play(r, &s, &scenes[i], is_held(&scenes[i]) ? OUTLAST_NS : PATIENCE_NS);
    for (size_t i = 0; i < PROBE_LENGTH(scenes); i++)
        fprintf(stderr, "%c,%u,%u,%u ", outcomes[i].end, outcomes[i].took_us,
                outcomes[i].waited_us, outcomes[i].beside);
    fprintf(stderr, "\n");
}

/* What the child reported for a scene, by its index in the table. */
static struct outcome outcome_of(const char *said, size_t scene)
{
    struct outcome o = {.end = OTHER};
    int length = 0;
    for (size_t i = 0; i <= scene; i++, said += length)
        if (sscanf(said, "%c,%u,%u,%u %n", &o.end, &o.took_us, &o.waited_us, &o.beside,
                   &length) != 4)
            return (struct outcome){.end = OTHER};
    return o;
}

/* Was the holder there? It must have held its SMs, and a launch that needed them must not have
 * ended before it let go. It cannot have let go within HOLD_NS of the moment before its launch: a
 * launch queued by then met it, and one that waited took no less, however late the host was. */
static bool checked_hold(struct probe_run *r, const struct outcome *o)
{
    return probe_require(r, o->end != NOT_HELD, "the other kernel holds half of the SMs") &&
           probe_require(r, o->took_us > HOLD_NS / 1000 * 9 / 10,
                         "it waits for the kernel that holds SMs for %d us: took %u us",
                         HOLD_NS / 1000, o->took_us);
}

static void hand_over(struct probe_run *r, const struct scene *scene, const struct outcome *o)
{
    if (is_two(scene) && scene->launch[0] == 'o' && o->beside == 0)
        probe_missing(r, COMPLETED, "the two kernels were not there at once");
    else
        probe_value(r, COMPLETED, o->end == COMPLETE);
    probe_value(r, REFUSED, o->end == TOO_LARGE);
    if (o->end == TOO_LARGE)
        return;
    probe_fact(r, "took_us", "%u", o->took_us);
    probe_fact(r, "longest_wait_us", "%u", o->waited_us);
    if (is_two(scene))
        probe_fact(r, "others_there_when_leaving", "%u", o->beside);
}

static void measure_scenes(struct probe_run *r)
{
    char said[1024] = "";
    bool asked = false;

    for (size_t i = 0; i < PROBE_LENGTH(scenes); i++) {
        const struct scene *scene = &scenes[i];
        if (!probe_begin_case(r, PROBE_TWICE, "scene=%s,launch=%s,blocks=%s", scene->scene,
                              scene->launch, scene->blocks))
            continue;
        const int status = asked ? 0 : probe_respawn(r, "play", 1, CHILD_MS, said, sizeof said);
        if (status != 0)
            probe_fail(r, "the child that plays the scenes ended with %d: %s", status, said);
        asked = true;
        struct outcome o = outcome_of(said, i);
        if (probe_require(r, o.end != OTHER, "the child says how it ended: '%s'", said) &&
            (!is_held(scene) || checked_hold(r, &o)))
            hand_over(r, scene, &o);
    }
}

/* --check runs scenes in this process: those that must complete, and one that must give up. */
static void check_scenes(struct probe_run *r)
{
    struct spinner s = prepare(r);
    struct scene beside = scenes[HALF_ALONE];
    beside.with = BUSY;
    if (!probe_begin_case(r, 0, "scene=checked"))
        return;
    probe_require(r, play(r, &s, &scenes[HALF_ALONE], LONG_PATIENCE_NS).end == COMPLETE,
                  "half the capacity completes");
    probe_require(r, play(r, &s, &beside, LONG_PATIENCE_NS).end == COMPLETE,
                  "half the capacity completes beside another kernel");
    probe_require(r, play(r, &s, &scenes[ONE_QUITS], PATIENCE_NS).end == GIVEN_UP,
                  "with a block gone, the others give up");
}

static void measure(struct probe_run *r)
{
    if (probe_parameter(r, "play"))
        play_all(r);
    else if (probe_is_check_run(r))
        check_scenes(r);
    else
        measure_scenes(r);
}

const struct probe probe = {
    .name = "deadlock",
    .what = "What becomes of a barrier to which not all blocks can come?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
