// faults: thread rounding
//
// Chains of elementwise operators, each kernel of fused/elementwise_chain/elementwise_chain.cu, against double.
#include "tests/shim/shim.h"

#include "core/half.c"
#include "fused/elementwise_chain/elementwise_chain.cu"
#include "fused/elementwise_chain/life.cu"
#include "fused/elementwise_chain/reference.c"

typedef void (*chain_kernel)(chain_args);

enum storage { FP16, BF16, FP32 };

static void put(void *p, size_t i, storage type, double x)
{
    if (type == FP32)
        ((float *)p)[i] = (float)x;
    else
        ((uint16_t *)p)[i] = type == FP16 ? shim_to_fp16((float)x) : shim_to_bf16((float)x);
}

static double get(const void *p, size_t i, storage type)
{
    return type == FP32   ? ((const float *)p)[i]
           : type == FP16 ? half_fp16(((const uint16_t *)p)[i])
                          : half_bf16(((const uint16_t *)p)[i]);
}

// A tensor of rows x columns through one kernel.
static void test_kernel(const char *name, chain_kernel kernel, unsigned threads, unsigned vectors,
                        storage type, chain_task task, int rows, int columns)
{
    const size_t size = type == FP32 ? 4 : 2, n = (size_t)rows * (size_t)columns;
    void *in = shim_alloc(size * n), *out = shim_alloc(size * n),
         *bias = shim_alloc(size * columns);
    chain_args &a = task.a;
    int wrong = 0;

    for (size_t i = 0; i < n; i++)
        put(in, i, type, shim_normal());
    for (int i = 0; i < columns; i++)
        put(bias, i, type, shim_normal());
    a.in = in, a.out = out, a.bias = bias;
    a.vectors = size * n / 16;
    a.row_vectors = (uint32_t)(size * columns / 16);
    chain_divide_by(a.row_vectors, &a.magic, &a.bits);
    a.rounds = (uint32_t)task.n / CHAIN_FMA_ROUND;
    a.keep = rows > 3; // two of the shapes so, two otherwise
    a.scale = task.kind == CHAIN_FMAS && task.only < 0 ? -0.9990234375f : 1.25f;
    a.shift = -0.3125f, a.leak = 0.125f, a.limit = 2.5f;
    task.unit = type == FP16 ? HALF_FP16_UNIT : type == BF16 ? HALF_BF16_UNIT : 0;
    task.tiny = type == FP16 ? CHAIN_FP16_TINY : CHAIN_TINY;

    shim_launch(kernel, a, (unsigned)((a.vectors + threads * vectors - 1) / (threads * vectors)),
                threads, 0);
    for (size_t i = 0; i < n; i++) {
        double off;
        const double x =
            chain_reference(&task, get(in, i, type), get(bias, i % columns, type), &off);
        wrong += !(fabs(get(out, i, type) - x) <= off);
    }
    shim_check(wrong == 0, "%s, %d x %d: %d of %zu elements are not as in double", name, rows,
               columns, wrong, n);
}

// Sizes: less than a block, a block and a tail in the middle of a row, several blocks.
static const int shapes[][2] = {{1, 8}, {3, 24}, {7, 1016}, {29, 328}};

#define LONG_AND_SMALL(name, only, kind, n)                                                        \
    for (const auto &s : shapes) {                                                                 \
        const chain_task task = {{}, kind, n, only, 1, 0, 0};                                      \
        test_kernel(#name "_fp16", chain_##name##_fp16, CHAIN_THREADS, CHAIN_VECTORS, FP16, task,  \
                    s[0], s[1]);                                                                   \
        test_kernel(#name "_bf16", chain_##name##_bf16, CHAIN_THREADS, CHAIN_VECTORS, BF16, task,  \
                    s[0], s[1]);                                                                   \
        test_kernel(#name "_fp16_small", chain_##name##_fp16_small, CHAIN_SMALL_THREADS, 1, FP16,  \
                    task, s[0], s[1]);                                                             \
        test_kernel(#name "_bf16_small", chain_##name##_bf16_small, CHAIN_SMALL_THREADS, 1, BF16,  \
                    task, s[0], s[1]);                                                             \
    }
#define FMAS(name, type, n)                                                                        \
    test_kernel(#name, chain_##name, CHAIN_THREADS, CHAIN_VECTORS, type,                           \
                {{}, CHAIN_FMAS, n, -1, 1, 0, 0}, 13, 1000);

static void test_chains()
{
    LONG_AND_SMALL(bias, CHAIN_BIAS, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(scale, CHAIN_SCALE, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(leaky, CHAIN_LEAKY, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(shift, CHAIN_SHIFT, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(clamp, CHAIN_CLAMP, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(gelu, CHAIN_GELU, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(silu, CHAIN_SILU, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(plain_1, -1, CHAIN_PLAIN, 1)
    LONG_AND_SMALL(plain_2, -1, CHAIN_PLAIN, 2)
    LONG_AND_SMALL(plain_4, -1, CHAIN_PLAIN, 4)
    LONG_AND_SMALL(plain_8, -1, CHAIN_PLAIN, 8)
    LONG_AND_SMALL(plain_16, -1, CHAIN_PLAIN, 16)
    LONG_AND_SMALL(plain_32, -1, CHAIN_PLAIN, 32)
    LONG_AND_SMALL(plain_64, -1, CHAIN_PLAIN, 64)
    LONG_AND_SMALL(activated_4, -1, CHAIN_ACTIVATED, 4)
    LONG_AND_SMALL(activated_16, -1, CHAIN_ACTIVATED, 16)
    FMAS(fmas_0_fp32, FP32, 0)
    FMAS(fmas_2_fp32, FP32, 2)
    FMAS(fmas_4_fp32, FP32, 4)
    FMAS(fmas_8_fp32, FP32, 8)
    FMAS(fmas_16_fp32, FP32, 16)
    FMAS(fmas_loop_fp32, FP32, 48)
    FMAS(fmas_4_bf16, BF16, 4)
    FMAS(fmas_16_bf16, BF16, 16)
    FMAS(fmas_loop_bf16, BF16, 32)
}

// The kernels whose registers are counted.
static void test_life(void (*kernel)(live_args), chain_life life, int n, int each)
{
    const size_t elements = 8 * 77, inputs = life == CHAIN_INPUTS ? (size_t)n : 1;
    float *in = (float *)shim_alloc(4 * inputs * elements),
          *out = (float *)shim_alloc(4 * elements);
    const live_args a = {in, out, elements / (size_t)each, elements, 0.75f, -0.3125f, 0.125f, 2.5f};
    int wrong = 0;

    for (size_t i = 0; i < inputs * elements; i++)
        in[i] = (float)shim_normal();
    shim_launch(kernel, a, (unsigned)((a.threads + CHAIN_THREADS - 1) / CHAIN_THREADS),
                CHAIN_THREADS, 0);
    for (size_t i = 0; i < elements; i++)
        wrong += !(fabs(out[i] - chain_lived(&a, life, n, in, i)) <= 1e-5);
    shim_check(wrong == 0, "life %d, %d steps of %d elements: %d are not as in double", life, n,
               each, wrong);
}

#define LIVES(name, life, e)                                                                       \
    test_life(chain_##name##_1_##e, life, 1, e);                                                   \
    test_life(chain_##name##_4_##e, life, 4, e);                                                   \
    test_life(chain_##name##_16_##e, life, 16, e);

// The column of a vector is found by a product and a shift: at multiples of d, and one below them.
static void test_division()
{
    int wrong = 0;
    for (uint32_t d = 1; d < 3000; d++) {
        uint32_t magic, bits;
        chain_divide_by(d, &magic, &bits);
        for (uint32_t multiple = 0; multiple <= 0x7fffffff - d; multiple += d * (0x1000000 / d + 1))
            for (uint32_t v = multiple; v < multiple + 3 * d; v += d - 1 + (d == 1)) {
                const uint32_t quotient = (uint32_t)((uint64_t)v * magic >> bits);
                wrong += v <= 0x7fffffff && quotient != v / d;
            }
        wrong += (uint32_t)(0x7fffffffull * magic >> bits) != 0x7fffffff / d;
    }
    shim_check(wrong == 0, "%d quotients are wrong", wrong);
}

static void shim_test(void)
{
    test_division();
    test_chains();
    LIVES(dependent, CHAIN_DEPENDENT, 1)
    LIVES(dependent, CHAIN_DEPENDENT, 8)
    LIVES(live, CHAIN_LIVE, 1)
    LIVES(live, CHAIN_LIVE, 8)
    LIVES(inputs, CHAIN_INPUTS, 1)
    LIVES(inputs, CHAIN_INPUTS, 8)
    test_life(chain_dependent_64_1, CHAIN_DEPENDENT, 64, 1);
    test_life(chain_live_64_1, CHAIN_LIVE, 64, 1);
    test_life(chain_inputs_64_1, CHAIN_INPUTS, 64, 1);
    test_life(chain_dependent_64_8, CHAIN_DEPENDENT, 64, 8);
    test_life(chain_inputs_64_8, CHAIN_INPUTS, 64, 8);
}
