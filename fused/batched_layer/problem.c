#include "fused/batched_layer/problem.h"

#include <math.h>
#include <stdio.h>

#include "fused/batched_layer/args.h"

enum {
    BEYOND = 24,     /* rows of a cache that no token has reached yet */
    SPLIT_KEYS = 64, /* of a split, at least: two turns of its warps */
    SETS_MOST = 64,
    LAYERS_LEAST = 2,
    LAYERS_MOST = 8, /* of the shorter chain */
};
static const double COLD = 3;        /* sets rotate past so many times the L2 */
static const double ROOM = 0.85;     /* of the free memory may be taken */
static const double OTHERS = 700e6;  /* bytes: the reference, a large product, workspace */
static const double READ_RATE = 4600; /* bytes/ns */
static const double CHAIN_NS = 400e3;

/* --- sizes ------------------------------------------------------------------------------------ */

uint64_t batched_cache_bytes(const struct batched_problem *p)
{
    return 2 * decoder_cache_half(&p->shape, p->batch, p->capacity);
}

double batched_layer_reads(const struct batched_problem *p)
{
    const struct decoder_shape *s = &p->shape;
    double bytes = 2 * 2.0 * s->hidden;
    for (int m = 0; m < DECODER_MATRICES; m++)
        bytes += (double)decoder_matrix_bytes(s, (enum decoder_matrix)m);
    return bytes + 2 * 2.0 * p->batch * p->context * s->kv_heads * s->head_dim;
}

double batched_read_ns(double bytes)
{
    return bytes / READ_RATE;
}

/* What goes from operator to operator, and the reference's doubles. */
static double activation_bytes(const struct batched_problem *p)
{
    const struct decoder_shape *s = &p->shape;
    const double row = (double)(s->heads + 2 * s->kv_heads) * s->head_dim;
    return p->batch * (60.0 * s->hidden + 20.0 * row + 40.0 * s->ffn +
                       4.0 * p->splits * s->heads * (2.0 + s->head_dim));
}

#define REFUSE(...) return snprintf(why, size, __VA_ARGS__), false

static bool columns_fit(const char *name, uint32_t columns, char *why, size_t size)
{
    if (columns == 0 || columns % 8 != 0)
        REFUSE("%s=%u: expected a multiple of 8", name, columns);
    return true;
}

static bool sizes_fit(struct batched_problem *p, char *why, size_t size)
{
    const struct decoder_shape *s = &p->shape;
    if (s->head_dim != 64 && s->head_dim != 128)
        REFUSE("head_dim=%u: expected 64 or 128", s->head_dim);
    if (s->kv_heads == 0 || s->heads == 0 || s->heads % s->kv_heads != 0)
        REFUSE("heads=%u: expected a multiple of kv_heads=%u", s->heads, s->kv_heads);
    const uint32_t group = s->heads / s->kv_heads, most = s->head_dim == 64 ? 4 : 8;
    if (group > most)
        REFUSE("heads=%u: with kv_heads=%u a group has %u heads, and kernels with head_dim=%u take "
               "at most %u",
               s->heads, s->kv_heads, group, s->head_dim, most);
    if (!columns_fit("hidden", s->hidden, why, size) || !columns_fit("ffn", s->ffn, why, size))
        return false;
    if (p->batch == 0)
        REFUSE("batch=0: expected at least 1");
    if (p->context < 2)
        REFUSE("context=%u: expected at least 2, an old token and the new one", p->context);
    p->group = group > 4 ? 8 : 4;
    p->capacity = p->context + BEYOND;
    return true;
}

/* As many as the GPU has room for at once, while each has some keys. One where pairs of a sequence
 * and a kv head fill it. */
static uint32_t splits_of(const struct batched_problem *p, uint32_t n_sm)
{
    const uint32_t blocks = p->group > 4 ? LOOK_BLOCKS_8 : LOOK_BLOCKS;
    uint32_t splits = n_sm * blocks / (p->batch * p->shape.kv_heads);
    if (splits > LOOK_SPLITS)
        splits = LOOK_SPLITS;
    if (splits > p->context / SPLIT_KEYS)
        splits = p->context / SPLIT_KEYS;
    return splits > 0 ? splits : 1;
}

/* So many that all others exceed 3 x L2. */
static uint32_t sets_of(double cold, double bytes)
{
    return (uint32_t)fmin(SETS_MOST, ceil(cold / bytes) + 1);
}

bool batched_problem_make(struct batched_problem *p, const struct batched_machine *m, char *why,
                          size_t size)
{
    const double cold = COLD * m->l2_bytes;
    if (!sizes_fit(p, why, size))
        return false;
    if (p->splits == 0)
        p->splits = splits_of(p, m->n_sm);
    if (p->splits > LOOK_SPLITS)
        REFUSE("splits=%u: expected at most %d", p->splits, (int)LOOK_SPLITS);
    if (p->weight_sets == 0) /* of the smallest matrix, which is timed alone */
        p->weight_sets = sets_of(cold, (double)decoder_matrix_bytes(&p->shape, DECODER_O));
    if (p->cache_sets == 0)
        p->cache_sets = sets_of(cold, (double)batched_cache_bytes(p));
    const double weights = (double)decoder_layer_bytes(&p->shape);
    const double needs = p->weight_sets * weights + p->cache_sets * (double)batched_cache_bytes(p) +
                         activation_bytes(p) + OTHERS;
    if (needs > ROOM * m->free_bytes)
        REFUSE(
            "model=%s, context=%u, batch=%u: needs %.1f GB for weights and caches that are cold, "
            "and %.1f GB may be taken",
            p->model, p->context, p->batch, needs / 1e9, ROOM * m->free_bytes / 1e9);
    const double timed = ceil(CHAIN_NS / batched_read_ns(batched_layer_reads(p)));
    p->layers = (uint32_t)fmax(LAYERS_LEAST, fmin(LAYERS_MOST, timed));
    return true;
}

/* --- operators -------------------------------------------------------------------------------- */

const char *batched_operator_name(enum batched_operator op)
{
    static const char *const names[BATCHED_ALL_OPERATORS] = {
        [OP_NORM_ATTENTION] = "norm", [OP_QKV] = "qkv",
        [OP_ROPE] = "rope",           [OP_APPEND] = "append",
        [OP_ATTENTION] = "attention", [OP_O] = "o",
        [OP_ADD_O] = "add",           [OP_NORM_FFN] = "norm",
        [OP_GATE_UP] = "gate_up",     [OP_SILU] = "silu",
        [OP_DOWN] = "down",           [OP_ADD_DOWN] = "add",
        [OP_LOOK] = "look",           [OP_O_ADDS] = "o_adds",
        [OP_DOWN_ADDS] = "down_adds"};
    return names[op];
}

static double product_bytes(const struct batched_problem *p, double rows, double columns)
{
    return 2 * (rows * columns + p->batch * (rows + columns));
}

/* A result that is fp32 and not bf16, and the residual that it is added to. */
static double adding_bytes(const struct batched_problem *p)
{
    return p->batch * (double)p->shape.hidden * (4 - 2 + 4);
}

double batched_bytes(const struct batched_problem *p, enum batched_operator op)
{
    const struct decoder_shape *s = &p->shape;
    const double b = p->batch, hidden = s->hidden, ffn = s->ffn, d = s->head_dim;
    const double q = s->heads * d, kv = s->kv_heads * d;
    switch (op) {
    case OP_NORM_ATTENTION:
    case OP_NORM_FFN: return b * hidden * (4 + 2) + 2 * hidden;
    case OP_QKV: return product_bytes(p, q + 2 * kv, hidden);
    case OP_ROPE: return 2 * 2 * b * (q + kv) + 4 * d;
    case OP_APPEND: return 2 * 2 * b * 2 * kv;
    case OP_ATTENTION:
        return 2 * 2 * b * kv * p->context + 2 * 2 * b * q +
               (p->splits > 1 ? 2 * 4 * b * s->heads * p->splits * (2 + d) : 0);
    case OP_O: return product_bytes(p, hidden, q);
    case OP_ADD_O:
    case OP_ADD_DOWN: return b * hidden * (4 + 2 + 4);
    case OP_GATE_UP: return product_bytes(p, 2 * ffn, hidden);
    case OP_SILU: return 2 * 3 * b * ffn;
    case OP_DOWN: return product_bytes(p, hidden, ffn);
    case OP_LOOK:
        return 2 * b * (q + 2 * kv) + 4 * d + 2 * 2 * b * kv * p->context + 2 * b * q +
               (p->splits > 1 ? 2 * 4 * b * s->heads * p->splits * (2 + d) : 0);
    case OP_O_ADDS: return product_bytes(p, hidden, q) + adding_bytes(p);
    case OP_DOWN_ADDS: return product_bytes(p, hidden, ffn) + adding_bytes(p);
    default: return NAN;
    }
}

double batched_flops(const struct batched_problem *p, enum batched_operator op)
{
    const struct decoder_shape *s = &p->shape;
    const double b = p->batch, hidden = s->hidden, ffn = s->ffn, q = s->heads * s->head_dim;
    switch (op) {
    case OP_QKV: return 2 * b * hidden * (q + 2.0 * s->kv_heads * s->head_dim);
    case OP_LOOK:
    case OP_ATTENTION: return 2 * 2 * b * q * p->context;
    case OP_O_ADDS:
    case OP_O: return 2 * b * hidden * q;
    case OP_GATE_UP: return 2 * b * hidden * 2 * ffn;
    case OP_DOWN_ADDS:
    case OP_DOWN: return 2 * b * hidden * ffn;
    default: return 0;
    }
}

struct batched_floors batched_floors_of(const struct batched_problem *p, enum batched_operator op,
                                        double kernels, const struct batched_rates *rates)
{
    return (struct batched_floors){.bytes = batched_bytes(p, op) / rates->read,
                                   .arithmetic = batched_flops(p, op) / rates->tensor,
                                   .launches = kernels * rates->node};
}

struct batched_floors batched_layer_floors(const struct batched_problem *p, double kernels,
                                           const struct batched_rates *rates)
{
    struct batched_floors all = {.launches = kernels * rates->node};
    for (enum batched_operator op = 0; op < BATCHED_OPERATORS; op++) {
        const struct batched_floors one = batched_floors_of(p, op, 0, rates);
        if (one.bytes >= one.arithmetic)
            all.bytes += one.bytes;
        else
            all.arithmetic += one.arithmetic;
    }
    return all;
}
