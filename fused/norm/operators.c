#include "fused/norm/operators.h"

#include "fused/norm/args.h"
#include "fused/norm/reference.h"

const struct norm_kernel_facts norm_kernels[N_NORM_KERNELS] = {
    [RMSNORM_RESIDUAL] = {"rmsnorm_residual", ROWS, 8, 1, 0},
    [RMSNORM_RESIDUAL_FP8] = {"rmsnorm_residual_fp8", ROWS, 7, 1, 1},
    [RMSNORM_RESIDUAL_INT8] = {"rmsnorm_residual_int8", ROWS, 7, 1, 1},
    [RMSNORM_BIAS_SILU] = {"rmsnorm_bias_silu", ROWS, 4, 2, 0},
    [LAYERNORM] = {"layernorm", ROWS, 4, 2, 0},
    [LAYERNORM_SILU] = {"layernorm_silu", ROWS, 4, 2, 0},
    [RMSNORM] = {"rmsnorm", ROWS, 4, 1, 0},
    [QUANTISE_FP8] = {"quantise_fp8", ROWS, 3, 0, 1},
    [QUANTISE_INT8] = {"quantise_int8", ROWS, 3, 0, 1},
    [ADD] = {"add", ELEMENTS, 6, 0, 0},
    [BIAS] = {"bias", ELEMENTS, 4, 1, 0},
    [SILU] = {"silu", ELEMENTS, 4, 0, 0},
    [TWO_PASS] = {"layernorm_two_pass", PASSES, 6, 2, 0},
    [THREE_PASS] = {"layernorm_three_pass", PASSES, 8, 2, 0},
    [MEAN] = {"mean", PASSES, 2, 0, 1},
    [VARIANCE] = {"variance", PASSES, 2, 0, 2},
    [NORMALISE] = {"normalise", PASSES, 4, 2, 2},
    [FP8_NARROW] = {"rmsnorm_residual_fp8_narrow", NARROW, 9, 2, 1},
};

const struct norm_operator norm_operators[N_OPERATORS] = {
    [RESIDUAL] = {"rmsnorm_residual", NORM_RESIDUAL,
     {{"fused", 0, 1, {{RMSNORM_RESIDUAL, IN, OUT}}},
      {"unfused", 0, 2, {{ADD, IN, SUM}, {RMSNORM, SUM, OUT}}},
      {"add", PART, 1, {{ADD, IN, OUT}}},
      {"norm", PART, 1, {{RMSNORM, IN, OUT}}}}},
    [RESIDUAL_FP8] = {"rmsnorm_residual_fp8", NORM_RESIDUAL | NORM_E4M3,
     {{"fused", 0, 1, {{RMSNORM_RESIDUAL_FP8, IN, OUT}}},
      {"unfused", ROUNDS, 3,
       {{ADD, IN, SUM}, {RMSNORM, SUM, MIDDLE}, {QUANTISE_FP8, MIDDLE, OUT}}},
      {"quantise", PART, 1, {{QUANTISE_FP8, IN, OUT}}},
      {"narrow", FOR_FEW, 1, {{FP8_NARROW, IN, OUT}}}}},
    [RESIDUAL_INT8] = {"rmsnorm_residual_int8", NORM_RESIDUAL | NORM_INT8,
     {{"fused", 0, 1, {{RMSNORM_RESIDUAL_INT8, IN, OUT}}},
      {"unfused", ROUNDS, 3,
       {{ADD, IN, SUM}, {RMSNORM, SUM, MIDDLE}, {QUANTISE_INT8, MIDDLE, OUT}}}}},
    [BIAS_SILU] = {"rmsnorm_bias_silu", NORM_BIAS | NORM_SILU,
     {{"fused", 0, 1, {{RMSNORM_BIAS_SILU, IN, OUT}}},
      {"unfused", ROUNDS, 3,
       {{RMSNORM, IN, MIDDLE}, {BIAS, MIDDLE, MIDDLE2}, {SILU, MIDDLE2, OUT}}},
      {"bias", PART, 1, {{BIAS, IN, OUT}}},
      {"silu", PART, 1, {{SILU, IN, OUT}}}}},
    [LAYER] = {"layernorm", NORM_CENTRED | NORM_BIAS,
     {{"fused", 0, 1, {{LAYERNORM, IN, OUT}}},
      {"unfused", 0, 3, {{MEAN, IN, OUT}, {VARIANCE, IN, OUT}, {NORMALISE, IN, OUT}}},
      {"two_pass", UNSAFE | FOR_MANY, 1, {{TWO_PASS, IN, OUT}}},
      {"three_pass", FOR_MANY, 1, {{THREE_PASS, IN, OUT}}}}},
    [LAYER_SILU] = {"layernorm_silu", NORM_CENTRED | NORM_BIAS | NORM_SILU,
     {{"fused", 0, 1, {{LAYERNORM_SILU, IN, OUT}}},
      {"unfused", ROUNDS, 2, {{LAYERNORM, IN, MIDDLE}, {SILU, MIDDLE, OUT}}}}},
};

bool norm_gives_codes(const struct norm_operator *o)
{
    return o->flags & (NORM_E4M3 | NORM_INT8);
}

static double kernel_bytes(enum norm_kernel kernel, double rows, double cols)
{
    const struct norm_kernel_facts *k = &norm_kernels[kernel];
    return k->element_bytes * rows * cols + 2 * k->columns * cols + 4 * k->row_floats * rows;
}

double norm_bytes(const struct norm_variant *v, int rows, int cols)
{
    double bytes = 0;
    for (int i = 0; i < v->steps; i++)
        bytes += kernel_bytes(v->step[i].kernel, rows, cols);
    return bytes;
}

double norm_tensor_bytes(const struct norm_operator *o, int rows, int cols)
{
    return (double)norm_kernels[o->variant[0].step[0].kernel].element_bytes * rows * cols;
}

double norm_memory(const struct norm_operator *o, const struct norm_variant *v, int rows, int cols)
{
    const double elements = (double)rows * cols;
    double bytes = o->flags & NORM_BIAS ? 4.0 * cols : 2.0 * cols;
    unsigned touched = o->flags & NORM_RESIDUAL ? 1u << OTHER | 1u << SUM : 0;

    for (int i = 0; i < v->steps; i++)
        touched |= 1u << v->step[i].in | 1u << v->step[i].out;
    for (enum norm_tensor i = 0; i < N_TENSORS; i++)
        if (touched >> i & 1)
            bytes += (i == OUT && norm_gives_codes(o) ? 1 : 2) * elements;
    return bytes + (norm_gives_codes(o) ? 4.0 * rows : 0);
}

static unsigned up_to_warps(unsigned threads)
{
    return (threads + 31) / 32 * 32;
}

static unsigned over(unsigned n, unsigned each)
{
    return (n + each - 1) / each;
}

/* Normally a block per row with four vectors a thread. Where rows are few, one vector a thread, so
 * that as many threads as possible work at a row; and a cluster per row where the row is too long
 * for one block that way. Where rows are short, a warp per row. */
static struct norm_launch launch_rows(unsigned rows, unsigned vectors, unsigned n_sm,
                                      unsigned cluster)
{
    const bool is_few = rows <= 2 * n_sm;

    if (cluster == 0)
        cluster = vectors > NORM_FEW_VECTORS ? 2 : 1;
    while (cluster > 1 && vectors > cluster * NORM_CLUSTER_THREADS)
        cluster *= 2;
    if (cluster > 1 && rows * cluster <= n_sm)
        return (struct norm_launch){CLUSTER, rows * cluster, up_to_warps(over(vectors, cluster)),
                                    cluster};
    if (is_few && vectors <= NORM_FEW_VECTORS)
        return (struct norm_launch){FEW, rows, up_to_warps(vectors), 1};
    if (!is_few && vectors <= NORM_WARP_COLS / NORM_VECTOR)
        return (struct norm_launch){WARP, over(rows, NORM_WARP_ROWS), 32 * NORM_WARP_ROWS, 1};
    return (struct norm_launch){BLOCK, rows, up_to_warps(over(vectors, NORM_VECTORS)), 1};
}

/* The small elementwise kernel is chosen where the other would leave SMs without a block. */
struct norm_launch norm_launch_of(enum norm_form form, unsigned rows, unsigned vectors,
                                  unsigned n_sm, unsigned cluster)
{
    const unsigned all = rows * vectors, each = NORM_THREADS * NORM_VECTORS;
    if (form == ROWS)
        return launch_rows(rows, vectors, n_sm, cluster);
    if (form == ELEMENTS && all < n_sm * each)
        return (struct norm_launch){SMALL, over(all, NORM_SMALL_THREADS), NORM_SMALL_THREADS, 1};
    if (form == ELEMENTS)
        return (struct norm_launch){LONG, over(all, each), NORM_THREADS, 1};
    return (struct norm_launch){BLOCK, rows, form == NARROW ? 32 : NORM_PASS_THREADS, 1};
}
