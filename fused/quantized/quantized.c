/* quantized: what do weights of 4 or 8 bits gain, dequantised inside the product or before it?
 *
 * Method. y = W x, activations x bf16 from N(0,1), `batch` columns of them; W is rows x cols,
 * N(0,1), stored as int4, int8 or fp8 e4m3 with a bf16 scale for every 128 columns of a row.
 *     impl=fused        one kernel: weights go to registers as they are, become bf16 there, and
 *                       are multiplied by the tensor core; at batch 1 too, where one of its eight
 *                       columns is of use: so a weight costs two instructions and not four
 *     impl=unfused      a kernel that writes W as bf16, then the product of bf16
 *     impl=full         W as bf16 from the start: our GEMV at batch 1, cuBLAS beyond
 *     impl=full_cublas  cuBLAS at batch 1
 *     impl=scalar       int4 row-major, a byte a load, a conversion and a scale for each weight:
 *                       what is left where a runtime has no kernel for a format
 * Weights lie in an order that the fused kernel wants (dequantize.cuh), made beforehand.
 *
 * Two errors. `error` is the distance from fp64 with the same dequantised weights, and judges the
 * kernel; error_unquantised is that from fp64 with the weights as they were, and judges the format.
 * What formats do to numbers of other kinds stands in quality_error and clamped: int8, int4, e4m3
 * and e5m2 with scales from the greatest magnitude of a group, from the 99.9th percentile of a row
 * (a group has too few numbers for one), without scale, and an eighth of the first, which must
 * clamp; in fp64, as kernels add less than 0.2 %. Each is the median over seven draws of weights and
 * x, for where few numbers decide (Student's t, a channel x 100) one draw's error is up to 2.4 times
 * another's; their seeds are fixed. NVFP4 is left out: no tensor core before 10.0 takes it.
 *
 * Inside the timed region: the operations, between two events. l2=cold: weights of set after set;
 * x stays in the L2, as what runs before a layer has just written it.
 * Expected on an H200, 4096 x 14336, batch 1: bf16 27.5 us; int4 30.3 MB in 9.4, where a mere read
 * takes 7.7; int8 and e4m3 60 MB in 15.0, where a read takes 14.1; unfused int4 30 + 117 + 117 MB
 * in 66 us. With the batch the gain goes: from 64 columns on bf16 is as fast as int4, for cuBLAS's
 * wgmma does twice what mma.sync can.
 *
 * Traps. (a & b) | c is two instructions until it is written as one. A ring of tiles in registers
 * was slower than as many warps with one tile each: 10.0 us with two tiles, 10.9 with three. Lanes
 * that copy the last column of x in place of those beyond it slow all down: 32 columns in room for
 * 64 took longer than 64. */
#include "fused/quantized/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/blas.h"
#include "core/draw.h"
#include "core/half.h"
#include "core/stat.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"

PROBE_IMAGE(quantized);
PROBE_IMAGE(quantized_weights);

enum { UNQUANTISED = N_OPERATION_METRICS, QUALITY_ERROR, CLAMPED };
#define KEYS OPERATION_KEYS("rows,cols,batch")
#define QUALITY_KEYS "format,input,calibration"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [UNQUANTISED] =
        {"error_unquantised", "ratio", PROBE_LOWER, PROBE_EACH, NULL, KEYS,
         "relative Frobenius norm of the difference from float64 with the weights as they "
         "were before they were quantised"},
    [QUALITY_ERROR] = {"quality_error", "ratio", PROBE_LOWER, PROBE_EACH, NULL, QUALITY_KEYS,
                       "relative Frobenius norm of what quantised weights change in a product, "
                       "median over seven draws"},
    [CLAMPED] = {"clamped", "ratio", PROBE_LOWER, PROBE_EACH, NULL, QUALITY_KEYS,
                 "share of the weights that lay beyond the format's range, median over seven "
                 "draws"},
};

static const char *const format_names[] = {"int4", "int8", "e4m3"};
static const int format_bits[] = {4, 8, 8};
enum implementation { FUSED, UNFUSED, FULL, FULL_CUBLAS, SCALAR };
static const char *const names[] = {"fused", "unfused", "full", "full_cublas", "scalar"};

/* The fused kernels by the columns of x that they take at once. */
enum { N_WIDTHS = 5, WORKSPACE = 32 << 20, SAMPLED = 6 };
static const int widths[N_WIDTHS] = {1, 8, 16, 32, 64};

struct kernels {
    cudaKernel_t fused[N_FORMATS][N_WIDTHS], dequantize[N_FORMATS];
    cudaKernel_t bf16, scalar, pack, plain, verify;
    struct blas *blas;
    char no_blas[256];
    void *workspace; /* cuBLAS's, and the sums of blocks that share an output */
    uint32_t *arrived;
};

/* A matrix in all forms, and the vectors that it is multiplied by. */
struct matrix {
    const struct kernels *k;
    int rows, cols, batch_max;
    struct pool original, dequantised, tiles[N_FORMATS], scales[N_FORMATS], plain, plain_scales, y;
    void *x;
    size_t sets;
};

struct work {
    const struct matrix *m;
    enum implementation impl;
    enum quantized_format format;
    int batch;
};

static struct kernels *prepare(struct probe_run *r)
{
    struct kernels *k = probe_host_alloc(r, sizeof *k);
    char name[64];
    for (int f = 0; f < N_FORMATS; f++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            snprintf(name, sizeof name, "quantized_%s_%d", format_names[f], widths[w]);
            k->fused[f][w] = gpu_kernel(r, &image_quantized, name, sizeof(struct quantized_args));
            gpu_kernel_shared(k->fused[f][w], 64 << 10, -1);
        }
        snprintf(name, sizeof name, "quantized_%s_dequantize", format_names[f]);
        k->dequantize[f] =
            gpu_kernel(r, &image_quantized, name, sizeof(struct quantized_pack_args));
    }
    k->bf16 = gpu_kernel(r, &image_quantized, "quantized_bf16", sizeof(struct quantized_args));
    k->scalar = gpu_kernel(r, &image_quantized, "quantized_scalar", sizeof(struct quantized_args));
    k->pack = gpu_kernel(r, &image_quantized_weights, "quantize_pack", sizeof(struct quantized_pack_args));
    k->plain = gpu_kernel(r, &image_quantized_weights, "quantize_plain", sizeof(struct quantized_pack_args));
    k->verify =
        gpu_kernel(r, &image_quantized_weights, "quantize_verify", sizeof(struct quantized_verify_args));
    k->blas = blas_open(r, k->no_blas, sizeof k->no_blas);
    k->workspace = gpu_alloc(r, WORKSPACE, "the workspace");
    k->arrived = gpu_alloc(r, WORKSPACE >> 8, "counters of blocks");
    CUDA(cudaMemsetAsync(k->arrived, 0, WORKSPACE >> 8, gpu_stream(r)));
    return k;
}

/* --- the matrix in all its forms -------------------------------------------------------------- */

static unsigned tiles_of(const struct matrix *m)
{
    return (unsigned)(m->rows + QUANTIZED_ROWS - 1) / QUANTIZED_ROWS;
}

/* In 16 rows, weights of so many bits and their scales. */
static size_t tile_bytes(const struct matrix *m, int bits)
{
    return (size_t)tiles_of(m) * QUANTIZED_ROWS * (size_t)m->cols * (size_t)bits / 8;
}

static void pack(struct probe_run *r, struct matrix *m, enum quantized_format f)
{
    const unsigned warps = tiles_of(m) * (unsigned)(m->cols / QUANTIZED_GROUP);
    m->tiles[f] = pool_new(r, tile_bytes(m, format_bits[f]), m->sets, "quantised weights");
    m->scales[f] = pool_new(r, tile_bytes(m, 16) / QUANTIZED_GROUP, m->sets, "their scales");
    for (size_t set = 0; set < m->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&m->original, set),
                                              .to = pool_at(&m->tiles[f], set),
                                              .scales = pool_at(&m->scales[f], set),
                                              .rows = (uint32_t)m->rows,
                                              .columns = (uint32_t)m->cols,
                                              .format = f};
        gpu_launch(r, m->k->pack, (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
                   32 * QUANTIZED_WARPS, 0, &a);
    }
}

static void make_plain(struct probe_run *r, struct matrix *m)
{
    m->plain = pool_new(r, (size_t)m->rows * (size_t)m->cols / 2, m->sets, "int4, row-major");
    m->plain_scales =
        pool_new(r, 2 * (size_t)m->rows * (size_t)m->cols / QUANTIZED_GROUP, m->sets, "its scales");
    for (size_t set = 0; set < m->sets; set++) {
        const struct quantized_pack_args a = {.from = pool_at(&m->tiles[INT4], set),
                                              .to = pool_at(&m->plain, set),
                                              .scales = pool_at(&m->scales[INT4], set),
                                              .plain_scales = pool_at(&m->plain_scales, set),
                                              .rows = (uint32_t)m->rows,
                                              .columns = (uint32_t)m->cols};
        gpu_launch(r, m->k->plain, (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    }
}

static struct matrix matrix_of(struct probe_run *r, const struct kernels *k, int rows, int cols,
                               int batch_max, uint64_t seed)
{
    struct matrix m = {.k = k, .rows = rows, .cols = cols, .batch_max = batch_max};
    const size_t elements = (size_t)rows * (size_t)cols;

    m.sets = probe_is_check_run(r) ? 2 : operation_sets(r, (double)elements / 2);
    m.original = pool_normal(r, GPU_BF16, elements, m.sets, seed, "the weights");
    m.dequantised = pool_new(r, 2 * elements, m.sets, "dequantised weights");
    for (int f = 0; f < N_FORMATS; f++)
        pack(r, &m, (enum quantized_format)f);
    make_plain(r, &m);
    m.x = gpu_alloc(r, 2 * (size_t)batch_max * (size_t)cols, "x");
    gpu_fill_normal(r, m.x, GPU_BF16, (size_t)batch_max * (size_t)cols, seed + 1);
    m.y = pool_new(r, 2 * (size_t)batch_max * (size_t)rows, m.sets, "y");
    return m;
}

static void matrix_free(struct probe_run *r, struct matrix *m)
{
    pool_free(r, &m->original);
    pool_free(r, &m->dequantised);
    pool_free(r, &m->plain);
    pool_free(r, &m->plain_scales);
    for (int f = 0; f < N_FORMATS; f++) {
        pool_free(r, &m->tiles[f]);
        pool_free(r, &m->scales[f]);
    }
    pool_free(r, &m->y);
    gpu_release(r, m->x);
}

/* --- the products ----------------------------------------------------------------------------- */

/* How the fused kernel is launched. With one column a block takes 16 rows; with more, 16 or 32 for
 * each of its warps, and blocks share an output along the columns, so that every SM has two. */
struct shape {
    int width;
    dim3 grid;
    unsigned threads, groups; /* groups: of a block, along the columns */
    size_t shared, partial;   /* bytes: of a block; of all sums that blocks hand to each other */
};

static struct shape shape_of(struct probe_run *r, const struct work *w)
{
    const unsigned tiles = tiles_of(w->m), groups = (unsigned)w->m->cols / QUANTIZED_GROUP;
    const unsigned n_sm = (unsigned)gpu_facts(r)->n_sm;
    struct shape s = {.grid = {tiles, 1, 1}, .groups = groups};

    while (s.width < N_WIDTHS - 1 && widths[s.width] < w->batch)
        s.width++;
    s.threads = 32 * (s.width ? QUANTIZED_WARPS : QUANTIZED_ONE);
    if (s.width == 0)
        return s;
    const size_t width = (size_t)widths[s.width];
    const bool is_wide = s.width == N_WIDTHS - 1 && w->format == INT4;
    const unsigned each = QUANTIZED_WARPS * (is_wide ? QUANTIZED_WIDE_INT4 : 1);
    s.grid.x = (tiles + each - 1) / each;
    s.grid.z = ((unsigned)w->batch + (unsigned)width - 1) / (unsigned)width;
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

static struct quantized_args args_of(const struct work *w, const void *weights, const void *scales,
                                     size_t set)
{
    const struct matrix *m = w->m;
    return (struct quantized_args){.weights = weights,
                                   .scales = scales,
                                   .x = m->x,
                                   .y = pool_at(&m->y, set),
                                   .partial = m->k->workspace,
                                   .arrived = m->k->arrived,
                                   .rows = (uint32_t)m->rows,
                                   .columns = (uint32_t)m->cols,
                                   .batch = (uint32_t)w->batch};
}

static void launch_fused(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct matrix *m = w->m;
    const struct shape s = shape_of(r, w);
    struct quantized_args a =
        args_of(w, pool_at(&m->tiles[w->format], set), pool_at(&m->scales[w->format], set), set);
    a.groups = s.groups;
    gpu_launch_grid(r, m->k->fused[w->format][s.width], s.grid, s.threads, s.shared, &a);
}

static void launch_scalar(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct matrix *m = w->m;
    const struct quantized_args a =
        args_of(w, pool_at(&m->plain, set), pool_at(&m->plain_scales, set), set);
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

static void multiply_bf16(struct probe_run *r, const struct work *w, const void *weights,
                          size_t set)
{
    const struct matrix *m = w->m;
    if (w->impl == FULL_CUBLAS || w->batch > 1) {
        const struct blas_gemm gemm = {.type = BLAS_BF16,
                                       .layout = "nt", /* y^T = x^T W^T */
                                       .m = w->batch,
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
    const struct quantized_args a = args_of(w, weights, NULL, set);
    gpu_launch(r, m->k->bf16, (a.rows + BF16_ROWS - 1) / BF16_ROWS, threads_of(a.columns / 8), 0,
               &a);
}

static void launch_full(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    multiply_bf16(r, w, pool_at(&w->m->original, set), set);
}

static void launch_unfused(struct probe_run *r, const void *self, size_t set)
{
    const struct work *w = self;
    const struct matrix *m = w->m;
    const struct quantized_pack_args a = {.from = pool_at(&m->tiles[w->format], set),
                                          .to = pool_at(&m->dequantised, set),
                                          .scales = pool_at(&m->scales[w->format], set),
                                          .rows = (uint32_t)m->rows,
                                          .columns = (uint32_t)m->cols};
    const unsigned warps = tiles_of(m) * (a.columns / QUANTIZED_GROUP);
    gpu_launch(r, m->k->dequantize[w->format], (warps + QUANTIZED_WARPS - 1) / QUANTIZED_WARPS,
               32 * QUANTIZED_WARPS, 0, &a);
    multiply_bf16(r, w, a.to, set);
}

static void poison(struct probe_run *r, const void *self)
{
    const struct work *w = self;
    pool_poison(r, &w->m->y);
    if (w->impl == UNFUSED)
        pool_poison(r, &w->m->dequantised);
}

#include "fused/quantized/check.h"

/* --- how long does it take? ------------------------------------------------------------------- */

static struct operation operation_of(struct probe_run *r, const struct work *w)
{
    static void (*const launches[])(struct probe_run *, const void *, size_t) = {
        launch_fused, launch_unfused, launch_full, launch_full, launch_scalar};
    const struct matrix *m = w->m;
    const double elements = (double)m->rows * m->cols;
    const double packed = elements * (format_bits[w->format] / 8.0 + 2.0 / QUANTIZED_GROUP);
    const double weights = w->impl == FULL || w->impl == FULL_CUBLAS ? 2 * elements : packed;
    const double vectors = 2.0 * w->batch * (m->rows + m->cols);
    const double partial = w->impl == FUSED ? (double)shape_of(r, w).partial : 0;
    const double between = w->impl == UNFUSED ? 2 * elements : partial;
    const bool by_cublas = w->impl == FULL_CUBLAS || (w->impl != FUSED && w->batch > 1);

    return (struct operation){.name = names[w->impl],
                              .launch = launches[w->impl],
                              .poison = poison,
                              .verify = verify,
                              .describe = describe,
                              .self = w,
                              .sets = m->sets,
                              .set_bytes = weights,
                              .bytes = weights + vectors + 2 * between,
                              .memory = weights + vectors + between,
                              .kernels = by_cublas            ? 0
                                         : w->impl == UNFUSED ? 2
                                                              : 1,
                              .power_bound = w->batch > 8};
}

static void measure_work(struct probe_run *r, const struct work *w, struct condition c,
                         unsigned flags, bool with_copy)
{
    const struct operation o = operation_of(r, w);
    const bool is_full = w->impl == FULL || w->impl == FULL_CUBLAS;
    char keys[96];

    if (!w->m->k->blas && o.kernels == 0)
        return; /* measure() has said so */
    snprintf(keys, sizeof keys, "rows=%d,cols=%d,batch=%d,type=%s", w->m->rows, w->m->cols,
             w->batch, is_full ? "bf16" : format_names[w->format]);
    double copy_ns = with_copy ? copy_measure(r, keys, o.bytes, c, flags) : NAN;
    operation_measure(r, keys, &o, c, flags, copy_ns);
}

/* At batch 1: every format fused and unfused, bf16, and the kernel without a fast path. */
static void measure_one(struct probe_run *r, const struct matrix *m, unsigned flags)
{
    const struct condition cold = {.cold = true}, warm = {0};
    for (int f = 0; f < N_FORMATS; f++)
        for (enum implementation impl = FUSED; impl <= UNFUSED; impl++) {
            const struct work w = {m, impl, (enum quantized_format)f, 1};
            measure_work(r, &w, cold, flags, f == INT4 && impl == FUSED);
            if (f == INT4 && impl == FUSED)
                measure_work(r, &w, warm, flags, false);
            measure_work(r, &w, (struct condition){.cold = true, .stream = true}, PROBE_DEEP,
                         false);
        }
    for (enum implementation impl = FULL; impl <= SCALAR; impl++) {
        const struct work w = {m, impl, INT4, 1};
        measure_work(r, &w, cold, flags, false);
    }
}

/* With more columns: where does the gain end? */
static void measure_batch(struct probe_run *r, const struct matrix *m, int batch, unsigned flags)
{
    const struct condition cold = {.cold = true};
    for (int f = 0; f < N_FORMATS; f++)
        for (enum implementation impl = FUSED; impl <= UNFUSED; impl++) {
            const struct work w = {m, impl, (enum quantized_format)f, batch};
            measure_work(r, &w, cold, f == INT4 && impl == FUSED ? flags : PROBE_DEEP, false);
        }
    const struct work full = {m, FULL, INT4, batch};
    measure_work(r, &full, cold, flags, false);
}

static void measure(struct probe_run *r)
{
    static const int batches[] = {2, 4, 8, 16, 32, 64, 128, 256};
    const struct kernels *k = prepare(r);
    const bool checking = probe_is_check_run(r);
    struct matrix m = checking ? matrix_of(r, k, 528, 2048, 80, probe_seed(r))
                               : matrix_of(r, k, 4096, 14336, 256, probe_seed(r));
    if (!k->blas)
        probe_note(r, "%s", k->no_blas);
    measure_one(r, &m, 0);
    for (size_t i = 0; i < PROBE_LENGTH(batches); i++)
        if (batches[i] <= m.batch_max)
            measure_batch(r, &m, batches[i], i % 2 ? PROBE_ONCE : PROBE_DEEP);
    matrix_free(r, &m);
    if (probe_deep(r) && !checking) {
        m = matrix_of(r, k, 14336, 4096, 1, probe_seed(r) + 2);
        measure_one(r, &m, PROBE_DEEP);
        matrix_free(r, &m);
        m = matrix_of(r, k, 2048, 8192, 1, probe_seed(r) + 4);
        measure_one(r, &m, PROBE_DEEP);
        matrix_free(r, &m);
    }
    if (checking)
        check_odd_shapes(r, k);
    measure_results(r, k);
    measure_formats(r);
}

const struct probe probe = {
    .name = "quantized",
    .what = "What do weights of 4 or 8 bits gain, dequantised inside the product or before it?",
    .method = 2,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
