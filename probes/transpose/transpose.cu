// Kernels of transpose: three ways to transpose a matrix, and the copy to compare them with.
#include "core/device/load.cuh"
#include "probes/transpose/args.h"

enum { TILE = 32, TILE_ROWS = 8 }; // 256 threads, each four elements

// Neighbouring lanes read neighbouring elements, and write a whole row apart.
template <typename T> __device__ __forceinline__ void naive(const struct transpose_args &a)
{
    uint32_t c = blockIdx.x * TILE + threadIdx.x % TILE;
    uint32_t r = blockIdx.y * TILE + threadIdx.x / TILE;
#pragma unroll
    for (int i = 0; i < TILE; i += TILE_ROWS)
        ((T *)a.out)[(uint64_t)c * a.ld_out + r + i] =
            ((const T *)a.in)[(uint64_t)(r + i) * a.ld_in + c];
}

// Through a tile in shared memory, so that both sides are accessed by rows. The tile's rows are one
// element longer; otherwise a column would be in one bank.
template <typename T> __device__ __forceinline__ void padded(const struct transpose_args &a)
{
    __shared__ T tile[TILE][TILE + 1];
    uint32_t x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    uint32_t c = blockIdx.x * TILE, r = blockIdx.y * TILE;
#pragma unroll
    for (int i = 0; i < TILE; i += TILE_ROWS)
        tile[y + i][x] = ((const T *)a.in)[(uint64_t)(r + y + i) * a.ld_in + c + x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i += TILE_ROWS)
        ((T *)a.out)[(uint64_t)(c + y + i) * a.ld_out + r + x] = tile[x][y + i];
}

// Transposes, in a thread's registers, N x N elements held as N vectors of 16 bytes.
__device__ __forceinline__ void turn_round(uint4 (&v)[4])
{
    const uint4 a = v[0], b = v[1], c = v[2], d = v[3];
    v[0] = {a.x, b.x, c.x, d.x};
    v[1] = {a.y, b.y, c.y, d.y};
    v[2] = {a.z, b.z, c.z, d.z};
    v[3] = {a.w, b.w, c.w, d.w};
}
__device__ __forceinline__ uint32_t word_of(const uint4 &v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ __forceinline__ void turn_round(uint4 (&v)[8])
{
    uint4 t[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t halves = k % 2 ? 0x7632 : 0x5410; // the upper, or the lower halves of two words
        t[k] = {__byte_perm(word_of(v[0], k / 2), word_of(v[1], k / 2), halves),
                __byte_perm(word_of(v[2], k / 2), word_of(v[3], k / 2), halves),
                __byte_perm(word_of(v[4], k / 2), word_of(v[5], k / 2), halves),
                __byte_perm(word_of(v[6], k / 2), word_of(v[7], k / 2), halves)};
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        v[k] = t[k];
}

// 16 x 16 threads transpose a tile of 16 x 16 such squares. All accesses are of 16 bytes, also in
// shared memory. There the vectors of a row are permuted by an XOR with the row's square, so that
// eight lanes, which are served together, meet eight different bank groups.
template <typename T> __device__ __forceinline__ void vector(const struct transpose_args &a)
{
    constexpr int N = 16 / sizeof(T);
    __shared__ uint4 tile[16 * N][16];
    uint32_t x = threadIdx.x % 16, y = threadIdx.x / 16;
    uint32_t c = blockIdx.x * 16 * N, r = blockIdx.y * 16 * N;
    uint4 v[N];
#pragma unroll
    for (int k = 0; k < N; k++)
        v[k] = *(const uint4 *)((const T *)a.in + (uint64_t)(r + y * N + k) * a.ld_in + c + x * N);
    turn_round(v);
#pragma unroll
    for (int k = 0; k < N; k++)
        tile[x * N + k][y ^ x] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        uint32_t row = y + 16 * k;
        *(uint4 *)((T *)a.out + (uint64_t)(c + row) * a.ld_out + r + x * N) =
            tile[row][x ^ row / N];
    }
}

#define TRANSPOSE(how, type, T)                                                                    \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        transpose_##how##_##type(const __grid_constant__ struct transpose_args a)                 \
    {                                                                                              \
        how<T>(a);                                                                                 \
    }

// sass-all: kernel=transpose_naive_fp32 ldg32=4 stg32=4 local=0 smem=0 exits<=1
// sass-all: kernel=transpose_naive_fp16 ldg=4 stg=4 ldg32=0 stg32=0 local=0 smem=0 exits<=1
// sass-all: kernel=transpose_padded_fp32 ldg32=4 stg32=4 lds=4 sts=4 local=0 smem=4224 exits<=1
// sass-all: kernel=transpose_padded_fp16 ldg=4 stg=4 lds=4 sts=4 local=0 smem=2112 exits<=1
// sass-all: kernel=transpose_vector_fp32 ldg128=4 stg128=4 lds128=4 sts128=4 smem=16384 exits<=1
// sass-and: together
// sass-all: kernel=transpose_vector_fp16 ldg128=8 stg128=8 lds128=8 sts128=8 smem=32768 exits<=1
// sass-and: together
TRANSPOSE(naive, fp32, uint32_t)
TRANSPOSE(naive, fp16, uint16_t)
TRANSPOSE(padded, fp32, uint32_t)
TRANSPOSE(padded, fp16, uint16_t)
TRANSPOSE(vector, fp32, uint32_t)
TRANSPOSE(vector, fp16, uint16_t)

// The references: a copy by rows, with four vectors of 16 bytes per thread, and its reading half
// alone.
template <bool WRITE> __device__ __forceinline__ void rows(const struct transpose_args &a)
{
    uint32_t x = blockIdx.x * 4 * blockDim.x + threadIdx.x, y = blockIdx.y, sum = 0;
    const uint4 *in = (const uint4 *)a.in + (uint64_t)y * a.ld_in + x;
    uint4 *out = (uint4 *)a.out + (uint64_t)y * a.ld_out + x, v[4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (x + i * blockDim.x < a.columns)
            v[i] = load_cg_128(in + i * blockDim.x);
#pragma unroll
    for (int i = 3; i >= 0; i--)
        if (!WRITE)
            sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
        else if (x + i * blockDim.x < a.columns)
            out[i * blockDim.x] = v[i];
    if (!WRITE && a.check)
        atomicXor(a.check, sum);
}

// sass-all: ldg128=4 stg128=4 local=0 exits<=2 together
extern "C" __global__ void __launch_bounds__(256)
transpose_copy_rows(const __grid_constant__ struct transpose_args a)
{
    rows<true>(a);
}

// sass-all: ldg128=4 stg=0 local=0 exits<=3 together arch=75
// sass-all: ldg128=4 stg=0 local=0 exits<=2 together arch=80+
extern "C" __global__ void __launch_bounds__(256)
transpose_read_rows(const __grid_constant__ struct transpose_args a)
{
    rows<false>(a);
}

// Counts the misplaced elements, and anything that was written between the rows.
template <typename T> __device__ __forceinline__ void wrong(const struct transpose_args &a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, all = (uint64_t)a.columns * a.ld_out;
    uint32_t count = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
        uint32_t c = i / a.ld_out, r = i % a.ld_out;
        T expected = r < a.rows ? ((const T *)a.in)[(uint64_t)r * a.ld_in + c] : (T)~0u;
        count += ((const T *)a.out)[i] != expected;
    }
    if (count)
        atomicAdd(a.check, count);
}

// sass: none not a timed kernel
extern "C" __global__ void transpose_wrong_fp32(const __grid_constant__ struct transpose_args a)
{
    wrong<uint32_t>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void transpose_wrong_fp16(const __grid_constant__ struct transpose_args a)
{
    wrong<uint16_t>(a);
}

// sass: none not a timed kernel
extern "C" __global__ void transpose_differ_rows(const __grid_constant__ struct transpose_args a)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x, all = (uint64_t)a.rows * a.columns;
    uint32_t count = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
        uint64_t at = i / a.columns * a.ld_in + i % a.columns;
        uint4 p = ((const uint4 *)a.in)[at], q = ((const uint4 *)a.out)[at];
        count += p.x != q.x || p.y != q.y || p.z != q.z || p.w != q.w;
    }
    if (count)
        atomicAdd(a.check, count);
}
