/* norm: the operands and the results of a size and a type, the launches of an operator, and what
 * the reference says of them. */
#ifndef FUSED_NORM_PROBLEM_H
#define FUSED_NORM_PROBLEM_H

#include <stdio.h>

#include "fused/common/operation.h"
#include "fused/norm/args.h"
#include "fused/norm/operators.h"
#include "fused/norm/reference.h"

PROBE_IMAGE(norm);
PROBE_IMAGE(norm_passes);

static const float EPSILON = 1e-5f;

/* --- memory, launches ------------------------------------------------------------------------- */

/* Operands and results of any operator at one size, and the copies of this size that were timed. */
struct tensors {
    struct pool pool[N_TENSORS], scale;
    void *weight, *bias;
    float *mean, *factor; /* between kernels of one operation, so one set is enough */
    int rows, cols;
    enum gpu_type type;               /* fp16 or bf16 */
    double copy_bytes[2], copy_ns[2]; /* [cold] */
    cudaKernel_t kernel[N_NORM_KERNELS][N_LAUNCH_FORMS];
};

struct work {
    const struct tensors *t;
    const struct norm_operator *o;
    const struct norm_variant *v;
};

/* Why a shape is not taken; NULL: it is. */
static const char *refusal(int cols)
{
    return cols % NORM_VECTOR     ? "rows do not begin on 16 bytes"
           : cols > NORM_COLS_MAX ? "a row does not fit into the registers of a block"
                                  : NULL;
}

static void load_kernels(struct probe_run *r, struct tensors *t)
{
    static const char *const forms[][N_LAUNCH_FORMS] = {
        [ROWS] = {[BLOCK] = "_block", [FEW] = "_few", [WARP] = "_warp", [CLUSTER] = "_cluster"},
        [ELEMENTS] = {[LONG] = "_long", [SMALL] = "_small"},
        [PASSES] = {""},
        [NARROW] = {""}};
    for (int i = 0; i < N_NORM_KERNELS; i++)
        for (int form = 0; form < N_LAUNCH_FORMS && forms[norm_kernels[i].form][form]; form++) {
            char name[64];
            if (form == CLUSTER && gpu_facts(r)->cc < 90)
                continue;
            snprintf(name, sizeof name, "norm_%s%s_%s", norm_kernels[i].name,
                     forms[norm_kernels[i].form][form], gpu_type_name(t->type));
            t->kernel[i][form] =
                gpu_kernel(r, norm_kernels[i].form == PASSES ? &image_norm_passes : &image_norm,
                           name, sizeof(struct norm_args));
        }
}

static struct tensors tensors_of(struct probe_run *r, int rows, int cols, enum gpu_type type,
                                 uint64_t seed)
{
    struct tensors t = {.rows = rows, .cols = cols, .type = type};
    const size_t count = (size_t)rows * (size_t)cols, column_bytes = 2 * (size_t)cols;
    const size_t sets = operation_sets(r, 4 * (double)count);

    load_kernels(r, &t);
    for (enum norm_tensor i = 0; i < N_TENSORS; i++)
        t.pool[i] = i <= OTHER ? pool_normal(r, type, count, sets, seed + i, "an operand")
                               : pool_new(r, 2 * count, sets, "a result");
    t.weight = gpu_alloc(r, column_bytes, "the weights");
    t.bias = gpu_alloc(r, column_bytes, "the bias");
    gpu_fill_normal(r, t.weight, type, (size_t)cols, seed + 2);
    gpu_fill_normal(r, t.bias, type, (size_t)cols, seed + 3);
    t.scale = pool_new(r, 4 * (size_t)rows, sets, "the scales");
    t.mean = gpu_alloc(r, 4 * (size_t)rows, "the means");
    t.factor = gpu_alloc(r, 4 * (size_t)rows, "the factors");
    return t;
}

static void tensors_free(struct probe_run *r, struct tensors *t)
{
    for (int i = 0; i < N_TENSORS; i++)
        pool_free(r, &t->pool[i]);
    void *const others[] = {t->weight, t->bias, t->mean, t->factor};
    pool_free(r, &t->scale);
    for (size_t i = 0; i < PROBE_LENGTH(others); i++)
        gpu_release(r, others[i]);
}

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct tensors *t = w->t;
    for (int i = 0; i < w->v->steps; i++) {
        const enum norm_kernel k = w->v->step[i].kernel;
        struct norm_args a = {.in = pool_at(&t->pool[w->v->step[i].in], set),
                              .residual = pool_at(&t->pool[OTHER], set),
                              .weight = t->weight,
                              .bias = t->bias,
                              .sum = pool_at(&t->pool[SUM], set),
                              .out = pool_at(&t->pool[w->v->step[i].out], set),
                              .scale = pool_at(&t->scale, set),
                              .mean = t->mean,
                              .factor = t->factor,
                              .rows = (uint32_t)t->rows,
                              .row_vectors = (uint32_t)t->cols / NORM_VECTOR,
                              .epsilon = EPSILON,
                              .one_over_cols = 1.0f / (float)t->cols};
        const struct norm_launch l = norm_launch_of(
            norm_kernels[k].form, a.rows, a.row_vectors, (unsigned)gpu_facts(r)->n_sm,
            gpu_facts(r)->cc < 90 ? 1 : (unsigned)probe_parameter(r, "cluster"));
        const struct gpu_shape shape = {
            .grid = {l.blocks, 1, 1}, .block = l.threads, .cluster = l.cluster > 1 ? l.cluster : 0};
        a.cluster = l.cluster;
        gpu_launch_shape(r, t->kernel[k][l.form], &shape, &a);
    }
}

static void poison(struct probe_run *r, const void *self)
{
    const struct tensors *t = ((const struct work *)self)->t;
    for (enum norm_tensor i = SUM; i < N_TENSORS; i++)
        pool_poison(r, &t->pool[i]);
    pool_poison(r, &t->scale);
    gpu_poison(r, t->mean, 4 * (size_t)t->rows);
    gpu_poison(r, t->factor, 4 * (size_t)t->rows);
}

/* --- is it right? ----------------------------------------------------------------------------- */

static uint32_t flags_of(const struct work *w)
{
    return w->o->flags | (w->v->properties & ROUNDS ? NORM_CHAIN : 0) |
           (w->t->type == GPU_BF16 ? NORM_BF16 : 0);
}

/* What set 0 holds, for the reference. */
static struct norm_verify_args results_of(const struct work *w)
{
    const struct tensors *t = w->t;
    return (struct norm_verify_args){.in = t->pool[IN].memory,
                                     .residual = t->pool[OTHER].memory,
                                     .weight = t->weight,
                                     .bias = t->bias,
                                     .sum = t->pool[SUM].memory,
                                     .out = t->pool[OUT].memory,
                                     .scale = norm_gives_codes(w->o) ? pool_at(&t->scale, 0) : NULL,
                                     .rows = (uint32_t)t->rows,
                                     .cols = (uint32_t)t->cols,
                                     .operator_flags = flags_of(w),
                                     .epsilon = EPSILON};
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    const struct norm_verify_args a = results_of(self);
    return norm_run_verifier(r, &a).wrong > 0;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct norm_verify_args a = results_of(self);
    return norm_check(r, &a, when);
}

#endif
