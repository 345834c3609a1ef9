// The k highest of a row by one exchange, for k up to 64 and a cluster of 16 blocks whose threads
// hold the row in registers.
//
// Each block sends its highest candidates to the first block: those at or above its mark, the 10th
// greatest of its 16 warps' maxima, about 15 of them. Whatever lies at or above the highest of the
// 16 marks has then been sent. The first block looks for the k highest there. To have fewer to
// sort, it raises that bound where it can: each block also tells its j-th greatest maximum of a
// warp, and if c x j >= k, the c-th greatest of these has at least k candidates at or above it. On
// N(0,1) logits and k = 50 about 90 candidates remain.
//
// If fewer than k candidates remain (a block has too many of the highest), or a block has more than
// it can send, the first block says so, and all blocks select by sampling.cuh's way: on N(0,1)
// about one row in a thousand.
//
// The temperature keeps the order of logits, so it is applied to maxima and to what passes a bound.
// The largest finite number stands for infinity, as in tempered().
#ifndef FUSED_SAMPLING_ONCE_CUH
#define FUSED_SAMPLING_ONCE_CUH

#include "fused/sampling/sampling.cuh"

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900

namespace sampling
{

enum : uint32_t {
    ONCE_VECTORS = SAMPLING_ONCE_LOGITS / (4 * SAMPLING_THREADS * SAMPLING_CLUSTER),
    ONCE_TURN = SAMPLING_THREADS * SAMPLING_CLUSTER, // vectors from one turn to the next
    ONCE_MARK = 10,    // a block's mark is this warp's maximum, from the greatest
    ONCE_SENT = 32,    // most candidates that a block sends
    ONCE_SORTED = 160, // most that are sorted
    ONCE_BYTES = SAMPLING_CLUSTER * (8 * ONCE_SENT + 8),
    ONCE_LEAST = 0x007fffff,    // the key of minus infinity
    ONCE_GREATEST = 0xff7fffff, // that of the largest finite number
};

struct sixteen_blocks : one_cluster {
    static constexpr uint32_t size = SAMPLING_CLUSTER, log_size = 4;
};

// What a thread has of the row.
struct few {
    float4 x[ONCE_VECTORS];       // penalised
    float greatest[ONCE_VECTORS]; // of each four, with the temperature; not yet finite
};

// This thread's first vector; blocks and warps take turns as in row.cuh.
__device__ __forceinline__ uint32_t first_vector(const sixteen_blocks &team)
{
    return (threadIdx.x / 32 * SAMPLING_CLUSTER + team.rank) * 32 + threadIdx.x % 32;
}

__device__ __forceinline__ uint32_t once_key(float x)
{
    return min(key_of(x), (uint32_t)ONCE_GREATEST);
}

// How many of 16 numbers in shared memory are greater than `own`. Lanes 16 apart ask for the same.
__device__ __forceinline__ uint32_t greater_of_16(const uint32_t *all, uint32_t own)
{
    const uint4 *half = (const uint4 *)all + threadIdx.x % 32 / 16 * 2;
    const uint4 a = half[0], b = half[1];
    const uint32_t n = (a.x > own) + (a.y > own) + (a.z > own) + (a.w > own) + (b.x > own) +
                       (b.y > own) + (b.z > own) + (b.w > own);
    return n + __shfl_xor_sync(~0u, n, 16);
}

// The n-th greatest, where `greater` is the number of those greater than `own`.
__device__ __forceinline__ uint32_t nth_greatest(uint32_t own, uint32_t greater, uint32_t n)
{
    return warp_all<least>(greater < n ? own : ~0u);
}

// What lies beyond the vocabulary in its last vector, which has `n` of its logits, is NaN.
__device__ __forceinline__ void cut_last(struct few &own, uint32_t turn, uint32_t n)
{
#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++)
        if (turn == i) {
            own.x[i].y = n > 1 ? own.x[i].y : NAN;
            own.x[i].z = n > 2 ? own.x[i].z : NAN;
            own.x[i].w = NAN;
        }
}

// Loads this thread's logits, and meanwhile tells the other blocks that this one has begun.
__device__ __forceinline__ void load_few(sixteen_blocks &team, const sampling_args &a,
                                         sampling_room &room, struct few &own)
{
    const uint64_t row = blockIdx.x / SAMPLING_CLUSTER;
    const uint32_t first = first_vector(team);
    const float4 *logits = (const float4 *)(a.logits + row * a.stride) + first;
    const uint32_t *seen = a.seen + row * a.seen_stride + first / 8;
    uint4 x[ONCE_VECTORS];
    uint32_t bits[ONCE_VECTORS];

#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++) {
        x[i] = make_uint4(~0u, ~0u, ~0u, ~0u);
        if (4 * (first + i * ONCE_TURN) < a.vocabulary)
            x[i] = load_once(logits + i * ONCE_TURN);
    }
#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++) {
        bits[i] = 0;
        if (4 * (first + i * ONCE_TURN) < a.vocabulary)
            bits[i] = __ldg(seen + i * ONCE_TURN / 8);
    }
    if (threadIdx.x == 0)
        room.n_found = room.n_listed = 0;
    team.start(room);
#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++) {
        const uint32_t of_four = bits[i] >> threadIdx.x % 8 * 4;
        own.x[i] = make_float4(penalised(__uint_as_float(x[i].x), of_four & 1, a.rule),
                               penalised(__uint_as_float(x[i].y), of_four & 2, a.rule),
                               penalised(__uint_as_float(x[i].z), of_four & 4, a.rule),
                               penalised(__uint_as_float(x[i].w), of_four & 8, a.rule));
    }
    const uint32_t last = a.vocabulary / 4, beyond = a.vocabulary % 4;
    if (beyond != 0 && (last - first) % ONCE_TURN == 0)
        cut_last(own, (last - first) / ONCE_TURN, beyond);
#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++) {
        const float4 y = own.x[i];
        own.greatest[i] =
            fmaf(fmaxf(fmaxf(y.x, y.y), fmaxf(y.z, y.w)), a.rule.inverse_temperature, 0.0f);
    }
}

// Puts the candidates at or above `mark`, a key, into room.found, if there is room.
__device__ __forceinline__ void find_few(const sixteen_blocks &team, const sampling_rule &rule,
                                         const struct few &own, uint32_t mark, sampling_room &room)
{
    const float bound = logit_of(mark);
    uint32_t hits = 0;
#pragma unroll
    for (uint32_t i = 0; i < ONCE_VECTORS; i++)
        hits |= (own.greatest[i] >= bound) << i;
#pragma unroll 1
    for (; hits; hits &= hits - 1) {
        const uint32_t turn = (uint32_t)__ffs((int)hits) - 1;
        float4 x = own.x[0];
#pragma unroll
        for (uint32_t i = 1; i < ONCE_VECTORS; i++)
            x = turn == i ? own.x[i] : x;
        x = make_float4(tempered(x.x, rule), tempered(x.y, rule), tempered(x.z, rule),
                        tempered(x.w, rule));
        uint32_t pass =
            (x.x >= bound) | (x.y >= bound) << 1 | (x.z >= bound) << 2 | (x.w >= bound) << 3;
        uint32_t at = atomicAdd(&room.n_found, (uint32_t)__popc(pass));
#pragma unroll 1
        for (; pass && at < ONCE_SENT; pass &= pass - 1)
            room.found[at++] = candidate_at(x, 4 * (first_vector(team) + turn * ONCE_TURN),
                                            (uint32_t)__ffs((int)pass) - 1);
    }
}

// Sends the block's highest candidates, its mark, and its j-th greatest maximum to the first.
__device__ __forceinline__ void send_few(sixteen_blocks &team, const sampling_args &a,
                                         const struct few &own, sampling_room &room)
{
    const uint32_t lane = threadIdx.x % 32;
    float greatest = own.greatest[0];
#pragma unroll
    for (uint32_t i = 1; i < ONCE_VECTORS; i++)
        greatest = fmaxf(greatest, own.greatest[i]);
    const uint32_t highest = warp_all<most>(greatest >= -INFINITY ? once_key(greatest) : 0);
    if (lane == 0)
        room.scratch[threadIdx.x / 32] = highest;
    __syncthreads();
    const uint32_t maximum = room.scratch[lane % WARPS];
    const uint32_t greater = greater_of_16(room.scratch, maximum);
    const uint32_t mark = max(nth_greatest(maximum, greater, ONCE_MARK), (uint32_t)ONCE_LEAST);
    team.started();
    find_few(team, a.rule, own, mark, room);
    const uint32_t told = nth_greatest(maximum, greater, a.once_rank);
    __syncthreads();
    if (threadIdx.x < 32) {
        const uint32_t n = room.n_found, barrier = cluster_map(shared_address(&room.mail[SENT]), 0);
        const uint32_t word = lane == 0 ? told : n <= ONCE_SENT ? mark : ~0u;
        const uint32_t *to = (lane == 0 ? room.told_once : room.marks) + team.rank;
        cluster_send(cluster_map(shared_address(&room.list[team.rank * ONCE_SENT + lane]), 0),
                     lane < n ? room.found[lane] : 0, barrier);
        if (lane < 2)
            cluster_send_32(cluster_map(shared_address(to), 0), word, barrier);
    }
}

// Puts those of the sent candidates that can be among the k highest into room.found and returns
// their number. The first block only.
__device__ __forceinline__ uint32_t list_few(sampling_room &room, uint32_t once_blocks)
{
    const uint32_t lane = threadIdx.x % 32, told = room.told_once[lane % SAMPLING_CLUSTER];
    const uint64_t candidate = room.list[threadIdx.x];
    const uint32_t bound = max(nth_greatest(told, greater_of_16(room.told_once, told), once_blocks),
                               warp_all<most>(room.marks[lane % SAMPLING_CLUSTER]));
    const bool is_in = (uint32_t)(candidate >> 32) >= bound;
    const uint32_t in = __ballot_sync(~0u, is_in);
    uint32_t first = 0;
    if (lane == 0)
        asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                     : "=r"(first)
                     : "r"(shared_address(&room.n_listed)), "r"(__popc(in))
                     : "memory");
    first = __shfl_sync(~0u, first, 0);
    if (is_in)
        room.found[first + (uint32_t)__popc(in & ((1u << lane) - 1))] = candidate;
    __syncthreads();
    return room.n_listed;
}

// The n listed candidates, sorted, in room.sorted.
__device__ __forceinline__ void sort_few(sampling_room &room, uint32_t n)
{
    const uint32_t lane = threadIdx.x % 32;
    uint64_t all[ONCE_SORTED / 32];
#pragma unroll
    for (uint32_t i = 0; i < ONCE_SORTED / 32; i++)
        all[i] = lane + 32 * i < n ? room.found[lane + 32 * i] : 0;
#pragma unroll 1
    for (uint32_t i = threadIdx.x / 32; i < n; i += WARPS) {
        const uint64_t mine = room.found[i];
        uint32_t rank = 0;
#pragma unroll
        for (uint32_t j = 0; j < ONCE_SORTED / 32; j++)
            rank += all[j] > mine;
        rank = warp_all<adding>(rank);
        if (lane == 0)
            room.sorted[rank] = mine;
    }
    __syncthreads();
}

// The k highest, sorted, in room.sorted of the first block; k is at most 64. False in all blocks
// if they are not found this way.
__device__ __forceinline__ bool top_k_once(sixteen_blocks &team, const sampling_args &a,
                                           sampling_room &room)
{
    struct few own;

    load_few(team, a, room, own);
    send_few(team, a, own, room);
    if (team.rank != 0) {
        team.receive(room, JUDGED, 8);
        return room.judgement != 0;
    }
    team.receive(room, SENT, ONCE_BYTES);
    const uint32_t n = list_few(room, a.once_blocks), other = threadIdx.x - 32 * (WARPS - 1);
    const bool is_right = a.rule.k <= n && n <= ONCE_SORTED;
    if (0 < other && other < SAMPLING_CLUSTER)
        team.send(&room.judgement, is_right, other, &room.mail[JUDGED]);
    if (is_right)
        sort_few(room, n);
    return is_right;
}

// Like draw_sorted(), for k up to 64: a lane has two neighbours.
__device__ __forceinline__ uint32_t draw_few(const sampling_room &room, const sampling_rule &rule,
                                             uint32_t uniform)
{
    const uint32_t lane = threadIdx.x % 32;
    const float highest = logit_of((uint32_t)(room.sorted[0] >> 32));
    const uint64_t x = room.sorted[2 * lane], y = room.sorted[2 * lane + 1];
    const uint64_t of_x = 2 * lane < rule.k ? mass_of(x, highest) : 0;
    const uint64_t of_y = 2 * lane + 1 < rule.k ? mass_of(y, highest) : 0;
    const uint64_t sum = warp_sums(of_x + of_y), whole = __shfl_sync(~0u, sum, 31);

    if (whole == 0)
        return SAMPLING_NONE;
    const uint64_t kept = part_of(whole, rule.share) + 1;
    const int last = __ffs((int)__ballot_sync(~0u, sum >= kept)) - 1;
    const uint64_t to_last = __shfl_sync(~0u, sum - of_y >= kept ? sum - of_y : sum, last);

    const uint64_t need = part_of(to_last, uniform) + 1;
    const int drawn = __ffs((int)__ballot_sync(~0u, sum >= need)) - 1;
    return __shfl_sync(~0u, ~(uint32_t)(sum - of_y >= need ? x : y), drawn);
}

} // namespace sampling

#endif
#endif
