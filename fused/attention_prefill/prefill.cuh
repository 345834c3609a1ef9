// Attention over a prompt in one kernel, by mma.sync (compute capability 8.0 and up): the scheme of
// FlashAttention-2 (Dao 2023).
//
// A block has 128 queries of one head, a warp 32 of them, and walks over tiles of 64 keys. Scores
// stay in registers: what mma leaves of S = Q K^T in a lane is, rounded to 16 bits, what the second
// product O += P V wants there. Each row keeps the greatest score so far and the sum of its
// exponentials; where a tile brings a greater one, sum and O are scaled down. Exponentials are
// powers of two, with log2(e) folded into the scale. The keys of the next tile are on their way, by
// cp.async, while this one is worked on, and one barrier a tile says both that they have come and
// that the slot that is filled next has been left.
//
// Shared memory. A row of 128 or 64 elements is 16 or 8 chunks of 16 bytes; chunk c of row r is
// stored as its chunk c ^ (r % 8), so that ldmatrix reads eight rows without a bank conflict. 32
// queries a warp, not 16, as every warp reads all keys: with 16, shared memory is what limits. Two
// operands of one mma must stand in neighbouring registers: of K, ldmatrix brings the two halves
// of 8 keys one after the other. (The other order costs two moves an mma, and a tenth of the
// speed.)
//
// Registers. O has 128 of a lane and S 64: 255 in all, so Q is read from shared memory again for
// each tile. It does not pay to make room. On an H200, 8192 tokens, causal, in Tflop/s: 390 so; 360
// with tiles of 32 keys; 350 if the scores of the next tile are computed before this one's values
// are multiplied, which has room in tiles of 32 only; 330 to 350 with 16 queries a warp, Q in
// registers, in any order.
//
// Blocks below a causal mask differ in length: the longest are dealt out first, of all heads that
// are worked on together.
#ifndef FUSED_ATTENTION_PREFILL_PREFILL_CUH
#define FUSED_ATTENTION_PREFILL_PREFILL_CUH

#include "core/device/async.cuh"
#include "fused/attention_prefill/prefill.h"
#include "fused/common/exponential.cuh"
#include "fused/common/vector.cuh"

// --- which queries, and the softmax: for both kernels --------------------------------------------

struct prefill_block {
    uint32_t head, first; // query
    uint32_t tiles;       // of keys that any query of the block sees
};

template <int KEYS>
__device__ __forceinline__ struct prefill_block prefill_block_of(const attention_prefill_args &a)
{
    const uint32_t rows = ATTENTION_PREFILL_ROWS, blocks = (a.queries + rows - 1) / rows;
    const uint32_t group = blockIdx.x / (blocks * a.together) * a.together;
    const uint32_t in_group = blockIdx.x % (blocks * a.together),
                   heads = min(a.together, a.heads - group);
    const uint32_t first = (blocks - 1 - in_group / heads) * rows;
    const int32_t last = (int32_t)min(first + rows, a.queries) - 1;
    const int32_t most = max(0, min((int32_t)a.keys, last + a.causal_end));
    return {group + in_group % heads, first, ((uint32_t)most + KEYS - 1) / KEYS};
}

// Running softmax of rows lane/4 and lane/4 + 8 of sixteen. A tile's scores are n blocks of 8 keys;
// of each a lane has keys 2 (lane % 4) and the one behind, of the upper row, then of the lower.
struct sixteen_rows {
    float top[2], sum[2];     // so far; the sum is this lane's part
    float shift[2], scale[2]; // of this tile: what exponents lose; what sum and O are scaled by

    __device__ __forceinline__ void begin()
    {
        top[0] = top[1] = -INFINITY;
        sum[0] = sum[1] = 0;
    }

    // Masks what row `row` and the one 8 below do not see of a tile that starts at `key`.
    template <int N>
    static __device__ __forceinline__ void hide(float (&s)[N][4], const attention_prefill_args &a,
                                                uint32_t row, uint32_t key)
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int32_t sees =
                min((int32_t)a.keys, (int32_t)(row + 8 * h + threadIdx.x % 32 / 4) + a.causal_end);
            const int32_t left = sees - (int32_t)(key + threadIdx.x % 4 * 2);
#pragma unroll
            for (int j = 0; j < N; j++) {
                s[j][2 * h] = 8 * j < left ? s[j][2 * h] : -INFINITY;
                s[j][2 * h + 1] = 8 * j + 1 < left ? s[j][2 * h + 1] : -INFINITY;
            }
        }
    }

    // Takes a tile's maxima in; c = scale_log2. True when one is greater than all before. The
    // shift of a tile is rounded, and the scale is that between two rounded shifts: the
    // exponentials of all tiles are then relative to the same number. No key yet: the shift is 0,
    // for what is -inf less -inf is not a number.
    template <int N> __device__ __forceinline__ bool raise(const float (&s)[N][4], float c)
    {
        bool is_greater = false;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float x = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
            for (int j = 1; j < N; j++)
                x = fmaxf(x, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
            x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
            x = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
            x = fmaxf(x, top[h]);
            is_greater |= x != top[h];
            shift[h] = x == -INFINITY ? 0 : x * c;
            scale[h] = exp2_fast(top[h] * c - shift[h]);
            top[h] = x;
            sum[h] *= scale[h];
        }
        return is_greater;
    }

    // Like raise(), but a maximum is kept while exponentials stay below 2^SLACK: then nothing is
    // scaled. `top` is what the shift was taken from.
    template <int N> __device__ __forceinline__ bool raise_rarely(const float (&s)[N][4], float c)
    {
        enum { SLACK = 6 };
        bool is_greater = false;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float x = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
            for (int j = 1; j < N; j++)
                x = fmaxf(x, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
            x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
            x = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
            const bool is_much = x * c > top[h] * c + SLACK;
            const float before = top[h] * c;
            is_greater |= is_much;
            top[h] = is_much ? x : top[h];
            shift[h] = top[h] == -INFINITY ? 0 : top[h] * c;
            scale[h] = is_much ? exp2_fast(before - shift[h]) : 1;
        }
        is_greater = __any_sync(~0u, is_greater);
        if (is_greater)
            sum[0] *= scale[0], sum[1] *= scale[1];
        return is_greater;
    }

    // Scores of 8 keys become exponentials.
    __device__ __forceinline__ void exponentials(float (&s)[4], float c)
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            s[2 * h] = exp2_fast(fmaf(s[2 * h], c, -shift[h]));
            s[2 * h + 1] = exp2_fast(fmaf(s[2 * h + 1], c, -shift[h]));
            sum[h] += s[2 * h] + s[2 * h + 1];
        }
    }

    template <int N> __device__ __forceinline__ void rescale(float (&o)[N][4]) const
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            o[j][0] *= scale[0], o[j][1] *= scale[0];
            o[j][2] *= scale[1], o[j][3] *= scale[1];
        }
    }

    // One over the whole sum of a row; 0 where no key was seen.
    __device__ __forceinline__ float inverse(int h) const
    {
        float x = sum[h];
        x += __shfl_xor_sync(~0u, x, 1);
        x += __shfl_xor_sync(~0u, x, 2);
        return x > 0 ? __fdividef(1, x) : 0;
    }
};

// Byte offset of a chunk in a tile of rows of CHUNKS chunks.
template <int CHUNKS>
__device__ __forceinline__ uint32_t prefill_swizzled(uint32_t row, uint32_t chunk)
{
    return (row * CHUNKS + (chunk ^ row % 8)) * 16;
}

// Sixteen rows of O leave through shared memory that is this warp's alone, in whole rows.
template <typename TYPE, int N>
__device__ __forceinline__ void prefill_store(const float (&o)[N][4], const sixteen_rows &rows,
                                              unsigned char *stage, const attention_prefill_args &a,
                                              uint32_t head, uint32_t first)
{
    const uint32_t lane = threadIdx.x % 32;
    uint4 *out = (uint4 *)a.out + ((size_t)head * a.queries + first) * N;

#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float by = rows.inverse(h);
#pragma unroll
        for (int j = 0; j < N; j++)
            *(uint32_t *)(stage + prefill_swizzled<N>(8 * h + lane / 4, j) + lane % 4 * 4) =
                TYPE::narrow(make_float2(o[j][2 * h] * by, o[j][2 * h + 1] * by));
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * N; i += 32)
        if (first + i / N < a.queries)
            out[i] = *(const uint4 *)(stage + prefill_swizzled<N>(i / N, i % N));
}

// --- by mma.sync
// -----------------------------------------------------------------------------------

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800

extern __shared__ __align__(1024) unsigned char prefill_shared[];

__device__ __forceinline__ void prefill_ldmatrix(uint32_t (&d)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void prefill_ldmatrix_turned(uint32_t (&d)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address)
                 : "memory");
}

// d (16x8, fp32) += a (16x16) x b (16x8).
#define PREFILL_MMA(type, word)                                                                    \
    __device__ __forceinline__ void prefill_mma(type, float(&d)[4], const uint32_t(&a)[4],         \
                                                uint32_t b0, uint32_t b1)                          \
    {                                                                                              \
        asm("mma.sync.aligned.m16n8k16.row.col.f32." word "." word ".f32 "                         \
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                      \
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                       \
    }
PREFILL_MMA(bf16, "bf16")
PREFILL_MMA(fp16, "f16")

// Copies 16 bytes, or zeros where there is nothing to copy.
__device__ __forceinline__ void prefill_copy_16(uint32_t to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
}

template <typename TYPE, int DEPTH> struct attention_prefill {
    static constexpr int keys = ATTENTION_PREFILL_KEYS, rows = ATTENTION_PREFILL_ROWS;
    static constexpr int chunks = DEPTH / 8, line = DEPTH * 2; // of a row; its bytes
    static constexpr int tile = keys * line;                   // bytes
    static constexpr int k_at = rows * line, v_at = k_at + 2 * tile;
    static constexpr int pass = ATTENTION_PREFILL_THREADS / chunks; // rows that one copy each takes

    float o[2][chunks][4],
        s[2][keys / 8][4]; // of 2 x 16 queries: blocks of 8 dimensions, of 8 keys
    sixteen_rows of[2];
    uint32_t q_lane, k_lane, v_lane; // this lane's addresses for ldmatrix in the first tile
    uint32_t to;                     // where its copies go in a tile
    uint32_t from;                   // and come from, in bytes from the first key of the head
    size_t of_head;                  // and that from K
    int32_t left;                    // keys from this lane's first one of the tile on

    __device__ __forceinline__ void begin(const attention_prefill_args &a, const prefill_block &b)
    {
        const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / chunks;
        const uint32_t chunk = threadIdx.x % chunks, base = shared_address(prefill_shared);

        q_lane = base + prefill_swizzled<chunks>(threadIdx.x / 32 * 32 + lane % 16, lane / 16);
        k_lane = base + k_at + prefill_swizzled<chunks>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
        v_lane = base + v_at + prefill_swizzled<chunks>(lane % 16, lane / 16);
        to = base + prefill_swizzled<chunks>(row, chunk);
        of_head = (size_t)(b.head / a.share) * a.keys * line;
        from = row * line + chunk * 16;
        left = (int32_t)(min(a.keys, b.tiles * keys) - row);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            of[i].begin();
#pragma unroll
            for (int j = 0; j < chunks; j++)
                o[i][j][0] = o[i][j][1] = o[i][j][2] = o[i][j][3] = 0;
        }
    }

    template <int ROWS>
    static __device__ __forceinline__ void fetch(uint32_t into, const unsigned char *from,
                                                 int32_t n)
    {
#pragma unroll
        for (int i = 0; i < ROWS / pass; i++)
            prefill_copy_16(into + i * pass * line, from + i * pass * line, i * pass < n);
    }

    __device__ __forceinline__ void fetch_queries(const attention_prefill_args &a,
                                                  const prefill_block &b)
    {
        const uint32_t row = threadIdx.x / chunks;
        const size_t at = ((size_t)b.head * a.queries + b.first + row) * line;
        fetch<rows>(to, (const unsigned char *)a.q + at + threadIdx.x % chunks * 16,
                    (int32_t)(a.queries - b.first - row));
    }

    __device__ __forceinline__ void fetch_keys(const attention_prefill_args &a, uint32_t slot)
    {
        fetch<keys>(to + k_at + slot * tile, (const unsigned char *)a.k + of_head + from, left);
        fetch<keys>(to + v_at + slot * tile, (const unsigned char *)a.v + of_head + from, left);
        cp_async_commit();
        from += tile;
        left -= keys;
    }

    __device__ __forceinline__ void scores(uint32_t slot)
    {
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < keys / 8; j++)
                s[i][j][0] = s[i][j][1] = s[i][j][2] = s[i][j][3] = 0;
#pragma unroll
        for (int step = 0; step < DEPTH / 16; step++) {
            uint32_t q[2][4], b[4];
            prefill_ldmatrix(q[0], q_lane ^ step * 32);
            prefill_ldmatrix(q[1], (q_lane ^ step * 32) + 16 * line);
#pragma unroll
            for (int j = 0; j < keys / 16; j++) {
                prefill_ldmatrix(b, (k_lane ^ step * 32) + slot * tile + j * 16 * line);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    prefill_mma(TYPE(), s[i][2 * j], q[i], b[0], b[1]);
                    prefill_mma(TYPE(), s[i][2 * j + 1], q[i], b[2], b[3]);
                }
            }
        }
    }

    // Sixteen keys at a time: while their values are multiplied, the next ones' exponentials can be
    // taken, in this warp or in the other that its scheduler has.
    __device__ __forceinline__ void weigh(const attention_prefill_args &a, uint32_t slot)
    {
#pragma unroll
        for (int j = 0; j < keys / 16; j++) {
            uint32_t p[2][4], b[4];
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    float(&x)[4] = s[i][2 * j + k];
                    of[i].exponentials(x, a.scale_log2);
                    p[i][2 * k] = TYPE::narrow(make_float2(x[0], x[1]));
                    p[i][2 * k + 1] = TYPE::narrow(make_float2(x[2], x[3]));
                }
#pragma unroll
            for (int d = 0; d < DEPTH / 16; d++) {
                prefill_ldmatrix_turned(b, (v_lane ^ d * 32) + slot * tile + j * 16 * line);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    prefill_mma(TYPE(), o[i][2 * d], p[i], b[0], b[1]);
                    prefill_mma(TYPE(), o[i][2 * d + 1], p[i], b[2], b[3]);
                }
            }
        }
    }

    static __device__ __forceinline__ void run(const attention_prefill_args &a)
    {
        attention_prefill t;
        const prefill_block b = prefill_block_of<keys>(a);
        const uint32_t mine = b.first + threadIdx.x / 32 * 32; // this warp's first query
        const int32_t all_see = min((int32_t)a.keys, (int32_t)mine + a.causal_end);

        t.begin(a, b);
        t.fetch_queries(a, b);
        t.fetch_keys(a, 0);
#pragma unroll 1
        for (uint32_t at = 0; at < b.tiles; at++) {
            // What is one xor away from these is not worth a register over the whole loop.
            asm volatile("" : "+r"(t.q_lane), "+r"(t.k_lane), "+r"(t.v_lane));
            cp_async_wait<0>();
            __syncthreads();
            t.fetch_keys(a, (at + 1) % 2); // behind the last tile, only zeros
            t.scores(at % 2);
            if ((int32_t)(at * keys + keys) > all_see) {
                sixteen_rows::hide(t.s[0], a, mine, at * keys);
                sixteen_rows::hide(t.s[1], a, mine + 16, at * keys);
            }
            bool is_greater = t.of[0].raise(t.s[0], a.scale_log2);
            is_greater |= t.of[1].raise(t.s[1], a.scale_log2);
            if (__any_sync(~0u, is_greater)) {
                t.of[0].rescale(t.o[0]);
                t.of[1].rescale(t.o[1]);
            }
            t.weigh(a, at % 2);
        }
        cp_async_wait<0>();
        __syncthreads();
        unsigned char *stage = prefill_shared + threadIdx.x / 32 * 32 * line;
        prefill_store<TYPE>(t.o[0], t.of[0], stage, a, b.head, mine);
        prefill_store<TYPE>(t.o[1], t.of[1], stage + 16 * line, a, b.head, mine + 16);
    }
};

#endif
#endif
