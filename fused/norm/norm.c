/* norm: what does it save to normalise a row in one kernel with all that stands beside it?
 *
 * Method. x is rows x cols fp16 or bf16, N(0,1), as are the residual, the weights and the bias;
 * statistics are fp32. Six operators, each as one kernel that keeps the row in registers and reads
 * it once, and as a chain of kernels that are as good (16-byte accesses, rows read once), results
 * in memory between them:
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
 * buffers and the copy that is the reference: common/operation.h. A kernel of a chain alone
 * ("add", "norm" ...) moves other bytes than the operator; its share is of the operator's copy in
 * proportion. Expected: where bytes are what takes time, the ratio of bytes: 10 to 8 an element
 * for rmsnorm_residual, 13 to 7 with fp8, 12 to 4 for rmsnorm_bias_silu, 8 to 4 for layernorm; at
 * one row that of launches. bf16 moves the same bytes by the same code: the times of fp16.
 *
 * The weights and the bias are one set, which stays in the L2.
 *
 * Traps. The sum with the residual is rounded before it is normalised, fused or not, or the two
 * would not be the same function. Variance from the mean of squares less the square of the mean
 * loses all digits where the mean is large: two_pass does that, and rows of mean 1000 must show
 * it. */
#include "fused/norm/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw.h"
#include "fused/common/quality.h"
#include "fused/norm/problem.h"

PROBE_IMAGE(norm);
PROBE_IMAGE(norm_passes);

static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("op,rows,cols"))};

/* Set by hand, to compare. */
static const struct probe_parameter parameters[] = {
    {"cluster", 0, 0, NORM_CLUSTER_MAX,
     "blocks that share a row where rows are few, a power of two; 0: as the probe chooses"},
};

/* --- odd shapes ------------------------------------------------------------------------------- */

/* Every operator, every variant, once, on shapes that are small and odd. */
static void check_shape(struct probe_run *r, int rows, int cols, enum gpu_type type, uint64_t seed)
{
    struct tensors t = tensors_of(r, rows, cols, type, seed);
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
    probe_require(r, !*wrong, "%d x %d %s: every operator is right; wrong:%s", rows, cols,
                  gpu_type_name(type), wrong);
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
        const int rows =
            is_given ? odd[i][0] : 1 + (int)draw_below(&state, i % 3 ? 40 : 700);
        const int cols = is_given ? odd[i][1] : 8 * (1 + (int)draw_below(&state, 1024));
        if (refusal(cols))
            refused++;
        else
            for (enum gpu_type type = GPU_FP16; type <= GPU_BF16; type++)
                check_shape(r, rows, cols, type, state);
    }
    probe_note(r,
               "%d odd shapes: %d taken by every operator in both types, %d refused (rows that do "
               "not begin on 16 bytes, or longer than %d)",
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
    enum gpu_type type;
    int rows, cols;
    unsigned operators, flags; /* bits; of probe_begin_case */
    bool parts, copies, stream;
    unsigned once; /* operators whose fused kernel is timed in the first and last round anyway */
};

static unsigned flags_in(const struct plan *p, const struct norm_operator *o, bool is_fused)
{
    return is_fused && p->once >> (o - norm_operators) & 1 ? PROBE_ONCE : p->flags;
}

/* One copy a size for all operators that load and store as much. */
static double copy_of(struct probe_run *r, struct tensors *t, const struct plan *p,
                      const struct norm_operator *o, const char *keys, struct condition c)
{
    const double bytes = norm_tensor_bytes(o, t->rows, t->cols);
    if (!p->copies || c.stream)
        return NAN;
    if (t->copy_bytes[c.cold] != bytes)
        t->copy_ns[c.cold] = copy_measure(r, keys, bytes, c, flags_in(p, o, true));
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
    char keys[96];

    snprintf(keys, sizeof keys, "op=%s,rows=%d,cols=%d,type=%s", o->name, t->rows, t->cols,
             gpu_type_name(t->type));
    const double copy_ns = copy_of(r, t, p, o, keys, c);
    for (const struct norm_variant *v = o->variant; v->name; v++) {
        const struct work w = {t, o, v};
        const unsigned extra = v->properties & (PART | UNSAFE) ? PROBE_ONCE : 0;
        if (is_planned(p, v, c))
            measure_variant(r, keys, &w, c, flags_in(p, o, v == o->variant) | extra, copy_ns);
    }
}

static void measure_size(struct probe_run *r, const struct plan *p)
{
    const int rows = probe_is_check_run(r) && p->rows > 40 ? 40 : p->rows;
    const unsigned seldom = p->once ? PROBE_ONCE : p->flags;
    if (seldom & PROBE_DEEP && !probe_deep(r))
        return;
    struct tensors t = tensors_of(r, rows, p->cols, p->type, operation_seed(r, seldom));
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
    const struct work any = {t, o, o->variant};

    gpu_to_host(r, rows, t->pool[IN].memory, bytes);
    for (size_t i = 0; i < (size_t)t->rows; i++)
        norm_make_adversary(rows + i * cols, cols, flags_of(&any),
                            (enum norm_adversary)(i % N_NORM_ADVERSARIES));
    gpu_to_device(r, t->pool[IN].memory, rows, bytes);
    for (const struct norm_variant *v = o->variant; v->name; v++) {
        const struct work w = {t, o, v};
        const bool expected = v->properties & UNSAFE;
        poison(r, &w);
        launch(r, &w, 0);
        probe_require(r, is_wrong(r, &w) == expected,
                      "layernorm %s, rows of mean 1000, of one value, "
                      "with an outlier, %s: %s",
                      v->name, gpu_type_name(t->type), expected ? "seen to fail" : "right");
    }
    free(rows);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r, enum gpu_type type)
{
    enum { QUALITY_ROWS = 1001, QUALITY_COLS = 2048 };
    struct tensors t = tensors_of(r, QUALITY_ROWS, QUALITY_COLS, type, 1);

    for (const struct norm_operator *o = norm_operators; o < norm_operators + N_OPERATORS; o++) {
        const struct work fused = {&t, o, &o->variant[0]}, unfused = {&t, o, &o->variant[1]};
        const size_t size = norm_gives_codes(o) ? 1 : 2;
        const struct quality_pair pair = {
            .results = {t.pool[OUT].memory, QUALITY_ROWS, QUALITY_COLS, size},
            .launch_unfused = launch,
            .launch_fused = launch,
            .unfused = &unfused,
            .fused = &fused,
            .is_wrong = is_wrong,
            .no_distance = o->flags & NORM_INT8};
        if (probe_begin_case(r, PROBE_ONCE,
                             "op=%s,rows=%d,cols=%d,type=%s,impl=fused,mode=graph,l2=warm", o->name,
                             QUALITY_ROWS, QUALITY_COLS, gpu_type_name(type)))
            quality_of_pair(r, &pair);
    }
    if (probe_in_full(r))
        check_adversaries(r, &t);
    tensors_free(r, &t);
}

#define BIT(operator) (1u << (operator))
#define ALL (BIT(N_OPERATORS) - 1)
static const struct plan plans[] = {
    {GPU_FP16, 16384, 8192, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(BIAS_SILU) | BIT(LAYER), 0,
     true, true, false, 0},
    {GPU_FP16, 1, 4096, BIT(BIAS_SILU), 0, false, false, true, 0},
    {GPU_FP16, 1, 8192, BIT(RESIDUAL_FP8), PROBE_ONCE, false, false, false, 0},
    {GPU_FP16, 1024, 4096, BIT(LAYER), PROBE_ONCE, false, false, false, 0},
    {GPU_FP16, 1, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
    {GPU_FP16, 1, 32768, ALL, PROBE_DEEP, false, true, false, 0},
    {GPU_FP16, 32, 4096, ALL, PROBE_DEEP, false, true, true, 0},
    {GPU_FP16, 1024, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
    {GPU_FP16, 2048, 8192, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
    {GPU_FP16, 4096, 32768, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(LAYER), PROBE_DEEP, false,
     true, false, 0},
    {GPU_FP16, 65536, 1024, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(LAYER), PROBE_DEEP, false,
     true, false, 0},
    {GPU_FP16, 65536, 4096, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
    {GPU_BF16, 16384, 8192, BIT(RESIDUAL) | BIT(RESIDUAL_FP8) | BIT(LAYER), PROBE_DEEP, false,
     true, false, BIT(RESIDUAL) | BIT(LAYER)},
    {GPU_BF16, 1, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
    {GPU_BF16, 32, 4096, BIT(RESIDUAL_FP8) | BIT(BIAS_SILU), PROBE_DEEP, false, true, false, 0},
    {GPU_BF16, 1024, 1024, BIT(RESIDUAL) | BIT(LAYER), PROBE_DEEP, false, true, false, 0},
};

static void measure(struct probe_run *r)
{
    const int64_t cluster = probe_parameter(r, "cluster");
    if (cluster & (cluster - 1))
        probe_usage(r, "cluster=%d is no power of two", (int)cluster);
    for (size_t i = 0; i < PROBE_LENGTH(plans); i++)
        measure_size(r, &plans[i]);
    measure_quality(r, GPU_FP16);
    if (probe_is_check_run(r) || probe_deep(r))
        measure_quality(r, GPU_BF16);
    if (probe_is_check_run(r))
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
