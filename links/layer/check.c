/* layer: is it right? Held against float64, against the other ranks, and against what was left
 * before. */
#include "links/layer/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fused/common/decoder/reference.h"

enum { CHOICES_NEAR = 6 /* errors from the greatest logit, as in decoder_layer */ };
static const double LAYER_ERROR = 1e-2;

/* --- one layer -------------------------------------------------------------------------------- */

/* The first rank's output; how many numbers have other bits on another one. */
static double take_output(const struct bench *b, enum way way, float *to)
{
    const size_t n = b->share.model.shape.hidden;
    double differ = 0;

    links_read(b->links, 0, to, bench_at(&b->output[way], 0, 0), n * sizeof *to);
    for (int rank = 1; rank < b->gpus; rank++) {
        links_read(b->links, rank, b->left, bench_at(&b->output[way], rank, 0), n * sizeof *to);
        for (size_t i = 0; i < n; i++)
            differ += memcmp(&b->left[i], &to[i], sizeof *to) != 0;
    }
    return differ;
}

/* FNV-1a over whole words. */
static uint64_t digest_on(const void *words, size_t n, uint64_t digest)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)words + i * sizeof bits, sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3u;
    }
    return digest;
}

static const uint64_t NO_WORDS = 0xcbf29ce484222325u;

static uint64_t digest_of(const struct bench *b, const float *values)
{
    return digest_on(values, b->share.model.shape.hidden, NO_WORDS);
}

/* The residual behind so many layers; 0: the input. */
static double run_chain(const struct bench *b, enum way way, uint32_t layers, float *to)
{
    if (layers == 0) {
        links_read(b->links, 0, to, bench_at(&b->input, 0, 0), b->input.bytes);
        return 0;
    }
    for (int rank = 0; rank < b->gpus; rank++)
        links_fill(b->links, rank, bench_at(&b->output[way], rank, 0), 0xff, b->output[way].bytes);
    bench_launch(b, way, (struct work){layers, 0});
    bench_wait(b);
    return take_output(b, way, to);
}

/* One whole layer in float64: from the residual before it to the one behind it. */
static void compute(struct bench *b, uint32_t set, double *residual)
{
    const struct decoder_shape *s = &b->whole.model.shape;
    const size_t qkv = (size_t)(s->heads + 2 * s->kv_heads) * s->head_dim;
    const size_t row = (size_t)s->heads * s->head_dim;
    char *weights = malloc(b->drawn.bytes), *cache = malloc(b->drawn_cache.bytes);
    double *values = malloc((qkv + row + 2 * (size_t)s->hidden + s->ffn) * sizeof *values);
    float *rope = bench_angles(b);

    if (!weights || !cache || !values)
        probe_fail(b->r, "no memory on the host for a whole layer");
    bench_deal_layer(b, set, 1);
    links_read(b->links, 0, weights, bench_at(&b->drawn, 0, 0), b->drawn.bytes);
    links_read(b->links, 0, cache, bench_at(&b->drawn_cache, 0, 0), b->drawn_cache.bytes);
    const struct reference_layer layer = {.shape = s,
                                          .batch = 1,
                                          .context = b->whole.context,
                                          .capacity = b->whole.capacity,
                                          .weights = weights,
                                          .cache = cache,
                                          .rope = rope,
                                          .epsilon = (double)EPSILON,
                                          .rounds = ROUNDS_NOT};
    const struct reference_values of = {values, values + qkv, values + qkv + row,
                                        values + qkv + row + s->hidden,
                                        values + qkv + row + s->hidden + s->ffn};
    reference_whole_layer(&layer, residual, &of);
    free(weights);
    free(cache);
    free(values);
    free(rope);
}

/* Behind layer `number`, in float64, from what is in `before`. */
static const double *after_layer(struct bench *b, uint32_t number, struct known *known)
{
    const uint32_t n = b->share.model.shape.hidden;
    const uint64_t digest = digest_of(b, b->before);

    if (known->after && known->before == digest)
        return known->after;
    if (!known->after)
        known->after = probe_host_alloc(b->r, n * sizeof *known->after);
    known->before = digest;
    for (uint32_t i = 0; i < n; i++)
        known->after[i] = (double)b->before[i];
    compute(b, (number - 1) % b->share.sets, known->after);
    return known->after;
}

/* Layer `number`, counted from 1, from what the layers before it left. Returns its error. */
static double verify_layer(struct bench *b, enum way way, uint32_t number, struct known *known,
                           double *differ)
{
    const uint32_t n = b->share.model.shape.hidden;
    double error = 0, moved = 0;

    *differ += run_chain(b, way, number - 1, b->before);
    *differ += run_chain(b, way, number, b->out);
    const double *after = after_layer(b, number, known);
    for (uint32_t i = 0; i < n; i++) {
        const double off = (double)b->out[i] - after[i];
        const double by = after[i] - (double)b->before[i];
        error += off * off;
        moved += by * by;
    }
    error = sqrt(error / moved);
    probe_require(b->r, error <= LAYER_ERROR, "%s: layer %u: error %.2g of at most %.2g",
                  way_names[way], number, error, LAYER_ERROR);
    return error;
}

/* --- chains ----------------------------------------------------------------------------------- */

/* What the ranks' outputs hold is the same on all, and what it was. */
void bench_require_bits(struct bench *b, enum way way, const char *when)
{
    const double differ = take_output(b, way, b->out);
    const uint64_t digest = digest_of(b, b->out);
    if (b->digest[way] == 0)
        b->digest[way] = digest;
    if (way == GRAPH_NCCL)
        memcpy(b->timed, b->out, b->output[way].bytes);
    probe_require(b->r, differ == 0, "%s, %s: %.0f numbers differ between ranks", way_names[way],
                  when, differ);
    probe_require(b->r, digest == b->digest[way], "%s, %s: the same bits as before", way_names[way],
                  when);
}

/* What verified launches left in `out` of the longer chain, and what the timed ones do. NCCL may
 * take another kernel in a graph; its sums are then other roundings. */
static void require_chain(struct bench *b, enum way way)
{
    const uint32_t n = b->share.model.shape.hidden;
    double off = 0, all = 0;

    if (way != GRAPH_NCCL) {
        probe_require(b->r, digest_of(b, b->out) == b->digest[way],
                      "%s: what is timed leaves the bits of what is verified", way_names[way]);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double apart = (double)b->out[i] - (double)b->timed[i];
        off += apart * apart;
        all += (double)b->out[i] * (double)b->out[i];
    }
    probe_require(b->r, sqrt(off / all) <= LAYER_ERROR,
                  "%s: what is timed is %.2g from what is verified, of at most %.2g",
                  way_names[way], sqrt(off / all), LAYER_ERROR);
}

/* --- steps ------------------------------------------------------------------------------------ */

void bench_forget_choice(const struct bench *b, enum way way, uint32_t token)
{
    for (int rank = 0; rank < b->gpus; rank++) {
        links_fill(b->links, rank, bench_at(&b->logits[way], rank, 0), 0xff, b->logits[way].bytes);
        links_fill(b->links, rank, bench_at(&b->tokens[way], rank, 0), 0xff, b->tokens[way].bytes);
        links_write(b->links, rank, bench_at(&b->tokens[way], rank, 0), &token, sizeof token);
    }
}

/* What so many steps left: their tokens, the same on all ranks, and in `rated` the last one's
 * logits, of which the last token has the greatest, the lowest among equals. Returns a digest of
 * both. */
static uint64_t take_choice(struct bench *b, enum way way, uint32_t steps, uint32_t *last,
                            const char *when)
{
    const uint32_t rows = b->share.model.shape.vocabulary, all = rows * (uint32_t)b->gpus;
    uint32_t token[1 + STEPS_MOST], other[1 + STEPS_MOST], best = 0;
    int differ = 0;

    for (int rank = 0; rank < b->gpus; rank++) {
        uint32_t *to = rank == 0 ? token : other;
        links_read(b->links, rank, to, bench_at(&b->tokens[way], rank, 0), sizeof token);
        links_read(b->links, rank, b->rated + (size_t)rank * rows,
                   bench_at(&b->logits[way], rank, 0), rows * sizeof *b->rated);
        differ += memcmp(to, token, (1 + steps) * sizeof *to) != 0;
    }
    for (uint32_t i = 1; i < all; i++)
        if (b->rated[i] > b->rated[best])
            best = i;
    *last = token[steps];
    probe_require(b->r, differ == 0, "%s, %s: %d ranks have chosen other tokens", way_names[way],
                  when, differ);
    probe_require(b->r, *last == best, "%s, %s: token %u has the greatest logit, which %u has",
                  way_names[way], when, *last, best);
    return digest_on(b->rated, all, digest_on(token, 1 + steps, NO_WORDS));
}

/* NCCL may take another kernel in a graph, and another token among near ties. */
void bench_require_choice(struct bench *b, enum way way, const char *when)
{
    uint32_t unused;
    const uint64_t digest = take_choice(b, way, STEPS_MOST, &unused, when);

    if (b->chosen[way] == 0)
        b->chosen[way] = digest;
    if (way != GRAPH_NCCL)
        probe_require(b->r, digest == b->chosen[way],
                      "%s, %s: the same tokens and logits as before", way_names[way], when);
}

static uint64_t run_steps(struct bench *b, enum way way, uint32_t token, uint32_t steps,
                          uint32_t *last)
{
    bench_forget_choice(b, way, token);
    bench_launch(b, way, (struct work){b->step_layers, steps});
    bench_wait(b);
    return take_choice(b, way, steps, last, "when verified");
}

/* All logits in float64, of the residual in `before`: by the first rank, of the whole head. */
static double *rate(struct bench *b)
{
    const uint32_t n = b->whole.model.shape.hidden, rows = b->whole.model.shape.vocabulary;
    const struct gpu_shape shape = {.grid = {(unsigned)gpu_facts(b->r)->n_sm * DEALERS, 1, 1},
                                    .block = LAYER_RATE_THREADS};
    const struct layer_rate_args a = {bench_at(&b->head, 0, 0), bench_at(&b->x, 0, 0),
                                      bench_at(&b->rates, 0, 0), rows, n};
    uint16_t *norm = probe_host_alloc(b->r, n * sizeof *norm);
    double *x = probe_host_alloc(b->r, n * sizeof *x), squares = 0,
           *pure = probe_host_alloc(b->r, rows * sizeof *pure);

    links_read(b->links, 0, norm, bench_at(&b->head_norm, 0, 0), n * sizeof *norm);
    for (uint32_t i = 0; i < n; i++)
        squares += (double)b->before[i] * (double)b->before[i];
    for (uint32_t i = 0; i < n; i++)
        x[i] = (double)b->before[i] * reference_bf16(norm[i]) / sqrt(squares / n + (double)EPSILON);
    links_write(b->links, 0, bench_at(&b->x, 0, 0), x, n * sizeof *x);
    links_launch_at(b->links, 0, b->rate, &shape, &a, sizeof a);
    links_read(b->links, 0, pure, bench_at(&b->rates, 0, 0), rows * sizeof *pure);
    free(norm);
    free(x);
    return pure;
}

/* Logits against float64, and the token among the greatest of those. */
static void require_rates(struct bench *b, enum way way, uint32_t token)
{
    const uint32_t rows = b->whole.model.shape.vocabulary;
    double *pure = rate(b), off = 0, squares = 0, most = -INFINITY;

    for (uint32_t i = 0; i < rows; i++) {
        const double apart = (double)b->rated[i] - pure[i];
        off += apart * apart;
        squares += pure[i] * pure[i];
        most = fmax(most, pure[i]);
    }
    const double error = sqrt(off / squares);
    probe_require(b->r, error <= LAYER_ERROR, "%s: logits: error %.2g of at most %.2g",
                  way_names[way], error, LAYER_ERROR);
    probe_require(b->r,
                  token < rows && pure[token] >= most - CHOICES_NEAR * error * sqrt(squares / rows),
                  "%s: token %u is among the greatest in float64", way_names[way], token);
    free(pure);
}

/* A step's logits are those of what its layers leave, which are verified as such; and two steps are
 * two times one. */
static void verify_steps(struct bench *b, enum way way)
{
    const size_t all = b->whole.model.shape.vocabulary;
    uint32_t first, second, again;

    (void)run_chain(b, way, b->step_layers, b->before);
    (void)run_steps(b, way, b->token, 1, &first);
    require_rates(b, way, first);
    const uint64_t digest = run_steps(b, way, b->token, STEPS_MOST, &second);
    const uint64_t logits = digest_on(b->rated, all, NO_WORDS);
    (void)run_steps(b, way, first, 1, &again);
    probe_require(b->r, again == second && digest_on(b->rated, all, NO_WORDS) == logits,
                  "%s: the second of two steps is a step from the first one's token",
                  way_names[way]);
    if (way != GRAPH_NCCL)
        probe_require(b->r, digest == b->chosen[way],
                      "%s: timed steps leave the bits of what is verified", way_names[way]);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Single layers of the chain in float64; the last one in every round. */
double bench_verify(struct bench *b, enum way way, double *differ)
{
    const uint32_t numbers[VERIFIED] = {b->step_layers, 1, b->layers, 2 * b->layers};
    double error = 0;

    *differ = 0;
    for (size_t i = probe_in_full(b->r) ? 0 : VERIFIED - 1; i < PROBE_LENGTH(numbers); i++) {
        const double one = verify_layer(b, way, numbers[i], &b->known[i], differ);
        error = one <= error || isnan(error) ? error : one; /* NaN stays */
    }
    require_chain(b, way);
    verify_steps(b, way);
    return error;
}

void bench_require_same(struct bench *b)
{
    for (enum way way = NEAR; way < GRAPH_NCCL; way++)
        if (b->digest[way]) {
            probe_require(b->r, b->digest[way] == b->digest[PUSH],
                          "push and %s leave the same bits", way_names[way]);
            probe_require(b->r, b->chosen[way] == b->chosen[PUSH],
                          "push and %s choose by the same bits", way_names[way]);
        }
}
