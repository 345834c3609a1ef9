// What fills a layer's memory; and the layer in float64 on the GPU, operator by operator: one
// kernel for each operation, and one that compares. The reference's numbers are doubles in memory,
// sequences one behind the other. None of it is timed.
#include "core/device/verdict.cuh"
#include "fused/batched_layer/args.h"
#include "fused/common/decoder/deal.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"

static __device__ __forceinline__ uint64_t item(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint64_t items(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

static __device__ __forceinline__ double rounded(double x)
{
    return (double)__bfloat162float(__double2bfloat16(x));
}

static __device__ __forceinline__ double number_of(const batched_check_args &a, uint64_t i)
{
    return a.is_fp32 ? (double)((const float *)a.bits)[i]
                     : (double)bf16::one(((const __nv_bfloat16 *)a.bits)[i]);
}

// sass: none not a timed kernel
extern "C" __global__ void batched_scale(const __grid_constant__ struct batched_scale_args a)
{
    __nv_bfloat16 *numbers = (__nv_bfloat16 *)a.memory;
    for (uint64_t i = item(); i < a.count; i += items())
        numbers[i] = bf16::one(fmaf(bf16::one(numbers[i]), a.scale, a.mean));
}

// out = what the kernel left.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_widen(const __grid_constant__ struct batched_check_args a)
{
    for (uint64_t i = item(); i < a.count; i += items())
        a.out[i] = number_of(a, i);
}

// out = out + in.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_add(const __grid_constant__ struct batched_check_args a)
{
    for (uint64_t i = item(); i < a.count; i += items())
        a.out[i] += a.in[i];
}

// out = norm(in) with `weights`, a block for each sequence of `columns`.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(CHECK_THREADS)
    batched_check_norm(const __grid_constant__ struct batched_check_args a)
{
    __shared__ double scratch[CHECK_THREADS / 32];
    const double *in = a.in + (uint64_t)blockIdx.x * a.columns;
    double *out = a.out + (uint64_t)blockIdx.x * a.columns, squares = 0;
    for (uint32_t i = threadIdx.x; i < a.columns; i += CHECK_THREADS)
        squares += in[i] * in[i];
    squares = block_reduce<adding, CHECK_THREADS / 32>(squares, scratch);
    const double by = 1 / sqrt(squares / a.columns + a.epsilon);
    for (uint32_t i = threadIdx.x; i < a.columns; i += CHECK_THREADS)
        out[i] = in[i] * by * (double)bf16::one(((const __nv_bfloat16 *)a.weights)[i]);
}

// out = the matrix times in: a block for CHECK_TILE rows (x) of CHECK_TILE sequences (y), a thread
// for 4 x 4 of them.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(CHECK_THREADS)
    batched_check_multiply(const __grid_constant__ struct batched_check_args a)
{
    enum : uint32_t { DEEP = 16, EACH = CHECK_TILE * DEEP / CHECK_THREADS };
    __shared__ double w[DEEP][CHECK_TILE], x[DEEP][CHECK_TILE];
    const uint32_t first_row = blockIdx.x * CHECK_TILE, first = blockIdx.y * CHECK_TILE;
    const uint32_t tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const __nv_bfloat16 *weights = (const __nv_bfloat16 *)a.weights;
    double sum[4][4] = {};

    for (uint32_t from = 0; from < a.columns; from += DEEP) {
#pragma unroll
        for (uint32_t e = 0; e < EACH; e++) {
            const uint32_t at = e * CHECK_THREADS + threadIdx.x, k = at % DEEP, i = at / DEEP;
            const bool is_in = from + k < a.columns;
            w[k][i] =
                is_in && first_row + i < a.rows
                    ? (double)bf16::one(weights[(uint64_t)(first_row + i) * a.columns + from + k])
                    : 0;
            x[k][i] = is_in && first + i < a.batch
                          ? a.in[(uint64_t)(first + i) * a.columns + from + k]
                          : 0;
        }
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
#pragma unroll
                for (uint32_t j = 0; j < 4; j++)
                    sum[i][j] += w[k][16 * i + tx] * x[k][16 * j + ty];
        __syncthreads();
    }
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t row = first_row + 16 * i + tx, b = first + 16 * j + ty;
            if (row < a.rows && b < a.batch)
                a.out[(uint64_t)b * a.rows + row] = sum[i][j];
        }
}

// q and k of `out`, in place. Its heads are q, k and v.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_rotate(const __grid_constant__ struct batched_check_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t half = s.head_dim / 2, all = s.heads + 2 * s.kv_heads;
    const uint32_t turned = (s.heads + s.kv_heads) * half;
    for (uint64_t i = item(); i < (uint64_t)a.batch * turned; i += items()) {
        const uint32_t b = (uint32_t)(i / turned), head = (uint32_t)(i % turned) / half,
                       at = i % half;
        double *low = a.out + ((uint64_t)b * all + head) * s.head_dim + at, *high = low + half;
        const double cosine = a.rope[2 * at], sine = a.rope[2 * at + 1], was = *low;
        *low = was * cosine - *high * sine;
        *high = *high * cosine + was * sine;
    }
}

// out = rounded(in).
// sass: none not a timed kernel
extern "C" __global__ void batched_check_round(const __grid_constant__ struct batched_check_args a)
{
    for (uint64_t i = item(); i < a.count; i += items())
        a.out[i] = rounded(a.in[i]);
}

// out = the rows of the heads [rows, rows + columns) of each sequence of in, whose heads are q, k
// and v.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_heads(const __grid_constant__ struct batched_check_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t each = a.columns * s.head_dim, all = (s.heads + 2 * s.kv_heads) * s.head_dim;
    for (uint64_t i = item(); i < (uint64_t)a.batch * each; i += items())
        a.out[i] = a.in[i / each * all + a.rows * s.head_dim + i % each];
}

// out = the new token's rows of the cache as the kernel left them: of each sequence all keys, all
// values.
// sass: none not a timed kernel
extern "C" __global__ void
batched_check_new_rows(const __grid_constant__ struct batched_check_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t d = s.head_dim, each = 2 * s.kv_heads * d;
    for (uint64_t i = item(); i < (uint64_t)a.batch * each; i += items()) {
        const uint32_t b = (uint32_t)(i / each), head = (uint32_t)(i % each) / d;
        const __nv_bfloat16 *half =
            (const __nv_bfloat16 *)a.cache +
            (head < s.kv_heads ? 0 : decoder_cache_half(&s, a.batch, a.capacity) / 2);
        const uint64_t row =
            (uint64_t)(b * s.kv_heads + head % s.kv_heads) * a.capacity + a.context - 1;
        a.out[i] = (double)bf16::one(half[row * d + i % d]);
    }
}

// The greatest of all threads' numbers.
static __device__ __forceinline__ double block_most(double most, double *found)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        most = fmax(most, __shfl_xor_sync(~0u, most, lanes));
    if (threadIdx.x % 32 == 0)
        found[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < CHECK_THREADS / 32; w++)
        most = fmax(most, found[w]);
    __syncthreads();
    return most;
}

// out = attention of one head; q; and the new rows of in, whose heads are q, k and v.
static __device__ void attend(const batched_check_args &a, uint32_t b, uint32_t head, double *score,
                              double *found)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t d = s.head_dim, kv = head / (s.heads / s.kv_heads), old = a.context - 1;
    const double *of = a.in + (uint64_t)b * (s.heads + 2 * s.kv_heads) * d, *q = of + head * d;
    const double *fresh = of + (s.heads + kv) * d;
    const __nv_bfloat16 *keys =
        (const __nv_bfloat16 *)a.cache + ((uint64_t)b * s.kv_heads + kv) * a.capacity * d;
    const __nv_bfloat16 *values = keys + decoder_cache_half(&s, a.batch, a.capacity) / 2;
    double most = -INFINITY, sum = 0;

    for (uint32_t key = threadIdx.x; key < a.context; key += CHECK_THREADS) {
        double dot = 0;
        for (uint32_t i = 0; i < d; i++)
            dot += q[i] * (key < old ? (double)bf16::one(keys[(uint64_t)key * d + i]) : fresh[i]);
        score[key] = dot / sqrt((double)d);
        most = fmax(most, score[key]);
    }
    most = block_most(most, found);
    for (uint32_t key = threadIdx.x; key < a.context; key += CHECK_THREADS) {
        score[key] = exp(score[key] - most);
        sum += score[key];
    }
    sum = block_reduce<adding, CHECK_THREADS / 32>(sum, found);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < d; i += CHECK_THREADS) {
        double all = score[old] * fresh[s.kv_heads * d + i];
#pragma unroll 8
        for (uint32_t key = 0; key < old; key++)
            all += score[key] * (double)bf16::one(values[(uint64_t)key * d + i]);
        a.out[((uint64_t)b * s.heads + head) * d + i] = all / sum;
    }
    __syncthreads();
}

// A block takes heads in turn; its scores go to `scratch`, `context` of them.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(CHECK_THREADS)
    batched_check_attention(const __grid_constant__ struct batched_check_args a)
{
    __shared__ double found[CHECK_THREADS / 32];
    for (uint32_t i = blockIdx.x; i < a.batch * a.shape.heads; i += gridDim.x)
        attend(a, i / a.shape.heads, i % a.shape.heads,
               a.scratch + (uint64_t)blockIdx.x * a.context, found);
}

// out = silu(gate) x up; in: gate, then up.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_silu(const __grid_constant__ struct batched_check_args a)
{
    const uint32_t ffn = a.shape.ffn;
    for (uint64_t i = item(); i < (uint64_t)a.batch * ffn; i += items()) {
        const double *gate = a.in + i / ffn * 2 * ffn + i % ffn;
        a.out[i] = *gate / (1 + exp(-*gate)) * gate[ffn];
    }
}

// Compares what the kernel left, less `less` where there is such, with in.
// sass: none not a timed kernel
extern "C" __global__ void batched_check_judge(const __grid_constant__ struct batched_check_args a)
{
    struct verdict own = {};
    for (uint64_t i = item(); i < a.count; i += items())
        judge(&own, (a.bits ? number_of(a, i) : a.out[i]) - (a.less ? a.less[i] : 0), a.in[i],
              a.relative * fabs(a.in[i]) + a.absolute);
    deliver(a.verdict, &own);
}
