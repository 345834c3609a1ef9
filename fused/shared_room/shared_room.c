/* shared_room: what does a fused kernel lose when its shared memory leaves room for half as many
 * warps?
 *
 * Method. h = x + residual, y = (h - mean) / sqrt(variance + epsilon) over rows of bf16: two
 * operators, whose intermediate is a row of h in fp32. Each thread takes eight elements at a time.
 *     what=plain       both in one kernel, a block of 256 threads a row, whose h lies in shared
 *                      memory; x and residual by plain loads, one vector of each a thread
 *     what=pipe        the same with copies (cp.async): two tiles of 256 vectors ahead, over four
 *                      rows of a block, so that a row's beginning is under way while the row before
 *                      is worked on
 *     what=sum, norm_plain, norm_pipe   its parts, with h in memory between them
 *     impl=all         with the shared memory that it needs
 *     impl=same        with as much unused shared memory as leaves the number of blocks as it is
 *     impl=half, one   with so much that half of the blocks fit an SM; one of them
 *     impl=unfused     of what=plain: sum and norm_plain, one after the other
 * Nothing else changes: neither code nor grid, nor the carve-out, which is all for shared memory.
 *     what=cached      all of it in one kernel that stays, with as many blocks as fit; each has a
 *                      row of h in global memory, and reads it twice more. impl=carve_0 ... 100:
 *                      so many per cent of the on-chip memory are asked for as shared memory, which
 *                      nobody uses, and the rest is the cache. The warps are as many in each
 *     what=cached_often, cached_one     the same with 16 more reads; with one block on an SM, whose
 *                      row fits the smallest cache
 *
 * `warps` are those that fit an SM, `free_warps` those that would without any shared memory: where
 * these are more, shared memory is what limits them.
 * Inside the timed region: the kernels, between two events (common/operation.h).
 * --set rows and columns take one size for all of them: columns are a multiple of 8, as many as a
 * block's shared memory holds in fp32. What is left out: a kernel of which fewer than two blocks
 * fit an SM, and cached where there are fewer rows than SMs.
 *
 * Expected on an H200, before any measurement. plain has 33 KiB a block, six blocks, 48 warps of
 * 64, and with 32 bytes a thread 48 KiB an SM on their way; full bandwidth needs about 32. Half
 * have 24 KiB: 15 % slower. pipe has four blocks with 8 to 16 KiB on their way each; with two of
 * them 16 to 32 KiB: 8 % slower. One block: three times as slow by plain loads, twice by copies.
 * Found: 18 and 8 % slower; one block 2.3 and 1.6 times.
 * cached: 128 KiB of h on an SM fit beside a carve-out of none, not beside 75 %: then twice 4 bytes
 * an element more come from the L2, next to 6 from memory and 4 to the L2: 15 % slower. Found: 4 %,
 * but 7 % where it fits (cached_one).
 *
 * Traps. Where registers or threads limit the blocks, unused shared memory does nothing until it is
 * the limit: `same` and `free_warps` tell. Half of an odd number of blocks is rounded down: `warps`
 * tells. The carve-out is a wish, and the driver rounds it up to a size that it has. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "core/verdict.h"
#include "fused/common/operation.h"
#include "fused/shared_room/args.h"

PROBE_IMAGE(shared_room);
PROBE_IMAGE(shared_room_check);

enum { WARPS = N_OPERATION_METRICS, FREE_WARPS };
#define KEYS OPERATION_KEYS("what,rows,columns")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [WARPS] = {"warps", "count", PROBE_EXACT, .keys = KEYS,
               .what = "that fit an SM, as the occupancy API has it"},
    [FREE_WARPS] = {"free_warps", "count", PROBE_EXACT, .keys = KEYS,
                    .what = "that would fit an SM if they had no shared memory"},
};

static const struct probe_parameter parameters[] = {
    {"rows", 0, 0, 1 << 20, "of the one size to measure; 0: the probe's own sizes", NULL},
    {"columns", 0, 0, 1 << 17, "of the one size to measure; 0: the probe's own sizes", NULL},
};

static const float epsilon = 1e-5f;

/* --- operands, and what is made of them ------------------------------------------------------- */

struct operands {
    uint32_t rows, columns;
    struct pool x, residual, y, h;
    cudaKernel_t sum, norm, verify;
    size_t sets;
};

/* One case: a kernel, or two of them. */
struct form {
    const struct operands *t;
    const char *what, *impl;
    cudaKernel_t kernel, then; /* then: behind it, or NULL */
    size_t shared;             /* of `kernel`; `then` has its own */
    unsigned grid;
    uint32_t looks;
    int carveout;
    bool reads_h, leaves_h; /* a part: h is there before it, or h is all that it leaves */
    bool stays;             /* its blocks have the same h for all sets */
    double bytes;
};

static size_t own_shared(const struct operands *t)
{
    return 4 * (size_t)t->columns;
}
static size_t ring_shared(const struct operands *t)
{
    return ROOM_STAGES * 2 * ROOM_THREADS * 16 + own_shared(t);
}

static cudaKernel_t kernel_of(struct probe_run *r, const char *name)
{
    return gpu_kernel(r, &image_shared_room, name, sizeof(struct shared_room_args));
}

static struct operands operands_of(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    const size_t n = (size_t)rows * columns;
    struct operands t = {
        .rows = rows, .columns = columns, .sets = operation_sets(r, 6.0 * (double)n)};
    t.x = pool_normal(r, GPU_BF16, n, t.sets, probe_seed(r), "x");
    t.residual = pool_normal(r, GPU_BF16, n, t.sets, probe_seed(r) + 1, "the residual");
    t.y = pool_new(r, 2 * n, t.sets, "y");
    t.h = pool_new(r, 4 * n, t.sets, "h between two kernels");
    t.sum = kernel_of(r, "room_sum");
    t.norm = kernel_of(r, "room_norm_plain");
    t.verify = gpu_kernel(r, &image_shared_room_check, "shared_room_verify",
                          sizeof(struct shared_room_verify_args));
    gpu_kernel_shared(t.norm, own_shared(&t), 100);
    return t;
}

static void operands_free(struct probe_run *r, struct operands *t)
{
    pool_free(r, &t->x);
    pool_free(r, &t->residual);
    pool_free(r, &t->y);
    pool_free(r, &t->h);
}

static struct shared_room_args args_of(const struct form *f, size_t set)
{
    const struct operands *t = f->t;
    const uint32_t looks = f->looks;
    return (struct shared_room_args){.x = pool_at(&t->x, set),
                                     .residual = pool_at(&t->residual, set),
                                     .h = pool_at(&t->h, f->stays ? 0 : set),
                                     .y = pool_at(&t->y, set),
                                     .rows = t->rows,
                                     .columns = t->columns,
                                     .looks = looks,
                                     .epsilon = epsilon,
                                     .inverse = 1 / (float)t->columns,
                                     .inverse_looks = 1 / ((float)t->columns * (float)looks)};
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct form *f = self;
    const struct shared_room_args a = args_of(f, set);
    gpu_launch(r, f->kernel, f->grid, ROOM_THREADS, f->shared, &a);
    if (f->then)
        gpu_launch(r, f->then, f->t->rows, ROOM_THREADS, own_shared(f->t), &a);
}

/* Outputs, and h; where it is an input, it is made anew. */
static void poison(struct probe_run *r, const void *self)
{
    const struct form *f = self;
    pool_poison(r, &f->t->y);
    pool_poison(r, &f->t->h);
    for (size_t set = 0; f->reads_h && set < f->t->sets; set++) {
        const struct shared_room_args a = args_of(f, set);
        gpu_launch(r, f->t->sum, f->t->rows, ROOM_THREADS, 0, &a);
    }
}

/* Of set 0. From h that a part left, the other part makes y. */
static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct form *f = self;
    const struct operands *t = f->t;
    const struct shared_room_args a = args_of(f, 0);
    if (f->leaves_h)
        gpu_launch(r, t->norm, t->rows, ROOM_THREADS, own_shared(t), &a);
    const struct shared_room_verify_args v = {.x = t->x.memory,
                                              .residual = t->residual.memory,
                                              .y = t->y.memory,
                                              .verdict = verdict_clear(r),
                                              .rows = t->rows,
                                              .columns = t->columns,
                                              .epsilon = epsilon};
    gpu_launch(r, t->verify, (unsigned)gpu_facts(r)->n_sm * 8, ROOM_THREADS, 0, &v);
    const struct verdict found = verdict_fetch(r);
    return verdict_check(r, &found, (uint64_t)t->rows * t->columns, when);
}

/* --- how many warps? -------------------------------------------------------------------------- */

static unsigned blocks_of(cudaKernel_t kernel, size_t shared)
{
    int blocks = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)kernel, ROOM_THREADS,
                                                       shared));
    return (unsigned)blocks;
}

/* The most dynamic shared memory with which so many blocks fit an SM: in steps of 1 KiB, which the
 * driver has for itself, too. */
static size_t room_for(struct probe_run *r, cudaKernel_t kernel, unsigned blocks)
{
    const struct gpu_facts *f = gpu_facts(r);
    struct cudaFuncAttributes facts;
    CUDA(cudaFuncGetAttributes(&facts, (const void *)kernel));
    const size_t most = f->shared_per_block - facts.sharedSizeBytes;
    size_t each = f->shared_per_sm / blocks / 1024 * 1024;
    if (each > most)
        each = most;
    gpu_kernel_shared(kernel, most, 100);
    while (each >= 1024 && blocks_of(kernel, each) < blocks)
        each -= 1024;
    return each;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct form *f = self;
    const unsigned warps = ROOM_THREADS / 32, blocks = blocks_of(f->kernel, f->shared);
    const unsigned resident = f->stays ? f->grid / (unsigned)gpu_facts(r)->n_sm : blocks;
    probe_value(r, WARPS, warps * resident);
    probe_value(r, FREE_WARPS, warps * blocks_of(f->kernel, 0));
    probe_require(r, resident <= blocks, "blocks that stay are all resident: %u of %u", resident,
                  blocks);
    probe_fact(r, "carveout", "%d %% asked for as shared memory", f->carveout);
    gpu_kernel_facts(r, f->kernel, ROOM_THREADS, f->shared);
}

/* --- the cases -------------------------------------------------------------------------------- */

static void measure_form(struct probe_run *r, struct form f, unsigned flags)
{
    const double all = (double)f.t->rows * f.t->columns;
    const struct operation o = {.name = f.impl,
                                .launch = launch,
                                .poison = poison,
                                .verify = verify,
                                .describe = describe,
                                .self = &f,
                                .sets = f.t->sets,
                                .set_bytes = 6 * all,
                                .bytes = f.bytes,
                                .kernels = f.then ? 2 : 1};
    char keys[96];
    snprintf(keys, sizeof keys, "what=%s,rows=%u,columns=%u,type=bf16", f.what, f.t->rows,
             f.t->columns);
    gpu_kernel_shared(f.kernel, f.shared, f.carveout);
    operation_measure(r, keys, &o, (struct condition){.cold = true}, flags, NAN);
}

/* With its own shared memory, and with more that nobody uses. Where a kernel has room for one block
 * only, there are no halves. */
static void measure_room(struct probe_run *r, struct form f, bool is_whole)
{
    const size_t own = f.shared;
    const bool fits = own + ROOM_SCRATCH <= gpu_facts(r)->shared_per_block;
    if (fits)
        gpu_kernel_shared(f.kernel, own, 100);
    const unsigned blocks = fits ? blocks_of(f.kernel, own) : 0;
    const struct {
        const char *impl;
        unsigned blocks; /* 0: its own shared memory */
    } ways[] = {{"all", 0}, {"half", blocks / 2}, {"same", blocks}, {"one", 1}};

    if (blocks < 2) {
        probe_note(r, "not measured: what=%s, of which %u blocks fit an SM", f.what, blocks);
        return;
    }
    for (size_t i = 0; i < (is_whole ? PROBE_LENGTH(ways) : 2); i++) {
        f.impl = ways[i].impl;
        f.shared = ways[i].blocks ? room_for(r, f.kernel, ways[i].blocks) : own;
        if (f.shared < own)
            f.shared = own;
        f.carveout = 100;
        measure_form(r, f, is_whole ? 0 : PROBE_THRICE);
    }
}

static void measure_shared(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    struct operands t = operands_of(r, rows, columns);
    const double all = (double)rows * columns;
    const unsigned in_rows = (rows + ROOM_ROWS - 1) / ROOM_ROWS;
    struct form f = {.t = &t, .looks = 1, .grid = rows, .bytes = 6 * all};

    f.what = "plain", f.kernel = kernel_of(r, "room_plain"), f.shared = own_shared(&t);
    measure_room(r, f, true);
    f.what = "pipe", f.kernel = kernel_of(r, "room_pipe"), f.shared = ring_shared(&t);
    f.grid = in_rows;
    measure_room(r, f, true);

    f.reads_h = true;
    f.what = "norm_pipe", f.kernel = kernel_of(r, "room_norm_pipe");
    measure_room(r, f, false);
    f.what = "norm_plain", f.kernel = t.norm, f.shared = own_shared(&t), f.grid = rows;
    measure_room(r, f, false);
    f.reads_h = false, f.leaves_h = true, f.bytes = 8 * all;
    f.what = "sum", f.kernel = t.sum, f.shared = 0;
    measure_room(r, f, false);

    gpu_kernel_shared(t.norm, own_shared(&t), 100);
    f.leaves_h = false, f.what = "plain", f.impl = "unfused", f.then = t.norm;
    f.bytes = 14 * all, f.carveout = 100;
    measure_form(r, f, PROBE_THRICE);
    operands_free(r, &t);
}

/* As many blocks as fit an SM under each cut, so that all cuts have the same: a block has next to
 * no shared memory, but 1 KiB goes to the driver, and of the 8 KiB that an H200 leaves at 0 % only
 * seven have that. */
static void measure_cached(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    static const struct {
        const char *what;
        uint32_t looks;
        bool is_alone;
    } ways[] = {{"cached", 1, false}, {"cached_often", 16, false}, {"cached_one", 1, true}};
    static const struct {
        const char *impl;
        int percent;
    } cuts[] = {{"carve_0", 0}, {"carve_100", 100}, {"carve_50", 50}, {"carve_75", 75}};
    struct operands t = operands_of(r, rows, columns);
    struct form f = {.t = &t,
                     .kernel = kernel_of(r, "room_cached"),
                     .stays = true,
                     .bytes = 6.0 * (double)rows * columns};
    const unsigned sms = (unsigned)gpu_facts(r)->n_sm;
    unsigned blocks = UINT_MAX;

    for (size_t c = 0; c < PROBE_LENGTH(cuts); c++) {
        gpu_kernel_shared(f.kernel, 0, cuts[c].percent);
        const unsigned fit = blocks_of(f.kernel, 0);
        blocks = fit < blocks ? fit : blocks;
    }
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++)
        for (size_t c = 0; c < (i == 0 ? PROBE_LENGTH(cuts) : 2); c++) {
            f.what = ways[i].what, f.looks = ways[i].looks;
            f.grid = ways[i].is_alone ? sms : blocks * sms;
            if (f.grid > rows) /* each block has a row of h */
                f.grid = rows / sms * sms;
            f.impl = cuts[c].impl, f.carveout = cuts[c].percent;
            measure_form(r, f, PROBE_THRICE);
        }
    operands_free(r, &t);
}

/* A size of the command line; what it does not give is 8192. */
static void measure_given(struct probe_run *r, uint32_t rows, uint32_t columns)
{
    enum { USUAL = 8192 };
    const uint32_t held = (uint32_t)(gpu_facts(r)->shared_per_block - ROOM_SCRATCH) / 4;
    const uint32_t most = held / ROOM_VECTOR * ROOM_VECTOR;
    rows = rows ? rows : USUAL;
    columns = columns ? columns : USUAL;
    if (columns % ROOM_VECTOR || columns > most)
        probe_usage(r, "columns=%u: expected a multiple of %d up to %u", columns, ROOM_VECTOR,
                    most);
    measure_shared(r, rows, columns);
    if (rows >= (uint32_t)gpu_facts(r)->n_sm)
        measure_cached(r, rows, columns);
    else
        probe_note(r, "not measured: what=cached of fewer rows than SMs");
}

static void measure(struct probe_run *r)
{
    const uint32_t rows = (uint32_t)probe_parameter(r, "rows");
    const uint32_t columns = (uint32_t)probe_parameter(r, "columns");
    if (rows || columns) {
        measure_given(r, rows, columns);
        return;
    }
    const bool is_small = probe_is_check_run(r);
    const uint32_t few = 2 * (uint32_t)gpu_facts(r)->n_sm + 3;

    measure_shared(r, is_small ? 37 : 8192, is_small ? 8200 : 8192);
    if (is_small)
        measure_shared(r, 5, 264); /* a tile that is not full, and a block without all its rows */
    measure_cached(r, is_small ? few : 16384, is_small ? 1032 : 4096);
}

const struct probe probe = {
    .name = "shared_room",
    .what =
        "What does a fused kernel lose when its shared memory leaves room for half of the warps?",
    .method = 1,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
