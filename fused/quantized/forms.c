/* quantized: the ways to multiply, and how each is launched. */
#include <math.h>

#include "fused/quantized/quantized.h"

/* --- launches -------------------------------------------------------------------------------- */

/* How the fused kernel is launched. With one column a block takes 16 rows; with more, 16 or 32 for
 * each of its warps, and blocks share an output along the columns, so that every SM has two. */
struct shape {
    int width; /* index of quantized_widths */
    dim3 grid;
    unsigned threads, groups; /* groups: of a block, along the columns */
    size_t shared, partial;   /* bytes: of a block; of all sums that blocks hand to each other */
};

static struct shape shape_of(struct probe_run *r, const struct operator_set *set)
{
    const unsigned tiles = quantized_tiles(set),
                   groups = (unsigned)set->shape.dim[COLS] / QUANTIZED_GROUP;
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm, batch = (unsigned)set->shape.dim[BATCH];
    struct shape s = {.grid = {tiles, 1, 1}, .groups = groups};

    while (s.width < N_WIDTHS - 1 && (unsigned)quantized_widths[s.width] < batch)
        s.width++;
    s.threads = 32 * (s.width ? QUANTIZED_WARPS : QUANTIZED_ONE);
    if (s.width == 0)
        return s;
    const unsigned width = (unsigned)quantized_widths[s.width];
    const bool is_wide = s.width == N_WIDTHS - 1 && set->shape.type == INT4;
    const unsigned each = QUANTIZED_WARPS * (is_wide ? QUANTIZED_WIDE_INT4 : 1);
    s.grid.x = (tiles + each - 1) / each;
    s.grid.z = (batch + width - 1) / width;
    const unsigned blocks = s.grid.x * s.grid.z, wanted = is_wide ? n_sm : 2 * n_sm;
    s.grid.y = (wanted + blocks / 2) / blocks;
    s.grid.y = s.grid.y < 1 ? 1 : s.grid.y > groups ? groups : s.grid.y;
    s.groups = (groups + s.grid.y - 1) / s.grid.y;
    s.grid.y = (groups + s.groups - 1) / s.groups;
    s.shared = (size_t)QUANTIZED_STAGES * width * QUANTIZED_X_VECTORS * 16;
    if (s.grid.y > 1)
        s.partial = (size_t)blocks * s.grid.y * each * QUANTIZED_ROWS * width * 4;
    return s;
}

static struct quantized_args args_of(const struct operator_set *s, const void *weights,
                                     const void *scales, size_t set)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized *q = s->own;
    return (struct quantized_args){.weights = weights,
                                   .scales = scales,
                                   .x = q->x,
                                   .y = pool_at(&q->y, set),
                                   .partial = k->workspace,
                                   .arrived = k->arrived,
                                   .rows = (uint32_t)s->shape.dim[ROWS],
                                   .columns = (uint32_t)s->shape.dim[COLS],
                                   .batch = (uint32_t)s->shape.dim[BATCH]};
}

static void launch_fused(struct probe_run *r, const struct operator_set *s,
                         const struct operator_form *f, size_t set)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized *q = s->own;
    const struct shape shape = shape_of(r, s);
    struct quantized_args a = args_of(s, pool_at(&q->tiles, set), pool_at(&q->scales, set), set);
    (void)f;
    a.groups = shape.groups;
    gpu_launch_grid(r, k->fused[s->shape.type][shape.width], shape.grid, shape.threads,
                    shape.shared, &a);
}

static void launch_scalar(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, size_t set)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized *q = s->own;
    const struct quantized_args a =
        args_of(s, pool_at(&q->plain, set), pool_at(&q->plain_scales, set), set);
    (void)f;
    gpu_launch(r, k->scalar, (a.rows + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS, 32 * QUANTIZED_WARPS,
               0, &a);
}

static unsigned threads_of(uint32_t vectors)
{
    return gpu_even_threads(vectors, BF16_LOADS, BF16_THREADS);
}

/* By our GEMV; by cuBLAS where it is not said how many kernels there are. */
static void multiply_bf16(struct probe_run *r, const struct operator_set *s,
                          const struct operator_form *f, const void *weights, size_t set)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized_args a = args_of(s, weights, NULL, set);
    const struct blas_gemm gemm = {.type = BLAS_BF16,
                                   .layout = "nt", /* y^T = x^T W^T */
                                   .m = s->shape.dim[BATCH],
                                   .n = s->shape.dim[ROWS],
                                   .k = s->shape.dim[COLS],
                                   .a = a.x,
                                   .b = weights,
                                   .c = a.y,
                                   .workspace = k->workspace,
                                   .workspace_bytes = WORKSPACE,
                                   .stream = gpu_stream(r)};
    if (f->kernels == 0)
        blas_gemm(r, k->blas, &gemm);
    else
        gpu_launch(r, k->bf16, (a.rows + BF16_ROWS - 1) / BF16_ROWS, threads_of(a.columns / 8), 0,
                   &a);
}

static void launch_full(struct probe_run *r, const struct operator_set *s,
                        const struct operator_form *f, size_t set)
{
    const struct quantized *q = s->own;
    multiply_bf16(r, s, f, pool_at(&q->original, set), set);
}

static void launch_unfused(struct probe_run *r, const struct operator_set *s,
                           const struct operator_form *f, size_t set)
{
    const struct quantized_tools *k = s->of->tools;
    const struct quantized *q = s->own;
    const struct quantized_pack_args a = {.from = pool_at(&q->tiles, set),
                                          .to = pool_at(&q->dequantised, set),
                                          .scales = pool_at(&q->scales, set),
                                          .rows = (uint32_t)s->shape.dim[ROWS],
                                          .columns = (uint32_t)s->shape.dim[COLS]};
    const unsigned warps = quantized_tiles(s) * (a.columns / QUANTIZED_GROUP);
    gpu_launch(r, k->dequantize[s->shape.type], (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
               32 * QUANTIZED_WARPS, 0, &a);
    multiply_bf16(r, s, f, a.to, set);
}

/* --- forms ----------------------------------------------------------------------------------- */

static double elements(const struct operator_set *s)
{
    return (double)s->shape.dim[ROWS] * s->shape.dim[COLS];
}

/* Weights with their scales, x and y; not the sums that blocks hand to each other. */
double quantized_copied(const struct operator_set *s, size_t member)
{
    const double scales = s->shape.type == UNQUANTISED ? 0 : 2.0 / QUANTIZED_GROUP;
    (void)member;
    return elements(s) * (quantized_type_bits[s->shape.type] / 8.0 + scales) +
           2.0 * s->shape.dim[BATCH] * (s->shape.dim[ROWS] + s->shape.dim[COLS]);
}

/* A form without its bytes, which are those of the copy and twice what lies between kernels, or
 * blocks. One that cuBLAS has a part in, with kernels=0, is not there without it. */
static size_t add(const struct operator_set *s, struct operator_form *list, size_t n,
                  double between, struct operator_form form)
{
    const struct quantized_tools *k = s->of->tools;
    if (form.kernels == 0 && !k->blas)
        return n;
    form.memory = quantized_copied(s, 0) + between;
    form.bytes = form.memory + between;
    form.power_bound = s->shape.dim[BATCH] > 8;
    list[n] = form;
    return n + 1;
}

size_t quantized_forms(struct probe_run *r, const struct operator_set *s, size_t member,
                       struct operator_form *list)
{
    const bool is_one = s->shape.dim[BATCH] == 1;
    const struct operator_form fused = {
        .name = "fused", .group = OPERATOR_FUSED, .launch = launch_fused, .kernels = 1};
    const struct operator_form unfused = {.name = "unfused",
                                          .group = OPERATOR_UNFUSED,
                                          .launch = launch_unfused,
                                          .kernels = is_one ? 2 : 0};
    const struct operator_form scalar = {
        .name = "scalar", .group = WITH_SCALAR, .launch = launch_scalar, .kernels = 1};
    const struct operator_form full = {
        .name = "full", .group = WITH_FULL, .launch = launch_full, .kernels = is_one ? 1 : 0};
    const struct operator_form cublas = {
        .name = "full_cublas", .group = WITH_FULL, .launch = launch_full, .kernels = 0};
    size_t n = 0;

    (void)member;
    if (s->shape.type == UNQUANTISED) {
        n = add(s, list, n, 0, full);
        return is_one ? add(s, list, n, 0, cublas) : n;
    }
    n = add(s, list, n, (double)shape_of(r, s).partial, fused);
    n = add(s, list, n, 2 * elements(s), unfused);
    return is_one && s->shape.type == INT4 ? add(s, list, n, 0, scalar) : n;
}

void quantized_describe(struct probe_run *r, const struct operator_set *s,
                        const struct operator_form *f)
{
    const struct quantized_tools *k = s->of->tools;
    const struct verdict v = quantized_run_verifier(r, s, f, true);
    if (!isnan(verdict_error(&v)))
        probe_value(r, QUANTIZED_ERROR_UNQUANTISED, verdict_error(&v));
    if (f->group != OPERATOR_FUSED)
        return;
    const struct shape shape = shape_of(r, s);
    probe_fact(r, "blocks", "%u x %u x %u", shape.grid.x, shape.grid.y, shape.grid.z);
    gpu_kernel_facts(r, k->fused[s->shape.type][shape.width], (int)shape.threads, shape.shared);
}
