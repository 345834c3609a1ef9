#include "fused/fixed_sizes/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"

PROBE_IMAGE(fixed_sizes);
PROBE_IMAGE(fixed_sizes_check);

enum {
    BUDGET_NS = 200000000,
    BESIDE = 2 * DECODER_ROUND * DECODER_WARPS * 4, /* bytes of scratch in front of x */
    STAGE = DECODER_TILE_BYTES + 16,                /* of the ring, with its two barriers */
    STATE = 2 + FIXED_DIM,                          /* fp32 that a head has of a part of the keys */
    ROW = FIXED_GROUP * FIXED_DIM,
    HOST_ROWS = 32, /* of the first item: checked on the CPU */
};
enum { CHECK_SCORES, CHECK_ATTENTION, CHECK_EXPECTED, CHECK_VERIFY };

const struct fixed_way fixed_ways[N_IMPLS] = {
    [IMPL_FIXED] = {"fixed", "fixed_sizes_fixed",
                    "all sizes are constants; what is shorter is padded"},
    [IMPL_CAPPED] = {"capped", "fixed_sizes_capped", "all but the length are constants"},
    [IMPL_GIVEN] = {"given", "fixed_sizes_given", "all sizes are arguments"},
    [IMPL_AGAIN] = {"again", "fixed_sizes_given", "the same once more"},
};

/* --- memory ----------------------------------------------------------------------------------- */

static uint32_t splits_of(struct probe_run *r, uint32_t kv_heads)
{
    const uint32_t splits = FIXED_BLOCKS * (uint32_t)gpu_facts(r)->n_sm / kv_heads;
    return splits > 0 ? splits : 1;
}

struct problem problem_open(struct probe_run *r, struct sizes most, uint32_t sets, uint32_t items)
{
    const size_t columns = (size_t)most.kv_heads * ROW, cache = 2 * columns / 4 * most.capacity;
    const uint64_t seed = probe_seed(r);
    uint32_t splits = splits_of(r, most.kv_heads);
    struct problem p = {.of = most, .sets = sets, .items = items, .most_context = most.context};

    splits = splits > FIXED_SPLITS ? splits : FIXED_SPLITS;
    p.states_bytes = 4 * (size_t)FIXED_GENERATIONS * most.kv_heads * splits * FIXED_GROUP * STATE;
    p.x_bytes = FIXED_GENERATIONS * 2 * columns;
    p.y_count = (size_t)items * most.hidden;
    p.cache = pool_normal(r, GPU_BF16, cache, sets, seed, "keys and values");
    p.weights = pool_normal(r, GPU_BF16, columns * most.hidden, sets, seed + 1, "W");
    p.q = gpu_alloc(r, 2 * items * columns, "q of all items");
    p.residual = gpu_alloc(r, 4 * p.y_count, "the residuals");
    gpu_fill_normal(r, p.q, GPU_BF16, items * columns, seed + 2);
    gpu_fill_normal(r, p.residual, GPU_FP32, p.y_count, seed + 3);
    p.states = gpu_alloc(r, p.states_bytes, "what heads have of parts of their keys");
    p.x = gpu_alloc(r, p.x_bytes, "the attention's result");
    p.y = gpu_alloc(r, 4 * p.y_count, "y of all items");
    p.barrier = gpu_alloc(r, sizeof *p.barrier, "the grid's barrier");
    CUDA(cudaMemsetAsync(p.barrier, 0, sizeof *p.barrier, gpu_stream(r)));
    p.scores = gpu_alloc(r, 8 * (size_t)items * most.kv_heads * FIXED_GROUP * most.context,
                         "scores in fp64");
    p.attention = gpu_alloc(r, 8 * items * columns, "the attention's result in fp64");
    p.expected = gpu_alloc(r, 16 * p.y_count, "y in fp64");
    for (int i = 0; i < N_IMPLS; i++)
        p.kernel[i] = gpu_kernel(r, &image_fixed_sizes, fixed_ways[i].kernel,
                                 sizeof(struct fixed_sizes_args));
    for (int i = 0; i < 4; i++)
        p.check[i] =
            gpu_kernel(r, &image_fixed_sizes_check,
                       (const char *const[]){"fixed_sizes_scores", "fixed_sizes_attention",
                                             "fixed_sizes_expected", "fixed_sizes_verify"}[i],
                       sizeof(struct fixed_sizes_verify_args));
    return p;
}

void problem_close(struct probe_run *r, struct problem *p)
{
    void *const memory[] = {p->q,       p->residual, p->states,    p->x,       p->y,
                            p->barrier, p->scores,   p->attention, p->expected};
    pool_free(r, &p->cache);
    pool_free(r, &p->weights);
    for (size_t i = 0; i < PROBE_LENGTH(memory); i++)
        gpu_release(r, memory[i]);
}

void problem_poison(struct probe_run *r, const struct problem *p)
{
    gpu_poison(r, p->states, p->states_bytes);
    gpu_poison(r, p->x, p->x_bytes);
    gpu_poison(r, p->y, 4 * p->y_count);
}

/* --- launches --------------------------------------------------------------------------------- */

/* A score in powers of two; a product of about N(0,1), as a mean over so many keys has it. */
static double q_scale(void)
{
    return 1.4426950408889634 / sqrt(FIXED_DIM);
}
static double scale_of(const struct problem *p)
{
    const double keys = p->of.context / 2.7 < 1 ? 1 : p->of.context / 2.7;
    return sqrt(keys / (p->of.kv_heads * (double)ROW));
}

/* Shared memory of a block but for the ring, in bytes. */
static size_t beside_of(const struct problem *p)
{
    const size_t x = 2 * (size_t)p->of.kv_heads * ROW;
    const size_t states = 4 * (size_t)DECODER_WARPS * FIXED_GROUP * STATE;
    return BESIDE + (x > states ? x : states);
}

/* Of the ring: as many as fit, four or more. Before compute capability 9.0 there is none. */
static uint32_t stages_of(struct probe_run *r, const struct problem *p)
{
    const size_t fit = (gpu_facts(r)->shared_per_block - beside_of(p)) / STAGE;
    if (gpu_facts(r)->cc < 90)
        return 0;
    return fit < DECODER_STAGES ? (uint32_t)fit : DECODER_STAGES;
}

static struct fixed_sizes_args prepare(struct probe_run *r, const struct problem *p,
                                       enum fixed_impl impl, uint32_t items,
                                       struct gpu_shape *shape)
{
    const uint32_t stages = stages_of(r, p);
    *shape = (struct gpu_shape){.grid = {FIXED_BLOCKS * (unsigned)gpu_facts(r)->n_sm, 1, 1},
                                .block = stages > 0 ? FIXED_THREADS_RING : DECODER_THREADS,
                                .shared = beside_of(p) + stages * STAGE,
                                .cooperative = true};
    if (shape->shared > 40 << 10)
        gpu_kernel_shared(p->kernel[impl], shape->shared, -1);
    return (struct fixed_sizes_args){.cache = p->cache.memory,
                                     .weights = p->weights.memory,
                                     .cache_stride = p->cache.stride,
                                     .weight_stride = p->weights.stride,
                                     .q = p->q,
                                     .residual = p->residual,
                                     .states = p->states,
                                     .x = p->x,
                                     .y = p->y,
                                     .barrier = p->barrier,
                                     .q_scale = (float)q_scale(),
                                     .scale = (float)scale_of(p),
                                     .context = p->of.context,
                                     .capacity = p->of.capacity,
                                     .kv_heads = p->of.kv_heads,
                                     .hidden = p->of.hidden,
                                     .splits = splits_of(r, p->of.kv_heads),
                                     .sets = p->sets,
                                     .items = items,
                                     .budget_ns = BUDGET_NS,
                                     .stages = stages};
}

void problem_facts(struct probe_run *r, const struct problem *p, enum fixed_impl impl)
{
    struct gpu_shape shape;
    prepare(r, p, impl, p->items, &shape);
    gpu_kernel_facts(r, p->kernel[impl], (int)shape.block, shape.shared);
}

void problem_launch(struct probe_run *r, const struct problem *p, enum fixed_impl impl,
                    uint32_t items)
{
    struct gpu_shape shape;
    const struct fixed_sizes_args a = prepare(r, p, impl, items, &shape);
    gpu_launch_shape(r, p->kernel[impl], &shape, &a);
}

double problem_time(struct probe_run *r, const struct problem *p, enum fixed_impl impl,
                    uint32_t items)
{
    struct gpu_shape shape;
    const struct fixed_sizes_args a = prepare(r, p, impl, items, &shape);
    return gpu_launch_ns(r, p->kernel[impl], &shape, &a);
}

/* --- is it right? ----------------------------------------------------------------------------- */

static struct fixed_sizes_verify_args in_double(const struct problem *p, struct verdict *verdict)
{
    return (struct fixed_sizes_verify_args){.cache = p->cache.memory,
                                            .weights = p->weights.memory,
                                            .cache_stride = p->cache.stride,
                                            .weight_stride = p->weights.stride,
                                            .q = p->q,
                                            .residual = p->residual,
                                            .y = p->y,
                                            .scores = p->scores,
                                            .attention = p->attention,
                                            .expected = p->expected,
                                            .verdict = verdict,
                                            .q_scale = q_scale(),
                                            .scale = scale_of(p),
                                            .context = p->of.context,
                                            .capacity = p->of.capacity,
                                            .kv_heads = p->of.kv_heads,
                                            .hidden = p->of.hidden,
                                            .sets = p->sets,
                                            .items = p->items};
}

void problem_at(struct probe_run *r, struct problem *p, uint32_t context, uint32_t capacity)
{
    p->of.context = context;
    p->of.capacity = capacity;
    const struct fixed_sizes_verify_args a = in_double(p, NULL);
    for (int i = CHECK_SCORES; i <= CHECK_EXPECTED; i++)
        gpu_launch(r, p->check[i], (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    gpu_wait(r);
}

struct verdict problem_verdict(struct probe_run *r, const struct problem *p)
{
    const struct fixed_sizes_verify_args a = in_double(p, verdict_clear(r));
    gpu_launch(r, p->check[CHECK_VERIFY], (unsigned)gpu_facts(r)->n_sm * 8, 256, 0, &a);
    return verdict_fetch(r);
}

bool problem_gave_up(struct probe_run *r, const struct problem *p)
{
    uint32_t aborted;
    gpu_to_host(r, &aborted, &p->barrier->aborted, sizeof aborted);
    if (aborted)
        CUDA(cudaMemsetAsync(p->barrier, 0, sizeof *p->barrier, gpu_stream(r)));
    return aborted != 0;
}

/* The attention of one head of item 0, in double, on the CPU. */
static void attend(const struct problem *p, const uint16_t *keys, const uint16_t *values,
                   const uint16_t *q, double *score, double *out)
{
    double most = -INFINITY, sum = 0;
    memset(out, 0, FIXED_DIM * sizeof *out);
    for (uint32_t i = 0; i < p->of.context; i++) {
        score[i] = 0;
        for (uint32_t d = 0; d < FIXED_DIM; d++)
            score[i] += half_bf16(q[d]) * half_bf16(keys[(size_t)i * FIXED_DIM + d]);
        score[i] *= q_scale();
        most = fmax(most, score[i]);
    }
    for (uint32_t i = 0; i < p->of.context; i++) {
        const double weight = exp2(score[i] - most);
        sum += weight;
        for (uint32_t d = 0; d < FIXED_DIM; d++)
            out[d] += weight * half_bf16(values[(size_t)i * FIXED_DIM + d]);
    }
    for (uint32_t d = 0; d < FIXED_DIM; d++)
        out[d] /= sum;
}

/* Rows of item 0, the first, the last and some between, against the CPU. Returns how many are
 * wrong. */
static size_t check_on_host(struct probe_run *r, const struct problem *p)
{
    const size_t columns = (size_t)p->of.kv_heads * ROW, hidden = p->of.hidden;
    const size_t half = (size_t)p->of.kv_heads * p->of.capacity * FIXED_DIM;
    uint16_t *cache = probe_host_alloc(r, 4 * half), *w = probe_host_alloc(r, 2 * columns);
    uint16_t *q = probe_host_alloc(r, 2 * columns);
    float y, residual;
    double *x = probe_host_alloc(r, sizeof *x * columns);
    double *score = probe_host_alloc(r, sizeof *score * p->of.context);
    size_t wrong = 0;

    gpu_to_host(r, cache, p->cache.memory, 4 * half);
    gpu_to_host(r, q, p->q, 2 * columns);
    for (size_t head = 0; head < columns / FIXED_DIM; head++) {
        const uint16_t *keys = cache + head / FIXED_GROUP * p->of.capacity * FIXED_DIM;
        attend(p, keys, keys + half, q + head * FIXED_DIM, score, x + head * FIXED_DIM);
    }
    for (size_t n = 0; n < HOST_ROWS; n++) {
        const size_t row = n * (hidden - 1) / (HOST_ROWS - 1);
        double sum = 0, squared = 0;
        gpu_to_host(r, w, p->weights.memory + 2 * row * columns, 2 * columns);
        gpu_to_host(r, &y, p->y + row, sizeof y);
        gpu_to_host(r, &residual, p->residual + row, sizeof residual);
        for (size_t j = 0; j < columns; j++) {
            const double product = half_bf16(w[j]) * x[j];
            sum += product;
            squared += product * product;
        }
        const double bound = scale_of(p) * 7 * 0x1p-9 * sqrt(squared) + 0x1p-18;
        wrong += !(fabs((double)y - residual - scale_of(p) * sum) <= bound);
    }
    free(cache);
    free(w);
    free(q);
    free(x);
    free(score);
    return wrong;
}

double problem_require(struct probe_run *r, const struct problem *p, const char *when)
{
    const struct verdict v = problem_verdict(r, p);
    probe_require(r, !problem_gave_up(r, p), "%s: no block waited longer than its budget", when);
    if (probe_in_full(r) && p->of.context <= FIXED_CONTEXT / 8) {
        const size_t wrong = check_on_host(r, p);
        probe_require(r, wrong == 0, "%s: %zu of %d rows are not as computed on the CPU", when,
                      wrong, (int)HOST_ROWS);
    }
    return verdict_check(r, &v, p->y_count, when);
}
