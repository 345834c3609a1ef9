// Rotary position embedding (Su et al. 2021) in the half-split form of Llama: dimensions i and i +
// d/2 of a head are rotated together by the angle position x base^(-2i/d). The cosines and sines of
// one position come from a table of d/2 pairs; computing them in a kernel costs more than loading
// them.
//
// rope_append() is three operators in one skeleton: rotate q and k; append k and v to the cache,
// cast to its numbers; or both at once. A thread has eight numbers and the eight that are d/2
// further on.
#ifndef FUSED_ATTENTION_DECODE_ROPE_CUH
#define FUSED_ATTENTION_DECODE_ROPE_CUH

#include "core/device/load.cuh"
#include "fused/attention_decode/kv_cache.cuh"
#include "fused/attention_decode/rope.h"

// low and high are dimensions i and i + d/2; turn is (cos, sin).
__device__ __forceinline__ float2 rope(float low, float high, float2 turn)
{
    return make_float2(low * turn.x - high * turn.y, high * turn.x + low * turn.y);
}

// Rotated numbers are rounded to bf16 wherever they go: to memory, the cache or the attention.
__device__ __forceinline__ float2 rope_rounded(float low, float high, float2 turn)
{
    const float2 y = rope(low, high, turn);
    return make_float2(bf16::one(bf16::one(y.x)), bf16::one(bf16::one(y.y)));
}

template <typename CACHE, int D, bool TURN, bool APPEND>
__device__ __forceinline__ void rope_append(const rope_args &a)
{
    const uint32_t of_row = D / ROPE_EACH, kv_heads = a.cache.kv_heads;
    const uint32_t rows = (TURN ? a.heads : 0) + kv_heads + (APPEND ? kv_heads : 0);
    const uint32_t at = blockIdx.x * ROPE_THREADS + threadIdx.x, i = at % of_row * 8;
    const uint32_t row = at / of_row % rows, sequence = at / of_row / rows;
    const uint32_t head = row - (TURN ? a.heads : 0); // first the heads of keys, then of values
    const bool is_q = TURN && row < a.heads, is_v = !is_q && head >= kv_heads;
    if (sequence >= a.batch)
        return;

    const uint64_t from = is_q   ? (uint64_t)sequence * a.heads + row
                          : is_v ? (uint64_t)sequence * kv_heads + head - kv_heads
                                 : (uint64_t)sequence * kv_heads + head;
    const __nv_bfloat16 *in = (const __nv_bfloat16 *)(is_q ? a.q : is_v ? a.v : a.k) + from * D + i;
    const uint4 low_bits = load_once(in), high_bits = load_once(in + D / 2);
    float low[8], high[8];
    widen<bf16>(low_bits, low);
    widen<bf16>(high_bits, high);
    if (TURN && !is_v) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 y = rope_rounded(low[j], high[j], __ldg((const float2 *)a.turn + i + j));
            low[j] = y.x;
            high[j] = y.y;
        }
    }
    if (is_q || !APPEND) {
        __nv_bfloat16 *to = (__nv_bfloat16 *)(is_q ? a.q_to : a.k_to) + from * D + i;
        *(uint4 *)to = narrow<bf16>(low);
        *(uint4 *)(to + D / 2) = narrow<bf16>(high);
        return;
    }
    const uint32_t kv = is_v ? head - kv_heads : head;
    const float inverse = kv_inverse(is_v ? a.cache.v_scale : a.cache.k_scale, kv);
    char *to = (char *)(is_v ? a.cache.v : a.cache.k) + kv_row(a.cache, sequence, kv, a.key) +
               i * CACHE::BYTES;
    kv_store<CACHE>(to, low, inverse);
    kv_store<CACHE>(to + D / 2 * CACHE::BYTES, high, inverse);
}

#endif
