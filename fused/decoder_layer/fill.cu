// What fills a decoder's memory, and the read that a layer is compared with.
#include "fused/common/decoder/move.cuh"
#include "fused/common/together.cuh"
#include "fused/common/vector.cuh"
#include "fused/decoder_layer/args.h"

// sass: none not a timed kernel
extern "C" __global__ void decoder_scale_bf16(const __grid_constant__ struct decoder_scale_args a)
{
    uint32_t *pairs = (uint32_t *)a.memory;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count / 2;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const float2 x = bf16::widen(pairs[i]);
        pairs[i] = bf16::narrow(
            make_float2(fmaf(x.x, a.scale, a.mean), fmaf(x.y, a.scale, a.mean)));
    }
}

// The memory's own rate. Loads are in flight together: the sum takes them in reverse order, and the
// registers are not shared among more blocks than there are.
// sass-loop: ldg128na=8 other<=40 exits<=2 local=0 moving together
extern "C" __global__ void __launch_bounds__(READ_THREADS, 1)
    decoder_read(const __grid_constant__ struct decoder_read_args a)
{
    const uint64_t step = (uint64_t)gridDim.x * READ_ROUND;
    const uint64_t own = (uint64_t)blockIdx.x * READ_ROUND;
    uint64_t at = a.begin + own;
    uint32_t sum = 0;
#pragma unroll 1
    for (uint64_t done = own; done < a.vectors; done += step) {
        read_together<READ_VECTORS, READ_THREADS>(sum, (const uint4 *)a.from + at + threadIdx.x);
        at += step;
        at = at < a.room ? at : at - a.room;
    }
    if (sum == 0x9e3779b9u && a.never)
        *a.never = sum;
}

// sass: none not a timed kernel
extern "C" __global__ void decoder_move_near(const __grid_constant__ struct decoder_move_args a)
{
    decoder_move(a);
}
