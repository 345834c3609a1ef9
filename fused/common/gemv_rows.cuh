// A matrix times a vector, both bf16, with sums in fp32. A block takes ROWS rows and distributes
// their 16-byte vectors over its threads. Each thread has LOADS vectors of every row in flight. The
// form is the best of the hundred that matmul/gemv/gemv.cu lists: two rows, four vectors, at most
// 256 threads.
//
//     float sum[2] = {};
//     gemv_rows<4>(sum, rows_of(...), x, vectors);    // this thread's share of each row's sum
//     float y = gemv_rows_sum<8>(sum, scratch);       // thread r < 2 has the whole sum of row r
#ifndef FUSED_COMMON_GEMV_ROWS_CUH
#define FUSED_COMMON_GEMV_ROWS_CUH

#include <type_traits>

#include "core/device/load.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"

// Where x comes from: it was written before this kernel began, or other blocks of this same kernel
// write it.
struct from_before {
    static __device__ __forceinline__ uint4 load(const uint4 *p) { return __ldg(p); }
};
struct from_this_kernel {
    static __device__ __forceinline__ uint4 load(const uint4 *p) { return load_cg_128(p); }
};

__device__ __forceinline__ void gemv_multiply(float &sum, uint4 w, uint4 x)
{
    const uint32_t weights[4] = {w.x, w.y, w.z, w.w}, values[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 a = bf16::widen(weights[i]), b = bf16::widen(values[i]);
        sum = fmaf(a.x, b.x, sum);
        sum = fmaf(a.y, b.y, sum);
    }
}

// What a thread does once, after it has issued its first loads of weights and before it reads x:
// nothing, or wait for the kernel that writes x.
struct at_once {
    __device__ __forceinline__ void operator()() const {}
};

// LOADS vectors of each row, `step` apart. All loads are issued before any result is used.
template <typename X, uint32_t LOADS, typename WAIT, uint32_t ROWS>
__device__ __forceinline__ void gemv_take(float (&sum)[ROWS], const uint4 *const (&row)[ROWS],
                                          const uint4 *x, uint32_t at, uint32_t step, WAIT wait)
{
    uint4 weights[LOADS][ROWS], part[LOADS];
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
#pragma unroll
        for (uint32_t r = 0; r < ROWS; r++)
            weights[i][r] = load_once(row[r] + at + i * step);
    wait();
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
        part[i] = X::load(x + at + i * step);
#pragma unroll
    for (uint32_t i = 0; i < LOADS; i++)
#pragma unroll
        for (uint32_t r = 0; r < ROWS; r++)
            gemv_multiply(sum[r], weights[i][r], part[i]);
}

// Adds this thread's share of each row's product. The block goes along the row in full turns of
// LOADS vectors first, then takes the remaining vectors one at a time.
template <uint32_t LOADS, typename X = from_before, typename WAIT = at_once, uint32_t ROWS>
__device__ __forceinline__ void gemv_rows(float (&sum)[ROWS], const uint4 *const (&row)[ROWS],
                                          const uint4 *x, uint32_t vectors, WAIT wait = {})
{
    const uint32_t threads = blockDim.x;
    uint32_t v = threadIdx.x;
    if (!std::is_same<WAIT, at_once>::value) {
        if (v + (LOADS - 1) * threads < vectors) {
            gemv_take<X, LOADS>(sum, row, x, v, threads, wait);
            v += LOADS * threads;
        } else
            wait();
    }
#pragma unroll 1
    for (; v + (LOADS - 1) * threads < vectors; v += LOADS * threads)
        gemv_take<X, LOADS>(sum, row, x, v, threads, at_once());
#pragma unroll 1
    for (; v < vectors; v += threads)
        gemv_take<X, 1>(sum, row, x, v, threads, at_once());
}

// The whole sums: thread r < ROWS returns that of row r, other threads return nothing of use. The
// block has at most WARPS warps; `scratch` is free again after the next __syncthreads().
template <uint32_t WARPS, uint32_t ROWS>
__device__ __forceinline__ float gemv_rows_sum(float (&sum)[ROWS], float (&scratch)[ROWS][WARPS])
{
    float all = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        const float own = warp_reduce<adding>(sum[r]);
        if (threadIdx.x % 32 == 0)
            scratch[r][threadIdx.x / 32] = own;
    }
    __syncthreads();
    if (threadIdx.x < ROWS)
        for (uint32_t i = 0; i < blockDim.x / 32; i++)
            all += scratch[threadIdx.x][i];
    return all;
}

// Pointers to the first vectors of ROWS rows, from row `first` on. Beyond the last row the pointer
// to the last row is repeated.
template <uint32_t ROWS>
__device__ __forceinline__ void gemv_rows_at(const uint4 *(&row)[ROWS], const void *weights,
                                             uint32_t first, uint32_t rows, uint32_t vectors)
{
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
        row[r] = (const uint4 *)weights + (uint64_t)min(first + r, rows - 1) * vectors;
}

#endif
