#include "fused/harm/form.h"

#include <math.h>
#include <stdio.h>

#include "core/verdict.h"

PROBE_IMAGE(harm);

/* --- operands and launches -------------------------------------------------------------------- */

struct harm_operands harm_operands_of(struct probe_run *r, const char *what, enum gpu_type type,
                                      uint32_t rows, uint32_t columns, uint64_t second)
{
    struct harm_operands t = {
        .what = what, .type = gpu_type_name(type), .rows = rows, .columns = columns, .parts = 1};
    const size_t size = gpu_type_size(type);
    t.stride = ((uint64_t)columns + 63) / 64 * 64 + 64;
    t.second = second;
    t.bytes = 2 * (double)size * rows * columns + 2 * 4 * (double)second;
    t.sets = operation_sets(r, t.bytes);
    if (rows > 0) {
        t.in = pool_normal(r, type, rows * t.stride, t.sets, probe_seed(r), "the input");
        t.out = pool_new(r, size * rows * t.stride, t.sets, "the output");
        t.aside = pool_new(r, 8 * t.stride + 4 * rows + 4096, t.sets,
                           "what lies between two kernels");
    }
    if (second > 0) {
        t.in2 = pool_normal(r, GPU_FP32, second, t.sets, probe_seed(r) + 1, "the second input");
        t.out2 = pool_new(r, 4 * second, t.sets, "the second output");
    }
    return t;
}

void harm_operands_free(struct probe_run *r, struct harm_operands *t)
{
    struct pool *all[] = {&t->in, &t->out, &t->aside, &t->in2, &t->out2};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i]->memory)
            pool_free(r, all[i]);
}

struct harm_kernel harm_kernel_of(struct probe_run *r, const struct gpu_image *image,
                                  const char *name, dim3 grid, unsigned block)
{
    cudaKernel_t kernel = gpu_kernel_if_any(r, image, name, sizeof(struct harm_args));
    return (struct harm_kernel){.kernel = kernel, .grid = grid, .block = block};
}

static void *at(const struct pool *p, size_t set)
{
    return p->memory ? pool_at(p, set) : NULL;
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct harm_form *form = self;
    const struct harm_operands *t = form->t;
    const struct harm_args a = {.in = at(&t->in, set),
                                .out = at(&t->out, set),
                                .aside = at(&t->aside, set),
                                .in2 = at(&t->in2, set),
                                .out2 = at(&t->out2, set),
                                .stride = t->stride,
                                .rows = t->rows,
                                .columns = t->second ? (uint32_t)(t->second / 4) : t->columns,
                                .parts = t->parts};
    for (int i = 0; i < form->n; i++) {
        const struct harm_kernel *k = &form->kernels[i];
        const struct gpu_shape shape = {
            .grid = k->grid, .block = k->block, .shared = k->shared, .cluster = k->cluster};
        gpu_launch_shape(r, k->kernel, &shape, &a);
    }
}

static void poison(struct probe_run *r, const void *self)
{
    const struct harm_operands *t = ((const struct harm_form *)self)->t;
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
    gpu_launch_grid(r, kernel, (dim3){is_row ? 1 : 256, a.rows < 1024 ? a.rows : 1024, 1}, 64, 0,
                    &a);
    const struct verdict v = verdict_fetch(r);
    return verdict_check(r, &v, (uint64_t)a.rows * (a.columns / a.step), when);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct harm_form *form = self;
    const struct harm_operands *t = form->t;
    double error = NAN;
    if (t->in.memory)
        error = run_verifier(r,
                             (struct harm_verify_args){.in = t->in.memory,
                                                       .out = t->out.memory,
                                                       .stride = t->stride,
                                                       .rows = t->rows,
                                                       .columns = t->columns,
                                                       .what = form->what},
                             when);
    if (t->in2.memory)
        error = fmax(error, run_verifier(r,
                                         (struct harm_verify_args){.in = t->in2.memory,
                                                                   .out = t->out2.memory,
                                                                   .rows = 1,
                                                                   .columns = (uint32_t)t->second,
                                                                   .what = form->what2},
                                         when));
    return error;
}

/* --- how long does it take? ------------------------------------------------------------------- */

/* Blocks that fit an SM. */
static int resident(const struct harm_kernel *k, struct cudaFuncAttributes *facts)
{
    int blocks = 0;
    CUDA(cudaFuncGetAttributes(facts, (const void *)k->kernel));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)k->kernel,
                                                       (int)k->block, k->shared));
    return blocks;
}

/* Of the kernel that moves the most. */
static void describe(struct probe_run *r, const void *self)
{
    const struct harm_form *form = self;
    const struct harm_kernel *k = &form->kernels[0];
    struct cudaFuncAttributes facts;

    for (int i = 1; i < form->n; i++)
        if (form->kernels[i].does.bytes > k->does.bytes)
            k = &form->kernels[i];
    const int blocks = resident(k, &facts);
    probe_value(r, HARM_REGISTERS, facts.numRegs);
    probe_value(r, HARM_LOCAL, (double)facts.localSizeBytes);
    probe_value(r, HARM_WARPS, blocks * (int)k->block / 32);
    gpu_kernel_facts(r, k->kernel, (int)k->block, k->shared);
}

/* Of what is held and spilled each byte is accessed four times: x is set when it is loaded, read
 * and set for its exponential, and read for the result. */
static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    enum { ACCESSES = 4 };
    const struct harm_form *form = self;

    for (int i = 0; i < form->n; i++) {
        const struct harm_kernel *k = &form->kernels[i];
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

static void keys_of(char keys[96], const struct harm_operands *t)
{
    snprintf(keys, 96, "what=%s,rows=%u,columns=%u,type=%s", t->what, (unsigned)t->rows,
             (unsigned)(t->rows ? t->columns : t->second), t->type);
}

void harm_measure(struct probe_run *r, struct harm_form form, struct condition c)
{
    const struct harm_operands *t = form.t;
    const struct operation o = {.name = form.name,
                                .launch = launch,
                                .poison = poison,
                                .verify = verify,
                                .describe = c.stream ? NULL : describe,
                                .count = count_kernels,
                                .self = &form,
                                .sets = t->sets,
                                .set_bytes = t->bytes,
                                .bytes = t->bytes + form.extra_bytes,
                                .kernels = (unsigned)form.n};
    char keys[96];

    for (int i = 0; i < form.n; i++) {
        if (!form.kernels[i].kernel || form.kernels[i].shared > gpu_facts(r)->shared_per_block)
            return;
        if (form.kernels[i].shared)
            gpu_kernel_shared(form.kernels[i].kernel, form.kernels[i].shared, 100);
    }
    if (form.n == 1)
        form.kernels[0].does.bytes = o.bytes;
    keys_of(keys, t);
    operation_measure(r, keys, &o, c, 0, NAN);
}

void harm_measure_copy(struct probe_run *r, const struct harm_operands *t)
{
    char keys[96];
    keys_of(keys, t);
    copy_measure(r, keys, t->bytes, (struct condition){.cold = true}, PROBE_THRICE);
}
