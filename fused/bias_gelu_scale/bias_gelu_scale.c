/* bias_gelu_scale: what does it save to compute scale * gelu(x + bias) in one kernel, not three?
 *
 * Method. x is rows x cols of fp16 or bf16, drawn from N(0,1); bias has cols elements; gelu is in
 * the tanh form; arithmetic is fp32. Unfused: three kernels, each with its result in memory. Fused:
 * one kernel. All are made from one skeleton with 16-byte accesses, four in flight per thread, and
 * so is the copy. share_of_copy uses the faster of that copy and cudaMemcpyAsync. Both are timed in
 * the same process, on the same number of bytes, in the same mode and with the same rotation of
 * buffers. common/operation.h describes modes and cache states, common/operator.h what is done at
 * each shape.
 *
 * Inside the timed region: the operations, between two events.
 * Expected: unfused moves three times the bytes. It takes three times as long where bytes take the
 * time (above 3 x L2), the time of three launches instead of one where launches do, and in between
 * what the L2 allows. On an H200, 16384 x 8192 takes 125 us fused and 375 us unfused.
 *
 * Bytes are counted, not measured. The count is 2 or 6 tensors, plus the bias once for each
 * kernel that reads it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"
#include "fused/bias_gelu_scale/args.h"
#include "fused/common/campaign.h"

PROBE_IMAGE(bias_gelu_scale);

enum { SHAPES = N_OPERATION_METRICS };
static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("rows,cols")),
                                              CAMPAIGN_METRICS(SHAPES)};
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("rows", 1 << 24), OPERATOR_SIZE("cols", 1 << 24), OPERATOR_TYPES(GPU_BF16)};

enum kernel { FUSED, BIAS, GELU, SCALE, N_KERNELS };
static const char *const kernel_names[] = {"fused", "bias", "gelu", "scale"};
enum { ROWS, COLS };
static const float SCALE_BY = 1.25f;

/* --- memory ---------------------------------------------------------------------------------- */

struct gelu {
    struct pool in, middle[2], out;
    void *bias;
    size_t bytes;                          /* of a tensor */
    cudaKernel_t of[2][N_KERNELS], verify; /* [is_small][which] */
};

static void load_kernels(struct probe_run *r, struct gelu *g, enum gpu_type type)
{
    for (int i = 0; i < N_KERNELS; i++)
        for (int is_small = 0; is_small < 2; is_small++) {
            char name[64];
            snprintf(name, sizeof name, "bias_gelu_scale_%s_%s%s", kernel_names[i],
                     gpu_type_name(type), is_small ? "_small" : "");
            g->of[is_small][i] =
                gpu_kernel(r, &image_bias_gelu_scale, name, sizeof(struct gelu_args));
        }
    g->verify =
        gpu_kernel(r, &image_bias_gelu_scale,
                   type == GPU_BF16 ? "bias_gelu_scale_verify_bf16" : "bias_gelu_scale_verify_fp16",
                   sizeof(struct gelu_verify_args));
}

static size_t tensor_bytes(const struct operator_set *s)
{
    return 2 * (size_t)s->shape.dim[ROWS] * (size_t)s->shape.dim[COLS];
}

static double copied(const struct operator_set *s, size_t member)
{
    (void)member;
    return 2 * (double)tensor_bytes(s);
}

static void open(struct probe_run *r, struct operator_set *s)
{
    struct gelu *g = s->own;
    load_kernels(r, g, (enum gpu_type)s->shape.type);
    g->bytes = tensor_bytes(s);
    g->in = operator_operand(r, s, (enum gpu_type)s->shape.type, g->bytes / 2, "the input");
    g->middle[0] = operator_result(r, s, g->bytes, "an intermediate");
    g->middle[1] = operator_result(r, s, g->bytes, "an intermediate");
    g->out = operator_result(r, s, g->bytes, "the output");
    g->bias =
        operator_vector(r, s, (enum gpu_type)s->shape.type, (size_t)s->shape.dim[COLS], "the bias");
}

/* --- forms ----------------------------------------------------------------------------------- */

/* Takes the small kernel where four vectors a thread would leave SMs without a block. */
static void launch(struct probe_run *r, const struct operator_set *s, enum kernel which,
                   const void *in, void *out)
{
    const struct gelu *g = s->own;
    struct gelu_args a = {.in = in,
                          .out = out,
                          .bias = g->bias,
                          .vectors = g->bytes / 16,
                          .row_vectors = (uint32_t)s->shape.dim[COLS] / GELU_VECTOR,
                          .scale = SCALE_BY,
                          .keep = operation_keeps(r, (double)g->bytes)};
    bool is_small = a.vectors < (uint64_t)gpu_facts(r)->n_sm * GELU_THREADS * GELU_VECTORS;
    unsigned threads = is_small ? GELU_SMALL_THREADS : GELU_THREADS;
    uint64_t each = threads * (is_small ? 1 : GELU_VECTORS);
    gpu_launch(r, g->of[is_small][which], (unsigned)((a.vectors + each - 1) / each), threads, 0,
               &a);
}

static void launch_one(struct probe_run *r, const struct operator_set *s,
                       const struct operator_form *f, size_t set)
{
    const struct gelu *g = s->own;
    launch(r, s, (enum kernel)f->which, pool_at(&g->in, set), pool_at(&g->out, set));
}

static void launch_unfused(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, size_t set)
{
    const struct gelu *g = s->own;
    void *first = pool_at(&g->middle[0], set), *second = pool_at(&g->middle[1], set);
    (void)f;
    launch(r, s, BIAS, pool_at(&g->in, set), first);
    launch(r, s, GELU, first, second);
    launch(r, s, SCALE, second, pool_at(&g->out, set));
}

static size_t forms(struct probe_run *r, const struct operator_set *s, size_t member,
                    struct operator_form *list)
{
    const double tensor = (double)tensor_bytes(s), bias = 2.0 * s->shape.dim[COLS];
    (void)r, (void)member;
    list[0] = (struct operator_form){.name = "unfused",
                                     .group = OPERATOR_UNFUSED,
                                     .bytes = 6 * tensor + bias,
                                     .memory = 4 * tensor + bias,
                                     .kernels = 3,
                                     .launch = launch_unfused};
    for (enum kernel k = FUSED; k < N_KERNELS; k++)
        list[1 + k] = (struct operator_form){.name = kernel_names[k],
                                             .group = k == FUSED ? OPERATOR_FUSED : OPERATOR_PARTS,
                                             .bytes = 2 * tensor + (k <= BIAS ? bias : 0),
                                             .memory = 2 * tensor + bias,
                                             .kernels = 1,
                                             .launch = launch_one,
                                             .which = (int)k};
    return 1 + N_KERNELS;
}

/* --- is it right? ---------------------------------------------------------------------------- */

static struct verdict verify(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, bool all, uint64_t *due)
{
    const struct gelu *g = s->own;
    struct gelu_verify_args a = {.in = g->in.memory,
                                 .out = g->out.memory,
                                 .bias = g->bias,
                                 .verdict = verdict_clear(r),
                                 .elements = g->bytes / 2,
                                 .cols = (uint32_t)s->shape.dim[COLS],
                                 .is_fused = f->group == OPERATOR_FUSED,
                                 .scale = SCALE_BY};
    (void)all;
    *due = a.elements;
    gpu_launch(r, g->verify, 1024, 256, 0, &a);
    return verdict_fetch(r);
}

static double number(const struct operator_set *s, uint16_t bits)
{
    return s->shape.type == GPU_BF16 ? half_bf16(bits) : half_fp16(bits);
}

/* What the CPU looks at: all of a small tensor; of a large one PIECES pieces of PIECE elements,
 * evenly apart from a random place on, which one strided copy fetches. A whole tensor of 16384 x
 * 8192 would take new pages of the host for half a second. */
struct looked_at {
    size_t first, step, pieces, piece; /* in elements */
};

static struct looked_at look_at(struct probe_run *r, size_t n)
{
    enum { PIECES = 64, PIECE = 64 };
    uint64_t state = probe_seed(r);
    if (n <= 1 << 20)
        return (struct looked_at){.step = n, .pieces = 1, .piece = n};
    const size_t step = n / PIECES;
    return (struct looked_at){draw_below(&state, step - PIECE + 1), step, PIECES, PIECE};
}

static uint16_t *fetch(struct probe_run *r, const void *tensor, const struct looked_at *at)
{
    uint16_t *host = probe_host_alloc(r, 2 * at->pieces * at->piece);
    CUDA(cudaMemcpy2DAsync(host, 2 * at->piece, (const uint16_t *)tensor + at->first, 2 * at->step,
                           2 * at->piece, at->pieces, cudaMemcpyDeviceToHost, gpu_stream(r)));
    gpu_wait(r);
    return host;
}

/* The same formula on the CPU, in double. */
static void check_on_host(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, const char *when)
{
    const struct gelu *g = s->own;
    const size_t cols = (size_t)s->shape.dim[COLS], n = g->bytes / 2;
    const struct looked_at at = look_at(r, n);
    const size_t all = at.pieces * at.piece;
    uint16_t *in = fetch(r, g->in.memory, &at), *out = fetch(r, g->out.memory, &at);
    uint16_t *bias = probe_host_alloc(r, 2 * cols);
    size_t wrong = 0;
    const bool is_bf16 = s->shape.type == GPU_BF16;
    const double unit = is_bf16 ? HALF_BF16_UNIT : HALF_FP16_UNIT;
    const double tiny = is_bf16 ? GELU_BF16_TINY : GELU_FP16_TINY;

    gpu_to_host(r, bias, g->bias, 2 * cols);
    for (size_t k = 0; k < all; k++) {
        const size_t i = at.first + k / at.piece * at.step + k % at.piece;
        double x = number(s, in[k]) + number(s, bias[i % cols]);
        double u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
        double reference = (double)SCALE_BY * x / (1 + exp(-2 * u)); /* 1 + tanh(u) would cancel */
        double bound = unit * (f->group == OPERATOR_FUSED
                                   ? 1.01 * fabs(reference)
                                   : 1.13 * (double)SCALE_BY * fabs(x) + 2.02 * fabs(reference)) +
                       4 * tiny;
        wrong += !(fabs(number(s, out[k]) - reference) <= bound);
    }
    probe_require(r, wrong == 0, "%s: %zu of %zu elements are as computed on the CPU in double",
                  when, all - wrong, all);
    free(in);
    free(out);
    free(bias);
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct gelu *g = s->own;
    (void)member;
    return (struct quality_results){g->out.memory, (uint64_t)s->shape.dim[ROWS],
                                    (uint64_t)s->shape.dim[COLS], 2};
}

/* --- shapes ---------------------------------------------------------------------------------- */

enum { ALWAYS = OPERATOR_WARM | OPERATOR_COLD | OPERATOR_STREAM };
#define SWEEP(rows, cols, type, groups, flags)                                                     \
    {                                                                                              \
        {{rows, cols}, type}, 1, groups, ALWAYS, flags, true                                       \
    }
static const struct operator_sweep sweeps[] = {
    SWEEP(1, 4096, GPU_FP16, OPERATOR_MAIN, 0),
    SWEEP(4096, 4096, GPU_FP16, OPERATOR_MAIN, PROBE_THRICE),
    SWEEP(16384, 8192, GPU_FP16, OPERATOR_MAIN | OPERATOR_PARTS, 0),
    SWEEP(1024, 4096, GPU_FP16, OPERATOR_MAIN, PROBE_DEEP),
    /* bf16 moves the same bytes */
    SWEEP(1, 4096, GPU_BF16, OPERATOR_MAIN, PROBE_DEEP),
    SWEEP(4096, 4096, GPU_BF16, OPERATOR_MAIN, PROBE_DEEP),
    SWEEP(16384, 8192, GPU_BF16, OPERATOR_MAIN | OPERATOR_PARTS, PROBE_DEEP),
    SWEEP(1024, 4096, GPU_BF16, OPERATOR_MAIN, PROBE_DEEP),
};

/* The kernel computes the column with a mask, which needs a power of two. */
static const char *refuses(const struct operator_shape *shape)
{
    const int cols = shape->dim[COLS];
    return cols < GELU_VECTOR || cols & (cols - 1) ? "cols: expected a power of two from 8 on"
                                                   : NULL;
}

static struct operator_shape odd(size_t i, uint64_t *state)
{
    static const int given[][2] = {{1, 8}, {7, 64}, {129, 1024}, {1001, 8192}};
    struct operator_shape shape = {{1 + (int)draw_below(state, 300), 8 << draw_below(state, 10)},
                                   i % 2 ? GPU_BF16 : GPU_FP16};
    if (i / 2 < PROBE_LENGTH(given))
        shape = (struct operator_shape){{given[i / 2][0], given[i / 2][1]}, shape.type};
    return shape;
}

static const char *const only[] = {"bias_gelu_scale"};
static const struct fused_operator bias_gelu_scale = {
    .members = only,
    .n_members = 1,
    .dims = {"rows", "cols"},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 40,
    .own_bytes = sizeof(struct gelu),
    .open = open,
    .copied = copied,
    .forms = forms,
    .verify = verify,
    .check_on_host = check_on_host,
    .refuses = refuses,
    .n_odd = 24,
    .odd = odd,
    .quality = {{1001, 1024}, GPU_FP16},
    .quality_types = GPU_BF16,
    .results = results,
};

/* Also rows of a number of vectors that is no power of two. The kernels refuse them: their mask
 * would then give some columns another column's bias. It never leads beyond the bias, so that they
 * can be launched to see whether the results go wrong. */
static struct operator_shape any_shape(size_t i, uint64_t *state)
{
    return (struct operator_shape){
        {1 + (int)draw_below(state, 300), GELU_VECTOR * (1 + (int)draw_below(state, 512))},
        i % 2 ? GPU_BF16 : GPU_FP16};
}

static void measure(struct probe_run *r)
{
    const struct campaign unguarded = {.n = 24, .shape = any_shape, .is_unguarded = true};

    if (!operator_measure(r, &bias_gelu_scale))
        return;
    campaign_of_odd_shapes(r, &bias_gelu_scale, 24, SHAPES);
    campaign_measure(r, &bias_gelu_scale, &unguarded, SHAPES);
}

const struct probe probe = {
    .name = "bias_gelu_scale",
    .what = "What does it save to compute scale * gelu(x + bias) in one kernel, not three?",
    .method = 4,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
