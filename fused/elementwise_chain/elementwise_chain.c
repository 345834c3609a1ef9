/* elementwise_chain: what does a chain of n elementwise operators cost in one kernel, and in n?
 *
 * Method. x is rows x cols fp16 or bf16, N(0,1). Two chains go round five operators: plain (bias,
 * scale, leaky relu, shift, clamp) and activated (bias, scale, gelu, silu, clamp). Fused, one
 * kernel loads x, applies all n in fp32 and stores the result; unfused, n kernels each load a
 * tensor and store one. All are made from one skeleton, that of the copy they are held against. The
 * compiler may not contract a product with the sum behind it: both forms have the same arithmetic
 * instructions, counted in the cubins (the contracts in the .cu), and differ in traffic and
 * launches alone.
 *
 * A third chain is n times the same multiply-add in fp32 or bf16: from a copy to pure arithmetic.
 * And three kinds of kernels whose registers are read, not timed, by how long the values between
 * two of their steps live: one step (dependent), to the end (live), or loaded, not computed
 * (inputs).
 *
 * Inside the timed region: the operations, between two events; see common/operation.h, and for what
 * is done at each shape common/operator.h, to which a chain and its length are two dimensions more.
 *
 * Expected, on an H200. Far above the L2: a copy's time fused, n times that unfused, until
 * arithmetic takes longer than the bytes. An SM moves 4 fp16 elements a cycle (4.2 TB/s, 4 bytes
 * each), which leaves 32 issue slots and 4 MUFU an element: the plain chain, 7 instructions for
 * five operators, is bound by bytes up to n = 20, the activated one, 4 MUFU for five, up to n = 4
 * or 5; at n = 16 it takes 3 copies. Multiply-adds in fp32, half as many elements: up to n = 60.
 * Below the L2: its bandwidth instead of the memory's. At one row: one launch against n edges of
 * 1 us.
 *
 * Traps. Contraction makes the fused chain cheaper by itself; a clamp hides NaN, so what was not
 * written is found by value; a chain that ends in a constant would prove nothing: the bias keeps it
 * alive. */
#include "core/draw.h"
#include "fused/common/operator.h"
#include "fused/elementwise_chain/args.h"
#include "fused/elementwise_chain/form.h"
#include "fused/elementwise_chain/life.h"
#include "fused/elementwise_chain/metrics.h"

#define KEYS OPERATION_KEYS("rows,cols,chain,operations")
#define LIFE_KEYS "life,steps,elements"
static const struct probe_metric metrics[] = {
    OPERATION_METRICS(KEYS),
    OPERATION_EACH_METRICS(KEYS),
    [CHAIN_INSTRUCTIONS] = {"instructions", "count", PROBE_EXACT, .keys = KEYS,
                            .what = "fp32 and MUFU instructions on one element, conversions left "
                                    "out"},
    [CHAIN_REGISTERS] = {"registers", "count", PROBE_EXACT, .keys = LIFE_KEYS,
                         .what = "registers of a thread, as loaded"},
    [CHAIN_WARPS] = {"resident_warps", "count", PROBE_EXACT, .keys = LIFE_KEYS,
                     .what = "warps that fit one SM, blocks of 256 threads"},
};

enum { LONGEST = 64, MOST_FMAS = 1024 };
static const struct probe_parameter parameters[] = {
    OPERATOR_SIZE("rows", 1 << 24),
    OPERATOR_SIZE("cols", 1 << 24),
    {"chain", CHAIN_PLAIN, CHAIN_PLAIN, CHAIN_NONE,
     "of that shape: plain, activated, fmas, or none: each operator by itself", chain_names},
    OPERATOR_SIZE("operations", MOST_FMAS),
    OPERATOR_TYPES(GPU_FP32)};

/* --- shapes ----------------------------------------------------------------------------------- */

enum { GRAPH = OPERATOR_WARM | OPERATOR_COLD };
#define CHAIN(rows, cols, chain, n, type, conditions, flags, copy)                                 \
    {                                                                                              \
        {{rows, cols, CHAIN_##chain, n}, GPU_##type}, 1, OPERATOR_MAIN, conditions, flags, copy    \
    }
#define SINGLES(type, groups, flags)                                                               \
    {                                                                                              \
        {{16384, 8192, CHAIN_NONE, 1}, GPU_##type}, 1, groups, OPERATOR_COLD, flags,               \
            OPERATOR_COPY_BEFORE                                                                   \
    }
#define FMAS(rows, cols, n, type, conditions, flags, copy)                                         \
    {                                                                                              \
        {{rows, cols, CHAIN_FMAS, n}, GPU_##type}, 1, OPERATOR_FUSED, conditions, flags, copy      \
    }

/* A chain of 16 has a copy of as many bytes beside it, under its own keys; the others are held
 * against the last one. */
#define BESIDE(rows, cols, chain, n, type, conditions, flags)                                      \
    CHAIN(rows, cols, chain, n, type, conditions, flags, OPERATOR_COPY_BEFORE)
#define DEEP_BESIDE(rows, cols, type, conditions)                                                  \
    BESIDE(rows, cols, PLAIN, 2, type, conditions, PROBE_DEEP),                                    \
        BESIDE(rows, cols, PLAIN, 8, type, conditions, PROBE_DEEP),                                \
        BESIDE(rows, cols, PLAIN, 32, type, conditions, PROBE_DEEP),                               \
        BESIDE(rows, cols, PLAIN, 64, type, conditions, PROBE_DEEP)
#define FEW_BESIDE(rows, cols, type, conditions, flags)                                            \
    BESIDE(rows, cols, ACTIVATED, 4, type, conditions, flags),                                     \
        BESIDE(rows, cols, PLAIN, 1, type, conditions, flags),                                     \
        BESIDE(rows, cols, PLAIN, 4, type, conditions, flags)
#define BOTH_16(rows, cols, type, conditions, flags)                                               \
    CHAIN(rows, cols, ACTIVATED, 16, type, conditions, flags, OPERATOR_COPY),                      \
        CHAIN(rows, cols, PLAIN, 16, type, conditions, flags, OPERATOR_COPY)

/* From a copy to pure arithmetic, 256 MiB of fp32; the copy before is of as many bytes. */
#define RIDGE(n, flags) FMAS(8192, 8192, n, FP32, OPERATOR_COLD, flags, OPERATOR_COPY_BEFORE)
/* At other sizes few, some and very many. */
#define FMAS_AT(rows, conditions, none, few, some, many)                                           \
    FMAS(rows, 1024, 0, FP32, conditions, none, OPERATOR_NO_COPY),                                 \
        FMAS(rows, 1024, 4, FP32, conditions, few, OPERATOR_NO_COPY),                              \
        FMAS(rows, 1024, 16, FP32, conditions, some, OPERATOR_NO_COPY),                            \
        FMAS(rows, 1024, 1024, FP32, conditions, many, OPERATOR_NO_COPY)
#define DEEP_FMAS_AT(rows, conditions)                                                             \
    FMAS_AT(rows, conditions, PROBE_DEEP, PROBE_DEEP, PROBE_DEEP, PROBE_DEEP)

/* What is measured where: at one row launches decide, at 16 MiB the L2, at 256 MiB the memory. By
 * stream the host's pace decides, which processes do not share: with --deep. bf16 moves the same
 * bytes by the same instructions: with --deep, and chains of 16 alone where tensors are short. */
static const struct operator_sweep sweeps[] = {
    CHAIN(1, 4096, PLAIN, 16, FP16, OPERATOR_WARM, 0, OPERATOR_COPY),
    BESIDE(1, 4096, PLAIN, 4, FP16, OPERATOR_WARM, PROBE_THRICE),
    BESIDE(1, 4096, ACTIVATED, 4, FP16, OPERATOR_WARM, PROBE_DEEP),
    BESIDE(1, 4096, PLAIN, 1, FP16, OPERATOR_WARM, PROBE_DEEP),
    DEEP_BESIDE(1, 4096, FP16, OPERATOR_WARM),
    CHAIN(1, 4096, ACTIVATED, 16, FP16, OPERATOR_WARM | OPERATOR_STREAM, PROBE_DEEP, OPERATOR_COPY),
    CHAIN(1, 4096, PLAIN, 16, FP16, OPERATOR_STREAM, PROBE_DEEP, OPERATOR_NO_COPY),

    CHAIN(2048, 4096, PLAIN, 16, FP16, OPERATOR_WARM, 0, OPERATOR_COPY),
    CHAIN(2048, 4096, PLAIN, 16, FP16, OPERATOR_COLD, PROBE_THRICE, OPERATOR_COPY),
    CHAIN(2048, 4096, ACTIVATED, 16, FP16, GRAPH, PROBE_DEEP, OPERATOR_COPY),
    FEW_BESIDE(2048, 4096, FP16, GRAPH, PROBE_DEEP),
    DEEP_BESIDE(2048, 4096, FP16, GRAPH),

    BOTH_16(16384, 8192, FP16, OPERATOR_COLD, 0),
    FEW_BESIDE(16384, 8192, FP16, OPERATOR_COLD, 0),
    DEEP_BESIDE(16384, 8192, FP16, OPERATOR_COLD),
    SINGLES(FP16, CHAIN_MOST, PROBE_THRICE),
    SINGLES(FP16, CHAIN_OTHERS, PROBE_DEEP),

    RIDGE(0, 0),
    RIDGE(2, PROBE_THRICE),
    RIDGE(4, PROBE_THRICE),
    RIDGE(8, 0),
    RIDGE(16, 0),
    RIDGE(32, PROBE_DEEP),
    RIDGE(64, PROBE_DEEP),
    RIDGE(128, PROBE_DEEP),
    RIDGE(256, PROBE_DEEP),
    RIDGE(512, PROBE_THRICE),
    RIDGE(1024, 0),
    FMAS(8192, 8192, 4, BF16, OPERATOR_COLD, PROBE_THRICE, OPERATOR_NO_COPY),
    FMAS(8192, 8192, 16, BF16, OPERATOR_COLD, 0, OPERATOR_NO_COPY),
    FMAS(8192, 8192, 1024, BF16, OPERATOR_COLD, 0, OPERATOR_NO_COPY),
    FMAS_AT(1, OPERATOR_WARM, PROBE_THRICE, PROBE_THRICE, PROBE_THRICE, PROBE_THRICE),
    /* In the L2, where two processes differ by more than rounds of one do. */
    FMAS_AT(4096, OPERATOR_WARM, 0, PROBE_DEEP, 0, PROBE_THRICE),
    DEEP_FMAS_AT(16, OPERATOR_WARM),
    DEEP_FMAS_AT(256, OPERATOR_WARM),
    DEEP_FMAS_AT(16384 + 1024, OPERATOR_WARM),
    DEEP_FMAS_AT(262144, OPERATOR_COLD),
    DEEP_FMAS_AT(1048576, OPERATOR_COLD),

    BOTH_16(1, 4096, BF16, OPERATOR_WARM, PROBE_DEEP),
    BOTH_16(2048, 4096, BF16, GRAPH, PROBE_DEEP),
    BOTH_16(16384, 8192, BF16, OPERATOR_COLD, PROBE_DEEP),
    FEW_BESIDE(16384, 8192, BF16, OPERATOR_COLD, PROBE_DEEP),
    DEEP_BESIDE(16384, 8192, BF16, OPERATOR_COLD),
    SINGLES(BF16, CHAIN_MOST | CHAIN_OTHERS, PROBE_DEEP),
};

/* Is there a kernel of so many operators? */
static bool is_compiled(const struct operator_shape *shape)
{
    const int n = shape->dim[CHAIN_LENGTH];
    switch (shape->dim[CHAIN_KIND]) {
    case CHAIN_PLAIN: return n > 0 && n <= LONGEST && !(n & (n - 1));
    case CHAIN_ACTIVATED: return n == 4 || n == 16;
    case CHAIN_FMAS:
        return n == 4 || (n > 0 && n % CHAIN_FMA_ROUND == 0) ||
               (shape->type == GPU_FP32 && (n == 0 || n == 2 || n == 8));
    default: return n == 1;
    }
}

static const char *refuses(const struct operator_shape *shape)
{
    static const char *const lengths[] = {
        [CHAIN_PLAIN] = "operations: expected a power of two up to 64",
        [CHAIN_ACTIVATED] = "operations: expected 4 or 16",
        [CHAIN_FMAS] = "operations: expected 4 or a multiple of 16, or in fp32 2 or 8",
        [CHAIN_NONE] = "operations: expected 1"};
    const int kind = shape->dim[CHAIN_KIND];
    const size_t row = (size_t)shape->dim[CHAIN_COLS] * gpu_type_size((enum gpu_type)shape->type);

    if (row % 16)
        return "cols: rows must be whole vectors of 16 bytes";
    if ((size_t)shape->dim[CHAIN_ROWS] * (row / 16) > INT32_MAX)
        return "rows, cols: a tensor must be shorter than 32 GiB";
    if (kind == CHAIN_FMAS ? shape->type == GPU_FP16 : shape->type == GPU_FP32)
        return kind == CHAIN_FMAS ? "type: expected fp32 or bf16" : "type: expected fp16 or bf16";
    return is_compiled(shape) ? NULL : lengths[kind];
}

/* Every chain in both types, short tensors and at last, from LONG on, long ones: rows from 1 up,
 * columns of whole vectors of eight elements. Rows of other columns fit no access of 16 bytes:
 * these kernels do not take them. */
static const struct {
    enum chain_kind kind;
    int n;
} chains[] = {{CHAIN_ACTIVATED, 16}, {CHAIN_PLAIN, 16}, {CHAIN_ACTIVATED, 4},
              {CHAIN_PLAIN, 1},      {CHAIN_PLAIN, 2},  {CHAIN_PLAIN, 4},
              {CHAIN_PLAIN, 8},      {CHAIN_PLAIN, 32}, {CHAIN_PLAIN, 64}};
enum { N = PROBE_LENGTH(chains), LONG = 4 * N, SHAPES = 6 * N };

static struct operator_shape odd(size_t i, uint64_t *state)
{
    const int rows = i < 4 ? 1 : 1 + (int)draw_below(state, 300) + (i < LONG ? 0 : 1100);
    const int vectors =
        i < 4 ? 1 + 2 * (int)i : 1 + (int)draw_below(state, 130) + (i < LONG ? 0 : 125);
    return (struct operator_shape){{rows, 8 * vectors, (int)chains[i % N].kind, chains[i % N].n},
                                   i / N % 2 ? GPU_BF16 : GPU_FP16};
}

static const char *const only[] = {"elementwise_chain"};
static const struct fused_operator chain = {
    .members = only,
    .n_members = 1,
    .dims = {"rows", "cols", "chain", "operations"},
    .words = {[CHAIN_KIND] = chain_names},
    .sweeps = sweeps,
    .n_sweeps = PROBE_LENGTH(sweeps),
    .check_rows = 200, /* of 8192 columns: enough for the kernels of long tensors */
    .own_bytes = sizeof(struct chain),
    .open = chain_open,
    .copied = chain_copied,
    .forms = chain_forms,
    .verify = chain_verify,
    .check_on_host = chain_check_on_host,
    .describe = chain_describe,
    .count = chain_count,
    .refuses = refuses,
    .n_odd = SHAPES,
    .odd = odd,
    .quality = {{1001, 1024, CHAIN_ACTIVATED, 16}, GPU_FP16},
    .quality_types = GPU_BF16,
    .results = chain_results,
};

static void measure(struct probe_run *r)
{
    static const int steps[] = {1, 4, 16, 64};

    if (!operator_measure(r, &chain))
        return;
    for (enum chain_life life = 0; life < N_CHAIN_LIVES; life++)
        for (size_t i = 0; i < PROBE_LENGTH(steps); i++)
            for (int each = 1; each <= 8; each += 7)
                chain_life_measure(r, life, steps[i], each);
}

const struct probe probe = {
    .name = "elementwise_chain",
    .what = "What does a chain of n elementwise operators cost in one kernel, and in n?",
    .method = 3,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
