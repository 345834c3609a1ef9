// Deals out a rank's share of a layer, copies it to where it is near, and rates the head's rows in
// float64. Not timed.
#include "fused/common/decoder/move.cuh"
#include "fused/common/vector.cuh"
#include "links/layer/args.h"

// The whole layer's row that is row `row` of a rank's share.
static __device__ __forceinline__ uint32_t
layer_row(const struct decoder_shape *whole, uint32_t capacity, int part, uint32_t rank,
          uint32_t ranks, uint32_t row)
{
    const uint32_t q = whole->heads * whole->head_dim, kv = whole->kv_heads * whole->head_dim;
    uint32_t each = whole->ffn / ranks;
    if (part == DECODER_QKV && row < q / ranks)
        return rank * (q / ranks) + row;
    if (part == DECODER_QKV) {
        each = kv / ranks;
        row -= q / ranks;
        return q + row / each * kv + rank * each + row % each;
    }
    if (part == DECODER_GATE_UP)
        return row / each * whole->ffn + rank * each + row % each;
    if (part == LAYER_CACHE)
        return rank * (whole->kv_heads / ranks) * capacity + row;
    return row;
}

// The whole layer's column that is a share's first.
static __device__ __forceinline__ uint32_t
layer_column(const struct decoder_shape *whole, int part, uint32_t rank, uint32_t ranks)
{
    return part == DECODER_O      ? rank * (whole->heads / ranks) * whole->head_dim
           : part == DECODER_DOWN ? rank * (whole->ffn / ranks)
                                  : 0;
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(LAYER_DEAL_THREADS)
    layer_deal(const __grid_constant__ struct layer_deal_args a)
{
    const uint64_t pairs = (uint64_t)a.rows * (a.columns / 2);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    const uint32_t column = layer_column(&a.whole, (int)a.part, a.rank, a.ranks) / 2;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < pairs; i += step) {
        const uint32_t row = (uint32_t)(i / (a.columns / 2)), at = (uint32_t)(i % (a.columns / 2));
        const uint32_t from = layer_row(&a.whole, a.capacity, (int)a.part, a.rank, a.ranks, row);
        const float2 x =
            bf16::widen(a.from[(uint64_t)from * (a.whole_columns / 2) + column + at]);
        const uint32_t bits = bf16::narrow(
            make_float2(fmaf(x.x, a.scale, a.mean), fmaf(x.y, a.scale, a.mean)));
        a.to[i] = a.part == LAYER_CACHE && row % a.capacity >= a.known ? 0xffffffffu : bits;
    }
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(LAYER_DEAL_THREADS)
    layer_move_near(const __grid_constant__ struct decoder_move_args a)
{
    decoder_move(a);
}

// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(LAYER_RATE_THREADS)
    layer_rate(const __grid_constant__ struct layer_rate_args a)
{
    const uint32_t warps = gridDim.x * (LAYER_RATE_THREADS / 32), lane = threadIdx.x % 32;
    const uint32_t first = (blockIdx.x * LAYER_RATE_THREADS + threadIdx.x) / 32;
    for (uint32_t row = first; row < a.rows; row += warps) {
        double sum = 0;
        for (uint32_t i = lane; i < a.columns / 2; i += 32) {
            const float2 w = bf16::widen(a.head[(uint64_t)row * (a.columns / 2) + i]);
            sum += w.x * a.x[2 * i] + w.y * a.x[2 * i + 1];
        }
        for (int with = 16; with > 0; with /= 2)
            sum += __shfl_xor_sync(~0u, sum, with);
        if (lane == 0)
            a.logits[row] = sum;
    }
}
