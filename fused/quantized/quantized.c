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
 * clamp; in fp64, as kernels add less than 0.2 %. Each is the median over seven draws of weights
 * and x, for where few numbers decide (Student's t, a channel x 100) one draw's error is up to 2.4
 * times another's; their seeds are fixed. NVFP4 is left out: no tensor core before 10.0 takes it.
 *
 * Inside the timed region: the operations, between two events. l2=cold: weights of set after set;
 * x stays in the L2, as what runs before a layer has just written it.
 * Expected on an H200, 4096 x 14336, batch 1: bf16 27.5 us; int4 30.3 MB in 9.4, where a mere read
 * takes 7.7; int8 and e4m3 60 MB in 15.0, where a read takes 14.1; unfused int4 30 + 117 + 117 MB
 * in 66 us. With the batch the gain goes: from 64 columns on bf16 is as fast as int4, for cuBLAS's
 * wgmma does twice what mma.sync can; 8 bits start at 1.6 times int4's time and meet it there, too,
 * since the same products decide.
 *
 * Traps. (a & b) | c is two instructions until it is written as one. A ring of tiles in registers
 * was slower than as many warps with one tile each: 10.0 us with two tiles, 10.9 with three. Lanes
 * that copy the last column of x in place of those beyond it slow all down: 32 columns in room for
 * 64 took longer than 64. */
#include "fused/quantized/quantized.h"

#include "core/draw.h"
#include "fused/common/campaign.h"

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
    CAMPAIGN_METRICS(QUANTIZED_SHAPES),
};

const char *const quantized_types[] = {"int4", "int8", "e4m3", "bf16", NULL};
const int quantized_type_bits[N_TYPES] = {4, 8, 8, 16};
const int quantized_widths[N_WIDTHS] = {1, 8, 16, 32, 64};

/* Within these limits the kernels' 32-bit counts hold. */
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("rows", 1 << 18),
    OPERATOR_SIZE("cols", 1 << 18),
    OPERATOR_SIZE("batch", 1 << 12),
    {"type", INT4, INT4, UNQUANTISED, "of that shape: int4, int8, e4m3 or bf16", quantized_types},
};

/* --- shapes ---------------------------------------------------------------------------------- */

#define SWEEP(rows, cols, batch, type, groups, condition, flags)                                   \
    {                                                                                              \
        {{rows, cols, batch}, type}, 1, groups, condition, flags, false                            \
    }
/* At batch 1: every format fused and unfused, bf16, and the kernel without a fast path. */
#define ONE(rows, cols, flags)                                                                     \
    {{{rows, cols, 1}, INT4}, 1, OPERATOR_FUSED, OPERATOR_COLD, flags, true},                      \
        SWEEP(rows, cols, 1, INT4, OPERATOR_FUSED, OPERATOR_WARM, flags),                          \
        SWEEP(rows, cols, 1, INT4, OPERATOR_UNFUSED | WITH_SCALAR, OPERATOR_COLD, flags),          \
        SWEEP(rows, cols, 1, INT8, OPERATOR_MAIN, OPERATOR_COLD, flags),                           \
        SWEEP(rows, cols, 1, E4M3, OPERATOR_MAIN, OPERATOR_COLD, flags),                           \
        SWEEP(rows, cols, 1, UNQUANTISED, WITH_FULL, OPERATOR_COLD, flags),                        \
        SWEEP(rows, cols, 1, INT4, OPERATOR_MAIN, OPERATOR_STREAM, PROBE_DEEP),                    \
        SWEEP(rows, cols, 1, INT8, OPERATOR_MAIN, OPERATOR_STREAM, PROBE_DEEP),                    \
        SWEEP(rows, cols, 1, E4M3, OPERATOR_MAIN, OPERATOR_STREAM, PROBE_DEEP)
/* With more columns: where does the gain end? The report says it of int4, beside bf16; `others` are
 * the flags of 8 bits. */
#define MORE(batch, flags, others)                                                                 \
    SWEEP(4096, 14336, batch, INT4, OPERATOR_FUSED, OPERATOR_COLD, flags),                         \
        SWEEP(4096, 14336, batch, UNQUANTISED, WITH_FULL, OPERATOR_COLD, flags),                   \
        SWEEP(4096, 14336, batch, INT4, OPERATOR_UNFUSED, OPERATOR_COLD, PROBE_DEEP),              \
        SWEEP(4096, 14336, batch, INT8, OPERATOR_FUSED, OPERATOR_COLD, others),                    \
        SWEEP(4096, 14336, batch, E4M3, OPERATOR_FUSED, OPERATOR_COLD, others),                    \
        SWEEP(4096, 14336, batch, INT8, OPERATOR_UNFUSED, OPERATOR_COLD, PROBE_DEEP),              \
        SWEEP(4096, 14336, batch, E4M3, OPERATOR_UNFUSED, OPERATOR_COLD, PROBE_DEEP)

static const struct operator_sweep sweeps[] = {
    ONE(4096, 14336, 0),         MORE(2, PROBE_DEEP, PROBE_DEEP),
    MORE(4, 0, PROBE_THRICE),    MORE(8, PROBE_DEEP, PROBE_DEEP),
    MORE(16, 0, PROBE_THRICE),   MORE(32, PROBE_DEEP, PROBE_DEEP),
    MORE(64, 0, PROBE_THRICE),   MORE(128, PROBE_DEEP, PROBE_DEEP),
    MORE(256, 0, PROBE_THRICE),  ONE(14336, 4096, PROBE_DEEP),
    ONE(2048, 8192, PROBE_DEEP),
};

static const char *refuses(const struct operator_shape *shape)
{
    return shape->dim[COLS] % QUANTIZED_GROUP ? "cols: expected a multiple of 128" : NULL;
}

/* Every type by every batch, on both sides of the widths' borders; any number of rows. */
static const int odd_batches[] = {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65};
static struct operator_shape odd(size_t i, uint64_t *state)
{
    static const int special[] = {1, 2, 15, 16, 17, 127, 128, 129, 131, 1009};
    const int drawn = 1 + (int)draw_below(state, 600);
    const int rows =
        draw_below(state, 2) ? special[draw_below(state, PROBE_LENGTH(special))] : drawn;
    const int cols = QUANTIZED_GROUP * (1 + (int)draw_below(state, 24));
    return (struct operator_shape){{rows, cols, odd_batches[i / N_TYPES]}, (int)(i % N_TYPES)};
}

/* The weights, in the fewest bytes that they have, for as many sets in every type and batch. */
static double rotated(const struct operator_set *s)
{
    return 0.5 * s->shape.dim[ROWS] * s->shape.dim[COLS];
}

static struct quality_results results(const struct operator_set *s, size_t member)
{
    const struct quantized *q = s->own;
    (void)member;
    return (struct quality_results){q->y.memory, (uint64_t)s->shape.dim[BATCH],
                                    (uint64_t)s->shape.dim[ROWS], 2};
}

static const char *const only[] = {"quantized"};
static const struct fused_operator quantized = {
    .members = only,
    .n_members = 1,
    .dims = {"rows", "cols", "batch"},
    .types = quantized_types,
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 40,
    .own_bytes = sizeof(struct quantized),
    .open = quantized_open,
    .copied = quantized_copied,
    .rotated = rotated,
    .forms = quantized_forms,
    .verify = quantized_verify,
    .check_on_host = quantized_check_on_host,
    .describe = quantized_describe,
    .refuses = refuses,
    .n_odd = N_TYPES * PROBE_LENGTH(odd_batches),
    .odd = odd,
    .quality = {{1001, 1024, 8}, INT4},
    .quality_types = INT4,
    .results = results,
};

static void measure(struct probe_run *r)
{
    const struct quantized_tools *tools = quantized_tools_open(r);
    struct fused_operator o = quantized;

    o.tools = tools;
    if (!tools->blas)
        probe_note(r, "%s", tools->no_blas);
    if (!operator_measure(r, &o))
        return;
    quantized_measure_formats(r);
    campaign_of_odd_shapes(r, &o, N_TYPES * PROBE_LENGTH(odd_batches), QUANTIZED_SHAPES);
}

const struct probe probe = {
    .name = "quantized",
    .what = "What do weights of 4 or 8 bits gain, dequantised inside the product or before it?",
    .method = 4,
    .needs = PROBE_GPU,
    .min_cc = 80,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
