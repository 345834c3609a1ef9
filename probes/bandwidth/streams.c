/* bandwidth: global memory: dealt out to short-lived blocks, in slices of the L2, or read in
 * step. */
#include "probes/bandwidth/bandwidth.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "core/gpu.h"

PROBE_IMAGE(bandwidth);

enum {
    CURVE_BYTES = 1 << 30,
    TURN_BYTES = 16 * STREAM_LOADS * STREAM_THREADS,
    L2_TURNS = 144, /* of an SM through its slice; the longer launch does twice as many */
    L2_DEEP_TURNS = 5,
    DRIVER_APART = 4096, /* bytes from where one call of the driver reads to where the next does */
};

/* The ways to go through global memory. */
struct form {
    const char *path;
    enum op op;
    const char *kernel; /* NULL: the driver's own */
    unsigned threads, l2_threads;
    uint32_t loads;  /* elements per thread and turn; 0: a turn is one bulk copy */
    uint32_t turns;  /* per block, where pieces are dealt out to blocks */
    size_t shared;
    uint32_t period; /* elements after which the pattern that it writes repeats */
};

enum { BY_LOADS }; /* the form that reads by ld */
static const struct form forms[N_FORMS] = {
    [BY_LOADS] = {.path = "ld", .op = READ, .kernel = "bandwidth_read", .threads = STREAM_THREADS,
                  .l2_threads = STREAM_THREADS, .loads = STREAM_LOADS, .turns = 1},
    {.path = "cp_async", .op = READ, .kernel = "bandwidth_read_cp_async", .threads = ASYNC_THREADS,
     .l2_threads = ASYNC_THREADS, .loads = ASYNC_LOADS, .turns = ASYNC_SLOTS,
     .shared = 16 * ASYNC_SLOTS * ASYNC_LOADS * ASYNC_THREADS},
    {.path = "bulk", .op = READ, .kernel = "bandwidth_read_bulk", .threads = BULK_THREADS,
     .l2_threads = BULK_THREADS, .turns = BULK_SLOTS, .shared = BULK_SLOTS * BULK_BYTES},
    {.path = "ld", .op = WRITE, .kernel = "bandwidth_write", .threads = STREAM_THREADS,
     .l2_threads = STREAM_THREADS, .loads = STREAM_LOADS, .turns = 1, .period = UINT32_MAX},
    {.path = "bulk", .op = WRITE, .kernel = "bandwidth_write_bulk", .threads = BULK_THREADS,
     .l2_threads = BULK_THREADS, .turns = BULK_SLOTS, .shared = BULK_BYTES,
     .period = BULK_BYTES / 16},
    {.path = "driver", .op = WRITE},
    {.path = "ld", .op = COPY, .kernel = "bandwidth_copy", .threads = COPY_THREADS,
     .l2_threads = STREAM_THREADS, .loads = COPY_LOADS, .turns = 1},
    {.path = "bulk", .op = COPY, .kernel = "bandwidth_copy_bulk", .threads = 32, .l2_threads = 32,
     .turns = BULK_SLOTS, .shared = BULK_SLOTS * BULK_BYTES},
    {.path = "driver", .op = COPY},
};

void bandwidth_find_forms(struct probe_run *r, cudaKernel_t kernel[N_FORMS])
{
    for (int i = 0; i < N_FORMS; i++)
        if (forms[i].kernel)
            kernel[i] = gpu_kernel_if_any(r, &image_bandwidth, forms[i].kernel,
                                          sizeof(struct bandwidth_args));
}

/* --- launches --------------------------------------------------------------------------------- */

/* A launch of a form, ready to go. */
struct stream {
    const struct form *form;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct bandwidth_args args;
    size_t bytes;    /* of a buffer */
    uint32_t times;  /* how often the launch goes through it */
    uint32_t rounds; /* of each block through its range */
};

static struct stream stream_of(const struct mover *m, int form, unsigned threads, size_t bytes,
                               uint32_t times)
{
    const struct form *f = &forms[form];
    uint32_t piece = f->loads ? threads * f->loads : BULK_BYTES / 16;
    return (struct stream){.form = f,
                           .kernel = m->kernel[form],
                           .shape = {.grid = {1, 1, 1}, .block = threads, .shared = f->shared},
                           .args = {.in = m->in,
                                    .out = m->out,
                                    .sum = form == BY_LOADS ? m->sum : NULL,
                                    .log = m->log,
                                    .walk = {.step = piece}},
                           .bytes = bytes,
                           .times = times,
                           .rounds = 1};
}

/* Goes through a buffer the given number of times, with blocks that each do a few pieces and
 * end. */
static struct stream dealt(const struct mover *m, int form, size_t bytes, uint32_t times)
{
    struct stream s = stream_of(m, form, forms[form].threads, bytes, times);
    if (!s.kernel)
        return s;
    s.args.walk.turns = forms[form].turns;
    s.args.walk.base = s.args.walk.range = s.args.walk.step * s.args.walk.turns;
    s.shape.grid.x = (unsigned)(bytes / 16 / s.args.walk.range);
    s.shape.grid.y = times;
    return s;
}

/* One block per SM; each goes the given number of rounds through a slice of its own. */
static struct stream sliced(const struct probe_run *r, const struct mover *m, int form,
                            size_t bytes, uint32_t rounds)
{
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    struct stream s = stream_of(m, form, forms[form].l2_threads, bytes, rounds);
    s.rounds = rounds;
    s.shape.grid.x = n_sm;
    s.args.walk.base = s.args.walk.range = (uint32_t)(bytes / 16 / n_sm);
    s.args.walk.turns = rounds * (s.args.walk.range / s.args.walk.step);
    return s;
}

/* One block per SM; each goes through the whole buffer. Pairs start at evenly spaced places, `all`
 * from one place. */
static struct stream in_step(const struct probe_run *r, const struct mover *m, size_t bytes,
                             uint32_t rounds, enum bandwidth_who who)
{
    unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, pairs = (n_sm + 1) / 2;
    struct stream s = stream_of(m, BY_LOADS, STREAM_THREADS, bytes, rounds * n_sm);
    struct bandwidth_walk *walk = &s.args.walk;
    s.rounds = rounds;
    s.shape.grid.x = n_sm;
    walk->who = who;
    walk->range = (uint32_t)(bytes / 16);
    walk->first = walk->range / pairs;
    walk->turns = rounds * (walk->range / walk->step);
    return s;
}

/* One launch, or the driver's calls. The last call copies from the beginning of the buffer, or sets
 * the bytes that its salt gives; the others do not. */
static void issue(struct probe_run *r, struct mover *m, struct stream *s)
{
    s->args.salt = ++m->salt;
    if (s->kernel)
        gpu_launch_shape(r, s->kernel, &s->shape, &s->args);
    for (uint32_t left = s->times; !s->kernel && left-- > 0;)
        if (s->form->op == COPY)
            CUDA(cudaMemcpyAsync(m->out, m->in + left * DRIVER_APART, s->bytes,
                                 cudaMemcpyDeviceToDevice, gpu_stream(r)));
        else
            CUDA(cudaMemsetAsync(m->out, (int)(s->args.salt + left) & 0xff, s->bytes,
                                 gpu_stream(r)));
}

static double issue_ns(struct probe_run *r, struct mover *m, struct stream *s)
{
    gpu_time_start(r);
    issue(r, m, s);
    return gpu_time_stop(r).ns;
}

/* Counts the elements that a stream left wrong. Stores write another pattern in each round; the
 * last must remain. If the driver set bytes, each element must equal the one before it, and the
 * first must be right. */
static uint64_t wrong_elements(struct probe_run *r, const struct mover *m, const struct stream *s)
{
    bool each_round = s->form->period == UINT32_MAX;
    struct bandwidth_verify_args a = {.in = s->form->op == COPY ? m->in : NULL,
                                      .out = m->out,
                                      .elements = s->bytes / 16,
                                      .period = s->form->period,
                                      .salt = s->args.salt + (each_round ? s->rounds - 1 : 0)};
    unsigned char first[16];
    uint64_t sum, wrong = 0;

    if (!s->kernel && s->form->op == WRITE) {
        gpu_to_host(r, first, m->out, sizeof first);
        for (size_t i = 0; i < sizeof first; i++)
            wrong += first[i] != (a.salt & 0xff);
        a.in = m->out, a.out = m->out + 16, a.elements--;
    }
    return wrong + bandwidth_run_verifier(r, m, a, &sum);
}

/* One launch that is not timed, and is checked word by word. */
static void check_stream(struct probe_run *r, struct mover *m, struct stream s)
{
    uint64_t wrong;

    if (s.form->op != READ)
        gpu_poison(r, m->out, s.bytes);
    bandwidth_clear_sums(r, m);
    s.args.sum = m->sum;
    issue(r, m, &s);
    if (s.form->op == READ) {
        bandwidth_check_sum(r, m->sum, s.times * (uint32_t)bandwidth_sum_of(r, m, s.bytes),
                            "the words that were read");
        return;
    }
    wrong = wrong_elements(r, m, &s);
    probe_require(r, wrong == 0, "every element that %s %s wrote is right (%llu are not)",
                  s.form->path, bandwidth_op_names[s.form->op], (unsigned long long)wrong);
}

/* What a launch's log must be: every piece of the buffer the given number of times. */
static uint32_t log_of(const struct stream *s)
{
    uint32_t marks = 0;
    for (size_t at = 0; s->kernel && at < s->bytes / 16; at += s->args.walk.step)
        marks += bandwidth_mark((uint32_t)at);
    return s->times * marks;
}

/* Times a smaller and a larger amount of work; they take turns in coming first, so that a clock
 * that drifts favours neither. Checks the larger one before and after, and the words or the turns
 * of all timed launches. */
static void measure_streams(struct probe_run *r, struct mover *m, int metric, struct stream few,
                            struct stream many)
{
    struct stream *both[] = {&few, &many};
    bool reads = few.args.sum != NULL;
    uint32_t of_launch[2], must = 0;

    if (few.kernel)
        gpu_kernel_shared(few.kernel, few.shape.shared, few.shape.shared > 0 ? 100 : 0);
    for (int i = 0; i < 2; i++)
        of_launch[i] = reads ? both[i]->times * (uint32_t)bandwidth_sum_of(r, m, both[i]->bytes)
                             : log_of(both[i]);
    check_stream(r, m, many);
    bandwidth_clear_sums(r, m);
    for (int pass = 0; probe_more(r); pass++)
        for (int i = 0; i < 2; i++) {
            int which = (i + pass) % 2;
            double bytes = (double)both[which]->times * (double)both[which]->bytes;
            double ns = issue_ns(r, m, both[which]);
            probe_sample(r, metric, few.form->op == COPY ? 2 * bytes : bytes, ns);
            must += of_launch[which];
        }
    if (few.kernel)
        bandwidth_check_sum(r, reads ? m->sum : m->log, must,
                            reads ? "the words of all timed launches"
                                  : "the turns of all timed launches");
    check_stream(r, m, many);
    if (few.kernel)
        gpu_kernel_facts(r, few.kernel, (int)few.shape.block, few.shape.shared);
}

/* Whether a form can be measured here with the given amount of memory. */
static bool can(struct probe_run *r, const struct mover *m, int form, size_t needs, size_t room)
{
    const char *why = NULL;
    if (forms[form].kernel && !m->kernel[form])
        why = "this GPU has no such copies";
    else if (needs > room)
        why = "this memory does not hold so much";
    if (why)
        probe_missing(r, RATE, why);
    return !why;
}

static void measure_hbm(struct probe_run *r, struct mover *m, int form, size_t bytes,
                        unsigned flags)
{
    const struct form *f = &forms[form];
    uint32_t few = bytes >= GIB ? 1 : f->op == COPY ? 2 : 4;
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=hbm,op=%s,path=%s,bytes=%zu",
                          bandwidth_op_names[f->op], f->path, bytes) ||
        !can(r, m, form, f->op == READ ? bytes : 2 * bytes, 2 * m->room))
        return;
    measure_streams(r, m, RATE, dealt(m, form, bytes, few), dealt(m, form, bytes, 2 * few));
    /* Reads reach 0.95 of it, writes 0.98: what is left out shows here when it is more than the
     * rest, and in the sums and logs of the timed launches when it is a word or a turn. The
     * driver's calls have neither, and only their last is checked. */
    gpu_require_below_pins(r, RATE, 1);
}

/* Turns per slice such that all slices fit into half of the L2: each side of it may hold a copy. */
static uint32_t l2_turns(const struct probe_run *r, enum op op)
{
    double turn = (double)TURN_BYTES * gpu_facts(r)->n_sm, times = op == COPY ? 4 : 2;
    uint32_t turns = (uint32_t)(0.85 * (double)gpu_facts(r)->l2_bytes / times / turn);
    return turns > 0 ? turns : 1;
}

/* Slices of the given number of turns of the largest blocks. */
static void measure_l2(struct probe_run *r, struct mover *m, int form, uint32_t turns,
                       unsigned flags)
{
    const struct form *f = &forms[form];
    size_t bytes = turns * TURN_BYTES * (size_t)gpu_facts(r)->n_sm;
    uint32_t few = probe_is_check_run(r) ? 1 : L2_TURNS / turns;
    if (!f->kernel ||
        !probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=l2,op=%s,path=%s,bytes=%zu",
                          bandwidth_op_names[f->op], f->path, bytes) ||
        !can(r, m, form, f->op == COPY ? 2 * bytes : bytes, gpu_facts(r)->l2_bytes))
        return;
    measure_streams(r, m, RATE, sliced(r, m, form, bytes, few), sliced(r, m, form, bytes, 2 * few));
}

/* One round and two rounds only: pairs that walk longer meet others, and are then served with
 * them. */
static void measure_in_step(struct probe_run *r, struct mover *m, size_t bytes,
                            enum bandwidth_who who)
{
    if (probe_begin_case(r, PROBE_THRICE | PROBE_POWER_BOUND, "level=l2,sms=%s,bytes=%zu",
                         who == WHO_PAIR ? "2" : "all", bytes))
        measure_streams(r, m, IN_STEP, in_step(r, m, bytes, 1, who), in_step(r, m, bytes, 2, who));
}

static void measure_curve(struct probe_run *r, struct mover *m, size_t bytes)
{
    uint32_t times = bytes < CURVE_BYTES ? (uint32_t)(CURVE_BYTES / bytes) : 1;
    if (probe_begin_case(r, PROBE_DEEP | PROBE_POWER_BOUND, "bytes=%zu", bytes))
        measure_streams(r, m, CURVE, dealt(m, BY_LOADS, bytes, times),
                        dealt(m, BY_LOADS, bytes, 2 * times));
}

/* --- power ------------------------------------------------------------------------------------ */

struct work {
    struct mover *m;
    struct stream *stream; /* NULL: nothing to do */
};

static void work_once(struct probe_run *r, void *what)
{
    static const struct timespec a_while = {.tv_nsec = 1000000};
    const struct work *work = what;
    if (work->stream)
        issue(r, work->m, work->stream);
    else
        nanosleep(&a_while, NULL);
}

/* `ns`: how long it takes about. Returns watts. */
static double measure_power(struct probe_run *r, struct mover *m, struct stream *stream,
                            const char *level, double ns, unsigned flags)
{
    const char *op = stream ? bandwidth_op_names[stream->form->op] : "none";
    struct work work = {m, stream};

    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=%s,op=%s,path=%s,bytes=%zu", level,
                          op, stream ? stream->form->path : "none", stream ? stream->bytes : 0))
        return NAN;
    const struct gpu_power power = gpu_power(r, work_once, &work, ns);
    gpu_power_value(r, POWER, ENERGY, &power, stream ? stream->times : 0);
    return power.watts;
}

/* A launch that reads HBM goes through it once, one that reads the L2 through slices that fit. */
void bandwidth_measure_powers(struct probe_run *r, struct mover *m)
{
    const size_t slices = l2_turns(r, READ) * TURN_BYTES * (size_t)gpu_facts(r)->n_sm;
    int copy = 0;
    while (copy < N_FORMS - 1 && (forms[copy].op != COPY || strcmp(forms[copy].path, "ld") != 0))
        copy++;
    struct stream of_hbm = dealt(m, BY_LOADS, 512 * MIB, 1), of_copy = dealt(m, copy, 512 * MIB, 1);
    struct stream of_l2 = sliced(r, m, BY_LOADS, slices, L2_TURNS / l2_turns(r, READ));

    /* 0.5 s each: what nothing rests on is left to --deep. */
    const double idle = measure_power(r, m, NULL, "none", 1e6, PROBE_THRICE);
    measure_power(r, m, &of_l2, "l2", 200e3, PROBE_DEEP);
    const double busy = measure_power(r, m, &of_hbm, "hbm", 120e3, PROBE_THRICE);
    measure_power(r, m, &of_copy, "hbm", 250e3, PROBE_DEEP);
    if (!isnan(idle) && !isnan(busy))
        probe_require(r, idle < 0.75 * busy, "idle takes %.0f W, reading HBM %.0f", idle, busy);
}

/* Reads and copies by loads are what other rates are compared with. */
static unsigned how_often(const struct form *f)
{
    return strcmp(f->path, "ld") != 0 || f->op == WRITE ? PROBE_THRICE : 0;
}

void bandwidth_measure_streams(struct probe_run *r, struct mover *m)
{
    const bool quick = probe_is_check_run(r);

    for (int form = 0; form < N_FORMS; form++)
        measure_l2(r, m, form, quick ? 1 : l2_turns(r, forms[form].op), how_often(&forms[form]));
    for (int form = 0; form < N_FORMS; form++)
        measure_hbm(r, m, form, quick ? MIB : 512 * MIB, how_often(&forms[form]));
    for (int form = 0; form < N_FORMS && !quick; form++) {
        measure_hbm(r, m, form, 4 * GIB, form == BY_LOADS ? 0 : PROBE_DEEP);
        for (uint32_t turns = 1; turns <= L2_DEEP_TURNS; turns++)
            if (turns != l2_turns(r, forms[form].op))
                measure_l2(r, m, form, turns, PROBE_DEEP);
    }
    measure_in_step(r, m, quick ? MIB / 4 : 8 * MIB, WHO_PAIR);
    measure_in_step(r, m, quick ? MIB / 4 : 8 * MIB, WHO_ALL);
    for (size_t bytes = 64 << 10; bytes <= 2 * m->room && !quick; bytes *= 2)
        measure_curve(r, m, bytes);
}
