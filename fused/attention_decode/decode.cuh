// Decode attention: one query a sequence, the keys split over blocks (flash-decoding).
//
// A block serves one KV head of one sequence, with all its query heads at once, so that keys and
// values cross the memory bus once. Its eight warps take tiles of keys in turn and never wait for
// each other. Each warp keeps its own maximum m, sum l and output o. These are merged at the end:
// over the warps in shared memory, over the blocks in one of three ways.
//
//   parts    Every block stores its part of all outputs and merges a slice of them. It polls the L2
//            until all blocks' parts of the slice are there; their bits themselves say so. Blocks
//            wait for each other, so the launch has to be cooperative. The block that has read a
//            part clears it for the next launch.
//   ticket   No block waits. The block that draws the last ticket of a KV head merges all of it. It
//            needs a fence and an atomic before its first load, and then a single SM loads all
//            parts, 33 KB from 16 blocks.
//   neither  A second kernel merges.
//
// Bytes in flight. Keys of the next turn are loaded while the scores of this turn become
// probabilities, and values likewise: a warp has 4 to 8 KiB in flight at any time, in registers. A
// ring in shared memory with three times as much (cp.async, 192 KiB an SM) was slower on an H200:
// 91 us over 65536 keys, against 65 us. Short contexts pay for what comes before the first load and
// after the last. So queries and the new row are fetched after the first keys, and there is no
// barrier before the last key.
#ifndef FUSED_ATTENTION_DECODE_DECODE_CUH
#define FUSED_ATTENTION_DECODE_DECODE_CUH

#include "core/device/verdict.cuh"
#include "fused/attention_decode/part.cuh"
#include "fused/attention_decode/warp.cuh"

// --- addresses of rows ---------------------------------------------------------------------------

// Offsets of a warp's tiles of one head, in order: TILES adjacent tiles in a turn, `step` tiles
// from one turn to the next. Page numbers are fetched 32 tiles at a time, one per lane, well before
// they are needed.
template <bool PAGED, int TILES> struct attention_rows {
    const kv_cache &c;
    uint64_t at; // of the head; without pages, of the next turn
    uint32_t first, step, n, own, next;

    __device__ __forceinline__ attention_rows(const kv_cache &cache, uint32_t first_tile,
                                              uint32_t tiles)
        : c(cache), first(first_tile), step(tiles), n(0), own(0), next(0)
    {
        at = blockIdx.y * c.head_stride + blockIdx.z * c.sequence_stride;
        if (PAGED)
            next = fetch(0);
        else
            at += (uint64_t)first * ATTENTION_TILE * c.row_stride;
    }
    __device__ __forceinline__ uint32_t key(uint32_t i) const // the first of the i-th tile
    {
        return (first + i / TILES * step + i % TILES) * ATTENTION_TILE;
    }
    __device__ __forceinline__ uint32_t fetch(uint32_t i) const
    {
        const uint32_t page = key(i + threadIdx.x % 32) >> c.page_shift;
        const uint64_t row = (uint64_t)blockIdx.z * c.pages_of_sequence;
        return page < c.pages_of_sequence ? __ldg(c.pages + row + page) : 0;
    }
    __device__ __forceinline__ void turn(uint64_t (&offset)[TILES])
    {
#pragma unroll
        for (int i = 0; i < TILES; i++) {
            if (!PAGED) {
                offset[i] = at + i * ATTENTION_TILE * c.row_stride;
                continue;
            }
            if (n % 32 == 0) {
                own = next;
                next = fetch(n + 32);
            }
            offset[i] = at + __shfl_sync(~0u, own, n % 32) * c.page_stride +
                        (uint64_t)(key(n) & ((1u << c.page_shift) - 1)) * c.row_stride;
            n++;
        }
        if (!PAGED)
            at += (uint64_t)step * (ATTENTION_TILE * c.row_stride);
    }
};

// --- one block's share ---------------------------------------------------------------------------

template <int D> struct attention_shared {
    float o[ATTENTION_WARPS][ATTENTION_HEADS][D];
    float m[ATTENTION_HEADS][ATTENTION_WARPS], l[ATTENTION_HEADS][ATTENTION_WARPS];
    uint4 k_new[D / 8], v_new[D / 8]; // written by one warp only
    uint32_t is_last;
};

template <typename CACHE, int D> struct attention_block {
    typedef attention_warp<CACHE, D> share;
    typedef typename CACHE::mma T;
    enum { TOGETHER = 16, PARTS = ATTENTION_HEADS * D / 2 };
    const attention_decode_args &a;
    attention_shared<D> &shared;
    const uint64_t pair; // of sequence and KV head: the unit that splits share
    float v_scale;

    __device__ __forceinline__ attention_block(const attention_decode_args &args,
                                               attention_shared<D> &room)
        : a(args), shared(room), pair((uint64_t)blockIdx.z * gridDim.y + blockIdx.y)
    {
    }

    // Called neither at the start, where it would delay the first key, nor where the scale is used,
    // where it would be waited for.
    __device__ __forceinline__ void take_scale()
    {
        v_scale = kv_scale(a.cache.v_scale, blockIdx.y);
    }

    // Puts the warps' results into shared memory.
    __device__ __forceinline__ void gather(share &w)
    {
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
        w.l += __shfl_xor_sync(~0u, w.l, 1);
        w.l += __shfl_xor_sync(~0u, w.l, 2);
        if (t == 0) {
            shared.m[g][warp] = w.m;
            shared.l[g][warp] = w.l;
        }
#pragma unroll
        for (uint32_t h = 0; h < 2; h++) {
            const uint32_t head = 2 * t + h;
            if (head >= a.group)
                continue;
#pragma unroll
            for (int i = 0; i < 2 * share::OUT; i += 4) {
                const int j = i % share::OUT, k = h + (i >= share::OUT ? 2 : 0);
                *(float4 *)&shared.o[warp][head][share::dimension(i)] =
                    make_float4(w.o[j][k], w.o[j + 1][k], w.o[j + 2][k], w.o[j + 3][k]);
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ void put(uint32_t head, uint32_t i, float2 o, float l) const
    {
        const float by = v_scale * reciprocal_fast(l);
        ((uint32_t *)a.out)[((pair * a.group + head) * D + i) / 2] =
            bf16::narrow(make_float2(o.x * by, o.y * by));
    }

    // Where this pair's parts begin. A split always has room for ATTENTION_HEADS heads, so that
    // everything a thread reads lies at constant distances.
    __device__ __forceinline__ float *partial(uint32_t split) const
    {
        return a.partial + (pair * a.splits + split) * (ATTENTION_HEADS * D);
    }
    __device__ __forceinline__ float2 *summary(uint32_t split) const
    {
        return (float2 *)a.summary + (pair * a.splits + split) * ATTENTION_HEADS;
    }

    __device__ __forceinline__ attention_part *part(uint32_t split) const
    {
        return (attention_part *)a.parts + (pair * a.splits + split) * PARTS;
    }

    // Merges over the warps. Stores results if no other block shares them, else this block's part.
    __device__ __forceinline__ void deliver() const
    {
        for (uint32_t at = 2 * threadIdx.x; at < a.group * D; at += 2 * ATTENTION_THREADS) {
            const uint32_t head = at / D, i = at % D;
            attention_part own = {{0, 0}, -1e38f, 0}; // not -inf: -inf minus -inf would be NaN
            float m[ATTENTION_WARPS], l[ATTENTION_WARPS];
            float2 x[ATTENTION_WARPS];
#pragma unroll
            for (int w = 0; w < ATTENTION_WARPS; w += 4) {
                *(float4 *)&m[w] = *(const float4 *)&shared.m[head][w];
                *(float4 *)&l[w] = *(const float4 *)&shared.l[head][w];
            }
#pragma unroll
            for (int w = 0; w < ATTENTION_WARPS; w++) {
                x[w] = *(const float2 *)&shared.o[w][head][i];
                own.m = fmaxf(own.m, m[w]);
            }
#pragma unroll
            for (int w = 0; w < ATTENTION_WARPS; w++) {
                const float by = exp2_fast(m[w] - own.m);
                own.l += by * l[w];
                own.o = make_float2(own.o.x + by * x[w].x, own.o.y + by * x[w].y);
            }
            if (a.splits == 1) {
                put(head, i, own.o, own.l);
            } else if (a.parts) {
                own.send(part(blockIdx.x) + at / 2);
            } else {
                __stcg((float2 *)(partial(blockIdx.x) + at), own.o);
                if (i == 0)
                    __stcg(summary(blockIdx.x) + head, make_float2(own.m, own.l));
            }
        }
    }

    // Is this the last block of its KV head to arrive?
    __device__ __forceinline__ bool is_last()
    {
        __syncthreads();
        if (threadIdx.x == 0)
            shared.is_last = draw_ticket(a.ticket + pair, a.splits - 1) == a.splits - 1;
        __syncthreads();
        return shared.is_last;
    }

    // The size of a slice: a power of two, large enough that the blocks' slices cover everything.
    __device__ __forceinline__ uint32_t slice_of(uint32_t pairs) const
    {
        const int32_t whole = 32 - __clz((int32_t)pairs - 1),
                      blocks = 31 - __clz((int32_t)a.splits);
        return whole > blocks ? 1u << (whole - blocks) : 1;
    }

    // Merges all blocks' shares of one KV head into its results. Sums and outputs of sixteen blocks
    // are loaded together: one trip to the L2.
    __device__ __forceinline__ void merge_blocks() const
    {
        for (uint32_t at = 2 * threadIdx.x; at < a.group * D; at += 2 * ATTENTION_THREADS) {
            const uint32_t head = at / D;
            const float *from = partial(0) + at;
            const float2 *sums = summary(0) + head;
            float most = -1e38f, l = 0;
            float2 o = make_float2(0, 0);
#pragma unroll 1
            for (int32_t left = (int32_t)a.splits; left > 0; left -= TOGETHER) {
                float2 x[TOGETHER], part[TOGETHER];
#pragma unroll
                for (int s = 0; s < TOGETHER; s++) {
                    part[s] = make_float2(-1e38f, 0);
                    x[s] = make_float2(0, 0);
                    if (s < left) {
                        part[s] = __ldcg(sums + s * ATTENTION_HEADS);
                        x[s] = __ldcg((const float2 *)(from + s * ATTENTION_HEADS * D));
                    }
                }
                float now = most;
#pragma unroll
                for (int s = 0; s < TOGETHER; s++)
                    now = fmaxf(now, part[s].x);
                const float shrink = exp2_fast(most - now);
                l *= shrink;
                o = make_float2(o.x * shrink, o.y * shrink);
#pragma unroll
                for (int s = 0; s < TOGETHER; s++) {
                    const float by = exp2_fast(part[s].x - now);
                    l += by * part[s].y;
                    o = make_float2(o.x + by * x[s].x, o.y + by * x[s].y);
                }
                most = now;
                from += TOGETHER * ATTENTION_HEADS * D;
                sums += TOGETHER * ATTENTION_HEADS;
            }
            put(head, at % D, o, l);
        }
    }

    // Merges a slice of the outputs as soon as all blocks' parts of it are there, and clears them.
    __device__ __forceinline__ void merge_slice() const
    {
        const uint32_t pairs = a.group * (D / 2), slice = slice_of(pairs);
        for (uint32_t i = threadIdx.x; i < slice; i += ATTENTION_THREADS) {
            const uint32_t at = blockIdx.x * slice + i;
            if (at >= pairs)
                return;
            attention_part all = {{0, 0}, -1e38f, 0};
#pragma unroll 1
            for (int32_t s = 0; s < (int32_t)a.splits; s += TOGETHER) {
                attention_part x[TOGETHER];
                attention_part *from = part(s) + at;
                receive(x, from, PARTS, (int32_t)a.splits - s, a.aborted);
                float now = all.m;
#pragma unroll
                for (int j = 0; j < TOGETHER; j++)
                    now = fmaxf(now, x[j].m);
                const float shrink = exp2_fast(all.m - now);
                all = {{all.o.x * shrink, all.o.y * shrink}, now, all.l * shrink};
#pragma unroll
                for (int j = 0; j < TOGETHER; j++) {
                    const float by = exp2_fast(x[j].m - now);
                    all.l += by * x[j].l;
                    all.o = make_float2(all.o.x + by * x[j].o.x, all.o.y + by * x[j].o.y);
                }
#pragma unroll
                for (int j = 0; j < TOGETHER; j++)
                    if (s + j < (int32_t)a.splits)
                        attention_part::take_away(from + j * PARTS);
            }
            put(2 * at / D, 2 * at % D, all.o, all.l);
        }
    }
};

// STABLE: with the maximum. Without it, a control.
template <typename CACHE, int D, bool PAGED, bool STABLE>
__device__ __forceinline__ void attention_decode(const attention_decode_args &a)
{
    typedef attention_warp<CACHE, D> share;
    __shared__ attention_shared<D> shared;
    attention_block<CACHE, D> block(a, shared);
    share w;

    // The warps of all blocks of a head take turns: together they walk along the cache.
    const kv_cache &c = a.cache;
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t turn = blockIdx.x * ATTENTION_WARPS + threadIdx.x / 32;
    const uint32_t step = a.splits * (ATTENTION_WARPS * share::KEYS);
    const char *k = (const char *)c.k + g * c.row_stride + 16 * t;
    const char *v = (const char *)c.v + 2 * t * c.row_stride + 16 * g;
    attention_rows<PAGED, share::TILES> rows(c, turn * share::TILES, step / ATTENTION_TILE);
    // Number of keys from this warp's next turn on. The last one may be new: not in the cache yet.
    int32_t left = (int32_t)(a.keys - turn * share::KEYS);
    const int32_t is_new = a.turn && left > 0 && (uint32_t)(left - 1) % step < share::KEYS;
    float scale = 0;

    // Each pass computes with what the pass before has loaded.
    w.start();
#pragma unroll 1
    for (int32_t now = 0;; left -= (int32_t)step) {
        const bool has_new_row = is_new && now > 0 && now <= share::KEYS;
        uint64_t at[share::TILES];
        if (now > 0) {
            if (has_new_row)
                w.put_new_k(shared.k_new, now - 1);
            w.score();
        }
        if (left > 0) {
            rows.turn(at);
            w.load_k(k, at, c.row_stride, left - is_new);
        }
        if (now > 0) {
            w.template weigh<STABLE>(scale, now);
            if (has_new_row)
                w.put_new_v(shared.v_new, now - 1);
            w.accumulate();
        } else { // warps without a key, too: their threads take part in the merge
            block.take_scale();
        }
        if (left <= 0)
            break;
        w.load_v(v, at, c.row_stride, left - is_new);
        if (now == 0) {
            scale = a.scale * kv_scale(c.k_scale, blockIdx.y);
            w.take_queries((const __nv_bfloat16 *)a.q + block.pair * a.group * D, a.group, a.turn);
            if (is_new)
                w.stage_new_row(a, block.pair, shared.k_new, shared.v_new);
        }
        now = left;
    }

    block.gather(w);
    block.deliver();
    if (a.splits == 1)
        return;
    if (a.parts)
        block.merge_slice();
    else if (a.ticket && block.is_last())
        block.merge_blocks();
}

#endif
