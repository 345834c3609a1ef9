// Parts of a head, which blocks that have some of its keys each have left, become one.
#ifndef FUSED_COMMON_DECODER_MERGE_CUH
#define FUSED_COMMON_DECODER_MERGE_CUH

#include <stdint.h>

static constexpr float MERGE_NOTHING = -1e30f; // a score that gets no weight

// Merges parts `first` to first + N - 1 of `all`, in their order, into what has been merged before:
// the greatest score, the sum of weights, and W pairs of the row. At the start these are
// MERGE_NOTHING and 0. A part that is not there gets no weight, and no branch goes around it:
// behind a branch each part's exponential waits for the part before.
template <uint32_t N, uint32_t W>
__device__ __forceinline__ void merge_parts(float &most, float &sum, float2 (&row)[W],
                                            float2 (&state)[N], const float2 (&part)[N][W],
                                            uint32_t first, uint32_t all)
{
    float now = most;
#pragma unroll
    for (uint32_t n = 0; n < N; n++) {
        state[n].x = first + n < all ? state[n].x : MERGE_NOTHING;
        now = fmaxf(now, state[n].x);
    }
    const float shrink = exp2f(most - now);
    sum *= shrink;
#pragma unroll
    for (uint32_t w = 0; w < W; w++)
        row[w] = make_float2(row[w].x * shrink, row[w].y * shrink);
#pragma unroll
    for (uint32_t n = 0; n < N; n++) {
        const float scale = exp2f(state[n].x - now);
        sum = fmaf(state[n].y, scale, sum);
#pragma unroll
        for (uint32_t w = 0; w < W; w++) {
            row[w].x = fmaf(part[n][w].x, scale, row[w].x);
            row[w].y = fmaf(part[n][w].y, scale, row[w].y);
        }
    }
    most = now;
}

#endif
