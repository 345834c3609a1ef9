// What two_stages.cu computes, in double: a plain kernel for each stage of all items.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/two_stages/args.h"

// x of a product has the rounding of the kernels: to bf16.
static __device__ __forceinline__ double rounded(float x)
{
    return (double)bf16::one(bf16::one(x));
}

// An element of h a warp.
// sass: none not a timed kernel
extern "C" __global__ void
two_stages_reference(const __grid_constant__ struct two_stages_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const uint64_t n = (uint64_t)a.items * a.ffn;
    for (uint64_t j = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; j < n; j += warps) {
        const uint32_t item = (uint32_t)(j / a.ffn);
        const __nv_bfloat16 *w = (const __nv_bfloat16 *)(a.up + item % a.sets * a.up_stride) +
                                 (uint64_t)(j % a.ffn) * a.hidden;
        const float *x = a.is_chain && item > 0 ? a.y + (uint64_t)(item - 1) * a.hidden
                                                : a.x + (uint64_t)item * a.hidden;
        double z = 0;
        for (uint32_t k = lane; k < a.hidden; k += 32)
            z += (double)bf16::one(w[k]) * rounded(x[k]);
        z = a.up_scale * warp_reduce<adding>(z);
        if (lane == 0)
            a.h[j] = z / (1 + fabs(z));
    }
}

// And y, with the bound of a sum in fp32 and of each element of h rounded to bf16, which are
// independent: seven standard deviations of what they come to.
// sass: none not a timed kernel
extern "C" __global__ void
two_stages_verify(const __grid_constant__ struct two_stages_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const uint64_t n = (uint64_t)a.items * a.hidden;
    struct verdict own = {};
    for (uint64_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < n; i += warps) {
        const uint32_t item = (uint32_t)(i / a.hidden);
        const __nv_bfloat16 *w = (const __nv_bfloat16 *)(a.down + item % a.sets * a.down_stride) +
                                 (uint64_t)(i % a.hidden) * a.ffn;
        const double *h = a.h + (uint64_t)item * a.ffn;
        double sum = 0, absolute = 0, squared = 0;
        for (uint32_t j = lane; j < a.ffn; j += 32) {
            const double product = (double)bf16::one(w[j]) * h[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        sum = warp_reduce<adding>(sum);
        absolute = warp_reduce<adding>(absolute);
        squared = warp_reduce<adding>(squared);
        if (lane == 0)
            judge(&own, a.y[i], a.down_scale * sum,
                  a.down_scale * (8 * sqrt((double)a.ffn) * 0x1p-24 * absolute +
                                  6 * 0x1p-9 * sqrt(squared)) +
                      0x1p-24);
    }
    if (lane == 0)
        deliver(a.verdict, &own);
}
