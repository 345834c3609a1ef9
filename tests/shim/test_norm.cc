// faults: thread lane barrier rounding
//
// RMSNorm and LayerNorm with their neighbours, each kernel of fused/norm/norm.cu, against double.
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/norm/norm.cu"
#include "fused/norm/passes.cu"
#include "fused/norm/reference.c"

// Operands and results of one shape and type.
struct tensors {
    uint16_t *in, *residual, *weight, *bias, *sum, *middle[2];
    void *out;
    float *scale, *mean, *factor;
    unsigned rows, cols;
    uint32_t type; // NORM_BF16, or 0: fp16
};

static uint16_t *normal(size_t n, uint32_t type)
{
    uint16_t *memory = (uint16_t *)shim_alloc(2 * n);
    for (size_t i = 0; i < n; i++)
        memory[i] = type == NORM_BF16 ? shim_to_bf16((float)shim_normal())
                                      : shim_to_fp16((float)shim_normal());
    return memory;
}

// Codes take half as many bytes as the others. There is no more room, so that a store past it is
// seen.
static tensors tensors_of(unsigned rows, unsigned cols, uint32_t type, bool codes)
{
    const size_t n = (size_t)rows * cols;
    tensors t = {};
    t.rows = rows, t.cols = cols, t.type = type;
    t.in = normal(n, type), t.residual = normal(n, type);
    t.weight = normal(cols, type), t.bias = normal(cols, type);
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
                         1,       t.rows % 2};
    shim_launch(kernel, a, grid, threads, 0);
}

static size_t wrong_of(const tensors &t, uint32_t flags)
{
    const size_t size = flags & (NORM_E4M3 | NORM_INT8) ? 1 : 2;
    size_t wrong = 0;
    for (size_t row = 0; row < t.rows; row++) {
        const size_t at = row * t.cols;
        const norm_row r = {t.in + at,  t.residual + at, t.weight,
                            t.bias,     t.sum + at,      (const char *)t.out + size * at,
                            t.scale[row], t.cols,        flags | t.type,
                            (double)1e-5f};
        wrong += norm_row_wrong(&r);
    }
    return wrong;
}

static void check(const char *name, const tensors &t, uint32_t flags)
{
    const size_t wrong = wrong_of(t, flags);
    shim_check(wrong == 0, "%s, %u x %u %s: %zu results are not as in double", name, t.rows, t.cols,
               t.type ? "bf16" : "fp16", wrong);
}

// A fused kernel in one of its three forms.
struct form {
    norm_kernel kernel;
    unsigned vectors, rows; // of a thread; of a block
};

static void test_fused(const char *name, form f, uint32_t flags, uint32_t type, unsigned rows,
                       unsigned cols)
{
    const tensors t = tensors_of(rows, cols, type, flags & (NORM_E4M3 | NORM_INT8));
    const unsigned threads = f.rows > 1 ? 32 * f.rows : (cols / 8 + 32 * f.vectors - 1) /
                                                            (32 * f.vectors) * 32;
    run(f.kernel, t, t.in, t.out, (rows + f.rows - 1) / f.rows, threads);
    check(name, t, flags);
}

// The kernel of a type; the type is an argument of the test.
#define OF(name) (type == NORM_BF16 ? norm_##name##_bf16 : norm_##name##_fp16)
#define BLOCK(name) {OF(name##_block), NORM_VECTORS, 1}
#define FEW(name) {OF(name##_few), 1, 1}
#define WARP(name) {OF(name##_warp), NORM_VECTORS, NORM_WARP_ROWS}
#define FUSED(name, flags)                                                                         \
    test_fused(#name "_block", BLOCK(name), flags, type, 3, 1032);                                 \
    test_fused(#name "_block", BLOCK(name), flags, type, 2, 2048);                                 \
    test_fused(#name "_few", FEW(name), flags, type, 2, 1000);                                     \
    test_fused(#name "_few", FEW(name), flags, type, 1, 8);                                        \
    test_fused(#name "_warp", WARP(name), flags, type, 11, 1024);                                  \
    test_fused(#name "_warp", WARP(name), flags, type, 5, 328);

static void test_all_fused(uint32_t type)
{
    FUSED(rmsnorm, 0)
    FUSED(rmsnorm_residual, NORM_RESIDUAL)
    FUSED(rmsnorm_residual_fp8, NORM_RESIDUAL | NORM_E4M3)
    FUSED(rmsnorm_residual_int8, NORM_RESIDUAL | NORM_INT8)
    FUSED(rmsnorm_bias_silu, NORM_BIAS | NORM_SILU)
    FUSED(layernorm, NORM_CENTRED | NORM_BIAS)
    FUSED(layernorm_silu, NORM_CENTRED | NORM_BIAS | NORM_SILU)
}

// Kernels that read memory in every pass, and one warp on a long row.
static void test_passes(uint32_t type, unsigned rows, unsigned cols)
{
    const uint32_t flags = NORM_CENTRED | NORM_BIAS;
    const norm_kernel kernels[] = {OF(layernorm_two_pass), OF(layernorm_three_pass)};
    for (norm_kernel kernel : kernels) {
        const tensors t = tensors_of(rows, cols, type, false);
        run(kernel, t, t.in, t.out, rows, NORM_PASS_THREADS);
        check(kernel == kernels[0] ? "two_pass" : "three_pass", t, flags);
    }
    const tensors t = tensors_of(rows, cols, type, false);
    run(OF(mean), t, t.in, t.out, rows, NORM_PASS_THREADS);
    run(OF(variance), t, t.in, t.out, rows, NORM_PASS_THREADS);
    run(OF(normalise), t, t.in, t.out, rows, NORM_PASS_THREADS);
    check("three kernels", t, flags);

    const tensors narrow = tensors_of(rows, cols, type, true);
    run(OF(rmsnorm_residual_fp8_narrow), narrow, narrow.in, narrow.out, rows, 32);
    check("narrow", narrow, NORM_RESIDUAL | NORM_E4M3);
}

// Chains, with their elementwise kernels in both forms.
static void test_chains(uint32_t type, unsigned rows, unsigned cols, bool small)
{
    const unsigned threads = small ? NORM_SMALL_THREADS : NORM_THREADS;
    const unsigned each = threads * (small ? 1 : NORM_VECTORS);
    const unsigned grid = (rows * cols / 8 + each - 1) / each, row = (cols / 8 + 127) / 128 * 32;
    const tensors t = tensors_of(rows, cols, type, false);
    const tensors codes = tensors_of(rows, cols, type, true);

    run(OF(rmsnorm_block), t, t.in, t.middle[0], rows, row);
    run(small ? OF(bias_small) : OF(bias_long), t, t.middle[0], t.middle[1], grid, threads);
    run(small ? OF(silu_small) : OF(silu_long), t, t.middle[1], t.out, grid, threads);
    check("rmsnorm, bias, silu", t, NORM_BIAS | NORM_SILU | NORM_CHAIN);

    run(small ? OF(add_small) : OF(add_long), codes, codes.in, codes.sum, grid, threads);
    run(OF(rmsnorm_block), codes, codes.sum, codes.middle[0], rows, row);
    run(OF(quantise_fp8_block), codes, codes.middle[0], codes.out, rows, row);
    check("add, rmsnorm, fp8", codes, NORM_RESIDUAL | NORM_E4M3 | NORM_CHAIN);
    run(OF(quantise_int8_block), codes, codes.middle[0], codes.out, rows, row);
    check("add, rmsnorm, int8", codes, NORM_RESIDUAL | NORM_INT8 | NORM_CHAIN);
}

// LayerNorm on hard rows. The variance from two moments must fail there.
static void test_adversaries(uint32_t type)
{
    const uint32_t flags = NORM_CENTRED | NORM_BIAS;
    for (int i = 0; i < N_NORM_ADVERSARIES; i++) {
        const tensors t = tensors_of(2, 2048, type, false);
        for (size_t row = 0; row < 2; row++)
            norm_make_adversary(t.in + row * t.cols, t.cols, type, (enum norm_adversary)i);
        run(OF(layernorm_block), t, t.in, t.out, 2, 64);
        check("layernorm of a hard row", t, flags);
    }
    const tensors t = tensors_of(20, 2048, type, false);
    for (size_t row = 0; row < t.rows; row++)
        norm_make_adversary(t.in + row * t.cols, t.cols, type, NORM_LARGE_MEAN);
    run(OF(layernorm_two_pass), t, t.in, t.out, t.rows, NORM_PASS_THREADS);
    shim_check(wrong_of(t, flags) > 0, "two_pass passes on rows of mean 1000");
}

// Every code of e4m3 from the nearest float, values half-way between two codes, and too large ones.
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
    const uint32_t types[] = {0, NORM_BF16};
    for (uint32_t type : types) {
        test_all_fused(type);
        test_passes(type, 2, 1016);
        test_passes(type, 1, 8200);
        test_chains(type, 3, 1000, false);
        test_chains(type, 2, 264, true);
        test_adversaries(type);
    }
    test_codes();
}
