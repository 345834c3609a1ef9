// What shared_room.cu computes, in double: a plain kernel, a block a row.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/shared_room/args.h"

static __device__ __forceinline__ double h_at(const struct shared_room_verify_args &a, uint64_t at)
{
    return (double)bf16::one(((const __nv_bfloat16 *)a.x)[at]) +
           (double)bf16::one(((const __nv_bfloat16 *)a.residual)[at]);
}

// The bound: half a step of bf16 on the result, and what fp32 sums are off by.
// sass: none not a timed kernel
extern "C" __global__ void
shared_room_verify(const __grid_constant__ struct shared_room_verify_args a)
{
    __shared__ double sums[ROOM_THREADS / 32], squares[ROOM_THREADS / 32];
    struct verdict own = {};
    for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const uint64_t first = row * a.columns;
        double sum = 0, square = 0;
        for (uint32_t i = threadIdx.x; i < a.columns; i += ROOM_THREADS)
            sum += h_at(a, first + i);
        const double mean = block_reduce<adding, ROOM_THREADS / 32>(sum, sums) / a.columns;
        for (uint32_t i = threadIdx.x; i < a.columns; i += ROOM_THREADS) {
            const double off = h_at(a, first + i) - mean;
            square += off * off;
        }
        square = block_reduce<adding, ROOM_THREADS / 32>(square, squares) / a.columns;
        const double scale = 1 / sqrt(square + (double)a.epsilon);
        for (uint32_t i = threadIdx.x; i < a.columns; i += ROOM_THREADS) {
            const double y = (h_at(a, first + i) - mean) * scale;
            judge(&own, (double)bf16::one(((const __nv_bfloat16 *)a.y)[first + i]), y,
                  fabs(y) * 0x1.08p-8 + 1e-5);
        }
        __syncthreads();
    }
    deliver(a.verdict, &own);
}
