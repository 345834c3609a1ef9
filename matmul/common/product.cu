// The plain product in fp64, the reference for all others: one output a thread, with operand tiles
// in shared memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "matmul/common/product.h"

__device__ __forceinline__ double wide(__half x) { return __half2float(x); }
__device__ __forceinline__ double wide(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ __forceinline__ double element(const void *base, uint64_t index, bool inside)
{
    return inside ? wide(((const T *)base)[index]) : 0.0;
}

template <typename T>
__device__ __forceinline__ void verify(const struct product_verify_args &v, double unit)
{
    __shared__ double a[PRODUCT_TILE][PRODUCT_TILE], b[PRODUCT_TILE][PRODUCT_TILE + 1];
    const uint32_t x = threadIdx.x % PRODUCT_TILE, y = threadIdx.x / PRODUCT_TILE;
    const uint32_t tile = blockIdx.y * gridDim.x + blockIdx.x;
    const bool border = blockIdx.x + 1 == gridDim.x || blockIdx.y + 1 == gridDim.y;
    // By the upper bits: the lower ones would select the same columns in every row of tiles.
    if (!border && (tile * 2654435761u >> 16) % v.every != 0)
        return;

    const uint64_t row = blockIdx.y * PRODUCT_TILE + y, column = blockIdx.x * PRODUCT_TILE + x;
    double sum = 0, sum_absolute = 0;
    for (uint64_t k = 0; k < v.k; k += PRODUCT_TILE) {
        a[y][x] = element<T>(v.a, row * v.a_row + (k + x) * v.a_column, row < v.m && k + x < v.k);
        b[y][x] = element<T>(v.b, (k + y) * v.b_row + column * v.b_column,
                             column < v.n && k + y < v.k);
        __syncthreads();
#pragma unroll
        for (uint32_t i = 0; i < PRODUCT_TILE; i++) {
            double product = a[y][i] * b[i][x];
            sum += product;
            sum_absolute += fabs(product);
        }
        __syncthreads();
    }

    const bool inside = row < v.m && column < v.n;
    double error = inside ? wide(((const T *)v.c)[row * v.c_row + column]) - sum : 0;
    double bound = 2 * unit * fabs(sum) + 8 * sqrt((double)v.k) * 0x1p-24 * sum_absolute + 0x1p-25;
    double error_squared = error * error, reference_squared = sum * sum;
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        error_squared += __shfl_xor_sync(~0u, error_squared, lanes);
        reference_squared += __shfl_xor_sync(~0u, reference_squared, lanes);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&v.verdict->error_squared, error_squared);
        atomicAdd(&v.verdict->reference_squared, reference_squared);
    }
    if (inside)
        atomicAdd((unsigned long long *)&v.verdict->looked_at, 1ull);
    if (!(fabs(error) <= bound))
        atomicAdd((unsigned long long *)&v.verdict->wrong, 1ull);
}

// sass: none not a timed kernel
extern "C" __global__ void product_verify_fp16(const __grid_constant__ struct product_verify_args a)
{
    verify<__half>(a, 0x1p-11);
}

// sass: none not a timed kernel
extern "C" __global__ void product_verify_bf16(const __grid_constant__ struct product_verify_args a)
{
    verify<__nv_bfloat16>(a, 0x1p-8);
}
