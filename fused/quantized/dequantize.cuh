// Quantised weights, turned into operands of the tensor core in registers.
//
// Layout. Weights lie in tiles of 16 rows x 128 columns, one group of each row; tiles of the same
// rows follow each other. A tile is what 32 lanes load 16 bytes at a time, lane after lane, and
// each lane gets just what it needs as operand A of eight mma.m16n8k16: with g = lane / 4 and t =
// lane % 4, the rows g and g + 8, and in step s = 4c + 2j + h the columns 64c + 32j + 8t + 4h + {0,
// 1, 2, 3}. What an mma calls its k is a dummy index; named this way, a lane's part of x for two
// steps is one vector of 16 bytes of x as it lies in memory, and that of a dequantised row one
// vector of the row.
//
//     int4   a step is a word: register r of the operand is the nibbles r and r + 4
//     8 bit  a step is two words: registers 0 and 1 are the even and the odd bytes of the first
//
// Conversion. A bf16 between 128 and 256 has the bits 0x4300 | n, n of seven bits: a mask puts two
// weights into place, and one fma of two bf16, which is exact, takes off what was added. An int8
// has a bit too many; its sign, in the last place of the exponent, makes the 128 that is taken off
// 256. An e4m3 has the layout of a bf16 with fewer bits: moved there, it is 2^120 too small.
#ifndef FUSED_QUANTIZED_DEQUANTIZE_CUH
#define FUSED_QUANTIZED_DEQUANTIZE_CUH

#include <stdint.h>

#include "core/device/mma.cuh"

enum {
    GROUP = 128,    /* columns that share a scale */
    TILE_ROWS = 16, /* of an mma */
    STEPS = 8,      /* mma of a tile */
};

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

// a * b + c of two bf16 at a time.
__device__ __forceinline__ uint32_t fma_pair(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

__device__ __forceinline__ uint32_t word_of(uint4 v, int i) // i known at compile time
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// a & mask | bits in one instruction; left to itself the compiler makes two of it.
template <uint32_t mask, uint32_t bits> __device__ __forceinline__ uint32_t placed(uint32_t a)
{
    uint32_t d;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(a), "n"(mask), "n"(bits));
    return d;
}

struct weights_int4 { // n + 8 in a nibble
    enum { LOADS = 2 }; // vectors of 16 bytes that a lane has of a tile
    static __device__ __forceinline__ void operand(uint32_t (&a)[4], const uint4 (&w)[LOADS],
                                                   int step)
    {
        const uint32_t word = word_of(w[step / 4], step % 4);
#pragma unroll
        for (int r = 0; r < 4; r++)
            a[r] = fma_pair(placed<0x000f000fu, 0x43004300u>(word >> 4 * r), 0x3f803f80u,
                            0xc308c308u); // - 136
    }
};

struct weights_int8 {
    enum { LOADS = 4 };
    static __device__ __forceinline__ uint32_t pair(uint32_t v)
    {
        return fma_pair(placed<0x007f007fu, 0x43004300u>(v), 0x3f803f80u,
                        placed<0x00800080u, 0xc300c300u>(v));
    }
    static __device__ __forceinline__ void operand(uint32_t (&a)[4], const uint4 (&w)[LOADS],
                                                   int step)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t word = word_of(w[step / 2], 2 * (step % 2) + half);
            a[2 * half] = pair(word);
            a[2 * half + 1] = pair(word >> 8);
        }
    }
};

struct weights_e4m3 {
    enum { LOADS = 4 };
    static __device__ __forceinline__ uint32_t scaled(uint32_t small) // by 2^120
    {
        return fma_pair(small, 0x7b807b80u, 0x80008000u);
    }
    static __device__ __forceinline__ void operand(uint32_t (&a)[4], const uint4 (&w)[LOADS],
                                                   int step)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t word = word_of(w[step / 2], 2 * (step % 2) + half);
            a[2 * half] = scaled((word << 4 & 0x07f007f0u) | (word << 8 & 0x80008000u));
            a[2 * half + 1] = scaled((word >> 4 & 0x07f007f0u) | (word & 0x80008000u));
        }
    }
};

// Where a lane's part of a tile lies; the others of these rows follow.
template <typename W> struct tiles {
    enum { VECTORS = 32 * W::LOADS, SCALES = 8 };
    const uint4 *weights;
    const uint32_t *scales; // of the rows g (lower half) and g + 8, bf16

    __device__ __forceinline__ tiles(const void *w, const void *s, uint64_t first)
        : weights((const uint4 *)w + first * VECTORS + threadIdx.x % 32),
          scales((const uint32_t *)s + first * SCALES + threadIdx.x % 32 / 4)
    {
    }
    __device__ __forceinline__ void load(uint4 (&w)[W::LOADS], uint32_t &scale, uint32_t tile) const
    {
#pragma unroll
        for (int i = 0; i < W::LOADS; i++)
            w[i] = load_once(weights + tile * VECTORS + 32 * i);
        scale = __ldg(scales + tile * SCALES);
    }
};

#endif
#endif
