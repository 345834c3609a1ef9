/* A pseudo-random permutation of 0 .. n-1, computed, not stored: every thread of a GPU, and the
 * host, can ask for its own element. Rings for pointer chases are made with it: line permute(i)
 * points to line permute(i + 1), so that any permutation gives one cycle through all lines.
 *
 * Method: a four-round Feistel network over the next even number of bits, walked until it falls
 * inside 0 .. n-1 (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). A bijection by
 * construction; less than four steps of walking on average. C and CUDA alike. n at most 2^62. */
#ifndef GPUFLOOR_PERMUTE_H
#define GPUFLOOR_PERMUTE_H

#include <stdint.h>

#ifdef __CUDACC__
#define PERMUTE_INLINE __host__ __device__ __forceinline__
#else
#define PERMUTE_INLINE static inline
#endif

struct permutation {
    uint64_t n, seed;
    uint32_t half_bits, pad;
};

PERMUTE_INLINE struct permutation permutation_of(uint64_t n, uint64_t seed)
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

/* Low bits of a mixed (half, key): one step of splitmix64. */
PERMUTE_INLINE uint64_t permute_round(uint64_t half, uint64_t key, uint64_t mask)
{
    uint64_t z = half * 0x9e3779b97f4a7c15u + key;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) & mask;
}

/* The i-th element, i < n. */
PERMUTE_INLINE uint64_t permute(struct permutation p, uint64_t i)
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

#endif
