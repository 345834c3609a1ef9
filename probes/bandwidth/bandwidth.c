/* bandwidth: how fast can each level of the memory be read, written and copied, and what does a
 * load cost while the rest of the chip streams?
 *
 * Method. 16 bytes a lane and instruction, random data, by these paths:
 *     ld        loads and stores; loads of global memory are ld.global.cg, of L1 .ca
 *     cp_async  cp.async into a ring in shared memory that nobody reads (compute capability 8.0)
 *     bulk      bulk copies of 16 KiB between global and shared memory, by one thread (9.0)
 *     driver    cudaMemcpyAsync and cudaMemsetAsync, for comparison
 *     ffma      fused multiply-adds, three operands of 4 bytes a lane: how registers are read
 * `bytes` is the size of one buffer; where a level belongs to an SM, of that SM's own. A copy
 * counts the bytes that it reads and those that it writes.
 *     hbm       a buffer is dealt out in order to short blocks; slope over n and 2n times
 *     l2        one block an SM, each round and round in a slice of its own, so that no line is
 *               asked for by two; slope over n and 2n rounds
 *     l1, shared, register   every SM for itself; slope over n and 2n passes, and in bytes a cycle
 *               of the SM's clock over the 2n passes, about 1.3 million cycles
 * in_step reads the L2 by SMs that ask for the same lines at the same time, and counts what
 * arrives at the SMs. Of n and 2n each comes first every other time, so that a drift leans on none.
 *
 * Verified: every timed read by ld adds up the words that it got, which must be what a plain kernel
 * finds, and that is checked by the host. In every other stream each block marks the pieces that it
 * has done, and all timed launches together must have marked every piece as often as was asked.
 * Before and after the timing a launch is looked at word by word: by the same kernel with somebody
 * reading the ring, and in memory. Stores write another pattern in each round through a slice, and
 * the driver's calls each something else: the last must stand.
 *
 * loaded_latency: on one SM a thread chases pointers as in memory_latency, through a ring of 4 x
 * L2 (hbm) or 4 MiB (l2), while on all other SMs 16 warps read a buffer of 4 GiB, or 8 KiB each of
 * their own.
 * load=100: each lane asks for the next four elements as soon as it has four; the rate of that is
 * the 100 % of which other loads are shares, by a wait between turns. loaded_rate is what was read
 * meanwhile.
 *
 * Inside the timed region: events around one launch; for bytes a cycle, two clock reads in it.
 * Expected on an H200, whose pins give 4.81 TB/s: 4.7 read, 4.7 written, 4.2 copied; L2 9.2 read,
 * 4.8 written, 7.8 copied; L1 and shared memory 128 bytes a cycle and SM; registers 1024, not the
 * 1536 of a full rate of fma: two of three operands come from the register file in a cycle, the
 * third must be a reused one.
 *
 * Traps. Blocks that stay and walk a buffer again and again drift apart, until some find in the L2
 * what others read a pass before: 512 MiB then read at 5.4 TB/s, above the pins. SMs that read the
 * same lines in step are served at once: 20 TB/s arrive where 9 are sent, and SMs that walk the
 * same lines fall into step by themselves, the longer the more. SMs do not get the same share of
 * the L2, and equal slices end with the slowest: while all read it is 9.15 (loaded_rate). Shared
 * memory taken from the L1 leaves it less room for loads in flight: with all of it taken, ld.cg in
 * step drops from 20 to 10 TB/s. L1 keeps no writes: the l2 row is what they cost. An addition to
 * memory from every warp of a stream costs it 2 %. At load=100 the latency depends on how much the
 * others may ask for at once; that is a fact of the case. */
#include "probes/bandwidth/args.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"
#include "core/stat.h"
#include "probes/bandwidth/loaded_chase.h"

PROBE_IMAGE(bandwidth);
PROBE_IMAGE(bandwidth_loaded_chase);

enum { RATE, SM_RATE, IN_STEP, CURVE, LOADED, LOADED_RATE, CAPACITY };
static const struct probe_metric metrics[] = {
    [RATE] = {"rate", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,op,path,bytes",
              "sustained rate of the whole GPU; a copy counts bytes read and bytes written"},
    [SM_RATE] = {"sm_rate", "bytes/cycle", PROBE_HIGHER, PROBE_EACH, NULL, "level,op,path,bytes",
                 "the same of one SM, by its clock"},
    [IN_STEP] = {"in_step", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "level,sms,bytes",
                 "bytes that arrive at SMs of which so many read the same lines at the same time"},
    [CURVE] = {"curve", "bytes/s", PROBE_HIGHER, PROBE_SLOPE, NULL, "bytes",
               "a buffer of this size read again and again, dealt out to blocks"},
    [LOADED] = {"loaded_latency", "ns", PROBE_LOWER, PROBE_SLOPE, "device", "level,load",
                "dependent load while the other SMs stream at so many per cent of what they can"},
    [LOADED_RATE] = {"loaded_rate", "bytes/s", PROBE_HIGHER, PROBE_EACH, NULL, "level,load",
                     "rate of those streams during the chase"},
    [CAPACITY] = {"capacity", "bytes", PROBE_EXACT, PROBE_EACH, NULL, "level",
                  "of all SMs together, as the device states it"},
};

enum {
    MIB = 1 << 20,
    CURVE_BYTES = 1 << 30,
    LOCAL_CYCLES = 640000, /* that the passes over an SM's memory take, about */
    L2_RING_BYTES = 4 * MIB,
    L2_WARP_BYTES = 8192, /* that a streaming warp has of its own in the L2 */
    L2_WARP_GAP = 17 * 128, /* from there to the next warp's: never a power of two apart */
    LAPS = 2,
    CHASES = 8,          /* pairs of stretches in a launch */
    SM = 0,
    TURN_BYTES = 16 * STREAM_LOADS * STREAM_THREADS,
    L2_TURNS = 144, /* of an SM through its slice, and then twice as many */
    L2_DEEP_TURNS = 5,
    DRIVER_APART = 4096, /* bytes between where one call of the driver reads and where the next */
    SUM_BYTES = SUM_PLACES * SUM_SPACING * 4,
};
static const size_t GIB = (size_t)1 << 30;
static const size_t GAP = (37 << 20) + 20480; /* between buffers: never a power of two apart */

enum op { READ, WRITE, COPY };
static const char *const op_names[] = {"read", "write", "copy"};

/* The ways to go through global memory. */
struct form {
    const char *path;
    enum op op;
    const char *kernel; /* NULL: the driver's own */
    unsigned threads, l2_threads;
    uint32_t loads;  /* elements of a thread in a turn; 0: one bulk copy is a turn */
    uint32_t turns;  /* of a block, where blocks are dealt out */
    size_t shared;
    uint32_t period; /* elements after which the pattern that it writes begins anew */
};

enum { BY_LOADS, N_FORMS = 9 };
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

struct mover {
    cudaKernel_t kernel[N_FORMS], verify;
    cudaEvent_t start, stop;
    char *in, *out;   /* `room` bytes each */
    size_t room;
    uint32_t *sum, *log; /* SUM_PLACES places each */
    uint64_t *result; /* of a verification */
    struct bandwidth_local *blocks; /* mapped, one each */
    uint32_t salt;
};

static struct mover prepare(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    struct mover m = {.room = probe_is_check_run(r) ? 16 * MIB : 4 * GIB,
                      .salt = (uint32_t)probe_seed(r)};

    while (m.room > 512 * MIB && m.room > gpu->free_bytes / 4)
        m.room /= 2;
    for (int i = 0; i < N_FORMS; i++)
        if (forms[i].kernel)
            m.kernel[i] = gpu_kernel_if_any(r, &image_bandwidth, forms[i].kernel,
                                            sizeof(struct bandwidth_args));
    m.verify =
        gpu_kernel(r, &image_bandwidth, "bandwidth_verify", sizeof(struct bandwidth_verify_args));
    m.in = gpu_alloc(r, 2 * m.room + GAP, "the buffers to stream through");
    m.out = m.in + m.room + GAP;
    gpu_fill_normal(r, m.in, GPU_FP32, (2 * m.room + GAP) / 4, probe_seed(r));
    m.sum = gpu_alloc(r, SUM_BYTES, "sums");
    m.log = gpu_alloc(r, SUM_BYTES, "marks of turns");
    m.result = gpu_alloc(r, 2 * sizeof *m.result, "what a check finds");
    m.blocks = gpu_mapped(r, (size_t)gpu->n_sm * sizeof *m.blocks);
    CUDA(cudaEventCreate(&m.start));
    CUDA(cudaEventCreate(&m.stop));
    return m;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Elements that differ from other memory or from a pattern; the sum of all 32-bit words. */
static uint64_t run_verifier(struct probe_run *r, const struct mover *m,
                             struct bandwidth_verify_args a, uint64_t *sum)
{
    uint64_t found[2];
    a.result = m->result;
    CUDA(cudaMemsetAsync(m->result, 0, sizeof found, gpu_stream(r)));
    gpu_launch(r, m->verify, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_to_host(r, found, m->result, sizeof found);
    *sum = found[1];
    return found[0];
}

/* The sum of all words of the first bytes to be read, by a kernel that is not timed. */
static uint64_t sum_of(struct probe_run *r, const struct mover *m, size_t bytes)
{
    uint64_t sum;
    run_verifier(r, m,
                 (struct bandwidth_verify_args){.in = m->in, .out = m->in, .elements = bytes / 16},
                 &sum);
    return sum;
}

/* That kernel's sum against the host's. */
static void check_reference(struct probe_run *r, const struct mover *m)
{
    size_t bytes = 8 * MIB;
    uint32_t *copy = probe_host_alloc(r, bytes);
    uint64_t by_host = 0;

    gpu_to_host(r, copy, m->in, bytes);
    for (size_t i = 0; i < bytes / sizeof *copy; i++)
        by_host += copy[i];
    probe_require(r, sum_of(r, m, bytes) == by_host, "host and GPU agree on the sum of %zu bytes",
                  bytes);
}

static void clear_sums(struct probe_run *r, const struct mover *m)
{
    CUDA(cudaMemsetAsync(m->sum, 0, SUM_BYTES, gpu_stream(r)));
    CUDA(cudaMemsetAsync(m->log, 0, SUM_BYTES, gpu_stream(r)));
}

static void check_sum(struct probe_run *r, const uint32_t *gathered, uint32_t must,
                      const char *what)
{
    uint32_t places[SUM_PLACES * SUM_SPACING], sum = 0;
    gpu_to_host(r, places, gathered, sizeof places);
    for (size_t i = 0; i < SUM_PLACES; i++)
        sum += places[i * SUM_SPACING];
    probe_require(r, sum == must, "%s add up to %08x, must be %08x", what, sum, must);
}

/* --- global memory --------------------------------------------------------------------------- */

/* A launch of a form, ready to go. */
struct stream {
    const struct form *form;
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct bandwidth_args args;
    size_t bytes;    /* of a buffer */
    uint32_t times;  /* that the launch goes through it */
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

/* So many times through a buffer, in blocks that each do a few pieces and go. */
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

/* One block an SM, each so many rounds through a slice of its own. */
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

/* One block an SM, each through the whole buffer: pairs from places evenly apart, all from one. */
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

/* One launch, or the driver's calls: the last one copies from the buffer's begin and sets the bytes
 * that its salt says, the others do not. */
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
    gpu_clock_start(r);
    CUDA(cudaEventRecord(m->start, gpu_stream(r)));
    issue(r, m, s);
    CUDA(cudaEventRecord(m->stop, gpu_stream(r)));
    gpu_clock_stop(r);
    return gpu_elapsed_ns(m->start, m->stop);
}

/* Elements that a stream did not leave as it must. Stores write another pattern in each round, of
 * which the last must stand. Where the driver set bytes, each element must be as the one before it,
 * and the first one right. */
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
    return wrong + run_verifier(r, m, a, &sum);
}

/* One launch that is not timed, at which somebody looks. */
static void check_stream(struct probe_run *r, struct mover *m, struct stream s)
{
    uint64_t wrong;

    if (s.form->op != READ)
        gpu_poison(r, m->out, s.bytes);
    clear_sums(r, m);
    s.args.sum = m->sum;
    issue(r, m, &s);
    if (s.form->op == READ) {
        check_sum(r, m->sum, s.times * (uint32_t)sum_of(r, m, s.bytes), "the words that were read");
        return;
    }
    wrong = wrong_elements(r, m, &s);
    probe_require(r, wrong == 0, "every element that %s %s wrote is right (%llu are not)",
                  s.form->path, op_names[s.form->op], (unsigned long long)wrong);
}

/* What a launch's log must be: every piece of the buffer so many times. */
static uint32_t log_of(const struct stream *s)
{
    uint32_t marks = 0;
    for (size_t at = 0; s->kernel && at < s->bytes / 16; at += s->args.walk.step)
        marks += bandwidth_mark((uint32_t)at);
    return s->times * marks;
}

/* Times a smaller and a larger amount of work, each first every other time: a clock that drifts
 * must not lean on one of them. Checks the larger one before and after, and of all timed launches
 * the words or the turns. */
static void measure_streams(struct probe_run *r, struct mover *m, int metric, struct stream few,
                            struct stream many)
{
    struct stream *both[] = {&few, &many};
    bool reads = few.args.sum != NULL;
    uint32_t of_launch[2], must = 0;

    if (few.kernel)
        gpu_kernel_shared(few.kernel, few.shape.shared, few.shape.shared > 0 ? 100 : 0);
    for (int i = 0; i < 2; i++)
        of_launch[i] =
            reads ? both[i]->times * (uint32_t)sum_of(r, m, both[i]->bytes) : log_of(both[i]);
    check_stream(r, m, many);
    clear_sums(r, m);
    for (int pass = 0; probe_more(r); pass++)
        for (int i = 0; i < 2; i++) {
            int which = (i + pass) % 2;
            double bytes = (double)both[which]->times * (double)both[which]->bytes;
            double ns = issue_ns(r, m, both[which]);
            probe_sample(r, metric, few.form->op == COPY ? 2 * bytes : bytes, ns);
            must += of_launch[which];
        }
    if (few.kernel)
        check_sum(r, reads ? m->sum : m->log, must,
                  reads ? "the words of all timed launches" : "the turns of all timed launches");
    check_stream(r, m, many);
    if (few.kernel)
        gpu_kernel_facts(r, few.kernel, (int)few.shape.block, few.shape.shared);
}

/* Whether a form can be measured here, in so much memory. */
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
                          op_names[f->op], f->path, bytes) ||
        !can(r, m, form, f->op == READ ? bytes : 2 * bytes, 2 * m->room))
        return;
    measure_streams(r, m, RATE, dealt(m, form, bytes, few), dealt(m, form, bytes, 2 * few));

    double rate = probe_median(r, RATE), pins = gpu_facts(r)->pin_rate;
    if (!isnan(rate))
        probe_require(r, rate <= pins, "%.3f TB/s is not above the pin rate of %.3f", rate / 1e12,
                      pins / 1e12);
}

/* Turns of a slice, so that all that is touched fits the L2 twice: each side may hold a copy. */
static uint32_t l2_turns(const struct probe_run *r, enum op op)
{
    double turn = (double)TURN_BYTES * gpu_facts(r)->n_sm, times = op == COPY ? 4 : 2;
    uint32_t turns = (uint32_t)(0.85 * (double)gpu_facts(r)->l2_bytes / times / turn);
    return turns > 0 ? turns : 1;
}

/* Slices of so many turns of the largest blocks. */
static void measure_l2(struct probe_run *r, struct mover *m, int form, uint32_t turns,
                       unsigned flags)
{
    const struct form *f = &forms[form];
    size_t bytes = turns * TURN_BYTES * (size_t)gpu_facts(r)->n_sm;
    uint32_t few = probe_is_check_run(r) ? 1 : L2_TURNS / turns;
    if (!f->kernel ||
        !probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=l2,op=%s,path=%s,bytes=%zu",
                          op_names[f->op], f->path, bytes) ||
        !can(r, m, form, f->op == COPY ? 2 * bytes : bytes, gpu_facts(r)->l2_bytes))
        return;
    measure_streams(r, m, RATE, sliced(r, m, form, bytes, few),
                    sliced(r, m, form, bytes, 2 * few));
}

/* One round and two: pairs that walk longer meet others, and are served with them. */
static void measure_in_step(struct probe_run *r, struct mover *m, size_t bytes,
                            enum bandwidth_who who)
{
    if (probe_begin_case(r, PROBE_ONCE | PROBE_POWER_BOUND, "level=l2,sms=%s,bytes=%zu",
                         who == WHO_PAIR ? "2" : "all", bytes))
        measure_streams(r, m, IN_STEP, in_step(r, m, bytes, 1, who),
                        in_step(r, m, bytes, 2, who));
}

static void measure_curve(struct probe_run *r, struct mover *m, size_t bytes)
{
    uint32_t times = bytes < CURVE_BYTES ? (uint32_t)(CURVE_BYTES / bytes) : 1;
    if (probe_begin_case(r, PROBE_DEEP | PROBE_POWER_BOUND, "bytes=%zu", bytes))
        measure_streams(r, m, CURVE, dealt(m, BY_LOADS, bytes, times),
                        dealt(m, BY_LOADS, bytes, 2 * times));
}

/* --- the memory of an SM --------------------------------------------------------------------- */

enum {
    L1_BYTES = 16 * STREAM_LOADS * L1_THREADS,
    SHARED_BYTES = 16 * LOCAL_ELEMENTS,
    REGISTER_BYTES = 4 * REGISTER_THREADS * (REGISTER_SUMS + 2 * REGISTER_OPERANDS),
    REGISTER_READS = 12 * REGISTER_THREADS * REGISTER_SUMS * REGISTER_ROUNDS, /* bytes, a pass */
};

struct local {
    const char *level;
    enum op op;
    const char *path, *kernel;
    unsigned threads;
    size_t shared, bytes; /* of the buffer */
    double moved, rate;   /* bytes in a pass; a cycle, as expected */
};

static const struct local locals[] = {
    {"register", READ, "ffma", "bandwidth_register_read", REGISTER_THREADS, 0, REGISTER_BYTES,
     REGISTER_READS, 1024},
    {"shared", READ, "ld", "bandwidth_shared_read", LOCAL_THREADS, SHARED_BYTES, SHARED_BYTES,
     SHARED_BYTES, 128},
    {"shared", WRITE, "ld", "bandwidth_shared_write", LOCAL_THREADS, SHARED_BYTES, SHARED_BYTES,
     SHARED_BYTES, 128},
    {"shared", COPY, "ld", "bandwidth_shared_copy", LOCAL_THREADS, 2 * SHARED_BYTES, SHARED_BYTES,
     2 * SHARED_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, L1_BYTES, L1_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, 2 * L1_BYTES, 2 * L1_BYTES, 128},
    {"l1", READ, "ld", "bandwidth_l1_read", L1_THREADS, 0, 3 * L1_BYTES, 3 * L1_BYTES, 128},
};

/* What the words read in one pass add up to; of registers, the bits of all sums after it. */
static uint32_t sum_of_pass(struct probe_run *r, const struct mover *m, const struct local *l)
{
    float in[REGISTER_THREADS + 300], sum[REGISTER_SUMS];
    uint32_t n_sm = (uint32_t)gpu_facts(r)->n_sm, bits = 0, word;

    if (strcmp(l->level, "register"))
        return (uint32_t)sum_of(r, m, n_sm * l->bytes);
    gpu_to_host(r, in, m->in, sizeof in);
    for (int t = 0; t < REGISTER_THREADS; t++) {
        for (int i = 0; i < REGISTER_SUMS; i++)
            sum[i] = in[t + i];
        for (int i = 0; i < REGISTER_SUMS * REGISTER_ROUNDS; i++) {
            const float *operand = in + t + i % REGISTER_OPERANDS;
            sum[i % REGISTER_SUMS] =
                fmaf(sum[i % REGISTER_SUMS], fmaf(1e-3f, operand[100], 0.5f), operand[200]);
        }
        for (int i = 0; i < REGISTER_SUMS; i++) {
            memcpy(&word, &sum[i], sizeof word);
            bits += word;
        }
    }
    return n_sm * bits;
}

/* One launch; every SM must have run one block, and what it wrote must be right. */
static double local_ns(struct probe_run *r, struct mover *m, cudaKernel_t kernel,
                       const struct local *l, uint32_t passes)
{
    int n_sm = gpu_facts(r)->n_sm;
    struct gpu_shape shape = {
        .grid = {(unsigned)n_sm, 1, 1}, .block = l->threads, .shared = l->shared};
    struct bandwidth_local_args a = {.in = m->in,
                                     .sum = m->sum,
                                     .blocks = m->blocks,
                                     .elements = (uint32_t)(l->bytes / 16),
                                     .passes = passes,
                                     .salt = ++m->salt};
    double ns = gpu_launch_ns(r, kernel, &shape, &a);
    uint32_t wrong = 0, twice = 0;
    char seen[1024] = {0};

    for (int i = 0; i < n_sm; i++) {
        uint32_t sm = m->blocks[i].sm % PROBE_LENGTH(seen);
        twice += seen[sm]++ != 0;
        wrong += m->blocks[i].wrong;
    }
    if (wrong || twice)
        probe_require(r, false, "%u threads found wrong elements, %u SMs ran two blocks", wrong,
                      twice);
    return ns;
}

static double cycles_of(const struct mover *m, int n_sm)
{
    double cycles[1024];
    for (int i = 0; i < n_sm; i++)
        cycles[i] = (double)m->blocks[i].cycles;
    stat_sort(cycles, (size_t)n_sm);
    return stat_median(cycles, (size_t)n_sm);
}

static void measure_local(struct probe_run *r, struct mover *m, const struct local *l)
{
    int n_sm = gpu_facts(r)->n_sm;
    bool reads = l->op == READ, floats = !strcmp(l->level, "register");
    unsigned flags = !strcmp(l->level, "l1") && l->bytes > L1_BYTES ? PROBE_DEEP : 0;
    uint32_t passes = probe_is_check_run(r) ? 2 : (uint32_t)(LOCAL_CYCLES * l->rate / l->moved);
    if (!probe_begin_case(r, flags, "level=%s,op=%s,path=%s,bytes=%zu", l->level, op_names[l->op],
                          l->path, l->bytes))
        return;

    cudaKernel_t kernel =
        gpu_kernel(r, &image_bandwidth, l->kernel, sizeof(struct bandwidth_local_args));
    gpu_kernel_shared(kernel, l->shared, l->shared ? 100 : 0);
    uint32_t of_pass = reads ? sum_of_pass(r, m, l) : 0, must = of_pass;
    clear_sums(r, m);
    local_ns(r, m, kernel, l, 1);
    if (reads)
        check_sum(r, m->sum, of_pass, "the words of one pass");
    for (uint32_t pass = 0; probe_more(r); pass++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t n = (i + pass) % 2 ? 2 * passes : passes;
            double ns = local_ns(r, m, kernel, l, n);
            probe_sample(r, RATE, n * l->moved * n_sm, ns);
            if (n > passes)
                probe_sample(r, SM_RATE, 1, n * l->moved / cycles_of(m, n_sm));
            must += n * of_pass;
        }
    if (reads && !floats)
        check_sum(r, m->sum, must, "the words of all timed launches");
    gpu_kernel_facts(r, kernel, (int)l->threads, l->shared);
}

/* --- a load while the others stream ---------------------------------------------------------- */

struct chaser {
    cudaKernel_t kernel;
    struct gpu_shape shape;
    struct loaded_chase_args args;
    struct chase_sample *samples;   /* device */
    struct chase_result *result;    /* mapped */
    struct loaded_stream *streamed; /* mapped */
    double full;                    /* bytes/s without any wait */
};

/* One chase; returns the rate of the streams beside it, bytes/s. */
static double chase(struct probe_run *r, struct chaser *c)
{
    const struct permutation *order = &c->args.order;
    unsigned warps = c->shape.grid.x * LOAD_WARPS;
    double rate = 0;

    memset(c->streamed, 0, warps * sizeof *c->streamed);
    c->args.ticket++;
    gpu_launch_shape(r, c->kernel, &c->shape, &c->args);
    gpu_wait(r);

    c->args.start = (c->args.start + CHASES * CHASE_LOADS) % order->n;
    uint64_t must = (uint64_t)(uintptr_t)c->args.ring;
    must += permute(*order, c->args.start) * RING_SPACING;
    if (c->result->end != must)
        probe_fail(r, "the chase did not end where its ring leads");
    for (unsigned i = 0; i < warps; i++)
        if (c->streamed[i].ns > 0)
            rate += 1e9 * (double)c->streamed[i].bytes / (double)c->streamed[i].ns;
    return rate;
}

static double clock_mhz(const struct chaser *c)
{
    const struct chase_result *at = c->result;
    return 1e3 * (double)(at->tail.cycles - at->lead.cycles) / (double)(at->tail.ns - at->lead.ns);
}

static struct chaser chaser_of(struct probe_run *r, const struct mover *m)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    unsigned n_sm = (unsigned)gpu->n_sm;
    size_t half = gpu->shared_per_sm / 2; /* and what the system takes: one block an SM */
    struct chaser c = {.shape = {.grid = {n_sm, 1, 1},
                                 .block = 32 * (LOAD_WARPS + 1),
                                 .cooperative = true}};
    uint32_t *words = gpu_alloc(r, 2 * 128, "the words of the chase");

    c.shape.shared = half < gpu->shared_per_block ? half : gpu->shared_per_block;
    c.kernel =
        gpu_kernel(r, &image_bandwidth_loaded_chase, "loaded_chase", sizeof(struct loaded_chase_args));
    gpu_kernel_shared(c.kernel, c.shape.shared, -1);
    CUDA(cudaMemsetAsync(words, 0, 2 * 128, gpu_stream(r)));
    c.samples = gpu_alloc(r, CHASES * sizeof *c.samples, "samples");
    c.result = gpu_mapped(r, sizeof *c.result);
    c.streamed = gpu_mapped(r, n_sm * LOAD_WARPS * sizeof *c.streamed);
    c.args = (struct loaded_chase_args){.in = m->in,
                                        .samples = c.samples,
                                        .result = c.result,
                                        .streamed = c.streamed,
                                        .arrived = words,
                                        .word = words + 32,
                                        .sm = SM,
                                        .repeats = CHASES};
    return c;
}

/* Lays a ring of so many bytes, and finds what the streams can do beside it. */
static void lay_ring(struct probe_run *r, struct chaser *c, char *ring, size_t bytes)
{
    struct loaded_ring_args a = {
        .ring = ring, .order = permutation_of(bytes / RING_SPACING, probe_seed(r) + bytes)};
    cudaKernel_t kernel = gpu_kernel(r, &image_bandwidth_loaded_chase, "loaded_chase_ring", sizeof a);

    gpu_launch(r, kernel, (unsigned)gpu_facts(r)->n_sm * 4, 256, 0, &a);
    gpu_sweep_l2(r);
    c->args.ring = a.ring;
    c->args.order = a.order;
    c->args.start = 0;
    c->args.interval = 0;
    c->args.streams = 1;
    chase(r, c);
    c->full = chase(r, c);
}

static void measure_loaded(struct probe_run *r, struct chaser *c, const char *level, int load)
{
    const double turn = 32.0 * LOAD_LOADS * 16 * LOAD_WARPS * (c->shape.grid.x - 1); /* of all */
    unsigned flags = load % 50 ? PROBE_DEEP : 0;
    struct chase_sample s[CHASES];
    if (!probe_begin_case(r, flags | PROBE_POWER_BOUND, "level=%s,load=%d", level, load))
        return;

    c->args.streams = load > 0;
    c->args.interval = 0;
    if (load > 0 && load < 100)
        c->args.interval = (uint32_t)(turn / (c->full * load / 100) * 1e6 * clock_mhz(c));
    while (probe_more(r)) {
        double rate = chase(r, c), mhz = clock_mhz(c);
        gpu_to_host(r, s, c->samples, sizeof s);
        probe_clock(r, mhz);
        for (int i = 0; i < CHASES; i++) {
            probe_sample(r, LOADED, CHASE_SHORT, (double)s[i].short_cycles * 1e3 / mhz);
            probe_sample(r, LOADED, CHASE_LONG, (double)s[i].long_cycles * 1e3 / mhz);
        }
        if (load > 0)
            probe_sample(r, LOADED_RATE, 1, 1e9 / rate);
    }
    probe_fact(r, "bytes_in_flight_per_sm", "%d", load ? 32 * LOAD_LOADS * 16 * LOAD_WARPS : 0);
    probe_fact(r, "interval_cycles", "%u", c->args.interval);
}

static void measure_chases(struct probe_run *r, struct mover *m)
{
    static const int loads[] = {0, 25, 50, 75, 90, 100};
    bool quick = probe_is_check_run(r);
    size_t ring_bytes = quick ? MIB : 4 * gpu_facts(r)->l2_bytes;
    char *ring = gpu_alloc(r, ring_bytes > L2_RING_BYTES ? ring_bytes : L2_RING_BYTES, "a ring");
    struct chaser c = chaser_of(r, m);

    c.args.elements = (uint32_t)(m->room / 16);
    c.args.apart = 32 * LOAD_LOADS;
    c.args.step = c.args.apart * LOAD_WARPS * c.shape.grid.x;
    lay_ring(r, &c, ring, ring_bytes);
    for (size_t i = 0; i < PROBE_LENGTH(loads); i++)
        measure_loaded(r, &c, "hbm", loads[i]);
    c.args.elements = L2_WARP_BYTES / 16;
    c.args.base = c.args.elements + L2_WARP_GAP / 16;
    c.args.step = c.args.apart;
    c.args.warm_laps = LAPS;
    lay_ring(r, &c, ring, quick ? MIB : L2_RING_BYTES);
    for (size_t i = 0; i < PROBE_LENGTH(loads); i++)
        measure_loaded(r, &c, "l2", loads[i]);
}

/* --------------------------------------------------------------------------------------------- */

static void measure_capacity(struct probe_run *r, const char *level, size_t bytes)
{
    if (probe_begin_case(r, PROBE_ONCE, "level=%s", level))
        probe_value(r, CAPACITY, (double)bytes);
}

static void measure(struct probe_run *r)
{
    const struct gpu_facts *gpu = gpu_facts(r);
    bool quick = probe_is_check_run(r);
    struct mover m = prepare(r);
    int registers, device;

    if (probe_in_full(r))
        check_reference(r, &m);
    for (size_t i = 0; i < PROBE_LENGTH(locals); i++)
        measure_local(r, &m, &locals[i]);
    for (int form = 0; form < N_FORMS; form++)
        measure_l2(r, &m, form, quick ? 1 : l2_turns(r, forms[form].op), 0);
    for (int form = 0; form < N_FORMS; form++)
        measure_hbm(r, &m, form, quick ? MIB : 512 * MIB, 0);
    for (int form = 0; form < N_FORMS && !quick; form++) {
        measure_hbm(r, &m, form, 4 * GIB, form == BY_LOADS ? 0 : PROBE_DEEP);
        for (uint32_t turns = 1; turns <= L2_DEEP_TURNS; turns++)
            if (turns != l2_turns(r, forms[form].op))
                measure_l2(r, &m, form, turns, PROBE_DEEP);
    }
    measure_in_step(r, &m, quick ? MIB / 4 : 8 * MIB, WHO_PAIR);
    measure_in_step(r, &m, quick ? MIB / 4 : 8 * MIB, WHO_ALL);
    for (size_t bytes = 64 << 10; bytes <= 2 * m.room && !quick; bytes *= 2)
        measure_curve(r, &m, bytes);
    measure_chases(r, &m);

    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&registers, cudaDevAttrMaxRegistersPerMultiprocessor, device));
    measure_capacity(r, "register", 4 * (size_t)registers * (size_t)gpu->n_sm);
    measure_capacity(r, "shared", gpu->shared_per_sm * (size_t)gpu->n_sm);
    measure_capacity(r, "l2", gpu->l2_bytes);
    measure_capacity(r, "hbm", gpu->memory_bytes);
}

const struct probe probe = {
    .name = "bandwidth",
    .what = "How fast can each level be read, written and copied, and what is a load under load?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
