/* norm: what does it save to normalise a row in one kernel with all that stands beside it?
 *
 * Method. x is rows x cols fp16, N(0,1), as are the residual, the weights and the bias; statistics
 * are fp32. Six operators, each as one kernel that keeps the row in registers and reads it once,
 * and as a chain of kernels that are as good (16-byte accesses, rows read once), results in memory
 * between them:
 *
 *     rmsnorm_residual        s = x + residual; rmsnorm(s), s             add, norm
 *     rmsnorm_residual_fp8    ... in e4m3 codes with a scale a row        add, norm, quantise
 *     rmsnorm_residual_int8   ... in int8 codes
 *     rmsnorm_bias_silu       silu(rmsnorm(x) + bias)                     norm, bias, silu
 *     layernorm               with weights and bias                       mean, variance, normalise
 *     layernorm_silu                                                      norm, silu
 *
 * The chain of layernorm is no chain of operators but the formula's three passes, a kernel each:
 * every one reads the tensor. two_pass and three_pass are one kernel that loads its row so often,
 * where the SM's L1 may serve all loads but the first. narrow is a fused kernel with one warp for
 * a row.
 *
 * Inside the timed region: the operations, between two events. Modes, cache states, rotation of
 * buffers and the copy that is the reference: kernels/operation.h. A kernel of a chain alone
 * ("add", "norm" ...) moves other bytes than the operator; its share is of the operator's copy in
 * proportion. Expected: where bytes are what takes time, the ratio of bytes: 10 to 8 an element
 * for rmsnorm_residual, 13 to 7 with fp8, 12 to 4 for rmsnorm_bias_silu, 8 to 4 for layernorm; at
 * one row that of launches.
 *
 * The weights and the bias are one set, which stays in the L2.
 *
 * Traps. The sum with the residual is rounded before it is normalised, fused or not, or the two
 * would not be the same function. Variance from the mean of squares less the square of the mean
 * loses all digits where the mean is large: two_pass does that, and rows of mean 1000 must show
 * it. */
#include "fused/norm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused/kernels/norm_operators.h"
#include "fused/kernels/norm_reference.h"
#include "fused/kernels/operation.h"
#include "fused/kernels/quality.h"

PROBE_IMAGE(norm);
PROBE_IMAGE(norm_passes);
GPU_ARGS_SIZE(struct norm_args, 96);

static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("op,rows,cols"))};

static const float EPSILON = 1e-5f;

/* Set by hand, to compare. */
static const struct probe_parameter parameters[] = {
    {"cluster", 0, 0, NORM_CLUSTER_MAX,
     "blocks that share a row where rows are few, a power of two; 0: as the probe chooses"},
};

/* --- memory, launches ------------------------------------------------------------------------- */

/* Operands and results of any operator at one size, and the copies of this size that were timed. */
struct tensors {
    struct pool pool[N_TENSORS], scale;
    void *weight, *bias;
    float *mean, *factor; /* between kernels of one operation, so one set is enough */
    int rows, cols;
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
            snprintf(name, sizeof name, "norm_%s%s", norm_kernels[i].name,
                     forms[norm_kernels[i].form][form]);
            t->kernel[i][form] =
                gpu_kernel(r, norm_kernels[i].form == PASSES ? &image_norm_passes : &image_norm,
                           name, sizeof(struct norm_args));
        }
}

static struct tensors tensors_of(struct probe_run *r, int rows, int cols, uint64_t seed)
{
    struct tensors t = {.rows = rows, .cols = cols};
    const size_t count = (size_t)rows * (size_t)cols, column_bytes = 2 * (size_t)cols;
    const size_t sets = operation_sets(r, 4 * (double)count);

    load_kernels(r, &t);
    for (enum norm_tensor i = 0; i < N_TENSORS; i++)
        t.pool[i] = i <= OTHER ? pool_normal(r, GPU_FP16, count, sets, seed + i, "an operand")
                               : pool_new(r, 2 * count, sets, "a result");
    t.weight = gpu_alloc(r, column_bytes, "the weights");
    t.bias = gpu_alloc(r, column_bytes, "the bias");
    gpu_fill_normal(r, t.weight, GPU_FP16, (size_t)cols, seed + 2);
    gpu_fill_normal(r, t.bias, GPU_FP16, (size_t)cols, seed + 3);
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
    return w->o->flags | (w->v->properties & ROUNDS ? NORM_CHAIN : 0);
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
    return norm_look(r, &a).wrong > 0;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct norm_verify_args a = results_of(self);
    return norm_check(r, &a, when);
}

/* Every operator, every variant, once, on shapes that are small and odd. */
static void check_shape(struct probe_run *r, int rows, int cols, uint64_t seed)
{
    struct tensors t = tensors_of(r, rows, cols, seed);
    char wrong[200] = "";

    for (const struct norm_operator *o = norm_operators; o < norm_operators + N_OPERATORS; o++)
        for (const struct norm_variant *v = o->variant; v->name; v++) {
            const struct work w = {&t, o, v};
            if (v->properties & PART)
                continue;
            poison(r, &w);
            launch(r, &w, 0);
            if (is_wrong(r, &w))
                snprintf(wrong + strlen(wrong), sizeof wrong - strlen(wrong), " %s %s", o->name,
                         v->name);
        }
    probe_check(r, !*wrong, "%d x %d: every operator is right; wrong:%s", rows, cols, wrong);
    tensors_free(r, &t);
}

static void check_odd_shapes(struct probe_run *r)
{
    static const int odd[][2] = {{1, 8},     {1, 1024},   {1, 32768}, {3, 1},      {2, 4097},
                                 {5, 1000},  {300, 1016}, {7, 1024},  {331, 1032}, {1, 32760},
                                 {2, 32776}, {13, 8184},  {11, 8192}, {17, 8200},  {1000, 8}};
    enum { SHAPES = 48 };
    uint64_t state = probe_seed(r);
    int refused = 0;

    for (size_t i = 0; i < SHAPES; i++) {
        const bool is_given = i < PROBE_LENGTH(odd);
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int rows =
            is_given ? odd[i][0] : 1 + (int)(state >> 40 & 0xffff) % (i % 3 ? 40 : 700);
        const int cols = is_given ? odd[i][1] : 8 * (1 + (int)(state >> 24 & 1023));
        if (refusal(cols))
            refused++;
        else
            check_shape(r, rows, cols, state);
    }
    probe_note(r,
               "%d odd shapes: %d taken by every operator, %d refused (rows that do not begin on "
               "16 bytes, or longer than %d)",
               SHAPES, SHAPES - refused, refused, NORM_COLS_MAX);
}

/* --- how long does it take? ------------------------------------------------------------------- */

/* A part's reference is the operator's copy, in proportion to the bytes. */
static void measure_variant(struct probe_run *r, const char *keys, const struct work *w,
                            struct condition c, unsigned flags, double copy_ns)
{
    const double fused = norm_tensor_bytes(w->o, w->t->rows, w->t->cols);
    const double bytes = norm_bytes(w->v, w->t->rows, w->t->cols);
    const bool is_part = w->v->properties & PART;
    const struct operation o = {.name = w->v->name,
                                .launch = launch,
                                .poison = poison,
                                .verify = is_part ? NULL : verify, /* parts: within the chain */
                                .self = w,
                                .sets = w->t->pool[IN].sets,
                                .set_bytes = fused,
                                .bytes = bytes,
                                .memory = norm_memory(w->o, w->v, w->t->rows, w->t->cols),
                                .kernels = (unsigned)w->v->steps};
    operation_measure(r, keys, &o, c, flags, is_part ? copy_ns * bytes / fused : copy_ns);
}

/* What is timed at a size, beside each operator fused and unfused by graph. */
struct plan {
    int rows, cols;
    unsigned operators, flags; /* bits; of probe_case */
    bool parts, copies, stream;
};

/* One copy a size for all operators that load and store as much. */
static double copy_of(struct probe_run *r, struct tensors *t, const struct plan *p,
                      const char *keys, double bytes, struct condition c)
{
    if (!p->copies || c.stream)
        return NAN;
    if (t->copy_bytes[c.cold] != bytes)
        t->copy_ns[c.cold] = copy_measure(r, keys, bytes, c, p->flags);
    t->copy_bytes[c.cold] = bytes;
    return t->copy_ns[c.cold];
}

static bool is_planned(const struct plan *p, const struct norm_variant *v, struct condition c)
{
    const bool is_main = !strcmp(v->name, "fused") || !strcmp(v->name, "unfused");
    return is_main || (!c.stream && (p->parts || !(v->properties & PART)) &&
                       !(v->properties & (p->rows > 32 ? FOR_FEW : FOR_MANY)));
}

static void measure_operator(struct probe_run *r, struct tensors *t, const struct plan *p,
                             const struct norm_operator *o, struct condition c)
{
    const double bytes = norm_tensor_bytes(o, t->rows, t->cols);
    char keys[96];

    snprintf(keys, sizeof keys, "op=%s,rows=%d,cols=%d,type=fp16", o->name, t->rows, t->cols);
    const double copy_ns = copy_of(r, t, p, keys, bytes, c);
    for (const struct norm_variant *v = o->variant; v->name; v++) {
        const struct work w = {t, o, v};
        const bool is_extra = v->properties & (PART | UNSAFE);
        if (is_planned(p, v, c))
            measure_variant(r, keys, &w, c, p->flags | (is_extra ? PROBE_ONCE : 0), copy_ns);
    }
}

static void measure_size(struct probe_run *r, const struct plan *p)
{
    const int rows = probe_checking(r) && p->rows > 40 ? 40 : p->rows;
    if (p->flags & PROBE_DEEP && !probe_deep(r))
        return;
    struct tensors t = tensors_of(r, rows, p->cols, operation_seed(r, p->flags));
    const bool is_large = 4.0 * rows * p->cols >= 3 * (double)gpu_facts(r)->l2_bytes;

    for (int i = 0; i < N_OPERATORS; i++)
        for (int kind = is_large ? 1 : 0; kind < (p->stream ? 3 : 2); kind++)
            if (p->operators >> i & 1)
                measure_operator(r, &t, p, &norm_operators[i],
                                 (struct condition){.stream = kind == 2, .cold = kind == 1});
    tensors_free(r, &t);
}

/* --- what are the results worth? -------------------------------------------------------------- */

/* LayerNorm where it is hard: rows of mean 1000, of one value, with one huge element. What takes
 * the variance from two moments must be seen to fail, or these rows prove nothing. */
static void check_adversaries(struct probe_run *r, struct tensors *t)
{
    const size_t cols = (size_t)t->cols, bytes = 2 * (size_t)t->rows * cols;
    uint16_t *rows = malloc(bytes);
    const struct norm_operator *o = &norm_operators[LAYER];

    gpu_to_host(r, rows, t->pool[IN].memory, bytes);
    for (size_t i = 0; i < (size_t)t->rows; i++)
        norm_make_adversary(rows + i * cols, cols, (enum norm_adversary)(i % N_NORM_ADVERSARIES));
    gpu_to_device(r, t->pool[IN].memory, rows, bytes);
    for (const struct norm_variant *v = o->variant; v->name; v++) {
        const struct work w = {t, o, v};
        const bool expected = v->properties & UNSAFE;
        poison(r, &w);
        launch(r, &w, 0);
        probe_check(r, is_wrong(r, &w) == expected,
                    "layernorm %s, rows of mean 1000, of one value, "
                    "with an outlier: %s",
                    v->name, expected ? "seen to fail" : "right");
    }
    free(rows);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r)
{
    enum { QUALITY_ROWS = 1001, QUALITY_COLS = 2048, COUNT = QUALITY_ROWS * QUALITY_COLS };
    struct tensors t = tensors_of(r, QUALITY_ROWS, QUALITY_COLS, 1);

    for (const struct norm_operator *o = norm_operators; o < norm_operators + N_OPERATORS; o++) {
        const struct work fused = {&t, o, &o->variant[0]}, unfused = {&t, o, &o->variant[1]};
        const size_t size = norm_gives_codes(o) ? 1 : 2;
        const struct quality_results results = {t.pool[OUT].memory, QUALITY_ROWS, QUALITY_COLS,
                                                size};
        if (!probe_case(r, PROBE_ONCE,
                        "op=%s,rows=%d,cols=%d,type=fp16,impl=fused,mode=graph,l2=warm", o->name,
                        QUALITY_ROWS, QUALITY_COLS))
            continue;
        launch(r, &unfused, 0);
        CUDA(cudaMemcpyAsync(t.pool[MIDDLE].memory, results.memory, size * COUNT,
                             cudaMemcpyDeviceToDevice, gpu_stream(r)));
        pool_poison(r, &t.pool[OUT]);
        launch(r, &fused, 0);
        if (!(o->flags & NORM_INT8)) /* no sign and magnitude */
            quality_distance(r, results.memory, t.pool[MIDDLE].memory, size, COUNT);
        quality_digest(r, results.memory, size, COUNT);
        quality_faults(r, &results, is_wrong, &fused);
    }
    if (probe_in_full(r))
        check_adversaries(r, &t);
    tensors_free(r, &t);
}

#define BIT(operator) (1u << (operator))
#define ALL (BIT(N_OPERATORS) - 1)
static const struct plan plans[] = {
    {16384, 8192, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(BIAS_SILU) | BIT(LAYER), 0, true, true,
     false},
    {1, 4096, BIT(BIAS_SILU), 0, false, false, true},
    {1, 8192, BIT(RESIDUAL_FP8), PROBE_ONCE, false, false, false},
    {1024, 4096, BIT(LAYER), PROBE_ONCE, false, false, false},
    {1, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false},
    {1, 32768, ALL, PROBE_DEEP, false, true, false},
    {32, 4096, ALL, PROBE_DEEP, false, true, true},
    {1024, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false},
    {2048, 8192, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false},
    {4096, 32768, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(LAYER), PROBE_DEEP, false, true, false},
    {65536, 1024, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(LAYER), PROBE_DEEP, false, true, false},
    {65536, 4096, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false},
};

static void measure(struct probe_run *r)
{
    const int64_t cluster = probe_parameter(r, "cluster");
    if (cluster & (cluster - 1))
        probe_usage(r, "cluster=%d is no power of two", (int)cluster);
    for (size_t i = 0; i < PROBE_LENGTH(plans); i++)
        measure_size(r, &plans[i]);
    measure_quality(r);
    if (probe_checking(r))
        check_odd_shapes(r);
}

const struct probe probe = {
    .name = "norm",
    .what = "What does it save to normalise a row in one kernel with all that stands beside it?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
