#include "fused/elementwise_chain/form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/half.h"
#include "fused/elementwise_chain/metrics.h"
#include "fused/elementwise_chain/reference.h"

PROBE_IMAGE(elementwise_chain);

const char *const chain_names[] = {"plain", "activated", "fmas", "none", NULL};
static const char *const operator_names[CHAIN_SINGLES] = {"bias",  "scale", "leaky", "shift",
                                                          "clamp", "gelu",  "silu"};
/* Of fp32 on an element; proved by the contracts of the kernels. Of those of an activation two, an
 * exponential and a reciprocal, go to the MUFU. */
static const unsigned instructions_of[N_CHAIN_OPERATORS] = {
    [CHAIN_BIAS] = 1,  [CHAIN_SCALE] = 1, [CHAIN_LEAKY] = 2, [CHAIN_SHIFT] = 1,
    [CHAIN_CLAMP] = 2, [CHAIN_GELU] = 7,  [CHAIN_SILU] = 5,  [CHAIN_FMA] = 1,
};

static int kind_of(const struct operator_set *s)
{
    return s->shape.dim[CHAIN_KIND];
}

static enum gpu_type type_of(const struct operator_set *s)
{
    return (enum gpu_type)s->shape.type;
}

static size_t elements_of(const struct operator_set *s)
{
    return (size_t)s->shape.dim[CHAIN_ROWS] * (size_t)s->shape.dim[CHAIN_COLS];
}

/* --- memory ----------------------------------------------------------------------------------- */

/* chain_STEM and, of all but multiply-adds, chain_STEM_small. */
static void load(struct probe_run *r, const char *stem, bool has_small, cudaKernel_t of[2])
{
    char name[64];
    for (int is_small = 0; is_small < 2; is_small++) {
        snprintf(name, sizeof name, "chain_%s%s", stem, is_small && has_small ? "_small" : "");
        of[is_small] = gpu_kernel(r, &image_elementwise_chain, name, sizeof(struct chain_args));
    }
}

static void load_kernels(struct probe_run *r, const struct operator_set *s, struct chain *t)
{
    const int kind = kind_of(s), n = s->shape.dim[CHAIN_LENGTH];
    const char *type = gpu_type_name(type_of(s));
    char stem[48];

    if (kind == CHAIN_FMAS && n > CHAIN_FMA_ROUND)
        snprintf(stem, sizeof stem, "fmas_loop_%s", type);
    else
        snprintf(stem, sizeof stem, "%s_%d_%s", chain_names[kind], n, type);
    if (kind != CHAIN_NONE)
        load(r, stem, kind != CHAIN_FMAS, t->fused);
    for (int i = 0; kind != CHAIN_FMAS && i < CHAIN_SINGLES; i++) {
        snprintf(stem, sizeof stem, "%s_%s", operator_names[i], type);
        load(r, stem, true, t->single[i]);
    }
    t->verify =
        gpu_kernel(r, &image_elementwise_chain, "chain_verify", sizeof(struct chain_verify_args));
}

double chain_copied(const struct operator_set *s, size_t member)
{
    (void)member;
    return 2 * (double)(elements_of(s) * gpu_type_size(type_of(s)));
}

void chain_open(struct probe_run *r, struct operator_set *s)
{
    struct chain *t = s->own;
    load_kernels(r, s, t);
    t->bytes = elements_of(s) * gpu_type_size(type_of(s));
    t->in = operator_operand(r, s, type_of(s), elements_of(s), "the input");
    t->out = operator_result(r, s, t->bytes, "the output");
    if (kind_of(s) == CHAIN_FMAS)
        return;
    t->bias = operator_vector(r, s, type_of(s), (size_t)s->shape.dim[CHAIN_COLS], "the bias");
    for (int i = 0; i < 2; i++)
        t->middle[i] = operator_result(r, s, t->bytes, "an intermediate");
}

struct quality_results chain_results(const struct operator_set *s, size_t member)
{
    const struct chain *t = s->own;
    (void)member;
    return (struct quality_results){t->out.memory, (uint64_t)s->shape.dim[CHAIN_ROWS],
                                    (uint64_t)s->shape.dim[CHAIN_COLS], gpu_type_size(type_of(s))};
}

/* --- launches --------------------------------------------------------------------------------- */

static struct chain_args args_of(const struct operator_set *s, const void *in, void *out)
{
    const struct chain *t = s->own;
    const size_t row = (size_t)s->shape.dim[CHAIN_COLS] * gpu_type_size(type_of(s));
    struct chain_args a = {.in = in,
                           .out = out,
                           .bias = t->bias,
                           .vectors = t->bytes / 16,
                           .row_vectors = (uint32_t)(row / 16),
                           .rounds = (uint32_t)s->shape.dim[CHAIN_LENGTH] / CHAIN_FMA_ROUND,
                           .scale = kind_of(s) == CHAIN_FMAS ? -0.9990234375f : 1.25f,
                           .shift = -0.3125f,
                           .leak = 0.125f,
                           .limit = 2.5f};
    chain_divide_by(a.row_vectors, &a.magic, &a.bits);
    return a;
}

/* The small kernel where four vectors a thread would leave SMs without a block. */
static void launch(struct probe_run *r, const struct operator_set *s, const cudaKernel_t kernel[2],
                   const void *in, void *out)
{
    struct chain_args a = args_of(s, in, out);
    a.keep = operation_keeps(r, 16.0 * (double)a.vectors);
    const bool is_small = kernel[0] != kernel[1] &&
                          a.vectors < (uint64_t)gpu_facts(r)->n_sm * CHAIN_THREADS * CHAIN_VECTORS;
    const unsigned threads = is_small ? CHAIN_SMALL_THREADS : CHAIN_THREADS;
    const uint64_t each = threads * (is_small ? 1 : CHAIN_VECTORS);
    gpu_launch(r, kernel[is_small], (unsigned)((a.vectors + each - 1) / each), threads, 0, &a);
}

static void launch_one(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f, size_t set)
{
    const struct chain *t = s->own;
    launch(r, s, f->which >= 0 ? t->single[f->which] : t->fused, pool_at(&t->in, set),
           pool_at(&t->out, set));
}

static void launch_unfused(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, size_t set)
{
    const struct chain *t = s->own;
    const int n = s->shape.dim[CHAIN_LENGTH];
    const void *from = pool_at(&t->in, set);

    (void)f;
    for (int i = 0; i < n; i++) {
        void *to = pool_at(i + 1 == n ? &t->out : &t->middle[i % 2], set);
        launch(r, s, t->single[CHAIN_OPERATOR(kind_of(s), i)], from, to);
        from = to;
    }
}

/* --- forms ------------------------------------------------------------------------------------ */

/* How often an operator is applied: in the chain, or by its own kernel (only >= 0). */
static unsigned count_of(const struct operator_set *s, int only, int which)
{
    unsigned n = 0;
    for (int i = 0; i < s->shape.dim[CHAIN_LENGTH]; i++)
        n += (only >= 0 ? only : (int)CHAIN_OPERATOR(kind_of(s), i)) == which;
    return n;
}

static unsigned instructions(const struct operator_set *s, int only)
{
    unsigned n = 0;
    for (int i = 0; i < N_CHAIN_OPERATORS; i++)
        n += count_of(s, only, i) * instructions_of[i];
    return n;
}

static struct operator_form form_of(const struct operator_set *s, const char *name, unsigned group,
                                    int only)
{
    const bool is_unfused = group == OPERATOR_UNFUSED;
    const unsigned kernels = is_unfused ? (unsigned)s->shape.dim[CHAIN_LENGTH] : 1;
    const double tensor = chain_copied(s, 0) / 2, reads = count_of(s, only, CHAIN_BIAS);
    const double bias = tensor / s->shape.dim[CHAIN_ROWS];
    return (struct operator_form){
        .name = name,
        .group = group,
        .bytes = 2 * kernels * tensor + bias * (is_unfused ? reads : fmin(reads, 1)),
        .memory = (2 + fmin(kernels - 1, 2)) * tensor + bias * fmin(reads, 1),
        .kernels = kernels,
        .launch = is_unfused ? launch_unfused : launch_one,
        .which = only};
}

size_t chain_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                   struct operator_form *list)
{
    size_t n = 0;
    (void)r, (void)member;
    for (int i = 0; kind_of(s) == CHAIN_NONE && i < CHAIN_SINGLES; i++)
        list[n++] = form_of(s, operator_names[i], i >= CHAIN_CLAMP ? CHAIN_MOST : CHAIN_OTHERS, i);
    if (kind_of(s) == CHAIN_PLAIN || kind_of(s) == CHAIN_ACTIVATED)
        list[n++] = form_of(s, "unfused", OPERATOR_UNFUSED, -1);
    if (kind_of(s) != CHAIN_NONE)
        list[n++] = form_of(s, "fused", OPERATOR_FUSED, -1);
    return n;
}

void chain_describe(struct probe_run *r, const struct operator_set *s,
                    const struct operator_form *f)
{
    const struct chain *t = s->own;
    probe_value(r, CHAIN_INSTRUCTIONS, instructions(s, f->which));
    if (f->group == OPERATOR_FUSED)
        gpu_kernel_facts(r, t->fused[0], CHAIN_THREADS, 0);
}

/* Of the fused kernel; those of the chain are copies with next to no arithmetic. */
void chain_count(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                 struct operation_kernel *each)
{
    const double elements = (double)elements_of(s);
    const unsigned special = 2 * (count_of(s, -1, CHAIN_GELU) + count_of(s, -1, CHAIN_SILU));

    (void)r;
    if (f->group == OPERATOR_FUSED)
        each[0] =
            (struct operation_kernel){.bytes = f->bytes,
                                      .operations = elements * (instructions(s, -1) - special),
                                      .exponentials = elements * special};
}

/* --- is it right? ----------------------------------------------------------------------------- */

struct verdict chain_verify(struct probe_run *r, const struct operator_set *s,
                            const struct operator_form *f, bool all, uint64_t *due)
{
    const struct chain *t = s->own;
    const struct chain_verify_args a = {.a = args_of(s, t->in.memory, t->out.memory),
                                        .verdict = verdict_clear(r),
                                        .elements = elements_of(s),
                                        .columns = (uint32_t)s->shape.dim[CHAIN_COLS],
                                        .n = (uint32_t)s->shape.dim[CHAIN_LENGTH],
                                        .kind = (uint32_t)kind_of(s),
                                        .type = type_of(s),
                                        .only = f->which,
                                        .is_fused = f->group == OPERATOR_FUSED};
    (void)all;
    *due = a.elements;
    gpu_launch(r, t->verify, 1024, 256, 0, &a);
    return verdict_fetch(r);
}

static double number(const void *p, size_t i, enum gpu_type type)
{
    return type == GPU_FP16   ? half_fp16(((const uint16_t *)p)[i])
           : type == GPU_BF16 ? half_bf16(((const uint16_t *)p)[i])
                              : (double)((const float *)p)[i];
}

/* Elements of a row that are not what the CPU computes in double. */
static size_t wrong_in_row(const struct operator_set *s, const struct operator_form *f,
                           const void *in, const void *out, const void *bias)
{
    const enum gpu_type type = type_of(s);
    const struct chain_task task = {.a = args_of(s, NULL, NULL),
                                    .kind = (enum chain_kind)kind_of(s),
                                    .n = s->shape.dim[CHAIN_LENGTH],
                                    .only = f->which,
                                    .is_fused = f->group == OPERATOR_FUSED,
                                    .unit = type == GPU_FP16   ? HALF_FP16_UNIT
                                            : type == GPU_BF16 ? HALF_BF16_UNIT
                                                               : 0,
                                    .tiny = type == GPU_FP16 ? CHAIN_FP16_TINY : CHAIN_TINY};
    size_t wrong = 0;

    for (size_t i = 0; i < (size_t)s->shape.dim[CHAIN_COLS];
         i += 1 + (size_t)task.n / 16) { /* of long chains, some */
        double off;
        const double reference =
            chain_reference(&task, number(in, i, type), bias ? number(bias, i, type) : 0, &off);
        wrong += !(fabs(number(out, i, type) - reference) <= off);
    }
    return wrong;
}

/* The first row, the last, and two between; the GPU looks at all of them. */
void chain_check_on_host(struct probe_run *r, const struct operator_set *s,
                         const struct operator_form *f, const char *when)
{
    const struct chain *t = s->own;
    const size_t rows = (size_t)s->shape.dim[CHAIN_ROWS], row = t->bytes / rows;
    char *in = probe_host_alloc(r, row), *out = probe_host_alloc(r, row);
    char *bias = t->bias ? probe_host_alloc(r, row) : NULL;
    size_t wrong = 0;

    if (bias)
        gpu_to_host(r, bias, t->bias, row);
    for (size_t i = 0; i < 4; i++) {
        const size_t at = i * (rows - 1) / 3 * row;
        gpu_to_host(r, in, t->in.memory + at, row);
        gpu_to_host(r, out, t->out.memory + at, row);
        wrong += wrong_in_row(s, f, in, out, bias);
    }
    probe_require(r, wrong == 0,
                  "%s: %zu elements of four rows are not as computed on the CPU in double", when,
                  wrong);
    free(in);
    free(out);
    free(bias);
}
