/* A pseudo-random permutation of 0 .. n-1. It is computed and not stored: every thread of a GPU
 * (core/device/permute.cuh), and the host, can compute its own element. The rings of the pointer
 * chases are made with it: line permute(i) points to line permute(i + 1), so any permutation gives
 * one cycle through all lines. For C and CUDA alike.
 *
 * Method: a four-round Feistel network over the next even number of bits, walked until it falls
 * inside 0 .. n-1 (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). It is a
 * bijection by construction. The walk takes fewer than four steps on average. n is at most 2^62. */
#ifndef CORE_PERMUTE_H
#define CORE_PERMUTE_H

#include <stdint.h>

struct permutation {
    uint64_t n, seed;
    uint32_t half_bits, pad;
};

#ifndef __CUDACC__
struct permutation permutation_of(uint64_t n, uint64_t seed);

/* The low bits of (half, key), mixed. */
uint64_t permute_round(uint64_t half, uint64_t key, uint64_t mask);

/* The i-th element, i < n. */
uint64_t permute(struct permutation p, uint64_t i);
#endif

#endif
