#include "fused/common/operation.h"

#include <math.h>

#include "fused/common/copy.h"

PROBE_IMAGE(copy);

enum { SETS_MAX = 32, OPERATIONS_MAX = 16, LONG_BYTES = 8 << 20 };
/* Unused bytes after a long buffer, so that the next buffer is no power of two away. On an H200 a
 * copy between two adjacent buffers of 512 MiB runs at 2.7 TB/s, and at 4.2 TB/s with the
 * spacer. */
enum { SPACER = (37 << 20) + 20480 };
static const double SHORT_NS = 100e3; /* the shorter graph takes this long, if 16 operations do */

/* --- memory ---------------------------------------------------------------------------------- */

struct pool pool_new(struct probe_run *r, size_t bytes, size_t sets, const char *what)
{
    struct pool p = {.bytes = bytes, .stride = (bytes + 255) / 256 * 256 + 256, .sets = sets};
    p.memory = gpu_alloc(r, p.sets * p.stride, what);
    if (p.sets * p.stride >= LONG_BYTES)
        p.spacer = gpu_alloc(r, SPACER, "a gap between buffers");
    return p;
}

struct pool pool_normal(struct probe_run *r, enum gpu_type type, size_t count, size_t sets,
                        uint64_t seed, const char *what)
{
    struct pool p = pool_new(r, count * gpu_type_size(type), sets, what);
    gpu_fill_normal(r, p.memory, type, p.sets * p.stride / gpu_type_size(type), seed);
    return p;
}

void pool_free(struct probe_run *r, struct pool *p)
{
    gpu_release(r, p->memory);
    if (p->spacer)
        gpu_release(r, p->spacer);
    *p = (struct pool){0};
}

void pool_poison(struct probe_run *r, const struct pool *p)
{
    gpu_poison(r, p->memory, p->sets * p->stride);
}

bool operation_is_given(const struct probe_run *r)
{
    for (size_t i = 0; i < probe.n_parameters; i++)
        if (probe_parameter_given(r, probe.parameters[i].name))
            return true;
    return false;
}

size_t operation_sets(const struct probe_run *r, double bytes_of_a_set)
{
    double wanted = 3 * (double)gpu_facts(r)->l2_bytes / bytes_of_a_set + 1;
    return wanted > SETS_MAX ? SETS_MAX : (size_t)wanted;
}

/* --- how long does it take? ------------------------------------------------------------------ */

static bool needs_sweep(const struct probe_run *r, const struct operation *o, bool cold)
{
    return cold && (double)o->sets * o->set_bytes < 3 * (double)gpu_facts(r)->l2_bytes;
}

static void launch_many(struct probe_run *r, const struct operation *o, bool cold, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->launch(r, o->self, cold ? i % o->sets : 0);
}

static struct gpu_graph graph_of(struct probe_run *r, const struct operation *o, bool cold,
                                 size_t n)
{
    gpu_graph_begin(r);
    launch_many(r, o, cold, n);
    return gpu_graph_end(r);
}

static double stream_ns(struct probe_run *r, const struct operation *o, bool cold, size_t n)
{
    gpu_time_start_ungated(r);
    launch_many(r, o, cold, n);
    return gpu_time_stop(r).ns;
}

/* Number of operations in the shorter of the two graphs: enough to dwarf a tick of the clock, few
 * where one operation is long. Cold operations rotate over all sets. Where a sweep evicts the sets
 * instead, each set is used at most once. With a single set, the second operation of the longer
 * graph would find its data in the L2. */
static size_t operations_of(struct probe_run *r, const struct operation *o, bool cold)
{
    struct gpu_graph one = graph_of(r, o, cold, 1);
    double ns = fmin(gpu_replay_ns(r, &one), gpu_replay_ns(r, &one));
    size_t n = OPERATIONS_MAX;

    gpu_graph_free(&one);
    while (n > 1 && (double)n * ns > SHORT_NS)
        n /= 2;
    if (!cold)
        return n;
    if (needs_sweep(r, o, cold))
        return n < o->sets / 2 ? n : o->sets > 1 ? o->sets / 2 : 1; /* 1 set: a check has failed */
    return (n + o->sets - 1) / o->sets * o->sets;
}

/* Of a graph of n operations. */
static void measure_energy(struct probe_run *r, const struct gpu_graph *graph, double n)
{
    const struct gpu_power power =
        gpu_power_of_graph(r, graph, n * probe_median(r, OPERATION_TIME));
    gpu_power_value(r, OPERATION_POWER, OPERATION_ENERGY, &power, n);
}

static void sample(struct probe_run *r, const struct operation *o, struct condition c)
{
    const bool sweep = needs_sweep(r, o, c.cold);
    const size_t n = probe_is_check_run(r) ? 1 : operations_of(r, o, c.cold);
    struct gpu_graph graph[2] = {0};

    probe_require(r, !sweep || o->sets > 1 || probe_is_check_run(r),
                  "%s: behind a sweep no set is used twice", o->name);
    for (size_t i = 0; !c.stream && i < 2; i++)
        graph[i] = graph_of(r, o, c.cold, n << i);
    while (probe_more(r))
        for (size_t i = 0; i < 2; i++) {
            if (sweep)
                gpu_sweep_l2(r);
            probe_sample(r, OPERATION_TIME, (double)(n << i),
                         c.stream ? stream_ns(r, o, c.cold, n << i) : gpu_replay_ns(r, &graph[i]));
        }
    if (probe_energy(r) && !c.stream && sweep)
        probe_missing(r, OPERATION_POWER,
                      "replayed without a sweep, it would find its data in the L2");
    else if (probe_energy(r) && !c.stream)
        measure_energy(r, &graph[1], 2.0 * (double)n);
    for (size_t i = 0; !c.stream && i < 2; i++)
        gpu_graph_free(&graph[i]);
}

double operation_measure(struct probe_run *r, const char *keys, const struct operation *o,
                         struct condition c, unsigned flags, double copy_ns)
{
    /* Short operations after a sweep do not move the clock; if it moves, their case is
     * discarded. */
    if (o->bytes >= LONG_BYTES || o->power_bound)
        flags |= PROBE_POWER_BOUND;
    if (!probe_begin_case(r, flags, "%s,impl=%s,mode=%s,l2=%s", keys, o->name,
                          c.stream ? "stream" : "graph", c.cold ? "cold" : "warm"))
        return NAN;

    if (o->poison)
        o->poison(r, o->self);
    o->launch(r, o->self, 0);
    if (o->verify)
        o->verify(r, o->self, "before timing");
    if (o->poison) { /* so that the second verification sees results of the timed launches alone */
        o->poison(r, o->self);
        gpu_empty_l2(r); /* what it wrote must not stay in the L2: docs/METHOD.md */
    }

    sample(r, o, c);

    double ns = probe_median(r, OPERATION_TIME);
    double error = o->verify ? o->verify(r, o->self, "after timing") : NAN;
    if (!isnan(error))
        probe_value(r, OPERATION_ERROR, error);
    if (!isnan(ns) && !isnan(copy_ns))
        probe_value(r, OPERATION_SHARE, copy_ns / ns);
    if (!c.stream) {
        probe_value(r, OPERATION_BYTES, o->bytes);
        if (o->kernels)
            probe_value(r, OPERATION_KERNELS, o->kernels);
        if (o->memory > 0)
            probe_value(r, OPERATION_MEMORY, o->memory);
    }
    if (o->describe)
        o->describe(r, o->self);
    if (!c.stream)
        operation_count(r, keys, o, c, flags);
    return ns;
}

static void say_kernel(struct probe_run *r, const struct operation_kernel *k)
{
    const struct {
        int metric;
        double value;
    } all[] = {{OPERATION_EACH_BYTES, k->bytes},
               {OPERATION_EACH_BLOCKS, k->blocks},
               {OPERATION_EACH_TRIPS, k->trips},
               {OPERATION_EACH_ALONE, k->alone},
               {OPERATION_EACH_SPILLED, k->spilled},
               {OPERATION_EACH_LOCAL, k->local},
               {OPERATION_EACH_OPERATIONS, k->operations},
               {OPERATION_EACH_EXPONENTIALS, k->exponentials},
               {OPERATION_EACH_FLOPS, k->flops}};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i].value > 0)
            probe_value(r, all[i].metric, all[i].value);
}

/* The counts are the same in every round, so the first and the last round record them. */
void operation_count(struct probe_run *r, const char *keys, const struct operation *o,
                     struct condition c, unsigned flags)
{
    struct operation_kernel each[OPERATION_EACH_MAX] = {{0}};
    double bytes = 0;

    if (!o->count || o->kernels > OPERATION_EACH_MAX)
        return;
    o->count(r, o->self, each);
    for (unsigned i = 0; i < o->kernels; i++)
        bytes += each[i].bytes;
    if (bytes == 0)
        return;
    probe_require(r, fabs(bytes - o->bytes) < 1, "%s: its kernels move %.0f bytes of its %.0f",
                  o->name, bytes, o->bytes);
    for (unsigned i = 0; i < o->kernels; i++)
        if (probe_begin_case(r, flags | PROBE_TWICE, "%s,impl=%s,mode=graph,l2=%s,kernel=%u", keys,
                             o->name, c.cold ? "cold" : "warm", i))
            say_kernel(r, &each[i]);
}

/* --- the copy -------------------------------------------------------------------------------- */

struct copies {
    struct pool from, to;
    cudaKernel_t kernel[2]; /* four vectors a thread; one, for buffers too small to fill the GPU */
    uint32_t *wrong;        /* vectors that differ */
};

static void copy_ours(struct probe_run *r, const void *self, size_t set)
{
    const struct copies *c = self;
    struct copy_args a = {.from = pool_at(&c->from, set),
                          .to = pool_at(&c->to, set),
                          .vectors = c->from.bytes / 16,
                          .keep = operation_keeps(r, (double)c->from.bytes)};
    bool is_small = a.vectors < (uint64_t)gpu_facts(r)->n_sm * COPY_THREADS * COPY_VECTORS;
    unsigned threads = is_small ? COPY_SMALL_THREADS : COPY_THREADS;
    uint64_t each = threads * (is_small ? 1 : COPY_VECTORS);
    gpu_launch(r, c->kernel[is_small], (unsigned)((a.vectors + each - 1) / each), threads, 0, &a);
}

static void copy_theirs(struct probe_run *r, const void *self, size_t set)
{
    const struct copies *c = self;
    CUDA(cudaMemcpyAsync(pool_at(&c->to, set), pool_at(&c->from, set), c->from.bytes,
                         cudaMemcpyDeviceToDevice, gpu_stream(r)));
}

static void copy_poison(struct probe_run *r, const void *self)
{
    pool_poison(r, &((const struct copies *)self)->to);
}

/* Number of bytes that differ. The GPU compares, because the buffers can be long. */
static double copy_verify(struct probe_run *r, const void *self, const char *when)
{
    const struct copies *c = self;
    struct copy_args a = {.from = c->from.memory,
                          .to = c->to.memory,
                          .vectors = c->from.bytes / 16,
                          .wrong = c->wrong};
    cudaKernel_t compare = gpu_kernel(r, &image_copy, "copy_compare", sizeof a);
    uint32_t wrong;

    CUDA(cudaMemsetAsync(c->wrong, 0, sizeof wrong, gpu_stream(r)));
    gpu_launch(r, compare, 256, COPY_THREADS, 0, &a);
    gpu_to_host(r, &wrong, c->wrong, sizeof wrong);
    probe_require(r, wrong == 0, "%s: %u vectors of the copy differ", when, (unsigned)wrong);
    return NAN;
}

/* cudaMemcpyAsync drops to two thirds of its rate at some lengths (at 512 MiB, not at 513 MiB, on
 * an H200). A long copy is therefore also timed with 1 MiB more, and its time scaled to the
 * length. */
enum { LONGER = 1 << 20, OFTEN_SLOW = 128 << 20 };

static double copy_longer(struct probe_run *r, const char *keys, const struct operation *o,
                          struct copies *copies, struct condition c, unsigned flags)
{
    const double half = (double)copies->from.bytes, share = half / (half + LONGER);
    struct operation longer = *o;

    copies->from.bytes += LONGER;
    longer.name = "memcpy_longer";
    longer.bytes += 2 * LONGER;
    const double ns = share * operation_measure(r, keys, &longer, c, flags, NAN);
    copies->from.bytes -= LONGER;
    return ns;
}

double copy_measure(struct probe_run *r, const char *keys, double bytes, struct condition c,
                    unsigned flags)
{
    if (!probe_is_due(r, flags))
        return NAN;
    const size_t half = ((size_t)(bytes / 2) + 15) / 16 * 16, sets = operation_sets(r, bytes);
    const size_t room = half >= OFTEN_SLOW ? half + LONGER : half;
    struct copies copies = {.from = pool_normal(r, GPU_FP16, room / 2, sets, probe_seed(r),
                                                "the original"),
                            .to = pool_new(r, room, sets, "the copy"),
                            .wrong = gpu_alloc(r, sizeof *copies.wrong, "a count")};
    struct operation o = {.name = "copy",
                          .launch = copy_ours,
                          .poison = copy_poison,
                          .verify = copy_verify,
                          .self = &copies,
                          .sets = sets,
                          .set_bytes = (double)(2 * half),
                          .bytes = (double)(2 * half),
                          .kernels = 1};
    copies.from.bytes = half;
    copies.kernel[0] = gpu_kernel(r, &image_copy, "copy_long", sizeof(struct copy_args));
    copies.kernel[1] = gpu_kernel(r, &image_copy, "copy_small", sizeof(struct copy_args));

    double best = operation_measure(r, keys, &o, c, flags, NAN);
    o.name = "memcpy";
    o.launch = copy_theirs;
    best = fmin(best, operation_measure(r, keys, &o, c, flags, NAN));
    if (room > half)
        best = fmin(best, copy_longer(r, keys, &o, &copies, c, flags));
    pool_free(r, &copies.from);
    pool_free(r, &copies.to);
    gpu_release(r, copies.wrong);
    return best;
}
