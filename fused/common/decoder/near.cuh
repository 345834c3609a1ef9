// Rows that lie in the memory behind the block's own half of the L2: see decoder.h.
//
// Of a stream from anywhere, half comes through the link between the halves of the L2, which words
// from block to block need, too. Of a stream from near memory nothing does (docs/FINDINGS.md).
#ifndef FUSED_COMMON_DECODER_NEAR_CUH
#define FUSED_COMMON_DECODER_NEAR_CUH

#include "core/device/clock.cuh"
#include "core/device/sides.cuh"
#include "fused/common/decoder/rows.cuh"

// A block has rows from anywhere, or those of its SM's side.
struct home_any {
    enum { IS_NEAR = 0 };
    __device__ __forceinline__ void find(const struct decoder_args &) {}
};
struct home_near {
    enum { IS_NEAR = 1 };
    uint32_t side, rank, count; // one of `count` SMs of that side

    __device__ __forceinline__ void find(const struct decoder_args &a)
    {
        const uint32_t both = __ldg(a.near.map.sms + sm_id());
        side = both & 1;
        rank = both / 2;
        count = a.near.map.count[side];
    }
};

// Of them `share.first` counts groups.
struct rows_near : rows {
    uint32_t side;
    __device__ __forceinline__ uint32_t unit(uint32_t i) const
    {
        return decoder_near_unit(m, side, share.first, i);
    }
};

__device__ __forceinline__ struct rows_near
rows_near_of(const struct decoder_shape &s, const struct decoder_plan &p, enum decoder_matrix m,
             const void *weights, uint32_t turn, const struct home_near &home)
{
    return {{(const char *)weights, m,
             decoder_near_share_by(&s, &p, m, home.side, home.count, home.rank, turn), p.unit_rows,
             p.columns, decoder_chunks(p.columns)},
            home.side};
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// The producer's side of the same tiles: two rows of a chunk are one copy.
__device__ __forceinline__ void rows_fill(struct ring &ring, const struct rows_near &r,
                                          const struct sides_map &map)
{
    const uint32_t n = r.share.count * r.unit_rows, lane = threadIdx.x % 32;
    const uint32_t first = r.share.first * decoder_near_pairs(r.m);

#pragma unroll 1
    for (uint32_t i = 0; i < n; i += DECODER_BLOCK_ROWS)
#pragma unroll 1
        for (uint32_t c = 0; c < r.chunks; c++)
#pragma unroll 1
            for (uint32_t q = i; q < min(i + DECODER_BLOCK_ROWS, n); q += DECODER_TILE_ROWS) {
                const uint32_t pieces = (min(n - q, (uint32_t)DECODER_TILE_ROWS) + 1) / 2;
                const uint32_t pair = first + q / 2 + min(lane, pieces - 1);
                ring_fill(ring, pieces, sides_piece(map, r.weights, r.side, pair * r.chunks + c),
                          2 * rows_chunk_bytes(r, c));
            }
}

#endif
#endif
