#include "fused/common/decoder/model.h"

#include <math.h>
#include <stdio.h>

enum {
    LEAST_STAGES = 3, /* of a ring that runs ahead at all */
    SHARED_RESERVED = 512, /* bytes: half of what the system takes of an SM beside its blocks' */
    SPLIT_KEYS = 32,  /* a split has at least so many, where we choose */
    BEYOND = 24,      /* rows of a cache that no token has reached yet */
    LAYERS_MAX = 1024,
    CHAIN_LEAST = 2, /* layers */
    CHAIN_MAX = 64,
};
static const double COLD = 3;   /* weights rotate past so many times the L2 */
static const double ROOM = 0.9; /* of the free memory may be taken */

const struct decoder_model decoder_models[DECODER_MODELS] = {
    [MODEL_1B] = {"1b", {2048, 32, 8, 64, 8192, 128256}, 16, 16},
    [MODEL_3B] = {"3b", {3072, 24, 8, 128, 8192, 128256}, 28, 0},
    [MODEL_8B] = {"8b", {4096, 32, 8, 128, 14336, 128256}, 32, 0},
    [MODEL_70B] = {"70b", {8192, 64, 8, 128, 28672, 128256}, 80, 0},
};

/* --- what follows from the sizes -------------------------------------------------------------- */

static double set_bytes(const struct decoder_problem *p)
{
    const struct decoder_shape *s = &p->model.shape;
    return (double)decoder_layer_bytes(s) +
           2 * (double)decoder_cache_half(s, p->batch, p->capacity);
}

/* What lies apart from the layers: the embedding, the head, and what goes from step to step. */
static double fixed_bytes(const struct decoder_problem *p)
{
    const struct decoder_shape *s = &p->model.shape;
    return 2 * (double)decoder_matrix_bytes(s, DECODER_HEAD) + 4.0 * p->batch * s->vocabulary +
           128e6;
}

double decoder_layer_reads(const struct decoder_problem *p)
{
    const struct decoder_shape *s = &p->model.shape;
    double bytes = 2 * 2.0 * s->hidden;
    for (int m = 0; m < DECODER_MATRICES; m++)
        bytes += (double)decoder_matrix_bytes(s, (enum decoder_matrix)m);
    return bytes + 2 * 2.0 * p->batch * p->context * s->kv_heads * s->head_dim;
}

double decoder_step_reads(const struct decoder_problem *p)
{
    const struct decoder_shape *s = &p->model.shape;
    return p->model.layers * decoder_layer_reads(p) +
           (double)decoder_matrix_bytes(s, DECODER_HEAD) + 2.0 * s->hidden;
}

double decoder_problem_bytes(const struct decoder_problem *p)
{
    return fixed_bytes(p) + p->sets * set_bytes(p);
}

uint32_t decoder_chain_layers(const struct decoder_problem *p, double l2_bytes)
{
    const double bytes = decoder_layer_reads(p);
    const double least = p->model.chain ? p->model.chain : CHAIN_LEAST;
    const double n = fmax(least, ceil(COLD * l2_bytes / bytes));
    return n <= CHAIN_MAX ? (uint32_t)n : 0;
}

bool decoder_near_suits(const struct decoder_shape *s, const struct sides_map *map)
{
    for (int m = 0; m <= DECODER_HEAD; m++)
        for (uint32_t side = 0; side < 2; side++)
            if (decoder_near_groups(s, (enum decoder_matrix)m, side) < map->count[side])
                return false;
    return true;
}

uint32_t decoder_shared_bytes(const struct decoder_problem *p, uint32_t stages, bool has_residual)
{
    return decoder_shared_of(&p->model.shape, p->batch, stages, has_residual).bytes;
}

/* As many stages as fit. */
static uint32_t stages_of(const struct decoder_problem *p, uint32_t shared, bool has_residual)
{
    uint32_t stages = DECODER_STAGES;
    while (stages >= LEAST_STAGES && decoder_shared_bytes(p, stages, has_residual) > shared)
        stages--;
    return stages >= LEAST_STAGES ? stages : 0;
}

/* Two products on an SM, the second of which fills its ring while the first computes, or one. */
static uint32_t product_stages_of(const struct decoder_problem *p, uint32_t shared)
{
    const uint32_t of_two = stages_of(p, shared / 2 - SHARED_RESERVED, false);
    return of_two > 0 ? of_two : stages_of(p, shared, false);
}

/* As many as there are blocks for, while each has some keys to read. */
static uint32_t splits_of(const struct decoder_problem *p)
{
    uint32_t splits = p->blocks / (p->batch * p->model.shape.kv_heads);
    if (splits > DECODER_SPLITS)
        splits = DECODER_SPLITS;
    if (splits > (p->context - 1) / SPLIT_KEYS)
        splits = (p->context - 1) / SPLIT_KEYS;
    return splits > 0 ? splits : 1;
}

/* --- what is refused -------------------------------------------------------------------------- */

#define REFUSE(...) return snprintf(why, size, __VA_ARGS__), false

/* A row is read in vectors of 16 bytes. */
static bool columns_fit(const char *name, uint32_t columns, char *why, size_t size)
{
    if (columns == 0 || columns % 8 != 0)
        REFUSE("%s=%u: expected a multiple of 8", name, columns);
    return true;
}

static bool heads_fit(struct decoder_problem *p, char *why, size_t size)
{
    const struct decoder_shape *s = &p->model.shape;
    if (s->head_dim != 64 && s->head_dim != 128)
        REFUSE("head_dim=%u: expected 64 or 128", s->head_dim);
    if (s->kv_heads == 0 || s->heads == 0 || s->heads % s->kv_heads != 0)
        REFUSE("heads=%u: expected a multiple of kv_heads=%u", s->heads, s->kv_heads);
    const uint32_t group = s->heads / s->kv_heads, most = s->head_dim == 64 ? 4 : 8;
    if (group > most)
        REFUSE("heads=%u: with kv_heads=%u a group has %u heads, and kernels with head_dim=%u take "
               "at most %u",
               s->heads, s->kv_heads, group, s->head_dim, most);
    p->head_dim = s->head_dim;
    p->group = group > 4 ? 8 : 4;
    return true;
}

static bool sizes_fit(struct decoder_problem *p, char *why, size_t size)
{
    const struct decoder_shape *s = &p->model.shape;
    if (!heads_fit(p, why, size) || !columns_fit("hidden", s->hidden, why, size) ||
        !columns_fit("ffn", s->ffn, why, size) ||
        !columns_fit("heads x head_dim", s->heads * s->head_dim, why, size))
        return false;
    if (s->vocabulary < 2)
        REFUSE("vocabulary=%u: expected at least 2", s->vocabulary);
    if (p->model.layers == 0 || p->model.layers > LAYERS_MAX)
        REFUSE("layers=%u: expected 1 to %d", p->model.layers, LAYERS_MAX);
    if (p->batch != 1 && p->batch != 2 && p->batch != DECODER_BATCH)
        REFUSE("batch=%u: expected 1, 2 or %d", p->batch, DECODER_BATCH);
    if (p->context < 2)
        REFUSE("context=%u: expected at least 2, an old token and the new one", p->context);
    return true;
}

static bool blocks_fit(struct decoder_problem *p, const struct decoder_machine *m, char *why,
                       size_t size)
{
    const struct decoder_shape *s = &p->model.shape;
    p->blocks = m->blocks;
    if (p->blocks == 0 || p->blocks > GRID_BARRIER_BLOCKS)
        REFUSE("%u blocks: expected 1 to %d", p->blocks, GRID_BARRIER_BLOCKS);
    if (p->blocks > s->hidden)
        REFUSE("hidden=%u: fewer rows than the %u blocks, each of which must hand some over",
               s->hidden, p->blocks);
    if (p->batch * s->kv_heads > p->blocks)
        REFUSE("batch x kv_heads=%u: attention takes a block for each, and there are %u",
               p->batch * s->kv_heads, p->blocks);
    if (p->splits == 0)
        p->splits = splits_of(p);
    if (p->splits > DECODER_SPLITS || p->batch * s->kv_heads * p->splits > p->blocks)
        REFUSE("splits=%u: expected at most %d, and batch x kv_heads x splits at most %u blocks",
               p->splits, DECODER_SPLITS, p->blocks);
    if (decoder_shared_bytes(p, 0, true) > m->shared)
        REFUSE("batch=%u: vectors and residual take %u bytes of shared memory, and a block has %u",
               p->batch, decoder_shared_bytes(p, 0, true), m->shared);
    p->stages = m->has_bulk ? stages_of(p, m->shared, true) : 0;
    p->product_stages = m->has_bulk ? product_stages_of(p, m->shared) : 0;
    if (m->has_bulk && p->product_stages == 0)
        REFUSE("batch=%u: vectors leave no room for %d tiles of weights in the %u bytes of shared "
               "memory that a block has",
               p->batch, (int)LEAST_STAGES, m->shared);
    return true;
}

/* Each layer its own set, or as many as fit, as long as they are cold. */
static bool memory_fits(struct decoder_problem *p, const struct decoder_machine *m, char *why,
                        size_t size)
{
    const double cold = ceil(COLD * m->l2_bytes / set_bytes(p)) + 1;
    const double fit = floor((ROOM * m->free_bytes - fixed_bytes(p)) / set_bytes(p));
    const double wanted = fmax(p->model.layers, cold);
    const bool is_given = p->sets > 0;

    if (!is_given)
        p->sets = fit >= wanted ? (uint32_t)wanted : fit >= cold ? (uint32_t)fit : 0;
    if (p->sets == 0 || decoder_problem_bytes(p) > ROOM * m->free_bytes)
        REFUSE(
            "model=%s, context=%u, batch=%u: needs %.1f GB for weights and caches that are cold, "
            "and %.1f GB may be taken",
            p->model.name, p->context, p->batch,
            (fixed_bytes(p) + (is_given ? p->sets : cold) * set_bytes(p)) / 1e9,
            ROOM * m->free_bytes / 1e9);
    return true;
}

bool decoder_problem_make(struct decoder_problem *p, const struct decoder_machine *m, char *why,
                          size_t size)
{
    if (!sizes_fit(p, why, size))
        return false;
    if (p->capacity == 0)
        p->capacity = p->context + BEYOND;
    if (p->context > p->capacity)
        REFUSE("context=%u: the cache has %u rows", p->context, p->capacity);
    return blocks_fit(p, m, why, size) && memory_fits(p, m, why, size);
}
