// A row of logits and the team that works on it, for sampling.cuh. The team is one block, which
// reads the row again for each pass, or a cluster of up to 16 blocks (compute capability 9.0 and
// up), which holds the row in shared memory.
//
// The blocks of a cluster send messages into each other's shared memory, and the receiver waits
// until the expected number of bytes has arrived. A cluster barrier that orders memory would cost a
// fence of the whole GPU and an invalidation of the L1 each time.
#ifndef FUSED_SAMPLING_ROW_CUH
#define FUSED_SAMPLING_ROW_CUH

#include <math.h>

#include "core/device/load.cuh"
#include "fused/common/reduce.cuh"
#include "fused/sampling/args.h"
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
#include "core/device/async.cuh"
#include "core/device/clock.cuh"
#include "core/device/cluster.cuh"
#endif

namespace sampling {

// What a block waits for: numbers from all blocks, in two alternating mails; the candidates of the
// row; the sorted candidates (the first block only); the answer; in once.cuh the highest candidates
// of all blocks (the first block only), and whether they are enough (the others).
enum sampling_mail { TOLD, TOLD_NEXT, LISTED, SORTED, ANSWERED, SENT, JUDGED, N_MAILS };

struct sampling_room { // shared memory of a block
    uint64_t found[SAMPLING_SORTED];  // candidates of this block
    uint64_t list[SAMPLING_SORTED];   // of the whole row
    uint64_t sorted[SAMPLING_SORTED]; // first block of the row only
    uint64_t told[2][2][SAMPLING_CLUSTER]; // numbers from all blocks of the row, alternating
    uint64_t sums[32];
    alignas(16) uint32_t scratch[32];
    alignas(16) uint32_t told_once[SAMPLING_CLUSTER], marks[SAMPLING_CLUSTER]; // once.cuh
    uint64_t answer[2], judgement;
    uint64_t mail[N_MAILS]; // one mbarrier each
    uint32_t n_found, n_listed;
};

// --- numbers -----------------------------------------------------------------------------------

// The bits of a float, mapped so that they order as unsigned. No float gives 0.
__device__ __forceinline__ uint32_t key_of(float x)
{
    const uint32_t bits = __float_as_uint(x);
    return bits ^ (bits >> 31 ? ~0u : 0x80000000u);
}

__device__ __forceinline__ float logit_of(uint32_t key)
{
    return __uint_as_float(key ^ (key >> 31 ? 0x80000000u : ~0u));
}

__device__ __forceinline__ uint64_t candidate_of(uint32_t key, uint32_t id)
{
    return (uint64_t)key << 32 | ~id;
}

// Its last step adds 0, which turns -0 into 0.
__device__ __forceinline__ float penalised(float x, bool seen, const sampling_rule &rule)
{
    return seen ? x * (x > 0 ? rule.inverse_penalty : rule.penalty) : x;
}
__device__ __forceinline__ float tempered(float x, const sampling_rule &rule)
{
    x = fmaf(x, rule.inverse_temperature, 0.0f);
    return x > 3.402823466e38f ? 3.402823466e38f : x;
}

// exp(x - highest) with 42 fractional bits.
__device__ __forceinline__ uint64_t mass_of(uint64_t candidate, float highest)
{
    const float x = logit_of((uint32_t)(candidate >> 32));
    return x > -INFINITY ? (uint64_t)(expf(x - highest) * 0x1p42f) : 0;
}

// whole x fraction / 2^32, rounded down.
__device__ __forceinline__ uint64_t part_of(uint64_t whole, uint32_t fraction)
{
    return (whole >> 32) * fraction + ((whole & 0xffffffffu) * fraction >> 32);
}

// --- what threads of a block do together ---------------------------------------------------------

enum { WARPS = SAMPLING_THREADS / 32 };

// Reduces one number per lane over a warp: sum, maximum or minimum. For 32 bits this is one
// instruction from compute capability 8.0 on.
struct least {
    static __device__ __forceinline__ uint32_t of(uint32_t a, uint32_t b) { return min(a, b); }
};
struct most {
    static __device__ __forceinline__ uint32_t of(uint32_t a, uint32_t b) { return max(a, b); }
};
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint32_t warp_all_32(uint32_t x, adding)
{
    return __reduce_add_sync(~0u, x);
}
__device__ __forceinline__ uint32_t warp_all_32(uint32_t x, least)
{
    return __reduce_min_sync(~0u, x);
}
__device__ __forceinline__ uint32_t warp_all_32(uint32_t x, most)
{
    return __reduce_max_sync(~0u, x);
}
#else
template <typename HOW> __device__ __forceinline__ uint32_t warp_all_32(uint32_t x, HOW)
{
    return warp_reduce<HOW>(x);
}
#endif
template <typename HOW> __device__ __forceinline__ uint32_t warp_all(uint32_t x)
{
    return warp_all_32(x, HOW());
}
template <typename HOW> __device__ __forceinline__ uint64_t warp_all(uint64_t x)
{
    return warp_reduce<HOW>(x);
}

// Inclusive sums over the lanes of a warp.
__device__ __forceinline__ uint64_t warp_sums(uint64_t x)
{
#pragma unroll
    for (uint32_t by = 1; by < 32; by *= 2) {
        const uint64_t before = __shfl_up_sync(~0u, x, by);
        x += threadIdx.x % 32 >= by ? before : 0;
    }
    return x;
}

// The sum over the threads of a block.
template <typename N> __device__ __forceinline__ N block_sum(N x, sampling_room &room)
{
    x = warp_all<adding>(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        room.sums[threadIdx.x / 32] = x;
    __syncthreads();
    return warp_all<adding>(threadIdx.x % 32 < WARPS ? (N)room.sums[threadIdx.x % 32] : 0);
}

// The threads form `parts` groups, a power of two. Returns the least of the groups' maxima. Warps
// are assigned to groups in turn, because in a short row the last warps have nothing.
__device__ __forceinline__ uint32_t least_maximum(uint32_t x, uint32_t parts, sampling_room &room)
{
    if (parts <= WARPS) {
        x = warp_all<most>(x);
    } else {
        for (uint32_t with = 1; with < SAMPLING_THREADS / parts; with *= 2)
            x = max(x, __shfl_xor_sync(~0u, x, with));
        x = warp_all<least>(x);
    }
    if (threadIdx.x % 32 == 0)
        room.scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = room.scratch[threadIdx.x % WARPS];
    for (uint32_t with = WARPS / 2; with >= parts; with /= 2)
        x = max(x, __shfl_xor_sync(~0u, x, with));
    return warp_all<least>(x);
}

// --- teams ---------------------------------------------------------------------------------------

struct one_block {
    static constexpr bool HOLDS = false;
    uint32_t rank = 0, size = 1, log_size = 0, turn = 0;

    __device__ __forceinline__ void start(sampling_room &) {}
    __device__ __forceinline__ void started() {}
    __device__ __forceinline__ void send(uint64_t *to, uint64_t v, uint32_t, uint64_t *)
    {
        *to = v;
    }
    __device__ __forceinline__ void receive(sampling_room &, sampling_mail, uint32_t)
    {
        __syncthreads();
    }
};

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
struct one_cluster {
    static constexpr bool HOLDS = true;
    enum { BUDGET_NS = 1000000000 };
    uint32_t rank = cluster_rank(), size = cluster_size(), turn = 0, parities = 0;
    uint32_t log_size = (uint32_t)__ffs((int)size) - 1;

    // Other blocks may write to a block's shared memory once it runs and has initialised its mail.
    __device__ __forceinline__ void start(sampling_room &room)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < N_MAILS; i++)
                mbarrier_make(shared_address(&room.mail[i]), 1);
            mbarrier_made();
        }
        __syncwarp();
        cluster_arrive_relaxed();
    }
    __device__ __forceinline__ void started() { cluster_wait_relaxed(); }

    __device__ __forceinline__ void send(uint64_t *to, uint64_t v, uint32_t block, uint64_t *mail)
    {
        cluster_send(cluster_map(shared_address(to), block), v,
                     cluster_map(shared_address(mail), block));
    }

    // Called by all threads; waits until this many bytes have arrived. Ends the kernel after a
    // second.
    __device__ __forceinline__ void receive(sampling_room &room, sampling_mail which,
                                            uint32_t bytes)
    {
        const uint32_t mail = shared_address(&room.mail[which]);
        if (threadIdx.x == 0)
            mbarrier_expect(mail, bytes);
        for (uint64_t began = 0; !mbarrier_try_wait(mail, parities >> which & 1);) {
            began = began ? began : clock_ns();
            if (clock_ns() - began > BUDGET_NS)
                __trap();
        }
        parities ^= 1u << which;
    }
};
#endif

// Counts of a thread or a team: candidates, and their weight.
struct counted {
    uint32_t n;
    uint64_t weight;
};

// Every block tells one number, or with BOTH two, and hears the numbers of all blocks: lane i gets
// block i's, other lanes 0. A block may begin the next exchange while another is still busy with
// this one, but not the exchange after the next: two buffers alternate. A block must synchronise
// between two exchanges.
template <bool BOTH, typename TEAM>
__device__ __forceinline__ struct counted told_by(TEAM &team, sampling_room &room,
                                                  struct counted own)
{
    uint64_t (&told)[2][SAMPLING_CLUSTER] = room.told[team.turn];
    const sampling_mail mail = team.turn ? TOLD_NEXT : TOLD;
    const uint32_t lane = threadIdx.x % 32;
    team.turn ^= 1;
    if (threadIdx.x < team.size) {
        team.send(&told[0][team.rank], own.n, threadIdx.x, &room.mail[mail]);
        if (BOTH)
            team.send(&told[1][team.rank], own.weight, threadIdx.x, &room.mail[mail]);
    }
    team.receive(room, mail, (BOTH ? 16 : 8) * team.size);
    if (lane >= team.size)
        return {0, 0};
    return {(uint32_t)told[0][lane], BOTH ? told[1][lane] : 0};
}

template <typename TEAM>
__device__ __forceinline__ uint32_t told_by(TEAM &team, sampling_room &room, uint32_t own)
{
    return told_by<false>(team, room, {own, 0}).n;
}

// --- the row -------------------------------------------------------------------------------------

extern __shared__ float4 held[];

// A block's part of a row, in vectors of four logits. The 32 lanes of a warp take neighbouring
// vectors; warps and blocks take turns. Logits are compared as floats. A NaN, and everything beyond
// the vocabulary, is NaN and passes no bound. A thread loads IN_FLIGHT vectors at a time.
template <typename TEAM, bool ADJUST, int IN_FLIGHT> struct row {
    const float4 *logits;
    const uint32_t *seen;
    const sampling_rule &rule;
    uint32_t vocabulary, rank, size, turns;

    __device__ __forceinline__ row(const sampling_args &a, const TEAM &team)
        : rule(a.rule), vocabulary(a.vocabulary), rank(team.rank), size(team.size)
    {
        const uint64_t at = blockIdx.x / team.size;
        logits = (const float4 *)(a.logits + at * a.stride);
        seen = a.seen + at * a.seen_stride;
        turns = ((vocabulary + 3) / 4 + SAMPLING_THREADS * size - 1) / (SAMPLING_THREADS * size);
    }

    __device__ __forceinline__ uint32_t vector(uint32_t turn) const
    {
        return ((turn * WARPS + threadIdx.x / 32) * size + rank) * 32 + threadIdx.x % 32;
    }

    __device__ __forceinline__ float adjusted(uint32_t bits, uint32_t seen_bits, uint32_t i) const
    {
        const float x = __uint_as_float(bits);
        return ADJUST ? tempered(penalised(x, seen_bits >> i & 1, rule), rule) : x;
    }

    // Calls f(four logits, first id, turn) on vectors read from device memory.
    template <typename F> __device__ __forceinline__ void read(F f) const
    {
        for (uint32_t turn = 0; turn < turns; turn += IN_FLIGHT) {
            uint4 x[IN_FLIGHT];
            uint32_t bits[IN_FLIGHT];
#pragma unroll
            for (int i = 0; i < IN_FLIGHT; i++) {
                const uint32_t v = vector(turn + i);
                const bool is_inside = 4 * v < vocabulary;
                x[i] = is_inside ? load_once(logits + v) : make_uint4(0, 0, 0, 0);
                bits[i] = ADJUST && is_inside ? __ldg(seen + v / 8) >> v % 8 * 4 : 0;
            }
#pragma unroll
            for (int i = 0; i < IN_FLIGHT; i++) {
                const uint32_t id = 4 * vector(turn + i);
                if (id >= vocabulary)
                    break;
                float4 y = make_float4(adjusted(x[i].x, bits[i], 0), adjusted(x[i].y, bits[i], 1),
                                       adjusted(x[i].z, bits[i], 2), adjusted(x[i].w, bits[i], 3));
                if (id + 4 > vocabulary) {
                    y.y = id + 1 < vocabulary ? y.y : NAN;
                    y.z = id + 2 < vocabulary ? y.z : NAN;
                    y.w = NAN;
                }
                f(y, id, turn + i);
            }
        }
    }

    // The first pass. Returns this thread's greatest logit, as a key; a cluster keeps the row.
    __device__ __forceinline__ uint32_t take() const
    {
        float greatest = NAN;
        read([&](float4 x, uint32_t, uint32_t turn) {
            if (TEAM::HOLDS)
                held[turn * SAMPLING_THREADS + threadIdx.x] = x;
            greatest = fmaxf(greatest, fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)));
        });
        return greatest >= -INFINITY ? key_of(greatest) : 0;
    }

    // Calls f(four logits, first id, which of them pass) for vectors with logits in [low, high).
    // Nearly all vectors fail the first comparison.
    template <typename F>
    __device__ __forceinline__ void each(uint64_t low, uint64_t high, F f) const
    {
        const float least = logit_of((uint32_t)(low >> 32));
        auto four = [&](float4 x, uint32_t id, uint32_t) {
            if (!(fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)) >= least))
                return;
            const float all[4] = {x.x, x.y, x.z, x.w};
            uint32_t pass = 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint64_t candidate = candidate_of(key_of(all[i]), id + i);
                pass |= (all[i] >= least && low <= candidate && candidate < high) << i;
            }
            if (pass)
                f(x, id, pass);
        };
        if (!TEAM::HOLDS)
            read(four);
        else
            for (uint32_t turn = 0; turn < turns; turn++)
                if (4 * vector(turn) < vocabulary)
                    four(held[turn * SAMPLING_THREADS + threadIdx.x], 4 * vector(turn), turn);
    }
};

// The candidate of the i-th of four logits.
__device__ __forceinline__ uint64_t candidate_at(float4 x, uint32_t id, uint32_t i)
{
    return candidate_of(key_of(i < 2 ? (i == 0 ? x.x : x.y) : (i == 2 ? x.z : x.w)), id + i);
}

} // namespace sampling

#endif
