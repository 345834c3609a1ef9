#include "fused/elementwise_chain/form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/half.h"
#include "fused/elementwise_chain/metrics.h"
#include "fused/elementwise_chain/reference.h"

const char *const chain_operator_names[CHAIN_SINGLES] = {"bias",  "scale", "leaky", "shift",
                                                         "clamp", "gelu",  "silu"};
/* Of fp32 on an element; proved by the contracts of the kernels. Of those of an activation two, an
 * exponential and a reciprocal, go to the MUFU. */
static const unsigned instructions_of[N_CHAIN_OPERATORS] = {
    [CHAIN_BIAS] = 1,  [CHAIN_SCALE] = 1, [CHAIN_LEAKY] = 2, [CHAIN_SHIFT] = 1,
    [CHAIN_CLAMP] = 2, [CHAIN_GELU] = 7,  [CHAIN_SILU] = 5,  [CHAIN_FMA] = 1,
};

/* --- the tensors ------------------------------------------------------------------------------ */

void chain_kernels(struct probe_run *r, const struct gpu_image *image, const char *stem,
                   bool has_small, cudaKernel_t of[2])
{
    char name[64];
    for (int is_small = 0; is_small < 2; is_small++) {
        snprintf(name, sizeof name, "chain_%s%s", stem, is_small && has_small ? "_small" : "");
        of[is_small] = gpu_kernel(r, image, name, sizeof(struct chain_args));
    }
}

struct chain_tensors chain_tensors_new(struct probe_run *r, const struct gpu_image *image, int rows,
                                       int cols, enum gpu_type type, bool has_chains, uint64_t seed)
{
    const size_t size = gpu_type_size(type), elements = (size_t)rows * (size_t)cols;
    struct chain_tensors t = {.image = image,
                              .rows = rows,
                              .cols = cols,
                              .type = type,
                              .has_chains = has_chains,
                              .seed = seed,
                              .bytes = elements * size};
    const size_t sets = operation_sets(r, 2 * (double)t.bytes);

    t.in = pool_normal(r, type, elements, sets, seed, "the input");
    t.out = pool_new(r, t.bytes, sets, "the output");
    t.verify = gpu_kernel(r, image, "chain_verify", sizeof(struct chain_verify_args));
    if (!has_chains)
        return t;
    for (int i = 0; i < 2; i++)
        t.middle[i] = pool_new(r, t.bytes, sets, "an intermediate");
    for (int i = 0; i < CHAIN_SINGLES; i++) {
        char stem[32];
        snprintf(stem, sizeof stem, "%s_%s", chain_operator_names[i], gpu_type_name(type));
        chain_kernels(r, image, stem, true, t.single[i]);
    }
    t.bias = gpu_alloc(r, size * (size_t)cols, "the bias");
    gpu_fill_normal(r, t.bias, type, (size_t)cols, seed + 1);
    return t;
}

void chain_tensors_draw(struct probe_run *r, struct chain_tensors *t, uint64_t seed)
{
    const size_t size = gpu_type_size(t->type);
    if (t->seed == seed)
        return;
    gpu_fill_normal(r, t->in.memory, t->type, t->in.sets * t->in.stride / size, seed);
    if (t->bias)
        gpu_fill_normal(r, t->bias, t->type, (size_t)t->cols, seed + 1);
    t->seed = seed;
}

void chain_tensors_free(struct probe_run *r, struct chain_tensors *t)
{
    pool_free(r, &t->in);
    pool_free(r, &t->out);
    if (!t->has_chains)
        return;
    pool_free(r, &t->middle[0]);
    pool_free(r, &t->middle[1]);
    gpu_release(r, t->bias);
}

static struct chain_args args_of(const struct chain_tensors *t, const void *in, void *out)
{
    struct chain_args a = {.in = in,
                           .out = out,
                           .bias = t->bias,
                           .vectors = t->bytes / 16,
                           .row_vectors = (uint32_t)((size_t)t->cols * gpu_type_size(t->type) / 16),
                           .scale = t->has_chains ? 1.25f : -0.9990234375f,
                           .shift = -0.3125f,
                           .leak = 0.125f,
                           .limit = 2.5f};
    chain_divide_by(a.row_vectors, &a.magic, &a.bits);
    return a;
}

/* --- the launches ----------------------------------------------------------------------------- */

/* The small form where four vectors a thread would leave SMs without a block. */
static void launch(struct probe_run *r, const cudaKernel_t kernel[2], const struct chain_args *a)
{
    const bool is_small = kernel[0] != kernel[1] &&
                          a->vectors < (uint64_t)gpu_facts(r)->n_sm * CHAIN_THREADS * CHAIN_VECTORS;
    const unsigned threads = is_small ? CHAIN_SMALL_THREADS : CHAIN_THREADS;
    const uint64_t each = threads * (is_small ? 1 : CHAIN_VECTORS);
    gpu_launch(r, kernel[is_small], (unsigned)((a->vectors + each - 1) / each), threads, 0, a);
}

void chain_launch(struct probe_run *r, const void *self, size_t set)
{
    const struct chain_form *form = self;
    struct chain_args a = args_of(form->t, pool_at(&form->t->in, set), pool_at(&form->t->out, set));
    a.rounds = (uint32_t)form->n / CHAIN_FMA_ROUND;
    launch(r, form->only >= 0 ? form->t->single[form->only] : form->fused, &a);
}

void chain_launch_unfused(struct probe_run *r, const void *self, size_t set)
{
    const struct chain_form *form = self;
    const struct chain_tensors *t = form->t;
    const void *from = pool_at(&t->in, set);

    for (int i = 0; i < form->n; i++) {
        void *to = pool_at(i + 1 == form->n ? &t->out : &t->middle[i % 2], set);
        const struct chain_args a = args_of(t, from, to);
        launch(r, t->single[CHAIN_OPERATOR(form->kind, i)], &a);
        from = to;
    }
}

static void poison(struct probe_run *r, const void *self)
{
    const struct chain_form *form = self;
    pool_poison(r, &form->t->out);
    for (int i = 0; form->t->has_chains && !form->is_fused && i < 2; i++)
        pool_poison(r, &form->t->middle[i]);
}

/* --- is it right? ----------------------------------------------------------------------------- */

static double number(const void *p, size_t i, enum gpu_type type)
{
    return type == GPU_FP16   ? half_fp16(((const uint16_t *)p)[i])
           : type == GPU_BF16 ? half_bf16(((const uint16_t *)p)[i])
                              : (double)((const float *)p)[i];
}

/* Elements of a row that are not what the CPU computes in double. */
static size_t wrong_in_row(const struct chain_form *form, const void *in, const void *out,
                           const void *bias)
{
    const enum gpu_type type = form->t->type;
    const struct chain_task task = {.a = args_of(form->t, NULL, NULL),
                                    .kind = form->kind,
                                    .n = form->n,
                                    .only = form->only,
                                    .is_fused = form->is_fused,
                                    .unit = type == GPU_FP16   ? HALF_FP16_UNIT
                                            : type == GPU_BF16 ? HALF_BF16_UNIT
                                                               : 0,
                                    .tiny = type == GPU_FP16 ? CHAIN_FP16_TINY : CHAIN_TINY};
    size_t wrong = 0;

    for (size_t i = 0; i < (size_t)form->t->cols;
         i += 1 + (size_t)form->n / 16) { /* of long chains, some */
        double off;
        const double reference = chain_reference(&task, number(in, i, type),
                                                 form->t->bias ? number(bias, i, type) : 0, &off);
        wrong += !(fabs(number(out, i, type) - reference) <= off);
    }
    return wrong;
}

/* The first row, the last, and two between; the GPU looks at all of them. */
static void check_on_host(struct probe_run *r, const struct chain_form *form)
{
    const struct chain_tensors *t = form->t;
    const size_t row = t->bytes / (size_t)t->rows;
    char *in = probe_host_alloc(r, row), *out = probe_host_alloc(r, row);
    char *bias = probe_host_alloc(r, row);
    size_t wrong = 0;

    if (t->bias)
        gpu_to_host(r, bias, t->bias, row);
    for (size_t i = 0; i < 4; i++) {
        const size_t at = i * (size_t)(t->rows - 1) / 3 * row;
        gpu_to_host(r, in, t->in.memory + at, row);
        gpu_to_host(r, out, t->out.memory + at, row);
        wrong += wrong_in_row(form, in, out, bias);
    }
    probe_require(r, wrong == 0,
                  "%zu elements of four rows are not as computed on the CPU in double", wrong);
    free(in);
    free(out);
    free(bias);
}

static struct verdict run_verifier(struct probe_run *r, const struct chain_form *form)
{
    const struct chain_tensors *t = form->t;
    const struct chain_verify_args a = {.a = args_of(t, t->in.memory, t->out.memory),
                                        .verdict = verdict_clear(r),
                                        .elements = t->bytes / gpu_type_size(t->type),
                                        .columns = (uint32_t)t->cols,
                                        .n = (uint32_t)form->n,
                                        .kind = form->kind,
                                        .type = t->type,
                                        .only = form->only,
                                        .is_fused = form->is_fused};
    gpu_launch(r, t->verify, 1024, 256, 0, &a);
    return verdict_fetch(r);
}

bool chain_is_wrong(struct probe_run *r, const void *self)
{
    return run_verifier(r, self).wrong > 0;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct chain_form *form = self;
    struct verdict v = run_verifier(r, form);
    if (probe_in_full(r))
        check_on_host(r, form);
    return verdict_check(r, &v, form->t->bytes / gpu_type_size(form->t->type), when);
}

/* --- as an operation ------------------------------------------------------------------------- */

static unsigned count_of(const struct chain_form *form, int which)
{
    unsigned n = 0;
    for (int i = 0; i < form->n; i++)
        n += (form->only >= 0 ? form->only : (int)CHAIN_OPERATOR(form->kind, i)) == which;
    return n;
}

static unsigned instructions(const struct chain_form *form)
{
    unsigned n = 0;
    for (int i = 0; i < N_CHAIN_OPERATORS; i++)
        n += count_of(form, i) * instructions_of[i];
    return n;
}

static void describe(struct probe_run *r, const void *self)
{
    const struct chain_form *form = self;
    probe_value(r, CHAIN_INSTRUCTIONS, instructions(form));
    if (form->is_fused)
        gpu_kernel_facts(r, form->fused[0], CHAIN_THREADS, 0);
}

static double bytes_of(const struct chain_form *form)
{
    const double tensor = (double)form->t->bytes, kernels = form->is_fused ? 1 : form->n;
    const double bias = tensor / form->t->rows, reads = count_of(form, CHAIN_BIAS);
    return 2 * kernels * tensor + bias * (form->is_fused ? fmin(reads, 1) : reads);
}

/* Of the fused kernel; those of the chain are copies with next to no arithmetic. */
static void count_kernels(struct probe_run *r, const void *self, struct operation_kernel *each)
{
    const struct chain_form *form = self;
    const double elements = (double)form->t->bytes / (double)gpu_type_size(form->t->type);
    const unsigned special = 2 * (count_of(form, CHAIN_GELU) + count_of(form, CHAIN_SILU));

    (void)r;
    each[0] = (struct operation_kernel){.bytes = bytes_of(form),
                                        .operations = elements * (instructions(form) - special),
                                        .exponentials = elements * special};
}

struct operation chain_operation(const struct chain_form *form, const char *name,
                                 struct condition c)
{
    const double tensor = (double)form->t->bytes, kernels = form->is_fused ? 1 : form->n;
    const double bias = count_of(form, CHAIN_BIAS) ? tensor / form->t->rows : 0;
    return (struct operation){.name = name,
                              .launch = form->is_fused || form->only >= 0 ? chain_launch
                                                                          : chain_launch_unfused,
                              .poison = poison,
                              .verify = verify,
                              .describe = c.stream ? NULL : describe,
                              .self = form,
                              .sets = form->t->in.sets,
                              .set_bytes = 2 * tensor,
                              .count = form->is_fused ? count_kernels : NULL,
                              .bytes = bytes_of(form),
                              .memory = (2 + fmin(kernels - 1, 2)) * tensor + bias,
                              .kernels = (unsigned)kernels};
}
