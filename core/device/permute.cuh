// The code of core/permute.h. A kernel includes this file; core/permute.c compiles it for the host.
#ifndef CORE_DEVICE_PERMUTE_CUH
#define CORE_DEVICE_PERMUTE_CUH

#include "core/permute.h"

#ifdef __CUDACC__
#define PERMUTE_FUNCTION __host__ __device__ __forceinline__
#else
#define PERMUTE_FUNCTION
#endif

PERMUTE_FUNCTION struct permutation permutation_of(uint64_t n, uint64_t seed)
{
    struct permutation p;
    p.n = n;
    p.seed = seed;
    p.half_bits = 1;
    p.pad = 0;
    while ((uint64_t)1 << (2 * p.half_bits) < n)
        p.half_bits++;
    return p;
}

// The low bits of (half, key), mixed by one step of splitmix64.
PERMUTE_FUNCTION uint64_t permute_round(uint64_t half, uint64_t key, uint64_t mask)
{
    uint64_t z = half * 0x9e3779b97f4a7c15u + key;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) & mask;
}

// The i-th element, i < n.
PERMUTE_FUNCTION uint64_t permute(struct permutation p, uint64_t i)
{
    uint64_t mask = ((uint64_t)1 << p.half_bits) - 1;
    do {
        uint64_t left = i >> p.half_bits, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ permute_round(right, p.seed + round, mask);
            left = right;
            right = next;
        }
        i = left << p.half_bits | right;
    } while (i >= p.n);
    return i;
}

#undef PERMUTE_FUNCTION

#endif
