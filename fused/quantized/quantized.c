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
#include <math.h>
#include <stdio.h>

#include "core/draw.h"
#include "fused/common/operation.h"
#include "fused/common/quality.h"
#include "fused/quantized/check.h"
#include "fused/quantized/form.h"
#include "fused/quantized/formats.h"
#include "fused/quantized/matrix.h"
#include "fused/quantized/metrics.h"

#define KEYS OPERATION_KEYS("rows,cols,batch")
#define QUALITY_KEYS "format,input,calibration"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    [QUANTIZED_ERROR_UNQUANTISED] =
        {"error_unquantised", "ratio", PROBE_LOWER, .keys = KEYS,
         .what = "relative Frobenius norm of the difference from float64 with the weights as they "
                 "were before they were quantised"},
    [QUANTIZED_QUALITY_ERROR] =
        {"quality_error", "ratio", PROBE_LOWER, .keys = QUALITY_KEYS,
         .what = "relative Frobenius norm of what quantised weights change in a product, "
                 "median over seven draws"},
    [QUANTIZED_CLAMPED] =
        {"clamped", "ratio", PROBE_LOWER, .keys = QUALITY_KEYS,
         .what = "share of the weights that lay beyond the format's range, median over seven "
                 "draws"},
};

static const char *const names[N_QUANTIZED_IMPLS] = {"fused", "unfused", "full", "full_cublas",
                                                     "scalar"};

/* --- how long does it take? ------------------------------------------------------------------- */

static void describe(struct probe_run *r, const void *self)
{
    const struct quantized_form *form = self;
    const struct verdict v = quantized_run_verifier(r, form, true);
    if (!isnan(verdict_error(&v)))
        probe_value(r, QUANTIZED_ERROR_UNQUANTISED, verdict_error(&v));
    if (form->impl != FUSED)
        return;
    const struct quantized_shape s = quantized_shape_of(r, form);
    probe_fact(r, "blocks", "%u x %u x %u", s.grid.x, s.grid.y, s.grid.z);
    gpu_kernel_facts(r, form->m->k->fused[form->format][s.width], (int)s.threads, s.shared);
}

static struct operation operation_of(struct probe_run *r, const struct quantized_form *form)
{
    const struct quantized_matrix *m = form->m;
    const double elements = (double)m->rows * m->cols;
    const double packed =
        elements * (quantized_format_bits[form->format] / 8.0 + 2.0 / QUANTIZED_GROUP);
    const double weights = form->impl == FULL || form->impl == FULL_CUBLAS ? 2 * elements : packed;
    const double vectors = 2.0 * form->batch * (m->rows + m->cols);
    const double partial = form->impl == FUSED ? (double)quantized_shape_of(r, form).partial : 0;
    const double between = form->impl == UNFUSED ? 2 * elements : partial;
    const bool by_cublas = form->impl == FULL_CUBLAS || (form->impl != FUSED && form->batch > 1);

    return (struct operation){.name = names[form->impl],
                              .launch = quantized_launch,
                              .poison = quantized_poison,
                              .verify = quantized_verify,
                              .describe = describe,
                              .self = form,
                              .sets = m->sets,
                              .set_bytes = weights,
                              .bytes = weights + vectors + 2 * between,
                              .memory = weights + vectors + between,
                              .kernels = by_cublas               ? 0
                                         : form->impl == UNFUSED ? 2
                                                                 : 1,
                              .power_bound = form->batch > 8};
}

static void measure_form(struct probe_run *r, const struct quantized_form *form, struct condition c,
                         unsigned flags, bool with_copy)
{
    const struct operation o = operation_of(r, form);
    const bool is_full = form->impl == FULL || form->impl == FULL_CUBLAS;
    char keys[96];

    if (!form->m->k->blas && o.kernels == 0)
        return; /* measure() has said so */
    snprintf(keys, sizeof keys, "rows=%d,cols=%d,batch=%d,type=%s", form->m->rows, form->m->cols,
             form->batch, is_full ? "bf16" : quantized_format_names[form->format]);
    double copy_ns = with_copy ? copy_measure(r, keys, o.bytes, c, flags) : NAN;
    operation_measure(r, keys, &o, c, flags, copy_ns);
}

/* At batch 1: every format fused and unfused, bf16, and the kernel without a fast path. */
static void measure_one(struct probe_run *r, const struct quantized_matrix *m, unsigned flags)
{
    const struct condition cold = {.cold = true}, warm = {0};
    for (int f = 0; f < N_FORMATS; f++)
        for (enum quantized_impl impl = FUSED; impl <= UNFUSED; impl++) {
            const struct quantized_form form = {m, impl, (enum quantized_format)f, 1};
            measure_form(r, &form, cold, flags, f == INT4 && impl == FUSED);
            if (f == INT4 && impl == FUSED)
                measure_form(r, &form, warm, flags, false);
            measure_form(r, &form, (struct condition){.cold = true, .stream = true}, PROBE_DEEP,
                         false);
        }
    for (enum quantized_impl impl = FULL; impl <= SCALAR; impl++) {
        const struct quantized_form form = {m, impl, INT4, 1};
        measure_form(r, &form, cold, flags, false);
    }
}

/* With more columns: where does the gain end? */
static void measure_batch(struct probe_run *r, const struct quantized_matrix *m, int batch,
                          unsigned flags)
{
    const struct condition cold = {.cold = true};
    for (int f = 0; f < N_FORMATS; f++)
        for (enum quantized_impl impl = FUSED; impl <= UNFUSED; impl++) {
            const struct quantized_form form = {m, impl, (enum quantized_format)f, batch};
            measure_form(r, &form, cold, f == INT4 && impl == FUSED ? flags : PROBE_DEEP, false);
        }
    const struct quantized_form full = {m, FULL, INT4, batch};
    measure_form(r, &full, cold, flags, false);
}

/* --- odd shapes, and what the results are worth ----------------------------------------------- */

enum { ODD_SHAPES = 44 };

/* Any number of rows, batches across the widths' borders; columns must be whole groups. */
static void check_odd_shapes(struct probe_run *r, const struct quantized_kernels *k)
{
    static const int some_rows[] = {1, 2, 15, 16, 17, 127, 128, 129, 131, 1009};
    static const int some_batches[] = {1, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65};
    uint64_t state = probe_seed(r);

    if (!probe_begin_case(r, 0, "rows=0,cols=0,batch=0,type=odd,impl=fused,mode=graph,l2=warm"))
        return;
    for (int i = 0; i < ODD_SHAPES; i++) {
        const int rows = i % 2 ? 1 + (int)draw_below(&state, 600) : some_rows[i / 2 % 10];
        const int batch = some_batches[draw_below(&state, 12)];
        const int cols = 128 * (1 + (int)draw_below(&state, 24));
        struct quantized_matrix m = quantized_matrix_of(r, k, rows, cols, batch, state);
        for (enum quantized_impl impl = FUSED; impl <= UNFUSED; impl++) {
            const struct quantized_form form = {&m, impl, (enum quantized_format)(i % N_FORMATS),
                                                batch};
            if (impl == UNFUSED && batch > 1 && !k->blas)
                continue;
            quantized_poison(r, &form);
            quantized_launch(r, &form, 0);
            quantized_verify(r, &form, "an odd shape");
        }
        quantized_matrix_free(r, &m);
    }
    probe_fact(r, "shapes", "%d of seeded rows, columns (whole groups of 128) and batch",
               ODD_SHAPES);
}

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_results(struct probe_run *r, const struct quantized_kernels *k)
{
    enum { ROWS = 1001, COLS = 1024, BATCH = 8 };
    if (!k->blas ||
        !probe_begin_case(r, PROBE_ONCE,
                          "rows=%d,cols=%d,batch=%d,type=int4,impl=fused,mode=graph,l2=warm", ROWS,
                          COLS, BATCH))
        return;
    struct quantized_matrix m = quantized_matrix_of(r, k, ROWS, COLS, BATCH, 1);
    const struct quantized_form fused = {&m, FUSED, INT4, BATCH},
                                unfused = {&m, UNFUSED, INT4, BATCH};
    const struct quality_results results = {m.y.memory, BATCH, ROWS, 2};
    void *other = gpu_alloc(r, 2 * ROWS * BATCH, "the unfused results");

    quantized_launch(r, &unfused, 0);
    CUDA(cudaMemcpyAsync(other, m.y.memory, 2 * ROWS * BATCH, cudaMemcpyDeviceToDevice,
                         gpu_stream(r)));
    quantized_poison(r, &fused);
    quantized_launch(r, &fused, 0);
    quality_distance(r, m.y.memory, other, 2, (uint64_t)ROWS * BATCH);
    quality_digest(r, m.y.memory, 2, (uint64_t)ROWS * BATCH);
    quality_faults(r, &results, quantized_is_wrong, &fused);
    gpu_release(r, other);
    quantized_matrix_free(r, &m);
}

static void measure(struct probe_run *r)
{
    static const int batches[] = {2, 4, 8, 16, 32, 64, 128, 256};
    const struct quantized_kernels *k = quantized_kernels_new(r);
    const bool checking = probe_is_check_run(r);
    struct quantized_matrix m = checking
                                    ? quantized_matrix_of(r, k, 528, 2048, 80, probe_seed(r))
                                    : quantized_matrix_of(r, k, 4096, 14336, 256, probe_seed(r));
    if (!k->blas)
        probe_note(r, "%s", k->no_blas);
    measure_one(r, &m, 0);
    for (size_t i = 0; i < PROBE_LENGTH(batches); i++)
        if (batches[i] <= m.batch_max)
            measure_batch(r, &m, batches[i], i % 2 ? PROBE_ONCE : PROBE_DEEP);
    quantized_matrix_free(r, &m);
    if (probe_deep(r) && !checking) {
        m = quantized_matrix_of(r, k, 14336, 4096, 1, probe_seed(r) + 2);
        measure_one(r, &m, PROBE_DEEP);
        quantized_matrix_free(r, &m);
        m = quantized_matrix_of(r, k, 2048, 8192, 1, probe_seed(r) + 4);
        measure_one(r, &m, PROBE_DEEP);
        quantized_matrix_free(r, &m);
    }
    if (checking)
        check_odd_shapes(r, k);
    measure_results(r, k);
    quantized_measure_formats(r);
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
