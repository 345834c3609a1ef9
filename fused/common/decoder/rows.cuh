// A block's rows of a matrix times the vectors of a batch: bf16 times bf16, sums in fp32, by the
// warp's matrix instruction (core/device/mma.cuh): multiply-adds and the sums of lanes would take
// longer than the bytes.
//
// Rows are taken DECODER_TILE_ROWS = 8 at a time, and DECODER_CHUNK columns. A warp has two lines
// of 128 bytes of each row of a chunk. Lane (g, t) loads 16 bytes of each half of a line of row g;
// where g is odd, the upper half first, so that the lanes of two rows never want the same banks.
// These words are A as they come, once columns are renamed: rows g and g + 8 of A are the two
// halves of the line of row g. B has column 2b for the lower half of sequence b's vector, and 2b +
// 1 for the upper: of C the lane needs two numbers, and their sum is that of row g and sequence t.
// The other two are of no use.
//
// A thread holds the sums of DECODER_BLOCK_ROWS rows; the eight warps' sums of a round of rows meet
// in shared memory, where one thread finishes each unit. Every sum is added in an order that
// depends on nothing but the number of columns: all packagings give the same bits, on any number of
// blocks.
#ifndef FUSED_COMMON_DECODER_ROWS_CUH
#define FUSED_COMMON_DECODER_ROWS_CUH

#include "core/device/mma.cuh"
#include "fused/common/decoder/edge.cuh"
#include "fused/common/decoder/ring.cuh"
#include "fused/common/vector.cuh"

// What a block has to do of one matrix.
struct rows {
    const char *weights;
    enum decoder_matrix m;
    struct decoder_share share; // units
    uint32_t unit_rows, columns, chunks;

    // The unit that the block has as its i-th.
    __device__ __forceinline__ uint32_t unit(uint32_t i) const { return share.first + i; }
};

__device__ __forceinline__ struct rows rows_of(const struct decoder_plan &p, enum decoder_matrix m,
                                               const void *weights, uint32_t turn)
{
    return {(const char *)weights, m, decoder_share_by(&p, gridDim.x, blockIdx.x, turn),
            p.unit_rows, p.columns, decoder_chunks(p.columns)};
}

// Of one row; the last chunk may be shorter.
__device__ __forceinline__ uint32_t rows_chunk_bytes(const struct rows &r, uint32_t c)
{
    return 2 * min(r.columns - c * DECODER_CHUNK, (uint32_t)DECODER_CHUNK);
}

// Where chunk c of the block's row i begins.
__device__ __forceinline__ const char *rows_at(const struct rows &r, const struct decoder_shape &s,
                                               uint32_t i, uint32_t c)
{
    const uint32_t row = decoder_row(&s, r.m, r.share.first * r.unit_rows + i);
    return r.weights + (uint64_t)row * (2 * r.columns) + c * (2 * DECODER_CHUNK);
}

// Where the lane's 16 bytes of half 0 or 1 of its line l = 0 or 1 lie in a row of a chunk.
__device__ __forceinline__ uint32_t rows_offset(uint32_t l, uint32_t half)
{
    return (l * DECODER_WARPS + threadIdx.x / 32) * 128 + half * 64 + threadIdx.x % 4 * 16;
}

enum : uint32_t { ROWS_LINES = DECODER_CHUNK * 2 / 128 / DECODER_WARPS }; // of a warp, in a row

// What the lane has of the vectors in a chunk: half h of sequence b, where its g is 2b + h.
template <uint32_t B>
__device__ __forceinline__ void rows_vector(uint4 (&of)[ROWS_LINES], const uint4 *x,
                                            const struct rows &r, uint32_t c)
{
    const uint32_t g = threadIdx.x % 32 / 4, bytes = rows_chunk_bytes(r, c);
    const uint32_t from = g / 2 * (2 * r.columns) + c * (2 * DECODER_CHUNK);
#pragma unroll
    for (uint32_t l = 0; l < ROWS_LINES; l++) {
        const uint32_t at = rows_offset(l, g % 2);
        of[l] = g < 2 * B && at < bytes ? x[(from + at) / 16] : make_uint4(0, 0, 0, 0);
    }
}

// Adds 8 rows of a line: `first` is the half that the lane loads first.
__device__ __forceinline__ void rows_multiply(float (&sum)[4], uint4 first, uint4 second, uint4 x)
{
    mma_bf16(sum, first.x, second.x, first.y, second.y, x.x, x.y);
    mma_bf16(sum, first.z, second.z, first.w, second.w, x.z, x.w);
}

// Loads the two halves of the lane's lines of one row, from where that row's chunk begins. Beyond a
// short chunk's end it loads the row's last words again: there x is zero.
template <typename SOURCE>
__device__ __forceinline__ void rows_load(uint4 (&w)[ROWS_LINES][2], const char *row,
                                          uint32_t bytes)
{
    const uint32_t swap = threadIdx.x / 4 % 2;
#pragma unroll
    for (uint32_t l = 0; l < ROWS_LINES; l++)
#pragma unroll
        for (uint32_t h = 0; h < 2; h++)
            w[l][h] = SOURCE::load(row + min(rows_offset(l, h ^ swap), bytes - 16));
}

enum : uint32_t { ROWS_TILES = DECODER_BLOCK_ROWS / DECODER_TILE_ROWS };

// Up to DECODER_BLOCK_ROWS rows from row i on, one chunk, from memory.
template <uint32_t B, typename SOURCE>
__device__ __forceinline__ void rows_chunk(float (&sum)[ROWS_TILES][4], const struct rows &r,
                                           const struct decoder_shape &s, uint32_t i, uint32_t left,
                                           uint32_t c, const uint4 *x)
{
    const uint32_t g = threadIdx.x % 32 / 4, bytes = rows_chunk_bytes(r, c);
    uint4 part[ROWS_LINES], w[ROWS_TILES][ROWS_LINES][2];
#pragma unroll
    for (uint32_t q = 0; q < ROWS_TILES; q++)
        if (q * DECODER_TILE_ROWS < left)
            rows_load<SOURCE>(w[q], rows_at(r, s, i + min(q * DECODER_TILE_ROWS + g, left - 1), c),
                              bytes);
    rows_vector<B>(part, x, r, c);
#pragma unroll
    for (uint32_t l = 0; l < ROWS_LINES; l++)
#pragma unroll
        for (uint32_t q = 0; q < ROWS_TILES; q++)
            if (q * DECODER_TILE_ROWS < left)
                rows_multiply(sum[q], w[q][l][0], w[q][l][1], part[l]);
}

// The same from the ring, all chunks, of TILES tiles: two at a time, so that neither waits for its
// sums. What the last one has beyond the block's rows is old: its sums are dropped.
template <uint32_t B, uint32_t TILES, bool WATCHED, typename SOURCE>
__device__ __forceinline__ void rows_from_ring(float (&sum)[ROWS_TILES][4], SOURCE &source,
                                               const struct rows &r, const uint4 *x)
{
    const uint32_t g = threadIdx.x % 32 / 4;
#pragma unroll 1
    for (uint32_t c = 0; c < r.chunks; c++) {
        const uint32_t bytes = rows_chunk_bytes(r, c);
        uint4 part[ROWS_LINES];
        rows_vector<B>(part, x, r, c);
#pragma unroll
        for (uint32_t q = 0; q < TILES; q += 2) {
            uint4 w[2][ROWS_LINES][2];
#pragma unroll
            for (uint32_t n = 0; n < 2 && q + n < TILES; n++)
                rows_load<SOURCE>(w[n], source.template begin<WATCHED>(nullptr) + g * bytes, bytes);
#pragma unroll
            for (uint32_t l = 0; l < ROWS_LINES; l++)
#pragma unroll
                for (uint32_t n = 0; n < 2 && q + n < TILES; n++)
                    rows_multiply(sum[q + n], w[n][l][0], w[n][l][1], part[l]);
#pragma unroll
            for (uint32_t n = 0; n < 2 && q + n < TILES; n++)
                source.end();
        }
    }
}

// All of the block's rows. x: B vectors of `columns` bf16, in shared memory. Afterwards each unit's
// sums are given to one thread: finish(unit, b, sums of its rows, DECODER_UNIT_ROWS at most).
// `sums`: shared memory, see decoder_shared; of each warp, of each sequence, a round of rows. The
// caller synchronises before, once x is there.
template <uint32_t B, bool WATCHED, typename SOURCE, typename ROWS, typename FINISH>
__device__ __forceinline__ void rows_take(SOURCE &source, const ROWS &r,
                                          const struct decoder_shape &s, const uint4 *x,
                                          float *sums, FINISH finish)
{
    constexpr uint32_t ROUND = DECODER_ROUND / B;
    const uint32_t n = r.share.count * r.unit_rows, warp = threadIdx.x / 32;
    uint32_t done = 0;
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll 1
    for (uint32_t round = 0; round * ROUND < n; round++) {
        const uint32_t first = round * ROUND, end = min(first + ROUND, n);
        float *of = sums + round % 2 * (DECODER_ROUND * DECODER_WARPS);
#pragma unroll 1
        for (uint32_t i = first; i < end; i += DECODER_BLOCK_ROWS) {
            float sum[ROWS_TILES][4] = {};
            if constexpr (SOURCE::IS_RING) {
                const uint32_t left = end - i;
                if (left > 24)
                    rows_from_ring<B, 4, WATCHED>(sum, source, r, x);
                else if (left > 16)
                    rows_from_ring<B, 3, WATCHED>(sum, source, r, x);
                else if (left > 8)
                    rows_from_ring<B, 2, WATCHED>(sum, source, r, x);
                else
                    rows_from_ring<B, 1, WATCHED>(sum, source, r, x);
            } else
#pragma unroll 1
                for (uint32_t c = 0; c < r.chunks; c++)
                    rows_chunk<B, SOURCE>(sum, r, s, i, end - i, c, x);
#pragma unroll
            for (uint32_t q = 0; q < ROWS_TILES; q++) {
                const uint32_t row = i - first + q * DECODER_TILE_ROWS + g;
                if (t < B && first + row < end)
                    of[warp * DECODER_ROUND + t * ROUND + row] =
                        g % 2 ? sum[q][2] + sum[q][1] : sum[q][0] + sum[q][3];
            }
        }
        decoder_sync();
#pragma unroll 1
        for (uint32_t k = threadIdx.x; k * r.unit_rows < (end - first) * B; k += DECODER_THREADS) {
            const uint32_t unit = k / B, b = k % B;
            const float *from = of + b * ROUND + unit * r.unit_rows;
            float whole[DECODER_UNIT_ROWS] = {};
#pragma unroll
            for (uint32_t w = 0; w < DECODER_WARPS; w++)
#pragma unroll
                for (uint32_t u = 0; u < DECODER_UNIT_ROWS; u++)
                    if (u < r.unit_rows)
                        whole[u] += from[w * DECODER_ROUND + u];
            finish(r.unit(done + unit), b, whole);
        }
        done += ROUND / r.unit_rows;
    }
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// The producer's side of the same tiles.
__device__ __forceinline__ void rows_fill(struct ring &ring, const struct rows &r,
                                          const struct decoder_shape &s)
{
    const uint32_t n = r.share.count * r.unit_rows, lane = threadIdx.x % 32;

#pragma unroll 1
    for (uint32_t i = 0; i < n; i += DECODER_BLOCK_ROWS)
#pragma unroll 1
        for (uint32_t c = 0; c < r.chunks; c++)
#pragma unroll 1
            for (uint32_t q = i; q < min(i + DECODER_BLOCK_ROWS, n); q += DECODER_TILE_ROWS) {
                const uint32_t pieces = min(n - q, (uint32_t)DECODER_TILE_ROWS);
                ring_fill(ring, pieces, rows_at(r, s, q + min(lane, pieces - 1), c),
                          rows_chunk_bytes(r, c));
            }
    static_assert(DECODER_ROUND / DECODER_BATCH % DECODER_BLOCK_ROWS == 0,
                  "a block of rows never straddles two rounds");
}

#endif
#endif
