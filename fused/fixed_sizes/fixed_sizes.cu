// One fused kernel of a decode step: a token's attention over its old keys, the product of the
// result with W, and the residual, for items one after the other, in one launch. The code is the
// same, but for where it has its sizes from:
//
//     fixed_sizes_fixed    all are constants of the build. A shorter context is padded: all keys
//                          are loaded, and those beyond it get no weight
//     fixed_sizes_capped   the same, but for the length, which is an argument: what lies beyond it
//                          is not loaded. The keys are dealt out as for the whole length
//     fixed_sizes_given    all are arguments
//
// A block has a part of the keys of a kv head, and the four heads that look at them; then blocks
// merge the parts of a head each; then each has rows of W. A barrier of the grid lies between.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "fused/common/decoder/rows.cuh"
#include "fused/fixed_sizes/args.h"
#include "fused/fixed_sizes/attention.cuh"

extern __shared__ uint4 fixed_memory[];

enum : uint32_t {
    SUMS = 2 * DECODER_ROUND * DECODER_WARPS, // fp32 of scratch
    STATE = 2 + FIXED_DIM,                    // fp32 that a head has of a part: maximum, sum, row
    KEY_BYTES = 2 * FIXED_DIM,
    ROW = FIXED_GROUP * FIXED_DIM, // elements of the attention's result, of a kv head
    MERGE_AT_ONCE = 8,             // parts of a head that a thread asks for at a time
};
typedef attention_width<FIXED_DIM, FIXED_GROUP> width;

/* --- sizes ------------------------------------------------------------------------------------ */

// Keys [first, last) are a block's; of these it looks at those before `end`.
struct keys {
    uint32_t first, last, end;
};

template <uint32_t CONTEXT, uint32_t SPLITS, uint32_t KV_HEADS, uint32_t HIDDEN>
struct sizes_fixed {
    static_assert(CONTEXT % (SPLITS * width::TURNS * width::STRIDE) == 0, "whole turns of keys");
    static constexpr bool LOADS_ALL = true;
    static __device__ __forceinline__ uint32_t capacity(const fixed_sizes_args &)
    {
        return CONTEXT;
    }
    static __device__ __forceinline__ uint32_t kv_heads(const fixed_sizes_args &)
    {
        return KV_HEADS;
    }
    static __device__ __forceinline__ uint32_t hidden(const fixed_sizes_args &)
    {
        return HIDDEN;
    }
    static __device__ __forceinline__ uint32_t splits(const fixed_sizes_args &)
    {
        return SPLITS;
    }
    static __device__ __forceinline__ struct keys keys_of(const fixed_sizes_args &a, uint32_t split)
    {
        const uint32_t first = split * (CONTEXT / SPLITS);
        return {first, first + CONTEXT / SPLITS, a.context};
    }
};

template <uint32_t CONTEXT, uint32_t SPLITS, uint32_t KV_HEADS, uint32_t HIDDEN>
struct sizes_capped : sizes_fixed<CONTEXT, SPLITS, KV_HEADS, HIDDEN> {
    static constexpr bool LOADS_ALL = false;
    static __device__ __forceinline__ struct keys keys_of(const fixed_sizes_args &a, uint32_t split)
    {
        const uint32_t first = split * (CONTEXT / SPLITS);
        return {first, min(first + CONTEXT / SPLITS, a.context), a.context};
    }
};

struct sizes_given {
    static constexpr bool LOADS_ALL = false;
    static __device__ __forceinline__ uint32_t capacity(const fixed_sizes_args &a)
    {
        return a.capacity;
    }
    static __device__ __forceinline__ uint32_t kv_heads(const fixed_sizes_args &a)
    {
        return a.kv_heads;
    }
    static __device__ __forceinline__ uint32_t hidden(const fixed_sizes_args &a)
    {
        return a.hidden;
    }
    static __device__ __forceinline__ uint32_t splits(const fixed_sizes_args &a)
    {
        return a.splits;
    }
    static __device__ __forceinline__ struct keys keys_of(const fixed_sizes_args &a, uint32_t split)
    {
        const uint32_t each = (a.context + a.splits - 1) / a.splits, first = split * each;
        return {first, min(first + each, a.context), a.context};
    }
};

/* --- attention -------------------------------------------------------------------------------- */

template <typename SIZES>
__device__ __forceinline__ void look(struct attention_state<FIXED_GROUP> &s, const struct keys &of,
                                     const float (&q)[FIXED_GROUP][8], const char *keys,
                                     const char *values)
{
    constexpr uint32_t TURNS = width::TURNS, STRIDE = width::STRIDE;
    const uint32_t lane = threadIdx.x % 32, at = lane % width::LANES * 16;
    const uint32_t mine = threadIdx.x / 32 * width::KEYS + lane / width::LANES;
    const uint4 none = make_uint4(0, 0, 0, 0);
#pragma unroll 1
    for (uint32_t from = of.first; from < of.last; from += TURNS * STRIDE) {
        uint4 k[TURNS], v[TURNS];
        float score[TURNS][FIXED_GROUP];
#pragma unroll
        for (uint32_t t = 0; t < TURNS; t++) {
            const uint32_t i = from + t * STRIDE + mine;
            const bool is_loaded = SIZES::LOADS_ALL || i < of.last;
            k[t] = is_loaded ? load_once(keys + (uint64_t)i * KEY_BYTES + at) : none;
            v[t] = is_loaded ? load_once(values + (uint64_t)i * KEY_BYTES + at) : none;
        }
#pragma unroll
        for (uint32_t t = 0; t < TURNS; t++) {
            const uint32_t i = from + t * STRIDE + mine;
            attention_score<FIXED_DIM, FIXED_GROUP>(score[t], q, k[t]);
#pragma unroll
            for (uint32_t h = 0; h < FIXED_GROUP; h++)
                if (i >= min(of.last, of.end))
                    score[t][h] = -INFINITY;
        }
        attention_raise<FIXED_GROUP, TURNS>(s, score);
#pragma unroll
        for (uint32_t t = 0; t < TURNS; t++)
            attention_add<FIXED_GROUP>(s, score[t], v[t]);
    }
}

// One part of a kv head's keys; its four heads' states go to memory.
template <typename SIZES>
__device__ __forceinline__ void attend(const fixed_sizes_args &a, uint32_t item, uint32_t unit,
                                       float *shared, float *states)
{
    const uint32_t splits = SIZES::splits(a), head = unit / splits, split = unit % splits;
    const uint32_t kv_heads = SIZES::kv_heads(a), lane = threadIdx.x % 32;
    const uint64_t half = (uint64_t)kv_heads * SIZES::capacity(a) * KEY_BYTES;
    const char *keys =
        a.cache + item % a.sets * a.cache_stride + (uint64_t)head * SIZES::capacity(a) * KEY_BYTES;
    const float *from = a.q + ((uint64_t)item * kv_heads + head) * ROW + lane % width::LANES * 8;
    struct attention_state<FIXED_GROUP> s;
    float q[FIXED_GROUP][8];

#pragma unroll
    for (uint32_t h = 0; h < FIXED_GROUP; h++)
#pragma unroll
        for (uint32_t i = 0; i < 8; i++)
            q[h][i] = from[h * FIXED_DIM + i] * a.q_scale;
    attention_begin(s);
    look<SIZES>(s, SIZES::keys_of(a, split), q, keys, keys + half);
    attention_lanes<FIXED_DIM, FIXED_GROUP>(s);
    attention_leave<FIXED_DIM, FIXED_GROUP>(s, shared, FIXED_GROUP);
    decoder_sync();
    const uint32_t h = threadIdx.x / (FIXED_DIM / 2), i = threadIdx.x % (FIXED_DIM / 2);
    const float4 of = attention_warps<FIXED_DIM, FIXED_GROUP>(shared, FIXED_GROUP, h, i);
    float *to = states + ((uint64_t)unit * FIXED_GROUP + h) * STATE;
    *(float2 *)(to + 2 + 2 * i) = make_float2(of.z, of.w);
    if (i == 0)
        *(float2 *)to = make_float2(of.x, of.y);
    decoder_sync(); // before `shared` is used again
    static_assert(FIXED_GROUP * FIXED_DIM / 2 == DECODER_THREADS, "a pair of elements a thread");
}

__device__ __forceinline__ float2 two_of(uint64_t bits)
{
    return make_float2(__uint_as_float((uint32_t)bits), __uint_as_float((uint32_t)(bits >> 32)));
}

// All parts of a head, in their order; a pair of elements a thread.
template <typename SIZES>
__device__ __forceinline__ void merge(const fixed_sizes_args &a, uint32_t head, const float *states,
                                      uint32_t *x)
{
    const uint32_t splits = SIZES::splits(a), i = threadIdx.x;
    const float *from =
        states + ((uint64_t)head / FIXED_GROUP * splits * FIXED_GROUP + head % FIXED_GROUP) * STATE;
    float most = -1e30f, sum = 0;
    float2 row = make_float2(0, 0);
    if (i >= FIXED_DIM / 2)
        return;
#pragma unroll 1
    for (uint32_t first = 0; first < splits; first += MERGE_AT_ONCE) {
        float2 of[MERGE_AT_ONCE], two[MERGE_AT_ONCE];
#pragma unroll
        for (uint32_t n = 0; n < MERGE_AT_ONCE; n++) {
            const float *state =
                from + (uint64_t)min(first + n, splits - 1) * (FIXED_GROUP * STATE);
            of[n] = two_of(load_cg(state));
            two[n] = two_of(load_cg(state + 2 + 2 * i));
        }
#pragma unroll
        for (uint32_t n = 0; n < MERGE_AT_ONCE; n++) {
            if (first + n >= splits)
                break;
            const float greater = fmaxf(most, of[n].x);
            const float old = exp2f(most - greater), scale = exp2f(of[n].x - greater);
            most = greater;
            sum = fmaf(of[n].y, scale, sum * old);
            row.x = fmaf(two[n].x, scale, row.x * old);
            row.y = fmaf(two[n].y, scale, row.y * old);
        }
    }
    const float by = __fdividef(1, sum);
    x[head * (FIXED_DIM / 2) + i] = bf16::narrow(make_float2(row.x * by, row.y * by));
}

/* --- the product ------------------------------------------------------------------------------ */

template <typename SIZES>
__device__ __forceinline__ void multiply(const fixed_sizes_args &a, uint32_t item,
                                         const uint32_t *from, float *sums, uint32_t *x)
{
    const uint32_t columns = SIZES::kv_heads(a) * ROW, hidden = SIZES::hidden(a);
    const struct decoder_share share = decoder_share_of(hidden, gridDim.x, blockIdx.x, 0);
    struct decoder_shape none = {};
    source_memory source;

    for (uint32_t i = 2 * threadIdx.x; i < columns / 2; i += 2 * DECODER_THREADS) {
        const uint64_t both = load_cg(from + i);
        x[i] = (uint32_t)both;
        x[i + 1] = (uint32_t)(both >> 32);
    }
    decoder_sync();
    const struct rows rows = {a.weights + item % a.sets * a.weight_stride +
                                  (uint64_t)share.first * (2 * columns),
                              DECODER_GATE,
                              {0, share.count},
                              1,
                              columns,
                              decoder_chunks(columns)};
    rows_take<1, false>(source, rows, none, (const uint4 *)x, sums,
                        [&](uint32_t row, uint32_t, const float (&sum)[DECODER_UNIT_ROWS]) {
                            const uint64_t at = (uint64_t)item * hidden + share.first + row;
                            a.y[at] = fmaf(a.scale, sum[0], a.residual[at]);
                        });
    decoder_sync();
}

/* --- the kernels ------------------------------------------------------------------------------ */

template <typename SIZES> __device__ __forceinline__ void run(const fixed_sizes_args &a)
{
    float *sums = (float *)fixed_memory;
    uint32_t *x = (uint32_t *)(sums + SUMS); // before that, the states of a block's warps
    const uint32_t units = SIZES::kv_heads(a) * SIZES::splits(a);
    const uint32_t heads = SIZES::kv_heads(a) * FIXED_GROUP;
    struct grid_barrier barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);

#pragma unroll 1
    for (uint32_t item = 0; item < a.items; item++) {
        const uint32_t generation = item % FIXED_GENERATIONS;
        float *states = a.states + (uint64_t)generation * units * (FIXED_GROUP * STATE);
        uint32_t *words = a.x + generation * heads * (FIXED_DIM / 2);
#pragma unroll 1
        for (uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x)
            attend<SIZES>(a, item, unit, (float *)x, states);
        grid_barrier(barrier);
#pragma unroll 1
        for (uint32_t head = blockIdx.x; head < heads; head += gridDim.x)
            merge<SIZES>(a, head, states, words);
        grid_barrier(barrier);
        multiply<SIZES>(a, item, words, sums, x);
    }
}

#define FIXED_SIZES_KERNEL(name, ...)                                                              \
    extern "C" __global__ void __launch_bounds__(DECODER_THREADS, FIXED_BLOCKS)                    \
        fixed_sizes_##name(const __grid_constant__ struct fixed_sizes_args a)                      \
    {                                                                                              \
        run<__VA_ARGS__>(a);                                                                       \
    }
// The bodies counted are those of a chunk of 32 rows of W, of two turns of keys, and of eight parts
// of a head. Where sizes are given there is more to compute: each row's address, and divisions by
// the number of parts. All mask what keys beyond the context score; only the fixed kernel loads
// them. In a turn ptxas puts loads of values behind the first scores: they are not together.
// sass-loop: kernel=fixed_sizes_* ldg128na=16 hmma=16 guarded<=32 other<=190 local=0 together
// sass-and: arch=80+
// sass-loop: kernel=fixed_sizes_[fc]* ldg128na=16 guarded<=32 other<=177 arch=80,86,89,90a,120
// sass-loop: kernel=fixed_sizes_[fc]* ldg128na=16 guarded<=32 other<=146 arch=100
// sass-loop: kernel=fixed_sizes_given ldg128na=16 guarded<=32 other>=180 arch=80,86,89,90a,120
// sass-loop: kernel=fixed_sizes_given ldg128na=16 guarded<=32 other>=156 arch=100
// sass-loop: kernel=fixed_sizes_fixed ffma>=112 ldg128na=4 shfl=32 mufu=12 fsel>=8 other<=210
// sass-and: local=0 arch=80+
// sass-loop: kernel=fixed_sizes_[cg]* ffma>=112 ldg128na=4 shfl=32 mufu=12 fsel>=8 guarded=4
// sass-and: other<=220 local=0 arch=80+
// sass-loop: kernel=fixed_sizes_[fc]* ldg64.gpu=16 mufu=16 other<=230 together arch=80+
// sass-all: kernel=fixed_sizes_[fc]* f2i=3 looped calls arch=80+
// sass-all: kernel=fixed_sizes_given f2i=5 looped calls arch=80+
// Of the whole: what blocks hand over comes past the L1, by two barriers of the grid.
// sass-all: kernel=fixed_sizes_* ldg64.gpu>=17 ldg64.weak=0 ldg32.gpu=5 membar.gpu=2 cctl=4 reds=4
// sass-and: bar.block=4 looped calls arch=80+
// sass-all: kernel=fixed_sizes_[cg]* bar=9 looped calls arch=80+
// sass-all: kernel=fixed_sizes_fixed bar=7 looped calls arch=80,86,89
// sass-all: kernel=fixed_sizes_fixed bar=9 looped calls arch=90a+
FIXED_SIZES_KERNEL(fixed, sizes_fixed<FIXED_CONTEXT, FIXED_SPLITS, FIXED_KV_HEADS, FIXED_HIDDEN>)
FIXED_SIZES_KERNEL(capped, sizes_capped<FIXED_CONTEXT, FIXED_SPLITS, FIXED_KV_HEADS, FIXED_HIDDEN>)
FIXED_SIZES_KERNEL(given, sizes_given)

#endif
