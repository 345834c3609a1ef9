// Copies a matrix to where its rows are near: see decoder.h. Not timed.
#ifndef FUSED_COMMON_DECODER_MOVE_CUH
#define FUSED_COMMON_DECODER_MOVE_CUH

#include "core/device/sides.cuh"
#include "fused/common/decoder/deal.cuh"

// A block takes a piece at a time: two rows of a chunk, side by side.
__device__ __forceinline__ void decoder_move(const struct decoder_move_args &a)
{
    const enum decoder_matrix m = (enum decoder_matrix)a.m;
    const uint32_t columns = decoder_columns(&a.shape, m), chunks = decoder_chunks(columns);
    const uint32_t rows = decoder_units(&a.shape, m) * decoder_unit_rows(m);
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t pairs = decoder_near_groups(&a.shape, m, side) * decoder_near_pairs(m);
        for (uint32_t k = blockIdx.x; k < pairs * chunks; k += gridDim.x) {
            const uint32_t first = decoder_near_row(m, side, k / chunks), c = k % chunks;
            const uint32_t bytes = 2 * min(columns - c * DECODER_CHUNK, (uint32_t)DECODER_CHUNK);
            char *to = sides_piece(a.map, a.to, side, k);
            for (uint32_t i = threadIdx.x * 16; i < 2 * bytes; i += blockDim.x * 16) {
                const uint32_t row = first + i / bytes; // the last pair may lack its second
                if (row < rows)
                    *(uint4 *)(to + i) =
                        *(const uint4 *)(a.from +
                                         (uint64_t)decoder_row(&a.shape, m, row) * (2 * columns) +
                                         c * (2 * DECODER_CHUNK) + i % bytes);
            }
        }
    }
}

#endif
