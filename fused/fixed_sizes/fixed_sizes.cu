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
// Keys, values and weights come through a ring that a ninth warp fills
// (fused/common/decoder/ring.cuh): it waits at no barrier of the grid, so that they come meanwhile.
// Before compute capability 9.0 there is no such copy, and they come straight from memory. Products
// are by the warp's matrix instruction.
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

#include "fused/common/decoder/attention.cuh"
#include "fused/common/decoder/merge.cuh"
#include "fused/common/decoder/rows.cuh"
#include "fused/fixed_sizes/args.h"

extern __shared__ uint4 fixed_memory[];

enum : uint32_t {
    SUMS = 2 * DECODER_ROUND * DECODER_WARPS, // fp32 of scratch
    STATE = 2 + FIXED_DIM,                    // fp32 that a head has of a part: maximum, sum, row
    KEY_BYTES = 2 * FIXED_DIM,
    ROW = FIXED_GROUP * FIXED_DIM, // elements of the attention's result, of a kv head
    MERGE_AT_ONCE = 8,             // parts of a head that a thread asks for at a time
    X_AT_ONCE = 4,                 // pairs of words of x
    IN_FLIGHT = 2,                 // tiles of the ring: 32 KiB
};
typedef attention_width<FIXED_DIM, FIXED_GROUP> width;
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900
typedef struct source_ring source_here;
enum : uint32_t { THREADS = FIXED_THREADS_RING };
#else
typedef struct source_memory source_here;
enum : uint32_t { THREADS = DECODER_THREADS };
#endif

// Where the ring, the sums and x lie in shared memory. The states of a block's warps lie where x
// does.
__device__ __forceinline__ struct decoder_shared place_of(uint32_t stages)
{
    struct decoder_shared place = {};
    place.barriers = stages * DECODER_TILE_BYTES;
    place.sums = place.barriers + 16 * stages;
    place.x = place.sums + 4 * SUMS;
    return place;
}

/* --- sizes ------------------------------------------------------------------------------------ */

// Keys [first, last) are a block's, if there are any; of these it looks at those before `end`.
struct keys {
    uint32_t first, last, end;
};

template <uint32_t CONTEXT, uint32_t SPLITS, uint32_t KV_HEADS, uint32_t HIDDEN>
struct sizes_fixed {
    static_assert(CONTEXT % (SPLITS * width::TILE) == 0, "whole tiles of keys");
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

// What a block does of an item's attention: keys of a kv head, and their values behind `half`.
struct unit {
    uint32_t head, first, n, end; // keys from `first` on: n that are loaded, `end` that count
    const char *keys;
    uint64_t half;
};

template <typename SIZES>
__device__ __forceinline__ struct unit unit_of(const fixed_sizes_args &a, uint32_t item, uint32_t i)
{
    const uint32_t splits = SIZES::splits(a), head = i / splits;
    const uint64_t all = (uint64_t)SIZES::capacity(a) * KEY_BYTES;
    const struct keys of = SIZES::keys_of(a, i % splits);
    return {head,
            of.first,
            of.last > of.first ? of.last - of.first : 0,
            of.end > of.first ? of.end - of.first : 0,
            a.cache + item % a.sets * a.cache_stride + head * all + (uint64_t)of.first * KEY_BYTES,
            SIZES::kv_heads(a) * all};
}

// Keys of the tile that begins with a unit's key `first`.
template <typename SIZES>
__device__ __forceinline__ uint32_t tile_of(const struct unit &u, uint32_t first)
{
    return SIZES::LOADS_ALL ? (uint32_t)width::TILE : min(u.n - first, (uint32_t)width::TILE);
}

template <typename SIZES>
__device__ __forceinline__ void look(struct attention_state<FIXED_DIM, FIXED_GROUP> &s,
                                     source_here &source, const struct unit &u, const char *heads,
                                     float by)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    uint4 q[width::FOURS][width::LINES];
    attention_q<FIXED_DIM, FIXED_GROUP>(q, heads, FIXED_GROUP);
#pragma unroll 1
    for (uint32_t first = 0; first < u.n; first += width::TILE) {
        const uint32_t left = tile_of<SIZES>(u, first);
        const char *from = u.keys + (uint64_t)first * KEY_BYTES;
        const char *key = source.begin<false>(from);
        const char *value = source.begin<false>(from + u.half);
        const uint32_t mine = 8 * (threadIdx.x / 32);
        attention_take<FIXED_DIM, FIXED_GROUP>(
            s, q, by, first + mine + g < min(u.end, u.n),
            [&](uint32_t b) {
                return source_here::load(key + min(mine + g, left - 1) * KEY_BYTES + b);
            },
            [&](uint32_t which, uint32_t b) {
                return source_here::load(value + min(mine + 2 * t + which, left - 1) * KEY_BYTES +
                                         b);
            });
        source.end();
        source.end();
    }
    static_assert(width::TILE == width::STRIDE, "a tile is a turn of all warps");
}

// One part of a kv head's keys; its four heads' states go to memory.
template <typename SIZES>
__device__ __forceinline__ void attend(const fixed_sizes_args &a, source_here &source,
                                       uint32_t item, uint32_t i, float *shared, float *states)
{
    const struct unit u = unit_of<SIZES>(a, item, i);
    const uint64_t heads = (uint64_t)item * SIZES::kv_heads(a) + u.head;
    struct attention_state<FIXED_DIM, FIXED_GROUP> s;

    attention_begin(s);
    look<SIZES>(s, source, u, (const char *)a.q + heads * (2 * ROW), a.q_scale);
    attention_leave<FIXED_DIM, FIXED_GROUP>(s, shared, FIXED_GROUP);
    decoder_sync();
    const uint32_t h = threadIdx.x / (FIXED_DIM / 2), two = threadIdx.x % (FIXED_DIM / 2);
    const float4 of = attention_warps<FIXED_DIM, DECODER_WARPS>(shared, FIXED_GROUP, h, two);
    float *to = states + ((uint64_t)i * FIXED_GROUP + h) * STATE;
    *(float2 *)(to + 2 + 2 * two) = make_float2(of.z, of.w);
    if (two == 0)
        *(float2 *)to = make_float2(of.x, of.y);
    decoder_sync(); // before `shared` is used again
    static_assert(FIXED_GROUP * FIXED_DIM / 2 == DECODER_THREADS, "a pair of elements a thread");
}

__device__ __forceinline__ float2 two_of(uint64_t bits)
{
    return make_float2(__uint_as_float((uint32_t)bits), __uint_as_float((uint32_t)(bits >> 32)));
}

// All parts of a head, in their order; a pair of elements a thread. Parts that are not there get no
// weight: a branch around them, which sizes of the build do away with, took 2 us of given.
template <typename SIZES>
__device__ __forceinline__ void merge(const fixed_sizes_args &a, uint32_t head, const float *states,
                                      uint32_t *x)
{
    const uint32_t splits = SIZES::splits(a), i = threadIdx.x;
    const float *from =
        states + ((uint64_t)head / FIXED_GROUP * splits * FIXED_GROUP + head % FIXED_GROUP) * STATE;
    float most = MERGE_NOTHING, sum = 0;
    float2 row[1] = {make_float2(0, 0)};
    if (i >= FIXED_DIM / 2)
        return;
#pragma unroll 1
    for (uint32_t first = 0; first < splits; first += MERGE_AT_ONCE) {
        float2 of[MERGE_AT_ONCE], two[MERGE_AT_ONCE][1];
#pragma unroll
        for (uint32_t n = 0; n < MERGE_AT_ONCE; n++) {
            const float *state =
                from + (uint64_t)min(first + n, splits - 1) * (FIXED_GROUP * STATE);
            of[n] = two_of(load_cg(state));
            two[n][0] = two_of(load_cg(state + 2 + 2 * i));
        }
        merge_parts(most, sum, row, of, two, first, splits);
    }
    const float by = __fdividef(1, sum);
    x[head * (FIXED_DIM / 2) + i] = bf16::narrow(make_float2(row[0].x * by, row[0].y * by));
}

/* --- the product ------------------------------------------------------------------------------ */

template <typename SIZES>
__device__ __forceinline__ struct rows rows_of_item(const fixed_sizes_args &a, uint32_t item,
                                                    const struct decoder_share &share)
{
    const uint32_t columns = SIZES::kv_heads(a) * ROW;
    return {a.weights + item % a.sets * a.weight_stride + (uint64_t)share.first * (2 * columns),
            DECODER_GATE,
            {0, share.count},
            1,
            columns,
            decoder_chunks(columns)};
}

template <typename SIZES>
__device__ __forceinline__ struct decoder_share share_of(const fixed_sizes_args &a)
{
    return decoder_share_of(SIZES::hidden(a), gridDim.x, blockIdx.x, 0);
}

template <typename SIZES>
__device__ __forceinline__ void multiply(const fixed_sizes_args &a, source_here &source,
                                         uint32_t item, uint32_t *from, float *sums, uint2 *x)
{
    const uint32_t pairs = SIZES::kv_heads(a) * (ROW / 4), hidden = SIZES::hidden(a);
    const struct decoder_share share = share_of<SIZES>(a);
    const struct decoder_shape none = {};
    struct edge_plain words;

    words.open(from, 0);
    for (uint32_t i = threadIdx.x; i < pairs; i += X_AT_ONCE * DECODER_THREADS) {
        uint2 word[X_AT_ONCE];
        words.take(i, DECODER_THREADS, pairs, word);
#pragma unroll
        for (uint32_t n = 0; n < X_AT_ONCE; n++)
            if (i + n * DECODER_THREADS < pairs)
                x[i + n * DECODER_THREADS] = word[n];
    }
    decoder_sync();
    rows_take<1, false>(source, rows_of_item<SIZES>(a, item, share), none, (const uint4 *)x, sums,
                        [&](uint32_t row, uint32_t, const float(&sum)[DECODER_UNIT_ROWS]) {
                            const uint64_t at = (uint64_t)item * hidden + share.first + row;
                            a.y[at] = fmaf(a.scale, sum[0], a.residual[at]);
                        });
    decoder_sync();
}

/* --- the kernels ------------------------------------------------------------------------------ */

template <typename SIZES>
__device__ __forceinline__ void compute(const fixed_sizes_args &a, source_here &source)
{
    const struct decoder_shared place = place_of(a.stages);
    float *sums = (float *)((char *)fixed_memory + place.sums);
    char *x = (char *)fixed_memory + place.x;
    const uint32_t units = SIZES::kv_heads(a) * SIZES::splits(a);
    const uint32_t heads = SIZES::kv_heads(a) * FIXED_GROUP;
    struct edge_barrier edge;
    edge.barrier = grid_barrier_join(a.barrier, gridDim.x, a.budget_ns);

#pragma unroll 1
    for (uint32_t item = 0; item < a.items; item++) {
        const uint32_t generation = item % FIXED_GENERATIONS;
        float *states = a.states + (uint64_t)generation * units * (FIXED_GROUP * STATE);
        uint32_t *words = a.x + generation * heads * (FIXED_DIM / 2);
#pragma unroll 1
        for (uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x)
            attend<SIZES>(a, source, item, unit, (float *)x, states);
        edge.close();
#pragma unroll 1
        for (uint32_t head = blockIdx.x; head < heads; head += gridDim.x)
            merge<SIZES>(a, head, states, words);
        edge.close();
        multiply<SIZES>(a, source, item, words, sums, (uint2 *)x);
    }
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// All that this block will read, in that order.
template <typename SIZES>
__device__ __forceinline__ void produce(const fixed_sizes_args &a, struct ring &ring)
{
    const uint32_t units = SIZES::kv_heads(a) * SIZES::splits(a);
    const struct decoder_share share = share_of<SIZES>(a);
    const struct decoder_shape none = {};
#pragma unroll 1
    for (uint32_t item = 0; item < a.items; item++) {
#pragma unroll 1
        for (uint32_t i = blockIdx.x; i < units; i += gridDim.x) {
            const struct unit u = unit_of<SIZES>(a, item, i);
#pragma unroll 1
            for (uint32_t piece = 0; piece / 2 * width::TILE < u.n; piece++) {
                const uint32_t first = piece / 2 * width::TILE;
                ring_fill(ring, 1, u.keys + piece % 2 * u.half + (uint64_t)first * KEY_BYTES,
                          tile_of<SIZES>(u, first) * KEY_BYTES);
            }
        }
        rows_fill(ring, rows_of_item<SIZES>(a, item, share), none);
    }
}

template <typename SIZES> __device__ __forceinline__ void run(const fixed_sizes_args &a)
{
    source_here source;
    source.ring = ring_of((char *)fixed_memory, place_of(a.stages), a.stages, IN_FLIGHT);
    __syncthreads();
    if (decoder_warp() == DECODER_WARPS)
        produce<SIZES>(a, source.ring);
    else
        compute<SIZES>(a, source);
}

#else

template <typename SIZES> __device__ __forceinline__ void run(const fixed_sizes_args &a)
{
    source_here source;
    compute<SIZES>(a, source);
}

#endif

#define FIXED_SIZES_KERNEL(name, ...)                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, FIXED_BLOCKS)                            \
        fixed_sizes_##name(const __grid_constant__ struct fixed_sizes_args a)                      \
    {                                                                                              \
        run<__VA_ARGS__>(a);                                                                       \
    }
// The bodies counted are those of a chunk of 32 rows of W, of a tile of keys and values, and of
// eight parts of a head. The fixed kernel takes whole tiles; the others clamp what lies beyond the
// length. Where sizes are given there are divisions by the number of parts. All mask what keys
// beyond the context score.
// sass-loop: kernel=fixed_sizes_* ldg128na=16 hmma=16 guarded<=32 other<=190 local=0 together
// sass-and: arch=80,86,89
// sass-loop: kernel=fixed_sizes_* lds128=18 hmma=16 guarded<=2 other<=210 local=0 arch=90a+
// sass-loop: kernel=fixed_sizes_[fc]* ldg128na=16 hmma=16 guarded<=32 other<=160 arch=80,86,89
// sass-loop: kernel=fixed_sizes_given ldg128na=16 hmma=16 guarded<=32 other>=175 arch=80,86,89
// sass-loop: kernel=fixed_sizes_[fc]* lds128=18 hmma=16 guarded<=2 other<=168 arch=90a
// sass-loop: kernel=fixed_sizes_given lds128=18 hmma=16 guarded<=2 other>=171 arch=90a
// sass-loop: kernel=fixed_sizes_[fc]* lds128=18 hmma=16 guarded<=2 other<=181 arch=100,120
// sass-loop: kernel=fixed_sizes_given lds128=18 hmma=16 guarded<=2 other>=187 arch=100,120
// sass-loop: kernel=fixed_sizes_fixed hmma=20 ldg128na=8 imnmx=0 fsel=1 shfl=6 arch=80,86,89
// sass-loop: kernel=fixed_sizes_[cg]* hmma=20 ldg128na=8 imnmx=4 fsel=1 shfl=6 arch=80,86,89
// sass-loop: kernel=fixed_sizes_fixed hmma=20 lds128=8 vimnmx=0 fsel=1 shfl=6 arch=90a+
// sass-loop: kernel=fixed_sizes_[cg]* hmma=20 lds128=8 vimnmx=3 fsel=1 shfl=6 arch=90a+
// sass-loop: kernel=fixed_sizes_* ldg64.gpu=16 mufu=9 other<=230 together arch=80+
// sass-all: kernel=fixed_sizes_* ldg64.gpu>=20 ldg64.weak=0 ldg32.gpu=5 membar.gpu=2 cctl=4 reds=4
// sass-and: looped calls arch=80+
// sass-all: kernel=fixed_sizes_* bar=9 looped calls arch=80,86,89
// sass-all: kernel=fixed_sizes_* bar=10 ublkcp=2 ublkcp.hinted=2 looped calls arch=90a+
// sass-all: kernel=fixed_sizes_[fc]* f2i=3 looped calls arch=80,86,89
// sass-all: kernel=fixed_sizes_given f2i=5 looped calls arch=80,86,89
// sass-all: kernel=fixed_sizes_[fc]* f2i=4 looped calls arch=90a
// sass-all: kernel=fixed_sizes_given f2i=8 looped calls arch=90a
// sass-all: kernel=fixed_sizes_[fc]* f2i=2 looped calls arch=100
// sass-all: kernel=fixed_sizes_given f2i=6 looped calls arch=100
// sass-all: kernel=fixed_sizes_[fc]* f2i=1 looped calls arch=120
// sass-all: kernel=fixed_sizes_given f2i=3 looped calls arch=120
FIXED_SIZES_KERNEL(fixed, sizes_fixed<FIXED_CONTEXT, FIXED_SPLITS, FIXED_KV_HEADS, FIXED_HIDDEN>)
FIXED_SIZES_KERNEL(capped, sizes_capped<FIXED_CONTEXT, FIXED_SPLITS, FIXED_KV_HEADS, FIXED_HIDDEN>)
FIXED_SIZES_KERNEL(given, sizes_given)

#endif
