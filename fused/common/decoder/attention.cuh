// One token's attention over a split of the keys of one kv head, by the heads of its group, and the
// merge of the splits. Keys and values come in tiles of whole rows, first the keys and then their
// values; softmax is computed online, in powers of two.
//
// Both products are by the warp's matrix instruction (core/device/mma.cuh): by multiply-adds and
// shuffles a split of 64 keys that lay in shared memory took 2.1 us. A warp takes 8 keys at a time.
//
// Scores: keys are A as they lie in memory, as weights are in rows.cuh: lane (g, t) loads 16 bytes
// of each half of a line of 128 bytes of key g, and q is B, column 2h the lower and 2h + 1 the
// upper half of head h. Each lane ends with the score of key g and head t; where a group has more
// than four heads, of t + 4 too.
//
// Output: A has the heads' weights of the 8 keys, rows 0 to 7 their upper bits and rows 8 to 15
// what bf16 leaves of them, so that weights keep 16 bits. B is the values: lane (g, t) loads 16
// bytes of keys 2t and 2t + 1, elements 8g to 8g + 7, and column g of product j is element 8g + j.
// Lane (g, t) ends with elements 16t to 16t + 15 of each 64 of head g.
//
// Each warp keeps its own maximum, sum and row of every head. States are merged in a fixed order:
// warps, then splits.
#ifndef FUSED_COMMON_DECODER_ATTENTION_CUH
#define FUSED_COMMON_DECODER_ATTENTION_CUH

#include "fused/common/decoder/rows.cuh"

// D: 64 or 128 elements of a head. G: heads of a group, at most; 4 or 8.
template <uint32_t D, uint32_t G> struct attention_width {
    static constexpr uint32_t LINES = D / 64;                       // of 128 bytes, of a row
    static constexpr uint32_t FOURS = G / 4;                        // heads
    static constexpr uint32_t TILE = DECODER_TILE_BYTES / (2 * D);  // keys
    // keys that all warps take in a turn
    static constexpr uint32_t STRIDE = 8 * DECODER_WARPS;
    static_assert(D % 64 == 0 && G % 4 == 0 && G <= 8 && TILE % STRIDE == 0,
                  "whole turns in a tile");
};

// Of a warp. most, sum: of head t + 4n; sum: of this lane's keys alone. row: see above; of a
// product's four numbers, the two of the upper bits and the two of the rest.
template <uint32_t D, uint32_t G> struct attention_state {
    float most[G / 4], sum[G / 4], row[D / 64][8][4];
};

template <uint32_t D, uint32_t G>
__device__ __forceinline__ void attention_begin(struct attention_state<D, G> &s)
{
#pragma unroll
    for (uint32_t n = 0; n < G / 4; n++) {
        s.most[n] = -1e30f; // finite: what no key has raised stays zero times something finite
        s.sum[n] = 0;
    }
#pragma unroll
    for (uint32_t l = 0; l < D / 64; l++)
#pragma unroll
        for (uint32_t j = 0; j < 8; j++)
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                s.row[l][j][i] = 0;
}

// What the lane has of q as matrix B, from `heads` rows of D bf16 in shared memory.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ void attention_q(uint4 (&q)[G / 4][D / 64], const char *rows,
                                            uint32_t heads)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (uint32_t n = 0; n < G / 4; n++)
#pragma unroll
        for (uint32_t l = 0; l < D / 64; l++) {
            const uint32_t head = 4 * n + g / 2;
            q[n][l] = head < heads ? *(const uint4 *)(rows + head * (2 * D) + l * 128 + g % 2 * 64 +
                                                      t * 16)
                                   : make_uint4(0, 0, 0, 0);
        }
}

// 8 keys. key(b), byte b of this lane's key g; value(i, b), byte b of key 2t + i: functions that
// load 16 bytes. is_there: whether key g is one; those that are not come after those that are, and
// what is loaded for them has to be finite.
template <uint32_t D, uint32_t G, typename KEY, typename VALUE>
__device__ __forceinline__ void
attention_take(struct attention_state<D, G> &s, const uint4 (&q)[G / 4][D / 64], float by,
               bool is_there, KEY key, VALUE value)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, swap = g % 2 * 64;
    uint4 k[D / 64][2], v[D / 64][2];
#pragma unroll
    for (uint32_t l = 0; l < D / 64; l++)
#pragma unroll
        for (uint32_t h = 0; h < 2; h++)
            k[l][h] = key(l * 128 + (h * 64 ^ swap) + t * 16);
#pragma unroll
    for (uint32_t l = 0; l < D / 64; l++)
#pragma unroll
        for (uint32_t i = 0; i < 2; i++)
            v[l][i] = value(i, l * 128 + g * 16);

    uint32_t weights[2] = {0, 0}; // row g of A
#pragma unroll
    for (uint32_t n = 0; n < G / 4; n++) {
        float c[4] = {0, 0, 0, 0};
#pragma unroll
        for (uint32_t l = 0; l < D / 64; l++)
            rows_multiply(c, k[l][0], k[l][1], q[n][l]);
        const float score = is_there ? (swap ? c[2] + c[1] : c[0] + c[3]) * by : -INFINITY;
        float most = fmaxf(s.most[n], score);
#pragma unroll
        for (int with = 4; with < 32; with *= 2)
            most = fmaxf(most, __shfl_xor_sync(~0u, most, with));
        const float scale = exp2f(s.most[n] - most), weight = exp2f(score - most);
        s.most[n] = most;
        s.sum[n] = fmaf(s.sum[n], scale, weight);

        const float upper = bf16::widen(bf16::narrow(make_float2(weight, 0))).x;
        const uint32_t bits = bf16::narrow(make_float2(upper, weight - upper));
        const bool is_mine = g / 4 == n; // row g is one of these heads
        const float row_scale = __shfl_sync(~0u, scale, g % 4);
        const uint32_t one = __shfl_sync(~0u, bits, 8 * t + g % 4);
        const uint32_t two = __shfl_sync(~0u, bits, 8 * t + 4 + g % 4);
        weights[0] = is_mine ? __byte_perm(one, two, 0x5410) : weights[0];
        weights[1] = is_mine ? __byte_perm(one, two, 0x7632) : weights[1];
#pragma unroll
        for (uint32_t l = 0; l < D / 64; l++)
#pragma unroll
            for (uint32_t j = 0; j < 8; j++)
#pragma unroll
                for (uint32_t i = 0; i < 4; i++)
                    s.row[l][j][i] *= G == 4 || is_mine ? row_scale : 1;
    }
#pragma unroll
    for (uint32_t l = 0; l < D / 64; l++) {
        const uint32_t a[4] = {v[l][0].x, v[l][0].y, v[l][0].z, v[l][0].w};
        const uint32_t b[4] = {v[l][1].x, v[l][1].y, v[l][1].z, v[l][1].w};
#pragma unroll
        for (uint32_t j = 0; j < 8; j++)
            mma_bf16_8(s.row[l][j], weights[0], weights[1],
                       __byte_perm(a[j / 2], b[j / 2], j % 2 ? 0x7632 : 0x5410));
    }
}

// What one warp leaves in shared memory: for each of `heads` heads the maximum, the sum, the row.
template <uint32_t D, uint32_t G>
__device__ __forceinline__ void attention_leave(struct attention_state<D, G> &s, float *states,
                                                uint32_t heads)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    float *to = states + (warp * heads + g) * (2 + D);
    if (g < heads)
#pragma unroll
        for (uint32_t l = 0; l < D / 64; l++)
#pragma unroll
            for (uint32_t j = 0; j < 16; j += 2) {
                const float(&one)[4] = s.row[l][j % 8], (&two)[4] = s.row[l][j % 8 + 1];
                *(float2 *)(to + 2 + 64 * l + 16 * t + j) =
                    make_float2(one[j / 8] + one[2 + j / 8], two[j / 8] + two[2 + j / 8]);
            }
#pragma unroll
    for (uint32_t n = 0; n < G / 4; n++) {
        float sum = s.sum[n];
#pragma unroll
        for (int with = 4; with < 32; with *= 2)
            sum += __shfl_xor_sync(~0u, sum, with);
        if (g == 0 && 4 * n + t < heads)
            *(float2 *)(states + (warp * heads + 4 * n + t) * (2 + D)) = make_float2(s.most[n],
                                                                                     sum);
    }
}

// The warps' states of head h of `heads`: maximum, sum, and elements 2i and 2i + 1 of the row.
template <uint32_t D, uint32_t WARPS>
__device__ __forceinline__ float4 attention_warps(const float *states, uint32_t heads, uint32_t h,
                                                  uint32_t i)
{
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
