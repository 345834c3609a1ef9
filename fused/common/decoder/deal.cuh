// The code of decoder.h. Kernels include this file; fused/common/decoder.c compiles it for the
// host.
#ifndef FUSED_COMMON_DECODER_DEAL_CUH
#define FUSED_COMMON_DECODER_DEAL_CUH

#include "fused/common/decoder/decoder.h"

DECODER_FUNCTION uint32_t decoder_unit_rows(enum decoder_matrix m)
{
    return m == DECODER_QKV ? 2 : m == DECODER_GATE_UP ? 4 : 1;
}

DECODER_FUNCTION uint32_t decoder_units(const struct decoder_shape *s, enum decoder_matrix m)
{
    return m == DECODER_QKV       ? (s->heads + 2 * s->kv_heads) * s->head_dim / 2
           : m == DECODER_GATE_UP ? s->ffn / 2
           : m == DECODER_HEAD    ? s->vocabulary
           : m >= DECODER_GATE    ? s->ffn
                                  : s->hidden;
}

DECODER_FUNCTION uint32_t decoder_columns(const struct decoder_shape *s, enum decoder_matrix m)
{
    return m == DECODER_O ? s->heads * s->head_dim : m == DECODER_DOWN ? s->ffn : s->hidden;
}

DECODER_FUNCTION uint32_t decoder_row(const struct decoder_shape *s, enum decoder_matrix m,
                                      uint32_t i)
{
    if (m == DECODER_QKV) {
        const uint32_t shift = s->head_dim == 64 ? 5 : 6, half = s->head_dim / 2, pair = i / 2;
        return (pair >> shift) * s->head_dim + pair % half + i % 2 * half;
    }
    if (m == DECODER_GATE_UP)
        return i / 4 * 2 + i / 2 % 2 + i % 2 * s->ffn;
    return m == DECODER_UP ? s->ffn + i : i;
}

DECODER_FUNCTION uint32_t decoder_chunks(uint32_t columns)
{
    return (columns + DECODER_CHUNK - 1) / DECODER_CHUNK;
}

DECODER_FUNCTION struct decoder_share
decoder_share_by(const struct decoder_plan *p, uint32_t blocks, uint32_t block, uint32_t turn)
{
    const uint32_t place = block >= turn ? block - turn : block + blocks - turn;
    struct decoder_share share;
    share.first = place * p->each + (place < p->more ? place : p->more);
    share.count = p->each + (place < p->more);
    return share;
}

DECODER_FUNCTION uint32_t decoder_turn_after(const struct decoder_plan *p, uint32_t blocks,
                                             uint32_t turn)
{
    const uint32_t next = turn + p->more;
    return next >= blocks ? next - blocks : next;
}

DECODER_FUNCTION struct decoder_share decoder_share_of(uint32_t units, uint32_t blocks,
                                                       uint32_t block, uint32_t turn)
{
    const struct decoder_plan p = {0, units / blocks, units % blocks, 0, 0};
    return decoder_share_by(&p, blocks, block, turn);
}

DECODER_FUNCTION uint32_t decoder_next_turn(uint32_t units, uint32_t blocks, uint32_t turn)
{
    const struct decoder_plan p = {0, units / blocks, units % blocks, 0, 0};
    return decoder_turn_after(&p, blocks, turn);
}

DECODER_FUNCTION uint64_t decoder_aligned(uint64_t bytes)
{
    return (bytes + DECODER_ALIGN - 1) / DECODER_ALIGN * DECODER_ALIGN;
}

DECODER_FUNCTION uint64_t decoder_matrix_bytes(const struct decoder_shape *s, enum decoder_matrix m)
{
    return 2ull * decoder_units(s, m) * decoder_unit_rows(m) * decoder_columns(s, m);
}

DECODER_FUNCTION uint64_t decoder_place(const struct decoder_shape *s, int matrix)
{
    uint64_t place = 0;
    for (int m = 0; m < matrix; m++)
        place += decoder_aligned(decoder_matrix_bytes(s, (enum decoder_matrix)m));
    return place;
}

DECODER_FUNCTION struct decoder_plan decoder_plan_of(const struct decoder_shape *s,
                                                     enum decoder_matrix m, uint32_t blocks)
{
    const uint32_t units = decoder_units(s, m);
    const enum decoder_matrix lies = m == DECODER_GATE || m == DECODER_UP ? DECODER_GATE_UP : m;
    struct decoder_plan p;
    p.place = m == DECODER_HEAD ? 0 : decoder_place(s, (int)lies);
    p.each = units / blocks;
    p.more = units % blocks;
    p.unit_rows = decoder_unit_rows(m);
    p.columns = decoder_columns(s, m);
    return p;
}

DECODER_FUNCTION uint64_t decoder_norm_place(const struct decoder_shape *s, int which)
{
    return decoder_place(s, DECODER_MATRICES) + (uint64_t)which * decoder_aligned(2ull * s->hidden);
}

DECODER_FUNCTION uint64_t decoder_layer_bytes(const struct decoder_shape *s)
{
    return decoder_norm_place(s, 2);
}

DECODER_FUNCTION uint64_t decoder_cache_half(const struct decoder_shape *s, uint32_t batch,
                                             uint32_t capacity)
{
    return decoder_aligned(2ull * batch * s->kv_heads * capacity * s->head_dim);
}

DECODER_FUNCTION struct decoder_mail decoder_mail_of(const struct decoder_shape *s, uint32_t batch,
                                                     uint32_t splits, uint32_t blocks)
{
    const uint32_t rows = (s->heads + 2 * s->kv_heads) * s->head_dim;
    struct decoder_mail m;
    m.qkv = 0;
    m.split = m.qkv + batch * (s->heads + 2 * s->kv_heads) * s->head_dim / 2;
    m.attention = m.split + batch * s->heads * splits * (2 + s->head_dim);
    m.o = m.attention + batch * s->heads * s->head_dim / 2;
    m.h = m.o + batch * s->hidden;
    m.down = m.h + batch * s->ffn / 2;
    m.best = m.down + batch * s->hidden;
    m.x = m.best + batch * blocks * 2;
    m.raw = m.x + batch * s->hidden / 2;
    m.words = m.raw + batch * (2 * s->ffn > rows ? 2 * s->ffn : rows);
    return m;
}

DECODER_FUNCTION struct decoder_shared
decoder_shared_of(const struct decoder_shape *s, uint32_t batch, uint32_t stages, int has_residual)
{
    const uint32_t group = s->heads / s->kv_heads, row = s->heads * s->head_dim;
    const uint32_t width = s->ffn > row ? s->ffn : row;
    const uint32_t x = 2 * batch * (width > s->hidden ? width : s->hidden);
    /* q of the group, the new key and value, and a state of softmax for each warp */
    const uint32_t attention =
        2 * (group + 2) * s->head_dim + 4 * DECODER_WARPS * group * (2 + s->head_dim);
    struct decoder_shared m;
    m.ring = 0;
    m.barriers = stages * DECODER_TILE_BYTES;
    m.residual = (uint32_t)decoder_aligned(m.barriers + 16 * stages);
    m.x = (uint32_t)decoder_aligned(m.residual + (has_residual ? 4 * batch * s->hidden : 0));
    m.sums = (uint32_t)decoder_aligned(m.x + (x > attention ? x : attention));
    m.rope = m.sums + 4 * 2 * DECODER_ROUND * DECODER_WARPS;
    m.few = (uint32_t)decoder_aligned(m.rope + 4 * s->head_dim);
    m.plans = m.few + 4 * 64;
    m.bytes = m.plans + (uint32_t)sizeof(struct decoder_plan) * DECODER_PLANS;
    return m;
}

DECODER_FUNCTION uint32_t decoder_near_group(enum decoder_matrix m)
{
    return decoder_unit_rows(m) == 1 ? 2 : 1;
}

DECODER_FUNCTION uint32_t decoder_near_pairs(enum decoder_matrix m)
{
    return decoder_near_group(m) * decoder_unit_rows(m) / 2;
}

DECODER_FUNCTION uint32_t decoder_near_groups(const struct decoder_shape *s, enum decoder_matrix m,
                                              uint32_t side)
{
    const uint32_t group = decoder_near_group(m);
    return ((decoder_units(s, m) + group - 1) / group + 1 - side) / 2;
}

DECODER_FUNCTION uint64_t decoder_near_bytes(const struct decoder_shape *s, enum decoder_matrix m)
{
    return (uint64_t)SIDES_BOTH * decoder_near_groups(s, m, 0) * decoder_near_pairs(m) *
           decoder_chunks(decoder_columns(s, m));
}

DECODER_FUNCTION uint64_t decoder_near_place(const struct decoder_shape *s, int matrix)
{
    uint64_t place = 0;
    for (int m = 0; m < matrix; m++)
        place += decoder_near_bytes(s, (enum decoder_matrix)m);
    return place;
}

DECODER_FUNCTION uint64_t decoder_near_layer_bytes(const struct decoder_shape *s)
{
    return decoder_near_place(s, DECODER_MATRICES);
}

DECODER_FUNCTION struct decoder_plan decoder_near_plan_of(const struct decoder_shape *s,
                                                          enum decoder_matrix m, uint32_t side,
                                                          uint32_t blocks)
{
    const uint32_t groups = decoder_near_groups(s, m, side);
    struct decoder_plan p;
    p.place = m >= DECODER_HEAD ? 0 : decoder_near_place(s, (int)m);
    p.each = groups / blocks;
    p.more = groups % blocks;
    p.unit_rows = decoder_unit_rows(m);
    p.columns = decoder_columns(s, m);
    return p;
}

DECODER_FUNCTION struct decoder_share decoder_near_share_by(const struct decoder_shape *s,
                                                            const struct decoder_plan *p,
                                                            enum decoder_matrix m, uint32_t side,
                                                            uint32_t blocks, uint32_t block,
                                                            uint32_t turn)
{
    /* Only the head's rows can be odd in number: `hidden` is a multiple of 8. */
    const uint32_t group = decoder_near_group(m), units = m == DECODER_HEAD ? s->vocabulary : ~0u;
    struct decoder_share share = decoder_share_by(p, blocks, block, turn);
    const uint32_t end = (2 * (share.first + share.count) - 1 + side) * group; // of the last one
    share.count *= group;
    if (share.count > 0 && end > units)
        share.count -= end - units;
    return share;
}

DECODER_FUNCTION uint32_t decoder_near_row(enum decoder_matrix m, uint32_t side, uint32_t pair)
{
    const uint32_t pairs = decoder_near_pairs(m);
    return ((2 * (pair / pairs) + side) * pairs + pair % pairs) * 2;
}

DECODER_FUNCTION uint32_t decoder_near_unit(enum decoder_matrix m, uint32_t side, uint32_t first,
                                            uint32_t i)
{
    const uint32_t shift = decoder_unit_rows(m) == 1; // of decoder_near_group()
    return ((2 * (first + (i >> shift)) + side) << shift) + (i & shift);
}

DECODER_FUNCTION struct decoder_share decoder_keys_of(uint32_t context, uint32_t splits,
                                                      uint32_t split)
{
    const uint32_t old = context - 1, each = (old + splits - 1) / splits;
    struct decoder_share keys;
    keys.first = split * each < old ? split * each : old;
    keys.count = old - keys.first < each ? old - keys.first : each;
    return keys;
}

#endif
