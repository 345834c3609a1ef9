// A decoder's layer in float64 on the GPU, step by step: one kernel for each operation, and one
// that compares. All numbers are doubles in memory, sequences one behind the other. None of it is
// timed.
#include "core/device/verdict.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/vector.cuh"
#include "fused/common/decoder/deal.cuh"
#include "fused/decoder_layer/args.h"

static __device__ __forceinline__ uint32_t thread(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t threads(void) { return gridDim.x * blockDim.x; }

static __device__ __forceinline__ double rounded(double x)
{
    return (double)__bfloat162float(__double2bfloat16(x));
}

struct two {
    double low, high;
    uint32_t at, apart; // their places
};

// The numbers of word i; of fp32 and float64 only `low` counts.
static __device__ __forceinline__ struct two word_of(const decoder_check_args &a, uint32_t i)
{
    if (a.layout == LAYOUT_F64)
        return {((const double *)a.words)[i], 0, i, 0};
    const uint32_t word = a.words[(uint64_t)i * a.stride];
    if (a.layout == LAYOUT_FP32)
        return {(double)__uint_as_float(word), 0, i, 0};
    const float2 pair = bf16::widen(word);
    if (a.layout == LAYOUT_NEIGHBOURS)
        return {(double)pair.x, (double)pair.y, 2 * i, 1};
    return {(double)pair.x, (double)pair.y, i / a.half * 2 * a.half + i % a.half, a.half};
}

// out = the numbers of `count` words.
// sass: none not a timed kernel
extern "C" __global__ void decoder_check_widen(const __grid_constant__ struct decoder_check_args a)
{
    for (uint32_t i = thread(); i < a.count; i += threads()) {
        const struct two t = word_of(a, i);
        a.out[t.at] = t.low;
        if (t.apart)
            a.out[t.at + t.apart] = t.high;
    }
}

// out = rounded(in); and out = out + in, in fp32 unless ROUNDS_NOT.
// sass: none not a timed kernel
extern "C" __global__ void decoder_check_round(const __grid_constant__ struct decoder_check_args a)
{
    for (uint32_t i = thread(); i < a.count; i += threads())
        a.out[i] = rounded(a.in[i]);
}
// sass: none not a timed kernel
extern "C" __global__ void decoder_check_add(const __grid_constant__ struct decoder_check_args a)
{
    for (uint32_t i = thread(); i < a.count; i += threads())
        a.out[i] = a.rounds == ROUNDS_NOT ? a.out[i] + a.in[i]
                                          : (double)((float)a.out[i] + (float)a.in[i]);
}

// out = norm(in) with `weights`, a block for each sequence of `columns`.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(CHECK_THREADS)
    decoder_check_norm(const __grid_constant__ struct decoder_check_args a)
{
    __shared__ double scratch[CHECK_THREADS / 32];
    const double *in = a.in + (uint64_t)blockIdx.x * a.columns;
    double *out = a.out + (uint64_t)blockIdx.x * a.columns, squares = 0;
    for (uint32_t i = threadIdx.x; i < a.columns; i += CHECK_THREADS)
        squares += in[i] * in[i];
    squares = block_reduce<adding, CHECK_THREADS / 32>(squares, scratch);
    const double by = 1 / sqrt(squares / a.columns + a.epsilon);
    for (uint32_t i = threadIdx.x; i < a.columns; i += CHECK_THREADS) {
        const double x = in[i] * (double)bf16::one(((const __nv_bfloat16 *)a.weights)[i]);
        out[i] = a.rounds == ROUNDS_BEFORE  ? rounded(x) * by
                 : a.rounds == ROUNDS_AFTER ? rounded(x * by)
                                            : x * by;
    }
}

// out = the matrix times in: a warp for each row, for all sequences.
// sass: none not a timed kernel
extern "C" __global__ void
decoder_check_multiply(const __grid_constant__ struct decoder_check_args a)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t row = thread() / 32; row < a.rows; row += threads() / 32) {
        const uint32_t *pairs = (const uint32_t *)a.weights + (uint64_t)row * (a.columns / 2);
        double sum[DECODER_BATCH] = {};
        for (uint32_t i = lane; i < a.columns / 2; i += 32) {
            const float2 w = bf16::widen(pairs[i]);
#pragma unroll
            for (uint32_t b = 0; b < DECODER_BATCH; b++)
                if (b < a.batch) {
                    const double *x = a.in + (uint64_t)b * a.columns + 2 * i;
                    sum[b] += (double)w.x * x[0] + (double)w.y * x[1];
                }
        }
#pragma unroll
        for (uint32_t b = 0; b < DECODER_BATCH; b++) {
            const double all = warp_reduce<adding>(sum[b]);
            if (lane == 0 && b < a.batch)
                a.out[(uint64_t)b * a.rows + row] = all;
        }
    }
}

// q and k of `out`, in place.
// sass: none not a timed kernel
extern "C" __global__ void decoder_check_rotate(const __grid_constant__ struct decoder_check_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t half = s.head_dim / 2, all = s.heads + 2 * s.kv_heads;
    const uint32_t turned = (s.heads + s.kv_heads) * half;
    for (uint32_t i = thread(); i < a.batch * turned; i += threads()) {
        const uint32_t b = i / turned, head = i % turned / half, at = i % half;
        double *low = a.out + ((uint64_t)b * all + head) * s.head_dim + at, *high = low + half;
        const double cosine = a.rope[2 * at], sine = a.rope[2 * at + 1], was = *low;
        *low = was * cosine - *high * sine;
        *high = *high * cosine + was * sine;
    }
}

// out = attention; in: q, the new keys, the new values. A block for each head of each sequence; its
// scores go to `scratch`, `context` of them.
// sass: none not a timed kernel
extern "C" __global__ void __launch_bounds__(CHECK_THREADS)
    decoder_check_attention(const __grid_constant__ struct decoder_check_args a)
{
    __shared__ double found[CHECK_THREADS / 32];
    const struct decoder_shape &s = a.shape;
    const uint32_t d = s.head_dim, b = blockIdx.x / s.heads, head = blockIdx.x % s.heads;
    const uint32_t kv = head / (s.heads / s.kv_heads), old = a.context - 1;
    const double *of = a.in + (uint64_t)b * (s.heads + 2 * s.kv_heads) * d, *q = of + head * d;
    const double *fresh = of + (s.heads + kv) * d;
    const __nv_bfloat16 *keys =
        (const __nv_bfloat16 *)a.cache + ((uint64_t)b * s.kv_heads + kv) * a.capacity * d;
    const __nv_bfloat16 *values = keys + decoder_cache_half(&s, a.batch, a.capacity) / 2;
    double *score = a.scratch + (uint64_t)blockIdx.x * a.context, most = -INFINITY, sum = 0;

    for (uint32_t key = threadIdx.x; key < a.context; key += CHECK_THREADS) {
        double dot = 0;
        for (uint32_t i = 0; i < d; i++)
            dot += q[i] * (key < old ? (double)bf16::one(keys[(uint64_t)key * d + i]) : fresh[i]);
        score[key] = dot / sqrt((double)d);
        most = fmax(most, score[key]);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        most = fmax(most, __shfl_xor_sync(~0u, most, lanes));
    if (threadIdx.x % 32 == 0)
        found[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < CHECK_THREADS / 32; w++)
        most = fmax(most, found[w]);
    __syncthreads();
    for (uint32_t key = threadIdx.x; key < a.context; key += CHECK_THREADS) {
        score[key] = exp(score[key] - most);
        sum += score[key];
    }
    sum = block_reduce<adding, CHECK_THREADS / 32>(sum, found);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < d; i += CHECK_THREADS) {
        double all = score[old] * fresh[s.kv_heads * d + i];
        for (uint32_t key = 0; key < old; key++)
            all += score[key] * (double)bf16::one(values[(uint64_t)key * d + i]);
        a.out[(uint64_t)blockIdx.x * d + i] = all / sum;
    }
}

// out = silu(gate) x up; in: gate, then up.
// sass: none not a timed kernel
extern "C" __global__ void
decoder_check_activate(const __grid_constant__ struct decoder_check_args a)
{
    const uint32_t ffn = a.shape.ffn;
    for (uint32_t i = thread(); i < a.batch * ffn; i += threads()) {
        const double *gate = a.in + (uint64_t)(i / ffn) * 2 * ffn + i % ffn;
        a.out[i] = *gate / (1 + exp(-*gate)) * gate[ffn];
    }
}

// Compares what `words` hold with in.
// sass: none not a timed kernel
extern "C" __global__ void decoder_check_judge(const __grid_constant__ struct decoder_check_args a)
{
    struct verdict own = {};
    for (uint32_t i = thread(); i < a.count; i += threads()) {
        const struct two t = word_of(a, i);
        judge(&own, t.low, a.in[t.at], a.relative * fabs(a.in[t.at]) + a.absolute);
        if (t.apart)
            judge(&own, t.high, a.in[t.at + t.apart],
                  a.relative * fabs(a.in[t.at + t.apart]) + a.absolute);
    }
    deliver(a.verdict, &own);
}
