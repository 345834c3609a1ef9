#include "fused/quantized/form.h"

bool quantized_is_quantised(const struct quantized_form *form)
{
    return form->impl != FULL && form->impl != FULL_CUBLAS;
}

struct quantized_shape quantized_shape_of(struct probe_run *r, const struct quantized_form *form)
{
    const unsigned tiles = quantized_tiles(form->m),
                   groups = (unsigned)form->m->cols / QUANTIZED_GROUP;
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    struct quantized_shape s = {.grid = {tiles, 1, 1}, .groups = groups};

    while (s.width < N_WIDTHS - 1 && quantized_widths[s.width] < form->batch)
        s.width++;
    s.threads = 32 * (s.width ? QUANTIZED_WARPS : QUANTIZED_ONE);
    if (s.width == 0)
        return s;
    const size_t width = (size_t)quantized_widths[s.width];
    const bool is_wide = s.width == N_WIDTHS - 1 && form->format == INT4;
    const unsigned each = QUANTIZED_WARPS * (is_wide ? QUANTIZED_WIDE_INT4 : 1);
    s.grid.x = (tiles + each - 1) / each;
    s.grid.z = ((unsigned)form->batch + (unsigned)width - 1) / (unsigned)width;
    const unsigned blocks = s.grid.x * s.grid.z, wanted = is_wide ? n_sm : 2 * n_sm;
    s.grid.y = (wanted + blocks / 2) / blocks;
    s.grid.y = s.grid.y < 1 ? 1 : s.grid.y > groups ? groups : s.grid.y;
    s.groups = (groups + s.grid.y - 1) / s.grid.y;
    s.grid.y = (groups + s.groups - 1) / s.groups;
    s.shared = QUANTIZED_STAGES * width * QUANTIZED_X_VECTORS * 16;
    if (s.grid.y > 1)
        s.partial = (size_t)blocks * s.grid.y * each * QUANTIZED_ROWS * width * 4;
    return s;
}

static struct quantized_args args_of(const struct quantized_form *form, const void *weights,
                                     const void *scales, size_t set)
{
    const struct quantized_matrix *m = form->m;
    return (struct quantized_args){.weights = weights,
                                   .scales = scales,
                                   .x = m->x,
                                   .y = pool_at(&m->y, set),
                                   .partial = m->k->workspace,
                                   .arrived = m->k->arrived,
                                   .rows = (uint32_t)m->rows,
                                   .columns = (uint32_t)m->cols,
                                   .batch = (uint32_t)form->batch};
}

static void launch_fused(struct probe_run *r, const void *self, size_t set)
{
    const struct quantized_form *form = self;
    const struct quantized_matrix *m = form->m;
    const struct quantized_shape s = quantized_shape_of(r, form);
    struct quantized_args a = args_of(form, pool_at(&m->tiles[form->format], set),
                                      pool_at(&m->scales[form->format], set), set);
    a.groups = s.groups;
    gpu_launch_grid(r, m->k->fused[form->format][s.width], s.grid, s.threads, s.shared, &a);
}

static void launch_scalar(struct probe_run *r, const void *self, size_t set)
{
    const struct quantized_form *form = self;
    const struct quantized_matrix *m = form->m;
    const struct quantized_args a =
        args_of(form, pool_at(&m->plain, set), pool_at(&m->plain_scales, set), set);
    gpu_launch(r, m->k->scalar, (a.rows + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
               32 * QUANTIZED_WARPS, 0, &a);
}

/* A block so large that each thread has the same to do in every turn, in as few turns as can be. */
static unsigned threads_of(uint32_t vectors)
{
    for (uint32_t turns = 1;; turns++) {
        uint32_t each = BF16_LOADS * turns, threads = ((vectors + each - 1) / each + 31) / 32 * 32;
        if (threads <= BF16_THREADS)
            return threads;
    }
}

static void multiply_bf16(struct probe_run *r, const struct quantized_form *form,
                          const void *weights, size_t set)
{
    const struct quantized_matrix *m = form->m;
    if (form->impl == FULL_CUBLAS || form->batch > 1) {
        const struct blas_gemm gemm = {.type = BLAS_BF16,
                                       .layout = "nt", /* y^T = x^T W^T */
                                       .m = form->batch,
                                       .n = m->rows,
                                       .k = m->cols,
                                       .a = m->x,
                                       .b = weights,
                                       .c = pool_at(&m->y, set),
                                       .workspace = m->k->workspace,
                                       .workspace_bytes = WORKSPACE,
                                       .stream = gpu_stream(r)};
        blas_gemm(r, m->k->blas, &gemm);
        return;
    }
    const struct quantized_args a = args_of(form, weights, NULL, set);
    gpu_launch(r, m->k->bf16, (a.rows + BF16_ROWS - 1) / BF16_ROWS, threads_of(a.columns / 8), 0,
               &a);
}

static void launch_full(struct probe_run *r, const void *self, size_t set)
{
    const struct quantized_form *form = self;
    multiply_bf16(r, form, pool_at(&form->m->original, set), set);
}

static void launch_unfused(struct probe_run *r, const void *self, size_t set)
{
    const struct quantized_form *form = self;
    const struct quantized_matrix *m = form->m;
    const struct quantized_pack_args a = {.from = pool_at(&m->tiles[form->format], set),
                                          .to = pool_at(&m->dequantised, set),
                                          .scales = pool_at(&m->scales[form->format], set),
                                          .rows = (uint32_t)m->rows,
                                          .columns = (uint32_t)m->cols};
    const unsigned warps = quantized_tiles(m) * (a.columns / QUANTIZED_GROUP);
    gpu_launch(r, m->k->dequantize[form->format], (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
               32 * QUANTIZED_WARPS, 0, &a);
    multiply_bf16(r, form, a.to, set);
}

void quantized_launch(struct probe_run *r, const void *self, size_t set)
{
    static void (*const launches[])(struct probe_run *, const void *, size_t) = {
        [FUSED] = launch_fused,      [UNFUSED] = launch_unfused, [FULL] = launch_full,
        [FULL_CUBLAS] = launch_full, [SCALAR] = launch_scalar,
    };
    launches[((const struct quantized_form *)self)->impl](r, self, set);
}

void quantized_poison(struct probe_run *r, const void *self)
{
    const struct quantized_form *form = self;
    pool_poison(r, &form->m->y);
    if (form->impl == UNFUSED)
        pool_poison(r, &form->m->dequantised);
}
