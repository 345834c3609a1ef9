// Kernels that spill, on purpose: their registers are capped below what they hold, or they hold
// more than a thread can have. The build lets this file alone do so (NVFLAGS_fused/harm/spills),
// and the contracts demand that they do.
#include "fused/harm/harm.cuh"

// 32 streams, 128 values a thread, under a cap of 64 and of 32 registers, that more warps may be
// resident.
// sass-all: kernel=harm_streams_32_cap_64 local>=32
extern "C" __global__ void __maxnreg__(64)
    harm_streams_32_cap_64(const __grid_constant__ struct harm_args a)
{
    softmax_across<32>(a);
}

// sass-all: kernel=harm_streams_32_cap_32 local>=64
extern "C" __global__ void __maxnreg__(32)
    harm_streams_32_cap_32(const __grid_constant__ struct harm_args a)
{
    softmax_across<32>(a);
}

// 96 streams, 384 values a thread: more than the 255 registers that a thread can have, so that it
// spills without any cap.
// sass-all: kernel=harm_streams_96 local>=64
extern "C" __global__ void __launch_bounds__(HARM_STREAM_THREADS)
    harm_streams_96(const __grid_constant__ struct harm_args a)
{
    softmax_across<96>(a);
}

// A row of 131072 in one block of 1024 threads, which may have 64 registers each.
// sass: local>=32
extern "C" __global__ void __launch_bounds__(HARM_ROW_THREADS, 1)
    harm_wide_held(const __grid_constant__ struct harm_args a)
{
    __shared__ float scratch[2][32];
    held<HARM_ROW_COLUMNS / HARM_ROW_THREADS / 8> row;
    float most = row.load((const uint4 *)((const __half *)a.in + blockIdx.x * a.stride));
    most = block_reduce<greatest, 32>(most, scratch[0]);
    const float sum = block_reduce<adding, 32>(row.raise(most), scratch[1]);
    row.store((uint4 *)((__half *)a.out + blockIdx.x * a.stride), 1 / sum);
}
