/* two_layers: in one kernel that stays, are two operations ever at work at once?
 *
 * Method. Two layers of two products each, y = s(W x) four times in turn, s(z) = z / (1 + |z|); W
 * of the first and third 28672 x 8192, of the others 8192 x 28672, bf16 from N(0,1): half of the
 * MLP of a model of 70B. All SMs have a block, and rows of every product. Each block writes down
 * when it works on what by %globaltimer: a task is a chunk of 1024 columns of its first 32 rows, or
 * its other rows. A task begins when its input is there, and ends when all threads have done their
 * part; waiting is in none.
 *     impl=barrier  a barrier of the grid behind each operation: no two can be at work at once
 *     impl=values   a word of a result has its epoch, and who needs it polls it; a block begins
 *                   with the first chunk that is there. One item
 *     impl=turns    the same for two items that depend on nothing, operation by operation: a block
 *                   that is done with an operation finds the other item's words there
 *     impl=halves   half of the blocks do the first layer, the others the second, for four items:
 *                   two operations are at work most of the time, and must be seen
 * `overlap` is the share of the time, from the first begin to the last end, in which two operations
 * or more have a task; two operations of one layer count as two. `layer_overlap` is the share in
 * which both layers have one. `overlap_least` and `overlap_most` are what it is at least and at
 * most, given how far apart two SMs' stamps of one moment can be.
 *
 * The clock. `resolution`: the least step that a reading makes, on the SM where it is greatest.
 * `stamp_error`: one SM asks each other one for its time, through the L2, 32 times; the answer's
 * stamp cannot be from before the question, nor from after it came. So each pair of SMs agrees
 * within the widest of these bounds, and a step: a bound, and no estimate. No answer may lie
 * outside, and no reading may be less than the one before.
 *
 * Inside the timed region of `time`: a launch over all items, between two events, with its stamps.
 * What is checked, before timing and after: every word of every operation against float64, from the
 * words that the operation before left; poisoned words. `caught`: a kernel that waits for no word
 * must be seen to be wrong.
 * --set model and hidden take two other layers: multiples of 8, whose vectors fit into shared
 * memory and whose rows have 31 chunks at most, since a block has room for 32 stamps of an
 * operation.
 *
 * Expected on an H200, before any measurement. 470 MB an operation, 105 us; 430 us in all. A step
 * of 32 ns, and messages of 1.4 us there and back: the stamps' error is 1.4 us, at three edges 1 %
 * of the time. Blocks have equal parts and end within 3 us of each other: values overlap for 2 %,
 * since the first chunks are published with the rest. turns 5 %: seven edges, at which blocks drift
 * apart. halves 60 %. barrier none, at most 1.5 % by the error of the stamps. Found: 520 us; values
 * 7 % (6 to 11 by run), turns 15, halves 74, barrier none; the stamps' error is 0.9 us.
 * Expected of layers, before any measurement: they meet at one edge of three (turns: seven), so
 * values 2 %, turns 3, less at least by the stamps' error of 0.2 %; halves 74, since each half has
 * a layer; barrier none. By values and turns C08 is between its thresholds; by halves, which its
 * rule asks since 28 November 2026, it is refuted. Found: values 1 %, turns 4, halves 72, barrier
 * none.
 *
 * Traps. A block that polls is not at work; neither is one whose weights are asked for ahead, which
 * nobody does here. The clock of each SM (clock64) counts for itself and orders nothing between
 * SMs. Where the shared clock ticks every 1 us, all this is too coarse: overlap_most says so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/verdict.h"
#include "fused/common/operation.h"
#include "fused/two_layers/args.h"
#include "fused/two_layers/stamps.h"

PROBE_IMAGE(two_layers);
PROBE_IMAGE(two_layers_check);

enum {
    OVERLAP,
    LEAST,
    MOST,
    LAYERS,
    LAYERS_LEAST,
    LAYERS_MOST,
    TIME,
    RESOLUTION,
    STAMP_ERROR,
    ERROR,
    CAUGHT
};
#define KEYS "model,hidden,impl"
static const struct probe_metric metrics[] = {
    [OVERLAP] = {"overlap", "ratio", PROBE_HIGHER, .keys = KEYS,
                 .what = "share of the time in which two operations are at work, as stamped"},
    [LEAST] = {"overlap_least", "ratio", PROBE_HIGHER, .keys = KEYS,
               .what = "the same at least, given the stamps' error"},
    [MOST] = {"overlap_most", "ratio", PROBE_HIGHER, .keys = KEYS,
              .what = "the same at most, given the stamps' error"},
    [LAYERS] = {"layer_overlap", "ratio", PROBE_HIGHER, .keys = KEYS,
                .what = "share of the time in which two layers are at work, as stamped"},
    [LAYERS_LEAST] = {"layer_overlap_least", "ratio", PROBE_HIGHER, .keys = KEYS,
                      .what = "that at least, given the stamps' error"},
    [LAYERS_MOST] = {"layer_overlap_most", "ratio", PROBE_HIGHER, .keys = KEYS,
                     .what = "that at most, given the stamps' error"},
    [TIME] = {"time", "ns", PROBE_LOWER, PROBE_EACH, "event", KEYS,
              "a launch over all items, divided by their number"},
    [RESOLUTION] = {"resolution", "ns", PROBE_LOWER, PROBE_EACH, "device", KEYS,
                    "the least step of the clock that all SMs share"},
    [STAMP_ERROR] = {"stamp_error", "ns", PROBE_LOWER, PROBE_EACH, "device", KEYS,
                     "two SMs' stamps of one moment are at most so far apart"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
               .what = "relative Frobenius norm of the difference from float64"},
    [CAUGHT] = {"caught", "ratio", PROBE_HIGHER, .keys = KEYS,
                .what = "share of kernels without a wait whose results are seen to be wrong"},
};

static const struct probe_parameter parameters[] = {
    {"model", 0, 0, 1 << 17, "of the two layers to measure; 0: 8192", NULL},
    {"hidden", 0, 0, 1 << 17, "of the two layers to measure; 0: 28672", NULL},
};

enum {
    MODEL = 8192,
    HIDDEN = 28672,
    BUDGET_NS = 200000000,
    BESIDE = 2 * DECODER_BLOCK_ROWS * DECODER_WARPS * 4, /* bytes of scratch in front of x */
    LOOKS = 5,   /* launches whose stamps are read; their median counts */
    APART = 128, /* bytes from one block's messages to the next one's */
};

enum impl { IMPL_BARRIER, IMPL_VALUES, IMPL_TURNS, IMPL_HALVES, N_IMPLS };
static const struct way {
    const char *name, *what;
    uint32_t items;
    bool by_items, by_layer;
} ways[N_IMPLS] = {
    [IMPL_BARRIER] = {"barrier", "a barrier of the grid behind each operation", 1, false, false},
    [IMPL_VALUES] = {"values", "words that are polled, one item", 1, false, false},
    [IMPL_TURNS] = {"turns", "words that are polled, two items in turn", 2, false, false},
    [IMPL_HALVES] = {"halves", "a layer on each half of the blocks, four items", 4, true, true},
};

/* --- memory ----------------------------------------------------------------------------------- */

struct problem {
    uint32_t model, hidden, width, blocks, epoch;
    struct pool weights; /* a set is an operation */
    float *input;
    uint64_t *words;
    struct two_layers_task *tasks, *found; /* on the GPU, on the host */
    size_t words_bytes, tasks_bytes;
    struct grid_barrier_state *barrier;
    cudaKernel_t values, with_barrier, clock, verify;
    double error_ns, step_ns;
};

static struct problem open_problem(struct probe_run *r, uint32_t model, uint32_t hidden)
{
    const size_t size = sizeof(struct two_layers_args);
    struct problem p = {.model = model, .hidden = hidden, .epoch = 1};
    p.width = model > hidden ? model : hidden;
    p.blocks = (uint32_t)gpu_facts(r)->n_sm / 2 * 2; /* two halves */
    p.words_bytes = 8 * (size_t)LAYERS_ITEMS * LAYERS_OPERATIONS * p.width;
    p.tasks_bytes = sizeof *p.tasks * p.blocks * LAYERS_ITEMS * LAYERS_OPERATIONS * LAYERS_TASKS;
    p.weights = pool_normal(r, GPU_BF16, (size_t)model * hidden, LAYERS_OPERATIONS, probe_seed(r),
                            "four matrices");
    p.input = gpu_alloc(r, 4 * (size_t)LAYERS_ITEMS * model, "x of all items");
    gpu_fill_normal(r, p.input, GPU_FP32, (size_t)LAYERS_ITEMS * model, probe_seed(r) + 1);
    p.words = gpu_alloc(r, p.words_bytes, "results as words");
    p.tasks = gpu_alloc(r, p.tasks_bytes, "stamps");
    p.found = probe_host_alloc(r, p.tasks_bytes);
    p.barrier = gpu_alloc(r, sizeof *p.barrier, "the grid's barrier");
    CUDA(cudaMemsetAsync(p.barrier, 0, sizeof *p.barrier, gpu_stream(r)));
    p.values = gpu_kernel(r, &image_two_layers, "two_layers_values", size);
    p.with_barrier = gpu_kernel(r, &image_two_layers, "two_layers_barrier", size);
    p.clock =
        gpu_kernel(r, &image_two_layers, "two_layers_clock", sizeof(struct two_layers_clock_args));
    p.verify = gpu_kernel(r, &image_two_layers_check, "two_layers_verify",
                          sizeof(struct two_layers_verify_args));
    return p;
}

static void close_problem(struct probe_run *r, struct problem *p)
{
    pool_free(r, &p->weights);
    gpu_release(r, p->input);
    gpu_release(r, p->words);
    gpu_release(r, p->tasks);
    gpu_release(r, p->barrier);
    free(p->found);
}

static void poison(struct probe_run *r, const struct problem *p)
{
    gpu_poison(r, p->words, p->words_bytes); /* an epoch of all ones is never reached */
    CUDA(cudaMemsetAsync(p->tasks, 0, p->tasks_bytes, gpu_stream(r)));
}

static double scale_of(uint32_t columns)
{
    return 2 / sqrt(columns);
}

/* Words have an epoch that no earlier launch used. */
static struct two_layers_args prepare(struct probe_run *r, struct problem *p, enum impl impl,
                                      bool is_blind, struct gpu_shape *shape)
{
    *shape = (struct gpu_shape){.grid = {p->blocks, 1, 1},
                                .block = DECODER_THREADS,
                                .shared = BESIDE + 2 * (size_t)p->width,
                                .cooperative = true};
    if (shape->shared > gpu_facts(r)->shared_per_block)
        probe_skip(r, "x of %u elements does not fit into shared memory", p->width);
    gpu_kernel_shared(impl == IMPL_BARRIER ? p->with_barrier : p->values, shape->shared, -1);
    p->epoch++;
    return (struct two_layers_args){.weights = p->weights.memory,
                                    .weight_stride = p->weights.stride,
                                    .input = p->input,
                                    .words = p->words,
                                    .tasks = p->tasks,
                                    .barrier = p->barrier,
                                    .model = p->model,
                                    .hidden = p->hidden,
                                    .width = p->width,
                                    .items = ways[impl].items,
                                    .epoch = p->epoch,
                                    .budget_ns = BUDGET_NS,
                                    .by_items = ways[impl].by_items,
                                    .by_layer = ways[impl].by_layer,
                                    .is_blind = is_blind,
                                    .up_scale = (float)scale_of(p->model),
                                    .down_scale = (float)scale_of(p->hidden)};
}

static void launch(struct probe_run *r, struct problem *p, enum impl impl, bool is_blind)
{
    struct gpu_shape shape;
    const struct two_layers_args a = prepare(r, p, impl, is_blind, &shape);
    gpu_launch_shape(r, impl == IMPL_BARRIER ? p->with_barrier : p->values, &shape, &a);
}

/* --- is it right? ----------------------------------------------------------------------------- */

static bool gave_up(struct probe_run *r, const struct problem *p)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &p->barrier->aborted, sizeof aborted);
    if (aborted)
        CUDA(cudaMemsetAsync(p->barrier, 0, sizeof *p->barrier, gpu_stream(r)));
    return aborted != 0;
}

static struct verdict verdict_of(struct probe_run *r, const struct problem *p, enum impl impl)
{
    const struct two_layers_verify_args a = {.weights = p->weights.memory,
                                             .weight_stride = p->weights.stride,
                                             .input = p->input,
                                             .words = p->words,
                                             .verdict = verdict_clear(r),
                                             .model = p->model,
                                             .hidden = p->hidden,
                                             .width = p->width,
                                             .items = ways[impl].items,
                                             .epoch = p->epoch,
                                             .up_scale = (float)scale_of(p->model),
                                             .down_scale = (float)scale_of(p->hidden)};
    gpu_launch(r, p->verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

static double verify(struct probe_run *r, const struct problem *p, enum impl impl, const char *when)
{
    const struct verdict v = verdict_of(r, p, impl);
    const uint64_t each = 2 * ((uint64_t)p->model + p->hidden);
    probe_require(r, !gave_up(r, p), "%s: no block waited longer than its budget", when);
    return verdict_check(r, &v, ways[impl].items * each, when);
}

/* --- the clock -------------------------------------------------------------------------------- */

static void measure_clock(struct probe_run *r, struct problem *p)
{
    const size_t bytes = sizeof(struct two_layers_clock) * p->blocks;
    struct two_layers_clock *found = probe_host_alloc(r, bytes);
    struct two_layers_clock_args a = {
        .found = gpu_alloc(r, bytes, "what blocks found of their clocks"),
        .question = gpu_alloc(r, (size_t)APART * p->blocks, "questions"),
        .answer = gpu_alloc(r, (size_t)APART * p->blocks, "answers"),
        .barrier = p->barrier,
        .budget_ns = BUDGET_NS};
    const struct gpu_shape shape = {.grid = {p->blocks, 1, 1},
                                    .block = 32,
                                    .cooperative = true,
                                    .shared = gpu_facts(r)->shared_per_sm / 2};
    uint32_t outside = 0, backwards = 0;

    gpu_kernel_shared(p->clock, shape.shared, 100); /* so that each SM has one of them */
    CUDA(cudaMemsetAsync(a.question, 0, (size_t)APART * p->blocks, gpu_stream(r)));
    CUDA(cudaMemsetAsync(a.answer, 0, (size_t)APART * p->blocks, gpu_stream(r)));
    gpu_launch_shape(r, p->clock, &shape, &a);
    gpu_to_host(r, found, a.found, bytes);
    probe_require(r, !gave_up(r, p), "every question about the time is answered");
    for (size_t i = 0; i < p->blocks; i++) {
        outside += i > 0 ? found[i].outside : 0;
        backwards += found[i].backwards;
        p->step_ns = fmax(p->step_ns, (double)found[i].step_ns);
    }
    probe_require(
        r, outside == 0 && backwards == 0,
        "%u answers from before the question or after they came, %u readings that are less "
        "than the one before",
        outside, backwards);
    p->error_ns = clock_error_ns(found, p->blocks);
    gpu_release(r, a.found);
    gpu_release(r, a.question);
    gpu_release(r, a.answer);
    free(found);
}

/* --- the cases -------------------------------------------------------------------------------- */

static int by_share(const void *a, const void *b)
{
    const struct overlap *one = a, *other = b;
    return (one->stamped > other->stamped) - (one->stamped < other->stamped);
}

/* The median of a few launches, by operations and by layers. */
struct overlaps {
    struct overlap operations, layers;
};

static struct overlaps look(struct probe_run *r, struct problem *p, enum impl impl)
{
    const uint32_t items = ways[impl].items;
    struct overlap of[LOOKS], by_layer[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
        CUDA(cudaMemsetAsync(p->tasks, 0, p->tasks_bytes, gpu_stream(r)));
        launch(r, p, impl, false);
        gpu_to_host(r, p->found, p->tasks, p->tasks_bytes);
        of[i] = overlap_of(p->found, p->blocks, items, 1, p->error_ns);
        by_layer[i] = overlap_of(p->found, p->blocks, items, LAYERS_JOINED, p->error_ns);
        probe_require(r, !isnan(of[i].stamped), "every task has a begin and an end behind it");
    }
    qsort(of, LOOKS, sizeof *of, by_share);
    qsort(by_layer, LOOKS, sizeof *by_layer, by_share);
    return (struct overlaps){of[LOOKS / 2], by_layer[LOOKS / 2]};
}

static void measure_impl(struct probe_run *r, struct problem *p, enum impl impl)
{
    struct gpu_shape shape;
    if (!probe_begin_case(r, 0, "model=%u,hidden=%u,impl=%s", p->model, p->hidden, ways[impl].name))
        return;
    poison(r, p);
    launch(r, p, impl, false);
    const double error = verify(r, p, impl, "before timing");

    poison(r, p);
    while (probe_more(r)) {
        const struct two_layers_args a = prepare(r, p, impl, false, &shape);
        probe_sample(
            r, TIME, ways[impl].items,
            gpu_launch_ns(r, impl == IMPL_BARRIER ? p->with_barrier : p->values, &shape, &a));
    }
    const struct overlaps found = look(r, p, impl);
    const struct overlap o = found.operations, layers = found.layers;

    verify(r, p, impl, "after timing");
    probe_value(r, ERROR, error);
    probe_value(r, OVERLAP, o.stamped);
    probe_value(r, LEAST, o.least);
    probe_value(r, MOST, o.most);
    probe_value(r, LAYERS, layers.stamped);
    probe_value(r, LAYERS_LEAST, layers.least);
    probe_value(r, LAYERS_MOST, layers.most);
    probe_value(r, RESOLUTION, p->step_ns);
    probe_value(r, STAMP_ERROR, p->error_ns);
    probe_fact(r, "packaging", "%s", ways[impl].what);
    probe_fact(r, "tasks", "%zu of %u blocks", o.tasks, p->blocks);
}

static void measure_faults(struct probe_run *r, struct problem *p)
{
    static const enum impl waits[] = {IMPL_VALUES, IMPL_HALVES};
    int caught = 0;
    if (!probe_begin_case(r, PROBE_TWICE, "model=%u,hidden=%u,impl=unwaited", p->model, p->hidden))
        return;
    for (size_t i = 0; i < PROBE_LENGTH(waits); i++)
        for (int is_blind = 0; is_blind < 2; is_blind++) {
            poison(r, p);
            launch(r, p, waits[i], is_blind);
            const struct verdict v = verdict_of(r, p, waits[i]);
            const bool is_seen = gave_up(r, p) || v.wrong > 0;
            if (is_blind)
                caught += is_seen;
            else
                probe_require(r, !is_seen, "a kernel that waits is not taken for a wrong one");
        }
    probe_value(r, CAUGHT, caught / (double)PROBE_LENGTH(waits));
}

static void measure_point(struct probe_run *r, uint32_t model, uint32_t hidden)
{
    struct problem p = open_problem(r, model, hidden);
    measure_clock(r, &p);
    for (enum impl impl = 0; impl < N_IMPLS; impl++)
        measure_impl(r, &p, impl);
    measure_faults(r, &p);
    close_problem(r, &p);
}

/* A row is whole vectors; it fits into shared memory, and its chunks and the other rows have
 * stamps. */
static uint32_t most_columns(struct probe_run *r)
{
    const size_t stamped = (LAYERS_TASKS - 1) * DECODER_CHUNK;
    const size_t held = (gpu_facts(r)->shared_per_block - BESIDE) / 2 / 8 * 8;
    return (uint32_t)(held < stamped ? held : stamped);
}

static void measure_given(struct probe_run *r, uint32_t model, uint32_t hidden)
{
    const uint32_t most = most_columns(r), m = model ? model : MODEL, n = hidden ? hidden : HIDDEN;
    const bool fits = m % 8 == 0 && m <= most;
    if (!fits || n % 8 || n > most)
        probe_usage(r, "%s=%u: expected a multiple of 8 up to %u", fits ? "hidden" : "model",
                    fits ? n : m, most);
    measure_point(r, m, n);
}

static void measure(struct probe_run *r)
{
    const uint32_t model = (uint32_t)probe_parameter(r, "model");
    const uint32_t hidden = (uint32_t)probe_parameter(r, "hidden");
    if (model || hidden) {
        measure_given(r, model, hidden);
        return;
    }
    if (!probe_is_check_run(r)) {
        measure_point(r, MODEL, HIDDEN);
        return;
    }
    measure_point(r, 1032, 2056); /* chunks that are short, rows that no number of blocks divides */
    measure_point(r, 264,
                  16392); /* and blocks with more than 32 rows of one product, few of another */
}

const struct probe probe = {
    .name = "two_layers",
    .what = "In one kernel that stays, are two operations ever at work at once?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
