/* bias_gelu_scale: what does it save to compute scale * gelu(x + bias) in one kernel, not three?
 *
 * Method. x is rows x cols fp16 or bf16, N(0,1); bias has cols elements; gelu in the tanh form;
 * arithmetic in fp32. Unfused: three kernels, each with its result in memory; fused: one. All are
 * made from one skeleton with 16-byte accesses, four in flight a thread, and so is the copy; the
 * copy that counts is the better of that and cudaMemcpyAsync, timed in the same process on the same
 * bytes, by the same mode and with the same rotation of buffers. Modes and cache states:
 * common/operation.h.
 *
 * Inside the timed region: the operations, between two events.
 * Expected: unfused moves three times the bytes, and takes three times as long where bytes are what
 * takes time (above 3 x L2); where launches are, three times the launches; in between, what the L2
 * gives. An H200: 16384 x 8192, 125 us fused, 375 us unfused.
 *
 * Bytes are counted, not measured: 2 or 6 tensors, and the bias once a kernel that reads it. */
#include "fused/bias_gelu_scale/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "core/half.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"

PROBE_IMAGE(bias_gelu_scale);

static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("rows,cols"))};

enum kernel { FUSED, BIAS, GELU, SCALE, N_KERNELS };
static const char *const kernel_names[] = {"fused", "bias", "gelu", "scale"};
enum { SAMPLED = 4096 };
static const float SCALE_BY = 1.25f;

/* An operator's operands and results. */
struct tensors {
    struct pool in, middle[2], out;
    void *bias;
    size_t bytes;
    int rows, cols;
    enum gpu_type type; /* fp16 or bf16 */
    cudaKernel_t of[2][N_KERNELS], verify; /* [is_small][which] */
};

/* One operation: all of it, fused or not, or one kernel of the chain. */
struct work {
    const struct tensors *t;
    enum kernel kernel;
    bool is_whole, is_fused;
};

static void load_kernels(struct probe_run *r, struct tensors *t)
{
    for (int i = 0; i < N_KERNELS; i++)
        for (int is_small = 0; is_small < 2; is_small++) {
            char name[64];
            snprintf(name, sizeof name, "bias_gelu_scale_%s_%s%s", kernel_names[i],
                     gpu_type_name(t->type), is_small ? "_small" : "");
            t->of[is_small][i] =
                gpu_kernel(r, &image_bias_gelu_scale, name, sizeof(struct gelu_args));
        }
    t->verify = gpu_kernel(r, &image_bias_gelu_scale,
                           t->type == GPU_BF16 ? "bias_gelu_scale_verify_bf16"
                                               : "bias_gelu_scale_verify_fp16",
                           sizeof(struct gelu_verify_args));
}

static struct tensors tensors_of(struct probe_run *r, int rows, int cols, enum gpu_type type,
                                 uint64_t seed)
{
    struct tensors t = {
        .rows = rows, .cols = cols, .type = type, .bytes = 2 * (size_t)rows * (size_t)cols};
    const size_t sets = operation_sets(r, 2 * (double)t.bytes);

    load_kernels(r, &t);
    t.in = pool_normal(r, type, t.bytes / 2, sets, seed, "the input");
    t.middle[0] = pool_new(r, t.bytes, sets, "an intermediate");
    t.middle[1] = pool_new(r, t.bytes, sets, "an intermediate");
    t.out = pool_new(r, t.bytes, sets, "the output");
    t.bias = gpu_alloc(r, 2 * (size_t)cols, "the bias");
    gpu_fill_normal(r, t.bias, type, (size_t)cols, seed + 1);
    return t;
}

static void tensors_free(struct probe_run *r, struct tensors *t)
{
    pool_free(r, &t->in);
    pool_free(r, &t->middle[0]);
    pool_free(r, &t->middle[1]);
    pool_free(r, &t->out);
    gpu_release(r, t->bias);
}

/* The small form where four vectors a thread would leave SMs without a block. */
static void launch(struct probe_run *r, enum kernel which, const struct tensors *t, const void *in,
                   void *out)
{
    struct gelu_args a = {.in = in,
                          .out = out,
                          .bias = t->bias,
                          .vectors = t->bytes / 16,
                          .row_vectors = (uint32_t)t->cols / GELU_VECTOR,
                          .scale = SCALE_BY};
    bool is_small = a.vectors < (uint64_t)gpu_facts(r)->n_sm * GELU_THREADS * GELU_VECTORS;
    unsigned threads = is_small ? GELU_SMALL_THREADS : GELU_THREADS;
    uint64_t each = threads * (is_small ? 1 : GELU_VECTORS);
    gpu_launch(r, t->of[is_small][which], (unsigned)((a.vectors + each - 1) / each), threads, 0,
               &a);
}

static void launch_one(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    launch(r, w->kernel, w->t, pool_at(&w->t->in, set), pool_at(&w->t->out, set));
}

static void launch_unfused(struct probe_run *r, const void *self, size_t set)
{
    const struct tensors *t = ((const struct work *)self)->t;
    void *first = pool_at(&t->middle[0], set), *second = pool_at(&t->middle[1], set);
    launch(r, BIAS, t, pool_at(&t->in, set), first);
    launch(r, GELU, t, first, second);
    launch(r, SCALE, t, second, pool_at(&t->out, set));
}

static void poison(struct probe_run *r, const void *self)
{
    const struct tensors *t = ((const struct work *)self)->t;
    pool_poison(r, &t->middle[0]);
    pool_poison(r, &t->middle[1]);
    pool_poison(r, &t->out);
}

/* --- is it right? ---------------------------------------------------------------------------- */

static double number(const struct tensors *t, uint16_t bits)
{
    return t->type == GPU_BF16 ? half_bf16(bits) : half_fp16(bits);
}

/* The same formula on the CPU, in double, at random places and at the ends. */
static void check_on_host(struct probe_run *r, const struct tensors *t, bool is_fused)
{
    uint16_t *in = probe_host_alloc(r, t->bytes), *out = probe_host_alloc(r, t->bytes);
    uint16_t *bias = probe_host_alloc(r, 2 * (size_t)t->cols);
    size_t n = t->bytes / 2, wrong = 0, all = n <= 1 << 20 ? n : SAMPLED;
    uint64_t state = probe_seed(r);
    const bool is_bf16 = t->type == GPU_BF16;
    const double unit = is_bf16 ? HALF_BF16_UNIT : HALF_FP16_UNIT;
    const double tiny = is_bf16 ? GELU_BF16_TINY : GELU_FP16_TINY;

    gpu_to_host(r, in, t->in.memory, t->bytes);
    gpu_to_host(r, out, t->out.memory, t->bytes);
    gpu_to_host(r, bias, t->bias, 2 * (size_t)t->cols);
    for (size_t k = 0; k < all; k++) {
        size_t i = all == n ? k : k < 2 ? k * (n - 1) : draw_below(&state, n);
        double x = number(t, in[i]) + number(t, bias[i % (size_t)t->cols]);
        double u = 0.79788456080286536 * (x + 0.044715 * x * x * x);
        double reference = (double)SCALE_BY * x / (1 + exp(-2 * u)); /* 1 + tanh(u) would cancel */
        double bound =
            unit * (is_fused ? 1.01 * fabs(reference)
                             : 1.13 * (double)SCALE_BY * fabs(x) + 2.02 * fabs(reference)) +
            4 * tiny;
        wrong += !(fabs(number(t, out[i]) - reference) <= bound);
    }
    probe_require(r, wrong == 0, "%zu of %zu elements are as computed on the CPU in double",
                  all - wrong, all);
    free(in);
    free(out);
    free(bias);
}

static struct verdict run_verifier(struct probe_run *r, const struct work *w)
{
    const struct tensors *t = w->t;
    struct gelu_verify_args a = {.in = t->in.memory,
                                 .out = t->out.memory,
                                 .bias = t->bias,
                                 .verdict = verdict_clear(r),
                                 .elements = t->bytes / 2,
                                 .cols = (uint32_t)t->cols,
                                 .is_fused = w->is_fused,
                                 .scale = SCALE_BY};
    gpu_launch(r, t->verify, 1024, 256, 0, &a);
    return verdict_fetch(r);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    return run_verifier(r, self).wrong > 0;
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct work *w = self;
    struct verdict v = run_verifier(r, w);
    if (probe_in_full(r))
        check_on_host(r, w->t, w->is_fused);
    return verdict_check(r, &v, w->t->bytes / 2, when);
}

/* --- how long does it take? ------------------------------------------------------------------ */

/* Far above what the L2 holds: where bytes decide. */
static bool is_long(const struct tensors *t)
{
    return t->bytes > (size_t)64 << 20;
}

static struct operation operation_of(const struct work *w, const char *name)
{
    const struct tensors *t = w->t;
    const double bias = 2 * t->cols, tensor = (double)t->bytes;
    const bool reads_bias = w->is_whole || w->kernel == BIAS;
    const bool is_chain = w->is_whole && !w->is_fused;
    return (struct operation){.name = name,
                              .launch = is_chain ? launch_unfused : launch_one,
                              .poison = poison,
                              .verify = w->is_whole ? verify : NULL, /* parts: within the chain */
                              .self = w,
                              .sets = t->in.sets,
                              .set_bytes = 2 * tensor,
                              .bytes = (is_chain ? 6 : 2) * tensor + (reads_bias ? bias : 0),
                              .memory = (is_chain ? 4 : 2) * tensor + bias,
                              .kernels = is_chain ? 3 : 1};
}

static void measure_all(struct probe_run *r, const struct tensors *t, struct condition c,
                        unsigned flags)
{
    const struct work fused = {.t = t, .kernel = FUSED, .is_whole = true, .is_fused = true};
    const struct work unfused = {.t = t, .is_whole = true};
    struct operation o;
    char keys[64];

    snprintf(keys, sizeof keys, "rows=%d,cols=%d,type=%s", t->rows, t->cols,
             gpu_type_name(t->type));
    double copy_ns = c.stream ? (double)NAN : copy_measure(r, keys, 2 * (double)t->bytes, c, flags);
    o = operation_of(&unfused, "unfused");
    operation_measure(r, keys, &o, c, flags, copy_ns);
    for (enum kernel k = BIAS; !c.stream && c.cold && is_long(t) && k < N_KERNELS; k++) {
        const struct work part = {.t = t, .kernel = k};
        o = operation_of(&part, kernel_names[k]);
        operation_measure(r, keys, &o, c, flags, copy_ns);
    }
    o = operation_of(&fused, "fused");
    operation_measure(r, keys, &o, c, flags, copy_ns);
}

/* By graph warm and cold; by stream as far as it can be warm. */
static void measure_size(struct probe_run *r, int rows, int cols, enum gpu_type type,
                         unsigned flags)
{
    struct tensors t = tensors_of(r, rows, cols, type, probe_seed(r));
    const bool can_be_warm = 2 * t.bytes < 3 * gpu_facts(r)->l2_bytes;

    if (can_be_warm)
        measure_all(r, &t, (struct condition){.cold = false}, flags);
    measure_all(r, &t, (struct condition){.cold = true}, flags);
    measure_all(r, &t, (struct condition){.stream = true, .cold = !can_be_warm}, flags);
    tensors_free(r, &t);
}

/* --- what are the results worth? ------------------------------------------------------------- */

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r, enum gpu_type type)
{
    struct tensors t = tensors_of(r, 1001, 1024, type, 1);
    const struct work fused = {.t = &t, .kernel = FUSED, .is_whole = true, .is_fused = true};
    const struct work unfused = {.t = &t, .is_whole = true};
    const struct quality_pair pair = {.results = {t.out.memory, 1001, 1024, 2},
                                      .launch_unfused = launch_unfused,
                                      .launch_fused = launch_one,
                                      .unfused = &unfused,
                                      .fused = &fused,
                                      .is_wrong = is_wrong};

    if (probe_begin_case(r, PROBE_ONCE, "rows=1001,cols=1024,type=%s,impl=fused,mode=graph,l2=warm",
                         gpu_type_name(type)))
        quality_of_pair(r, &pair);
    tensors_free(r, &t);
}

/* bf16 moves the same bytes: with --deep. */
static void measure_sizes(struct probe_run *r, enum gpu_type type)
{
    static const int sizes[][2] = {{1, 4096}, {4096, 4096}, {16384, 8192}, {1024, 4096}};

    for (size_t i = 0; i < PROBE_LENGTH(sizes); i++) {
        const unsigned flags = i < 3 && type == GPU_FP16 ? 0 : PROBE_DEEP;
        if (flags == 0 || probe_deep(r))
            measure_size(r, sizes[i][0], sizes[i][1], type, flags);
    }
}

static void measure(struct probe_run *r)
{
    static const int odd[][2] = {{1, 8}, {7, 64}, {129, 1024}, {1001, 8192}};
    const bool is_full = probe_is_check_run(r) || probe_deep(r);

    for (enum gpu_type type = GPU_FP16; type <= (is_full ? GPU_BF16 : GPU_FP16); type++) {
        if (!probe_is_check_run(r))
            measure_sizes(r, type);
        for (size_t i = 0; probe_is_check_run(r) && i < PROBE_LENGTH(odd); i++)
            measure_size(r, odd[i][0], odd[i][1], type, 0);
        measure_quality(r, type);
    }
}

const struct probe probe = {
    .name = "bias_gelu_scale",
    .what = "What does it save to compute scale * gelu(x + bias) in one kernel, not three?",
    .method = 2,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
