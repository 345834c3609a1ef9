// Kernels of gemv: the product, the same starved of warps, the plain read, and the checks.
//
// The product's form was chosen from a hundred variants, cold, over shapes of 8 to 470 MB, on an
// H200. Their shares of the best read of the same bytes, for 4096 x 14336, 14336 x 4096, 4096 x
// 4096:
//     2 rows a block, 4 vectors of each in flight, up to 256 threads  0.97  0.97  0.94  this one
//     the same, up to 512 threads                                     0.95  0.97  0.93
//     1 row x 4 vectors, up to 256 threads                            0.96  0.98  0.93
//     4 rows x 2 vectors, up to 256 threads                           0.96  0.97  0.93
//     1 row x 8 vectors, up to 512 threads                            0.85  0.97  0.92
//     a row a warp, 4 vectors in flight                               0.96  0.93  0.88
//     a row a warp, 8 vectors in flight                               0.92  0.95  0.91
//     a ring of bulk copies for each warp, persistent blocks          0.81 to 0.93 (the first)
//     2 rows at once to shared memory by bulk copies                  0.79 to 0.88 (the first)
// More warps an SM through fewer registers (5 to 8 blocks of 256 threads) took 1 to 10 % longer.
// L2::256B took 3 % longer; evict-first and ld.cg made no difference. Where a row does not fill the
// turns, half of the rate is lost (7 vectors of 256 threads on a row of 4096: 0.55), so
// threads_of() in gemv.c fits the block to the row. For the read, bulk copies were no faster than
// loads.
#include <cuda_bf16.h>

#include "core/device/load.cuh"
#include "matmul/gemv/args.h"

__device__ __forceinline__ uint4 load_x(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// The two bf16 of a word as fp32: a bf16 is the upper half of the fp32 of the same value.
__device__ __forceinline__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

__device__ __forceinline__ void multiply(float &sum, uint32_t w, uint32_t x)
{
    sum = fmaf(low(w), low(x), sum);
    sum = fmaf(high(w), high(x), sum);
}

__device__ __forceinline__ void multiply(float &sum, uint4 w, uint4 x)
{
    multiply(sum, w.x, x.x);
    multiply(sum, w.y, x.y);
    multiply(sum, w.z, x.z);
    multiply(sum, w.w, x.w);
}

__device__ __forceinline__ float sum_of_warp(float sum)
{
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

// Adds LOADS vectors of each row, `step` apart, to its sum. All loads are issued before any result
// is used, the weights first, because x is in the L2.
template <uint32_t LOADS>
__device__ __forceinline__ void take(float (&sum)[GEMV_ROWS], const uint4 *w,
                                     const uint32_t (&row_at)[GEMV_ROWS], const uint4 *x,
                                     uint32_t step)
{
    uint4 weights[LOADS][GEMV_ROWS], part[LOADS];
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
#pragma unroll
        for (uint32_t row = 0; row < GEMV_ROWS; row++)
            weights[i][row] = load_once(w + (row_at[row] + i * step));
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
        part[i] = load_x(x + i * step);
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
#pragma unroll
        for (uint32_t row = 0; row < GEMV_ROWS; row++)
            multiply(sum[row], weights[i][row], part[i]);
}

// GEMV_ROWS rows a block, whose vectors are distributed over its threads; a thread uses its part of
// x for all rows. Beyond the last row the last one is computed again, and dropped.
// sass-loop: ldg128na=8 ldg128=12 other<=181 exits<=2 local=0 together
extern "C" __global__ void __launch_bounds__(GEMV_THREADS, 1)
gemv_own(const __grid_constant__ struct gemv_args a)
{
    __shared__ float of_warp[GEMV_ROWS][GEMV_THREADS / 32];
    const uint32_t first = blockIdx.x * GEMV_ROWS, threads = blockDim.x;
    const uint4 *x = (const uint4 *)a.x;
    const uint4 *w = (const uint4 *)a.weights + (uint64_t)first * a.vectors;
    uint32_t v = threadIdx.x, row_at[GEMV_ROWS];
    float sum[GEMV_ROWS] = {};

#pragma unroll
    for (uint32_t row = 0; row < GEMV_ROWS; row++)
        row_at[row] = min(row, a.rows - 1 - first) * a.vectors;
#pragma unroll 1
    for (; v + (GEMV_LOADS - 1) * threads < a.vectors; v += GEMV_LOADS * threads)
        take<GEMV_LOADS>(sum, w + v, row_at, x + v, threads);
#pragma unroll 1
    for (; v < a.vectors; v += threads)
        take<1>(sum, w + v, row_at, x + v, threads);

#pragma unroll
    for (uint32_t row = 0; row < GEMV_ROWS; row++) {
        sum[row] = sum_of_warp(sum[row]);
        if (threadIdx.x % 32 == 0)
            of_warp[row][threadIdx.x / 32] = sum[row];
    }
    __syncthreads();
    if (threadIdx.x < GEMV_ROWS && first + threadIdx.x < a.rows) {
        float all = 0;
        for (uint32_t i = 0; i < threads / 32; i++)
            all += of_warp[threadIdx.x][i];
        ((__nv_bfloat16 *)a.y)[first + threadIdx.x] = __float2bfloat16_rn(all);
    }
}

// A product by one warp an SM, a row at a time, with one load in flight a thread: slow on purpose.
// sass-loop: ldg128na=1 other<=36 exits<=2 local=0
extern "C" __global__ void __launch_bounds__(32)
gemv_one_warp(const __grid_constant__ struct gemv_args a)
{
    const uint4 *x = (const uint4 *)a.x;

#pragma unroll 1
    for (uint32_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const uint4 *w = (const uint4 *)a.weights + (uint64_t)row * a.vectors;
        float sum = 0;
#pragma unroll 1
        for (uint32_t v = threadIdx.x; v < a.vectors; v += 32)
            multiply(sum, load_once(w + v), __ldg(x + v));
        sum = sum_of_warp(sum);
        if (threadIdx.x == 0)
            ((__nv_bfloat16 *)a.y)[row] = __float2bfloat16_rn(sum);
    }
}

// --- a plain read --------------------------------------------------------------------------------

__device__ __forceinline__ void add(uint32_t &sum, uint4 v)
{
    sum += v.x + v.y;
    sum += v.z + v.w;
}

__device__ __forceinline__ uint32_t sum_of_warp(uint32_t sum)
{
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(~0u, sum, lanes);
    return sum;
}

// If sums are wanted, each block stores the sum of its words. If not, it adds them up all the same,
// so that the loads are waited for, and drops the sum.
__device__ __forceinline__ void hand_over(uint32_t *sums, uint32_t sum)
{
    __shared__ uint32_t of_warp[READ_THREADS / 32];
    if (sums == nullptr) {
        asm volatile("" ::"r"(sum));
        return;
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32)
        sum = sum_of_warp(threadIdx.x < READ_THREADS / 32 ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

// Like bandwidth_read: a block reads READ_LOADS vectors a thread and ends.
// sass-all: ldg128na=4 ldg128=4 local=0 together regs<=32
extern "C" __global__ void __launch_bounds__(READ_THREADS)
gemv_read(const __grid_constant__ struct gemv_read_args a)
{
    const uint4 *in =
        (const uint4 *)a.in + (uint64_t)blockIdx.x * (READ_LOADS * READ_THREADS) + threadIdx.x;
    uint4 v[READ_LOADS];
    uint32_t sum = 0;

#pragma unroll
    for (uint32_t i = 0; i < READ_LOADS; i++)
        v[i] = load_once(in + i * READ_THREADS);
#pragma unroll
    for (uint32_t i = 0; i < READ_LOADS; i++)
        add(sum, v[i]);
    hand_over(a.sums, sum);
}

// --- checks --------------------------------------------------------------------------------------

// The plain method in fp64, a row a warp, sets along the grid's y. The bound, for a sum in fp32
// that is rounded once to bf16, is that of every product here (matmul/common/product.h).
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(32 * VERIFY_WARPS)
gemv_verify(const __grid_constant__ struct gemv_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, row = blockIdx.x * VERIFY_WARPS + threadIdx.x / 32;
    const uint32_t k = a.vectors * GEMV_VECTOR;
    const __nv_bfloat16 *w = (const __nv_bfloat16 *)((const char *)a.weights +
                                                     blockIdx.y * a.weights_step) +
                             (uint64_t)row * k;
    const __nv_bfloat16 *y = (const __nv_bfloat16 *)((const char *)a.y + blockIdx.y * a.y_step);
    double sum = 0, absolute = 0;
    if (row >= a.rows)
        return;

    for (uint32_t i = lane; i < k; i += 32) {
        double product = (double)__bfloat162float(w[i]) *
                         (double)__bfloat162float(((const __nv_bfloat16 *)a.x)[i]);
        sum += product;
        absolute += fabs(product);
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        sum += __shfl_xor_sync(~0u, sum, lanes);
        absolute += __shfl_xor_sync(~0u, absolute, lanes);
    }
    if (lane != 0)
        return;
    double error = (double)__bfloat162float(y[row]) - sum;
    double bound = 2 * 0x1p-8 * fabs(sum) + 8 * sqrt((double)k) * 0x1p-24 * absolute + 0x1p-25;
    atomicAdd(&a.verdict->error_squared, error * error);
    atomicAdd(&a.verdict->reference_squared, sum * sum);
    if (!(fabs(error) <= bound))
        atomicAdd((unsigned long long *)&a.verdict->wrong, 1ull);
}

// sass: none not a timed kernel
extern "C" __global__ void gemv_sum(const __grid_constant__ struct gemv_sum_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint32_t sum = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.vectors; i += step)
        add(sum, ((const uint4 *)a.in)[i]);
    atomicAdd(a.sum, sum);
}
