// The steps of a decoder layer, for kernels that stay and for kernels that are one step.
//
// A step takes what the step before handed over (edge.cuh), has its share of a matrix or of the
// cache pass (ring.cuh, rows.cuh, attention.cuh), and hands over its own words. All of them are
// functions of all DECODER_THREADS threads of a block, under EDGE (how words are handed over) and
// SOURCE (where weights come from), for a batch of B.
//
// RMSNorm costs no step: its factor is common to all of x, so a product takes x without it, rounded
// to bf16, and the factor goes to the sums.
#ifndef FUSED_COMMON_DECODER_LAYER_CUH
#define FUSED_COMMON_DECODER_LAYER_CUH

#include "fused/common/decoder/attention.cuh"
#include "fused/common/decoder/near.cuh"
#include "fused/common/decoder/rows.cuh"
#include "fused/common/reduce.cuh"

static constexpr float DECODER_LOG2E = 1.4426950408889634f;

template <typename EDGE, typename SOURCE, typename HOME = home_any> struct decoder_block {
    const struct decoder_args &a;
    struct decoder_mail mail;
    EDGE edge;
    SOURCE source;
    char *x;          // shared: a product's vector, or what attention needs
    float *residual;  // batch x hidden: shared, this block's own copy; kernels: in memory
    float *sums, *few;
    const float2 *rope;
    struct decoder_plan *plans; // shared: of each matrix
    uint32_t turn;    // decoder_share_of()
    uint32_t layer, set;
    HOME home;
};

// A __syncthreads() later the block's plans are there.
template <typename BLOCK> __device__ __forceinline__ void decoder_plan(BLOCK &k)
{
    if constexpr (decltype(k.home)::IS_NEAR) {
        if (threadIdx.x == 0) // one thread: of which matrix, is then known to the compiler
#pragma unroll
            for (int m = 0; m <= DECODER_HEAD; m++)
                k.plans[m] = decoder_near_plan_of(&k.a.shape, (enum decoder_matrix)m, k.home.side,
                                                  k.home.count);
    } else if (threadIdx.x < DECODER_PLANS)
        k.plans[threadIdx.x] =
            decoder_plan_of(&k.a.shape, (enum decoder_matrix)threadIdx.x, gridDim.x);
}

// The pair of words i, of which `N` are taken at a time.
enum : uint32_t { DECODER_TOGETHER = 8 };

// Two neighbours of x from two fp32 words or one word of bf16.
__device__ __forceinline__ float2 decoder_two(uint2 words)
{
    return make_float2(__uint_as_float(words.x), __uint_as_float(words.y));
}

/* --- what a step takes ------------------------------------------------------------------------ */

// x of a product: `columns` bf16 for each sequence, words `from` ... of the mail.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void decoder_take_x(BLOCK &k, uint32_t from, uint32_t columns)
{
    const uint32_t pairs = B * columns / 4;
    uint2 *x = (uint2 *)k.x;
    for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_TOGETHER * DECODER_THREADS) {
        uint2 word[DECODER_TOGETHER];
        k.edge.take(from / 2 + i, DECODER_THREADS, from / 2 + pairs, word);
#pragma unroll
        for (uint32_t n = 0; n < DECODER_TOGETHER; n++)
            if (i + n * DECODER_THREADS < pairs)
                x[i + n * DECODER_THREADS] = word[n];
    }
    decoder_sync();
}

// The residual, to which the words of the mail from `from` on are added, if there are any; x of the
// product behind a norm, without the norm's factor; and the factor of each sequence, in few[0 ...
// B-1]. A thread has the same elements every time.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void decoder_take_residual(BLOCK &k, bool has_words, uint32_t from,
                                                      const void *weights)
{
    const uint32_t pairs = k.a.shape.hidden / 2, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *parts = k.few + DECODER_BATCH;
#pragma unroll 1
    for (uint32_t b = 0; b < B; b++) {
        float2 *residual = (float2 *)(k.residual + b * k.a.shape.hidden);
        uint32_t *x = (uint32_t *)k.x + b * pairs;
        float squares = 0;
        for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_TOGETHER * DECODER_THREADS) {
            uint32_t weight[DECODER_TOGETHER];
            uint2 word[DECODER_TOGETHER] = {};
#pragma unroll
            for (uint32_t n = 0; n < DECODER_TOGETHER; n++)
                weight[n] = __ldg((const uint32_t *)weights +
                                  min(i + n * DECODER_THREADS, pairs - 1));
            if (has_words)
                k.edge.take_sum(from / 2 + b * pairs + i, DECODER_THREADS,
                                from / 2 + (b + 1) * pairs, word);
#pragma unroll
            for (uint32_t n = 0; n < DECODER_TOGETHER; n++) {
                const uint32_t at = i + n * DECODER_THREADS;
                if (at < pairs) {
                    const float2 more = decoder_two(word[n]), w = bf16::widen(weight[n]);
                    float2 now = residual[at];
                    now.x += more.x;
                    now.y += more.y;
                    if (has_words)
                        residual[at] = now;
                    squares = fmaf(now.x, now.x, squares);
                    squares = fmaf(now.y, now.y, squares);
                    x[at] = bf16::narrow(make_float2(now.x * w.x, now.y * w.y));
                }
            }
        }
        squares = warp_reduce<adding>(squares);
        if (lane == 0)
            parts[b * DECODER_WARPS + warp] = squares;
    }
    decoder_sync();
    if (threadIdx.x < B) {
        float squares = 0;
#pragma unroll
        for (uint32_t w = 0; w < DECODER_WARPS; w++)
            squares += parts[threadIdx.x * DECODER_WARPS + w];
        k.few[threadIdx.x] = rsqrtf(squares / (float)k.a.shape.hidden + k.a.epsilon);
    }
}

// The residual of the last step, for the output: as above, without a product.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void decoder_take_last(BLOCK &k, uint32_t from)
{
    const uint32_t pairs = B * k.a.shape.hidden / 2;
    float2 *residual = (float2 *)k.residual;
    for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_THREADS) {
        uint2 word[1];
        k.edge.take_sum(from / 2 + i, 0, from / 2 + pairs, word);
        const float2 more = decoder_two(word[0]);
        residual[i] = make_float2(residual[i].x + more.x, residual[i].y + more.y);
    }
    decoder_sync();
}

/* --- the steps -------------------------------------------------------------------------------- */

// The block's rows of a matrix, and whose turn is next.
template <typename BLOCK>
__device__ __forceinline__ struct rows decoder_rows_by(BLOCK &k, const struct home_any &,
                                                       enum decoder_matrix m)
{
    const struct decoder_plan &plan = k.plans[m];
    const char *layer = (const char *)k.a.weights + k.set * decoder_layer_bytes(&k.a.shape);
    const void *weights = m == DECODER_HEAD ? k.a.head : layer + plan.place;
    const struct rows r = rows_of(plan, m, weights, k.turn);
    k.turn = decoder_turn_after(&plan, gridDim.x, k.turn);
    return r;
}
template <typename BLOCK>
__device__ __forceinline__ struct rows_near decoder_rows_by(BLOCK &k, const struct home_near &home,
                                                            enum decoder_matrix m)
{
    const struct decoder_plan &plan = k.plans[m];
    const char *layer = k.a.near.weights + k.set * k.a.near.layer_bytes;
    const void *weights = m == DECODER_HEAD ? k.a.near.head : layer + plan.place;
    const struct rows_near r = rows_near_of(k.a.shape, plan, m, weights, k.turn, home);
    k.turn = decoder_turn_after(&plan, home.count, k.turn);
    return r;
}
template <typename BLOCK>
__device__ __forceinline__ auto decoder_rows(BLOCK &k, enum decoder_matrix m)
{
    return decoder_rows_by(k, k.home, m);
}

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 900

// The producer's side of a matrix.
template <typename BLOCK>
__device__ __forceinline__ void decoder_fill(BLOCK &k, struct ring &ring, enum decoder_matrix m)
{
    if constexpr (decltype(k.home)::IS_NEAR)
        rows_fill(ring, decoder_rows(k, m), k.a.near.map);
    else
        rows_fill(ring, decoder_rows(k, m), k.a.shape);
}

#endif

template <typename BLOCK>
__device__ __forceinline__ const void *decoder_norm_of(const BLOCK &k, int which)
{
    return (const char *)k.a.weights + k.set * decoder_layer_bytes(&k.a.shape) +
           decoder_norm_place(&k.a.shape, which);
}
// A kv head's rows in the cache of a sequence; which: 0 keys, 1 values.
template <typename BLOCK>
__device__ __forceinline__ char *decoder_cache_of(const BLOCK &k, uint32_t batch, uint32_t b,
                                                  uint32_t kv_head, uint32_t which)
{
    const struct decoder_shape &s = k.a.shape;
    const uint64_t half = decoder_cache_half(&s, batch, k.a.capacity);
    return (char *)k.a.cache + (2 * k.set + which) * half +
           (uint64_t)(b * s.kv_heads + kv_head) * k.a.capacity * (2 * s.head_dim);
}

// The two halves of a pair of q, k or v behind its product: rotated, unless it is of v. The new key
// and value go to the cache, too.
template <typename BLOCK>
__device__ __forceinline__ uint32_t decoder_rotate(const BLOCK &k, uint32_t unit, float2 two)
{
    const struct decoder_shape &s = k.a.shape;
    const uint32_t half = s.head_dim / 2, head = unit >> (half == 32 ? 5 : 6);
    if (head < s.heads + s.kv_heads) {
        const float2 angle = k.rope[unit & (half - 1)];
        two = make_float2(two.x * angle.x - two.y * angle.y, two.y * angle.x + two.x * angle.y);
    }
    return bf16::narrow(two);
}
template <typename BLOCK>
__device__ __forceinline__ void decoder_append(const BLOCK &k, uint32_t batch, uint32_t unit,
                                               uint32_t b, uint32_t bits)
{
    const struct decoder_shape &s = k.a.shape;
    const uint32_t half = s.head_dim / 2, head = unit >> (half == 32 ? 5 : 6);
    if (head >= s.heads) {
        const uint32_t is_value = head >= s.heads + s.kv_heads;
        const uint32_t kv = head - s.heads - (is_value ? s.kv_heads : 0);
        uint16_t *row = (uint16_t *)decoder_cache_of(k, batch, b, kv, is_value) +
                        (uint64_t)(k.a.context - 1) * s.head_dim;
        row[unit & (half - 1)] = (uint16_t)bits;
        row[(unit & (half - 1)) + half] = (uint16_t)(bits >> 16);
    }
}

__device__ __forceinline__ float decoder_silu(float x)
{
    return x / (1 + exp2f(-DECODER_LOG2E * x));
}

// Hands over a unit of a product of a layer, given its sums.
template <typename BLOCK>
__device__ __forceinline__ void decoder_finish(BLOCK &k, uint32_t batch, enum decoder_matrix m,
                                               uint32_t unit, uint32_t b,
                                               const float (&sum)[DECODER_UNIT_ROWS])
{
    const struct decoder_shape &s = k.a.shape;
    const float by = k.few[b];
    if (m == DECODER_QKV) {
        const uint32_t bits = decoder_rotate(k, unit, make_float2(sum[0] * by, sum[1] * by));
        k.edge.put(k.mail.qkv + b * decoder_units(&s, m) + unit, bits);
        decoder_append(k, batch, unit, b, bits);
    } else if (k.plans[m].unit_rows == DECODER_UNIT_ROWS) { // gate and up
        const float2 h = make_float2(decoder_silu(sum[0] * by) * (sum[1] * by),
                                     decoder_silu(sum[2] * by) * (sum[3] * by));
        k.edge.put(k.mail.h + b * decoder_units(&s, m) + unit, bf16::narrow(h));
    } else
        k.edge.put_sum((m == DECODER_O ? k.mail.o : k.mail.down) + b * s.hidden + unit,
                       __float_as_uint(sum[0]));
}

// Which split of which kv head of which sequence a block has; a block with b >= batch has none.
struct decoder_part {
    uint32_t split, kv, b;
};
template <typename BLOCK>
__device__ __forceinline__ struct decoder_part decoder_part_of(const BLOCK &k)
{
    const uint32_t heads = blockIdx.x / k.a.splits;
    return {blockIdx.x % k.a.splits, heads % k.a.shape.kv_heads, heads / k.a.shape.kv_heads};
}

// What attention needs in shared memory, from x on: the rows of bf16 of q of the group, of the new
// key and of the new value; and then the warps' states, from this byte on.
template <uint32_t D> __device__ __forceinline__ uint32_t decoder_states_at(uint32_t group)
{
    return (group + 2) * (2 * D);
}

// Gets q of the group, and the new key and value where this is the last split. A word is elements i
// and i + D/2.
template <uint32_t D, typename BLOCK>
__device__ __forceinline__ void decoder_take_q(BLOCK &k, uint32_t batch)
{
    const struct decoder_shape &s = k.a.shape;
    const struct decoder_part part = decoder_part_of(k);
    const uint32_t group = s.heads / s.kv_heads, heads = s.heads + 2 * s.kv_heads;
    const uint32_t rows = part.split + 1 < k.a.splits ? group : group + 2;

    if (part.b >= batch)
        return;
    for (uint32_t i = threadIdx.x; i < rows * (D / 4); i += DECODER_THREADS) {
        const uint32_t row = i / (D / 4), at = i % (D / 4) * 2;
        const uint32_t head = row < group ? part.kv * group + row
                                          : s.heads + (row - group) * s.kv_heads + part.kv;
        const uint32_t from = (k.mail.qkv + (part.b * heads + head) * (D / 2) + at) / 2;
        uint2 word[1];
        k.edge.take(from, 0, from + 1, word);
        uint32_t *to = (uint32_t *)(k.x + row * (2 * D) + 2 * at);
        to[0] = __byte_perm(word[0].x, word[0].y, 0x5410);
        to[D / 4] = __byte_perm(word[0].x, word[0].y, 0x7632);
    }
    decoder_sync();
}

// The pair of words with what a split is worth of a head: its maximum and its sum, and behind them
// elements 2i and 2i + 1 of its row. The splits of a pair lie side by side, where a warp takes them
// by few lines: every line that is asked for beside a stream may be the one that comes late.
template <typename BLOCK>
__device__ __forceinline__ uint32_t decoder_split_at(const BLOCK &k, uint32_t head, uint32_t split)
{
    return k.mail.split / 2 + head * (1 + k.a.shape.head_dim / 2) * k.a.splits + split;
}
template <typename BLOCK>
__device__ __forceinline__ uint32_t decoder_split_row(const BLOCK &k, uint32_t i)
{
    return (1 + i) * k.a.splits;
}

// Hands over the warps' states as one: what a split is worth, or, where there is one split, the
// row.
template <uint32_t D, uint32_t G, typename BLOCK>
__device__ __forceinline__ void decoder_put_states(BLOCK &k, const struct decoder_part &part,
                                                   const float *states)
{
    const struct decoder_shape &s = k.a.shape;
    const uint32_t group = s.heads / s.kv_heads;
    for (uint32_t i = threadIdx.x; i < group * D / 2; i += DECODER_THREADS) {
        const uint32_t h = i / (D / 2), two = i % (D / 2);
        const uint32_t head = part.b * s.heads + part.kv * group + h;
        const uint32_t to = decoder_split_at(k, head, part.split);
        const float4 all = attention_warps<D, DECODER_WARPS>(states, group, h, two);
        if (k.a.splits == 1)
            k.edge.put(k.mail.attention + head * (D / 2) + two,
                       bf16::narrow(make_float2(all.z / all.y, all.w / all.y)));
        else {
            k.edge.put_pair(to + decoder_split_row(k, two), __float_as_uint(all.z),
                            __float_as_uint(all.w));
            if (two == 0)
                k.edge.put_pair(to, __float_as_uint(all.x), __float_as_uint(all.y));
        }
    }
}

// The keys of a split: old ones from tiles, and in the last split the new one.
template <uint32_t D, uint32_t G, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void decoder_look(BLOCK &k, struct attention_state<D, G> &state,
                                             const struct decoder_part &part, uint32_t batch)
{
    typedef attention_width<D, G> width;
    typedef decltype(k.source) source;
    const uint32_t group = k.a.shape.heads / k.a.shape.kv_heads;
    const struct decoder_share keys = decoder_keys_of(k.a.context, k.a.splits, part.split);
    const uint32_t n = keys.count + (part.split + 1 == k.a.splits);
    const char *fresh = k.x + group * (2 * D);
    const char *cache = decoder_cache_of(k, batch, part.b, part.kv, 0) + keys.first * (2 * D);
    const uint64_t half = decoder_cache_half(&k.a.shape, batch, k.a.capacity);
    static_assert(D == 64 || D == 128, "of these by is the inverse root, in powers of two");
    constexpr float by = DECODER_LOG2E * (D == 64 ? 0.125f : 0.08838834764831845f);
    uint4 q[width::FOURS][width::LINES];

    attention_q<D, G>(q, k.x, group);
#pragma unroll 1
    for (uint32_t first = 0; first < n; first += width::TILE) {
        const uint32_t left = min(n - first, width::TILE);
        const uint32_t old = first < keys.count ? min(keys.count - first, width::TILE) : 0;
        const char *key = fresh, *value = fresh;
        if (old > 0) {
            key = k.source.template begin<WATCHED>(cache + first * (2 * D));
            value = k.source.template begin<WATCHED>(cache + half + first * (2 * D));
        }
#pragma unroll 1
        for (uint32_t from = 8 * decoder_warp(); from < left; from += width::STRIDE)
            attention_take<D, G>(
                state, q, by, from + threadIdx.x % 32 / 4 < left,
                [&](uint32_t b) {
                    const uint32_t i = min(from + threadIdx.x % 32 / 4, left - 1);
                    return source::load_either(i < old, key + i * (2 * D) + b, fresh + b);
                },
                [&](uint32_t which, uint32_t b) {
                    const uint32_t i = min(from + threadIdx.x % 4 * 2 + which, left - 1);
                    return source::load_either(i < old, value + i * (2 * D) + b, fresh + 2 * D + b);
                });
        if (old > 0) {
            k.source.end();
            k.source.end();
        }
    }
}

// One block is one split of one kv head of one sequence, by q from decoder_take_q().
template <uint32_t D, uint32_t G, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void decoder_step_attention(BLOCK &k, uint32_t batch)
{
    const struct decoder_part part = decoder_part_of(k);
    const uint32_t group = k.a.shape.heads / k.a.shape.kv_heads;
    float *states = (float *)(k.x + decoder_states_at<D>(group));
    struct attention_state<D, G> state;

    if (part.b >= batch)
        return;
    attention_begin(state);
    decoder_look<D, G, WATCHED>(k, state, part, batch);
    attention_leave<D, G>(state, states, group);
    decoder_sync();
    decoder_put_states<D, G>(k, part, states);
    decoder_sync(); // the next step's x comes to where the states are
}

// A warp merges the splits of two neighbouring elements of a head: a half of the warp for each, a
// lane for each split.
template <typename BLOCK>
__device__ __forceinline__ void decoder_step_merge(BLOCK &k, uint32_t batch)
{
    const struct decoder_shape &s = k.a.shape;
    const uint32_t splits = k.a.splits, half = s.head_dim / 2, lane = threadIdx.x % 32;
    const uint32_t warps = gridDim.x * DECODER_WARPS, words = batch * s.heads * half;

    for (uint32_t i = blockIdx.x * DECODER_WARPS + decoder_warp(); i < words; i += warps) {
        const uint32_t split = lane % DECODER_SPLITS;
        const uint32_t from = decoder_split_at(k, i / half, min(split, splits - 1));
        const uint32_t row = decoder_split_row(k, i % half);
        uint2 both[2]; // its maximum and its sum; the two elements
        k.edge.take(from, row, from + row + 1, both);
        __syncwarp(); // lanes leave a poll one by one
        const bool is_there = split < splits;
        const float2 state = decoder_two(both[0]), two = decoder_two(both[1]);
        const float most =
            warp_reduce<greatest, DECODER_SPLITS>(is_there ? state.x : -INFINITY);
        const float scale = is_there ? exp2f(state.x - most) : 0;
        const float sum = warp_reduce<adding, DECODER_SPLITS>(is_there ? state.y * scale : 0.f);
        const float mine = lane < DECODER_SPLITS ? two.x : two.y;
        const float all = warp_reduce<adding, DECODER_SPLITS>(is_there ? mine * scale : 0.f) / sum;
        const float other = __shfl_xor_sync(~0u, all, DECODER_SPLITS);
        if (lane == 0)
            k.edge.put(k.mail.attention + i, bf16::narrow(make_float2(all, other)));
    }
}

/* --- the head --------------------------------------------------------------------------------- */

struct decoder_best {
    float logit;
    uint32_t row;
};
__device__ __forceinline__ void decoder_better(struct decoder_best &best, float logit, uint32_t row)
{
    if (logit > best.logit || (logit == best.logit && row < best.row))
        best = {logit, row};
}

// The best of all threads, in every thread; the lower row among equals.
__device__ __forceinline__ struct decoder_best decoder_best_of_block(struct decoder_best best,
                                                                     float *few)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int with = 16; with > 0; with /= 2) {
        const float logit = __shfl_xor_sync(~0u, best.logit, with);
        const uint32_t row = __shfl_xor_sync(~0u, best.row, with);
        decoder_better(best, logit, row);
    }
    if (lane == 0) {
        few[2 * warp] = best.logit;
        few[2 * warp + 1] = __uint_as_float(best.row);
    }
    decoder_sync();
#pragma unroll
    for (uint32_t w = 0; w < DECODER_WARPS; w++)
        decoder_better(best, few[2 * w], __float_as_uint(few[2 * w + 1]));
    decoder_sync();
    return best;
}

// A row of the head, given its sum.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void decoder_rate(const BLOCK &k, struct decoder_best (&best)[B],
                                             uint32_t row, uint32_t b, float sum)
{
    const float logit = sum * k.few[b];
    if (k.a.logits)
        k.a.logits[(uint64_t)b * k.a.shape.vocabulary + row] = logit;
#pragma unroll
    for (uint32_t i = 0; i < B; i++)
        if (i == b)
            decoder_better(best[i], logit, row);
}

// Hands over this block's best logit of each sequence.
template <uint32_t B, typename BLOCK>
__device__ __forceinline__ void decoder_put_best(BLOCK &k, const struct decoder_best (&best)[B])
{
    float *scratch = k.few + DECODER_BATCH * (1 + DECODER_WARPS);
#pragma unroll
    for (uint32_t b = 0; b < B; b++) {
        const struct decoder_best mine = decoder_best_of_block(best[b], scratch);
        if (threadIdx.x == 0)
            k.edge.put_best(k.mail.best + 2 * (b * k.a.blocks + blockIdx.x), blockIdx.x,
                            __float_as_uint(mine.logit), mine.row, k.a.shape.vocabulary);
    }
}

/* --- a product -------------------------------------------------------------------------------- */

// x is there: the block's rows of m, all of it handed over. The code stands once in a kernel that
// stays, whatever m: code that does not fit the instruction cache has to come from the L2 every
// time.
template <uint32_t B, bool WATCHED, typename BLOCK>
__device__ __forceinline__ void decoder_product(BLOCK &k, enum decoder_matrix m)
{
    const auto r = decoder_rows(k, m);
    struct decoder_best best[B];
#pragma unroll
    for (uint32_t b = 0; b < B; b++)
        best[b] = {-INFINITY, ~0u};
    rows_take<B, WATCHED>(k.source, r, k.a.shape, (const uint4 *)k.x, k.sums,
                          [&](uint32_t unit, uint32_t b, const float(&sum)[DECODER_UNIT_ROWS]) {
                              if (m == DECODER_HEAD)
                                  decoder_rate(k, best, unit, b, sum[0]);
                              else
                                  decoder_finish(k, B, m, unit, b, sum);
                          });
    if (m == DECODER_HEAD)
        decoder_put_best(k, best);
}

// The best of all blocks of the head, in every thread.
template <typename BLOCK>
__device__ __forceinline__ struct decoder_best decoder_take_best(BLOCK &k, uint32_t b)
{
    struct decoder_best best = {-INFINITY, ~0u};
    for (uint32_t i = threadIdx.x; i < k.a.blocks; i += DECODER_THREADS)
        k.edge.take_best(k.mail.best / 2 + b * k.a.blocks + i, i,
                         [&](uint32_t logit, uint32_t row) {
                             decoder_better(best, __uint_as_float(logit), row);
                         });
    return decoder_best_of_block(best, k.few + DECODER_BATCH * (1 + DECODER_WARPS));
}

// The residual of a sequence becomes the embedding of its token, one of so many. Where all logits
// are NaN no token was chosen.
template <typename BLOCK>
__device__ __forceinline__ void decoder_embed(BLOCK &k, uint32_t b, uint32_t token, uint32_t tokens)
{
    const uint32_t pairs = k.a.shape.hidden / 2, chosen = min(token, tokens - 1);
    const uint32_t *row = (const uint32_t *)k.a.embedding + (uint64_t)chosen * pairs;
    float2 *residual = (float2 *)(k.residual + b * k.a.shape.hidden);
    for (uint32_t i = threadIdx.x; i < pairs; i += DECODER_THREADS)
        residual[i] = bf16::widen(__ldg(row + i));
}

#endif
