/* Twin of core/device/mma.cuh for the CPU: lanes show each other what they have of A and B.
 * Products are summed in fp32 in the order of k. See tests/shim/shim.h. */
#ifndef GPUFLOOR_MMA_CUH
#define GPUFLOOR_MMA_CUH

#include <stdint.h>

static inline float shim_mma_half(uint64_t words, int i) /* bf16 i of four */
{
    return shim_bits<float>((uint32_t)(words >> 16 * i & 0xffff) << 16);
}

static inline void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                            uint32_t b0, uint32_t b1)
{
    const uint64_t given[3] = {(uint64_t)a2 << 32 | a0, (uint64_t)a3 << 32 | a1,
                               (uint64_t)b1 << 32 | b0};
    const unsigned lane = shim_index() % 32, g = lane / 4, t = lane % 4;
    uint64_t all[3][32];
    for (int i = 0; i < 3; i++)
        memcpy(all[i], shim_exchange(~0u, given[i]), sizeof all[i]);
    for (unsigned row = 0; row < 2; row++)
        for (unsigned column = 0; column < 2; column++)
            for (unsigned k = 0; k < 16; k++) {
                const unsigned owner = k % 8 / 2, half = k / 8 * 2 + k % 2;
                c[row * 2 + column] += shim_mma_half(all[row][g * 4 + owner], (int)half) *
                                       shim_mma_half(all[2][(2 * t + column) * 4 + owner],
                                                     (int)half);
            }
}

static inline void mma_bf16_8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
    mma_bf16(c, a0, a1, 0, 0, b0, 0); /* 8 columns of A that are zero */
}

#endif
