// faults: thread lane barrier rounding
//
// RMSNorm and LayerNorm with what stands beside them, each kernel of fused/norm.cu, against double.
#include "tests/shim/shim.h"

#include "fused/norm.cu"
#include "fused/kernels/norm_passes.cu"
#include "fused/kernels/norm_reference.c"

// Operands and results of one shape.
struct tensors {
    uint16_t *in, *residual, *weight, *bias, *sum, *middle[2];
    void *out;
    float *scale, *mean, *factor;
    unsigned rows, cols;
};

static uint16_t *normal(size_t n)
{
    uint16_t *memory = (uint16_t *)shim_alloc(2 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = shim_to_fp16((float)shim_normal());
    return memory;
}

// Codes take half as much as fp16: room for no more, so that a store beyond the end is seen.
static tensors tensors_of(unsigned rows, unsigned cols, bool codes)
{
    const size_t n = (size_t)rows * cols;
    tensors t = {};
    t.rows = rows, t.cols = cols;
    t.in = normal(n), t.residual = normal(n), t.weight = normal(cols), t.bias = normal(cols);
    t.sum = (uint16_t *)shim_alloc(2 * n);
    for (auto &middle : t.middle)
        middle = (uint16_t *)shim_alloc(2 * n);
    t.out = shim_alloc(codes ? n : 2 * n);
    t.scale = (float *)shim_alloc(4 * rows);
    t.mean = (float *)shim_alloc(4 * rows);
    t.factor = (float *)shim_alloc(4 * rows);
    return t;
}

typedef void (*norm_kernel)(norm_args);

static void run(norm_kernel kernel, const tensors &t, const void *in, void *out, unsigned grid,
                unsigned threads)
{
    const norm_args a = {in,      t.residual, t.weight, t.bias,    t.sum, out,   t.scale,
                         t.mean,  t.factor,   t.rows,   t.cols / 8, 1e-5f, 1.0f / (float)t.cols,
                         1,       0};
    shim_launch(kernel, a, grid, threads, 0);
}

static void check(const char *name, const tensors &t, uint32_t flags)
{
    const size_t size = flags & (NORM_E4M3 | NORM_INT8) ? 1 : 2;
    size_t wrong = 0;
    for (size_t row = 0; row < t.rows; row++) {
        const size_t at = row * t.cols;
        const norm_row r = {t.in + at,  t.residual + at, t.weight,
                            t.bias,     t.sum + at,      (const char *)t.out + size * at,
                            t.scale[row], t.cols,        flags,
                            (double)1e-5f};
        wrong += norm_row_wrong(&r);
    }
    shim_check(wrong == 0, "%s, %u x %u: %zu results are not as in double", name, t.rows, t.cols,
               wrong);
}

// A fused kernel in one of its three forms.
struct form {
    norm_kernel kernel;
    unsigned vectors, rows; // of a thread; of a block
};

static void test_fused(const char *name, form f, uint32_t flags, unsigned rows, unsigned cols)
{
    const tensors t = tensors_of(rows, cols, flags & (NORM_E4M3 | NORM_INT8));
    const unsigned threads = f.rows > 1 ? 32 * f.rows : (cols / 8 + 32 * f.vectors - 1) /
                                                            (32 * f.vectors) * 32;
    run(f.kernel, t, t.in, t.out, (rows + f.rows - 1) / f.rows, threads);
    check(name, t, flags);
}

#define BLOCK(name) {norm_##name##_block, NORM_VECTORS, 1}
#define FEW(name) {norm_##name##_few, 1, 1}
#define WARP(name) {norm_##name##_warp, NORM_VECTORS, NORM_WARP_ROWS}
#define FUSED(name, flags)                                                                         \
    test_fused(#name "_block", BLOCK(name), flags, 3, 1032);                                       \
    test_fused(#name "_block", BLOCK(name), flags, 2, 2048);                                       \
    test_fused(#name "_few", FEW(name), flags, 2, 1000);                                           \
    test_fused(#name "_few", FEW(name), flags, 1, 8);                                              \
    test_fused(#name "_warp", WARP(name), flags, 11, 1024);                                        \
    test_fused(#name "_warp", WARP(name), flags, 5, 328);

static void test_all_fused()
{
    FUSED(rmsnorm, 0)
    FUSED(rmsnorm_residual, NORM_RESIDUAL)
    FUSED(rmsnorm_residual_fp8, NORM_RESIDUAL | NORM_E4M3)
    FUSED(rmsnorm_residual_int8, NORM_RESIDUAL | NORM_INT8)
    FUSED(rmsnorm_bias_silu, NORM_BIAS | NORM_SILU)
    FUSED(layernorm, NORM_CENTRED | NORM_BIAS)
    FUSED(layernorm_silu, NORM_CENTRED | NORM_BIAS | NORM_SILU)
}

// What reads memory for every pass, and one warp for a long row.
static void test_passes(unsigned rows, unsigned cols)
{
    const uint32_t flags = NORM_CENTRED | NORM_BIAS;
    const norm_kernel kernels[] = {norm_layernorm_two_pass, norm_layernorm_three_pass};
    for (norm_kernel kernel : kernels) {
        const tensors t = tensors_of(rows, cols, false);
        run(kernel, t, t.in, t.out, rows, NORM_PASS_THREADS);
        check(kernel == kernels[0] ? "two_pass" : "three_pass", t, flags);
    }
    const tensors t = tensors_of(rows, cols, false);
    run(norm_mean, t, t.in, t.out, rows, NORM_PASS_THREADS);
    run(norm_variance, t, t.in, t.out, rows, NORM_PASS_THREADS);
    run(norm_normalise, t, t.in, t.out, rows, NORM_PASS_THREADS);
    check("three kernels", t, flags);

    const tensors narrow = tensors_of(rows, cols, true);
    run(norm_rmsnorm_residual_fp8_narrow, narrow, narrow.in, narrow.out, rows, 32);
    check("narrow", narrow, NORM_RESIDUAL | NORM_E4M3);
}

// Chains, their elementwise kernels in both forms.
static void test_chains(unsigned rows, unsigned cols, bool small)
{
    const unsigned threads = small ? NORM_SMALL_THREADS : NORM_THREADS;
    const unsigned each = threads * (small ? 1 : NORM_VECTORS);
    const unsigned grid = (rows * cols / 8 + each - 1) / each, row = (cols / 8 + 127) / 128 * 32;
    const tensors t = tensors_of(rows, cols, false), codes = tensors_of(rows, cols, true);

    run(norm_rmsnorm_block, t, t.in, t.middle[0], rows, row);
    run(small ? norm_bias_small : norm_bias_long, t, t.middle[0], t.middle[1], grid, threads);
    run(small ? norm_silu_small : norm_silu_long, t, t.middle[1], t.out, grid, threads);
    check("rmsnorm, bias, silu", t, NORM_BIAS | NORM_SILU | NORM_CHAIN);

    run(small ? norm_add_small : norm_add_long, codes, codes.in, codes.sum, grid, threads);
    run(norm_rmsnorm_block, codes, codes.sum, codes.middle[0], rows, row);
    run(norm_quantise_fp8_block, codes, codes.middle[0], codes.out, rows, row);
    check("add, rmsnorm, fp8", codes, NORM_RESIDUAL | NORM_E4M3 | NORM_CHAIN);
    run(norm_quantise_int8_block, codes, codes.middle[0], codes.out, rows, row);
    check("add, rmsnorm, int8", codes, NORM_RESIDUAL | NORM_INT8 | NORM_CHAIN);
}

// The row of kernels/norm.cuh in the other type, as a layer would use it.
__global__ void rms_row_bf16(norm_args a)
{
    __shared__ float scratch[TEAM_SCRATCH];
    by_block team(scratch);
    const uint32_t last = a.row_vectors - 1;
    uint4 x[2];
    for (int i = 0; i < 2; i++)
        x[i] = vector_add<bf16>(((const uint4 *)a.in)[min(team.at(i), last)],
                                ((const uint4 *)a.residual)[min(team.at(i), last)]);
    const float factor = row_rms_factor<bf16>(x, team, a.row_vectors, a.one_over_cols, a.epsilon);
    row_forget(x);
    for (int i = 0; i < 2; i++)
        if (team.at(i) < a.row_vectors) {
            float y[8];
            row_scaled<bf16>(x[i], ((const uint4 *)a.weight)[team.at(i)], factor, y);
            ((uint4 *)a.sum)[team.at(i)] = x[i];
            ((uint4 *)a.out)[team.at(i)] = narrow<bf16>(y);
        }
}

static void test_bf16(unsigned cols)
{
    tensors t = tensors_of(1, cols, false);
    double squares = 0;
    int wrong = 0;
    uint16_t *const operands[] = {t.in, t.residual, t.weight};
    for (uint16_t *p : operands)
        for (unsigned i = 0; i < cols; i++)
            p[i] = shim_to_bf16((float)shim_normal());
    run(rms_row_bf16, t, t.in, t.out, 1, (cols / 16 + 31) / 32 * 32);
    for (unsigned i = 0; i < cols; i++) {
        const double sum = half_bf16(t.in[i]) + half_bf16(t.residual[i]);
        wrong += !(fabs(half_bf16(t.sum[i]) - sum) <= 1.01 * HALF_BF16_UNIT * fabs(sum));
        squares += half_bf16(t.sum[i]) * half_bf16(t.sum[i]) / cols;
    }
    for (unsigned i = 0; i < cols; i++) {
        const double y = half_bf16(t.sum[i]) / sqrt(squares + 1e-5) * half_bf16(t.weight[i]);
        wrong += !(fabs(half_bf16(((uint16_t *)t.out)[i]) - y) <= 1.01 * HALF_BF16_UNIT * fabs(y));
    }
    shim_check(wrong == 0, "a row of %u bf16: %d results are not as in double", cols, wrong);
}

// LayerNorm where it is hard.
static void test_adversaries()
{
    for (int i = 0; i < N_NORM_ADVERSARIES; i++) {
        const tensors t = tensors_of(2, 2048, false);
        for (size_t row = 0; row < 2; row++)
            norm_make_adversary(t.in + row * t.cols, t.cols, (enum norm_adversary)i);
        run(norm_layernorm_block, t, t.in, t.out, 2, 64);
        check("layernorm of a hard row", t, NORM_CENTRED | NORM_BIAS);
    }
}

// Every code of e4m3 by the nearest float, what lies half way between two, and what is too large.
static void test_codes()
{
    for (uint32_t code = 0; code < 126; code++) {
        const double low = code < 8 ? code * 0x1p-9 : ldexp(8 + (code & 7), (int)(code >> 3) - 10);
        const uint32_t next = code + 1;
        const double high = next < 8 ? next * 0x1p-9 : ldexp(8 + (next & 7), (int)(next >> 3) - 10);
        const float half = (float)(0.5 * (low + high));
        shim_check(e4m3::one((float)low) == code, "%g is code %u", low, (unsigned)code);
        shim_check(e4m3::one(-(float)low) == (code | 128), "-%g is code %u", low, (unsigned)code);
        shim_check(e4m3::one(half) == code + (code & 1), "%g is rounded to even", (double)half);
        shim_check(e4m3::one(nextafterf(half, 0)) == code, "below %g", (double)half);
        shim_check(e4m3::one(nextafterf(half, 999)) == code + 1, "above %g", (double)half);
    }
    shim_check(e4m3::one(449) == 126 && e4m3::one(-1e30f) == 254, "e4m3 saturates");
    shim_check(int8::one(-200) == (uint8_t)-127 && int8::one(127.4f) == 127, "int8 saturates");
    shim_check(int8::one(2.5f) == 2 && int8::one(-3.5f) == (uint8_t)-4, "int8 rounds to even");
}

static void shim_test(void)
{
    test_all_fused();
    test_passes(2, 1016);
    test_passes(1, 8200);
    test_chains(3, 1000, false);
    test_chains(2, 264, true);
    test_bf16(1000);
    test_bf16(2048);
    test_adversaries();
    test_codes();
}
