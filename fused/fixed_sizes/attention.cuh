// One token's attention over a split of the keys of one kv head, by the heads of its group, and the
// merge of the splits. Keys and values come in tiles of whole rows, first the keys and then their
// values; softmax is computed online, in powers of two.
//
// A key or a value is D/8 lanes wide, 16 bytes a lane: a warp looks at 256/D keys at a time. Each of
// these groups of lanes keeps its own maximum, sum and row of up to four heads; where a group of heads
// has more, warps of its own see the same keys for them. States are merged in a fixed order: lanes, then
// warps, then splits.
#ifndef FUSED_FIXED_SIZES_ATTENTION_CUH
#define FUSED_FIXED_SIZES_ATTENTION_CUH

#include "fused/common/decoder/edge.cuh"
#include "fused/common/decoder/ring.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"

template <uint32_t D, uint32_t G = 4> struct attention_width {
    static constexpr uint32_t LANES = D / 8;              // of one key
    static constexpr uint32_t KEYS = 32 / LANES;          // of a warp at a time
    static constexpr uint32_t HEADS = G < 4 ? G : 4;      // of a warp
    static constexpr uint32_t PARTS = G / HEADS;          // warps that see the same keys
    static constexpr uint32_t WARPS = DECODER_WARPS / PARTS;
    static constexpr uint32_t TILE = DECODER_TILE_BYTES / (2 * D * PARTS); // keys
    static constexpr uint32_t STRIDE = WARPS * KEYS;      // keys that all warps look at in a turn
    static constexpr uint32_t TURNS = 2;                  // that are taken together
};
// Of this warp: the first of its heads, and its place among those that see other keys.
template <uint32_t D, uint32_t G> __device__ __forceinline__ uint32_t attention_first_head(void)
{
    typedef attention_width<D, G> width;
    return threadIdx.x / 32 % width::PARTS * width::HEADS;
}
template <uint32_t D, uint32_t G> __device__ __forceinline__ uint32_t attention_warp(void)
{
    return threadIdx.x / 32 / attention_width<D, G>::PARTS;
}

// Of one group of lanes: each lane has 8 of the D elements.
template <uint32_t G> struct attention_state {
    float most[G], sum[G], row[G][8];
};

template <uint32_t G>
__device__ __forceinline__ void attention_begin(struct attention_state<G> &s)
{
#pragma unroll
    for (uint32_t h = 0; h < G; h++) {
        s.most[h] = -1e30f; // finite: what no key has raised stays zero times something finite
        s.sum[h] = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            s.row[h][i] = 0;
    }
}

// Each head's product of q and a key, in every lane of the key.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ void attention_score(float (&score)[G], const float (&q)[G][8], uint4 key)
{
    float k[8];
    widen<bf16>(key, k);
#pragma unroll
    for (uint32_t h = 0; h < G; h++) {
        score[h] = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            score[h] = fmaf(q[h][i], k[i], score[h]);
        score[h] = warp_reduce<adding, attention_width<D>::LANES>(score[h]);
    }
}

// Takes N keys into the state, given their scores; a key that is not there has the score -infinity.
template <uint32_t G, uint32_t N>
__device__ __forceinline__ void attention_raise(struct attention_state<G> &s, float (&score)[N][G])
{
#pragma unroll
    for (uint32_t h = 0; h < G; h++) {
        float most = s.most[h];
#pragma unroll
        for (uint32_t n = 0; n < N; n++)
            most = fmaxf(most, score[n][h]);
        const float scale = exp2f(s.most[h] - most);
        s.most[h] = most;
        s.sum[h] *= scale;
#pragma unroll
        for (int i = 0; i < 8; i++)
            s.row[h][i] *= scale;
#pragma unroll
        for (uint32_t n = 0; n < N; n++) {
            score[n][h] = exp2f(score[n][h] - most);
            s.sum[h] += score[n][h];
        }
    }
}

template <uint32_t G>
__device__ __forceinline__ void attention_add(struct attention_state<G> &s, const float (&p)[G],
                                              uint4 value)
{
    float v[8];
    widen<bf16>(value, v);
#pragma unroll
    for (uint32_t h = 0; h < G; h++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            s.row[h][i] = fmaf(p[h], v[i], s.row[h][i]);
}

// The old keys `n` of one split, from tiles. What lies beyond them in a tile is not read.
template <uint32_t D, uint32_t G, bool WATCHED, typename SOURCE>
__device__ __forceinline__ void
attention_old(struct attention_state<attention_width<D, G>::HEADS> &s, SOURCE &source,
              const float (&q)[attention_width<D, G>::HEADS][8], const char *keys,
              const char *values, uint32_t n)
{
    typedef attention_width<D, G> width;
    constexpr uint32_t HEADS = width::HEADS, TURNS = width::TURNS;
    const uint32_t lane = threadIdx.x % 32, warp = attention_warp<D, G>();
    const uint32_t mine = warp * width::KEYS + lane / width::LANES, at = lane % width::LANES * 16;
    const uint4 none = make_uint4(0, 0, 0, 0);
    static_assert(width::TILE % (TURNS * width::STRIDE) == 0, "whole turns in a tile");

#pragma unroll 1
    for (uint32_t first = 0; first < n; first += width::TILE) {
        const uint32_t left = min(n - first, width::TILE);
        const char *key = source.template begin<WATCHED>(keys + (uint64_t)first * (2 * D));
        const char *value = source.template begin<WATCHED>(values + (uint64_t)first * (2 * D));
#pragma unroll 1
        for (uint32_t from = 0; from < left; from += TURNS * width::STRIDE) {
            uint4 k[TURNS], v[TURNS];
            float score[TURNS][HEADS];
#pragma unroll
            for (uint32_t t = 0; t < TURNS; t++) {
                const uint32_t i = from + t * width::STRIDE + mine;
                k[t] = i < left ? SOURCE::load(key + i * (2 * D) + at) : none;
                v[t] = i < left ? SOURCE::load(value + i * (2 * D) + at) : none;
            }
#pragma unroll
            for (uint32_t t = 0; t < TURNS; t++) {
                attention_score<D, HEADS>(score[t], q, k[t]);
#pragma unroll
                for (uint32_t h = 0; h < HEADS; h++)
                    if (from + t * width::STRIDE + mine >= left)
                        score[t][h] = -INFINITY;
            }
            attention_raise<HEADS, TURNS>(s, score);
#pragma unroll
            for (uint32_t t = 0; t < TURNS; t++)
                attention_add<HEADS>(s, score[t], v[t]);
        }
        source.end();
        source.end();
    }
}

// The groups of lanes of a warp become one: every lane has the warp's state of its 8 elements.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ void attention_lanes(struct attention_state<G> &s)
{
#pragma unroll 1
    for (uint32_t with = attention_width<D>::LANES; with < 32; with *= 2)
#pragma unroll
        for (uint32_t h = 0; h < G; h++) {
            const float other = __shfl_xor_sync(~0u, s.most[h], with);
            const float most = fmaxf(s.most[h], other), scale = exp2f(s.most[h] - most);
            s.most[h] = most;
            s.sum[h] *= scale;
            s.sum[h] += __shfl_xor_sync(~0u, s.sum[h], with);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                s.row[h][i] *= scale;
                s.row[h][i] += __shfl_xor_sync(~0u, s.row[h][i], with);
            }
        }
}

// What one warp leaves in shared memory: for each of its heads, of `heads` in the group, the maximum,
// the sum, the row.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ void
attention_leave(const struct attention_state<attention_width<D, G>::HEADS> &s, float *states,
                uint32_t heads)
{
    const uint32_t lane = threadIdx.x % 32, first = attention_first_head<D, G>();
#pragma unroll
    for (uint32_t h = 0; h < attention_width<D, G>::HEADS; h++) {
        if (first + h >= heads)
            break;
        float *to = states + (attention_warp<D, G>() * heads + first + h) * (2 + D);
        if (lane < attention_width<D>::LANES)
#pragma unroll
            for (int i = 0; i < 8; i += 2)
                *(float2 *)(to + 2 + lane * 8 + i) = make_float2(s.row[h][i], s.row[h][i + 1]);
        if (lane == 0)
            *(float2 *)to = make_float2(s.most[h], s.sum[h]);
    }
}

// The warps' states of one head: maximum, sum, and elements 2i and 2i + 1 of the row.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ float4 attention_warps(const float *states, uint32_t heads, uint32_t h,
                                                  uint32_t i)
{
    constexpr uint32_t WARPS = attention_width<D, G>::WARPS;
    float most = -1e30f, sum = 0;
    float2 row = make_float2(0, 0);
#pragma unroll
    for (uint32_t w = 0; w < WARPS; w++)
        most = fmaxf(most, states[(w * heads + h) * (2 + D)]);
#pragma unroll
    for (uint32_t w = 0; w < WARPS; w++) {
        const float *of = states + (w * heads + h) * (2 + D);
        const float2 head = *(const float2 *)of, two = *(const float2 *)(of + 2 + 2 * i);
        const float scale = exp2f(head.x - most);
        sum = fmaf(head.y, scale, sum);
        row.x = fmaf(two.x, scale, row.x);
        row.y = fmaf(two.y, scale, row.y);
    }
    return make_float4(most, sum, row.x, row.y);
}

#endif
