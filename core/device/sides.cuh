// Which memory has its home on which side of the L2: see core/sides.h.
#ifndef GPUFLOOR_SIDES_CUH
#define GPUFLOOR_SIDES_CUH

#include "core/device/sides.h"

// The side that is the home of the first piece of the SIDES_BOTH bytes at `both`, an aligned
// address.
__device__ __forceinline__ uint32_t sides_first(const struct sides_map &map, const char *both)
{
    const uint64_t at = (uint64_t)both;
    const uint32_t page = (uint32_t)((at >> SIDES_PAGE_BITS) - map.first_page);
    const uint32_t bits = __ldg(map.pages + page / 32) >> page % 32;
    return (__popc((uint32_t)(at >> SIDES_BOTH_BITS) & map.mask) ^ bits ^ map.is_swapped) & 1;
}

// The piece of the k-th SIDES_BOTH bytes from `memory` on, an aligned address, that is home on
// `side`.
__device__ __forceinline__ char *sides_piece(const struct sides_map &map, const char *memory,
                                             uint32_t side, uint64_t k)
{
    const char *both = memory + k * SIDES_BOTH;
    return (char *)both + (sides_first(map, both) ^ side) * SIDES_PIECE;
}

#endif
