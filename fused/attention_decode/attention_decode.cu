// Kernels of attention_decode: the operator, whole and in parts, from decode.cuh and rope.cuh;
// dequantising; reading; a matrix-vector product with two layouts; verification.
#include "core/device/load.cuh"
#include "core/device/verdict.cuh"
#include "fused/attention_decode/args.h"
#include "fused/attention_decode/rope.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/together.cuh"

// --- turning and appending -----------------------------------------------------------------------

#define ROPE_KERNEL(name, cache, turn, append)                                                     \
    extern "C" __global__ void __launch_bounds__(ROPE_THREADS)                                     \
        attention_decode_##name(const __grid_constant__ struct rope_args a)                        \
    {                                                                                              \
        rope_append<cache, 128, turn, append>(a);                                                  \
    }

// Values beyond the range of e4m3 become NaN: the control of the clamp.
struct e4m3_unclamped : e4m3 {
    static __device__ __forceinline__ uint8_t store(float x)
    {
        return e4m3::store_unclamped(x);
    }
};
struct int8_unclamped : int8 {
    static __device__ __forceinline__ uint8_t store(float x)
    {
        return int8::store_unclamped(x);
    }
};

// sass-all: kernel=attention_decode_rope ldg128na=2 ldg=10 stg128=2 local=0
ROPE_KERNEL(rope, cache_bf16, true, false)
// sass-all: kernel=attention_decode_append_bf16 ldg128na=2 stg128=2 local=0
ROPE_KERNEL(append_bf16, cache_bf16, false, true)
// sass-all: kernel=attention_decode_append_e4m3 ldg128na=2 stg64=2 local=0
ROPE_KERNEL(append_e4m3, cache_e4m3, false, true)
// sass-all: kernel=attention_decode_append_int8 ldg128na=2 stg64=2 local=0
ROPE_KERNEL(append_int8, cache_int8, false, true)
// sass-all: kernel=attention_decode_append_e4m3_unclamped ldg128na=2 stg64=2 local=0
ROPE_KERNEL(append_e4m3_unclamped, cache_8bit<e4m3_unclamped>, false, true)
// sass-all: kernel=attention_decode_append_int8_unclamped ldg128na=2 stg64=2 local=0
ROPE_KERNEL(append_int8_unclamped, cache_8bit<int8_unclamped>, false, true)
// sass-all: kernel=attention_decode_rope_append_bf16 ldg128na=2 local=0
ROPE_KERNEL(rope_append_bf16, cache_bf16, true, true)
// sass-all: kernel=attention_decode_rope_append_e4m3 ldg128na=2 local=0
ROPE_KERNEL(rope_append_e4m3, cache_e4m3, true, true)
// sass-all: kernel=attention_decode_rope_append_int8 ldg128na=2 local=0
ROPE_KERNEL(rope_append_int8, cache_int8, true, true)

// Copies rows of 8-bit numbers (`k` and `v`, batch x kv_heads x 128 each) into the cache.
// sass-all: ldg128na=1 stg128=1 local=0
extern "C" __global__ void __launch_bounds__(ROPE_THREADS)
    attention_decode_store(const __grid_constant__ struct rope_args a)
{
    const uint32_t at = blockIdx.x * ROPE_THREADS + threadIdx.x, kv_heads = a.cache.kv_heads;
    const uint32_t i = at % 8, row = at / 8 % (2 * kv_heads), sequence = at / 8 / (2 * kv_heads);
    if (sequence >= a.batch)
        return;
    const bool is_v = row >= kv_heads;
    const uint32_t head = is_v ? row - kv_heads : row;
    const uint4 *from = (const uint4 *)(is_v ? a.v : a.k) + (sequence * kv_heads + head) * 8 + i;
    char *to = (char *)(is_v ? a.cache.v : a.cache.k) + kv_row(a.cache, sequence, head, a.key);
    *((uint4 *)to + i) = load_once(from);
}

// --- from here on matrix instructions: compute capability 8.0 ------------------------------------
#if __CUDA_ARCH__ >= 800
#include "fused/attention_decode/decode.cuh"

// A turn has eight loads of keys and eight of values, 16 bytes a lane. The code of a turn exists
// twice: the second time with predicates, for the last turn.
#define ATTENTION_KERNEL(name, cache, d, paged, stable)                                            \
    extern "C" __global__ void __launch_bounds__(ATTENTION_THREADS)                                \
        attention_decode_##name(const __grid_constant__ struct attention_decode_args a)            \
    {                                                                                              \
        attention_decode<cache, d, paged, stable>(a);                                              \
    }

// sass-loop: kernel=attention_decode_bf16 ldg128na=32 hmma=24 guarded<=16 other<=937 local=0
// sass-and: regs<=255 arch=80+
ATTENTION_KERNEL(bf16, cache_bf16, 128, false, true)
// sass-loop: kernel=attention_decode_bf16_paged ldg128na=32 hmma=24 guarded<=16 other<=964 local=0
// sass-and: regs<=255 arch=80+
ATTENTION_KERNEL(bf16_paged, cache_bf16, 128, true, true)
// sass-loop: kernel=attention_decode_bf16_d64 ldg128na=32 hmma=24 guarded<=16 other<=900 local=0
// sass-and: regs<=255 arch=80+
ATTENTION_KERNEL(bf16_d64, cache_bf16, 64, false, true)
// sass-loop: kernel=attention_decode_e4m3 ldg128na=32 hmma=48 guarded<=15 other<=4753 local=0
// sass-and: regs<=255 arch=80,86
// sass-loop: kernel=attention_decode_e4m3 ldg128na=32 hmma=48 guarded<=16 other<=1456 local=0
// sass-and: regs<=255 arch=89+
ATTENTION_KERNEL(e4m3, cache_e4m3, 128, false, true)
// sass-loop: kernel=attention_decode_e4m3_paged ldg128na=32 hmma=48 guarded<=14 other<=4837 local=0
// sass-and: regs<=255 arch=80,86
// sass-loop: kernel=attention_decode_e4m3_paged ldg128na=32 hmma=48 guarded<=16 other<=1535 local=0
// sass-and: regs<=255 arch=89+
ATTENTION_KERNEL(e4m3_paged, cache_e4m3, 128, true, true)
// sass-loop: kernel=attention_decode_int8 ldg128na=32 hmma=48 guarded<=16 other<=1690 local=0
// sass-and: regs<=255 arch=80+
ATTENTION_KERNEL(int8, cache_int8, 128, false, true)
// sass-loop: kernel=attention_decode_int8_paged ldg128na=32 hmma=48 guarded<=16 other<=1776 local=0
// sass-and: regs<=255 arch=80+
ATTENTION_KERNEL(int8_paged, cache_int8, 128, true, true)
// The control of numerical stability: exp without the maximum.
// sass-loop: kernel=attention_decode_naive ldg128na=32 hmma=24 guarded<=16 other<=873 local=0
// sass-and: arch=80+
ATTENTION_KERNEL(naive, cache_bf16, 128, false, false)

// The merge of the blocks as a kernel of its own.
// sass-loop: ldg64=32 ffma=48 guarded<=32 other<=139 local=0 arch=80+
// sass-all: ldg64=32 ldg=33 stg=1 local=0 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_decode_merge(const __grid_constant__ struct attention_decode_args a)
{
    __shared__ attention_shared<128> shared;
    attention_block<cache_bf16, 128> block(a, shared);
    block.take_scale();
    block.merge_blocks();
}
#endif

// --- dequantising, reading -----------------------------------------------------------------------

// Eight numbers per load, so that the stores of a warp are adjacent.
template <typename NUMBER>
__device__ __forceinline__ void dequantise(const decode_dequantise_args &a)
{
    enum { TOGETHER = 8 };
    const uint32_t first = blockIdx.x * (DECODE_THREADS * TOGETHER) + threadIdx.x;
    const uint64_t head = (uint64_t)blockIdx.y * a.head_vectors;
    const uint2 *from = (const uint2 *)((const char *)a.from + blockIdx.z * a.from_apart) + head;
    uint4 *to = (uint4 *)((char *)a.to + blockIdx.z * a.to_apart) + head;
    const float scale = __ldg(a.scale + blockIdx.z * a.kv_heads + blockIdx.y % a.kv_heads);
    uint2 x[TOGETHER];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
        if (first + i * DECODE_THREADS < a.head_vectors)
            x[i] = __ldg(from + first + i * DECODE_THREADS);
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
        const uint32_t at = first + i * DECODE_THREADS, word[2] = {x[i].x, x[i].y};
        uint32_t y[4];
#pragma unroll
        for (int w = 0; w < 2; w++) {
            uint32_t low, high;
            NUMBER::widen(word[w], low, high);
            const float2 p = fp16::widen(low), q = fp16::widen(high);
            y[2 * w] = bf16::narrow(make_float2(p.x * scale, p.y * scale));
            y[2 * w + 1] = bf16::narrow(make_float2(q.x * scale, q.y * scale));
        }
        if (at < a.head_vectors)
            to[at] = make_uint4(y[0], y[1], y[2], y[3]);
    }
}

// sass-all: kernel=attention_decode_dequantise_e4m3 ldg64=8 stg128=8 local=0
extern "C" __global__ void __launch_bounds__(DECODE_THREADS)
    attention_decode_dequantise_e4m3(const __grid_constant__ struct decode_dequantise_args a)
{
    dequantise<e4m3>(a);
}
// sass-all: kernel=attention_decode_dequantise_int8 ldg64=8 stg128=8 local=0
extern "C" __global__ void __launch_bounds__(DECODE_THREADS)
    attention_decode_dequantise_int8(const __grid_constant__ struct decode_dequantise_args a)
{
    dequantise<int8>(a);
}

// The memory's own rate: reads as many bytes and drops them. The vectors are used in reverse order,
// and the registers are not shared among more blocks than there are; otherwise the assembler would
// use the first vector before it has asked for the last.
// sass-loop: ldg128na=8 other<=28 exits<=2 local=0 moving together
extern "C" __global__ void __launch_bounds__(DECODE_THREADS, 1)
    attention_decode_read(const __grid_constant__ struct decode_read_args a)
{
    const uint64_t step = (uint64_t)gridDim.x * DECODE_THREADS * DECODE_VECTORS;
    uint32_t sum = 0;
#pragma unroll 1
    for (uint64_t at = (uint64_t)blockIdx.x * DECODE_THREADS * DECODE_VECTORS + threadIdx.x;
         at < a.vectors; at += step) {
        read_together<DECODE_VECTORS, DECODE_THREADS>(sum, (const uint4 *)a.from + at);
    }
    if (sum == 0x9e3779b9u && a.sink)
        *a.sink = sum;
}

// --- one matrix-vector product, with two layouts -------------------------------------------------

// N numbers from `at` on, `stride` apart, as a vector: one load where they are adjacent.
template <int N, typename VECTOR>
__device__ __forceinline__ VECTOR gather(const __nv_bfloat16 *at, uint32_t stride)
{
    if (stride == 1)
        return *(const VECTOR *)at;
    union {
        __nv_bfloat16 number[N];
        VECTOR vector;
    } x;
#pragma unroll
    for (int i = 0; i < N; i++)
        x.number[i] = at[(uint64_t)i * stride];
    return x.vector;
}

// Lanes run along a row: each loads eight neighbours, four times in a turn.
// sass-loop: ldg128=8 ldg=40 ffma=32 guarded<=4 other<=189 local=0 arch=75,80,86,89,100,120
// sass-loop: ldg128=8 ldg=40 ffma=32 guarded<=36 other<=145 local=0 arch=90a
// sass-all: ldg128=8 ldg=40 ffma=32 shfl=5 stg=1 looped calls
extern "C" __global__ void __launch_bounds__(DECODE_GEMV_THREADS)
    attention_decode_gemv_along(const __grid_constant__ struct decode_gemv_args a)
{
    enum { TURNS = DECODE_GEMV_TURN / 256, EACH = DECODE_GEMV_ROWS / DECODE_GEMV_WARPS };
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t first = (blockIdx.x * DECODE_GEMV_WARPS + warp) * EACH;
#pragma unroll 1
    for (uint32_t row = first; row < first + EACH; row++) {
        const __nv_bfloat16 *from = (const __nv_bfloat16 *)a.a + (uint64_t)row * a.row_stride;
        float sum = 0;
        for (uint32_t turn = 0; turn < a.columns; turn += DECODE_GEMV_TURN) {
            uint4 bits[TURNS];
#pragma unroll
            for (int i = 0; i < TURNS; i++)
                bits[i] =
                    gather<8, uint4>(from + (uint64_t)(turn + 256 * i + 8 * lane) * a.column_stride,
                                     a.column_stride);
#pragma unroll
            for (int i = 0; i < TURNS; i++) {
                float w[8], x[8];
                widen<bf16>(bits[i], w);
                widen<bf16>(__ldg((const uint4 *)a.x + (turn + 256 * i) / 8 + lane), x);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum = fmaf(w[j], x[j], sum);
            }
        }
        sum = warp_reduce<adding>(sum);
        if (lane == 0)
            a.y[row] = sum;
    }
}

// Lanes run across rows: each of 16 lanes loads four neighbours; a warp covers two columns.
// sass-loop: ldg=96 ldg64=16 ffma=64 guarded<=80 other<=401 local=0 arch=75,80,86,89,90a
// sass-loop: ldg=80 ffma=64 other<=312 local=0 arch=100+
// sass-all: ldg64=16 ldg>=96 ffma>=64 lds32=32 sts128=1 bar.block=1 stg=1 looped calls
extern "C" __global__ void __launch_bounds__(DECODE_GEMV_THREADS)
    attention_decode_gemv_across(const __grid_constant__ struct decode_gemv_args a)
{
    enum { TURNS = 16, COLUMNS = 2 * DECODE_GEMV_WARPS };
    __shared__ float part[COLUMNS][DECODE_GEMV_ROWS];
    const uint32_t of_rows = threadIdx.x % 16, column = threadIdx.x / 16;
    const uint32_t row = blockIdx.x * DECODE_GEMV_ROWS + 4 * of_rows;
    const __nv_bfloat16 *from = (const __nv_bfloat16 *)a.a + (uint64_t)row * a.row_stride;
    float sum[4] = {};
#pragma unroll 1
    for (uint32_t turn = 0; turn < a.columns; turn += TURNS * COLUMNS) {
        uint2 bits[TURNS];
#pragma unroll
        for (int i = 0; i < TURNS; i++)
            bits[i] = gather<4, uint2>(
                from + (uint64_t)(turn + COLUMNS * i + column) * a.column_stride, a.row_stride);
#pragma unroll
        for (int i = 0; i < TURNS; i++) {
            const float x = bf16::one(((const __nv_bfloat16 *)a.x)[turn + COLUMNS * i + column]);
            const float2 low = bf16::widen(bits[i].x), high = bf16::widen(bits[i].y);
            sum[0] = fmaf(low.x, x, sum[0]);
            sum[1] = fmaf(low.y, x, sum[1]);
            sum[2] = fmaf(high.x, x, sum[2]);
            sum[3] = fmaf(high.y, x, sum[3]);
        }
    }
    *(float4 *)&part[column][4 * of_rows] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
    if (threadIdx.x < DECODE_GEMV_ROWS) {
        float all = 0;
        for (int i = 0; i < COLUMNS; i++)
            all += part[i][threadIdx.x];
        a.y[blockIdx.x * DECODE_GEMV_ROWS + threadIdx.x] = all;
    }
}

// sass: none not a timed kernel
extern "C" __global__ void
attention_decode_gemv_verify(const __grid_constant__ struct decode_gemv_args a)
{
    const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    struct verdict own = {};
    double reference = 0, absolute = 0;
    if (row < a.rows) {
        for (uint32_t c = 0; c < a.columns; c++) {
            const double w =
                bf16::one(((const __nv_bfloat16 *)
                               a.a)[(uint64_t)row * a.row_stride + (uint64_t)c * a.column_stride]);
            const double x = bf16::one(((const __nv_bfloat16 *)a.x)[c]);
            reference += w * x;
            absolute += fabs(w * x);
        }
        judge(&own, a.y[row], reference, 0x1p-24 * 64 * absolute);
    }
    deliver(a.verdict, &own);
}

// --- is it right? --------------------------------------------------------------------------------

__device__ double stored(const decode_verify_args &a, const void *base, const float *scales,
                         uint32_t head, uint64_t row, uint32_t i)
{
    const char *at = (const char *)base + row;
    if (a.number == DECODE_BF16)
        return bf16::one(((const __nv_bfloat16 *)at)[i]);
    uint32_t low, high;
    if (a.number == DECODE_E4M3)
        e4m3::widen(((const uint8_t *)at)[i], low, high);
    else
        int8::widen(((const uint8_t *)at)[i], low, high);
    return (double)fp16::widen(low).x * kv_scale(scales, head);
}

__device__ double query(const decode_verify_args &a, uint64_t row, uint32_t i)
{
    const __nv_bfloat16 *q = (const __nv_bfloat16 *)a.q + row * a.d;
    if (!a.turn)
        return bf16::one(q[i]);
    const uint32_t half = a.d / 2, pair = i % half;
    const float2 y =
        rope_rounded(bf16::one(q[pair]), bf16::one(q[pair + half]), ((const float2 *)a.turn)[pair]);
    return i < half ? y.x : y.y;
}

struct larger {
    static __device__ __forceinline__ double of(double a, double b)
    {
        return fmax(a, b);
    }
};

// Scores of one query head, one key a warp. Returns the maximum, and the maximum sum of |q k|.
__device__ double2 verify_scores(const decode_verify_args &a, double *scores, const double *q,
                                 double *scratch)
{
    const uint32_t warp = threadIdx.x / 32, kv = blockIdx.x / a.group;
    double most = -INFINITY, steepest = 0;
    for (uint32_t key = warp; key < a.keys; key += DECODE_THREADS / 32) {
        const uint64_t at = kv_row(a.cache, blockIdx.y, kv, key);
        double s = 0, absolute = 0;
        for (uint32_t i = threadIdx.x % 32; i < a.d; i += 32) {
            const double x = q[i] * stored(a, a.cache.k, a.cache.k_scale, kv, at, i);
            s += x;
            absolute += fabs(x);
        }
        s = a.scale * warp_reduce<adding>(s);
        scores[key] = s;
        most = fmax(most, s);
        steepest = fmax(steepest, a.scale * warp_reduce<adding>(absolute));
    }
    most = block_reduce<larger, DECODE_THREADS / 32>(most, scratch);
    __syncthreads();
    steepest = block_reduce<larger, DECODE_THREADS / 32>(steepest, scratch);
    __syncthreads();
    return make_double2(most, steepest);
}

// Attention in float64 over what the cache holds now, a block per query head (x) and sequence (y).
// The bound of an element has three terms:
//   - rounding of the result and of a turned query: 2 u |o|;
//   - rounding of the probabilities, which are 16-bit numbers: at worst u times the sum of |p v|;
//     as independent roundings, four standard deviations are 4 u sqrt(sum of (p v)^2);
//   - fp32 sums, whose error reaches probabilities by the exponential: 2^-19 times the maximum
//     sum of |q k|.
// sass: none not a timed kernel
extern "C" __global__ void
attention_decode_verify(const __grid_constant__ struct decode_verify_args a)
{
    enum { WARPS = DECODE_THREADS / 32, DIMENSIONS = 128 };
    __shared__ double scratch[WARPS], q[DIMENSIONS], part[3][WARPS][DIMENSIONS];
    const uint32_t kv = blockIdx.x / a.group, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t row = (uint64_t)blockIdx.y * gridDim.x + blockIdx.x;
    double *scores = a.scores + row * a.keys, sum = 0, o[4] = {}, absolute[4] = {}, square[4] = {};
    const double u = 0x1p-8;

    if (threadIdx.x < a.d)
        q[threadIdx.x] = query(a, row, threadIdx.x);
    __syncthreads();
    const double2 greatest = verify_scores(a, scores, q, scratch);
    for (uint32_t key = warp; key < a.keys; key += WARPS) {
        const uint64_t at = kv_row(a.cache, blockIdx.y, kv, key);
        const double p = exp(scores[key] - greatest.x);
        sum += p;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            if (32 * i >= a.d)
                break;
            const double x = p * stored(a, a.cache.v, a.cache.v_scale, kv, at, 32 * i + lane);
            o[i] += x;
            absolute[i] += fabs(x);
            square[i] += x * x;
        }
    }
    sum = block_reduce<adding, WARPS>(lane == 0 ? sum : 0, scratch);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        part[0][warp][32 * i + lane] = o[i];
        part[1][warp][32 * i + lane] = absolute[i];
        part[2][warp][32 * i + lane] = square[i];
    }
    __syncthreads();

    struct verdict own = {};
    if (threadIdx.x < a.d) {
        double all[3] = {};
        for (int w = 0; w < WARPS; w++)
            for (int j = 0; j < 3; j++)
                all[j] += part[j][w][threadIdx.x];
        const double reference = all[0] / sum, terms = all[1] / sum, spread = sqrt(all[2]) / sum;
        judge(&own, bf16::one(((const __nv_bfloat16 *)a.out)[row * a.d + threadIdx.x]), reference,
              2 * u * fabs(reference) + u * fmin(terms, 4 * spread) +
                  (0x1p-19 * greatest.y + 0x1p-14) * terms);
        deliver(a.verdict, &own);
    }
    if (__syncthreads_or(own.wrong != 0) && threadIdx.x == 0 && a.wrong_rows)
        atomicAdd(a.wrong_rows, 1u);
}

// Compares the appended row, number by number, with the same formula in float64. The bound: one
// rounding to bf16, plus one to the cache's numbers: half a unit in the last place of e4m3 (2^-4;
// 2^-10 below its normal numbers), or half a step of int8.
// sass: none not a timed kernel
extern "C" __global__ void
attention_decode_verify_row(const __grid_constant__ struct decode_verify_args a)
{
    const uint32_t i = threadIdx.x, kv = blockIdx.x, sequence = blockIdx.y, half = a.d / 2;
    const uint64_t from = ((uint64_t)sequence * gridDim.x + kv) * a.d;
    const uint64_t at = kv_row(a.cache, sequence, kv, a.keys - 1);
    struct verdict own = {};

    for (int is_v = 0; is_v < 2; is_v++) {
        const __nv_bfloat16 *in = (const __nv_bfloat16 *)(is_v ? a.v_new : a.k_new) + from;
        const float *scales = is_v ? a.cache.v_scale : a.cache.k_scale;
        const double low = bf16::one(in[i % half]), high = bf16::one(in[i % half + half]);
        const float2 turn = a.turn ? ((const float2 *)a.turn)[i % half] : make_float2(1, 0);
        double x = i < half ? low : high;
        if (!is_v)
            x = i < half ? low * turn.x - high * turn.y : high * turn.x + low * turn.y;
        const double step = kv_scale(scales, kv), range = a.number == DECODE_E4M3 ? 448 : 127;
        double bound = 0x1p-8 * 1.01 * fabs(x) + 0x1p-20 * (fabs(low) + fabs(high));
        if (a.number != DECODE_BF16) {
            x = fmin(fmax(x, -range * step), range * step);
            bound += a.number == DECODE_E4M3 ? fmax(0x1p-4 * 1.02 * fabs(x), 0x1p-10 * step)
                                             : 0.51 * step;
        }
        judge(&own, stored(a, is_v ? a.cache.v : a.cache.k, scales, kv, at, i), x, bound);
    }
    deliver(a.verdict, &own);
    if (__syncthreads_or(own.wrong != 0) && threadIdx.x == 0 && a.wrong_rows)
        atomicAdd(a.wrong_rows, 1u);
}
