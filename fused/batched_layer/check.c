#include "fused/batched_layer/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

PROBE_IMAGE(batched_layer_check);

enum {
    BLOCKS_PER_SM = 8,
    FEW = 8192, /* numbers: a few great ones may all be rounded by nearly half a unit */
};
static const double EPSILON = 1e-5;        /* as the kernels have it */
static const double OPERATOR_ERROR = 2e-3; /* of one rounding to bf16 and sums in fp32 */
static const double FLIPPED = 4 * 2e-3;    /* of the typical number: an x rounded the other way */
static const double ADDED = 1e-6;          /* the same, of one addition in fp32 */
static const double LAYER_ERROR = 1e-2;
static const double BF16 = 0x1p-8; /* half a unit in the last place, relative */

/* --- memory ----------------------------------------------------------------------------------- */

static size_t heads_of(const struct decoder_shape *s)
{
    return (size_t)(s->heads + 2 * s->kv_heads) * s->head_dim;
}

struct batched_check batched_check_open(struct probe_run *r, const struct batched_tensors *t)
{
    const struct decoder_shape *s = &t->p.shape;
    const size_t batch = t->p.batch * sizeof(double), row = (size_t)s->heads * s->head_dim;
    const size_t most = heads_of(s) > 2 * (size_t)s->ffn ? heads_of(s) : 2 * (size_t)s->ffn;
    const size_t blocks = (size_t)gpu_facts(r)->n_sm * BLOCKS_PER_SM;
    return (struct batched_check){
        .t = t,
        .residual = gpu_alloc(r, batch * s->hidden, "the reference's residual"),
        .x = gpu_alloc(r, batch * s->hidden, "the reference's norm"),
        .raw = gpu_alloc(r, batch * most, "the reference's products"),
        .some = gpu_alloc(r, batch * heads_of(s), "the reference's heads"),
        .delta = gpu_alloc(r, batch * s->hidden, "what the reference adds"),
        .attention = gpu_alloc(r, batch * row, "the reference's attention"),
        .h = gpu_alloc(r, batch * s->ffn, "the reference's intermediate"),
        .scores = gpu_alloc(r, blocks * t->p.context * sizeof(double), "the reference's scores"),
        .blocks = (unsigned)blocks};
}

void batched_check_close(struct probe_run *r, struct batched_check *c)
{
    void *const all[] = {c->residual, c->x,         c->raw, c->some,
                         c->delta,    c->attention, c->h,   c->scores};
    for (size_t i = 0; i < PROBE_LENGTH(all); i++)
        gpu_release(r, all[i]);
    *c = (struct batched_check){.t = NULL};
}

/* --- the reference's operations --------------------------------------------------------------- */

static void run_on(struct probe_run *r, const struct batched_check *c, const char *operation,
                   dim3 grid, struct batched_check_args a)
{
    char name[48];
    a.shape = c->t->p.shape;
    a.batch = c->t->p.batch;
    a.context = c->t->p.context;
    a.capacity = c->t->p.capacity;
    a.epsilon = EPSILON;
    snprintf(name, sizeof name, "batched_check_%s", operation);
    gpu_launch_grid(r, gpu_kernel(r, &image_batched_layer_check, name, sizeof a), grid,
                    CHECK_THREADS, 0, &a);
}

static void run(struct probe_run *r, const struct batched_check *c, const char *operation,
                struct batched_check_args a)
{
    run_on(r, c, operation, (dim3){c->blocks, 1, 1}, a);
}

/* out = the numbers of a result. */
static void widen(struct probe_run *r, const struct batched_check *c, const void *bits,
                  size_t count, bool is_fp32, double *out)
{
    run(r, c, "widen",
        (struct batched_check_args){.bits = bits, .count = count, .is_fp32 = is_fp32, .out = out});
}

static void widen_result(struct probe_run *r, const struct batched_check *c,
                         enum batched_operator op, double *out)
{
    const struct batched_result result = batched_result_of(c->t, op);
    widen(r, c, result.memory, result.count, result.is_fp32, out);
}

/* x = norm(residual). */
static void norm(struct probe_run *r, const struct batched_check *c, uint32_t set, int which)
{
    const struct decoder_shape *s = &c->t->p.shape;
    run_on(r, c, "norm", (dim3){c->t->p.batch, 1, 1},
           (struct batched_check_args){.weights = batched_layer_at(c->t, set) +
                                                  decoder_norm_place(s, which),
                                       .in = c->residual,
                                       .out = c->x,
                                       .columns = s->hidden});
}

static void multiply(struct probe_run *r, const struct batched_check *c, enum decoder_matrix m,
                     uint32_t set, const double *in, double *out)
{
    const struct decoder_shape *s = &c->t->p.shape;
    const uint32_t rows = decoder_units(s, m) * decoder_unit_rows(m);
    const dim3 grid = {(rows + CHECK_TILE - 1) / CHECK_TILE,
                       (c->t->p.batch + CHECK_TILE - 1) / CHECK_TILE, 1};
    run_on(r, c, "multiply", grid,
           (struct batched_check_args){.weights =
                                           batched_layer_at(c->t, set) + decoder_place(s, (int)m),
                                       .in = in,
                                       .out = out,
                                       .rows = rows,
                                       .columns = decoder_columns(s, m)});
}

/* q and k of raw, in place. */
static void rotate(struct probe_run *r, const struct batched_check *c)
{
    run(r, c, "rotate", (struct batched_check_args){.out = c->raw, .rope = c->t->rope});
}

/* some = heads from `first` on, of raw. */
static void take_heads(struct probe_run *r, const struct batched_check *c, uint32_t first,
                       uint32_t count)
{
    run(r, c, "heads",
        (struct batched_check_args){.in = c->raw, .out = c->some, .rows = first, .columns = count});
}

/* attention, from raw, and from the old rows of a cache. */
static void attend(struct probe_run *r, const struct batched_check *c, uint32_t set)
{
    run(r, c, "attention",
        (struct batched_check_args){.cache = batched_cache_at(c->t, set),
                                    .in = c->raw,
                                    .out = c->attention,
                                    .scratch = c->scores});
}

static void silu(struct probe_run *r, const struct batched_check *c)
{
    run(r, c, "silu", (struct batched_check_args){.in = c->raw, .out = c->h});
}

static size_t residual_count(const struct batched_check *c)
{
    return (size_t)c->t->p.batch * c->t->p.shape.hidden;
}

/* residual += delta. */
static void add(struct probe_run *r, const struct batched_check *c)
{
    run(r, c, "add",
        (struct batched_check_args){
            .in = c->delta, .out = c->residual, .count = residual_count(c)});
}

/* --- each operator from what the one before handed over --------------------------------------- */

/* Numbers against the reference's: without bounds first, which gives their size. */
static struct verdict compare(struct probe_run *r, const struct batched_check *c,
                              struct batched_check_args of, double relative, double absolute)
{
    of.relative = relative;
    of.absolute = absolute;
    of.verdict = verdict_clear(r);
    run(r, c, "judge", of);
    return verdict_fetch(r);
}

static struct batched_found hold(struct probe_run *r, const struct batched_check *c,
                                 struct batched_check_args of, double relative, double absolute)
{
    const struct verdict size = compare(r, c, of, 0, INFINITY);
    const double typical = sqrt(size.reference_squared / (double)size.looked_at);
    const struct verdict v = compare(r, c, of, relative, absolute * typical);
    return (struct batched_found){.error = verdict_error(&v),
                                  .limit = v.looked_at < FEW ? BF16 : OPERATOR_ERROR,
                                  .wrong = v.wrong + (v.looked_at != of.count)};
}

bool batched_is_wrong(const struct batched_found *found)
{
    return found->wrong > 0 || !(found->error <= found->limit);
}

/* A result of bf16 against `reference`. */
static struct batched_found hold_result(struct probe_run *r, const struct batched_check *c,
                                        enum batched_operator op, const double *reference)
{
    const struct batched_result result = batched_result_of(c->t, op);
    return hold(r, c,
                (struct batched_check_args){.bits = result.memory,
                                            .count = result.count,
                                            .is_fp32 = result.is_fp32,
                                            .in = reference},
                result.is_fp32 ? 0 : BF16, FLIPPED);
}

static struct batched_found check_norm(struct probe_run *r, const struct batched_check *c,
                                       enum batched_operator op)
{
    if (op == OP_NORM_ATTENTION)
        widen(r, c, c->t->input, residual_count(c), true, c->residual);
    else
        widen_result(r, c, OP_ADD_O, c->residual);
    norm(r, c, 0, op == OP_NORM_FFN);
    return hold_result(r, c, op, c->x);
}

/* The new rows of the first cache. */
static struct batched_found check_append(struct probe_run *r, const struct batched_check *c)
{
    const struct decoder_shape *s = &c->t->p.shape;
    const size_t count = 2 * (size_t)c->t->p.batch * s->kv_heads * s->head_dim;
    take_heads(r, c, s->heads, 2 * s->kv_heads);
    run(r, c, "new_rows",
        (struct batched_check_args){.cache = batched_cache_at(c->t, 0), .out = c->raw});
    return hold(r, c, (struct batched_check_args){.out = c->raw, .count = count, .in = c->some},
                BF16, FLIPPED);
}

static struct batched_found check_heads(struct probe_run *r, const struct batched_check *c,
                                        enum batched_operator op)
{
    const struct decoder_shape *s = &c->t->p.shape;
    widen_result(r, c, OP_QKV, c->raw);
    rotate(r, c);
    if (op == OP_APPEND)
        return check_append(r, c);
    if (op == OP_ROPE) {
        take_heads(r, c, 0, s->heads + s->kv_heads);
        return hold_result(r, c, op, c->some);
    }
    run(r, c, "round", /* as q and the new key reach the products */
        (struct batched_check_args){
            .in = c->raw, .out = c->raw, .count = c->t->p.batch * heads_of(s)});
    attend(r, c, 0);
    return hold_result(r, c, op, c->attention);
}

/* What a product adds to the residual: bf16, or the residual less what it was. */
static struct batched_found check_added(struct probe_run *r, const struct batched_check *c,
                                        enum batched_operator op)
{
    const bool is_o = op == OP_O || op == OP_O_ADDS;
    const struct batched_result result = batched_result_of(c->t, op);
    struct batched_check_args of = {
        .bits = result.memory, .count = result.count, .is_fp32 = result.is_fp32, .in = c->delta};
    widen_result(r, c, is_o ? OP_ATTENTION : OP_SILU, is_o ? c->attention : c->h);
    multiply(r, c, is_o ? DECODER_O : DECODER_DOWN, 0, is_o ? c->attention : c->h, c->delta);
    if (!result.is_fp32)
        return hold(r, c, of, BF16, FLIPPED);
    widen(r, c, is_o ? c->t->input : c->t->middle, result.count, true, c->residual);
    of.less = c->residual;
    return hold(r, c, of, 0, FLIPPED);
}

static struct batched_found check_addition(struct probe_run *r, const struct batched_check *c,
                                           enum batched_operator op)
{
    const struct batched_result result = batched_result_of(c->t, op);
    widen(r, c, op == OP_ADD_O ? c->t->input : c->t->middle, result.count, true, c->residual);
    widen_result(r, c, op == OP_ADD_O ? OP_O : OP_DOWN, c->delta);
    add(r, c);
    return hold(
        r, c,
        (struct batched_check_args){
            .bits = result.memory, .count = result.count, .is_fp32 = true, .in = c->residual},
        0, ADDED);
}

struct batched_found batched_check_operator(struct probe_run *r, const struct batched_check *c,
                                            enum batched_operator op)
{
    switch (op) {
    case OP_NORM_ATTENTION:
    case OP_NORM_FFN: return check_norm(r, c, op);
    case OP_QKV:
    case OP_GATE_UP:
        widen_result(r, c, op == OP_QKV ? OP_NORM_ATTENTION : OP_NORM_FFN, c->x);
        multiply(r, c, op == OP_QKV ? DECODER_QKV : DECODER_GATE_UP, 0, c->x, c->raw);
        return hold_result(r, c, op, c->raw);
    case OP_SILU:
        widen_result(r, c, OP_GATE_UP, c->raw);
        silu(r, c);
        return hold_result(r, c, op, c->h);
    case OP_O:
    case OP_DOWN:
    case OP_O_ADDS:
    case OP_DOWN_ADDS: return check_added(r, c, op);
    case OP_ADD_O:
    case OP_ADD_DOWN: return check_addition(r, c, op);
    default: return check_heads(r, c, op);
    }
}

/* One that fuses has appended, too. */
static struct batched_found check_whole(struct probe_run *r, const struct batched_check *c,
                                        enum batched_operator op)
{
    struct batched_found found = batched_check_operator(r, c, op);
    if (op == OP_LOOK) {
        const struct batched_found rows = batched_check_operator(r, c, OP_APPEND);
        found.wrong += rows.wrong + batched_is_wrong(&rows);
    }
    return found;
}

double batched_require_operators(struct probe_run *r, const struct batched_check *c,
                                 const struct batched_pack *pack, const char *when)
{
    double most = 0;
    for (const uint8_t *op = pack->operators; *op != OP_END; op++) {
        const struct batched_found found = check_whole(r, c, (enum batched_operator) * op);
        probe_require(
            r, !batched_is_wrong(&found),
            "%s: %s, %s: as in float64: error %.2g, at most %.2g; %llu beyond their bound", when,
            pack->name, batched_operator_name((enum batched_operator) * op), found.error,
            found.limit, (unsigned long long)found.wrong);
        if (!(found.error <= most)) /* NaN is the greatest */
            most = found.error;
    }
    return most;
}

/* --- a large product -------------------------------------------------------------------------- */

void batched_require_large(struct probe_run *r, const struct batched_large *large, const char *when)
{
    const struct blas_gemm *g = &large->gemm;
    const uint32_t batch = g->m < CHECK_TILE ? (uint32_t)g->m : CHECK_TILE;
    const size_t count = (size_t)batch * (size_t)g->n, given = (size_t)batch * (size_t)g->k;
    double *in = gpu_alloc(r, given * sizeof *in, "the reference's prompt");
    double *out = gpu_alloc(r, count * sizeof *out, "the reference's product");
    const struct batched_problem p = {.batch = batch, .context = 1};
    const struct batched_tensors t = {.p = p};
    const struct batched_check c = {.t = &t,
                                    .blocks = (unsigned)gpu_facts(r)->n_sm * BLOCKS_PER_SM};

    widen(r, &c, g->a, given, false, in);
    run_on(r, &c, "multiply", (dim3){((unsigned)g->n + CHECK_TILE - 1) / CHECK_TILE, 1, 1},
           (struct batched_check_args){.weights = g->b,
                                       .in = in,
                                       .out = out,
                                       .rows = (uint32_t)g->n,
                                       .columns = (uint32_t)g->k});
    const struct batched_found found = hold(
        r, &c, (struct batched_check_args){.bits = g->c, .count = count, .in = out}, BF16, FLIPPED);
    probe_require(r, !batched_is_wrong(&found),
                  "%s: a large product is as in float64: error %.2g; %llu beyond their bound", when,
                  found.error, (unsigned long long)found.wrong);
    gpu_release(r, in);
    gpu_release(r, out);
}

/* --- chains of layers ------------------------------------------------------------------------- */

/* Without any rounding on the way. */
static void reference_layer(struct probe_run *r, const struct batched_check *c, uint32_t layer)
{
    const uint32_t set = layer % c->t->p.weight_sets;
    norm(r, c, set, 0);
    multiply(r, c, DECODER_QKV, set, c->x, c->raw);
    rotate(r, c);
    attend(r, c, layer % c->t->p.cache_sets);
    multiply(r, c, DECODER_O, set, c->attention, c->delta);
    add(r, c);
    norm(r, c, set, 1);
    multiply(r, c, DECODER_GATE_UP, set, c->x, c->raw);
    silu(r, c);
    multiply(r, c, DECODER_DOWN, set, c->h, c->delta);
    add(r, c);
}

double batched_require_chain(struct probe_run *r, const struct batched_check *c, uint32_t layers,
                             const char *when)
{
    const size_t count = residual_count(c);
    widen(r, c, c->t->input, count, true, c->residual);
    for (uint32_t layer = 0; layer < layers; layer++)
        reference_layer(r, c, layer);
    widen(r, c, c->t->input, count, true, c->delta);
    const struct verdict moved = compare(
        r, c, (struct batched_check_args){.out = c->residual, .count = count, .in = c->delta}, 0,
        INFINITY);
    const struct verdict apart =
        compare(r, c,
                (struct batched_check_args){
                    .bits = c->t->output, .is_fp32 = true, .count = count, .in = c->residual},
                0, INFINITY);
    const double error = sqrt(apart.error_squared / moved.error_squared);
    probe_require(r, error <= LAYER_ERROR * layers && apart.looked_at == count,
                  "%s: %u layers as in float64: error %.2g of what they add, at most %.2g", when,
                  layers, error, LAYER_ERROR * layers);
    return error;
}

/* --- bits ------------------------------------------------------------------------------------- */

/* FNV-1a over whole words. */
static uint64_t digest_of(const uint32_t *words, size_t n)
{
    uint64_t digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ words[i]) * 0x100000001b3u;
    return digest;
}

static size_t rows_bytes(const struct batched_problem *p)
{
    return 2 * 2ull * p->batch * p->shape.kv_heads * p->shape.head_dim;
}

/* The new rows of the first cache: keys, then values. */
static void fetch_rows(struct probe_run *r, const struct batched_tensors *t, char *host)
{
    const struct batched_problem *p = &t->p;
    const size_t row = 2 * (size_t)p->shape.head_dim;
    for (size_t which = 0; which < 2; which++)
        CUDA(cudaMemcpy2DAsync(host + which * (rows_bytes(p) / 2), row,
                               batched_cache_at(t, 0) + which * (batched_cache_bytes(p) / 2) +
                                   (p->context - 1) * row,
                               p->capacity * row, row, p->batch * p->shape.kv_heads,
                               cudaMemcpyDeviceToHost, gpu_stream(r)));
    gpu_wait(r);
}

uint64_t batched_digest(struct probe_run *r, const struct batched_tensors *t,
                        enum batched_operator op)
{
    const struct batched_result result = batched_result_of(t, op);
    const size_t bytes =
        result.memory ? result.count * (result.is_fp32 ? 4 : 2) : rows_bytes(&t->p);
    uint32_t *host = probe_host_alloc(r, bytes);
    if (result.memory)
        gpu_to_host(r, host, result.memory, bytes);
    else
        fetch_rows(r, t, (char *)host);
    const uint64_t digest = digest_of(host, bytes / 4);
    free(host);
    return digest;
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
static size_t greatest(const uint32_t *words, size_t count)
{
    size_t best = 0;
    for (size_t i = 0; i < count; i++)
        if ((words[i] & 0x7fffffff) > (words[best] & 0x7fffffff))
            best = i;
    return best;
}

static bool sees(struct probe_run *r, const struct batched_check *c, enum batched_operator op,
                 enum fault fault)
{
    const struct batched_result result = batched_result_of(c->t, op);
    const size_t count = result.memory ? result.count / (result.is_fp32 ? 1 : 2)
                                       : c->t->p.shape.head_dim / 2; /* of append: a row */
    uint32_t *const words = result.memory
                                ? result.memory
                                : (uint32_t *)batched_cache_at(c->t, 0) +
                                      (size_t)(c->t->p.context - 1) * (c->t->p.shape.head_dim / 2);
    uint32_t *host = probe_host_alloc(r, 4 * count);
    gpu_to_host(r, host, words, 4 * count);
    const size_t at = greatest(host, count);
    const uint32_t fake = doctored(host[at], host[(at + 1) % count], fault, result.is_fp32);

    gpu_to_device(r, words + at, &fake, sizeof fake);
    const struct batched_found found = batched_check_operator(r, c, op);
    gpu_to_device(r, words + at, &host[at], sizeof fake);
    free(host);
    return batched_is_wrong(&found);
}

double batched_check_faults(struct probe_run *r, const struct batched_check *c,
                            const struct batched_work *w)
{
    static const enum batched_impl kinds[] = {IMPL_GRAPH, IMPL_FUSED};
    int planted = 0, caught = 0;
    for (size_t i = 0; i < PROBE_LENGTH(kinds); i++) {
        const struct batched_pack *pack = &batched_packs[kinds[i]];
        batched_poison(r, c->t);
        batched_launch(r, w, pack, 1, 1);
        batched_require_operators(r, c, pack, "where no fault was planted");
        for (const uint8_t *op = pack->operators; *op != OP_END; op++)
            for (enum fault fault = 0; fault < FAULTS; fault++, planted++)
                caught += sees(r, c, (enum batched_operator) * op, fault);
    }
    probe_fact(r, "faults", "%d planted, %d seen", planted, caught);
    return (double)caught / planted;
}
