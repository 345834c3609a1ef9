// A read of memory for its rate alone: nobody uses what is read.
#ifndef FUSED_COMMON_TOGETHER_CUH
#define FUSED_COMMON_TOGETHER_CUH

#include "core/device/load.cuh"

// N vectors, STEP apart, that are in flight together; their bits go to `sum`. They are used in
// reverse order: otherwise the assembler would use the first before it has asked for the last.
template <int N, int STEP>
__device__ __forceinline__ void read_together(uint32_t &sum, const uint4 *from)
{
    uint4 x[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        x[i] = load_once(from + i * STEP);
#pragma unroll
    for (int i = N - 1; i >= 0; i--)
        sum ^= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
}

#endif
