#include "fused/decoder_layer/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PROBE_IMAGE(decoder_layer_check);

enum {
    BLOCKS_PER_SM = 8,
    CHOICES_NEAR = 6,
    FEW = 8192, /* numbers: a few great ones may all be rounded by nearly half a unit */
    FLIPPED = 4 /* times PHASE_ERROR: a number of x that is rounded the other way */
};
static const double EPSILON = 1e-5;     /* as the kernels have it */
static const double PHASE_ERROR = 2e-3; /* of one rounding to bf16 and sums in fp32 */
static const double EXACT_ERROR = 2e-5; /* of sums in fp32 alone: O and down */
static const double LAYER_ERROR = 1e-2, CHAIN_ERROR = 2;
static const double BF16 = 0x1p-8; /* half a unit in the last place, relative */

const char *const decoder_phase_names[DECODER_PHASES] = {"qkv", "attention", "o", "gate_up",
                                                         "down"};

/* --- memory ----------------------------------------------------------------------------------- */

static uint32_t rows_of(const struct decoder_shape *s, enum decoder_matrix m)
{
    return decoder_units(s, m) * decoder_unit_rows(m);
}

struct decoder_check decoder_check_open(struct probe_run *r, const struct decoder_tensors *t)
{
    const struct decoder_problem *p = &t->p;
    const struct decoder_shape *s = &p->model.shape;
    const size_t batch = p->batch * sizeof(double), row = (size_t)s->heads * s->head_dim;
    const uint32_t most = rows_of(s, DECODER_GATE_UP) > rows_of(s, DECODER_QKV)
                              ? rows_of(s, DECODER_GATE_UP)
                              : rows_of(s, DECODER_QKV);
    struct decoder_check c = {.t = t};
    c.residual = gpu_alloc(r, batch * s->hidden, "the reference's residual");
    c.x = gpu_alloc(r, batch * s->hidden, "the reference's norm");
    c.raw = gpu_alloc(r, batch * most, "the reference's products");
    c.delta = gpu_alloc(r, batch * s->hidden, "what the reference adds");
    c.attention = gpu_alloc(r, batch * row, "the reference's attention");
    c.h = gpu_alloc(r, batch * s->ffn, "the reference's intermediate");
    c.scores = gpu_alloc(r, batch * s->heads * p->context, "the reference's scores");
    if (t->head)
        c.logits = gpu_alloc(r, batch * s->vocabulary, "the reference's logits");
    return c;
}

void decoder_check_close(struct probe_run *r, struct decoder_check *c)
{
    void *const all[] = {c->residual,  c->x, c->raw,    c->delta,
                         c->attention, c->h, c->scores, c->logits};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        if (all[i])
            gpu_release(r, all[i]);
    for (int i = 0; i < DECODER_CHAINS; i++)
        if (c->chain[i].pure)
            gpu_release(r, c->chain[i].pure);
    *c = (struct decoder_check){0};
}

/* --- the reference's operations --------------------------------------------------------------- */

static void run(struct probe_run *r, const struct decoder_check *c, const char *operation,
                unsigned blocks, struct decoder_check_args a)
{
    char name[48];
    a.shape = c->t->p.model.shape;
    a.batch = c->t->p.batch;
    a.context = c->t->p.context;
    a.capacity = c->t->p.capacity;
    a.epsilon = EPSILON;
    snprintf(name, sizeof name, "decoder_check_%s", operation);
    gpu_launch(r, gpu_kernel(r, &image_decoder_layer_check, name, sizeof a),
               blocks ? blocks : (unsigned)gpu_facts(r)->n_sm * BLOCKS_PER_SM, CHECK_THREADS, 0,
               &a);
}

static const char *layer_at(const struct decoder_check *c, uint32_t layer)
{
    const struct decoder_problem *p = &c->t->p;
    return c->t->weights + layer % p->sets * decoder_layer_bytes(&p->model.shape);
}

static void multiply(struct probe_run *r, const struct decoder_check *c, enum decoder_matrix m,
                     uint32_t layer, const double *in, double *out)
{
    const struct decoder_shape *s = &c->t->p.model.shape;
    const char *weights = m == DECODER_HEAD ? (const char *)c->t->head
                                            : layer_at(c, layer) + decoder_place(s, (int)m);
    run(r, c, "multiply", 0,
        (struct decoder_check_args){.weights = weights,
                                    .in = in,
                                    .out = out,
                                    .rows = rows_of(s, m),
                                    .columns = decoder_columns(s, m)});
}

static void norm(struct probe_run *r, const struct decoder_check *c, const void *weights,
                 enum decoder_rounds rounds)
{
    run(r, c, "norm", c->t->p.batch,
        (struct decoder_check_args){.weights = weights,
                                    .in = c->residual,
                                    .out = c->x,
                                    .columns = c->t->p.model.shape.hidden,
                                    .rounds = rounds});
}

static const void *norm_of(const struct decoder_check *c, uint32_t layer, int which)
{
    return layer_at(c, layer) + decoder_norm_place(&c->t->p.model.shape, which);
}

/* raw = q, k and v behind the rotation. */
static void qkv(struct probe_run *r, const struct decoder_check *c, uint32_t layer,
                enum decoder_rounds rounds)
{
    norm(r, c, norm_of(c, layer, 0), rounds);
    multiply(r, c, DECODER_QKV, layer, c->x, c->raw);
    run(r, c, "rotate", 0, (struct decoder_check_args){.out = c->raw, .rope = c->t->rope});
}

static void attention(struct probe_run *r, const struct decoder_check *c, uint32_t layer)
{
    const struct decoder_problem *p = &c->t->p;
    run(r, c, "attention", p->batch * p->model.shape.heads,
        (struct decoder_check_args){.cache = c->t->cache + layer % p->sets * decoder_cache_bytes(p),
                                    .in = c->raw,
                                    .out = c->attention,
                                    .scratch = c->scores});
}

static void gate_up(struct probe_run *r, const struct decoder_check *c, uint32_t layer,
                    enum decoder_rounds rounds)
{
    norm(r, c, norm_of(c, layer, 1), rounds);
    multiply(r, c, DECODER_GATE_UP, layer, c->x, c->raw);
    run(r, c, "activate", 0, (struct decoder_check_args){.in = c->raw, .out = c->h});
}

/* The residual and what is added to it: in fp32 where it is the packaging's. */
static void add(struct probe_run *r, const struct decoder_check *c, enum decoder_rounds rounds)
{
    run(r, c, "add", 0,
        (struct decoder_check_args){.in = c->delta,
                                    .out = c->residual,
                                    .count = c->t->p.batch * c->t->p.model.shape.hidden,
                                    .rounds = rounds});
}

static void round_if(struct probe_run *r, const struct decoder_check *c, double *values,
                     uint32_t count, enum decoder_rounds rounds)
{
    if (rounds != ROUNDS_NOT)
        run(r, c, "round", 0,
            (struct decoder_check_args){.in = values, .out = values, .count = count});
}

static void widen(struct probe_run *r, const struct decoder_check *c, struct decoder_check_args of,
                  double *out)
{
    of.out = out;
    run(r, c, "widen", 0, of);
}

/* The residual that the layers begin with: the input, or the embedding of each token. */
static void begin(struct probe_run *r, const struct decoder_check *c, const uint32_t *tokens)
{
    const struct decoder_problem *p = &c->t->p;
    const uint32_t hidden = p->model.shape.hidden;
    if (!tokens) {
        widen(r, c,
              (struct decoder_check_args){.words = (const uint32_t *)c->t->input,
                                          .layout = LAYOUT_FP32,
                                          .stride = 1,
                                          .count = p->batch * hidden},
              c->residual);
        return;
    }
    for (uint32_t b = 0; b < p->batch; b++)
        widen(r, c,
              (struct decoder_check_args){.words = (const uint32_t *)c->t->embedding +
                                                   (uint64_t)tokens[b] * (hidden / 2),
                                          .layout = LAYOUT_NEIGHBOURS,
                                          .stride = 1,
                                          .count = hidden / 2},
              c->residual + (uint64_t)b * hidden);
}

/* --- each step from what the one before handed over ------------------------------------------- */

/* What the words hold against `reference`: without bounds first, which gives their size. */
static struct verdict compare(struct probe_run *r, const struct decoder_check *c,
                              struct decoder_check_args of, const double *reference,
                              double relative, double absolute)
{
    of.in = reference;
    of.relative = relative;
    of.absolute = absolute;
    of.verdict = verdict_clear(r);
    run(r, c, "judge", 0, of);
    return verdict_fetch(r);
}

static void hold(struct probe_run *r, const struct decoder_check *c, struct decoder_check_args of,
                 const double *reference, struct decoder_found *found, enum decoder_phase phase)
{
    const bool is_exact = of.layout == LAYOUT_FP32;
    const struct verdict size = compare(r, c, of, reference, 0, INFINITY);
    const double typical = sqrt(size.reference_squared / (double)size.looked_at);
    const struct verdict v =
        compare(r, c, of, reference, is_exact ? 0 : BF16,
                (is_exact ? 10 * EXACT_ERROR : FLIPPED * PHASE_ERROR) * typical);
    const double error = verdict_error(&v);
    found->limit[phase] = v.looked_at < FEW && !is_exact ? BF16 : PHASE_ERROR;
    found->wrong[phase] += v.wrong;
    if (!(error <= found->error[phase])) /* NaN is the greatest */
        found->error[phase] = error;
}

static void hold_layer(struct probe_run *r, struct decoder_check *c,
                       const struct decoder_packing *p, uint32_t layer, struct decoder_found *found)
{
    const struct decoder_problem *q = &c->t->p;
    const struct decoder_shape *s = &q->model.shape;
    const struct decoder_left left = decoder_left_by(r, p, layer);
    const uint32_t *w = left.words;
    const enum decoder_rounds rounds = p->way->rounds;
    const struct decoder_check_args words[DECODER_PHASES] = {
        [PHASE_QKV] = {.words = w + left.at.qkv * left.stride,
                       .layout = LAYOUT_HALVES,
                       .stride = left.stride,
                       .half = s->head_dim / 2,
                       .count = q->batch * decoder_units(s, DECODER_QKV)},
        [PHASE_ATTENTION] = {.words = w + left.at.attention * left.stride,
                             .layout = LAYOUT_NEIGHBOURS,
                             .stride = left.stride,
                             .count = q->batch * s->heads * s->head_dim / 2},
        [PHASE_O] = {.words = w + left.at.o * left.stride,
                     .layout = LAYOUT_FP32,
                     .stride = left.stride,
                     .count = q->batch * s->hidden},
        [PHASE_GATE_UP] = {.words = w + left.at.h * left.stride,
                           .layout = LAYOUT_NEIGHBOURS,
                           .stride = left.stride,
                           .count = q->batch * s->ffn / 2},
        [PHASE_DOWN] = {.words = w + left.at.down * left.stride,
                        .layout = LAYOUT_FP32,
                        .stride = left.stride,
                        .count = q->batch * s->hidden}};

    qkv(r, c, layer, rounds);
    hold(r, c, words[PHASE_QKV], c->raw, found, PHASE_QKV);
    widen(r, c, words[PHASE_QKV], c->raw);
    attention(r, c, layer);
    hold(r, c, words[PHASE_ATTENTION], c->attention, found, PHASE_ATTENTION);
    widen(r, c, words[PHASE_ATTENTION], c->attention);
    multiply(r, c, DECODER_O, layer, c->attention, c->delta);
    hold(r, c, words[PHASE_O], c->delta, found, PHASE_O);
    widen(r, c, words[PHASE_O], c->delta);
    add(r, c, rounds);
    gate_up(r, c, layer, rounds);
    hold(r, c, words[PHASE_GATE_UP], c->h, found, PHASE_GATE_UP);
    widen(r, c, words[PHASE_GATE_UP], c->h);
    multiply(r, c, DECODER_DOWN, layer, c->h, c->delta);
    hold(r, c, words[PHASE_DOWN], c->delta, found, PHASE_DOWN);
    widen(r, c, words[PHASE_DOWN], c->delta);
    add(r, c, rounds);
}

/* Numbers of the new keys, or values, of a layer's cache that are not those of its mail, bit for
 * bit. */
static uint64_t wrong_rows(struct probe_run *r, const struct decoder_check *c,
                           const struct decoder_packing *p, uint32_t layer, uint32_t which)
{
    const struct decoder_problem *q = &c->t->p;
    const struct decoder_shape *s = &q->model.shape;
    const uint32_t half = s->head_dim / 2, all = s->heads + 2 * s->kv_heads;
    const size_t row = 2 * (size_t)s->head_dim, heads = (size_t)q->batch * s->kv_heads;
    const struct decoder_left left = decoder_left_by(r, p, layer);
    const size_t words = (size_t)q->batch * all * half;
    uint16_t *rows = probe_host_alloc(r, heads * row);
    uint32_t *mail = probe_host_alloc(r, 4 * words * left.stride);
    uint64_t wrong = 0;

    gpu_to_host(r, mail, left.words + left.at.qkv * left.stride, 4 * words * left.stride);
    CUDA(cudaMemcpy2DAsync(rows, row,
                           c->t->cache +
                               (2 * (layer % q->sets) + which) * (decoder_cache_bytes(q) / 2) +
                               (q->context - 1) * row,
                           q->capacity * row, row, heads, cudaMemcpyDeviceToHost, gpu_stream(r)));
    gpu_wait(r);
    for (uint32_t i = 0; i < heads * half; i++) {
        const uint32_t b = i / half / s->kv_heads, kv = i / half % s->kv_heads, at = i % half;
        const uint32_t head = s->heads + which * s->kv_heads + kv;
        const uint32_t word = mail[((size_t)(b * all + head) * half + at) * left.stride];
        const uint16_t *of = rows + (size_t)(i / half) * s->head_dim + at;
        wrong += of[0] != (uint16_t)word;
        wrong += of[half] != (uint16_t)(word >> 16);
    }
    free(rows);
    free(mail);
    return wrong;
}

struct decoder_found decoder_check_phases(struct probe_run *r, struct decoder_check *c,
                                          const struct decoder_packing *p, uint32_t layers,
                                          const uint32_t *tokens)
{
    struct decoder_found found = {{0}, {0}, {0}};
    begin(r, c, tokens);
    for (uint32_t layer = 0; layer < layers; layer++)
        hold_layer(r, c, p, layer, &found);
    for (uint32_t which = 0; which < 2; which++) /* the last layer's set has no later writer */
        found.wrong[PHASE_QKV] += wrong_rows(r, c, p, layers - 1, which);
    return found;
}

bool decoder_phases_wrong(const struct decoder_found *found)
{
    for (int i = 0; i < DECODER_PHASES; i++)
        if (found->wrong[i] > 0 || !(found->error[i] <= found->limit[i]))
            return true;
    return false;
}

double decoder_require_phases(struct probe_run *r, const struct decoder_found *found,
                              const char *when)
{
    double most = 0;
    for (int i = 0; i < DECODER_PHASES; i++) {
        probe_require(r, found->wrong[i] == 0 && found->error[i] <= found->limit[i],
                      "%s: %s: %llu elements are wrong, error %.2g of at most %.2g", when,
                      decoder_phase_names[i], (unsigned long long)found->wrong[i], found->error[i],
                      found->limit[i]);
        most = fmax(most, found->error[i]);
    }
    return most;
}

/* --- a chain of layers, and a step ------------------------------------------------------------ */

static void chain_layer(struct probe_run *r, const struct decoder_check *c, uint32_t layer,
                        enum decoder_rounds rounds)
{
    const struct decoder_problem *p = &c->t->p;
    const struct decoder_shape *s = &p->model.shape;
    qkv(r, c, layer, rounds);
    round_if(r, c, c->raw, p->batch * rows_of(s, DECODER_QKV), rounds);
    attention(r, c, layer);
    round_if(r, c, c->attention, p->batch * s->heads * s->head_dim, rounds);
    multiply(r, c, DECODER_O, layer, c->attention, c->delta);
    add(r, c, rounds);
    gate_up(r, c, layer, rounds);
    round_if(r, c, c->h, p->batch * s->ffn, rounds);
    multiply(r, c, DECODER_DOWN, layer, c->h, c->delta);
    add(r, c, rounds);
}

/* The chain's result, in c->residual or c->logits. */
static const double *compute_chain(struct probe_run *r, const struct decoder_check *c,
                                   uint32_t layers, bool is_whole, enum decoder_rounds rounds)
{
    uint32_t first[DECODER_BATCH];
    if (is_whole)
        gpu_to_host(r, first, c->t->tokens, c->t->p.batch * sizeof *first);
    begin(r, c, is_whole ? first : NULL);
    for (uint32_t layer = 0; layer < layers; layer++)
        chain_layer(r, c, layer, rounds);
    if (!is_whole)
        return c->residual;
    norm(r, c, c->t->head_norm, rounds);
    multiply(r, c, DECODER_HEAD, 0, c->x, c->logits);
    return c->logits;
}

static uint32_t results_of(const struct decoder_check *c, bool is_whole)
{
    const struct decoder_shape *s = &c->t->p.model.shape;
    return c->t->p.batch * (is_whole ? s->vocabulary : s->hidden);
}

static struct verdict distance(struct probe_run *r, const struct decoder_check *c,
                               const void *words, enum decoder_layout layout,
                               const double *reference, uint32_t count)
{
    const struct decoder_check_args of = {
        .words = words, .layout = layout, .stride = 1, .count = count};
    return compare(r, c, of, reference, 0, INFINITY);
}

/* Computed once for each length; the last place is used for whatever length comes late. */
static const struct decoder_chain *chain_of(struct probe_run *r, struct decoder_check *c,
                                            uint32_t layers, bool is_whole)
{
    const uint32_t count = results_of(c, is_whole);
    struct decoder_chain *of = c->chain;
    while (of < c->chain + DECODER_CHAINS - 1 && of->layers > 0 &&
           (of->layers != layers || of->is_whole != is_whole))
        of++;
    if (of->layers == layers && of->is_whole == is_whole)
        return of;
    if (of->pure)
        gpu_release(r, of->pure);
    *of = (struct decoder_chain){.layers = layers, .is_whole = is_whole};
    of->pure = gpu_alloc(r, count * sizeof *of->pure, "a chain in float64");
    const double *pure = compute_chain(r, c, layers, is_whole, ROUNDS_NOT);
    CUDA(cudaMemcpyAsync(of->pure, pure, count * sizeof *pure, cudaMemcpyDeviceToDevice,
                         gpu_stream(r)));
    struct verdict v = distance(r, c, is_whole ? (const void *)of->pure : c->t->input,
                                is_whole ? LAYOUT_F64 : LAYOUT_FP32, of->pure, count);
    of->moved = sqrt(is_whole ? v.reference_squared : v.error_squared);
    const double *rounding = compute_chain(r, c, layers, is_whole, ROUNDS_BEFORE);
    v = distance(r, c, rounding, LAYOUT_F64, of->pure, count);
    of->rounded = sqrt(v.error_squared) / of->moved;
    return of;
}

static double require_distance(struct probe_run *r, const struct decoder_check *c,
                               const struct decoder_chain *of, const void *words, const char *when)
{
    const struct verdict v =
        distance(r, c, words, LAYOUT_FP32, of->pure, results_of(c, of->is_whole));
    const double error = sqrt(v.error_squared) / of->moved;
    const double limit = of->layers == 1 && !of->is_whole ? LAYER_ERROR : CHAIN_ERROR * of->rounded;
    probe_require(r, error <= limit, "%s: %u layers%s: error %.2g of at most %.2g", when,
                  of->layers, of->is_whole ? " and the head" : "", error, limit);
    return error;
}

double decoder_require_chain(struct probe_run *r, struct decoder_check *c, uint32_t layers,
                             const char *when)
{
    return require_distance(r, c, chain_of(r, c, layers, false), c->t->output, when);
}

/* One sequence's token against the device's own logits and those of the reference. */
static void require_token(struct probe_run *r, const float *logits, const double *pure, uint32_t n,
                          uint32_t token, double error, const char *when)
{
    uint32_t best = 0;
    double most = -INFINITY, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (logits[i] > logits[best])
            best = i;
        most = fmax(most, pure[i]);
        squares += pure[i] * pure[i];
    }
    const double near = CHOICES_NEAR * error * sqrt(squares / n);
    probe_require(r, token == best, "%s: token %u has the greatest logit, which %u has", when,
                  token, best);
    probe_require(r, token < n && pure[token] >= most - near,
                  "%s: token %u is among the greatest in float64", when, token);
}

double decoder_require_step(struct probe_run *r, struct decoder_check *c, const char *when)
{
    const struct decoder_problem *p = &c->t->p;
    const uint32_t n = p->model.shape.vocabulary, count = p->batch * n;
    const struct decoder_chain *of = chain_of(r, c, p->model.layers, true);
    const double error = require_distance(r, c, of, c->t->logits, when);
    float *logits = probe_host_alloc(r, count * sizeof *logits);
    double *pure = probe_host_alloc(r, count * sizeof *pure);
    uint32_t tokens[DECODER_BATCH];

    gpu_to_host(r, logits, c->t->logits, count * sizeof *logits);
    gpu_to_host(r, pure, of->pure, count * sizeof *pure);
    gpu_to_host(r, tokens, c->t->tokens + p->batch, p->batch * sizeof *tokens);
    for (uint32_t b = 0; b < p->batch; b++)
        require_token(r, logits + (size_t)b * n, pure + (size_t)b * n, n, tokens[b], of->rounded,
                      when);
    free(logits);
    free(pure);
    return error;
}

/* --- bits ------------------------------------------------------------------------------------- */

/* FNV-1a over whole words. */
static uint64_t digest_of(struct probe_run *r, const void *device, size_t words, uint64_t digest)
{
    uint32_t *host = probe_host_alloc(r, 4 * words);
    gpu_to_host(r, host, device, 4 * words);
    for (size_t i = 0; i < words; i++)
        digest = (digest ^ host[i]) * 0x100000001b3u;
    free(host);
    return digest;
}

uint64_t decoder_digest(struct probe_run *r, const struct decoder_tensors *t, uint32_t steps)
{
    const struct decoder_problem *p = &t->p;
    const uint64_t basis = 0xcbf29ce484222325u;
    if (steps == 0)
        return digest_of(r, t->output, (size_t)p->batch * p->model.shape.hidden, basis);
    return digest_of(r, t->logits, (size_t)p->batch * p->model.shape.vocabulary,
                     digest_of(r, t->tokens, (size_t)(steps + 1) * p->batch, basis));
}

/* --- planted faults --------------------------------------------------------------------------- */

enum fault { FAULT_NAN, FAULT_SIGN, FAULT_DOUBLED, FAULT_ZERO, FAULT_NEIGHBOUR, FAULTS };

/* One number of a word: all of it, or its upper half, which is a bf16. */
static uint32_t doctored(uint32_t word, uint32_t next, enum fault fault, bool is_fp32)
{
    switch (fault) {
    case FAULT_NAN: return word | 0x7fff0000;
    case FAULT_SIGN: return word ^ 0x80000000;
    case FAULT_DOUBLED: return word + 0x00800000;
    case FAULT_ZERO: return is_fp32 ? 0 : word & 0xffff;
    default: return next;
    }
}

/* The word whose number is greatest: where a fault is no rounding error. */
static uint32_t greatest(const uint32_t *words, uint32_t count, uint32_t stride)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++)
        if ((words[i * stride] & 0x7fffffff) > (words[best * stride] & 0x7fffffff))
            best = i;
    return best;
}

static bool sees(struct probe_run *r, struct decoder_check *c, const struct decoder_packing *p,
                 const uint32_t *words, uint32_t count, enum fault fault, bool is_fp32)
{
    const uint32_t stride = decoder_left_by(r, p, 0).stride;
    uint32_t *host = probe_host_alloc(r, 4ull * count * stride);
    gpu_to_host(r, host, words, 4ull * count * stride);
    const uint32_t at = greatest(host, count, stride), next = (at + 1) % count;
    const uint32_t fake = doctored(host[at * stride], host[next * stride], fault, is_fp32);
    uint32_t *place = (uint32_t *)(uintptr_t)words + (uint64_t)at * stride;

    gpu_to_device(r, place, &fake, sizeof fake);
    const struct decoder_found found = decoder_check_phases(r, c, p, 1, NULL);
    gpu_to_device(r, place, &host[at * stride], sizeof fake);
    free(host);
    return decoder_phases_wrong(&found);
}

double decoder_check_faults(struct probe_run *r, struct decoder_check *c,
                            const struct decoder_packing *p)
{
    const struct decoder_problem *q = &c->t->p;
    const struct decoder_shape *s = &q->model.shape;
    const struct decoder_work work = {.layers = 1, .keeps_mail = true};
    decoder_launch(r, p, &work);
    const struct decoder_left left = decoder_left_by(r, p, 0);
    const struct {
        uint32_t at, count;
        bool is_fp32;
    } outputs[DECODER_PHASES] = {
        [PHASE_QKV] = {left.at.qkv, q->batch * decoder_units(s, DECODER_QKV), false},
        [PHASE_ATTENTION] = {left.at.attention, q->batch * s->heads * s->head_dim / 2, false},
        [PHASE_O] = {left.at.o, q->batch * s->hidden, true},
        [PHASE_GATE_UP] = {left.at.h, q->batch * s->ffn / 2, false},
        [PHASE_DOWN] = {left.at.down, q->batch * s->hidden, true}};
    const struct decoder_found right = decoder_check_phases(r, c, p, 1, NULL);
    int caught = 0;

    probe_require(r, !decoder_phases_wrong(&right), "what no fault was planted in is right");
    for (int phase = 0; phase < DECODER_PHASES; phase++)
        for (enum fault fault = 0; fault < FAULTS; fault++)
            caught += sees(r, c, p, left.words + (uint64_t)outputs[phase].at * left.stride,
                           outputs[phase].count, fault, outputs[phase].is_fp32);
    probe_fact(r, "faults", "%d planted, %d seen", DECODER_PHASES * FAULTS, caught);
    return (double)caught / (DECODER_PHASES * FAULTS);
}
