#include "fused/two_stages/pack.h"

#include <math.h>
#include <stdio.h>

PROBE_IMAGE(two_stages);

enum {
    BUDGET_NS = 200000000,
    RESERVED = 1024,  /* bytes of shared memory that the system takes of each block */
    STATIC = 256,     /* that the kernels declare, at most */
    LEAST_STAGES = 3, /* of a ring that keeps the memory busy */
};

const struct stages_way stages_ways[N_STAGES_IMPLS] = {
    [STAGES_ALL] = {"all", "a kernel for each stage, on all SMs, in a graph", .by_halves = false},
    [STAGES_DEPENDENT] = {"dependent", "the same as programmatic dependents", .by_halves = false},
    [STAGES_STREAMS] = {"streams", "two streams, half of the blocks each", .by_halves = true},
    [STAGES_GREEN] = {"green", "two green contexts, half of the SMs each", .by_halves = true},
    [STAGES_STAY] = {"stay", "one kernel, both stages on all SMs, in turn", .stays = true},
    [STAGES_TURNS] = {"turns", "one kernel on all SMs, the second stage an item behind",
                      .stays = true, .lags = true},
    [STAGES_QUEUE] = {"queue", "one kernel, a stage on each half of the SMs", .stays = true},
    [STAGES_STAY_SHARED] = {"stay_shared", "as stay, weights in shared memory", .stays = true,
                            .in_shared = true},
    [STAGES_TURNS_SHARED] = {"turns_shared", "as turns, weights in shared memory", .stays = true,
                             .in_shared = true, .lags = true},
    [STAGES_QUEUE_SHARED] = {"queue_shared", "as queue, weights in shared memory", .stays = true,
                             .in_shared = true},
};

static bool is_queue(enum stages_impl impl)
{
    return impl == STAGES_QUEUE || impl == STAGES_QUEUE_SHARED;
}

/* --- memory ----------------------------------------------------------------------------------- */

bool stages_fits(uint32_t columns)
{
    return columns >= 8 && columns % 8 == 0;
}

static void load_kernels(struct probe_run *r, struct stages *s)
{
    const size_t size = sizeof(struct two_stages_args);
    s->k_up = gpu_kernel(r, &image_two_stages, "two_stages_up", size);
    s->k_down = gpu_kernel(r, &image_two_stages, "two_stages_down", size);
    s->k_stay = gpu_kernel(r, &image_two_stages, "two_stages_stay", size);
    s->k_shared = gpu_kernel(r, &image_two_stages, "two_stages_shared", size);
    s->k_up_dependent = gpu_kernel_if_any(r, &image_two_stages, "two_stages_up_dependent", size);
    s->k_down_dependent =
        gpu_kernel_if_any(r, &image_two_stages, "two_stages_down_dependent", size);
}

struct stages stages_open(struct probe_run *r, uint32_t model, uint32_t hidden, uint32_t sets,
                          uint32_t items)
{
    const size_t words = (size_t)STAGES_SLOTS * hidden / 2 * 8, plain = (size_t)items * hidden * 2;
    const size_t vectors = (size_t)items * model;
    const uint64_t seed = probe_seed(r);
    struct stages s = {.shape = {.hidden = model, .heads = 1, .kv_heads = 1, .ffn = hidden},
                       .sets = sets,
                       .items = items,
                       .epoch = 1,
                       .h_bytes = words > plain ? words : plain};

    load_kernels(r, &s);
    s.up = pool_normal(r, GPU_BF16, (size_t)model * hidden, sets, seed, "W1");
    s.down = pool_normal(r, GPU_BF16, (size_t)model * hidden, sets, seed + 1, "W2");
    s.x = gpu_alloc(r, 4 * vectors, "x of all items");
    gpu_fill_normal(r, s.x, GPU_FP32, vectors, seed + 2);
    for (int order = 0; order < N_STAGES_ORDERS; order++)
        s.y[order] = gpu_alloc(r, 4 * vectors, "y of all items");
    s.h = gpu_alloc(r, s.h_bytes, "what the stages hand over");
    s.back = gpu_alloc(r, (size_t)model * 8, "y as words");
    s.counters = gpu_alloc(r, STAGES_COUNTERS * STAGES_COUNTER * 4, "counters");
    s.state = gpu_alloc(r, sizeof *s.state, "the sign to give up");
    CUDA(cudaMemsetAsync(s.state, 0, sizeof *s.state, gpu_stream(r)));
    return s;
}

void stages_close(struct probe_run *r, struct stages *s)
{
    void *const memory[] = {s->x,        s->y[STAGES_FREE], s->y[STAGES_CHAIN], s->h, s->back,
                            s->counters, s->state};
    pool_free(r, &s->up);
    pool_free(r, &s->down);
    for (size_t i = 0; i < PROBE_LENGTH(memory); i++)
        gpu_release(r, memory[i]);
}

/* An epoch of all ones is never reached: no word is fresh. */
void stages_poison(struct probe_run *r, const struct stages *s)
{
    gpu_poison(r, s->h, s->h_bytes);
    gpu_poison(r, s->back, (size_t)s->shape.hidden * 8);
    for (int order = 0; order < N_STAGES_ORDERS; order++)
        gpu_poison(r, s->y[order], 4 * (size_t)s->items * s->shape.hidden);
}

/* --- shared memory ---------------------------------------------------------------------------- */

static bool has_ring(struct probe_run *r)
{
    return gpu_facts(r)->cc >= 90;
}

/* Blocks of a packaging on one SM. */
static unsigned blocks_of(struct probe_run *r, enum stages_impl impl)
{
    return stages_ways[impl].in_shared || has_ring(r) ? 1 : STAGES_BLOCKS_NO_RING;
}

static unsigned threads_of(struct probe_run *r, enum stages_impl impl)
{
    return stages_ways[impl].in_shared || !has_ring(r) ? DECODER_THREADS : STAGES_THREADS_RING;
}

/* As many stages as leave room for so many blocks on an SM; 0 where these are too few. */
static uint32_t stages_for(struct probe_run *r, const struct stages *s, size_t blocks)
{
    const struct gpu_facts *f = gpu_facts(r);
    const size_t most = f->shared_per_sm / blocks - RESERVED;
    const size_t room = (most < f->shared_per_block ? most : f->shared_per_block) - STATIC;
    uint32_t stages = DECODER_STAGES;
    while (stages >= LEAST_STAGES && decoder_shared_of(&s->shape, 1, stages, 0).bytes > room)
        stages--;
    return stages >= LEAST_STAGES ? stages : 0;
}

/* Of the ring. A dependent begins beside the kernel before, if there is room for both. */
static uint32_t stages_of(struct probe_run *r, const struct stages *s, enum stages_impl impl)
{
    if (stages_ways[impl].in_shared || !has_ring(r))
        return 0;
    const uint32_t of_two = impl == STAGES_DEPENDENT ? stages_for(r, s, 2) : 0;
    return of_two > 0 ? of_two : stages_for(r, s, 1);
}

static size_t rows_of(uint32_t units, uint32_t blocks, size_t bytes)
{
    return (units + blocks - 1) / blocks * bytes;
}

static size_t shared_of(struct probe_run *r, const struct stages *s, enum stages_impl impl)
{
    const uint32_t sms = (uint32_t)gpu_facts(r)->n_sm, model = s->shape.hidden, ffn = s->shape.ffn;
    const uint32_t stages = stages_of(r, s, impl);
    const size_t beside = decoder_shared_of(&s->shape, 1, stages, 0).bytes + 16;
    if (!stages_ways[impl].in_shared)
        return beside;
    const uint32_t half = is_queue(impl) ? sms / 2 : sms, rest = is_queue(impl) ? sms - half : sms;
    const size_t up = rows_of(ffn / 2, half, 4 * model), down = rows_of(model, rest, 2 * ffn);
    if (!is_queue(impl))
        return beside + up + down;
    const size_t least = gpu_facts(r)->shared_per_sm / 2; /* one block on an SM, and not two */
    const size_t all = beside + (up > down ? up : down);
    return all > least ? all : least;
}

static bool has_room(struct probe_run *r, const struct stages *s, enum stages_impl impl)
{
    const struct gpu_facts *f = gpu_facts(r);
    const size_t needs = shared_of(r, s, impl) + STATIC;
    if (has_ring(r) && !stages_ways[impl].in_shared)
        return stages_of(r, s, impl) > 0;
    return needs <= f->shared_per_block &&
           blocks_of(r, impl) * (needs + RESERVED) <= f->shared_per_sm;
}

/* --- a packaging ------------------------------------------------------------------------------ */

static struct two_stages_args args_of(struct probe_run *r, const struct stages *s,
                                      enum stages_impl impl, struct stages_work w);

static struct gpu_shape shape_of_half(struct probe_run *r, const struct stages *s, int i)
{
    return (struct gpu_shape){.grid = {blocks_of(r, STAGES_STREAMS) * s->halves.sms[i], 1, 1},
                              .block = threads_of(r, STAGES_STREAMS),
                              .shared = shared_of(r, s, STAGES_STREAMS),
                              .stream = s->halves.stream[i]};
}

/* Does a kernel start in both green contexts? What it writes is poisoned behind it. */
static bool green_starts(struct probe_run *r, const struct stages *s)
{
    const struct stages_work one = {.items = 1};
    const struct two_stages_args a = args_of(r, s, STAGES_GREEN, one);
    gpu_wait(r);
    for (int i = 0; i < 2; i++) {
        const struct gpu_shape shape = shape_of_half(r, s, i);
        if (!CUDA_GRANTS(gpu_try_launch(r, i ? s->k_down : s->k_up, &shape, &a)) ||
            !CUDA_GRANTS(cudaStreamSynchronize(shape.stream)))
            return false;
    }
    return true;
}

const char *stages_begin(struct probe_run *r, struct stages *s, enum stages_impl impl, char *why,
                         size_t size)
{
    cudaKernel_t const kernels[] = {s->k_up, s->k_down, s->k_stay, s->k_up_dependent,
                                    s->k_down_dependent};
    const size_t events = 2 * (size_t)s->items + 2, shared = shared_of(r, s, impl);

    if (impl == STAGES_DEPENDENT && !s->k_up_dependent)
        return "dependent launches begin with compute capability 9.0";
    if (!has_room(r, s, impl))
        return stages_ways[impl].in_shared ? "the SMs' shared memory does not hold the weights"
                                           : "shared memory has no room for x and a ring";
    if (stages_ways[impl].in_shared)
        gpu_kernel_shared(s->k_shared, shared, -1);
    for (size_t i = 0; i < PROBE_LENGTH(kernels) && !stages_ways[impl].in_shared; i++)
        if (kernels[i] && shared > 40 << 10)
            gpu_kernel_shared(kernels[i], shared, has_ring(r) ? 100 : -1);
    if (impl == STAGES_STREAMS)
        halves_open_streams(r, &s->halves, events);
    if (impl == STAGES_GREEN && !halves_open_green(r, &s->halves, events, why, size))
        return why;
    if (impl == STAGES_GREEN && !green_starts(r, s)) {
        halves_close(&s->halves);
        return "a kernel was refused by the stream of a green context";
    }
    return NULL;
}

void stages_end(struct stages *s, enum stages_impl impl)
{
    if (stages_ways[impl].by_halves)
        halves_close(&s->halves);
}

static struct two_stages_args args_of(struct probe_run *r, const struct stages *s,
                                      enum stages_impl impl, struct stages_work w)
{
    return (struct two_stages_args){
        .shape = s->shape,
        .up = s->up.memory,
        .down = s->down.memory,
        .up_stride = s->up.stride,
        .down_stride = s->down.stride,
        .x = s->x,
        .h = s->h,
        .back = s->back,
        .y = s->y[w.order],
        .counters = s->counters,
        .state = s->state,
        .up_scale = (float)(2 / sqrt(s->shape.hidden)),
        .down_scale = (float)(2 / sqrt(s->shape.ffn)),
        .sets = s->sets,
        .items = w.items,
        .slots = stages_ways[impl].stays ? STAGES_SLOTS : s->items,
        .epoch = s->epoch,
        .budget_ns = BUDGET_NS,
        .first_sms = is_queue(impl) ? (uint32_t)gpu_facts(r)->n_sm / 2 : 0,
        .lag = stages_ways[impl].lags,
        .is_chain = w.order == STAGES_CHAIN,
        .blind = w.blind,
        .shared = (uint32_t)shared_of(r, s, impl),
        .stages = stages_of(r, s, impl),
    };
}

/* All items by one launch. Its words have epochs that no earlier launch used. */
static struct two_stages_args prepare_stay(struct probe_run *r, struct stages *s,
                                           enum stages_impl impl, struct stages_work w,
                                           struct gpu_shape *shape)
{
    const struct two_stages_args a = args_of(r, s, impl, w);
    *shape = (struct gpu_shape){.grid = {blocks_of(r, impl) * (unsigned)gpu_facts(r)->n_sm, 1, 1},
                                .block = threads_of(r, impl),
                                .shared = shared_of(r, s, impl),
                                .cooperative = true};
    CUDA(cudaMemsetAsync(s->counters, 0, STAGES_COUNTERS * STAGES_COUNTER * 4, gpu_stream(r)));
    s->epoch += w.items;
    return a;
}

/* Two launches for each item, one behind the other. */
static void launch_kernels(struct probe_run *r, struct stages *s, enum stages_impl impl,
                           struct stages_work w)
{
    const bool dependent = impl == STAGES_DEPENDENT;
    struct two_stages_args a = args_of(r, s, impl, w);
    const unsigned blocks = blocks_of(r, impl) * (unsigned)gpu_facts(r)->n_sm;
    const struct gpu_shape shape = {.grid = {blocks, 1, 1},
                                    .block = threads_of(r, impl),
                                    .shared = shared_of(r, s, impl),
                                    .dependent = dependent};
    for (a.item = 0; a.item < w.items; a.item++) {
        gpu_launch_shape(r, dependent ? s->k_up_dependent : s->k_up, &shape, &a);
        gpu_launch_shape(r, dependent ? s->k_down_dependent : s->k_down, &shape, &a);
    }
}

/* The same on two streams, with an event from the first to the second, and in a chain back. */
static void launch_halves(struct probe_run *r, struct stages *s, enum stages_impl impl,
                          struct stages_work w)
{
    const struct halves *h = &s->halves;
    const cudaEvent_t fork = h->event[2 * s->items], join = h->event[2 * s->items + 1];
    struct two_stages_args a = args_of(r, s, impl, w);
    struct gpu_shape shape[2];

    CUDA(cudaEventRecord(fork, gpu_stream(r)));
    for (int i = 0; i < 2; i++) {
        shape[i] = shape_of_half(r, s, i);
        CUDA(cudaStreamWaitEvent(h->stream[i], fork, 0));
    }
    for (a.item = 0; a.item < w.items; a.item++) {
        const cudaEvent_t *done = &h->event[2 * a.item];
        if (a.is_chain && a.item > 0)
            CUDA(cudaStreamWaitEvent(h->stream[0], done[-1], 0));
        gpu_launch_shape(r, s->k_up, &shape[0], &a);
        CUDA(cudaEventRecord(done[0], h->stream[0]));
        CUDA(cudaStreamWaitEvent(h->stream[1], done[0], 0));
        gpu_launch_shape(r, s->k_down, &shape[1], &a);
        if (a.is_chain)
            CUDA(cudaEventRecord(done[1], h->stream[1]));
    }
    CUDA(cudaEventRecord(join, h->stream[1])); /* behind all of the first stream, too */
    CUDA(cudaStreamWaitEvent(gpu_stream(r), join, 0));
}

void stages_launch(struct probe_run *r, struct stages *s, enum stages_impl impl,
                   struct stages_work w)
{
    struct gpu_shape shape;
    if (stages_ways[impl].by_halves)
        launch_halves(r, s, impl, w);
    else if (!stages_ways[impl].stays)
        launch_kernels(r, s, impl, w);
    else {
        const struct two_stages_args a = prepare_stay(r, s, impl, w, &shape);
        gpu_launch_shape(r, stages_ways[impl].in_shared ? s->k_shared : s->k_stay, &shape, &a);
    }
}

/* --- the timed region ------------------------------------------------------------------------- */

static double time_halves(struct probe_run *r, struct stages *s, enum stages_impl impl,
                          struct stages_work w)
{
    gpu_time_start(r);
    launch_halves(r, s, impl, w);
    return gpu_time_stop(r).ns;
}

double stages_time(struct probe_run *r, struct stages *s, enum stages_impl impl,
                   struct stages_work w, const struct gpu_graph *graph)
{
    struct gpu_shape shape;
    if (stages_ways[impl].by_halves)
        return time_halves(r, s, impl, w);
    if (!stages_ways[impl].stays)
        return gpu_replay_ns(r, graph);
    const struct two_stages_args a = prepare_stay(r, s, impl, w, &shape);
    return gpu_launch_ns(r, stages_ways[impl].in_shared ? s->k_shared : s->k_stay, &shape, &a);
}

void stages_seats(struct probe_run *r, const struct stages *s, uint32_t seats[2])
{
    uint32_t all[STAGES_COUNTERS * STAGES_COUNTER];
    gpu_to_host(r, all, s->counters, sizeof all);
    seats[0] = all[STAGES_FIRST * STAGES_COUNTER];
    seats[1] = all[STAGES_SECOND * STAGES_COUNTER];
}
