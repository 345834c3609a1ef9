/* sampling: what does it take to draw a token from a row of logits, in one kernel and in six?
 *
 * Method. Rows of fp32 logits are drawn from N(0,1) at temperature 0.3, which spreads them like a
 * model's. The half of the vocabulary that has occurred gets a repetition penalty. Then top-k 50,
 * top-p 0.9, and the token that a given uniform number selects. sampling.cuh explains how.
 *     one kernel   a cluster of 16 blocks per row, which holds the row in registers and selects by
 *                  one exchange (once.cuh: up to 131072 logits and k up to 64); a cluster of 16, 8
 *                  or 4, which holds it in shared memory; or one block per row, which reads it
 *                  twice. impl=fused is the widest cluster for few rows, by one exchange where that
 *                  can be, and one block for many (best_way).
 *     unfused      six kernels: penalty, temperature, top-k (by a cluster with shared memory, or a
 *                  block), then softmax, top-p and draw over the k tokens left, with one warp per
 *                  row. Only the first three touch the whole vocabulary.
 *     k=0          top-p alone, where the whole row stays in play; in one kernel only
 * The command line can give one shape instead: --set vocabulary=.. and others.
 *
 * Inside the timed region: the operations, between two events; modes: common/operation.h. The time
 * of a row depends on the row: with k=0 some take a third longer than others. Rows and uniform
 * numbers of what is timed therefore have a fixed seed, and every set holds the same rows. Times
 * are those of these rows, in every run, warm and cold, and at batch 1 of a single row.
 *
 * Expected, with 128256 logits on an H200:
 *   Batch 1 is bound by latency, 4.4 us in all: an edge (1.2 us), the row from the L2 or from
 *   device memory (1 us), one exchange between the blocks of a cluster, and code that runs once.
 *   With four exchanges (impl=cluster_16) it takes 6.2. Unfused: six edges and six kernels of 0.5
 *   to 4 us. Batch 256 ought to be bound by bytes, 131 MB: read twice by a block per row, 63 us, or
 *   moved six times, 190 us. In fact a block's work on its row takes longer: about 100 us in one
 *   kernel, 230 us in six.
 *
 * A token is right if float64 would draw it; reference.h says which rounding is excused. `border`
 * is how often it had to be excused, `control` how often a sampler without the penalty is caught.
 * Both, and the digest, come from uniform numbers of a fixed seed. As many new numbers are checked
 * besides, and new rows under --check. */
#include "fused/sampling/args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/draw.h"
#include "fused/common/quality.h"
#include "fused/sampling/reference.h"
#include "fused/sampling/ways.h"

enum { BORDER = N_OPERATION_METRICS, CONTROL, CHI_SQUARE };
#define KEYS OPERATION_KEYS("vocabulary,batch,k,p")
static const struct probe_metric metrics[] = {
    OPERATION_METRICS_TIMED(KEYS, "one whole operation, on rows that are the same in every run"),
    [BORDER] = {"border", "ratio", PROBE_LOWER, .keys = KEYS,
        .what = "share of draws whose token is not that of float64, but within rounding of it"},
    [CONTROL] = {"control", "ratio", PROBE_HIGHER, .keys = KEYS,
        .what = "share of draws found wrong when the kernel leaves the penalty out"},
    [CHI_SQUARE] = {"chi_square", "ratio", PROBE_HIGHER, .keys = KEYS,
        .what = "probability of a chi-square as large or larger, by draws of random numbers"},
};

/* One shape to measure instead of the probe's own; parameters not given have these values. The
 * limits: masses of a row, at most 2^42 each, are summed in 64 bits; rows index a grid's second
 * dimension. */
static const struct probe_parameter parameters[] = {
    {"vocabulary", 128256, 1, 1 << 21, "logits of a row of the one shape to measure", NULL},
    {"batch", 1, 1, 65535, "rows of that shape", NULL},
    {"k", 50, 0, SAMPLING_SORTED, "of that shape: the highest logits that are kept; 0: all", NULL},
    {"p", 900, 1, 1000, "of that shape: top-p, in thousandths", NULL},
};

enum { DRAWS = 100000, ODD_SHAPES = 48, TIMED_SEED = 3, MOST_LOGITS = 1 << 27 };
static const double LEAST_CHI_SQUARE = 1e-6, MOST_BORDER = 1e-4;

/* Rows, and the float64 reference for some of them. */
struct looked_at {
    const struct sampling_rows *rows;
    struct sampling_reference *expected;
    uint32_t *row, *noise;
    size_t n;
};

/* A way to draw from them, whole or one step of it; operation.h calls it self. */
struct sampling_form {
    const struct looked_at *of;
    struct sampling_way way;
    int only; /* index of the one step of the chain, or -1 */
};

/* --- is it right? ----------------------------------------------------------------------------- */

/* All rows in a full run, else the first and the last. */
static struct looked_at look_at(struct probe_run *r, const struct sampling_rows *t)
{
    const size_t n = probe_in_full(r) || t->batch < 2 ? t->batch : 2;
    struct looked_at l = {.rows = t, .n = n};
    float *logits = probe_host_alloc(r, 4 * t->stride);
    uint32_t *seen = probe_host_alloc(r, 4 * t->words);

    l.expected = probe_host_alloc(r, n * sizeof *l.expected);
    l.row = probe_host_alloc(r, n * sizeof *l.row);
    l.noise = probe_host_alloc(r, n * sizeof *l.noise);
    for (size_t i = 0; i < n; i++) {
        const size_t row = n > 1 ? i * (t->batch - 1) / (n - 1) : 0;
        l.row[i] = (uint32_t)row;
        gpu_to_host(r, logits, t->parts[LOGITS].memory + 4 * row * t->stride, 4 * t->stride);
        gpu_to_host(r, seen, t->parts[SEEN].memory + 4 * row * t->words, 4 * t->words);
        gpu_to_host(r, &l.noise[i], t->parts[NOISE].memory + 4 * row, 4);
        l.expected[i] = sampling_reference_new(logits, seen, t->vocabulary, &t->rule);
    }
    free(logits);
    free(seen);
    return l;
}

static void look_away(struct looked_at *l)
{
    for (size_t i = 0; i < l->n; i++)
        sampling_reference_free(&l->expected[i]);
    free(l->expected);
    free(l->row);
    free(l->noise);
}

static double verify(struct probe_run *r, const void *self, const char *when)
{
    const struct looked_at *l = ((const struct sampling_form *)self)->of;
    const size_t bytes = 4 * (size_t)l->rows->batch;
    uint32_t *tokens = probe_host_alloc(r, bytes);
    size_t wrong = 0;

    gpu_to_host(r, tokens, l->rows->parts[TOKENS].memory, bytes);
    for (size_t i = 0; i < l->n; i++)
        wrong += !sampling_is_right(&l->expected[i], tokens[l->row[i]], l->noise[i]);
    probe_require(r, wrong == 0, "%s: %zu of %zu tokens are not those of float64", when, wrong,
                  l->n);
    free(tokens);
    return NAN;
}

/* --- how long does it take? ------------------------------------------------------------------- */

static void launch(struct probe_run *r, const void *self, size_t set)
{
    const struct sampling_form *form = self;
    if (!form->way.is_chain)
        sampling_draw_fused(r, form->of->rows, form->way, set);
    for (enum sampling_step step = PENALTY; form->way.is_chain && step < N_STEPS; step++)
        if (form->only < 0 || form->only == (int)step)
            sampling_draw_step(r, form->of->rows, form->way.cluster, step, set);
}

static void poison(struct probe_run *r, const void *self)
{
    sampling_rows_poison(r, ((const struct sampling_form *)self)->of->rows);
}

/* Four bytes per logit and one bit per token for `seen`; a single block reads both twice. */
static double bytes_of(const struct sampling_form *form)
{
    const struct sampling_rows *t = form->of->rows;
    const double logits = 4.0 * t->vocabulary, seen = 4.0 * (double)t->words, few = 4.0 * t->rule.k;
    const double passes = form->way.cluster > 1 ? 1 : 2;
    const double steps[N_STEPS] = {[PENALTY] = 2 * logits + seen, [TEMPERATURE] = 2 * logits,
                                   [TOP_K] = passes * logits + 2 * few, [SOFTMAX] = 2 * few,
                                   [TOP_P] = 2 * few, [DRAW] = few + 4 + 4 + 4};
    double chain = 0;

    for (int i = 0; i < N_STEPS; i++)
        chain += form->only < 0 || form->only == i ? steps[i] : 0;
    return t->batch * (form->way.is_chain ? chain : passes * (logits + seen) + 4 + 4);
}

static void describe(struct probe_run *r, const void *self)
{
    const struct sampling_form *form = self;
    const struct sampling_rows *t = form->of->rows;
    const bool is_cluster = form->way.cluster > 1;
    probe_fact(r, "blocks_of_a_row", "%u", form->way.cluster);
    gpu_kernel_facts(
        r,
        form->way.is_chain  ? t->top_k[is_cluster]
        : form->way.is_once ? t->once
                            : t->sample[is_cluster][t->rule.k == 0],
        SAMPLING_THREADS, sampling_shared(t, form->way.cluster));
}

static struct operation operation_of(const struct sampling_form *form)
{
    const struct sampling_rows *t = form->of->rows;
    const bool is_whole = form->only < 0;
    const bool is_chain = form->way.is_chain;
    const double rows = t->batch, logits = 4.0 * t->vocabulary * rows * (is_chain ? 3 : 1);
    const double few = rows * (4.0 * (double)t->words + 8 + (is_chain ? 16.0 * t->rule.k : 0));
    return (struct operation){.name = is_whole ? form->way.name : sampling_step_names[form->only],
                              .launch = launch,
                              .poison = is_whole ? poison : NULL,
                              .verify = is_whole ? verify : NULL, /* steps: as part of the chain */
                              .describe = is_whole || form->only == TOP_K ? describe : NULL,
                              .self = form,
                              .sets = t->sets,
                              .set_bytes = logits,
                              .bytes = bytes_of(form),
                              .memory = logits + few,
                              .kernels = is_chain && is_whole ? N_STEPS : 1};
}

static void keys_of(char keys[96], const struct sampling_rows *t)
{
    const double p = t->rule.share == UINT32_MAX ? 1 : round(t->rule.share * 0x1p-32 * 1e6) / 1e6;
    snprintf(keys, 96, "vocabulary=%u,batch=%u,k=%u,p=%g,type=fp32", (unsigned)t->vocabulary,
             (unsigned)t->batch, (unsigned)t->rule.k, p);
}

static void measure_way(struct probe_run *r, const struct looked_at *l, struct sampling_way way,
                        int only, struct condition c, unsigned flags, double copy_ns)
{
    const struct sampling_form whole = {l, way, -1}, form = {l, way, only};
    const struct operation o = operation_of(&form);
    char keys[96];

    if (!sampling_fits(r, l->rows, way.cluster))
        return;
    if (only >= 0 && probe_deep(r)) /* makes its operands */
        launch(r, &whole, 0);
    keys_of(keys, l->rows);
    operation_measure(r, keys, &o, c, flags, copy_ns);
}

/* A few rows are done soonest if as many blocks as possible share each; many rows get a block
 * each. */
static struct sampling_way best_way(struct probe_run *r, const struct sampling_rows *t,
                                    bool is_chain)
{
    static const unsigned clusters[] = {16, 8, 4, 1};
    static const uint32_t batches[] = {4, 16, 128, UINT32_MAX}; /* each is best up to this batch */
    struct sampling_way way = {is_chain ? "unfused" : "fused", 1, is_chain, false};

    for (size_t i = 0; i < PROBE_LENGTH(clusters); i++)
        if (t->batch <= batches[i] && sampling_fits(r, t, clusters[i])) {
            way.cluster = clusters[i];
            break;
        }
    way.is_once = !is_chain && way.cluster == SAMPLING_CLUSTER && sampling_can_be_once(t);
    return way;
}

static void measure_others(struct probe_run *r, const struct looked_at *l, struct condition c)
{
    static const struct sampling_way others[] = {{"cluster_16", 16, false, false},
                                                 {"cluster_8", 8, false, false},
                                                 {"cluster_4", 4, false, false},
                                                 {"block", 1, false, false}};
    for (size_t i = 0; i < PROBE_LENGTH(others); i++)
        measure_way(r, l, others[i], -1, c, PROBE_DEEP, NAN);
    for (int step = 0; l->rows->rule.k && step < N_STEPS; step++)
        measure_way(r, l, best_way(r, l->rows, true), step, c, PROBE_DEEP, NAN);
}

static void measure_condition(struct probe_run *r, const struct looked_at *l, struct condition c,
                              unsigned flags)
{
    const struct sampling_rows *t = l->rows;
    char keys[96];
    double copy_ns = NAN;

    keys_of(keys, t);
    if (t->batch > 1 && !c.stream) /* a copy of one row takes no longer than a launch */
        copy_ns = copy_measure(r, keys, 4.0 * t->vocabulary * t->batch, c, flags);
    if (t->rule.k)
        measure_way(r, l, best_way(r, t, true), -1, c, flags, copy_ns);
    measure_way(r, l, best_way(r, t, false), -1, c, flags, copy_ns);
    if (!c.stream && !c.cold)
        measure_others(r, l, c);
}

struct size {
    uint32_t vocabulary, batch, k;
    double p;
    unsigned flags;
};

static void measure_size(struct probe_run *r, struct size s)
{
    if (s.flags == PROBE_DEEP && !probe_deep(r))
        return;
    const uint64_t seed = probe_is_check_run(r) ? probe_seed(r) : TIMED_SEED;
    struct sampling_rows t = sampling_rows_new(r, s.batch, s.vocabulary, s.k, s.p, seed);
    struct looked_at l = look_at(r, &t);
    const bool can_be_warm = 4.0 * s.vocabulary * s.batch < 3 * (double)gpu_facts(r)->l2_bytes;

    for (int cold = can_be_warm ? 0 : 1; cold < 2; cold++)
        measure_condition(r, &l, (struct condition){.cold = cold}, s.flags);
    if (s.batch == 1) /* beside the graphs, on which verdicts rest */
        measure_condition(r, &l, (struct condition){.stream = true}, s.flags | PROBE_THRICE);
    look_away(&l);
    sampling_rows_free(r, &t);
}

/* --- are the draws what they should be? ------------------------------------------------------- */

/* Many draws from one row. */
struct draws {
    struct sampling_rows *rows;
    const struct sampling_reference *expected;
    uint32_t *noise, *tokens; /* on the GPU, DRAWS each */
    uint32_t *host_noise, *host_tokens;
};

static void draws_seed(struct probe_run *r, struct draws *d, uint64_t seed)
{
    for (size_t i = 0; i < DRAWS; i++)
        d->host_noise[i] = (uint32_t)(draw(&seed) >> 32);
    gpu_to_device(r, d->noise, d->host_noise, 4 * DRAWS);
}

static struct sampling_judged draw_many(struct probe_run *r, struct draws *d, bool is_chain)
{
    sampling_draw_many(r, d->rows, best_way(r, d->rows, is_chain), d->noise, d->tokens, DRAWS);
    gpu_to_host(r, d->host_tokens, d->tokens, 4 * DRAWS);
    return sampling_judge(d->expected, d->host_tokens, d->host_noise, DRAWS);
}

static bool is_wrong(struct probe_run *r, const void *self)
{
    const struct draws *d = self;
    gpu_to_host(r, d->host_tokens, d->tokens, 4 * DRAWS);
    return sampling_judge(d->expected, d->host_tokens, d->host_noise, DRAWS).wrong > 0;
}

/* Draws by uniform numbers of this seed must be float64's, except at borders, and must be
 * random. */
static void check_draws(struct probe_run *r, struct draws *d, uint64_t seed, double *border,
                        double *chi_square)
{
    draws_seed(r, d, seed);
    const struct sampling_judged j = draw_many(r, d, false);
    *border = (double)j.border / DRAWS;
    *chi_square = sampling_chi_square(d->expected, d->host_tokens, DRAWS);
    probe_require(r, j.wrong == 0, "%zu of %d draws are not those of float64", j.wrong, DRAWS);
    probe_require(r, *border <= MOST_BORDER, "%zu of %d draws lie at a border", j.border, DRAWS);
    probe_require(r, *chi_square >= LEAST_CHI_SQUARE,
                  "so large a chi-square has a probability of %g", *chi_square);
}

/* New uniform numbers are checked every time; the reported figures come from those of a fixed
 * seed. */
static void judge_fused(struct probe_run *r, struct draws *d)
{
    const struct quality_results results = {d->tokens, DRAWS, 1, 4};
    double border, chi_square;

    check_draws(r, d, probe_seed(r), &border, &chi_square);
    check_draws(r, d, 1, &border, &chi_square);
    probe_value(r, BORDER, border);
    probe_value(r, CHI_SQUARE, chi_square);
    probe_fact(r, "tokens_that_can_be_drawn", "%u", (unsigned)d->expected->kept);
    quality_digest(r, d->tokens, 4, DRAWS);
    quality_faults(r, &results, is_wrong, d);
}

/* Judges the chain, and a sampler without the penalty. */
static void judge_others(struct probe_run *r, struct draws *d)
{
    const struct sampling_rule rule = d->rows->rule;
    uint32_t *fused = probe_host_alloc(r, 4 * DRAWS);
    size_t differ = 0;

    gpu_to_host(r, fused, d->tokens, 4 * DRAWS);
    const struct sampling_judged chain = draw_many(r, d, true);
    for (size_t i = 0; i < DRAWS; i++)
        differ += fused[i] != d->host_tokens[i];
    probe_require(r, chain.wrong == 0, "%zu draws of the chain are not those of float64",
                  chain.wrong);
    probe_value(r, OPERATION_DIFFER, (double)differ / DRAWS);

    d->rows->rule.penalty = d->rows->rule.inverse_penalty = 1;
    const struct sampling_judged blind = draw_many(r, d, false);
    d->rows->rule = rule;
    probe_value(r, CONTROL, (double)blind.wrong / DRAWS);
    free(fused);
}

static void measure_quality(struct probe_run *r)
{
    if (!probe_begin_case(
            r, PROBE_TWICE,
            "vocabulary=128256,batch=%d,k=50,p=0.9,type=fp32,impl=fused,mode=graph,l2=warm", DRAWS))
        return;
    struct sampling_rows t = sampling_rows_new(r, 1, 128256, 50, 0.9, 1);
    struct looked_at l = look_at(r, &t);
    struct draws d = {.rows = &t, .expected = l.expected};

    d.noise = gpu_alloc(r, 4 * DRAWS, "uniform numbers");
    d.tokens = gpu_alloc(r, 4 * DRAWS, "tokens");
    d.host_noise = probe_host_alloc(r, 4 * DRAWS);
    d.host_tokens = probe_host_alloc(r, 4 * DRAWS);
    judge_fused(r, &d);
    judge_others(r, &d);
    gpu_release(r, d.noise);
    gpu_release(r, d.tokens);
    free(d.host_noise);
    free(d.host_tokens);
    look_away(&l);
    sampling_rows_free(r, &t);
}

/* --- odd rows --------------------------------------------------------------------------------- */

/* Rows that are hard, each in another way; they overwrite the random ones. */
enum oddity { RANDOM, TOGETHER, EQUAL, MASKED, ALL_MASKED, INFINITE, N_ODDITIES };

static void make_odd(struct probe_run *r, const struct sampling_rows *t, enum oddity oddity)
{
    const size_t n = t->parts[LOGITS].bytes / 4;
    float *x = probe_host_alloc(r, 4 * n);

    gpu_to_host(r, x, t->parts[LOGITS].memory, 4 * n);
    for (size_t i = 0; i < n; i++) {
        const size_t id = i % t->stride;
        if (oddity == TOGETHER && id < 3000) /* the high ones lie in few of the bound's parts */
            x[i] += 9;
        if (oddity == EQUAL)
            x[i] = -1.5f;
        if (oddity == MASKED || oddity == ALL_MASKED)
            x[i] = oddity == MASKED && id == t->vocabulary / 2 ? -2 : i % 3 ? -INFINITY : NAN;
        if (oddity == INFINITE && id % 97 == 96)
            x[i] = INFINITY;
    }
    gpu_to_device(r, t->parts[LOGITS].memory, x, 4 * n);
    free(x);
}

static void check_odd(struct probe_run *r, const struct sampling_rows *t, unsigned cluster)
{
    struct looked_at l = look_at(r, t);
    static const char *const what[] = {"one kernel, an odd shape", "the chain, an odd shape",
                                       "by one exchange, an odd shape"};
    for (int i = 0; i < (t->rule.k ? 3 : 1); i++) {
        const struct sampling_form form = {&l, {"odd", cluster, i == 1, i == 2}, -1};
        if (i == 2 && (cluster != SAMPLING_CLUSTER || !sampling_can_be_once(t)))
            continue;
        poison(r, &form);
        launch(r, &form, 0);
        verify(r, &form, what[i]);
    }
    look_away(&l);
}

/* Seeded random sizes; every kernel; every row is checked. */
static void check_odd_shapes(struct probe_run *r)
{
    static const unsigned clusters[] = {1, 4, 8, 16};
    uint64_t state = 7;
    unsigned done = 0;

    if (!probe_begin_case(r, 0,
                          "vocabulary=0,batch=0,k=0,p=0,type=fp32,impl=odd,mode=stream,l2=warm"))
        return;
    for (unsigned i = 0; i < ODD_SHAPES; i++) {
        const uint32_t vocabulary = 1 + (uint32_t)draw_below(&state, i % 3 ? 9000 : 40);
        const uint32_t any_k = 1 + (uint32_t)draw_below(&state, i % 2 ? SAMPLING_SORTED : 64);
        const uint32_t k = i / 4 % 3 == 2 ? 0 : any_k;
        struct sampling_rows t =
            sampling_rows_new(r, 1 + i % 3, vocabulary, k, i % 5 ? 0.8 : 1, draw(&state));
        make_odd(r, &t, (enum oddity)(i / 8));
        if (sampling_fits(r, &t, clusters[i % 4])) {
            check_odd(r, &t, clusters[i % 4]);
            done++;
        }
        sampling_rows_free(r, &t);
    }
    probe_note(r, "%u odd shapes checked", done);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The float64 reference of k=0 takes 16 bytes of host memory per logit, so the logits have a
 * limit. */
static void measure_given(struct probe_run *r)
{
    const struct size s = {.vocabulary = (uint32_t)probe_parameter(r, "vocabulary"),
                           .batch = (uint32_t)probe_parameter(r, "batch"),
                           .k = (uint32_t)probe_parameter(r, "k"),
                           .p = (double)probe_parameter(r, "p") / 1000};
    if ((uint64_t)s.vocabulary * s.batch > MOST_LOGITS)
        probe_usage(r, "vocabulary=%u,batch=%u: expected at most %d logits in all",
                    (unsigned)s.vocabulary, (unsigned)s.batch, (int)MOST_LOGITS);
    measure_size(r, s);
}

static void measure(struct probe_run *r)
{
    static const struct size sizes[] = {
        {128256, 1, 50, 0.9, 0},          {128256, 256, 50, 0.9, 0},
        {128256, 1, 0, 0.9, 0},           {32000, 1, 50, 0.9, PROBE_DEEP},
        {151936, 1, 50, 0.9, PROBE_DEEP}, {262144, 1, 50, 0.9, PROBE_DEEP},
        {128256, 1, 1, 1, PROBE_DEEP},    {128256, 1, 512, 0.9, PROBE_DEEP},
        {128256, 8, 50, 0.9, PROBE_DEEP}, {128256, 64, 50, 0.9, PROBE_DEEP}};
    static const struct size small[] = {{4099, 3, 50, 0.9, 0}, {4096, 2, 0, 0.9, 0}};

    if (operation_is_given(r)) {
        measure_given(r);
        return;
    }
    for (size_t i = 0; !probe_is_check_run(r) && i < PROBE_LENGTH(sizes); i++)
        measure_size(r, sizes[i]);
    for (size_t i = 0; probe_is_check_run(r) && i < PROBE_LENGTH(small); i++)
        measure_size(r, small[i]);
    if (probe_is_check_run(r))
        check_odd_shapes(r);
    measure_quality(r);
}

const struct probe probe = {
    .name = "sampling",
    .what = "What does it take to draw a token from a row of logits, in one kernel and in six?",
    .method = 4,
    .needs = PROBE_GPU,
    .metrics = metrics,
    .n_metrics = PROBE_LENGTH(metrics),
    .parameters = parameters,
    .n_parameters = PROBE_LENGTH(parameters),
    .measure = measure,
};
