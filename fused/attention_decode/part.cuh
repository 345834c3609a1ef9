// How blocks hand over their parts of one KV head: by a ticket, or by parts that are their own
// flags.
#ifndef FUSED_ATTENTION_DECODE_PART_CUH
#define FUSED_ATTENTION_DECODE_PART_CUH

#include "core/device/clock.cuh"
#include "core/device/order.cuh"

// Draws a ticket: 0 to last, then 0 again. A block that draws later sees what this block wrote
// before.
__device__ __forceinline__ uint32_t draw_ticket(uint32_t *ticket, uint32_t last)
{
    uint32_t drawn;
    asm volatile("atom.inc.acq_rel.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(drawn)
                 : "l"(ticket), "r"(last)
                 : "memory");
    return drawn;
}

// One block's part of two neighbouring outputs. It goes to the L2 and back as two 64-bit words.
// Each word arrives whole or not at all (PTX promises that of no larger unit), so no flag and no
// fence are needed to know that it is there. A missing word has all bits set. No number has that
// pattern, nor has the NaN that arithmetic makes.
struct attention_part {
    float2 o; // sums before division
    float m, l;

    __device__ __forceinline__ uint32_t greater() const // the greater of both words' flags
    {
        return max(__float_as_uint(o.x), __float_as_uint(m));
    }
    __device__ __forceinline__ bool is_there() const
    {
        return greater() != ~0u;
    }

    static __device__ __forceinline__ void store(void *to, uint64_t sums, uint64_t weight)
    {
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(sums),
                     "l"(weight)
                     : "memory");
    }
    __device__ __forceinline__ void send(void *to) const
    {
        store(to, (uint64_t)__float_as_uint(o.y) << 32 | __float_as_uint(o.x),
              (uint64_t)__float_as_uint(l) << 32 | __float_as_uint(m));
    }
    static __device__ __forceinline__ void take_away(void *from)
    {
        store(from, ~0ull, ~0ull);
    }
    __device__ __forceinline__ void look(const void *from)
    {
        uint64_t sums, weight;
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(sums), "=l"(weight)
                     : "l"(from)
                     : "memory");
        o = make_float2(__uint_as_float((uint32_t)sums), __uint_as_float((uint32_t)(sums >> 32)));
        m = __uint_as_float((uint32_t)weight);
        l = __uint_as_float((uint32_t)(weight >> 32));
    }
};

// The greatest of FIRST and the N - 1 that follow, by halves: a chain of comparisons would have N
// latencies.
template <int FIRST, int N, int ALL>
__device__ __forceinline__ uint32_t greatest(const attention_part (&x)[ALL])
{
    if constexpr (N == 1)
        return x[FIRST].greater();
    else
        return max(greatest<FIRST, N / 2>(x), greatest<FIRST + N / 2, N - N / 2>(x));
}

// Has this thread or another spent the budget for a wait? `began_ns` is 0 at first.
__device__ __forceinline__ bool waits_in_vain(uint64_t &began_ns, uint32_t *aborted)
{
    if (began_ns == 0)
        began_ns = clock_ns();
    if (clock_ns() - began_ns <= ATTENTION_BUDGET_NS && !load_relaxed(aborted))
        return false;
    store_relaxed(aborted, 1);
    return true;
}

// Waits for the parts of `there` blocks, `apart` from each other. Blocks that do not exist have no
// weight. A part that has not arrived when the budget is spent is NaN, and so is the result.
template <int N>
__device__ __forceinline__ void receive(attention_part (&x)[N], const attention_part *from,
                                        uint32_t apart, int32_t there, uint32_t *aborted)
{
    uint64_t began_ns = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        x[i] = {{0, 0}, -1e38f, 0};
        if (i < there)
            x[i].look(from + i * apart);
    }
    for (uint32_t polls = 1; greatest<0, N>(x) == ~0u; polls++) {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (!x[i].is_there())
                x[i].look(from + i * apart);
        if (polls % 64 == 0 && waits_in_vain(began_ns, aborted))
            return;
    }
}

#endif
