/* harm: operands, launches, what makes sure that they are right, and what each kernel does. The
 * probe names its images before it includes this. */
#ifndef FUSED_HARM_WORK_H
#define FUSED_HARM_WORK_H

#include <math.h>
#include <stdio.h>

#include "fused/common/operation.h"
#include "core/verdict.h"
#include "fused/harm/args.h"

enum { /* the probe's own metrics */
    REGISTERS = N_OPERATION_EACH_METRICS,
    LOCAL,
    WARPS,
};

/* One launch of an operation, what it takes, and what it does. */
struct kernel {
    cudaKernel_t kernel;
    dim3 grid;
    unsigned block, cluster;
    size_t shared;
    struct operation_kernel does; /* bytes and arithmetic; count_kernels() adds the rest */
    double batches;               /* loads of a thread, one behind the other */
    bool holds;                   /* a block loads all that it works on before it stores any */
};

/* Operands of one case, and the kernels that are launched over them, one or two. */
struct operands {
    const char *what, *type;
    struct pool in, out, aside, in2, out2;
    uint64_t stride, stride2; /* in elements; of the arrays of the second phase */
    uint32_t rows, columns, parts;
    size_t sets;
    double bytes; /* read and written by one kernel that does it all */
};
struct work {
    const struct operands *t;
    const char *name;
    struct kernel kernels[2];
    int n;
    double extra_bytes;         /* that two kernels move beyond one */
    enum harm_what what, what2; /* to be looked at in out and out2 */
};

/* --- operands --------------------------------------------------------------------------------- */

static struct operands operands_of(struct probe_run *r, const char *what, enum gpu_type type,
                                   uint32_t rows, uint32_t columns, uint64_t second)
{
    struct operands t = {.what = what, .type = gpu_type_name(type), .rows = rows,
                         .columns = columns, .parts = 1};
    const size_t size = gpu_type_size(type);
    t.stride = ((uint64_t)columns + 63) / 64 * 64 + 64;
    t.stride2 = second;
    t.bytes = 2 * (double)size * rows * columns + 2 * 4 * (double)second;
    t.sets = operation_sets(r, t.bytes);
    if (rows > 0) {
        t.in = pool_normal(r, type, rows * t.stride, t.sets, probe_seed(r), "the input");
        t.out = pool_new(r, size * rows * t.stride, t.sets, "the output");
        t.aside = pool_new(r, 8 * t.stride + 4096, t.sets, "what lies between two kernels");
    }
    if (second > 0) {
        t.in2 = pool_normal(r, GPU_FP32, second, t.sets, probe_seed(r) + 1, "the second input");
        t.out2 = pool_new(r, 4 * second, t.sets, "the second output");
    }
    return t;
}

static void operands_free(struct probe_run *r, struct operands *t)
{
    struct pool *all[] = {&t->in, &t->out, &t->aside, &t->in2, &t->out2};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i]->memory)
            pool_free(r, all[i]);
}

static void *at(const struct pool *p, size_t set)
{
    return p->memory ? pool_at(p, set) : NULL;
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct operands *t = w->t;
    const struct harm_args a = {.in = at(&t->in, set),
                                .out = at(&t->out, set),
                                .aside = at(&t->aside, set),
                                .in2 = at(&t->in2, set),
                                .out2 = at(&t->out2, set),
                                .stride = t->stride,
                                .rows = t->rows,
                                .columns = t->stride2 ? (uint32_t)(t->stride2 / 4) : t->columns,
                                .parts = t->parts};
    for (int i = 0; i < w->n; i++) {
        const struct kernel *k = &w->kernels[i];
        const struct gpu_shape shape = {.grid = k->grid,
                                        .block = k->block,
                                        .shared = k->shared,
                                        .cluster = k->cluster};
        gpu_launch_shape(r, k->kernel, &shape, &a);
    }
}

static void poison(struct probe_run *r, const void *self)
{
    const struct operands *t = ((const struct work *)self)->t;
    const struct pool *all[] = {&t->out, &t->aside, &t->out2};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i]->memory)
            pool_poison(r, all[i]);
}

/* --- is it right? ----------------------------------------------------------------------------- */

/* Everything in full, where an element is cheap; of rows whose every element takes a whole row 64
 * columns; later less. */
static double run_verifier(struct probe_run *r, struct harm_verify_args a, const char *when)
{
    const cudaKernel_t kernel = gpu_kernel(r, &image_harm, "harm_verify", sizeof a);
    const bool is_row = a.what == HARM_WIDE || a.what == HARM_SERIAL, in_full = probe_in_full(r);

    a.step = is_row ? (a.columns < 64 ? 1 : a.columns / 64) : in_full || a.columns < 997 ? 1 : 997;
    if (is_row && !in_full && a.rows > 16)
        a.rows = 16;
    a.verdict = verdict_clear(r);
    gpu_launch_grid(r, kernel, (dim3){is_row ? 1 : 256, a.rows < 1024 ? a.rows : 1024, 1}, 64, 0, &a);
    const struct verdict v = verdict_fetch(r);
    return verdict_check(r, &v, (uint64_t)a.rows * (a.columns / a.step), when);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    const struct operands *t = w->t;
    double error = NAN;
    if (t->in.memory)
        error = run_verifier(r,
                             (struct harm_verify_args){.in = t->in.memory,
                                                       .out = t->out.memory,
                                                       .stride = t->stride,
                                                       .rows = t->rows,
                                                       .columns = t->columns,
                                                       .what = w->what},
                             when);
    if (t->in2.memory)
        error = run_verifier(r,
                             (struct harm_verify_args){.in = t->in2.memory,
                                                       .out = t->out2.memory,
                                                       .rows = 1,
                                                       .columns = (uint32_t)t->stride2,
                                                       .what = w->what2},
                             when);
    return error;
}

/* --- how long does it take? ------------------------------------------------------------------- */

/* Blocks that fit an SM. */
static int resident(const struct kernel *k, struct cudaFuncAttributes *facts)
{
    int blocks = 0;
    CUDA(cudaFuncGetAttributes(facts, (const void *)k->kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)k->kernel,
                                                       (int)k->block, k->shared));
    return blocks;
}

/* Of the first kernel, which is the whole of a fused one. */
static void describe(struct probe_run *r, const void *self)
{
    const struct kernel *k = &((const struct work *)self)->kernels[0];
    struct cudaFuncAttributes facts;
    const int blocks = resident(k, &facts);
    probe_value(r, REGISTERS, facts.numRegs);
    probe_value(r, LOCAL, (double)facts.localSizeBytes);
    probe_value(r, WARPS, blocks * (int)k->block / 32);
    gpu_kernel_facts(r, k->kernel, (int)k->block, k->shared);
}

/* Of what is held and spilled each byte is accessed four times: x is set when it is loaded, read and
 * set for its exponential, and read for the result. */
static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    enum { ACCESSES = 4 };
    const struct work *w = self;

    for (int i = 0; i < w->n; i++) {
        const struct kernel *k = &w->kernels[i];
        struct cudaFuncAttributes facts;
        const double fitting = resident(k, &facts);
        const double blocks = (double)k->grid.x * k->grid.y * k->grid.z;
        const double local = (double)facts.localSizeBytes * k->block; /* of a block */

        each[i] = k->does;
        each[i].blocks = blocks;
        each[i].trips = operation_rounds(r, blocks, fitting) * k->batches;
        each[i].alone = k->holds && operation_at_once(r, blocks, fitting) == 1;
        each[i].spilled = ACCESSES * local * blocks;
        each[i].local = local * operation_at_once(r, blocks, fitting);
    }
}

static const struct condition cold = {.cold = true};

static void keys_of(char keys[96], const struct operands *t)
{
    snprintf(keys, 96, "what=%s,rows=%u,columns=%u,type=%s", t->what, (unsigned)t->rows,
             (unsigned)(t->rows ? t->columns : t->stride2), t->type);
}

static void measure_work(struct probe_run *r, struct work w, struct condition c)
{
    const struct operands *t = w.t;
    const struct operation o = {.name = w.name,
                                .launch = launch,
                                .poison = poison,
                                .verify = verify,
                                .describe = c.stream ? NULL : describe,
                                .count = count_kernels,
                                .self = &w,
                                .sets = t->sets,
                                .set_bytes = t->bytes,
                                .bytes = t->bytes + w.extra_bytes,
                                .kernels = (unsigned)w.n};
    char keys[96];

    for (int i = 0; i < w.n; i++) {
        if (!w.kernels[i].kernel || w.kernels[i].shared > gpu_facts(r)->shared_per_block)
            return;
        if (w.kernels[i].shared)
            gpu_kernel_shared(w.kernels[i].kernel, w.kernels[i].shared, 100);
    }
    if (w.n == 1)
        w.kernels[0].does.bytes = o.bytes;
    keys_of(keys, t);
    operation_measure(r, keys, &o, c, 0, NAN);
}

/* For the rate that predictions take from it; in two rounds only, so no share is formed with it. */
static void measure_copy(struct probe_run *r, const struct operands *t)
{
    char keys[96];
    keys_of(keys, t);
    copy_measure(r, keys, t->bytes, cold, PROBE_ONCE);
}

static struct kernel kernel_of(struct probe_run *r, const struct gpu_image *image, const char *name,
                               dim3 grid, unsigned block)
{
    return (struct kernel){.kernel = gpu_kernel_if_any(r, image, name, sizeof(struct harm_args)),
                           .grid = grid,
                           .block = block};
}

#endif
