// The step of edges' chains: a warp reads its share of a body, at addresses that depend on the word
// of the step before.
#ifndef PROBES_EDGES_STEP_CUH
#define PROBES_EDGES_STEP_CUH

#include "core/device/load.cuh"
#include "core/device/order.cuh"
#include "probes/edges/args.h"

// Reads this warp's share of the body. Each lane's first address depends on `before`: no load can
// be issued until the result of the step before is known.
__device__ __forceinline__ uint32_t read_body(const struct edges_args &a, uint32_t warp,
                                              uint32_t warps, uint32_t before)
{
    const uint4 *body = (const uint4 *)a.body + ((threadIdx.x + before) & 31);
    uint32_t sum = 0;

#pragma unroll 1
    for (uint32_t chunk = warp; chunk < a.chunks; chunk += EDGES_LOADS * warps) {
        uint4 v[EDGES_LOADS];
#pragma unroll
        for (uint32_t i = 0; i < EDGES_LOADS; i++)
            v[i] = load_cg_128_if(body + (uint64_t)(chunk + i * warps) * 32,
                                  chunk + i * warps < a.chunks);
#pragma unroll
        for (int i = EDGES_LOADS - 1; i >= 0; i--)
            sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum ^= __shfl_xor_sync(0xffffffff, sum, lanes);
    return sum;
}

struct warp_index { // in the grid; other: the next warp of the next block, or of a lone one
    uint32_t warps, own, other;
};

__device__ __forceinline__ struct warp_index index_of_warp(void)
{
    uint32_t warps = gridDim.x * EDGES_WARPS;
    uint32_t own = blockIdx.x * EDGES_WARPS + threadIdx.x / 32, other = own + EDGES_WARPS + 1;
    while (other >= warps)
        other -= warps;
    return {warps, own, other};
}

// Where the words are. Accesses are relaxed: the wait between two steps must order them.
struct in_global {
    uint32_t *cells;
    __device__ __forceinline__ uint32_t load(uint32_t i) const
    {
        return load_relaxed(cells + i * EDGES_SPACING);
    }
    __device__ __forceinline__ void store(uint32_t i, uint32_t word) const
    {
        store_relaxed(cells + i * EDGES_SPACING, word);
    }
};

#endif
