// What product_chain.cu computes, in double, from what the kernel itself handed to each product;
// and the sum of the words that it reads.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/product_chain/args.h"

// A row of a product a warp. The bound is that of y rounded to bf16 once, and of a sum in fp32.
// sass: none not a timed kernel
extern "C" __global__ void
product_chain_verify(const __grid_constant__ struct product_chain_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    const uint64_t rows = (uint64_t)a.products * a.n;
    const __nv_bfloat16 *y = (const __nv_bfloat16 *)a.y;
    struct verdict own = {};
    for (uint64_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < rows; i += warps) {
        const uint32_t product = (uint32_t)(i / a.n);
        const __nv_bfloat16 *w =
            (const __nv_bfloat16 *)(a.weights + (a.first + product) % a.sets * a.stride) +
            (uint64_t)(i % a.n) * a.n;
        const __nv_bfloat16 *x =
            product == 0 ? (const __nv_bfloat16 *)a.x : y + (uint64_t)(product - 1) * a.n;
        double z = 0, absolute = 0;
        for (uint32_t k = lane; k < a.n; k += 32) {
            const double one = (double)bf16::one(w[k]) * (double)bf16::one(x[k]);
            z += one;
            absolute += fabs(one);
        }
        z = a.scale * warp_reduce<adding>(z);
        absolute = a.scale * warp_reduce<adding>(absolute);
        const double expected = z / (1 + fabs(z));
        if (lane == 0)
            judge(&own, bf16::one(y[i]), expected,
                  1.01 * 0x1p-8 * fabs(expected) + 8 * sqrt((double)a.n) * 0x1p-24 * absolute +
                      0x1p-26);
    }
    if (lane == 0)
        deliver(a.verdict, &own);
}

// sass: none not a timed kernel
extern "C" __global__ void
product_chain_words(const __grid_constant__ struct product_chain_verify_args a)
{
    const uint64_t each = (uint64_t)a.n * a.n / 2, all = each * a.products;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint32_t sum = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step)
        sum += ((const uint32_t *)(a.weights +
                                   (a.first + (uint32_t)(i / each)) % a.sets * a.stride))[i % each];
    sum = warp_reduce<adding>(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(a.words, sum);
}
