// The operators of a decoder's layer that are no product, for any batch; and what they are compared
// with.
//
//   batched_norm, _rope, _append, _attention_D_G, _merge, _silu, _add   a kernel for each operator
//   batched_look_D_G                rope, append, attention and merge in one
//   batched_read, batched_nothing   the memory's rate; an empty node
//
// D is the head dimension, G the greatest group of heads to a kv head. A block of attention is one
// split of the keys of one kv head of one sequence. Its warps take 8 keys each in turn, by the
// matrix instruction (fused/common/decoder/attention.cuh). A warp's next 8 keys and values come to
// shared memory while it takes these: from memory straight to registers, two of eight loads waited
// for the first.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "core/device/async.cuh"
#include "core/device/load.cuh"
#include "fused/batched_layer/args.h"
#include "fused/common/decoder/attention.cuh"
#include "fused/common/decoder/deal.cuh"
#include "fused/common/decoder/merge.cuh"
#include "fused/common/reduce.cuh"
#include "fused/common/together.cuh"
#include "fused/common/vector.cuh"

static constexpr float LOG2E = 1.4426950408889634f;

static __device__ __forceinline__ uint32_t thread(void)
{
    return blockIdx.x * BATCHED_THREADS + threadIdx.x;
}

/* --- norm, SiLU, residual --------------------------------------------------------------------- */

// x = norm(residual): a block for each sequence, which takes it twice; the second time it is in the
// L1.
// sass-all: ldg128>=8 ldg64>=4 stg64>=4 bar.block=1 local=0 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(BATCHED_THREADS)
    batched_norm(const __grid_constant__ struct batched_args a)
{
    __shared__ float scratch[BATCHED_THREADS / 32];
    const uint32_t fours = a.shape.hidden / 4;
    const float4 *from = (const float4 *)(a.residual + (uint64_t)blockIdx.x * a.shape.hidden);
    const uint2 *weights = (const uint2 *)a.norm;
    uint2 *x = (uint2 *)a.x + (uint64_t)blockIdx.x * fours;
    float squares = 0;

#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < fours; i += BATCHED_THREADS) {
        const float4 r = from[i];
        squares = fmaf(r.x, r.x, fmaf(r.y, r.y, fmaf(r.z, r.z, fmaf(r.w, r.w, squares))));
    }
    squares = block_reduce<adding, BATCHED_THREADS / 32>(squares, scratch);
    const float by = rsqrtf(squares / (float)a.shape.hidden + a.epsilon);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < fours; i += BATCHED_THREADS) {
        const float4 r = from[i];
        const uint2 bits = weights[i];
        const float2 low = bf16::widen(bits.x), high = bf16::widen(bits.y);
        x[i] = make_uint2(bf16::narrow(make_float2(r.x * by * low.x, r.y * by * low.y)),
                          bf16::narrow(make_float2(r.z * by * high.x, r.w * by * high.y)));
    }
}

// h = silu(gate) x up, eight numbers a thread.
// sass-all: ldg128=2 stg128=1 mufu>=16 local=0 calls together arch=80+
extern "C" __global__ void __launch_bounds__(BATCHED_THREADS)
    batched_silu(const __grid_constant__ struct batched_args a)
{
    const uint32_t eights = a.shape.ffn / 8, b = thread() / eights, i = thread() % eights;
    if (b >= a.batch)
        return;
    const uint4 *from = (const uint4 *)a.gate_up + (uint64_t)b * 2 * eights + i;
    const uint4 bits[2] = {from[0], from[eights]};
    float gate[8], up[8];
    widen<bf16>(bits[0], gate);
    widen<bf16>(bits[1], up);
#pragma unroll
    for (int j = 0; j < 8; j++)
        gate[j] = __fdividef(gate[j], 1 + exp2f(-LOG2E * gate[j])) * up[j];
    ((uint4 *)a.h)[thread()] = narrow<bf16>(gate);
}

// moved = residual + delta, four numbers a thread.
// sass-all: ldg128=1 ldg64=1 stg128=1 local=0 arch=80+
extern "C" __global__ void __launch_bounds__(BATCHED_THREADS)
    batched_add(const __grid_constant__ struct batched_args a)
{
    if (thread() >= a.batch * (a.shape.hidden / 4))
        return;
    const float4 r = ((const float4 *)a.residual)[thread()];
    const uint2 bits = ((const uint2 *)a.delta)[thread()];
    const float2 low = bf16::widen(bits.x), high = bf16::widen(bits.y);
    ((float4 *)a.moved)[thread()] =
        make_float4(r.x + low.x, r.y + low.y, r.z + high.x, r.w + high.y);
}

/* --- rope and append -------------------------------------------------------------------------- */

// Rotates elements 8i to 8i + 7 of a head with their partners in its other half.
static __device__ __forceinline__ void rotate(uint4 &low, uint4 &high, const float *rope,
                                              uint32_t i)
{
    float x[8], y[8];
    widen<bf16>(low, x);
    widen<bf16>(high, y);
#pragma unroll
    for (uint32_t j = 0; j < 8; j += 2) {
        const float4 turn = ((const float4 *)rope)[(8 * i + j) / 2];
        const float one = x[j], two = x[j + 1];
        x[j] = one * turn.x - y[j] * turn.y;
        y[j] = y[j] * turn.x + one * turn.y;
        x[j + 1] = two * turn.z - y[j + 1] * turn.w;
        y[j + 1] = y[j + 1] * turn.z + two * turn.w;
    }
    low = narrow<bf16>(x);
    high = narrow<bf16>(y);
}

// turned = q and k of qkv, rotated: eight pairs a thread.
// sass-all: ldg128=6 stg128=2 local=0 calls arch=80+
extern "C" __global__ void __launch_bounds__(BATCHED_THREADS)
    batched_rope(const __grid_constant__ struct batched_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t half = s.head_dim / 16, heads = s.heads + s.kv_heads; // half: vectors
    const uint32_t i = thread() % half, head = thread() / half % heads, b = thread() / half / heads;
    if (b >= a.batch)
        return;
    const uint4 *from =
        (const uint4 *)a.qkv + (uint64_t)(b * (heads + s.kv_heads) + head) * 2 * half + i;
    uint4 *to = (uint4 *)a.turned + (uint64_t)(b * heads + head) * 2 * half + i;
    uint4 low = from[0], high = from[half];
    rotate(low, high, a.rope, i);
    to[0] = low;
    to[half] = high;
}

// Where the row of the new token begins: keys, or values, of a kv head of a sequence; in vectors.
static __device__ __forceinline__ uint4 *new_row(const struct batched_args &a, uint32_t b,
                                                 uint32_t kv, uint32_t which)
{
    const struct decoder_shape &s = a.shape;
    const uint64_t row = (uint64_t)(b * s.kv_heads + kv) * a.capacity + a.context - 1;
    return (uint4 *)((char *)a.cache + which * decoder_cache_half(&s, a.batch, a.capacity)) +
           row * (s.head_dim / 8);
}

// The rotated k and the v of each sequence become a row of its cache: a vector a thread.
// sass-all: ldg128=1 stg128=1 local=0 calls arch=80+
extern "C" __global__ void __launch_bounds__(BATCHED_THREADS)
    batched_append(const __grid_constant__ struct batched_args a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t row = s.head_dim / 8, i = thread() % row,
                   head = thread() / row % (2 * s.kv_heads);
    const uint32_t b = thread() / row / (2 * s.kv_heads), kv = head % s.kv_heads;
    const uint32_t which = head / s.kv_heads; // 0: keys, 1: values
    if (b >= a.batch)
        return;
    const uint32_t k = b * (s.heads + s.kv_heads) + s.heads + kv;
    const uint32_t v = b * (s.heads + 2 * s.kv_heads) + s.heads + s.kv_heads + kv;
    const uint4 *from = which ? (const uint4 *)a.qkv + (uint64_t)v * row
                              : (const uint4 *)a.turned + (uint64_t)k * row;
    new_row(a, b, kv, which)[i] = from[i];
}

/* --- attention -------------------------------------------------------------------------------- */

// Which split of which kv head of which sequence a block has, and its keys.
struct look {
    uint32_t split, kv, b, group, first, count;
    bool has_new; // the new token's key is the last of them
};

static __device__ __forceinline__ struct look look_of(const struct batched_args &a)
{
    const struct decoder_shape &s = a.shape;
    const uint32_t pair = blockIdx.x / a.splits, each = (a.context + a.splits - 1) / a.splits;
    struct look k;
    k.split = blockIdx.x % a.splits;
    k.kv = pair % s.kv_heads;
    k.b = pair / s.kv_heads;
    k.group = s.heads / s.kv_heads;
    k.first = min(k.split * each, a.context);
    k.count = min(each, a.context - k.first);
    k.has_new = k.count > 0 && k.first + k.count == a.context;
    return k;
}

// What a warp has of its keys at a time, twice: a row of values is 16 bytes longer, so that four of
// them lie in different banks.
template <uint32_t D> struct look_stage {
    uint4 keys[8][D / 8], values[8][D / 8 + 1];
};

template <uint32_t D, uint32_t G> struct look_shared {
    uint4 rows[(G + 2) * (D / 8)]; // q of the group; fused: the new key, the new value
    union {
        struct look_stage<D> stage[LOOK_WARPS][2];
        float states[LOOK_WARPS * G * (2 + D)]; // when all keys have been taken
    };
    uint32_t is_last;
};

// q of the group into shared memory.
template <uint32_t D, uint32_t G>
static __device__ __forceinline__ void take_q(const struct batched_args &a, const struct look &k,
                                              struct look_shared<D, G> &shared)
{
    const struct decoder_shape &s = a.shape;
    const uint4 *q = (const uint4 *)a.turned +
                     (uint64_t)(k.b * (s.heads + s.kv_heads) + k.kv * k.group) * (D / 8);
    for (uint32_t i = threadIdx.x; i < k.group * (D / 8); i += LOOK_THREADS)
        shared.rows[i] = q[i];
    __syncthreads();
}

// The same from what the product left; and where the block has the new key, that and its value,
// which go to the cache, too.
template <uint32_t D, uint32_t G>
static __device__ __forceinline__ void take_and_append(const struct batched_args &a,
                                                       const struct look &k,
                                                       struct look_shared<D, G> &shared)
{
    enum : uint32_t { HALF = D / 16 }; // vectors
    const struct decoder_shape &s = a.shape;
    const uint32_t rows = k.has_new ? k.group + 2 : k.group;
    const uint4 *qkv =
        (const uint4 *)a.qkv + (uint64_t)k.b * (s.heads + 2 * s.kv_heads) * (2 * HALF);
    for (uint32_t at = threadIdx.x; at < rows * HALF; at += LOOK_THREADS) {
        const uint32_t row = at / HALF, i = at % HALF;
        const uint32_t head =
            row < k.group ? k.kv * k.group + row : s.heads + (row - k.group) * s.kv_heads + k.kv;
        const uint4 *from = qkv + head * (2 * HALF) + i;
        uint4 low = from[0], high = from[HALF];
        if (row <= k.group)
            rotate(low, high, a.rope, i);
        if (row >= k.group) {
            uint4 *to = new_row(a, k.b, k.kv, row - k.group) + i;
            to[0] = low;
            to[HALF] = high;
        }
        shared.rows[row * (2 * HALF) + i] = low;
        shared.rows[row * (2 * HALF) + HALF + i] = high;
    }
    __syncthreads();
}

// Asks for 8 rows of `row` vectors from key `from` on: those of a stage, and their values. What is
// beyond the last key is the last key again.
template <uint32_t D>
static __device__ __forceinline__ void ask(struct look_stage<D> &stage, const uint4 *keys,
                                           const uint4 *values, uint32_t from, uint32_t count)
{
    enum : uint32_t { ROW = D / 8, ROWS = 32 / ROW }; // of a warp at a time
    const uint32_t lane = threadIdx.x % 32;
    if (from < count)
#pragma unroll
        for (uint32_t i = 0; i < 8; i += ROWS) {
            const uint32_t row = i + lane / ROW, at = min(from + row, count - 1) * ROW + lane % ROW;
            cp_async_16(shared_address(&stage.keys[row][lane % ROW]), keys + at);
            cp_async_16(shared_address(&stage.values[row][lane % ROW]), values + at);
        }
    cp_async_commit();
}

// The block's keys in the cache, and their values.
struct look_keys {
    const uint4 *keys, *values;
    uint32_t count;
};

// IS_FUSED: the new one is not in the cache yet, but in shared memory. Asks for the first.
template <uint32_t D, uint32_t G, bool IS_FUSED>
static __device__ __forceinline__ struct look_keys
begin_keys(const struct batched_args &a, const struct look &k, struct look_shared<D, G> &shared)
{
    const uint64_t row = (uint64_t)(k.b * a.shape.kv_heads + k.kv) * a.capacity + k.first;
    struct look_keys of;
    of.keys = (const uint4 *)a.cache + row * (D / 8);
    of.values = of.keys + decoder_cache_half(&a.shape, a.batch, a.capacity) / sizeof(uint4);
    of.count = IS_FUSED && k.has_new ? k.count - 1 : k.count;
    ask<D>(shared.stage[threadIdx.x / 32][0], of.keys, of.values, threadIdx.x / 32 * 8, of.count);
    return of;
}

template <uint32_t D, uint32_t G, bool IS_FUSED>
static __device__ __forceinline__ void take_keys(const struct look &k, const struct look_keys &of,
                                                 struct look_shared<D, G> &shared)
{
    constexpr float by = LOG2E * (D == 64 ? 0.125f : 0.08838834764831845f); // over the root of D
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
    struct attention_state<D, G> state;
    uint4 q[G / 4][D / 64];

    attention_begin(state);
    attention_q<D, G>(q, (const char *)shared.rows, k.group);
    uint32_t turn = 0;
#pragma unroll 1
    for (uint32_t from = 8 * warp; from < of.count; from += 8 * LOOK_WARPS) {
        const struct look_stage<D> &stage = shared.stage[warp][turn % 2];
        cp_async_wait<0>();
        __syncwarp();
        ask<D>(shared.stage[warp][++turn % 2], of.keys, of.values, from + 8 * LOOK_WARPS, of.count);
        attention_take<D, G>(
            state, q, by, from + g < of.count,
            [&](uint32_t b) { return *(const uint4 *)((const char *)stage.keys[g] + b); },
            [&](uint32_t i, uint32_t b) {
                return *(const uint4 *)((const char *)stage.values[2 * t + i] + b);
            });
    }
    if (IS_FUSED && k.has_new && warp == of.count / 8 % LOOK_WARPS) {
        const char *fresh = (const char *)(shared.rows + k.group * (D / 8));
        attention_take<D, G>(
            state, q, by, g == 0, [&](uint32_t b) { return *(const uint4 *)(fresh + b); },
            [&](uint32_t, uint32_t b) { return *(const uint4 *)(fresh + 2 * D + b); });
    }
    __syncthreads(); // the states come to where the keys were
    attention_leave<D, G>(state, shared.states, k.group);
    __syncthreads();
}

// The parts of a head: splits x (LOOK_STATE + D).
static __device__ __forceinline__ float *parts_of(const struct batched_args &a, uint32_t b,
                                                  uint32_t head)
{
    return a.parts +
           (uint64_t)(b * a.shape.heads + head) * a.splits * (LOOK_STATE + a.shape.head_dim);
}

// The warps' states become the result, or where others share the head, this split's part.
template <uint32_t D, uint32_t G>
static __device__ __forceinline__ void deliver(const struct batched_args &a, const struct look &k,
                                               const struct look_shared<D, G> &shared)
{
    for (uint32_t i = threadIdx.x; i < k.group * (D / 2); i += LOOK_THREADS) {
        const uint32_t h = i / (D / 2), two = i % (D / 2), head = k.kv * k.group + h;
        const float4 all = attention_warps<D, LOOK_WARPS>(shared.states, k.group, h, two);
        if (a.splits == 1) {
            ((uint32_t *)a.attention)[(uint64_t)(k.b * a.shape.heads + head) * (D / 2) + two] =
                bf16::narrow(make_float2(all.z / all.y, all.w / all.y));
            continue;
        }
        float *to = parts_of(a, k.b, head) + k.split * (LOOK_STATE + D);
        __stcg((float2 *)(to + LOOK_STATE + 2 * two), make_float2(all.z, all.w));
        if (two == 0)
            __stcg((float2 *)to, make_float2(all.x, all.y));
    }
}

// Merges the splits of a head in their order, eight at a time: four neighbours. Each eight are one
// wait for the L2, and a head has few threads to share those.
static __device__ __forceinline__ void merge(const struct batched_args &a, uint32_t b,
                                             uint32_t head, uint32_t four)
{
    enum : uint32_t { TOGETHER = 8 };
    const uint32_t d = a.shape.head_dim;
    const float *from = parts_of(a, b, head);
    float sum = 0, most = MERGE_NOTHING;
    float2 row[2] = {make_float2(0, 0), make_float2(0, 0)};
#pragma unroll 1
    for (uint32_t first = 0; first < a.splits; first += TOGETHER) {
        float2 state[TOGETHER], part[TOGETHER][2];
#pragma unroll
        for (uint32_t i = 0; i < TOGETHER; i++) {
            const float *of = from + min(first + i, a.splits - 1) * (LOOK_STATE + d);
            state[i] = __ldcg((const float2 *)of);
            const float4 four_of = __ldcg((const float4 *)(of + LOOK_STATE) + four);
            part[i][0] = make_float2(four_of.x, four_of.y);
            part[i][1] = make_float2(four_of.z, four_of.w);
        }
        merge_parts(most, sum, row, state, part, first, a.splits);
    }
    const float by = __fdividef(1, sum);
    ((uint2 *)a.attention)[(uint64_t)(b * a.shape.heads + head) * (d / 4) + four] =
        make_uint2(bf16::narrow(make_float2(row[0].x * by, row[0].y * by)),
                   bf16::narrow(make_float2(row[1].x * by, row[1].y * by)));
}

// sass-loop: ldg128.gpu=8 ldg64.gpu=8 mufu=9 local=0 together arch=80+
// sass-all: ldg128.gpu=8 ldg64.gpu=8 stg64=1 local=0 looped calls arch=80+
extern "C" __global__ void __launch_bounds__(LOOK_THREADS, 1)
    batched_merge(const __grid_constant__ struct batched_args a)
{
    const uint32_t quarter = a.shape.head_dim / 4, at = blockIdx.x * LOOK_THREADS + threadIdx.x;
    const uint32_t head = at / quarter % a.shape.heads, b = at / quarter / a.shape.heads;
    if (b < a.batch)
        merge(a, b, head, at % quarter);
}

template <uint32_t D, uint32_t G>
static __device__ __forceinline__ void attention(const struct batched_args &a)
{
    __shared__ struct look_shared<D, G> shared;
    const struct look k = look_of(a);
    const struct look_keys of = begin_keys<D, G, false>(a, k, shared);
    take_q<D, G>(a, k, shared);
    take_keys<D, G, false>(k, of, shared);
    deliver<D, G>(a, k, shared);
}

// Is this the last split of its kv head to arrive? The count is zero again behind it.
template <uint32_t D, uint32_t G>
static __device__ __forceinline__ bool
arrives_last(const struct batched_args &a, const struct look &k, struct look_shared<D, G> &shared)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t pair = k.b * a.shape.kv_heads + k.kv;
        shared.is_last = atomicInc(a.tickets + pair, a.splits - 1) == a.splits - 1;
        __threadfence();
    }
    __syncthreads();
    return shared.is_last;
}

template <uint32_t D, uint32_t G>
static __device__ __forceinline__ void look(const struct batched_args &a)
{
    __shared__ struct look_shared<D, G> shared;
    const struct look k = look_of(a);
    const struct look_keys of = begin_keys<D, G, true>(a, k, shared);
    take_and_append<D, G>(a, k, shared);
    take_keys<D, G, true>(k, of, shared);
    deliver<D, G>(a, k, shared);
    if (a.splits == 1 || !arrives_last<D, G>(a, k, shared))
        return;
    for (uint32_t i = threadIdx.x; i < k.group * (D / 4); i += LOOK_THREADS)
        merge(a, k.b, k.kv * k.group + i / (D / 4), i % (D / 4));
}

#define LOOK(name, blocks, call)                                                                   \
    extern "C" __global__ void __launch_bounds__(LOOK_THREADS, blocks)                             \
        batched_##name(const __grid_constant__ struct batched_args a)                              \
    {                                                                                              \
        call(a);                                                                                   \
    }
// A turn of a warp: 8 keys and 8 values, which came while it took those before. The one kernel
// fences once before it draws its ticket and once behind it, and has a turn for the new key, which
// is in shared memory.
// sass-loop: kernel=batched_*_64_4 ldgsts.bypass=4 hmma=10 lds128=4 depbar.0=1 other<=176
// sass-and: guarded<=4 local=0 moving arch=80+
// sass-loop: kernel=batched_*_128_4 ldgsts.bypass=8 hmma=20 lds128=8 depbar.0=1 other<=250
// sass-and: guarded<=4 local=0 moving arch=80+
// sass-loop: kernel=batched_*_128_8 ldgsts.bypass=8 hmma=24 lds128=8 depbar.0=1 other<=356
// sass-and: guarded<=4 local=0 moving arch=80+
// sass-all: kernel=batched_attention_64_4 ldgsts=8 hmma=10 membar=0 bar.block=3 looped calls
// sass-and: arch=80+
// sass-all: kernel=batched_attention_128_4 ldgsts=16 hmma=20 membar=0 bar.block=3 looped calls
// sass-and: arch=80+
// sass-all: kernel=batched_attention_128_8 ldgsts=16 hmma=24 membar=0 bar.block=3 looped calls
// sass-and: arch=80+
// sass-all: kernel=batched_look_64_4 ldgsts=8 hmma=20 membar.gpu=2 atomg=1 bar.block=5 looped calls
// sass-and: arch=80+
// sass-all: kernel=batched_look_128_4 ldgsts=16 hmma=40 membar.gpu=2 atomg=1 bar.block=5 looped calls
// sass-and: arch=80+
// sass-all: kernel=batched_look_128_8 ldgsts=16 hmma=48 membar.gpu=2 atomg=1 bar.block=5 looped calls
// sass-and: arch=80+
LOOK(attention_64_4, LOOK_BLOCKS, (attention<64, 4>))
LOOK(attention_128_4, LOOK_BLOCKS, (attention<128, 4>))
LOOK(attention_128_8, LOOK_BLOCKS_8, (attention<128, 8>))
LOOK(look_64_4, LOOK_BLOCKS, (look<64, 4>))
LOOK(look_128_4, LOOK_BLOCKS, (look<128, 4>))
LOOK(look_128_8, LOOK_BLOCKS_8, (look<128, 8>))

/* --- what a layer is compared with ------------------------------------------------------------ */

// The memory's own rate. Loads are in flight together: the sum takes them in reverse order, and the
// registers are not shared among more blocks than there are.
// sass-loop: ldg128na=8 other<=40 exits<=2 local=0 moving together arch=80+
extern "C" __global__ void __launch_bounds__(READ_THREADS, 1)
    batched_read(const __grid_constant__ struct batched_read_args a)
{
    const uint64_t step = (uint64_t)gridDim.x * READ_ROUND;
    uint64_t at = (uint64_t)blockIdx.x * READ_ROUND;
    uint32_t sum = 0;
#pragma unroll 1
    for (uint64_t done = at; done < a.vectors; done += step) {
        read_together<READ_VECTORS, READ_THREADS>(sum, (const uint4 *)a.from + at + threadIdx.x);
        at += step;
        at = at < a.room ? at : at - a.room;
    }
    if (sum == 0x9e3779b9u && a.never)
        *a.never = sum;
}

// sass-all: exit=1 other<=1 arch=80+
extern "C" __global__ void batched_nothing(const __grid_constant__ struct batched_nothing_args)
{
}

#endif
