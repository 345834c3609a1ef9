/* gemm_sizes: how fast is the best available product at every size, layout and alignment, and which
 * kernel does the library choose?
 *
 * Method. C = A x B, row-major, operands from N(0,1), by
 *     impl=cublas,tile=auto      what cublasGemmEx chooses
 *     impl=cublaslt,tile=first   the first guess of cuBLASLt's heuristic, 32 MiB of workspace
 *     impl=cublaslt,tile=best    the fastest of all that the heuristic offers
 *     impl=own,tile=best         the fastest of our kernels (matmul/common/)
 * A search in the same process finds the two best, which are then sampled anew. Next to the time,
 * the report names the kernel and its grid, read from the captured graph's node. The time of a
 * product is the slope over graphs of n and 2n of them; it includes the edge to the next one.
 * l2=warm uses the same operands again and again, l2=cold rotates over sets of them, 3 x the L2.
 *     over_library   time over that of cuBLASLt's best. The two are replayed in turn, so that they
 *                    share clock and power. The row of cuBLASLt's best itself tells how far from
 *                    1.00 noise can lead
 *     layout_time    one product in other layouts: rows further apart than they are long, addresses
 *                    off a boundary, sizes next to a round one. The aligned product is replayed in
 *                    turn with it (aligned_time); over_aligned is the ratio of the times per
 *                    multiply-add
 *     over_best      a kernel chosen by measurement, by a rule, or fixed (choice.h)
 *     power, energy  cuBLAS's 4096^3, with --deep also 1024^3 and 8192^3, for a third of a second,
 *                    from one step of NVML's energy counter to another. An H200 is expected to be
 *                    at its 700 W from 4096^3 on: 0.13 J a product, 8192^3 1.2 J, about 1 pJ a
 *                    flop; and below it at 1024^3, 2.5 to 3.5 mJ
 * acc=fp16 has sums in fp16, and is not compared with anything.
 *
 * Inside the timed region: one graph replay between two events.
 * Expected on an H200: 512^3 2.6 us (own) and 3.1 (cuBLASLt), 1024^3 4.8 and 5.1, 2048^3 25.5 and
 * 24.5, 4096^3 205 and 199. The fit over the squares gives about 2 us of fixed cost and 700
 * Tflop/s. Rows of odd length rule out a library's kernels that fetch by tensor maps: several times
 * as long.
 *
 * Traps. Two kernels timed one after another differ by 4 % at 4096^3 because of the power limit
 * alone. What a library offers depends on the alignment that it is told; the plan is made for the
 * real addresses. A product next to a round size does more or less work than the round one, so
 * times are compared per multiply-add. The search covers all choices of cuBLASLt and 32 kernels of
 * ours. One look at each would choose by noise, so those within a tenth of the fastest are replayed
 * in turn. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/gpu.h"
#include "matmul/gemm_sizes/check.h"
#include "matmul/gemm_sizes/choice.h"
#include "matmul/gemm_sizes/layout.h"
#include "matmul/gemm_sizes/search.h"

PROBE_IMAGE(product); /* matmul/common/way.c has the images of the products themselves */

#define KEYS "m,n,k,type,acc,layout,impl,tile,l2"
#define LAYOUT_KEYS "m,n,k,type,layout,lda,ldb,ldc,offset,impl,tile,l2"
static const struct probe_metric metrics[] = {
    [TIME] = {"time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event", .keys = KEYS,
        .what = "one product, edge included"},
    [LIBRARY_TIME] = {"library_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = KEYS, .what = "cuBLASLt's best for it, replayed in turn with it"},
    [OVER_LIBRARY] = {"over_library", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "time over library_time"},
    [POWER] = {"power", "watts", PROBE_LOWER, .keys = KEYS,
        .what = "of the board while it multiplies all the time, by NVML's energy counter"},
    [ENERGY] = {"energy", "joules", PROBE_LOWER, .keys = KEYS, .what = "of one product"},
    [ERROR] = {"error", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "relative Frobenius norm of the difference from float64"},
    [LAYOUT_TIME] = {"layout_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = LAYOUT_KEYS,
        .what = "one product as it lies, edge included; offset: bytes of A and B"},
    [ALIGNED_TIME] = {"aligned_time", "ns", PROBE_LOWER, .form = PROBE_SLOPE, .timer = "event",
        .keys = LAYOUT_KEYS, .what = "the aligned product beside it, replayed in turn"},
    [OVER_ALIGNED] = {"over_aligned", "ratio", PROBE_LOWER, .keys = LAYOUT_KEYS,
        .what = "layout_time over aligned_time, each per useful multiply-add"},
    [OTHER_KERNEL] = {"other_kernel", "count", PROBE_EXACT, .keys = LAYOUT_KEYS,
        .what = "1: another kernel is chosen for it than for the aligned one"},
    [LAYOUT_ERROR] = {"layout_error", "ratio", PROBE_LOWER, .keys = LAYOUT_KEYS,
        .what = "relative Frobenius norm of the difference from float64"},
    [OVER_BEST] = {"over_best", "ratio", PROBE_LOWER, .keys = "by",
        .what = "time of the kernel chosen so over the fastest's, geometric mean of 8 shapes"},
    [SLOWEST] = {"slowest_over_best", "ratio", PROBE_LOWER, .keys = "of",
        .what = "the same of the slowest of all kernels on all shapes"},
    [MOVED] = {"moved", "ratio", PROBE_LOWER, .keys = "of",
        .what = "how far two measurements of a kernel are apart, geometric mean"},
    [VARIANTS] = {"variant_time", "ns", PROBE_LOWER, .timer = "event", .keys = "of",
        .what = "map: every kernel of ours on every shape"},
};

static const char *const types[] = {"fp16", "bf16", NULL}; /* enum gpu_type */
static const char *const layouts[] = {"nn", "tn", "nt", NULL};
static const struct probe_parameter parameters[] = {
    PRODUCT_SIZES,
    {.name = "type", .max = GPU_BF16, .what = "of that product's operands", .words = types},
    {.name = "layout", .max = 2, .what = "of that product's operands", .words = layouts},
};

/* --- one way to one product ------------------------------------------------------------------ */

/* Sums in fp16 may exceed the bound of sums in fp32, but they must not be garbage. */
static double verified(struct probe_run *r, const struct subject *s, const char *when)
{
    if (s->accumulate == BLAS_IN_FP32)
        return product_verify(r, &s->product, when);
    struct verdict verdict = product_run_verifier(r, &s->product);
    double error = verdict_error(&verdict);
    probe_require(r, error < 0.05, "%s: relative error %.2g", when, error);
    return error;
}

static void measure_way(struct probe_run *r, const struct ways *ways, struct subject *s,
                        const struct way *way, bool against_library)
{
    const struct way *library = against_library ? sizes_way(r, ways, s, LT_BEST) : NULL;
    struct entrant e[] = {{.subject = s, .way = way, .metric = TIME},
                          {.subject = s, .way = library, .metric = LIBRARY_TIME}};
    const size_t n = library ? 2 : 1;

    product_poison(r, &s->product);
    way_multiply(r, ways, &s->product, way, 0);
    verified(r, s, "before timing");

    sizes_sample_in_turn(r, ways, e, n);

    sizes_say_kernel(r, ways, &e[0]);
    if (library)
        probe_value(r, OVER_LIBRARY, probe_median(r, TIME) / probe_median(r, LIBRARY_TIME));
    sizes_replay_for_check(r, &e[0]);
    double error = verified(r, s, "after timing");
    if (is_large_enough(&s->shape))
        probe_value(r, ERROR, error);
    sizes_entrants_free(e, n);
}

static bool begin(struct probe_run *r, const struct subject *s, const char *impl, const char *tile,
                  unsigned flags)
{
    return probe_begin_case(r, flags | PROBE_POWER_BOUND,
                            "m=%d,n=%d,k=%d,type=%s,acc=%s,layout=%s,impl=%s,tile=%s,l2=%s",
                            s->shape.m, s->shape.n, s->shape.k, gpu_type_name(s->shape.type),
                            s->accumulate == BLAS_IN_FP32 ? "fp32" : "fp16", s->shape.layout, impl,
                            tile, s->cold ? "cold" : "warm");
}

static void measure_take(struct probe_run *r, const struct ways *ways, struct subject *s,
                         enum take take, unsigned flags)
{
    if (!begin(r, s, sizes_impl_names[take], sizes_tile_names[take], flags))
        return;
    const struct way *way = sizes_way(r, ways, s, take);
    if (way)
        measure_way(r, ways, s, way, take >= LT_BEST && s->accumulate == BLAS_IN_FP32);
    else
        sizes_say_missing(r, ways, TIME, take);
}

static void measure_row(struct probe_run *r, const struct ways *ways, struct subject *s,
                        struct way w, unsigned flags)
{
    if (!begin(r, s, way_names[w.impl], way_tile(&w), flags))
        return;
    sizes_subject_open(r, s);
    if (way_open(r, ways, &s->product, &w))
        measure_way(r, ways, s, &w, true);
    else
        sizes_say_missing(r, ways, TIME, OWN_BEST);
    way_close(r, &w);
}

/* --- squares and layers ---------------------------------------------------------------------- */

/* One product by all four takes, or by some of them. */
enum {
    ALL = (1 << TAKES) - 1,
    FIRST = 1 << LT_FIRST,
    AUTO = 1 << CUBLAS,
    BEST = 1 << LT_BEST,
    BESTS = BEST | 1 << OWN_BEST
};
struct task {
    int m, n, k;
    enum gpu_type type;
    const char *layout;
    bool cold;
    enum blas_accumulate accumulate;
    unsigned takes, deep; /* takes that measure it; more takes with --deep */
    unsigned flags;
};

/* Does it fit the memory, and are 64 sets of it enough bytes to be cold? */
static bool can_be(const struct probe_run *r, const struct subject *s)
{
    const double three_l2 = 3.0 * (double)gpu_facts(r)->l2_bytes, one = product_bytes(&s->shape);
    const double room = 0.8 * (double)gpu_facts(r)->free_bytes;

    if (!s->cold)
        return one <= room;
    return one + fmax(one, three_l2) <= room && (64 * one > three_l2 || probe_is_check_run(r));
}

static void measure_task(struct probe_run *r, const struct ways *ways, const struct task *t)
{
    struct subject s = {
        .shape = {.m = t->m, .n = t->n, .k = t->k, .type = t->type, .layout = t->layout},
        .cold = t->cold,
        .accumulate = t->accumulate};

    const unsigned takes = t->takes | (probe_deep(r) ? t->deep : 0);

    for (int take = 0; take < TAKES && can_be(r, &s); take++)
        if (takes & 1u << take)
            measure_take(r, ways, &s, (enum take)take, t->flags);
    sizes_subject_close(r, &s);
}

/* 1024^3 in every variant of a product; the other sizes warm, in fp16, nn. Sizes ascend, because
 * large ones leave the board at its power limit. Every round measures what a claim, a fit or a bar
 * uses; the library's first guess is not among that. */
static void measure_squares(struct probe_run *r, const struct ways *ways)
{
#define SQUARE(n) n, n, n
    static const struct task tasks[] = {
        {SQUARE(128), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(256), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(512), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(1024), GPU_FP16, "nn", false, BLAS_IN_FP32, ALL, 0, 0},
        {SQUARE(1024), GPU_FP16, "nn", true, BLAS_IN_FP32, BESTS, ALL, PROBE_THRICE},
        {SQUARE(1024), GPU_BF16, "nn", false, BLAS_IN_FP32, BESTS, ALL, PROBE_THRICE},
        {SQUARE(1024), GPU_FP16, "nt", false, BLAS_IN_FP32, BESTS, ALL, PROBE_THRICE},
        {SQUARE(1024), GPU_FP16, "tn", false, BLAS_IN_FP32, BESTS, ALL, PROBE_THRICE},
        {SQUARE(1024), GPU_FP16, "nn", false, BLAS_IN_FP16, BEST, FIRST, PROBE_THRICE},
        {SQUARE(1536), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(2048), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(3072), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(4096), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(4096), GPU_BF16, "nn", false, BLAS_IN_FP32, BESTS, ALL, PROBE_THRICE | PROBE_SLOW},
        {SQUARE(8192), GPU_FP16, "nn", false, BLAS_IN_FP32, AUTO | BESTS, FIRST, 0},
        {SQUARE(8192), GPU_BF16, "nn", false, BLAS_IN_FP32, ALL, 0, PROBE_DEEP},
        {SQUARE(4096), GPU_FP16, "nt", false, BLAS_IN_FP32, ALL, 0, PROBE_DEEP},
        {SQUARE(4096), GPU_FP16, "tn", false, BLAS_IN_FP32, ALL, 0, PROBE_DEEP},
    };
#undef SQUARE
    for (size_t i = 0; i < PROBE_LENGTH(tasks); i++) {
        struct task t = tasks[i];
        if (probe_is_check_run(r) && t.m != 1024)
            continue;
        if (probe_is_check_run(r))
            t.m = t.n = t.k = 128;
        measure_task(r, ways, &t);
    }
}

/* The portable kernel with its smallest tile: a case that the library must win (claim C79). */
static void measure_loser(struct probe_run *r, const struct ways *ways)
{
    const int size = probe_is_check_run(r) ? 128 : 2048;
    struct subject s = {
        .shape = {.m = size, .n = size, .k = size, .type = GPU_FP16, .layout = "nn"}};

    for (size_t i = 0; i < N_MMA; i++)
        if (strcmp(mma_gemm_tiles[i].name, "32x32") == 0)
            measure_row(r, ways, &s, sizes_own_row(i), 0);
    sizes_subject_close(r, &s);
}

/* y = x W for a number of tokens at once, bf16, weights not in the L2; the layers of Llama 3. W is
 * stored k x n, and for the library also n x k, as PyTorch's Linear has it; we have no bf16 kernel
 * for that layout. */
struct layer {
    int n, k;
    bool all; /* all numbers of tokens; else three of them */
};
static const struct layer layers[] = {
    {4096, 4096, false},  {2048, 8192, true}, {16384, 2048, false}, {14336, 4096, true},
    {4096, 14336, false}, {8192, 8192, true}, {28672, 8192, false}, {8192, 28672, false},
};

static void measure_layer(struct probe_run *r, const struct ways *ways, const struct layer *l,
                          int tokens)
{
    const bool some = tokens == 1 || tokens == 16 || tokens == 128;
    const bool said = l == &layers[0] && (tokens == 1 || tokens == 16); /* with claim C79 */
    struct task t = {tokens, l->n, l->k, GPU_BF16, "nn", true, BLAS_IN_FP32,
                     BESTS,  AUTO, said ? PROBE_THRICE : PROBE_DEEP};

    if (!some && !l->all)
        return;
    measure_task(r, ways, &t);
    t.layout = "nt", t.takes = AUTO | BEST, t.flags = PROBE_DEEP;
    if (some)
        measure_task(r, ways, &t);
}

/* The weights of eight tokens' product fit the L2: as they come from it, and from the memory. */
static void measure_eight(struct probe_run *r, const struct ways *ways)
{
    static const struct task tasks[] = {
        {8, 4096, 4096, GPU_BF16, "nn", false, BLAS_IN_FP32, BESTS, AUTO, PROBE_THRICE},
        {8, 4096, 4096, GPU_BF16, "nn", true, BLAS_IN_FP32, BESTS, AUTO, PROBE_THRICE},
    };
    for (size_t i = 0; i < PROBE_LENGTH(tasks); i++)
        measure_task(r, ways, &tasks[i]);
}

static void measure_layers(struct probe_run *r, const struct ways *ways)
{
    for (size_t i = 0; i < PROBE_LENGTH(layers); i++)
        for (int tokens = 1; tokens <= 256; tokens *= 2)
            measure_layer(r, ways, &layers[i], tokens);
}

/* --- power ------------------------------------------------------------------------------------ */

/* cuBLAS's square product again and again, in graphs of about a millisecond. */
static void measure_power(struct probe_run *r, const struct ways *ways, int size)
{
    struct subject s = {
        .shape = {.m = size, .n = size, .k = size, .type = GPU_FP16, .layout = "nn"}};
    const double guess_ns = 2000 + 2.0 * size * size * (double)size / 7e5; /* see the fit above */
    const size_t n = (size_t)fmax(1, 1e6 / guess_ns);

    if (!can_be(r, &s) ||
        !begin(r, &s, sizes_impl_names[CUBLAS], sizes_tile_names[CUBLAS],
               size == 4096 ? PROBE_THRICE | PROBE_SLOW : PROBE_DEEP)) /* half a second each */
        return;
    const struct way *way = sizes_way(r, ways, &s, CUBLAS);
    if (!way) {
        sizes_say_missing(r, ways, POWER, CUBLAS);
        sizes_subject_close(r, &s);
        return;
    }
    struct gpu_graph graph = way_graph(r, ways, &s.product, way, n, 1);
    product_poison(r, &s.product);
    const struct gpu_power power = gpu_power_of_graph(r, &graph, guess_ns * (double)n);
    if (gpu_power_value(r, POWER, ENERGY, &power, (double)n))
        verified(r, &s, "after half a second of products");
    gpu_graph_free(&graph);
    sizes_subject_close(r, &s);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* The product from the command line, by everything that takes it, with a row for each of our
 * kernels. */
static void measure_asked(struct probe_run *r, const struct ways *ways,
                          const struct product_shape *shape, bool cold)
{
    struct subject s = {.shape = *shape, .cold = cold};

    if (cold && !can_be(r, &s))
        return;
    sizes_subject_open(r, &s); /* ends the run where the memory is too small */
    for (int take = 0; take < TAKES; take++)
        measure_take(r, ways, &s, (enum take)take, 0);
    for (size_t row = 0; row < N_OWN; row++) {
        struct way w = sizes_own_row(row);
        bool takes = way_open(r, ways, &s.product, &w);
        way_close(r, &w);
        if (takes)
            measure_row(r, ways, &s, sizes_own_row(row), 0);
    }
    sizes_subject_close(r, &s);
}

static void measure(struct probe_run *r)
{
    struct product_shape one = {.type = (enum gpu_type)probe_parameter(r, "type"),
                                .layout = layouts[probe_parameter(r, "layout")]};
    const bool is_asked = product_asked(r, &one);
    struct ways ways = ways_open(r);

    if (is_asked) {
        measure_asked(r, &ways, &one, false);
        measure_asked(r, &ways, &one, true);
        return;
    }
    measure_squares(r, &ways);
    measure_loser(r, &ways);
    sizes_measure_layouts(r, &ways);
    if (probe_is_check_run(r)) {
        sizes_check_random_shapes(r, &ways);
        sizes_check_that_faults_are_seen(r, &ways);
        sizes_check_refused(r);
        return;
    }
    sizes_measure_choices(r, &ways);
    measure_eight(r, &ways);
    measure_layers(r, &ways);
    for (int size = 1024; size <= 8192; size *= 2)
        if (size != 2048)
            measure_power(r, &ways, size);
}

const struct probe probe = {
    .name = "gemm_sizes",
    .what = "How fast is a product at every size and alignment, and which kernel does it get?",
    .method = 1,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
