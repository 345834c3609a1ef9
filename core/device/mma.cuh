// The matrix instruction of a warp, in bf16 with sums in fp32. With g = lane / 4 and t = lane % 4 a
// lane has of A (16 x 16) a0, a1: rows g and g + 8, columns 2t and 2t + 1; a2, a3: the same rows,
// columns 2t + 8 and 2t + 9. Of B (16 x 8), column g: b0, rows 2t and 2t + 1; b1, rows 2t + 8 and
// 2t + 9. Of C (16 x 8), columns 2t and 2t + 1: c[0] and c[1] of row g, c[2] and c[3] of row g + 8.
// From compute capability 8.0 on. Source: PTX ISA, mma.m16n8k16.
// mma_bf16_8: A is 16 x 8 and B 8 x 8, without a2, a3 and b1 (mma.m16n8k8).
#ifndef GPUFLOOR_MMA_CUH
#define GPUFLOOR_MMA_CUH

#include <stdint.h>

// C += A B.
__device__ __forceinline__ void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                         uint32_t a3, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_bf16_8(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
}

#endif
