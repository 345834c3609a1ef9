/* softmax: the longest row that one block can hold, and the rows on which a softmax goes wrong. */
#include "fused/softmax/softmax.h"

/* --- the longest row that one block holds ---------------------------------------------------- */

/* Launches one row of this many vectors: does that work, with right results? The plan is not
 * checked beforehand, because a refused launch is part of the answer. */
static bool holds(struct probe_run *r, const struct softmax *room, enum softmax_kernel kernel,
                  uint32_t vectors)
{
    struct softmax t = *room;
    t.vectors = vectors;
    t.cols = vectors * t.k.lanes;
    t.bytes = 16 * (size_t)vectors;
    t.lengths = NULL;
    const struct softmax_plan p = softmax_plan(r, &t, kernel, 1);
    const struct softmax_args a = softmax_args_of(&t, &p, t.in.memory, t.out.memory);
    const struct gpu_shape shape = {
        .grid = {1, 1, 1}, .block = p.threads, .shared = p.shared, .cluster = 0};

    const void *of = (const void *)t.k.of[kernel];
    uint64_t elements;

    gpu_poison(r, t.out.memory, t.bytes);
    if (!CUDA_GRANTS(cudaFuncSetAttribute(of, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)p.shared)) ||
        !gpu_grants(gpu_try_launch(r, t.k.of[kernel], &shape, &a), "cudaLaunchKernelExC", __FILE__,
                    __LINE__))
        return false;
    const struct verdict v = softmax_run_verifier(r, &t, true, true, &elements);
    return v.wrong == 0 && v.looked_at == elements;
}

/* Found by bisection, to the vector. A row of one vector must be held. There is memory for a
 * million elements. A row is too long for a block if its launch is refused or its results are
 * wrong. */
void softmax_measure_longest(struct probe_run *r, enum gpu_type type)
{
    static const struct {
        const char *impl;
        enum softmax_kernel kernel;
    } ways[] = {{"resident", HELD}, {"shared", SHARED}, {"online", ONLINE}};
    if (!probe_is_due(r, PROBE_TWICE))
        return;
    if (probe_is_check_run(r)) /* a tool that watches this run would report refused launches */
        return;
    const struct operator_shape shape = {{1, LONG_ROW}, (int)type};
    struct operator_set s = operator_open(r, &softmax, &shape, OPERATOR_FUSED, 1, OPERATOR_FIXED);
    const struct softmax *t = s.own;
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        uint32_t held = 1, not_held = t->vectors + 1;
        if (!probe_begin_case(r, PROBE_TWICE, "type=%s,impl=%s", gpu_type_name(type), ways[i].impl))
            continue;
        probe_require(r, holds(r, t, ways[i].kernel, held), "a row of one vector is held");
        while (not_held - held > 1) {
            const uint32_t middle = held + (not_held - held) / 2;
            *(holds(r, t, ways[i].kernel, middle) ? &held : &not_held) = middle;
        }
        probe_value(r, LONGEST, (double)held * t->k.lanes);
        probe_fact(r, "bytes", "%u", (unsigned)held * 16);
        probe_fact(r, "asked", "%u", (unsigned)t->cols);
    }
    operator_close(r, &s);
}

/* --- rows that overflow, cancel, or are masked whole ----------------------------------------- */

enum { EACH_KIND = 8, STABLE_ROWS = EACH_KIND * N_SOFTMAX_KINDS, STABLE_COLS = 2040 };

static const struct {
    const char *name;
    enum softmax_kind first, last;
} stable_cases[] = {
    {"plain", SOFTMAX_PLAIN, SOFTMAX_PLAIN},
    {"by_60", SOFTMAX_PLUS_60, SOFTMAX_MINUS_60},
    {"by_1e3", SOFTMAX_PLUS_1E3, SOFTMAX_MINUS_1E3},
    {"by_6e4", SOFTMAX_PLUS_6E4, SOFTMAX_MINUS_6E4},
    {"all_below", SOFTMAX_ALL_BELOW, SOFTMAX_ALL_BELOW},
    {"one_above", SOFTMAX_ONE_ABOVE, SOFTMAX_ONE_ABOVE},
    {"masked", SOFTMAX_ONE_FINITE, SOFTMAX_TAIL_MASKED},
};

/* Makes inputs of every kind, and in the first intermediate what the chain's kernel makes of
 * them. */
static void make_adversaries(struct probe_run *r, enum gpu_type type, struct softmax *t)
{
    struct pool normal =
        pool_normal(r, GPU_FP32, t->bytes / gpu_type_size(type), 1, OPERATOR_FIXED, "numbers");
    const struct softmax_stable_args a = {.normal = normal.memory,
                                          .in = t->in.memory,
                                          .lengths = t->lengths,
                                          .cols = t->cols,
                                          .vectors = t->vectors};
    t->scale = 1;
    gpu_launch(r, t->k.adversary, STABLE_ROWS, SOFTMAX_SMALL_THREADS, 0, &a);
    softmax_launch_step(r, t, MASK, t->in.memory, NULL, t->middle[1].memory);
    const struct softmax_plan p = softmax_plan(r, t, ROW, 1);
    struct softmax_args unfused = softmax_args_of(t, &p, t->middle[1].memory, t->middle[0].memory);
    unfused.lengths = NULL;
    softmax_launch(r, t, &p, unfused);
    gpu_wait(r);
    pool_free(r, &normal);
}

/* Writes one word per row: is it right? */
static void judge_rows(struct probe_run *r, const struct softmax *t, const struct softmax_plan *p,
                       uint32_t right[STABLE_ROWS])
{
    const bool is_unfused = p->kernel == N_KERNELS; /* it has run already */
    uint32_t *words = gpu_alloc(r, STABLE_ROWS * sizeof *words, "a word for each row");
    const struct softmax_stable_args a = {.in = t->in.memory,
                                          .out = (is_unfused ? &t->middle[0] : &t->out)->memory,
                                          .unfused = t->middle[0].memory,
                                          .lengths = t->lengths,
                                          .right = words,
                                          .cols = t->cols,
                                          .vectors = t->vectors};

    if (!is_unfused) {
        pool_poison(r, &t->out);
        softmax_launch(r, t, p, softmax_args_of(t, p, t->in.memory, t->out.memory));
    }
    gpu_launch(r, t->k.stable, STABLE_ROWS, SOFTMAX_SMALL_THREADS, 0, &a);
    gpu_to_host(r, right, words, STABLE_ROWS * sizeof *words);
    gpu_release(r, words);
}

static double share_right(const uint32_t right[STABLE_ROWS], uint32_t first, uint32_t last)
{
    uint32_t rows = 0, good = 0;
    for (uint32_t i = 0; i < STABLE_ROWS; i++)
        if (i % N_SOFTMAX_KINDS >= first && i % N_SOFTMAX_KINDS <= last) {
            rows++;
            good += right[i];
        }
    return (double)good / rows;
}

/* The fused kernel and the controls report every kind of row; every other way reports one total. */
void softmax_measure_stable(struct probe_run *r, enum gpu_type type)
{
    static const struct {
        const char *impl;
        enum softmax_kernel kernel;
        uint32_t parts;
        bool by_case;
    } ways[] = {{"fused", ROW, 1, true},         {"naive", NAIVE, 1, true},
                {"finite", FINITE, 1, true},     {"unfused", N_KERNELS, 1, false},
                {"pair", PAIR, 1, false},        {"resident", HELD, 1, false},
                {"shared", SHARED, 1, false},    {"online", ONLINE, 1, false},
                {"cluster8", CLUSTER, 8, false}, {"cluster16", CLUSTER, 16, false},
                {"grid", GRID, 7, false},        {"last", LAST, 7, false},
                {"two", PARTIAL, 7, false}};
    if (!probe_is_due(r, PROBE_TWICE))
        return;
    const struct operator_shape shape = {{STABLE_ROWS, STABLE_COLS}, (int)type};
    struct operator_set s = operator_open(r, &softmax, &shape, OPERATOR_MAIN, 1, OPERATOR_FIXED);
    struct softmax *t = s.own;
    uint32_t right[STABLE_ROWS];

    make_adversaries(r, type, t);
    for (size_t i = 0; i < PROBE_LENGTH(ways); i++) {
        struct softmax_plan p = {.kernel = N_KERNELS};
        if (ways[i].kernel != N_KERNELS)
            p = softmax_plan(r, t, ways[i].kernel, ways[i].parts);
        if (ways[i].kernel != N_KERNELS && !softmax_plan_fits(r, t, &p))
            continue;
        judge_rows(r, t, &p, right);
        if (!ways[i].by_case && probe_begin_case(r, PROBE_TWICE, "case=all,type=%s,impl=%s",
                                                 gpu_type_name(type), ways[i].impl))
            probe_value(r, STABLE, share_right(right, 0, N_SOFTMAX_KINDS - 1));
        for (size_t c = 0; ways[i].by_case && c < PROBE_LENGTH(stable_cases); c++)
            if (probe_begin_case(r, PROBE_TWICE, "case=%s,type=%s,impl=%s", stable_cases[c].name,
                                 gpu_type_name(type), ways[i].impl))
                probe_value(r, STABLE,
                            share_right(right, stable_cases[c].first, stable_cases[c].last));
    }
    operator_close(r, &s);
}
