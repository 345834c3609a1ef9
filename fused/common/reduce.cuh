// Sums and maxima over a warp and over a block of WARPS warps; every thread gets the result. The
// order of additions is fixed: the same numbers give the same bits. `scratch` is shared memory for
// WARPS values, free to be used again after the next __syncthreads().
#ifndef FUSED_COMMON_REDUCE_CUH
#define FUSED_COMMON_REDUCE_CUH

struct adding {
    template <typename N> static __device__ __forceinline__ N of(N a, N b) { return a + b; }
};
struct greatest {
    static __device__ __forceinline__ float of(float a, float b) { return fmaxf(a, b); }
};

template <typename OPERATION, int LANES = 32, typename N>
__device__ __forceinline__ N warp_reduce(N x)
{
#pragma unroll
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
        x = OPERATION::of(x, __shfl_xor_sync(~0u, x, lanes));
    return x;
}

template <typename OPERATION, int WARPS, typename N>
__device__ __forceinline__ N block_reduce(N x, N *scratch)
{
    x = warp_reduce<OPERATION>(x);
    if (WARPS == 1)
        return x;
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = scratch[0];
#pragma unroll
    for (int i = 1; i < WARPS; i++)
        x = OPERATION::of(x, scratch[i]);
    return x;
}

#endif
