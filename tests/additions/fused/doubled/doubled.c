/* doubled: what does it save to multiply by four in one kernel instead of by two twice?
 *
 * The smallest possible fused operator, which tests/contract/additions.sh adds to a copy of the
 * tree. Modes, cache states, the copy: common/operation.h, common/operator.h.
 *
 * Inside the timed region: the operations, between two events. Expected: half of the time where
 * bytes take the time. */
#include "core/draw.h"
#include "fused/common/operator.h"
#include "fused/doubled/args.h"

PROBE_IMAGE(doubled);

static const struct probe_metric metrics[] = {OPERATION_METRICS(OPERATION_KEYS("elements"))};
static const struct probe_parameter parameters[] = {OPERATOR_SIZE("elements", 1 << 30),
                                                    OPERATOR_TYPES(GPU_FP32)};

struct doubled {
    struct pool in, middle, out;
    cudaKernel_t times, verify;
};

static double copied(const struct operator_set *s, size_t member)
{
    (void)member;
    return 2 * 4.0 * s->shape.dim[0];
}

static void open(struct probe_run *r, struct operator_set *s)
{
    const size_t elements = (size_t)s->shape.dim[0];
    struct doubled *d = s->own;
    d->times = gpu_kernel(r, &image_doubled, "doubled_times", sizeof(struct doubled_args));
    d->verify = gpu_kernel(r, &image_doubled, "doubled_verify", sizeof(struct doubled_verify_args));
    d->in = operator_operand(r, s, GPU_FP32, elements, "the input");
    d->middle = operator_result(r, s, 4 * elements, "the intermediate");
    d->out = operator_result(r, s, 4 * elements, "the output");
}

static void multiply(struct probe_run *r, const struct operator_set *s, float factor,
                     const void *in, void *out)
{
    const struct doubled *d = s->own;
    const struct doubled_args a = {
        .in = in, .out = out, .elements = (uint64_t)s->shape.dim[0], .factor = factor};
    gpu_launch(r, d->times, (unsigned)((a.elements + DOUBLED_THREADS - 1) / DOUBLED_THREADS),
               DOUBLED_THREADS, 0, &a);
}

static void launch_fused(struct probe_run *r, const struct operator_set *s,
                         const struct operator_form *f, size_t set)
{
    const struct doubled *d = s->own;
    (void)f;
    multiply(r, s, 4, pool_at(&d->in, set), pool_at(&d->out, set));
}

static void launch_unfused(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, size_t set)
{
    const struct doubled *d = s->own;
    (void)f;
    multiply(r, s, 2, pool_at(&d->in, set), pool_at(&d->middle, set));
    multiply(r, s, 2, pool_at(&d->middle, set), pool_at(&d->out, set));
}

static size_t forms(struct probe_run *r, const struct operator_set *s, size_t member,
                    struct operator_form *list)
{
    const double tensor = 4.0 * s->shape.dim[0];
    (void)r, (void)member;
    list[0] = (struct operator_form){.name = "unfused", .group = OPERATOR_UNFUSED,
                                     .bytes = 4 * tensor, .memory = 3 * tensor, .kernels = 2,
                                     .launch = launch_unfused};
    list[1] = (struct operator_form){.name = "fused", .group = OPERATOR_FUSED,
                                     .bytes = 2 * tensor, .memory = 2 * tensor, .kernels = 1,
                                     .launch = launch_fused};
    return 2;
}

static struct verdict verify(struct probe_run *r, const struct operator_set *s,
                             const struct operator_form *f, bool all, uint64_t *due)
{
    const struct doubled *d = s->own;
    const struct doubled_verify_args a = {.in = (const float *)(const void *)d->in.memory,
                                          .out = (const float *)(const void *)d->out.memory,
                                          .verdict = verdict_clear(r),
                                          .elements = (uint64_t)s->shape.dim[0],
                                          .factor = 4};
    (void)f, (void)all;
    *due = a.elements;
    gpu_launch(r, d->verify, 512, DOUBLED_THREADS, 0, &a);
    return verdict_fetch(r);
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct doubled *d = s->own;
    (void)member;
    return (struct quality_results){d->out.memory, 16, (uint64_t)s->shape.dim[0] / 16, 4};
}

static struct operator_shape odd(size_t i, uint64_t *state)
{
    (void)i;
    return (struct operator_shape){{1 + (int)draw_below(state, 5000)}, GPU_FP32};
}

static const struct operator_sweep sweeps[] = {
    {{{1 << 20}, GPU_FP32}, 1, OPERATOR_MAIN, OPERATOR_WARM | OPERATOR_COLD, 0, true},
    {{{1 << 27}, GPU_FP32}, 1, OPERATOR_MAIN, OPERATOR_COLD, PROBE_THRICE, true},
};

static const char *const only[] = {"doubled"};
static const struct fused_operator doubled = {
    .members = only,
    .n_members = 1,
    .dims = {"elements"},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 4096,
    .own_bytes = sizeof(struct doubled),
    .open = open,
    .copied = copied,
    .forms = forms,
    .verify = verify,
    .n_odd = 8,
    .odd = odd,
    .quality = {{1 << 16}, GPU_FP32},
    .quality_types = GPU_FP32,
    .results = results,
};

static void measure(struct probe_run *r)
{
    operator_measure(r, &doubled);
}

const struct probe probe = {
    .name = "doubled",
    .what = "What does it save to multiply by four in one kernel, not by two twice?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
