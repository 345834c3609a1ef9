// One warp's share of decode attention: tiles of 16 keys, with the products on the tensor cores.
// Without tensor cores, conversions and additions would take as long as the bytes.
//
// Nothing passes through shared memory. A lane loads 16 bytes at a time, and these are what the
// matrix instruction wants of the lane, once dimensions and keys are renamed. With lane = 4 g + t
// and m16n8k16,
//     S = Q K^T       A = Q: row g is head g (rows 8 to 15 are zero); B = K: column g is key g. The
//                     lane's dimensions in one instruction are four neighbours, the same in both.
//     O^T = V^T P^T   A = V: rows are dimensions, columns are keys 2t, 2t+1, 2t+8, 2t+9. Byte
//                     permutes interleave two rows of V into pairs of keys. B = P, as S left it.
#ifndef FUSED_ATTENTION_DECODE_WARP_CUH
#define FUSED_ATTENTION_DECODE_WARP_CUH

#include "core/device/load.cuh"
#include "fused/attention_decode/decode.h"
#include "fused/attention_decode/kv_cache.cuh"
#include "fused/attention_decode/rope.cuh"
#include "fused/common/exponential.cuh"

// --- matrix instructions -------------------------------------------------------------------------

template <typename T>
__device__ __forceinline__ void mma_16816(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                          uint32_t a3, uint32_t b0, uint32_t b1);
template <>
__device__ __forceinline__ void mma_16816<bf16>(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void mma_16816<fp16>(float (&c)[4], uint32_t a0, uint32_t a1,
                                                uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// --- one warp's share ----------------------------------------------------------------------------

template <typename CACHE, int D> struct attention_warp {
    enum {
        K_LOADS = D * CACHE::BYTES / 64,  // 16-byte loads per lane and key: four lanes share a row
        V_LOADS = D * CACHE::BYTES / 128, // likewise: eight lanes share a row
        TILES = 256 / (D * CACHE::BYTES), // tiles of 16 keys in a turn: 8 loads of each kind a lane
        KEYS = TILES * ATTENTION_TILE,
        OUT = D / 16, // instructions for all dimensions of O
        SLACK = 6,    // a maximum is kept while probabilities stay below 2^6
    };
    typedef typename CACHE::mma T;

    uint32_t q[D / 16][2]; // of head g
    uint4 k[8], v[8];
    float s[2 * TILES][4]; // scores of head g: keys 8 n + 2 t and the next; [2], [3] unused
    float o[OUT][4];       // dimensions low, low, high, high; heads 2t, 2t + 1, 2t, 2t + 1
    float m, l;            // of head g; l is the sum over this lane's keys only

    __device__ __forceinline__ void start()
    {
        m = -INFINITY;
        l = 0;
#pragma unroll
        for (int i = 0; i < OUT; i++)
            o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0;
    }

    // Loads a turn, of which `keys` are left, at least one, from its tiles' offsets and this lane's
    // place in a tile; zeros after the last key.
    __device__ __forceinline__ void load_k(const char *lane, const uint64_t (&at)[TILES],
                                           uint32_t row_stride, int32_t keys)
    {
        if (keys >= KEYS)
            load_k_of<true>(lane, at, row_stride, keys);
        else
            load_k_of<false>(lane, at, row_stride, keys);
    }
    __device__ __forceinline__ void load_v(const char *lane, const uint64_t (&at)[TILES],
                                           uint32_t row_stride, int32_t keys)
    {
        if (keys >= KEYS)
            load_v_of<true>(lane, at, row_stride, keys);
        else
            load_v_of<false>(lane, at, row_stride, keys);
    }

    template <bool WHOLE>
    __device__ __forceinline__ void load_k_of(const char *lane, const uint64_t (&at)[TILES],
                                              uint32_t row_stride, int32_t keys)
    {
        const int32_t g = threadIdx.x % 32 / 4;
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++)
#pragma unroll
            for (int c = 0; c < K_LOADS; c++)
                k[i * K_LOADS + c] =
                    WHOLE || g + 8 * i < keys
                        ? load_once(lane + at[i / 2] + i % 2 * 8 * row_stride + 64 * c)
                        : make_uint4(0, 0, 0, 0);
    }
    template <bool WHOLE>
    __device__ __forceinline__ void load_v_of(const char *lane, const uint64_t (&at)[TILES],
                                              uint32_t row_stride, int32_t keys)
    {
        const int32_t t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 4 * TILES; i++)
#pragma unroll
            for (int c = 0; c < V_LOADS; c++) {
                const uint32_t row = i % 2 + i % 4 / 2 * 8;
                v[i * V_LOADS + c] = WHOLE || 16 * (i / 4) + 2 * t + (int32_t)row < keys
                                         ? load_once(lane + at[i / 4] + row * row_stride + 128 * c)
                                         : make_uint4(0, 0, 0, 0);
            }
    }

    __device__ __forceinline__ void score()
    {
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++) {
            float other[4] = {}; // two chains are half as long as one
            s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
#pragma unroll
            for (int c = 0; c < K_LOADS; c++) {
                const uint4 &row = k[n * K_LOADS + c];
                const uint32_t word[4] = {row.x, row.y, row.z, row.w};
                uint32_t pair[4 * CACHE::PAIRS];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    CACHE::key_pairs(word[i],
                                     *(uint32_t(*)[CACHE::PAIRS]) & pair[i * CACHE::PAIRS]);
#pragma unroll
                for (int i = 0; i < 2 * CACHE::PAIRS; i++) {
                    const uint32_t(&own)[2] = q[c * 2 * CACHE::PAIRS + i];
                    mma_16816<T>(i % 2 ? other : s[n], own[0], 0, own[1], 0, pair[2 * i],
                                 pair[2 * i + 1]);
                }
            }
            s[n][0] += other[0];
            s[n][1] += other[1];
        }
    }

    // Scores of keys from `keys` on are masked; the others become probabilities relative to m.
    template <bool STABLE> __device__ __forceinline__ void weigh(float scale, uint32_t keys)
    {
        const uint32_t t = threadIdx.x % 4;
        float most = -INFINITY;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                if (keys < KEYS && 8 * n + 2 * t + i >= keys)
                    s[n][i] = -INFINITY;
                most = fmaxf(most, s[n][i]);
            }
        if (STABLE) {
            if (__any_sync(~0u, most * scale > m + SLACK))
                rescale(most * scale);
        } else {
            m = 0;
        }
        const float from = m == -INFINITY ? 0 : m;
#pragma unroll
        for (int n = 0; n < 2 * TILES; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                s[n][i] = exp2_fast(fmaf(s[n][i], scale, -from));
                l += s[n][i];
            }
    }

    // There is a new maximum: scales down the sums and outputs so far.
    __device__ __forceinline__ void rescale(float most)
    {
        const uint32_t t = threadIdx.x % 4;
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        const float to = fmaxf(m, fmaxf(most, __shfl_xor_sync(~0u, most, 2)));
        const float by = m == to ? 1 : exp2_fast(m - to);
        const float even = __shfl_sync(~0u, by, 8 * t), odd = __shfl_sync(~0u, by, 8 * t + 4);
        l *= by;
        m = to;
#pragma unroll
        for (int i = 0; i < OUT; i++) {
            o[i][0] *= even;
            o[i][1] *= odd;
            o[i][2] *= even;
            o[i][3] *= odd;
        }
    }

    __device__ __forceinline__ void accumulate()
    {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const uint32_t p0 = T::narrow(make_float2(s[2 * tile][0], s[2 * tile][1]));
            const uint32_t p1 = T::narrow(make_float2(s[2 * tile + 1][0], s[2 * tile + 1][1]));
            uint32_t pair[2][2 * OUT]; // [keys 2t, 2t + 1 or 2t + 8, 2t + 9][dimension of the lane]
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int c = 0; c < V_LOADS; c++) {
                    const uint4 &x = v[(4 * tile + 2 * i) * V_LOADS + c];
                    const uint4 &y = v[(4 * tile + 2 * i + 1) * V_LOADS + c];
                    const uint32_t a[4] = {x.x, x.y, x.z, x.w}, b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
                    for (int w = 0; w < 4; w++)
                        CACHE::value_pairs(a[w], b[w],
                                           *(uint32_t(*)[2 * CACHE::PAIRS]) &
                                               pair[i][(4 * c + w) * 2 * CACHE::PAIRS]);
                }
#pragma unroll
            for (int i = 0; i < OUT; i++)
                mma_16816<T>(o[i], pair[0][i], pair[0][OUT + i], pair[1][i], pair[1][OUT + i], p0,
                             p1);
        }
    }

    // The dimension of this lane's pair `i`; i < OUT is in the low half, the rest in the high half.
    static __device__ __forceinline__ uint32_t dimension(uint32_t i)
    {
        const uint32_t g = threadIdx.x % 32 / 4, together = 16 / CACHE::BYTES;
        return i / together * 8 * together + g * together + i % together;
    }

    // Eight neighbouring elements of a row of queries or keys, as this lane has them in successive
    // instructions. There are PIECES such groups; those in the second half of them are rotated with
    // those in the first half.
    enum { PIECES = D / 32 };
    static __device__ __forceinline__ uint32_t piece(uint32_t p)
    {
        const uint32_t t = threadIdx.x % 4;
        return CACHE::BYTES == 2 ? 32 * p + 8 * t : 64 * (p / 2) + 16 * t + 8 * (p % 2);
    }
    static __device__ __forceinline__ void load_turned(uint4 (&x)[PIECES], const void *row,
                                                       const void *turn)
    {
#pragma unroll
        for (int p = 0; p < PIECES; p++)
            x[p] = __ldg((const uint4 *)((const __nv_bfloat16 *)row + piece(p)));
        if (!turn)
            return;
#pragma unroll
        for (int p = 0; p < PIECES / 2; p++) {
            float low[8], high[8];
            widen<bf16>(x[p], low);
            widen<bf16>(x[p + PIECES / 2], high);
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                const float4 both = __ldg((const float4 *)((const float2 *)turn + piece(p) + j));
                const float2 y = rope(low[j], high[j], make_float2(both.x, both.y));
                const float2 z = rope(low[j + 1], high[j + 1], make_float2(both.z, both.w));
                low[j] = y.x, high[j] = y.y;
                low[j + 1] = z.x, high[j + 1] = z.y;
            }
            x[p] = narrow<bf16>(low);
            x[p + PIECES / 2] = narrow<bf16>(high);
        }
    }

    // Loads the query heads of the group; zeros for the rest of eight.
    __device__ __forceinline__ void take_queries(const void *heads, uint32_t group,
                                                 const void *turn)
    {
        const uint32_t g = threadIdx.x % 32 / 4;
        uint4 x[PIECES] = {};
        if (g < group)
            load_turned(x, (const __nv_bfloat16 *)heads + g * D, turn);
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            const uint32_t word[4] = {x[p].x, x[p].y, x[p].z, x[p].w};
#pragma unroll
            for (int i = 0; i < 4; i++)
                q[2 * p + i / 2][i % 2] = CACHE::from_bf16(word[i]);
        }
    }

    // Stores the new row, in the cache's numbers, in its place there and in shared memory.
    __device__ __forceinline__ void stage_new_row(const attention_decode_args &a, uint64_t pair,
                                                  uint4 *k_new, uint4 *v_new)
    {
        enum { EACH = 16 / CACHE::BYTES, OF_LANE = V_LOADS * EACH / 8 };
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const uint64_t at = kv_row(a.cache, blockIdx.z, blockIdx.y, a.keys - 1);
        if (g == 0) {
            const float inverse = kv_inverse(a.cache.k_scale, blockIdx.y);
            uint4 x[PIECES];
            load_turned(x, (const __nv_bfloat16 *)a.k_new + pair * D, a.turn);
#pragma unroll
            for (int c = 0; c < K_LOADS; c++) {
                k_new[4 * c + t] = CACHE::pack(x, c, inverse);
                *((uint4 *)((char *)a.cache.k + at) + 4 * c + t) = k_new[4 * c + t];
            }
        }
        if (t == 0) {
            const float inverse = kv_inverse(a.cache.v_scale, blockIdx.y);
            const __nv_bfloat16 *row = (const __nv_bfloat16 *)a.v_new + pair * D;
            uint4 x[OF_LANE];
#pragma unroll
            for (int p = 0; p < OF_LANE; p++)
                x[p] = __ldg((const uint4 *)(row + dimension(8 * p)));
#pragma unroll
            for (int c = 0; c < V_LOADS; c++) {
                v_new[8 * c + g] = CACHE::pack(x, c, inverse);
                *((uint4 *)((char *)a.cache.v + at) + 8 * c + g) = v_new[8 * c + g];
            }
        }
        __syncwarp();
    }

    // Puts the new row in the place of key `row` of this turn.
    __device__ __forceinline__ void put_new_k(const uint4 *k_new, uint32_t row)
    {
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (g + i / K_LOADS * 8 == row)
                k[i] = k_new[i % K_LOADS * 4 + t];
    }
    __device__ __forceinline__ void put_new_v(const uint4 *v_new, uint32_t row)
    {
        const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t key = i / V_LOADS;
            if (16 * (key / 4) + 2 * t + key % 2 + key % 4 / 2 * 8 == row)
                v[i] = v_new[i % V_LOADS * 8 + g];
        }
    }
};

#endif
