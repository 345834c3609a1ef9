// Kernels of quantized: products with weights of 4 and 8 bits, dequantised in registers; the pass
// that dequantises them instead; the bf16 product. What makes the weights and checks the products
// stands in weights.cu.
#include <cuda_bf16.h>

#include "core/device/async.cuh"
#include "fused/common/gemv_rows.cuh"
#include "fused/quantized/args.h"
#include "fused/quantized/dequantize.cuh"

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

static_assert((int)GROUP == QUANTIZED_GROUP && (int)TILE_ROWS == QUANTIZED_ROWS, "one layout");

// --- one column of x -----------------------------------------------------------------------------

// A block has 16 rows, a warp every 16th group of them. Of the eight columns that an mma has one is
// of use: the lanes of the others compute the same, from the same x, which stays in the L1. Two
// chains of sums, or each mma would wait for the one before it. What keeps the memory busy is
// warps, 32 on an SM, each with one tile on its way: tiles asked for ahead, two or more, take as
// long or longer.
template <typename W> __device__ __forceinline__ void one_column(const quantized_args &a)
{
    enum { WARPS = QUANTIZED_ONE };
    __shared__ float of_warp[WARPS][TILE_ROWS];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = a.columns / GROUP;
    const tiles<W> from(a.weights, a.scales, (uint64_t)blockIdx.x * n);
    float low = 0, high = 0; // rows g and g + 8

#pragma unroll 1
    for (uint32_t group = warp; group < n; group += WARPS) {
        const uint4 *x = (const uint4 *)a.x + group * (GROUP / 8) + lane % 4;
        float sum[2][4] = {};
        uint4 w[W::LOADS], b[STEPS / 2];
        uint32_t scales;
        from.load(w, scales, group);
#pragma unroll
        for (int pair = 0; pair < STEPS / 2; pair++)
            b[pair] = __ldg(x + 4 * pair);
#pragma unroll
        for (int pair = 0; pair < STEPS / 2; pair++) {
            uint32_t operand[4];
            W::operand(operand, w, 2 * pair);
            mma_bf16(sum[0], operand[0], operand[1], operand[2], operand[3], b[pair].x, b[pair].y);
            W::operand(operand, w, 2 * pair + 1);
            mma_bf16(sum[1], operand[0], operand[1], operand[2], operand[3], b[pair].z, b[pair].w);
        }
        low = fmaf(__uint_as_float(scales << 16), sum[0][0] + sum[1][0], low);
        high = fmaf(__uint_as_float(scales & 0xffff0000u), sum[0][2] + sum[1][2], high);
    }

    if (lane % 4 == 0) {
        of_warp[warp][lane / 4] = low;
        of_warp[warp][lane / 4 + 8] = high;
    }
    __syncthreads();
    const uint32_t row = blockIdx.x * TILE_ROWS + threadIdx.x;
    if (threadIdx.x < TILE_ROWS && row < a.rows) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < WARPS; i++)
            sum += of_warp[i][threadIdx.x];
        ((__nv_bfloat16 *)a.y)[row] = __float2bfloat16_rn(sum);
    }
}

// --- several columns -----------------------------------------------------------------------------

// Groups of this block: the grid.y blocks that share an output have a.groups each, the last what is
// left.
struct groups {
    uint32_t first, end;
};
__device__ __forceinline__ groups groups_of_block(const quantized_args &a)
{
    return {blockIdx.y * a.groups, min((blockIdx.y + 1) * a.groups, a.columns / GROUP)};
}

// Whether this block is the last of the grid.y that share an output: then it sees what they wrote.
__device__ __forceinline__ bool is_last(uint32_t *arrived)
{
    __shared__ uint32_t before;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        before = atomicAdd(arrived, 1);
        if (before == gridDim.y - 1)
            *arrived = 0; // for the next launch
    }
    __syncthreads();
    __threadfence();
    return before == gridDim.y - 1;
}

// Copies one group of 8 NT columns of x into a stage. Past the last column it leaves what is there:
// the products of a column are its own, and these are dropped. (With the last column again in their
// stead, 32 columns in room for 64 took 1.2 to 1.5 times as long as 64.)
template <int NT>
__device__ __forceinline__ void fetch_x(const quantized_args &a, uint32_t to, uint32_t group)
{
    enum { VECTORS = NT * 8 * (GROUP / 8), THREADS = 32 * QUANTIZED_WARPS };
#pragma unroll
    for (uint32_t pass = 0; pass < (VECTORS + THREADS - 1) / THREADS; pass++) {
        const uint32_t i = pass * THREADS + threadIdx.x;
        const uint32_t column = i / (GROUP / 8), at = i % (GROUP / 8);
        const uint32_t of = blockIdx.z * (8 * NT) + column;
        if (of < a.batch && (VECTORS % THREADS == 0 || i < VECTORS))
            cp_async_16(to + 16 * (column * QUANTIZED_X_VECTORS + at),
                        (const uint4 *)a.x + of * (a.columns / 8) + group * (GROUP / 8) + at);
    }
}

// One group: MT tiles of a warp times 8 NT columns, scaled and added to the sums.
template <typename W, int MT, int NT>
__device__ __forceinline__ void multiply_groups(float (&sum)[MT][NT][4],
                                                const uint4 (&w)[MT][W::LOADS],
                                                const uint32_t (&scales)[MT], const uint4 *x)
{
    const uint32_t lane = threadIdx.x % 32;
    float part[MT][NT][4] = {};
#pragma unroll
    for (int step = 0; step < STEPS; step += 2) {
        uint4 b[NT];
#pragma unroll
        for (int n = 0; n < NT; n++)
            b[n] = x[(8 * n + lane / 4) * QUANTIZED_X_VECTORS + 2 * step + lane % 4];
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int m = 0; m < MT; m++) {
                uint32_t operand[4];
                W::operand(operand, w[m], step + half);
#pragma unroll
                for (int n = 0; n < NT; n++)
                    mma_bf16(part[m][n], operand[0], operand[1], operand[2], operand[3],
                             half ? b[n].z : b[n].x, half ? b[n].w : b[n].y);
            }
    }
#pragma unroll
    for (int m = 0; m < MT; m++) {
        const float low = __uint_as_float(scales[m] << 16);
        const float high = __uint_as_float(scales[m] & 0xffff0000u);
#pragma unroll
        for (int n = 0; n < NT; n++) {
            sum[m][n][0] = fmaf(low, part[m][n][0], sum[m][n][0]);
            sum[m][n][1] = fmaf(low, part[m][n][1], sum[m][n][1]);
            sum[m][n][2] = fmaf(high, part[m][n][2], sum[m][n][2]);
            sum[m][n][3] = fmaf(high, part[m][n][3], sum[m][n][3]);
        }
    }
}

// The sums of all blocks that share these outputs, in the last of them; false in the others.
template <int VALUES>
__device__ __forceinline__ bool add_up(const quantized_args &a, float4 (&sum)[VALUES])
{
    const uint32_t block = blockIdx.z * gridDim.x + blockIdx.x, threads = 32 * QUANTIZED_WARPS;
    float4 *partial = (float4 *)a.partial + (uint64_t)block * gridDim.y * VALUES * threads;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        partial[(blockIdx.y * VALUES + i) * threads + threadIdx.x] = sum[i];
    if (!is_last(a.arrived + block))
        return false;
#pragma unroll
    for (int i = 0; i < VALUES; i++)
        sum[i] = make_float4(0, 0, 0, 0);
    for (uint32_t part = 0; part < gridDim.y; part++)
#pragma unroll
        for (int i = 0; i < VALUES; i++) {
            const float4 p = __ldcg(partial + (part * VALUES + i) * threads + threadIdx.x);
            sum[i].x += p.x, sum[i].y += p.y, sum[i].z += p.z, sum[i].w += p.w;
        }
    return true;
}

__device__ __forceinline__ void store(const quantized_args &a, uint32_t column, uint32_t row,
                                      float y)
{
    if (column < a.batch && row < a.rows)
        ((__nv_bfloat16 *)a.y)[(uint64_t)column * a.rows + row] = __float2bfloat16_rn(y);
}

// A block has 8 MT tiles of rows, a warp MT of them; its warps share x, in a ring of stages that
// cp.async fills. The next group's tiles are on their way while a warp works on this one's.
template <typename W, int MT, int NT>
__device__ __forceinline__ void several_columns(const quantized_args &a)
{
    extern __shared__ uint4 x[];
    enum { STAGE = 8 * NT * QUANTIZED_X_VECTORS, AHEAD = MT == 1 && NT <= 4 ? 2 : 1 };
    const uint32_t all = a.columns / GROUP, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t tile = (blockIdx.x * QUANTIZED_WARPS + warp) * MT;
    const uint32_t first = min(tile, (a.rows - 1) / TILE_ROWS); // the last tile again, and dropped
    const uint32_t last = (a.rows - 1) / TILE_ROWS - first;
    const groups own = groups_of_block(a);
    const tiles<W> from(a.weights, a.scales, (uint64_t)first * all);
    uint4 w[AHEAD + 1][MT][W::LOADS];
    uint32_t scales[AHEAD + 1][MT];
    union {
        float of[MT][NT][4];
        float4 packed[MT * NT];
    } sum = {};

    auto fetch_weights = [&](int slot, uint32_t group) {
#pragma unroll
        for (int m = 0; m < MT; m++)
            from.load(w[slot][m], scales[slot][m], min((uint32_t)m, last) * all + group);
    };
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if (own.first + i < own.end)
            fetch_weights(i, own.first + i);
#pragma unroll
    for (int i = 0; i < QUANTIZED_STAGES - 1; i++) {
        if (own.first + i < own.end)
            fetch_x<NT>(a, shared_address(x + i * STAGE), own.first + i);
        cp_async_commit();
    }

    uint32_t stage = 0;
#pragma unroll 1
    for (uint32_t at = own.first; at < own.end; at += AHEAD + 1)
#pragma unroll
        for (int i = 0; i <= AHEAD; i++) {
            const uint32_t group = at + i, further = group + QUANTIZED_STAGES - 1;
            if (group >= own.end)
                break;
            if (group + AHEAD < own.end)
                fetch_weights((i + AHEAD) % (AHEAD + 1), group + AHEAD);
            cp_async_wait<QUANTIZED_STAGES - 2>();
            __syncthreads();
            if (further < own.end)
                fetch_x<NT>(a, shared_address(x + (stage + 2) % 3 * STAGE), further);
            cp_async_commit();
            multiply_groups<W, MT, NT>(sum.of, w[i], scales[i], x + stage * STAGE);
            stage = stage == QUANTIZED_STAGES - 1 ? 0 : stage + 1;
        }

    if (gridDim.y > 1 && !add_up(a, sum.packed))
        return;
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < NT; n++) {
            const uint32_t row = (tile + m) * TILE_ROWS + lane / 4;
            const uint32_t column = (blockIdx.z * NT + n) * 8 + 2 * (lane % 4);
            store(a, column, row, sum.of[m][n][0]);
            store(a, column + 1, row, sum.of[m][n][1]);
            store(a, column, row + 8, sum.of[m][n][2]);
            store(a, column + 1, row + 8, sum.of[m][n][3]);
        }
}

#define PRODUCTS(format, wide)                                                                    \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_ONE, 2)                           \
        quantized_##format##_1(const __grid_constant__ struct quantized_args a)                   \
    {                                                                                             \
        one_column<weights_##format>(a);                                                          \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)                            \
        quantized_##format##_8(const __grid_constant__ struct quantized_args a)                   \
    {                                                                                             \
        several_columns<weights_##format, 1, 1>(a);                                               \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)                            \
        quantized_##format##_16(const __grid_constant__ struct quantized_args a)                  \
    {                                                                                             \
        several_columns<weights_##format, 1, 2>(a);                                               \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)                            \
        quantized_##format##_32(const __grid_constant__ struct quantized_args a)                  \
    {                                                                                             \
        several_columns<weights_##format, 1, 4>(a);                                               \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)                            \
        quantized_##format##_64(const __grid_constant__ struct quantized_args a)                  \
    {                                                                                             \
        several_columns<weights_##format, wide, 8>(a);                                            \
    }

// sass-loop: kernel=quantized_int4_1 ldg128=6 ldg128na=2 hmma=8 other<=110 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=quantized_int4_8 hmma=24 ldg128na=6 guarded<=6 other<=454 local=0
// sass-and: arch=80,86,89,90a,100
// sass-loop: kernel=quantized_int4_8 hmma=24 ldg128na=6 other<=443 local=0 arch=120
// sass-loop: kernel=quantized_int4_16 hmma=48 ldg128na=6 guarded<=6 other<=464 local=0 arch=80+
// sass-loop: kernel=quantized_int4_32 hmma=96 ldg128na=6 other<=608 local=0 arch=80+
// sass-loop: kernel=quantized_int4_64 hmma=256 ldg128na=8 other<=811 local=0 arch=80+
PRODUCTS(int4, QUANTIZED_WIDE_INT4)
// sass-loop: kernel=quantized_int8_1 ldg128=8 ldg128na=4 hmma=8 other<=136 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=quantized_int8_8 hmma=24 ldg128na=12 guarded<=12 other<=489 local=0
// sass-and: arch=80,86,89,90a
// sass-loop: kernel=quantized_int8_8 hmma=24 ldg128na=12 other<=544 local=0 arch=100+
// sass-loop: kernel=quantized_int8_16 hmma=48 ldg128na=12 guarded<=12 other<=528 local=0
// sass-and: arch=80,86,89,90a
// sass-loop: kernel=quantized_int8_16 hmma=48 ldg128na=12 other<=578 local=0 arch=100+
// sass-loop: kernel=quantized_int8_32 hmma=96 ldg128na=12 other<=642 local=0 arch=80+
// sass-loop: kernel=quantized_int8_64 hmma=128 ldg128na=8 other<=601 local=0 arch=80+
PRODUCTS(int8, 1)
// sass-loop: kernel=quantized_e4m3_1 ldg128=8 ldg128na=4 hmma=8 other<=166 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=quantized_e4m3_8 hmma=24 ldg128na=12 guarded<=12 other<=583 local=0
// sass-and: arch=80,86,89,90a
// sass-loop: kernel=quantized_e4m3_8 hmma=24 ldg128na=12 other<=638 local=0 arch=100+
// sass-loop: kernel=quantized_e4m3_16 hmma=48 ldg128na=12 guarded<=12 other<=622 local=0
// sass-and: arch=80,86,89,90a
// sass-loop: kernel=quantized_e4m3_16 hmma=48 ldg128na=12 other<=672 local=0 arch=100+
// sass-loop: kernel=quantized_e4m3_32 hmma=96 ldg128na=12 other<=736 local=0 arch=80+
// sass-loop: kernel=quantized_e4m3_64 hmma=128 ldg128na=8 other<=663 local=0 arch=80+
PRODUCTS(e4m3, 1)

// --- what they are held against ------------------------------------------------------------------

// The bf16 product: two rows a block (common/gemv_rows.cuh).
// sass-loop: ldg128na=8 ldg128=12 local=0 together arch=80+
extern "C" __global__ void __launch_bounds__(BF16_THREADS, 1)
    quantized_bf16(const __grid_constant__ struct quantized_args a)
{
    __shared__ float scratch[BF16_ROWS][BF16_THREADS / 32];
    const uint32_t vectors = a.columns / 8, first = blockIdx.x * BF16_ROWS;
    const uint4 *row[BF16_ROWS];
    float sum[BF16_ROWS] = {};

    gemv_rows_at(row, a.weights, first, a.rows, vectors);
    gemv_rows<BF16_LOADS>(sum, row, (const uint4 *)a.x, vectors);
    const float y = gemv_rows_sum(sum, scratch);
    if (threadIdx.x < BF16_ROWS && first + threadIdx.x < a.rows)
        ((__nv_bfloat16 *)a.y)[first + threadIdx.x] = __float2bfloat16_rn(y);
}

// The pass of its own: tiles to bf16, row-major, a tile a warp. Eight lanes of a store write eight
// rows, 64 bytes each.
template <typename W> __device__ __forceinline__ void dequantize(const quantized_pack_args &a)
{
    const uint32_t all = a.columns / GROUP, warp = blockIdx.x * QUANTIZED_WARPS + threadIdx.x / 32;
    const uint32_t lane = threadIdx.x % 32, row = warp / all * TILE_ROWS + lane / 4;
    if (warp >= (a.rows + TILE_ROWS - 1) / TILE_ROWS * all)
        return;
    uint4 w[W::LOADS];
    uint32_t scales;
    tiles<W>(a.from, a.scales, warp).load(w, scales, 0);
    // Scales as pairs, for two weights at a time; -0 keeps the sign of a zero.
    const uint32_t low = __byte_perm(scales, 0, 0x1010), high = __byte_perm(scales, 0, 0x3232);
    uint4 *to = (uint4 *)a.to + ((uint64_t)row * all + warp % all) * (GROUP / 8) + lane % 4;
#pragma unroll
    for (int step = 0; step < STEPS; step += 2) {
        uint32_t x[2][4];
        W::operand(x[0], w, step);
        W::operand(x[1], w, step + 1);
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i / 4][i % 4] = fma_pair(x[i / 4][i % 4], i % 2 ? high : low, 0x80008000u);
        if (row < a.rows)
            __stcg(to + 2 * step, make_uint4(x[0][0], x[0][2], x[1][0], x[1][2]));
        if (row + 8 < a.rows)
            __stcg(to + (uint64_t)all * GROUP + 2 * step,
                   make_uint4(x[0][1], x[0][3], x[1][1], x[1][3]));
    }
}

#define DEQUANTIZE(format)                                                                        \
    extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)                            \
        quantized_##format##_dequantize(const __grid_constant__ struct quantized_pack_args a)     \
    {                                                                                             \
        dequantize<weights_##format>(a);                                                          \
    }
// sass-all: kernel=quantized_int4_dequantize ldg128na=2 stg128=8 local=0 arch=80+
DEQUANTIZE(int4)
// sass-all: kernel=quantized_int8_dequantize ldg128na=4 stg128=8 local=0 arch=80+
DEQUANTIZE(int8)
// sass-all: kernel=quantized_e4m3_dequantize ldg128na=4 stg128=8 local=0 arch=80+
DEQUANTIZE(e4m3)

// What a kernel without a fast path does: int4 row-major, a row a warp, a byte and two elements of
// x a lane and turn, a conversion and a scale for each weight.
// sass-loop: ldg=4 ffma=2 local=0 arch=80+
extern "C" __global__ void __launch_bounds__(32 * QUANTIZED_WARPS)
    quantized_scalar(const __grid_constant__ struct quantized_args a)
{
    const uint32_t row = blockIdx.x * QUANTIZED_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= a.rows)
        return;
    const uint8_t *w = (const uint8_t *)a.weights + (uint64_t)row * (a.columns / 2);
    const __nv_bfloat16 *scales = (const __nv_bfloat16 *)a.scales + row * (a.columns / GROUP);
    const __nv_bfloat16 *x = (const __nv_bfloat16 *)a.x;
    float sum = 0;
#pragma unroll 1
    for (uint32_t i = lane; i < a.columns / 2; i += 32) {
        const float scale = __bfloat162float(scales[2 * i / GROUP]);
        sum += scale * (float)((int)(w[i] & 15) - 8) * __bfloat162float(x[2 * i]);
        sum += scale * (float)((int)(w[i] >> 4) - 8) * __bfloat162float(x[2 * i + 1]);
    }
    sum = warp_reduce<adding>(sum);
    if (lane == 0)
        ((__nv_bfloat16 *)a.y)[row] = __float2bfloat16_rn(sum);
}
#endif
