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
 * Inside the timed region: the operations, between two events; see common/operation.h. Expected,
 * on an H200. Far above the L2: a copy's time fused, n times that unfused, until arithmetic takes
 * longer than the bytes. An SM moves 4 fp16 elements a cycle (4.2 TB/s, 4 bytes each), which leaves
 * 32 issue slots and 4 MUFU an element: the plain chain, 7 instructions for five operators, is
 * bound by bytes up to n = 20, the activated one, 4 MUFU for five, up to n = 4 or 5; at n = 16 it
 * takes 3 copies. Multiply-adds in fp32, half as many elements: up to n = 60. Below the L2: its
 * bandwidth instead of the memory's. At one row: one launch against n edges of 1 us.
 *
 * Traps. Contraction makes the fused chain cheaper by itself; a clamp hides NaN, so what was not
 * written is found by value; a chain that ends in a constant would prove nothing: the bias keeps it
 * alive. */
#include <math.h>
#include <stdio.h>

#include "core/draw.h"
#include "fused/common/quality.h"
#include "fused/elementwise_chain/args.h"
#include "fused/elementwise_chain/form.h"
#include "fused/elementwise_chain/life.h"
#include "fused/elementwise_chain/metrics.h"

PROBE_IMAGE(elementwise_chain);

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

static const char *const chain_names[] = {"plain", "activated", "fmas"};

/* --- chains ----------------------------------------------------------------------------------- */

static void keys_of(char keys[96], const struct chain_tensors *t, const char *chain, int n)
{
    snprintf(keys, 96, "rows=%d,cols=%d,chain=%s,operations=%d,type=%s", t->rows, t->cols, chain, n,
             gpu_type_name(t->type));
}

/* A chain as one kernel and as n. */
static void measure_chain(struct probe_run *r, const struct chain_tensors *t, enum chain_kind kind,
                          int n, struct condition c, unsigned flags, double copy_ns)
{
    struct chain_form form = {.t = t, .kind = kind, .n = n, .only = -1};
    char keys[96], stem[32];

    keys_of(keys, t, chain_names[kind], n);
    snprintf(stem, sizeof stem, "%s_%d_%s", chain_names[kind], n, gpu_type_name(t->type));
    chain_kernels(r, &image_elementwise_chain, stem, true, form.fused);
    for (int i = 0; i < 2; i++) {
        form.is_fused = i;
        const struct operation o = chain_operation(&form, form.is_fused ? "fused" : "unfused", c);
        operation_measure(r, keys, &o, c, flags, copy_ns);
    }
}

/* Each operator's kernel by itself; outside --deep, those with the most instructions, in fp16. */
static void measure_singles(struct probe_run *r, const struct chain_tensors *t, struct condition c,
                            double copy_ns)
{
    char keys[96];
    keys_of(keys, t, "none", 1);
    for (int i = 0; i < CHAIN_SINGLES; i++) {
        const struct chain_form form = {.t = t, .n = 1, .only = i};
        const struct operation o = chain_operation(&form, chain_operator_names[i], c);
        const bool is_usual = i >= CHAIN_CLAMP && t->type == GPU_FP16;
        operation_measure(r, keys, &o, c, is_usual ? PROBE_ONCE : PROBE_DEEP, copy_ns);
    }
}

/* What is measured where: at one row launches decide, at 16 MiB the L2, at 256 MiB the memory. The
 * flags of a chain are those of the three sizes. A chain of 16 has a copy of as many bytes beside
 * it, under its own keys; the others are held against the last one. */
static const struct {
    enum chain_kind kind;
    int n;
    unsigned flags[3];
} chains[] = {
    {CHAIN_ACTIVATED, 16, {PROBE_DEEP, PROBE_DEEP, 0}},
    {CHAIN_PLAIN, 16, {0, 0, 0}},
    {CHAIN_ACTIVATED, 4, {PROBE_DEEP, PROBE_DEEP, PROBE_ONCE}},
    {CHAIN_PLAIN, 1, {PROBE_DEEP, PROBE_DEEP, PROBE_ONCE}},
    {CHAIN_PLAIN, 2, {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP}},
    {CHAIN_PLAIN, 4, {PROBE_ONCE, PROBE_DEEP, PROBE_ONCE}},
    {CHAIN_PLAIN, 8, {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP}},
    {CHAIN_PLAIN, 32, {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP}},
    {CHAIN_PLAIN, 64, {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP}},
};
static const int sizes[3][2] = {{1, 4096}, {2048, 4096}, {16384, 8192}};
static const int checked[3][2] = {{1, 4096}, {40, 1016}, {1100, 1000}};

/* By stream the host's pace decides, which processes do not share: with --deep. bf16 moves the same
 * bytes by the same instructions: with --deep, and chains of 16 alone where tensors are short.
 * Returns the time of the copy. */
static double measure_size(struct probe_run *r, int size, struct condition c,
                           struct chain_tensors *t)
{
    const bool is_bf16 = t->type == GPU_BF16;
    const unsigned seldom = c.stream || is_bf16    ? PROBE_DEEP
                            : size == 1 && c.cold ? PROBE_ONCE
                                                  : 0;
    double copy_ns = NAN;

    for (size_t i = 0; i < PROBE_LENGTH(chains); i++) {
        const unsigned flags = seldom | chains[i].flags[size];
        const bool is_left_out = (c.stream || (is_bf16 && size < 2)) && chains[i].n != 16;
        if (is_left_out || ((flags & PROBE_DEEP) && !probe_deep(r)))
            continue;
        if (!c.stream && chains[i].n == 16) {
            char keys[96];
            keys_of(keys, t, chain_names[chains[i].kind], chains[i].n);
            copy_ns = copy_measure(r, keys, 2 * (double)t->bytes, c, flags);
        }
        chain_tensors_draw(r, t, operation_seed(r, flags));
        measure_chain(r, t, chains[i].kind, chains[i].n, c, flags, copy_ns);
    }
    if (size == 2) {
        chain_tensors_draw(r, t, operation_seed(r, PROBE_ONCE));
        measure_singles(r, t, c, copy_ns);
    }
    return copy_ns;
}

/* Returns the time of the copy at the largest size. */
static double measure_sizes(struct probe_run *r, enum gpu_type type)
{
    double copy_ns = NAN;
    for (int size = 0; size < 3; size++) {
        const int *shape = probe_is_check_run(r) ? checked[size] : sizes[size];
        struct chain_tensors t = chain_tensors_new(r, &image_elementwise_chain, shape[0], shape[1],
                                                   type, true, probe_seed(r));
        const bool can_be_warm = 2 * t.bytes < 3 * gpu_facts(r)->l2_bytes;
        if (can_be_warm)
            measure_size(r, size, (struct condition){.cold = false}, &t);
        if (size > 0)
            copy_ns = measure_size(r, size, (struct condition){.cold = true}, &t);
        if (size == 0 && type == GPU_FP16)
            measure_size(r, size, (struct condition){.stream = true}, &t);
        chain_tensors_free(r, &t);
    }
    return copy_ns;
}

/* Odd shapes, every chain in both types, short tensors and at last, from LONG on, long ones: rows
 * from 1 up, columns of whole vectors of eight elements. Rows of other columns fit no access of 16
 * bytes: these kernels do not take them. */
static void check_odd(struct probe_run *r)
{
    enum { N = PROBE_LENGTH(chains), LONG = 4 * N, SHAPES = 6 * N };
    uint64_t state = probe_seed(r);
    probe_note(r, "%d odd shapes; columns must be a multiple of 8", SHAPES);
    for (int i = 0; i < SHAPES; i++) {
        const int rows = i < 4 ? 1 : 1 + (int)draw_below(&state, 300) + (i < LONG ? 0 : 1100);
        const int cols =
            8 * (i < 4 ? 1 + 2 * i : 1 + (int)draw_below(&state, 130) + (i < LONG ? 0 : 125));
        struct chain_tensors t = chain_tensors_new(r, &image_elementwise_chain, rows, cols,
                                                   i / N % 2 ? GPU_BF16 : GPU_FP16, true, state);
        measure_chain(r, &t, chains[i % N].kind, chains[i % N].n, (struct condition){.cold = false},
                      0, (double)NAN);
        chain_tensors_free(r, &t);
    }
}

/* --- multiply-adds ---------------------------------------------------------------------------- */

static void measure_fmas(struct probe_run *r, struct chain_tensors *t, int n, struct condition c,
                         unsigned flags, double copy_ns)
{
    struct chain_form form = {.t = t, .kind = CHAIN_FMAS, .n = n, .only = -1, .is_fused = true};
    char keys[96], stem[32];

    keys_of(keys, t, chain_names[CHAIN_FMAS], n);
    if (n > CHAIN_FMA_ROUND)
        snprintf(stem, sizeof stem, "fmas_loop_%s", gpu_type_name(t->type));
    else
        snprintf(stem, sizeof stem, "fmas_%d_%s", n, gpu_type_name(t->type));
    chain_kernels(r, &image_elementwise_chain, stem, false, form.fused);
    chain_tensors_draw(r, t, operation_seed(r, flags));
    const struct operation o = chain_operation(&form, "fused", c);
    operation_measure(r, keys, &o, c, flags, copy_ns);
}

static struct chain_tensors fma_tensors(struct probe_run *r, int rows, int cols, enum gpu_type type)
{
    const bool is_small = probe_is_check_run(r);
    return chain_tensors_new(r, &image_elementwise_chain, is_small && rows > 257 ? 257 : rows,
                             is_small ? 512 : cols, type, false, probe_seed(r));
}

/* From a copy to pure arithmetic, 256 MiB of fp32. copy_ns: of 512 MiB in all, as these are. */
static void measure_ridge(struct probe_run *r, double copy_ns)
{
    static const struct {
        int n;
        unsigned flags;
    } fmas[] = {{0, 0},
                {2, PROBE_ONCE},
                {4, PROBE_ONCE},
                {8, PROBE_ONCE},
                {16, 0},
                {32, PROBE_DEEP},
                {64, PROBE_DEEP},
                {128, PROBE_DEEP},
                {256, PROBE_DEEP},
                {512, PROBE_ONCE},
                {1024, PROBE_ONCE}};
    struct chain_tensors t = fma_tensors(r, 8192, 8192, GPU_FP32);
    for (size_t i = 0; i < PROBE_LENGTH(fmas); i++)
        measure_fmas(r, &t, fmas[i].n, (struct condition){.cold = true}, fmas[i].flags, copy_ns);
    chain_tensors_free(r, &t);
}

/* Few, some and very many at another size or type; `flags` are those of each. */
static void measure_beside(struct probe_run *r, int rows, int cols, enum gpu_type type,
                           const unsigned flags[4])
{
    static const int fmas[] = {0, 4, 16, 1024};
    struct chain_tensors t = fma_tensors(r, rows, cols, type);
    const bool is_cold = 2 * t.bytes >= 3 * gpu_facts(r)->l2_bytes;
    for (size_t i = type == GPU_BF16 ? 1 : 0; i < PROBE_LENGTH(fmas); i++)
        measure_fmas(r, &t, fmas[i], (struct condition){.cold = is_cold}, flags[i], (double)NAN);
    chain_tensors_free(r, &t);
}

static void measure_all_fmas(struct probe_run *r, double copy_ns)
{
    static const int rows[] = {16, 256, 16384 + 1024, 262144, 1048576};
    static const unsigned once[] = {PROBE_ONCE, PROBE_ONCE, PROBE_ONCE, PROBE_ONCE};
    static const unsigned deep[] = {PROBE_DEEP, PROBE_DEEP, PROBE_DEEP, PROBE_DEEP};
    /* In the L2, where two processes differ by more than rounds of one do. */
    static const unsigned short_ones[] = {0, PROBE_DEEP, 0, PROBE_ONCE};

    measure_ridge(r, copy_ns);
    measure_beside(r, 8192, 8192, GPU_BF16, once);
    measure_beside(r, 1, 1024, GPU_FP32, once);
    measure_beside(r, 4096, 1024, GPU_FP32, short_ones);
    for (size_t i = 0; probe_deep(r) && i < PROBE_LENGTH(rows); i++)
        measure_beside(r, rows[i], 1024, GPU_FP32, deep);
}

/* --- what are the results worth? -------------------------------------------------------------- */

/* Inputs of a fixed seed: the same bits in every run, on this GPU. */
static void measure_quality(struct probe_run *r, enum gpu_type type)
{
    struct chain_tensors t =
        chain_tensors_new(r, &image_elementwise_chain, 1001, 1024, type, true, 1);
    const struct chain_form unfused = {.t = &t, .kind = CHAIN_ACTIVATED, .n = 16, .only = -1};
    struct chain_form fused = unfused;
    const struct quality_pair pair = {.results = {t.out.memory, 1001, 1024, 2},
                                      .launch_unfused = chain_launch_unfused,
                                      .launch_fused = chain_launch,
                                      .unfused = &unfused,
                                      .fused = &fused,
                                      .is_wrong = chain_is_wrong};
    char keys[96], stem[32];

    keys_of(keys, &t, chain_names[fused.kind], fused.n);
    snprintf(stem, sizeof stem, "activated_16_%s", gpu_type_name(type));
    chain_kernels(r, &image_elementwise_chain, stem, true, fused.fused);
    fused.is_fused = true;
    if (probe_begin_case(r, PROBE_ONCE, "%s,impl=fused,mode=graph,l2=warm", keys))
        quality_of_pair(r, &pair);
    chain_tensors_free(r, &t);
}

static void measure(struct probe_run *r)
{
    static const int steps[] = {1, 4, 16, 64};

    const double copy_ns = measure_sizes(r, GPU_FP16);
    measure_all_fmas(r, copy_ns);
    if (probe_deep(r))
        measure_sizes(r, GPU_BF16);
    for (enum chain_life life = 0; life < N_CHAIN_LIVES; life++)
        for (size_t i = 0; i < PROBE_LENGTH(steps); i++)
            for (int each = 1; each <= 8; each += 7)
                chain_life_measure(r, life, steps[i], each);
    measure_quality(r, GPU_FP16);
    if (probe_is_check_run(r) || probe_deep(r))
        measure_quality(r, GPU_BF16);
    if (probe_is_check_run(r))
        check_odd(r);
}

const struct probe probe = {
    .name = "elementwise_chain",
    .what = "What does a chain of n elementwise operators cost in one kernel, and in n?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .measure = measure,
};
