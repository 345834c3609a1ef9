/* norm: what does it save to fuse a normalisation with its neighbours, the operators before and
 * after it?
 *
 * Method. x is rows x cols of fp16 or bf16, drawn from N(0,1), as are the residual, the weights and
 * the bias. Statistics are fp32. There are six operators. Each is computed in two ways: by one
 * kernel that keeps the row in registers and reads it once, and by a chain of equally good kernels
 * (16-byte accesses, every row read once) whose intermediate results go through memory:
 *
 *     rmsnorm_residual        s = x + residual; rmsnorm(s), s             add, norm
 *     rmsnorm_residual_fp8    ... in e4m3 codes with a scale per row      add, norm, quantise
 *     rmsnorm_residual_int8   ... in int8 codes
 *     rmsnorm_bias_silu       silu(rmsnorm(x) + bias)                     norm, bias, silu
 *     layernorm               with weights and bias                       mean, variance, normalise
 *     layernorm_silu                                                      norm, silu
 *
 * The chain of layernorm is not a chain of operators: it is the formula's three passes with one
 * kernel each, and every kernel reads the tensor. two_pass and three_pass are single kernels that
 * load their row two or three times; the SM's L1 may serve all loads but the first. narrow is a
 * fused kernel that uses one warp per row.
 *
 * Inside the timed region: the operations, between two events. common/operation.h and
 * common/operator.h describe modes, cache states, the rotation of buffers and the reference copy. A
 * single kernel of a chain ("add", "norm" ...) moves a different number of bytes than the operator.
 * Its share_of_copy therefore uses the time of the operator's copy, scaled by the bytes. The
 * weights and the bias are one set, which stays in the L2.
 *
 * Expected: where bytes take the time, unfused / fused is the ratio of bytes: 10 to 8 per element
 * for rmsnorm_residual, 13 to 7 with fp8, 12 to 4 for rmsnorm_bias_silu, 8 to 4 for layernorm. At
 * one row it is the ratio of launches. bf16 moves the same bytes by the same code and takes the
 * times of fp16.
 *
 * Traps. The sum with the residual is rounded before it is normalised, in the fused kernel too;
 * otherwise fused and unfused would not be the same function. A variance computed as the mean of
 * squares minus the square of the mean loses all digits where the mean is large. two_pass computes
 * it so, and must be seen to fail on rows of mean 1000. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "fused/common/campaign.h"
#include "fused/norm/args.h"
#include "fused/norm/operators.h"
#include "fused/norm/reference.h"

PROBE_IMAGE(norm);
PROBE_IMAGE(norm_passes);

enum { SHAPES = N_OPERATION_METRICS };
static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("op,rows,cols")),
                                              CAMPAIGN_METRICS(SHAPES)};
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("rows", 1 << 24),
    OPERATOR_SIZE("cols", NORM_COLS_MAX),
    OPERATOR_TYPES(GPU_BF16),
    {"cluster", 0, 0, NORM_CLUSTER_MAX, /* set by hand, for comparisons */
     "blocks that share a row where rows are few, a power of two; 0: as the probe chooses", NULL},
};

enum dimension { ROWS_DIM, COLS_DIM };
static const float EPSILON = 1e-5f;

/* --- memory ----------------------------------------------------------------------------------- */

struct norm {
    struct pool pool[N_TENSORS], scale;
    void *weight, *bias;
    float *mean, *factor; /* passed between kernels of one operation, so one set is enough */
    cudaKernel_t kernel[N_NORM_KERNELS][N_LAUNCH_FORMS];
};

static void load_kernels(struct probe_run *r, struct norm *t, enum gpu_type type)
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
                     forms[norm_kernels[i].form][form], gpu_type_name(type));
            t->kernel[i][form] =
                gpu_kernel(r, norm_kernels[i].form == PASSES ? &image_norm_passes : &image_norm,
                           name, sizeof(struct norm_args));
        }
}

/* Bytes of the tensors of the fused kernel alone. */
static double copied(const struct operator_set *s, size_t member)
{
    return norm_tensor_bytes(&norm_operators[member], s->shape.dim[ROWS_DIM],
                             s->shape.dim[COLS_DIM]);
}

static void open(struct probe_run *r, struct operator_set *s)
{
    const size_t rows = (size_t)s->shape.dim[ROWS_DIM], cols = (size_t)s->shape.dim[COLS_DIM];
    const enum gpu_type type = (enum gpu_type)s->shape.type;
    struct norm *t = s->own;

    load_kernels(r, t, type);
    for (enum norm_tensor i = 0; i < N_TENSORS; i++)
        t->pool[i] = i <= OTHER ? operator_operand(r, s, type, rows * cols, "an operand")
                                : operator_result(r, s, 2 * rows * cols, "a result");
    t->weight = operator_vector(r, s, type, cols, "the weights");
    t->bias = operator_vector(r, s, type, cols, "the bias");
    t->scale = operator_result(r, s, 4 * rows, "the scales");
    t->mean = operator_scratch(r, s, 4 * rows, "the means");
    t->factor = operator_scratch(r, s, 4 * rows, "the factors");
}

/* --- forms ------------------------------------------------------------------------------------ */

static void launch(struct probe_run *r, const struct operator_set *s, const struct operator_form *f,
                   size_t set)
{
    const struct norm_variant *v = f->plan;
    const struct norm *t = s->own;
    for (int i = 0; i < v->steps; i++) {
        const enum norm_kernel k = v->step[i].kernel;
        struct norm_args a = {.in = pool_at(&t->pool[v->step[i].in], set),
                              .residual = pool_at(&t->pool[OTHER], set),
                              .weight = t->weight,
                              .bias = t->bias,
                              .sum = pool_at(&t->pool[SUM], set),
                              .out = pool_at(&t->pool[v->step[i].out], set),
                              .scale = pool_at(&t->scale, set),
                              .mean = t->mean,
                              .factor = t->factor,
                              .rows = (uint32_t)s->shape.dim[ROWS_DIM],
                              .row_vectors = (uint32_t)s->shape.dim[COLS_DIM] / NORM_VECTOR,
                              .epsilon = EPSILON,
                              .one_over_cols = 1.0f / (float)s->shape.dim[COLS_DIM]};
        const struct norm_launch l = norm_launch_of(
            norm_kernels[k].form, a.rows, a.row_vectors, (unsigned)gpu_facts(r)->n_sm,
            gpu_facts(r)->cc < 90 ? 1 : (unsigned)probe_parameter(r, "cluster"));
        const struct gpu_shape shape = {
            .grid = {l.blocks, 1, 1}, .block = l.threads, .cluster = l.cluster > 1 ? l.cluster : 0};
        a.cluster = l.cluster;
        a.keep = operation_keeps(r, 2.0 * a.rows * s->shape.dim[COLS_DIM]);
        gpu_launch_shape(r, t->kernel[k][l.form], &shape, &a);
    }
}

/* Above this many rows a warp per row no longer pays, and kernels that read a row twice begin
 * to. */
enum { FEW_ROWS = 32 };

static size_t forms(struct probe_run *r, const struct operator_set *s, size_t member,
                    struct operator_form *list)
{
    const struct norm_operator *o = &norm_operators[member];
    const int rows = s->shape.dim[ROWS_DIM], cols = s->shape.dim[COLS_DIM];
    size_t n = 0;

    (void)r;
    for (const struct norm_variant *v = o->variant; v->name; v++) {
        const unsigned main = v == o->variant ? OPERATOR_FUSED : OPERATOR_UNFUSED;
        const bool is_part = v->properties & PART;
        if (v->properties & (rows > FEW_ROWS ? FOR_FEW : FOR_MANY))
            continue;
        list[n++] = (struct operator_form){.name = v->name,
                                           .group = v - o->variant < 2 ? main
                                                    : is_part          ? OPERATOR_PARTS
                                                                       : OPERATOR_OWN,
                                           .is_thrice = v->properties & UNSAFE,
                                           .bytes = norm_bytes(v, rows, cols),
                                           /* one kernel moves once what it touches */
                                           .memory = is_part ? norm_bytes(v, rows, cols)
                                                             : norm_memory(o, v, rows, cols),
                                           .kernels = (unsigned)v->steps,
                                           .launch = launch,
                                           .plan = v};
    }
    return n;
}

/* --- is it right? ----------------------------------------------------------------------------- */

static uint32_t flags_of(const struct operator_set *s, const struct operator_form *f)
{
    const struct norm_variant *v = f->plan;
    return norm_operators[f->member].flags | (v->properties & ROUNDS ? NORM_CHAIN : 0) |
           (s->shape.type == GPU_BF16 ? NORM_BF16 : 0);
}

/* What set 0 holds, as input of the reference. */
static struct norm_verify_args results_of(const struct operator_set *s,
                                          const struct operator_form *f)
{
    const struct norm *t = s->own;
    const bool has_scales = norm_gives_codes(&norm_operators[f->member]);
    return (struct norm_verify_args){.in = t->pool[IN].memory,
                                     .residual = t->pool[OTHER].memory,
                                     .weight = t->weight,
                                     .bias = t->bias,
                                     .sum = t->pool[SUM].memory,
                                     .out = t->pool[OUT].memory,
                                     .scale = has_scales ? pool_at(&t->scale, 0) : NULL,
                                     .rows = (uint32_t)s->shape.dim[ROWS_DIM],
                                     .cols = (uint32_t)s->shape.dim[COLS_DIM],
                                     .operator_flags = flags_of(s, f),
                                     .epsilon = EPSILON};
}

static struct verdict verify(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, bool all, uint64_t *due)
{
    const struct norm_verify_args a = results_of(s, f);
    (void)all;
    *due = norm_results(&a);
    return norm_run_verifier(r, &a);
}

static void check_on_host(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, const char *when)
{
    const struct norm_verify_args a = results_of(s, f);
    norm_check_rows(r, &a, when);
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct norm *t = s->own;
    return (struct quality_results){t->pool[OUT].memory, (uint64_t)s->shape.dim[ROWS_DIM],
                                    (uint64_t)s->shape.dim[COLS_DIM],
                                    norm_gives_codes(&norm_operators[member]) ? 1 : 2};
}

static bool no_distance(size_t member)
{
    return norm_operators[member].flags & NORM_INT8;
}

/* LayerNorm on hard rows: of mean 1000, of one constant value, with one huge element. The kernel
 * that takes the variance from two moments must fail on them, or these rows prove nothing. */
static void check_adversaries(struct probe_run *r, struct operator_set *s)
{
    const size_t rows = (size_t)s->shape.dim[ROWS_DIM], cols = (size_t)s->shape.dim[COLS_DIM];
    const struct norm *t = s->own;
    struct operator_form list[OPERATOR_FORMS];
    const size_t n = operator_forms(r, s, LAYER, list);
    uint16_t *hard = probe_host_alloc(r, 2 * rows * cols);

    gpu_to_host(r, hard, t->pool[IN].memory, 2 * rows * cols);
    for (size_t i = 0; i < rows; i++)
        norm_make_adversary(hard + i * cols, cols, flags_of(s, &list[0]),
                            (enum norm_adversary)(i % N_NORM_ADVERSARIES));
    gpu_to_device(r, t->pool[IN].memory, hard, 2 * rows * cols);
    for (size_t i = 0; i < n; i++) {
        const bool expected = ((const struct norm_variant *)list[i].plan)->properties & UNSAFE;
        probe_require(r, operator_is_wrong(r, s, &list[i]) == expected,
                      "layernorm %s, rows of mean 1000, of one value, with an outlier, %s: %s",
                      list[i].name, operator_type_words[s->shape.type],
                      expected ? "seen to fail" : "right");
    }
    free(hard);
}

/* --- shapes ----------------------------------------------------------------------------------- */

static const char *refuses(const struct operator_shape *shape)
{
    const int cols = shape->dim[COLS_DIM];
    return cols % NORM_VECTOR     ? "rows do not begin on 16 bytes: cols must be a multiple of 8"
           : cols > NORM_COLS_MAX ? "a row does not fit into the registers of a block"
                                  : NULL;
}

static struct operator_shape odd(size_t i, uint64_t *state)
{
    static const int given[][2] = {{1, 8},     {1, 1024},   {1, 32768}, {3, 1},      {2, 4097},
                                   {5, 1000},  {300, 1016}, {7, 1024},  {331, 1032}, {1, 32760},
                                   {2, 32776}, {13, 8184},  {11, 8192}, {17, 8200},  {1000, 8}};
    struct operator_shape shape = {
        {1 + (int)draw_below(state, i % 6 ? 40 : 700), 8 * (1 + (int)draw_below(state, 1024))},
        i % 2 ? GPU_BF16 : GPU_FP16};
    if (i / 2 < PROBE_LENGTH(given))
        shape = (struct operator_shape){{given[i / 2][0], given[i / 2][1]}, shape.type};
    return shape;
}

#define BIT(operator) (1u << (operator))
enum {
    EVERY = BIT(N_OPERATORS) - 1,
    BOTH = BIT(RESIDUAL) | BIT(LAYER),
    GRAPH = OPERATOR_WARM | OPERATOR_COLD,
    ALSO_STREAM = GRAPH | OPERATOR_STREAM,
    NO_PARTS = OPERATOR_ALL & ~OPERATOR_PARTS,
};
static const struct operator_sweep sweeps[] = {
    {{{16384, 8192}, GPU_FP16},
     BOTH | BIT(RESIDUAL_FP8) | BIT(BIAS_SILU),
     OPERATOR_ALL,
     GRAPH,
     0,
     true},
    {{{1, 4096}, GPU_FP16}, BIT(BIAS_SILU), NO_PARTS, ALSO_STREAM, 0, false},
    {{{1, 8192}, GPU_FP16}, BIT(RESIDUAL_FP8), NO_PARTS, GRAPH, PROBE_THRICE, false},
    {{{1024, 4096}, GPU_FP16}, BIT(LAYER), NO_PARTS, GRAPH, PROBE_THRICE, false},
    /* bf16 moves the same bytes by the same code: only the fused kernels; everything with --deep */
    {{{16384, 8192}, GPU_BF16}, BOTH, OPERATOR_FUSED, GRAPH, PROBE_THRICE, true},
    {{{16384, 8192}, GPU_BF16}, BOTH, NO_PARTS & ~OPERATOR_FUSED, GRAPH, PROBE_DEEP, false},
    {{{16384, 8192}, GPU_BF16}, BIT(RESIDUAL_FP8), NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{1, 1024}, GPU_BF16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{32, 4096}, GPU_BF16}, BIT(RESIDUAL_FP8) | BIT(BIAS_SILU), NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{1024, 1024}, GPU_BF16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{1, 1024}, GPU_FP16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{1, 32768}, GPU_FP16}, EVERY, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{32, 4096}, GPU_FP16}, EVERY, NO_PARTS, ALSO_STREAM, PROBE_DEEP, true},
    {{{1024, 1024}, GPU_FP16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{2048, 8192}, GPU_FP16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{4096, 32768}, GPU_FP16}, BOTH | BIT(RESIDUAL_FP8), NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{65536, 1024}, GPU_FP16}, BOTH | BIT(RESIDUAL_FP8), NO_PARTS, GRAPH, PROBE_DEEP, true},
    {{{65536, 4096}, GPU_FP16}, BOTH, NO_PARTS, GRAPH, PROBE_DEEP, true},
};

static const char *const names[] = {[RESIDUAL] = "rmsnorm_residual",
                                    [RESIDUAL_FP8] = "rmsnorm_residual_fp8",
                                    [RESIDUAL_INT8] = "rmsnorm_residual_int8",
                                    [BIAS_SILU] = "rmsnorm_bias_silu",
                                    [LAYER] = "layernorm",
                                    [LAYER_SILU] = "layernorm_silu"};
static const struct fused_operator norm = {
    .family = "op",
    .members = names,
    .n_members = N_OPERATORS,
    .dims = {"rows", "cols"},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 40,
    .own_bytes = sizeof(struct norm),
    .open = open,
    .copied = copied,
    .forms = forms,
    .verify = verify,
    .check_on_host = check_on_host,
    .refuses = refuses,
    .n_odd = 96,
    .odd = odd,
    .quality = {{1001, 2048}, GPU_FP16},
    .quality_types = GPU_BF16,
    .results = results,
    .no_distance = no_distance,
    .adversaries = check_adversaries,
};

static void measure(struct probe_run *r)
{
    const int64_t cluster = probe_parameter(r, "cluster");
    if (cluster & (cluster - 1))
        probe_usage(r, "cluster=%d is no power of two", (int)cluster);
    if (operator_measure(r, &norm))
        campaign_of_odd_shapes(r, &norm, 48, SHAPES);
}

const struct probe probe = {
    .name = "norm",
    .what = "What does it save to normalise a row in one kernel with all that stands beside it?",
    .method = 3,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
