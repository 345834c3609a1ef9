// What fixed_sizes.cu computes, in double: plain kernels for all items, one for each step.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/fixed_sizes/args.h"

enum { THREADS = 256 };

static __device__ __forceinline__ uint64_t half_of(const struct fixed_sizes_verify_args &a)
{
    return (uint64_t)a.kv_heads * a.capacity * FIXED_DIM; // elements from keys to values
}
static __device__ __forceinline__ const __nv_bfloat16 *
key_of(const struct fixed_sizes_verify_args &a, uint32_t item, uint32_t head, uint32_t key)
{
    return (const __nv_bfloat16 *)(a.cache + item % a.sets * a.cache_stride) +
           ((uint64_t)head / FIXED_GROUP * a.capacity + key) * FIXED_DIM;
}

// A score a thread at a time.
// sass: none not a timed kernel
extern "C" __global__ void
fixed_sizes_scores(const __grid_constant__ struct fixed_sizes_verify_args a)
{
    const uint32_t heads = a.kv_heads * FIXED_GROUP;
    const uint64_t n = (uint64_t)a.items * heads * a.context;
    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * THREADS) {
        const uint64_t row = i / a.context;
        const uint32_t item = (uint32_t)(row / heads), head = (uint32_t)(row % heads);
        const __nv_bfloat16 *key = key_of(a, item, head, (uint32_t)(i % a.context));
        const __nv_bfloat16 *q = (const __nv_bfloat16 *)a.q + row * FIXED_DIM;
        double score = 0;
        for (uint32_t d = 0; d < FIXED_DIM; d++)
            score += (double)bf16::one(q[d]) * (double)bf16::one(key[d]);
        a.scores[i] = score * a.q_scale;
    }
}

// A head of an item a block.
// sass: none not a timed kernel
extern "C" __global__ void
fixed_sizes_attention(const __grid_constant__ struct fixed_sizes_verify_args a)
{
    __shared__ double scratch[2][THREADS / 32], halves[FIXED_DIM];
    const uint32_t heads = a.kv_heads * FIXED_GROUP;
    for (uint64_t row = blockIdx.x; row < (uint64_t)a.items * heads; row += gridDim.x) {
        double *score = a.scores + row * a.context, most = -1e300, sum = 0, value = 0;
        for (uint32_t i = threadIdx.x; i < a.context; i += THREADS)
            most = fmax(most, score[i]);
        for (uint32_t lanes = 16; lanes > 0; lanes /= 2)
            most = fmax(most, __shfl_xor_sync(~0u, most, lanes));
        if (threadIdx.x % 32 == 0)
            scratch[0][threadIdx.x / 32] = most;
        __syncthreads();
        for (uint32_t w = 0; w < THREADS / 32; w++)
            most = fmax(most, scratch[0][w]);
        for (uint32_t i = threadIdx.x; i < a.context; i += THREADS)
            sum += score[i] = exp2(score[i] - most);
        sum = block_reduce<adding, THREADS / 32>(sum, scratch[1]); // and all have set their scores
        const uint32_t d = threadIdx.x % FIXED_DIM;
        const __nv_bfloat16 *values =
            key_of(a, (uint32_t)(row / heads), (uint32_t)(row % heads), 0) + half_of(a);
        for (uint32_t i = threadIdx.x / FIXED_DIM; i < a.context; i += THREADS / FIXED_DIM)
            value += score[i] * (double)bf16::one(values[(uint64_t)i * FIXED_DIM + d]);
        if (threadIdx.x >= FIXED_DIM)
            halves[d] = value;
        __syncthreads();
        if (threadIdx.x < FIXED_DIM)
            a.attention[row * FIXED_DIM + d] = (value + halves[d]) / sum;
        __syncthreads();
    }
}

// A row of an item a warp: y, and the bound of a sum in fp32 of elements each rounded to bf16,
// which are independent: seven standard deviations of what they come to.
// sass: none not a timed kernel
extern "C" __global__ void
fixed_sizes_expected(const __grid_constant__ struct fixed_sizes_verify_args a)
{
    const uint32_t lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
    const uint32_t columns = a.kv_heads * FIXED_GROUP * FIXED_DIM;
    const uint64_t n = (uint64_t)a.items * a.hidden;
    for (uint64_t i = blockIdx.x * (THREADS / 32) + threadIdx.x / 32; i < n; i += warps) {
        const uint32_t item = (uint32_t)(i / a.hidden);
        const __nv_bfloat16 *w =
            (const __nv_bfloat16 *)(a.weights + item % a.sets * a.weight_stride) +
            (uint64_t)(i % a.hidden) * columns;
        const double *x = a.attention + (uint64_t)item * columns;
        double sum = 0, absolute = 0, squared = 0;
        for (uint32_t j = lane; j < columns; j += 32) {
            const double product = (double)bf16::one(w[j]) * x[j];
            sum += product;
            absolute += fabs(product);
            squared += product * product;
        }
        sum = a.scale * warp_reduce<adding>(sum);
        absolute = a.scale * warp_reduce<adding>(absolute);
        squared = a.scale * a.scale * warp_reduce<adding>(squared);
        if (lane == 0) {
            a.expected[2 * i] = (double)a.residual[i] + sum;
            a.expected[2 * i + 1] = 8 * sqrt((double)columns) * 0x1p-24 * absolute +
                                    6 * 0x1p-9 * sqrt(squared) +
                                    0x1p-22 * (1 + fabs((double)a.residual[i]));
        }
    }
}

// sass: none not a timed kernel
extern "C" __global__ void
fixed_sizes_verify(const __grid_constant__ struct fixed_sizes_verify_args a)
{
    const uint64_t n = (uint64_t)a.items * a.hidden;
    struct verdict own = {};
    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * THREADS)
        judge(&own, a.y[i], a.expected[2 * i], a.expected[2 * i + 1]);
    deliver(a.verdict, &own);
}
